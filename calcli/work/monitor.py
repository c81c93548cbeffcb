"""Watching a stream of predictions: is what they promise still true?"""

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
from calcli.core.language.declaring import PATH, checked, declared, documented
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.settings import MonitorSettings
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
    threshold: str | os.PathLike[str] | None = None,
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
        Rows that show the expected outcomes, in place of the probabilities themselves.
    threshold : path, optional
        A threshold with a promise to watch.
    state : path, optional
        A file that carries the evidence from run to run; it is made if it is not there.
    {MonitorSettings}

    Returns
    -------
    MonitorReport
        Whether there is an alarm, since when, and every period.

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
        parts = [labelled(one, "a period", settings) for one in data]
    else:
        one, others = split_reading(data, labels, settings)
        parts, options = [one], options | others
    chosen = MonitorSettings(**checked(MonitorSettings, options, "keyword"))
    known = None if reference is None else labelled(reference, "the reference", settings if several else None)
    return _monitored(parts, chosen, known, _text(threshold), _text(state))


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
        parts = [read(file, options) for file in files]
    else:
        parts = [read_concat(files, options)]
    known = None if reference is None else read(reference, options)
    return _monitored(parts, settings, known, threshold, state)


def _monitored(
    parts: Sequence[Predictions],
    settings: MonitorSettings,
    reference: Predictions | None,
    threshold: str | None,
    state: str | None,
) -> MonitorReport:
    if threshold is not None and reference is not None:
        raise UsageError(
            "--threshold promises an error rate, and --reference shows what is expected; give one"
        )
    first, level, known = parts[0], settings.level, None
    for one in [*parts[1:], *([] if reference is None else [reference])]:
        require_classes(one, first.classes, first.provenance.path)
    if reference is not None:
        level = 1 - (1 - level) / 2  # half is for what the reference leaves open
        known = reference_of(reference, settings.cluster)
    promise = None if threshold is None else load_threshold(threshold)
    watches = [watched(one, settings.tolerance, level, known, promise) for one in parts]
    begun = {
        "classes": first.classes,
        "what": watches[0].what,
        **{
            name: getattr(settings, name) for name in ("time", "every", "tolerance", "by", "cluster", "level")
        },
        "reference": None if known is None else [known.rows, *known.line],
        "threshold": None if promise is None else promise.content()["crc32"],
    }
    before: Streams = {} if state is None else {k: [*v] for k, v in load_watch(state, begun).items()}
    streams_of_value, out = _added(before, parts, watches, settings, state or "")
    if not streams_of_value.get(None):
        raise InputError(
            f"{first.provenance.path} has no rows to watch; {out:,} are before --since, or in periods that "
            "are not yet mature"
        )
    if state is not None:
        save_watch(begun, streams_of_value, state)
    ends = [from_log_odds(end) for end in (watches[0].hypothesis.low, watches[0].hypothesis.high)]
    open_by = settings.tolerance if known is None else float(np.median(ends[1] - ends[0])) / 2
    return MonitorReport(
        first.provenance.path if len(parts) == 1 else f"{first.provenance.path} and {len(parts) - 1} more",
        streams(streams_of_value, level),
        watches[0].what,
        event_name(first.classes[1], first.provenance.labels)
        if first.n_classes == 2
        else "the predicted class",
        settings,
        first.reading(settings.cluster),
        None if known is None else known.rows,
        None if promise is None else promise.max_error,
        open_by,
        out,
    )


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
        known, path = streams_of_value.setdefault(None, []), predictionse.provenance.path
        if files:
            name = _called(path) if predictionse.provenance.files else f"period {len(known) + 1}"
            when = Calendar(
                [name], np.zeros(predictionse.n_rows if look.counts is None else len(look.counts), np.intp)
            )
        else:
            when = calendar(predictionse, settings, sum(period.rows for period in known))
        out += int(np.count_nonzero(when.codes < 0))
        hashed = sha256(predictionse.provenance.files) if settings.time is None else None
        _require_new(known, when.names, hashed, path, state, settings)
        for value, periods in periods_of(predictionse, look, when, settings, known).items():
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
    """Return the name of the period of a file: its path, of absolute ones the end."""
    return "/".join(Path(path).parts[-2:]) if Path(path).is_absolute() else path


def _require_order(files: Sequence[str]) -> None:
    """Raise a UsageError for names with numbers in another order, as a shell lists them: 1, 10, 2."""
    names = [*map(_called, files)]
    for one, following in pairwise(names):
        alike = re.sub("[0-9]+", "0", one) == re.sub("[0-9]+", "0", following)
        if alike and natural_key(one) >= natural_key(following):
            raise UsageError(f"{following} comes after {one}; expected the files of periods in order")
