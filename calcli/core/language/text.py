"""Text and values for people and programs: names made plain, long ones cut, JSON, progress."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
COMMAND = re.compile(
    r"::(?=error|warning|notice|debug|group|endgroup|echo|add-|set-|save-|stop-)|##(?=(vso)?\[)"
)  # workflow commands of GitHub, and of Azure


def plain(text: str) -> str:
    """Return text on one line, its control characters as escapes; no part of it is a workflow command."""
    if not text.isprintable():
        text = CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
    return COMMAND.sub(lambda found: f"{found[0][0]}\\{found[0][1]}", text)


def plain_json(text: str) -> str:
    """Return JSON that says the same, its control characters as escapes but for the ends of lines."""
    return CONTROL.sub(lambda found: found[0] if found[0] == "\n" else f"\\u{ord(found[0]):04x}", text)


def brief(record: Any) -> str:
    """Return the call that makes a dataclass, with what differs from its defaults."""
    given = []
    for one in fields(record):
        value = getattr(record, one.name)
        usual = one.default if one.default_factory is MISSING else one.default_factory()
        if value != usual:
            given.append(f"{one.name}={value!r}")
    return f"{type(record).__name__}({', '.join(given)})"


def json_value(value: Any) -> Any:
    """Return nested values with tuples as lists and inf, -inf and nan, which JSON does not have, as text."""
    if isinstance(value, Mapping):
        return {key: json_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_value(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


Watch = Callable[[int], None]  # is called with the number of rows done
Watcher = Callable[[str, int | None], Watch]  # is called with a stage of the work and its rows, if known


def unwatched(what: str, rows: int | None) -> Watch:
    """Watch nothing."""
    return lambda done: None
