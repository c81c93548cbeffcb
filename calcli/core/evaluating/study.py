"""How far estimates of calibration errors are from the truth (Vaicenavicius et al. 2019, fig. 6 to 13)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from calcli.core.data.arrays import Doubles
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.data.processes import Processes, processes_for
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
EACH = 50_000  # scores that take as long as a data set of none
GAINS = 60_000_000  # scores from which processes gain, about two seconds of them
TOGETHER = 2_000_000  # scores of the data sets that a process makes before it tells


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


class _Asked(NamedTuple):
    """What is estimated, of which system."""

    system: str
    parameters: Mapping[str, float]
    settings: Settings
    seed: int


class _Part(NamedTuple):
    """Some of the data sets of a size."""

    place: int
    rows: int
    numbers: range


def _estimates(asked: _Asked, part: _Part) -> Doubles:
    """Return the (n, metrics) estimates on some data sets."""
    found = []
    for number in part.numbers:
        drawn = simulate(asked.system, asked.parameters, part.rows, asked.seed, part=(1, part.rows, number))
        estimates = evaluate(_predictions(drawn), asked.settings).estimates
        found.append([one.value for one in estimates.values()])
    return np.array(found)


def workers_for(
    rows: Sequence[int], series: int, parameters: Mapping[str, float], workers: int | None
) -> int:
    """Return how many processes make the data sets of a study; see `study`."""
    scores = [_scores(size, parameters) for size in rows]
    jobs = sum(len(_parts(size, series, parameters)) for size in rows)
    return processes_for(series * sum(scores), jobs, workers, held=max(scores), gains=GAINS)


def _scores(rows: int, parameters: Mapping[str, float]) -> int:
    """Return how many scores take as long as a data set."""
    return EACH + rows * int(parameters.get("classes", 2))


def _parts(rows: int, series: int, parameters: Mapping[str, float]) -> list[range]:
    """Return the numbers of the data sets of a size, those that are made together."""
    numbers, step = range(series), max(1, TOGETHER // _scores(rows, parameters))
    return [numbers[start : start + step] for start in numbers[::step]]


def study(
    system: str,
    parameters: Mapping[str, float],
    metrics: Sequence[str],
    rows: Sequence[int],
    series: int,
    seed: int = 0,
    watch: Callable[[int], None] | None = None,
    workers: int = 1,
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
    workers
        Processes that make them; any number gives the same bits.

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
    # several processes have no threads of their own
    asked = _Asked(system, parameters, replace(settings, workers=1) if workers > 1 else settings, seed)
    parts = [
        _Part(place, size, numbers)
        for place, size in enumerate(rows)
        for numbers in _parts(size, series, parameters)
    ]
    values: dict[_Part, Doubles] = {}
    done = 0
    with Processes(asked, workers) as processes:
        for part, some in processes.each(_estimates, parts):
            values[part], done = some, done + len(some)
            if watch:
                watch(done)
    found = []
    for place, size in enumerate(rows):
        own = np.concatenate([values[part] for part in parts if part.place == place])
        apart = own - np.array(list(truth.values()))
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
