"""Numbers as text: their digits follow from what they show.

A number shows two significant digits of its distance to 0 or to 1, whichever is nearer: no small number looks
like 0 and no 0.99995 like 1. Numbers side by side show two significant digits of their difference. A value
with an interval is as fine as the interval: further digits are noise.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import MISSING, fields
from typing import Any

DECIMALS = 4  # of a number, at least
PERCENT_DECIMALS = 3  # of a fraction shown in percent, at least
MOST_DECIMALS = 6  # what they do not show counts as none
MOST_DIGITS = 9  # before the point; larger numbers have an exponent
FIRST = 5  # how many of many items are named
ASKED: ContextVar[int | None] = ContextVar("asked", default=None)  # decimals of numbers, where somebody says


def number(value: float, *peers: float, digits: int | None = None, sign: bool = False) -> str:
    """Return a number as text.

    Parameters
    ----------
    value
        The number.
    beside
        Numbers beside it.
    digits
        Number of decimals if it is known, as from `apart`; at least four are shown.
    sign
        Whether a positive number has a sign.
    """
    if (chosen := ASKED.get()) is not None:
        return _written(value, chosen, sign)
    fine = _fine(value, peers) if digits is None else digits
    if 0 < abs(value) < 10.0 ** (1 - MOST_DECIMALS) and digits is None:
        return f"{value:{'+' * sign}.2e}"
    return _written(value, max(fine, DECIMALS), sign)


def numbers(*together: float) -> list[str]:
    """Return numbers to read side by side."""
    return [number(value, *together) for value in together]


def percent(
    fraction: float, *peers: float, digits: int | None = None, unit: str = "%", sign: bool = False
) -> str:
    """Return a fraction in percent, with at least one decimal; otherwise as `number`."""
    if (chosen := ASKED.get()) is not None:
        return _written(100 * fraction, max(chosen - 2, 0), sign) + unit
    fine = _fine(fraction, peers) if digits is None else digits
    return _written(100 * fraction, max(fine, PERCENT_DECIMALS) - 2, sign) + unit


def apart(*differences: float) -> int | None:
    """Return how many decimals show two digits of a width, such as the width of an interval.

    None if the width is 0, undefined or too small.
    """
    least = 0.5 * 10.0**-MOST_DECIMALS
    sizes = (size for size in map(abs, differences) if least <= size < math.inf)
    exponents = [int(f"{size:.1e}".partition("e")[2]) for size in sizes]  # rounded: 0.3 - 0.2 is 0.1
    return min(1 - min(exponents), MOST_DECIMALS) if exponents else None


def span(low: float, high: float, write: Callable[..., str] = number, **how: Any) -> str:
    """Return the ends of an interval, as fine as its width unless `digits` says otherwise.

    Parameters
    ----------
    low, high
        The ends.
    write
        Formats them as text: `number` or `percent`.
    how
        Further arguments of `write`.
    """
    how = {"digits": apart(high - low)} | how
    return f"{write(low, **how)} to {write(high, **how)}"


def plus_minus(mean: float, sd: float, digits: int | None = None) -> str:
    """Return a mean with its standard deviation, which sets the decimals of both unless `digits` does."""
    digits = apart(sd) if digits is None else digits
    return f"{number(mean, digits=digits)} ± {number(sd, digits=digits)}"


def p_value(p: float) -> str:
    """Return a p-value with three decimals; smaller ones as `<0.001`."""
    return "<0.001" if p < 0.0005 else f"{p:.3f}"


def relative(change: float) -> str:
    """Return a relative change in percent with its sign; a word if there is no change."""
    return "undefined" if math.isnan(change) else percent(change, digits=apart(change), sign=True)


def counted(count: int, noun: str) -> str:
    """Return a count with its noun: `1 row`, `1,200 rows`, `2 classes`."""
    plural = noun + ("es" if noun.endswith("s") else "s")
    return f"{count:,} {noun if count == 1 else plural}"


def some(items: Sequence[object], count: int | None = None) -> str:
    """Return the first items, and how many more there are of a total count."""
    listed, count = items[:FIRST], len(items) if count is None else count
    text = ", ".join(str(item) or '""' for item in listed)
    return text if count == len(listed) else f"{text} and {count - len(listed):,} more"


def _fine(value: float, peers: Iterable[float]) -> int:
    """Return the decimals of a value that is read beside others."""
    together = [x for x in (value, *peers) if math.isfinite(x)]
    reach = max(together) - min(together) if together else 0.0
    return apart(reach, min(abs(value), abs(1 - abs(value)))) or 0


def _written(value: float, digits: int, sign: bool) -> str:
    """Return a value with that many decimals; with an exponent if it is huge, or in words."""
    if math.isnan(value):
        return "undefined"
    plus = "+" * sign
    if 10**MOST_DIGITS <= abs(value) < math.inf:
        return f"{value:{plus}.{DECIMALS}e}"
    return f"{value:{plus}z.{digits}f}"  # z: what rounds to zero has no sign of its own


CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
COMMAND = re.compile(
    r"::(?=error|warning|notice|debug|group|endgroup|echo|add-|set-|save-|stop-)|##(?=(vso)?\[)"
)  # workflow commands of GitHub, and of Azure


def plain(text: str) -> str:
    """Return text on one line, with control characters escaped and no workflow command in it."""
    if not text.isprintable():
        text = CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)
    return COMMAND.sub(lambda match: f"{match[0][0]}\\{match[0][1]}", text)


def plain_json(text: str) -> str:
    """Return the same JSON with control characters escaped, except line ends."""
    return CONTROL.sub(lambda match: match[0] if match[0] == "\n" else f"\\u{ord(match[0]):04x}", text)


def brief(record: Any) -> str:
    """Return a dataclass as a call, with the fields that differ from their defaults."""
    changed = []
    for field in fields(record):
        value = getattr(record, field.name)
        usual = field.default if field.default_factory is MISSING else field.default_factory()
        if value != usual:
            changed.append(f"{field.name}={value!r}")
    return f"{type(record).__name__}({', '.join(changed)})"


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


def unwatched(task: str, rows: int | None) -> Watch:
    """Ignore all progress."""
    return lambda rows_done: None
