"""Drawing figures of evaluations: one, or the standard set of a report."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any, Protocol, TypeVar

from matplotlib.figure import Figure

from calcli.core.calibrators.record import CalibratorRecord
from calcli.core.curves.needs import problem_of, usual_lens
from calcli.core.data.arrays import Tables
from calcli.core.data.predictions import event_name, require_classes
from calcli.core.evaluating.results import Evaluation
from calcli.core.language.declaring import PATH, checked, declared, documented
from calcli.core.language.entries import FigureKind
from calcli.core.language.errors import NeedsRows, UsageError
from calcli.core.language.expressions import AUTO_LENS, LENS, no_lens, reason, region_ends
from calcli.core.language.figures import (
    FIGURES,
    ViewSettings,
    find_figure,
    refuse_more_systems,
    standard_names,
)
from calcli.core.language.text import brief
from calcli.core.problems.problem import Problem
from calcli.figures.output import save
from calcli.figures.style import footed, headed, zoom

Evaluations = Mapping[str, Evaluation]


@documented(ViewSettings)
@dataclass(frozen=True, repr=False)
class View(ViewSettings):
    """How evaluations are looked at.

    Attributes
    ----------
    {ViewSettings}
    draws
        Simulated data sets behind consistency bars.
    metrics
        Metrics to draw over epochs and slices; empty for the default ones.
    calibrators
        Calibrators to map, by name.
    selected
        Over epochs: in words, how files were chosen on another set, and the chosen number of each run by its
        folder, or of all as ""; None to mark the best value of each series.
    """

    draws: int = 999
    metrics: tuple[str, ...] = ()
    calibrators: Mapping[str, CalibratorRecord] = field(default_factory=dict)
    selected: tuple[str, Mapping[str, int]] | None = None

    def __repr__(self) -> str:
        return brief(self)


def viewed(view: View, **options: Any) -> View:
    """Return a view with other settings.

    Raises
    ------
    UsageError
        If the value of one is wrong.
    """
    settings = {name: options.pop(name) for name in declared(ViewSettings) if name in options}
    return replace(view, **checked(ViewSettings, settings, "keyword"), **options)


@dataclass(frozen=True, eq=False)
class Drawing:
    """A figure with the numbers in it.

    Attributes
    ----------
    figure
        The figure.
    tables
        Columns of the drawn results, by system, class group or metric; if a panel shows more than one
        table, the others follow as "SYSTEM, observed" and the like.
    name
        Name of the figure, a key of `FIGURES`.
    title
        Name of the data.
    caption
        A description for a reader without the image and for a paper: rows, bins, bands, draws, seed.
    """

    figure: Figure
    tables: Tables = field(default_factory=dict)
    name: str = ""
    title: str = ""
    caption: str = ""

    def __repr__(self) -> str:
        return f"<Drawing of {self.name}: {self.title}>"

    def _repr_png_(self) -> bytes:
        """Return the PNG for a notebook."""
        image = BytesIO()
        save(self.figure, image, "png")
        return image.getvalue()

    def save(self, path: str | os.PathLike[str]) -> list[str]:
        """Write the figure with its title and caption; see `calcli.figures.save`."""
        return save(self.figure, path, title=self.title, caption=self.caption)

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield a record for each row of the tables; `name` is the table."""
        for name, columns in self.tables.items():
            for row in zip(*(column.tolist() for column in columns.values()), strict=True):
                yield {"name": name} | dict(zip(columns, row, strict=True))


class Tabled(Protocol):
    """The numbers of a figure, a result of `calcli.core.curves`."""

    def tables(self) -> Tables:
        """Return its tables; the table behind the figure has an empty name."""


Made = tuple[Figure, Mapping[str, Tabled], str]  # the last one describes the figure, for the caption
INDEPENDENT = "independent rows that are not weighted by their labels, without --cluster and --priors"
MOST_NAMED = 4  # systems named in a caption


def draw(name: str, evaluations: Evaluations, view: View | None = None) -> Drawing:
    """Draw one figure of one or several evaluations, side by side on the same scales.

    The function `make` of the module with the figure's name computes and draws it.

    Parameters
    ----------
    name
        A name in `calcli.core.language.figures.FIGURES`.
    evaluations
        By system name.
    view
        Lens and binning.

    Raises
    ------
    UsageError
        If the figure or the lens is unknown or does not fit the data.
    """
    view = view or View()
    kind = find_figure(name)
    if kind.of_classes and view.lens == "class-wise":
        kind = FIGURES[kind.of_classes]
    _require_fitting(kind, evaluations, view)
    if kind.one_score and view.lens == AUTO_LENS:
        view = replace(view, lens=usual_lens(evaluation.predictions for evaluation in evaluations.values()))
    if kind.chance == "draws" and not are_independent(evaluations):
        view = replace(view, draws=0)
    module = import_module(f"calcli.figures.{kind.name.replace('-', '_')}")
    figure, results, text = module.make(evaluations, view)
    tables: Tables = {}
    subtables: Tables = {}
    for key, result in results.items():
        for part, table in result.tables().items():
            if part:
                subtables[f"{key}, {part}"] = table
            else:
                tables[key] = table
    headed(figure)
    if kind.footed:
        footed(figure, _size(evaluations))
    title = f"{kind.title} of {_named(evaluations)}"
    return Drawing(figure, tables | subtables, kind.name, title, f"{title}. {text}")


def chance_note(figure: Figure, evaluations: Evaluations) -> str:
    """Return a note, for a figure and its caption, if chance was simulated for other rows than these."""
    if are_independent(evaluations):
        return ""
    footed(figure, "Chance: as if rows were independent and not weighted by their labels")
    return f" What chance explains is shown for {INDEPENDENT}."


