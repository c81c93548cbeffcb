"""The numbers of simplex figures: predictions over three outcomes, bin by bin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from calcli.core.curves.reliability import FEW_ROWS
from calcli.core.data.arrays import Array, Doubles, Floats, Tables
from calcli.core.data.blocks import Block, sweep, working_dtype
from calcli.core.data.predictions import Predictions
from calcli.core.estimators.partitions import Partition, recursive_partition, vector_bins
from calcli.core.language.errors import InputError, UsageError

SimplexBinning = Literal["equal-size", "recursive"]

SIDE = 8  # equal-size bins along a side of the triangle: 64 triangles
BINS = 64  # recursive bins aimed at


@dataclass(frozen=True)
class Simplex:
    """Mean prediction and observed frequencies in each bin of the triangle.

    Attributes
    ----------
    names
        The three outcomes.
    mean, frequency
        (m, 3) mean prediction and frequency of the outcomes; each row sums to one.
    share
        (m,) share of the weight.
    count
        (m,) rows, none of them 0.
    """

    names: tuple[str, str, str]
    mean: Doubles
    frequency: Doubles
    share: Doubles
    count: NDArray[np.int64]

    @property
    def thin(self) -> NDArray[np.bool_]:
        """(m,) whether a bin has too few rows to say anything."""
        return self.count < FEW_ROWS

    def tables(self) -> Tables:
        """Return the table behind the figure, a row a bin."""
        columns: dict[str, Array] = {"rows": self.count, "share": self.share}
        for k, name in enumerate(self.names):
            columns |= {f"mean_{name}": self.mean[:, k], f"frequency_{name}": self.frequency[:, k]}
        return {"": columns}


def simplexes(
    predictions: Predictions,
    groups: Mapping[str, Sequence[int]] | None = None,
    binning: SimplexBinning = "equal-size",
) -> dict[str, Simplex]:
    """Return the simplex of three classes or groups, or the four faces of four classes.

    A face is the triangle opposite to a class: the rows of the other three classes, with their
    probabilities divided by their sum. If the predictions are calibrated, so are these.

    Parameters
    ----------
    predictions
        Scores and labels.
    groups
        Class numbers of each of three groups, by name; the classes themselves if None.
    binning
        "equal-size": 64 triangles; "recursive": bins that follow the data.

    Returns
    -------
    Simplex by title: an empty one, or "without NAME".

    Raises
    ------
    UsageError
        If there are not three groups, or neither three nor four classes.
    InputError
        If a face has no row.
    """
    if groups is None:
        if predictions.n_classes not in (3, 4):
            raise UsageError(
                f"a simplex needs 3 or 4 classes, and {predictions.provenance.path} has "
                f"{predictions.n_classes}; put them into three groups with --class-groups"
            )
        groups = {name: [k] for k, name in enumerate(predictions.classes)}
    elif len(groups) != 3:
        raise UsageError(f"a simplex needs 3 groups of classes, not {len(groups)}: {', '.join(groups)}")
    names = list(groups)
    probs, labels = group_probabilities(predictions, list(groups.values()))
    if len(names) == 3:
        return {"": _simplex(probs, labels, names, binning, predictions.weights)}
    faces = {}
    for k, name in enumerate(names):
        rest = [j for j in range(4) if j != k]
        mass = probs[:, rest].sum(1)
        rows = (labels != k) & (mass > 0)
        if not rows.any():
            raise InputError(f"every row is of class {name!r}: the face of the other three classes is empty")
        weights = None if predictions.weights is None else predictions.weights[rows]
        face = probs[rows][:, rest] / mass[rows, None]
        own = np.searchsorted(rest, labels[rows])
        faces[f"without {name}"] = _simplex(face, own, [names[j] for j in rest], binning, weights)
    return faces


def _simplex(
    probs: Floats, labels: Array, names: Sequence[str], binning: SimplexBinning, weights: Floats | None
) -> Simplex:
    if binning == "equal-size":
        partition = triangle_partition(probs, SIDE)
    else:
        partition = recursive_partition(probs, max(2 * FEW_ROWS, 2 * len(probs) // BINS), weights)
    bins = vector_bins(probs, labels, partition, weights)
    kept = bins.weight > 0
    weight = bins.weight[kept]
    first, second, third = names
    return Simplex(
        (first, second, third),
        (bins.score[:, kept] / weight).T,
        (bins.outcome[:, kept] / weight).T,
        weight / weight.sum(),
        bins.count[kept],
    )


def triangle_partition(probs: Floats, side: int) -> Partition:
    """Part (N, 3) probabilities into side^2 triangles of equal size.

    A triangle is told by the whole steps of the three probabilities: they add up to side - 1 in those
    that stand upright and to side - 2 in the others. A corner counts as upright.
    """
    steps = np.minimum((probs[:, :2] * side).astype(np.intp), side - 1)
    third = np.minimum((probs[:, 2] * side).astype(np.intp), side - 1)
    upright = steps.sum(1) + third >= side - 1
    code = (steps[:, 0] * side + steps[:, 1]) * 2 + upright
    order = np.argsort(code, kind="stable")
    ends = np.flatnonzero(np.diff(code[order], append=-1)) + 1
    return Partition(order, np.append(0, ends))


def group_probabilities(predictions: Predictions, groups: Sequence[Sequence[int]]) -> tuple[Floats, Array]:
    """Return the probability of each group of classes, (N, g), and the group of each label, (N,).

    Raises
    ------
    UsageError
        If a class is in no group or in several.
    """
    group_of = np.full(predictions.n_classes, -1)
    for g, members in enumerate(groups):
        group_of[list(members)] = g
    if sum(map(len, groups)) != predictions.n_classes or (group_of < 0).any():
        raise UsageError("groups of classes must hold every class once")
    table = _GroupTable(predictions, group_of, len(groups))
    sweep(predictions, [table])
    return table.probs, group_of[predictions.labels]


class _GroupTable:
    """The probabilities of groups of classes, row by row."""

    def __init__(self, predictions: Predictions, group_of: NDArray[np.intp], groups: int) -> None:
        self.probs: Floats = np.empty((predictions.n_rows, groups), working_dtype(predictions))
        self._members = np.equal.outer(np.arange(groups), group_of).astype(self.probs.dtype)

    def add(self, block: Block) -> None:
        """Sum the classes of each group."""
        exp = block.exp if block.class_axis == 0 else block.exp.T
        self.probs[block.rows] = (self._members @ exp / block.total).T
