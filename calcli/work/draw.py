"""Figures in Python, which a notebook shows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from calcli.core.data.predictions import Predictions
from calcli.core.language.declaring import PATH, TEXT, declared, documented, items, mapping
from calcli.core.language.errors import UsageError
from calcli.core.language.figures import (
    FIGURES,
    PlotSettings,
    ViewSettings,
    parse_figures,
    refuse_unknown_looks,
)
from calcli.core.language.settings import Settings
from calcli.figures import Drawing, View, draw
from calcli.figures.drawing import system_name, viewed
from calcli.io.saved.calibrators import load_calibrator
from calcli.work.evaluate import evaluation_of
from calcli.work.idle import idle_looks, idle_options

SYSTEMS = mapping('predictions by names that are text, such as {"test": predictions}')


@documented(ViewSettings)
def plot(
    data: Any,
    labels: Any = None,
    *,
    figure: str = "reliability",
    calibrator: Any = None,
    view: View | None = None,
    **settings: Any,
) -> Drawing:
    """Draw a figure.

    Parameters
    ----------
    data, labels
        Predictions, as `evaluate` takes them; or several by name, side by side on the same scales.
    figure : str
        A name that `calcli explain` lists, with arguments if any, as in reliability:binning=equal-mass.
    calibrator : path or sequence of them, optional
        Calibrator files, for the figure calibration-map.
    view : View, optional
        How to look at it, where the keywords of `View` are not given by themselves.
    {ViewSettings}
    **settings
        As for `evaluate`.

    Returns
    -------
    Drawing
        The figure with its numbers; a notebook shows it.

    Raises
    ------
    InputError
        If these cannot be predictions, or a calibrator cannot be read.
    UsageError
        If the figure or a setting is unknown, or does not fit.
    """
    several = isinstance(data, Mapping) and labels is None
    systems = SYSTEMS.checked("data", data) if several else {"": data}
    if not systems:
        raise UsageError("data holds no predictions; expected one or more, by their names")
    if not isinstance(view, View | None):
        raise UsageError(f"view is of type {type(view).__name__}; expected a View of calcli.figures")
    ((name, own),) = parse_figures([[TEXT.checked("figure", figure)]]).items()
    kind = FIGURES[name]
    looks = {name: settings.pop(name) for name in declared(ViewSettings) if name in settings}
    refuse_unknown_looks(kind, looks.keys() - {"lens", "by"})
    looks = own | looks
    looks |= {name: settings[name] for name in ("draws", "metrics") if name in settings}
    looks |= {"metrics": items(looks["metrics"])} if isinstance(looks.get("metrics"), str) else {}
    if calibrator is not None:
        files = calibrator if isinstance(calibrator, list | tuple) else [calibrator]
        files = [PATH.checked("calibrator", file) for file in files]
        looks["calibrators"] = {Path(file).name: load_calibrator(file) for file in files}
    view = viewed(view or View(), **looks)
    drawing = PlotSettings({kind.name: {}}, view.lens, view.by)

    def idle(asked: Settings, calibration: Predictions | None) -> list[str]:
        told = idle_options(asked, calibration, (), (name,), {view.lens, *asked.groups})
        return told + idle_looks(drawing, asked)

    if kind.metrics:
        settings = {"metrics": kind.metrics, **settings}
    evaluations = {name: evaluation_of(one, labels, settings, idle)[1] for name, one in systems.items()}
    named = evaluations if several else {system_name(one): one for one in evaluations.values()}
    return draw(name, named, view)
