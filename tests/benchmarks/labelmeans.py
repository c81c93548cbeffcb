"""How often the interval of a macro mean over labels in a row misses, and how wide it is.

The labels of a row depend on each other, and some are missing. Results stand in `labelmeans.json` beside this
file; `python -m tests.benchmarks.labelmeans` makes those that are missing, `--page` writes the table of the
guide.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from calcli.core.comparing.averaging import mean_systems
from calcli.core.data.arrays import Doubles
from calcli.core.data.predictions import ArrayScores, Predictions, Provenance
from calcli.core.language.settings import Settings
from tests.benchmarks.keeping import GUIDE, Kept, between, table

RESULTS = Path(__file__).with_suffix(".json")
PAGE = GUIDE / "statistics.md"
SETS, LABELS, MISSING, POPULATION = 400, 5, 0.05, 1_000_000
SIZES = (100, 300, 1_000, 3_000)
MEANS = {"common": np.linspace(0.5, -1, LABELS), "rare": np.linspace(-2, -4, LABELS)}  # of the log-odds
SHARED = {"independent": 0.0, "alike": 0.8}  # share of the variance of log-odds, and of outcomes, in a row
METRICS = ("log_loss", "brier", "auroc", "average_precision")
CELLS = [f"{rate} {kind} {size}" for rate in MEANS for kind in SHARED for size in SIZES]


def drawn(rng: np.random.Generator, rate: str, kind: str, rows: int) -> tuple[Doubles, Doubles]:
    """Return (N, L) labels, some missing, and over-confident probabilities."""
    share = SHARED[kind]

    def latent() -> Doubles:
        own, of_row = rng.normal(size=(rows, LABELS)), rng.normal(size=(rows, 1))
        return np.sqrt(1 - share) * own + np.sqrt(share) * of_row

    logits = MEANS[rate] + 1.2 * latent()
    labels = (logits + 1.7 * latent() > 0).astype(float)
    labels[rng.random(labels.shape) < MISSING] = np.nan
    return labels, 1 / (1 + np.exp(-1.3 * logits))


def scores(labels: Doubles, probs: Doubles) -> dict[str, float]:
    """Return the macro means of labels, by numpy and scikit-learn."""
    found: dict[str, list[float]] = {name: [] for name in METRICS}
    for n in range(LABELS):
        there = ~np.isnan(labels[:, n])
        y, p = labels[there, n], probs[there, n]
        found["log_loss"].append(-np.log(np.where(y == 1, p, 1 - p)).mean())
        found["brier"].append(((p - y) ** 2).mean())
        found["auroc"].append(roc_auc_score(y, p))
        found["average_precision"].append(average_precision_score(y, p))
    return {name: float(np.mean(values)) for name, values in found.items()}


def predictions(labels: Doubles, probs: Doubles) -> list[Predictions]:
    """Return the data set of each label."""
    sets = []
    for n in range(LABELS):
        there = np.flatnonzero(~np.isnan(labels[:, n]))
        of_two = ArrayScores(np.stack([1 - probs[there, n], probs[there, n]], axis=1), "probs")
        origin = Provenance(f"x/{n}", "", label=str(n), left=tuple(there.tolist()))
        sets.append(Predictions(of_two, labels[there, n].astype(int), ("0", "1"), provenance=origin))
    return sets


def simulated(cell: str, sets: int = SETS) -> dict[str, Any]:
    """Return in how many sets each mean has an interval, and misses; and its width by that of estimates."""
    rate, kind, size = cell.split()
    truth = scores(*drawn(np.random.default_rng(1), rate, kind, POPULATION))
    shown, missed = dict.fromkeys(METRICS, 0), dict.fromkeys(METRICS, 0)
    width: dict[str, list[float]] = {name: [] for name in METRICS}
    values: dict[str, list[float]] = {name: [] for name in METRICS}
    for n in range(sets):
        labels, probs = drawn(np.random.default_rng([n, CELLS.index(cell)]), rate, kind, int(size))
        members = [[rows] for rows in predictions(labels, probs)]
        (mean,) = mean_systems(members, Settings(METRICS))
        for name in METRICS:
            estimate = mean.evaluation.estimates[name]
            values[name].append(estimate.value)
            if estimate.interval is not None:
                shown[name] += 1
                missed[name] += not estimate.interval.contains(truth[name])
                width[name].append(estimate.interval.high - estimate.interval.low)
    ratio = {
        name: round(float(np.median(width[name]) / (3.92 * np.nanstd(values[name]))), 4)
        for name in METRICS if width[name]
    }  # fmt: skip
    return {"sets": sets, "shown": shown, "missed": missed, "width": ratio}


class Results(Kept):
    """The results of all cells."""

    def __init__(self, path: Path = RESULTS) -> None:
        super().__init__(path, "cells")

    def run(self, cell: str) -> None:
        """Simulate the sets of a cell, unless that is done."""
        if cell not in self.found["cells"]:
            self.found["cells"][cell] = simulated(cell)
            self.write()
            print(cell, self.found["cells"][cell], flush=True)


def page(results: Results) -> str:
    """Return the table of the guide."""
    rows = []
    for rate in MEANS:
        for kind in SHARED:
            for name in METRICS:
                cells = [results.found["cells"][f"{rate} {kind} {size}"] for size in SIZES]
                shares = [
                    f"{100 * one['missed'][name] / one['sets']:.1f}" if one["shown"][name] else "-"
                    for one in cells
                ]
                widths = [f"{one['width'].get(name, np.nan):.2f}".replace("nan", "-") for one in cells]
                rows.append([f"{rate}, {kind}", f"`{name}`", " / ".join(shares), " / ".join(widths)])
    sizes = " / ".join(f"{size:,}" for size in SIZES)
    heads = ["labels", "macro mean", f"% missed with {sizes} rows", "width, 1 is right"]
    return "\n".join([*table(heads, rows), ""])


def refreshed(text: str, results: Results) -> str:
    """Return the page of the guide with the table that belongs there."""
    return between(text, "means over labels", page(results))


def main() -> None:
    """Make what is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", action="store_true", help="write the table of the guide")
    results = Results()
    for cell in CELLS:
        results.run(cell)
    if parser.parse_args().page:
        PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")


if __name__ == "__main__":
    main()
