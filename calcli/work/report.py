"""What an evaluation gives to Python."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calcli.core.evaluating.results import Estimate, Evaluation
from calcli.core.language.declaring import PATH, TEXT
from calcli.core.language.errors import CalcliError, UsageError
from calcli.core.language.expressions import parse_metric
from calcli.core.language.text import counted, number
from calcli.report.evaluation import EvaluationReport

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

    from calcli.figures import Drawing

SHOWN = 4  # metrics in one line


@dataclass(frozen=True, repr=False, kw_only=True, eq=False)
class Report(EvaluationReport):
    """What was found out about predictions; printed, it shows the tables of the command line.

    Attributes
    ----------
    results
        Metrics by expression, the verdict, classes, reliability bins and warnings; then those of slices.
    settings
        What was asked for.
    evaluation
        What they were taken from, for `calcli.figures.standard_set`.
    """

    evaluation: Evaluation

    def to_frame(self, per_class: bool = False) -> pandas.DataFrame:
        """Return a row for every number, as `calcli evaluate --format csv` has them.

        Parameters
        ----------
        per_class
            Whether to add the figures of each class.
        """
        from calcli.io.frames import to_frame

        return to_frame(replace(self, per_class=per_class).records())

    def __getitem__(self, metric: str) -> Estimate:
        """Return the estimate of a metric on all rows, by the expression asked for or another spelling of it.

        Raises
        ------
        KeyError
            If it was not computed.
        """
        found = self.results[0].metrics
        if not isinstance(metric, str):
            raise KeyError(f"{metric!r} is not the name of a metric; there are {', '.join(found)}")
        if metric in found:
            return found[metric]
        call = str(parse_metric(metric, self.evaluation.settings.defaults))
        if call not in self.results[0].estimates:
            raise KeyError(f"{metric} was not computed; there are {', '.join(found)}")
        return self.results[0].estimates[call]

    def __contains__(self, metric: object) -> bool:
        """Return whether a metric was computed on all rows, by any spelling of it."""
        try:
            return isinstance(metric, str) and self[metric] is not None
        except (KeyError, UsageError):
            return False

    def __iter__(self) -> Iterator[str]:
        """Yield the metrics computed on all rows, as they were asked for."""
        return iter(self.results[0].metrics)

    def plot(
        self,
        figure: str = "reliability",
        *,
        title: str | None = None,
        ax: Axes | None = None,
        figsize: tuple[float, float] | None = None,
        **view: Any,
    ) -> Drawing:
        """Return a figure, which a notebook shows.

        Parameters
        ----------
        figure
            A name that `calcli explain` lists.
        title
            What to call the predictions above it, in place of the name of their file.
        ax
            Axes of a grid of plots, in whose place it is drawn.
        figsize
            Width and height in inches.
        **view
            As for `calcli.figures.View`: lens, binning and so on.
        """
        from calcli.figures.drawing import View, draw, system_name, viewed
        from calcli.figures.style import drawn_in

        if ax is not None and figsize is not None:
            raise UsageError("ax has its place and size already; leave out figsize")
        figure = TEXT.checked("figure", figure)
        name = title or system_name(self.evaluation)
        look = viewed(View(draws=self.evaluation.settings.draws), **view)
        with nullcontext() if ax is None else drawn_in(ax):
            drawing = draw(figure, {name: self.evaluation}, look)
        if ax is not None:
            drawing = replace(drawing, figure=drawing.figure.figure)
        if figsize is not None:
            drawing.figure.set_size_inches(*figsize)
        return drawing

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the report: a page with figures as .html, else .json, .md or .csv.

        Raises
        ------
        InputError
            If it cannot be written.
        UsageError
            If the ending is none of these.
        """
        from calcli.work.page import Pictures, save_report

        target: str = PATH.checked("path", path)
        pictures = Pictures()
        if Path(target).suffix.lower() == ".html":
            pictures.draw(self.evaluation)
        save_report(replace(self, details=True), target, pictures.found)

    def _repr_html_(self) -> str:
        """Return the verdict, the tables and the reliability diagram, which a notebook shows."""
        try:
            drawing = self.plot()
        except CalcliError:  # of a state that does not keep it
            return super()._repr_html_()
        image = b64encode(drawing._repr_png_()).decode()
        style = "max-width: 100%; height: auto"
        picture = f'<img style="{style}" alt="{escape(drawing.caption)}" src="data:image/png;base64,{image}">'
        return super()._repr_html_() + picture

    def __repr__(self) -> str:
        read = self.results[0].input
        size = f"{counted(read.rows, 'row')}, {counted(read.classes, 'class')}"
        if read.of_answers:
            size = counted(read.rows, "answer")
        metrics = self.results[0].metrics
        values = [f"{name} {number(found.value)}" for name, found in list(metrics.items())[:SHOWN]]
        values += [f"and {len(metrics) - SHOWN} more"] if len(metrics) > SHOWN else []
        return f"<Report on {read.path}: {size}; {', '.join(values)}>"
