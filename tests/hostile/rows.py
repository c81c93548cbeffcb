"""Rows that are sound, and that statistics are afraid of: one class alone, ties, certainty, few rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tests.hostile.drawing import Draw
from tests.hostile.tables import Columns

FOR_OPTION: Mapping[str, str] = {  # the column that an option is for
    "--weights": "weight", "--cluster": "patient", "--folds": "fold", "--key": "id", "--by": "country",
    "--decision-column": "decision", "--label-column": "label",
}  # fmt: skip


def rows(draw: Draw, classes: int = 0) -> Columns:
    """Return labels, probabilities and columns for every option that takes one."""
    number = draw.choice((1, 2, 3, 5, 8, 12, 30, 60, 60, 60, 120, 200))
    count = classes or draw.choice((2, 2, 2, 3, 3, 4, 5, 10, 20))
    probs = probabilities(draw, number, count)
    labels = answers(draw, probs)
    names = [f"c{n}" for n in range(count)] if draw.chance(0.3) else [str(n) for n in range(count)]
    scores = [(f"prob_{name}", probs[:, n]) for n, name in enumerate(names)]
    return [("label", [names[n] for n in labels]), *scores, *_beside(draw, number, names)]


def probabilities(draw: Draw, number: int, count: int) -> np.ndarray:
    """Return (N, K) probabilities of one temper, at times two of them in turn."""
    found = _tempered(draw, number, count)
    if draw.chance(0.2):
        found[::2] = _tempered(draw, number, count)[::2]
    return found.astype(np.float32) if draw.chance(0.15) else found


def _tempered(draw: Draw, number: int, count: int) -> np.ndarray:
    rng = draw.arrays
    usual = rng.dirichlet(np.full(count, draw.choice((0.05, 0.5, 1, 1, 20))), size=number)
    places = rng.integers(count, size=number)
    near = np.full((number, count), 1e-17)
    near[np.arange(number), places] = 1
    tiny = np.full((number, count), draw.choice((1e-300, 5e-324, 1e-45)))
    tiny[np.arange(number), places] = 1
    made: tuple[Callable[[], np.ndarray], ...] = (
        lambda: usual,
        lambda: usual,
        lambda: usual,
        lambda: np.eye(count)[places],
        lambda: np.full((number, count), 1 / count),
        lambda: np.repeat(usual[:1], number, axis=0),
        lambda: near,
        lambda: tiny,
        lambda: np.sort(usual, axis=0),
        lambda: np.where(usual > 1 / count, usual, 0) / np.where(usual > 1 / count, usual, 0).sum(1)[:, None],
        lambda: usual[rng.integers(min(number, 3), size=number)],
    )
    return np.array(draw.choice(made)())


def answers(draw: Draw, probs: np.ndarray) -> np.ndarray:
    """Return labels: drawn, all right, all wrong, of one class, one row of a class."""
    number, count = probs.shape
    rng = draw.arrays
    drawn = np.minimum((rng.random((number, 1)) > np.cumsum(probs, axis=1)).sum(1), count - 1)
    rare = np.zeros(number, np.int64)
    rare[: min(count, number)] = np.arange(min(count, number))
    made = (
        drawn, drawn, drawn, drawn, probs.argmax(1), probs.argmin(1), rare, np.arange(number) % count,
        np.full(number, draw.randrange(count)), rng.integers(count, size=number),
        np.minimum(drawn, max(count - 2, 0)),
    )  # fmt: skip
    return np.asarray(draw.choice(made))


def _beside(draw: Draw, number: int, names: list[str]) -> Columns:
    rng = draw.arrays
    few = rng.integers(draw.choice((1, 2, 3, 10)), size=number)
    heavy = np.ones(number)
    heavy[-1] = draw.choice((0, 1e-50, 1e6, 1e12))
    weights = (np.ones(number), rng.exponential(size=number), heavy, rng.integers(2, size=number), few + 1.0)
    numbers = np.arange(number)
    identities = (numbers, numbers[::-1], numbers // 2, [f"id{n}" for n in numbers])
    return [
        ("weight", draw.choice(weights)),
        ("patient", draw.choice((few, numbers, [f"p{n}" for n in few]))),
        ("fold", draw.choice((numbers % 2, numbers % 5, few, numbers))),
        ("id", draw.choice(identities)),
        ("country", [draw.choice(("DE", "FR", "FR", "IT")) for _ in range(number)]),
        ("decision", [draw.choice(names) for _ in range(number)]),
    ]


def another(draw: Draw, columns: Columns) -> Columns:
    """Return the same rows with other scores, mostly near those; at times in another order, or fewer."""
    places = [n for n, (name, _) in enumerate(columns) if name.startswith("prob_")]
    probs = np.stack([np.asarray(columns[n][1], np.float64) for n in places], axis=1)
    share = draw.choice((0, 1e-9, 0.1, 0.5, 1))
    mixed = (1 - share) * probs + share * probabilities(draw, *probs.shape)
    with np.errstate(all="ignore"):
        mixed /= mixed.sum(1)[:, None]
    found = list(columns)
    for n, place in enumerate(places):
        found[place] = (columns[place][0], mixed[:, n])
    kept = np.arange(len(probs))
    if draw.chance(0.2):
        kept = draw.arrays.permutation(kept)[draw.choice((0, 0, 1)) :]
    return [(name, np.asarray(values)[kept]) for name, values in found]
