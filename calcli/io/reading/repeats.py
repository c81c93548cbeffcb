"""Rows that depend on each other: identifiers that repeat, and rows that were written twice."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array
from calcli.io.reading.head import FEW, Head
from calcli.io.words import is_identifier

SHARE = 0.05  # of the rows, from which repeats are told
SURPLUS = 3  # times the copies that chance makes likely, from which they are told
DECIMALS = 9  # beyond which equal numbers are never chance


def repeats(head: Head, scores: Sequence[str], truth: Sequence[str]) -> tuple[str, ...]:
    """Return a sentence for each identifier whose values repeat, or else a question about equal rows.

    Parameters
    ----------
    head
        The rows that are looked at.
    scores, truth
        The columns of the scores, and of what is right.
    """
    notes = []
    for name, values in head.columns.items():
        if name in (*scores, *truth) or not is_identifier(name):
            continue
        _, counts = np.unique(values.astype(str), return_counts=True)
        shared = int(counts[counts > 1].sum())
        if len(counts) >= min(FEW, head.n // 10) > 1 and shared >= SHARE * head.n:
            of = f" of the {head.n:,} rows looked at" if shared < head.n else " rows"
            notes.append(
                f"{name} repeats: {shared:,}{of} share {int((counts > 1).sum()):,} values, and such rows are "
                f"rarely independent: say --cluster {shlex.quote(name)}, or in a policy "
                f"cluster = {json.dumps(name)}"
            )
    return tuple(notes) or _copies(head)


def _copies(head: Head) -> tuple[str, ...]:
    """Return a question about rows that are equal in every column, if chance makes far fewer likely."""
    if head.lists or head.n < FEW:
        return ()
    groups = np.zeros(head.n, np.intp)  # equal where rows are equal
    for values in head.columns.values():
        _, codes = np.unique(values.astype(str), return_inverse=True)
        _, groups = np.unique(groups * (codes.max() + 1) + codes, return_inverse=True)
    _, distinct = np.unique(groups, return_index=True)
    copies = head.n - len(distinct)
    if copies < SHARE * head.n:
        return ()
    chance = min(_chance_of_equality(name, values, distinct) for name, values in head.columns.items())
    if copies < SURPLUS * chance * head.n * (head.n - 1) / 2:
        return ()
    return (
        f"{copies:,} of the {head.n:,} rows looked at are equal to another row in every column: were rows "
        "written twice?",
    )


def _chance_of_equality(name: str, values: Array, distinct: NDArray[np.intp]) -> float:
    """Return how probable equal values of two unrelated rows are.

    For numbers it is the step between possible values times their density; for identifiers and text it
    follows from the frequencies in the distinct rows, and is 1 where these have few values.
    """
    n = len(values)
    if is_identifier(name) or values.dtype.kind not in "iuf" or not np.isfinite(values).all():
        _, counts = np.unique(values[distinct].astype(str), return_counts=True)
        return float(np.sum(counts * (counts - 1)) / (n * (n - 1))) if len(counts) > n / 3 else 1.0
    decimals = next((d for d in range(DECIMALS) if np.allclose(values, values.round(d), 0, 1e-9)), None)
    if decimals is None:
        return 0.0
    step, near = 10.0**-decimals, max(1, n // 20)
    ordered = np.sort(values)
    width = np.maximum(ordered[near:] - ordered[:-near], step)
    return float(np.minimum(step * near / (n * width), 1).mean())
