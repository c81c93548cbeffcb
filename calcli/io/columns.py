"""Which column is what: the label, the scores and their classes, by the usual names or by the options."""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from calcli.core.data.predictions import Kind
from calcli.core.language.errors import InputError, UsageError
from calcli.io.labels import MISSING_NAMES
from calcli.io.options import ReadOptions
from calcli.io.places import listed

Holds = Literal["float", "integer", "text", "list", "other"]

LABEL = re.compile(r"(?i)((true|class)_)?(label|target)s?|y(_true)?|class|(ground_)?truth|gt|gold")
STEMS: dict[str, Kind | None] = {
    "logit": "logits",
    "log_prob": "log-probs",
    "logprob": "log-probs",
    "log_probabilitie": "log-probs",
    "log_probability": "log-probs",
    "prob": "probs",
    "proba": "probs",
    "probabilitie": "probs",
    "probability": "probs",
    "score": None,
    "p": None,
}
STEM = "|".join(sorted(STEMS, key=len, reverse=True))
PREFIXED = re.compile(rf"(?i)({STEM})s?[_.\-: ](.+)")
ALONE = re.compile(rf"(?i)(?:y_|pred_|predicted_)?({STEM})s?")
TOP_K = re.compile(r"(?i)(.*[_.-])?top[_-]?\d+([_.-].*)?")


