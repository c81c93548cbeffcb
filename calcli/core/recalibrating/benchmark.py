"""Every calibrator side by side: fitted to some rows, judged on others, ranked over data sets."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from calcli.core.calibrators.base import Calibrator, make
from calcli.core.calibrators.crossvalidation import (
    LabeledScores,
    applied,
    checked_folds,
    rows_of,
)
from calcli.core.comparing.comparison import measured_systems
from calcli.core.data.arrays import Array, Floats, Positions, Stream, generator
from calcli.core.data.derived import counted
from calcli.core.data.predictions import ArrayScores, Predictions, require_classes
from calcli.core.data.processes import Processes, processes_for
from calcli.core.data.units import Units, column_folds, numbers_of, random_folds, require_clusters
from calcli.core.estimators.calibrationerror import holm
from calcli.core.estimators.evidence import DistanceEvidence, Studentized, sum_of_errors
from calcli.core.estimators.intervals import Influences
from calcli.core.language.errors import CalcliError, UsageError
from calcli.core.language.expressions import WRONG_RIGHT, parse_method, parse_methods, parse_metrics
from calcli.core.language.methods import CHOICE, METHODS
from calcli.core.language.metrics import METRICS
from calcli.core.language.settings import FitSettings, Settings
from calcli.core.recalibrating.choosing import candidates_for
from calcli.core.recalibrating.fitting import fit, takes_raw

UNCALIBRATED = "uncalibrated"
DEFAULT_METRICS = ("log_loss", "brier", "ece", "ks", "cw_ece", "accuracy")
DEFAULT_METHODS = tuple(
    method.name for method in METHODS.values() if method.family not in ("pool", "wrapper")
)


@dataclass(frozen=True)
class Task:
    """A model's predictions to recalibrate.

    Attributes
    ----------
    model
        What to call it.
    calibration, test
        Rows to fit to, and to judge on; the same for cross-validation.
    classes
        Their names.
    folds
        0, or into how many folds the rows are dealt, each judged by a fit to the others.
    fold
        (N,) the fold of each row, where they are given; then `folds` is their number.
    columns
        Of the rows to judge, by name: the metrics of the settings.
    logits
        Whether both are raw logits, which some methods need.
    """

    model: str
    calibration: LabeledScores
    test: LabeledScores
    classes: tuple[str, ...]
    folds: int = 0
    fold: Positions | None = None
    columns: Mapping[str, Array] = field(default_factory=dict)
    logits: bool = True

    @property
    def of_answers(self) -> bool:
        """Whether its rows are answers, right or wrong."""
        return self.classes == WRONG_RIGHT


@dataclass(frozen=True)
class Trial:
    """What a method did to a model's predictions.

    Attributes
    ----------
    model, method
        Which; the method as its expression.
    values
        Metrics of the recalibrated test rows, by expression, and accuracy; means over seeds; empty if it
        failed.
    deviations
        Their standard deviations over seeds; empty for one seed.
    fit_seconds, apply_seconds
        Processor time; with folds, the time of all fits with their applications, and 0.
    fault
        Why it failed, or "".
    influences
        What each unit brings to each score, if that was asked for; all methods of a model share their rows.
    """

    model: str
    method: str
    values: Mapping[str, float]
    deviations: Mapping[str, float] = field(default_factory=dict)
    fit_seconds: float = 0.0
    apply_seconds: float = 0.0
    fault: str = ""
    influences: Mapping[str, Influences] = field(default_factory=dict, repr=False, compare=False)


def by_model(trials: Iterable[Trial]) -> dict[str, dict[str, Trial]]:
    """Return trials by model and then by method, in their order."""
    models: dict[str, dict[str, Trial]] = {}
    for trial in trials:
        models.setdefault(trial.model, {})[trial.method] = trial
    return models


def task_of(
    model: str,
    calibration: Predictions,
    test: Predictions | None,
    folds: int = 0,
    settings: Settings | None = None,
) -> Task:
    """Return a task from predictions; without test rows the calibration rows are cross-validated.

    Parameters
    ----------
    model
        What to call it.
    calibration, test
        Rows to fit to, and to judge on.
    folds
        Into how many the rows are dealt, rows of a cluster together, unless a column says.
    settings
        Which columns they are.

    Raises
    ------
    InputError
        If the two have different classes, or a column is missing.
    """
    for predictions in (calibration, test) if test else (calibration,):
        predictions.require_named_class()
        predictions.require_probabilities()
    calibration, test = counted(calibration), test and counted(test)
    settings, rows, tested = settings or Settings(), rows_of(calibration), test or calibration
    names = [name for name in (settings.cluster, settings.fold_column) if name is not None]
    require_clusters(tested, settings.cluster)
    columns = {name: tested.column(name) for name in names}
    logits = calibration.kind == tested.kind == "logits"
    if test is not None:
        require_classes(test, calibration.classes, calibration.provenance.path)
        return Task(model, rows, rows_of(test), calibration.classes, columns=columns, logits=logits)
    if settings.fold_column is not None:
        fold = column_folds(tested, settings.fold_column)
        return Task(model, rows, rows, calibration.classes, int(fold.max()) + 1, fold, columns, logits)
    dealt: Positions | None = None
    if settings.cluster is not None:
        units = Units.of(tested.n_rows, columns[settings.cluster])
        dealt = random_folds(len(rows.labels), folds, generator(settings.seed, Stream.FITS), units)
    return Task(model, rows, rows, calibration.classes, folds, dealt, columns, logits)


def run(
    tasks: Sequence[Task],
    methods: Sequence[str],
    settings: Settings,
    workers: int | None = None,
    watch: Callable[[int], None] = lambda n_done: None,
    seeds: int = 1,
) -> list[Trial]:
    """Try every method on every task, and the scores as they are.

    Parameters
    ----------
    tasks
        The models.
    methods
        Method expressions, and `auto`.
    settings
        Metrics, bins, and intervals if methods are to be told apart.
    workers
        Processes at once; one per core, where that is faster, if None.
    watch
        Called with the number of trials done.
    seeds
        How many seeds deal the folds, one after the other.

    Returns
    -------
    Trials, model by model, each beginning with `UNCALIBRATED`; means over tasks of one model, such as seeds.
    """
    runs = [(number, method) for number in range(len(tasks)) for method in (UNCALIBRATED, *methods)]
    trials: dict[tuple[int, str], Trial] = {}
    count = workers_for(tasks, len(methods), workers)
    with Processes((tasks, settings, seeds), count) as processes:
        for n_done, (key, result) in enumerate(processes.each(_tried, runs), 1):
            trials[key] = result
            watch(n_done)
    seeds_of: dict[tuple[str, str], list[Trial]] = {}
    for number, method in runs:
        seeds_of.setdefault((tasks[number].model, method), []).append(trials[number, method])
    return [_mean(of_seeds) for of_seeds in seeds_of.values()]


def workers_for(tasks: Sequence[Task], methods: int, workers: int | None = None) -> int:
    """Return how many processes try so many methods."""
    scores = sum(task.calibration.scores.size * max(1, task.folds - 1) for task in tasks)
    stored = sum(task.calibration.scores.size + task.test.scores.size for task in tasks)
    return processes_for(scores * methods, len(tasks) * (methods + 1), workers, stored)


def _tried(shared: tuple[Sequence[Task], Settings, int], key: tuple[int, str]) -> Trial:
    tasks, settings, seeds = shared
    of_seeds = []
    for seed in range(settings.seed, settings.seed + seeds):
        of_seeds.append(trial(tasks[key[0]], key[1], replace(settings, seed=seed)))
        if of_seeds[-1].fault:
            break
    return _mean(of_seeds)


def _mean(trials: Sequence[Trial]) -> Trial:
    """Return the mean of a method's trials, each with folds or files of another seed, or a failed one."""
    head = next((run for run in trials if run.fault), trials[0])
    if len(trials) == 1 or head.fault:
        return head
    values = {name: np.array([run.values[name] for run in trials]) for name in head.values}
    influences = {
        name: replace(
            influence,
            value=float(values[name].mean()),
            of_units=np.mean([run.influences[name].of_units for run in trials], axis=0),
            bias=float(np.mean([run.influences[name].bias for run in trials])),
        )
        for name, influence in head.influences.items()
        if len({len(run.influences[name].of_units) for run in trials}) == 1  # of the same rows
    }
    return replace(
        head,
        values={name: float(numbers.mean()) for name, numbers in values.items()},
        deviations={
            name: float(numbers.std(ddof=1)) if np.ptp(numbers) else 0.0 for name, numbers in values.items()
        },
        fit_seconds=sum(run.fit_seconds for run in trials),
        apply_seconds=sum(run.apply_seconds for run in trials),
        influences=influences,
    )


