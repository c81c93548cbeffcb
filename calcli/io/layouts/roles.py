"""Which column is what: the label, the scores and their classes, by the usual names or by the options."""

from __future__ import annotations

import fnmatch
import os.path
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from calcli.core.data.predictions import Kind
from calcli.core.language.errors import InputError, UsageError
from calcli.io.layouts import ALONE, COLUMNS, LAYOUTS, LISTS, Layout
from calcli.io.layouts.answers import confidence_hint, require_column
from calcli.io.layouts.byvalues import labels_by_values
from calcli.io.layouts.candidates import (
    Columns,
    Guess,
    Holds,
    Look,
    choose,
    command,
    of_named_class,
    system_doubt,
)
from calcli.io.layouts.names import (
    MAYBE_PREDICTED,
    PREFIXED,
    TOPPED,
    TRUTHS,
    WEAK_LABELS,
    but_for_capitals,
    kind_by_name,
    label_names,
    natural_order,
    plain,
    top_class,
    top_ranks,
)
from calcli.io.layouts.unpacking import Unpacked
from calcli.io.messages import listed
from calcli.io.options import ReadOptions


@dataclass(frozen=True)
class Roles:
    """The part each column plays.

    Attributes
    ----------
    label
        Column of labels, or None if they are in a file of their own.
    scores
        Columns of scores in the order of the classes, or the one list column.
    classes
        Class names of these columns, where their names have any.
    kind, kind_reason
        What the names say about the scores.
    layout
        What they are read as.
    doubts
        How they might be meant otherwise, sentences for the user.
    considered
        Other columns that might have been the scores, and why they are not.
    before
        The classes in the order that the columns have without `--classes`, if it has put them in another.
    """

    label: str | None
    scores: tuple[str, ...]
    classes: tuple[str, ...] | None
    kind: Kind | None = None
    kind_reason: str = ""
    layout: Layout = COLUMNS
    doubts: tuple[str, ...] = ()
    considered: tuple[tuple[str, str], ...] = ()
    before: tuple[str, ...] = ()


def find_roles(
    columns: Mapping[str, Holds],
    values: Callable[[str], Iterable[str]],
    options: ReadOptions,
    name: str,
    *,
    labelled: bool = True,
    look: Callable[[Sequence[str]], Look] = lambda _: "unknown",
    packed: Mapping[str, Unpacked] | None = None,
) -> Roles:
    """Find labels and scores among the columns of a table.

    Parameters
    ----------
    columns
        What each column holds.
    values
        Reads the distinct values of a column, as text; asked only where columns are named by labels.
    options
        What the user said.
    name
        Of the file, for messages.
    labelled
        Whether labels are looked for, where `--labels` does not say that they are elsewhere.
    look
        Says what the first values of some columns look like.
    packed
        How those columns came about that are stored in another form.

    Raises
    ------
    InputError
        If something is not found, or two readings fit.
    UsageError
        If an option names what is not there.
    """
    label = (
        _label_column(columns, options, name, look, values) if labelled and options.labels is None else None
    )
    if options.labels is not None and options.label_column is not None:
        raise UsageError(
            f"--label-column {options.label_column} and --labels {options.labels} both say where the labels "
            "are; leave one out"
        )
    if options.labels is not None and options.labels in columns and not os.path.exists(options.labels):
        raise UsageError(
            f"--labels {options.labels}: no such file, but {name} has a column of this name; "
            f"say --label-column {shlex.quote(options.labels)}"
        )
    if options.weights is not None:
        require_column(options.weights, columns, name, "--weights")
    rest = {c: holds for c, holds in columns.items() if c not in (label, options.weights)}
    others = Columns(name, rest, label, values, look, options, packed or {})
    considered: list[tuple[str, str]] = []
    if options.scores is not None:
        found = of_named_class(_by_pattern(options.scores, rest, name), others)
    else:
        chosen, considered = choose(others)
        if chosen is None:
            raise InputError(_no_scores(columns, name))
        found = chosen
    scores, classes = found.scores, found.classes
    before: tuple[str, ...] = ()
    if options.system and len(scores) == 1:
        classes = None  # its name is that of the system
    if classes is not None:
        scores, classes, before = _in_order(scores, classes, options, name)
        words = {one for one in classes if not one.isdigit()}
        named = options.classes is not None and not any(map(top_class, columns))
        if top_ranks(scores) and not named and not words & others.labels():
            classes = None  # they are ranks
    kind, reason = kind_by_name(scores)
    if found.kind is not None:
        kind, reason = found.kind, f"so {found.layout.name} writes them"
    doubts = () if options.scores is not None else system_doubt(found, others)
    return Roles(label, scores, classes, kind, reason, found.layout, doubts, tuple(considered), before)


