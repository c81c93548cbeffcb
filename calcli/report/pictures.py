"""Figures on a page for evaluations, comparisons, streams and segments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from calcli.core.comparing.comparison import Comparison, Difference
from calcli.core.comparing.monitoring import Stream as WatchedStream
from calcli.core.curves.needs import usual_lens
from calcli.core.curves.unbinned import corp_curve
from calcli.core.data.arrays import Stream, generator
from calcli.core.data.predictions import Predictions
from calcli.core.estimators.segments import Search, SegmentMetric
from calcli.core.evaluating.measurements import Measurements
from calcli.core.evaluating.results import Evaluation
from calcli.core.language.errors import NeedsRows
from calcli.core.language.figures import FIGURES, LINES
from calcli.core.language.settings import Settings
from calcli.core.state.needs import through
from calcli.figures import Drawing, standard_drawings
from calcli.figures.comparison import changes, curves
from calcli.figures.inline import inline_svg
from calcli.figures.monitor import over_time
from calcli.figures.segments import MOST, segments_forest
from calcli.report.page import Picture


def picture(name: str, drawing: Drawing, system: str = "", number: int = 0) -> Picture:
    """Return a figure for a page.

    Parameters
    ----------
    name, drawing
        Its name on the page, and the drawing.
    system
        Its owner; "" for one of all systems.
    number
        Distinguishes figures with the same name on a page.
    """
    kind = FIGURES[drawing.name]
    meaning = f"{kind.meaning[:1].upper()}{kind.meaning[1:]}."
    svg = inline_svg(drawing.figure, f"{name}{number or ''}", drawing.caption)
    return Picture(kind.title, drawing.caption or meaning, svg, system)


class Album:
    """The standard figures of evaluations, for a page and, optionally, for a folder.

    Parameters
    ----------
    folder
        Where to write them as well.

    Attributes
    ----------
    pictures
        The drawings.
    captions
        Captions by path.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self.pictures: list[Picture] = []
        self.captions: dict[Path, str] = {}

    def draw(self, evaluation: Evaluation, place: str = "", system: str = "") -> None:
        """Draw the figures of an evaluation.

        Parameters
        ----------
        evaluation
            The evaluation.
        place
            The folder within the folder.
        system
            The name of the data set; "" for the only one.
        """
        count = len(self.pictures)
        drawings = standard_drawings(evaluation) if evaluation.predictions.has_probabilities else ()
        for name, drawing in drawings:
            if self.folder:
                path = self.folder / place / f"{name}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                drawing.save(path)
                self.captions[path] = drawing.caption
            self.pictures.append(picture(name, drawing, system, count))


def comparison_pictures(
    overall: Comparison, systems: Sequence[Predictions], settings: Settings, names: Sequence[str]
) -> list[Picture]:
    """Return the figures of a comparison: changes beside their margins, and reliability curves in one.

    There are none for more systems than one panel can distinguish.

    Parameters
    ----------
    overall
        The comparison on all rows.
    systems
        Its rows, the baseline first; a state that lacks the data of a curve has none.
    settings
        How they were compared.
    names
        Names of the systems.
    """
    if len(names) > LINES:
        return []
    by_metric: dict[str, dict[str, Difference]] = {}
    for name, differences in zip(names[1:], overall.differences, strict=True):
        for metric, d in differences.items():
            if d.interval and math.isfinite(d.interval.low) and math.isfinite(d.interval.high):
                by_metric.setdefault(metric, {})[name] = d
    pictures = []
    if by_metric:
        gray = " Gray: the margin." if any(c.margin for d in by_metric.values() for c in d.values()) else ""
        caption = (
            f"Each metric on its own scale: its change from {names[0]} with its interval.{gray} Diamonds: "
            "proven to differ. Metrics without an interval are in the tables."
        )
        pictures.append(Picture("Changes", caption, inline_svg(changes(by_metric), "changes", caption)))
    if not (systems and all(system.has_probabilities for system in systems)):
        return pictures
    with suppress(NeedsRows):
        lens, rng = usual_lens(systems), generator(settings.seed, Stream.CURVES)
        results = {}
        for name, rows in zip(names, systems, strict=True):
            problem = Measurements.of(rows, settings, [through(lens, rows, settings)]).problem(lens)
            results[name] = corp_curve(problem, lens, 0, rng)
        caption = "Isotonic regression (CORP) of the outcome on the score; thin where no row tells it."
        svg = inline_svg(curves(results, systems[0].classes), "curves", caption)
        pictures.append(Picture("Reliability curves", caption, svg))
    return pictures


def stream_pictures(stream: WatchedStream) -> list[Picture]:
    """Return the gap and the evidence over time."""
    caption = (
        "Gap of each period, predicted minus observed, with the band in which 95% of gaps lie by chance; "
        "below, the evidence after it. Shaded: from the change to the alarm."
    )
    return [Picture("Over time", caption, inline_svg(over_time(stream), "over-time", caption))]


def segment_pictures(search: Search, metric: SegmentMetric) -> list[Picture]:
    """Return the segments with their intervals."""
    caption = (
        "Observed minus predicted in each segment, with the interval that holds for all of them at once; "
        f"the {MOST} furthest from chance at most. Diamonds: beyond chance."
    )
    figure = segments_forest(search.segments, {segment.name for segment in search.found}, metric)
    return [Picture("Segments", caption, inline_svg(figure, "segments", caption))]
