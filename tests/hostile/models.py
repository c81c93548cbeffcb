"""Calibrators, states, reports and policies, hurt where they are numbers, keys, arrays or bytes."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from typing import Any, get_args

import numpy as np

from calcli.core.comparing.policy import End, Severity, Undecided
from tests.hostile import expressions
from tests.hostile.damage import damaged
from tests.hostile.drawing import Draw
from tests.hostile.files import npy
from tests.hostile.made import FITTED, KEPT, Store
from tests.hostile.sidefiles import toml


def changed(draw: Draw, tree: Any) -> Any:
    """Return a tree of JSON with one thing in it exchanged, left out or added."""
    if isinstance(tree, dict) and tree and draw.chance(0.85):
        key = draw.choice(list(tree))
        if draw.chance(0.1):
            return {name: value for name, value in tree.items() if name != key}
        if draw.chance(0.05):
            return {**tree, draw.name(): draw.value()}
        return {**tree, key: changed(draw, tree[key])}
    if isinstance(tree, list) and tree and draw.chance(0.85):
        place = draw.randrange(len(tree))
        if draw.chance(0.15):
            return draw.choice((tree[:place], [*tree, tree[place]], tree[::-1]))
        return [*tree[:place], changed(draw, tree[place]), *tree[place + 1 :]]
    if isinstance(tree, float) and draw.chance(0.7):
        return draw.floating()
    if isinstance(tree, int) and draw.chance(0.7):
        return draw.choice((0, -1, tree + 1, 2**31, 2**63, 10**400, tree / 2 if abs(tree) < 2**63 else 0.5))
    return draw.value()


def changed_json(draw: Draw, content: bytes) -> bytes:
    tree = json.loads(content)
    for _ in range(draw.randrange(1, 3)):
        tree = changed(draw, tree)
    return json.dumps(tree).encode()


def changed_archive(draw: Draw, content: bytes) -> bytes:
    """Return an archive of arrays and heads with one member changed."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = draw.choice(list(members))
    fate = draw.random()
    if fate < 0.1:
        del members[name]
    elif fate < 0.2:
        members[draw.name().replace("\0", "") or "x"] = members[name]
    elif name.endswith(".json"):
        members[name] = changed_json(draw, members[name])
    elif fate < 0.4:
        members[name] = damaged(draw, members[name])
    else:
        members[name] = npy(changed_array(draw, np.load(io.BytesIO(members[name]), allow_pickle=False)))
    with io.BytesIO() as file:
        with zipfile.ZipFile(file, "w") as archive:
            for one, stored in members.items():
                archive.writestr(zipfile.ZipInfo(one, (1980, 1, 1, 0, 0, 0)), stored)
        return file.getvalue()


def changed_array(draw: Draw, array: np.ndarray) -> np.ndarray:
    """Return an array of another type, shape or value; text that holds JSON is changed as JSON."""
    if array.dtype.kind in "US" and array.ndim == 0:
        try:
            return np.array(changed_json(draw, str(array).encode()).decode())
        except ValueError:
            return np.array(draw.name())
    ways: tuple[Callable[[], np.ndarray], ...] = (
        lambda: array.astype(draw.choice(("f4", "c16", "i1", "?", "f2", ">f8", "U8"))),
        lambda: array.ravel()[: draw.randrange(array.size + 1)],
        lambda: array[None],
        lambda: array.T,
        lambda: np.where(draw.arrays.random(array.shape) < 0.3, draw.floating(), array),
        lambda: np.where(draw.arrays.random(array.shape) < 0.3, draw.floating(), array),
        lambda: np.zeros(0),
        lambda: np.full(array.shape, draw.floating()),
        lambda: -array,
    )
    try:
        with np.errstate(all="ignore"):
            return draw.choice(ways)()
    except (TypeError, ValueError):
        return np.zeros(array.shape)


def calibrator(draw: Draw, store: Store, classes: int, calm: bool = False) -> str:
    """Write a calibrator, four times of five a hurt one unless it is to be calm, and return its name."""
    ending = draw.choice((".json", ".json", ".npz"))
    content = store.calibrator(draw.choice(FITTED), classes, ending)
    how = 1 if calm else draw.random()
    if how < 0.6:
        content = changed_json(draw, content) if ending == ".json" else changed_archive(draw, content)
    elif how < 0.8:
        content = damaged(draw, content)
    return draw.put(f"cal{ending}", content)


def state(draw: Draw, store: Store, classes: int, name: str = "t.calcli") -> str:
    """Write a state, four times of five a hurt one, and return its name."""
    content = store.state(draw.choice(KEPT), classes)
    how = draw.random()
    if how < 0.6:
        content = changed_archive(draw, content)
    elif how < 0.8:
        content = damaged(draw, content)
    return draw.put(name, content)


def report(draw: Draw, store: Store, classes: int) -> str:
    """Write a report as a baseline, four times of five a hurt one, and return its name."""
    content = store.report(classes)
    how = draw.random()
    if how < 0.6:
        content = changed_json(draw, content)
    elif how < 0.8:
        content = damaged(draw, content)
    return draw.put("report.json", content)


WORSE = ("max_increase", "max_decrease")
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


def policy(draw: Draw, store: Store, classes: int, calm: bool = False) -> str:
    """Write a policy of drawn rules, or one that calcli wrote somebody hurt; a calm one is sound."""
    if calm or draw.chance(0.3):
        content = store.policy(classes)
        return draw.put("calcli.toml", content if calm or draw.chance(0.2) else damaged(draw, content))
    general = (
        "level",
        "draws",
        "seed",
        "min_rows",
        "cluster",
        "clip",
        "priors",
        "costs",
        "edges",
        draw.name(),
    )
    text = toml(
        {key: draw.choice((draw.value(), 0.5, 19)) for key in draw.some(general, 2) if draw.chance(0.3)}
    )
    for _ in range(draw.choice((1, 1, 2, 4))):
        keys = [draw.choice(("max", "max", "min", *WORSE)), *draw.some(list(RULE), draw.choice((0, 1)))]
        metric = (
            expressions.metric(draw) if draw.chance(0.5) else draw.choice(("log_loss", "accuracy", "ece"))
        )
        rule = {"metric": metric, **{key: RULE[key](draw) for key in keys}}
        if draw.chance(0.1):
            rule = changed(draw, rule)
        text += "[[rules]]\n" + toml(rule if isinstance(rule, dict) else {})
    return draw.put("calcli.toml", damaged(draw, text.encode()) if draw.chance(0.15) else text)
