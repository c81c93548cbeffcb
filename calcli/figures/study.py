"""Estimates minus truth against the number of rows, and reliability with its true curve."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from calcli.core.data.arrays import Doubles
from calcli.figures.drawing import Drawing
from calcli.figures.style import MUTED, SERIES, is_leftmost, panels, styled
from calcli.figures.wording import titles
from calcli.works.study import Deviation


@styled
def deviations(studied: Sequence[Deviation]) -> Figure:
    """Draw mean and 5% to 95% band of estimate minus truth (Vaicenavicius et al. 2019, fig. 6).

    Parameters
    ----------
    studied
        Results by metric and number of rows.
    """
    metrics = list(dict.fromkeys(point.metric for point in studied))
    names = titles(metrics)
    figure, stacks = panels(len(metrics), heights=(1,), height=2.7)
    for (axes,), metric in zip(stacks, metrics, strict=True):
        of_metric = sorted(
            (point for point in studied if point.metric == metric), key=lambda point: point.rows
        )
        rows = [point.rows for point in of_metric]
        ends = [point.low for point in of_metric], [point.high for point in of_metric]
        axes.axhline(0, color=MUTED, linewidth=0.8, dashes=(4, 2))
        axes.vlines(rows, *ends, color=SERIES[0], linewidth=3, alpha=0.3, label="5% to 95%")
        axes.plot(
            rows, [point.mean for point in of_metric], color=SERIES[0], marker="o", markersize=4, label="mean"
        )
        axes.set_title(f"{names[metric]}\ntrue value {of_metric[0].written_truth()}", loc="left", fontsize=7)
        axes.set(xscale="log", xlabel="Rows")
        axes.set_xticks(rows, [f"{n:,}" for n in rows])
        axes.minorticks_off()
        if is_leftmost(axes):
            axes.set_ylabel("Estimate − truth")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure


@styled
def with_true_curve(drawing: Drawing, score: Doubles, frequency: Doubles) -> Figure:
    """Return a reliability diagram with the true frequency added (Vaicenavicius et al. 2019, fig. 8).

    Parameters
    ----------
    drawing
        The diagram of one system.
    score, frequency
        (p,) ascending scores, and their true frequencies.
    """
    axes, legend = drawing.figure.axes[0], drawing.figure.legends[0]
    (line,) = axes.plot(score, frequency, color=SERIES[2], linewidth=1.4, clip_on=False, label="true")
    handles = [*legend.legend_handles, line]
    legend.remove()
    drawing.figure.legend(handles=handles, loc="outside upper center", ncols=2)
    return drawing.figure
