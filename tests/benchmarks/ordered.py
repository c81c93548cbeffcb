"""Whether intervals of many rows depend on the order of the rows: how often they miss, and how wide they are.

Results stand in `ordered.json` beside this file; `python -m tests.benchmarks.ordered` makes those that are
missing, `--page` writes the table of the guide.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from calcli.core.data.arrays import Array, Doubles
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.evaluating.states import merge, state_of
from calcli.core.language.settings import Settings
from calcli.core.state.state import predictions_of
from tests.benchmarks.keeping import GUIDE, Kept, between, table

RESULTS = Path(__file__).with_suffix(".json")
PAGE = GUIDE / "statistics.md"
SETS = {25_000: 400, 400_000: 100}
OF_STATES = 100
OF_TRUTH = 20_000_000
SCALE = 1.3
SETTINGS = Settings(("log_loss", "brier", "mean_gap", "mcc"), draws=0)

ORDERS: dict[str, Callable[[Doubles, Array, Doubles], Array]] = {  # of log-odds, labels and losses
    "as drawn": lambda _, labels, __: np.arange(len(labels)),
    "by label and score": lambda log_odds, labels, _: np.lexsort((log_odds, labels)),
    "worst loss first": lambda _, __, losses: np.argsort(-losses),
    "errors first": lambda log_odds, labels, _: np.lexsort((-abs(log_odds), (log_odds > 0) == labels)),
}


def drawn(rows: int, rng: np.random.Generator, order: str = "as drawn") -> Predictions:
    """Return rows of two classes, over-confident, in an order."""
    log_odds = rng.normal(0, 1.5, rows)
    labels = (rng.random(rows) < 1 / (1 + np.exp(-log_odds))).astype(np.int64)
    losses = np.logaddexp(0, np.where(labels, -1, 1) * SCALE * log_odds)
    chosen = ORDERS[order](log_odds, labels, losses)
    scores = np.zeros((rows, 2))
    scores[:, 1] = SCALE * log_odds[chosen]
    return Predictions(ArrayScores(scores, "logits"), labels[chosen], ("0", "1"))


def simulated(order: str, rows: int, sets: int, truth: dict[str, float], *, states: bool) -> dict[str, Any]:
    """Return how many intervals miss, and how wide they are in the mean; states are of four parts."""
    missed, width = dict.fromkeys(truth, 0), dict.fromkeys(truth, 0.0)
    for number in range(sets):
        predictions = drawn(rows, np.random.default_rng([rows, number]), order)
        if states:
            cuts = [slice(start, start + rows // 4) for start in range(0, rows, rows // 4)]
            parts = [
                Predictions(
                    ArrayScores(predictions.scores.array[cut], "logits"), predictions.labels[cut], ("0", "1")
                )
                for cut in cuts
            ]
            predictions = predictions_of(merge([state_of(part, SETTINGS) for part in parts]))
        for name, estimate in evaluate(predictions, SETTINGS).estimates.items():
            assert estimate.interval is not None
            missed[name] += not estimate.interval.contains(truth[name])
            width[name] += (estimate.interval.high - estimate.interval.low) / sets
    return {"sets": sets, "missed": missed, "width": width}


class Results(Kept):
    """The results of all cells."""

    def __init__(self, path: Path = RESULTS) -> None:
        super().__init__(path, "truth", "cells")

    def run(self) -> None:
        """Make what is missing."""
        if not self.found["truth"]:
            rng, parts = np.random.default_rng(0), []
            for _ in range(OF_TRUTH // 1_000_000):
                estimates = evaluate(drawn(1_000_000, rng), SETTINGS).estimates
                parts.append({name: one.value for name, one in estimates.items()})
            self.found["truth"] = {name: float(np.mean([part[name] for part in parts])) for name in parts[0]}
        for rows, sets in SETS.items():
            for order in ORDERS:
                for states in (False, True) if rows == min(SETS) else (False,):
                    cell = f"{order}, {rows:,} {'rows in four states' if states else 'rows'}"
                    if cell not in self.found["cells"]:
                        count = OF_STATES if states else sets
                        self.found["cells"][cell] = simulated(
                            order, rows, count, self.found["truth"], states=states
                        )
                        self.write()
                        print(cell, self.found["cells"][cell], flush=True)

    def ratios(self, cell: str) -> list[float]:
        """Return the width of each metric's interval over that of the same rows as drawn."""
        drawn = self.found["cells"][f"as drawn, {cell.partition(', ')[2]}"]["width"]
        return [width / drawn[name] for name, width in self.found["cells"][cell]["width"].items()]


def page(results: Results) -> str:
    """Return the table of the guide."""
    rows = [
        [cell, one["sets"], *(f"{100 * missed / one['sets']:.1f}" for missed in one["missed"].values()),
         f"{min(results.ratios(cell)):.2f} to {max(results.ratios(cell)):.2f}"]
        for cell, one in results.found["cells"].items()
    ]  # fmt: skip
    heads = ["order of the rows", "sets", *(f"% missed, `{name}`" for name in results.found["truth"])]
    return "\n".join([*table([*heads, "width, as drawn = 1"], rows), ""])


def refreshed(text: str, results: Results) -> str:
    """Return the page of the guide with its table written anew."""
    return between(text, "ordered", page(results))


def main() -> None:
    """Run the study, or write its table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--page", action="store_true", help="write the table of the guide")
    asked, _ = parser.parse_known_args()
    results = Results()
    if asked.page:
        PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")
        return
    results.run()


if __name__ == "__main__":
    main()
