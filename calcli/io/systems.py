"""Folders whose files are systems on the same rows, not parts of one data set."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import PurePath
from typing import NoReturn

import numpy as np

from calcli.core.data.arrays import Array
from calcli.core.language.errors import InputError
from calcli.io.source import Source

FEWEST = 20  # rows of a file from which equal labels are not a coincidence
ID_NAMES = ("id", "ids", "row_id", "example_id", "sample_id", "instance_id", "uid", "uuid", "key")


def refuse_systems(found: Source, folder: str) -> None:
    """Refuse to pool files of one folder that hold the same rows.

    They do if all have as many rows, 20 or more, with the same labels in the same order, of two classes or
    more; or the same ids, each once a file and always with the same label.

    Raises
    ------
    InputError
        If they do; it says how to take them for systems, and how for one data set.
    """
    files, rows = len(found.place.parts), found.scores.shape[0]
    if files < 2 or found.labels is None or rows % files or len(found.labels) != rows:
        return
    size = rows // files
    if any(known not in (0, size) for _, known in found.place.parts):
        return
    same, labels = "", found.labels
    if size >= FEWEST and labels.repeated(size):
        same = f"the same {size:,} labels in the same order"
    else:
        named = (name for name in found.columns if name.lower() in ID_NAMES)
        same = next(
            (
                f"the same ids in column {name!r}"
                for name in named
                if _same_ids(found, name, labels.codes.reshape(files, size))
            ),
            "",
        )
    if same:
        _refuse(folder, [name for name, _ in found.place.parts], same)


def refuse_same_labels(folder: str, files: Sequence[str], rows: int) -> None:
    """Refuse to pool files of one folder, all of which have the same labels in the same order."""
    _refuse(folder, files, f"the same {rows:,} labels in the same order")


def _refuse(folder: str, files: Sequence[str], same: str) -> NoReturn:
    place = shlex.quote(folder.rstrip("/"))
    ending = PurePath(files[0]).suffix
    nested = any(PurePath(file).parent != PurePath(folder) for file in files)
    each = shlex.quote(f"{folder.rstrip('/')}/**/*{ending}") if nested else f"{place}/*{ending}"
    raise InputError(
        f"{folder} holds {len(files)} files with {same}: systems on the same rows, it seems, not parts of "
        f"one data set. Compare them with calcli evaluate {each}, or take them for one data set with "
        f"calcli evaluate {place} --concat"
    )


def _same_ids(found: Source, name: str, labels: Array) -> bool:
    ids: Array = np.asarray(found.columns[name]).reshape(labels.shape[0], labels.shape[1])
    order = ids.argsort(axis=1, kind="stable")
    ids, labels = np.take_along_axis(ids, order, 1), np.take_along_axis(labels, order, 1)
    return len(np.unique(ids[0])) == len(ids[0]) and _alike(ids) and _alike(labels)


def _alike(table: Array) -> bool:
    return bool((table == table[:1]).all())
