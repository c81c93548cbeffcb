"""Comparing systems: do they differ, beyond chance?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from calcli.core.comparing.comparison import Plan, compared_metrics, parse_margins
from calcli.core.comparing.comparison import compare as compare_systems
from calcli.core.comparing.pairing import as_states, pair, require_same_classes, states_in
from calcli.core.data.predictions import Predictions
from calcli.core.language.declaring import COLUMN, TEXT, checked, declared, documented, mapping
from calcli.core.language.errors import InputError, UsageError, naming
from calcli.core.language.settings import IN_ORDER, PairSettings, Settings
from calcli.core.language.text import Watcher, unwatched
from calcli.io.options import ReadOptions
from calcli.io.read import read
from calcli.io.saved.settings import settings_of
from calcli.io.saved.states import is_state
from calcli.report.comparison import no_best
from calcli.work.cluster import Engine, predictions_in
from calcli.work.idle import idle_options, warn
from calcli.work.kept import ComparisonReport
from calcli.work.read import labelled

MARGINS = mapping('margins by metric, such as {"log_loss": 0.01}')


@documented(Settings)
@documented(PairSettings)
def compare(
    baseline: Any,
    *candidates: Any,
    margins: Mapping[str, float] | None = None,
    rank_by: str = "log_loss",
    by: str | None = None,
    **settings: Any,
) -> ComparisonReport:
    """Compare systems: do they differ beyond chance?

    Parameters
    ----------
    baseline, *candidates : path, table or Predictions
        What `read` takes, or returned.
    {PairSettings}
    margins : mapping of str to float, optional
        Differences that do not matter, above 0, by metric expression.
    rank_by : str
        Metric that ranks the systems.
    by : str, optional
        Column whose values are compared one by one as well.
    {Settings}

    Returns
    -------
    ComparisonReport
        Differences with their intervals or p-values, on all rows and then on each slice.

    Raises
    ------
    InputError
        If rows or classes do not fit together.
    UsageError
        If there is no candidate, or an option is unknown or does not fit.
    """
    if not candidates:
        raise UsageError("compare takes a baseline and at least one candidate")
    pairs = MARGINS.checked("margins", margins or {})
    with naming("margins"):
        wanted = parse_margins([f"{metric}={margin}" for metric, margin in pairs.items()])
    given = {name: settings.pop(name) for name in declared(PairSettings) if name in settings}
    pairing = PairSettings(**checked(PairSettings, given, "keyword"))
    ranked_by = TEXT.checked("rank_by", rank_by)
    plan = Plan(pairing.pairs, wanted, ranked_by, None if by is None else COLUMN.checked("by", by))
    systems = [labelled(baseline, "the baseline"), *(labelled(one, "a candidate") for one in candidates)]
    asked = settings_of(settings)
    for sentence in idle_options(asked):
        warn(sentence)
    return _compared(systems, asked, plan, pairing)


def compare_files(
    files: Sequence[str],
    options: ReadOptions,
    settings: Settings,
    pairing: PairSettings = IN_ORDER,
    *,
    margins: Sequence[str] = (),
    select: str | None = None,
    by: str | None = None,
    engine: Engine | None = None,
    watcher: Watcher = unwatched,
) -> ComparisonReport:
    """Compare files; otherwise as `compare`.

    Parameters
    ----------
    files
        The baseline first.
    options, settings, pairing
        How to read, what to compute, and which rows are the same cases.
    margins
        Such as `log_loss=0.01`.
    select
        Metric by which one of the systems is to be chosen, if any.
    engine
        Makes states of the parts of files elsewhere, which are compared; None to read here.
    watcher
        Starts a progress bar.
    """
    if len(files) < 2:
        raise UsageError("compare takes a baseline and at least one candidate; only one file was given")
    if pairing.in_order:
        options.require_all_rows()
    if select and not settings.metrics:
        settings = replace(settings, metrics=(select, "accuracy"))
    with naming("--margin"):
        wanted = parse_margins(margins)
    plan = Plan(pairing.pairs, wanted, select or "log_loss", by)

    left = next((read(file) for file in files if engine and is_state(file)), None)

    def asked(first: Predictions) -> Settings:
        metrics = compared_metrics(left or first, settings, plan)
        if first.n_classes > 2 and not (left or settings.metrics):  # states do not put every class in order
            metrics = tuple(name for name in metrics if name != "auroc")
        return replace(settings, metrics=metrics)

    systems = [predictions_in([file], options, engine, asked) for file in files]
    return _compared(systems, settings, plan, pairing, selecting=select is not None, watcher=watcher)


def _compared(
    systems: Sequence[Predictions],
    settings: Settings,
    plan: Plan,
    pairing: PairSettings,
    *,
    selecting: bool = False,
    watcher: Watcher = unwatched,
) -> ComparisonReport:
    if not pairing.allow_other_classes:
        require_same_classes(systems)
    for left in states_in(systems)[:1]:
        settings = replace(settings, metrics=compared_metrics(left, settings, plan))
    systems = as_states(systems, settings, pairing.key, [plan.by] if plan.by else ())
    same = pair(systems, pairing, keep=[name for name in (plan.by, settings.cluster) if name])
    watch = watcher("comparing", sum(system.n_rows for system in same.systems))
    found = tuple(compare_systems(same.systems, settings, replace(plan, paired=same.paired), watch))
    if selecting and (reason := no_best(found[0])):
        raise InputError(f"no system can be selected: {reason}; use another metric")
    return ComparisonReport(
        found, settings, same.paired, same.unmatched, selecting, same.unlike, systems=same.systems
    )
