"""Planning: how many rows does a decision need?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from calcli.core.comparing.comparison import measured_systems, parse_margins
from calcli.core.data.predictions import Predictions
from calcli.core.data.units import require_clusters
from calcli.core.estimators.evidence import Margin
from calcli.core.estimators.intervals import Interval, Spread
from calcli.core.estimators.power import Power, Units
from calcli.core.evaluating.metrics.ranking import Ranking
from calcli.core.language.declaring import documented
from calcli.core.language.errors import InputError, UsageError, naming
from calcli.core.language.expressions import parse_metric
from calcli.core.language.settings import PairSettings, Settings
from calcli.io.dataset import files_of_systems
from calcli.io.options import ReadOptions
from calcli.io.read import read
from calcli.io.saved.settings import settings_of
from calcli.report.comparison import ComparisonReport
from calcli.report.plan import Need, PlanReport
from calcli.work.compare import compare, compare_files
from calcli.work.read import labelled

EITHER = "plan takes an old and a new file with a margin, or one file with a half-width"


@documented(Settings)
@documented(PairSettings)
def plan(
    data: Any,
    new: Any = None,
    *,
    margins: Mapping[str, float | str] | None = None,
    metric: str = "log_loss",
    half_width: float | str | None = None,
    **settings: Any,
) -> PlanReport:
    """Say how many rows a comparison needs, or an interval, before more are labelled.

    Parameters
    ----------
    data : path, table or Predictions
        What `read` takes, or returned: the old system if there is a new one.
    new : path, table or Predictions, optional
        The new one.
    {PairSettings}
    margins : mapping of str to float or str, optional
        Differences that do not matter, by metric expression: above 0, or a percentage of the old value, "1%".
    metric : str
        Of the interval, where there is no new system.
    half_width : float or str, optional
        Of its interval, likewise.
    {Settings}

    Returns
    -------
    PlanReport
        How many rows each metric needs.

    Raises
    ------
    InputError
        If the rows do not tell how much a metric varies.
    UsageError
        If an option is unknown or does not fit.
    """
    if new is None:
        if margins or half_width is None:
            raise UsageError(EITHER)
        return _of_one(labelled(data, "data"), settings_of(settings), metric, str(half_width))
    if not margins or half_width is not None:
        raise UsageError(EITHER)
    compare_settings = {"metrics": ",".join(margins), "draws": 0, **settings}
    return _of_two(compare(data, new, margins=margins, **compare_settings))  # type: ignore[arg-type]


def plan_files(
    files: Sequence[str],
    options: ReadOptions,
    settings: Settings,
    pairing: PairSettings,
    *,
    margins: Sequence[str] = (),
    metric: str = "log_loss",
    half_width: str | None = None,
) -> PlanReport:
    """Plan with files; otherwise as `plan`."""
    files = files_of_systems(files, options)
    if len(files) != (1 if half_width else 2) or bool(margins) == bool(half_width):
        raise UsageError(f"{EITHER}: calcli plan OLD NEW --margin log_loss=1%, or FILE --half-width 0.01")
    if half_width:
        return _of_one(read(files[0], options), settings, metric, half_width)
    with naming("--margin"):
        names = tuple(parse_margins(margins))
    compare_settings = replace(settings, metrics=names, draws=0)
    report = compare_files(files, options, compare_settings, pairing, margins=margins)
    return _of_two(report)


def _of_two(report: ComparisonReport) -> PlanReport:
    (overall, *_) = report.comparisons
    needs = [
        Need(name, d.baseline, d.margin, _known(d.power, name, d.no_interval))
        for name, d in overall.differences[0].items()
        if d.margin
    ]
    return PlanReport(needs, [summary.input.path for summary in overall.summaries], report.paired)


def _of_one(predictions: Predictions, settings: Settings, metric: str, half_width: str) -> PlanReport:
    try:
        wanted = Margin.read(half_width)
    except ValueError:
        wanted = Margin()
    if wanted == Margin():
        raise UsageError(
            f"half-width is {half_width!r}; expected a number or a percentage above 0, as in 0.01"
        )
    predictions.require_named_class()
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
    need = Need(call.text, value, wanted.of(value), _known(power, call.text, few))
    return PlanReport([need], [predictions.provenance.path], paired=False)


def _known(power: Power | None, metric: str, why: str) -> Power:
    if power is None:
        raise InputError(
            f"these rows do not tell how much {metric} varies: {why or 'it has no interval'}; take more of "
            "them, or another metric"
        )
    return power
