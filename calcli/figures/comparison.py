"""Comparisons: changes with intervals beside their margins, and all reliability curves in one panel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from calcli.core.comparing.comparison import Difference
from calcli.core.curves.unbinned import Curve
from calcli.figures.corp import IDEAL
from calcli.figures.inline import tell, tell_curves
from calcli.figures.style import BAR, COLUMN, DASHES, MUTED, SERIES, Look, new_figure, styled, unit_square
from calcli.figures.wording import drawn, titles, words

LINE = 0.17  # inches: a system
PROVEN = ("better", "worse", "different")


@styled
def changes(systems: Mapping[str, Mapping[str, Difference]]) -> Figure:
    """Draw the change of each metric with its interval, in a separate row and scale; margins are gray.

    Diamonds are proven to differ.

    Parameters
    ----------
    systems
        Differences that have intervals with finite ends, by metric and then by candidate.
    """
    names = titles(dict.fromkeys(name for system in systems.values() for name in system), 20)
    rows = [len(system) for system in systems.values()]
    figure = new_figure(COLUMN + 0.9, sum(0.42 + LINE * count for count in rows))
    grid = figure.subplots(len(systems), 1, squeeze=False, height_ratios=[count + 1 for count in rows])
    for axes, (metric, differences) in zip(grid[:, 0], systems.items(), strict=True):
        ends = [0.0]
        for y, (name, change) in enumerate(differences.items()):
            if change.interval is None:
                continue
            low, high = change.interval.low, change.interval.high
            ends += [low, high, -change.margin, change.margin]
            if change.margin:
                axes.axvspan(-change.margin, change.margin, color=BAR, linewidth=0)
            marked = change.verdict in PROVEN
            color = SERIES[1] if marked else SERIES[0]
            axes.hlines(y, low, high, color=color, linewidth=1.6)
            axes.plot(change.value, y, marker="D" if marked else "o", markersize=4, color=color)
            axes.text(
                1.02, y, change.verdict, transform=axes.get_yaxis_transform(), va="center", fontsize=6.8
            )
            ends_text = f"{drawn(change.value)}, {drawn(low)} to {drawn(high)}"
            tell(axes, (low, high), (y - 0.4, y + 0.4), [f"{name}, {metric}\n{ends_text}\n{change.verdict}"])
        axes.axvline(0, color=MUTED, linewidth=0.9, dashes=(4, 2))
        room = 0.06 * (max(ends) - min(ends)) or 1
        axes.set(xlim=(min(ends) - room, max(ends) + room), ylim=(len(differences) - 0.4, -0.6))
        axes.locator_params(axis="x", nbins=6)
        axes.set_yticks(
            range(len(differences)), [names[name] for name in differences] if len(names) > 1 else [""]
        )
        axes.tick_params(axis="y", length=0)
        axes.set_title(metric, loc="left", fontsize=7.5)
    grid[-1, 0].set_xlabel("Change: candidate − baseline")
    return figure


@styled
def curves(results: Mapping[str, Curve], classes: Sequence[str] = ()) -> Figure:
    """Draw the reliability curves of systems in one panel.

    Parameters
    ----------
    results
        Curves through one lens by system name.
    classes
        Class names, for the axes of class lenses.
    """
    figure = new_figure(COLUMN + 0.4, COLUMN + 0.6)
    axes, names = figure.subplots(), titles(results)
    axes.plot([0, 1], [0, 1], **IDEAL)
    for index, (name, result) in enumerate(results.items()):
        look: Look = {"color": SERIES[index], "linestyle": DASHES[index], "linewidth": 1.5, "clip_on": False}
        frequency = np.where(result.supported, result.frequency, np.nan)
        axes.plot(result.score, frequency, label=names[name], **look)
        axes.plot(result.score, result.frequency, **look | {"linewidth": 0.5, "alpha": 0.6})
    unit_square(axes)
    text = words(next(iter(results.values())).lens, classes)
    axes.set(xlabel=text.score, ylabel=text.frequency)
    tell_curves(
        axes, "score", {names[name]: (curve.score, {"": curve.frequency}) for name, curve in results.items()}
    )
    figure.legend(loc="outside upper center", ncols=2, handlelength=2.4)
    return figure
