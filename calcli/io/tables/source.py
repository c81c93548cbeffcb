"""The content of files as found by a reader: stored scores, and the roles of all other columns."""

from __future__ import annotations

import json
import math
import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array
from calcli.core.data.predictions import Called, Held, Outcomes
from calcli.core.estimators.fewlabels import FEWEST_LABELS
from calcli.core.language.errors import InputError
from calcli.core.language.expressions import WRONG_RIGHT
from calcli.io.messages import KeptPlace, Place, listed, type_in_words
from calcli.io.options import OfLabel, ReadOptions
from calcli.io.places.heads import is_of_single_values
from calcli.io.tables.labels import Labels

SEVERAL = "several labels in a row"  # a layout
MARK = b"calcli.calibrators"  # metadata: the fingerprints of applied calibrators
BLOCK_ROWS = 8192  # rows searched at once for missing values
Shape = tuple[int, ...]


class StoredScores(ABC):
    """An (N, K) table of numbers of any type, unchecked, that can be read block by block, again and again.

    One column for two classes is allowed.
    """

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """Type as stored, in native byte order."""

    @abstractmethod
    def blocks(self, rows: int) -> Iterator[Array]:
        """Yield (n, K) blocks, n <= rows, in order."""

    def head(self, rows: int) -> Array:
        """Return at most this many first rows, reading little more."""
        blocks = [np.empty((0, self.shape[1]), self.dtype)]
        for block in self.blocks(rows):
            blocks.append(block[:rows].copy())
            rows -= len(block)
            if rows <= 0:
                break
        return np.concatenate(blocks)

    def missing(self) -> NDArray[np.bool_]:
        """Return (N,) in which rows a score is missing."""
        if self.dtype.kind != "f":
            return np.zeros(self.shape[0], np.bool_)
        return np.concatenate([np.isnan(block).any(axis=1) for block in self.blocks(BLOCK_ROWS)])

    def kept(self, mask: NDArray[np.bool_]) -> StoredScores:
        """Return some rows."""
        return SomeScores((self,), mask)


class HeldScores(Held, StoredScores):
    """Scores in memory, unchecked."""


