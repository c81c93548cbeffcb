"""The cells of the study of intervals and tests: data whose truth is known, and what is computed of them.

Rows are normally distributed about the corner of their class, so that their posteriors are known: systems
that answer with these are calibrated. Intervals are studied of a system that is over-confident, except where
predictions are near-perfect, tests of the calibrated one.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from calcli.core.comparing.checking import Baseline, check
from calcli.core.comparing.comparison import Difference, Plan, compare
from calcli.core.comparing.policy import NoWorse, Policy, Rule
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.estimators.costs import parse_cost_word
from calcli.core.estimators.evidence import Margin
from calcli.core.estimators.intervals import Interval
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import parse_metric
from calcli.core.language.settings import Settings

KINDS = ("balanced", "rare class", "near-perfect", "weighted", "clustered")
CLASSES = (2, 10, 100)
SIZES = (50, 200, 500, 5_000, 50_000)
COMPARED = ("compare", "check")
COMPARED_CLASSES, COMPARED_SIZES = (2, 10), (500, 5_000)
CORE_CLASSES, CORE_SIZES = (2, 10), (500, 200, 5_000)  # in the order in which they are done

TRUTH_ROWS = {2: 2_000_000, 10: 1_000_000, 100: 200_000}
DRAWS = 39  # p-values are multiples of 1/40, so that 5% is exact
LEVEL = 0.95
ERRORS = {2: 0.2, 10: 0.3, 100: 0.4}  # of the best decisions, unless predictions are near-perfect
SURE = {2: 0.0026, 10: 0.0016, 100: 0.0016}  # then: about one in 500 rows
OVERCONFIDENT = 1.3  # times the logits
RARE = 0.02
CLUSTERS, OF_CLUSTERS = 16, 0.2  # their number, and their share of the variance
LIKE_BALANCED = ("weighted", "clustered")  # of which rows, taken together, are as those of balanced classes

SCORES = (
    "log_loss", "normalized_log_loss", "brier", "normalized_brier", "top1_brier", "accuracy", "error_rate",
    "normalized_error_rate", "bayes_risk:costs=abstain", "normalized_bayes_risk:costs=abstain",
    "mean_confidence", "mean_gap", "auroc", "binned_refinement_loss",
    "binned_refinement_loss:score=log_loss", "corp_uncertainty", "corp_uncertainty:lens=top-1",
    "balanced_accuracy", "kappa", "mcc",
)  # fmt: skip
OF_TWO = (
    "average_precision", "beta_score:b=2", "normalized_beta_score:b=2", "cllr", "oe_ratio",
    "calibration_intercept", "calibration_slope", "kuiper", "kuiper:lens=top-1",
    "aurc", "augrc", "selective_accuracy", "precision", "recall", "f1", "net_benefit:threshold=0.2", "rps",
)  # fmt: skip
OF_MANY = ("top5_accuracy",)
DEFAULT = (
    "log_loss", "normalized_log_loss", "brier", "normalized_brier", "accuracy", "normalized_error_rate",
    "top5_accuracy", "auroc", "mean_confidence", "mean_gap", "oe_ratio", "calibration_slope",
    "calibration_intercept",
)  # fmt: skip
TESTS = (
    "ece", "ece_l2", "ece_l2:debiased=true", "mce", "ece:binning=equal-mass", "ks", "smooth_ece", "kde_ece",
    "cw_ece", "cw_ece_l2", "ace",
)  # fmt: skip
TESTS_OF_TWO = ("ece:lens=top-1", "ks:lens=top-1", "spiegelhalter_z", "kuiper", "kuiper:lens=top-1", "ici")
TESTS_OF_MANY = ("ece:lens=class-1", "ks:lens=class-1")
SLOW_TESTS = ("skce", "expected_miscalibration:min_rows=100", "worst_miscalibration:min_rows=100")
SLOW_ROWS = 500  # up to which these are studied
COMPARED_METRICS = (
    "log_loss", "normalized_log_loss", "brier", "accuracy", "normalized_error_rate", "auroc", "mean_gap",
    "net_benefit:threshold=0.2:lens=class-1",
)  # fmt: skip
CHECKED = ("log_loss", "brier", "accuracy", "auroc")


@dataclass(frozen=True)
class Found:
    """What is found on one data set.

    Attributes
    ----------
    intervals
        By metric: the interval, or why there is none.
    p_values
        By test.
    """

    intervals: dict[str, Interval | str]
    p_values: dict[str, float]


@dataclass(frozen=True)
class Cell:
    """One kind of data of one size.

    Attributes
    ----------
    kind
        One of `KINDS`, or "compare" or "check".
    classes, rows
        Their number.
    """

    kind: str
    classes: int
    rows: int

    def __str__(self) -> str:
        return f"{self.kind}, {self.classes} classes, {self.rows} rows"

    @property
    def of_truth(self) -> str:
        """What the true values depend on."""
        return f"{'balanced' if self.kind in LIKE_BALANCED else self.kind}, {self.classes} classes"

    def found(self, seed: int, only: Container[str] | None = None) -> Found:
        """Return what is found on the data set of a seed, of all metrics and tests or only of some."""
        number = (*KINDS, *COMPARED).index(self.kind)
        rng = np.random.default_rng([seed, number, self.classes, self.rows])
        return {"compare": _compared, "check": _checked}.get(self.kind, _evaluated)(self, rng, only)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics whose intervals are studied."""
        if self.kind in COMPARED:
            return COMPARED_METRICS if self.kind == "compare" else ()
        return settings(self).metrics

    def truth(self, only: Container[str]) -> dict[str, float]:
        """Return the values of some metrics on very many rows."""
        rng = np.random.default_rng([99, self.classes])
        rows = TRUTH_ROWS[self.classes]
        if self.kind == "check":
            return {}
        if self.kind == "compare":
            plain = Settings(_of(COMPARED_METRICS, only), intervals=False, draws=0, rows="all")
            old, new, _ = systems(rows, self.classes, rng)
            (found,) = compare([old, new], plain, Plan())
            return {name: one.value for name, one in found.differences[0].items()}
        system, _ = drawn(Cell(self.kind, self.classes, rows), rng, of_truth=True)
        asked = settings(self, only, intervals=False)
        estimates = evaluate(system, asked).estimates
        return {name: one.value for name, one in estimates.items()}


