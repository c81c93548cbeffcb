"""Numpy's .npy: an array of scores, read block by block, with the labels in a file beside it."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy_format

from calcli.core.data.arrays import Array, Doubles
from calcli.core.language.errors import InputError
from calcli.io import formats
from calcli.io.formats.writer import Frame, Writer
from calcli.io.messages import Place, listed, refuse_given
from calcli.io.options import ReadOptions
from calcli.io.places.archives import TRUNCATED, naming_faults, unpacked_bytes
from calcli.io.places.heads import held_array, native, read_header
from calcli.io.places.outputs import atomic_path
from calcli.io.places.paths import AnyPath, path_of
from calcli.io.tables.arrays import Archive, ArrayTable, StoredArray, flat_labels
from calcli.io.tables.source import Source, in_order, require_label_each, rows_of

SCORES, LABEL = "scores", "label"  # the arrays; the second is also the column of passed-on labels
LABEL_ENDINGS = ("labels", "targets", "label", "target")
SCORES_ENDING = re.compile(r"(?i)(^|[_.-])(scores|logits|log_probs|probs|probabilities|predictions|preds)$")
LABEL_SUFFIXES = (".npy", ".txt")
LABEL_FILE = re.compile(
    rf"(?i)((.*[_.-])?({'|'.join(LABEL_ENDINGS)})|y[_-]?(test|true|val|valid)|targs|gt)\.(npy|txt)"
)


def open_file(path: AnyPath, name: str) -> Archive:
    """Read the head of a .npy file, an array of scores.

    Raises
    ------
    InputError
        If it is damaged, truncated, or needs pickle.
    """
    stored = stored_array(path)
    return Archive(name, (SCORES,), {SCORES: stored}.__getitem__, scores=SCORES)


def stored_array(path: AnyPath) -> StoredArray:
    """Return the array in a .npy file, or the values in a .txt file, one a line; otherwise as `open_file`."""
    name = str(path)
    if path.suffix.lower() == ".txt":
        return StoredArray.held(_values_of_lines(path), name, name)
    if path.suffix.lower() in formats.PACKED:
        return StoredArray.held(held_array(unpacked_bytes(path), name), name, name)
    with path.open("rb") as file:
        header = read_header(file, name)
    there = path.stat().st_size - header.offset
    if header.dtype.kind in "iufb" and there < header.size:
        raise InputError(
            f"{path} is truncated: {there} of {header.size} bytes of the array are there; copy it again"
        )
    opened: Any = partial(path.open, "rb")
    return StoredArray(name, name, header, opened, partial(_array, path))


def _values_of_lines(path: AnyPath) -> Array:
    """Return (N,) values from a text file with one value a line: integers, numbers or text."""
    try:
        lines = path.read_bytes().decode("utf-8-sig").rstrip().splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not text in UTF-8; save the file in this encoding") from error
    texts = np.array([line.strip() for line in lines], str)
    for kind in (np.int64, np.float64):
        with suppress(ValueError, OverflowError):
            return texts.astype(kind)
    return texts


def with_labels(scores: Archive, options: ReadOptions, *, labelled: bool, alone: bool) -> Archive:
    """Return an array of scores with the labels in a file beside it, if there is one.

    Parameters
    ----------
    scores
        The array; an array from Python has its labels.
    options
        Options, perhaps with a file of labels for all parts.
    labelled
        Whether labels are read; if not, they are passed on if they fit.
    alone
        Whether there are no other parts.

    Raises
    ------
    UsageError
        If an option names a column.
    """
    if scores.label:
        return scores
    why = f"{scores.name} has no columns; leave it out, or save all arrays in one .npz"
    refuse_given(options, ["scores", "weights"], why)
    path, label_path = path_of(scores.name), None if options.labels is None else path_of(options.labels)
    if label_path is not None and labelled and not alone:
        return scores
    packed, names = path.suffix.lower() in formats.PACKED, _named_after(path.stem.removesuffix(".npy"))
    files = (path.with_name(name + (packed and name.endswith(".npy")) * path.suffix) for name in names)
    label_path = label_path or next((file for file in files if file.is_file()), None)
    if label_path is None and not labelled:
        with suppress(InputError):  # the only file of labels in the folder, if it has one label per row
            labels = only_labels_beside(path)
            rows = rows_of(scores.array(SCORES).header.shape)
            label_path = labels if in_order(stored_array(labels).header.shape, rows) else None
    if label_path is None:
        return scores
    require_array(label_path)
    pair = {SCORES: scores.array(SCORES), LABEL: stored_array(label_path)}
    return replace(scores, names=(*pair,), array=pair.__getitem__, label=LABEL, labels_from=str(label_path))


def _array(path: AnyPath) -> Array:
    with naming_faults(f"{path} {TRUNCATED}"), path.open("rb") as file:
        return native(np.load(file, allow_pickle=False))


def _named_after(stem: str) -> list[str]:
    """Return possible names of the file of labels for scores, likeliest first."""
    stems = [fromkey for fromkey in dict.fromkeys((stem, SCORES_ENDING.sub("", stem))) if fromkey]
    return [
        f"{stem}_{ending}{suffix}" for suffix in LABEL_SUFFIXES for stem in stems for ending in LABEL_ENDINGS
    ]


def labels_file(path: AnyPath) -> AnyPath:
    """Return the path of the labels for a .npy file of scores."""
    return path.with_name(f"{path.stem}_{LABEL_ENDINGS[0]}.npy")


def only_labels_beside(path: AnyPath) -> AnyPath:
    """Return the one file of labels in the folder of a file.

    Raises
    ------
    InputError
        If there is none, or there are several.
    """
    files = [file for file in path.parent.iterdir() if file.suffix.lower() in LABEL_SUFFIXES and file != path]
    labels = sorted(file for file in files if LABEL_FILE.fullmatch(file.name))
    owners = {name: file.name for file in files if file not in labels for name in _named_after(file.stem)}
    unowned = [file for file in labels if file.name not in owners]
    if not unowned:
        owner = f" ({labels[0].name} is that of {owners[labels[0].name]})" if labels else ""
        foreign = (file for file in path.parent.iterdir() if LABEL_FILE.fullmatch(f"{file.stem}.npy"))
        lines = (formats.conversion_of(file) for file in sorted(foreign, key=str))
        mend = next((f"convert what is there with {line}, and " for line in lines if line), "")
        raise InputError(
            f"{path} has no labels: expected {path.stem}_labels.npy or a labels.npy beside it{owner}; "
            f"{mend}name the file with --labels"
        )
    if len(unowned) > 1:
        names = listed([file.name for file in unowned])
        raise InputError(f"{path} has several files of labels beside it, {names}; choose one with --labels")
    return unowned[0]


def require_array(path: AnyPath) -> None:
    """Raise an InputError if a file of labels holds neither an array nor one value per line."""
    if path.suffix.lower() == ".txt":
        formats.require_file(path)
    elif formats.known_format(path).name != "npy":
        raise InputError(
            f"{path}: expected an array of labels (.npy), or a label a line (.txt); join the labels of a "
            "table to the scores first, by the id of the rows, and name their column with --label-column"
        )


def with_labels_of_all(source: Source, options: ReadOptions) -> Source:
    """Return the source with labels from a separate file.

    Raises
    ------
    InputError
        If there is no such file, or not one label for each row.
    """
    path = only_labels_beside(path_of(source.files[0])) if options.labels is None else path_of(options.labels)
    require_array(path)
    stored, name = stored_array(path), str(path)
    rows = source.table.rows_of_all if isinstance(source.table, ArrayTable) else source.scores.shape[:1]
    place = Place(((name, math.prod(stored.header.shape)),))
    labels = flat_labels(stored, (*rows, source.scores.shape[1]), place)
    require_label_each(source.place.name, source.scores.shape, len(labels), name)
    return replace(source, labels=labels, labels_from=name, files=(*source.files, name))


class NpyWriter(Writer):
    """The (N, K) array; the header is rewritten at the end with the number of rows.

    Labels from a separate file are written to a separate file again.
    """

    def __init__(self, sink: BinaryIO, frame: Frame, path: AnyPath | None) -> None:
        super().__init__(sink, frame, path)
        self._rows, self._dtype = 0, frame.dtype.newbyteorder("<")
        labelled = path is not None and frame.others.names == [LABEL]
        self._labels_path = labels_file(path) if path and labelled else None
        self._labels: list[Array] = []
        self._head()

    def _head(self) -> None:
        columns = len(self.frame.names)
        shape = (self._rows, columns) if columns > 1 else (self._rows,)
        head = {"descr": self._dtype.str, "fortran_order": False, "shape": shape}
        npy_format.write_array_header_1_0(self.sink, head)  # leaves room for the number to grow

    def write(self, kept_columns: Any, scores: Doubles) -> None:
        """Write rows."""
        self.sink.write(np.ascontiguousarray(scores, self._dtype).tobytes())
        self._rows += len(scores)
        if self._labels_path:
            self._labels.append(kept_columns.column(LABEL).to_numpy(zero_copy_only=False))

    def end(self) -> None:
        """Write the number of rows, and the labels."""
        self.sink.seek(0)
        self._head()
        if self._labels_path:
            labels = np.concatenate(self._labels)
            with atomic_path(self._labels_path) as path:
                np.save(path, labels.astype(str) if labels.dtype == object else labels)


writer = NpyWriter
