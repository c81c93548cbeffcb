"""Options that change nothing in what is asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields

from calcli.core.comparing.policy import Rule
from calcli.core.curves.needs import own_metrics
from calcli.core.evaluating.recalibrated import Companions
from calcli.core.language.declaring import declared
from calcli.core.language.expressions import MetricExpression, parse_metrics
from calcli.core.language.figures import FIGURES, USUAL
from calcli.core.language.settings import Settings
from calcli.core.language.viewing import PlotSettings

OF_RECALIBRATIONS = ("recalibrator", "folds", "fold_column", "retrain")
NAMED = {"groups": "lens", "edges": "binning", "threshold_weights": "weights"}  # arguments that take a name


def idle_options(
    settings: Settings,
    companions: Companions | None = None,
    rules: Sequence[Rule] = (),
    figures: Sequence[str] | None = None,
    names: Collection[str] = (),
) -> list[str]:
    """Return a sentence for each option that nothing asked for makes use of.

    Parameters
    ----------
    settings
        What is asked for; the usual metrics, if it names none, make use of all but of what they do not name.
    companions
        Of commands that take calibration data.
    rules
        Whose metrics are computed as well.
    figures
        Those asked for, of commands that draw: they need metrics of their own where none are named.
    names
        Groups, edges and weights that something else makes use of.
    """
    metrics = settings.metrics
    if figures is not None and not metrics:
        metrics = own_metrics([FIGURES[figure] for figure in figures], settings)
    calls = [*parse_metrics(metrics, settings.defaults), *(rule.call for rule in rules)]
    idle = _unnamed(settings, calls, names)
    if settings.loss_resamples != Settings.loss_resamples and not settings.retrain:
        idle.append("--loss-resamples changes nothing without --retrain")
    if settings.min_rows is not None and figures is None and not _recursive(calls):
        idle.append(
            f"--min-rows {settings.min_rows} changes nothing: no metric asked for has binning=recursive"
        )
    if not settings.metrics and figures is None:
        return idle
    wholes = [_whole(call) for call in calls]
    if settings.costs and not any("costs" in call.arguments for call in wholes):
        idle.append("--costs change nothing: no metric asked for has costs, as bayes_risk and expected_cost")
    if settings.decision_column is not None and not any("expected_cost" in call.entry.name for call in calls):
        idle.append("--decision-column changes nothing: no metric asked for is expected_cost")
    return idle if companions is None else idle + _untrained(settings, companions, calls)


def idle_looks(drawing: PlotSettings, settings: Settings) -> list[str]:
    """Return a sentence for what is asked of figures that none of them makes use of."""
    kinds = [FIGURES[name] for name in drawing.figures if name in FIGURES]  # of others a fault is told
    idle = []
    shown = [*sum(drawing.panels, settings.metrics), *([drawing.select] if drawing.select else [])]
    recursive = drawing.binning == "recursive" or _recursive(parse_metrics(shown, settings.defaults))
    if settings.min_rows is not None and not recursive and bool(kinds) == bool(drawing.figures):
        idle.append(f"--min-rows {settings.min_rows} changes nothing without --binning recursive")
    if not kinds:
        return idle
    if drawing.lens != USUAL and not any(kind.one_score or kind.bins == "vectors" for kind in kinds):
        idle.append(f"--lens {drawing.lens} changes nothing: no figure asked for looks through it")
    if settings.metrics and not drawing.by and not any(kind.metrics for kind in kinds):
        idle.append("--metrics changes nothing: no figure asked for shows metrics")
    return idle


def _recursive(calls: Sequence[MetricExpression]) -> bool:
    return any(call.arguments.get("binning") == "recursive" for call in calls)


def _whole(call: MetricExpression) -> MetricExpression:
    return call.whole if "score" in call.arguments else call


def _unnamed(settings: Settings, calls: Sequence[MetricExpression], names: Collection[str]) -> list[str]:
    """Return what is said of things that have a name, which nothing calls."""
    idle = []
    for field, argument in NAMED.items():
        given: Mapping[str, object] = getattr(settings, field)
        used = {one.arguments.get(argument) for call in calls for one in (call, _whole(call))}
        metric = "weighted_risk:weights" if field == "threshold_weights" else argument
        idle += [
            f"{declared(Settings)[field].option} {name} changes nothing: no metric asked for has "
            f"{metric}={name}"
            for name in given
            if name not in used and name not in names
        ]
    return idle


def _untrained(settings: Settings, companions: Companions, calls: Sequence[MetricExpression]) -> list[str]:
    """Return what is said of options of recalibrations, if there are none."""
    trained = [call.arguments["training"] for call in calls if "training" in call.arguments]
    if companions.calibration is not None and "held-out" not in trained:
        return ["--calibration-data trains nothing: no metric asked for recalibrates"]
    if any("recalibrator" in call.arguments for call in calls) or "cross-validation" in trained:
        return []
    usual = {one.name: one.default for one in fields(Settings)}
    given = [declared(Settings)[name] for name in OF_RECALIBRATIONS if getattr(settings, name) != usual[name]]
    idle = [*(one.option for one in given), *(["--train-on-test"] if settings.training == "test" else [])]
    return [f"{option} changes nothing: no metric asked for recalibrates" for option in idle]
