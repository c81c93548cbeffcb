"""The numbers of simplex figures: predictions over three or four outcomes, bin by bin."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calcli.core.curves.needs import vectors_of
from calcli.core.curves.reliability import FEW_ROWS
from calcli.core.data.arrays import Array, Bools, Doubles, Tables
from calcli.core.data.binning import Bins
from calcli.core.estimators.evidence import beyond_chance
from calcli.core.evaluating.metrics.partitions import cell_partition, vector_bins
from calcli.core.evaluating.results import Evaluation
from calcli.core.language.errors import InputError, UsageError
from calcli.core.problems.lenses import (
    VectorLens,
    VectorProblem,
    find_lens,
    members_by_name,
    recursive_splits,
)
from calcli.core.problems.problem import Recursive

TRIANGLES = 64  # default number of bins of equal size, and of recursive bins
CORNERS = np.eye(3)


@dataclass(frozen=True)
class Simplex:
    """Mean prediction and observed frequencies in each bin of the triangle or tetrahedron.

    Attributes
    ----------
    names
        The d outcomes, 3 or 4.
    mean, frequency
        (m, d) mean prediction and frequency of the outcomes; each row sums to one.
    share
        (m,) share of the weight.
    count
        (m,) rows, each at least 1.
    beyond
        (m,) whether the frequencies are farther from the prediction than chance explains.
    borders
        Lines between the bins, each of two or more points of three probabilities; none for four outcomes.
    binned
        The binning, in words.
    """

    names: tuple[str, ...]
    mean: Doubles
    frequency: Doubles
    share: Doubles
    count: NDArray[np.int64]
    beyond: Bools
    borders: tuple[Doubles, ...] = ()
    binned: str = ""

    def tables(self) -> Tables:
        """Return the table behind the figure, one row per bin."""
        columns: dict[str, Array] = {"rows": self.count, "share": self.share, "beyond_chance": self.beyond}
        for k, name in enumerate(self.names):
            columns |= {f"mean_{name}": self.mean[:, k], f"frequency_{name}": self.frequency[:, k]}
        return {"": columns}


def simplexes(problem: VectorProblem, binning: int | Recursive | None = TRIANGLES) -> dict[str, Simplex]:
    """Return the simplex of three outcomes; for four the whole simplex and its four faces.

    A face is the triangle opposite to an outcome: the rows of the other three, with their probabilities
    divided by their sum. If the predictions are calibrated, so are the faces.

    Parameters
    ----------
    problem
        A problem of three or four outcomes, as from `outcomes`.
    binning
        Number of triangles of equal size, a square number; for the whole of four outcomes bins with the
        same side; or recursive bins that follow the data, of about this number if None.

    Returns
    -------
    Simplexes by title: "" for all outcomes, then "without NAME".

    Raises
    ------
    UsageError
        If the number of triangles is not a square.
    InputError
        If a face has no row.
    """
    names = list(problem.names)
    results = {"": _simplex(problem, binning)}
    if len(names) == 3:
        return results
    for k, name in enumerate(names):
        classes = [j for j in range(4) if j != k]
        mass = problem.probs[:, classes].sum(1)
        rows = (problem.labels != k) & (mass > 0)
        if not rows.any():
            raise InputError(f"every row is of {name!r}: the face of the other three is empty")
        weights = None if problem.weights is None else problem.weights[rows]
        probs = problem.probs[rows][:, classes] / mass[rows, None]
        labels = np.searchsorted(classes, problem.labels[rows])
        face = VectorProblem(probs, labels, weights, tuple(names[j] for j in classes))
        results[f"without {name}"] = _simplex(face, binning)
    return results


def outcomes(evaluation: Evaluation, lens: str = "canonical") -> VectorProblem:
    """Return the problem of three or four outcomes, with names of classes and groups.

    Parameters
    ----------
    evaluation
        The rows to look at.
    lens
        The outcomes: "canonical" for the classes, "largest-2" or "largest-3", or the name of groups.

    Raises
    ------
    UsageError
        If the lens has neither three nor four outcomes.
    """
    predictions, groups = evaluation.predictions, evaluation.settings.groups
    members = members_by_name(groups, predictions.classes)
    seen = find_lens(lens, predictions.n_classes, members)
    size = seen.size if isinstance(seen, VectorLens) else 2
    if not isinstance(seen, VectorLens) or size not in (3, 4):
        path = predictions.provenance.path
        if lens in groups:
            raise UsageError(f"a simplex needs 3 or 4 groups of classes, but {lens} has {size}")
        size_text = f"{path} has {size}" if lens == "canonical" else f"the lens {lens} has {size} outcomes"
        if predictions.n_classes < 3:
            raise UsageError(f"a simplex needs 3 or 4 classes, but {size_text}; draw --figure reliability")
        raise UsageError(
            f"a simplex needs 3 or 4 classes, but {size_text}; put them into three groups with "
            "--class-groups, or use --lens largest-2"
        )
    problem = vectors_of(evaluation, lens)
    if lens in groups:
        names = tuple(groups[lens][predictions.classes[classes[0]]] for classes in members[lens])
        return replace(problem, names=names)
    return replace(problem, names=predictions.classes) if lens == "canonical" else problem


def _simplex(problem: VectorProblem, binning: int | Recursive | None) -> Simplex:
    probs, weights = problem.probs, problem.weights
    if isinstance(binning, int):
        side = _side(binning)
        partition = cell_partition(probs, side)
        borders = _grid(side) if len(problem.names) == 3 else ()
        binned = f"{binning} equal-size bins" if borders or side == 1 else f"bins of side 1/{side}"
    else:
        least = binning.min_rows if binning else max(2 * FEW_ROWS, 2 * len(probs) // TRIANGLES)
        partition, splits = recursive_splits(probs, least, weights)
        boxes = splits.bounds(3) if len(problem.names) == 3 else ()
        borders = tuple(_clipped(bounds) for bounds in boxes)
        binned = f"recursive bins, split from {least:,} rows"
    bins = vector_bins(probs, problem.labels, partition, weights)
    filled = bins.weight > 0
    weight = bins.weight[filled]
    return Simplex(
        tuple(problem.names),
        (bins.score[:, filled] / weight).T,
        (bins.outcome[:, filled] / weight).T,
        weight / weight.sum(),
        bins.count[filled],
        _beyond(bins, 1.0 if weights is None else float(weights.max()))[filled],
        borders,
        binned,
    )


def _beyond(bins: Bins, heaviest: float) -> Bools:
    """Return which bins have an outcome with a gap beyond chance, corrected for all outcomes of all bins."""
    shape = bins.score.shape
    count, weight = np.broadcast_to(bins.count, shape), np.broadcast_to(bins.weight, shape)
    beyond = beyond_chance(Bins(count, weight, bins.score, bins.outcome), heaviest)
    return np.any(beyond, axis=0)


def _side(bins: int) -> int:
    """Return how many triangles lie along a side, given their total number."""
    side = math.isqrt(bins)
    if side**2 != bins:
        raise UsageError(
            f"--bins {bins}: a triangle is made of a square number of equal ones; expected {side**2} or "
            f"{(side + 1) ** 2}"
        )
    return side


def _grid(side: int) -> tuple[Doubles, ...]:
    """Return the lines where a probability is a multiple of 1 / side."""
    lines = []
    for step in np.arange(1, side) / side:
        for k in range(3):
            ends = np.zeros((2, 3))
            ends[:, k] = step
            ends[0, k - 1], ends[1, k - 2] = 1 - step, 1 - step
            lines.append(ends)
    return tuple(lines)


def _clipped(bounds: Doubles) -> Doubles:
    """Return the closed outline of the part of the triangle within (3, 2) bounds of the probabilities."""
    outline = list(CORNERS)
    for k, (low, high) in enumerate(bounds):
        for end, sign in ((low, 1), (min(high, 2), -1)):
            clipped = []
            for a, b in zip(outline, [*outline[1:], *outline[:1]], strict=True):
                inside = sign * (a[k] - end) >= 0
                if inside:
                    clipped.append(a)
                if inside != (sign * (b[k] - end) >= 0):
                    clipped.append(a + (end - a[k]) / (b[k] - a[k]) * (b - a))
            outline = clipped
    return np.array([*outline, *outline[:1]]).reshape(-1, 3)
