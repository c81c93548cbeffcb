"""Expressions of metrics, methods and figures, from their declarations, with arguments within and beyond."""

from __future__ import annotations

from collections.abc import Mapping

from calcli.core.language.entries import Argument, Entry
from calcli.core.language.figures import FIGURES
from calcli.core.language.methods import METHODS
from calcli.core.language.metrics import METRICS
from tests.hostile.drawing import Draw

LENSES = (
    "top-1", "class-wise", "worst-class", "class-1", "class-0", "top-2", "within-top-2", "predicted-0",
    "largest-2", "canonical", "top-wise", "kind", "class-99", "top-0",
    "class-99999999999999999999", "class-x", "class-²", "within-top-" + "9" * 6000,
)  # fmt: skip
SANE = {
    "lens": ("top-1", "class-wise", "worst-class", "class-1", "within-top-2", "canonical"),
    "region": ("all", "0.8..1", "0..0.5"),
    "binning": ("equal-width", "equal-mass", "recursive"),
    "costs": ("zero-one", "balanced", "abstain:0.1"),
    "weights": ("uniform", "inverse-frequency"),
    "calibrator": ("temperature", "histogram/bins=3", "dp"),
}
FREE = {
    "lens": LENSES,
    "region": ("1..0.8", "0..0", "-1..2", "nan..1", "0.5..", "..", "a..b", "1e400..1", "0/1..1/1"),
    "binning": ("0/0.5/1", "0/1/0.5", "", "equal"),
    "costs": ("costs", "imbalanced:cat:10"),
    "weights": ("mine", ""),
    "calibrator": ("reduced/calibrator=isotonic", "auto", ""),
}
LOOKS = {
    "min_rows": ("5",),
    "knots": ("6",),
    "smooth": ("moving/3",),
    "p_values": ("true",),
    "seeds": ("true",),
}
COUNTS = ("1", "2", "3", "7", "15", "0", "-1", "1.5", "99999999999999999999", "1e3", "x", "")


def expression(draw: Draw, entries: Mapping[str, Entry]) -> str:
    """Return an entry with some arguments; one time in sixteen it is torn."""
    entry = draw.choice(list(entries.values()))
    given = draw.some(list(entry.arguments.items()))
    parts = [entry.name, *(f"{key}={argument(draw, key, one)}" for key, one in given)]
    text = ":".join(parts)
    if draw.chance(0.06) and not draw.calm:
        place = draw.randrange(len(text) + 1)
        text = draw.choice(
            (text[:place], text[:place] + draw.choice(":=/,+ ") + text[place:], text + ":" + text)
        )
        text = draw.choice((text, text, draw.name(), text + f":{draw.name()}={draw.number()}"))
    return text


def argument(draw: Draw, key: str, said: Argument) -> str:
    """Return a value for an argument, mostly one that it may have."""
    if draw.chance(0.08) and not draw.calm:
        return draw.choice((draw.number(), draw.name(), "", "1/2", "/", "a/b=c"))
    if isinstance(said.default, bool):
        return draw.choice(("true", "false"))
    if said.choices:
        return draw.choice(said.choices)
    if isinstance(said.default, int):
        return draw.choice(COUNTS[:5])
    if isinstance(said.default, float):
        return draw.choice(("0", "0.1", "0.5", "1", "2", "10"))
    if isinstance(said.default, tuple):
        return draw.choice(("1", "1/0.1", "0.1/1/10"))
    known = SANE if draw.calm or draw.chance(0.8) else FREE
    return draw.choice(known.get(key, ("dp", "temperature", "log_loss")))


def metric(draw: Draw) -> str:
    return expression(draw, METRICS)


def method(draw: Draw) -> str:
    found = expression(draw, METHODS)
    return f"{found}+{expression(draw, METHODS)}" if draw.chance(0.05) else found


def figure(draw: Draw) -> str:
    """Return a figure, perhaps with one of the arguments that it may have."""
    kind = draw.choice(list(FIGURES.values()))
    if not kind.options or draw.chance(0.5):
        return kind.name
    key = draw.choice(kind.options)
    sane = LOOKS.get(key) or SANE[key]
    return f"{kind.name}:{key}={draw.choice((*sane, *sane, *FREE.get(key, COUNTS)))}"


def metrics(draw: Draw) -> str:
    return ",".join(metric(draw) for _ in range(draw.choice((1, 1, 2, 3))))


def methods(draw: Draw) -> str:
    return ",".join(method(draw) for _ in range(draw.choice((1, 1, 2))))