def trial(task: Task, method: str, settings: Settings) -> Trial:
    """Fit a method, apply it to the test rows and compute the metrics; a failure is a result too."""
    try:
        log_probs, (fit_seconds, apply_seconds) = _recalibrated(task, method, settings.seed)
        predictions = Predictions(
            ArrayScores(log_probs, "logits" if method == UNCALIBRATED else "log-probs"),
            task.test.labels,
            task.classes,
            task.test.weights,
            task.columns,
        )
        metrics = tuple(dict.fromkeys([*settings.metrics, "accuracy"]))
        (system,) = measured_systems([predictions], replace(settings, metrics=metrics))
    except CalcliError as fault:
        return Trial(task.model, method, {}, fault=str(fault))
    except Exception as fault:  # whatever goes wrong inside one method, the others are still wanted
        return Trial(task.model, method, {}, fault=f"{type(fault).__name__}: {fault}")
    calls, by_call = parse_metrics(metrics, settings.defaults), system.influences
    values = {call.text: system.value(call) for call in calls}
    influences = {call.text: by_call[str(call)] for call in calls if str(call) in by_call}
    return Trial(
        task.model,
        method,
        values,
        fit_seconds=fit_seconds,
        apply_seconds=apply_seconds,
        influences=influences,
    )


def _recalibrated(task: Task, method: str, seed: int) -> tuple[Floats, tuple[float, float]]:
    """Return the test rows' log-probabilities, and the time of fitting and of applying."""
    if method == UNCALIBRATED:
        return task.test.scores, (0.0, 0.0)
    start = time.process_time()
    rows = task.calibration
    if task.folds:
        fold = task.fold
        if fold is None:
            count = checked_folds(task.folds, len(rows.labels))
            fold = random_folds(len(rows.labels), count, generator(seed, Stream.FITS))
        log_probs = np.empty_like(rows.scores)
        for number in numbers_of(fold):
            in_fold = np.flatnonzero(fold == number)
            fitted = _fitted(task, method, rows.take(fold != number), seed)
            log_probs[in_fold] = applied(fitted.apply, rows.scores.take(in_fold, axis=0))
        return log_probs, (time.process_time() - start, 0.0)
    fitted = _fitted(task, method, rows, seed)
    middle = time.process_time()
    log_probs = fitted.apply(task.test.scores)
    return log_probs, (middle - start, time.process_time() - middle)