@dataclass(frozen=True)
class SomeScores(StoredScores):
    """The joined scores of several files, or some of their rows.

    Attributes
    ----------
    parts
        The scores of each file.
    some
        (N,) which rows; None for all.
    limit
        Largest number of rows.
    order
        Order of the columns; empty for the stored order.
    """

    parts: tuple[StoredScores, ...]
    some: NDArray[np.bool_] | None = None
    limit: int | None = None
    order: tuple[int, ...] = ()

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        rows = sum(part.shape[0] for part in self.parts) if self.some is None else np.count_nonzero(self.some)
        return int(rows if self.limit is None else min(rows, self.limit)), self.parts[0].shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type that holds the scores of all parts."""
        return np.result_type(*(part.dtype for part in self.parts))

    def blocks(self, rows: int) -> Iterator[Array]:
        """Yield the blocks of each part in turn, until there are enough rows."""
        at, remaining = 0, self.shape[0]
        for part in self.parts:
            for block in part.blocks(rows if self.some is not None else min(rows, remaining)):
                chosen = block if self.some is None else block[self.some[at : at + len(block)]]
                at += len(block)
                if len(chosen := chosen[:remaining]):
                    yield (chosen[:, self.order] if self.order else chosen).astype(self.dtype, copy=False)
                    remaining -= len(chosen)
                if remaining <= 0:
                    return


@dataclass(frozen=True)
class LazyColumns(Mapping[str, Array]):
    """Columns of a file, read on demand.

    Attributes
    ----------
    names
        Of the columns.
    read
        Reads one file.
    some
        The kept rows, as successive selections.
    """

    names: tuple[str, ...] = ()
    read: Callable[[str], Array] = np.asarray
    some: tuple[Array | slice, ...] = ()

    def __getitem__(self, name: str) -> Array:
        if name not in self.names:
            raise KeyError(name)
        values = self.read(name)
        for selection in self.some:
            values = values[selection]
        return values

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def kept(self, selection: NDArray[np.bool_] | slice) -> LazyColumns:
        """Return some of their rows."""
        return replace(self, some=(*self.some, selection))


@dataclass(frozen=True, kw_only=True)
class Source:
    """One or several files, with the roles of their columns or arrays.

    Attributes
    ----------
    place
        The files, for messages.
    scores
        (N, K), or (N, 1) scores of the second class of two.
    table
        The table or the arrays of the scores; None if they are derived.
    classes
        Class names that the scores have in the file; for one column perhaps one name.
    kind, kind_reason
        The kind of the scores, if names or values have shown it, and why.
    by_rank
        Whether each score names its class.
    ordered
        Whether the order of the classes is known, which labels in numbers need.
    decided
        The `Classes`, if values have shown the class of each label.
    before
        The classes in the order of the file, which such labels may use, if `--classes` has reordered the
        scores ; else empty.
    labels
        (N,), or None if not wanted; for answers the outcomes.
    labels_from
        Where the labels came from.
    weights
        (N,) row weights as stored.
    columns
        All other columns.
    files
        The files themselves, for their hash.
    notes
        Sentences for the user on how they are read.
    left_out
        Arrays without a value per row, which cannot be passed on.
    layout, taken
        The layout of the files, and the columns or arrays of the scores.
    doubts
        Sentences for the user on other possible readings.
    repeats
        Sentences for the user on the dependence between rows that columns show.
    by_ranking
        For a single score with a class that only the ranking tells: the class taken; else "".
    considered
        Other possible scores, and why they were not chosen.
    outcomes, questions, identity, judge
        As in `Provenance`.
    proxy
        (N,) a judge's verdicts on the rows, in [0, 1].
    unlabelled
        The rows without a label.
    """

    place: Place
    scores: StoredScores
    table: Any = None
    classes: tuple[str, ...] | None = None
    kind: Called | None = None
    kind_reason: str = ""
    by_rank: bool = False
    ordered: bool = True
    decided: Any = None
    before: tuple[str, ...] = ()
    labels: Labels | None = None
    labels_from: str = ""
    weights: Array | None = None
    columns: LazyColumns = field(default_factory=LazyColumns)
    files: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    layout: str = ""
    taken: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    repeats: tuple[str, ...] = ()
    by_ranking: str = ""
    considered: tuple[tuple[str, str], ...] = ()
    outcomes: Outcomes = ""
    questions: str = ""
    identity: str = ""
    judge: str = ""
    proxy: Array | None = None
    unlabelled: Source | None = None

    def kept(self, mask: NDArray[np.bool_], notes: Sequence[str] = (), doubts: Sequence[str] = ()) -> Source:
        """Return some of the (N,) rows, with sentences for the user."""
        return replace(
            self,
            place=KeptPlace.of(self.place, mask),
            scores=self.scores.kept(mask),
            labels=None if self.labels is None else self.labels.kept(mask),
            weights=None if self.weights is None else self.weights[mask],
            columns=self.columns.kept(mask),
            notes=(*self.notes, *notes),
            doubts=(*self.doubts, *doubts),
        )


class Contents:
    """The content of a file, not yet interpreted."""

    what: str  # for messages
    delimiter: str = ","  # between the fields of CSV

    @property
    def columns(self) -> Sequence[str]:
        """Names of columns, if it is a table."""
        return ()

    @property
    def mark(self) -> str:
        """The fingerprints of the applied calibrators, if kept."""
        return ""

    def beside(self, values: Mapping[str, str]) -> Contents:
        """Return the content with columns of one value each, from the names of its folders."""
        return self


def rows_and_columns(shape: tuple[int, ...], name: str) -> tuple[int, int]:
    """Return the (N, K) shape of an array of scores: all axes but the last are rows.

    Parameters
    ----------
    shape
        Of the array; one axis, or a last one of length 1, means one score per row, for the second of two
        classes.
    name
        Of the file, for messages.

    Raises
    ------
    InputError
        If there are no rows, or no scores in them.
    """
    columns = shape[-1] if len(shape) > 1 else 1
    rows = int(np.prod(shape[:-1] if len(shape) > 1 else shape[:1]))
    if not shape or rows == 0 or columns == 0:
        missing = "no scores in its rows" if rows else "no rows"
        what_is_there = f"has {missing}, its shape is {shape}" if shape else "holds a single number"
        raise InputError(f"{name} {what_is_there}; expected rows with a score for each class")
    return rows, columns


def require_label_each(
    owner: str, scores: tuple[int, int], labels: int, labels_from: str, array: str = ""
) -> None:
    """Raise an InputError unless there is one label per row of the owner's (N, K) scores."""
    rows, columns = scores
    if labels != rows:
        raise InputError(
            f"{owner} has {rows} rows of {columns} scores, but {labels_from} has {labels} labels; expected "
            f"one label per row; {_mend_of(owner, array, scores, labels)}"
        )


