"""What `auto` tries, and how it chooses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from calcli.core.calibrators.base import make
from calcli.core.calibrators.crossvalidation import (
    LabeledScores,
    PairedDifference,
    paired_difference,
    simplest,
)
from calcli.core.calibrators.fit.training import Parameters
from calcli.core.calibrators.pool import pool_weights
from calcli.core.calibrators.structured import Structured
from calcli.core.data.arrays import Doubles, Floats, Positions, Stream, generator
from calcli.core.data.predictions import ArrayScores, Scores
from calcli.core.data.processes import Processes
from calcli.core.data.units import numbers_of
from calcli.core.language.errors import CalcliError, UsageError
from calcli.core.language.expressions import MethodExpression, parse_method
from calcli.core.language.methods import JOINED, METHODS
from calcli.core.language.settings import FitSettings

FEW_CLASSES = 10  # up to which maps with a value for every score are tried
ROWS_OF_CLASS = 50  # on average, from which they are: each class takes as many steps as its rows allow
MANY_CLASSES = 100  # from which one strength for the class-wise slopes will do
MOST_CLASSES = 200  # beyond, fits with slopes for each class take too long to try many
WITH_MATRIX = 0.3  # strength for the class-wise slopes beside a matrix
BASES = ("scaled", "centered", "mixed")  # of many classes the first two
OFF_DIAGONAL = (10, 3, 1, 0.3)
OF_FEW = ("centered-isotonic", "isotonic")
POOL = "pool"


def candidates_for(classes: int, rows: int, *, raw: bool = False, quick: bool = False) -> list[str]:
    """Return the methods that `auto` tries unasked, the simplest first.

    Parameters
    ----------
    classes, rows
        How many.
    raw
        Whether raw logits are fitted to: then the softmax methods alone.
    quick
        Whether only quick methods are wanted.
    """
    if raw:
        softmax = [m for m in METHODS.values() if m.family == "softmax"]
        return [m.name for m in softmax if m.quick or m.name in ("bias", "vector")]
    names = [m.name for m in METHODS.values() if m.quick]
    if quick:
        return names
    if classes <= FEW_CLASSES and rows >= ROWS_OF_CLASS * classes:
        names += OF_FEW
    if classes > MOST_CLASSES:
        return [*names, POOL]
    form = "structured:base={}:penalties={:g}"
    penalties = (1, 0.1) if classes < MANY_CLASSES else (WITH_MATRIX,)
    bases = BASES if classes < MANY_CLASSES else BASES[:2]
    methods = [f"{form.format(base, penalty)}:form=diagonal" for penalty in penalties for base in bases]
    if classes > 2:  # with two, the diagonal can do all that a matrix can
        matrices = [form.format(base, WITH_MATRIX) for base in bases]
        methods += [f"{matrix}:off_diagonal_penalties={off:g}" for off in OFF_DIAGONAL for matrix in matrices]
    return [*names, *methods, POOL]


def freedom(method: MethodExpression) -> tuple[float, ...]:
    """Return what sorts methods by their freedom, the simplest first: their order, then their strengths.

    It is the same for equally free methods, as with other bases of structured scaling.
    """
    inner = method.chain[-1]
    strengths = inner.arguments
    name = inner.entry.name
    order: tuple[float, ...] = (list(METHODS).index(name), len(method.chain))
    if name != "structured":
        return order
    off = strengths["off_diagonal_penalties"] if strengths["form"] == "matrix" else ()
    return (*order, len(off), *(-value for value in off), *(-value for value in strengths["penalties"]))


def path_of(method: MethodExpression) -> tuple[str, ...]:
    """Return what methods have in common that differ in strengths only: the fits of one start the next."""
    inner = method.chain[-1]
    details = [str(inner.arguments[key]) for key in ("base", "bends") if key in inner.arguments]
    names = [link.entry.name for link in method.chain]
    return (*names, *details) if inner.entry.name == "structured" else (str(method),)


LEAST_SHARE = 0.01  # members of a pool below this weight are left out
DIGITS = 2  # of the weights of a pool: held-out predictions tell no more

MetricValues = dict[str, float]
Member = tuple[float, MethodExpression, Floats]  # mean loss, method, held-out log-probabilities of all deals


@dataclass(frozen=True)
class Performance:
    """What scores of the rows are worth.

    Attributes
    ----------
    values
        Metrics, by canonical expression.
    by_row
        (N,) the loss of each row, in the precision of the pass.
    """

    values: MetricValues
    by_row: Floats

    @property
    def losses(self) -> Doubles:
        """(N,) the loss of each row, in double precision."""
        return self.by_row.astype(np.float64, copy=False)


@dataclass(frozen=True)
class Dealt:
    """Rows to fit to and to judge on.

    Attributes
    ----------
    rows
        All candidates.
    folds
        The fold of each, (N,), for each time that they are dealt.
    settings
        How methods are wrapped.
    """

    rows: LabeledScores
    folds: Sequence[Positions]
    settings: FitSettings


Fitted = tuple[Doubles, Parameters] | CalcliError  # log-probabilities of a fold, or why there are none


class OneFit(NamedTuple):
    """A fit to the rows outside a fold, from where it starts."""

    method: str
    repeat: int
    fold: int
    start: Parameters | None


def fitted(dealt: Dealt, fit: OneFit) -> Fitted:
    """Return the log-probabilities of the rows of a fold, and the parameters; or why there are none."""
    rows, fold = dealt.rows, dealt.folds[fit.repeat]
    training = rows.take(fold != fit.fold)
    calibrator = make(dealt.settings.wrapped(parse_method(fit.method)))
    inner = calibrator
    while "calibrator" in (settings := inner.get_params()):
        inner = settings["calibrator"]
    if isinstance(inner, Structured):
        inner.rough = True
    try:
        calibrator.learn(training.scores, training.labels, training.weights, fit.start)
        out = np.flatnonzero(fold == fit.fold)
        return calibrator.apply(rows.scores.take(out, axis=0)), calibrator.parameters
    except CalcliError as fault:
        return fault


class Trials:
    """Cross-validation of methods on the same folds, each done once.

    Parameters
    ----------
    dealt
        All rows, and their folds.
    judge
        Returns what scores of the rows are worth.
    step
        Called after each fit.
    processes
        What does the fits.
    """

    def __init__(
        self,
        dealt: Dealt,
        judge: Callable[[Scores], Performance],
        step: Callable[[], None],
        processes: Processes[Dealt],
    ) -> None:
        self.dealt, self.rows, self._judge = dealt, dealt.rows, judge
        self._step, self._processes = step, processes
        self._numbers = [numbers_of(fold) for fold in dealt.folds]
        self._count = sum(map(len, self._numbers))
        self._starts: dict[tuple[Any, ...], Parameters] = {}
        self._best: dict[tuple[str, ...], Member] = {}

    def held_out(self, methods: Sequence[MethodExpression]) -> Iterator[Performance | CalcliError]:
        """Cross-validate methods of unlike paths, roughly where it can; yield the trials in their order.

        The fits of one strength start the fits of the next on its path.
        """
        fits = [
            OneFit(str(method), repeat, number, self._starts.get((path_of(method), repeat, number)))
            for method in methods
            for repeat, numbers in enumerate(self._numbers)
            for number in numbers
        ]
        waiting = list(methods)
        by_method: dict[str, dict[tuple[int, int], Fitted]] = {str(method): {} for method in methods}
        for fit, result in self._processes.each(fitted, fits):
            by_method[fit.method][fit.repeat, fit.fold] = result
            self._step()
            while waiting and len(by_method[str(waiting[0])]) == self._count:
                method = waiting.pop(0)
                yield self._joined(method, by_method.pop(str(method)))

    def _joined(
        self, method: MethodExpression, fits: dict[tuple[int, int], Fitted]
    ) -> Performance | CalcliError:
        """Return a function's results for the fits of a method."""
        path, log_probs = path_of(method), []
        for repeat, fold in enumerate(self.dealt.folds):
            result = np.empty(self.rows.scores.shape)
            for number in self._numbers[repeat]:
                fit = fits[repeat, number]
                if isinstance(fit, CalcliError):
                    return fit
                result[fold == number], parameters = fit
                if len(path) > 1:
                    self._starts[path, repeat, number] = parameters
            log_probs.append(result)
        performance = self._judged(log_probs)
        mean = float(np.average(performance.losses, weights=self.rows.weights))
        if np.isfinite(mean) and (path not in self._best or mean < self._best[path][0]):
            self._best[path] = mean, method, np.concatenate(log_probs, dtype=np.float32, casting="same_kind")
        return performance

    def skip(self) -> None:
        """Count the fits of a method that is not tried."""
        for _ in range(self._count):
            self._step()

    def _judged(self, log_probs: Sequence[Doubles]) -> Performance:
        """Return the mean over the times that folds were dealt; classes come from the first."""
        runs = [self._judge(ArrayScores(probs, "log-probs")) for probs in log_probs]
        means = {name: float(np.mean([run.values[name] for run in runs])) for name in runs[0].values}
        return replace(runs[0], values=means, by_row=np.mean([run.losses for run in runs], axis=0))

    def pooled(self) -> tuple[MethodExpression, Performance] | None:
        """Return the pool of the best method of each kind, weighted by their held-out predictions.

        It is judged on each fold with the weights from the rows of the other folds, once for each deal:
        weights of all rows are fitted to the rows that would judge them.
        """
        members = list(self._best.values())
        everywhere = np.arange(len(self.dealt.folds) * len(self.rows.labels))
        weights = self._weights(members, everywhere)
        while weights.min() < LEAST_SHARE:  # without one member, another may matter no more
            members = [m for m, weight in zip(members, weights, strict=True) if weight >= LEAST_SHARE]
            weights = self._weights(members, everywhere)
        if len(members) < 2:
            return None
        names = JOINED.join(method.nested for _, method, _ in members)
        shares = "/".join(f"{weight:g}" for weight in np.round(weights, DIGITS))
        return parse_method(f"{POOL}:members={names}:weights={shares}"), self._judged(self._mixed(members))

    def _mixed(self, members: Sequence[Member]) -> list[Doubles]:
        """Return the held-out log-probabilities of a pool, for each time that the folds were dealt."""
        log_probs = []
        for repeat, fold in enumerate(self.dealt.folds):
            start, mixed = repeat * len(fold), np.zeros(self.rows.scores.shape)
            for number in self._numbers[repeat]:
                in_fold = np.flatnonzero(fold == number)
                outside = np.flatnonzero(np.tile(fold != number, len(self.dealt.folds)))
                weights = self._weights(members, outside)
                for weight, (_, _, member_probs) in zip(weights, members, strict=True):
                    mixed[in_fold] += weight * np.exp(member_probs[start + in_fold], dtype=np.float64)
            with np.errstate(divide="ignore"):
                log_probs.append(np.log(mixed, out=mixed))
        return log_probs

    def _weights(self, members: Sequence[Member], places: Positions) -> Doubles:
        """Return the weights of a pool, by the held-out predictions at some places among all deals."""
        rows, at = self.rows, places % len(self.rows.labels)
        of_rows = None if rows.weights is None else rows.weights[at]
        log_probs = [probs[places] for _, _, probs in members]
        return pool_weights(log_probs, rows.labels[at], of_rows, self.dealt.settings.score)


