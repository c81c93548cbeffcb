"""Ranking: functions of the order of the rows, with normal intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from calcli.core.data.arrays import Doubles
from calcli.core.estimators.evidence import Evidence, Normal
from calcli.core.estimators.interval import Interval
from calcli.core.estimators.ranking import Area, area_influences, roc_area
from calcli.core.evaluating.families.base import Entrant, Family, Findings, Match, System
from calcli.core.evaluating.measurements import Measurements, Pass
from calcli.core.evaluating.results import Estimate
from calcli.core.evaluating.signatures import signature
from calcli.core.language.expressions import MetricExpression
from calcli.core.language.settings import Settings


class RankingFamily(Family):
    """The area under the ROC curve, of the second of two classes or the mean over more."""

    def needs(self, call: MetricExpression, made: Pass) -> None:
        """Keep the probabilities, to put each class in order."""
        if made.predictions.n_classes == 2:
            made.keep_lens("class-0")
            made.keep_lens("class-1")
        else:
            made.keep_probs()

    def estimates(
        self, calls: Sequence[MetricExpression], measured: Measurements, settings: Settings
    ) -> Findings:
        """Return the areas; rows of one cluster count as one observation in their standard errors."""
        estimates = {}
        for call in calls:
            area = _area(measured)
            ends = area.interval(settings.level)
            interval = None if ends is None else Interval(*ends, settings.level)
            line = signature(call, measured, settings, "interval:delong")
            estimates[str(call)] = Estimate(call, area.value, line, interval)
        return Findings(estimates)

    def kept(self, calls: Sequence[MetricExpression], system: Entrant) -> Mapping[str, Any]:
        """Keep the influences of the units on the area."""
        influences = system.measured.units.sums(_influences(system.measured)[1])
        return {str(call): influences for call in calls}

    def evidence(self, call: MetricExpression, match: Match) -> Evidence:
        """Return the normal evidence of DeLong et al. 1988."""
        first, second = match.both(call)
        baseline, candidate = (values[str(call)] for values in match.values)
        return Normal(
            baseline,
            candidate,
            (float(first @ first), float(second @ second)),
            float(first @ second) if match.paired else 0.0,
            f"{'paired' if match.paired else 'unpaired'}-delong",
        )

    def variance(self, call: MetricExpression, system: System) -> float:
        """Return the sum of the squared influences."""
        influences = system.kept.get(str(call))
        return math.nan if influences is None else float(influences @ influences)


def _area(measured: Measurements) -> Area:
    predictions = measured.predictions
    if measured.units.single and predictions.n_classes == 2:
        return roc_area(measured.problem("class-1"))
    area, influences = _influences(measured)
    return Area(area, float(np.linalg.norm(measured.units.sums(influences))))


def _influences(measured: Measurements) -> tuple[float, Doubles]:
    """Return the area with the (N,) influences of the rows on it."""

    def found() -> tuple[float, Doubles]:
        labels, weights = measured.predictions.labels, measured.predictions.weights
        if measured.predictions.n_classes == 2:
            both = np.stack([measured.columns(lens)[0] for lens in ("class-0", "class-1")])
            return area_influences(both, labels, weights)
        return area_influences(measured.class_probs, labels, weights)

    return measured.once("influences", found)


FAMILY = RankingFamily()
