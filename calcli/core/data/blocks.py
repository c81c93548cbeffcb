"""One pass over the rows: each block is exponentiated once and shown to every collector."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from copy import copy
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import SUM_ROUNDING, Array, Bools, Floats, Positions, class_sums, row_sums
from calcli.core.data.predictions import Predictions
from calcli.core.data.processes import in_order, threads_for
from calcli.core.language.settings import Precision

T = TypeVar("T")
DOUBLE_LIMIT = 5_000_000  # elements up to which float32 input is computed in float64
BLOCK_BYTES = 1 << 21  # a block and its temporaries stay in the cache
MOST_ROWS = 1 << 17
KEPT_BYTES = (1 << 25) - (1 << 16)  # the largest map whose size becomes the threshold for maps
CLASS_MAJOR_LIMIT = 256  # numpy reduces over few classes far faster when each class is contiguous


def working_dtype(predictions: Predictions, precision: Precision = "auto") -> np.dtype[Any]:
    """Return the type a pass computes in: float64, but float32 for large float32 input."""
    rows, classes = predictions.scores.shape
    single = precision == "single"
    if precision == "auto":
        single = rows * classes > DOUBLE_LIMIT and predictions.scores.dtype.itemsize <= 4
    return np.dtype(np.float32 if single else np.float64)


class Block:
    """The class probabilities of a few rows, as `exp / total`.

    `exp` is laid out class by class, (K, n), for few classes, and row by row, (n, K), for many;
    `class_axis` says which.

    Attributes
    ----------
    rows
        The position of the block in the data.
    weights
        (n,) row weights, or None.
    scores
        (n, K) scores as given.
    exp
        Unnormalized probabilities.
    top
        (n,) largest of `exp` in each row; a single 1 where the scores are logits.
    total
        (n,) sum of `exp` over the classes; 1 where probabilities sum to one up to rounding.
    log_sums
        (m,) logarithms of the sums of rows' probabilities as they were given, the extremes at least.
    log_prob
        (n,) natural logarithm of the label's probability, computed in log space; may be -inf.
    """

    def __init__(self, piece: _Piece, predictions: Predictions, dtype: np.dtype[Any]) -> None:
        self.scores, self.rows, self.labels, self.weights = scores, *_ = piece
        k = scores.shape[1]
        self.class_axis = 0 if k <= CLASS_MAJOR_LIMIT else 1
        self._of_answers, self._of_probs = predictions.of_answers, predictions.kind == "probs"
        self._graded = self._of_answers and not predictions.has_probabilities
        self._kept: dict[Hashable, Any] = {}
        self._largest: dict[int, tuple[Positions, Floats]] = {}
        source = scores.T if self.class_axis == 0 else scores
        self.exp = exp = np.empty(source.shape, dtype)
        if not source.flags.c_contiguous or predictions.kind == "probs":
            np.copyto(exp, source)
            source = exp
        top = source.max(self.class_axis)
        if predictions.kind == "probs":
            self.top, self.total = top, self.sum_classes(exp)
            self.log_sums = np.log(np.array([self.total.min(), self.total.max()]))
            # equal probabilities of different rows stay equal, and values on an edge fall into the same bin
            self.total[np.abs(self.total - 1) <= SUM_ROUNDING * np.finfo(exp.dtype).eps] = 1
            with np.errstate(divide="ignore"):
                self.log_prob = np.log(self.label_prob)
        else:
            np.subtract(source, self.per_row(top), out=exp, dtype=exp.dtype)
            label_shift = self._of_label(exp)
            np.exp(exp, out=exp)
            self.top, self.total = np.ones((), exp.dtype), self.sum_classes(exp)
            log_total = np.log(self.total)
            self.log_sums = top + log_total
            self.log_prob = label_shift - log_total

    def per_row(self, values: Floats) -> Floats:
        """Reshape one value per row, or one for all rows, to broadcast against `exp`."""
        return values if self.class_axis == 0 or values.ndim == 0 else values[:, None]

    def sum_classes(self, table: Floats) -> Floats:
        """Sum a table shaped like `exp` over the classes, each row in the same way."""
        return class_sums(table) if self.class_axis == 0 else row_sums(table)[:, 0]

    def sum_rows(self, values: Floats) -> Floats:
        """Return (K,) sums over the rows of `exp`, each row times its value."""
        values = values.astype(self.exp.dtype, copy=False)
        return self.exp @ values if self.class_axis == 0 else values @ self.exp

    @property
    def probs(self) -> Floats:
        """(K, n) probabilities, class by class."""
        probs = self.exp / self.per_row(self.total)
        return probs if self.class_axis == 0 else probs.T

    def column(self, k: int) -> Floats:
        """Return (n,) probabilities of class `k`."""
        return np.take(self.exp, k, axis=self.class_axis) / self.total

    def _of_label(self, table: Floats) -> Floats:
        n = len(self.labels)
        if self.class_axis == 0:
            return table.ravel().take(self.labels.astype(np.intp) * n + np.arange(n))
        return table.ravel().take(np.arange(n) * table.shape[1] + self.labels)

    @cached_property
    def _label_exp(self) -> Floats:
        return self._of_label(self.exp)

    @cached_property
    def label_prob(self) -> Floats:
        """(n,) probability of the label."""
        return self._label_exp / self.total

    @cached_property
    def confidence(self) -> Floats:
        """(n,) largest probability; for answers the probability of being right."""
        return self.column(1) if self._of_answers else self.top / self.total

    @cached_property
    def _is_top(self) -> Bools:
        return np.equal(self.exp, self.per_row(self.top))

    @property
    def predicted(self) -> Array:
        """(n,) the most probable class, the first one on ties, in the smallest integers."""
        if self.class_axis == 1:
            return self._is_top.argmax(1).astype(np.min_scalar_type(self.exp.shape[1]))
        number = np.arange(len(self.exp), dtype=np.uint8)[:, None]
        predicted = np.add.reduce(self._is_top.view(np.uint8) * number, dtype=np.uint8)
        predicted[self._tied] = self._is_top[:, self._tied].argmax(0)
        return predicted

    @property
    def tied(self) -> Bools:
        """(n,) whether the largest probability is shared by two classes or more."""
        tied = np.zeros(len(self.labels), np.bool_)
        tied[self._tied] = True
        return tied

    @cached_property
    def _tied(self) -> Positions:
        """Rows with a largest probability shared by two or more classes."""
        if self._of_answers:
            return np.empty(0, np.intp)  # nothing is predicted
        if np.count_nonzero(self._is_top) == len(self.labels):
            return np.empty(0, np.intp)
        return np.flatnonzero(self._count(self._is_top) > 1)

    @property
    def tied_rows(self) -> int:
        """Number of rows with a largest probability shared by two or more classes."""
        return len(self._tied)

    @cached_property
    def hit(self) -> Array:
        """(n,) whether the most probable class, the first one on ties, is the label; or an answer right.

        For outcomes, which may be grades or means of several, this is the outcome itself.
        """
        if self._graded:
            return self.column(1)
        if self._of_answers:
            return self.labels == 1
        hit = self._label_exp == self.top
        if self.tied_rows:
            is_top = np.take(self._is_top, self._tied, axis=1 - self.class_axis)
            hit[self._tied] = is_top.argmax(self.class_axis) == self.labels[self._tied]
        return hit

    @cached_property
    def _squared_norm(self) -> Floats:
        """(n,) sum over the classes of probability^2."""
        if self.class_axis == 0:
            squares = np.einsum("kn,kn->n", self.exp, self.exp)
        else:
            squares = np.vecdot(self.exp, self.exp)
        return squares / self.total**2

    @cached_property
    def brier(self) -> Floats:
        """(n,) sum over the classes of (probability - [class is label])^2."""
        # the three terms cancel for a sure and right row, which may leave a rounding error below zero
        return np.maximum(self._squared_norm - 2 * self.label_prob + 1, 0)

    @property
    def log_odds(self) -> Floats:
        """(n,) natural log-odds of the second of two classes; may be infinite."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.exp) if self._of_probs else self.scores.T.astype(self.exp.dtype, copy=False)
        return logs[1] - logs[0]

    def kept(self, key: Hashable, compute: Callable[[Block], T]) -> T:
        """Return the result of `compute` for the block; it is called once for each key."""
        if key not in self._kept:
            self._kept[key] = compute(self)
        return cast(T, self._kept[key])

    def largest(self, r: int) -> tuple[Positions, Floats]:
        """Return the `r` most probable classes, ties in class order, and their probabilities; (n, r)."""
        if r in self._largest:
            return self._largest[r]
        exp = self.exp.T.copy() if self.class_axis == 0 else self.exp.copy()
        rows = np.arange(len(exp))
        classes = np.empty((len(exp), r), np.intp)
        probs = np.empty((len(exp), r), exp.dtype)
        for rank in range(r):
            classes[:, rank] = largest = exp.argmax(1)
            probs[:, rank] = exp[rows, largest] / self.total
            exp[rows, largest] = -1
        self._largest[r] = classes, probs
        return classes, probs

    def labelled(self, labels: Positions) -> Block:
        """Return the block with other labels, (n,); cached statistics do not depend on labels."""
        relabelled = copy(self)
        for name in ("_label_exp", "label_prob", "hit", "brier"):
            vars(relabelled).pop(name, None)
        relabelled.labels = labels
        with np.errstate(divide="ignore"):
            relabelled.log_prob = np.log(relabelled.label_prob)
        return relabelled

    def label_within(self, r: int) -> Bools:
        """(n,) whether the label is among the `r` most probable classes; ties go to the lower class."""
        label_exp = self._label_exp
        within = self._count(self.exp >= self.per_row(label_exp)) <= r
        beyond = np.flatnonzero(~within)  # unless ties are all that puts them there
        exp = np.take(self.exp, beyond, axis=1 - self.class_axis)
        exp = exp.T if self.class_axis == 0 else exp
        label_exp, label = label_exp[beyond, None], self.labels[beyond, None]
        ties = np.flatnonzero(np.count_nonzero(exp > label_exp, axis=1) < r)
        exp, label_exp, label = exp[ties], label_exp[ties], label[ties]
        before = (exp > label_exp) | ((exp == label_exp) & (np.arange(exp.shape[1]) < label))
        within[beyond[ties]] = np.count_nonzero(before, axis=1) < r
        return within

    def _count(self, chosen: Bools) -> NDArray[np.unsignedinteger[Any]]:
        """Count over the classes, in integers just wide enough."""
        wide = np.min_scalar_type(chosen.shape[self.class_axis])
        return np.add.reduce(chosen.view(np.uint8), axis=self.class_axis, dtype=wide)


