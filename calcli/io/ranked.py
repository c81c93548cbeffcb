"""Scores sorted by rank: columns such as `index_0` name the class that `prob_0` is the score of.

So are predictions saved after a "top k" of all classes: `index_0.. prob_0..`, or lists `index` and `prob`;
classes may also be named, as in `label_0..`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from calcli.core.data.arrays import Array
from calcli.core.language.errors import InputError, UsageError
from calcli.io.columnscores import TableScores, first_of_other_length
from calcli.io.layouts.candidates import PAIRS, Holds
from calcli.io.layouts.names import (
    PREFIXED,
    RANKED,
    TOPPED,
    but_for_capitals,
    differ_in_numbers,
    natural_order,
    top_class,
    top_ranks,
)
from calcli.io.layouts.roles import Roles, top_k_dump
from calcli.io.messages import listed
from calcli.io.options import ReadOptions
from calcli.io.tables.columns import holds_of, numbers

if TYPE_CHECKING:
    from calcli.io.tables.table import Table

ENOUGH = 100  # rows that have the same numbers in any order if these name the classes


@dataclass(frozen=True)
class RankedScores(TableScores):
    """Scores of which each row has its own order, put in the order of the classes.

    Attributes
    ----------
    by_rank
        The scores as they are stored.
    ranks
        Columns with the class of each score: one a score, or one of lists.
    classes
        Class names.
    by_name
        Whether the ranks are class names; if not, they are numbers counted from 0.
    ordered
        Whether the order of the classes is known; if not, they stand in that of the alphabet.
    """

    by_rank: TableScores
    ranks: tuple[str, ...]
    classes: tuple[str, ...]
    by_name: bool
    ordered: bool = True

    def within(self, table: Table, rows: int) -> Self:
        """Return the scores of so many rows of the same columns, in another table."""
        return replace(super().within(table, rows), by_rank=self.by_rank.within(table, rows))

    @property
    def suffixes(self) -> tuple[str, ...]:
        """What the columns of scores are numbered with."""
        return tuple(_suffix(name) for name in self.by_rank.names)

    @property
    def note(self) -> str:
        """How they are read, a sentence for the user."""
        first, scores = self.ranks[0], self.by_rank.names[0]
        which = f"the first of {scores}" if len(self.ranks) == 1 else scores
        return (
            f"the scores are sorted by rank: {which} is taken for the score of the class that {first} names"
        )

    def values(self, batch: Any, at: int) -> Array:
        """Return the scores in the order of the classes.

        Raises
        ------
        InputError
            If the ranks of a row are not each class once.
        """
        scores = self.by_rank.values(batch.select(list(self.by_rank.names)), at)
        found = np.empty(scores.shape, scores.dtype)
        np.put_along_axis(found, self.positions(batch, at), scores, axis=1)
        return found

    def positions(self, batch: Any, at: int) -> NDArray[np.intp]:
        """Return for each score of a row, in the order stored, the position of its class.

        Raises
        ------
        InputError
            If the ranks of a row are not each class once.
        """
        columns = batch.select(list(self.ranks)).columns
        if len(columns) == 1:
            self._refuse_other_lengths(columns[0], at)
            columns = [columns[0].flatten()]
        stored = np.stack([self._numbers(column) for column in columns], axis=1)
        stored = stored.reshape(batch.num_rows, self.shape[1])
        with np.errstate(invalid="ignore"):  # nan is found in the next line
            found = stored.astype(np.intp)
        outside = (found != stored) | (found < 0) | (found >= self.shape[1])
        if outside.any():
            self._refuse_outside(batch, at, np.argwhere(outside)[0])
        seen = np.zeros(found.shape, bool)
        np.put_along_axis(seen, found, True, axis=1)
        if not seen.all():
            row, k = np.argwhere(~seen)[0]
            names = self.classes if self.by_name else range(self.shape[1])
            raise InputError(
                f"{self.table.place.row(at + int(row))} names no score of class {names[k]} and another class "
                f"twice in {listed(self.ranks)}; expected every class once"
            )
        return self._place_of_number[found]

    @cached_property
    def _place_of_number(self) -> NDArray[np.intp]:
        """Positions of the numbers 0..K-1: of the classes they name, or themselves."""
        numbers = tuple(map(str, range(self.shape[1])))
        if self.by_name or set(self.classes) != set(numbers):
            return np.arange(self.shape[1])
        places = {name: place for place, name in enumerate(self.classes)}
        return np.array([places[number] for number in numbers])

    def _numbers(self, column: Any) -> Array:
        """Return (n,) positions of classes: nan or -1 for what is not a class."""
        if not self.by_name:
            column = column.cast(pa.float64()) if pa.types.is_null(column.type) else column
            return np.asarray(column.to_numpy(zero_copy_only=False))
        found = pc.index_in(column.cast(pa.large_string()), pa.array(self.classes, pa.large_string()))
        return np.asarray(pc.fill_null(found, -1).to_numpy())

    def _refuse_other_lengths(self, lists: Any, at: int) -> None:
        if (row := first_of_other_length(lists, self.shape[1])) is not None:
            raise InputError(
                f"{self.table.place.row(at + row)} has {len(lists[row].as_py() or ())} classes in "
                f"{self.ranks[0]}, but {self.shape[1]} scores in {self.by_rank.names[0]}; expected one for "
                "each score"
            )

    def _refuse_outside(self, batch: Any, at: int, where: Array) -> None:
        row, rank = map(int, where)
        if len(self.ranks) == 1:
            found, column = batch.column(self.ranks[0])[row].as_py()[rank], self.ranks[0]
        else:
            found, column = batch.column(self.ranks[rank])[row].as_py(), self.ranks[rank]
        k = self.shape[1]
        known = listed(self.classes) if self.by_name else f"0 to {k - 1}"
        what = "no class" if found is None else f"the class {found}"
        raise InputError(
            f"{self.table.place.row(at + row)} has {what} in {column}, but the {k} scores of a "
            f"row can only be those of the classes {known}; if only the {k} largest scores of more classes "
            "were saved (a top-k dump), save the scores of all classes"
        )


def names_known(table: Table, roles: Roles, ranks: tuple[str, ...]) -> tuple[str, ...]:
    """Return the classes that columns are named after, and those that ranks name in the first row."""
    packed, first = table.packed.get(roles.scores[0]), table.head(ranks, 1) if ranks else None
    values = [] if first is None else [column[0].as_py() for column in first.columns]
    ranked = [str(one) for value in values for one in (value if isinstance(value, list) else [value])]
    return (*(roles.classes or ()), *((packed and packed.classes) or ()), *ranked)


def ranked_scores(
    raw: TableScores, ranks: tuple[str, ...], roles: Roles, options: ReadOptions
) -> TableScores:
    """Return scores in the order of the classes, if there are columns that name the class of each.

    Parameters
    ----------
    raw
        The scores as they are stored.
    ranks
        From `rank_columns`.
    roles
        What the columns are.
    options
        `classes` names classes that are numbered, or orders those that have names.

    Raises
    ------
    InputError
        If not all scores have such a column, or the first row does not have each class once.
    UsageError
        If `--classes` are others than the names in the ranks.
    """
    if not ranks:
        return raw
    names = (*raw.names, *ranks)
    if twice := tuple(name for name in dict.fromkeys(names) if names.count(name) > 1):
        raise InputError(f"{raw.table.place.name}: several classes take {listed(twice)}; name each once")
    by_name = _holds_within(raw.table.schema.field(ranks[0]).type) == "text"
    classes = roles.classes or options.classes or tuple(map(str, range(raw.shape[1])))
    found = RankedScores(raw.table, (*raw.names, *ranks), raw.shape, raw.dtype, raw, ranks, classes, by_name)
    head = raw.table.head(found.names, 1)
    if head is None:
        return found
    if by_name:
        classes, ordered = _named_classes(found, head, options)
        found = replace(found, classes=classes, ordered=ordered)
    found.positions(head, 0)
    return found


def rank_columns(roles: Roles, table: Table, options: ReadOptions) -> tuple[str, ...]:
    """Return the columns that name the class of each score; none if scores are stored by class."""
    schema = table.schema
    packed = table.packed.get(roles.scores[0])
    if packed is not None and packed.scores == roles.scores[0]:
        return tuple(one.name for one in packed.made if one.name != packed.scores)
    lists = len(roles.scores) == 1 and holds_of(schema.field(roles.scores[0]).type) == "list"
    tops = None if lists or roles.classes else top_ranks(roles.scores)
    suffixes = [None] if lists else tops or [_suffix(name) for name in roles.scores]
    if lists and options.scores is None:
        _refuse_ranks_alone(schema.field(roles.scores[0]), table.place.name)
    groups = _groups(roles, schema, lists, tops is not None)
    groups = {
        stem: group
        for stem, group in groups.items()
        if any(_is_of_ranks(stem, schema.field(name).type) for name in group.values())
        or _number_the_classes(group, suffixes, roles.scores, table)
    }
    if roles.label is not None:
        named = holds_of(schema.field(roles.label).type) == "text"
    else:  # to recalibrate, where `positive` is a class of the fit
        named = options.positive is not None and not options.positive.isdigit()
    by_name = {
        stem: _holds_within(schema.field(next(iter(group.values()))).type) == "text"
        for stem, group in groups.items()
    }
    for stem in sorted(groups, key=lambda stem: by_name[stem] != named):
        group = groups[stem]
        missing = [name for name, suffix in zip(roles.scores, suffixes, strict=True) if suffix not in group]
        if not missing:
            names = tuple(group[suffix] for suffix in suffixes)
            _refuse_text_beside_numbers(names, by_name[stem], table)
            if len(names) == 1 and not lists:
                raise InputError(
                    f"{table.place.name}: {names[0]} names the class of {roles.scores[0]}, the only score of "
                    "a row; expected the scores of all classes, as those of the others are not known"
                )
            return names
        if len(missing) < len(suffixes):
            raise InputError(
                f"{table.place.name} has {listed(tuple(group.values()))} beside the scores, but none for "
                f"{listed(missing)}; expected the class of each score, or none; rename or remove the others"
            )
    if tops:
        raise InputError(
            f"{top_k_dump(table.place.name, schema.names)}, or the class of each score in {tops[0]}_class ..."
        )
    return ()


def _groups(roles: Roles, schema: Any, lists: bool, tops: bool) -> dict[str, dict[str | None, str]]:
    """Return columns that may name the classes, by what they call them and by rank."""
    groups: dict[str, dict[str | None, str]] = {}
    for column in schema:
        named_by = _named_by(column, lists, tops)
        if named_by and column.name not in (roles.label, *roles.scores):
            groups.setdefault(named_by[0], {})[named_by[1]] = column.name
    return groups


def _named_by(column: Any, lists: bool, tops: bool) -> tuple[str, str | None] | None:
    """Return what a column names classes as, and its rank; None if it is none of ranks."""
    if tops:
        found = top_class(column.name)
        return found if found and holds_of(column.type) in ("integer", "float", "text") else None
    match = RANKED.fullmatch(column.name)
    return (match[1].lower(), match[2]) if match and _names_classes(column.type, lists=lists) else None


def _refuse_ranks_alone(field: Any, name: str) -> None:
    """Raise an InputError if lists that were taken for scores are classes by their name."""
    match = RANKED.fullmatch(field.name)
    if match and _names_classes(field.type, lists=True) and _is_of_ranks(match[1], field.type):
        raise InputError(
            f"{name}: {field.name} names the classes by rank, and no column has their scores; save these as "
            f"well, or, if they are in {field.name}, say so with --scores"
        )


def _refuse_text_beside_numbers(names: tuple[str, ...], by_name: bool, table: Table) -> None:
    for name in names:
        if (_holds_within(table.schema.field(name).type) == "text") != by_name:
            kinds = ("text", "numbers") if by_name else ("numbers", "text")
            raise InputError(
                f"{table.place.name}: {names[0]} names classes by {kinds[0]}, and {name} by {kinds[1]}; "
                "expected the same"
            )


def _suffix(score: str) -> str:
    if top := TOPPED.fullmatch(score):
        return f"top{top[1]}"
    prefixed = PREFIXED.fullmatch(score)
    return prefixed[2] if prefixed else score


def _names_classes(kind: Any, *, lists: bool) -> bool:
    """Return whether a column of such a type can be ranks."""
    return lists == (holds_of(kind) == "list") and _holds_within(kind) in ("text", "integer", "float")


def _is_of_ranks(stem: str, kind: Any) -> bool:
    """Tell whether columns are ranks, whatever their numbers are: `label_0` also stands for an indicator."""
    return _holds_within(kind) == "text" or bool(re.search("(?i)top|ind|idx", stem))


def _number_the_classes(
    group: dict[str | None, str], suffixes: Sequence[str | None], scores: tuple[str, ...], table: Table
) -> bool:
    """Tell whether the numbers in each of the first rows are the same, in any order: those of the classes.

    Raises
    ------
    InputError
        If 0 and 1 may as well say which class is the right one.
    """
    names = tuple(group[suffix] for suffix in suffixes if suffix in group)
    head = table.head((*scores, *names), ENOUGH)
    numeric = all(_holds_within(table.schema.field(name).type) in ("integer", "float") for name in scores)
    if len(names) < len(scores) or head is None or not numeric:
        return False
    classes, values = (_matrix(head.select(list(columns))) for columns in (names, scores))
    if classes is None or values is None or classes.shape != values.shape:
        return False
    each = np.sort(classes, axis=1)
    if (each != each[0]).any() or (np.diff(each[0]) <= 0).any():
        return False
    if each[0].tolist() == [0, 1] and (values[:, 1] <= values[:, 0]).all():
        raise InputError(
            f"{table.place.name}: {listed(names)} may name the class of each score, or tell the right one; "
            f"call them {'index' if len(names) == 1 else 'index_0 and index_1'} if they name classes, and "
            "remove them if not"
        )
    return each[0].tolist() != [0, 1]


def _matrix(batch: Any) -> Array | None:
    """Return the numbers of a few rows, in columns or in lists; None if lists are of different lengths."""
    if len(batch.columns) > 1:
        return numbers(batch, by_row=True)
    lists = batch.column(0)
    found = np.asarray(lists.flatten().to_numpy(zero_copy_only=False), np.float64)
    length = len(found) // max(1, len(lists))
    return found.reshape(-1, length) if length and first_of_other_length(lists, length) is None else None


def _holds_within(kind: Any) -> Holds:
    """Return what a column holds, or what its lists do."""
    return holds_of(kind.value_type if holds_of(kind) == "list" else kind)


def _named_classes(found: RankedScores, head: Any, options: ReadOptions) -> tuple[tuple[str, ...], bool]:
    """Return the class names that the first row has, and whether something says their order.

    They stand in the order of `--classes`, of the fields of objects, of their numbers, or of the alphabet.
    """
    first = [head.column(name)[0].as_py() for name in found.ranks]
    names = tuple(sorted(map(str, first[0] if isinstance(first[0], list) else first)))
    if options.classes is None:
        packed = found.table.packed.get(found.by_rank.names[0])
        if packed is not None and packed.classes is not None and sorted(packed.classes) == list(names):
            return tuple(packed.classes[i] for i in natural_order(packed.classes)), True
        return tuple(names[i] for i in natural_order(names)), _has_order(names)
    if alike := but_for_capitals(options.classes, names):
        return alike, True
    if sorted(options.classes) != list(names):
        raise UsageError(
            f"--classes names {listed(options.classes)}, but {listed(found.ranks)} of "
            f"{found.table.place.name} name {listed(names)}; expected the same names, in any order"
        )
    return options.classes, True


def _has_order(names: tuple[str, ...]) -> bool:
    """Tell whether sorted names say which class is 0: by number, or as in negative and positive."""
    folded = [name.casefold() for name in names]
    return differ_in_numbers(names) or (set(folded) in PAIRS and folded == sorted(folded))
