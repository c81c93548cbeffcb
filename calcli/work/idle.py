"""Options without effect on a request: they are reported, and the rest is done.

Requests that cannot be met are refused elsewhere.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields

from calcli.core.calibrators.base import make
from calcli.core.calibrators.crossvalidation import are_apart
from calcli.core.comparing.policy import Rule
from calcli.core.curves.needs import own_metrics
from calcli.core.data.predictions import Predictions
from calcli.core.language.declaring import declared
from calcli.core.language.expressions import AUTO_LENS, Measure, MethodExpression, parse_metrics
from calcli.core.language.figures import FIGURES, PlotSettings
from calcli.core.language.methods import CHOICE
from calcli.core.language.settings import FitSettings, Settings
from calcli.io.options import ReadOptions

OF_RECALIBRATIONS = ("folds", "fold_column")
NAMED = {"groups": "lens", "threshold_weights": "weights"}  # arguments that take a name


def idle_options(
    settings: Settings,
    calibration: Predictions | None = None,
    rules: Sequence[Rule] = (),
    figures: Sequence[str] | None = None,
    names: Collection[str] = (),
) -> list[str]:
    """Return a sentence for each option that no requested metric uses.

    Parameters
    ----------
    settings
        The request; without metrics, the default ones use every option except options of named metrics.
    calibration
        Rows that recalibrations are fitted to, if any were given.
    rules
        Rules, with further metrics to compute.
    figures
        The requested metrics of commands that draw; their figures have default metrics.
    names
        Groups, edges and weights that something else uses.
    """
    metrics = settings.metrics
    if figures is not None and not metrics:
        metrics = own_metrics([FIGURES[figure] for figure in figures], settings)
    calls = [*parse_metrics(metrics, settings.defaults), *(rule.metric for rule in rules)]
    idle = _unnamed(settings, calls, names)
    if not settings.metrics and figures is None:
        return idle
    wholes = [_whole(metric) for metric in calls]
    costs = {"--costs": settings.costs, "--cost-column": settings.cost_column}
    if not settings.thresholds and not any("costs" in metric.arguments for metric in wholes):
        reason = "no metric asked for uses costs, as bayes_risk and expected_cost do"
        idle += [f"{option} has no effect: {reason}" for option, value in costs.items() if value]
    if settings.decision_column is not None and not any(
        "expected_cost" in metric.entry.name for metric in calls
    ):
        idle.append("--decision-column has no effect: expected_cost is not asked for")
    return idle + _untrained(settings, calibration, calls)


def idle_of_fit(
    method: str, metrics: Sequence[MethodExpression], chosen: FitSettings, candidates: Sequence[str] | None
) -> list[str]:
    """Return a sentence for each option without effect on a fit."""
    idle, auto = [], method == CHOICE.name
    if candidates and not auto:
        idle.append(f"--candidates has no effect: -m {method} does not choose")
    if not auto and chosen.score != FitSettings.score:
        idle.append(f"--score {chosen.score} has no effect: -m auto chooses by it, -m {method} does not")
    if chosen.quick and (not auto or candidates):
        idle.append("--quick has no effect: it is for -m auto")
    if chosen.min_rows != FitSettings.min_rows and not chosen.per_predicted_class:
        idle.append(f"--min-rows {chosen.min_rows} has no effect without --per-predicted-class")
    if len(metrics) == 1 and chosen.workers not in (None, 1):
        if not chosen.folds:
            idle.append(f"--workers {chosen.workers} has no effect: --folds 0 leaves one fit")
        elif not are_apart(make(chosen.wrapped(metrics[0]))):
            idle.append(
                f"--workers {chosen.workers} has no effect: all fits of {metrics[0]} start from the first one"
            )
    return idle


def idle_of_keys(options: ReadOptions, *, saves: bool = False, state: str | None = None) -> list[str]:
    """Return a sentence for options that identify rows, for commands that pair no rows.

    Parameters
    ----------
    options
        How predictions are read.
    saves, state
        Whether the command may save a state, and where it goes.
    """
    idle = []
    if options.allow_unmatched and not options.labels_by_key:
        idle.append("--allow-unmatched has no effect without a table of --labels and --key")
    if options.labels_by_key or state is not None:
        return idle
    saved = "--save-state, or " if saves else ""
    if options.key is not None:
        idle.append(f"--key {options.key} has no effect without {saved}a table of --labels")
    return idle


def idle_of_figures(drawing: PlotSettings, settings: Settings) -> list[str]:
    """Return a sentence for options of figures that no drawn figure uses."""
    kinds, idle = [FIGURES[name] for name in drawing.figures], list[str]()
    if not kinds:
        return idle
    if drawing.lens != AUTO_LENS and not any(kind.one_score or kind.bins == "vectors" for kind in kinds):
        idle.append(f"--lens {drawing.lens} has no effect: no figure asked for uses it")
    if settings.thresholds and not any(kind.at_thresholds for kind in kinds):
        idle.append("--thresholds has no effect: no figure asked for shows thresholds")
    if settings.metrics and not drawing.by and not any(kind.metrics for kind in kinds):
        idle.append("--metrics has no effect: no figure asked for shows metrics")
    return idle


def _whole(metric: Measure) -> Measure:
    return metric.base_score if "score" in metric.arguments else metric


def _unnamed(settings: Settings, metrics: Sequence[Measure], names: Collection[str]) -> list[str]:
    """Return the remark on named definitions without use."""
    idle = []
    for field, argument in NAMED.items():
        defined: Mapping[str, object] = getattr(settings, field)
        values = {metric.arguments.get(argument) for call in metrics for metric in (call, _whole(call))}
        metric = "weighted_risk:weights" if field == "threshold_weights" else argument
        idle += [
            f"{declared(Settings)[field].option} {name} has no effect: no metric asked for has "
            f"{metric}={name}"
            for name in defined
            if name not in values and name not in names
        ]
    return idle


def _untrained(settings: Settings, calibration: Predictions | None, metrics: Sequence[Measure]) -> list[str]:
    """Return the remark on options of recalibrations, if there is no recalibration."""
    trained = [metric.arguments["training"] for metric in metrics if "training" in metric.arguments]
    if calibration is not None and "held-out" not in trained:
        return ["--calibration-data has no effect: no metric asked for recalibrates"]
    if any("recalibrator" in metric.arguments for metric in metrics) or "cross-validation" in trained:
        return []
    usual = {field.name: field.default for field in fields(Settings)}
    moved = [declared(Settings)[name] for name in OF_RECALIBRATIONS if getattr(settings, name) != usual[name]]
    return [f"{setting.option} has no effect: no metric asked for recalibrates" for setting in moved]


def warn(sentence: str) -> None:
    """Issue a Python warning to the caller."""
    depth, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("calcli."):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(sentence, stacklevel=depth)
