"""Axes that are even in log-odds, on which small probabilities can be told apart."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

ROOM = 5  # ticks that fit
TICKS = (
    0.00001, 0.0001, 0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999,
)  # fmt: skip


def log_odds_axes(axes: Axes, low: float, high: float, *, horizontal: bool = False) -> None:
    """Let both axes, or the horizontal one alone, be even in log-odds between two probabilities."""
    wide = [t for t in TICKS if low <= t <= high]
    if len(wide) > ROOM:  # for the words of the horizontal axis: every second one, from the middle
        wide = wide[len(wide) // 2 % 2 :: 2]
    scaled = [(axes.xaxis, axes.set_xscale), (axes.yaxis, axes.set_yscale)]
    for axis, scale in scaled[:1] if horizontal else scaled:
        scale("logit")
        axis.set_major_locator(FixedLocator(wide))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(
            FuncFormatter(lambda t, _: f"{t:g}" if t <= 0.5 else f"{1 - round(1 - t, 9):.9g}")
        )
    axes.set_xlim(low, high)
    if not horizontal:
        axes.set_ylim(low, high)
