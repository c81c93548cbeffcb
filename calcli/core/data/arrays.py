"""Array types for annotations, batches of rows, counts of labels, softmax, and streams of random numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import IntEnum
from functools import partial
from typing import Any, cast, overload

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.floating[Any]]  # single or double precision, as the input was
Doubles = NDArray[np.float64]
Positions = NDArray[np.intp]
Labels = NDArray[np.integer[Any]]
Bools = NDArray[np.bool_]
Rng = np.random.Generator
Tables = dict[str, dict[str, Array]]  # columns of one length, by name

MANY = 1 << 21  # rows of a file from which labels and weights are read with each pass over the scores
TOGETHER = 1 << 16  # labels that are counted at once; their temporaries stay in the cache
NOTHING = ("NoneType", "NAType", "NaTType")  # types of the missing values of Python and pandas


class _Streamed(NDArrayOperatorsMixin):
    """(N,) values that are read again in each pass over the rows and never held in memory as a whole.

    Consecutive slices are read on demand; any other use of the array reads all values, once.
    """

    def __init__(self, rows: int, read: Callable[[], Iterator[Array]]) -> None:
        self._rows, self.read, self._at = rows, read, -1
        self._pieces: Iterator[Array] = iter(())
        self._piece, self._all = np.empty(0), cast(Array | None, None)

    def __reduce__(self) -> tuple[Any, ...]:
        return _Streamed, (self._rows, self.read)

    def __len__(self) -> int:
        return self._rows

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the first values."""
        return next(self.read()).dtype

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice) and index == slice(None):
            return self
        if self._all is None and isinstance(index, slice):
            start, stop, step = index.indices(self._rows)
            if step == 1 and start in (0, self._at) and stop > start:
                return self._slice(start, stop)
        return np.asarray(self)[index]

    def _slice(self, start: int, stop: int) -> Array:
        if start == 0:
            self._pieces, self._piece = self.read(), np.empty(0)
        slices: list[Array] = []
        while start < stop:
            if not len(self._piece):
                self._piece = next(self._pieces)
                continue
            slices.append(self._piece[: stop - start])
            self._piece = self._piece[stop - start :]
            start += len(slices[-1])
        self._at = stop
        return slices[0] if len(slices) == 1 else np.concatenate(slices)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        self._all = values = _joined(self.read()) if self._all is None else self._all
        return values if dtype is None else values.astype(dtype, copy=False)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        arrays = [np.asarray(value) if isinstance(value, _Streamed) else value for value in inputs]
        return getattr(ufunc, method)(*arrays, **options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(np.asarray(self), name)


def streamed(rows: int, read: Callable[[], Iterator[Array]]) -> Array:
    """Return (rows,) values that `read` yields piece by piece; long arrays are never held as a whole."""
    return _joined(read()) if rows < MANY else cast(Array, _Streamed(rows, read))


def _joined(arrays: Iterator[Array]) -> Array:
    return np.concatenate([*arrays] or [np.empty(0, np.int8)])


def pieces(values: Array) -> Iterator[Array]:
    """Yield (N,) values: piece by piece if they are streamed, else at once."""
    return values.read() if isinstance(values, _Streamed) else iter([values])


def mapped(values: Array, make: Callable[[Array], Array]) -> Array:
    """Apply a function to (N,) values, piece by piece if they are streamed."""
    if not isinstance(values, _Streamed):
        return make(values)
    return streamed(len(values), partial(_mapped, make, values))


def _mapped(make: Callable[[Array], Array], values: Array) -> Iterator[Array]:
    return map(make, pieces(values))


def missing(values: Array) -> Positions:
    """Return the rows of a column with a missing value: no number, time or text."""
    if values.dtype.kind in "fcmM":
        return np.flatnonzero(values != values)  # nan and NaT
    if values.dtype.kind in "US":
        return np.flatnonzero(values == values.dtype.type())
    if values.dtype.kind == "O":
        return np.flatnonzero(
            [is_nothing(value) or (type(value) is str and not value) for value in values.tolist()]
        )
    return np.empty(0, np.intp)


def is_nothing(value: Any) -> bool:
    """Return whether an object is a missing value of Python or pandas, or nan."""
    return type(value).__name__ in NOTHING or (not np.iterable(value) and bool(value != value))


def batches(number: int, size: int, limit: int) -> Iterator[slice]:
    """Yield slices of `number` items, in order, with one item or more and a size of about `limit` each."""
    step = max(1, limit // size)
    for start in range(0, number, step):
        yield slice(start, min(start + step, number))


def batch_sizes(number: int, size: int, limit: int) -> Iterator[int]:
    """Yield the number of items in each of these slices."""
    for batch in batches(number, size, limit):
        yield batch.stop - batch.start


def label_sums(labels: Array, weights: Floats | None, n_classes: int, hit: Array | None = None) -> Array:
    """Return (K,) counts of rows by label, or sums of their weights; with `hit`, of hits only.

    Selecting the labels of hits first would take several times as long.
    """
    sums = np.zeros(2 * n_classes, np.int64 if weights is None else np.float64)
    for rows in batches(len(labels), 1, TOGETHER):
        cells = np.intp(2) * labels[rows]
        cells += True if hit is None else hit[rows]
        sums += np.bincount(cells, None if weights is None else weights[rows], 2 * n_classes)
    return sums[1::2]


SUM_ROUNDING = 8  # machine epsilons by which rounding alone may move the sum of a row's probabilities from 1
BLOCK_BYTES = 1 << 18  # a block and its temporaries stay in the second-level cache
LEAST = -1e30  # smaller log-probabilities count as probability 0: their squares would overflow
LARGEST = 1e30  # largest logit: differences of larger ones overflow
FEW = 8  # below so many columns they are faster added up one by one
NARROW = 32  # below so many columns a reduction along rows is slow in numpy


def row_blocks(scores: Floats, size: int = BLOCK_BYTES) -> Iterator[slice]:
    """Return slices that cut the rows of `scores`, (N, K), into blocks of about `size` bytes."""
    rows, columns = scores.shape
    return batches(rows, columns * scores.itemsize, size)


def as_floats(scores: Array) -> Floats:
    """Return `scores` unchanged if float32 or float64, half floats as float32, all else as float64."""
    if scores.dtype in (np.float32, np.float64):
        return scores
    return scores.astype(np.float32 if scores.dtype == np.float16 else np.float64)


def row_max(scores: Floats) -> Floats:
    """Return the largest entry of each row, (N, 1)."""
    narrow = scores.shape[1] < NARROW
    top: Floats = np.ascontiguousarray(scores.T).max(axis=0) if narrow else scores.max(axis=1)
    return top[:, None]


def row_sums(table: Floats) -> Floats:
    """Return the sum of each row, (N, 1), in the precision of the table.

    A product with ones would round equal rows differently, by their position.
    """
    if table.shape[1] >= FEW:
        return np.einsum("ij->i", table)[:, None]
    total = table[:, :1].copy()
    for k in range(1, table.shape[1]):
        total += table[:, k : k + 1]
    return total


def class_sums(table: Floats) -> Floats:
    """Return the sums of (K, n) over the classes, (n,); equal rows are rounded alike, as in `row_sums`."""
    contiguous = np.ascontiguousarray(table)
    # numpy would add the classes of one row alone in pairs
    return np.cumsum(contiguous, axis=0)[-1] if contiguous.shape[1] == 1 else contiguous.sum(axis=0)


def log_sum_exp(scores: Floats) -> Floats:
    """Return log(sum_k exp(scores_ik)) of each row, (N, 1), in the precision of `scores`.

    Entries of -inf add 0; each row must have at least one finite entry.
    """
    top = row_max(scores)
    exponentials = np.subtract(scores, top)
    np.exp(exponentials, out=exponentials)
    return top + np.log(row_sums(exponentials))


@overload
def log_softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]: ...
@overload
def log_softmax(scores: Array) -> Floats: ...
def log_softmax(scores: Array) -> Floats:
    """Return the log-probabilities of logits; log-probabilities stay the same up to rounding.

    Parameters
    ----------
    scores : array (N, K)
        Logits or log-probabilities; -inf is a probability of exactly 0 and stays so. A log-probability below
        -1e30 becomes -inf, since the lowest float often masks a class.

    Returns
    -------
    array (N, K)
        ``scores - log(sum(exp(scores)))`` row by row; float32 for float16 and float32 input, else float64.
    """
    return _less_log_sum(scores, 0)


def kept_log_probs(scores: Array) -> Floats:
    """Return `log_softmax`, but leave rows unchanged that already sum to one, up to rounding.

    Dividing by such a sum would round equal probabilities of different rows differently,
    and binning or pooling would treat them as unequal.

    Parameters
    ----------
    scores : array (N, K)
        Logits or log-probabilities.

    Returns
    -------
    array (N, K)
    """
    return _less_log_sum(scores, SUM_ROUNDING)


def _less_log_sum(scores: Array, epsilons: int) -> Floats:
    values = as_floats(scores)
    rounding = epsilons * np.finfo(values.dtype).eps
    result = np.empty(values.shape, values.dtype)
    for rows in row_blocks(values):
        log_sum = log_sum_exp(values[rows])
        log_sum[np.abs(log_sum) <= rounding] = 0
        differences = np.subtract(values[rows], log_sum, out=result[rows])
        if differences.min() <= LEAST:
            differences[differences <= LEAST] = -np.inf
    return result


WIDEST = 14.0  # largest log-odds, about one in a million; larger ones count as this


def log_odds(score: Doubles) -> Doubles:
    """Return log-odds, clipped at about one in a million at both ends."""
    least = 1 / (1 + np.exp(WIDEST))
    inner = np.clip(score, least, 1 - least)
    return np.log(inner / (1 - inner))


@np.errstate(over="ignore")  # of log-odds whose probability is 0
def from_log_odds(value: Doubles) -> Doubles:
    """Return the probabilities of log-odds."""
    return 1 / (1 + np.exp(-value))


class Stream(IntEnum):
    """Streams of random numbers; streams with the same number never enter one estimate."""

    FITS = 0  # cross-validation inside a fit
    SUBSETS = 0  # of the rows that are fitted to
    SIMULATION = 0  # data from nothing
    PAIRS = 0  # of rows, for a kernel error that looks at few of them
    OUTCOMES = 2  # of calibrated predictions, for errors; the same in tables and figures
    BANDS = 3  # around figures
    CLASS_OUTCOMES = 4  # as `OUTCOMES`, of all classes
    CURVES = 4  # resampled for figures
    FOLDS = 4  # of the rows that are recalibrated
    PEAKS = 3  # of the largest of several differences
    POWER = 5  # of more rows, to see what they would prove
    SPREAD = 5  # standard deviations of any metric
    RESAMPLED_PREDICTIONS = 6  # for errors if calibrated


def generator(seed: int, stream: Stream, *numbers: int) -> Rng:
    """Return the generator of a stream, or of a numbered part of it."""
    return np.random.default_rng([seed, int(stream), *numbers])


SEARCHED = 1 << 16  # cumulative probabilities at a time, which stay in the cache


def draw_labels(probs: Floats, draws: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw labels of every row from its probabilities.

    Parameters
    ----------
    probs
        (N, K) probabilities; each row sums to one.
    draws
        Number of labels for each row.
    rng
        Source of chance.

    Returns
    -------
    (N, draws) integers in 0..K-1; a class of probability 0 is never drawn.
    """
    n, k = probs.shape
    labels = np.empty((n, draws), np.intp)
    for batch in batches(n, k, SEARCHED):
        # row i of the block owns the interval [i, i + 1), so that one search serves all rows
        cumulative = np.cumsum(probs[batch], axis=1, dtype=np.float64)
        cumulative /= cumulative[:, -1:]
        rows = np.arange(len(cumulative))[:, None]
        cumulative += rows
        # 32 random bits after the row's number: the sum is exact and stays below the next row
        places = rows + rng.integers(0, 2**32, (len(cumulative), draws)) * 2.0**-32
        cells = np.searchsorted(cumulative.ravel(), places.ravel(), side="right")
        labels[batch] = cells.reshape(places.shape) - rows * k
    return labels
