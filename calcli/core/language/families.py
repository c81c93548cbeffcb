"""The families of metrics, in words: what is estimated and compared in one way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Section = Literal["scores", "errors", "parts", "classical"]


@dataclass(frozen=True, kw_only=True)
class MetricFamily:
    """What is to be known of the metrics of a family.

    Attributes
    ----------
    name
        As in the JSON.
    title
        Over a list of its metrics.
    comes_with
        What stands beside its values.
    section
        Which part of a report shows them.
    beside_null
        Whether its values are biased upward near zero, so that they stand beside what calibrated
        probabilities would show, and have no interval.
    proves
        Whether a difference has an interval, so that it can be proven to be small.
    fits
        Whether its metrics fit transforms, which takes so long that they are not computed again and again.
    class_by_class
        Whether its metrics look at single classes, whatever their lens.
    undefined
        Why a value is not defined, where nothing else says so.
    """

    name: str
    title: str
    comes_with: str
    section: Section
    beside_null: bool = False
    proves: bool = True
    fits: bool = False
    class_by_class: bool = False
    undefined: str = ""


SWAPPED = "; in comparisons a p-value from swapped predictions"

SCORE = MetricFamily(
    name="score",
    title="Scores",
    comes_with="an interval by the jackknife, exact for shares of rows; in comparisons a paired one",
    section="scores",
)
RANKING = MetricFamily(
    name="ranking",
    title="Ranking",
    comes_with="an interval by its influences; in comparisons a paired one",
    section="scores",
    class_by_class=True,
    undefined="there are no rows of a class beside rows of another",
)
RECALIBRATION = MetricFamily(
    name="recalibration",
    title="What recalibration would win back",
    comes_with="an interval under given posteriors and transforms of other rows; of calibration losses on "
    "request, trained again for each resample; in comparisons a paired one of calibration losses, a p-value "
    "of the others",
    section="parts",
    fits=True,
    undefined="there are too few rows for two folds of a cross-validation",
)
DECOMPOSITION = MetricFamily(
    name="decomposition",
    title="Parts of scores",
    comes_with="an interval for refinement and uncertainty; none for the others (biased upward)" + SWAPPED,
    section="parts",
    proves=False,
)
ERROR = MetricFamily(
    name="error",
    title="Calibration errors",
    comes_with="its value if calibrated and a p-value, no interval (biased upward near zero)" + SWAPPED,
    section="errors",
    beside_null=True,
    proves=False,
    undefined="there are no pairs of rows",
)
CLASSICAL = MetricFamily(
    name="classical",
    title="Classical calibration of two classes",
    comes_with="an interval, or a p-value; in comparisons a paired interval",
    section="classical",
    undefined="these probabilities and labels do not determine it",
)
METRIC_FAMILIES = (SCORE, RANKING, RECALIBRATION, DECOMPOSITION, ERROR, CLASSICAL)
