"""Predictions derived from others: one class against the rest, other priors, some of the rows, slices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import TOGETHER, Array, Bools, Doubles, Floats, Positions, batches, pieces
from calcli.core.data.blocks import BLOCK_BYTES, blocks
from calcli.core.data.predictions import ArrayScores, DerivedScores, Kind, Predictions, Scores
from calcli.core.language.errors import InputError, UsageError, naming
from calcli.core.language.expressions import nearest_name
from calcli.core.language.settings import ClassPriors, Settings
from calcli.core.language.text import some

REST, OTHERS = "rest", "others"


@dataclass(frozen=True)
class MergedScores(DerivedScores):
    """Scores of one class, number `own`, and of all others together."""

    own: int

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and classes."""
        return self.source.shape[0], 2

    def blocks(self, rows: int) -> Iterator[Floats]:
        """Yield blocks of two scores: the summed probability of the rest, and the one of the class."""
        for block in self.source.blocks(rows):
            yield merged(block, self.own, self.kind)


def merged(scores: Floats, k: int, kind: Kind) -> Floats:
    """Return (n, 2) scores from (n, K) scores: the summed probability of the rest, and of one class."""
    remaining = np.delete(scores, k, axis=1)
    together = remaining.sum(axis=1) if kind == "probs" else np.logaddexp.reduce(remaining, axis=1)
    return np.stack([together, scores[:, k]], axis=1)


def rest_of(name: str) -> str:
    """Return the name for all classes but one."""
    return OTHERS if name == REST else REST


def own_class(classes: Sequence[str], name: str, path: str) -> int:
    """Return the number of the class with a name.

    Raises
    ------
    UsageError
        If no class has this name, or there are only two classes.
    """
    if name not in classes:
        near = nearest_name(name, classes)
        raise UsageError(f"--against-rest {name}: {path} has no such class{near}; it has {some(classes)}")
    if len(classes) == 2:
        raise UsageError(f"--against-rest {name}: {path} has two classes already; leave it out")
    return classes.index(name)


def against_rest(predictions: Predictions, name: str) -> Predictions:
    """Return predictions of one class and the rest (Ferrer & Ramos 2024, appendix D).

    Raises
    ------
    UsageError
        If there is no such class, or there are only two.
    """
    classes, path = predictions.classes, predictions.provenance.path
    if set(classes) == {name, rest_of(name)}:
        return predictions  # as calcli apply writes them
    k, origin = own_class(classes, name, path), predictions.provenance
    note = f"class {name} against the rest of {len(classes)} classes, as asked"
    return replace(
        predictions,
        unlabelled=predictions.unlabelled and against_rest(predictions.unlabelled, name),
        scores=MergedScores(predictions.scores, k),
        labels=(predictions.labels == k).astype(np.int64),
        classes=(rest_of(name), name),
        provenance=replace(origin, notes=(*origin.notes, note)),
    )


ROUNDING = 1e-6  # tolerance for the sum of priors that were typed in
SMALLEST = 1e-100  # weights are squared


@dataclass(frozen=True)
class Priors:
    """Class priors as requested.

    Attributes
    ----------
    values
        One prior per class; empty for equal priors.
    classes
        Class names; empty for the order of the scores.
    """

    values: tuple[float, ...] = ()
    classes: tuple[str, ...] = ()

    def of(self, classes: Sequence[str]) -> Doubles:
        """Return the (K,) priors of the given classes; they sum to 1.

        Raises
        ------
        UsageError
            If the priors are for other classes, or are not probabilities.
        """
        if not self.values:
            return np.full(len(classes), 1 / len(classes))
        if len(self.values) != len(classes):
            raise UsageError(f"{len(self.values)} priors for {len(classes)} classes; expected one per class")
        if self.classes and set(self.classes) != set(classes):
            missing = next(name for name in classes if name not in self.classes)
            raise UsageError(f"there is no prior for class {missing!r}; expected one for every class")
        prior_of = dict(zip(self.classes or classes, self.values, strict=True))
        priors = np.array([prior_of[name] for name in classes], np.float64)
        wrong = priors[~((priors == 0) | (priors >= SMALLEST) & (priors <= 1 + ROUNDING))]
        if len(wrong):
            raise UsageError(f"{wrong[0]:g} is not a prior; expected 0, or {SMALLEST:g} to 1")
        total = priors.sum()
        if abs(total - 1) > ROUNDING:
            raise UsageError(f"the priors sum to {total:.6g}; expected a sum of 1")
        return priors / total


