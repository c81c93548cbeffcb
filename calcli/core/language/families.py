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
    comes_with: str
    section: Section
    beside_null: bool = False
    proves: bool = True
    fits: bool = False
    class_by_class: bool = False
    undefined: str = ""


SWAPPED = "; in comparisons a permutation p-value"

SCORE = MetricFamily(
    name="score",
    comes_with="a jackknife interval, exact for shares of rows; in comparisons a paired interval",
    section="scores",
)
RANKING = MetricFamily(
    name="ranking",
    comes_with="an interval from its influences; in comparisons a paired interval",
    section="scores",
    class_by_class=True,
    undefined="all rows have the same label",
)
SELECTIVE = MetricFamily(
    name="selective",
    comes_with="the values of an oracle and of a random order, and an interval from its influences, but not "
    "for coverage; in comparisons a paired interval, for coverage a permutation p-value",
    section="scores",
    undefined="there are no rows",
)
RECALIBRATION = MetricFamily(
    name="recalibration",
    comes_with="an interval for given posteriors and for recalibrations fitted to other data; for "
    "calibration losses on request, refitted to each resample; in comparisons a paired interval of "
    "calibration losses, a p-value for the others",
    section="parts",
    fits=True,
    undefined="there are too few rows for cross-validation with two folds",
)
DECOMPOSITION = MetricFamily(
    name="decomposition",
    comes_with="an interval for refinement and uncertainty, none for the others (biased upward)" + SWAPPED,
    section="parts",
    proves=False,
)
ERROR = MetricFamily(
    name="error",
    comes_with="its value if calibrated and a p-value; an interval for kuiper alone, as other errors are "
    "biased upward near zero" + SWAPPED,
    section="errors",
    beside_null=True,
    proves=False,
    undefined="there are fewer than two rows",
)
CLASSICAL = MetricFamily(
    name="classical",
    comes_with="an interval, or a p-value; in comparisons a paired interval",
    section="classical",
    undefined="it has no finite value for these probabilities and labels",
)
