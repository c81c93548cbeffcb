"""Reading predictions: one file, a folder of parts, several files joined, standard input, or arrays."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import wraps
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from calcli.core.data.arrays import Array, Floats, mapped, pieces
from calcli.core.data.derived import against_rest, fitting
from calcli.core.data.predictions import Predictions, Provenance
from calcli.core.language.declaring import declared
from calcli.core.language.errors import CalcliError, InputError, UsageError
from calcli.core.language.expressions import WRONG_RIGHT
from calcli.core.state.state import predictions_of
from calcli.io.dataset import of_system, partition_of, parts_of
from calcli.io.formats import BY_NAME, Format, known_format, sniff
from calcli.io.layouts import HARNESS, OBJECTS
from calcli.io.layouts.answers import LEAVE_OUT, refuse_gone, rights_of
from calcli.io.messages import ALIKE, STDIN, Place, answered, refuse_given, shown_in, type_in_words
from calcli.io.options import OfLabel, ReadOptions
from calcli.io.places.paths import (
    UNREADABLE,
    AnyPath,
    name_and_path,
    parts_of_pattern,
    path_of,
    without_secrets,
)
from calcli.io.reading import find
from calcli.io.reading.checks import CheckedScores, Judged, judge_kind
from calcli.io.reading.classes import classes_of, refuse_sorted
from calcli.io.reading.multilabel import SeveralLabels, label_pairs, of_label
from calcli.io.saved.states import is_state, load_state
from calcli.io.tables.source import Contents, SomeScores, Source, without_rows

__all__ = ["ReadOptions", "read", "read_concat"]

T = TypeVar("T")
SNIFFED = 1 << 16
BLOCK = 1 << 12  # rows
PASSED_ON = ("files", "taken", "repeats", "by_ranking", "considered", "outcomes", "questions", "identity")
OF_STATES = ("key", "allow_unmatched")  # options that also pair states
LEAST_WEIGHT = 1e-50
LARGEST = 1e-12, 1e12  # range of the largest weight: its products are finite in single precision
MICRO = "micro"  # in place of a label: the values of all labels as one data set
FEW_FILES = 16  # files up to which row counts are read
PART_ROWS = 1 << 22  # of a part of a large file


def read(path: str | Path, options: ReadOptions | None = None) -> Predictions:
    """Read predictions from a file, a folder of parts of one data set, or standard input.

    Parameters
    ----------
    path
        A .npy, .npz, .csv, .tsv, .parquet, Arrow or JSON lines file; a folder of such files, which are
        read in the order of the numbers in their names; or "-" for standard input.
    options
        Options of reading.

    Raises
    ------
    InputError
        If it is missing, damaged, not understood or holds no predictions.
    UsageError
        If an option does not fit it.
    """
    return read_concat([path], options)


def read_concat(paths: Sequence[str | Path], options: ReadOptions | None = None) -> Predictions:
    """Read several files as one data set, in the order given; otherwise as `read`."""
    paths_given = [piece for path in paths for piece in parts_of_pattern(without_secrets(str(path)))]
    named_paths = [name_and_path(piece) for piece in paths_given]
    predictions = _joined([path for _, path in named_paths], options)
    return replace(predictions, provenance=replace(predictions.provenance, name=named_paths[0][0]))


def _joined(names: Sequence[str], options: ReadOptions | None) -> Predictions:
    states = [path for path in names if is_state(path)]
    if states and len(names) > 1:
        raise UsageError(f"{states[0]} is a state; put states together with calcli merge, then read the one")
    if states:
        unused = [name for name in declared(ReadOptions) if name not in OF_STATES]
        why = f"{states[0]} is a state, made of rows that were read already; leave it out"
        refuse_given(options or ReadOptions(), unused, why)
        return predictions_of(load_state(states[0]), states[0], in_file=True)
    if len(names) > 1 and "-" in names:
        raise UsageError("- (standard input) cannot be joined with files; give files only, or - alone")
    name = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
    names, options = of_system(names, options or ReadOptions())
    if names == ["-"]:
        with spooled() as (path, form):
            part = form.open(path, STDIN, options.sheet)
            try:
                return read_part(part, name, options)
            except SeveralLabels as several:
                count = len(several.names)
                raise InputError(f"{STDIN} has {count} labels in a row; save them to a file") from None
    places = [(file, folder) for folder in map(path_of, names) for file in parts_of(folder, options)]
    return read_places(places, name, options, names)


def read_part(part: Contents, name: str, options: ReadOptions) -> Predictions:
    """Read predictions from content without a file."""
    return _taken([part], name, options, [name], files=False)


def read_places(
    places: Sequence[tuple[AnyPath, AnyPath]],
    name: str,
    options: ReadOptions,
    paths: Sequence[str],
    groups: tuple[int, int] | None = None,
) -> Predictions:
    """Read the files of a named data set, each with the folder that was given, or a part of one file."""
    files = [file for file, _ in places]
    forms = [known_format(file) for file in files]
    items = [
        (
            form.open(file, str(file), options.sheet)
            if groups is None
            else form.module.open_file(file, name, groups)
        ).beside(partition_of(file, folder))
        for form, (file, folder) in zip(forms, places, strict=True)
    ]
    example = {part.what: file for part, file in zip(reversed(items), reversed(files), strict=True)}
    if len(example) > 1:
        raise InputError(f"{example['arrays']} holds arrays and {example['a table']} a table; {ALIKE}")
    if "arrays" in example:
        why = f"{files[0]} has no columns; name the labels with --labels"
        refuse_given(options, ["label_column"], why)
    return _taken(items, name, options, paths)


def _taken(
    items: Sequence[Any], name: str, options: ReadOptions, paths: Sequence[str], *, files: bool = True
) -> Predictions:
    """Return the predictions in contents; raise `SeveralLabels` if rows have several labels."""
    look, commands = options, shown_in([name] if isinstance(options, OfLabel) else paths, options)
    label = options.label if isinstance(options, OfLabel) else ""
    several = label_pairs(items[0], options, sure=bool(label)) if label in ("", MICRO) else {}
    if label and (label != MICRO or MICRO in several):
        of_items = [of_label(item, label, options) for item in items]
        items, look = [item for item, _ in of_items], of_items[0][1]
    elif several:

        def read_label(label: str) -> Predictions:
            as_label = OfLabel(**vars(options) | {"label": label})
            return _taken(items, f"{name.removesuffix(f'/{MICRO}')}/{label}", as_label, (), files=files)

        if label:
            from calcli.core.comparing.averaging import pooled  # which few need

            return pooled([read_label(name_of_label) for name_of_label in several], name)
        raise SeveralLabels(name, [*several], read_label)

    def read_as(attempt: ReadOptions) -> Predictions:
        source = find(items, attempt)
        return understand(source if files else replace(source, files=()), name, attempt)

    return answered(read_as, look, commands)


@contextmanager
def spooled() -> Iterator[tuple[Path, Format]]:
    """Copy standard input to a temporary file without an ending, and tell its format by its first bytes.

    Raises
    ------
    InputError
        If it is empty, or in a format that cannot be piped, or there is no room for it.
    """
    start = sys.stdin.buffer.read(SNIFFED)
    if not start.strip():
        raise InputError(f"{STDIN} is empty; expected CSV, JSON lines or an Arrow stream")
    content = sniff(start)
    if content == "csv" and not start.strip(b"\0"):  # for example from a device that never ends
        content = "null bytes"
    if content not in BY_NAME or not BY_NAME[content].piped:
        raise InputError(
            f"{STDIN} is {content}; expected CSV, JSON lines or an Arrow stream; give other formats as files"
        )
    with tempfile.NamedTemporaryFile() as copy:
        try:
            copy.write(start)
            shutil.copyfileobj(sys.stdin.buffer, copy)
            copy.flush()
        except OSError as error:
            raise InputError(
                f"{STDIN} is copied to {tempfile.gettempdir()}, which has no room for it: {error.strerror}; "
                "set TMPDIR to a folder that has"
            ) from error
        yield Path(copy.name), BY_NAME[content]


def label_by_label(run: Callable[..., T]) -> Callable[..., T]:
    """Return a function of files and options of reading that takes several labels in a row one by one."""

    @wraps(run)
    def taken(files: Sequence[str], *arguments: Any, **further: Any) -> T:
        try:
            return run(files, *arguments, **further)
        except SeveralLabels:
            options = next(
                option for option in (*arguments, *further.values()) if isinstance(option, ReadOptions)
            )
            every = [part for file in files for part in parts_of_pattern(file)]
            names = {file: labels_in(file, options) for file in every}
            return run([path for file in every for path in names[file] or [file]], *arguments, **further)

    return taken


def labels_in(path: str, options: ReadOptions) -> list[str]:
    """Return a path for each of several labels in a row of a file; none for one label or a faulty file."""
    with suppress(CalcliError, OSError):
        file = parts_of(path_of(name_and_path(path)[1]), options)[0]
        contents = known_format(file).open(file, str(file), options.sheet)
        return [f"{name_and_path(path)[1]}/{name}" for name in label_pairs(contents, options)]
    return []


def understand(source: Source, name: str, options: ReadOptions) -> Predictions:
    """Match labels and classes, judge the kind of scores, arrange their checks.

    Raises
    ------
    InputError
        If the source cannot be predictions.
    UsageError
        If an option does not fit it.
    """
    place = source.place
    if source.layout != HARNESS.name:
        why = f"{place.name} has no log-likelihoods of options; leave it out"
        refuse_given(options, ["per_character"], why)
    source = without_rows(source, options)
    if source.classes == WRONG_RIGHT and not source.outcomes:
        source = _rights(source)
    assert source.labels is not None
    place, labels, rows = source.place, source.labels, len(source.labels)
    labels.require(place)
    classes, swapped, turned = classes_of(source, options)
    _require_text(classes.names, place)
    matched = classes.places(labels, place)
    notes = [*source.notes]
    if options.limit is not None and options.limit < rows:
        source = replace(source, scores=SomeScores((source.scores,), limit=options.limit))
        notes.append(f"only the first {options.limit:,} of {rows:,} rows were read, as asked")
    weights = None if source.weights is None else _checked_weights(source.weights, rows, place, options)
    kind = _judged(source, options)
    if options.renormalize:
        acts = kind.kind == "probs" and source.scores.shape[1] > 1
        action = "rows that do not sum to one were divided by their sum, as asked"
        notes.append(
            action if acts else "--renormalize is for probabilities of several classes, and did nothing"
        )

    def checked(rows: Source) -> CheckedScores:
        facts = kind, classes.names, rows.place, options.renormalize, swapped
        return CheckedScores(rows.scores, *facts, incomplete=source.layout == OBJECTS.name)

    understood = Predictions(
        checked(source),
        matched[: options.limit],
        classes.names,
        weights,
        source.columns if options.limit is None else source.columns.kept(slice(options.limit)),
        Provenance(
            name,
            source.labels_from,
            notes=tuple(notes),
            read_as=source.layout,
            doubts=(*((source.by_ranking,) if source.by_ranking else ()), *source.doubts, *kind.doubts),
            chosen=options.scores,
            parts=len(place.parts),
            percent=kind.percent,
            turned=turned,
            per_character=options.per_character,
            label=options.label if isinstance(options, OfLabel) else "",
            left=place.left,
            judge=source.judge,
            **{fact: getattr(source, fact) for fact in PASSED_ON},
            without_label=0 if source.unlabelled is None else source.unlabelled.scores.shape[0],
        ),
        proxy=source.proxy,
    )
    if (unlabelled := source.unlabelled) is not None:
        no_labels = np.zeros(unlabelled.scores.shape[0], np.int64)
        scores, columns = checked(unlabelled), unlabelled.columns
        without_labels = replace(understood, scores=scores, labels=no_labels, proxy=None, columns=columns)
        understood = replace(understood, unlabelled=without_labels)
    return understood if options.against_rest is None else against_rest(understood, options.against_rest)


def _judged(source: Source, options: ReadOptions) -> Judged:
    """Return the kind of scores; raise an InputError if they look like ranks, or may be of two kinds."""
    if not source.decided:
        refuse_sorted(source, options)
    kind = judge_kind(source, options)
    if kind.unclear:
        raise InputError(kind.unclear)
    return kind


def _require_text(classes: Sequence[str], place: Place) -> None:
    """Raise an InputError if a name holds half a surrogate pair, which no file could hold."""
    for name in classes:
        if UNREADABLE.search(name):
            raise InputError(
                f"{place.name}: the class {name!r} holds half a character; expected names that are text"
            )


def _rights(source: Source) -> Source:
    """Return answers with their outcomes as numbers; nothing may be missing."""
    assert source.labels is not None
    mend = LEAVE_OUT if source.files else ""
    refuse_gone(source.scores.missing(), f"the confidence, {source.taken[0]},", source.place, mend)
    return replace(source, labels=rights_of(source.labels, source.labels_from, source.place, mend))


def _checked_weights(weights: Array, rows: int, place: Place, options: ReadOptions) -> Floats:
    """Return the weights of the rows to be read as float64.

    Raises
    ------
    InputError
        If a weight is no number, negative, missing or infinite, or all are 0.
    """
    if weights.dtype.kind not in "iufb":
        called = f"--weights {options.weights}" if options.weights else "the weights"
        verb = "holds" if options.weights else "are"
        raise InputError(f"{place.name}: {called} {verb} {type_in_words(weights.dtype)}; expected numbers")
    weights = mapped(weights[: options.limit], _doubles)
    start, least, largest = 0, (np.inf, 0), (0.0, 0)
    for piece in pieces(weights):
        wrong = ~(np.isfinite(piece) & (piece >= 0))
        if wrong.any():
            row = int(wrong.argmax())
            raise InputError(
                f"{place.row(start + row)} has the weight {piece[row]:g}; expected a finite number of at "
                "least 0"
            )
        positive = np.where(piece > 0, piece, np.inf)
        lowest, highest = int(positive.argmin()), int(piece.argmax())
        least = min(least, (float(positive[lowest]), start + lowest))
        largest = max(largest, (float(piece[highest]), start + highest), key=itemgetter(0))
        start += len(piece)
    if not largest[0]:
        which = f" of the first {len(weights):,} rows" if len(weights) < rows else ""
        raise InputError(f"{place.name}: all weights{which} are 0; expected some rows to count")
    for (weight, row), (low, high) in ((least, (LEAST_WEIGHT, np.inf)), (largest, LARGEST)):
        if not low <= weight <= high:
            raise InputError(
                f"{place.row(row)} has the weight {weight:g}; expected 0, or at least "
                f"{LEAST_WEIGHT:g}, and {LARGEST[0]:g} to {LARGEST[1]:g} of the largest; "
                "divide all of them by one number"
            )
    return weights


def _doubles(values: Array) -> Floats:
    return values.astype(np.float64)


@dataclass(frozen=True)
class Piece:
    """A file of a data set.

    Attributes
    ----------
    path
        The file.
    folder
        The given path: the folder that holds it, or the file itself.
    groups
        The first of its row groups, and the end of the range, for a part of the file.
    """

    path: str
    folder: str
    groups: tuple[int, int] | None = None

    def __str__(self) -> str:
        if self.groups is None:
            return self.path
        return f"{self.path} (row groups {self.groups[0] + 1} to {self.groups[1]})"


def in_pieces(paths: Sequence[str], options: ReadOptions) -> list[Piece]:
    """Return files and files in folders; of few Parquet files, the large ones in several parts."""
    folders = [(folder, path_of(folder)) for folder in paths]
    files = [Piece(str(file), folder) for folder, path in folders for file in parts_of(path, options)]
    unsplit = len(files) > FEW_FILES or options.labels is not None or options.limit is not None
    if unsplit or any(known_format(path_of(piece.path)).name != "parquet" for piece in files):
        return files
    return [part for piece in files for part in _in_groups(piece)]


def _in_groups(piece: Piece) -> list[Piece]:
    """Return the parts of a Parquet file, each of some million rows; itself if it is small."""
    metadata = BY_NAME["parquet"].module.metadata_of(path_of(piece.path), piece.path)
    sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    spans = [*fitting(sizes, PART_ROWS)]
    return [replace(piece, groups=span) for span in spans] if len(spans) > 1 else [piece]


def read_piece(piece: Piece, options: ReadOptions) -> Predictions:
    """Read a piece; otherwise as `read`."""
    place = path_of(piece.path), path_of(piece.folder)
    return read_places([place], str(piece), options, [piece.path], piece.groups)
