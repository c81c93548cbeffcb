"""Every figure calcli draws, as data; loads without numpy, which keeps help quick."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from itertools import chain
from typing import Any

from calcli.core.language.declaring import (
    FLAG,
    TEXT,
    Values,
    declared,
    documented,
    items,
    numbers,
    setting,
    texts,
    whole,
)
from calcli.core.language.entries import TRUTH, FigureKind, meant
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import AUTO_LENS, nearest_name
from calcli.core.language.metrics import MOST_ROWS

AUTO = "auto"  # bins of equal width, or of equal mass in log-odds where scores crowd
LINES = 7  # colors, and more lines or bars in one panel cannot be told apart


def _declared() -> Iterator[FigureKind]:
    """Yield the figures as `figures.toml` declares them."""
    tables = tomllib.loads(files("calcli.core.language").joinpath("figures.toml").read_text("utf-8"))
    for name, table in tables.items():
        facts: Any = {key: tuple(fact) if isinstance(fact, list) else fact for key, fact in table.items()}
        yield FigureKind(name=name, **facts)


FIGURES: dict[str, FigureKind] = {kind.name: kind for kind in _declared()}


def find_figure(name: str) -> FigureKind:
    """Return the figure with a name.

    Raises
    ------
    UsageError
        If there is none; the nearest name is suggested.
    """
    return find_figures([name])[0]


def find_figures(names: Iterable[str]) -> list[FigureKind]:
    """Return the figures of these names or synonyms, each once.

    Raises
    ------
    UsageError
        If a name is unknown; all unknown names are listed, each with the nearest known one.
    """
    names = list(dict.fromkeys(meant(name, FIGURES.values()) for name in names))
    unknown = [f"{name!r}{nearest_name(name, FIGURES)}" for name in names if name not in FIGURES]
    if unknown:
        raise UsageError(f"unknown figure {'; '.join(unknown)}; there are: {', '.join(FIGURES)}")
    return [FIGURES[name] for name in names]


def refuse_more_systems(kinds: Iterable[FigureKind], systems: int) -> None:
    """Raise a UsageError if a figure cannot show that many systems."""
    for kind in kinds:
        if systems > kind.most_systems:
            raise UsageError(
                f"the figure {kind.name} shows at most {kind.most_systems} systems, not {systems}; "
                "for a series of files use --figure epochs"
            )


def refuse_binning(kinds: Iterable[FigureKind], binning: str) -> None:
    """Raise a UsageError if a figure cannot show such bins."""
    bins = ("scores", "vectors") if binning == "recursive" else ("scores",)
    fitting = [kind.name for kind in FIGURES.values() if kind.bins in bins]
    for kind in kinds:
        if binning not in (AUTO, "equal-width") and kind.bins not in bins:
            raise UsageError(
                f"the figure {kind.name} has no {binning} bins; those that do: {', '.join(fitting)}"
            )


def standard_names(
    n_classes: int, lens: str = AUTO_LENS, region: str = "all", *, tested: bool = True, marks: bool = False
) -> list[str]:
    """Return the names of the standard figures for predictions, figures with a lens first.

    Parameters
    ----------
    n_classes
        K.
    lens
        For an unusual lens, only figures that use it.
    region
        For a region of scores, only figures that can show a region.
    tested
        Whether outcomes can be drawn from the predictions; else figures that need draws are left out.
    marks
        Whether there are thresholds, and figures that show them.
    """
    fitting = [
        kind
        for kind in FIGURES.values()
        if (kind.standard and kind.standard[0] <= n_classes <= kind.standard[1])
        or (marks and kind.at_thresholds)
        if tested or kind.chance != "only"
    ]
    if lens == "class-wise":
        return [kind.of_classes for kind in fitting if kind.of_classes]
    scores = [kind.name for kind in fitting if kind.one_score]
    names = [kind.name for kind in fitting if not kind.one_score]
    return scores + (names if lens in (AUTO_LENS, "top-1") and region == "all" else [])


INCHES = numbers("a number above 0, up to 100", lambda value: 0 < value <= 100)


def _lists(example: str) -> Values:
    """Return lists of lists of text; a text may hold several with commas between."""
    plain = texts(example)

    def checked(value: Any) -> tuple[Any, ...]:
        return tuple(items(item) if isinstance(item, str) else plain.taken(item) for item in _listed(value))

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
        AUTO_LENS, TEXT, "class-1 (two classes), top-1 (more), class-wise, ...; simplex: groups.", "LENS"
    )
    binning: str = setting(
        AUTO, TEXT, "auto, equal-width, equal-mass, recursive, or edges such as 0/0.5/0.9/1.", "NAME"
    )
    region: str = setting("all", TEXT, "Only rows whose score lies there, as in 0.9..1.", "LOW..HIGH")
    min_rows: int | None = setting(
        None, whole(1, MOST_ROWS), "Rows from which a recursive bin is split.", "N"
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
    band: bool = setting(False, FLAG, "reliability: 95% intervals of the observed frequencies.")
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
        AUTO_LENS, TEXT, "class-1 (two classes), top-1 (more), class-wise, ...; simplex: groups.", "LENS"
    )
    by: tuple[str, ...] = setting(
        (), texts("country"), "Also draw the figure slices of this column.", "COLUMN"
    )
    title: str | None = setting(None, TEXT, "Above the figures, for one file in place of its name.", "TEXT")
    width: float | None = setting(None, INCHES, "Width of the figures in inches.", "INCHES")
    height: float | None = setting(None, INCHES, "Height of the figures in inches.", "INCHES")
    style: str | None = setting(None, TEXT, "Settings of matplotlib, as in paper.mplstyle.", "FILE")
    calibrators: tuple[str, ...] = setting(
        (), texts("cal.json"), "Also draw the calibration-map of this calibrator.", "FILE", key="calibrator"
    )


def parse_figures(lists: Iterable[Iterable[str]]) -> dict[str, dict[str, Any]]:
    """Return the settings of each figure, by name, from expressions such as `ks:knots=6`.

    Values belong to `ViewSettings`; a slash stands for a colon inside a value.

    Raises
    ------
    UsageError
        If a figure, an argument or a value is unknown, or a figure is asked for twice.
    """
    parsed: dict[str, dict[str, Any]] = {}
    texts = [*chain.from_iterable(lists)]
    find_figures([text.partition(":")[0] for text in texts])  # all that are unknown are told at once
    for text in texts:
        word, *pairs = text.split(":")
        (kind,) = find_figures([word])
        options = _options(kind, pairs)
        if parsed.setdefault(kind.name, options) != options:
            raise UsageError(f"the figure {kind.name} is asked for twice; draw it in another folder")
    return parsed


def _options(kind: FigureKind, pairs: Iterable[str]) -> dict[str, Any]:
    settings, options = declared(ViewSettings), {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals:
            raise UsageError(f"figure {kind.name!r}: {pair!r} is not of the form ARGUMENT=VALUE")
        refuse_unknown_options(kind, [key])
        values = settings[key].values
        value: Any = TRUTH.get(text, text) if values.type is bool else text
        value = int(text) if values.type is int and text.isdecimal() and len(text) < 9 else value
        options[key] = values.checked(f"{kind.name}: {key}", value)
    return options


def refuse_unknown_options(kind: FigureKind, names: Iterable[str]) -> None:
    """Raise a UsageError for settings that a figure does not have."""
    takes = ", ".join(kind.options) or "none"
    for name in names:
        if name not in kind.options:
            raise UsageError(f"figure {kind.name!r} has no argument {name!r}; it takes: {takes}")