Later = Callable[[], object]  # adds the results of a block to sums


class Collector(Protocol):
    """Something that gathers statistics during the pass."""

    def add(self, block: Block) -> Iterable[Later]:
        """Collect from one block, which must not be kept.

        Threads may collect from several blocks at once; the returned functions run in the order of the rows.
        """


def add_at(table: Array | None, place: Array, values: Array | int = 1) -> None:
    """Add (n,) values, or ones, to entries of a table in order: any block size gives the same bits."""
    assert table is not None
    addends = np.asarray(values, table.dtype)  # of another type they take ten times as long
    if table.size == 1:
        table += np.broadcast_to(addends, len(place)).sum()
        return
    np.add.at(table.reshape(-1), place.astype(np.intp, copy=False), addends)


class _Piece(NamedTuple):
    """(n, K) scores, their rows in the data, labels, and weights if there are any."""

    scores: Floats
    rows: slice
    labels: Array
    weights: Floats | None


def _pieces(predictions: Predictions, dtype: np.dtype[Any]) -> Iterator[_Piece]:
    rows = min(MOST_ROWS, max(1, BLOCK_BYTES // (predictions.n_classes * dtype.itemsize)))
    np.empty(KEPT_BYTES, np.uint8)  # freed at once: glibc keeps from then on what blocks free (mallopt(3))
    start = 0
    for scores in predictions.scores.blocks(rows):
        where = slice(start, start := start + len(scores))
        weights = None if predictions.weights is None else predictions.weights[where]
        yield _Piece(scores, where, predictions.labels[where], weights)


def blocks(predictions: Predictions, precision: Precision = "auto") -> Iterator[Block]:
    """Yield the predictions as softmax blocks."""
    dtype = working_dtype(predictions, precision)
    return (Block(piece, predictions, dtype) for piece in _pieces(predictions, dtype))


def sweep(
    predictions: Predictions,
    collectors: Sequence[Collector],
    precision: Precision = "auto",
    workers: int | None = 1,
) -> None:
    """Show every block of the predictions to every collector, reading the rows once.

    Any number of threads gives the same bits; None means one per core if there are many rows.
    """
    dtype = working_dtype(predictions, precision)

    def collected(piece: _Piece) -> list[Later]:
        block = Block(piece, predictions, dtype)
        return [later for collector in collectors for later in collector.add(block)]

    threads = threads_for(predictions.n_rows * predictions.n_classes, workers)
    for laters in in_order(collected, _pieces(predictions, dtype), threads):
        for later in laters:
            later()


RowStatistic = Callable[[Block], Array]

ROW_STATISTICS: dict[str, RowStatistic] = {
    "top1_brier": lambda block: np.square(block.confidence - block.hit),
    "confidence": lambda block: block.confidence,
    "hit": lambda block: block.hit,
    "top5_hit": lambda block: block.label_within(5),
}
