"""Rows that are left out: labels to be ignored, as those of unlabelled pixels, and what is missing."""

from __future__ import annotations

import numpy as np

from calcli.core.language.errors import InputError
from calcli.core.language.expressions import WRONG_RIGHT
from calcli.io.messages import listed
from calcli.io.options import ReadOptions
from calcli.io.tables.source import Source


def without_rows(found: Source, options: ReadOptions) -> Source:
    """Return what was found without the rows to be left out, with sentences that say how many these are.

    What only looks as if it was missing, but is the name of a class, is not.

    Raises
    ------
    InputError
        If no row is left.
    """
    answers = found.classes == WRONG_RIGHT
    if found.outcomes:  # which are without those that are missing
        return found if answers or not options.ignore_label else _without_labels(found, options.ignore_label)
    named = () if answers else options.named(found.classes)
    if options.drop_missing:
        found = _without_missing(found, named)
    if options.ignore_label:
        found = _without_labels(found, options.ignore_label)
    if found.labels is None or options.limit is None:
        return found
    behind = found.labels.missing(named)
    behind[: options.limit] = False
    if not behind.any():
        return found
    left = f"{np.count_nonzero(behind):,} without a label were passed over"
    return found.kept(~behind, (f"behind the first {options.limit:,} rows {left}",))


def _without_missing(found: Source, named: tuple[str, ...]) -> Source:
    kept = ~found.scores.missing()
    if found.labels is not None:
        kept &= ~found.labels.missing(named)
    rows, left = len(kept), int(np.count_nonzero(kept))
    if not left:
        raise InputError(f"{found.place.name}: in all {rows:,} rows something is missing")
    told = "no score, confidence or label is missing; --drop-missing left out nothing"
    if left < rows:
        told = f"{rows - left:,} of {rows:,} rows, in which something is missing, were left out, as asked"
    return found.kept(kept, (told,))


def _without_labels(found: Source, ignored: tuple[str, ...]) -> Source:
    assert found.labels is not None
    kept, which = ~found.labels.are(ignored), listed(list(ignored))
    rows, left = len(kept), int(np.count_nonzero(kept))
    if not left:
        raise InputError(f"{found.place.name}: all {rows:,} labels are to be ignored ({which})")
    there = {str(one).strip() for one in found.labels.kept(~kept).values}
    gone = [one for one in ignored if one.strip() not in there]
    told = f"{rows - left:,} of {rows:,} rows have a label to be ignored ({which}) and are left out, as asked"
    return found.kept(
        kept,
        (told,) if left < rows else (),
        (f"no row has a label to be ignored ({listed(gone)})",) if gone else (),
    )
