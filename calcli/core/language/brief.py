"""Short reprs of records with many defaults."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any


def brief(record: Any) -> str:
    """Return the call that makes a dataclass, with what differs from its defaults."""
    given = []
    for one in fields(record):
        value = getattr(record, one.name)
        usual = one.default if one.default_factory is MISSING else one.default_factory()
        if value != usual:
            given.append(f"{one.name}={value!r}")
    return f"{type(record).__name__}({', '.join(given)})"
