"""Numbers as text: four decimals, more for small numbers and next to 1, an interval as fine as its value."""

from __future__ import annotations

import math
from collections.abc import Sequence

DECIMALS = 4
MOST_DECIMALS = 6
MOST_DIGITS = 9  # before the point; larger numbers have an exponent
FIRST = 5  # how many of many things are named


def number(value: float) -> str:
    """Return a value with four decimals, below 0.001 with three significant digits."""
    if _is_tiny(value):
        return f"{value:.2e}"
    return to_decimals(value, decimals(value))


def span(low: float, high: float, value: float) -> str:
    """Return the ends of an interval, as fine as the value it belongs to."""
    low_end, high_end = _as_fine((low, high), value)
    return f"{low_end} to {high_end}"


def spread(mean: float, sd: float, value: float) -> str:
    """Return mean ± standard deviation, as fine as the value they are compared with."""
    centre, width = _as_fine((mean, sd), value)
    return f"{centre} ± {width}"


def p_value(p: float) -> str:
    """Return a p-value with three decimals; smaller ones as `<0.001`."""
    return "<0.001" if p < 0.0005 else f"{p:.3f}"


def percent(fraction: float) -> str:
    """Return a fraction as a percentage: one decimal, more where that would be 0.0% or 100.0% and is not."""
    rest = min(abs(fraction), abs(1 - abs(fraction)))
    digits = -math.floor(math.log10(100 * rest)) if 0.5e-6 <= rest < 0.5e-3 else 1
    return f"{100 * fraction:z.{digits}f}%"


def relative(change: float) -> str:
    """Return a relative change in percent with its sign, and a word where there is none."""
    return "undefined" if math.isnan(change) else f"{100 * change:+z.2f}%"


def points(fraction: float, half: float = 1.0) -> str:
    """Return a difference of fractions in percentage points: a decimal, more if half its interval is tiny."""
    digits = min(max(1, -math.floor(math.log10(100 * half))), DECIMALS) if half > 0 else 1
    return f"{100 * fraction:z.{digits}f}"


def counted(count: int, noun: str) -> str:
    """Return a count with its noun: `1 row`, `1,200 rows`, `2 classes`."""
    plural = noun + ("es" if noun.endswith("s") else "s")
    return f"{count:,} {noun if count == 1 else plural}"


def some(items: Sequence[object], count: int | None = None) -> str:
    """Return the first of some things, and how many more there are, of a count that the items begin."""
    first, count = items[:FIRST], len(items) if count is None else count
    named = ", ".join(str(one) or '""' for one in first)
    return named if count == len(first) else f"{named} and {count - len(first):,} more"


def decimals(value: float) -> int:
    """Return how many decimals a value is shown with: more if it is small, or next to 1."""
    if value == 0 or not math.isfinite(value):
        return DECIMALS
    rest = abs(1 - abs(value))
    if 0.5 * 10**-MOST_DECIMALS <= rest < 0.5 * 10**-DECIMALS:  # no 1.0000 that is none
        value = rest
    if abs(value) >= 10 ** (1 - DECIMALS):
        return DECIMALS
    return min(2 - math.floor(math.log10(abs(value))), MOST_DECIMALS)


def _as_fine(numbers: Sequence[float], value: float) -> list[str]:
    """Return numbers that are read beside a value, as fine as it is shown."""
    if _is_tiny(value):
        return [number(one) for one in numbers]
    return [to_decimals(one, decimals(value)) for one in numbers]


def _is_tiny(value: float) -> bool:
    return 0 < abs(value) < 10**-MOST_DECIMALS


def to_decimals(value: float, digits: int) -> str:
    """Return a value with that many decimals; with an exponent if it is huge, or in words."""
    if math.isnan(value):
        return "undefined"
    if 10**MOST_DIGITS <= abs(value) < math.inf:
        return f"{value:.{DECIMALS}e}"
    return f"{value:z.{digits}f}"  # z: what rounds to zero has no sign
