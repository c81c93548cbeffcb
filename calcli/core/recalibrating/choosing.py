"""The choice among methods by cross-validation: fits in folds, the rule, the pool, and how sure it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calcli.core.calibrators.base import Calibrator, Parameters
from calcli.core.calibrators.crossvalidation import (
    LabeledScores,
    PairedDifference,
    paired_difference,
    simplest,
)
from calcli.core.calibrators.pool import pool_weights
from calcli.core.calibrators.structured import Structured
from calcli.core.data.arrays import Doubles, Floats, Positions
from calcli.core.data.predictions import ArrayScores, Scores
from calcli.core.data.streams import Stream, generator
from calcli.core.language.errors import CalcliError, UsageError
from calcli.core.language.expressions import MethodExpression, parse_method
from calcli.core.language.methods import JOINED
from calcli.core.recalibrating.candidates import POOL, freedom, path_of

FEW_ROWS = 1000  # below, the folds are dealt several times
REPEATED_ROWS = 2000  # so that about as many rows are judged,
MOST_REPEATS = 10  # at most
RESAMPLES = 200  # of the rows, to see how sure the choice is
LEAST_SHARE = 0.01  # members of a pool below this weight are left out
DIGITS = 4  # of the weights of a pool

MetricValues = dict[str, float]


def repeats(rows: int) -> int:
    """Return how often the folds are dealt for so many rows."""
    return 1 if rows >= FEW_ROWS else min(MOST_REPEATS, -(-REPEATED_ROWS // rows))


@dataclass(frozen=True)
class Candidate:
    """A method that was tried.

    Attributes
    ----------
    call
        The method; None for the scores as they are.
    values
        Metrics of the held-out predictions, the mean over repeats; empty if it could not be fitted.
    difference
        Held-out loss against that of the best candidate.
    failed
        Why it could not be fitted.
    """

    call: MethodExpression | None
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


@dataclass(frozen=True)
class HeldOut:
    """The held-out predictions of a method, reduced: metrics and the loss of each row."""

    values: MetricValues
    losses: Doubles


@dataclass(frozen=True)
class Judge:
    """How held-out predictions are judged.

    Attributes
    ----------
    values
        Returns metrics of scores of the rows.
    losses
        Returns the loss of each row.
    score
        The name of the loss.
    """

    values: Callable[[Scores], MetricValues]
    losses: Callable[[Scores], Doubles]
    score: str


class Trials:
    """Cross-validation of methods on the same folds, each done once.

    Parameters
    ----------
    rows
        All rows.
    made
        Makes the calibrator of a method.
    folds
        The fold of each row, (N,), for each repeat.
    judge
        What is made of the held-out predictions.
    step
        Called after each fit.
    """

    def __init__(
        self,
        rows: LabeledScores,
        made: Callable[[MethodExpression], Calibrator],
        folds: Sequence[Positions],
        judge: Judge,
        step: Callable[[], None],
    ) -> None:
        self.rows, self.judge = rows, judge
        self._made, self._folds, self._step = made, folds, step
        self._starts: dict[tuple[Any, ...], Parameters] = {}
        self._parts = [list(_parts(rows, fold)) for fold in folds]
        self._best: dict[tuple[str, ...], tuple[float, MethodExpression, Floats]] = {}

    def held_out(self, call: MethodExpression) -> HeldOut:
        """Cross-validate a method, roughly where it can; the fits of one strength start those of the next."""
        path = path_of(call)
        log_probs = []
        for repeat, parts in enumerate(self._parts):
            result = np.empty(self.rows.scores.shape)
            for number, (kept, out) in enumerate(parts):
                calibrator = self._made(call)
                _make_rough(calibrator)
                key = (path, repeat, number)
                calibrator.learn(kept.scores, kept.labels, kept.weights, self._starts.get(key))
                if len(path) > 1:
                    self._starts[key] = calibrator.parameters
                result[out] = calibrator.apply(self.rows.scores.take(out, axis=0))
                self._step()
            log_probs.append(result)
        found = self._judged(log_probs)
        mean = float(np.average(found.losses, weights=self.rows.weights))
        if np.isfinite(mean) and (path not in self._best or mean < self._best[path][0]):
            self._best[path] = mean, call, np.concatenate(log_probs, dtype=np.float32, casting="same_kind")
        return found

    def skip(self) -> None:
        """Count the fits of a method that is not tried."""
        for parts in self._parts:
            for _ in parts:
                self._step()

    def _judged(self, log_probs: Sequence[Doubles]) -> HeldOut:
        scores = [ArrayScores(one, "log-probs") for one in log_probs]
        values = [self.judge.values(one) for one in scores]
        losses = [self.judge.losses(one) for one in scores]
        means = {name: float(np.mean([one[name] for one in values])) for name in values[0]}
        return HeldOut(means, np.mean(losses, axis=0))

    def pooled(self) -> tuple[MethodExpression, HeldOut] | None:
        """Return the pool of the best method of each kind, weighted by their held-out predictions."""
        members = list(self._best.values())
        if len(members) < 2:
            return None
        count = len(self._parts)
        labels = np.tile(self.rows.labels, count)
        of_rows = None if self.rows.weights is None else np.tile(self.rows.weights, count)
        weights = pool_weights([one for *_, one in members], labels, of_rows, self.judge.score)
        while weights.min() < LEAST_SHARE:  # without one member, another may matter no more
            members = [one for one, weight in zip(members, weights, strict=True) if weight >= LEAST_SHARE]
            weights = pool_weights([one for *_, one in members], labels, of_rows, self.judge.score)
        if len(members) < 2:
            return None
        shares = np.round(weights, DIGITS)
        names = JOINED.join(call.nested for _, call, _ in members)
        call = parse_method(f"{POOL}:members={names}:weights={'/'.join(f'{w:g}' for w in shares)}")
        mixed = np.zeros(members[0][2].shape)
        for weight, (_, _, one) in zip(shares / shares.sum(), members, strict=True):
            mixed += weight * np.exp(one, dtype=np.float64)
        with np.errstate(divide="ignore"):
            np.log(mixed, out=mixed)
        return call, self._judged(np.split(mixed, count))


def _parts(rows: LabeledScores, fold: Positions) -> Iterator[tuple[LabeledScores, Positions]]:
    """Yield the rows to fit to, and where those are that they leave out, for each fold."""
    for number in np.unique(fold).tolist():
        yield rows.take(fold != number), np.flatnonzero(fold == number)


def _make_rough(calibrator: Calibrator) -> None:
    """Let a structured calibrator be fitted in single precision, also within others."""
    inner = calibrator
    while "calibrator" in (settings := inner.get_params()):
        inner = settings["calibrator"]
    if isinstance(inner, Structured):
        inner.rough = True


def choose(
    trials: Trials, calls: Sequence[MethodExpression], before: tuple[MetricValues, Doubles]
) -> tuple[MethodExpression, HeldOut, tuple[Candidate, ...], Sureness | None]:
    """Return the method to take, its held-out predictions, what was compared, and how sure the choice is.

    The simplest method whose loss is within one standard error of the least is chosen, of those equally free
    the best; then, where `pool` is among the methods, the pool of the best of each kind, if its loss is lower
    by more than a standard error.

    Parameters
    ----------
    trials
        The cross-validation.
    calls
        What to choose from.
    before
        Metrics and losses of the scores as they are.

    Raises
    ------
    UsageError
        If none can be fitted.
    """
    tried: list[tuple[MethodExpression, HeldOut]] = []
    failed: list[Candidate] = []
    singles = [call for call in calls if str(call) != POOL]
    lasting: dict[tuple[str, ...], Doubles | None] = {}  # losses by path; None where a weaker one is no use
    for call in sorted(singles, key=freedom):
        path = (*path_of(call), *map(str, call.chain[-1].arguments.get("penalties", ())))
        if path in lasting and lasting[path] is None:
            trials.skip()
            continue
        try:
            done = trials.held_out(call)
            tried.append((call, done))
            if "off_diagonal_penalties" in call.chain[-1].arguments:
                before_it = lasting.get(path)
                worse = before_it is not None and not _is_noise(trials, done.losses, before_it)
                lasting[path] = None if worse else done.losses
        except CalcliError as fault:
            failed.append(Candidate(call, {}, failed=str(fault)))
    if not tried:
        raise UsageError(f"none of the candidates can be fitted: {failed[0].failed}")
    pooled = trials.pooled() if len(singles) < len(calls) else None
    weights = trials.rows.weights
    losses = [done.losses for _, done in tried]
    means = np.array([np.average(one, weights=weights) for one in losses])
    ranks = [freedom(call) for call, _ in tried]
    chosen = _best_of_equals(means, ranks, simplest(losses, weights)[0])
    if pooled:
        tried.append(pooled)
        gain = paired_difference(losses[chosen], pooled[1].losses, weights)
        losses.append(pooled[1].losses)
        chosen = chosen if gain.is_noise else len(losses) - 1
    best = losses[int(np.argmin([np.average(one, weights=weights) for one in losses]))]
    as_is = Candidate(None, before[0], paired_difference(before[1], best, weights))
    found = [
        Candidate(call, done.values, paired_difference(done.losses, best, weights)) for call, done in tried
    ]
    names = [str(call) for call, _ in tried]
    sure = sureness(names, ranks, losses, weights, chosen, repeats=len(trials._folds))
    return *tried[chosen], (as_is, *found, *failed), sure


def _is_noise(trials: Trials, losses: Doubles, others: Doubles) -> bool:
    return paired_difference(losses, others, trials.rows.weights).is_noise


def _best_of_equals(means: Doubles, ranks: Sequence[tuple[float, ...]], chosen: int) -> int:
    """Return the candidate of the least mean loss among those that are as free as one of them."""
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
    optimism = []
    for _ in range(RESAMPLES):
        drawn = rng.poisson(1.0, len(share))
        inside, outside = share * drawn, share * (drawn == 0)
        if not (inside.any() and outside.any()):
            continue
        inside, outside = inside / inside.sum(), outside / outside.sum()
        found = _resampled_choice(away, inside, [ranks[k] for k in finite.tolist() if k < len(ranks)])
        count[names[finite[found]]] += 1
        optimism.append(float(away[found] @ outside - away[found] @ inside))
    total = sum(count.values())
    if not total:
        return None
    shares = {name: times / total for name, times in count.most_common()}
    same = shares.pop(names[chosen], 0.0)
    return Sureness(same, shares, max(0.0, float(np.mean(optimism))), repeats)


def _resampled_choice(away: Doubles, share: Doubles, ranks: Sequence[tuple[float, ...]]) -> int:
    """Return which of the candidates the rule takes by losses against one of them, (C, N)."""
    singles = away[: len(ranks)]
    means = singles @ share
    best = int(np.argmin(means))
    apart = singles - singles[best]
    gaps = means - means[best]
    errors = np.sqrt(np.square(apart - gaps[:, None]) @ np.square(share))
    chosen = _best_of_equals(means, ranks, int(np.argmax(gaps <= np.maximum(errors, 0))))
    if len(away) > len(ranks):
        apart = singles[chosen] - away[-1]
        gain = float(apart @ share)
        if gain > np.sqrt(np.square(apart - gain) @ np.square(share)):
            return len(away) - 1
    return chosen
