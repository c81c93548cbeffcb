"""Arrays, each by its name: found in archives or handed over in memory, without what tables need."""

from __future__ import annotations

import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from calcli.core.data.arrays import Array
from calcli.core.language.answers import WRONG_RIGHT
from calcli.core.language.errors import InputError, UsageError
from calcli.io.arraylabels import stored_labels
from calcli.io.axes import class_axis, places_note, sample_column
from calcli.io.heads import ObjectsError, is_of_single_values, native
from calcli.io.labelnumbers import places_by_name
from calcli.io.labels import join_labels, one_hot
from calcli.io.layouts import ANSWERS, ARRAYS
from calcli.io.layouts.answers import Answers, find_answers, refuse_missing, rights_of
from calcli.io.layouts.candidates import command
from calcli.io.layouts.names import ALONE, kind_by_name, label_names, score_names
from calcli.io.messages import Place, listed
from calcli.io.options import ReadOptions
from calcli.io.shapes import Shape, in_order, require_rows, rows_of
from calcli.io.source import (
    Contents,
    HeldScores,
    JoinedScores,
    LazyColumns,
    Source,
    StoredScores,
    column_of,
    require_label_each,
    require_single,
    value_each,
)
from calcli.io.storedarrays import OrderedScores, StoredArray

LEAVE_OUT = "leave them out with --drop-missing"
CLASS_NAMES = ("classes", "class_names")


@dataclass(frozen=True, kw_only=True)
class ArraySource(Source):
    """An array of scores, and others with a value per row.

    Attributes
    ----------
    array
        Name of the array, where arrays have names.
    """

    array: str = "scores"

    @property
    def stored(self) -> tuple[str, ...]:
        """Name of the array."""
        return (self.array,)

    def others(self, kept: Sequence[str]) -> tuple[Any, int]:
        """Return the types of other arrays; the scores stand before them."""
        import pyarrow as pa

        return pa.schema({name: pa.array(self.columns[name][:0]).type for name in kept}), 0

    def passing(self, kept: Sequence[str], rows: int) -> Iterator[tuple[Array, Any]]:
        """Yield blocks of scores with the same rows of the other arrays."""
        import pyarrow as pa

        beside, start = {name: self.columns[name] for name in kept}, 0
        schema = self.others(kept)[0]
        for block in self.scores.blocks(rows):
            stop = start + len(block)
            yield block, pa.RecordBatch.from_pydict({k: v[start:stop] for k, v in beside.items()}, schema)
            start = stop


class Arrays(Contents, ABC):
    """A file of arrays, each with its name."""

    what = "arrays"

    @abstractmethod
    def find(self, options: ReadOptions, *, labelled: bool = True) -> Source:
        """Find out what the arrays are; see `calcli.io.reading.find`."""


def joined_arrays(parts: Sequence[Arrays], options: ReadOptions, *, labelled: bool) -> Source:
    """Put files one after the other and find out what is in them.

    Raises
    ------
    InputError
        If they differ in the number of scores, in their classes, or in whether they have labels.
    """
    found = [part.find(options, labelled=labelled) for part in parts]
    return _join(found, judged=options.kind == "auto")


