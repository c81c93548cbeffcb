"""How figures are asked for: every setting, declared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from calcli.core.language.calibrationerrors import MIN_ROWS
from calcli.core.language.declaring import (
    FLAG,
    TEXT,
    Values,
    declared,
    documented,
    items,
    setting,
    texts,
    whole,
)
from calcli.core.language.entries import TRUTH, FigureKind
from calcli.core.language.errors import UsageError
from calcli.core.language.figures import AUTO, USUAL, find_figures


def _lists(example: str) -> Values:
    """Return lists of lists of text, each of which may be text with commas between."""
    plain = texts(example)

    def checked(value: Any) -> tuple[Any, ...]:
        return tuple(items(one) if isinstance(one, str) else plain.taken(one) for one in _listed(value))

    return Values(str, plain.name, plain.expected, checked, several="repeated")


def _listed(value: Any) -> Iterable[Any]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise TypeError
    return value


@documented()
@dataclass(frozen=True)
class ViewSettings:
    """How evaluations are looked at.

    Attributes
    ----------
    {ViewSettings}
    """

    lens: str = setting(
        USUAL, TEXT, "class-1 (two classes), top-1 (more), class-wise, ...; simplex: groups.", "LENS"
    )
    binning: str = setting(
        AUTO, TEXT, "auto, equal-width, equal-mass, recursive, or edges such as 0/0.5/0.9/1.", "NAME"
    )
    region: str = setting("all", TEXT, "Only rows whose score lies there, as in 0.9..1.", "LOW..HIGH")
    min_rows: int | None = setting(
        None, whole(1, int(MIN_ROWS["min_rows"].most)), "Rows from which a recursive bin is split.", "N"
    )
    by: tuple[str, ...] = setting(
        (), texts("country"), "Also draw the figure slices of this column.", "COLUMN"
    )
    panels: tuple[tuple[str, ...], ...] = setting(
        (), _lists("ece,ks"), "epochs: metrics that share a panel.", "LIST"
    )
    smooth: str = setting("none", TEXT, "epochs: lines by savgol/11, moving/3 or the like.", "FILTER")
    p_values: bool = setting(False, FLAG, "epochs: calibration errors are followed by their p-values.")
    seeds: bool = setting(False, FLAG, "epochs: folders are runs of one model, drawn with their mean.")
    knots: int | None = setting(
        None, whole(4, 1000), "ks: knots of the spline in its slopes; 6 by default.", "N"
    )


@documented()
@dataclass(frozen=True)
class PlotSettings:
    """Which figures are drawn, and how.

    Attributes
    ----------
    {PlotSettings}
    """

    figures: Mapping[str, Mapping[str, Any]] = setting(
        dict,
        replace(texts("ks"), taken=lambda value: parse_figures(_lists("ks").taken(value))),
        "Figures in place of the standard set, such as ks,reliability:binning=equal-mass.",
        "NAMES",
        key="figure",
    )
    lens: str = setting(
        USUAL, TEXT, "class-1 (two classes), top-1 (more), class-wise, ...; simplex: groups.", "LENS"
    )
    by: tuple[str, ...] = setting(
        (), texts("country"), "Also draw the figure slices of this column.", "COLUMN"
    )
    calibrators: tuple[str, ...] = setting(
        (), texts("cal.json"), "Also draw the calibration-map of this calibrator.", "FILE", key="calibrator"
    )


def parse_figures(lists: Iterable[Iterable[str]]) -> dict[str, dict[str, Any]]:
    """Return the settings of each figure by its name, of expressions such as `ks:knots=6`.

    Values are those of `ViewSettings`; slashes in them stand for colons where these are part of one.

    Raises
    ------
    UsageError
        If a figure, an argument or a value is unknown, or a figure is asked for twice.
    """
    found: dict[str, dict[str, Any]] = {}
    asked = [*chain.from_iterable(lists)]
    find_figures([text.partition(":")[0] for text in asked])  # all that are unknown are told at once
    for text in asked:
        word, *pairs = text.split(":")
        (kind,) = find_figures([word])
        looks = _looks(kind, pairs)
        if found.setdefault(kind.name, looks) != looks:
            raise UsageError(f"the figure {kind.name} is asked for twice; draw it in another folder")
    return found


def _looks(kind: FigureKind, pairs: Iterable[str]) -> dict[str, Any]:
    known, looks = declared(ViewSettings), {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals:
            raise UsageError(f"figure {kind.name!r}: {pair!r} is not of the form ARGUMENT=VALUE")
        refuse_unknown_looks(kind, [key])
        values = known[key].values
        value: Any = TRUTH.get(text, text) if values.type is bool else text
        value = int(text) if values.type is int and text.isdecimal() and len(text) < 9 else value
        looks[key] = values.checked(f"{kind.name}: {key}", value)
    return looks


def refuse_unknown_looks(kind: FigureKind, names: Iterable[str]) -> None:
    """Raise a UsageError if a figure does not have one of these settings of its own."""
    takes = ", ".join(kind.looks) or "none"
    for name in names:
        if name not in kind.looks:
            raise UsageError(f"figure {kind.name!r} has no argument {name!r}; it takes: {takes}")
