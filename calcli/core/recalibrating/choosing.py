"""The choice among methods by cross-validation: fits in folds, the rule, the pool, and how sure it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from calcli.core.calibrators.crossvalidation import (
    PairedDifference,
    paired_difference,
    simplest,
)
from calcli.core.data.arrays import Doubles, Floats
from calcli.core.data.chance import Stream, generator
from calcli.core.language.errors import CalcliError, UsageError
from calcli.core.language.expressions import MethodExpression
from calcli.core.recalibrating.candidates import POOL, freedom, path_of
from calcli.core.recalibrating.trials import MetricValues, Performance, Trials

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


def choose(
    trials: Trials, calls: Sequence[MethodExpression], before: Performance
) -> tuple[MethodExpression, Performance, tuple[Candidate, ...], Sureness | None]:
    """Return the method to take, its held-out predictions, what was compared, and how sure the choice is.

    The simplest method whose loss is within one standard error of the least is chosen, of those equally free
    the best; then, where `pool` is among the methods, the pool of the best of each kind, if its loss is lower
    by more than a standard error and more than a hundredth.

    Parameters
    ----------
    trials
        The cross-validation.
    calls
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
    singles = [call for call in calls if str(call) != POOL]
    lasting: dict[tuple[str, ...], Doubles] = {}  # losses of matrices by path
    settled: set[tuple[str, ...]] = set()  # paths on which weaker ones are no use
    for wave in _waves(sorted(singles, key=freedom)):
        worth = [call for call in wave if _strengths(call) not in settled]
        for _ in range(len(wave) - len(worth)):
            trials.skip()
        for call, done in zip(worth, trials.held_out(worth), strict=True):
            if isinstance(done, CalcliError):
                failed.append(Candidate(call, {}, failed=str(done)))
                continue
            tried.append((call, done))
            if "off_diagonal_penalties" in call.chain[-1].arguments:
                path = _strengths(call)
                if path in lasting and not _is_noise(trials, done.losses, lasting[path]):
                    settled.add(path)
                lasting[path] = done.losses
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
        much = gain.mean > POOL_GAIN * np.average(losses[chosen], weights=weights)
        chosen = len(losses) - 1 if much and not gain.is_noise else chosen
    best = losses[int(np.argmin([np.average(one, weights=weights) for one in losses]))]
    as_is = Candidate(None, before.values, paired_difference(before.losses, best, weights))
    found = [
        Candidate(call, done.values, paired_difference(done.losses, best, weights)) for call, done in tried
    ]
    names = [str(call) for call, _ in tried]
    sure = sureness(names, ranks, losses, weights, chosen, repeats=len(trials.dealt.folds))
    return *tried[chosen], (as_is, *found, *failed), sure


def _waves(calls: Sequence[MethodExpression]) -> Iterator[list[MethodExpression]]:
    """Yield methods in their order, together as long as none has to wait for another of its path."""
    wave: dict[tuple[str, ...], MethodExpression] = {}
    for call in calls:
        if path_of(call) in wave:
            yield list(wave.values())
            wave = {}
        wave[path_of(call)] = call
    yield list(wave.values())


def _strengths(call: MethodExpression) -> tuple[str, ...]:
    """Return what methods have in common that differ in the strength of their matrix only."""
    return (*path_of(call), *map(str, call.chain[-1].arguments.get("penalties", ())))


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
    optimism: list[float] = []

    for _ in range(RESAMPLES):
        drawn = rng.poisson(1.0, len(share))
        inside, outside = share * drawn, share * (drawn == 0)
        if not (inside.any() and outside.any()):
            continue
        inside, outside = inside / inside.sum(), outside / outside.sum()
        found = _resampled_choice(
            away, inside, [ranks[k] for k in finite.tolist() if k < len(ranks)], table[chosen]
        )
        count[names[finite[found]]] += 1
        optimism.append(float(away[found] @ outside - away[found] @ inside))
    total = sum(count.values())
    if not total:
        return None
    shares = {name: times / total for name, times in count.most_common()}
    same = shares.pop(names[chosen], 0.0)
    return Sureness(same, shares, max(0.0, float(np.mean(optimism))), repeats)


def _resampled_choice(away: Doubles, share: Doubles, ranks: Sequence[tuple[float, ...]], of: Doubles) -> int:
    """Return which of the candidates the rule takes by losses, (C, N), against those of one of them."""
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
