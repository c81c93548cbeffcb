"""How a predictions file is to be understood, where it does not say so itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from calcli.core.data.predictions import Kind


@dataclass(frozen=True)
class ReadOptions:
    """The reader's options; each overrules what would be found out from the file.

    Attributes
    ----------
    labels
        A .npy file of labels, or the name of the label array in an .npz archive.
    label_column
        The column that holds the labels.
    scores
        A pattern for the score columns such as `p_*`; a list column, or an array in an .npz archive.
    kind
        What the scores are.
    classes
        Names and order of the classes.
    positive
        For two classes: the class to count as the second one, whose probability a single score is.
    weights
        The column, or array in an .npz archive, that holds row weights.
    limit
        Read only this many rows.
    renormalize
        Divide rows by their sum even where it is further from one than rounding explains.
    """

    labels: str | None = None
    label_column: str | None = None
    scores: str | None = None
    kind: Kind | Literal["auto"] = "auto"
    classes: tuple[str, ...] | None = None
    positive: str | None = None
    weights: str | None = None
    limit: int | None = None
    renormalize: bool = False