@dataclass(frozen=True)
class Layout:
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
    """

    label: str | None
    scores: tuple[str, ...]
    classes: tuple[str, ...] | None
    kind: Kind | None = None
    kind_reason: str = ""


def find_layout(
    columns: Mapping[str, Holds],
    label_values: Callable[[str], Sequence[str]],
    options: ReadOptions,
    name: str,
    *,
    labelled: bool = True,
) -> Layout:
    """Find labels and scores among the columns of a table.

    Parameters
    ----------
    columns
        What each column holds.
    label_values
        Reads the distinct labels of a column, as text; asked only where the columns are named by them.
    options
        What the user said.
    name
        Of the file, for messages.
    labelled
        Whether labels are looked for, where `--labels` does not say that they are elsewhere.

    Raises
    ------
    InputError
        If something is not found, or there are two candidates.
    UsageError
        If an option names what is not there.
    """
    label = _label_column(columns, options, name) if labelled and options.labels is None else None
    if options.labels is not None and options.label_column is not None:
        raise UsageError(
            f"--label-column {options.label_column} and --labels {options.labels} both say where the labels "
            "are; leave one out"
        )
    if options.weights is not None and options.weights not in columns:
        raise UsageError(_no_such(options.weights, columns, name, "--weights"))
    candidates = {c: holds for c, holds in columns.items() if c not in (label, options.weights)}
    found: tuple[tuple[str, ...], tuple[str, ...] | None] | None
    if options.scores is not None:
        found = _by_pattern(options.scores, candidates, name)
    else:
        found = (
            _by_prefix(candidates, name)
            or _by_class_names(candidates, label, label_values, options, name)
            or _list_column(candidates, name)
            or _alone(candidates)
        )
    if found is None:
        raise InputError(_no_scores(columns, name))
    scores, classes = found
    if classes is not None:
        scores, classes = _in_order(scores, classes, options.classes, name)
    kind, reason = kind_by_name(scores)
    return Layout(label, scores, classes, kind, reason)


def refuse_duplicates(names: Sequence[str], name: str) -> None:
    """Raise an InputError if two columns have the same name."""
    repeated = [column for column, count in Counter(names).items() if count > 1]
    if repeated:
        raise InputError(f"{name} has more than one column named {listed(repeated)}; rename all but one")


def natural_key(text: str) -> list[tuple[int, str]]:
    """Return a key that sorts numbers in names as numbers: part-2 before part-10."""
    pieces = re.split(r"(\d+)", text)
    return [(int(piece), "") if i % 2 else (-1, piece) for i, piece in enumerate(pieces)]


def natural_order(names: Sequence[str]) -> list[int]:
    """Return the order of class names: by number where they differ in numbers only, else as they are."""
    if len({re.sub(r"\d+", "0", name) for name in names}) > 1:
        return list(range(len(names)))
    return sorted(range(len(names)), key=lambda i: natural_key(names[i]))


def kind_by_name(names: tuple[str, ...]) -> tuple[Kind | None, str]:
    """Return the kind of scores that the names of their columns tell, and how they are named."""
    matches = [PREFIXED.fullmatch(name) or ALONE.fullmatch(name) for name in names]
    kinds = {STEMS[match[1].lower()] if match else None for match in matches}
    kind = kinds.pop() if len(kinds) == 1 else None
    first = matches[0]
    if kind is None or first is None:
        return None, ""
    shown = names[0] if len(names) == 1 else names[0][: first.start(2)] + "*"
    return kind, f"the scores are named {shown}"


def _label_column(columns: Mapping[str, Holds], options: ReadOptions, name: str) -> str:
    if options.label_column is not None:
        if options.label_column not in columns:
            raise UsageError(_no_such(options.label_column, columns, name, "--label-column"))
        return options.label_column
    found = [column for column in columns if LABEL.fullmatch(column)]
    if len(found) > 1:
        raise InputError(
            f"{name} has {len(found)} columns that may be the labels: {listed(found)}; choose one with "
            "--label-column"
        )
    if not found:
        if columns and all(re.fullmatch(r"[-+.\deE]+", column) for column in columns):
            raise InputError(
                f"{name}: the first line, {listed(tuple(columns))}, looks like numbers; "
                "expected a header line with the names of the columns"
            )
        raise InputError(
            f"{name} has no label column: found {listed(tuple(columns))}, expected a name such as label, "
            "target or y_true; name it with --label-column, or give a file of labels with --labels"
        )
    return found[0]


def _no_such(column: str, columns: Mapping[str, Holds], name: str, option: str) -> str:
    near = difflib.get_close_matches(column, columns, n=3)
    offer = f"did you mean {listed(near)}?" if near else f"it has {listed(tuple(columns))}"
    return f'{option}: {name} has no column "{column}"; {offer}'


def _by_pattern(
    pattern: str, columns: Mapping[str, Holds], name: str
) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    found = tuple(column for column in columns if fnmatch.fnmatchcase(column, pattern))
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
        return found, None
    if not re.search(r"[*?\[]", pattern):
        prefixed = PREFIXED.fullmatch(pattern)
        return found, (prefixed[2],) if prefixed else None
    before, after = re.split(r"[*?\[]", pattern)[0], re.split(r"[*?\]]", pattern)[-1]
    return found, tuple(column[len(before) : len(column) - len(after)] or column for column in found)


def _by_list(
    wanted: tuple[str, ...], columns: Mapping[str, Holds], name: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    for column in wanted:
        if column not in columns:
            raise UsageError(_no_such(column, columns, name, "--scores"))
        if columns[column] == "list":
            raise UsageError(f"--scores names the list column {column} and others; name that one alone")
    prefixed = [PREFIXED.fullmatch(column) for column in wanted]
    return wanted, tuple(
        found[2] if found and all(prefixed) else column
        for found, column in zip(prefixed, wanted, strict=True)
    )


def _by_prefix(columns: Mapping[str, Holds], name: str) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    groups: dict[str, dict[str, str]] = {}
    for column, holds in columns.items():
        prefixed = PREFIXED.fullmatch(column)
        if prefixed and holds != "list":
            stem = prefixed[1].lower()
            groups.setdefault(STEMS[stem] or stem, {})[column] = prefixed[2]
    certain = [kind for kind in ("logits", "log-probs", "probs") if kind in groups]
    if len(certain) > 1:
        columns_of_each = listed([next(iter(groups[kind])) for kind in certain])
        raise InputError(
            f"{name} has columns of {' and of '.join(certain)} ({columns_of_each}); choose with --scores"
        )
    if "p" in groups and len(groups["p"]) < 2:
        del groups["p"]  # a lone p_something is more often a p-value than a probability
    for key in (*certain, "score", "p"):
        if key in groups:
            return tuple(groups[key]), tuple(groups[key].values())
    return None


def _by_class_names(
    columns: Mapping[str, Holds],
    label: str | None,
    label_values: Callable[[str], Sequence[str]],
    options: ReadOptions,
    name: str,
) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Find columns that are named as the classes themselves."""
    if options.classes is not None and set(options.classes) <= set(columns):
        return options.classes, options.classes
    numbered = tuple(column for column in columns if re.fullmatch(r"\d+", column))
    if len(numbered) > 1:
        return numbered, numbered
    if options.classes is not None:
        return None
    floats = tuple(column for column, holds in columns.items() if holds == "float")
    values = set(label_values(label)) if label is not None and floats else set()
    values = {value for value in values if value.strip().casefold() not in MISSING_NAMES}
    unknown = sorted(values - set(columns))
    if unknown and len(values & set(floats)) > 1:
        raise InputError(
            f"{name}: labels name the columns {listed(sorted(values & set(floats)))}, but there are others, "
            f"{listed(unknown)}, without a column; expected a column of scores for every label; correct the "
            "labels, or name the columns with --scores"
        )
    if unknown or not values:
        return None
    others = tuple(column for column in floats if column not in values)
    if others:
        every = [column for column in columns if column in values or column in others]
        offer = f"say so with --classes {','.join(every)}"
        if len(values) > 1:
            offer += f", if not with --classes {','.join(column for column in every if column in values)}"
        raise InputError(
            f"{name}: the labels name the columns {listed(sorted(values))}, but {listed(others)} may be "
            f"the scores of further classes; if so, {offer}"
        )
    found = tuple(column for column in columns if column in values)
    return found, found


