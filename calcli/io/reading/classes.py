"""The classes: their names in the order of the scores, and the class of each label; decided once.

If a candidate was chosen, its values have shown which class each label is. If scores and labels were fixed
from the start, as in arrays and separate label files, names and numbers decide.
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
from calcli.io.reading.head import descend
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
MANY = 20  # more classes than this are not written out one by one
NO_PLACE = -1
WORDS = (("false", "true"), ("no", "yes"), ("f", "t"), ("n", "y"))  # of booleans


@dataclass(frozen=True)
class Classes:
    """The names of the classes, and the class of each label.

    Attributes
    ----------
    names
        In the order of the scores; the class of a single score comes last.
    number
        The place of each label among the classes, by its canonical text, `plain_text`.
    rest
        The place of all other labels, for one class against the rest; else -1.
    counted
        Whether labels count the classes: no name says which class a number is.
    """

    names: tuple[str, ...]
    number: Mapping[str, int]
    rest: int = NO_PLACE
    counted: bool = False

    def places(self, labels: Labels, place: Place) -> Array:
        """Return the (N,) int32 places of the labels among the classes.

        Raises
        ------
        InputError
            If a label is none of the classes.
        """
        labels.require(place)
        exact = {name: k for k, name in enumerate(self.names)} if labels.meaning == "text" else {}
        missing = missing_words(self.names)
        if self.rest != NO_PLACE and labels.meaning != "text" and {*labels.plain}.isdisjoint(self.number):
            raise InputError(
                f"{place.name}: the labels are {listed(labels.plain)}, which do not tell whether the class "
                f"is {self.names[1 - self.rest]}; save the labels as names of classes"
            )
        distinct = [
            exact.get(str(label), self.number.get(plain, NO_PLACE if plain in missing else self.rest))
            for label, plain in zip(labels.values, labels.plain, strict=True)
        ]
        places = labels.look_up(np.array(distinct, np.int32))
        if min(distinct, default=0) < 0 and (wrong := places < 0).any():
            raise self._unknown(labels, wrong, place)
        return places

    def turned(self) -> Classes:
        """Return the two classes in reverse order."""
        number = {label: 1 - k if k in (0, 1) else k for label, k in self.number.items()}
        return replace(self, names=self.names[::-1], number=number, rest=(1, 0, NO_PLACE)[self.rest])

    def among(self, names: Sequence[str]) -> Classes:
        """Return the classes with the places that `names` of the same meaning have."""
        places = {plain_text(name): k for k, name in enumerate(names)}
        sides = [CUSTOM.get(name) for name in places]  # true, 1 and yes are one class
        places = {word: sides.index(side) for word, side in CUSTOM.items() if side in sides} | places
        place_of = [places[name] if name in places else int(name) for name in self.names]
        return replace(self, number={label: place_of[k] for label, k in self.number.items()})

    def _unknown(self, labels: Labels, wrong: Array, place: Place) -> InputError:
        """Return the error about labels outside the classes."""
        row, names = int(wrong.argmax()), listed(self.names)
        label, k = str(labels.values[labels.codes[row]]), len(self.names)
        word, text = label.strip().lower(), labels.meaning == "text"
        if text and word in NOT_AVAILABLE and word in missing_words(self.names):
            return InputError(
                f'{place.row(row)} has the label "{label}", which is not one of the classes {names} and '
                f"looks like a missing one; leave such rows out with --ignore-label {shlex.quote(label)} or "
                "--drop-missing"
            )
        signs = k == 2 and {*labels.values} == {-1, 1}
        if word in (*MISSING_NAMES * text, *map(str, MISSING_NUMBERS)) and not signs:
            return InputError(missing_label(place, row, label if INTEGER.fullmatch(label) else repr(label)))
        unknown = sorted({labels.shown(code) for code in np.unique(labels.codes[wrong])})
        all_unknown = f" (unknown in all: {listed(unknown)})" if len(unknown) > 1 else ""
        mend = "name the classes in the order of their scores with --classes"
        if signs:
            mend = "name the two classes with --classes=-1,1"
        elif self.counted and min(labels.numbers) >= 1 and max(labels.numbers) == k:
            numbers = ",".join(map(str, range(1, k + 1))) if k <= MANY else "1,2,3,..."
            mend = (
                f"labels run from 1 to {k}, but classes are counted from 0 to {k - 1}: subtract 1 from the "
                f"labels, or say --classes {numbers}"
            )
        elif not text:
            mend += (
                ", each as its labels are, or, if only the largest scores of more classes were saved (a "
                "top-k dump), save the scores of all classes"
            )
        return InputError(
            f"{place.row(row)} has the label {labels.shown(labels.codes[row])}, which is not one of the "
            f"classes {names}{all_unknown}; {mend}"
        )


def numbers_of(names: Sequence[str], meaning: Meaning, place: Place) -> tuple[dict[str, int], bool]:
    """Return the places of labels among class names, and whether labels count the classes.

    Text is looked up among the names. Numbers are looked up by value if some name is a number other than its
    own place; otherwise they are positions. Booleans are the classes true and false. Which labels occur does
    not matter: parts of a data set are read like all of it.

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
        return {name: k for k, name in enumerate(map(plain_text, names)) if times[name] == 1}, False
    numbers = [number_of(name) for name in names]
    counted = all(number is None or number == k for k, number in enumerate(numbers))
    truth = _truth(names, place, numbers=meaning == "numbers")
    if meaning == "mixed" and not (counted and truth in (None, (0, 1))):
        raise InputError(
            f"{place.name}: the labels are numbers in some parts, but booleans or one-hot in others, and the "
            f"classes are {listed(names)}; save the labels of all parts alike, best as text"
        )
    place_of = places
    if truth is None and not counted:
        place_of = {}
        for k, number in enumerate(numbers):
            if number is not None and (same := place_of.setdefault(str(number), k)) != k:
                raise _ambiguous(place, meaning, [names[same], names[k]])
    pair = truth or (place_of.get("0", NO_PLACE), place_of.get("1", NO_PLACE))
    if meaning == "booleans":
        place_of = dict(zip(("false", "true"), pair, strict=True))
    elif truth is not None:
        place_of = dict(zip("01", pair, strict=True))
    return place_of, truth is None and counted


