"""Rows that are left out: labels to be ignored, as those of unlabelled pixels, and what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array
from calcli.core.language.errors import InputError
from calcli.io.messages import KeptPlace, listed
from calcli.io.tables.labels import INTEGER, Labels, is_missing
from calcli.io.tables.source import LazyColumns, Source


def without_labels(found: Source, labels: Labels, ignored: Sequence[str]) -> tuple[Source, Labels]:
    """Return what was found without the rows of some labels, and says how many these are.

    Raises
    ------
    InputError
        If no row is left.
    """
    if labels.names is None:
        numbers = [int(text) for text in ignored if INTEGER.fullmatch(text.strip())]
        kept = ~np.isin(labels.codes, numbers)
    else:
        kept = ~np.isin(labels.codes, [n for n, name in enumerate(labels.names) if name in ignored])
    rows, left = len(kept), int(np.count_nonzero(kept))
    which = listed(list(ignored))
    if not left:
        raise InputError(f"{found.place.name}: all {rows:,} labels are to be ignored ({which})")
    notes, doubts = ignored_rows(kept, ignored, labels.values)
    return rows_of(found, labels, kept, notes, doubts)


def without_missing_values(found: Source, labels: Labels, classes: Sequence[str]) -> tuple[Source, Labels]:
    """Return what was found without the rows where a score or the label is missing, and how many these are.

    Labels that only look as if they were missing, but are among the `classes`, are not.

    Raises
    ------
    InputError
        If no row is left.
    """
    rows = len(labels)
    kept = ~found.missing()
    if labels.missing is not None:
        kept &= ~labels.missing
    if labels.names is not None:
        kept &= ~is_missing(np.array(labels.names, np.str_), classes)[labels.codes]
    if not kept.any():
        raise InputError(f"{found.place.name}: in all {rows:,} rows something is missing")
    return rows_of(found, labels, kept, (dropped_note(kept),))


def ignored_rows(
    kept: NDArray[np.bool_], ignored: Sequence[str], values: Array
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return notes on the rows left out because of their labels, and doubts about labels that no row has."""
    left = int(np.count_nonzero(~kept))
    there = {one.strip() for one in np.unique(values[~kept]).astype(str).tolist()}
    gone = [one for one in ignored if one.strip() not in there]
    told = f"{left:,} of {len(kept):,} rows have a label to be ignored ({listed(list(ignored))})"
    return (
        (f"{told} and are left out, as asked",) if left else (),
        (f"no row has a label to be ignored ({listed(gone)})",) if gone else (),
    )


def dropped_note(kept: NDArray[np.bool_]) -> str:
    """Return how many rows were left out because something is missing, a sentence for the user."""
    dropped, rows = int(np.count_nonzero(~kept)), len(kept)
    if not dropped:
        return "no score, confidence or label is missing; --drop-missing left out nothing"
    return f"{dropped:,} of {rows:,} rows, in which something is missing, were left out, as asked"


def rows_of(
    found: Source,
    labels: Labels,
    kept: NDArray[np.bool_],
    notes: Sequence[str],
    doubts: Sequence[str] = (),
) -> tuple[Source, Labels]:
    """Return some rows of what was found, with sentences for the user."""
    readers = {name: partial(_kept, reader, kept) for name, reader in found.columns.readers.items()}
    place = KeptPlace.of(found.place, kept)
    codes, names = labels.codes[kept], labels.names
    if names is not None:
        used = np.unique(codes)
        names, codes = tuple(names[code] for code in used), np.searchsorted(used, codes)
    return replace(
        found,
        place=place,
        scores=found.kept(kept),
        weights=None if found.weights is None else found.weights[kept],
        columns=LazyColumns(readers),
        notes=(*found.notes, *notes),
        doubts=(*found.doubts, *doubts),
    ), replace(labels, codes=codes, names=names, missing=None)


def _kept(reader: Any, kept: NDArray[np.bool_]) -> Array:
    values: Array = reader()[kept]
    return values