def _mend_of(owner: str, array: str, scores: tuple[int, int], labels: int) -> str:
    """Return a remedy if the number of labels differs from the rows of scores."""
    mend = "name the right labels with --labels"
    scores_a_label, remainder = divmod(math.prod(scores), labels or 1)
    if not labels or scores_a_label < 2 or remainder:
        return mend
    how = f"if {scores_a_label} are the classes, say which axis has them with --class-axis"
    if scores[1] == 1:
        stem, _, ending = owner.rpartition(".")
        target, load = json.dumps(f"{stem}_rows.{ending}"), f"np.load({json.dumps(owner)})"
        shape = f"reshape({labels}, {scores_a_label})"
        line = f"np.save({target}, {load}.{shape})"
        if ending == "npz":
            key = f"d[{json.dumps(array)}]"
            line = f"d = dict({load}); {key} = {key}.{shape}; np.savez({target}, **d)"
        how = (
            f"if the {scores_a_label} scores of a row follow each other, save them row by row: "
            f"python -c {shlex.quote(f'import numpy as np; {line}')}"
        )
    return f"{how}; else {mend}"


def require_single(values: Array, owner: str) -> None:
    """Raise an InputError that names the owner if an array does not hold numbers, text or times."""
    if not is_of_single_values(values.dtype):
        type_held = type_in_words(values.dtype)
        raise InputError(f"{owner} holds {type_held}; expected one number, text or time in each row")


def rows_of(scores: Shape, axis: int = -1) -> Shape:
    """Return the axes of rows in scores: all but the axis of the classes."""
    if len(scores) < 2:
        return scores
    axis %= len(scores)
    return scores[:axis] + scores[axis + 1 :]


def require_rows(owner: str, shape: Shape, rows: Shape, scores: Shape = ()) -> None:
    """Raise an error for values in the number of rows whose axes stand for other rows.

    Axes of length 1 do not count. Other numbers of values are not checked here.

    Parameters
    ----------
    owner
        The owner of the values, for messages.
    shape, rows
        Shapes of the values, and of the rows of the scores.
    scores
        Of the scores with all axes, if their classes may stand in another one than the last; then another
        number of values that says so is refused as well.

    Raises
    ------
    InputError
        If the values have several axes that differ from the rows.
    """
    if in_order(shape, rows):
        return
    axises = [axis for axis in range(len(scores) - 1) if len(scores) > 2 and rows_of(scores, axis) == shape]
    if math.prod(shape) != math.prod(rows) and not axises:
        return
    mend = f"; if axis {axises[0]} has the classes, say --class-axis {axises[0]}" if axises else ""
    mend += f", or give np.moveaxis(scores, {axises[0]}, -1)" if axises else ""
    raise InputError(
        f"{owner} of shape {shape}, but the rows of the scores have the shape {rows}; expected the same, or "
        f"{(math.prod(rows),)} in the order of the rows{mend}"
    )


