"""Figures in Python, which a notebook shows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from calcli.core.data.predictions import Predictions
from calcli.core.language.figures import find_figure
from calcli.figures import Drawing, View, draw
from calcli.work.evaluate import evaluate


def plot(
    data: Any, labels: Any = None, *, figure: str = "reliability", view: View | None = None, **settings: Any
) -> Drawing:
    """Draw a figure.

    Parameters
    ----------
    data, labels
        Predictions, as `evaluate` takes them; or several by name, side by side on the same scales.
    figure : str
        A name that `calcli explain` lists.
    view : View, optional
        Lens, binning and so on.
    **settings
        As for `evaluate`.

    Returns
    -------
    Drawing
        The figure with its numbers; a notebook shows it.

    Raises
    ------
    InputError
        If these cannot be predictions.
    UsageError
        If the figure or a setting is unknown, or does not fit.
    """
    systems = data if isinstance(data, Mapping) and labels is None else {_name(data): data}
    if metrics := find_figure(figure).metrics:
        settings = {"metrics": metrics, **settings}
    evaluations = {name: evaluate(one, labels, **settings).evaluation for name, one in systems.items()}
    return draw(figure, evaluations, view)


def _name(data: Any) -> str:
    if isinstance(data, Predictions):
        return data.provenance.path
    return Path(data).name if isinstance(data, str | Path) else type(data).__name__
