"""Titles and standing explanations of a report, each said in one place."""

from __future__ import annotations

from collections.abc import Iterable

from calcli.core.results import Estimate

QUALITY = "Quality for decisions"
DIAGNOSIS = "Calibration errors, for diagnosis"

NORMALIZED = "normalized_*: 1 is as good as always answering with the class frequencies, 0 is perfect."
P = "p is the chance that calibrated probabilities show an error as large."
ERRORS = (
    "Errors carry no interval: they are biased upward near zero. Compare each with the same error if the "
    f"probabilities were calibrated (mean ± sd over outcomes drawn from them); {P}"
)
TESTED = f"{P} Errors are biased upward near zero and carry no interval; class-wise errors are not tested."
NOT_TESTED = "Class-wise errors are not tested."
NONE = "-"


def interval_head(estimates: Iterable[Estimate]) -> str:
    """Return what to call the intervals of some estimates, such as `95% interval`."""
    for estimate in estimates:
        if estimate.interval is not None:
            return f"{100 * estimate.interval.level:.4g}% interval"
    return "interval"
