"""Options of reading a file of predictions, for facts that the file does not state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from calcli.core.language.declaring import (
    FLAG,
    TEXT,
    Spelling,
    checked,
    choice,
    declared,
    documented,
    marks,
    names,
    numbers,
    setting,
    texts,
    whole,
)
from calcli.core.language.errors import UsageError

if TYPE_CHECKING:
    from calcli.core.data.predictions import Kind

KINDS = Literal["auto", "logits", "log-probs", "probs", "percent"]


@documented()
@dataclass(frozen=True)
class ReadOptions:
    """The options of reading; each overrides what the file suggests.

    Attributes
    ----------
    {ReadOptions}
    """

    labels: str | None = setting(
        None, TEXT, "File of labels: an array, or a table with --key; in .npz, the array.", "FILE"
    )
    key: str | None = setting(
        None,
        TEXT,
        "Match rows by this column, not by their order, in all files and --labels.",
        "COLUMN",
    )
    allow_unmatched: bool = setting(False, FLAG, "Leave out rows that are not in all files.")
    label_column: str | None = setting(None, TEXT, "Column of the labels.", "NAME")
    scores: str | None = setting(None, TEXT, "Score columns, 'p_*' or a,b,c; in .npz, the array.", "PATTERN")
    kind: Kind | Literal["auto", "percent"] = setting("auto", choice(KINDS), "What the scores are.")
    scale: float | None = setting(
        None,
        numbers("a number above 0", lambda value: value > 0),
        "Divide scores by this: 10 for ratings from 0 to 10.",
        "NUMBER",
    )
    classes: tuple[str, ...] | None = setting(
        None, names("cat"), "Classes in the order of the scores, separated by commas.", "NAMES"
    )
    positive: str | None = setting(None, TEXT, "Of two classes, the one that a single score is for.", "NAME")
    against_rest: str | None = setting(
        None, TEXT, "Take this class against all others together, as two classes.", "CLASS"
    )
    confidence: str | None = setting(
        None, TEXT, "Column of the confidence in answers that are right or wrong.", "NAME"
    )
    correct: str | None = setting(None, TEXT, "Column that says which answers are right.", "NAME")
    score: str | None = setting(
        None, TEXT, "Column of outcomes, grades or predicted classes; of logs, the scorer.", "NAME"
    )
    judge: str | None = setting(
        None, TEXT, "Column of a judge's verdicts on all rows, some of which have labels.", "NAME"
    )
    unscored: Literal["wrong", "drop"] | None = setting(
        None, choice(Literal["wrong", "drop"]), "Count rows without an outcome as wrong, or leave them out."
    )
    weights: str | None = setting(None, TEXT, "Column of row weights.", "NAME")
    per_character: bool = setting(
        False, FLAG, "Divide log-likelihoods of options by their characters, as acc_norm does."
    )
    limit: int | None = setting(None, whole(1), "Read only the first N rows.", "N")
    class_axis: int | None = setting(None, whole(-32), "Axis of the classes in an array.", "AXIS")
    ignore_label: tuple[str, ...] = setting(
        (), marks("-100"), "Leave out rows with this label, such as -100 or 255, and count them.", "LABEL"
    )
    system: tuple[str, ...] = setting(
        (), texts("rf=score_rf"), "One of several systems in a file, such as rf=score_rf.", "NAME=COLUMNS"
    )
    sheet: str | None = setting(None, TEXT, "Sheet of a workbook; the first if none is named.", "NAME")
    drop_missing: bool = setting(
        False, FLAG, "Leave out rows without a label, a score or a confidence, and count them."
    )
    concat: bool = setting(False, FLAG, "Read several files as one data set.")
    renormalize: bool = setting(False, FLAG, "Divide rows of probabilities by their sum, however far from 1.")

    def named(self, stored: tuple[str, ...] | None) -> tuple[str, ...]:
        """Return all classes named in the file or in the options."""
        return tuple(
            name for name in (*(stored or ()), *(self.classes or ()), self.positive) if name is not None
        )

    @property
    def labels_by_key(self) -> bool:
        """Whether labels are in a separate table, joined by the key."""
        return self.key is not None and self.labels is not None and not self.labels.endswith(".npy")

    @property
    def given(self) -> dict[str, Any]:
        """Options other than their defaults, by keyword."""
        values = {name: getattr(self, name) for name in declared(ReadOptions)}
        return {name: value for name, value in values.items() if value != getattr(ReadOptions, name)}

    def require_all_rows(self) -> None:
        """Raise a UsageError if rows may be left out although their order pairs them."""
        if self.drop_missing:
            raise UsageError(
                "--drop-missing may leave out other rows of each file, so that their order does not pair "
                "them; say which are the same with --key COLUMN, or --unpaired"
            )


@dataclass(frozen=True)
class OfLabel(ReadOptions):
    """The options for one of several labels in a row, by its name."""

    label: str = ""


def read_options(options: Mapping[str, Any], spelling: Spelling = "keyword") -> ReadOptions:
    """Return the options of reading from values by keyword.

    Raises
    ------
    UsageError
        If an option is unknown, or its value is wrong.
    """
    return ReadOptions(**checked(ReadOptions, options, spelling))
