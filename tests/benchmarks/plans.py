"""How often the rows that `plan` asks for prove what they are to prove, where few of them carry a metric.

Pilots of two systems that are equally good are simulated, with a class of 1 to 2% of the rows or with nearly
all rows right; each plan is tried by `check` on as many new rows. Results stand in `plans.json` beside this
file; `python -m tests.benchmarks.plans` makes those that are missing, `--page` writes the table of the guide.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import calcli
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.language.errors import CalcliError
from tests.benchmarks.keeping import GUIDE, Kept, between, table

RESULTS = Path(__file__).with_suffix(".json")
PAGE = GUIDE / "comparing.md"
CELLS = [  # kind, rows of the pilot, metric, margin
    ("rare class", 400, "accuracy", 0.01),
    ("rare class", 400, "brier", 0.004),
    ("rare class", 400, "log_loss", 0.01),
    ("rare class", 2_000, "auroc", 0.03),
    ("nearly all right", 600, "accuracy", 0.005),
    ("nearly all right", 600, "log_loss", 0.01),
    ("half wrong", 300, "accuracy", 0.05),
    ("half wrong", 300, "log_loss", 0.02),
]
SETS = 100


class Results(Kept):
    """The results of all cells."""

    def __init__(self, path: Path = RESULTS) -> None:
        super().__init__(path, "cells")

    def run(self, kind: str, pilot: int, metric: str, margin: float, sets: int) -> dict[str, Any]:
        """Plan and try with the pilots that a cell lacks."""
        new = {"kind": kind, "pilot": pilot, "metric": metric, "margin": margin, "sets": []}
        own: dict[str, Any] = self.found["cells"].setdefault(f"{kind}, n={pilot}, {metric}", new)
        for number in range(len(own["sets"]), sets):
            own["sets"].append(tried(kind, pilot, metric, margin, number))
            self.write()
        return own


def pair(kind: str, rows: int, rng: np.random.Generator) -> list[Predictions]:
    """Return two systems that differ by noise alone on the same rows."""
    if kind == "rare class":
        logits, noise = 1.5 * rng.normal(size=(rows, 2)) + [5, 0], 0.3
    else:
        logits, noise = rng.normal(size=(rows, 3)), 0.5
        if kind == "nearly all right":
            logits[np.arange(rows), rng.integers(0, 3, rows)] += 5.5
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = (probs.cumsum(axis=1) < rng.random((rows, 1))).sum(axis=1).clip(0, probs.shape[1] - 1)
    classes = tuple(str(k) for k in range(probs.shape[1]))

    def system() -> Predictions:
        scores = logits + noise * rng.normal(size=logits.shape)
        return Predictions(ArrayScores(scores, "logits"), labels.astype(np.intp), classes)

    return [system(), system()]


def tried(kind: str, pilot: int, metric: str, margin: float, number: int) -> list[int | None]:
    """Return how many rows are planned, and whether so many prove it; None where there is no plan."""
    rng = np.random.default_rng([54, pilot, len(kind), len(metric), number])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            planned = calcli.plan(*pair(kind, pilot, rng), margins={metric: margin}).to_dict()["needs"][0]
        except CalcliError:
            return [None, None]
        rows = planned["rows_not_worse"]
        old, new = pair(kind, rows, rng)
        worse = "max_increase" if metric in ("brier", "log_loss") else "max_decrease"
        rule = {"metric": metric, worse: margin, "undecided": "fail"}
        (outcome,) = calcli.check(new, {"rules": [rule]}, baseline=old).checked.outcomes
    return [rows, int(outcome.status == "passed")]


def proven(cell: dict[str, Any]) -> tuple[int, int]:
    """Return how many plans there are, and how many of them proved it."""
    known = [one for rows, one in cell["sets"] if rows]
    return len(known), sum(known)


def page(results: Results) -> str:
    """Return the table of the guide."""
    rows = []
    for cell in results.found["cells"].values():
        plans, held = proven(cell)
        planned = [one for one, _ in cell["sets"] if one]
        quarters = ", ".join(f"{one:,.0f}" for one in np.quantile(planned, [0.25, 0.5, 0.75]))
        rows.append([
            cell["kind"], f"{cell['pilot']:,}", f"`{cell['metric']}`", f"{cell['margin']:g}",
            f"{plans} of {len(cell['sets'])}", quarters, f"{held / plans:.0%}",
        ])  # fmt: skip
    heads = ["rows", "pilot", "metric", "margin", "planned", "rows planned (quartiles)", "proven"]
    return "\n".join([*table(heads, rows), ""])


def refreshed(text: str, results: Results) -> str:
    """Return the page of the guide with its table written anew."""
    return between(text, "plans", page(results))


def main() -> None:
    """Run the study, or write its table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--page", action="store_true", help="write the table of the guide")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--sets", type=int, default=SETS, help="pilots of each cell")
    asked, _ = parser.parse_known_args()
    results = Results(asked.results)
    if asked.page:
        PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")
        return
    for cell in CELLS:
        print(*cell, proven(results.run(*cell, asked.sets)), flush=True)


if __name__ == "__main__":
    main()
