"""Logs of OpenAI Evals: a line for each event, of which some grade an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from calcli.io.damage import column_of

FIELDS = ("event_id", "sample_id", "type")  # that each event has
FIRST = "spec"  # what the first line has, and only these logs


def events_table(records: Sequence[Mapping[str, Any]]) -> Any:
    """Return the events that say whether an answer is correct, a pyarrow.Table; None if there are none."""
    if FIRST not in records[0]:
        return None
    events = [
        {**{field: record.get(field) for field in FIELDS}, **_plain(record["data"])}
        for record in records
        if isinstance(record.get("data"), dict) and "correct" in record["data"]
    ]
    if not events:
        return None
    names = list(dict.fromkeys(name for event in events for name in event))
    return pa.table({name: column_of([event.get(name) for event in events]) for name in names})


def _plain(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if isinstance(value, str | int | float)}
