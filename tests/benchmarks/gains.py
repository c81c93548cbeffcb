"""What is said of the gain of a recalibration: how far it is from the truth, and when it is called more.

The truth is what recalibrations win that are trained on data sets of the same kind and size, each outside
one of the folds, on very many rows. Of retrained intervals (Ferrer & Ramos 2024, appendix E) it is the mean
of the loss over data sets: they are about the value that it would have on new ones.

Results stand in `gains.json` beside this file and are written as they come; `python -m
tests.benchmarks.gains` goes on where the last run ended, `--page` writes the tables of the guide.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import numpy as np

from calcli.core.evaluating.evaluate import evaluate
from calcli.core.evaluating.recalibrated import Companions
from calcli.core.language.settings import Settings
from calcli.report.recalibration import CHANCE
from tests.benchmarks.cells import LEVEL, Cell, drawn, won
from tests.benchmarks.coverage import PAGE
from tests.benchmarks.keeping import Kept, between, table

RESULTS = Path(__file__).with_suffix(".json")
KINDS, CLASSES, SIZES = ("balanced", "rare class"), (2, 10), (200, 500, 1_000, 5_000)
SYSTEMS = ("calibrated", "over-confident")
SCORES = ("log_loss", "brier")
SETS, STEP = 200, 25
AGAIN = (200, 500)  # rows of which recalibrations are trained again
RESAMPLES, RETRAINED_SETS = 100, 100
TRAININGS = ("cross-validation", "test", "held-out")


class Results(Kept):
    """The results of all cells."""

    def __init__(self, path: Path = RESULTS) -> None:
        super().__init__(path, "gains", "retrained")

    def run(self, cell: Cell, system: str) -> None:
        """Do the data sets that a cell lacks."""
        name = f"{cell}, {system}"
        if name not in self.found["gains"]:
            truth = won(cell, calibrated=system == SYSTEMS[0])
            won_of = {score: before - after for score, (before, after) in truth.items()}
            counts = {score: {"within": 0, "more": 0, "less": 0} for score in SCORES}
            self.found["gains"][name] = {
                "kind": cell.kind, "classes": cell.classes, "rows": cell.rows, "system": system, "sets": 0,
                "share": {score: won_of[score] / truth[score][0] for score in SCORES},
                "won": won_of, "counts": counts,
            }  # fmt: skip
        own = self.found["gains"][name]
        while own["sets"] < SETS:
            for seed in range(own["sets"], own["sets"] + STEP):
                for score, (value, error) in gains(cell, system, seed).items():
                    counts = own["counts"][score]
                    counts["within"] += abs(value - own["won"][score]) <= CHANCE * error
                    counts["more"] += value > CHANCE * error
                    counts["less"] += value < -CHANCE * error
            own["sets"] += STEP
            own["date"] = date.today().isoformat()
            self.write()

    def run_again(self, cell: Cell) -> None:
        """Train recalibrations of over-confident data sets again, unless it is done."""
        if str(cell) in self.found["retrained"]:
            return
        every = [retrained(cell, seed) for seed in range(RETRAINED_SETS)]
        covered = {}
        for training in TRAININGS:
            truth = np.mean([one[training][0] for one in every])
            covered[training] = sum(bool(one[training][1] <= truth <= one[training][2]) for one in every)
        self.found["retrained"][str(cell)] = {
            "kind": cell.kind, "classes": cell.classes, "rows": cell.rows, "sets": RETRAINED_SETS,
            "covered": covered,
        }  # fmt: skip
        self.write()


def gains(cell: Cell, system: str, seed: int) -> dict[str, tuple[float, float]]:
    """Return what a recalibration wins of each score on the data set of a seed, and its standard error."""
    rows = drawn(cell, np.random.default_rng([seed, 7, cell.classes, cell.rows]))[system == SYSTEMS[0]]
    names = {
        f"calibration_loss:score={score}" if score != "log_loss" else "calibration_loss": score
        for score in SCORES
    }
    found = evaluate(rows, Settings(tuple(names), draws=0, no_intervals=True, seed=seed)).estimates
    return {score: (found[name].value, found[name].parts["standard_error"]) for name, score in names.items()}


def retrained(cell: Cell, seed: int) -> dict[str, tuple[float, float, float]]:
    """Return value and ends of the retrained interval of the loss of a data set, by what trained it."""
    rng = np.random.default_rng([seed, 8, cell.classes, cell.rows])
    rows, others = drawn(cell, rng)[0], drawn(cell, rng)[0]
    names = {f"calibration_loss:training={training}": training for training in TRAININGS}
    asked = Settings(tuple(names), draws=0, retrain=True, loss_resamples=RESAMPLES, level=LEVEL, seed=seed)
    found = {}
    for estimate in evaluate(rows, asked, companions=Companions(others)).estimates.values():
        ends = estimate.retrained
        assert ends is not None
        found[estimate.call.arguments["training"]] = (estimate.value, ends.low, ends.high)
    return found


def coverage(results: Results, training: str) -> tuple[float, float]:
    """Return the least and the most that retrained intervals cover in a cell, as shares of the data sets."""
    shares = [one["covered"][training] / one["sets"] for one in results.found["retrained"].values()]
    return min(shares), max(shares)


def every_cell() -> Iterator[Cell]:
    """Yield the cells, the smallest first."""
    yield from (Cell(kind, k, n) for n in SIZES for k in CLASSES for kind in KINDS)


def page(results: Results) -> str:
    """Return the tables of the guide."""
    gained, again = (list(results.found[part].values()) for part in ("gains", "retrained"))
    heads = ["data", "system", "score", "truth", "within 2 se", "more", "less"]
    rows = []
    for one in gained:
        data = f"{one['kind']}, K={one['classes']}, n={one['rows']:,}"
        for score in SCORES:
            counts = [
                f"{100 * one['counts'][score][key] / one['sets']:.1f}" for key in ("within", "more", "less")
            ]
            rows.append([data, one["system"], f"`{score}`", f"{100 * one['share'][score]:z.1f}%", *counts])
    lines = [
        *table(heads, rows),
        "",
        f"Retrained intervals, {RETRAINED_SETS} data sets each, that hold the truth:",
        "",
    ]
    lines += table(
        ["over-confident data", *TRAININGS],
        [
            [f"{one['kind']}, K={one['classes']}, n={one['rows']:,}",
             *(f"{100 * one['covered'][training] / one['sets']:.0f}%" for training in TRAININGS)]
            for one in again
        ],
    )  # fmt: skip
    return "\n".join([*lines, ""])


def refreshed(text: str, results: Results) -> str:
    """Return the page of the guide with its tables written anew."""
    return between(text, "gains", page(results))


def main() -> None:
    """Run the study, or write its tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--page", action="store_true", help="write the tables of the guide")
    asked, _ = parser.parse_known_args()
    results = Results()
    if asked.page:
        PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")
        return
    for cell in every_cell():
        for system in SYSTEMS:
            results.run(cell, system)
        if cell.rows in AGAIN:
            results.run_again(cell)
        print(cell, flush=True)


if __name__ == "__main__":
    main()
