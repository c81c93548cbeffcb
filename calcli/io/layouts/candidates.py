"""Which columns may be the scores, and the one reading of them; where two fit, both are told."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Literal

from calcli.core.data.predictions import Kind
from calcli.core.language.errors import InputError
from calcli.io.labels import MISSING_NAMES
from calcli.io.layouts import ALONE, COLUMNS, LAYOUTS, LISTS, Layout
from calcli.io.layouts import names as known
from calcli.io.layouts.names import GUESSES, ITSELF, NO_SCORES, PREFIXED, STEMS, SUFFIXED, plain
from calcli.io.layouts.unpacking import Unpacked
from calcli.io.messages import in_command, listed
from calcli.io.options import ReadOptions

Holds = Literal["float", "integer", "text", "list", "other"]
Look = Literal["distributions", "unit", "percent", "classes", "numbers", "unknown"]
MOST_COMMANDS = 6  # that a message shows
MOST_CLASSES = 50  # that a message names in an option
PAIRS = (  # names of two classes that nobody gives two systems
    {"neg", "pos"},
    {"negative", "positive"},
    {"no", "yes"},
    {"false", "true"},
    {"benign", "malignant"},
    {"ham", "spam"},
)


@dataclass(frozen=True)
class Columns:
    """What is known of the columns that may be scores.

    Attributes
    ----------
    name
        Of the file, for messages.
    holds
        What each column holds.
    label
        The column of labels, if there is one.
    values
        Reads the distinct values of a column, as text.
    look
        Says what the first values of some columns look like, taken together.
    options
        What the user said.
    packed
        How those columns came about that are stored in another form.
    """

    name: str
    holds: Mapping[str, Holds]
    label: str | None
    values: Callable[[str], Iterable[str]]
    look: Callable[[Sequence[str]], Look]
    options: ReadOptions
    packed: Mapping[str, Unpacked]

    @cached_property
    def plain_names(self) -> set[str]:
        """Names of all columns, plainly."""
        return {plain(name) for name in (*self.holds, self.label or "")}

    def labels(self) -> set[str]:
        """Return the labels there are, without those that mark a missing one."""
        return set(self._labels())

    def first_label(self) -> str | None:
        """Return the first of them, which takes no reading of all rows; None if there are none."""
        return next(self._labels(), None)

    def _labels(self) -> Iterator[str]:
        values = () if self.label is None else self.values(self.label)
        return (value for value in values if value.strip().casefold() not in MISSING_NAMES)

    def floats(self) -> list[str]:
        """Return the columns of numbers with fractions."""
        return [column for column, holds in self.holds.items() if holds == "float"]


@dataclass(frozen=True)
class Guess:
    """Columns that may be the scores.

    Attributes
    ----------
    scores, classes
        The columns and the classes in their names.
    layout
        What they would be read as.
    fits
        How well the values agree with the names: 2 well, 1 if they only may.
    named
        How clearly the names say that they are scores.
    kind
        Of the scores, where the layout says it.
    """

    scores: tuple[str, ...]
    classes: tuple[str, ...] | None
    layout: Layout
    fits: int = 2
    named: int = 3
    kind: Kind | None = None
    doubts: tuple[str, ...] = field(default=())

    @property
    def option(self) -> str:
        """The option that chooses it."""
        return f"--scores {shlex.quote(','.join(self.scores))}"


def command(name: str, *options: str) -> str:
    """Return a command line that reads a file with some options."""
    return f"calcli evaluate {in_command(name)} {' '.join(options)}"


def comparison(name: str, systems: Sequence[str], columns: Sequence[str]) -> str:
    """Return a command line that compares systems, each a column of a file; of many the first ones."""
    pairs = zip(systems, columns, strict=True)
    each = [f"--system {shlex.quote(f'{system}={column}')}" for system, column in pairs]
    shown = each[:MOST_COMMANDS] + ["and so on"] * (len(each) > MOST_COMMANDS)
    return f"calcli compare {in_command(name)} {' '.join(shown)}"


def choose(columns: Columns) -> tuple[Guess | None, list[tuple[str, str]]]:
    """Return the columns to be taken for the scores, and which others there were, with the reason.

    Raises
    ------
    InputError
        If two readings fit.
    """
    for layout in LAYOUTS:
        if found := _of_framework(layout, columns):
            return found, []
    groups, singles = _prefixed(columns)
    sure = [one for one in groups if one.named > 2]
    _refuse_several(sure, columns)
    if sure:
        return sure[0], _others(sure[0], groups + singles)
    better = [one for one in singles if one.named > 2 and one.fits > 1]
    weak = [one for one in groups if not (better and one.fits < 2)]
    if weak:
        return weak[0], _others(weak[0], groups + singles)
    if found := _by_class_names(columns) or _suffixed(columns, singles) or _predicted(columns):
        return found, _others(found, singles)
    found = _best(singles, columns)
    return (of_named_class(found, columns), _others(found, singles)) if found else (None, [])


def _others(taken: Guess, candidates: Sequence[Guess]) -> list[tuple[str, str]]:
    found = []
    for one in candidates:
        if one.scores != taken.scores:
            why = "less clearly named as scores" if one.named < taken.named else "its values fit less well"
            if one.named == taken.named and one.fits == taken.fits:
                why = "another kind of layout, tried later"
            found.append((listed(one.scores), why))
    return found


def _of_framework(layout: Layout, columns: Columns) -> Guess | None:
    """Return the columns that have the names which some software gives them."""
    if (
        not (layout.columns or layout.by_class)
        or not {plain(one) for one in layout.beside} <= columns.plain_names
    ):
        return None
    floats = [name for name in columns.holds if columns.holds[name] in ("float", "integer")]
    matches = {name: layout.pattern.fullmatch(name) for name in floats} if layout.columns else {}
    if layout.of_label:
        labels = [columns.label] if columns.label else [*columns.holds]
        matches = {name: match for name, match in matches.items() if match and match["label"] in labels}
    classes = {name: match["class"] for name, match in matches.items() if match}
    if classes:
        found = Guess(tuple(classes), tuple(classes.values()), layout, kind=layout.kind)
        own = [name for name in columns.holds if _own_name(name)]
        return found if not own or (len(classes) > 1 and _names_classes(found, columns)) else None
    values = columns.labels() if layout.by_class else set()
    named = tuple(name for name in columns.floats() if name in values)
    return Guess(named, named, layout, kind=layout.kind) if values and values == set(named) else None


def _prefixed(columns: Columns) -> tuple[list[Guess], list[Guess]]:
    """Return groups of columns as `prob_cat, prob_dog`, the surest first, and columns that stand alone."""
    groups: dict[tuple[str, str], dict[str, str]] = {}
    singles = [one for name in columns.holds if (one := _single(name, columns))]
    for column, holds in columns.holds.items():
        prefixed = PREFIXED.fullmatch(column)
        if prefixed and holds != "list" and plain(column) not in ITSELF:
            stem = prefixed[1].lower()
            lead = plain(column[: prefixed.start(1)])
            groups.setdefault((STEMS[stem] or stem, lead), {})[column] = prefixed[2]
    found = []
    for (stem, _), members in groups.items():
        if stem == "p" and len(members) < 2:
            continue  # a lone p_something is more often a p-value than a probability
        scores, classes = tuple(members), tuple(members.values())
        sure = stem not in ("score", "p")
        looks = columns.look(scores)
        fits = 2 if sure or looks in ("distributions", "unknown") else 1
        found.append(Guess(scores, classes, COLUMNS, fits, 3 if sure else 2 if stem == "score" else 1))
    found, beside = _beside_own_names(found, singles, columns)
    singles += beside
    order = ["logits", "log-probs", "probs"]
    found.sort(key=lambda one: (-one.named, order.index(_stem(one)) if one.named > 2 else 0))
    several = [one for one in found if len(one.scores) > 1 or one.named < 3]
    lone = [one for one in found if one not in several]
    return (several, [*lone, *singles]) if several else (lone, singles)


def _beside_own_names(
    groups: Sequence[Guess], singles: Sequence[Guess], columns: Columns
) -> tuple[list[Guess], list[Guess]]:
    """Return the groups that stand beside no column with a name of its own, or win; and the others.

    Of `prob, prob_std` the first has a name of its own, and the other says something about it. What follows
    may be a class all the same: several columns that name the classes are the scores, and one alone may be.
    """
    own = [one for one in singles if _own_name(one.scores[0])]
    kept, beside = [], []
    for group in groups:
        if not any(one.named >= group.named and one.fits >= group.fits for one in own):
            kept.append(group)
        elif not _names_classes(group, columns):
            beside.append(replace(group, named=0))
        elif len(group.scores) > 1:
            kept.append(group)
        else:
            beside.append(group)
    return kept, beside


def _own_name(column: str) -> bool:
    """Tell whether a column is named as scores, without a class: `prob`, `y_score`."""
    return bool(known.ALONE.fullmatch(column)) or plain(column) in ITSELF


def _names_classes(group: Guess, columns: Columns) -> bool:
    """Tell whether what follows in the names of columns is a class, by the labels, the user or the values."""
    named = group.classes or ()
    labels = columns.labels() or set(columns.options.classes or ())
    if len(named) == 1:
        return named[0] in labels or any(named[0].casefold() in pair for pair in PAIRS)
    return (
        (bool(labels) and labels <= set(named))
        or {one.casefold() for one in named} in PAIRS
        or sorted(named) == sorted(map(str, range(len(named))))
        or columns.look(group.scores) == "distributions"
    )


def _stem(one: Guess) -> str:
    return known.kind_by_name(one.scores)[0] or ""


def _refuse_several(sure: Sequence[Guess], columns: Columns) -> None:
    if len(sure) > 1:
        kinds = [_stem(one) or "scores" for one in sure]
        first = listed([one.scores[0] for one in sure])
        raise InputError(
            f"{columns.name} has columns of {' and of '.join(kinds)} ({first}); choose with --scores: "
            + commands(columns.name, sure)
        )


def commands(name: str, candidates: Sequence[Guess]) -> str:
    """Return the command for each of some readings, of many for the first ones."""
    told = [command(name, one.option) for one in candidates[:MOST_COMMANDS]]
    return "; ".join(told + ["and so on"] * (len(candidates) > MOST_COMMANDS))


def _by_class_names(columns: Columns) -> Guess | None:
    """Find columns that are named as the classes themselves."""
    name, options = columns.name, columns.options
    if options.classes is not None and set(options.classes) <= set(columns.holds):
        named = tuple(column for column in columns.holds if column in options.classes)
        return Guess(named, named, COLUMNS)
    numbered = tuple(column for column in columns.holds if re.fullmatch(r"-?\d+", column))
    alike = [one for one in columns.floats() if one not in numbered and re.match(r"[-+<>=]*\d", one)]  # 3+
    if len(numbered) > 1 and not alike:
        return Guess(numbered, numbered, COLUMNS)
    if options.classes is not None:
        return None
    floats = columns.floats()
    if not floats or (len(floats) == 1 and columns.first_label() not in columns.holds):
        return None
    values = columns.labels()
    unknown = sorted(values - set(columns.holds))
    if unknown and len(values & set(floats)) > 1:
        raise InputError(
            f"{name}: labels name the columns {listed(sorted(values & set(floats)))}, but there are others, "
            f"{listed(unknown)}, without a column; expected a column of scores for every label; correct the "
            "labels, or name the columns with --scores"
        )
    if unknown or not values:
        return None
    others = tuple(column for column in floats if column not in values)
    taken = tuple(column for column in columns.holds if column in values)
    if others and columns.look(taken) != "distributions":
        every = [column for column in columns.holds if column in values or column in others]
        offer = f"say so with --classes {_written(every)}"
        if len(values) > 1:
            offer += f", if not with --classes {_written([one for one in every if one in values])}"
        raise InputError(
            f"{name}: the labels name the columns {listed(sorted(values))}, but {listed(others)} may be "
            f"the scores of further classes; if so, {offer}"
        )
    return Guess(taken, taken, COLUMNS)


def _written(classes: Sequence[str]) -> str:
    """Return names as an option takes them; of many the first and the last."""
    shown = classes if len(classes) <= MOST_CLASSES else [*classes[:3], "...", classes[-1]]
    return shlex.quote(",".join(shown))


def _suffixed(columns: Columns, singles: Sequence[Guess]) -> Guess | None:
    """Find columns as `cat_prob, dog_prob`; those named otherwise than the classes are systems."""
    floats = [one for one in columns.holds if columns.holds[one] in ("float", "integer")]
    matches = {one: found[1] for one in floats if (found := SUFFIXED.fullmatch(one))}
    matches = {one: stem for one, stem in matches.items() if not known.ALONE.fullmatch(one)}
    if len(matches) < 2:
        return None
    scores, classes = tuple(matches), tuple(matches.values())
    labels = columns.labels()
    numbered = all(name.isdigit() for name in classes)
    if (
        numbered
        or known.top_ranks(scores)
        or (labels and labels <= set(classes))
        or columns.look(scores) == "distributions"
    ):
        return Guess(scores, classes, COLUMNS)
    return None


def _predicted(columns: Columns) -> Guess | None:
    """Find columns as `pred_0, pred_1` or `oof_cat, oof_dog`, if they are distributions."""
    groups: dict[str, dict[str, str]] = {}
    for column in columns.floats():
        for at in [n for n, letter in enumerate(column) if letter in "_.-: "]:
            if plain(column[:at]) in GUESSES and column[at + 1 :]:
                groups.setdefault(plain(column[:at]), {})[column] = column[at + 1 :]
    found = [
        Guess(tuple(group), tuple(group.values()), COLUMNS, named=1)
        for group in groups.values()
        if len(group) > 1 and columns.look(tuple(group)) == "distributions"
    ]
    if len(found) > 1:
        raise InputError(
            f"{columns.name} has {len(found)} groups of columns that may be the scores, "
            f"{listed([one.scores[0] for one in found])}; choose one: {commands(columns.name, found)}"
        )
    return found[0] if found else None


def _single(column: str, columns: Columns) -> Guess | None:
    """Return a column as one score a row, or as a list of scores, if its name or values allow that."""
    holds = columns.holds[column]
    alone, name = known.ALONE.fullmatch(column), plain(column)
    if holds == "list":
        if column in columns.packed and columns.packed[column].scores == column:
            return Guess((column,), None, LISTS)
        if NO_SCORES.fullmatch(column):
            return None
        named = 3 if alone else 1 if name in GUESSES else 0
        return Guess((column,), None, LISTS, 2, named)
    if holds not in ("float", "integer"):
        return None
    look = partial(columns.look, (column,))  # costs a read where the columns are many
    stem = STEMS[alone[1].lower()] if alone else None
    if alone or name in ITSELF:
        if name in ("p", "yp"):
            return Guess((column,), None, ALONE, 2 if look() in ("unit", "unknown") else 1, 1)
        named = 3 if stem or name in ITSELF else 2
        return Guess((column,), None, ALONE, 2 if stem or look() in ("unit", "unknown") else 1, named)
    if SUFFIXED.fullmatch(column) and not PREFIXED.fullmatch(column):
        return Guess((column,), None, ALONE, 2, 3)
    if (
        name in GUESSES or re.fullmatch(r"(?i).+[_.\-](preds?|predictions?|oof)", column)
    ) and look() == "unit":
        return Guess((column,), None, ALONE, 2, 1)
    return None


def _best(singles: Sequence[Guess], columns: Columns) -> Guess | None:
    """Return the column that is best named and fits; lists before numbers where both are as good."""
    if not singles:
        return None
    top = max((one.fits, one.named) for one in singles)
    best = [one for one in singles if (one.fits, one.named) == top]
    lists = [one for one in best if one.layout is LISTS]
    if len(lists) > 1 and len(lists) == len(best):
        raise InputError(
            f"{columns.name} has {len(lists)} list columns, {listed([one.scores[0] for one in lists])}; "
            f"choose the scores with --scores: {commands(columns.name, lists)}"
        )
    if len(best) > 1:
        names = [one.scores[0] for one in best]
        raise InputError(
            f"{columns.name} has {len(best)} columns that may be the scores, {listed(names)}; "
            f"choose one with --scores: {commands(columns.name, best)}"
            + (f"; or compare them as systems: {comparison(columns.name, names, names)}" if not lists else "")
        )
    return best[0]


def of_named_class(found: Guess, columns: Columns) -> Guess:
    """Return one score with the class in its name, as in `neg_prob`; that of `rf_prob` is a system."""
    stem = known.stem_before(found.scores[0]) if found.layout is ALONE else ""
    if stem and (any(stem.casefold() in pair for pair in PAIRS) or stem in columns.labels()):
        return replace(found, classes=(stem,))
    return found


def system_doubt(found: Guess, columns: Columns) -> tuple[str, ...]:
    """Return the doubt whether columns of scores are classes or systems, where labels do not name them."""
    names = found.classes or ()
    if len(names) < 2 or found.layout is not COLUMNS or any(name.isdigit() for name in names):
        return ()
    if {name.casefold() for name in names} in PAIRS or columns.options.classes is not None:
        return ()
    if not columns.labels() <= {"0", "1", "0.0", "1.0"} or columns.look(found.scores) == "distributions":
        return ()
    systems = comparison(columns.name, names, found.scores)
    if found.kind != "logits" and columns.look(found.scores) == "unit":
        raise InputError(
            f"{columns.name}: the first values of {listed(found.scores)} lie in [0, 1] and do not sum to "
            f"one: if they are scores of several systems say {systems}; for one "
            f"say {command(columns.name, '--scores', shlex.quote(found.scores[0]))}"
        )
    return (
        f"the labels are 0 and 1 and do not name {listed(names)}: if these are systems, not classes, "
        f"say {systems}",
    )
