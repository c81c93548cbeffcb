"""The deviation of estimated calibration errors from the truth (Vaicenavicius et al. 2019, fig. 6 to 13)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from calcli.core.data.arrays import Doubles
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.data.processes import Processes, processes_for
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.declaring import as_option
from calcli.core.language.expressions import WRONG_RIGHT, Measure, parse_metrics
from calcli.core.language.settings import Settings
from calcli.core.language.text import number, plus_minus
from calcli.works.simulation import Simulation, population, simulate
from calcli.works.truth import require_truth, true_error

TRUTH_ROWS = 1_000_000  # drawn for the true value of a system of many dimensions, fewer of many classes
TRUTH_SCORES = 8_000_000
TRUTH_PARTS = 20  # of these rows, which tell the Monte-Carlo error
TAIL = 0.05
EACH = 50_000  # scores that take as long as a data set of none
GAINS = 60_000_000  # scores from which processes gain, about two seconds of them
TOGETHER = 2_000_000  # scores of the data sets that a process makes before it tells


TruthBy = Literal["table", "quadrature", "simulation"]


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
    truth_by
        How it is known: exact for the rows of a table; an integral by
        quadrature for a system on a single number; simulated for others.
    truth_error
        Its Monte-Carlo standard error; 0 if it is not simulated.
    low, mean, high
        Of estimate minus truth: its 5% quantile, mean and 95% quantile.
    """

    metric: str
    rows: int
    truth: float
    truth_by: TruthBy
    truth_error: float
    low: float
    mean: float
    high: float

    def written_truth(self, digits: int | None = None) -> str:
        """Return the true value as text, with its standard error if it is simulated.

        Parameters
        ----------
        digits
            Number of decimals of a value without an error, if known.
        """
        if self.truth_by == "simulation":
            return plus_minus(self.truth, self.truth_error)
        return number(self.truth, digits=digits)


class _Asked(NamedTuple):
    """The metrics to estimate, and the system."""

    system: str
    parameters: Mapping[str, float]
    settings: Settings
    seed: int


class _Part(NamedTuple):
    """Some of the data sets of a size."""

    place: int
    rows: int
    numbers: range


def _estimates(task: _Asked, part: _Part) -> Doubles:
    """Return the (n, metrics) estimates on some data sets."""
    values = []
    for data_set in part.numbers:
        data_stream = (1, part.rows, data_set)
        simulation = simulate(task.system, task.parameters, part.rows, task.seed, part=data_stream)
        estimates = evaluate(_predictions(simulation), task.settings, sections=()).estimates
        values.append([estimate.value for estimate in estimates.values()])
    return np.array(values)


def workers_for(
    rows: Sequence[int], series: int, parameters: Mapping[str, float], workers: int | None
) -> int:
    """Return the number of processes that simulate data sets; see `study`."""
    scores = [_scores(size, parameters) for size in rows]
    jobs = sum(len(_parts(size, series, parameters)) for size in rows)
    return processes_for(series * sum(scores), jobs, workers, stored=max(scores), gains=GAINS)


def _scores(rows: int, parameters: Mapping[str, float]) -> int:
    """Return the number of scores that take as long as a data set."""
    return EACH + rows * int(parameters.get("n_classes", 2))


def _parts(rows: int, series: int, parameters: Mapping[str, float]) -> list[range]:
    """Return the numbers of the data sets of a size, grouped by task."""
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
    """Estimate errors on many simulated data sets, and compare them with the truth.

    Parameters
    ----------
    system, parameters
        The system; see `calcli.works.simulation.simulate`.
    metrics
        Calibration errors.
    rows
        Sizes of the data sets.
    series
        Data sets of each size.
    seed
        Metrics of all simulations.
    watch
        Called with the number of data sets done.
    workers
        Number of processes; any number gives the same bits.

    Raises
    ------
    UsageError
        If there is no such system or metric, or no true value of it.
    """
    settings = Settings(metrics=tuple(metrics), draws=0, intervals=False)
    calls = parse_metrics(metrics, settings.defaults)
    for metric in calls:
        require_truth(metric)
    truths = _truths(system, parameters, calls, settings, seed)
    task = _Asked(system, parameters, settings, seed)
    tasks = [
        _Part(place, size, numbers)
        for place, size in enumerate(rows)
        for numbers in _parts(size, series, parameters)
    ]
    values: dict[_Part, Doubles] = {}
    finished = 0
    with Processes(task, workers) as processes:
        for part, estimates in processes.each(_estimates, tasks):
            values[part], finished = estimates, finished + len(estimates)
            if watch:
                watch(finished)
    deviations = []
    for place, size in enumerate(rows):
        of_size = np.concatenate([values[part] for part in tasks if part.place == place])
        apart = of_size - np.array([truth for truth, *_ in truths])
        low, high = np.quantile(apart, [TAIL, 1 - TAIL], axis=0)
        for k, metric in enumerate(calls):
            numbers = map(float, (low[k], apart[:, k].mean(), high[k]))
            deviations.append(Deviation(metric.text, size, *truths[k], *numbers))
    order = [metric.text for metric in calls]
    return sorted(deviations, key=lambda deviation: order.index(deviation.metric))


def _truths(
    system: str,
    parameters: Mapping[str, float],
    metrics: Sequence[Measure],
    settings: Settings,
    seed: int,
) -> list[tuple[float, TruthBy, float]]:
    """Return the true value of each metric, how it is known, and its Monte-Carlo standard error."""
    rows = min(TRUTH_ROWS, max(1, int(TRUTH_SCORES // parameters.get("classes", 2))))
    if (exact := population(system, parameters, as_option)) is not None:
        simulated, weights = exact
        seen = _predictions(simulated, weights)
        by: TruthBy = "table" if weights is None else "quadrature"
        return [(true_error(metric, seen, simulated.posteriors, settings), by, 0.0) for metric in metrics]
    simulation = simulate(system, parameters, rows, seed)
    return [_simulated(metric, simulation, settings) for metric in metrics]


def _simulated(metric: Measure, simulation: Simulation, settings: Settings) -> tuple[float, TruthBy, float]:
    """Return the error of all drawn rows, and its standard error from their parts."""

    def true(rows: slice) -> float:
        part = simulation._replace(scores=simulation.scores[rows], labels=simulation.labels[rows])
        return true_error(metric, _predictions(part), simulation.posteriors[rows], settings)

    rows = len(simulation.labels)
    ends = np.linspace(0, rows, min(TRUTH_PARTS, rows) + 1).astype(int).tolist()
    errors = [true(slice(*cut)) for cut in pairwise(ends)]
    error = float(np.std(errors, ddof=1) / math.sqrt(len(errors))) if len(errors) > 1 else math.nan
    return true(slice(rows)), "simulation", error


def _predictions(simulation: Simulation, weights: Doubles | None = None) -> Predictions:
    classes = tuple(map(str, range(simulation.scores.shape[1])))
    if simulation.of_answers:
        classes = WRONG_RIGHT
    scores = ArrayScores(simulation.scores, simulation.kind)
    return Predictions(scores, simulation.labels, classes, weights)
