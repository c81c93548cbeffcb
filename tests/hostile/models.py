"""Small files beside predictions: what calcli wrote, sound or hurt, and what people write."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

import numpy as np

from calcli.core.comparing.policy import End, Severity, Undecided
from calcli.core.language.methods import METHODS
from tests.forked import call
from tests.hostile.drawing import Draw, damaged
from tests.hostile.files import archive, npy

FITTED = tuple(name for name, method in METHODS.items() if method.family != "wrapper")
SUMMED = ("log_loss,ece,auroc", "brier,cw_ece,ks", "accuracy,ece:lens=class-wise")
MADE: dict[str, tuple[tuple[str, ...], Callable[[Draw], list[str]]]] = {  # of what name, and how
    "calibrator": (("cal.json", "cal.json", "cal.npz"), lambda draw: ["fit", "-m", draw.choice(FITTED),
    "--folds", "0", "-q", "-o"]),
    "state": (("t.calcli",), lambda draw: ["evaluate", "--metrics", draw.choice(SUMMED), "-q",
    "--save-state"]),
    "report": (("report.json",), lambda draw: ["evaluate", "-q", "-o"]),
    "policy": (("calcli.toml",), lambda draw: ["check", "--init", "-p"]),
}  # fmt: skip


def made(draw: Draw, kind: str, classes: int, name: str = "", calm: bool = False) -> str:
    """Write a calibrator, state, report or policy, four times of five a hurt one, and return its name.

    It is of 60 rows; a calm one is sound. What a hunt has made once is in its store.
    """
    names, how = MADE[kind]
    usual, arguments = draw.choice(names), how(draw)
    path = draw.store / "_".join([*arguments, str(classes), usual]).replace(":", "=")
    if not path.exists():
        own = draw.store / f"by_{os.getpid()}"
        own.mkdir(exist_ok=True)
        (own / "t.csv").write_text(sound(classes))
        by_calcli(own, [arguments[0], "t.csv", *arguments[1:], "made" if kind == "report" else usual])
        (own / ("made/report.json" if kind == "report" else usual)).replace(path)
    content, fate = path.read_bytes(), 1 if calm else draw.random()
    if fate < 0.6 and kind != "policy":
        content = (_changed_json if usual.endswith(".json") else _changed_archive)(draw, content)
    elif fate < 0.8:
        content = damaged(draw, content)
    return draw.put(name or usual, content)


def by_calcli(folder: Any, arguments: list[str]) -> None:
    """Call calcli in a folder, in a fork without streams; what it made is there if it made it."""
    if (child := os.fork()) == 0:
        for number in range(3):
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
        os._exit(call(arguments, str(folder), {"HOME": str(folder), "MPLCONFIGDIR": str(folder)}))
    os.waitpid(child, 0)


def sound(classes: int) -> str:
    """Return 60 rows of predictions as CSV, the same each time."""
    draw = Draw(f"sound {classes}")
    lines = ["label,country," + ",".join(f"prob_{n}" for n in range(classes))]
    for n, row in enumerate(draw.arrays.dirichlet([1.0] * classes, size=60)):
        label = row.argmax() if draw.chance(0.7) else draw.randrange(classes)
        lines.append(f"{label},{('DE', 'FR')[n % 2]}," + ",".join(map(repr, row.tolist())))
    return "\n".join(lines) + "\n"


def changed(draw: Draw, tree: Any) -> Any:
    """Return a tree of JSON with one thing in it exchanged, left out or added."""
    if isinstance(tree, dict) and tree and draw.chance(0.85):
        key = draw.choice(list(tree))
        left = {name: value for name, value in tree.items() if name != key}
        new = {draw.name() if draw.chance(0.05) else key: changed(draw, tree[key])}
        return left if draw.chance(0.1) else {**tree, **new}
    if isinstance(tree, list) and tree and draw.chance(0.85):
        place = draw.randrange(len(tree))
        if draw.chance(0.15):
            return draw.choice((tree[:place], [*tree, tree[place]], tree[::-1]))
        return [*tree[:place], changed(draw, tree[place]), *tree[place + 1 :]]
    if isinstance(tree, float) and draw.chance(0.7):
        return draw.floating()
    if isinstance(tree, int) and draw.chance(0.7):
        return draw.choice((0, -1, tree + 1, 2**31, 2**63, 10**400, 0.5))
    return draw.value()


def _changed_json(draw: Draw, content: bytes) -> bytes:
    return json.dumps(changed(draw, changed(draw, json.loads(content)))).encode()


def _changed_archive(draw: Draw, content: bytes) -> bytes:
    """Return an archive of arrays and heads with one member changed."""
    with zipfile.ZipFile(io.BytesIO(content)) as stored:
        members = {name: stored.read(name) for name in stored.namelist()}
    name, fate = draw.choice(list(members)), draw.random()
    if fate < 0.1:
        del members[name]
    elif fate < 0.2:
        members[draw.name().replace("\0", "") or "x"] = members[name]
    elif name.endswith(".json"):
        members[name] = _changed_json(draw, members[name])
    elif fate < 0.4:
        members[name] = damaged(draw, members[name])
    else:
        members[name] = npy(_changed_array(draw, np.load(io.BytesIO(members[name]), allow_pickle=False)))
    return archive(members)


def _changed_array(draw: Draw, array: np.ndarray) -> np.ndarray:
    """Return an array of another type, shape or value; text that holds JSON is changed as JSON."""
    if array.dtype.kind in "US" and array.ndim == 0:
        try:
            return np.array(_changed_json(draw, str(array).encode()).decode())
        except ValueError:
            return np.array(draw.name())
    odd = draw.arrays.random(array.shape) < draw.choice((0.3, 1))
    ways: tuple[Callable[[], np.ndarray], ...] = (
        lambda: array.astype(draw.choice(("f4", "c16", "i1", "?", "f2", ">f8", "U8"))),
        lambda: array.ravel()[: draw.randrange(array.size + 1)], lambda: array[None], lambda: array.T,
        *[lambda: np.where(odd, draw.floating(), array)] * 3, lambda: np.zeros(0), lambda: -array,
    )  # fmt: skip
    try:
        with np.errstate(all="ignore"):
            return draw.choice(ways)()
    except (TypeError, ValueError):
        return np.zeros(array.shape)


RULE: dict[str, Callable[[Draw], Any]] = {
    "max": lambda draw: draw.choice((0.5, 0, 1, draw.floating())),
    "min": lambda draw: draw.choice((0.5, 0, draw.floating())),
    "max_increase": lambda draw: draw.choice((0, 0.01, "5%", "-5%", "%", draw.floating())),
    "max_decrease": lambda draw: draw.choice((0, 0.01, "5%", draw.name())),
    "bound": lambda draw: draw.choice(get_args(End)),
    "undecided": lambda draw: draw.choice(get_args(Undecided)),
    "slice": lambda draw: draw.choice(("country=DE", "country=XX", "=", "country", "label=0", draw.name())),
    "severity": lambda draw: draw.choice(get_args(Severity)),
    "min_rows": lambda draw: draw.choice((0, 10, 10**9, -1, 1.5)),
    "name": lambda draw: draw.name(),
}
SETTINGS = ("level", "draws", "seed", "min_rows", "cluster", "clip", "priors", "costs", "edges", "x")


def policy(draw: Draw, metrics: Sequence[str]) -> str:
    """Write a policy of drawn rules for some of the metrics, and return its name."""
    text = toml(
        {key: draw.choice((draw.value(), 0.5, 19)) for key in draw.some(SETTINGS, 2) if draw.chance(0.3)}
    )
    for _ in range(draw.choice((1, 1, 2, 4))):
        keys = [draw.choice(list(RULE)[:4]), *draw.some(list(RULE), draw.choice((0, 1)))]
        rule = {"metric": draw.choice(metrics), **{key: RULE[key](draw) for key in keys}}
        rule = changed(draw, rule) if draw.chance(0.1) else rule
        text += "[[rules]]\n" + toml(rule if isinstance(rule, dict) else {})
    return draw.put("calcli.toml", damaged(draw, text.encode()) if draw.chance(0.15) else text)


def toml(table: Mapping[str, Any]) -> str:
    """Return a table in TOML; its writer is nobody's, so that nothing is refused on the way."""
    return "".join(f"{json.dumps(str(key))} = {_toml(value)}\n" for key, value in table.items())


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(str(key))} = {_toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps("" if value is None else value).replace("NaN", "nan").replace("Infinity", "inf")


def _csv(table: Mapping[str, Any]) -> str:
    """Return by-class values as CSV; costs by decision have a head of decisions."""
    rows = {key: value if isinstance(value, Mapping) else {"": value} for key, value in table.items()}
    first = next(iter(table.values()), None)
    head = [",".join(map(str, ("", *first)))] if isinstance(first, Mapping) else []
    return "\n".join([*head, *(",".join(map(str, (key, *row.values()))) for key, row in rows.items()), ""])


def side_file(draw: Draw, kind: str, names: Sequence[str]) -> str:
    """Write a file of costs, priors or groups for some classes, and return its name."""
    if draw.odd(0.2):
        names = draw.choice((names[:-1], [*names, "another"], names[::-1], [draw.name() for _ in names]))
    decisions = draw.choice((names, [*names, "abstain"], ["a", "b"]))
    of_class: dict[str, Callable[[str], Any]] = {
        "costs": lambda name: {one: float(one != name) for one in decisions},
        "priors": lambda name: 1 / len(names),
        "groups": lambda name: draw.choice(("some", "others")),
    }
    table = {name: of_class[kind](name) for name in names}
    table = changed(draw, table) if draw.odd(0.15) else table
    table = table if isinstance(table, dict) else {}
    ending, stored = draw.choice(((".csv", _csv), (".csv", _csv), (".json", json.dumps), (".toml", toml)))
    content = stored(table).encode("latin-1" if draw.odd(0.2) else "utf-8", "replace")
    return draw.put(f"{kind}{ending}", damaged(draw, content) if draw.odd(0.35) else content)


def labels_file(draw: Draw, rows: int, names: Sequence[str]) -> str:
    """Write a file of labels, at times of another length or type, and return its name."""
    count = max(draw.choice((0, 1, rows - 1, rows + 1)), 0) if draw.odd(0.3) else rows
    numbers = draw.arrays.integers(max(len(names), 1), size=count)
    odd = (
        *(numbers.astype(kind) for kind in ("f4", "f8", "i1", "u8", "?", "c16", "M8[s]", "S8", ">i4")),
        np.array([names[n] if names else "" for n in numbers], np.str_), numbers[:, None], numbers - 1,
        np.eye(max(len(names), 1))[numbers], np.array(0), np.full(count, draw.choice((np.nan, np.inf, 1e300,
        -0.0))),
    )  # fmt: skip
    content = npy(draw.choice(odd) if draw.odd(0.8) else numbers)
    return draw.put("labels.npy", damaged(draw, content) if draw.odd(0.2) else content)
