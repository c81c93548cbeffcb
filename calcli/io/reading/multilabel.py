"""Several labels in a row, each 0 or 1 with a score: finding them, and reading one label."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from calcli.core.data.arrays import Array, Doubles
from calcli.core.data.inmemory import sums_to_one
from calcli.core.data.predictions import Predictions
from calcli.core.language.errors import CalcliError, InputError
from calcli.io.formats.npy import with_labels
from calcli.io.messages import listed
from calcli.io.options import ReadOptions
from calcli.io.places.heads import Header
from calcli.io.reading.archives import BLOCK_VALUES, readable, some_rows
from calcli.io.reading.head import FEW, ROWS, distinct_texts, spread_rows
from calcli.io.tables.arrays import CLASS_NAMES, Archive, StoredArray
from calcli.io.words import CUSTOM, MISSING_NAMES, ROLES, may_be_label, plain, says, tokens

NAMES = ("label_names", *CLASS_NAMES)  # arrays of the names of labels
MISSING = ("", "-1")  # in place of 0 or 1
OFF = 0.02  # tolerance for sums of rounded probabilities
SCORES = frozenset({"p"}).union(*(ROLES[role] for role in ("probability", "score", "prediction", "logit")))
WORDS = "|".join(sorted(SCORES | ROLES["truth"] | ROLES["label"], key=len, reverse=True))
AROUND = re.compile(rf"(?i)^(?:(?:{WORDS})[\W_]+)+|(?:[\W_]+(?:{WORDS}))+$")  # the name of a label
OF_ONE = ("positive", "confidence", "correct", "score", "judge", "against_rest", "renormalize", "system")
SURE = ROLES["probability"] | {"p"}  # words for scores beside predictions


class SeveralLabels(CalcliError):
    """A file has several labels in a row where one data set was expected.

    Parameters
    ----------
    path, names
        The file, and its labels.
    read
        Reads a label.
    """

    def __init__(self, path: str, names: Sequence[str], read: Callable[[str], Predictions]) -> None:
        self.path, self.names, self.read = path, tuple(names), read
        super().__init__(path, self.names, read)

    def __str__(self) -> str:
        return (
            f"{self.path} has {len(self.names)} labels in a row, {listed(self.names)}; name one, as in "
            f"{_command(self.path, self.names)}"
        )


class Pair(NamedTuple):
    """The place of the values and scores of a label.

    Attributes
    ----------
    label, scores
        Two columns or arrays.
    place
        Index of the label in each row; None if the columns belong to this label alone.
    """

    label: str
    scores: str
    place: int | None = None


def label_pairs(contents: Any, options: ReadOptions, *, sure: bool = False) -> dict[str, Pair]:
    """Return the places of the labels of a file, by name; none if a row has one label.

    Parameters
    ----------
    contents, options
        Contents of the file, and options of reading.
    sure
        Whether the user has named a label, which settles all doubts.

    Raises
    ------
    InputError
        If each row may also have one of several classes.
    """
    if {*OF_ONE} & {*options.given}:
        return {}
    contents, of_arrays = with_own_labels(contents, options), isinstance(contents, Archive)
    pairs = _in_arrays(contents, options) if of_arrays else _in_columns(contents, options)
    if sure or not pairs:
        return pairs
    names = [*dict.fromkeys(name for pair in pairs.values() for name in pair[:2])]
    stored = _rows_of_arrays(contents, names) if of_arrays else _rows_of_columns(contents, names, options)
    if {*names} - stored.keys():  # lists of several lengths
        return {}
    columns = [stored[name].reshape(len(stored[name]), -1) for name in names]
    labels, scores = (np.concatenate(columns[side::2], axis=1) for side in (0, 1))
    try:
        values = _flags(labels.ravel(), str).reshape(labels.shape)
    except InputError:  # labels of several values
        return {}
    if scores.dtype.kind not in "iuf":
        return {}
    positives = np.nansum(values, axis=1)
    if not ((positives > 0).any() and (values == 0).any() and (scores % 1 != 0).any()):
        return {}
    unlike = scores.min() < 0 or scores.max() > 1
    if (positives <= 1).all() and (unlike or sums_to_one(scores, OFF).all()):
        return {}
    if (positives == 1).all():
        file = _name(contents)
        raise InputError(
            f"{file}: each row has one of {listed([*pairs])}, but its scores do not sum to 1; if several may "
            f"be true at once, calcli evaluate {_command(file, pairs)} reads one of them, else say calcli "
            f"evaluate {shlex.quote(file)} --renormalize"
        )
    return pairs


def of_label(contents: Any, label: str, options: ReadOptions) -> tuple[Any, ReadOptions]:
    """Return the contents of a file for a label, as two classes, and the options of reading.

    Raises
    ------
    InputError
        If there is no such label.
    """
    if label not in (pairs := label_pairs(contents, options, sure=True)):
        listing = f"its labels are {listed([*pairs])}" if pairs else "it has one label in a row"
        raise InputError(f"{_name(contents)}/{label}: no such file, nor such a label: {listing}")
    pair, contents = pairs[label], with_own_labels(contents, options)
    two: dict[str, Any] = {"classes": ("0", "1"), "positive": "1"}
    options = replace(options, label_column=pair.label, scores=pair.scores, labels=None, **two)
    if not isinstance(contents, Archive):
        return _table_of(contents, pair), options
    names = tuple(name for name in contents.names if name not in NAMES)
    array = partial(_array_of, contents, pair)
    return replace(contents, names=names, array=array, scores="", label="", labels_from=""), options


def _name(contents: Any) -> str:
    name: str = contents.name if isinstance(contents, Archive) else contents.place.name
    return name


def _command(file: str, names: Iterable[str]) -> str:
    return shlex.quote(f"{file}/{next(iter(names))}")


def _flags(values: Array, row: Callable[[int], str]) -> Doubles:
    """Return labels as 0 and 1, nan for missing ones; `row` names a row.

    Raises
    ------
    InputError
        If a value is something else.
    """
    texts, index = distinct_texts(values, MISSING_NAMES)
    of_texts = [np.nan if text in MISSING else CUSTOM.get(text, 2) for text in texts.tolist()]
    flags: Doubles = np.array(of_texts, np.float64)[index]
    if 2 in of_texts:
        n = int((flags == 2).argmax())
        raise InputError(f"{row(n)} has the label {values[n]}; expected 0 or 1, or -1 for a missing one")
    return flags


def _one(names: Sequence[str]) -> list[str]:
    """Return the names of scores, without predictions beside probabilities."""
    return [name for name in names if SURE & {*tokens(name)}] if len(names) > 1 else [*names]


# arrays


def with_own_labels(contents: Any, options: ReadOptions) -> Any:
    """Return arrays with the labels in a file beside scores that stand alone, and stacks as (N, L) scores.

    An (L, N, 2) stack, as of what `predict_proba` of several outputs returns, becomes the probabilities of 1.
    """
    if not isinstance(contents, Archive):
        return contents
    if contents.scores:
        return with_labels(contents, options, labelled=True, alone=True)
    shapes = {name: stored.header.shape for name, stored in readable(contents).items()}
    flat = {shape for shape in shapes.values() if len(shape) == 2}
    stacks = [name for name, shape in shapes.items() if shape[2:] == (2,) and shape[1::-1] in flat]

    def array(name: str) -> StoredArray:
        stored = contents.array(name)
        return StoredArray.held(stored.load()[..., 1].T, name, stored.file) if name in stacks else stored

    return replace(contents, array=array) if stacks else contents


def _in_arrays(file: Archive, options: ReadOptions) -> dict[str, Pair]:
    """Return the pairs of columns of two (N, L) arrays."""
    heads = {name: array.header for name, array in readable(file).items() if name not in NAMES}
    shapes = {name: head.shape for name, head in heads.items() if head.dtype.kind in "iufb"}
    wanted = [name for name in (file.label, options.label_column, options.labels) if name in shapes]
    for label in wanted or filter(may_be_label, shapes):
        shape = shapes[label]
        alike = [name for name in shapes if name != label and shapes[name] == shape]
        scores = _one([name for name in alike if name == (options.scores or file.scores or name)])
        if len(shape) == 2 and shape[1] > 1 and len(scores) == 1:
            stored = (file.array(name).load().astype(str).tolist() for name in NAMES if name in file.names)
            names = options.classes or next(stored, map(str, range(shape[1])))
            pairs = {name: Pair(label, scores[0], place) for place, name in enumerate(names)}
            return pairs if len(pairs) == shape[1] else {}
    return {}


def _rows_of_arrays(file: Archive, names: Sequence[str]) -> dict[str, Array]:
    """Return some rows of arrays."""
    places = spread_rows(file.array(names[0]).header.shape[0], ROWS)
    return {name: some_rows(file.array(name), places) for name in names}


def _array_of(file: Archive, pair: Pair, name: str) -> StoredArray:
    """Return an array by name, (N,) of one label if it is of labels or scores."""
    stored, of_label = file.array(name), name == pair.label
    if name not in pair[:2]:
        return stored
    rows, width = stored.header.shape
    dtype = np.dtype(np.float64) if of_label else stored.header.dtype.newbyteorder("=")

    def load() -> Array:
        blocks = stored.scores(1).blocks(max(1, BLOCK_VALUES // width))
        values: Array = np.concatenate([block[:, pair.place].copy() for block in blocks])
        return _flags(values, lambda row: f"{file.name}: row {row}") if of_label else values

    return replace(stored, header=Header((rows,), False, dtype, 0), opened=None, load=load)


# tables


def role_of(name: str) -> tuple[str, bool]:
    """Return a name without its words for labels and scores, and whether it has words for scores."""
    bare = AROUND.sub("", name)
    return bare, bool(({*tokens(name)} - {*tokens(bare)}) & SCORES)


def _in_columns(table: Any, options: ReadOptions) -> dict[str, Pair]:
    """Return the pairs of columns with the same name apart from these words, or the entries of two lists."""
    if {"label_column", "scores", "labels"} & {*options.given}:
        return {}
    sides: dict[str, tuple[list[str], list[str]]] = {}
    for name in table.schema.names:
        bare, of_scores = role_of(name)
        sides.setdefault(plain(bare), ([], []))[of_scores].append(name)
    pairs_of_names = [(labels, _one(scores)) for key, (labels, scores) in sides.items() if key]
    pairs = {role_of(a[0])[0]: Pair(a[0], b[0]) for a, b in pairs_of_names if len(a) == len(b) == 1}
    if len(pairs) > 1:
        return pairs
    lists = [field.name for field in table.schema if hasattr(field.type, "value_field")]
    labels, scores = [n for n in lists if may_be_label(n)], [n for n in lists if says("score", n)]
    if not len(labels) == len(scores) == 1 or (head := table.head([*labels, *scores], FEW)) is None:
        return {}
    widths = {max(len(row or ()) for row in column.to_pylist()) for column in head.columns}
    names = options.classes or tuple(map(str, range(max(widths))))
    fits = len(widths) == 1 and len(names) == max(widths) > 1
    return {name: Pair(labels[0], scores[0], place) for place, name in enumerate(names)} if fits else {}


def _rows_of_columns(table: Any, names: Sequence[str], options: ReadOptions) -> dict[str, Array]:
    """Return some rows of columns."""
    from calcli.io.reading.tablehead import head_of_table

    head = head_of_table(table, options, names)
    return {**head.columns, **head.lists}


def _table_of(table: Any, pair: Pair) -> Any:
    """Return a table with columns of numbers for the label and its scores."""
    import pyarrow as pa

    from calcli.io.tables.table import Derived, derived

    columns = {pair.label: [Derived(pair.label, pa.float64(), partial(_made, place=pair.place, flags=True))]}
    if pair.place is not None:
        columns[pair.scores] = [Derived(pair.scores, pa.float64(), partial(_made, place=pair.place))]
    return derived(table, columns)


def _made(values: Any, row: Callable[[int], str], *, place: int | None, flags: bool = False) -> Any:
    """Return the values at an index of lists, or unchanged values; labels as 0, 1 and null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from calcli.io.reading.tablehead import looked_at

    if place is not None:
        short = pc.fill_null(pc.less_equal(pc.list_value_length(values), place), False)
        if (n := pc.index(short, True).as_py()) >= 0:
            raise InputError(f"{row(n)} has a list of {len(values[n])} values; expected one for each label")
        values = pc.list_element(values, place)
    return pa.array(_flags(looked_at(values), row), from_pandas=True) if flags else values.cast(pa.float64())
