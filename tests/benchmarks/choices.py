"""What `fit -m auto` claims to gain on unseen rows, and what is true, of simulated rows.

Labels are drawn from the true probabilities of simulated rows, so that the gain of a fit is known. Scores are
those probabilities ("calibrated"), also of classes of falling frequency ("rare"), or their logits times 1.3
("sharp"), where claims are power; or they miss the true probabilities by a curve, where the choice is
compared with the candidate of the least cross-validated loss. Results stand in `choices.json` beside this
file; `python -m tests.benchmarks.choices` makes the missing ones, `--page` writes the tables of the guide.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import calcli
from calcli.core.data.arrays import from_log_odds, log_odds
from tests.benchmarks.keeping import GUIDE, Kept, between, table

RESULTS = Path(__file__).with_suffix(".json")
PAGE = GUIDE / "calibrators.md"
NEW = 200_000  # scores of new rows, on whose true probabilities a fit is judged
SIGNIFICANT = 2  # standard errors
CLAIMS = ("auto", "dp", "calibration_loss")


CURVES: dict[str, Callable[[np.ndarray], np.ndarray]] = {  # true log-odds by the stated ones
    "calibrated curve": lambda z: z,
    "too sharp": lambda z: z / 2,
    "too flat": lambda z: 2 * z,
    "shifted": lambda z: z - 1.2,
    "sharp and shifted": lambda z: 0.6 * z + 0.8,
    "bent above": lambda z: np.where(z > 0, z / 3, z),
    "bent below": lambda z: np.where(z < 0, z / 3, 1.2 * z),
    "errors with a floor": lambda z: log_odds(0.08 + 0.84 * from_log_odds(z)),
    "floor on one side": lambda z: log_odds(0.15 + 0.85 * from_log_odds(z)),
    "cubic": lambda z: np.clip(0.3 * z + 0.12 * z**3, -12, 12),
}
CELLS = [  # kind, classes, rows, data sets
    ("calibrated", 2, 200, 200),
    ("calibrated", 10, 200, 60),
    ("calibrated", 100, 500, 40),
    ("calibrated", 10, 1_000, 200),
    ("calibrated", 2, 1_000, 400),
    ("calibrated", 50, 300, 40),
    ("calibrated", 100, 1_000, 30),
    ("rare", 2, 200, 60),
    ("rare", 10, 500, 40),
    ("rare", 50, 1_000, 20),
    ("sharp", 2, 1_000, 60),
    ("sharp", 10, 1_000, 60),
    ("sharp", 100, 1_000, 10),
    ("calibrated", 200, 200, 12),
    ("calibrated", 200, 1_000, 10),
    ("calibrated", 2, 5_000, 60),
    ("calibrated", 10, 5_000, 20),
    ("calibrated", 200, 5_000, 3),
    *((curve, 2, 300, 60) for curve in CURVES),
]


KINDS = ("calibrated", "rare", "sharp", *CURVES)


class Results(Kept):
    """The results of all cells."""

    def __init__(self, path: Path = RESULTS) -> None:
        super().__init__(path, "cells")

    @property
    def cells(self) -> dict[str, dict[str, Any]]:
        """What is known of each, by its name."""
        return self.found["cells"]

    def run(self, kind: str, classes: int, rows: int, sets: int) -> None:
        """Fit to the data sets that a cell lacks."""
        name = f"{kind}, K={classes}, n={rows}"
        own = self.cells.setdefault(name, {"kind": kind, "classes": classes, "rows": rows, "sets": []})
        for number in range(len(own["sets"]), sets):
            own["sets"].append(of_set(kind, classes, rows, number))
            self.write()


def drawn(kind: str, classes: int, rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return (rows, classes) logits and the true log-probabilities."""
    true = 2 * rng.normal(size=(rows, classes))
    if kind in CURVES:
        stated = 2.2 * rng.normal(size=rows)
        scores, true = (np.stack([0 * z, z], axis=1) for z in (stated, CURVES[kind](stated)))
        return scores, true - np.logaddexp.reduce(true, axis=1, keepdims=True)
    if kind == "rare":
        true -= 3 * np.log1p(np.arange(classes))
    true -= np.logaddexp.reduce(true, axis=1, keepdims=True)
    return (1.3 if kind == "sharp" else 1.0) * true, true


