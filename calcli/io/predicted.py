"""Columns of predicted classes: whether they still fit recalibrated scores, and new ones where asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from calcli.core.language.errors import InputError, UsageError
from calcli.io.layouts.answers import require_column
from calcli.io.layouts.names import PREDICTED
from calcli.io.messages import listed
from calcli.io.tables.columns import decoded

Codes = NDArray[np.intp]
ENOUGH = 20  # rows that tell whether numbers are those of the classes


@dataclass
class PredictedColumn:
    """A column with a predicted class in each row.

    Attributes
    ----------
    name
        Of the column.
    renew
        Whether the user wants it to be written anew.
    names
        What its numbers stand for, where metadata say that.
    kept
        Whether it is watched at all: what it holds are classes.
    values
        For each class, in the order of the calibrator, what the column calls it.
    by_place
        The classes whose places in the file its values are; none if they are names.
    rows, misfits_before, misfits
        How many rows it was seen in; and of these, in how many it was another class than that of the greatest
        score as it was stored, and as it is now.
    """

    name: str
    renew: bool
    names: Sequence[str] = ()
    kept: bool = True
    values: list[Any] = field(default_factory=list)
    by_place: Sequence[str] = ()
    rows: int = 0
    misfits_before: int = 0
    misfits: int = 0

    def pass_on(
        self, column: Any, classes: Sequence[str], stored: Sequence[str], codes: Sequence[Codes]
    ) -> Any:
        """Return a part of the column, anew if asked, and count where it does not fit.

        Parameters
        ----------
        column
            A pyarrow.Array.
        classes, stored
            Names of the classes, in the order of the calibrator and in that of the file.
        codes
            The predicted classes, positions in `classes`: of the scores as stored, and recalibrated.

        Raises
        ------
        InputError
            If it is to be written anew, and does not hold classes, or others than it seems.
        """
        if not self.kept:
            return column
        found = column.to_pylist()
        held = [_text(value) for value in found]
        if not self.values:
            self.kept = self._learn(found, held, classes, stored)
            if not self.kept:
                return column
        number = {_text(value): k for k, value in enumerate(self.values)}
        said = np.array([number.get(text, -1) for text in held])
        before, after = codes
        self.rows += len(said)
        self.misfits_before += int(np.count_nonzero(said != before))
        self.misfits += int(np.count_nonzero(said != after))
        if not self.renew:
            return column
        if self.rows >= ENOUGH and self.rows == len(said):  # before the first of them are written
            self.refuse_contradicted()
        kind = decoded(column.type)
        new = pa.array([self.values[code] for code in after.tolist()]).cast(kind)
        return new.dictionary_encode().cast(column.type) if kind != column.type else new

    def _learn(
        self, found: Sequence[Any], held: Sequence[str], classes: Sequence[str], stored: Sequence[str]
    ) -> bool:
        """Find out what the column calls each class: by its name, or by its position in the file."""
        there = set(held)
        by_name = {name: k for k, name in enumerate(classes)}
        coded = {str(n): by_name[name] for n, name in enumerate(self.names) if name in by_name}
        by_place = {str(n): by_name[name] for n, name in enumerate(stored)}
        places = [coded] if len(coded) == len(classes) else [by_place, *_as_truth(by_place)]
        for number in (by_name, *places):
            if there <= set(number):
                self.by_place = () if number in (by_name, coded) else stored
                texts = {k: text for text, k in number.items()}
                seen = dict(zip(held, found, strict=True))
                kind = type(found[0])
                like = (lambda text: bool(int(text))) if kind is bool else kind
                self.values = [seen.get(texts[k], like(texts[k])) for k in range(len(classes))]
                return True
        if self.renew:
            odd = sorted(there - set(classes))
            raise InputError(
                f"the column {self.name} holds {listed(odd)}, not only the classes "
                f"{listed(tuple(classes))}; name a column of predicted classes with --rewrite-prediction"
            )
        return False

    def refuse_contradicted(self) -> None:
        """Raise an InputError if numbers would be written anew that are no places of the classes.

        Most of them were another class than the most probable one even before.
        """
        if self.renew and self.by_place and self.misfits_before > self.rows / 2:
            raise InputError(
                f"the column {self.name} holds no names; as places of the classes {listed(self.by_place)} "
                f"its values are not the most probable in {self.misfits_before:,} of {self.rows:,} rows; "
                "save it with the names of the classes"
            )

    @property
    def notes(self) -> tuple[str, ...]:
        """What there is to say about it, a sentence for the user."""
        if not self.kept or not self.rows:
            return ()
        if self.renew:
            return (f"the column {self.name} was written anew; it changed in {self.misfits:,} rows",)
        if self.misfits <= self.misfits_before or self.misfits_before > self.rows / 2:
            return ()
        return (
            f"the column {self.name} no longer fits the scores: in {self.misfits:,} of {self.rows:,} rows "
            f"it is not the most probable class; --rewrite-prediction {self.name} renews it",
        )


def predicted_columns(names: Sequence[str], wanted: str | None, where: str) -> list[str]:
    """Return which of the columns that are kept may hold predictions.

    Parameters
    ----------
    names
        Of the columns.
    wanted
        The one that is to be written anew, if any.
    where
        Name of the file, for messages.

    Raises
    ------
    UsageError
        If there is no such column.
    """
    if wanted is not None:
        require_column(wanted, names, where, "--rewrite-prediction")
    return [name for name in names if name == wanted or PREDICTED.search(name)]


def refuse_rewriting(wanted: str | None, reason: str) -> None:
    """Raise a UsageError if a column is to be written anew where there is no predicted class."""
    if wanted is not None:
        raise UsageError(f"--rewrite-prediction {wanted}: {reason}; leave it out")


def _as_truth(by_place: dict[str, int]) -> list[dict[str, int]]:
    """Return places of two classes by the words for false and true that text files have."""
    if len(by_place) != 2:
        return []
    words = (("False", "True"), ("false", "true"), ("FALSE", "TRUE"))  # the last are those of R
    return [{false: by_place["0"], true: by_place["1"]} for false, true in words]


def _text(value: Any) -> str:
    """Return what a class is called, numbers in one form whatever their type."""
    text = str(int(value)) if isinstance(value, bool) else str(value)
    return re.sub(r"^(-?\d+)\.0$", r"\1", text)