@dataclass(frozen=True)
class Archive(Arrays):
    """A file of arrays whose names tell what they are.

    Attributes
    ----------
    name
        Of the file.
    names
        Of the arrays.
    array
        Finds one of them.
    """

    name: str
    names: tuple[str, ...]
    array: Callable[[str], StoredArray]

    def load(self, name: str) -> Array:
        """Read one array."""
        return self.array(name).load()

    def find(self, options: ReadOptions, *, labelled: bool = True) -> Source:
        """Find scores, labels, weights and class names by their usual names or by the options."""
        holds = {name: "list" if ALONE.fullmatch(name) else "float" for name in self.names}
        if answers := find_answers(holds, options, self.name, labelled=labelled):
            return self._answers(answers, options)
        name = self._choose(self.names, options.scores, "--scores", score_names)
        stored = self.array(name)
        shape = stored.header.shape
        axis = class_axis(shape, self._shape_of_labels(options), options, self.name, stored.name)
        scores, classes = stored.scores(axis), None
        listing = next((array for array in CLASS_NAMES if array in self.names), None)
        if listing is not None:
            scores, classes = self._in_order(scores, self._class_names(listing), options.classes)
        kind, reason = kind_by_name((name,))
        others = tuple(array for array in self.names if array not in (name, listing))
        found = ArraySource(
            place=Place(((self.name, scores.shape[0]),)),
            scores=scores,
            classes=classes,
            before=scores.before(classes or ()) if isinstance(scores, OrderedScores) else (),
            kind=kind,
            kind_reason=reason,
            columns=LazyColumns(
                {array: partial(self.load, array) for array in others}
                | (sample_column(shape, axis) if labelled else {})
            ),
            notes=places_note(shape, axis),
            files=(self.name,),
            layout=ARRAYS.name,
            axes=rows_of(shape, axis),
            taken=(f"{name} of shape {shape}",),
            array=name,
            considered=tuple((other, "another array") for other in score_names(others)),
        )
        return self._with_labels(found, (name, *others), options) if labelled else _by_row(found)

    def _answers(self, answers: Answers, options: ReadOptions) -> Source:
        """Return the confidence as the one score, with what is right."""
        others = tuple(name for name in self.names if name != answers.confidence)
        found = answers_of(
            self.load(answers.confidence),
            [self.load(name) for name in answers.correct],
            (self.name, answers.confidence, answers.source.replace("column", "array")),
            drop=options.drop_missing,
        )
        found = replace(
            found,
            columns=LazyColumns({name: partial(self.load, name) for name in others}),
            files=(self.name,),
        )
        if not answers.correct:
            return _by_row(found)
        if options.weights is None:
            return found
        return replace(found, weights=self._weights(found, options.weights))

    def _weights(self, found: Source, name: str) -> Array:
        if name not in self.names:
            raise UsageError(f'--weights: {self.name} has no array "{name}"; it has {listed(self.names)}')
        return value_each(found, name, self.load(name))

    def _shape_of_labels(self, options: ReadOptions) -> tuple[int, ...] | None:
        """Return the shape of the labels if they are here, without those of the one array that is meant."""
        found = [options.labels] if options.labels in self.names else label_names(self.names)
        return self.array(str(found[0])).header.shape if len(found) == 1 else None

    def _with_labels(self, found: Source, names: tuple[str, ...], options: ReadOptions) -> Source:
        columns = dict(found.columns.readers)
        if options.weights is not None:
            found = replace(found, weights=self._weights(found, options.weights))
        if options.labels is None or options.labels in names:
            label = self._choose(names, options.labels, "--labels", label_names)
            labels = stored_labels(self.array(label), found, found.place, drop=options.drop_missing)
            columns.pop(label, None)
            found = replace(found, labels=labels, labels_from=f'array "{label}"')
        return replace(found, columns=LazyColumns(columns))

    def _choose(
        self,
        names: tuple[str, ...],
        wanted: str | None,
        option: str,
        usual: Callable[[Sequence[str]], list[str]],
    ) -> str:
        if wanted is not None:
            if wanted not in names:
                raise UsageError(f'{option}: {self.name} has no array "{wanted}"; it has {listed(names)}')
            return wanted
        found = usual(names)
        if not found:
            only = f"only {listed(names)}; name the one with {option}" if names else "no arrays"
            raise InputError(f"{self.name} has {only}")
        if len(found) > 1:
            each = "; ".join(command(self.name, option, shlex.quote(name)) for name in found)
            raise InputError(
                f"{self.name} has {len(found)} arrays that may be meant, {listed(found)}; name the one with "
                f"{option}: {each}"
            )
        return found[0]

    def _class_names(self, listing: str) -> tuple[str, ...]:
        names = self.load(listing)
        if names.ndim != 1 or not len(names) or names.dtype.kind not in "Uiub":
            raise InputError(
                f"{self.name}: the array {listing} has shape {names.shape} and type {names.dtype}; expected "
                "the names of the classes in a row, as text or integers"
            )
        return tuple(map(str, names.tolist()))

    def _in_order(
        self, scores: StoredScores, classes: tuple[str, ...], wanted: tuple[str, ...] | None
    ) -> tuple[StoredScores, tuple[str, ...]]:
        """Return scores and class names in the order of `--classes`; one score per row keeps its place."""
        if wanted is None or wanted == classes:
            return scores, classes
        places, given = places_by_name(wanted, classes), list(range(len(classes)))
        if places == given or (not places and len(wanted) == len(classes)):
            return scores, wanted
        if sorted(places) != given or scores.shape[1] != len(classes):
            raise UsageError(
                f"--classes names {listed(wanted)}, but the scores of {self.name} belong to "
                f"{listed(classes)}; expected the same names, in any order if there is a score for each, or "
                "as many others"
            )
        return OrderedScores(scores, tuple(places)), wanted


