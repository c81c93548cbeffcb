"""Predictions from arrays in Python."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, Literal

import numpy as np

from calcli.core.calibrators.arguments import column_names, order_of
from calcli.core.data.arrays import Array
from calcli.core.data.inmemory import as_array, refuse_swapped
from calcli.core.data.predictions import Kind, Predictions
from calcli.core.language.errors import InputError
from calcli.io.messages import Place, listed, type_in_words
from calcli.io.options import OfLabel, ReadOptions
from calcli.io.read import understand
from calcli.io.reading import find
from calcli.io.reading.archives import answers_in
from calcli.io.reading.classes import numbers_of
from calcli.io.reading.multilabel import SeveralLabels, label_pairs, of_label
from calcli.io.tables.arrays import Archive
from calcli.io.tables.source import Shape, Source, require_rows, rows_and_columns

NAME = "arrays"
SCORES, LABELS = "the scores", "the labels"  # reserved names for columns


def from_arrays(
    scores: Any,
    labels: Any,
    *,
    kind: Kind | Literal["auto", "percent"] = "auto",
    classes: Sequence[str] | None = None,
    positive: str | None = None,
    weights: Any = None,
    columns: Mapping[str, Any] | None = None,
    renormalize: bool = False,
    ignore_label: Sequence[str] = (),
    drop_missing: bool = False,
) -> Predictions:
    """Return predictions from arrays.

    Parameters
    ----------
    scores : array-like (N, K), (..., K) or (N,)
        Logits, log-probabilities or probabilities; for two classes also of the second class only.
    labels : array-like (N,) or (...)
        Integers, or text that matches `classes`.
    kind
        What the scores are.
    classes
        Class names in the order of the scores.
    positive
        For two classes: the class that counts as the second.
    weights : array-like (N,), optional
        Non-negative row weights.
    columns
        Further columns by name, (N,) each.
    renormalize
        Divide rows by their sum even if it is further from one than rounding explains.
    ignore_label
        Labels of rows to leave out, such as "255".
    drop_missing
        Leave out rows without a label or a score.

    Raises
    ------
    InputError
        If the arrays cannot be predictions.
    UsageError
        If an option does not fit them.
    """
    refuse_swapped(scores, labels)
    values = as_array(scores, "scores")
    of_labels = isinstance(scores, list) and values.ndim == 3  # perhaps two classes of each label
    if of_labels and values.shape == (*as_array(labels, "labels").shape[::-1], 2):
        values = values[:, :, 1].T
    if values.dtype.kind not in "iufb":
        raise InputError(f"{NAME}: the scores are {type_in_words(values.dtype)}; expected numbers")
    place = Place(((NAME, rows_and_columns(values.shape, NAME)[0]),))
    names = None if classes is None else tuple(map(str, classes))
    arrays = {name: np.asarray(column) for name, column in (columns or {}).items()}
    arrays |= {SCORES: values, LABELS: _in_order(labels, values.shape, names, place)}
    options = ReadOptions(
        kind=kind,
        classes=names,
        positive=positive,
        renormalize=renormalize,
        ignore_label=tuple(ignore_label),
        drop_missing=drop_missing,
        class_axis=-1,
    )
    archive = Archive.held(NAME, arrays, SCORES, LABELS)
    if pairs := label_pairs(archive, options):

        def read_label(label: str) -> Predictions:
            alone, of_options = of_label(archive, label, options)
            look = OfLabel(**vars(of_options), label=label)
            return understand(_weighted(find([alone], look), weights), f"{NAME}/{label}", look)

        raise SeveralLabels(NAME, [*pairs], read_label)
    return understand(_weighted(find([archive], options), weights), NAME, options)


def from_answers(
    confidence: Any, correct: Any, *, kind: Kind | Literal["auto"] = "auto", weights: Any = None
) -> Predictions:
    """Return predictions from the confidence in answers and whether they are right.

    Parameters
    ----------
    confidence : array-like (N,)
        Of each answer.
    correct : array-like (N,)
        True or false, 1 or 0, or words such as "correct" and "incorrect".
    kind
        The kind of the confidence: a probability, log-probability or log-odds.
    weights : array-like (N,), optional
        Non-negative row weights.

    Raises
    ------
    InputError
        If the arrays cannot be answers.
    """
    refuse_swapped(confidence, correct, ("values of confidence=", "values of correct="))
    sure, right = as_array(confidence, "values of confidence="), as_array(correct, "values of correct=")
    file = Archive.held(NAME, {"confidence": sure, "correct": right}, "")
    source = answers_in([file], "confidence", ["correct"], ReadOptions())
    return understand(
        _weighted(replace(source, labels_from="correct"), weights), NAME, ReadOptions(kind=kind)
    )


def _in_order(labels: Any, scores: Shape, classes: tuple[str, ...] | None, place: Place) -> Array:
    """Return labels as an array; a table of one-hot labels gets the order of the scores.

    Raises
    ------
    InputError
        If its columns neither have the names of the classes, in any order, nor are numbered.
    """
    values, columns = as_array(labels, "labels"), _last_names(labels)
    if values.shape != scores or len(columns) < 2:
        return values
    order = _order(columns, classes, place)
    if order is not None:
        return values[:, order]
    reason = "scores have no class names; name the classes in the order of the scores with --classes"
    if classes is not None:
        reason = f"classes are {listed(classes)}; expected the same names, in any order"
    raise InputError(f"{NAME}: the labels have the columns {listed(columns)}, but the {reason}")


def _last_names(labels: Any) -> tuple[str, ...]:
    """Return the names of the columns of a table; for multi-level names, as in pandas, the last level."""
    columns = getattr(labels, "columns", None)
    if getattr(columns, "nlevels", 1) > 1:
        return tuple(map(str, columns.get_level_values(-1)))  # type: ignore[union-attr]
    return column_names(labels)


def _order(columns: Sequence[str], classes: tuple[str, ...] | None, place: Place) -> list[int] | None:
    """Return the column of each class: by its name or number, or by the words for false and true."""
    places = tuple(map(str, range(len(columns))))
    without_fractions = [re.sub(r"(?<=\d)\.0$", "", name) for name in columns]  # of floats
    for names, wanted in product((columns, without_fractions), (classes or places, places)):
        if (order := order_of(names, wanted)) is not None:
            return order
    truth = order_of([name.casefold() for name in columns], ("false", "true"))
    if truth is None:
        return None
    number = numbers_of(classes or places, "booleans", place)[0]
    order = [number["false"], number["true"]]
    return [truth[k] for k in order] if {*order} == {0, 1} else None


def _weighted(source: Source, weights: Any) -> Source:
    """Return the source with row weights, if given, and without files."""
    if weights is None:
        return replace(source, files=())
    values = as_array(weights, "weights")
    require_rows(f"{NAME} has weights", values.shape, source.table.rows[0])
    if values.size != source.scores.shape[0]:
        raise InputError(
            f"{NAME} has {source.scores.shape[0]} rows, but weights of shape {values.shape}; expected one "
            "per row"
        )
    return replace(source, weights=values.reshape(-1), files=())
