"""Metrics over several seeds of one model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calcli.core.evaluating.results import Summary
from calcli.core.language.expressions import MetricExpression


@dataclass(frozen=True)
class OverSeeds:
    """A metric over several seeds of one model.

    Attributes
    ----------
    call
        The metric.
    mean, sd
        Over the seeds; the standard deviation has divisor n - 1 and is nan for a single seed.
    least, greatest
        The extreme values.
    """

    call: MetricExpression
    mean: float
    sd: float
    least: float
    greatest: float


def over_seeds(summaries: Sequence[Summary]) -> list[OverSeeds]:
    """Return mean and spread of every metric over those of one model trained with several seeds."""
    found = []
    for name, estimate in summaries[0].estimates.items():
        values = np.array([summary.estimates[name].value for summary in summaries])
        sd = float(values.std(ddof=1)) if len(values) > 1 and np.isfinite(values).all() else math.nan
        found.append(
            OverSeeds(estimate.call, float(values.mean()), sd, float(values.min()), float(values.max()))
        )
    return found
