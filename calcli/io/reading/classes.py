"""The classes: their names in the order of the scores, and which of them each label is; decided once.

Where a candidate is left, the values have shown which class each label is; where scores and labels are fixed,
as those of arrays and of labels in another file, names and numbers say it.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from calcli.core.data.arrays import Array, as_floats
from calcli.core.data.derived import rest_of
from calcli.core.language.errors import InputError, UsageError
from calcli.io.messages import Place, Question, in_first, listed
from calcli.io.options import ReadOptions
from calcli.io.reading.candidate import Candidate
from calcli.io.reading.matching import spelled
from calcli.io.tables.labels import INTEGER, Labels, Meaning, missing_label, number_of
from calcli.io.words import (
    BARE,
    CUSTOM,
    MISSING_NAMES,
    MISSING_NUMBERS,
    NOT_AVAILABLE,
    PREFIXED,
    are_custom,
    missing_words,
    natural_order,
    plain_text,
    stem_before,
)

if TYPE_CHECKING:
    from calcli.io.tables.source import Source

FEW = 20  # rows that may descend by chance
LOOKED_AT = 1 << 16  # elements
MANY = 20  # classes, to be written out one by one no more
NO_PLACE = -1
WORDS = (("false", "true"), ("no", "yes"), ("f", "t"), ("n", "y"))  # of booleans


@dataclass(frozen=True)
class Classes:
    """What the classes are called, and which of them each label is.

    Attributes
    ----------
    names
        In the order of the scores, the one that a single score is of last.
    number
        The place of each label among them, by what it means: `plain_text`.
    rest
        The place of all other labels, of one class against the rest; else -1.
    counted
        Whether labels count the classes: no name says which one a number is.
    """

    names: tuple[str, ...]
    number: Mapping[str, int]
    rest: int = NO_PLACE
    counted: bool = False

    def places(self, labels: Labels, place: Place) -> Array:
        """Return (N,) int32 which class each label is.

        Raises
        ------
        InputError
            If it is none of them.
        """
        labels.require(place)
        exact = {name: k for k, name in enumerate(self.names)} if labels.meaning == "text" else {}
        gone, known = missing_words(self.names), labels.meaning == "text" or {*labels.plain} & {*self.number}
        if self.rest != NO_PLACE and not known:
            raise InputError(
                f"{place.name}: the labels are {listed(labels.plain)}, which do not tell whether the class "
                f"is {self.names[1 - self.rest]}; save the labels as names of classes"
            )
        distinct = [
            exact.get(str(one), self.number.get(plain, NO_PLACE if plain in gone else self.rest))
            for one, plain in zip(labels.values, labels.plain, strict=True)
        ]
        same = distinct == [*range(len(distinct))]
        places = labels.codes.astype(np.int32) if same else np.array(distinct, np.int32)[labels.codes]
        if min(distinct, default=0) < 0 and (wrong := places < 0).any():
            raise self._unknown(labels, wrong, place)
        return places

    def turned(self) -> Classes:
        """Return two classes in the other order."""
        number = {label: 1 - k if k in (0, 1) else k for label, k in self.number.items()}
        return replace(self, names=self.names[::-1], number=number, rest=(1, 0, NO_PLACE)[self.rest])

    def among(self, names: Sequence[str]) -> Classes:
        """Return classes that are called as these mean with the places that these have."""
        places = {plain_text(name): k for k, name in enumerate(names)}
        sides = [CUSTOM.get(name) for name in places]  # true, 1 and yes are one class
        places = {word: sides.index(side) for word, side in CUSTOM.items() if side in sides} | places
        place_of = [places[one] if one in places else int(one) for one in self.names]
        return replace(self, number={label: place_of[k] for label, k in self.number.items()})

    def _unknown(self, labels: Labels, wrong: Array, place: Place) -> InputError:
        """Return what to say of labels that are none of the classes."""
        row, names = int(wrong.argmax()), listed(self.names)
        said, k = str(labels.values[labels.codes[row]]), len(self.names)
        word, text = said.strip().lower(), labels.meaning == "text"
        if text and word in NOT_AVAILABLE and word in missing_words(self.names):
            return InputError(
                f'{place.row(row)} has the label "{said}", which is not one of the classes {names} and looks '
                f"like a missing one; leave such rows out with --ignore-label {shlex.quote(said)} or "
                "--drop-missing"
            )
        signs = k == 2 and {*labels.values} == {-1, 1}
        if word in (*MISSING_NAMES * text, *map(str, MISSING_NUMBERS)) and not signs:
            return InputError(missing_label(place, row, said if INTEGER.fullmatch(said) else repr(said)))
        unknown = sorted({labels.shown(code) for code in np.unique(labels.codes[wrong])})
        others = f" (unknown in all: {listed(unknown)})" if len(unknown) > 1 else ""
        mend = "name the classes in the order of their scores with --classes"
        if signs:
            mend = "name the two classes with --classes=-1,1"
        elif self.counted and min(labels.numbers) >= 1 and max(labels.numbers) == k:
            each = ",".join(map(str, range(1, k + 1))) if k <= MANY else "1,2,3,..."
            mend = (
                f"labels run from 1 to {k}, but classes are counted from 0 to {k - 1}: subtract 1 from the "
                f"labels, or say --classes {each}"
            )
        elif not text:
            mend += (
                ", each as its labels are, or, if only the largest scores of more classes were saved (a "
                "top-k dump), save the scores of all classes"
            )
        return InputError(
            f"{place.row(row)} has the label {labels.shown(labels.codes[row])}, which is not one of the "
            f"classes {names}{others}; {mend}"
        )


def numbers_of(names: Sequence[str], meaning: Meaning, place: Place) -> tuple[dict[str, int], bool]:
    """Return the places of labels among names of classes, and whether labels count these.

    Text is looked up among the names, and so are numbers, by their value, if one of the names is a number
    other than that of its place; else they are positions. Booleans are the classes true and false. Which
    labels there are is no matter: parts of a data set are read as all of it.

    Raises
    ------
    InputError
        If the names leave open which class a label stands for.
    """
    places = {str(k): k for k in range(len(names))}
    if meaning == "positions":
        return places, True
    if meaning == "text":
        times = Counter(map(plain_text, names))
        return {one: k for k, one in enumerate(map(plain_text, names)) if times[one] == 1}, False
    known = [number_of(name) for name in names]
    counted = all(number is None or number == k for k, number in enumerate(known))
    truth = _truth(names, place, numbers=meaning == "numbers")
    if meaning == "mixed" and not (counted and truth in (None, (0, 1))):
        raise InputError(
            f"{place.name}: the labels are numbers in some parts, but booleans or one-hot in others, and the "
            f"classes are {listed(names)}; save the labels of all parts alike, best as text"
        )
    place_of = places
    if truth is None and not counted:
        place_of = {}
        for k, number in enumerate(known):
            if number is not None and (same := place_of.setdefault(str(number), k)) != k:
                raise _open(place, meaning, [names[same], names[k]])
    pair = truth or (place_of.get("0", NO_PLACE), place_of.get("1", NO_PLACE))
    if meaning == "booleans":
        place_of = dict(zip(("false", "true"), pair, strict=True))
    elif truth is not None:
        place_of = dict(zip("01", pair, strict=True))
    return place_of, truth is None and counted


def _truth(names: Sequence[str], place: Place, *, numbers: bool) -> tuple[int, int] | None:
    """Return the places of the classes that false and true stand for, by the words in their names.

    Of two classes one may have another name, and of more both; 0 and 1 stand for them only where they are
    the two classes.
    """
    folded = [name.casefold() for name in names]
    if numbers:
        return (folded.index("false"), folded.index("true")) if sorted(folded) == [*WORDS[0]] else None
    for words in WORDS:
        at = [[k for k, name in enumerate(folded) if name == word] for word in words]
        if max(map(len, at)) > 1:
            raise _open(place, "booleans", [names[k] for places in at for k in places])
        false, true = (places[0] if places else NO_PLACE for places in at)
        if min(false, true) >= 0:
            return false, true
        if max(false, true) >= 0 and words in WORDS[:2]:
            if len(names) == 2:
                return (1 - true, true) if false == NO_PLACE else (false, 1 - false)
            return false, true
    return None


def _open(place: Place, meaning: Meaning, names: Sequence[str]) -> InputError:
    what = "true and false" if meaning == "booleans" else "numbers"
    return InputError(
        f"{place.name}: the labels are {what}, which do not tell the classes {listed(names)} apart; save "
        "the labels as text, not in CSV, or give these classes and their labels other names"
    )


def classes_of(source: Source, options: ReadOptions) -> tuple[Classes, bool, bool]:
    """Return the classes of what was found with its labels.

    Returns
    -------
    The classes, whether their two columns are in the other order, and whether they are in another order than
    that in which labels count them.

    Raises
    ------
    InputError
        If their names or their order can only be guessed.
    UsageError
        If the options do not fit the number of scores.
    """
    place, width, labels = source.place, source.scores.shape[1], source.labels
    assert labels is not None
    expected, stored = max(width, 2), source.classes
    _require_different(options.classes, expected, place, "--classes")
    if not (width == 1 and stored and len(stored) == 1):
        _require_different(stored, expected, place, "")
    if options.positive is not None and expected > 2:
        raise UsageError(f"--positive is for two classes, but {place.name} has {width}; leave it out")
    if width > 1 and labels.names is not None and not (options.classes or stored):
        raise InputError(
            f"{place.name}: the labels are text ({listed(labels.names, 4)}), but the scores have no class "
            "names; name the classes in the order of the scores with --classes"
        )
    names = _two_names(source, labels, options) if width == 1 else options.classes or stored
    names = names or tuple(map(str, range(width)))
    if options.positive is not None and options.positive not in names:
        raise UsageError(f"--positive {options.positive}: expected one of the classes {listed(names)}")
    swapped = width == 2 and options.positive == names[0]
    said = [one for one in (options.classes, stored) if width == 1 and one and len(one) == 2]
    order = next((one for one in said if {*one} == {*names}), names)  # in which labels count
    known = source.decided and replace(source.decided, names=names)
    if known is None or labels.meaning == "positions":
        alone = options.against_rest
        alone = alone if alone is not None and {*names} == {alone, rest_of(alone)} else None
        number, counted = numbers_of(order, labels.meaning, place)
        rest = NO_PLACE if alone is None or labels.meaning == "positions" else order.index(rest_of(alone))
        known = Classes(order, number, rest, counted)
        known = known if order == names else known.turned()
    _refuse_unordered(source, labels, known)
    return (known.turned() if swapped else known), swapped, swapped or order != names


def _require_different(names: tuple[str, ...] | None, expected: int, place: Place, option: str) -> None:
    """Raise an error unless there is a different name for each class."""
    if names is None or len(names) == len({*names}) == expected:
        return
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    count = f"{len(names)} classes ({listed(names)}){f', {listed(twice)} more than once' if twice else ''}"
    owner, other = (option, f"{place.name} ") if option else (place.name, "")
    raise (UsageError if option else InputError)(
        f"{owner} names {count}, but {other}has scores for {expected}; expected a different name for each, "
        "in their order"
    )


def _two_names(source: Source, labels: Labels, options: ReadOptions) -> tuple[str, ...]:
    """Name both classes where only the second one has scores."""
    place, stored, text = source.place, source.classes, labels.names
    second = options.positive or (stored[-1] if stored else None)
    if second is None and text is not None and are_custom(text):
        second = next(name for name in text if CUSTOM[plain_text(name)] == 1)
    only = stored[0] if stored and len(stored) == 1 else ""
    if only and options.positive and only in (text or ()) and _meaning(only) != _meaning(options.positive):
        raise UsageError(
            f"--positive {options.positive}: the one score per row of {place.name} is named after {only}; "
            f"leave it out, or save the scores of {options.positive}, one minus these if they are "
            "probabilities"
        )
    both = options.classes or (stored if stored and len(stored) == 2 else None)
    if both is not None:
        first, last = both
        numbered = only == "0" and "0" not in map(_meaning, both)
        if (
            options.positive is None
            and only
            and (numbered or (only != last and _meaning(only) == _meaning(first)))
        ):
            raise UsageError(
                f"--classes {first},{last}: the one score per row of {place.name} is named after {only}; say "
                f"whose it is, with --positive {first} or --positive {last} as well"
            )
        return (last, first) if options.positive == first else (first, last)
    if text is None:
        second = second or "1"
        from_one = options.positive is not None and min(labels.numbers) >= 1 and number_of(second)
        other = None if from_one else other_of_two(second, labels.meaning)
        if other is not None:
            return other, second
        others = tuple(str(one) for one in sorted(labels.numbers) if one != number_of(second))
    elif second is None:
        raise InputError(
            f"{place.name} has one score per row and the labels {listed(text)}; "
            "say with --positive which of them the score belongs to"
        )
    else:
        others = tuple(name for name in text if name != second)
    return _other_of(others, second, place), second


def _other_of(others: tuple[str, ...], second: str, place: Place) -> str:
    """Return the one label beside that of the one score."""
    if len(others) == 1:
        return others[0]
    mend = f"name both classes with --classes OTHER,{second}"
    if others:
        gone = [name for name in others if name.strip().lower() in (*MISSING_NAMES, *NOT_AVAILABLE)]
        mend = "choose with --positive, or save the scores of all classes"
        if len(gone) == len(others) - 1:
            leave = " ".join(f"--ignore-label {shlex.quote(name)}" for name in gone)
            mend = f"{listed(gone)} looks like a missing label: leave such rows out with {leave}"
    raise InputError(
        f'{place.name} has one score per row, that of class "{second}", but '
        f"{len(others) or 'no'} other labels{f' ({listed(others)})' if others else ''}; expected one other; "
        f"{mend}"
    )


def other_of_two(second: str, meaning: Meaning) -> str | None:
    """Return the class beside `second` where labels are numbers or booleans; None if they must tell."""
    for words in WORDS if meaning == "booleans" else WORDS[:1]:
        if second.casefold() in words:
            other = words[1 - words.index(second.casefold())]
            return other.upper() if second.isupper() else other.title() if second.istitle() else other
    fixed = {"0": "1", "1": "0", "0.0": "1.0", "1.0": "0.0"}
    if second in fixed or number_of(second) is not None:
        return fixed.get(second)
    return f"not {second}"


def _meaning(name: str) -> str:
    """Return a name so that it is equal where another one is the same, but for capitals, or as a number."""
    return plain_text(name) if (number := number_of(name)) is None else str(number)


def _refuse_unordered(source: Source, labels: Labels, known: Classes) -> None:
    """Refuse labels that count classes which have names, where it is open which of them is 0."""
    name, stored = source.place.name, source.classes
    if not known.counted or labels.names is not None or stored is None:
        return
    if source.decided is None and not source.ordered:
        what = f"the one score of a row is that of {stored[0]}, which may be 0 or 1"
        mend = "say which, with --positive 0 or --positive 1"
        if len(stored) > 1:
            what = f"the scores are those of the classes {listed(stored)}, of which nothing says the order"
            mend = "name them with --classes, that of 0 first"
        raise InputError(f"{name}: the labels are numbers, and {what}; {mend}")
    if source.before:
        kind = "one-hot" if labels.meaning == "positions" else "numbers"
        raise InputError(
            f"{name}: the labels are {kind}, which may count the classes in the order of the file or in that "
            f"of --classes; give --classes in the order of the file, {listed(source.before)}, or save the "
            "labels as names of classes"
        )


def refuse_sorted(source: Source, options: ReadOptions) -> None:
    """Refuse scores that descend in every row, where neither names nor options say that they are of classes.

    Raises
    ------
    InputError
        If there are 20 rows of three scores or more, and all descend.
    """
    columns = source.scores.shape[1]
    named = source.classes is not None and not all(name.isdigit() for name in source.classes)
    if source.by_rank or named or columns < 3 or options.scores is not None or options.classes is not None:
        return
    head = as_floats(source.scores.head(max(FEW, LOOKED_AT // columns)))
    if len(head) < FEW or not (head[:, 1:] <= head[:, :-1]).all():
        return
    if float((head[:, 0] > head[:, -1]).mean()) <= 0.5:
        return  # equal scores have no order
    first, name = in_first(len(head), source.scores.shape[0]), source.place.name
    numbers = {"classes": tuple(map(str, range(columns)))}
    said = (
        f"{name}: {first}the scores descend in every row, as if they were sorted by rank, and "
        "nothing says of which class each is: save them in the order of the classes, or save the classes as "
        "well (index_0 ... beside prob_0 ..., or a list index); if they do stand in the order of the "
        "classes, say "
    )
    raise Question(
        [numbers], lambda offers, shown: said + (shown(offers[0]) if offers else "so with --classes")
    )


def against_custom(classes: Sequence[str], options: ReadOptions) -> bool:
    """Tell whether the class that is positive by custom comes first, as in yes, no; or is missing.

    Parameters
    ----------
    classes
        Names that the scores have in the file; of one score in a row, perhaps that of its class alone.
    options
        `classes` and `positive` may say which label each class is.
    """
    folded = [name.casefold() for name in classes]
    if options.classes is not None or len(folded) > 2:
        return False
    if len(folded) == 2:
        return are_custom(folded) and CUSTOM[folded[0]] == 1
    said = options.positive is not None and number_of(options.positive) is not None
    return not said and [CUSTOM.get(one) for one in folded if not one.isdigit()] == [0]


def in_order(
    classes: tuple[str, ...], columns: tuple[str, ...], options: ReadOptions, name: str
) -> tuple[list[int], tuple[str, ...], tuple[str, ...]]:
    """Order scores by class: as wanted or listed, by number, or as they stand in the file.

    Returns
    -------
    Which of the scores come first, second ..., their classes, and these as `ScoreColumns.before`.
    """
    wanted, given = options.classes, list(range(len(classes)))
    order = natural_order(classes)
    if are_custom(classes):
        order = sorted(given, key=lambda k: CUSTOM[plain_text(classes[k])])
    if tuple(one.strip() for one in (options.scores or "").split(",")) == columns:
        if not all(one.isdigit() for one in classes):  # numbers, which labels are too, go by size
            order = given
        elif wanted is not None and order != given and {*wanted} != {*classes}:
            raise UsageError(
                f"--scores lists the columns of the classes {listed(classes)}, and --classes "
                f"{listed(wanted)}: which is which is open; list columns in the order "
                f"{listed([classes[k] for k in order])}, and names in the same"
            )
    if wanted is None or len(classes) == 1:
        return order, tuple(classes[k] for k in order), ()
    return as_wanted(classes, order, wanted, name, columns)


def as_wanted(
    classes: tuple[str, ...],
    order: list[int],
    wanted: tuple[str, ...],
    name: str,
    columns: Sequence[str] = (),
) -> tuple[list[int], tuple[str, ...], tuple[str, ...]]:
    """Order scores as wanted, or call them so; see `in_order`.

    Parameters
    ----------
    classes, order
        As they are called in the file, and which comes first, second ... without a wish.
    wanted
        The classes, or as many other names.
    name, columns
        The file and the columns, for messages.
    """
    ordered, given = tuple(classes[k] for k in order), list(range(len(classes)))
    alike = wanted
    if {*wanted} != {*classes}:
        known = {_meaning(one): one for one in classes}
        alike = tuple(known[_meaning(one)] for one in wanted if _meaning(one) in known)
    if len(alike) == len(wanted) == len(classes) == len({*alike}):
        called = dict(zip(alike, wanted, strict=True))
        before = () if tuple(alike) in (classes, ordered) else tuple(called[one] for one in ordered)
        return [classes.index(one) for one in alike], wanted, before
    if len(wanted) == len(classes) and ordered == tuple(map(str, given)):
        return order, wanted, ()
    mend = "expected the same names, in any order, or as many others, in the order of the scores"
    if len(wanted) == len(classes) and {*map(str.casefold, wanted)}.isdisjoint(map(str.casefold, classes)):
        if order == given:
            return given, wanted, ()
        shown = ",".join(columns[k] for k in order[:MANY])
        mend = (
            "these do not stand in the order of their numbers, and which is which is open; list them in the "
            f"order of the names, as in --scores {shlex.quote(shown)}"
        )
    raise UsageError(
        f"--classes names {listed(wanted)}, but the scores of {name} belong to {listed(classes)}; {mend}"
    )


def decided_by(c: Candidate, names: tuple[str, ...] | None, order: Sequence[int] = ()) -> Classes:
    """Return the classes as a candidate has them.

    Parameters
    ----------
    c
        The candidate.
    names
        What something calls them.
    order
        Which of its scores come first, second ..., if they were put in another order.
    """
    moved = {k: n for n, k in enumerate(order)} or {k: k for k in range(c.p.shape[1])}
    number = {label: moved[k] for label, k in c.number.items() if k in moved}
    return Classes(names or (), number, moved.get(c.rest, NO_PLACE), c.how == "places")


def names_of(c: Candidate, options: ReadOptions) -> tuple[str, ...] | None:
    """Return what the classes are called, in the order of the scores, where something says it."""
    source = c.source
    if source.form == "ranked":
        return None
    if not source.many:
        return None if options.system else names_of_one(c, options)
    if c.names:
        called = spelled(c.head, c.label)
        return tuple(called.get(plain_text(one), one) for one in c.names)
    if source.form == "lists":
        return None
    if c.how == "names" and c.label:
        called = spelled(c.head, c.label)
        there = set(called.values())
        return tuple(one if one in there else _as_labels(one, called) for one in source.classes)
    if c.how == "custom":
        called = spelled(c.head, c.label)
        words = {CUSTOM[text]: word for text, word in called.items()}
        if c.head.columns[c.label].dtype.kind == "O":
            return tuple(words.get(CUSTOM[plain_text(one)], one) for one in source.classes)
    return source.classes


def _as_labels(name: str, called: Mapping[str, str]) -> str:
    """Return the name of a class as labels spell it, if they do but for spaces."""
    label = called.get(plain_text(name), name)
    return label if label.strip() == name.strip() else name


def names_of_one(c: Candidate, options: ReadOptions) -> tuple[str, ...] | None:
    """Return the class of one score, or both, the one it is of last; None if it is that of 1, or of true."""
    prefixed, stem = PREFIXED.fullmatch(c.source.columns[0]), stem_before(c.source.columns[0])
    is_class = stem and (plain_text(stem) in BARE or plain_text(stem) in c.own)
    name = prefixed[2] if prefixed else stem if is_class else None
    if not c.label or options.classes or options.positive or options.against_rest:
        number = name in ("0", "1") and c.label in c.head.ordered and options.positive
        return None if name is None or number else (name,)
    called = spelled(c.head, c.label)
    if c.positive in ("1", "true") and c.own <= {"0", "1", "false", "true"}:
        return None if name is None or plain_text(name) in BARE else (name,)
    other = [text for text in called if text != c.positive]
    if len(other) > 1:
        return (called[c.positive],)
    last = called.get(c.positive, c.positive)
    return (called[other[0]], last) if other else (last,)
