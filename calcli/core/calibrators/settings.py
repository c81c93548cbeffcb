"""Checks of settings that several calibrators share."""

from __future__ import annotations

from typing import Any, get_args

from calcli.core.language.errors import UsageError


def check_choice(setting: str, value: object, choices: Any) -> None:
    """Raise `UsageError` unless `value` is one of the strings of the `Literal` type `choices`."""
    if value not in get_args(choices):
        raise UsageError(f"{setting} must be one of {', '.join(get_args(choices))}; got {value!r}")


def check_at_least(setting: str, value: float, minimum: int) -> None:
    """Raise `UsageError` unless `value` is a whole number of at least `minimum`."""
    if value != int(value) or value < minimum:
        raise UsageError(f"{setting} must be a whole number of at least {minimum}; got {value!r}")


def check_smoothing(rows: float) -> None:
    """Raise `UsageError` unless `rows`, a number of pseudo-rows, is finite and not negative."""
    if not 0 <= rows < float("inf"):
        raise UsageError(f"smoothing must be a number of rows, 0 or more; got {rows!r}")
