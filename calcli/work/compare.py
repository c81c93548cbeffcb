"""Comparing systems: do they differ, beyond chance?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from calcli.core.comparing.averaging import compare_labels
from calcli.core.comparing.comparison import (
    Choice,
    Plan,
    best_of,
    by_folder,
    compared_metrics,
    paired_by_number,
    parse_margins,
)
from calcli.core.comparing.comparison import compare as compare_systems
from calcli.core.comparing.pairing import (
    as_states,
    pair,
    require_same_clip,
    states_in,
)
from calcli.core.data.predictions import Predictions, require_classes
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.evaluating.results import Estimate
from calcli.core.language.declaring import COLUMN, TEXT, checked, declared, documented, items, mapping
from calcli.core.language.errors import InputError, UsageError, naming
from calcli.core.language.expressions import parse_metrics
from calcli.core.language.settings import IN_ORDER, PairSettings, Settings
from calcli.core.language.text import Watcher, unwatched
from calcli.io.dataset import files_of_systems
from calcli.io.formats.npy import LABEL_FILE
from calcli.io.options import ReadOptions
from calcli.io.places.paths import is_url, parts_of_pattern, path_of
from calcli.io.read import read
from calcli.io.reading.multilabel import SeveralLabels
from calcli.io.saved.settings import settings_of
from calcli.report.comparison import ComparisonReport, SelectionReport, no_best
from calcli.report.files import same_files
from calcli.report.progress import Remark, unsaid
from calcli.work.idle import idle_options, warn
from calcli.work.read import columns_of, labelled

REPORTED = ("accuracy", "ece_l2", "cw_ece_l2")  # of the selected system
MARGINS = mapping('margins by metric, such as {"log_loss": 0.01}')


@documented(Settings)
@documented(PairSettings)
def compare(
    baseline: Any,
    *candidates: Any,
    margins: Mapping[str, float] | None = None,
    rank_by: str = "log_loss",
    by: str | None = None,
    show: str | Sequence[str] = (),
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
        Column; systems are also compared on the rows of each value.
    show : str or sequence of str
        Columns to list beside flipped questions, with `details`.
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
    pair_settings = {name: settings.pop(name) for name in declared(PairSettings) if name in settings}
    pairing = PairSettings(**checked(PairSettings, pair_settings, "keyword"))
    ranked_by = TEXT.checked("rank_by", rank_by)
    by = by and COLUMN.checked("by", by)
    columns = columns_of(show)
    plan = Plan(pairing.paired is not False, wanted, ranked_by, by, pairing.tost, columns)
    systems = [labelled(baseline, "the baseline"), *(labelled(c, "a candidate") for c in candidates)]
    compare_settings = settings_of(settings)
    for sentence in idle_options(compare_settings):
        warn(sentence)
    return _compared(systems, compare_settings, plan, pairing)


def compare_files(
    files: Sequence[str],
    options: ReadOptions,
    settings: Settings,
    pairing: PairSettings = IN_ORDER,
    *,
    margins: Sequence[str] = (),
    select: str | None = None,
    by: str | None = None,
    show: Sequence[str] = (),
    watcher: Watcher = unwatched,
    remark: Remark = unsaid,
) -> ComparisonReport:
    """Compare files; otherwise as `compare`.

    Parameters
    ----------
    files
        The baseline first.
    options, settings, pairing
        How to read, what to compute, and how rows are paired.
    margins
        Margins such as `log_loss=0.01`.
    select
        Metric that chooses one of the systems, if any.
    watcher, remark
        Starts a progress bar, and receives remarks on settings without effect.
    """
    for sentence in idle_options(settings):
        remark(sentence)
    if select is not None and len(items(select)) > 1:
        raise UsageError(f"--select {select}: one metric says what to ship; several need --report-on")
    pairing = with_keys(pairing, options)
    if pairing.paired is False and options.key is not None:
        raise UsageError(f"--key {options.key} pairs rows and --unpaired does not; leave one out")
    files = files_of_systems(files, options)
    if len(files) < 2:
        raise UsageError("compare takes a baseline and at least one candidate; only one file was given")
    if pairing.in_order:
        options.require_all_rows()
    if select and not settings.metrics:
        settings = replace(settings, metrics=(select, "accuracy"))
    with naming("--margin"):
        wanted = parse_margins(margins)
    ranked_by = select or "log_loss"
    plan = Plan(pairing.paired is not False, wanted, ranked_by, by, pairing.tost, tuple(show))
    selecting = select is not None
    try:
        systems = [read(file, options) for file in files]
    except SeveralLabels as several:
        return _by_label(several, files, options, settings, plan, pairing)
    return _compared(systems, settings, plan, pairing, selecting=selecting, watcher=watcher)


def _by_label(
    several: SeveralLabels,
    files: Sequence[str],
    options: ReadOptions,
    settings: Settings,
    plan: Plan,
    pairing: PairSettings,
) -> ComparisonReport:
    """Compare files by the means over several labels in a row, and on each of these."""
    if plan.by is not None:
        raise UsageError(f"--by {plan.by} is for one label; {several}")
    keep = [settings.cluster] if settings.cluster else []
    pairs = {
        label: pair([read(f"{file}/{label}", options) for file in files], pairing, keep)
        for label in several.names
    }
    same = next(iter(pairs.values()))
    plan = replace(plan, paired=same.paired)
    comparisons = compare_labels({label: p.systems for label, p in pairs.items()}, settings, plan)
    return ComparisonReport(tuple(comparisons), settings, same.paired, same.unmatched, unlike=same.unlike)


def with_keys(pairing: PairSettings, options: ReadOptions) -> PairSettings:
    """Return the settings of pairing, with the key from the options of reading."""
    return replace(pairing, key=options.key, allow_unmatched=options.allow_unmatched)


def _compared(
    systems: Sequence[Predictions],
    settings: Settings,
    plan: Plan,
    pairing: PairSettings,
    *,
    selecting: bool = False,
    watcher: Watcher = unwatched,
) -> ComparisonReport:
    for candidate in systems[1:]:
        require_classes(candidate, systems[0].classes, systems[0].provenance.path)
    for state in states_in(systems)[:1]:
        settings = replace(settings, metrics=compared_metrics(state, settings, plan))
    systems = as_states(systems, settings, pairing.key, [plan.by] if plan.by else ())
    same = pair(systems, pairing, keep=[name for name in (plan.by, settings.cluster) if name])
    watch = watcher("comparing", sum(system.n_rows for system in same.systems))
    comparisons = tuple(compare_systems(same.systems, settings, replace(plan, paired=same.paired), watch))
    if selecting and (reason := no_best(comparisons[0])):
        raise InputError(f"no system can be selected: {reason}; use another metric")
    return ComparisonReport(
        comparisons, settings, same.paired, same.unmatched, selecting, same.unlike, systems=same.systems
    )


def select_files(
    files: Sequence[str],
    place: str,
    criteria: Sequence[str],
    options: ReadOptions,
    settings: Settings,
    watcher: Watcher = unwatched,
    remark: Remark = unsaid,
) -> SelectionReport:
    """Choose the best file by each criterion, and report it on another set.

    Parameters
    ----------
    files
        Files to choose from.
    place
        A folder with the files of the other set, or a pattern of their names; they are paired by the number
        in their names.
    criteria
        Metrics that choose their best value.
    options, settings
        How to read, and what to report: metrics, or the default ones.
    watcher, remark
        Starts a progress bar, and receives remarks on settings without effect.

    Raises
    ------
    InputError
        If a file cannot be read.
    UsageError
        If a file has no counterpart, or a criterion has no direction.
    """
    for sentence in idle_options(settings):
        remark(sentence)
    choosing = parse_metrics(criteria, settings.defaults)
    measures = parse_metrics(settings.metrics or REPORTED, settings.defaults)
    pairs = paired_by_number(files, files_of(place))
    every = tuple(dict.fromkeys(metric.text for metric in (*choosing, *measures)))
    settings = replace(settings, metrics=every, intervals=False, draws=0)
    estimated = [_estimated(file, options, settings, watcher) for _, file, _ in pairs]
    choices, reported = [], {}
    for metric in choosing:
        best = best_of([estimates[str(metric)].value for estimates in estimated], metric)
        number, _, counterpart = pairs[best]
        if counterpart not in reported:
            reported[counterpart] = _estimated(counterpart, options, settings, watcher)
        choices.append(Choice(metric, number, estimated[best], reported[counterpart]))
    folders = (*by_folder([pairs[0][1], pairs[0][2]]), place)  # the pattern, if both are in one folder
    same = any(same_files([file], [counterpart]) for _, file, counterpart in pairs)
    return SelectionReport(choices, (folders[0], folders[1]), measures, len(pairs), same)


def _estimated(
    file: str, options: ReadOptions, settings: Settings, watcher: Watcher
) -> Mapping[str, Estimate]:
    predictions = read(file, options)
    require_same_clip([predictions], settings)
    return evaluate(predictions, settings, watcher(Path(file).name, predictions.n_rows)).estimates


def files_of(place: str, option: str = "--report-on") -> list[str]:
    """Return the files of predictions in a folder, or the files that a pattern names.

    Raises
    ------
    UsageError
        If there is none.
    """
    folder = path_of(place)
    if folder.is_dir():
        files = [str(file) for file in folder.iterdir() if not file.name.startswith(".")]
    else:
        files = [path for path in parts_of_pattern(place) if is_url(path) or path_of(path).exists()]
    predictions = sorted(file for file in files if not LABEL_FILE.fullmatch(Path(file).name))
    if not predictions:
        raise UsageError(
            f"{option} {place}: no such files; expected a folder or a pattern such as 'test/*.npy'"
        )
    return predictions