def _fitted(task: Task, method: str, rows: LabeledScores, seed: int) -> Calibrator:
    """Return the fit of a method, or of what `auto` chooses, to rows of a task."""
    if method != CHOICE.name:
        call = parse_method(method)
        if takes_raw(call) and not task.logits:
            raise UsageError(f"{method} takes raw logits, which {task.model} does not have")
        return rows.fit(make(call))
    calls = parse_methods(candidates_for(len(task.classes), len(rows.labels)))
    scores = ArrayScores(rows.scores, "logits" if task.logits else "log-probs")
    predictions = Predictions(scores, rows.labels, task.classes, rows.weights)
    fitting = [call for call in calls if not (task.of_answers and call.entry.needs_classes)]
    return fit(predictions, fitting, FitSettings(seed=seed, workers=1)).calibrator


def cost(metric: str, value: float) -> float:
    """Return a value with lower as better; undefined values are worst."""
    loss = METRICS[metric.partition(":")[0]].cost(value)
    return math.inf if math.isnan(loss) else loss


def like_best(trials: Sequence[Trial], metric: str, level: float) -> set[str]:
    """Return the methods that cannot be told from the one with the best value of a score.

    Their differences to it are tested on the same rows, with Holm's correction; where few rows carry a
    difference nothing tells them apart. Empty for metrics without intervals.

    Parameters
    ----------
    trials
        Of one model.
    metric
        One of its metrics.
    level
        Confidence of the tests together.
    """
    target = METRICS[metric.partition(":")[0]].target
    influence_values = {
        trial.method: trial.influences[metric] for trial in trials if metric in trial.influences
    }
    costs = {
        trial.method: cost(metric, trial.values[metric])
        for trial in trials
        if trial.method in influence_values
    }
    if not costs or not math.isfinite(min(costs.values())):
        return set()
    best = min(costs, key=lambda method: costs[method])
    rivals = [method for method, loss in costs.items() if method != best and math.isfinite(loss)]
    p_values = [_p_value(influence_values[best], influence_values[method], target) for method in rivals]
    return {method for method, p in zip(rivals, holm(p_values), strict=True) if p > 1 - level}


def _p_value(best: Influences, rival: Influences, target: float | None) -> float:
    """Return the p-value of no difference, or of both being as near to a target; 1 of few rows."""
    apart = Studentized(best, rival, paired=True)
    if not apart.difference.spread.enough:
        return 1.0
    if target is None:
        return apart.p_value()
    p = DistanceEvidence(apart, sum_of_errors(best, rival, target, paired=True)).p_value()
    return 1.0 if math.isnan(p) else p


def mean_ranks(trials: Sequence[Trial], metric: str) -> dict[str, float]:
    """Return the mean over the models of each method's rank, 1 for the best.

    Equal values share the mean of their ranks; methods that failed come last.
    """
    models = list(dict.fromkeys(trial.model for trial in trials))
    ranks: dict[str, list[float]] = {trial.method: [] for trial in trials}
    for model in models:
        of_model = [trial for trial in trials if trial.model == model]
        costs = np.array([cost(metric, trial.values.get(metric, math.nan)) for trial in of_model])
        for trial, value in zip(of_model, costs, strict=True):
            below, equal = np.count_nonzero(costs < value), np.count_nonzero(costs == value)
            ranks[trial.method].append(float(below + (equal + 1) / 2))
    return {method: float(np.mean(places)) for method, places in ranks.items()}
