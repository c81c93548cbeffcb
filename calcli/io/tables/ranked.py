"""Scores sorted by rank: columns such as `index_0` name the class that `prob_0` is the score of.

So are predictions saved after a "top k" of all classes: `index_0.. prob_0..`, or lists `index` and `prob`;
classes may also be named, as in `label_0..`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NoReturn, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from calcli.core.data.arrays import Array
from calcli.core.language.errors import InputError, UsageError
from calcli.io.messages import listed
from calcli.io.options import ReadOptions
from calcli.io.tables.scores import TableScores, first_of_other_length, first_whole
from calcli.io.tables.table import Table, holds_of
from calcli.io.tables.values import missing_in
from calcli.io.words import (
    CUSTOM,
    are_custom,
    but_for_capitals,
    differ_in_numbers,
    natural_order,
)

ENOUGH = 100  # rows that have the same numbers in some order if these name the classes


@dataclass(frozen=True)
class RankedScores(TableScores):
    """Scores sorted differently in each row, rearranged in the order of the classes.

    Attributes
    ----------
    by_rank
        The scores as they are stored.
    ranks
        Columns with the class of each score: one per score, or one of lists.
    classes
        Class names.
    by_name
        Whether the ranks are class names; if not, they are numbers counted from 0.
    ordered
        Whether the order of the classes is known; if not, they stand in alphabetical order.
    """

    by_rank: TableScores
    ranks: tuple[str, ...]
    classes: tuple[str, ...]
    by_name: bool
    ordered: bool = True

    def within(self, table: Table) -> Self:
        """Return the scores in the same columns of another table."""
        return replace(self, table=table, by_rank=self.by_rank.within(table))

    def missing(self) -> NDArray[np.bool_]:
        """Return (N,) which rows lack a score, or the class of one."""
        return missing_in(self.table, self.names, self.classes)

    @property
    def note(self) -> str:
        """A sentence for the user on how they are read."""
        rank_column, scores = self.ranks[0], self.by_rank.names[0]
        which = f"the first of {scores}" if len(self.ranks) == 1 else scores
        return f"the scores are sorted by rank: {which} is taken for the score of the class in {rank_column}"

    def values(self, batch: Any, at: int) -> Array:
        """Return the scores in the order of the classes.

        Raises
        ------
        InputError
            If the ranks of a row are not each class once.
        """
        scores = self.by_rank.values(batch.select(list(self.by_rank.names)), at)
        values = np.empty(scores.shape, scores.dtype)
        np.put_along_axis(values, self.positions(batch, at), scores, axis=1)
        return values

    def positions(self, batch: Any, at: int) -> NDArray[np.intp]:
        """Return for each score of a row, in the order stored, the position of its class.

        Raises
        ------
        InputError
            If the ranks of a row are not each class once.
        """
        columns, k = batch.select(list(self.ranks)).columns, self.shape[1]
        if len(columns) == 1:
            if (row := first_of_other_length(columns[0], k)) is not None:
                self._refuse(at + row)
            columns = [columns[0].flatten()]
        stored = np.stack([self._numbers(column) for column in columns], axis=1).reshape(batch.num_rows, k)
        with np.errstate(invalid="ignore"):  # nan is no class
            positions = stored.astype(np.intp)
        sound = (positions == stored) & (positions >= 0) & (positions < k)
        seen = np.zeros(positions.shape, bool)
        np.put_along_axis(seen, np.where(sound, positions, 0), True, axis=1)
        if (wrong := ~(sound & seen).all(axis=1)).any():
            self._refuse(at + int(wrong.argmax()))
        return self._place_of_number[positions]

    def _refuse(self, row: int) -> NoReturn:
        classes = listed(self.classes) if self.by_name else f"0 to {self.shape[1] - 1}"
        raise InputError(
            f"{self.table.place.row(row)} does not name each of the classes {classes} once in "
            f"{listed(self.ranks)}; if only the largest scores of more classes were saved (a top-k dump), "
            "save the scores of all classes"
        )

    @cached_property
    def _place_of_number(self) -> NDArray[np.intp]:
        """Positions of the numbers 0..K-1: those of the classes they name, or the numbers themselves."""
        numbers = tuple(map(str, range(self.shape[1])))
        if self.by_name or set(self.classes) != set(numbers):
            return np.arange(self.shape[1])
        places = {name: place for place, name in enumerate(self.classes)}
        return np.array([places[number] for number in numbers])

    def _numbers(self, column: Any) -> Array:
        """Return (n,) positions of classes: nan or -1 for other values."""
        if not self.by_name:
            column = column.cast(pa.float64()) if pa.types.is_null(column.type) else column
            return np.asarray(column.to_numpy(zero_copy_only=False))
        places = pc.index_in(column.cast(pa.large_string()), pa.array(self.classes, pa.large_string()))
        return np.asarray(pc.fill_null(places, -1).to_numpy())


def ranked_scores(raw: TableScores, ranks: tuple[str, ...], options: ReadOptions) -> RankedScores:
    """Return scores in the order of the classes.

    Parameters
    ----------
    raw
        The scores as they are stored.
    ranks
        Columns with the class of each score.
    options
        `classes` names numbered classes, or orders named ones.

    Raises
    ------
    InputError
        If the first row does not hold each class once.
    UsageError
        If `--classes` differ from the names in the ranks.
    """
    kind = raw.table.schema.field(ranks[0]).type
    by_name = holds_of(kind.value_type if holds_of(kind) == "list" else kind) == "text"
    classes = options.classes or tuple(map(str, range(raw.width)))
    ranked = RankedScores(raw.table, (*raw.names, *ranks), raw.width, raw.dtype, raw, ranks, classes, by_name)
    head = first_whole(raw.table, ranked.names)
    if by_name:
        classes, ordered = _named_classes(ranked, head, options)
        ranked = replace(ranked, classes=classes, ordered=ordered)
    ranked.positions(head, 0)
    return ranked


def _named_classes(ranked: RankedScores, head: Any, options: ReadOptions) -> tuple[tuple[str, ...], bool]:
    """Return the class names in the first row, and whether their order is known.

    They stand in the order of `--classes`, of the fields of objects, of their numbers, or of the alphabet.
    """
    ranked_names = [head.column(name)[0].as_py() for name in ranked.ranks]
    names = tuple(sorted(map(str, ranked_names[0] if isinstance(ranked_names[0], list) else ranked_names)))
    if options.classes is None:
        packed = ranked.table.packed.get(ranked.by_rank.names[0])
        if packed is not None and packed.classes is not None and sorted(packed.classes) == list(names):
            return tuple(packed.classes[i] for i in natural_order(packed.classes)), True
        return tuple(names[i] for i in natural_order(names)), _has_order(names)
    if alike := but_for_capitals(options.classes, names):
        return alike, True
    if sorted(options.classes) != list(names):
        raise UsageError(
            f"--classes names {listed(options.classes)}, but {listed(ranked.ranks)} of "
            f"{ranked.table.place.name} name {listed(names)}; expected the same names, in any order"
        )
    return options.classes, True


def _has_order(names: tuple[str, ...]) -> bool:
    """Return whether sorted names tell which class is 0: by number, or as in negative and positive."""
    folded = [name.casefold() for name in names]
    return differ_in_numbers(names) or (are_custom(folded) and CUSTOM[folded[0]] == 0)