def in_order(shape: Shape, rows: Shape) -> bool:
    """Return whether values of a shape match the rows, in the order of the rows."""
    return _long_axes(shape) in (_long_axes(rows), _long_axes((math.prod(rows),)))


def _long_axes(shape: Shape) -> Shape:
    return tuple(size for size in shape if size != 1)


def without_rows(rows: Source, options: ReadOptions) -> Source:
    """Return the source without the rows to leave out, with notes on their numbers.

    A word for missing values that is the name of a class does not count as missing.

    Raises
    ------
    InputError
        If no rows are left.
    """
    answers = rows.classes == WRONG_RIGHT
    if rows.outcomes:  # without the missing ones
        return rows if answers or not options.ignore_label else _without_labels(rows, options.ignore_label)
    class_names = () if answers else options.named(rows.classes)
    if isinstance(options, OfLabel):
        rows = _with_label(rows, str(options.scores))
    if options.drop_missing:
        rows = _without_missing(rows, class_names)
    if options.ignore_label:
        rows = _without_labels(rows, options.ignore_label)
    if rows.labels is None or not rows.labels.any_missing(class_names):
        return rows
    behind = np.array(rows.labels.missing(class_names))
    if options.limit is None:
        return _with_others(rows, ~behind) if few_labelled(~behind) and rows.weights is None else rows
    behind[: options.limit] = False
    if not behind.any():
        return rows
    counted = f"{np.count_nonzero(behind):,} without a label were passed over"
    return rows.kept(~behind, (f"behind the first {options.limit:,} rows {counted}",))


def few_labelled(labelled: NDArray[np.bool_]) -> bool:
    """Return whether so few rows have labels that the others are unlabelled rather than damaged."""
    return FEWEST_LABELS <= int(np.count_nonzero(labelled)) <= len(labelled) / 2


def _with_others(source: Source, labelled: NDArray[np.bool_]) -> Source:
    """Return the rows with a label, and the other rows as unlabelled."""
    count = np.count_nonzero(~labelled)
    doubt = f"{count:,} of {len(labelled):,} rows have no label, and count in accuracy and prevalence alone"
    return replace(source.kept(labelled, doubts=[doubt]), unlabelled=source.kept(~labelled))


def _with_label(source: Source, scores: str) -> Source:
    """Return the rows that have one of several labels."""
    assert source.labels is not None
    there, source = ~source.labels.missing(), replace(source, taken=(scores,), layout=SEVERAL)
    if not there.any():
        raise InputError(f"{source.place.name}: no row has this label")
    count = len(there) - int(np.count_nonzero(there))
    return source.kept(there, (f"{count:,} of {len(there):,} rows have no such label",)) if count else source


def _without_missing(source: Source, classes: tuple[str, ...]) -> Source:
    complete = ~source.scores.missing()
    if source.labels is not None:
        complete &= ~source.labels.missing(classes)
    rows, n_left = len(complete), int(np.count_nonzero(complete))
    if not n_left:
        raise InputError(f"{source.place.name}: in all {rows:,} rows something is missing")
    note = "no score, confidence or label is missing; --drop-missing left out nothing"
    if n_left < rows:
        note = f"{rows - n_left:,} of {rows:,} rows, in which something is missing, were left out, as asked"
    return source.kept(complete, (note,))


def _without_labels(source: Source, ignored: tuple[str, ...]) -> Source:
    assert source.labels is not None
    is_kept, which = ~source.labels.are(ignored), listed(list(ignored))
    rows, remaining = len(is_kept), int(np.count_nonzero(is_kept))
    if not remaining:
        raise InputError(f"{source.place.name}: all {rows:,} labels are to be ignored ({which})")
    there = {str(value).strip() for value in source.labels.kept(~is_kept).values}
    gone = [label for label in ignored if label.strip() not in there]
    note = (
        f"{rows - remaining:,} of {rows:,} rows have a label to ignore ({which}) and are left out, as asked"
    )
    return source.kept(
        is_kept,
        (note,) if remaining < rows else (),
        (f"no row has a label to be ignored ({listed(gone)})",) if gone else (),
    )
