"""How a predictions file is to be understood, where it does not say so itself."""

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
    documented,
    setting,
    texts,
    whole,
)

if TYPE_CHECKING:
    from calcli.core.data.predictions import Kind

KINDS = Literal["auto", "logits", "log-probs", "probs"]


@documented()
@dataclass(frozen=True)
class ReadOptions:
    """The reader's options; each overrules what would be found out from the file.

    Attributes
    ----------
    {ReadOptions}
    """

    labels: str | None = setting(None, TEXT, "File of labels for .npy scores; in .npz, the array.", "FILE")
    label_column: str | None = setting(None, TEXT, "Column of the labels.", "NAME")
    scores: str | None = setting(None, TEXT, "Score columns, 'p_*' or a,b,c; in .npz, the array.", "PATTERN")
    kind: Kind | Literal["auto"] = setting("auto", choice(KINDS), "What the scores are.")
    classes: tuple[str, ...] | None = setting(
        None, texts("cat", commas=True), "Classes in the order of the scores, separated by commas.", "NAMES"
    )
    positive: str | None = setting(None, TEXT, "Of two classes, the one that a single score is for.", "NAME")
    against_rest: str | None = setting(
        None, TEXT, "Take this class and all others together for two classes.", "CLASS"
    )
    weights: str | None = setting(None, TEXT, "Column of row weights.", "NAME")
    limit: int | None = setting(None, whole(1), "Read only the first N rows.", "N")
    renormalize: bool = setting(False, FLAG, "Divide rows of probabilities by their sum, however far from 1.")


def read_options(given: Mapping[str, Any], spelling: Spelling = "keyword") -> ReadOptions:
    """Return how files are to be read, from values by keyword.

    Raises
    ------
    UsageError
        If an option is unknown, or its value is wrong.
    """
    return ReadOptions(**checked(ReadOptions, given, spelling))