def answers_of(
    confidence: Array,
    correct: Sequence[Array],
    names: tuple[str, str, str],
    *,
    drop: bool = False,
    mend: str = LEAVE_OUT,
) -> ArraySource:
    """Return arrays of answers: the confidence as the one score, with what is right where that is known.

    Parameters
    ----------
    confidence
        One value per row.
    correct
        What says which answers are right, as for `rights_of`; none if that is not asked for.
    names
        Of the file, of the array of the confidence, and of what says what is right.
    drop
        Whether rows in which something is missing are to be left out.
    mend
        What else to do about them, for messages.

    Raises
    ------
    InputError
        If the confidence has several values per row, or some value is missing or no outcome.
    """
    name, array, owner = names
    place = Place(((name, np.size(confidence)),))
    if confidence.dtype.kind not in "iufb" or (confidence.ndim > 1 and confidence.shape[-1] > 1):
        raise InputError(
            f"{name}: {array} has shape {confidence.shape} and type {confidence.dtype}; expected one number "
            "for each answer"
        )
    for one in correct:
        require_rows(f"{name}: {owner} has values", one.shape, confidence.shape)
        require_single(one, f"{name}: {owner}")
    flat = native(confidence).reshape(-1)
    if correct and not drop:
        refuse_missing(flat, f"the confidence, {array},", place, mend)
    return ArraySource(
        place=place,
        scores=HeldScores(flat.reshape(-1, 1)),
        classes=WRONG_RIGHT,
        kind="probs",
        kind_reason="a confidence is a probability",
        labels=rights_of([native(one).reshape(-1) for one in correct], owner, place, mend, drop=drop)
        if correct
        else None,
        labels_from=owner,
        layout=ANSWERS.name,
        axes=confidence.shape,
        taken=(array,),
        array=array,
    )


def _by_row(found: Source) -> Source:
    """Keep the arrays with a value per row; the others cannot be passed on."""
    rows, loaded = found.place.parts[0][1], {}
    for name in found.columns:
        with suppress(ObjectsError):  # such as the metrics that a Trainer predicts beside the scores
            loaded[name] = found.columns[name]
    arrays = {
        name: array.astype(np.float64) if array.dtype == np.longdouble else array  # as tables have no such
        for name, array in loaded.items()
        if in_order(array.shape, found.rows_shape) and is_of_single_values(array.dtype)
    }
    for name in label_names([one for one in loaded if one not in arrays]):
        if loaded[name].ndim > 1 and (codes := one_hot(loaded[name])) is not None:
            arrays |= {name: codes} if len(codes) == rows else {}
    readers = {name: partial(np.reshape, array, -1) for name, array in arrays.items()}
    left_out = tuple(name for name in found.columns if name not in arrays)
    return replace(found, columns=LazyColumns(readers), left_out=left_out)


def _join(parts: Sequence[Source], *, judged: bool) -> Source:
    first = parts[0]
    if len(parts) == 1:
        return first
    for part in parts:
        if part.labels is not None:  # one may have too many where another lacks some
            require_label_each(part, len(part.labels), part.labels_from)
        for what, ours, theirs in (
            ("scores in a row", first.scores.shape[1], part.scores.shape[1]),
            ("classes", first.classes, part.classes),
            *([("kind of scores by name", first.kind, part.kind)] if judged else []),
            ("labels beside the scores", first.labels is not None, part.labels is not None),
        ):
            if ours != theirs:
                raise InputError(
                    f"{part.place.name} and {first.place.name} differ in their {what}: {theirs} and {ours}; "
                    "parts of one data set must be alike; without --concat files are evaluated one by one"
                )
    labels = [part.labels.held() for part in parts if part.labels is not None]
    weights = [part.weights for part in parts if part.weights is not None]
    common = [name for name in first.columns if all(name in part.columns for part in parts)]
    return replace(
        first,
        place=Place(tuple(entry for part in parts for entry in part.place.parts)),
        scores=JoinedScores(tuple(part.scores for part in parts)),
        labels=join_labels(labels) if labels else None,
        labels_from=f"{first.labels_from} and {len(parts) - 1} more",
        weights=np.concatenate(weights) if weights else None,
        columns=LazyColumns({name: partial(_joined_column, parts, name) for name in common}),
        files=tuple(file for part in parts for file in part.files),
        axes=_joined_axes(parts),
    )


def _joined_axes(parts: Sequence[Source]) -> Shape:
    """Return the axes of rows one after the other, if these have the same ones but for the first."""
    first, *rest = parts[0].rows_shape
    alike = all(part.rows_shape[1:] == tuple(rest) for part in parts)
    return (first + sum(part.rows_shape[0] for part in parts[1:]), *rest) if alike else ()


def _joined_column(parts: Sequence[Source], name: str) -> Array:
    return np.concatenate([column_of(part, name) for part in parts])
