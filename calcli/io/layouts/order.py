"""Scores sorted in each row, so that their place says a rank and not a class; classes without an order."""

from __future__ import annotations

from calcli.core.data.logspace import as_floats
from calcli.core.language.errors import InputError
from calcli.io.labels import Labels
from calcli.io.layouts.candidates import command
from calcli.io.messages import listed
from calcli.io.options import ReadOptions
from calcli.io.source import Source

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
    name = found.place.parts[0][0]
    numbers = ",".join(map(str, range(columns))) if columns <= 20 else "0,1,2,..."
    raise InputError(
        f"{found.place.name}: the scores descend in every row, as if they were sorted by rank, and nothing "
        "says of which class each is: save them in the order of the classes, or save the classes as well "
        "(index_0 ... beside prob_0 ..., or a list index); if they do stand in the order of the classes, say "
        f"{command(name, '--classes', numbers)}"
    )


def refuse_unordered(found: Source, labels: Labels) -> None:
    """Refuse labels in numbers where scores have names of classes, and nothing says which of them is 0.

    Raises
    ------
    InputError
        If that is so.
    """
    if found.ordered or labels.names is not None or found.classes is None:
        return
    raise InputError(
        f"{found.place.name}: the labels are numbers, and the scores are those of the classes "
        f"{listed(found.classes)}, of which nothing says the order; name them with --classes, that of 0 "
        "first"
    )
