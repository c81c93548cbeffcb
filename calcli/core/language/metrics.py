"""The registry of metrics, each declared beside its mathematics, and words that several share."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

from calcli.core.language.entries import Metric, Registry, arg, declared_in

ScoreName = Literal["log_loss", "brier"]  # what has parts, and what chooses a calibrator

AFFINE = "affine"  # as a recalibrator: the first of these maps that the rows can carry
AFFINE_MAPS = ("dp", "temperature")
PAV = "pav"  # as a recalibrator: the isotonic fit without smoothing; elsewhere a synonym
ROWS_EACH = 100  # outcomes that a validation needs, of events and others alike (Collins et al. 2016)
ERRORS_EACH = 5  # events for each number that is fitted (Vittinghoff & McCulloch 2007)
CARRIED = (
    f"affine is bias and temperature (dp) if the classes other than the most frequent have {ROWS_EACH} rows "
    f"each on average and there are {ERRORS_EACH} errors per class, else temperature"
)

L1 = "l1"  # the absolute distance, which no score has for divergence
AS_SCORE = "as the score"  # the unit of what measures a part of any score
UNIFORM = "uniform"  # weights of thresholds: 1 everywhere
ALMOST = 1 - 1e-9  # the largest share with odds
MOST_BINS, MOST_ROWS = 100_000, 100_000_000

Training = Literal["cross-validation", "held-out", "test"]  # what a recalibration is fitted to
Norm = Literal["1", "2", "max"]

LENS = (
    "which probability is looked at: auto (of two classes that of the positive one, else the confidence), "
    "top-1 (the confidence), top-2, within-top-2, class-1 (counted from 0), predicted-1, class-wise (each "
    "class, then their mean), worst-class or --class-groups"
)
OVER_BINS = "how bins are combined: mean, root mean square, or largest"


def _is_region(text: str) -> bool:
    try:
        low, high = map(float, text.split(".."))
    except ValueError:
        return text == "all"
    return 0 <= low < high <= 1


def _is_vector_region(text: str) -> bool:
    if "@" not in text:
        return _is_region(text)
    conditions = [condition.partition("@") for condition in text.split("+")]
    well_formed = all(name and ".." in ends for name, _, ends in conditions)
    return well_formed and all(_is_region(ends) or _is_point(ends) for _, _, ends in conditions)


def _is_point(ends: str) -> bool:
    low, _, high = ends.partition("..")
    return low == high and _is_region(f"0..{low}")


REGION: dict[str, Any] = {
    "default": "all", "fits": _is_region, "form": "two numbers in [0, 1], as in 0.8..1",
}  # fmt: skip
VECTOR_REGION: dict[str, Any] = {
    "default": "all", "fits": _is_vector_region,
    "form": "two numbers in [0, 1] between which the largest probability lies, as in 0.8..1, or those of "
    "outcomes, as in class-0@0.5..1+class-2@0..0.1 or class-0@0.6..0.6",
}  # fmt: skip
region = partial(arg, "only rows with a score in this range", **REGION)
vector_region = partial(arg, "only rows with probabilities in this region", **VECTOR_REGION)
number_of_bins = partial(
    arg, "the number of equal-width or equal-mass bins", default=15, least=1, most=MOST_BINS
)
min_rows = partial(
    arg, "recursive bins with more rows are split at their mean", default=1000, least=1, most=MOST_ROWS
)

HOMES = (
    "scores", "confusion", "ranking", "recalibration", "parts", "miscalibration", "cumulative", "smooth",
    "flexible", "partitions", "kernels", "classical",
)  # fmt: skip
METRICS = Registry("calcli.metrics", Metric, lambda: declared_in("calcli.core.evaluating.metrics", *HOMES))