def _truth(names: Sequence[str], place: Place, *, numbers: bool) -> tuple[int, int] | None:
    """Return the places of the classes for false and true, by the words in their names.

    One of two classes may have another name, and so may both among more classes. Numbers stand for false
    and true only if there are no other classes.
    """
    folded = [name.casefold() for name in names]
    if numbers:
        return (folded.index("false"), folded.index("true")) if sorted(folded) == [*WORDS[0]] else None
    for words in WORDS:
        by_word = [[k for k, name in enumerate(folded) if name == word] for word in words]
        if max(map(len, by_word)) > 1:
            raise _ambiguous(place, "booleans", [names[k] for places in by_word for k in places])
        false, true = (places[0] if places else NO_PLACE for places in by_word)
        if min(false, true) >= 0:
            return false, true
        if max(false, true) >= 0 and words in WORDS[:2]:
            if len(names) == 2:
                return (1 - true, true) if false == NO_PLACE else (false, 1 - false)
            return false, true
    return None


def _ambiguous(place: Place, meaning: Meaning, names: Sequence[str]) -> InputError:
    values = "true and false" if meaning == "booleans" else "numbers"
    return InputError(
        f"{place.name}: the labels are {values}, which do not tell the classes {listed(names)} apart; save "
        "the labels as text, not in CSV, or give these classes and their labels other names"
    )