def _label_column(
    columns: Mapping[str, Holds],
    options: ReadOptions,
    name: str,
    look: Callable[[Sequence[str]], Look],
    values: Callable[[str], Iterable[str]],
) -> str:
    if options.label_column is not None:
        require_column(options.label_column, columns, name, "--label-column")
        return options.label_column
    found = label_names(columns)
    if found and plain(found[0]) in WEAK_LABELS:
        found = [one for one in found if columns[one] in ("integer", "text") or look((one,)) == "classes"]
    found = found or _in_names_of_scores(columns)
    found = _of_truth(found + _truths_beside(found, columns, values), columns)
    offered: list[str] = []
    if not found:
        found, offered = labels_by_values(columns, values)
    if len(found) > 1:
        options_each = [command(name, "--label-column", shlex.quote(one)) for one in found]
        raise InputError(
            f"{name} has {len(found)} columns that may be the labels: {listed(found)}; choose one with "
            f"--label-column: {'; '.join(options_each)}"
        )
    if not found:
        if columns and all(re.fullmatch(r"[-+.\deE]+", column) for column in columns):
            raise InputError(
                f"{name}: the first line, {listed(tuple(columns))}, looks like numbers; "
                "expected a header line with the names of the columns"
            )
        raise InputError(
            f"{name} has no label column: found {listed(tuple(columns))}, expected a name such as label, "
            "target or y_true; name it with --label-column, or give an array of labels (.npy) with --labels"
            f"{_offer(name, offered)}{confidence_hint(columns, name)}"
        )
    return found[0]


def _of_truth(found: Sequence[str], columns: Mapping[str, Holds]) -> list[str]:
    """Return which of several columns of labels are those, where the others are known for predictions.

    Pipelines of Hugging Face write the class they predict as `label`, beside its `score`; CatBoost as
    `Class`, beside the `Label`; timm lists of names as `label`.
    """
    single = [one for one in found if columns[one] != "list"] or list(found)
    names = {plain(one): one for one in columns}
    predicted = set()
    if "label" in names and "score" in names and len(single) == 2:
        predicted = {names["label"]}
    elif "sampleid" in names and {"class", "label"} <= set(names):
        predicted = {names["class"]}
    return [one for one in single if one not in predicted] or single


def _truths_beside(
    found: Sequence[str], columns: Mapping[str, Holds], values: Callable[[str], Iterable[str]]
) -> list[str]:
    """Return the columns of the same classes as the one of labels whose names say more surely that of truth.

    A reference may also be that of numbers, such as a group.
    """
    if len(found) != 1 or plain(found[0]) not in MAYBE_PREDICTED:
        return []
    named = [
        one
        for one, holds in columns.items()
        if plain(one) in TRUTHS
        and (holds == "text" or (holds == "integer" and plain(one) != "reference"))
        and holds == columns[found[0]]
    ]
    classes = set(values(found[0])) if named else set()
    each = {one: set(values(one)) for one in named}
    return [
        one
        for one, own in each.items()
        if min(len(own), len(classes)) > 1 and own & classes in (own, classes)
    ]


def _offer(name: str, offered: Sequence[str]) -> str:
    if not offered:
        return ""
    each = "; ".join(command(name, "--label-column", shlex.quote(one)) for one in offered)
    return f"; the values of {listed(list(offered))} would be classes: {each}"


def _in_names_of_scores(columns: Mapping[str, Holds]) -> list[str]:
    """Return the columns that those of scores name as the labels, as in `P (species=cat)`."""
    matches = [
        match
        for layout in LAYOUTS
        if "label" in layout.pattern.groupindex
        for column in columns
        if (match := layout.pattern.fullmatch(column))
    ]
    return list(dict.fromkeys(match["label"] for match in matches if match["label"] in columns))


def _by_pattern(pattern: str, columns: Mapping[str, Holds], name: str) -> Guess:
    """Return the columns that the user names."""
    found = tuple(column for column in columns if fnmatch.fnmatchcase(column, pattern))
    if pattern in columns:
        found = (pattern,)
    if not found and "," in pattern:
        return _by_list(tuple(column.strip() for column in pattern.split(",")), columns, name)
    if not found:
        raise UsageError(f'--scores: {name} has no column like "{pattern}"; it has {listed(tuple(columns))}')
    lists = [column for column in found if columns[column] == "list"]
    if lists and len(found) > 1:
        raise UsageError(
            f'--scores "{pattern}" matches the list column {lists[0]} and others; name that one alone'
        )
    if lists:
        return Guess(found, None, LISTS)
    if pattern in columns or not re.search(r"[*?\[]", pattern):
        prefixed = PREFIXED.fullmatch(pattern)
        return Guess(found, (prefixed[2],) if prefixed else None, ALONE)
    before, after = re.split(r"[*?\[]", pattern)[0], re.split(r"[*?\]]", pattern)[-1]
    classes = tuple(column[len(before) : len(column) - len(after)].strip() or column for column in found)
    return Guess(found, classes, COLUMNS)