@dataclass(frozen=True)
class ShiftedScores(DerivedScores):
    """Log-posteriors, up to a constant per row, with a number added to each class.

    Attributes
    ----------
    shift
        (K,) numbers to add to the logarithms.
    """

    shift: Doubles
    kind: ClassVar[Kind] = "logits"

    def blocks(self, rows: int) -> Iterator[Floats]:
        """Yield blocks of shifted log-posteriors."""
        for block in self.source.blocks(rows):
            with np.errstate(divide="ignore"):
                logs = np.log(block) if self.source.kind == "probs" else block
            yield logs + self.shift.astype(logs.dtype)


def at_priors(predictions: Predictions, settings: Settings) -> Predictions:
    """Return predictions with rows weighted, and posteriors shifted, to the class priors in the settings.

    A row of class k has weight prior_k / frequency_k: every mean over rows becomes the mean under the new
    priors (Ferrer & Ramos 2024, appendix A); posteriors are shifted by `prior_shift`.

    Raises
    ------
    InputError
        If a class with a positive prior has no rows.
    UsageError
        If the priors do not fit the classes, or posteriors are to be shifted to or from a prior of 0.
    """
    if settings.priors is None and settings.shift_to_priors is None:
        return predictions
    counts = np.bincount(predictions.labels, predictions.weights, predictions.n_classes)
    frequency = counts / counts.sum()
    moved = predictions if settings.priors is None else _weighted(predictions, settings.priors, frequency)
    if settings.shift_to_priors is None:
        return moved
    classes, trained = predictions.classes, settings.trained_at
    with naming("--trained-at"):
        old = frequency if trained is None else trained.of(classes)
    with naming("--shift-to-priors"):
        new = settings.shift_to_priors.of(classes)
        moved = replace(moved, scores=ShiftedScores(predictions.scores, prior_shift(classes, old, new)))
    return _noted(moved, f"the posteriors are moved from the class priors {_some(old)} to {_some(new)}")


def _weighted(predictions: Predictions, priors: ClassPriors, frequency: Doubles) -> Predictions:
    with naming("--priors"):
        wanted = priors.of(predictions.classes)
    absent = np.flatnonzero((frequency == 0) & (wanted > 0))
    if len(absent):
        name = predictions.classes[absent[0]]
        raise InputError(
            f"{predictions.provenance.path}: class {name!r} has no rows, so weights cannot give it the prior "
            f"{wanted[absent[0]]:g}; give it 0"
        )
    ratio = np.divide(wanted, frequency, out=np.zeros_like(wanted), where=frequency > 0)
    of_label = ratio[predictions.labels]
    weights = of_label if predictions.weights is None else of_label * predictions.weights
    note = f"rows are weighted to the class priors {_some(wanted)}"
    return _noted(replace(predictions, weights=weights, priors=wanted), note)


def prior_shift(classes: Sequence[str], old: Floats, new: Floats) -> Doubles:
    """Return the (K,) logarithms of new over old class priors (Saerens et al. 2002, equation 4).

    Posteriors times these factors, divided by their sum, are the posteriors of a system trained at the new
    priors.

    Parameters
    ----------
    classes
        Their names.
    old, new
        (K,) class priors.

    Raises
    ------
    UsageError
        If one is 0.
    """
    for priors, fault in (
        (new, "is 0, which would leave some rows without any class"),
        (old, "was 0, so there is none to move from"),
    ):
        if not priors.all():
            raise UsageError(f"the prior of class {classes[int(priors.argmin())]!r} {fault}")
    return np.log(new) - np.log(old)


def _noted(predictions: Predictions, note: str) -> Predictions:
    origin = predictions.provenance
    return replace(predictions, provenance=replace(origin, notes=(*origin.notes, note)))


def _some(priors: Doubles) -> str:
    return some([f"{prior:.4g}" for prior in priors])


PREDICTED = "predicted-class"  # name to slice by the predicted class in place of a column
MOST = 1_000  # largest number of values of a column to slice by
ENOUGH_ROWS = 100  # fewest rows of a slice that is compared with others
HELD_BYTES = 1 << 28  # largest number of scores of slices in memory at once


@dataclass(frozen=True)
class Slice:
    """One value of one column.

    Attributes
    ----------
    column, value
        Their names.
    """

    column: str
    value: str

    def __str__(self) -> str:
        return f"{self.column}={self.value}"

    @property
    def shown(self) -> str:
        """Its value, quoted if it is empty or blank."""
        if self.value.strip():
            return self.value
        return f'"{self.value}"' if self.value else "(empty)"


