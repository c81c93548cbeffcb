"""Labels that are what the scores predict, beside a column that may be the truth."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from calcli.core.data.arrays import Array
from calcli.core.data.labels import in_order
from calcli.core.data.predictions import Predictions
from calcli.core.language.errors import InputError
from calcli.io.columnvalues import distinct_texts
from calcli.io.doubted import first_rows
from calcli.io.labelnumbers import number_of
from calcli.io.labels import Labels
from calcli.io.labelstreams import LabelColumn
from calcli.io.layouts.candidates import PAIRS
from calcli.io.layouts.names import PREDICTED, TRUTHS, WEAK_LABELS, plain
from calcli.io.options import ReadOptions
from calcli.io.reading.reading import TableSource
from calcli.io.source import Source
from calcli.io.tables.columns import holds_of
from calcli.io.tables.table import Table

FEW = 20  # rows that may all be predicted rightly
ELEMENTS = 1 << 18  # of scores that are looked at together


def refuse_predicted_labels(
    found: Source, labels: Labels | LabelColumn, predictions: Predictions, options: ReadOptions
) -> None:
    """Refuse labels that are the most probable class in every row, where another column may be the truth.

    Parameters
    ----------
    found
        What the columns are taken for.
    labels
        As they are stored, of the same rows as the predictions.
    predictions
        What was found, understood.
    options
        Whether the user says which column has the labels.

    Raises
    ------
    InputError
        If there are 20 rows or more, and another column holds the same classes, in some rows alone the same.
    """
    if (
        not isinstance(found, TableSource)
        or found.labels is None
        or options.label_column is not None
        or predictions.of_answers
    ):
        return
    if not _may_be_predicted(*first_rows(found, predictions.labels)):
        return
    known = {*predictions.classes, *map(str, np.unique(labels.seen.values).tolist())}
    if len(predictions.labels) < FEW or not (maybe := _of_classes(found.table, found.columns, known)):
        return
    if not _all_right(predictions):
        return
    own = labels.held().values[: options.limit].astype(str)
    for name in maybe:
        same = predictions.columns[name].astype(str) == own
        if same.any() and not same.all():
            raise InputError(
                f"{found.place.name}: the labels, {found.labels_from}, are the most probable class in every "
                f"row, as if they were predicted, and column {name} holds the same classes; say with "
                "--label-column which are the labels"
            )


def _of_classes(table: Table, names: Iterable[str], known: set[str]) -> list[str]:
    """Return the columns that hold nothing but classes; numbers, yes or no only under a name of labels."""
    common = any(number_of(one) is not None for one in known) or {one.casefold() for one in known} in PAIRS
    found = []
    for name in names:
        named, holds = plain(name) in TRUTHS | WEAK_LABELS, holds_of(table.schema.field(name).type)
        other = holds == "text" and not common and not PREDICTED.search(name)
        if (other or (named and holds in ("text", "integer"))) and {*distinct_texts(table, name)} <= known:
            found.append(name)
    return found


def _may_be_predicted(scores: Array, labels: Array) -> bool:
    """Return whether labels may follow from the scores beside them: from one, or two, by some threshold."""
    if scores.shape[1] > 2:
        return bool((scores.argmax(axis=1) == labels).all())
    score = scores[:, -1] - (scores[:, 0] if scores.shape[1] == 2 else 0)
    one, other = score[labels == 1], score[labels != 1]
    return bool(not len(one) or not len(other) or one.min() >= other.max() or other.min() >= one.max())


def _all_right(predictions: Predictions) -> bool:
    """Return whether the most probable class is the label in every row."""
    labels, start = in_order(predictions.labels), 0
    for block in predictions.scores.blocks(max(1, ELEMENTS // len(predictions.classes))):
        rows = slice(start, start + len(block))
        if not (block.argmax(axis=1) == labels(rows)).all():
            return False
        start = rows.stop
    return True
