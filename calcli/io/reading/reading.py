"""Find out which columns of a table are scores and labels, and read them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.expressions import WRONG_RIGHT
from calcli.io.formats import known_format
from calcli.io.layouts import ALONE, ANSWERS, COLUMNS, LAYOUTS, LISTS, RANKS, Layout
from calcli.io.layouts.answers import outcomes_of, require_column
from calcli.io.layouts.classlabels import named_classes
from calcli.io.layouts.unpack import Unpacked, packed_columns, refuse_absent_options, scaled, unpacked
from calcli.io.messages import refuse_given
from calcli.io.options import ReadOptions
from calcli.io.places.faults import refuse_repeated_fields
from calcli.io.places.paths import path_of
from calcli.io.reading.candidate import Candidate
from calcli.io.reading.censoring import censoring
from calcli.io.reading.choose import NoReading, choose
from calcli.io.reading.chosen import by_pattern
from calcli.io.reading.classes import against_custom, decided_by, in_order, names_of
from calcli.io.reading.decision import in_all_rows
from calcli.io.reading.joining import with_labels
from calcli.io.reading.matching import orders, spelled
from calcli.io.reading.outcomes import find_outcomes, graded_names, predicted, questions_of, require_outcomes
from calcli.io.reading.repeats import repeats
from calcli.io.reading.tablehead import all_rows, head_of_table
from calcli.io.tables.ranked import ranked_scores
from calcli.io.tables.scores import TableScores, stored_scores
from calcli.io.tables.source import LazyColumns, Source
from calcli.io.tables.table import Table, refuse_duplicates
from calcli.io.tables.table import beside as with_columns
from calcli.io.tables.values import column_values, distinct_texts, labels_in, one_true, weights_in
from calcli.io.words import kind_by_name, plain, plain_text

OF_CLASSES = ("scores", "classes", "positive", "label_column", "labels", "against_rest")


def find_in(table: Table, options: ReadOptions, *, labelled: bool, classes: Sequence[str]) -> Source:
    """Find out what the columns are, and read the labels and weights."""
    file = table.place.parts[0][0]
    refuse_duplicates(table.schema.names, file)
    refuse_repeated_fields(table.schema, file)
    advice = "is a table, with a column for each class; leave it out"
    refuse_given(options, ["class_axis"], f"{table.place.name} {advice}")
    label_file = None if options.labels is None or not labelled else path_of(options.labels)
    if label_file is not None and label_file.exists() and known_format(label_file).name != "npy":
        joined_table, label_options, note = with_labels(table, label_file, options)
        source = find_in(joined_table, label_options, labelled=True, classes=classes)
        return replace(source, files=(*source.files, str(label_file)), notes=(note, *source.notes))
    packed = packed_columns(table, options)
    unpacked_table = unpacked(table, packed)
    refuse_duplicates(unpacked_table.schema.names, file)
    if labelled and (options.score or options.judge) is not None:
        return require_outcomes(unpacked_table, options)
    try:
        return _chosen_source(table, unpacked_table, packed, options, labelled=labelled, classes=classes)
    except NoReading as question:
        graded = labelled and (question.without or options.scale is not None)
        if graded and (outcomes := find_outcomes(unpacked_table, options)) is not None:
            return outcomes
        if labelled and question.offers and question.sure is not None:
            before, after = question.offers[: question.sure], question.offers[question.sure :]
            question.offers = [*before, *({"score": name} for name in graded_names(unpacked_table)), *after]
        raise


def _chosen_source(
    table: Table,
    unpacked_table: Table,
    packed: Mapping[str, Unpacked],
    options: ReadOptions,
    *,
    labelled: bool,
    classes: Sequence[str],
) -> Source:
    """Return the source for the most likely reading of the columns.

    Raises
    ------
    InputError
        If no reading, or several, are likely.
    UsageError
        If an option names a column that does not exist.
    """
    scaled_table = scaled(unpacked_table, options.scale, options)
    head, names = head_of_table(scaled_table, options), unpacked_table.schema.names
    if labelled and options.labels is None:
        head = head.with_truths()
        names = [*names, *(name for name in head.columns if name not in names)]
    _refuse_contradictions(options, names, head.name)
    sources = head.sources if options.scores is None else by_pattern(head, options.scores)
    if options.scores is not None and not sources:
        raise UsageError(f'--scores: {head.name} has no column like "{options.scores}" that holds numbers')
    finds_labels = labelled and options.labels is None
    choice = choose(head, sources, options, labelled=finds_labels, classes=classes)
    c = choice.chosen
    if c.what == "hard":
        return replace(
            predicted(unpacked_table, c.said, c.label, options), doubts=choice.notes, considered=choice.struck
        )
    columns = {*c.source.columns, *(name for name in (c.label, c.said) if name)}
    full_head = None
    if finds_labels and not c.source.many and head.n < unpacked_table.rows:
        full_head = all_rows(scaled_table, options, columns | head.of_cases())
    if full_head is not None and (fault := in_all_rows(c, full_head, options)):
        raise InputError(fault)
    if options.weights is not None:
        require_column(options.weights, unpacked_table.schema.names, head.name, "--weights")
        if options.weights in (c.label, c.said):
            raise InputError(f"{head.name}: --weights {options.weights} is the column of the labels")
    truth = head.truths.get(c.label, {})
    view = _view(table, packed, {*columns, *c.source.ranks, *truth.values(), options.weights})
    view = scaled(view, options.scale, options, c.source.columns)
    if truth:
        view = with_columns(view, {c.label: one_true(view, list(truth.values()), list(truth))})
    packed_scores = packed.get(c.source.columns[0])
    if packed_scores and c.label and packed_scores.layout is LISTS and packed_scores.classes:
        refuse_absent_options(table, c.source.columns[0], c.label)
    censored = censoring(head, c.label) if c.label and options.label_column is None else ""
    is_answers = c.what in ("answer", "right") and (c.label or options.confidence is not None)
    source = _answers(view, c, options) if is_answers else _source(view, c, options, names)
    return replace(
        source,
        doubts=(*choice.notes, *([censored] if censored else [])),
        considered=choice.struck,
        repeats=repeats(head, c.source.columns, tuple(columns - {*c.source.columns})) if labelled else (),
    )


def _view(table: Table, packed: Mapping[str, Unpacked], names: Collection[str | None]) -> Table:
    """Return a table with the named columns unpacked, and the others as stored."""
    needed = {name: item for name, item in packed.items() if any(field.name in names for field in item.made)}
    return unpacked(table, needed)


def _source(table: Table, c: Candidate, options: ReadOptions, names: Sequence[str]) -> Source:
    """Return the source for columns that are read as scores of classes."""
    columns, order, classes = _ordered(c, options)
    stored = stored_scores(table, columns)
    ranked = ranked_scores(stored, c.source.ranks, options) if c.source.ranks else None
    scores, packed, before = ranked or stored, table.packed.get(columns[0]), c.source.before
    in_order = (packed is None or packed.ordered) and not against_custom(before, ReadOptions())
    of_labels = decided_by(c, c.source.plain if ranked else classes, order) if c.label else None
    classes = ranked.classes if ranked else classes or (packed.classes if packed else None)
    by_name = (ranked is not None and ranked.by_name) or bool(packed and packed.classes)
    if not c.label and not by_name:
        classes = named_classes(classes, scores.shape[1], table.schema, options)
    layout = packed.layout if packed and packed.layout else _layout(c, names)
    notes = [note for note in (table.note, packed.note if packed else "") if note]
    return replace(
        _base_source(table, scores, c, options, {*scores.names, c.label}),
        classes=classes,
        by_rank=ranked is not None,
        ordered=(ranked.ordered if ranked else in_order or options.classes is not None)
        and not against_custom(classes or (), options),
        decided=of_labels.among(ranked.classes) if ranked and of_labels else of_labels,
        before=before if in_order and not ranked else (),
        kind_reason=_kind_reason(c, _layout(c, names)),
        labels=labels_in(table, c.label) if c.label else None,
        labels_from=f'column "{c.label}"' if c.label else "",
        notes=(*notes, ranked.note) if ranked else tuple(notes),
        layout=layout.name,
        by_ranking=_by_ranking(c, options),
    )


def _ordered(c: Candidate, options: ReadOptions) -> tuple[tuple[str, ...], list[int], tuple[str, ...] | None]:
    """Return the columns in the order of the classes, their places, and the labels of the classes."""
    columns, classes, order = c.source.columns, names_of(c, options), list[int]()
    if c.how in ("custom", "encoder") and c.source.form == "columns" and not options.classes:
        order = orders(c.head, c.source)[c.how]
        classes = tuple((classes or columns)[n] for n in order)
    elif c.source.form == "columns" and c.source.many and classes is not None and not c.source.given:
        order, classes, _ = in_order(classes, columns, options, c.head.name)
    return tuple(columns[n] for n in order) or columns, order, classes


def _kind_reason(c: Candidate, layout: Layout) -> str:
    """Return why scores are of their kind, if their names or the layout tell; else ""."""
    kind, reason = kind_by_name(c.source.columns)
    if layout.kind is not None:
        kind, reason = layout.kind, f"so {layout.name} writes them"
    reason = reason if kind == ("probs" if c.kind == "percent" else c.kind) else ""
    if c.kind == "logits" and c.source.of_options:
        return "log-probabilities of the options, which become probabilities among them alone"
    return f"percentages from 0 to 100{f', {reason}' if reason else ''}" if c.kind == "percent" else reason


def _answers(table: Table, c: Candidate, options: ReadOptions) -> Source:
    """Return the source for a confidence as the single score, with the answers that are right as labels."""
    columns, scores = [name for name in (c.said, c.label) if name], stored_scores(table, c.source.columns)
    values = [column_values(table, name) for name in columns]
    excluded = {*c.source.columns, *(columns if len(columns) == 1 else ())}
    description = f'columns "{c.said}" and "{c.label}", which are equal where it is right'
    _, _, identity, questions = questions_of(table, np.ones(scores.shape[0], np.bool_), options)
    return replace(
        _base_source(table, scores, c, options, excluded),
        classes=WRONG_RIGHT,
        questions=questions,
        identity=identity,
        kind_reason="a confidence is a probability"
        + ", as percentages from 0 to 100" * (c.kind == "percent"),
        labels=outcomes_of(values, options.ignore_label) if columns else None,
        labels_from=description if len(columns) == 2 else f'column "{columns[0]}"' if columns else "",
        layout=ANSWERS.name,
    )


def _base_source(
    table: Table, scores: TableScores, c: Candidate, options: ReadOptions, excluded: Collection[str]
) -> Source:
    """Return the source with scores of their kind, weights and the remaining columns."""
    remaining = tuple(name for name in table.columns if name not in excluded)
    return Source(
        place=table.place,
        scores=scores,
        table=table,
        kind=c.kind,
        weights=None if options.weights is None else weights_in(table, options.weights),
        columns=LazyColumns(remaining, partial(distinct_texts, table)),
        files=tuple(name for name, _ in table.place.parts),
        taken=scores.names,
    )


def _refuse_contradictions(options: ReadOptions, names: Sequence[str], name: str) -> None:
    """Refuse options that contradict each other or name columns that do not exist."""
    conflicts = [option for option in OF_CLASSES if getattr(options, option) is not None]
    for option in ("confidence", "correct"):
        if getattr(options, option) is not None and conflicts:
            raise UsageError(
                f"--{option} says that {name} has answers, and --{conflicts[0].replace('_', '-')} that it "
                "has classes; leave one out"
            )
    if options.labels is not None and options.labels in names and not os.path.exists(options.labels):
        raise UsageError(
            f"--labels {options.labels}: no such file, but {name} has a column of this name; say "
            f"--label-column {shlex.quote(options.labels)}"
        )
    if options.labels is not None and options.label_column is not None:
        raise UsageError(
            f"--label-column {options.label_column} and --labels {options.labels} both say where the labels "
            "are; leave one out"
        )
    for column in (options.correct or "").split(",") if options.correct else ():
        require_column(column.strip(), names, name, "--correct")
    for option in ("label_column", "confidence"):
        if (column := getattr(options, option)) is not None:
            require_column(column, names, name, f"--{option.replace('_', '-')}")


def _by_ranking(c: Candidate, options: ReadOptions) -> str:
    """Return a note if only the ranking tells which class a single score belongs to, else ""."""
    if not c.ranked_by_values or options.positive or options.classes or options.against_rest:
        return ""
    words = spelled(c.head, c.label)
    positive, negative = words[c.positive], next(word for text, word in words.items() if text != c.positive)
    return (
        f"nothing says which class {c.source.columns[0]} is the score of; {positive} is taken, as it ranks "
        f"higher there: say --positive {shlex.quote(positive)}, or --positive {shlex.quote(negative)}"
    )


def _layout(c: Candidate, names: Sequence[str]) -> Layout:
    """Return the layout of the columns: of some software if their names match, else of their form."""
    if c.source.form == "ranked":
        return RANKS
    plain_names, columns = {plain(name) for name in names}, c.source.columns
    by_class = c.source.many and {*map(plain_text, columns)} == c.own
    for layout in LAYOUTS:
        fits_names = layout.columns and all(layout.pattern.fullmatch(column) for column in columns)
        complete = {plain(name) for name in layout.beside} <= plain_names
        if complete and (fits_names or (layout.by_class and not layout.columns and by_class)):
            return layout
    return LISTS if c.source.form == "lists" else COLUMNS if c.source.many else ALONE
