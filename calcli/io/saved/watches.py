"""The evidence of a stream from run to run: JSON with a checksum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from calcli.core.comparing.monitoring import Period
from calcli.core.estimators.sequential import BETS
from calcli.core.estimators.thresholds import checksum
from calcli.core.language.errors import UsageError
from calcli.core.language.text import json_value
from calcli.core.language.version import __version__
from calcli.io.places.archives import SAID, naming_faults
from calcli.io.places.outputs import atomic_path
from calcli.io.places.paths import path_of
from calcli.io.saved.calibrators import check_version, pretty, read_json

SCHEMA = "calcli.watch/1"
WHAT = "watch"
Streams = Mapping[str | None, Sequence[Period]]


def save_watch(watched: Mapping[str, Any], streams: Streams, path: str | Path) -> None:
    """Write a stream and its periods, whole or not at all.

    Raises
    ------
    InputError
        If it cannot be written there.
    """
    every = [{"value": value, "periods": [vars(p) for p in periods]} for value, periods in streams.items()]
    document = json_value({"watched": watched, "streams": every})
    with atomic_path(path) as temporary:
        head = {"schema": SCHEMA, "calcli": __version__}
        text = pretty({**head, **document, "crc32": checksum(document)}) + "\n"
        temporary.write_text(text, encoding="utf-8")


def load_watch(path: str | Path, watched: Mapping[str, Any]) -> Streams:
    """Return the periods watched so far; none if the file does not exist yet.

    Raises
    ------
    InputError
        If it is of an unknown version, or damaged.
    UsageError
        If another stream was watched.
    """
    file = path_of(path)
    if not file.exists():
        return {}
    document = read_json(file.read_bytes(), file, WHAT)
    check_version(document, file, WHAT, SCHEMA)
    with naming_faults(f"{file} is damaged ({SAID}); begin it again, or copy it again"):
        if document["crc32"] != checksum({name: document[name] for name in ("watched", "streams")}):
            raise ValueError("it does not have its checksum")
        streams = {s["value"]: [_period(period) for period in s["periods"]] for s in document["streams"]}
        before, now = document["watched"], json_value(dict(watched))
        changed = next((name for name in now if before[name] != now[name]), None)
    if changed is not None:
        raise UsageError(
            f"{file} was begun with {changed} {before[changed]!r}, and this run has {now[changed]!r}; go on "
            "as it was begun, or begin another file"
        )
    return streams


def _period(stored: Mapping[str, Any]) -> Period:
    period = Period(**{**stored, "evidence": tuple(map(float, stored["evidence"]))})
    if len(period.evidence) != len(BETS) or period.rows < 1:
        raise ValueError("a period without its evidence")
    return period
