"""What the columns of a table are: scores, labels, or answers and what is right."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from calcli.core.data.predictions import Called
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import WRONG_RIGHT
from calcli.io.layouts import ALONE, ANSWERS, COLUMNS, LAYOUTS, LISTS, RANKS, Layout
from calcli.io.layouts.answers import require_column
from calcli.io.options import ReadOptions
from calcli.io.reading.candidates import Candidate, orders, spelled
from calcli.io.reading.censoring import censoring
from calcli.io.reading.choose import Choice, by_pattern, choose, columns_of, refuse_elsewhere
from calcli.io.reading.classes import Classes, decided_by, in_order, names_of
from calcli.io.reading.repeats import repeats
from calcli.io.reading.tablehead import all_rows, head_of_table
from calcli.io.tables.table import Table
from calcli.io.words import kind_by_name, plain, plain_text

OF_CLASSES = ("scores", "classes", "positive", "label_column", "labels", "against_rest")


@dataclass(frozen=True)
class Reading:
    """What the columns of a table are taken for.

    Attributes
    ----------
    scores
        Columns of scores in the order of the classes, or the one column of lists.
    label
        Column of labels, or None if they are in a file of their own, or not asked for.
    right
        Of answers: the column that says which are right, or two that are equal where they are.
    of_answers
        Whether the scores are the confidence in answers.
    classes
        What labels call the classes, where something says it.
    decided
        Which of them each label is, if there are labels.
    before
        The classes in the order that the columns have without `--classes`, if it has put them in another.
    ranks
        Columns that name the class of each score, where these are sorted.
    kind, kind_reason
        What kind of scores they are, and why.
    layout
        What they are read as.
    notes
        What speaks against it, or should be known, sentences for the user.
    repeats
        How rows depend on each other, as far as columns show it.
    by_ranking
        Of one score whose class nothing but the ranking says: which it is taken for; else "".
    struck
        What else the columns might have been, and what speaks against each.
    truth
        The column that is 1 where each class is true, if the label is made of such columns.
    """

    scores: tuple[str, ...]
    label: str | None = None
    right: tuple[str, ...] = ()
    of_answers: bool = False
    classes: tuple[str, ...] | None = None
    decided: Classes | None = None
    before: tuple[str, ...] = ()
    ranks: tuple[str, ...] = ()
    kind: Called = "probs"
    kind_reason: str = ""
    layout: Layout = COLUMNS
    notes: tuple[str, ...] = ()
    repeats: tuple[str, ...] = ()
    by_ranking: str = ""
    struck: tuple[tuple[str, str], ...] = ()
    truth: Mapping[str, str] = field(default_factory=dict)

    @property
    def labels_from(self) -> str:
        """Where the labels are from, for messages."""
        if len(self.right) == 2:
            return f'columns "{self.right[0]}" and "{self.right[1]}", which are equal where it is right'
        return f'column "{self.right[0] if self.right else self.label}"' if self.right or self.label else ""


def decide(table: Table, options: ReadOptions, *, labelled: bool, known: Sequence[str] = ()) -> Reading:
    """Return what the columns of a table are.

    Raises
    ------
    InputError
        If nothing or several things may be meant.
    UsageError
        If an option names what is not there.
    """
    head, names = head_of_table(table, options), table.schema.names
    if labelled and options.labels is None:
        head = head.with_truths()
        names = [*names, *(one for one in head.columns if one not in names)]
    _refuse_contradictions(options, names, head.name)
    sources = head.sources if options.scores is None else by_pattern(head, options.scores)
    if options.scores is not None and not sources:
        raise UsageError(f'--scores: {head.name} has no column like "{options.scores}" that holds numbers')
    choice = choose(head, sources, options, labelled=labelled and options.labels is None, known=known)
    if not choice.chosen.source.many and head.n < table.rows:
        every = all_rows(table, options, columns_of(choice))
        if every is not None:
            refuse_elsewhere(choice, every, options)
    reading = _reading(choice, options, names)
    truth = (*reading.right, *([reading.label] if reading.label else []))
    censored = censoring(head, reading.label) if reading.label and options.label_column is None else ""
    return replace(
        reading,
        notes=(*reading.notes, *([censored] if censored else [])),
        repeats=repeats(head, choice.chosen.source.columns, truth) if labelled else (),
        truth=head.truths.get(reading.label or "", {}),
    )


def _refuse_contradictions(options: ReadOptions, names: Sequence[str], name: str) -> None:
    """Refuse options that contradict each other, or name what is not there."""
    of_classes = [one for one in OF_CLASSES if getattr(options, one) is not None]
    for option in ("confidence", "correct"):
        if getattr(options, option) is not None and of_classes:
            raise UsageError(
                f"--{option} says that {name} has answers, and --{of_classes[0].replace('_', '-')} that "
                "it has classes; "
                "leave one out"
            )
    if options.labels is not None and options.labels in names and not os.path.exists(options.labels):
        raise UsageError(
            f"--labels {options.labels}: no such file, but {name} has a column of this name; say "
            "--label-column "
            f"{shlex.quote(options.labels)}"
        )
    if options.labels is not None and options.label_column is not None:
        raise UsageError(
            f"--label-column {options.label_column} and --labels {options.labels} both say where the "
            "labels are; leave "
            "one out"
        )
    for column in (options.correct or "").split(",") if options.correct else ():
        require_column(column.strip(), names, name, "--correct")
    for option in ("label_column", "confidence"):
        if (said := getattr(options, option)) is not None:
            require_column(said, names, name, f"--{option.replace('_', '-')}")


def _reading(choice: Choice, options: ReadOptions, names: list[str]) -> Reading:
    c = choice.chosen
    percent = c.kind == "percent"
    if c.what in ("answer", "right") and (c.label or options.confidence is not None):
        return Reading(
            c.source.columns,
            right=tuple(one for one in (c.said, c.label) if one),
            of_answers=True,
            classes=WRONG_RIGHT,
            kind=c.kind,
            kind_reason="a confidence is a probability"
            + (", as percentages from 0 to 100" if percent else ""),
            layout=ANSWERS,
            notes=choice.notes,
            struck=choice.struck,
        )
    kind = "probs" if percent else c.kind
    scores, classes, order = c.source.columns, names_of(c, options), list[int]()
    if c.how in ("custom", "encoder") and c.source.form == "columns" and not options.classes:
        order = orders(c.head, c.source)[c.how]
        classes = tuple((classes or scores)[n] for n in order)
    elif c.source.form == "columns" and c.source.many and classes is not None and not c.source.given:
        order, classes, _ = in_order(classes, scores, options, c.head.name)
    named, reason = kind_by_name(c.source.columns)
    layout = RANKS if c.source.form == "ranked" else _layout(c, names)
    if layout.kind is not None:
        named, reason = layout.kind, f"so {layout.name} writes them"
    reason = reason if named == kind else ""
    if kind == "logits" and c.source.of_options:
        reason = "log-probabilities of the options, which become probabilities among them alone"
    if percent:
        reason = f"percentages from 0 to 100{f', {reason}' if reason else ''}"
    return Reading(
        tuple(scores[n] for n in order) or scores,
        c.label or None,
        classes=classes,
        decided=decided_by(c, c.source.plain if c.source.ranks else classes, order) if c.label else None,
        before=c.source.before,
        ranks=c.source.ranks,
        kind=c.kind,
        kind_reason=reason,
        layout=layout,
        notes=choice.notes,
        by_ranking=_by_ranking(c, options),
        struck=choice.struck,
    )


def _by_ranking(c: Candidate, options: ReadOptions) -> str:
    """Return a sentence on the class of one score that nothing but the ranking says; "" if something does."""
    if not c.ranked or options.positive or options.classes or options.against_rest:
        return ""
    called = spelled(c.head, c.label)
    taken, other = called[c.positive], next(word for text, word in called.items() if text != c.positive)
    return (
        f"nothing says which class {c.source.columns[0]} is the score of; {taken} is taken, as it ranks "
        f"higher there: say --positive {shlex.quote(taken)}, or --positive {shlex.quote(other)}"
    )


def _layout(c: Candidate, names: list[str]) -> Layout:
    """Return what the columns are called by: some software, or their form."""
    plainly = {plain(one) for one in names}
    for layout in LAYOUTS:
        if not {plain(one) for one in layout.beside} <= plainly:
            continue
        if layout.columns and all(layout.pattern.fullmatch(one) for one in c.source.columns):
            return layout
        if (
            layout.by_class
            and not layout.columns
            and c.source.many
            and set(map(plain_text, c.source.columns)) == c.own
        ):
            return layout
    return LISTS if c.source.form == "lists" else COLUMNS if c.source.many else ALONE
