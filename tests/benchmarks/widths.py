"""How wide intervals are where few rows tell, beside those of the bootstrap, and how often both miss.

Rows are drawn of which most say little: a rare class with wrong labels, few errors that are confident, or
no errors. Results stand in `widths.json` beside this file; `python -m tests.benchmarks.widths` makes those
that are missing; `--page` writes the table of the guide.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from calcli.core.data.arrays import Array, Doubles
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.settings import Settings
from tests.benchmarks.keeping import GUIDE, Kept, between, table

RESULTS = Path(__file__).with_suffix(".json")
PAGE = GUIDE / "statistics.md"
SETS, RESAMPLES, LEVEL = 400, 200, 0.95
TRUTH_ROWS = 1_000_000
MISSED = 0.07  # of the data sets, at most, of an interval that holds
WIDER = 1.5  # times the width of the bootstrap's, at most, where both hold

Rows = tuple[Doubles, Array]  # (n, K) probabilities and (n,) labels
Value = Callable[[Rows, Doubles], float]  # of rows that are there so many times


def _two(second: Doubles, labels: Array) -> Rows:
    return np.stack([1 - second, second], axis=1), labels.astype(np.intp)


def _noisy(n: int, rng: np.random.Generator) -> Rows:
    """2.2% positives, a tenth of which score as negatives do."""
    labels = rng.random(n) < 0.022
    log_odds = rng.normal(-6, 2, n) + labels * rng.choice([6, -1], n, p=[0.9, 0.1])
    return _two(1 / (1 + np.exp(-log_odds)), labels)


def _rare(n: int, rng: np.random.Generator) -> Rows:
    """1% positives, 1.5 standard deviations away."""
    labels = rng.random(n) < 0.01
    log_odds = 1.5 * (rng.normal(size=n) + 1.5 * labels - 0.75) + np.log(0.01 / 0.99)
    return _two(1 / (1 + np.exp(-log_odds)), labels)


def _top(n: int, rng: np.random.Generator) -> Rows:
    """The tenth that is most confident is wrong in 20% of its rows, the rest as often as it says."""
    share = rng.random(n)
    confidence = 1 - share**2 / 2
    right, predicted = rng.random(n) < np.where(share < 0.1, 0.8, confidence), rng.random(n) < 0.5
    return _two(np.where(predicted, confidence, 1 - confidence), predicted == right)


def _smoothed(n: int, rng: np.random.Generator) -> Rows:
    """10 classes, a confidence of 0.91 ± 0.02, one row in 500 wrong."""
    confidence, top = 0.91 + 0.02 * rng.normal(size=n).clip(-3, 3), rng.integers(0, 10, n)
    probs = np.repeat((1 - confidence)[:, None] / 9, 10, axis=1)
    probs[np.arange(n), top] = confidence
    return probs, np.where(rng.random(n) < 0.002, (top + rng.integers(1, 10, n)) % 10, top)


def auroc(rows: Rows, times: Doubles) -> float:
    """Return the area under the ROC curve of scores without ties."""
    order = np.argsort(rows[0][:, 1])
    positive, negative = (times[order] * (rows[1][order] == k) for k in (1, 0))
    return float(positive @ (np.cumsum(negative) - negative / 2) / (positive.sum() * negative.sum()))


def average_precision(rows: Rows, times: Doubles) -> float:
    """Return the mean over positives of the precision at their scores."""
    order = np.argsort(-rows[0][:, 1])
    positive, above = times[order] * rows[1][order], np.cumsum(times[order])
    return float(positive @ (np.cumsum(positive) / np.maximum(above, 1)) / positive.sum())


def aurc(rows: Rows, times: Doubles) -> float:
    """Return the mean over the rows of the error rate of those that are as confident or more."""
    order = np.argsort(-rows[0].max(axis=1))
    wrong, kept = times * (rows[0].argmax(axis=1) != rows[1]), np.cumsum(times[order])
    return float(times[order] @ (np.cumsum(wrong[order]) / np.maximum(kept, 1)) / kept[-1])


def _mean(of: Callable[[Doubles, Array], Doubles]) -> Value:
    return lambda rows, times: float(times @ of(*rows) / times.sum())


def _brier(probs: Doubles, labels: Array) -> Doubles:
    return np.asarray(np.square(probs - np.eye(probs.shape[1])[labels]).sum(axis=1))


VALUES: dict[str, Value] = {
    "auroc": auroc,
    "average_precision": average_precision,
    "aurc": aurc,
    "brier": _mean(_brier),
    "accuracy": _mean(lambda probs, labels: 1.0 * (probs.argmax(axis=1) == labels)),
    "mean_gap": _mean(lambda probs, labels: probs.max(axis=1) - (probs.argmax(axis=1) == labels)),
    "log_loss": _mean(lambda probs, labels: -np.log(probs[np.arange(len(labels)), labels])),
}
AREAS, LOSSES = ("auroc", "average_precision"), ("log_loss", "brier", "accuracy", "mean_gap")


@dataclass(frozen=True)
class Kind:
    """Data of which few rows tell.

    Attributes
    ----------
    draw
        Makes so many rows.
    sizes
        How many there are.
    metrics
        What is computed.
    """

    draw: Callable[[int, np.random.Generator], Rows]
    sizes: tuple[int, ...]
    metrics: tuple[str, ...]


KINDS: Mapping[str, Kind] = {
    "rare class, a tenth mislabelled": Kind(_noisy, (1_000, 3_000), AREAS),
    "rare class of 1%": Kind(_rare, (1_000, 2_000), AREAS),
    "errors at the top": Kind(_top, (100, 500), ("aurc",)),
    "under-confident, one in 500 wrong": Kind(_smoothed, (200, 500, 1_000), LOSSES),
}


@cache
def truth(kind: str, metric: str) -> float:
    """Return the value of very many rows."""
    rows = KINDS[kind].draw(TRUTH_ROWS, np.random.default_rng(99))
    return VALUES[metric](rows, np.ones(TRUTH_ROWS))


def simulated(kind: str, metric: str, n: int, sets: int = SETS) -> dict[str, Any]:
    """Return how many intervals are shown, too high and too low, and their median width, of both kinds."""
    true, rng = truth(kind, metric), np.random.default_rng([n, len(kind), len(metric)])
    settings = Settings((metric,), draws=0, level=LEVEL)
    ends, resampled = [], []
    for _ in range(sets):
        rows = KINDS[kind].draw(n, rng)
        while metric in AREAS and not rows[1].any():
            rows = KINDS[kind].draw(n, rng)
        scores = ArrayScores(rows[0], "probs")
        found = Predictions(scores, rows[1], tuple(map(str, range(rows[0].shape[1]))))
        if interval := evaluate(found, settings).estimates[metric].interval:
            ends.append((interval.low, interval.high))
        times = rng.multinomial(n, np.full(n, 1 / n), RESAMPLES).astype(np.float64)
        with np.errstate(invalid="ignore"):  # where no positive is drawn
            values = [VALUES[metric](rows, own) for own in times]
        resampled.append(np.nanquantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]))
    own = {"kind": kind, "metric": metric, "rows": n, "sets": sets, "truth": true}
    return own | _judged("calcli", ends, true) | _judged("bootstrap", resampled, true)


def _judged(name: str, ends: Any, true: float) -> dict[str, Any]:
    low, high = np.array(ends).reshape(-1, 2).T
    counts = [len(low), int((low > true + 1e-12).sum()), int((high < true - 1e-12).sum())]
    return {name: [*counts, float(np.median(high - low)) if len(low) else None]}


class Results(Kept):
    """The results of all cells."""

    def __init__(self, path: Path = RESULTS) -> None:
        super().__init__(path, "cells")

    @property
    def cells(self) -> dict[str, dict[str, Any]]:
        """What is known of each cell, by its name."""
        return self.found["cells"]

    def run(self, kind: str, metric: str, n: int) -> None:
        """Do a cell, unless it is done."""
        cell = f"{kind}, {metric}, n={n}"
        if cell not in self.cells:
            self.cells[cell] = simulated(kind, metric, n)
            self.write()
            print(cell, self.cells[cell], flush=True)


def too_wide(cell: dict[str, Any]) -> bool:
    """Tell whether intervals are wider than may be, where both kinds hold."""
    (_, high, low, own), (_, *missed, other) = cell["calcli"], cell["bootstrap"]
    both = max(high + low, sum(missed)) <= MISSED * cell["sets"]
    return bool(both and own is not None and own > WIDER * other)


def page(results: Results) -> str:
    """Return the table of the guide."""
    rows = []
    for cell in results.cells.values():
        sets, shown = cell["sets"], cell["calcli"][0]
        missed = [f"{100 * sum(cell[name][1:3]) / sets:.1f}" for name in ("calcli", "bootstrap")]
        widths = [
            "-" if cell[name][3] is None else f"{cell[name][3]:.3g}" for name in ("calcli", "bootstrap")
        ]
        both = [" / ".join(pair) for pair in (missed, widths)]
        rows.append(
            [cell["kind"], f"{cell['rows']:,}", f"`{cell['metric']}`", f"{100 * shown / sets:.0f}", *both]
        )
    heads = ["data", "rows", "metric", "% shown", "% missed / bootstrap", "median width / bootstrap"]
    return "\n".join([*table(heads, rows), ""])


def refreshed(text: str, results: Results) -> str:
    """Return the page of the guide with its table written anew."""
    return between(text, "widths", page(results))


def main() -> None:
    """Run the study, or write its table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--page", action="store_true", help="write the table of the guide")
    asked, _ = parser.parse_known_args()
    results = Results()
    if asked.page:
        PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")
        return
    for kind, own in KINDS.items():
        for metric in own.metrics:
            for n in own.sizes:
                results.run(kind, metric, n)


if __name__ == "__main__":
    main()
