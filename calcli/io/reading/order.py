"""Scores sorted in each row, so that their place says a rank and not a class; classes without an order."""

from __future__ import annotations

from collections.abc import Sequence

from calcli.core.data.arrays import as_floats
from calcli.core.language.errors import InputError
from calcli.io.messages import in_first, listed
from calcli.io.offers import Question
from calcli.io.options import ReadOptions
from calcli.io.tables.labelnumbers import are_places, number_of, other_of_two
from calcli.io.tables.labels import Labels
from calcli.io.tables.source import Source
from calcli.io.words import CUSTOM, are_custom

FEW = 20  # rows that may descend by chance
LOOKED_AT = 1 << 16  # elements


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
    named = found.by_rank and not all(name.isdigit() for name in classes)
    if named and labels.codes.min() > 0 and labels.codes.max() == len(classes):
        raise InputError(
            f"{name}: the labels run from {labels.codes.min()} to {len(classes)}, and those of the classes "
            f"{listed(classes)} from 0; save the labels as these names"
        )
