"""Small files beside predictions: costs, priors, groups of classes, weights of thresholds, labels."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.hostile.damage import damaged
from tests.hostile.drawing import Draw
from tests.hostile.files import npy

ENDINGS = (".csv", ".csv", ".json", ".toml")


def toml(table: Mapping[str, Any]) -> str:
    """Return a table in TOML; its writer is nobody's, so that nothing is refused on the way."""
    return "".join(f"{json.dumps(str(key))} = {_toml(value)}\n" for key, value in table.items())


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(str(key))} = {_toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if value is None:
        return '""'
    return json.dumps(value).replace("NaN", "nan").replace("Infinity", "inf")


def stored(draw: Draw, table: Mapping[str, Any], ending: str) -> str:
    """Return by-class values as text of a format; costs by decision have a head of decisions in CSV."""
    if ending == ".json":
        return json.dumps(table)
    if ending == ".toml":
        return toml(table)
    lines = []
    for name, value in table.items():
        cells = list(value.values()) if isinstance(value, Mapping) else [value]
        lines.append(",".join(map(str, (name, *cells))))
    first = next(iter(table.values()), None)
    if isinstance(first, Mapping):
        lines.insert(0, ",".join(map(str, ("", *first))))
    return "\n".join(lines) + "\n"


def _value(draw: Draw, usual: Any) -> Any:
    return (
        usual
        if draw.chance(0.95)
        else draw.choice((draw.floating(), draw.number(), draw.name(), draw.value()))
    )


def side_file(draw: Draw, kind: str, names: list[str]) -> str:
    """Write a file of costs, priors or groups for some classes, or of weights, and return its name."""
    if draw.chance(0.2):
        names = draw.choice((names[:-1], [*names, "another"], names[::-1], [draw.name() for _ in names]))
    share = 1 / max(len(names), 1)
    decisions = draw.choice((names, [*names, "abstain"], ["a", "b"]))
    tables: dict[str, Mapping[str, Any]] = {
        "costs": {
            name: {one: _value(draw, float(one != name)) for one in decisions if draw.chance(0.98)}
            for name in names
        },
        "priors": {name: _value(draw, share) for name in names},
        "groups": {name: _value(draw, draw.choice(("some", "others"))) for name in names},
        "weights": {f"{x / 5:g}": _value(draw, draw.choice((0, 1, 0.5))) for x in range(6)},
    }
    ending = ".csv" if kind == "weights" and draw.chance(0.9) else draw.choice(ENDINGS)
    content = stored(draw, tables[kind], ending).encode(
        "utf-8" if draw.chance(0.95) else "latin-1", "replace"
    )
    return draw.put(f"{kind}{ending}", damaged(draw, content) if draw.chance(0.2) else content)


def labels_file(draw: Draw, rows: int, names: list[str]) -> str:
    """Write a file of labels, at times of another length or type, and return its name."""
    count = rows if draw.chance(0.7) else draw.choice((0, 1, rows - 1, rows + 1)) if rows else 1
    numbers = draw.arrays.integers(max(len(names), 1), size=max(count, 0))
    made: tuple[Any, ...] = (
        numbers,
        numbers.astype(draw.choice(("f4", "f8", "i1", "u8", "?", "c16"))),
        np.array([names[n] if names else "" for n in numbers], np.str_),
        numbers[:, None],
        np.eye(max(len(names), 1))[numbers],
        np.array(0),
        numbers - 1,
        np.full(len(numbers), draw.choice((np.nan, np.inf, 1e300, -0.0))),
        numbers.astype("M8[s]"),
        numbers.astype("S8"),
        numbers.astype(">i4"),
    )
    content = npy(draw.choice(made))
    return draw.put("labels.npy", damaged(draw, content) if draw.chance(0.2) else content)