def of_set(kind: str, classes: int, rows: int, number: int) -> dict[str, Any]:
    """Return what is claimed of a data set, in nats and standard errors, and what is true."""
    rng = np.random.default_rng([52, KINDS.index(kind), classes, rows, number])
    scores, true = drawn(kind, classes, rows, rng)
    labels = (np.exp(true).cumsum(axis=1) < rng.random((rows, 1))).sum(axis=1).clip(0, classes - 1)
    others, known = drawn(kind, classes, max(2_000, NEW // classes), rng)

    def loss(log_probs: np.ndarray) -> float:
        return -float((np.exp(known) * log_probs).sum(axis=1).mean())

    found: dict[str, Any] = {}
    asked = {"kind": "logits", "classes": [str(one) for one in range(classes)]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        auto = calcli.fit(scores, labels, **asked)
        found["seconds"] = round(time.process_time() - start, 2)
        dp = calcli.fit(scores, labels, method="dp", **asked)
        temperature = calcli.fit(scores, labels, method="temperature", folds=0, **asked)
        (own,) = calcli.evaluate(
            scores, labels, metrics="calibration_loss:recalibrator=dp", draws=0, intervals=False, **asked
        ).results[0].metrics.values()  # fmt: skip
        for name, one in (("auto", auto), ("dp", dp)):
            gain = one.to_dict()["gain"]
            found[name] = [gain["mean"], gain["standard_error"]]
        found["calibration_loss"] = [own.value, own.parts["standard_error"]]
        found["method"] = auto.to_dict()["method"].partition(":")[0]
        fits = {"auto": auto, "temperature": temperature}
        if kind in CURVES:
            least = min(
                (one for one in auto.fit.candidates if one.method), key=lambda one: one.values["log_loss"]
            )
            fits["least"] = calcli.fit(scores, labels, method=str(least.method), folds=0, **asked)
        after = {
            name: loss(np.log(np.maximum(fit.calibrator.predict_proba(others), 1e-300)))
            for name, fit in fits.items()
        }
    found["gain"], found["behind"] = loss(others) - after["auto"], after["auto"] - after["temperature"]
    if kind in CURVES:
        found["excess"] = {
            name: value + float((np.exp(known) * known).sum(1).mean()) for name, value in after.items()
        }
    if kind not in ("calibrated", "rare"):
        found["gain"] = loss(others - np.logaddexp.reduce(others, axis=1, keepdims=True)) - after["auto"]
    return {name: _rounded(one) for name, one in found.items()}


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    return round(value, 7) if isinstance(value, float) else value


def claimed(cell: dict[str, Any], what: str) -> int:
    """Return of how many data sets a gain of more than two standard errors is claimed."""
    pairs = np.array([one[what] for one in cell["sets"]])
    return int((pairs[:, 0] > SIGNIFICANT * pairs[:, 1]).sum())


def behind(cell: dict[str, Any]) -> tuple[float, float]:
    """Return by how much the true loss of what auto chose exceeds temperature's, with its standard error."""
    values = np.array([one["behind"] for one in cell["sets"]])
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def page(results: Results) -> str:
    """Return the table of the guide."""
    rows = []
    for cell in results.cells.values():
        sets = cell["sets"]
        if cell["kind"] in CURVES:
            continue
        mean, error = behind(cell)
        chosen = Counter(one["method"] for one in sets).most_common(1)[0]
        means = [np.mean([one["auto"][0] for one in sets]), np.mean([one["gain"] for one in sets])]
        rows.append([
            cell["kind"], cell["classes"], f"{cell['rows']:,}", len(sets),
            *(f"{claimed(cell, one) / len(sets):.1%}" for one in CLAIMS),
            *(f"{one:+z.4f}" for one in means), f"{mean:+z.4f} ± {error:.4f}",
            f"{chosen[0]} {chosen[1] / len(sets):.0%}",
        ])  # fmt: skip
    heads = [
        "scores", "classes", "rows", "data sets", "`auto` claims", "`dp` claims", "`calibration_loss` claims",
        "gain claimed", "gain in truth", "`auto` behind temperature", "chosen most often",
    ]  # fmt: skip
    return "\n".join([*table(heads, rows), ""])


def page_of_curves(results: Results) -> str:
    """Return the table of the guide about curves: the excess log-loss over the true probabilities."""
    cells = [cell for cell in results.cells.values() if cell["kind"] in CURVES]
    excess = [[[one["excess"][name] for one in cell["sets"]] for name in ("auto", "least")] for cell in cells]
    rows = [
        [
            cell["kind"], cell["rows"], len(cell["sets"]),
            f"{np.mean([one['method'] == 'none' for one in cell['sets']]):.0%}",
            *(f"{np.mean(values):.4f}" for values in pair),
        ]
        for cell, pair in zip(cells, excess, strict=True)
    ]  # fmt: skip
    means = [f"{np.mean([np.mean(pair[place]) for pair in excess]):.4f}" for place in (0, 1)] if cells else []
    heads = [
        "curve",
        "rows",
        "data sets",
        "left as they are",
        "excess of `auto`",
        "of the least cross-validated loss",
    ]
    return "\n".join([*table(heads, [*rows, ["mean", "", "", "", *means]]), ""])


def refreshed(text: str, results: Results) -> str:
    """Return the page of the guide with its tables written anew."""
    return between(between(text, "choices", page(results)), "curves", page_of_curves(results))


def main() -> None:
    """Run the study, or write its table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--page", action="store_true", help="write the table of the guide")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--only", default="", help="cells whose kind, classes, rows are these")
    parser.add_argument("--most", type=int, help="data sets of a cell, at most")
    asked, _ = parser.parse_known_args()
    results = Results(asked.results)
    if asked.page:
        PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")
        return
    for kind, classes, rows, sets in CELLS:
        if asked.only in f"{kind},{classes},{rows}":
            results.run(kind, classes, rows, min(sets, asked.most or sets))
            cell = results.cells[f"{kind}, K={classes}, n={rows}"]
            claims = [claimed(cell, one) for one in CLAIMS]
            print(kind, classes, rows, sets, "claims", claims, "behind", behind(cell), flush=True)


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