def is_core(cell: Cell) -> bool:
    """Return whether a cell is one of those that are always done."""
    return cell.kind in COMPARED or (cell.classes in CORE_CLASSES and cell.rows in CORE_SIZES)


def every_cell() -> Iterator[Cell]:
    """Yield all cells, those of the core first."""
    core = [Cell(kind, k, n) for n in CORE_SIZES for kind in KINDS for k in CORE_CLASSES]
    paired = [Cell(kind, k, n) for n in COMPARED_SIZES for kind in COMPARED for k in COMPARED_CLASSES]
    rest = [Cell(kind, k, n) for n in SIZES for k in CLASSES for kind in KINDS]
    yield from dict.fromkeys([*core[:20], *paired[:4], *core[20:], *paired[4:], *rest])


def settings(cell: Cell, only: Container[str] | None = None, **more: Any) -> Settings:
    """Return what is computed of the over-confident system of a cell."""
    metrics = _of((*SCORES, *(OF_TWO if cell.classes == 2 else OF_MANY)), only)
    cluster = "cluster" if cell.kind == "clustered" and more.get("intervals", True) else None
    costs = parse_cost_word("abstain:0.02" if cell.kind == "near-perfect" else "abstain:0.1")
    assert costs is not None
    return Settings(metrics, draws=0, cluster=cluster, costs=(costs,), **more)


def drawn(cell: Cell, rng: np.random.Generator, of_truth: bool = False) -> tuple[Predictions, Predictions]:
    """Return the system whose intervals are studied, and the true posteriors.

    For the truth the rows are independent and of equal weight, which leaves all values as they are.
    """
    k, n = cell.classes, cell.rows
    apart = _apart(SURE[k] if cell.kind == "near-perfect" else ERRORS[k], k)
    prior = np.full(k, 1 / k)
    if cell.kind == "rare class":
        prior[:] = (1 - RARE) / (k - 1)
        prior[1] = RARE
    noise, columns, weights = rng.normal(size=(n, k)), {}, None
    if cell.kind == "clustered" and not of_truth:
        cluster = rng.integers(0, CLUSTERS, n)
        shared = rng.normal(size=(CLUSTERS, k))[cluster]
        noise = math.sqrt(1 - OF_CLUSTERS) * noise + math.sqrt(OF_CLUSTERS) * shared
        columns = {"cluster": cluster}
    if cell.kind == "weighted" and not of_truth:
        weights = rng.exponential(size=n)
    labels = rng.choice(k, n, p=prior)
    noise[np.arange(n), labels] += apart
    logits = apart * noise + np.log(prior)
    factor = 1 if cell.kind == "near-perfect" else OVERCONFIDENT
    names = tuple(map(str, range(k)))

    def system(scores: np.ndarray) -> Predictions:
        return Predictions(ArrayScores(scores, "logits"), labels, names, weights, columns)

    return system(factor * logits), system(logits)