FEW_ROWS = 1000  # below, the folds are dealt several times
REPEATED_ROWS = 2000  # so that about as many rows are judged,
MOST_REPEATS = 10  # at most
REPEATED_CLASSES = 3000  # fitted one by one, as some methods do, where they are very many
POOL_GAIN = 0.01  # of the loss of one method, by which a pool is better that is chosen
RESAMPLES = 200  # of the rows, to see how sure the choice is


def repeats(rows: int, classes: int) -> int:
    """Return how often the folds are dealt for so many rows of so many classes."""
    if rows >= FEW_ROWS:
        return 1
    return min(MOST_REPEATS, -(-REPEATED_ROWS // rows), max(1, REPEATED_CLASSES // classes))


@dataclass(frozen=True)
class Candidate:
    """A method that was tried.

    Attributes
    ----------
    method
        The method; None for the scores as they are.
    values
        Metrics of the held-out predictions, the mean over repeats; empty if it could not be fitted.
    difference
        Held-out loss against the best candidate's.
    failed
        Why it could not be fitted.
    """

    method: MethodExpression | None
    values: MetricValues
    difference: PairedDifference | None = None
    failed: str = ""


@dataclass(frozen=True)
class Sureness:
    """How much of a choice is chance.

    Attributes
    ----------
    share
        Of resamples of the rows, how many choose the same.
    others
        What the others choose, with their shares, the most frequent first.
    optimism
        By how much the held-out loss of what was chosen is too low, because it was chosen on these rows:
        the loss of each resample's choice on the rows left out less that on its own, both against the choice
        of all rows.
    repeats
        How often the folds were dealt.
    """

    share: float
    others: dict[str, float]
    optimism: float
    repeats: int


def choose(
    trials: Trials, methods: Sequence[MethodExpression], before: Performance
) -> tuple[MethodExpression, Performance, tuple[Candidate, ...], Sureness | None]:
    """Return the method to take, its held-out predictions, what was compared, and how sure the choice is.

    The simplest method with a loss within one standard error of the least is chosen, among equally free ones
    the best; then, where `pool` is among the methods, the pool of the best of each kind, if its loss is lower
    by more than a standard error and more than a hundredth.

    Parameters
    ----------
    trials
        The cross-validation.
    methods
        What to choose from.
    before
        What the scores are worth as they are.

    Raises
    ------
    UsageError
        If none can be fitted.
    """
    tried: list[tuple[MethodExpression, Performance]] = []
    failed: list[Candidate] = []
    singles, weights = [method for method in methods if str(method) != POOL], trials.rows.weights
    lasting: dict[tuple[str, ...], Doubles] = {}  # losses of matrices by path
    settled: set[tuple[str, ...]] = set()  # paths on which weaker ones are no use
    for wave in _waves(sorted(singles, key=freedom)):
        worth = [method for method in wave if _strengths(method) not in settled]
        for _ in range(len(wave) - len(worth)):
            trials.skip()
        for method, result in zip(worth, trials.held_out(worth), strict=True):
            if isinstance(result, CalcliError):
                failed.append(Candidate(method, {}, failed=str(result)))
                continue
            tried.append((method, result))
            if "off_diagonal_penalties" in method.chain[-1].arguments:
                path = _strengths(method)
                if path in lasting and not paired_difference(result.losses, lasting[path], weights).is_noise:
                    settled.add(path)
                lasting[path] = result.losses
    if not tried:
        raise UsageError(f"none of the candidates can be fitted: {failed[0].failed}")
    pooled = trials.pooled() if len(singles) < len(methods) else None
    losses = [result.losses for _, result in tried]
    means = np.array([np.average(loss, weights=weights) for loss in losses])
    ranks = [freedom(method) for method, _ in tried]
    chosen = _best_of_equals(means, ranks, simplest(losses, weights)[0])
    if pooled:
        tried.append(pooled)
        gain = paired_difference(losses[chosen], pooled[1].losses, weights)
        losses.append(pooled[1].losses)
        much = gain.mean > POOL_GAIN * np.average(losses[chosen], weights=weights)
        chosen = len(losses) - 1 if much and not gain.is_noise else chosen
    best = losses[int(np.argmin([np.average(loss, weights=weights) for loss in losses]))]
    as_is = Candidate(None, before.values, paired_difference(before.losses, best, weights))
    candidates = [
        Candidate(method, result.values, paired_difference(result.losses, best, weights))
        for method, result in tried
    ]
    names = [str(method) for method, _ in tried]
    sure = sureness(names, ranks, losses, weights, chosen, repeats=len(trials.dealt.folds))
    return *tried[chosen], (as_is, *candidates, *failed), sure


def _waves(methods: Sequence[MethodExpression]) -> Iterator[list[MethodExpression]]:
    """Yield methods in their order, together as long as none has to wait for another of its path."""
    wave: dict[tuple[str, ...], MethodExpression] = {}
    for method in methods:
        if path_of(method) in wave:
            yield list(wave.values())
            wave = {}
        wave[path_of(method)] = method
    yield list(wave.values())


def _strengths(method: MethodExpression) -> tuple[str, ...]:
    """Return what methods have in common that differ in the strength of their matrix only."""
    return (*path_of(method), *map(str, method.chain[-1].arguments.get("penalties", ())))


def _best_of_equals(means: Doubles, ranks: Sequence[tuple[float, ...]], chosen: int) -> int:
    """Return the candidate of the least mean loss among the ones as free as one of them."""
    return min((k for k, rank in enumerate(ranks) if rank == ranks[chosen]), key=lambda k: means[k])


def sureness(
    names: Sequence[str],
    ranks: Sequence[tuple[float, ...]],
    losses: Sequence[Doubles],
    weights: Floats | None,
    chosen: int,
    *,
    repeats: int,
) -> Sureness | None:
    """Return how often resamples of the rows choose the same, and how optimistic the choice is.

    Parameters
    ----------
    names
        Of the candidates, the simplest first; the pool last.
    ranks
        The freedom of each; the pool, if there is one, has none.
    losses
        (N,) of each.
    weights
        (N,) of the rows.
    chosen
        Which was chosen.
    repeats
        How often the folds were dealt.

    Returns
    -------
    None if what was chosen has an infinite loss.
    """
    table = np.array(losses)
    finite = np.flatnonzero(np.isfinite(table).all(axis=1))
    if chosen not in finite:
        return None
    away = table[finite] - table[chosen]
    share = np.ones(table.shape[1]) if weights is None else np.asarray(weights, np.float64)
    rng = generator(0, Stream.SUBSETS, len(names))
    count: Counter[str] = Counter()
    optimism: list[float] = []

    for _ in range(RESAMPLES):
        times_drawn = rng.poisson(1.0, len(share))
        inside, outside = share * times_drawn, share * (times_drawn == 0)
        if not (inside.any() and outside.any()):
            continue
        inside, outside = inside / inside.sum(), outside / outside.sum()
        pick = _resampled_choice(
            away, inside, [ranks[k] for k in finite.tolist() if k < len(ranks)], table[chosen]
        )
        count[names[finite[pick]]] += 1
        optimism.append(float(away[pick] @ outside - away[pick] @ inside))
    total = sum(count.values())
    if not total:
        return None
    shares = {name: times / total for name, times in count.most_common()}
    same = shares.pop(names[chosen], 0.0)
    return Sureness(same, shares, max(0.0, float(np.mean(optimism))), repeats)


def _resampled_choice(away: Doubles, share: Doubles, ranks: Sequence[tuple[float, ...]], of: Doubles) -> int:
    """Return the candidates the rule takes by losses, (C, N), against the losses of one of them."""
    singles = away[: len(ranks)]
    means = singles @ share
    best = int(np.argmin(means))
    apart = singles - singles[best]
    gaps = means - means[best]
    errors = np.sqrt(np.square(apart - gaps[:, None]) @ np.square(share))
    chosen = _best_of_equals(means, ranks, int(np.argmax(gaps <= np.maximum(errors, 0))))
    if len(away) > len(ranks):
        apart = singles[chosen] - away[-1]
        gain, loss = float(apart @ share), float((of + singles[chosen]) @ share)
        if gain > max(POOL_GAIN * loss, np.sqrt(np.square(apart - gain) @ np.square(share))):
            return len(away) - 1
    return chosen