def classes_of(source: Source, options: ReadOptions) -> tuple[Classes, bool, bool]:
    """Return the classes of a source that has labels.

    Returns
    -------
    The classes, whether their two columns must be swapped, and whether labels count them in another order.

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
    pairs = [pair for pair in (options.classes, stored) if width == 1 and pair and len(pair) == 2]
    order = next((pair for pair in pairs if {*pair} == {*names}), names)  # in which labels count
    classes = source.decided and replace(source.decided, names=names)
    if classes is None or labels.meaning == "positions":
        target = options.against_rest
        target = target if target is not None and {*names} == {target, rest_of(target)} else None
        number, counted = numbers_of(order, labels.meaning, place)
        index = NO_PLACE if target is None or labels.meaning == "positions" else order.index(rest_of(target))
        classes = Classes(order, number, rest=index, counted=counted)
        classes = classes if order == names else classes.turned()
    _refuse_unordered(source, labels, classes)
    return (classes.turned() if swapped else classes), swapped, swapped or order != names


def _require_different(names: tuple[str, ...] | None, expected: int, place: Place, option: str) -> None:
    """Raise an error unless each class has a different name."""
    if names is None or len(names) == len({*names}) == expected:
        return
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    count = f"{len(names)} classes ({listed(names)}){f', {listed(twice)} more than once' if twice else ''}"
    owner, file = (option, f"{place.name} ") if option else (place.name, "")
    raise (UsageError if option else InputError)(
        f"{owner} names {count}, but {file}has scores for {expected}; expected a different name for each, "
        "in their order"
    )


def _two_names(source: Source, labels: Labels, options: ReadOptions) -> tuple[str, ...]:
    """Return the names of both classes if only the second class has scores."""
    place, stored, text = source.place, source.classes, labels.names
    second = options.positive or (stored[-1] if stored else None)
    if second is None and text is not None and are_custom(text):
        second = next(name for name in text if CUSTOM[plain_text(name)] == 1)
    only = stored[0] if stored and len(stored) == 1 else ""
    if only and options.positive and only in (text or ()) and _folded(only) != _folded(options.positive):
        raise UsageError(
            f"--positive {options.positive}: the one score per row of {place.name} is named after {only}; "
            f"leave it out, or save the scores of {options.positive}, one minus these if they are "
            "probabilities"
        )
    pair = options.classes or (stored if stored and len(stored) == 2 else None)
    if pair is not None:
        class_0, class_1 = pair
        of_opposite = only == "0" and "0" not in map(_folded, pair)
        of_opposite = of_opposite or (only != class_1 and _folded(only) == _folded(class_0))
        if only and of_opposite and options.positive is None:
            raise UsageError(
                f"--classes {class_0},{class_1}: the one score per row of {place.name} is named after "
                f"{only}; say whose it is, with --positive {class_0} or --positive {class_1} as well"
            )
        return (class_1, class_0) if options.positive == class_0 else (class_0, class_1)
    if text is None:
        second = second or "1"
        from_one = options.positive is not None and min(labels.numbers) >= 1 and number_of(second)
        opposite = None if from_one else other_of_two(second, labels.meaning)
        if opposite is not None:
            return opposite, second
        opposites = tuple(str(number) for number in sorted(labels.numbers) if number != number_of(second))
    elif second is None:
        raise InputError(
            f"{place.name} has one score per row and the labels {listed(text)}; "
            "say with --positive which of them the score belongs to"
        )
    else:
        opposites = tuple(name for name in text if name != second)
    return _only_opposite(opposites, second, place), second


def _only_opposite(labels: tuple[str, ...], second: str, place: Place) -> str:
    """Return the only label besides `second`, the class of the scores."""
    if len(labels) == 1:
        return labels[0]
    mend = f"name both classes with --classes OTHER,{second}"
    if labels:
        missing = [name for name in labels if name.strip().lower() in (*MISSING_NAMES, *NOT_AVAILABLE)]
        mend = "choose with --positive, or save the scores of all classes"
        if len(missing) == len(labels) - 1:
            ignored = " ".join(f"--ignore-label {shlex.quote(name)}" for name in missing)
            mend = f"{listed(missing)} looks like a missing label: leave such rows out with {ignored}"
    raise InputError(
        f'{place.name} has one score per row, that of class "{second}", but '
        f"{len(labels) or 'no'} other labels{f' ({listed(labels)})' if labels else ''}; expected one other; "
        f"{mend}"
    )


def other_of_two(second: str, meaning: Meaning) -> str | None:
    """Return the class opposite `second` if labels are numbers or booleans; None if only labels can tell."""
    for words in WORDS if meaning == "booleans" else WORDS[:1]:
        if second.casefold() in words:
            word = words[1 - words.index(second.casefold())]
            return word.upper() if second.isupper() else word.title() if second.istitle() else word
    fixed = {"0": "1", "1": "0", "0.0": "1.0", "1.0": "0.0"}
    if second in fixed or number_of(second) is not None:
        return fixed.get(second)
    return f"not {second}"


def _folded(name: str) -> str:
    """Return a name in a form that ignores capitals and how numbers are written."""
    return plain_text(name) if (number := number_of(name)) is None else str(number)


def _refuse_unordered(source: Source, labels: Labels, classes: Classes) -> None:
    """Refuse labels that count named classes if nothing says which class is 0."""
    name, stored = source.place.name, source.classes
    if not classes.counted or labels.names is not None or stored is None:
        return
    if source.decided is None and not source.ordered:
        reason = f"the one score of a row is that of {stored[0]}, which may be 0 or 1"
        mend = "say which, with --positive 0 or --positive 1"
        if len(stored) > 1:
            reason = f"the scores are those of the classes {listed(stored)}, of which nothing says the order"
            mend = "name them with --classes, that of 0 first"
        raise InputError(f"{name}: the labels are numbers, and {reason}; {mend}")
    if source.before:
        kind = "one-hot" if labels.meaning == "positions" else "numbers"
        raise InputError(
            f"{name}: the labels are {kind}, which may count the classes in the order of the file or in that "
            f"of --classes; give --classes in the order of the file, {listed(source.before)}, or save the "
            "labels as names of classes"
        )


def refuse_sorted(source: Source, options: ReadOptions) -> None:
    """Refuse scores that descend in every row unless names or options say which classes they belong to.

    Raises
    ------
    InputError
        If there are at least 20 rows of at least three scores, and all descend.
    """
    columns = source.scores.shape[1]
    words = source.classes is not None and not all(name.isdigit() for name in source.classes)
    if source.by_rank or words or columns < 3 or options.scores is not None or options.classes is not None:
        return
    head = as_floats(source.scores.head(max(FEW, LOOKED_AT // columns)))
    if len(head) < FEW or not descend(head):
        return
    rows, name = in_first(len(head), source.scores.shape[0]), source.place.name
    numbers = {"classes": tuple(map(str, range(columns)))}
    message = (
        f"{name}: {rows}the scores descend in every row, as if they were sorted by rank, and "
        "nothing says of which class each is: save them in the order of the classes, or save the classes as "
        "well (index_0 ... beside prob_0 ..., or a list index); if they do stand in the order of the "
        "classes, say "
    )
    raise Question(
        [numbers], lambda offers, command: message + (command(offers[0]) if offers else "so with --classes")
    )


def against_custom(classes: Sequence[str], options: ReadOptions) -> bool:
    """Tell whether the customary positive class comes first, as in yes, no, or has no scores.

    Parameters
    ----------
    classes
        The class names of the scores in the file; for one score per row, perhaps only its own class.
    options
        `classes` and `positive` may say which label each class is.
    """
    folded = [name.casefold() for name in classes]
    if options.classes is not None or len(folded) > 2:
        return False
    if len(folded) == 2:
        return are_custom(folded) and CUSTOM[folded[0]] == 1
    by_number = options.positive is not None and number_of(options.positive) is not None
    return not by_number and [CUSTOM.get(name) for name in folded if not name.isdigit()] == [0]


def in_order(
    classes: tuple[str, ...], columns: tuple[str, ...], options: ReadOptions, name: str
) -> tuple[list[int], tuple[str, ...], tuple[str, ...]]:
    """Order scores by class: as wanted or listed, by number, or as in the file.

    Returns
    -------
    The places of the scores in this order, their classes, and the classes as in `ScoreColumns.before`.
    """
    wanted, stored = options.classes, list(range(len(classes)))
    order = natural_order(classes)
    if are_custom(classes):
        order = sorted(stored, key=lambda k: CUSTOM[plain_text(classes[k])])
    if tuple(column.strip() for column in (options.scores or "").split(",")) == columns:
        if not all(label.isdigit() for label in classes):  # numbers go by size, as in labels
            order = stored
        elif wanted is not None and order != stored and {*wanted} != {*classes}:
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
    """Order scores as wanted, or rename their classes; see `in_order`.

    Parameters
    ----------
    classes, order
        The class names in the file, and the places of the scores in the default order.
    wanted
        The classes in the wanted order, or equally many other names.
    name, columns
        The file and the columns, for messages.
    """
    ordered, stored = tuple(classes[k] for k in order), list(range(len(classes)))
    matching = wanted
    if {*wanted} != {*classes}:
        by_word = {_folded(label): label for label in classes}
        matching = tuple(by_word[_folded(label)] for label in wanted if _folded(label) in by_word)
    if len(matching) == len(wanted) == len(classes) == len({*matching}):
        new_name = dict(zip(matching, wanted, strict=True))
        before = () if tuple(matching) in (classes, ordered) else tuple(new_name[label] for label in ordered)
        return [classes.index(label) for label in matching], wanted, before
    if len(wanted) == len(classes) and ordered == tuple(map(str, stored)):
        return order, wanted, ()
    mend = "expected the same names, in any order, or as many others, in the order of the scores"
    if len(wanted) == len(classes) and {*map(str.casefold, wanted)}.isdisjoint(map(str.casefold, classes)):
        if order == stored:
            return stored, wanted, ()
        in_order = ",".join(columns[k] for k in order[:MANY])
        mend = (
            "these do not stand in the order of their numbers, and which is which is open; list them in the "
            f"order of the names, as in --scores {shlex.quote(in_order)}"
        )
    raise UsageError(
        f"--classes names {listed(wanted)}, but the scores of {name} belong to {listed(classes)}; {mend}"
    )


def decided_by(c: Candidate, names: tuple[str, ...] | None, order: Sequence[int] = ()) -> Classes:
    """Return the classes of a candidate.

    Parameters
    ----------
    c
        The candidate.
    names
        The class names, if something tells them.
    order
        The places of its scores in their new order, if they were reordered.
    """
    moved = {k: n for n, k in enumerate(order)} or {k: k for k in range(c.p.shape[1])}
    number = {label: moved[k] for label, k in c.number.items() if k in moved}
    return Classes(names or (), number, moved.get(c.rest, NO_PLACE), c.how == "places")


def names_of(c: Candidate, options: ReadOptions) -> tuple[str, ...] | None:
    """Return the class names in the order of the scores; None if nothing tells them."""
    source = c.source
    if source.form == "ranked":
        return None
    if not source.many:
        return None if options.system else names_of_one(c, options)
    if c.names:
        spelling = spelled(c.head, c.label)
        return tuple(spelling.get(plain_text(name), name) for name in c.names)
    if source.form == "lists":
        return None
    if c.how == "names" and c.label:
        spelling = spelled(c.head, c.label)
        labels = set(spelling.values())
        return tuple(name if name in labels else _as_labels(name, spelling) for name in source.classes)
    if c.how == "custom":
        spelling = spelled(c.head, c.label)
        words = {CUSTOM[text]: word for text, word in spelling.items()}
        if c.head.columns[c.label].dtype.kind == "O":
            return tuple(words.get(CUSTOM[plain_text(name)], name) for name in source.classes)
    return source.classes


def _as_labels(name: str, spelling: Mapping[str, str]) -> str:
    """Return a class name as labels spell it, if they differ in spaces only."""
    label = spelling.get(plain_text(name), name)
    return label if label.strip() == name.strip() else name


def names_of_one(c: Candidate, options: ReadOptions) -> tuple[str, ...] | None:
    """Return the class of a single score, or both classes with it last; None if it is just 1 or true."""
    prefixed, stem = PREFIXED.fullmatch(c.source.columns[0]), stem_before(c.source.columns[0])
    is_class = stem and (plain_text(stem) in BARE or plain_text(stem) in c.own)
    name = prefixed[2] if prefixed else stem if is_class else None
    if not c.label or options.classes or options.positive or options.against_rest:
        number = name in ("0", "1") and c.label in c.head.ordered and options.positive
        return None if name is None or number else (name,)
    spelling = spelled(c.head, c.label)
    if c.positive in ("1", "true") and c.own <= {"0", "1", "false", "true"}:
        return None if name is None or plain_text(name) in BARE else (name,)
    negatives = [text for text in spelling if text != c.positive]
    if len(negatives) > 1:
        return (spelling[c.positive],)
    last = spelling.get(c.positive, c.positive)
    return (spelling[negatives[0]], last) if negatives else (last,)
