"""Archives of numpy arrays: scores, labels, weights and class names by their usual names or by the "
"options.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from calcli.core.data.arrays import Array
from calcli.core.language.errors import InputError, UsageError
from calcli.io.assemble import Found, LazyColumns
from calcli.io.columns import ALONE, LABEL, kind_by_name
from calcli.io.files import refuse_wrong_content
from calcli.io.labels import labels_from_array
from calcli.io.npy import native, refuse_indicators
from calcli.io.options import ReadOptions
from calcli.io.places import Place, listed
from calcli.io.rawscores import HeldScores, rows_and_columns

CLASS_NAMES = ("classes", "class_names")


@dataclass(frozen=True)
class Archive:
    """An .npz file whose scores have been found.

    Attributes
    ----------
    path
        The file.
    scores_name, scores
        The array of scores, as (N, K).
    classes
        Class names, where an array lists them.
    others
        Names of all further arrays.
    """

    path: Path
    scores_name: str
    scores: Array
    classes: tuple[str, ...] | None
    others: tuple[str, ...]

    def read(self, name: str) -> Array:
        """Return one array.

        Raises
        ------
        InputError
            If it is damaged, or holds Python objects.
        """
        return _read(self.path, name)


def open_archive(path: Path, options: ReadOptions) -> Archive:
    """Find and read the scores in an .npz archive.

    Raises
    ------
    InputError
        If the archive is damaged, or scores are missing or ambiguous.
    UsageError
        If an option names an array that is not there.
    """
    refuse_wrong_content(path, "npz")
    with _damage_said(path), path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        names = list(archive)
    name = _choose(path, names, options.scores, "--scores", lambda array: bool(ALONE.fullmatch(array)))
    scores = _read(path, name)
    if scores.dtype.kind not in "iufb":
        raise InputError(
            f"{path}: the array {name} holds values of type {scores.dtype}; expected scores, as numbers"
        )
    shape = rows_and_columns(scores.shape, f"{path}: the array {name}", options.positive)
    listing = next((array for array in CLASS_NAMES if array in names), None)
    scores, classes = scores.reshape(shape), None
    if listing is not None:
        classes = _class_names(path, listing)
        scores, classes = _in_order(path, scores, classes, options.classes)
    others = tuple(array for array in names if array not in (name, listing))
    return Archive(path, name, scores, classes, others)


def _class_names(path: Path, listing: str) -> tuple[str, ...]:
    names = _read(path, listing)
    if names.ndim != 1 or names.dtype.kind not in "Uiub":
        raise InputError(
            f"{path}: the array {listing} has shape {names.shape} and type {names.dtype}; expected the names "
            "of the classes in a row, as text or integers"
        )
    return tuple(map(str, names.tolist()))


def _in_order(
    path: Path, scores: Array, classes: tuple[str, ...], wanted: tuple[str, ...] | None
) -> tuple[Array, tuple[str, ...]]:
    """Return scores and class names in the order of `--classes`; one score per row keeps its place."""
    if wanted is None or wanted == classes:
        return scores, classes
    numbered = classes == tuple(map(str, range(len(classes))))
    if len(wanted) == len(classes) and (numbered or set(wanted).isdisjoint(classes)):
        return scores, wanted
    if sorted(wanted) != sorted(classes) or not scores.shape[1] == len(classes) == len(set(classes)):
        raise UsageError(
            f"--classes names {listed(wanted)}, but the scores of {path} belong to {listed(classes)}; "
            "expected the same names, in any order if there is a score for each, or as many others"
        )
    return scores[:, [classes.index(name) for name in wanted]], wanted


def found_in_npz(path: Path, options: ReadOptions) -> Found:
    """Read scores, labels and weights from an .npz archive; other arrays with one value a row are columns.

    Raises
    ------
    InputError
        If the archive is damaged, or scores or labels are missing or ambiguous.
    UsageError
        If an option names an array that is not there.
    """
    archive = open_archive(path, options)
    names = [archive.scores_name, *archive.others]
    place = Place(((str(path), len(archive.scores)),))
    label = None
    if options.labels is None or options.labels in names:
        label = _choose(path, names, options.labels, "--labels", lambda array: bool(LABEL.fullmatch(array)))
    if options.weights is not None and options.weights not in names:
        raise UsageError(f'--weights: {path} has no array "{options.weights}"; it has {listed(names)}')
    kind, reason = kind_by_name((archive.scores_name,))
    return Found(
        place,
        HeldScores(archive.scores),
        None if label is None else labels_from_array(_labels(archive, label), place),
        f'array "{label}"',
        archive.classes,
        kind,
        reason,
        None if options.weights is None else archive.read(options.weights).reshape(-1),
        LazyColumns({array: partial(archive.read, array) for array in archive.others if array != label}),
        (str(path),),
    )


def _choose(
    path: Path, names: list[str], wanted: str | None, option: str, usual: Callable[[str], bool]
) -> str:
    if wanted is not None:
        if wanted not in names:
            raise UsageError(f'{option}: {path} has no array "{wanted}"; it has {listed(names)}')
        return wanted
    found = [name for name in names if usual(name)]
    if len(found) != 1:
        several = (
            f"{len(found)} arrays that may be meant, {listed(found)}" if found else f"only {listed(names)}"
        )
        raise InputError(f"{path} has {several}; name the one with {option}")
    return found[0]


def _labels(archive: Archive, name: str) -> Array:
    labels = archive.read(name)
    refuse_indicators(labels, archive.scores.shape, f"{archive.path}: the array {name}")
    return labels.reshape(-1)


def _read(path: Path, name: str) -> Array:
    with _damage_said(path, name), path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        return native(archive[name])


@contextmanager
def _damage_said(path: Path, name: str = "") -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, EOFError, OSError) as error:
        raise InputError(f"{path} is truncated or damaged; copy it again") from error
    except ValueError as error:  # what numpy raises where it would need pickle
        raise InputError(
            f"{path}: the array {name} holds Python objects (a pickle), which could run any code and is "
            "never loaded; expected an array of numbers or text; save it with such a dtype"
        ) from error