def are_independent(evaluations: Evaluations) -> bool:
    """Return whether rows are independent and not weighted by their labels."""
    return all(evaluation.settings.draws_outcomes for evaluation in evaluations.values())


def _require_fitting(kind: FigureKind, evaluations: Evaluations, view: View) -> None:
    """Raise a UsageError if a figure does not fit the data, their number, or the view."""
    for evaluation in evaluations.values():
        evaluation.predictions.require_probabilities()
    if any(evaluation.predictions.of_answers for evaluation in evaluations.values()):
        if kind.needs_classes:
            raise UsageError(f"the figure {kind.name}: {reason(kind)}")
        if view.lens not in (LENS, AUTO_LENS):
            raise UsageError(f"--lens {view.lens}: {no_lens(view.lens)}")
    refuse_more_systems([kind], len(evaluations))
    if kind.of_two:
        _refuse_more_classes(kind, evaluations)
    if view.region != "all" and not kind.one_score:
        raise UsageError(f"the figure {kind.name} shows all rows; leave out region={view.region}")
    if kind.chance == "only" and not are_independent(evaluations):
        raise UsageError(f"the figure {kind.name} shows what chance explains and needs {INDEPENDENT}")


def _refuse_more_classes(kind: FigureKind, evaluations: Evaluations) -> None:
    """Raise a UsageError unless all systems have two classes."""
    for evaluation in evaluations.values():
        predictions = evaluation.predictions
        if predictions.n_classes != 2:
            raise UsageError(
                f"the figure {kind.name} needs 2 classes, but {predictions.provenance.path} has "
                f"{predictions.n_classes}; see --against-rest"
            )


def _named(evaluations: Evaluations) -> str:
    """Return the systems and their numbers of rows, in words."""
    rows = {name: evaluation.predictions.n_rows for name, evaluation in evaluations.items()}
    if len(rows) <= MOST_NAMED:
        return ", ".join(f"{name} (n = {n:,})" for name, n in rows.items())
    return f"{len(rows)} systems ({_size(evaluations)})"


def _size(evaluations: Evaluations) -> str:
    """Return the numbers of rows of systems, in words."""
    rows = [evaluation.predictions.n_rows for evaluation in evaluations.values()]
    least, largest = min(rows), max(rows)
    suffix = " each" if len(rows) > 1 else ""
    return f"n = {least:,}{suffix}" if least == largest else f"n = {least:,} to {largest:,}"


def standard_set(evaluation: Evaluation, folder: str | os.PathLike[str]) -> dict[Path, str]:
    """Write the figures that fit an evaluation as PNG.

    Parameters
    ----------
    evaluation
        What to draw.
    folder
        An existing folder.

    Returns
    -------
    The captions of the files written, in the order in which a report shows them.
    """
    captions, place = {}, Path(PATH.checked("folder", folder))
    for name, drawing in standard_drawings(evaluation):
        path = place / f"{name}.png"
        drawing.save(path)
        captions[path] = drawing.caption
    return captions


def standard_drawings(evaluation: Evaluation) -> Iterator[tuple[str, Drawing]]:
    """Yield the figures that fit an evaluation and the names of their files, in the order of reports.

    Figures that need rows are left out for a state.
    """
    predictions = evaluation.predictions
    systems = {system_name(evaluation): evaluation}
    tested, marks = evaluation.settings.draws_outcomes, bool(evaluation.settings.thresholds)
    for name in standard_names(predictions.n_classes, tested=tested, marks=marks):
        with suppress(NeedsRows):
            yield name, draw(name, systems)


def system_name(evaluation: Evaluation) -> str:
    """Return the name of the only system in figures: its file, or a word for a table in memory."""
    provenance = evaluation.predictions.provenance
    return provenance.name or (Path(provenance.path).name if provenance.files else "predictions")


T = TypeVar("T")


def through_lens(
    compute: Callable[[Evaluation, Problem], T], evaluations: Evaluations, view: View
) -> dict[str, T]:
    """Return the results of a function for each system's problem, through the lens and region of a view."""
    if view.lens.startswith("class-"):
        require_same_classes(evaluations)
    where = "" if view.region == "all" else f", {view.region}"
    return {
        system + where: compute(evaluation, problem_of(evaluation, view.lens, view.region))
        for system, evaluation in evaluations.items()
    }


def zoomed(figure: Figure, view: View, height: tuple[float, float] | None = None) -> Figure:
    """Return a figure with axes limited to the region of a view, the vertical ones to a height."""
    if view.region != "all":
        zoom(figure, region_ends(view.region), height)
    return figure


def classes_of(evaluations: Evaluations) -> Sequence[str]:
    """Return the class names of the first system, as shown in text."""
    return _said(next(iter(evaluations.values())))


def shared_classes(evaluations: Evaluations) -> Sequence[str]:
    """Return the class names that all systems share, as shown in text; empty if they differ."""
    every = {_said(evaluation) for evaluation in evaluations.values()}
    return every.pop() if len(every) == 1 else ()


def _said(evaluation: Evaluation) -> tuple[str, ...]:
    predictions = evaluation.predictions
    *negatives, last = predictions.classes
    return (*negatives, event_name(last, predictions.provenance.labels) if len(negatives) == 1 else last)


def require_same_classes(evaluations: Evaluations) -> None:
    """Raise an InputError if the classes of a system differ from the first system's."""
    reference, *systems = (evaluation.predictions for evaluation in evaluations.values())
    for predictions in systems:
        require_classes(predictions, reference.classes, reference.provenance.path)
