"""How often new rows of the same kind keep a first policy: of the generator, and of the file itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from calcli.core.comparing.redraws import slack_of
from tests.benchmarks.harness import table
from tests.core.comparing.test_redraws import NAMES, balanced, costs, near_perfect, predictions, rare, ten

FILES = {150: 150, 1_000: 100, 20_000: 25}  # by their rows
REDRAWS = 40  # of each file
OVER_CONFIDENT = 1.5  # times the logits

Draw = Callable[[int, np.random.Generator], tuple[np.ndarray, np.ndarray]]


def kept(draw: Draw, rows: int) -> tuple[float, float]:
    """Return the share of new files, and of resamples, that keep all limits of a file."""
    rng, new, own = np.random.default_rng(rows), [], []
    for _ in range(FILES[rows]):
        logits, labels = draw(rows, rng)
        found = slack_of(predictions(logits, labels), NAMES)
        limits = costs(logits, labels) + [found[name].slack for name in NAMES]
        free = np.isnan(limits) | (limits == np.inf)
        for _ in range(REDRAWS):
            again = rng.integers(0, rows, rows)
            for shares, drawn in ((new, draw(rows, rng)), (own, (logits[again], labels[again]))):
                shares.append((free | (costs(*drawn) <= limits)).all())
    return float(np.mean(new)), float(np.mean(own))


def over_confident(draw: Draw, rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return rows whose logits are too far apart."""
    logits, labels = draw(rows, rng)
    return OVER_CONFIDENT * logits, labels


def main() -> None:
    """Print the table."""
    kinds = {"balanced": balanced, "2% positives": rare, "AUROC 0.9995": near_perfect, "ten classes": ten}
    every = {name: (draw, partial(over_confident, draw)) for name, draw in kinds.items()}
    lines = []
    for name, draws in every.items():
        for said, draw in zip(("", ", over-confident"), draws, strict=True):
            shares = (kept(draw, rows) for rows in FILES)
            lines.append([name + said, *(f"{new:.1%}, {own:.1%}" for new, own in shares)])
    heads = ["kept by new files, by resamples", *(f"{rows:,} rows" for rows in FILES)]
    table("First policies", heads, lines)