@cache
def _apart(error: float, classes: int) -> float:
    """Return how far the classes must be apart, by their own rows, for an error of the best decisions."""
    nodes, shares = np.polynomial.hermite_e.hermegauss(200)
    below = np.array([[0.5 * math.erfc(-x / math.sqrt(2)) for x in nodes + a] for a in np.arange(0, 9, 0.01)])
    errors = 1 - below ** (classes - 1) @ shares / shares.sum()
    return float(np.interp(-error, -errors, np.arange(0, 9, 0.01)))


def _of(names: Iterable[str], only: Container[str] | None) -> tuple[str, ...]:
    return tuple(name for name in names if only is None or name in only)


def _evaluated(cell: Cell, rng: np.random.Generator, only: Container[str] | None) -> Found:
    system, truth = drawn(cell, rng)
    seed, asked = int(rng.integers(1 << 30)), settings(cell, only)
    intervals, p_values = {}, {}
    if asked.metrics:
        intervals = _intervals(system, asked)
    names = [*TESTS, *(SLOW_TESTS if cell.rows <= SLOW_ROWS and cell.kind != "weighted" else ())]
    names += TESTS_OF_TWO if cell.classes == 2 else TESTS_OF_MANY
    wanted = _of(names, only)
    if wanted and cell.kind != "clustered":  # there is no test for dependent rows
        asked = Settings(wanted, draws=DRAWS, intervals=False, test=True, seed=seed)
        nulls = {n: one.if_calibrated for n, one in evaluate(truth, asked, sections=()).estimates.items()}
        p_values = {name: null.p_value for name, null in nulls.items() if null is not None}
    return Found(intervals, p_values)


def _intervals(system: Predictions, asked: Settings) -> dict[str, Interval | str]:
    """Return the intervals of metrics; those that do not fit the data, as without a class, have none."""
    try:
        estimates = evaluate(system, asked).estimates
    except UsageError as fault:
        if len(asked.metrics) == 1:
            return {asked.metrics[0]: str(fault)}
        alone = (_intervals(system, replace(asked, metrics=(name,))) for name in asked.metrics)
        return {name: one for found in alone for name, one in found.items()}
    return {name: one.interval or one.no_interval for name, one in estimates.items()}


def systems(rows: int, classes: int, rng: np.random.Generator) -> tuple[Predictions, ...]:
    """Return a system, one that is noisier and over-confident, and one as good as the first."""
    apart = _apart(ERRORS[classes], classes)
    labels = rng.integers(0, classes, rows)
    shared = math.sqrt(0.7) * rng.normal(size=(rows, classes))
    shared[np.arange(rows), labels] += apart
    found = []
    for scale, factor in ((0.3, 1.0), (0.4, 1.3), (0.3, 1.0)):
        seen = shared + math.sqrt(scale) * rng.normal(size=(rows, classes))
        found.append(
            Predictions(ArrayScores(factor * apart * seen, "logits"), labels, tuple(map(str, range(classes))))
        )
    return tuple(found)


def _compared(cell: Cell, rng: np.random.Generator, only: Container[str] | None) -> Found:
    old, new, equal = systems(cell.rows, cell.classes, rng)
    seed = int(rng.integers(1 << 30))
    scores = _of(COMPARED_METRICS, only)
    apart = _differences(old, new, Settings(scores, draws=0))
    alike = _differences(old, equal, Settings(scores, draws=DRAWS, seed=seed))
    return Found(
        {name: one.interval or one.no_interval for name, one in apart.items()},
        {name: one.p_value for name, one in alike.items()},
    )


def _differences(old: Predictions, new: Predictions, asked: Settings) -> Mapping[str, Difference]:
    if not asked.metrics:
        return {}
    (found,) = compare([old, new], asked, Plan())
    return found.differences[0]


def _checked(cell: Cell, rng: np.random.Generator, only: Container[str] | None) -> Found:
    """Return the p-values, doubled, of single rules that no metric gets worse: both are judged at 5%."""
    old, _, equal = systems(cell.rows, cell.classes, rng)
    seed = int(rng.integers(1 << 30))
    found = {}
    for name in _of(CHECKED, only):
        rule = Rule(parse_metric(name), NoWorse(Margin()))
        policy = Policy((rule,), Settings(level=LEVEL, draws=DRAWS, seed=seed))
        (outcome,) = check(equal, policy, Baseline(old, equal, paired=True)).outcomes
        if outcome.p_value is not None:
            found[name] = 2 * outcome.p_value
    return Found({}, found)


def as_numbers(found: Found) -> dict[str, Any]:
    """Return what is found as JSON values."""
    ends = {
        n: [one.low, one.high] if isinstance(one, Interval) else one for n, one in found.intervals.items()
    }
    return {"intervals": ends, "p_values": found.p_values}


def metrics_of(found: Sequence[Found]) -> list[str]:
    """Return the metrics of some data sets, in order."""
    return list(dict.fromkeys(name for one in found for name in one.intervals))