@dataclass(frozen=True)
class ChosenScores(DerivedScores):
    """Some rows of other scores, still read block by block."""

    chosen: Bools

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of chosen rows and of classes."""
        return int(np.count_nonzero(self.chosen)), self.source.shape[1]

    def row_in_source(self, row: int) -> int:
        """Return which row of the others it is."""
        return int(np.flatnonzero(self.chosen)[row])

    def blocks(self, rows: int) -> Iterator[Floats]:
        """Yield the chosen rows of each block."""
        start = 0
        for block in self.source.blocks(rows):
            chosen = self.chosen[start : start + len(block)]
            start += len(block)
            if chosen.any():
                yield block[chosen]


@dataclass(frozen=True, kw_only=True)
class GatheredScores(ArrayScores):
    """Scores that were read into memory, and the type in which they were stored."""

    stored: np.dtype[Any]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the scores as they were stored."""
        return self.stored


@dataclass(frozen=True)
class ChosenColumns(Mapping[str, Array]):
    """Some rows of other columns, by a mask or by number, read on demand."""

    columns: Mapping[str, Array]
    chosen: NDArray[np.bool_ | np.intp]

    def __getitem__(self, name: str) -> Array:
        return self.columns[name][self.chosen]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)


def select(predictions: Predictions, chosen: Bools) -> Predictions:
    """Return the predictions of the chosen rows, (N,) booleans."""
    return replace(
        predictions,
        scores=ChosenScores(predictions.scores, chosen),
        labels=predictions.labels[chosen],
        weights=None if predictions.weights is None else predictions.weights[chosen],
        columns=ChosenColumns(predictions.columns, chosen),
        proxy=None if predictions.proxy is None else predictions.proxy[chosen],
    )


def sliced(rows: Predictions, part: Slice) -> Predictions:
    """Restrict the unlabelled rows to a slice as well."""
    if rows.unlabelled is None:
        return rows
    names = slice_names(rows.unlabelled.column(part.column))
    return replace(rows, unlabelled=select(rows.unlabelled, names == part.value))


def thinned(predictions: Predictions, limit: int) -> Predictions:
    """Return at most this many rows, evenly spaced; the provenance tells the number of all rows."""
    number = predictions.n_rows
    if number <= limit:
        return predictions
    chosen = np.zeros(number, np.bool_)
    chosen[np.linspace(0, number - 1, limit).astype(np.intp)] = True
    rows, origin = select(predictions, chosen), predictions.provenance
    return replace(rows, provenance=replace(origin, sampled_from=origin.sampled_from or number))


def counted(predictions: Predictions) -> Predictions:
    """Return the rows with a weight above 0, with a note on the others; all rows if none has weight 0."""
    weights = predictions.weights
    if weights is None or not predictions.has_rows:
        return predictions
    dropped = sum(int(np.count_nonzero(piece == 0)) for piece in pieces(weights))
    if dropped in (0, len(weights)):
        return predictions
    origin = predictions.provenance
    note = f"{dropped:,} of {len(weights):,} rows have weight 0 and are left out"
    return replace(select(predictions, weights > 0), provenance=replace(origin, notes=(*origin.notes, note)))


