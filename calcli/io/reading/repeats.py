"""Rows that depend on each other as far as a file shows it: values of identifiers that repeat, and copies."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from calcli.io.reading.head import FEW, Head
from calcli.io.words import is_identifier

SHARE = 0.05  # of the rows, from which repeats are told


def repeats(head: Head, scores: Sequence[str], truth: Sequence[str]) -> tuple[str, ...]:
    """Return a sentence for each identifier whose values repeat, or else on rows that are copies.

    Parameters
    ----------
    head
        The rows that are looked at.
    scores, truth
        The columns of the scores, and of what is right.
    """
    found = []
    for name, values in head.columns.items():
        if name in (*scores, *truth) or not is_identifier(name):
            continue
        _, counts = np.unique(values.astype(str), return_counts=True)
        shared = int(counts[counts > 1].sum())
        if len(counts) >= min(FEW, head.n // 10) > 1 and shared >= SHARE * head.n:
            of = f" of the {head.n:,} rows looked at" if shared < head.n else " rows"
            found.append(
                f"{name} repeats: {shared:,}{of} share {int((counts > 1).sum()):,} values, and such rows are "
                f"rarely independent: say --cluster {shlex.quote(name)}, or in a policy "
                f"cluster = {json.dumps(name)}"
            )
    return tuple(found) or _copies(head, scores)


def _copies(head: Head, scores: Sequence[str]) -> tuple[str, ...]:
    """Return a sentence on rows that are equal in everything, unless equal scores are common anyway."""
    if head.lists or head.n < FEW:
        return ()
    rows = _numbered(head, [*head.columns])
    distinct, first = np.unique(rows, return_index=True)
    copies = head.n - len(distinct)
    alike = len(distinct) - len(np.unique(_numbered(head, scores)[first]))
    if copies < SHARE * head.n or alike > SHARE * len(distinct):
        return ()
    return (
        f"{copies:,} of the {head.n:,} rows looked at are copies of others, equal in every column, and tell "
        "nothing new; remove them",
    )


def _numbered(head: Head, names: Sequence[str]) -> NDArray[np.intp]:
    """Return (n,) numbers that are equal where rows are equal in some columns."""
    found = np.zeros(head.n, np.intp)
    for name in names:
        _, own = np.unique(head.columns[name].astype(str), return_inverse=True)
        _, found = np.unique(found * (own.max() + 1) + own, return_inverse=True)
    return found