def _list_column(columns: Mapping[str, Holds], name: str) -> tuple[tuple[str, ...], None] | None:
    lists = [column for column, holds in columns.items() if holds == "list"]
    named = [column for column in lists if ALONE.fullmatch(column)]
    found = named if len(named) == 1 else lists
    if len(found) > 1:
        raise InputError(
            f"{name} has {len(found)} list columns, {listed(found)}; choose the scores with --scores"
        )
    return ((found[0],), None) if found else None


def _alone(columns: Mapping[str, Holds]) -> tuple[tuple[str, ...], None] | None:
    found = [
        column
        for column, holds in columns.items()
        if ALONE.fullmatch(column) and holds in ("float", "integer")
    ]
    return ((found[0],), None) if len(found) == 1 else None


def _no_scores(columns: Mapping[str, Holds], name: str) -> str:
    if any(TOP_K.fullmatch(column) for column in columns):
        return (
            f"{name} has only the largest scores of each row (a sparse top-k dump, columns "
            f"{listed(tuple(columns))}); expected the scores of all classes"
        )
    return (
        f"{name} has no score columns: found {listed(tuple(columns))}, expected names such as logit_cat or "
        "prob_cat, the class names themselves, or one list column; name them as in --scores 'p_*' "
        "or --scores neg,pos, and the classes of the labels in the same order with --classes"
    )


def _in_order(
    scores: tuple[str, ...], classes: tuple[str, ...], wanted: tuple[str, ...] | None, name: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Order the columns by class: as wanted, by number, or as they stand in the file."""
    repeated = [c for c, count in Counter(classes).items() if count > 1]
    if repeated:
        raise InputError(f"{name} has two columns for class {repeated[0]}; choose the scores with --scores")
    column = dict(zip(classes, scores, strict=True))
    ordered = tuple(classes[i] for i in natural_order(classes))
    if wanted is None or len(classes) == 1:
        return tuple(column[c] for c in ordered), ordered
    if set(wanted) == set(classes):
        return tuple(column[c] for c in wanted), wanted
    if len(wanted) == len(classes):
        if ordered == tuple(map(str, range(len(classes)))):
            return tuple(column[c] for c in ordered), wanted
        if {c.casefold() for c in wanted}.isdisjoint(c.casefold() for c in classes):
            return scores, wanted
    raise UsageError(
        f"--classes names {listed(wanted)}, but the score columns of {name} belong to {listed(classes)}; "
        "expected the same names, in any order, or as many others, in the order of the columns"
    )
