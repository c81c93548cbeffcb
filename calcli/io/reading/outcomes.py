"""Outcomes without probabilities: right or wrong, grades, or predictions beside a label.

Rows of the same question, such as epochs, become one row with their mean (Miller 2024, "Adding error bars to
evals", arXiv 2411.00640).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Doubles
from calcli.core.data.predictions import TIMES, Outcomes
from calcli.core.estimators.fewlabels import FEWEST_LABELS
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.expressions import WRONG_RIGHT
from calcli.io.layouts import OUTCOMES
from calcli.io.layouts.answers import as_text, comparable, refuse_gone, require_column
from calcli.io.layouts.logs import DOUBTS, SCORE
from calcli.io.messages import Commands, Offer, Place, Question, listed, refuse_given
from calcli.io.options import ReadOptions
from calcli.io.reading.choose import NoOutcomes
from calcli.io.reading.classes import Classes
from calcli.io.tables.labels import Labels, is_missing
from calcli.io.tables.source import HeldScores, LazyColumns, Source, StoredScores
from calcli.io.tables.table import Table, holds_of
from calcli.io.tables.values import column_values, distinct_texts
from calcli.io.words import MISSING_NAMES, TRUTH, is_called, is_identifier, label_names, natural_order

SCALES = (5, 10, 100)  # of grades; a message offers the smallest that fits
MOST_CLASSES = 100  # more distinct labels are texts, and predictions right if they are equal
NONE = "(none)"  # the predicted class if an answer is missing


@dataclass(frozen=True)
class OneHot(StoredScores):
    """(N, K) scores of predicted classes: 1 for the predicted class, 0 for all others."""

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
    """Return the outcomes, grades or predictions in a table; None if it has none of these.

    Raises
    ------
    InputError
        If several columns are candidates, or a column holds other values.
    UsageError
        If an option names a column that does not exist.
    """
    names = [field.name for field in table.schema if holds_of(field.type) in ("float", "integer", "text")]
    name = options.score or options.correct
    if name is not None and name not in names and f"{SCORE}{name}" in names:
        name = f"{SCORE}{name}"
    if name is not None:
        require_column(name, names, table.place.name, "--score" if options.score else "--correct")
    label = _label(table, names, options)
    if options.judge is not None:
        return judged(table, options.judge, label, options)
    graded = [column for column in names if is_called("outcome", column) and column not in (label, name)]
    if name is not None:
        by_label = label not in (None, name) and not _is_graded(table, name, label, options.scale)
        graded = [name]
        if by_label and label:
            return predicted(table, name, label, options)
        if label not in (None, name) and options.scale is None:
            _refuse_probabilities(table, name, label)
    return _graded(table, _agreeing(table, graded, options), options) if graded else None


def require_outcomes(table: Table, options: ReadOptions) -> Source:
    """Return the outcomes, grades or predictions in a table.

    Raises
    ------
    NoOutcomes
        If there are none.
    """
    if (outcomes := find_outcomes(table, options)) is None:
        raise NoOutcomes(f"--score {options.score}: {table.place.name} has no labels beside it")
    return outcomes


def graded_names(table: Table) -> list[str]:
    """Return the columns named after outcomes that hold some; in logs, the names of the scorers."""
    columns = [name for name in table.schema.names if is_called("outcome", name)]
    return [name.removeprefix(SCORE) for name in columns if _holds_grades(table, name)]


def _label(table: Table, names: Sequence[str], options: ReadOptions) -> str | None:
    if options.label_column is not None:
        return options.label_column if options.label_column in table.schema.names else None
    return next(iter(label_names(name for name in names if not is_identifier(name))), None)


def _shares(table: Table, name: str, label: str) -> bool:
    """Tell whether predictions share values with labels: most of them if they are floats, else any."""
    predictions, labels = comparable(column_values(table, name), column_values(table, label))
    shared = np.isin(as_text(predictions), as_text(labels))
    return bool(shared.mean() > 0.5 if column_values(table, name).dtype.kind == "f" else shared.any())


def _refuse_probabilities(table: Table, name: str, label: str) -> None:
    """Raise an InputError for fractions beside two numeric labels unless their name says they are grades."""
    values, labels = column_values(table, name), column_values(table, label)
    if is_called("outcome", name) or values.dtype.kind != "f" or labels.dtype.kind not in "biuf":
        return
    if len(np.unique(labels)) == 2 and len(np.unique(values)) > 2 and _holds_grades(table, name):
        raise InputError(
            f"{table.place.name}: {name} holds numbers in [0, 1] beside two labels, {label}; if they are "
            f"probabilities, say --scores {shlex.quote(name)}, and if they are grades, add --scale 1"
        )


def _is_graded(table: Table, name: str, label: str | None, scale: float | None) -> bool:
    """Tell whether a column holds grades, not predictions: by name, a scale, or values unlike the labels."""
    shared = bool(label) and _shares(table, name, str(label))
    if shared and is_called("judge", name) and is_called("human", str(label)):
        return False
    graded = is_called("outcome", name) or scale is not None or not shared
    numbers = not shared and column_values(table, name).dtype.kind in "iuf"
    return graded and (numbers or _holds_grades(table, name, scale or 1.0))


def _holds_grades(table: Table, name: str, scale: float = 1.0) -> bool:
    """Tell whether a column holds outcomes or grades."""
    try:
        _grades(column_values(table, name), name, table.place, scale)
    except InputError:
        return False
    return True


def _agreeing(table: Table, graded: Sequence[str], options: ReadOptions) -> str:
    """Return the first of several columns of equal grades.

    Raises
    ------
    InputError
        If they differ, with the command for each.
    """
    scale, columns = options.scale or 1.0, {name: column_values(table, name) for name in graded}
    by_name = {name: _grades(values, name, table.place, scale) for name, values in columns.items()}
    if all(np.array_equal(by_name[graded[0]], grades, equal_nan=True) for grades in by_name.values()):
        return graded[0]

    def sentence_with(offers: Sequence[Offer], command: Commands) -> str:
        return (
            f"{table.place.name} has {len(by_name)} columns that may say what is right, {listed([*by_name])}"
            f", and they differ; choose one with --score: {'; '.join(map(command, offers))}"
        )

    raise Question([{"score": name.removeprefix(SCORE)} for name in by_name], sentence_with)


def _graded(table: Table, name: str, options: ReadOptions) -> Source:
    """Return a column as outcomes or grades."""
    grades = _grades(column_values(table, name), name, table.place, options.scale or 1.0)
    return _means(table, name, *_scored(grades, name, table.place, options), f'column "{name}"', options)


def _means(
    table: Table,
    name: str,
    grades: Doubles,
    mask: NDArray[np.bool_],
    notes: tuple[str, ...],
    labels_from: str,
    options: ReadOptions,
) -> Source:
    """Return grades, averaged over the rows of each question."""
    outcomes: Outcomes = "outcomes" if np.isin(grades, (0, 1)).all() else "grades"
    starts, question, identity, repeated = questions_of(table, mask, options)
    if repeated:
        grades = np.bincount(question, grades) / np.bincount(question)
    rows = np.flatnonzero(mask)[starts]
    source = _of_grades(table, name, rows, grades, labels_from, options)
    if repeated:
        stored, times = source.columns, np.bincount(question)
        columns = LazyColumns((*stored.names, TIMES), lambda name: times if name == TIMES else stored[name])
        source = replace(source, columns=columns)
    return replace(source, notes=notes, outcomes=outcomes, questions=repeated, identity=identity)


def judged(table: Table, judge: str, label: str | None, options: ReadOptions) -> Source:
    """Return labels of some rows, with a judge's verdicts on these and on all others.

    Raises
    ------
    InputError
        If labels are too few or complete, or verdicts are missing.
    UsageError
        If there are weights, or no such columns.
    """
    place, scale = table.place, options.scale or 1.0
    label = options.label_column or next((n for n in table.schema.names if is_called("human", n)), label)
    require_column(judge, table.schema.names, place.name, "--judge")
    if label is None or label == judge:
        raise UsageError(f"--judge {judge}: name the column of the labels with --label-column")
    require_column(label, table.schema.names, place.name, "--label-column")
    refuse_given(options, ["weights", "limit"], "means by a judge's verdicts are of rows that count alike")
    grades, verdicts = (_grades(column_values(table, name), name, place, scale) for name in (label, judge))
    refuse_gone(np.isnan(verdicts), f"the verdict, {judge},", place, "the judge must see every row")
    there = ~np.isnan(grades)
    number, rows = int(np.count_nonzero(there)), len(there)
    size = f"{number:,} of {rows:,} rows have a label"
    if number < FEWEST_LABELS or number == rows:
        why = "rows without one: leave out --judge" if number == rows else f"{FEWEST_LABELS} at least"
        raise InputError(f"{place.name}: {size}; expected {why}")
    _, _, identity, repeated = questions_of(table, np.ones(len(there), np.bool_), options)
    labels_from = f'column "{label}"'
    unlabelled = _of_grades(table, label, np.flatnonzero(~there), verdicts[~there], labels_from, options)
    source = _of_grades(table, label, np.flatnonzero(there), grades[there], labels_from, options)
    return replace(
        source,
        outcomes="outcomes" if np.isin(grades[there], (0, 1)).all() else "grades",
        questions=repeated,
        identity=identity,
        judge=judge,
        proxy=verdicts[there],
        notes=(f"{size}; {judge} judges all",),
        unlabelled=unlabelled,
    )


def _of_grades(
    table: Table, name: str, rows: NDArray[np.intp], grades: Doubles, labels_from: str, options: ReadOptions
) -> Source:
    return replace(
        _source(table, name, rows, HeldScores(grades[:, None]), options),
        classes=WRONG_RIGHT,
        decided=Classes(WRONG_RIGHT, {"0": 0, "1": 1}),
        labels=Labels((0, 1), (grades == 1).astype(np.uint8), "numbers"),
        labels_from=labels_from,
    )


def predicted(table: Table, name: str, label: str, options: ReadOptions) -> Source:
    """Return predicted classes with their labels; with very many labels, whether they are equal."""
    place = table.place
    if is_called("judge", name) and is_missing(column_values(table, label)).any():
        return judged(table, name, label, options)
    y_pred, y_true = map(as_text, comparable(column_values(table, name), column_values(table, label)))
    refuse_gone(is_missing(y_true), f"the label, {label},", place, "remove such rows")
    _, mask, notes = _scored(np.where(is_missing(y_pred), np.nan, 1.0), name, place, options)
    y_pred, y_true = np.where(is_missing(y_pred), NONE, y_pred)[mask], y_true[mask]
    if len(np.unique(y_true)) > min(MOST_CLASSES, max(2, len(y_true) / 2)):
        origin = f'columns "{name}" and "{label}", which are equal where it is right'
        return _means(table, name, (y_pred == y_true).astype(np.float64), mask, notes, origin, options)
    distinct = np.unique(np.concatenate([y_pred, y_true])).tolist()
    classes = tuple(distinct[n] for n in natural_order(distinct))
    if options.classes is not None and set(options.classes) >= set(classes):
        classes = options.classes
    if len(classes) < 2:
        raise InputError(
            f"{place.name}: {name} and {label} hold {classes[0]} alone; expected two classes; name both with "
            "--classes"
        )
    place_of = {text: k for k, text in enumerate(classes)}
    codes, labels = (np.array([place_of[y] for y in ys.tolist()], np.intp) for ys in (y_pred, y_true))
    _, _, identity, repeated = questions_of(table, mask, options)
    return replace(
        _source(table, name, np.flatnonzero(mask), OneHot(codes, len(classes)), options),
        classes=classes,
        decided=Classes(classes, {}),
        labels=Labels(classes, labels),
        labels_from=f'column "{label}"',
        notes=notes,
        outcomes="predictions",
        judge=name if is_called("judge", name) else "",
        questions=repeated,
        identity=identity,
    )


def _source(
    table: Table, name: str, rows: NDArray[np.intp], scores: StoredScores, options: ReadOptions
) -> Source:
    """Return some rows of a table as a source with the given scores."""
    columns = [field.name for field in table.schema if field.name != name and holds_of(field.type) != "list"]
    return Source(
        place=table.place,
        scores=scores,
        kind="probs",
        kind_reason="none",
        weights=None if options.weights is None else column_values(table, options.weights)[rows],
        columns=LazyColumns(tuple(columns), partial(distinct_texts, table), (rows,)),
        files=tuple(file for file, _ in table.place.parts),
        doubts=tuple(text.decode() for key, text in (table.schema.metadata or {}).items() if key == DOUBTS),
        layout=OUTCOMES.name,
        taken=(name,),
    )


def _grades(values: Array, name: str, place: Place, scale: float) -> Doubles:
    """Return (N,) grades in [0, 1], nan where missing.

    Raises
    ------
    InputError
        If there are other values.
    """
    if values.dtype.kind in "OU":
        texts = np.char.lower(np.char.strip(values.astype(str)))
        words = {**TRUTH, "p": 0.5, "partial": 0.5, **dict.fromkeys((*MISSING_NAMES, "noanswer"), np.nan)}
        distinct, index = np.unique(texts, return_inverse=True)
        parsed = [words[text] if text in words else _number(text) for text in distinct.tolist()]
        unknown = [text for text, grade in zip(distinct.tolist(), parsed, strict=True) if grade is None]
        if unknown:
            count = int(np.isin(texts, unknown).sum())
            raise InputError(
                f"{place.name}: {name} holds {listed(unknown)} in {count:,} of {len(texts):,} rows, which is "
                "neither right nor wrong (1 and 0, true and false, C and I, pass and fail), nor a grade in "
                "[0, 1]"
            )
        grades = np.array(parsed, np.float64)[index]
    else:
        grades = values.astype(np.float64)
    grades = grades / scale
    outside = (grades < 0) | (grades > 1)
    if outside.any():
        largest = float(np.nanmax(grades)) * scale
        fitting = next((top for top in SCALES if largest <= top), None) if np.nanmin(grades) >= 0 else None
        mend = "" if fitting is None or scale != 1 else f"; --scale {fitting} divides them"
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
    """Return the grades of the rows to keep, the mask of these rows, and notes about missing grades.

    Raises
    ------
    InputError
        If grades are missing and no option says how to treat such rows.
    """
    missing, treatment = is_missing(grades), options.unscored or ("drop" if options.drop_missing else None)
    count = int(missing.sum())
    if count == len(grades):
        raise InputError(f"{place.name}: none of the {count:,} rows has a value in {name}")
    if not count:
        return grades, ~missing, ()
    if treatment is None:
        raise InputError(
            f"{place.row(int(missing.argmax()))} has no value in {name}, as {count:,} of {len(grades):,} "
            "rows; count them as wrong with --unscored wrong, or leave them out with --unscored drop"
        )
    rows = f"{count:,} of {len(grades):,} rows without {name}"
    if treatment == "wrong":
        wrong = np.where(missing, 0.0, grades)
        return wrong, np.ones(len(grades), np.bool_), (f"{rows} count as wrong, as asked",)
    return grades[~missing], ~missing, (f"{rows} left out, as asked",)


def questions_of(
    table: Table, mask: NDArray[np.bool_], options: ReadOptions
) -> tuple[NDArray[np.intp], NDArray[np.intp], str, str]:
    """Find the rows of the same question.

    Returns
    -------
    The first row of each question among the rows in the mask; (n,) the number of the question of each row;
    the column that identifies the questions, or ""; and how often each was asked, or "" if once.
    """
    n = int(np.count_nonzero(mask))
    plain = np.arange(n), np.arange(n)
    names = [name for name in table.schema.names if is_called("question", name)]
    if options.key is not None:
        names = [name for name in table.schema.names if name == options.key]
    questions = {name: distinct_texts(table, name)[mask].astype(str) for name in names}
    counts = {name: len(np.unique(texts)) for name, texts in questions.items()}
    identity = max(counts, key=counts.__getitem__, default="")
    if (count := counts.get(identity, 1)) == 1:
        return *plain, "", ""
    if count == n:
        return *plain, identity, ""
    if options.weights is not None:
        return *plain, "", ""
    _, starts, index, times = np.unique(
        questions[identity], return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(np.argsort(starts))
    least = "" if (times == times[0]).all() else f"{times.min():,} to "
    epochs = f"{least}{times.max():,} epochs"
    return np.sort(starts), order[index], identity, f"{count:,} questions x {epochs}"
