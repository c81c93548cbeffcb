"""How far estimates of calibration errors are from the truth (Vaicenavicius et al. 2019, fig. 6 to 13)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.data.simulation import TABLES, Simulation, simulate
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.evaluating.truth import require_truth, true_error
from calcli.core.language.answers import WRONG_RIGHT
from calcli.core.language.declaring import as_option
from calcli.core.language.expressions import parse_metrics
from calcli.core.language.settings import Settings

TRUTH_ROWS = 1_000_000  # behind the true value of what has no exact population, fewer of many classes
TRUTH_SCORES = 8_000_000
TAIL = 0.05


@dataclass(frozen=True)
class Deviation:
    """Estimates of a metric minus its true value, over data sets of one size.

    Attributes
    ----------
    metric
        The expression, as it was asked for.
    rows
        Of each data set.
    truth
        The true value.
    low, mean, high
        Of estimate minus truth: its 5% quantile, mean and 95% quantile.
    """

    metric: str
    rows: int
    truth: float
    low: float
    mean: float
    high: float


def study(
    system: str,
    parameters: Mapping[str, float],
    metrics: Sequence[str],
    rows: Sequence[int],
    series: int,
    seed: int = 0,
    watch: Callable[[int], None] | None = None,
) -> list[Deviation]:
    """Estimate errors on simulated data sets again and again, and compare them with the truth.

    Parameters
    ----------
    system, parameters
        What is simulated; see `calcli.core.data.simulation.simulate`.
    metrics
        Calibration errors.
    rows
        Sizes of the data sets.
    series
        Data sets of each size.
    seed
        Of all of them.
    watch
        Called with the number of data sets done.

    Raises
    ------
    UsageError
        If there is no such system or metric, or no true value of it.
    """
    settings = Settings(metrics=tuple(metrics), draws=0, no_intervals=True)
    calls = parse_metrics(metrics, settings.defaults)
    for call in calls:
        require_truth(call, settings)
    exact = system in TABLES
    most = max(1, int(TRUTH_SCORES // parameters.get("classes", 2)))
    behind = None if exact else min(TRUTH_ROWS, most)
    whole = simulate(system, parameters, behind, seed, exact=exact, spelled=as_option)
    truth = {str(call): true_error(call, _predictions(whole), whole.posteriors, settings) for call in calls}
    found = []
    for place, size in enumerate(rows):
        values = []
        for number in range(series):
            drawn = simulate(system, parameters, size, seed, part=(1, size, number))
            values.append([e.value for e in evaluate(_predictions(drawn), settings).estimates.values()])
            if watch:
                watch(place * series + number + 1)
        apart = np.array(values) - np.array(list(truth.values()))
        low, high = np.quantile(apart, [TAIL, 1 - TAIL], axis=0)
        for k, call in enumerate(calls):
            numbers = truth[str(call)], low[k], apart[:, k].mean(), high[k]
            found.append(Deviation(call.asked, size, *map(float, numbers)))
    order = [call.asked for call in calls]
    return sorted(found, key=lambda one: order.index(one.metric))


def _predictions(simulation: Simulation) -> Predictions:
    classes = tuple(map(str, range(simulation.scores.shape[1])))
    if simulation.of_answers:
        classes = WRONG_RIGHT
    return Predictions(ArrayScores(simulation.scores, simulation.kind), simulation.labels, classes)