def select_each(predictions: Predictions, numbers: Positions) -> Iterator[Predictions]:
    """Yield the predictions of each slice, by number from 0.

    Slices are read together as far as their scores fit into memory: a file is read once, for any number of
    slices, if it fits into memory.

    Parameters
    ----------
    predictions
        All rows.
    numbers
        (N,) number of the slice of each row.
    """
    classes, stored = predictions.n_classes, predictions.scores
    size = np.result_type(stored.dtype, np.float32).itemsize
    for start, last in fitting(np.bincount(numbers).tolist(), HELD_BYTES // (classes * size)):
        chosen = (numbers >= start) & (numbers < last)
        if last - start == 1:
            yield select(predictions, chosen)
            continue
        slice_of_row = numbers[chosen]
        gathered_scores = gathered(ChosenScores(stored, chosen), np.argsort(slice_of_row, kind="stable"))
        sizes = np.bincount(slice_of_row - start)
        for number, stop, rows in zip(range(start, last), np.cumsum(sizes), sizes, strict=True):
            scores = replace(gathered_scores, array=gathered_scores.array[stop - rows : stop])
            yield replace(select(predictions, numbers == number), scores=scores)


def fitting(sizes: Iterable[int], limit: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of consecutive numbers with a total size of `limit` at most, or single numbers."""
    start = last = total = 0
    for last, size in enumerate(sizes):
        if last > start and total + size > limit:
            yield start, last
            start, total = last, 0
        total += size
    yield start, last + 1


def gathered(scores: Scores, order: Positions | None = None) -> GatheredScores:
    """Read scores into memory, once, in a given order of rows if there is one."""
    place = None
    if order is not None:
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
    start, array = 0, np.empty((0, scores.shape[1]))
    for block in scores.blocks(max(1, BLOCK_BYTES // (8 * scores.shape[1]))):
        if not start:
            array = np.empty(scores.shape, block.dtype)
        rows = slice(start, start + len(block))
        array[rows if place is None else place[rows]] = block
        start += len(block)
    return GatheredScores(array, scores.kind, scores.kind_reason, stored=scores.dtype)


def slice_numbers(predictions: Predictions, column: str) -> tuple[list[Slice], Positions]:
    """Return the distinct values of a column, in order, and the (N,) index of each row's value.

    Raises
    ------
    InputError
        If there is no such column, or it has too many values to slice by.
    """
    of_rows = column_to_slice(predictions, column)
    values, codes = _names(of_rows)
    if len(values) > MOST or len(values) == len(codes) > ENOUGH_ROWS:
        raise InputError(
            f"{predictions.provenance.path}: column {column!r} has {len(values):,} values in "
            f"{len(codes):,} rows; expected a column of at most {MOST:,} groups, such as country or device"
        )
    order = np.array(natural_order(values), np.intp)
    return [Slice(column, str(value)) for value in values[order]], np.argsort(order)[codes]


def slice_names(values: Array) -> NDArray[np.str_]:
    """Return the (N,) name of each row's slice, by these values.

    A value has one name, whatever its type: 1.0 is 1, a time without a time of day is a date, and a missing
    value is empty.
    """
    names, codes = _names(values)
    return names[codes]


def _names(values: Array) -> tuple[NDArray[np.str_], Positions]:
    """Return the distinct names of slices by these values, and the (N,) index of each row's name."""
    every = [values[rows] for rows in batches(len(values), 1, TOGETHER)] or [values]
    by_batch = [np.unique(_texts(batch), return_inverse=True) for batch in every]
    texts = np.unique(np.concatenate([names for names, _ in by_batch]))
    codes = np.concatenate([np.searchsorted(texts, names)[codes] for names, codes in by_batch])
    if values.dtype.kind == "f":
        texts = np.array([text.removesuffix(".0") for text in texts.tolist()], str)
    elif values.dtype.kind == "M":
        texts = np.array([_time(text) for text in texts.tolist()], str)
    return texts, codes


def _time(text: str) -> str:
    """Return a time without trailing zeros, which depend on its resolution."""
    seconds, _, fraction = text.partition(".")
    fraction = fraction.rstrip("0")
    return f"{seconds}.{fraction}" if fraction else seconds.removesuffix("T00:00:00")


def column_to_slice(predictions: Predictions, name: str) -> Array:
    """Return a column; for `PREDICTED`, without a column of that name, the predicted classes."""
    if name != PREDICTED or name in predictions.columns:
        return predictions.column(name)
    if predictions.of_answers:
        raise InputError(
            f"{predictions.provenance.path} has answers, right or wrong, and no predicted classes; "
            "expected a column after --by"
        )
    names = np.array(predictions.classes)
    predicted = np.concatenate([block.largest(1)[0][:, 0].copy() for block in blocks(predictions)])
    return names[predicted]


def _texts(values: Array) -> NDArray[np.str_]:
    """Return values as text, with empty text for missing ones, for a column of any type."""
    values = values + 0.0 if values.dtype.kind == "f" else values  # -0 is 0
    missing = values != values  # nan and NaT
    if values.dtype == object:
        missing = missing | np.array([value is None for value in values])
    return np.where(missing, "", values.astype(str))


def natural_order(values: NDArray[np.str_]) -> list[int]:
    """Sort key: numbers by value, before other text."""

    def key(code: int) -> tuple[bool, float, str]:
        value = str(values[code])
        try:
            return False, float(value), value
        except ValueError:
            return True, 0.0, value

    return sorted(range(len(values)), key=key)
