"""Names of the classes and their order: as a file has them, as an option says, or numbers."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence

from calcli.core.data.arrays import as_floats
from calcli.core.language.errors import InputError, UsageError
from calcli.io.messages import Place, Question, in_first, listed
from calcli.io.options import ReadOptions
from calcli.io.tables.labels import (
    MISSING_NAMES,
    NOT_AVAILABLE,
    Labels,
    are_places,
    number_of,
    other_of_two,
    same_name,
)
from calcli.io.tables.source import Source
from calcli.io.words import CUSTOM, are_custom, plain_text

FEW = 20  # rows that may descend by chance
LOOKED_AT = 1 << 16  # elements


def class_names(
    stored: tuple[str, ...] | None, columns: int, labels: Labels, options: ReadOptions, place: Place
) -> tuple[str, ...]:
    """Return a name for each class, in the order of the scores.

    Parameters
    ----------
    stored
        Names the columns have in the file; the reader has already put them in the order of `--classes`.
    columns
        Scores in a row; 1 means that of the second class of two.
    labels
        As stored.
    options
        `classes` and `positive`.
    place
        For messages.

    Raises
    ------
    InputError
        If the names can only be guessed.
    UsageError
        If the options do not fit the number of scores.
    """
    expected = max(columns, 2)
    if options.classes is not None:
        _check_option(options.classes, expected, place)
    if stored is not None and not (columns == 1 and len(stored) == 1):
        _check_stored(stored, expected, place)
    if options.positive is not None and expected > 2:
        raise UsageError(f"--positive is for two classes, but {place.name} has {columns}; leave it out")
    if columns == 1:
        return _two_names(stored, labels, options, place)
    if options.classes is None and stored is None and labels.names is not None:
        raise InputError(
            f"{place.name}: the labels are text ({listed(labels.names, 4)}), but the scores have no class "
            "names; name the classes in the order of the scores with --classes"
        )
    names = options.classes or stored or tuple(map(str, range(columns)))
    if options.positive is not None and options.positive not in names:
        raise UsageError(f"--positive {options.positive}: expected one of the classes {listed(names)}")
    return names


def _repeated(names: tuple[str, ...]) -> list[str]:
    return sorted(name for name, times in Counter(names).items() if times > 1)


def _check_option(classes: tuple[str, ...], expected: int, place: Place) -> None:
    repeated = _repeated(classes)
    if repeated:
        raise UsageError(
            f"--classes names {listed(repeated)} more than once; expected {expected} different names"
        )
    if len(classes) != expected:
        raise UsageError(
            f"--classes names {len(classes)} classes ({listed(classes)}), but {place.name} has scores for "
            f"{expected}"
        )


def _check_stored(classes: tuple[str, ...], expected: int, place: Place) -> None:
    repeated = _repeated(classes)
    if repeated:
        raise InputError(
            f"{place.name} names the classes {listed(repeated)} more than once; expected "
            f"{expected} different names; save others"
        )
    if len(classes) != expected:
        raise InputError(
            f"{place.name} names {len(classes)} classes ({listed(classes)}), but has scores for {expected}; "
            "expected a name for each; save the names of all classes, in the order of the scores"
        )


def _two_names(
    stored: tuple[str, ...] | None, labels: Labels, options: ReadOptions, place: Place
) -> tuple[str, ...]:
    """Name both classes where only the second one has scores."""
    second = options.positive or (stored[-1] if stored else None)
    if second is None and labels.names is not None and are_custom(labels.names):
        second = next(name for name in labels.names if CUSTOM[plain_text(name)] == 1)
    if options.positive and stored and len(stored) == 1 and labels.names is not None:
        _refuse_other_class(stored[0], options.positive, labels.names, place)
    both = options.classes or (stored if stored and len(stored) == 2 else None)
    if both is not None:
        first, last = both
        if options.positive is None and stored == ("0",) and not any(same_name(one, "0") for one in both):
            raise UsageError(
                f"--classes {first},{last}: the one score per row of {place.name} is numbered 0; say whose "
                f"it is, with --positive {first} or --positive {last} as well"
            )
        if options.positive is None and stored and stored[-1] != last and same_name(stored[-1], first):
            counted = labels.names is None and are_places(labels.meaning, both, place)
            raise UsageError(
                f"--classes {first},{last}: the one score per row of {place.name} is named after {first}; "
                + (f"if that is label 0 say --positive {first} as well, else " if counted else "")
                + f"expected it last, as in --classes {last},{first}"
            )
        if options.positive is not None and options.positive not in both:
            raise UsageError(f"--positive {options.positive}: expected one of the classes {first} and {last}")
        return (last, first) if options.positive == first else (first, last)
    if labels.names is None:
        second = second or "1"
        from_one = options.positive is not None and min(labels.numbers) >= 1
        if (
            not (from_one and number_of(second))
            and (other := other_of_two(second, labels.meaning)) is not None
        ):
            return other, second
        others = sorted(one for one in labels.numbers if one != number_of(second))
        return _with_other(tuple(map(str, others)), second, place)
    if second is None:
        raise InputError(
            f"{place.name} has one score per row and the labels {listed(labels.names)}; "
            "say with --positive which of them the score belongs to"
        )
    return _with_other(tuple(name for name in labels.names if name != second), second, place)


def _refuse_other_class(own: str, positive: str, labels: Sequence[str], place: Place) -> None:
    """Refuse a name for the class of one score in a row if it is named after the other class."""
    if own in labels and not same_name(own, positive):
        raise UsageError(
            f"--positive {positive}: the one score per row of {place.name} is named after {own}; leave it "
            f"out, or save the scores of {positive}, one minus these if they are probabilities"
        )


def _with_other(others: tuple[str, ...], second: str, place: Place) -> tuple[str, ...]:
    if len(others) == 1:
        return others[0], second
    if not others:
        raise InputError(
            f'{place.name}: all labels are "{second}"; name both classes with --classes OTHER,{second}'
        )
    gone = [name for name in others if name.strip().lower() in (*MISSING_NAMES, *NOT_AVAILABLE)]
    mend = "choose with --positive, or save the scores of all classes"
    if len(gone) == len(others) - 1:
        leave = " ".join(f"--ignore-label {shlex.quote(name)}" for name in gone)
        mend = f"{listed(gone)} looks like a missing label: leave such rows out with {leave}"
    raise InputError(
        f'{place.name} has one score per row, that of class "{second}", but {len(others)} other labels '
        f"({listed(others)}); expected one other; {mend}"
    )


def refuse_sorted(found: Source, options: ReadOptions) -> None:
    """Refuse scores that descend in every row, where neither names nor options say that they are of classes.

    Raises
    ------
    InputError
        If there are 20 rows of three scores or more, and all descend.
    """
    columns = found.scores.shape[1]
    named = found.classes is not None and not all(name.isdigit() for name in found.classes)
    if found.by_rank or named or columns < 3 or options.scores is not None or options.classes is not None:
        return
    head = as_floats(found.scores.head(max(FEW, LOOKED_AT // columns)))
    if len(head) < FEW or not (head[:, 1:] <= head[:, :-1]).all():
        return
    if float((head[:, 0] > head[:, -1]).mean()) <= 0.5:
        return  # equal scores have no order
    first, name = in_first(len(head), found.scores.shape[0]), found.place.name
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
    """Tell whether class 0 by its place is the one that is 1 by custom, as in yes, no; or the only one is 0.

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


