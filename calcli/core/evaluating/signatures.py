"""The one line that says everything a number depends on."""

from __future__ import annotations

from calcli.core.estimators.gridded import GridError
from calcli.core.evaluating.measurements import Measurements
from calcli.core.language.entries import written
from calcli.core.language.expressions import MetricExpression
from calcli.core.language.settings import Settings
from calcli.core.language.version import __version__


def signature(
    call: MetricExpression,
    measured: Measurements,
    settings: Settings,
    *repeats: str,
    grid: GridError | None = None,
) -> str:
    """Return the signature of a metric: name, arguments, data, what was repeated, seed, version.

    Parameters
    ----------
    call, measured, settings
        The metric, what it was computed from, and how.
    repeats
        Resamples, draws and the like, as `key:value`.
    grid
        What the cells of scores leave open.
    """
    rows, classes = measured.predictions.scores.shape
    used, outcomes = call.used, f"k:{classes}"
    if measured.predictions.of_answers:
        used |= {"lens": "confidence"} if call.lens else {}
        outcomes = "outcome:right"
    parts = [call.entry.name, *(f"{key}:{written(value)}" for key, value in used.items())]
    sampled = [] if measured.of_rows is None else [f"rows:{rows}"]
    parts += [f"n:{measured.of_rows or rows}", *sampled, outcomes, f"dtype:{measured.dtype}"]
    if grid is not None or (call.lens and measured.grid(call.lens) is not None):
        parts.append("cells:grid")
    if grid is not None:
        parts.append(f"bound:{grid.bound:.2g}")
    if measured.state.head.weighted:
        parts.append("weighted")
    if settings.cluster is not None:
        parts.append(f"cluster:{settings.cluster}")
    if settings.clip and call.is_clipped:
        parts.append(f"clip:{settings.clip:g}")
    return "|".join([*parts, *repeats, f"seed:{settings.seed}", f"version:{__version__}"])
