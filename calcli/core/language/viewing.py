"""How figures are asked for: every setting, declared."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from calcli.core.language.declaring import (
    FLAG,
    TEXT,
    Values,
    documented,
    items,
    setting,
    texts,
    whole,
    whole_numbers,
)
from calcli.core.language.figures import AUTO, FIGURES, USUAL
from calcli.core.language.synonyms import meant


def _lists(example: str, taken: Callable[[Any], tuple[Any, ...]]) -> Values:
    """Return lists of text that may be lists themselves, of what something makes of them."""
    plain = texts(example)

    def checked(value: Any) -> tuple[Any, ...]:
        found = [items(one) if isinstance(one, str) else plain.taken(one) for one in _listed(value)]
        return taken(found)

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
        AUTO, TEXT, "auto, equal-width, equal-mass, recursive, or by --edges; auto suits rare events.", "NAME"
    )
    region: str = setting("all", TEXT, "Only rows whose score lies there, as in 0.9..1.", "LOW..HIGH")
    by: tuple[str, ...] = setting(
        (), texts("country"), "Also draw the figure slices of this column.", "COLUMN"
    )
    panels: tuple[tuple[str, ...], ...] = setting(
        (), _lists("ece,ks", tuple), "epochs: metrics that share a panel.", "LIST", key="panel"
    )
    smooth: str = setting("none", TEXT, "epochs: lines by savgol:11, moving:3 or the like.", "FILTER")
    p_values: bool = setting(False, FLAG, "epochs: calibration errors are followed by their p-values.")
    seeds: bool = setting(False, FLAG, "epochs: folders are runs of one model, drawn with their mean.")
    knots: int | None = setting(
        None, whole(4, 1000), "ks: knots of the spline in its slopes; 6 by default.", "N"
    )


@documented()
@dataclass(frozen=True)
class PlotSettings(ViewSettings):
    """Which figures are drawn, and how.

    Attributes
    ----------
    {PlotSettings}
    """

    figures: tuple[str, ...] = setting(
        (),
        _lists("ks", lambda lists: tuple(meant(name, FIGURES.values()) for names in lists for name in names)),
        "Figures, or a list of them, in place of the standard set.",
        "NAMES",
        key="figure",
    )
    calibrators: tuple[str, ...] = setting(
        (), texts("cal.json"), "Also draw the calibration-map of this calibrator.", "FILE", key="calibrator"
    )
    select: str | None = setting(None, TEXT, "epochs: mark what this metric chooses.", "METRIC")
    select_on: str | None = setting(None, TEXT, "epochs: the files on which --select chooses.", "DIR|GLOB")
    compare_bins: tuple[int, ...] = setting(
        (),
        whole_numbers("5,15,30,60"),
        "reliability, deviation: a panel for each number of bins, such as 5,15,30.",
        "LIST",
    )