def refuse_unordered(found: Source, labels: Labels, options: ReadOptions) -> None:
    """Refuse labels that are positions where scores have names of classes, and it is open which of them is 0.

    Raises
    ------
    InputError
        If that is so.
    """
    classes, name = found.classes, found.place.name
    if labels.names is not None or classes is None:
        return
    both = classes if len(classes) > 1 else (other_of_two(classes[0], labels.meaning) or "", *classes)
    if not are_places(labels.meaning, both, found.place):
        return
    if found.decided and not found.before and options.positive is None:
        return
    if not found.ordered and len(classes) == 1:
        raise InputError(
            f"{name}: the labels are numbers, and the one score of a row is that of {classes[0]}, which may "
            "be 0 or 1; say which, with --positive 0 or --positive 1"
        )
    if not found.ordered:
        raise InputError(
            f"{name}: the labels are numbers, and the scores are those of the classes {listed(classes)}, of "
            "which nothing says the order; name them with --classes, that of 0 first"
        )
    if found.before:
        kind = "one-hot" if labels.meaning == "positions" else "numbers"
        raise InputError(
            f"{name}: the labels are {kind}, which may count the classes in the order of the file or in that "
            f"of --classes; give --classes in the order of the file, {listed(found.before)}, or save the "
            "labels as names of classes"
        )
