"""Outcomes without probabilities: what is right or wrong, graded, or predicted beside a label.

Rows of one question, such as epochs, are put together: a row is the mean of a question (Miller 2024, "Adding
error bars to evals", arXiv 2411.00640).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Doubles
from calcli.core.data.predictions import Outcomes
from calcli.core.language.errors import InputError
from calcli.core.language.expressions import WRONG_RIGHT
from calcli.io.layouts import OUTCOMES
from calcli.io.layouts.answers import as_text, comparable, refuse_gone, require_column
from calcli.io.layouts.logs import DOUBTS, SCORE
from calcli.io.messages import Commands, Offer, Place, Question, listed
from calcli.io.options import ReadOptions
from calcli.io.reading.choose import NoOutcomes
from calcli.io.reading.classes import Classes
from calcli.io.tables.labels import Labels, is_missing
from calcli.io.tables.source import HeldScores, LazyColumns, Source, StoredScores
from calcli.io.tables.table import Table, holds_of
from calcli.io.tables.values import column_values, distinct_texts
from calcli.io.words import MISSING_NAMES, TRUTH, is_called, is_identifier, named, natural_order

SCALES = (5, 10, 100)  # of grades, of which the first that reaches them is offered
MOST_CLASSES = 100  # of predictions; more are texts, which are right where they are equal
NONE = "(none)"  # the class that is predicted where an answer is missing


@dataclass(frozen=True)
class OneHot(StoredScores):
    """(N, K) scores of predicted classes: 1 for the class, 0 for others."""

    codes: NDArray[np.intp]
    classes: int

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and classes."""
        return len(self.codes), self.classes

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the scores."""
        return np.dtype(np.float64)

    def blocks(self, rows: int) -> Iterator[Array]:
        """Yield blocks of at most so many rows."""
        for start in range(0, len(self.codes), rows):
            yield (self.codes[start : start + rows, None] == np.arange(self.classes)).astype(np.float64)


def find_outcomes(table: Table, options: ReadOptions) -> Source | None:
    """Return what is right, graded or predicted in a table; None if it has nothing of that.

    Raises
    ------
    InputError
        If several columns may be it, or one holds other values.
    UsageError
        If an option names what is not there.
    """
    names = [one.name for one in table.schema if holds_of(one.type) in ("float", "integer", "text")]
    name = options.score or options.correct
    if name is not None and name not in names and f"{SCORE}{name}" in names:
        name = f"{SCORE}{name}"
    if name is not None:
        require_column(name, names, table.place.name, "--score" if options.score else "--correct")
    label = _label(table, names, options)
    graded = [one for one in names if is_called("outcome", one) and one not in (label, name)]
    if name is not None:
        by_label = label not in (None, name) and not _is_graded(table, name, label, options.scale)
        graded = [name]
        if by_label and label:
            return predicted(table, name, label, options)
        if label not in (None, name) and options.scale is None:
            _refuse_probabilities(table, name, label)
    return _graded(table, _agreeing(table, graded, options), options) if graded else None


def require_outcomes(table: Table, options: ReadOptions) -> Source:
    """Return what is right, graded or predicted in a table.

    Raises
    ------
    NoOutcomes
        If nothing is.
    """
    if (outcomes := find_outcomes(table, options)) is None:
        raise NoOutcomes(f"--score {options.score}: {table.place.name} has no labels beside it")
    return outcomes


def graded_names(table: Table) -> list[str]:
    """Return what is named as an outcome and holds such: columns, of logs the scorers."""
    named_so = [name for name in table.schema.names if is_called("outcome", name)]
    return [name.removeprefix(SCORE) for name in named_so if _holds_grades(table, name)]


def _label(table: Table, names: Sequence[str], options: ReadOptions) -> str | None:
    if options.label_column is not None:
        return options.label_column if options.label_column in table.schema.names else None
    labels = [one for one in names if (named("truth", one) or named("label", one)) and not is_identifier(one)]
    labels.sort(key=lambda one: not named("truth", one))
    return next(iter(labels), None)


def _shares(table: Table, name: str, label: str) -> bool:
    """Tell whether predictions hold the values of the labels: some of the texts, most of the numbers."""
    said, right = comparable(column_values(table, name), column_values(table, label))
    among = np.isin(as_text(said), as_text(right))
    return bool(among.mean() > 0.5 if column_values(table, name).dtype.kind == "f" else among.any())


def _refuse_probabilities(table: Table, name: str, label: str) -> None:
    """Raise an InputError if fractions stand beside two numbered labels and are not named as grades."""
    values, labels = column_values(table, name), column_values(table, label)
    if is_called("outcome", name) or values.dtype.kind != "f" or labels.dtype.kind not in "biuf":
        return
    if len(np.unique(labels)) == 2 and len(np.unique(values)) > 2 and _holds_grades(table, name):
        raise InputError(
            f"{table.place.name}: {name} holds numbers in [0, 1] beside two labels, {label}; if they are "
            f"probabilities, say --scores {shlex.quote(name)}, and if they are grades, add --scale 1"
        )


def _is_graded(table: Table, name: str, label: str | None, scale: float | None) -> bool:
    """Tell whether a column is graded, not compared: by its name, a scale, or as no label has its values."""
    graded = is_called("outcome", name) or scale is not None or not (label and _shares(table, name, label))
    return graded and _holds_grades(table, name, scale or 1.0)


def _holds_grades(table: Table, name: str, scale: float = 1.0) -> bool:
    """Tell whether a column holds what is right or wrong, or grades."""
    try:
        _grades(column_values(table, name), name, table.place, scale)
    except InputError:
        return False
    return True


def _agreeing(table: Table, graded: Sequence[str], options: ReadOptions) -> str:
    """Return the first of some columns of grades that say the same.

    Raises
    ------
    InputError
        If they do not, with the command for each.
    """
    scale, columns = options.scale or 1.0, {name: column_values(table, name) for name in graded}
    by_name = {name: _grades(values, name, table.place, scale) for name, values in columns.items()}
    if all(np.array_equal(by_name[graded[0]], one, equal_nan=True) for one in by_name.values()):
        return graded[0]

    def sentence_with(offers: Sequence[Offer], shown: Commands) -> str:
        return (
            f"{table.place.name} has {len(by_name)} columns that may say what is right, {listed([*by_name])}"
            f", and they differ; choose one with --score: {'; '.join(map(shown, offers))}"
        )

    raise Question([{"score": name.removeprefix(SCORE)} for name in by_name], sentence_with)


def _graded(table: Table, name: str, options: ReadOptions) -> Source:
    """Return outcomes, or grades."""
    grades = _grades(column_values(table, name), name, table.place, options.scale or 1.0)
    return _means(table, name, *_scored(grades, name, table.place, options), f'column "{name}"', options)


def _means(
    table: Table,
    name: str,
    grades: Doubles,
    kept: NDArray[np.bool_],
    notes: tuple[str, ...],
    labels_from: str,
    options: ReadOptions,
) -> Source:
    """Return grades with the rows of a question put together."""
    outcomes: Outcomes = "outcomes" if np.isin(grades, (0, 1)).all() else "grades"
    which, question, identity, repeated = _questions(table, kept, options)
    if repeated:
        grades = np.bincount(question, grades) / np.bincount(question)
    return replace(
        _source(table, name, np.flatnonzero(kept)[which], HeldScores(grades[:, None]), options),
        classes=WRONG_RIGHT,
        decided=Classes(WRONG_RIGHT, {"0": 0, "1": 1}),
        labels=Labels((0, 1), (grades == 1).astype(np.uint8), "numbers"),
        labels_from=labels_from,
        notes=notes,
        outcomes=outcomes,
        questions=repeated,
        identity=identity,
    )


def predicted(table: Table, name: str, label: str, options: ReadOptions) -> Source:
    """Return predicted classes beside their labels; texts of many kinds are right where they are equal."""
    place = table.place
    said, right = map(as_text, comparable(column_values(table, name), column_values(table, label)))
    refuse_gone(is_missing(right), f"the label, {label},", place, "remove such rows")
    _, kept, notes = _scored(np.where(is_missing(said), np.nan, 1.0), name, place, options)
    said, right = np.where(is_missing(said), NONE, said)[kept], right[kept]
    if len(np.unique(right)) > min(MOST_CLASSES, max(2, len(right) / 2)):
        where = f'columns "{name}" and "{label}", which are equal where it is right'
        return _means(table, name, (said == right).astype(np.float64), kept, notes, where, options)
    distinct = np.unique(np.concatenate([said, right])).tolist()
    classes = tuple(distinct[n] for n in natural_order(distinct))
    if options.classes is not None and set(options.classes) >= set(classes):
        classes = options.classes
    if len(classes) < 2:
        raise InputError(
            f"{place.name}: {name} and {label} hold {classes[0]} alone; expected two classes; name both with "
            "--classes"
        )
    place_of = {one: k for k, one in enumerate(classes)}
    codes, labels = (np.array([place_of[one] for one in of.tolist()], np.intp) for of in (said, right))
    _, _, identity, repeated = _questions(table, kept, options)
    return replace(
        _source(table, name, np.flatnonzero(kept), OneHot(codes, len(classes)), options),
        classes=classes,
        decided=Classes(classes, {}),
        labels=Labels(classes, labels),
        labels_from=f'column "{label}"',
        notes=notes,
        outcomes="predictions",
        questions=repeated,
        identity=identity,
    )


def _source(
    table: Table, name: str, rows: NDArray[np.intp], scores: StoredScores, options: ReadOptions
) -> Source:
    """Return some rows of a table, with what is known of each."""

    def column(one: str) -> Array:
        return distinct_texts(table, one)[rows]

    others = [one.name for one in table.schema if one.name != name and holds_of(one.type) != "list"]
    return Source(
        place=table.place,
        scores=scores,
        kind="probs",
        kind_reason="none",
        weights=None if options.weights is None else column_values(table, options.weights)[rows],
        columns=LazyColumns(tuple(others), column),
        files=tuple(file for file, _ in table.place.parts),
        doubts=tuple(one.decode() for key, one in (table.schema.metadata or {}).items() if key == DOUBTS),
        layout=OUTCOMES.name,
        taken=(name,),
    )


def _grades(values: Array, name: str, place: Place, scale: float) -> Doubles:
    """Return (N,) numbers in [0, 1], nan where there is none.

    Raises
    ------
    InputError
        If there are other values.
    """
    if values.dtype.kind in "OU":
        texts = np.char.lower(np.char.strip(values.astype(str)))
        known = {**TRUTH, "p": 0.5, "partial": 0.5, **dict.fromkeys((*MISSING_NAMES, "noanswer"), np.nan)}
        distinct, which = np.unique(texts, return_inverse=True)
        parsed = [known[one] if one in known else _number(one) for one in distinct.tolist()]
        unknown = [one for one, grade in zip(distinct.tolist(), parsed, strict=True) if grade is None]
        if unknown:
            count = int(np.isin(texts, unknown).sum())
            raise InputError(
                f"{place.name}: {name} holds {listed(unknown)} in {count:,} of {len(texts):,} rows, which is "
                "neither right nor wrong (1 and 0, true and false, C and I, pass and fail), nor a grade in "
                "[0, 1]"
            )
        grades = np.array(parsed, np.float64)[which]
    else:
        grades = values.astype(np.float64)
    grades = grades / scale
    outside = (grades < 0) | (grades > 1)
    if outside.any():
        largest = float(np.nanmax(grades)) * scale
        scale_of = next((top for top in SCALES if largest <= top), None) if np.nanmin(grades) >= 0 else None
        mend = "" if scale_of is None or scale != 1 else f"; --scale {scale_of} divides them"
        raise InputError(
            f"{place.name}: {name} lies from {np.nanmin(grades) * scale:g} to {largest:g}, outside [0, 1] in "
            f"{outside.sum():,} of {len(grades):,} rows; expected right or wrong, or grades in [0, 1]{mend}"
        )
    return grades


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _scored(
    grades: Doubles, name: str, place: Place, options: ReadOptions
) -> tuple[Doubles, NDArray[np.bool_], tuple[str, ...]]:
    """Return the grades of the rows to be kept, which they are, and what is to be said of others.

    Raises
    ------
    InputError
        If some have none and nobody said what to do about them.
    """
    gone, what = is_missing(grades), options.unscored or ("drop" if options.drop_missing else None)
    count = int(gone.sum())
    if count == len(grades):
        raise InputError(f"{place.name}: none of the {count:,} rows has a value in {name}")
    if not count:
        return grades, ~gone, ()
    if what is None:
        raise InputError(
            f"{place.row(int(gone.argmax()))} has no value in {name}, as {count:,} of {len(grades):,} rows; "
            "count them as wrong with --unscored wrong, or leave them out with --unscored drop"
        )
    if what == "wrong":
        note = f"{count:,} of {len(grades):,} rows without {name} count as wrong, as asked"
        return np.where(gone, 0.0, grades), np.ones(len(grades), np.bool_), (note,)
    return grades[~gone], ~gone, (f"{count:,} of {len(grades):,} rows without {name} left out, as asked",)


def _questions(
    table: Table, kept: NDArray[np.bool_], options: ReadOptions
) -> tuple[NDArray[np.intp], NDArray[np.intp], str, str]:
    """Return what tells the questions apart.

    Returns
    -------
    The place of the first row of each question among the kept rows, and (n,) the question of each row; the
    column that identifies them, "" for none; and how often they were asked, "" if each was once.
    """
    n = int(np.count_nonzero(kept))
    plain = np.arange(n), np.arange(n)
    names = [one for one in table.schema.names if is_called("question", one)]
    if options.key is not None:
        names = [one for one in table.schema.names if one == options.key]
    best: tuple[int, str, Array] | None = None
    for one in names:
        questions = distinct_texts(table, one)[kept].astype(str)
        count = len(np.unique(questions))
        if best is None or count > best[0]:
            best = count, one, questions
    if best is None or best[0] == 1:
        return *plain, "", ""
    count, identity, values = best
    if count == n:
        return *plain, identity, ""
    if options.weights is not None:
        return *plain, "", ""
    _, first, which, times = np.unique(values, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(np.argsort(first))
    least = "" if (times == times[0]).all() else f"{times.min():,} to "
    epochs = f"{least}{times.max():,} epochs"
    return np.sort(first), order[which], identity, f"{count:,} questions x {epochs}"
