"""Segments with outcomes that differ from their predictions beyond chance, corrected for their number.

All rows are recalibrated first: segments are off relative to this recalibration. A statistic is the sum of
the residuals of a segment, less the part that the fit of the recalibration absorbs (a score test with
estimated nuisance parameters). Outcomes are drawn from the recalibrated predictions many times: the
largest statistic of all segments is compared with the largest of each draw, which corrects exactly for their
number and overlap, and the quantile of these gives simultaneous intervals for all segments (max-T: Westfall &
Young 1993). Intervals of gaps are score intervals of the observed frequency (Wilson 1927), with the variance
of the hypothesized frequency, not of the predicted one. The segment that is off most then gets a shift of
its own, or a line for the log-loss, and the others are tested again. For dependent rows, the residuals of
each cluster get a common random sign (wild bootstrap: Wu 1986; Cameron, Gelbach & Miller
2008).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from calcli.core.calibrators.fit.logistic import LogisticLoss
from calcli.core.calibrators.fit.newton import minimize
from calcli.core.data.arrays import Array, Bools, Doubles, Floats, Positions, Rng, Stream, generator
from calcli.core.data.units import Units, distinct_codes
from calcli.core.estimators.intervals import TINY
from calcli.core.estimators.power import POWER

SegmentMetric = Literal["gap", "log_loss"]
RIDGE, GRADIENT = 1e-3, 1e-12  # of the fits
ENOUGH_CLUSTERS = 20  # clusters in a segment and in the rest: random signs then show the effect of chance
LOOKS = 5
SEEN = NormalDist().inv_cdf(POWER)
STEPS = 3  # of what is detectable, whose variance depends on it
DRAWN = 1_000_000  # rows up to which outcomes are drawn one by one
ALIKE, FARTHEST = 1 / 8, 128  # log-odds in which rows are drawn together differ, up to so many times that
NOTHING = 1e-9  # of the largest spread: what is left of a segment that the fit takes whole


@dataclass(frozen=True)
class Partition:
    """Disjoint segments: the values of a column, or of a pair.

    Attributes
    ----------
    names
        (m,) of the segments.
    codes
        (n,) the segment of each row.
    """

    names: Sequence[str]
    codes: Positions


@dataclass(frozen=True)
class Segment:
    """The result for a segment.

    Attributes
    ----------
    name
        Values of one column, or of two.
    rows
        Number of its rows.
    predicted, observed
        Mean recalibrated prediction, and mean outcome.
    value
        Predicted minus observed; or the mean excess of the log-loss over its expectation under the
        predictions.
    low, high
        The ends of its interval; the intervals of all segments hold at once.
    p_value
        Corrected for all segments.
    detectable
        The smallest value that is found four times in five: a gap before the recalibration, which absorbs a
        part of it, or an excess of the log-loss.
    """

    name: str
    rows: int
    predicted: float
    observed: float
    value: float
    low: float
    high: float
    p_value: float
    detectable: float


@dataclass(frozen=True)
class Search:
    """The result of a search for segments.

    Attributes
    ----------
    segments
        All tested segments, as first estimated, the furthest from chance first.
    found
        The segments beyond chance, in order of discovery, each after correcting its predecessors.
    left
        The p-value of the furthest segment after correcting the found ones.
    partitions, draws
        Number of partitions, and number of draws.
    """

    segments: Sequence[Segment]
    found: Sequence[Segment]
    left: float
    draws: int


def search(
    log_odds: Doubles,
    outcome: Array,
    partitions: Sequence[Partition],
    *,
    recalibrated: Literal["affine", "mean", "none"] = "affine",
    metric: SegmentMetric = "gap",
    min_rows: int = 100,
    level: float = 0.95,
    draws: int = 499,
    seed: int = 0,
    units: Units | None = None,
    weights: Floats | None = None,
) -> Search:
    """Find the segments with a difference beyond chance.

    Parameters
    ----------
    log_odds
        (n,) of the predictions.
    outcome
        (n,) from 0 to 1.
    partitions
        Partitions of the rows.
    recalibrated
        The recalibration of all rows: a line in the log-odds, a shift alone, or nothing.
    metric
        The metric by which segments are compared.
    min_rows
        Fewest rows of a tested segment, and of the rest; with `units`, both also need 20 units.
    level
        One minus the probability that any segment is found if none is off.
    draws, seed
        Number of draws of outcomes, and their seed.
    units
        Dependent rows, with drawn signs in place of outcomes; None for independent rows.
    weights
        (n,) row weights, which must not depend on the outcomes; None for equal weights.
    """
    weight = np.ones(len(log_odds)) if weights is None else weights / weights.mean()
    features = np.ones((len(log_odds), 0 if recalibrated == "none" else 1))
    if recalibrated == "affine":
        features = np.stack([features[:, 0], log_odds], axis=1)
    offset = log_odds if recalibrated == "none" else np.zeros(len(log_odds))
    tested = Kept.of(partitions, min_rows, units)
    initial: list[Segment] = []
    beyond: list[Segment] = []
    for look in range(LOOKS + 1):
        rng = generator(seed, Stream.OUTCOMES, look)
        seen = _look(features, offset, outcome, weight, tested, metric, draws, level, rng, units)
        initial = initial or seen
        if not seen or seen[0].p_value > 1 - level or look == LOOKS:
            break
        beyond.append(seen[0])
        inside = tested.rows_of(seen[0].name)
        columns = [inside] if metric == "gap" else [inside, inside * log_odds]
        features = np.column_stack([features, *columns])
    return Search(initial, beyond, seen[0].p_value if seen else 1.0, draws)


@dataclass(frozen=True)
class Kept:
    """Segments with enough rows, and the cells of rows that no column tells apart.

    Attributes
    ----------
    partitions
        All.
    cell
        (n,) the cell of each row.
    cells
        For each partition, the segment of each cell.
    enough
        (s,) which segments of all partitions are tested.
    """

    partitions: Sequence[Partition]
    cell: Positions
    cells: Sequence[Positions]
    enough: Bools

    @classmethod
    def of(cls, partitions: Sequence[Partition], min_rows: int, units: Units | None) -> Kept:
        """Return the segments of partitions with enough rows, or units, inside and in the rest."""
        cell = np.zeros(len(partitions[0].codes), np.intp)
        cells = 1
        for partition in partitions:
            size = len(partition.names)
            there, cell = distinct_codes(cell * size + partition.codes, cells * size)
            cells = len(there)
        cell_row = np.empty(cells, np.intp)
        cell_row[cell] = np.arange(len(cell))
        enough = []
        for part in partitions:
            size = len(part.names)
            rows = np.bincount(part.codes, minlength=size)
            fewest = np.minimum(rows, len(cell) - rows) >= min_rows
            if units is not None:  # a cluster counts wherever it has rows
                pairs, counts = np.unique(units.of_row * size + part.codes, return_counts=True)
                within = counts == np.bincount(units.of_row, minlength=units.number)[pairs // size]
                inside = np.bincount(pairs % size, minlength=size)
                outside = units.number - np.bincount(pairs[within] % size, minlength=size)
                fewest &= np.minimum(inside, outside) >= min(min_rows, ENOUGH_CLUSTERS)
            enough.append(fewest)
        return cls(partitions, cell, [part.codes[cell_row] for part in partitions], np.concatenate(enough))

    def sums(self, values: Array, cell: Positions | None = None) -> Doubles:
        """Return the sums of (n,) values of rows, or of groups of rows with their cells, over segments."""
        by_cell = np.bincount(self.cell if cell is None else cell, values, len(self.cells[0]))
        pairs = zip(self.partitions, self.cells, strict=True)
        every = [np.bincount(codes, by_cell, len(partition.names)) for partition, codes in pairs]
        return np.concatenate(every).astype(np.float64)[self.enough]

    def drawn(
        self, prob: Doubles, fit: Doubles, columns: Sequence[Doubles], absorbed: Doubles, rng: Rng
    ) -> Iterator[Doubles]:
        """Yield statistics of drawn outcomes without end; similar log-odds of a cell are drawn together."""
        near, wide = np.clip(fit / ALIKE, -FARTHEST, FARTHEST).astype(np.intp) + FARTHEST, 2 * FARTHEST + 1
        groups, place = distinct_codes(self.cell * wide + near, len(self.cells[0]) * wide)
        count = np.bincount(place)
        probs, slopes, *features = (np.bincount(place, of) / count for of in (prob, *columns))
        while True:
            off = rng.binomial(count, probs) - count * probs
            yield self.sums(slopes * off, groups // wide) - absorbed @ [feature @ off for feature in features]

    @property
    def names(self) -> list[str]:
        """Of the segments."""
        every = [name for partition in self.partitions for name in partition.names]
        return [name for name, enough in zip(every, self.enough.tolist(), strict=True) if enough]

    def rows_of(self, name: str) -> Doubles:
        """Return (n,) 1 for the rows of a segment, else 0."""
        group = next(partition for partition in self.partitions if name in partition.names)
        return (group.codes == group.names.index(name)).astype(np.float64)


def _look(
    features: Doubles,
    offset: Doubles,
    outcome: Array,
    weight: Doubles,
    tested: Kept,
    metric: SegmentMetric,
    draws: int,
    level: float,
    rng: Rng,
    units: Units | None,
) -> list[Segment]:
    """Return all segments relative to the recalibration, the furthest from chance first."""
    rows, (fit, width) = len(outcome), (offset, features.shape[1])
    if width:
        loss = LogisticLoss(features, outcome, weight / rows, offset)
        loss.add_ridge(np.zeros(width), np.array(RIDGE / rows))
        fit = offset + features @ minimize(loss, loss.centre, GRADIENT).x
    prob = 1 / (1 + np.exp(-fit))
    spread, slope = prob * (1 - prob), -fit if metric == "log_loss" else np.ones(rows)

    def crossed(values: Doubles) -> Doubles:
        sums = [tested.sums(values * column) for column in features.T]
        return np.stack(sums, axis=1) if sums else np.zeros((len(tested.names), 0))

    inner = np.linalg.inv(features.T @ ((weight * spread)[:, None] * features) + RIDGE * np.eye(width))
    absorbed = crossed(weight * spread * slope) @ inner

    def statistics(residual: Doubles) -> Doubles:
        return tested.sums(weight * slope * residual) - absorbed @ ((weight * residual) @ features)

    def variances(of_rows: Doubles) -> tuple[Doubles, Doubles]:
        """Return the contributions of rows inside and outside of segments to the variance."""
        values = weight**2 * of_rows
        inside, outside = tested.sums(values * slope**2), np.zeros(len(absorbed))
        for column, share in zip(features.T, absorbed.T, strict=True):
            product = np.vecdot(crossed(values * column), absorbed)
            inside += share * (product - 2 * tested.sums(values * slope * column))
            outside += share * (absorbed @ ((values * column) @ features) - product)
        return np.maximum(inside, 0), np.maximum(outside, 0)

    residual = outcome - prob
    observed, (inside, outside) = statistics(residual), variances(spread)
    if units is None:
        together = rows > DRAWN and bool((weight == 1).all())
        single = (statistics((rng.random(rows) < prob) - prob) for _ in range(draws))
        drawn = tested.drawn(prob, fit, (slope, *features.T), absorbed, rng) if together else single
        nulls = np.stack([*islice(drawn, draws)])
        sd = np.sqrt(inside + outside)
    else:  # separate draws for the common divisor: compared statistics stay alike
        signs = (2.0 * rng.integers(0, 2, units.number)[units.of_row] - 1 for _ in range(2 * draws))
        nulls, scale = np.split(np.stack([statistics(sign * residual) for sign in signs]), 2)
        sd = np.sqrt(np.square(scale).mean(axis=0))
    moves = sd > NOTHING * sd.max(initial=0)
    sd = np.where(moves, sd, np.inf)
    largest = np.abs(nulls / sd).max(axis=1, initial=0)
    at = np.abs(observed / sd)
    reach = float(np.quantile(largest, level))
    p_values = (1 + (largest[:, None] >= at).sum(axis=0)) / (1 + draws)

    of_rows = np.stack([weight, weight**2, weight * prob, weight * outcome])
    sums = np.stack([tested.sums(values) for values in of_rows])
    sizes, (mean, share), seen = sums[0], sums[2:] / sums[0], variances(np.square(residual))
    off, reached = observed / sizes, reach * sd / sizes
    grown = 1.0 if units is None else sd**2 / np.maximum(sum(seen), TINY)  # as rows of a unit are alike
    value, low, high, detectable = off, off - reached, off + reached, reached + SEEN * sd / sizes
    if metric == "gap":
        unfitted = 1 - np.vecdot(absorbed, crossed(weight * spread)) / tested.sums(weight * spread)
        for _ in range(STEPS):
            varied = np.sqrt(grown * (inside * _wider(mean, detectable) + outside)) / sizes
            recalibrated = reached * np.sqrt(_wider(mean, (1 - unfitted) * detectable))
            detectable = (recalibrated + SEEN * varied) / np.maximum(unfitted, TINY)
        bounds, outer = variances(np.ones(rows)), of_rows.sum(axis=1, keepdims=True) - sums
        below, above = _distances(sums, inside, seen[0], bounds[0], reach**2 * grown)
        less, farther = _distances(outer, outside, seen[1], bounds[1], reach**2 * grown)
        value, low, high = -off, -off - np.hypot(above, less) / sizes, np.hypot(below, farther) / sizes - off
        beyond = p_values <= 1 - level  # their variance without a gap is known: proofs stay valid
        low = np.where(beyond & (value > 0), np.maximum(low, 0), low)
        high = np.where(beyond & (value < 0), np.minimum(high, 0), high)
    count = tested.sums(np.ones(rows)).astype(np.intp)
    columns = count, mean, share, value, low, high, p_values, detectable
    names, values = tested.names, [column.tolist() for column in columns]
    order = np.argsort(-at, kind="stable")
    return [Segment(names[n], *(column[n] for column in values)) for n in order.tolist() if moves[n]]


def _wider(mean: Doubles, gap: Doubles) -> Doubles:
    """Return the factor by which the variance grows if a gap moves the mean towards 1/2."""
    moved = mean + np.minimum(gap, np.abs(mean - 0.5)) * np.sign(0.5 - mean)
    return moved * (1 - moved) / np.maximum(mean * (1 - mean), TINY)


def _distances(
    sums: Doubles, expected: Doubles, seen: Doubles, limit: Doubles, square: Any
) -> tuple[Doubles, Doubles]:
    """Return how far the ends of score intervals lie below and above the statistics.

    Parameters
    ----------
    sums
        (4, s) of the rows: weights, their squares, weighted predictions and outcomes.
    expected, seen, limit
        (s,) variances that the rows bring if they are as predicted, by their residuals, and at 1 each.
    square
        Of the quantile.
    """
    size, squares = sums[:2]
    mean, share = sums[2:] / size
    unit_variance = np.maximum(
        expected / np.maximum(mean * (1 - mean), TINY),
        (seen - limit * (share - mean) ** 2) / np.maximum(share * (1 - share), TINY),
    )
    a = square * np.minimum(unit_variance / np.maximum(limit, TINY), 1) * squares / size**2
    middle, root = share + a / 2, np.sqrt(a**2 / 4 + a * share * (1 - share))
    scale = size * np.sqrt(limit / squares)
    return scale * (share - (middle - root) / (1 + a)), scale * ((middle + root) / (1 + a) - share)
