"""How often the promise of a threshold on the confidence is true, and how many rows it accepts.

Rows are simulated from curves whose error rate above any threshold is known. Results stand in `promises.json`
beside this file; `python -m tests.benchmarks.promises` makes those that are missing, `--page` writes the
table of the guide.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from calcli.core.data.arrays import Doubles
from calcli.core.estimators.thresholds import ends_of_ties, last_accepted
from tests.benchmarks.keeping import GUIDE, Kept, between, table

RESULTS = Path(__file__).with_suffix(".json")
PAGE = GUIDE / "decisions.md"
SETS, LEVEL = 1000, 0.95
SIZES = (100, 300, 1_000, 3_000, 10_000)
RATES = (0.05, 0.1)
QUANTILES = 200_000  # of the confidence, by which the truth is known

Curve = Callable[[Doubles], tuple[Doubles, Doubles]]


def _calibrated(u: Doubles) -> tuple[Doubles, Doubles]:
    confidence = 1 - u**2 / 2
    return confidence, 1 - confidence


def _over_confident(u: Doubles) -> tuple[Doubles, Doubles]:
    confidence = 1 - u**2 / 2
    return confidence, 0.02 + 0.8 * (1 - confidence) ** 0.7


def _top(u: Doubles) -> tuple[Doubles, Doubles]:
    confidence = 1 - u**2 / 2
    return confidence, np.where(u < 0.05, 0.2, 1 - confidence)


def _few_values(u: Doubles) -> tuple[Doubles, Doubles]:
    confidence = np.round(1 - u**2 / 2, 1) - 0.01 * (u > 0.7)
    return confidence, 1 - confidence


def _flat(u: Doubles) -> tuple[Doubles, Doubles]:
    return 1 - u**2 / 2, np.where(u < 0.3, 0.101, 0.3)


CURVES: dict[str, Curve] = {  # of the share of rows that are more confident: confidence, and error rate
    "calibrated": _calibrated,
    "over-confident": _over_confident,
    "wrong at the top": _top,
    "few values": _few_values,
    "flat above 10%": _flat,
}


class Truth:
    """The error rate above any threshold of a curve, and the best threshold."""

    def __init__(self, curve: Curve, rate: float) -> None:
        shares = (np.arange(QUANTILES) + 0.5) / QUANTILES
        confidence, error = curve(shares)
        order = np.argsort(-confidence, kind="stable")
        self.confidence = confidence[order]
        self.above = np.cumsum(error[order]) / np.arange(1, QUANTILES + 1)
        ends = np.append(self.confidence[1:] < self.confidence[:-1], True)
        good = np.flatnonzero(ends & (self.above <= rate))
        self.best = (good[-1] + 1) / QUANTILES if len(good) else 0.0

    def of(self, threshold: float) -> tuple[float, float]:
        """Return the share of rows at or above a threshold, and their error rate."""
        rows = int(np.searchsorted(-self.confidence, -threshold, side="right"))
        return rows / QUANTILES, float(self.above[max(rows, 1) - 1])


class Results(Kept):
    """The results of all cells."""

    def __init__(self, path: Path = RESULTS) -> None:
        super().__init__(path, "cells")

    def run(self, name: str, rows: int, rate: float) -> None:
        """Make the thresholds of the data sets of a cell, unless it is done."""
        cell = f"{name}, n={rows}, r={rate}"
        if cell not in self.found["cells"]:
            self.found["cells"][cell] = {"curve": name, "rows": rows, "rate": rate} | simulated(
                name, rows, rate
            )
            self.write()

    def by_size(self, rows: int) -> list[dict[str, Any]]:
        """Return the cells of so many rows."""
        return [one for one in self.found["cells"].values() if one["rows"] == rows]

    def most_broken(self) -> int:
        """Return in how many data sets of a cell, at most, the promise was false."""
        return max(one["broken"] for one in self.found["cells"].values())


def simulated(name: str, rows: int, rate: float, sets: int = SETS) -> dict[str, Any]:
    """Return how many promises are false, of how many data sets there are none, and what is accepted."""
    truth = Truth(CURVES[name], rate)
    rng = np.random.default_rng([rows, int(1000 * rate), len(name)])
    broken = refused = 0
    accepted = 0.0
    for _ in range(sets):
        confidence, error = CURVES[name](rng.random(rows))
        sizes, errors = ends_of_ties(confidence, rng.random(rows) < error)
        last = last_accepted(rate, sizes, errors, LEVEL)
        if last is None:
            refused += 1
            continue
        share, real = truth.of(float(-np.sort(-confidence)[sizes[last] - 1]))
        broken += real > rate
        accepted += share if real <= rate else 0.0
    of_best = accepted / sets / truth.best if truth.best else None
    return {"sets": sets, "broken": broken, "refused": refused, "best": truth.best, "accepted": of_best}


def page(results: Results) -> str:
    """Return the table of the guide."""
    rows = []
    for size in SIZES:
        cells = results.by_size(size)
        possible = [one for one in cells if one["best"] > 0]
        worst = max(one["broken"] / one["sets"] for one in cells)
        share = np.mean([one["accepted"] for one in possible])
        none = np.mean([one["refused"] / one["sets"] for one in possible])
        rows.append([f"{size:,}", f"{1 - worst:.1%}", f"{share:.0%}", f"{none:.0%}"])
    heads = [
        "rows",
        "promise true, at least",
        "accepted, of what the best threshold would",
        "nothing promised",
    ]
    return "\n".join([*table(heads, rows), ""])


def refreshed(text: str, results: Results) -> str:
    """Return the page of the guide with its table written anew."""
    return between(text, "promises", page(results))


def main() -> None:
    """Run the study, or write its table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--page", action="store_true", help="write the table of the guide")
    asked, _ = parser.parse_known_args()
    results = Results()
    if asked.page:
        PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")
        return
    for name in CURVES:
        for rows in SIZES:
            for rate in RATES:
                results.run(name, rows, rate)
        print(name, flush=True)


if __name__ == "__main__":
    main()
