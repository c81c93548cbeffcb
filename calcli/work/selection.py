"""Choosing a file of a series on one set and reporting it on another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from calcli.core.comparing.comparison import Choice, best_of, by_folder, paired_by_number
from calcli.core.comparing.pairing import require_same_clip
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.evaluating.results import Estimate
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import parse_metrics
from calcli.core.language.settings import Settings
from calcli.core.language.text import Watcher, unwatched
from calcli.io.formats.npy import LABEL_FILE
from calcli.io.options import ReadOptions
from calcli.io.places.paths import is_url, parts_of_pattern, path_of
from calcli.io.read import read
from calcli.report.selection import SelectionReport
from calcli.work.samefiles import same_files

REPORTED = ("accuracy", "ece_l2", "cw_ece_l2")


def select_files(
    files: Sequence[str],
    others: str,
    criteria: Sequence[str],
    options: ReadOptions,
    settings: Settings,
    watcher: Watcher = unwatched,
) -> SelectionReport:
    """Choose the best file by each criterion, and report it on another set.

    Parameters
    ----------
    files
        To choose from.
    others
        A folder with the files of the other set, or a pattern of their names; they are paired by the number
        in their names.
    criteria
        Metrics whose best value is chosen.
    options, settings
        How to read, and what to report: metrics, or the usual ones.
    watcher
        Starts a progress bar.

    Raises
    ------
    InputError
        If a file cannot be read.
    UsageError
        If a file has no counterpart, or a criterion has no better direction.
    """
    choosing = parse_metrics(criteria, settings.defaults)
    shown = parse_metrics(settings.metrics or REPORTED, settings.defaults)
    pairs = paired_by_number(files, files_of(others))
    every = tuple(dict.fromkeys(call.asked for call in (*choosing, *shown)))
    settings = replace(settings, metrics=every, intervals=False, draws=0)
    found = [_estimated(file, options, settings, watcher) for _, file, _ in pairs]
    choices, reported = [], {}
    for call in choosing:
        best = best_of([estimates[str(call)].value for estimates in found], call)
        number, _, other = pairs[best]
        if other not in reported:
            reported[other] = _estimated(other, options, settings, watcher)
        choices.append(Choice(call, number, found[best], reported[other]))
    folders = (*by_folder([pairs[0][1], pairs[0][2]]), others)  # of one folder only, the pattern tells them
    same = any(same_files([file], [other]) for _, file, other in pairs)
    return SelectionReport(choices, (folders[0], folders[1]), shown, len(pairs), same)


def _estimated(
    file: str, options: ReadOptions, settings: Settings, watcher: Watcher
) -> Mapping[str, Estimate]:
    predictions = read(file, options)
    require_same_clip([predictions], settings)
    return evaluate(predictions, settings, watcher(Path(file).name, predictions.n_rows)).estimates


def files_of(place: str, option: str = "--report-on") -> list[str]:
    """Return the files of predictions in a folder, or those that a pattern names.

    Raises
    ------
    UsageError
        If there is none.
    """
    folder = path_of(place)
    if folder.is_dir():
        files = [str(file) for file in folder.iterdir() if not file.name.startswith(".")]
    else:
        files = [one for one in parts_of_pattern(place) if is_url(one) or path_of(one).exists()]
    found = sorted(file for file in files if not LABEL_FILE.fullmatch(Path(file).name))
    if not found:
        raise UsageError(
            f"{option} {place}: no such files; expected a folder or a pattern such as 'test/*.npy'"
        )
    return found
