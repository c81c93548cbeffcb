"""Titles and standing explanations of a report, each said in one place."""

from __future__ import annotations

from collections.abc import Iterable

from calcli.core.results import Estimate

QUALITY = "Quality for decisions"
WON_BACK = "What a recalibration would win back"
PARTS = "Parts of scores"
CLASSICAL = "Classical calibration of two classes"
DIAGNOSIS = "Calibration errors, for diagnosis"

NORMALIZED = "normalized_*: 1 is as good as always answering with the class frequencies, 0 is perfect."
CONSTANT = "constant: the value of the best system that gives every row the same answer."
P = "p is the chance that calibrated probabilities show an error as large."
ERRORS = (
    "Errors carry no interval: they are biased upward near zero. Compare each with the same error if the "
    f"probabilities were calibrated (mean ± sd over outcomes drawn from them); {P}"
)
TESTED = f"{P} Errors are biased upward near zero and carry no interval."
CORRECTED = "It is corrected for how many were tested (Holm)."
NOT_TESTED = "Class-wise errors are not tested; --test does."
NONE = "-"


def untested(estimates: Iterable[Estimate]) -> list[str]:
    """Return a sentence if class-wise errors among some estimates were not tested."""
    left_out = [e for e in estimates if e.call.is_class_wise and e.call.metric.family == "error"]
    return [NOT_TESTED] if any(estimate.if_calibrated is None for estimate in left_out) else []


def interval_head(estimates: Iterable[Estimate]) -> str:
    """Return what to call the intervals of some estimates, such as `95% interval`."""
    for estimate in estimates:
        if estimate.interval is not None:
            return f"{100 * estimate.interval.level:.4g}% interval"
    return "interval"
