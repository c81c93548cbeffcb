"""Planning: how many rows does a decision need?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from calcli.core.comparing.comparison import measured_systems, parse_margins, usually_compared
from calcli.core.data.predictions import Predictions
from calcli.core.data.units import clusters_of, require_clusters
from calcli.core.estimators.evidence import Margin
from calcli.core.estimators.intervals import Interval, Spread
from calcli.core.estimators.power import Power, Units
from calcli.core.evaluating.metrics.ranking import Ranking
from calcli.core.evaluating.metrics.scores import MeanOfRows
from calcli.core.language.declaring import documented
from calcli.core.language.errors import InputError, UsageError, naming
from calcli.core.language.expressions import parse_metric
from calcli.core.language.settings import PairSettings, Settings
from calcli.core.language.text import Watcher, unwatched
from calcli.io.dataset import files_of_systems
from calcli.io.options import ReadOptions
from calcli.io.read import read
from calcli.io.saved.settings import settings_of
from calcli.report.comparison import ComparisonReport
from calcli.report.plan import Need, PlanReport
from calcli.work.compare import compare, compare_files
from calcli.work.read import labelled

EITHER = (
    "plan takes one thing: calcli plan OLD NEW --margin log_loss=1%, calcli plan FILE --half-width 0.01, or "
    "calcli plan OLD [NEW] --detect 0.02"
)
CORRELATIONS = (0.2, 0.8)  # of two systems on the same rows, if only one is known


@documented(Settings)
@documented(PairSettings)
def plan(
    data: Any,
    new: Any = None,
    *,
    margins: Mapping[str, float | str] | None = None,
    metric: str | None = None,
    half_width: float | str | None = None,
    detect: float | str | None = None,
    **settings: Any,
) -> PlanReport:
    """Return how many rows a comparison, or an interval, needs before more are labelled.

    Parameters
    ----------
    data : path, table or Predictions
        What `read` takes, or returned: the old system if there is a new one.
    new : path, table or Predictions, optional
        The new one.
    {PairSettings}
    margins : mapping of str to float or str, optional
        Differences that do not matter, by metric expression: above 0, or a percentage of the old value, "1%".
    metric : str, optional
        Metric of the interval or the difference; by default log_loss, or accuracy for outcomes.
    half_width : float or str, optional
        Half-width of its interval, without a new system.
    detect : float or str, optional
        A difference to detect, in place of margins.
    {Settings}

    Returns
    -------
    PlanReport
        The rows that each metric needs.

    Raises
    ------
    InputError
        If the rows do not determine the variance of a metric.
    UsageError
        If an option is unknown or does not fit.
    """
    _require_one(1 if new is None else 2, margins, half_width, detect)
    old = labelled(data, "data")
    name = metric or usually_compared(old)[0]
    if new is None:
        return _of_one(old, settings_of(settings), name, half_width, detect)
    compare_settings = {"metrics": ",".join(margins or [name]), "draws": 0, **settings}
    return _of_two(compare(old, new, margins=margins, **compare_settings), name, detect)  # type: ignore[arg-type]


def _require_one(files: int, margins: Any, half_width: Any, detect: Any) -> None:
    """Raise a UsageError unless one goal is requested, with its files."""
    wanted = [bool(margins), half_width is not None, detect is not None]
    if sum(wanted) != 1 or files not in ((2,), (1,), (1, 2))[wanted.index(True)]:
        raise UsageError(EITHER)


def plan_files(
    files: Sequence[str],
    options: ReadOptions,
    settings: Settings,
    pairing: PairSettings,
    *,
    margins: Sequence[str] = (),
    metric: str | None = None,
    half_width: str | None = None,
    detect: str | None = None,
    watcher: Watcher = unwatched,
) -> PlanReport:
    """Plan with files; otherwise as `plan`."""
    files = files_of_systems(files, options)
    _require_one(len(files), margins, half_width, detect)
    watcher("planning", None)
    old = read(files[0], options)
    name = metric or usually_compared(old)[0]
    if len(files) == 1:
        return _of_one(old, settings, name, half_width, detect)
    with naming("--margin"):
        names = tuple(parse_margins(margins)) or (name,)
    compare_settings = replace(settings, metrics=names, draws=0)
    report = compare_files(files, options, compare_settings, pairing, margins=margins, watcher=watcher)
    return _of_two(report, name, detect)


def _of_two(report: ComparisonReport, metric: str, detect: float | str | None) -> PlanReport:
    (overall, *_) = report.comparisons
    needs = [
        Need(name, d.baseline, wanted, _known(d.power, name, d.no_interval), seen=detect is not None)
        for name, d in overall.differences[0].items()
        if (wanted := d.margin if detect is None else _width(detect, d.baseline) * (name == metric))
    ]
    return PlanReport(needs, [summary.input.path for summary in overall.summaries], report.paired)


def _width(text: float | str, value: float) -> float:
    """Return a width from a number, or from a percentage of a value."""
    try:
        wanted = Margin.read(str(text))
    except ValueError:
        wanted = Margin()
    if wanted == Margin():
        raise UsageError(f"{text!r} is no width; expected a number or a percentage above 0, as in 0.01")
    return wanted.of(value)


def _of_one(
    predictions: Predictions,
    settings: Settings,
    metric: str,
    half_width: float | str | None,
    detect: float | str | None,
) -> PlanReport:
    predictions.require_named_class()
    settings = replace(settings, cluster=clusters_of(predictions, settings.cluster))
    require_clusters(predictions, settings.cluster)
    call = parse_metric(metric, settings.defaults)
    (system,) = measured_systems([predictions], replace(settings, metrics=(metric,), draws=0))
    value, influences = system.value(call), system.influences.get(str(call))
    power, few = None, influences.spread.too_few() if influences else ""

    def interval(spread: Spread) -> Interval | None:
        if not isinstance(call, Ranking):
            return spread.judged(settings.level)[0]
        inside = min(max(value + spread.value, 0.0), 1.0)
        return call.interval(replace(spread, value=inside), settings.level, "row")[0]

    if influences and influences.spread.enough:
        pilot = Units(influences, system.predictions.n_rows, 1)
        power = Power(influences.spread.standard_error, pilot.rows, settings.level, pilot, interval)
    pilot_power, wanted = _known(power, call.text, few), _width(half_width or detect or 0, value)
    needs = [Need(call.text, value, wanted, pilot_power)]
    if detect is not None:
        errors = {r: pilot_power.standard_error * math.sqrt(2 * (1 - r)) for r in CORRELATIONS}
        needs = [
            Need(
                f"{call.text}, correlation {r:g}",
                value,
                wanted,
                replace(pilot_power, standard_error=e),
                seen=True,
            )
            for r, e in errors.items()
        ]
    elif "p_random" in system.evaluation.estimates[str(call)].parts:
        assert isinstance(call, MeanOfRows)
        rows = call.few_labels(system.measured)
        if rows.of_verdicts and (corrected := rows.corrected(settings.level)):
            half = (corrected.interval.high - corrected.interval.low) / 2
            needs = [replace(needs[0], now=half, labels=rows.labels_needed(wanted, settings.level))]
    return PlanReport(needs, [predictions.provenance.path], paired=detect is not None)


def _known(power: Power | None, metric: str, why: str) -> Power:
    if power is None:
        raise InputError(
            f"these rows do not tell how much {metric} varies: {why or 'it has no interval'}; take more of "
            "them, or another metric"
        )
    return power
