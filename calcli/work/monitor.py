"""Watching a stream of predictions: are their probabilities still right?"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from calcli.core.comparing.monitoring import (
    Calendar,
    Period,
    Watched,
    calendar,
    periods_of,
    reference_of,
    streams,
    watched,
)
from calcli.core.data.arrays import from_log_odds
from calcli.core.data.predictions import Predictions, event_name, require_classes
from calcli.core.estimators.thresholds import Threshold
from calcli.core.language.declaring import PATH, checked, declared, documented
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.settings import LEVEL, MonitorSettings
from calcli.io.options import ReadOptions
from calcli.io.read import read, read_concat
from calcli.io.saved.policies import load_threshold
from calcli.io.saved.watches import load_watch, save_watch
from calcli.io.words import natural_key
from calcli.report.files import sha256
from calcli.report.monitor import MonitorReport
from calcli.work.read import OF_TABLES, is_file_or_table, labelled, split_reading

ASKED = frozenset(declared(MonitorSettings))
Streams = dict[str | None, list[Period]]


@documented(MonitorSettings)
@documented(ReadOptions, *OF_TABLES)
def monitor(
    data: Any,
    labels: Any = None,
    *,
    reference: Any = None,
    threshold: str | os.PathLike[str] | float | None = None,
    state: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> MonitorReport:
    """Watch a stream: are its probabilities still right, however often one looks?

    Parameters
    ----------
    data, labels
        Predictions, as `evaluate` takes them, with times in a column, or one period; or a list of periods, in
        order.
    {ReadOptions}
    reference : path, table or Predictions, optional
        Rows that define the expected outcomes, in place of the probabilities.
    threshold : path or float, optional
        A threshold with a promise to watch, or a number from which rows are counted.
    state : path, optional
        A file that carries the evidence from run to run; it is created if missing.
    {MonitorSettings}

    Returns
    -------
    MonitorReport
        Whether there is an alarm, its start, and every period.

    Raises
    ------
    InputError
        If these cannot be predictions, or a period has come before.
    UsageError
        If an option does not fit.
    """
    options = {name: settings.pop(name) for name in [*settings] if name in ASKED}
    several = isinstance(data, list | tuple) and all(map(is_file_or_table, data))
    if several:
        periods = [labelled(period, "a period", settings) for period in data]
    else:
        period, keywords = split_reading(data, labels, settings)
        periods, options = [period], options | keywords
    chosen = MonitorSettings(**checked(MonitorSettings, options, "keyword"))
    base = None if reference is None else labelled(reference, "the reference", settings if several else None)
    cut = str(threshold) if isinstance(threshold, float) else _text(threshold)
    return _monitored(periods, chosen, base, cut, _text(state))


def _text(path: Any) -> str | None:
    return None if path is None else str(PATH.checked("path", path))


def monitor_files(
    files: Sequence[str],
    options: ReadOptions,
    settings: MonitorSettings,
    *,
    reference: str | None = None,
    threshold: str | None = None,
    state: str | None = None,
) -> MonitorReport:
    """Watch files, each a period, or one data set with periods by times or numbers of rows.

    Raises
    ------
    InputError
        If files cannot be read, or a period has come before.
    UsageError
        If an option does not fit.
    """
    if settings.time is None and settings.every is None:
        _require_order(files)
        periods = [read(file, options) for file in files]
    else:
        periods = [read_concat(files, options)]
    base = None if reference is None else read(reference, options)
    return _monitored(periods, settings, base, threshold, state)


def _monitored(
    periods: Sequence[Predictions],
    settings: MonitorSettings,
    reference: Predictions | None,
    threshold: str | None,
    state: str | None,
) -> MonitorReport:
    cut = None if threshold is None else _threshold(threshold)
    promise = cut if isinstance(cut, Threshold) else None
    if promise is not None and reference is not None:
        raise UsageError(
            "--threshold promises an error rate, and --reference shows what is expected; give one"
        )
    head, level, expected = periods[0], settings.level, None
    for period in [*periods[1:], *([] if reference is None else [reference])]:
        require_classes(period, head.classes, head.provenance.path)
    if reference is not None:
        level = 1 - (1 - level) / 2  # half is for the uncertainty of the reference
        expected = reference_of(reference, settings.cluster)
    watches = [watched(period, settings.tolerance, level, expected, cut) for period in periods]
    begun = {
        "classes": head.classes,
        "what": watches[0].what,
        **{
            name: getattr(settings, name) for name in ("time", "every", "tolerance", "by", "cluster", "level")
        },
        "reference": None if expected is None else [expected.rows, *expected.line],
        "threshold": cut if promise is None else promise.content()["crc32"],
    }
    before: Streams = {} if state is None else {k: [*v] for k, v in load_watch(state, begun).items()}
    streams_of_value, out = _added(before, periods, watches, settings, state or "")
    if not streams_of_value.get(None):
        raise InputError(
            f"{head.provenance.path} has no rows to watch; {out:,} are before --since, or in periods that "
            "are not yet mature"
        )
    if state is not None:
        save_watch(begun, streams_of_value, state)
    ends = [from_log_odds(end) for end in (watches[0].hypothesis.low, watches[0].hypothesis.high)]
    open_by = settings.tolerance if expected is None else float(np.median(ends[1] - ends[0])) / 2
    return MonitorReport(
        head.provenance.path if len(periods) == 1 else f"{head.provenance.path} and {len(periods) - 1} more",
        streams(streams_of_value, level),
        watches[0].what,
        event_name(head.classes[1], head.provenance.labels) if head.n_classes == 2 else "the predicted class",
        settings,
        head.reading(settings.cluster),
        None if expected is None else expected.rows,
        None if promise is None else promise.max_error,
        open_by,
        out,
    )


def _threshold(text: str) -> Threshold | float:
    """Return the threshold in a file, or a number.

    Raises
    ------
    UsageError
        If a number is not between 0 and 1.
    """
    try:
        cut = float(text)
    except ValueError:
        return load_threshold(text)
    return float(LEVEL.checked("--threshold", cut))


def _added(
    before: Streams,
    predictionses: Sequence[Predictions],
    watches: Sequence[Watched],
    settings: MonitorSettings,
    state: str,
) -> tuple[Streams, int]:
    """Return the known periods with the periods of the new rows, and the number of rows left out."""
    streams_of_value, out = before, 0
    files = settings.time is None and settings.every is None
    for predictionse, look in zip(predictionses, watches, strict=True):
        earlier, path = streams_of_value.setdefault(None, []), predictionse.provenance.path
        if files:
            name = _called(path) if predictionse.provenance.files else f"period {len(earlier) + 1}"
            when = Calendar(
                [name], np.zeros(predictionse.n_rows if look.counts is None else len(look.counts), np.intp)
            )
        else:
            when = calendar(predictionse, settings, sum(period.rows for period in earlier))
        out += int(np.count_nonzero(when.codes < 0))
        hashed = sha256(predictionse.provenance.files) if settings.time is None else None
        _require_new(earlier, when.names, hashed, path, state, settings)
        for value, periods in periods_of(predictionse, look, when, settings, earlier).items():
            streams_of_value.setdefault(value, []).extend(
                replace(period, sha256=hashed) for period in periods
            )
    return streams_of_value, out


def _require_new(
    periods: Sequence[Period],
    names: Sequence[str],
    hashed: str | None,
    path: str,
    state: str,
    settings: MonitorSettings,
) -> None:
    """Raise an InputError for periods that have come before, or are older than the last one."""
    if not periods or not names:
        return
    owner, last = state or "the stream", periods[-1].name
    same = next((period.name for period in periods if hashed is not None and period.sha256 == hashed), None)
    if same is not None and names[0] not in {period.name for period in periods}:
        raise InputError(f"{path} is the same file as that of {same}, which {owner} has; give new rows")
    for name in names:
        if any(period.name == name for period in periods):
            mend = "give new rows" if settings.time is None else f"leave out what {owner} has with --since"
            raise InputError(f"{path}: {owner} has the period {name} already; {mend}")
        if settings.time is not None and name < last:
            raise InputError(
                f"{path}: the period {name} is before {last}, the last one of {owner}; leave out older rows "
                "with --since: late ones would change what was looked at"
            )
    if settings.time is None and settings.every is None:
        _require_order([last, names[0]])


def _called(path: str) -> str:
    """Return the name of the period of a file: its path, or the end of an absolute path."""
    return "/".join(Path(path).parts[-2:]) if Path(path).is_absolute() else path


def _require_order(files: Sequence[str]) -> None:
    """Raise a UsageError for names with numbers in another order, as a shell lists them: 1, 10, 2."""
    names = [*map(_called, files)]
    for name, following in pairwise(names):
        alike = re.sub("[0-9]+", "0", name) == re.sub("[0-9]+", "0", following)
        if alike and natural_key(name) >= natural_key(following):
            raise UsageError(f"{following} comes after {name}; expected the files of periods in order")