def _by_list(wanted: tuple[str, ...], columns: Mapping[str, Holds], name: str) -> Guess:
    for column in wanted:
        require_column(column, columns, name, "--scores")
        if columns[column] == "list":
            raise UsageError(f"--scores names the list column {column} and others; name that one alone")
    prefixed = [PREFIXED.fullmatch(column) for column in wanted]
    classes = tuple(
        found[2] if found and all(prefixed) else column
        for found, column in zip(prefixed, wanted, strict=True)
    )
    return Guess(wanted, classes, COLUMNS)


def _no_scores(columns: Mapping[str, Holds], name: str) -> str:
    if any(TOPPED.fullmatch(column) for column in columns):
        return top_k_dump(name, columns)
    if {"resps", "filtered_resps"} & set(columns):
        return (
            f"{name} holds answers that were generated, without log-likelihoods of options; nothing says "
            "how sure they are: log a confidence beside each, and say --confidence COLUMN --correct COLUMN"
        )
    if hint := confidence_hint(columns, name, or_classes=True):
        return f"{name} has no scores but a confidence: found {listed(tuple(columns))}{hint}"
    return (
        f"{name} has no score columns: found {listed(tuple(columns))}, expected names such as logit_cat or "
        "prob_cat, the class names themselves, or one list column; name them as in --scores 'p_*' "
        "or --scores neg,pos, and the classes of the labels in the same order with --classes"
    )


def top_k_dump(name: str, columns: Iterable[str]) -> str:
    """Say that a file has scores by rank alone."""
    return (
        f"{name} has only the largest scores of each row (a sparse top-k dump, columns "
        f"{listed(tuple(columns))}); expected the scores of all classes"
    )


def _in_order(
    scores: tuple[str, ...], classes: tuple[str, ...], options: ReadOptions, name: str
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Order the columns by class: as wanted or listed, by number, or as they stand in the file.

    Returns
    -------
    The columns, their classes, and these as `Roles.before`.
    """
    wanted = options.classes
    repeated = [c for c, count in Counter(classes).items() if count > 1]
    if repeated:
        raise InputError(f"{name} has two columns for class {repeated[0]}; choose the scores with --scores")
    column = dict(zip(classes, scores, strict=True))
    ordered = tuple(classes[i] for i in natural_order(classes))
    if tuple(one.strip() for one in (options.scores or "").split(",")) == scores:
        ordered = _as_listed(classes, ordered, wanted)
    if wanted is None or len(classes) == 1:
        return tuple(column[c] for c in ordered), ordered, ()
    alike = wanted if set(wanted) == set(classes) else but_for_capitals(wanted, classes)
    if alike:
        called = dict(zip(alike, wanted, strict=True))
        before = () if tuple(alike) in (classes, ordered) else tuple(called[c] for c in ordered)
        return tuple(column[c] for c in alike), wanted, before
    if len(wanted) == len(classes):
        if ordered == tuple(map(str, range(len(classes)))):
            return tuple(column[c] for c in ordered), wanted, ()
        if {c.casefold() for c in wanted}.isdisjoint(c.casefold() for c in classes):
            _refuse_two_orders(tuple(column[c] for c in ordered), scores, wanted, name)
            return scores, wanted, ()
    elif len(wanted) > len(classes) and top_ranks(scores):
        raise InputError(top_k_dump(name, scores))
    raise UsageError(
        f"--classes names {listed(wanted)}, but the score columns of {name} belong to {listed(classes)}; "
        "expected the same names, in any order, or as many others, in the order of the columns"
    )


def _refuse_two_orders(
    ordered: tuple[str, ...], stored: tuple[str, ...], wanted: tuple[str, ...], name: str
) -> None:
    """Refuse other names for columns whose numbers are not in the order of the file, as in 1, 10, 2."""
    if ordered != stored:
        shown = ",".join(ordered) if len(ordered) <= 20 else f"{','.join(ordered[:3])},..."
        raise UsageError(
            f"--classes names {listed(wanted)}, but the score columns of {name}, {listed(stored)}, do not "
            "stand in the order of their numbers: which is which is open; list them in the order of the "
            f"names, as in --scores {shlex.quote(shown)}"
        )


def _as_listed(
    classes: tuple[str, ...], ordered: tuple[str, ...], wanted: tuple[str, ...] | None
) -> tuple[str, ...]:
    """Return classes in the order in which `--scores` lists them; numbers, which labels are too, by size."""
    if not all(c.isdigit() for c in classes):
        return classes
    if wanted is not None and classes != ordered and set(wanted) != set(classes):
        raise UsageError(
            f"--scores lists the columns of the classes {listed(classes)}, and --classes {listed(wanted)}: "
            f"which is which is open; list columns in the order {listed(ordered)}, and names in the same"
        )
    return ordered
