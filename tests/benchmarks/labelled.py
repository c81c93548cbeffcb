"""How often intervals by few labels and a judge hold the truth, and how wide they are beside labels alone.

Also how often the questions that `plan --detect` asks for show the difference. Results stand in
`labelled.json` beside this file; `python -m tests.benchmarks.labelled` makes those that are missing, `--page`
writes the tables of the guide.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import calcli
from calcli.core.data.arrays import Array
from calcli.core.data.predictions import ArrayScores, Predictions, Provenance
from calcli.core.estimators.fewlabels import FewLabels
from calcli.core.estimators.intervals import Interval, Spread
from calcli.core.language.expressions import WRONG_RIGHT
from tests.benchmarks.keeping import GUIDE, Kept, between, table

RESULTS = Path(__file__).with_suffix(".json")
PAGE = GUIDE / "answers.md"
OTHERS = 1_000
SETS = 2_000
VERDICTS = [
    (labels, share, agreement, kind)
    for labels in (20, 50, 200)
    for share in (0.75, 0.93, 0.99)
    for agreement in (0.6, 0.9, 0.99)
    for kind in ("even", "lenient")
]
NUMBERS = [(labels, kind) for labels in (20, 50, 200) for kind in ("grades", "difference", "questions")]
PLANS = [(pilot, share, detect) for pilot in (100, 300) for share, detect in ((0.7, 0.1), (0.93, 0.05))]


def verdicts(rng: np.random.Generator, rows: int, share: float, agreement: float, kind: str) -> Array:
    """Return (2, rows) what is right and what a judge says; a lenient one errs on wrong answers mostly."""
    right, errors = rng.random(rows) < share, 1 - agreement
    if kind == "even":
        said = np.where(rng.random(rows) < errors, ~right, right)
    else:
        passed = min(0.9 * errors, 0.95 * (1 - share))
        of_wrong, of_right = passed / (1 - share), min(errors - passed, share) / share
        said = np.where(rng.random(rows) < np.where(right, of_right, of_wrong), ~right, right)
    return np.array([right, said], float)


def numbers(rng: np.random.Generator, labels: int, kind: str) -> tuple[FewLabels, float]:
    """Return grades, differences of two systems, or repeated questions, and their true mean."""
    rows = labels + OTHERS
    if kind == "grades":
        z = rng.random(rows)
        outcome, proxy = np.floor(5 * z) / 4, np.clip(z + rng.normal(0, 0.15, rows), 0, 1)
        return FewLabels(outcome[:labels], proxy[:labels], proxy[labels:]), 0.5
    if kind == "difference":
        z = rng.random(rows)
        sides = [np.where(rng.random(rows) < 0.2, rng.random(rows), z) < share for share in (0.7, 0.75)]
        said = [np.where(rng.random(rows) < 0.97, side, ~side) for side in sides]
        outcome, proxy = sides[1] * 1.0 - sides[0], said[1] * 1.0 - said[0]
        return FewLabels(outcome[:labels], proxy[:labels], proxy[labels:], ends=(-1.0, 1.0)), 0.05
    questions, again = labels + OTHERS // 5, 5
    right = rng.random((questions, again)) < rng.beta(0.75, 0.25, (questions, 1))
    said = np.where(rng.random((questions, again)) < rng.beta(0.48, 0.02, (questions, 1)), right, ~right)
    outcome, proxy, n = right.ravel() * 1.0, said.ravel() * 1.0, labels * again
    return FewLabels(outcome[:n], proxy[:n], proxy[n:], np.repeat(np.arange(questions), again)), 0.75


def alone(few: FewLabels) -> Interval:
    """Return the interval of the labels alone."""
    outcome = few.outcome
    if few.of_verdicts:
        return Interval.of_share(outcome.sum(), len(outcome), 0.95)
    codes = np.arange(len(outcome)) if few.units is None else few.units[: len(outcome)]
    parts = np.bincount(codes, (outcome - outcome.mean()) / len(outcome))
    powers = [float((parts**power).sum()) for power in (2, 3, 4)]
    spread = Spread(float(outcome.mean()), len(parts), *powers)
    return spread.interval(0.95) if spread.enough else spread.held(0.95, len(parts), few.ends)


def counted(made: list[tuple[FewLabels, float]]) -> dict[str, Any]:
    """Return how often intervals miss, and their mean width relative to labels alone."""
    missed, width, of_alone = 0, 0.0, 0.0
    for few, truth in made:
        without, corrected = alone(few), few.corrected(0.95)
        interval = without if corrected is None else corrected.interval
        missed += not interval.contains(truth)
        width, of_alone = width + interval.high - interval.low, of_alone + without.high - without.low
    return {"sets": len(made), "missed": missed, "width": width / of_alone}


def run_of(right: Array) -> Predictions:
    """Return outcomes as a run."""
    origin = Provenance("run", "run", outcomes="outcomes")
    scores = ArrayScores(np.stack([1.0 - right, right], axis=1), "probs")
    return Predictions(scores, right.astype(np.int32), WRONG_RIGHT, provenance=origin)


def detected(pilot: int, share: float, detect: float, sets: int) -> dict[str, Any]:
    """Return how often as many questions as planned show a difference of that size."""
    rng, shown, planned = np.random.default_rng([pilot, int(100 * share)]), 0, []

    def pair(rows: int) -> list[Predictions]:
        z = rng.random(rows)
        sides = [np.where(rng.random(rows) < 0.3, rng.random(rows), z) < p for p in (share - detect, share)]
        return [run_of(side.astype(float)) for side in sides]

    for _ in range(sets):
        need = calcli.plan(*pair(pilot), detect=detect).to_dict()["needs"][0]
        planned.append(need["rows_needed"])
        change = calcli.compare(*pair(planned[-1])).comparisons[0].differences[0]["accuracy"]
        shown += change.verdict == "better"
    return {"sets": sets, "shown": shown, "rows": float(np.median(planned))}


class Results(Kept):
    """The results of all cells."""

    def __init__(self, path: Path = RESULTS) -> None:
        super().__init__(path, "verdicts", "numbers", "plans")

    def make(self, sets: int) -> None:
        """Make the cells that are missing."""
        rng = np.random.default_rng(69)
        for labels, share, agreement, kind in VERDICTS:
            name = f"{labels}, {share:.0%}, {agreement:.0%}, {kind}"
            if name not in self.found["verdicts"]:
                made = [verdicts(rng, labels + OTHERS, share, agreement, kind) for _ in range(sets)]
                few = [(FewLabels(y[:labels], f[:labels], f[labels:]), share) for y, f in made]
                self.found["verdicts"][name] = counted(few)
        for labels, kind in NUMBERS:
            if (name := f"{labels}, {kind}") not in self.found["numbers"]:
                made = [numbers(rng, labels, kind) for _ in range(sets // 2)]
                self.found["numbers"][name] = counted(made)
        for pilot, share, detect in PLANS:
            if (name := f"{pilot}, {share:.0%}, {detect:g}") not in self.found["plans"]:
                self.found["plans"][name] = detected(pilot, share, detect, sets // 10)
        self.write()


def page(results: Results) -> str:
    """Return the tables of the guide."""
    held = {
        part: [
            [*name.split(", "), f"{cell['missed'] / cell['sets']:.1%}", f"{cell['width']:.2f}"]
            for name, cell in results.found[part].items()
        ]
        for part in ("verdicts", "numbers")
    }
    plans = [
        [*name.split(", "), f"{cell['rows']:,.0f}", f"{cell['shown'] / cell['sets']:.0%}"]
        for name, cell in results.found["plans"].items()
    ]
    misses = ["misses", "width to labels alone"]
    tables = [
        table(["labels", "right", "agreement", "judge", *misses], held["verdicts"]),
        table(["labels", "outcomes", *misses], held["numbers"]),
        table(["pilot", "right", "difference", "questions asked for (median)", "shown"], plans),
    ]
    return "\n\n".join("\n".join(lines) for lines in tables) + "\n"


def refreshed(text: str, results: Results) -> str:
    """Return the page of the guide with its tables written anew."""
    return between(text, "labelled", page(results))


def main() -> None:
    """Run the study, or write its tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--page", action="store_true", help="write the tables of the guide")
    parser.add_argument("--sets", type=int, default=SETS)
    asked, _ = parser.parse_known_args()
    results = Results()
    if asked.page:
        PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")
        return
    results.make(asked.sets)


if __name__ == "__main__":
    main()
