"""How often comparisons of runs without probabilities are right, and how often intervals of agreement hold.

Two runs of one system on the same questions, whose difficulty differs, must not differ; kappa and MCC of a
judge are known from the shares of its confusion matrix. Results stand in `outcomes.json` beside this file;
`python -m tests.benchmarks.outcomes` makes those that are missing, `--page` writes the table of the guide.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from calcli.core.comparing.comparison import Plan, compare
from calcli.core.data.arrays import Doubles
from calcli.core.data.predictions import ArrayScores, Predictions, Provenance
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.expressions import WRONG_RIGHT
from calcli.core.language.settings import Settings
from tests.benchmarks.keeping import GUIDE, Kept, between, table

RESULTS = Path(__file__).with_suffix(".json")
PAGE = GUIDE / "answers.md"
SETS = 1000
QUESTIONS = (30, 100, 300)
ROWS = (50, 100, 300, 1_000)
RUNS = [(base, epochs) for base in (1.0, 3.5) for epochs in (1, 5)]  # log-odds of the median question
SPREAD = 1.5  # of the difficulty, in log-odds
MISSED, ALARMS = 0.2, 0.07  # by the judge, of the second class and of the first


def run_of(grades: Doubles) -> Predictions:
    """Return (n, epochs) outcomes as a run, a question a row."""
    means = grades.mean(axis=1)
    origin = Provenance("run", "run", outcomes="outcomes", questions="epochs" if grades.shape[1] > 1 else "")
    scores = ArrayScores(np.stack([1 - means, means], axis=1), "probs")
    return Predictions(scores, (means == 1).astype(np.int32), WRONG_RIGHT, provenance=origin)


def judge_of(labels: Any, said: Any) -> Predictions:
    """Return what a judge said beside what people say."""
    scores = ArrayScores(np.eye(2)[said], "probs")
    return Predictions(scores, labels, ("no", "yes"), provenance=Provenance("j", "j", outcomes="predictions"))


def twice(questions: int, base: float, epochs: int, sets: int = SETS) -> dict[str, Any]:
    """Return how many pairs of runs of the same system are told apart, and how wide intervals are."""
    rng = np.random.default_rng([questions, int(10 * base), epochs])
    verdicts = shown = covered = 0
    width = 0.0
    for _ in range(sets):
        right = 1 / (1 + np.exp(-rng.normal(base, SPREAD, questions)))
        both = [run_of((rng.random((questions, epochs)) < right[:, None]).astype(float)) for _ in range(2)]
        found = compare(both, Settings(), Plan())[0].differences[0]["accuracy"]
        verdicts += found.verdict in ("better", "worse")
        if found.interval is not None:
            shown += 1
            covered += found.interval.contains(0)
            width += (found.interval.high - found.interval.low) / 2
    return {"sets": sets, "verdicts": verdicts, "shown": shown, "covered": covered, "width": width / shown}


def truth(prevalence: float) -> dict[str, float]:
    """Return kappa and MCC of the judge."""
    table = np.array(
        [[(1 - prevalence) * (1 - ALARMS), (1 - prevalence) * ALARMS],
         [prevalence * MISSED, prevalence * (1 - MISSED)]]
    )  # fmt: skip
    hits, labels, said = np.trace(table), table.sum(1), table.sum(0)
    chance = labels @ said
    determinant = table[0, 0] * table[1, 1] - table[0, 1] * table[1, 0]
    return {
        "kappa": float((hits - chance) / (1 - chance)),
        "mcc": float(determinant / np.sqrt(labels.prod() * said.prod())),
    }


def judged(rows: int, prevalence: float, sets: int = SETS) -> dict[str, Any]:
    """Return how many intervals of kappa and MCC hold the truth, of those that are shown."""
    rng, true = np.random.default_rng([rows, int(100 * prevalence)]), truth(prevalence)
    found: dict[str, Any] = {name: {"shown": 0, "covered": 0, "width": 0.0} for name in true}
    for _ in range(sets):
        labels = (rng.random(rows) < prevalence).astype(np.int32)
        said = (rng.random(rows) < np.where(labels, 1 - MISSED, ALARMS)).astype(np.intp)
        estimates = evaluate(judge_of(labels, said), Settings(metrics=tuple(true))).estimates
        for name, value in true.items():
            if (interval := estimates[name].interval) is not None:
                own = found[name]
                own["shown"] += 1
                own["covered"] += interval.contains(value)
                own["width"] += (interval.high - interval.low) / 2
    return {"sets": sets, **found}


class Results(Kept):
    """The results of all cells."""

    def __init__(self, path: Path = RESULTS) -> None:
        super().__init__(path, "cells")

    def run(self, cell: str, simulate: Any, *arguments: Any) -> None:
        """Make a cell, unless it is done."""
        if cell not in self.found["cells"]:
            self.found["cells"][cell] = simulate(*arguments)
            self.write()

    def pairs(self) -> dict[str, Any]:
        """Return the cells of two runs."""
        return {name: one for name, one in self.found["cells"].items() if name.startswith("twice")}

    def judges(self) -> dict[str, Any]:
        """Return the cells of a judge."""
        return {name: one for name, one in self.found["cells"].items() if name.startswith("judge")}


def page(results: Results) -> str:
    """Return the tables of the guide."""
    pairs = [
        [
            *name.split(", ")[1:],
            f"{one['verdicts'] / one['sets']:.1%}",
            f"{one['covered'] / one['shown']:.1%}",
            f"{100 * one['width']:.1f}",
        ]
        for name, one in results.pairs().items()
    ]  # fmt: skip
    judges = [
        [*name.split(", ")[1:]]
        + [
            text
            for metric in ("kappa", "mcc")
            for own in [one[metric]]
            for text in (
                f"{own['covered'] / max(1, own['shown']):.1%}",
                f"{own['width'] / max(1, own['shown']):.2f}",
                f"{own['shown'] / one['sets']:.1%}",
            )
        ]
        for name, one in results.judges().items()
    ]
    first = ["questions", "pass rate", "epochs", "told apart", "interval holds", "± points"]
    second = ["rows", "of the class", "kappa holds", "±", "shown", "MCC holds", "±", "shown"]
    return "\n".join([*table(first, pairs), "", *table(second, judges), ""])


def refreshed(text: str, results: Results) -> str:
    """Return the page of the guide with its tables written anew."""
    return between(text, "outcomes", page(results))


def main() -> None:
    """Run the study, or write its tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--page", action="store_true", help="write the tables of the guide")
    asked, _ = parser.parse_known_args()
    results = Results()
    if asked.page:
        PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")
        return
    rates = {1.0: "67%", 3.5: "93%"}
    for questions in QUESTIONS:
        for base, epochs in RUNS:
            results.run(f"twice, {questions}, {rates[base]}, {epochs}", twice, questions, base, epochs)
    for rows in ROWS:
        for prevalence in (0.5, 0.1):
            results.run(f"judge, {rows:,}, {prevalence:.0%}", judged, rows, prevalence)
        print(rows, flush=True)


if __name__ == "__main__":
    main()
