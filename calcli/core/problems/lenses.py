"""Lenses: the one-dimensional or vector problems that predictions become, and bins of vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from calcli.core.data.arrays import Array, Bools, Doubles, Floats, Positions, class_sums
from calcli.core.data.blocks import ROW_STATISTICS, Block, RowStatistic
from calcli.core.language.declaring import number_in
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import nearest_name, region_conditions, region_ends


class Partition(NamedTuple):
    """Rows parted into bins.

    Attributes
    ----------
    order
        (N,) row numbers, bin after bin.
    cuts
        (m + 1,) positions in `order` at which the m bins begin and end.
    """

    order: Positions
    cuts: Positions


@dataclass(frozen=True)
class Splits:
    """How bins were split: a binary tree with the bins as leaves.

    Attributes
    ----------
    dimension, threshold
        (m - 1,) of each split: values of that dimension below the threshold go to one side.
    below, above
        (m - 1,) the node on each side: the number of a split, or -1 minus the number of a bin.
    """

    dimension: Positions
    threshold: Doubles
    below: Positions
    above: Positions

    def bin_of(self, points: Floats) -> Positions:
        """Return the (n,) bin of each of (n, d) vectors."""
        bins = np.zeros(len(points), np.intp)
        waiting = [(0, np.arange(len(points)))] if len(self.threshold) else []
        while waiting:
            split, rows = waiting.pop()
            low = points[rows, self.dimension[split]] < self.threshold[split]
            for side, points_of_side in ((self.below[split], rows[low]), (self.above[split], rows[~low])):
                if side < 0:
                    bins[points_of_side] = -1 - side
                elif len(points_of_side):
                    waiting.append((side, points_of_side))
        return bins

    def bounds(self, dimensions: int) -> Doubles:
        """Return the (m, d, 2) least value of every dimension in each bin, and the one it stays below."""
        everything = np.stack([np.zeros(dimensions), np.full(dimensions, np.inf)], axis=1)
        bounds = np.empty((len(self.threshold) + 1, dimensions, 2))
        bounds[0] = everything
        waiting = [(0, everything)] if len(self.threshold) else []
        while waiting:
            split, box = waiting.pop()
            for side, end in ((self.below[split], 1), (self.above[split], 0)):
                half = box.copy()
                half[self.dimension[split], end] = self.threshold[split]
                if side < 0:
                    bounds[-1 - side] = half
                else:
                    waiting.append((int(side), half))
        return bounds


def recursive_partition(points: Floats, min_rows: int, weights: Floats | None = None) -> Partition:
    """Split rows where they vary most until the bins are small (Vaicenavicius et al. 2019, appendix B).

    A bin of at least `min_rows` rows is split in the dimension of its largest variance, the first on ties:
    rows below the mean go to one side, the others to the other. A bin that does not vary stays whole.

    Parameters
    ----------
    points
        (N, d) vectors.
    min_rows
        Number of rows from which a bin is split; it may leave bins with fewer.
    weights
        (N,) row weights, which enter mean and variance but not the number of rows.
    """
    return recursive_splits(points, min_rows, weights)[0]


def recursive_splits(
    points: Floats, min_rows: int, weights: Floats | None = None
) -> tuple[Partition, Splits]:
    """Return the bins of `recursive_partition`, and how they were split."""
    leaves: list[Positions] = []
    splits: list[tuple[int, np.float64]] = []
    sides: list[list[int]] = []
    waiting = [(np.arange(len(points)), points, -1, 0)]
    while waiting:
        rows, inside, parent, side = waiting.pop()
        number = -1 - len(leaves)
        if len(rows) >= min_rows:
            widest, mean = _widest(inside, None if weights is None else weights[rows])
            low = inside[:, widest] < mean
            if low.any() and not low.all():  # a mean of equal values may be rounded up
                number = len(splits)
                splits.append((widest, mean))
                sides.append([0, 0])
                below, above = (rows[low], inside[low]), (rows[~low], inside[~low])
                waiting += [(*above, number, 1), (*below, number, 0)]  # low first
        if number < 0:
            leaves.append(rows)
        if parent >= 0:
            sides[parent][side] = number
    dimension, threshold = np.array(splits).reshape(-1, 2).T
    below_above = np.array(sides, np.intp).reshape(-1, 2).T
    partition = Partition(np.concatenate(leaves), np.cumsum([0, *map(len, leaves)]))
    return partition, Splits(dimension.astype(np.intp), threshold, *below_above)


def _widest(points: Floats, weights: Floats | None) -> tuple[int, np.float64]:
    """Return the dimension of the largest variance, and its mean."""
    mean = _mean(points, weights)
    spread = np.subtract(points, mean, dtype=points.dtype)
    widest = int(_mean(np.square(spread, out=spread), weights).argmax())
    return widest, mean[widest]


def _mean(points: Floats, weights: Floats | None) -> Doubles:
    if weights is None:
        return points.mean(0, dtype=np.float64)
    return (weights @ points / (weights.sum() or 1)).astype(np.float64, copy=False)


SAME = 1e-6  # two probabilities no farther apart are one, whatever their precision


@dataclass(frozen=True)
class VectorProblem:
    """A problem of d outcomes.

    Attributes
    ----------
    probs
        (n, d) probabilities.
    labels
        (n,) integers in 0..d-1.
    weights
        (n,) row weights, or None.
    names
        d names of the outcomes, which regions refer to.
    """

    probs: Floats
    labels: Array
    weights: Floats | None = None
    names: Sequence[str] = ()

    def in_region(self, region: str, owner: str) -> VectorProblem:
        """Return the rows in a region of the largest probability, as "0.8..1", or of named outcomes.

        Raises
        ------
        UsageError
            If there is no such outcome; the owner, a metric, is named.
        """
        return self if region == "all" else self._chosen(self.rows_in(region, owner))

    def rows_in(self, region: str, owner: str) -> Bools:
        """Return the (n,) rows in such a region; see `in_region`."""
        if "@" not in region:
            return between(self.probs.max(1), *region_ends(region))
        inside = np.ones(len(self.probs), np.bool_)
        for name, (low, high) in region_conditions(region):
            if name not in self.names:
                range_ = f"{self.names[0]} to {self.names[-1]}" if self.names else "none: say it as in 0.8..1"
                raise UsageError(
                    f"{owner}: there is no outcome {name!r} to make a region of; there are {range_}"
                )
            inside &= between(self.probs[:, list(self.names).index(name)], low, high)
        return inside

    def with_weight(self) -> VectorProblem:
        """Return the rows that count: rows with a weight above 0."""
        return self if self.weights is None or self.weights.all() else self._chosen(self.weights > 0)

    def of_top(self) -> VectorProblem:
        """Return the problem of two outcomes, the predicted class is right or wrong."""
        top = self.probs.argmax(1)
        confidence = np.take_along_axis(self.probs, top[:, None], axis=1)
        probs = np.hstack([confidence, np.maximum(1 - confidence, 0)])
        return VectorProblem(probs, (self.labels != top).astype(np.intp), self.weights)

    def _chosen(self, rows: Bools) -> VectorProblem:
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, probs=self.probs[rows], labels=self.labels[rows], weights=weights)


def between(values: Floats, low: float, high: float) -> Bools:
    """Tell which values lie in [low, high], in [low, high) below 1."""
    # as doubles: the ends must not be rounded to the precision of the probabilities
    values = values.astype(np.float64, copy=False)
    if low == high:
        return np.abs(values - low) <= SAME
    return (values >= low) & ((values < high) | (high >= 1))


@dataclass(frozen=True)
class VectorLens:
    """A lens on several outcomes at once.

    Attributes
    ----------
    names
        Names of the d outcomes.
    table
        Function of a block that returns (d, n) probabilities.
    outcome
        Function of a block that returns (n,) integers in 0..d-1.
    """

    names: tuple[str, ...]
    table: Callable[[Block], Floats]
    outcome: Callable[[Block], Array]

    @property
    def size(self) -> int:
        """Number of outcomes, d."""
        return len(self.names)


def canonical_lens(n_classes: int) -> VectorLens:
    """Return the lens that shows all classes as they are."""
    names = tuple(f"class-{k}" for k in range(n_classes))
    return VectorLens(names, lambda block: block.probs, lambda block: block.labels)


def largest_lens(k: int) -> VectorLens:
    """Return the lens on the k largest probabilities and the rest (Vaicenavicius et al. 2019, ex. 2.iii)."""

    def probs(block: Block) -> Floats:
        largest = block.largest(k)[1].T
        return np.concatenate([largest, np.maximum(1 - largest.sum(0, keepdims=True), 0)])

    def outcome(block: Block) -> Array:
        right = block.largest(k)[0] == block.labels[:, None]
        return np.where(right.any(1), right.argmax(1), k)

    return VectorLens((*(f"top-{r + 1}" for r in range(k)), "rest"), probs, outcome)


def group_lens(groups: Sequence[Sequence[int]]) -> VectorLens:
    """Return the lens on groups of classes, with each class number in one group."""
    group_of = np.empty(sum(map(len, groups)), np.intp)
    for number, members in enumerate(groups):
        group_of[list(members)] = number
    columns = [np.flatnonzero(group_of == number) for number in range(len(groups))]

    def probs(block: Block) -> Floats:
        table = block.probs
        return np.stack([class_sums(table[group]) for group in columns])

    names = tuple(f"group-{number}" for number in range(len(groups)))
    return VectorLens(names, probs, lambda block: group_of[block.labels])


def group_members(name: str, group_of: Mapping[str, str], classes: Sequence[str]) -> list[list[int]]:
    """Return the class numbers of each group, groups in the order of their first classes.

    Parameters
    ----------
    name
        Of the partition, for messages.
    group_of
        The group of every class, by its name.
    classes
        Class names in the order of the scores.

    Raises
    ------
    UsageError
        If a class is in no group, or there is no such class.
    """
    strangers = [member for member in group_of if member not in classes]
    missing = [member for member in classes if member not in group_of]
    for faults, fault in [(strangers, "is not a class of these predictions"), (missing, "is in no group")]:
        if faults:
            names = ", ".join(classes[:8]) + (", ..." if len(classes) > 8 else "")
            raise UsageError(f"--class-groups {name}: {faults[0]!r} {fault}; expected each of {names} once")
    members: dict[str, list[int]] = {}
    for number, member in enumerate(classes):
        members.setdefault(group_of[member], []).append(number)
    return list(members.values())


def members_by_name(
    groups: Mapping[str, Mapping[str, str]], classes: Sequence[str]
) -> dict[str, list[list[int]]]:
    """Return the class numbers of each group of several partitions; see `group_members`."""
    return {name: group_members(name, group_of, classes) for name, group_of in groups.items()}


WHOLE = ("canonical", "class-wise", "worst-class")
NUMBERED = ("top", "within-top", "class", "predicted", "largest")  # kinds of lenses that a number follows


class ScoredRows(NamedTuple):
    """The view through a one-dimensional lens: (n,) scores, outcomes and weights, and of the rows."""

    score: Floats
    outcome: Array
    weights: Floats | None
    rows: Positions | None = None

    def at(self, places: Positions) -> ScoredRows:
        """Return a subset."""
        weights = None if self.weights is None else self.weights[places]
        rows = places if self.rows is None else self.rows[places]
        return ScoredRows(self.score[places], self.outcome[places], weights, rows)

    def within(self, region: str) -> ScoredRows:
        """Return the rows with a score in a region such as "0.8..1"; "all" for every row."""
        low, high = map(np.float64, region_ends(region))  # not to be rounded to single precision
        return self.at(np.flatnonzero((self.score >= low) & ((self.score < high) | (high >= 1))))


@dataclass(frozen=True)
class Lens:
    """A one-dimensional lens: how a block becomes scores and outcomes.

    Attributes
    ----------
    name
        As written in metric expressions.
    score, outcome
        Names of the row statistics for its score in [0, 1] and its outcome.
    statistics
        How they are computed from a block.
    given
        Name of the row statistic that tells which rows are looked at; "" for all.
    """

    name: str
    score: str
    outcome: str
    statistics: dict[str, RowStatistic]
    given: str = ""

    def look(self, columns: Mapping[str, Array], weights: Floats | None) -> ScoredRows:
        """Return the view of rows with these statistics and weights, in their order."""
        every = ScoredRows(columns[self.score], columns[self.outcome], weights)
        return every.at(np.flatnonzero(columns[self.given])) if self.given else every


Groups = Mapping[str, Sequence[Sequence[int]]]


def find_lens(name: str, n_classes: int, groups: Groups | None = None) -> Lens | VectorLens:
    """Return the lens of that name.

    Parameters
    ----------
    name
        `top-1`, `top-r`, `within-top-r` (Gupta et al. 2021), `class-k`, `predicted-k` (`top-1` of the rows
        predicted as class k; van de Waterlaat 2021, example 2.3.5), `canonical`, `largest-k` (the k largest
        probabilities and the rest; Vaicenavicius et al. 2019, example 2.iii), or a name of groups. Of two
        groups the score is the probability of the one that holds the first class (example 2.ii).
    n_classes
        K.
    groups
        Partitions of the classes by name: the class numbers of each group.

    Raises
    ------
    UsageError
        If there is no such lens for that number of classes.
    """
    if name in ("top-1", "largest-1"):  # the largest probability, and the rest
        return _TOP
    if groups and name in groups:
        return _two_groups(name, groups[name]) if len(groups[name]) == 2 else group_lens(groups[name])
    if name == "canonical":
        return canonical_lens(n_classes)
    kind, _, digits = name.rpartition("-")
    number = number_in(digits)
    if kind == "class" and 0 <= number < n_classes:
        return _score_lens(name, lambda block: block.column(number), lambda block: block.labels == number)
    if kind == "predicted" and 0 <= number < n_classes:
        condition = f"{name} given"
        predicted = {condition: lambda block: block.largest(1)[0][:, 0] == number}
        return Lens(name, _TOP.score, _TOP.outcome, _TOP.statistics | predicted, condition)
    if kind == "top" and 1 <= number <= n_classes:
        return _score_lens(
            name,
            lambda block: block.largest(number)[1][:, -1],
            lambda block: block.largest(number)[0][:, -1] == block.labels,
        )
    if kind == "within-top" and 1 <= number <= n_classes:
        return _score_lens(
            name,
            lambda block: np.minimum(block.largest(number)[1].sum(1), 1),
            lambda block: (block.largest(number)[0] == block.labels[:, None]).any(1),
        )
    if kind == "largest" and 1 <= number < n_classes:
        return largest_lens(number)
    if name in WHOLE:
        raise UsageError(f"the lens {name} is not a single problem here; expected one such as class-0")
    group_names = "".join(f", {group}" for group in groups or ())
    last = n_classes - 1
    largest = f"largest-1 to largest-{last}" if last > 1 else "largest-1"
    raise UsageError(
        f"unknown lens {name!r}{_nearest_lens(name, groups or ())}; for these classes it can be top-1 to "
        f"top-{n_classes}, within-top-1 to within-top-{n_classes}, class-0 to class-{last}, "
        f"predicted-0 to predicted-{last}, class-wise, worst-class, canonical, {largest}{group_names}"
    )


def _nearest_lens(name: str, groups: Iterable[str]) -> str:
    kind, _, digits = name.rpartition("-")
    if kind in NUMBERED and digits.isdigit():
        return ""  # well written, but the number is out of range
    number = digits if digits.isdigit() else "1"
    return nearest_name(name, [*(f"{kind}-{number}" for kind in NUMBERED), *WHOLE, *groups])


_TOP = Lens("top-1", "confidence", "hit", {key: ROW_STATISTICS[key] for key in ("confidence", "hit")})


def _two_groups(name: str, groups: Sequence[Sequence[int]]) -> Lens:
    """Return the lens on the first of two groups."""
    probs, group_of = group_lens(groups).table, group_lens(groups).outcome
    return _score_lens(name, lambda block: np.minimum(probs(block)[0], 1), lambda block: group_of(block) == 0)


def _score_lens(name: str, score: RowStatistic, outcome: RowStatistic) -> Lens:
    columns = f"{name} score", f"{name} outcome"
    return Lens(name, *columns, dict(zip(columns, (score, outcome), strict=True)))
