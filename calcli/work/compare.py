"""Comparing systems: do they differ, beyond chance?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from calcli.core.comparing.comparison import Plan, over_seeds, parse_margins
from calcli.core.comparing.comparison import compare as compare_systems
from calcli.core.comparing.pairing import pair, require_same_classes
from calcli.core.data.predictions import Predictions, require_predictions
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.declaring import documented
from calcli.core.language.errors import UsageError
from calcli.core.language.progress import Watcher, unwatched
from calcli.core.language.settings import Settings
from calcli.io.options import ReadOptions
from calcli.io.read import read
from calcli.io.settings import settings_of
from calcli.report.comparison import ComparisonReport, SeedsReport


@documented(Settings)
def compare(
    baseline: Predictions,
    *candidates: Predictions,
    key: str | None = None,
    allow_unmatched: bool = False,
    paired: bool = True,
    allow_other_classes: bool = False,
    margins: Mapping[str, float] | None = None,
    rank_by: str = "log_loss",
    by: str | None = None,
    **settings: Any,
) -> ComparisonReport:
    """Say whether systems differ, beyond chance.

    Parameters
    ----------
    baseline, *candidates : Predictions
        As `read` returns them.
    key : str, optional
        Column that pairs the rows; None for their order.
    allow_unmatched : bool
        Whether rows that not all systems have may be left out.
    paired : bool
        Whether the systems have the same cases.
    allow_other_classes : bool
        Whether the systems may have other classes; they are unpaired then.
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
    plan = Plan(paired and not allow_other_classes, margins, rank_by, by)
    systems = (baseline, *candidates)
    require_predictions(*systems)
    if not allow_other_classes:
        require_same_classes(systems)
    return _compared(systems, settings_of(settings), plan, key, allow_unmatched)


def compare_files(
    files: Sequence[str],
    options: ReadOptions,
    settings: Settings,
    *,
    key: str | None = None,
    allow_unmatched: bool = False,
    paired: bool = True,
    allow_other_classes: bool = False,
    margins: Sequence[str] = (),
    select: str | None = None,
    seeds: bool = False,
    by: str | None = None,
    watcher: Watcher = unwatched,
) -> ComparisonReport | SeedsReport:
    """Compare files; otherwise as `compare`.

    Parameters
    ----------
    files
        The baseline first.
    options, settings
        How to read and what to compute.
    margins
        Such as `log_loss=0.01`.
    select
        Metric by which one of the systems is to be chosen, if any.
    seeds
        Whether the files are seeds of one model: they are not compared, but their mean and spread found.
    watcher
        Starts a progress bar.
    """
    if len(files) < 2:
        raise UsageError("compare takes a baseline and at least one candidate; only one file was given")
    systems = [read(file, options) for file in files]
    if not allow_other_classes:
        require_same_classes(systems)
    if seeds:
        return _over_seeds(systems, settings)
    if select and not settings.metrics:
        settings = replace(settings, metrics=(select, "accuracy"))
    plan = Plan(paired and not allow_other_classes, parse_margins(margins), select or "log_loss", by)
    return _compared(
        systems, settings, plan, key, allow_unmatched, selecting=select is not None, watcher=watcher
    )


def _compared(
    systems: Sequence[Predictions],
    settings: Settings,
    plan: Plan,
    key: str | None,
    allow_unmatched: bool,
    *,
    selecting: bool = False,
    watcher: Watcher = unwatched,
) -> ComparisonReport:
    unmatched: Sequence[int] = (0,) * len(systems)
    if plan.paired:
        keep = [name for name in (plan.by, settings.cluster) if name]
        pairing = pair(systems, key, allow_unmatched=allow_unmatched, keep=keep)
        systems, unmatched = pairing.systems, pairing.unmatched
    watch = watcher("comparing", sum(system.n_rows for system in systems))
    found = tuple(compare_systems(systems, settings, plan, watch))
    return ComparisonReport(found, settings, plan.paired, unmatched, selecting)


def _over_seeds(systems: Sequence[Predictions], settings: Settings) -> SeedsReport:
    settings = replace(settings, resamples=0, draws=0)
    summaries = [evaluate(system, settings).summary for system in systems]
    return SeedsReport(summaries, over_seeds(summaries), settings)
