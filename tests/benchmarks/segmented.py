"""How often segments of calibrated sets are flagged, and gaps of the size that is printed are found.

Sets have three columns, with pairs about 100 segments. Results stand in `segmented.json` beside this
file; `python -m tests.benchmarks.segmented` makes those that are missing, `--page` writes the table of the
guide.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from calcli.core.data.arrays import Doubles, from_log_odds
from calcli.core.data.units import Units
from calcli.core.estimators.segments import Partition, Search, search
from tests.benchmarks.keeping import GUIDE, Kept, between, table

RESULTS = Path(__file__).with_suffix(".json")
PAGE = GUIDE / "slices-and-dependence.md"
SETS, ROWS, DRAWS, LEVEL = 400, 10_000, 199, 0.95
MEANS = {0.1: (-3.0, 1.5), 0.27: (-1.35, 1.2), 0.5: (0.0, 1.2)}  # mean and sd of the log-odds, by base rate
COUNTRIES = np.array([0.25, 0.2, 0.15, 0.12, 0.1, 0.08, 0.05, 0.05])
OVER_CONFIDENT = 1.5
SIZE, LIKENESS = 5, 0.3  # of clusters, and of the latent values of their rows
USUAL = 0.27
SIZES = {100: 200, 300: 200, 3_000: 60}  # of segments, and how many sets of each
AFTER = ("affine", "none")
RARE = (0.006, 0.05, 0.3)
PAIRS = ((0.005, 0.1), (0.02, 0.02), (0.02, 0.1), (0.02, 0.4), (0.2, 0.02), (0.5, 0.5), (0.5, 0.9))


def columns(rng: np.random.Generator, rows: int) -> dict[str, Any]:
    """Return the codes of three columns."""
    return {
        "country": rng.choice(len(COUNTRIES), rows, p=COUNTRIES),
        "device": rng.integers(0, 4, rows),
        "age": rng.integers(0, 5, rows),
    }


def partitions(found: dict[str, Any]) -> list[Partition]:
    """Return columns and pairs of them."""
    singles = {
        name: Partition([f"{name}={n}" for n in range(codes.max() + 1)], codes)
        for name, codes in found.items()
    }
    pairs = []
    for first, second in combinations(singles.values(), 2):
        names = [f"{one}, {other}" for one in first.names for other in second.names]
        pairs.append(Partition(names, first.codes * len(second.names) + second.codes))
    return [*singles.values(), *pairs]


def looked(z: Doubles, outcome: Doubles, parts: list[Partition], seed: int, **more: Any) -> Search:
    return search(z, outcome, parts, **{"draws": DRAWS, "level": LEVEL, "seed": seed, **more})


def planted(base: float, number: int, sets: int = SETS) -> dict[str, Any]:
    """Return how many calibrated sets are flagged, and how gaps of the size that is printed are found."""
    found = {"sets": sets, "flagged": 0, "found": 0, "first": 0, "reported": 0, "missed": 0, "gaps": 0.0}
    for n in range(sets):
        rng = np.random.default_rng([n, number, 58])
        z, parts = rng.normal(*MEANS[base], ROWS), partitions(columns(rng, ROWS))
        prob = from_log_odds(z)
        calibrated = looked(z, drawn(rng, prob), parts, n)
        found["flagged"] += bool(calibrated.found)
        off = calibrated.segments[rng.integers(len(calibrated.segments))]
        part = next(one for one in parts if off.name in one.names)
        inside = part.codes == part.names.index(off.name)
        gap = off.detectable if base < 0.5 or rng.random() < 0.5 else -off.detectable
        truth = _moved(prob, inside, gap)
        seen = looked(z, drawn(rng, truth), parts, n)
        found["gaps"] += off.detectable
        found["found"] += any(one.name == off.name and one.p_value <= 1 - LEVEL for one in seen.segments)
        found["first"] += bool(seen.found) and seen.found[0].name == off.name
        found["reported"] += len(seen.found)
        true = true_values(z, truth, parts)
        found["missed"] += any(not one.low <= true[one.name] <= one.high for one in seen.segments)
    return found


def frequencies(predicted: float, true: float, size: int, after: str, sets: int = SETS) -> dict[str, Any]:
    """Return in how many sets an interval misses, of a quarter of the rows whose frequency is another one.

    In half of the sets log-odds vary; where `--after` is none, predictions are right elsewhere.
    """
    missed, width = 0, []
    for n in range(sets):
        rng = np.random.default_rng([n, size, int(1000 * predicted), int(1000 * true)])
        inside = rng.permutation(4 * size) < size
        z = np.log(predicted / (1 - predicted)) + (n % 2) * rng.normal(0, 1, 4 * size)
        truth = _moved(from_log_odds(z), inside, true - from_log_odds(z)[inside].mean())
        other = rng.integers(0, 2, 4 * size)
        parts = [Partition(["off", "rest"], 1 - inside), Partition(["p", "q"], other)]
        parts.append(Partition(["off, p", "off, q", "rest, p", "rest, q"], 2 * (1 - inside) + other))
        more: dict[str, Any] = {"recalibrated": after, "min_rows": 20}
        seen = looked(z, drawn(rng, truth), parts, n, **more)
        values = true_values(z, truth, parts, **more)
        missed += any(not one.low <= values[one.name] <= one.high for one in seen.segments)
        width += [one.high - one.low for one in seen.segments if one.name == "off"]
    return {"sets": sets, "missed": missed, "width": float(np.median(width))}


def a_quarter(base: float, after: str, sets: int = SETS // 2) -> dict[str, Any]:
    """Return how often a quarter of the rows is found that is off by its smallest difference."""
    found, gaps = 0, 0.0
    for n in range(sets):
        rng = np.random.default_rng([n, int(1000 * base), 60])
        inside, z = rng.permutation(ROWS) < ROWS // 4, rng.normal(np.log(base / (1 - base)), 0.7, ROWS)
        parts = [Partition(["off", "rest"], 1 - inside), Partition(["p", "q"], rng.integers(0, 2, ROWS))]
        prob, more = from_log_odds(z), {"recalibrated": after}
        calibrated = looked(z, drawn(rng, prob), parts, n, **more)
        gap = next(one.detectable for one in calibrated.segments if one.name == "off")
        seen = looked(z, drawn(rng, _moved(prob, inside, gap)), parts, n, **more)
        found += any(one.name == "off" and one.p_value <= 1 - LEVEL for one in seen.segments)
        gaps += gap
    return {"sets": sets, "found": found, "gap": gaps / sets}


def without_segments(number: int, sets: int = SETS) -> dict[str, Any]:
    """Return how many sets are flagged that are over-confident as a whole, or of clusters that are alike."""
    found = {"sets": sets, "raw": 0, "over_confident": 0, "rows": 0, "clusters": 0}
    for n in range(sets):
        rng = np.random.default_rng([n, number, 59])
        z, own = rng.normal(*MEANS[USUAL], ROWS), columns(rng, ROWS)
        outcome = drawn(rng, from_log_odds(z / OVER_CONFIDENT))
        parts = partitions(own)
        found["raw"] += bool(looked(z, outcome, parts, n, recalibrated="none").found)
        found["over_confident"] += bool(looked(z, outcome, parts, n).found)
        alike = np.repeat(np.arange(ROWS // SIZE), SIZE)
        parts = partitions({name: codes[alike * SIZE] for name, codes in own.items()})  # one segment each
        same = np.sqrt(LIKENESS) * rng.normal(size=ROWS // SIZE)[alike]
        same += np.sqrt(1 - LIKENESS) * rng.normal(size=ROWS)
        outcome = (_normal_cdf(same) < from_log_odds(z)).astype(float)
        found["rows"] += bool(looked(z, outcome, parts, n).found)
        found["clusters"] += bool(looked(z, outcome, parts, n, units=Units.of(ROWS, alike)).found)
    return found


def true_values(z: Doubles, truth: Doubles, parts: list[Partition], **more: Any) -> dict[str, float]:
    """Return what segments are off by beside the recalibration, of true probabilities."""
    return {one.name: one.value for one in looked(z, truth, parts, 0, **{**more, "draws": 2}).segments}


def drawn(rng: np.random.Generator, prob: Doubles) -> Doubles:
    return (rng.random(len(prob)) < prob).astype(float)


def _moved(prob: Doubles, inside: Any, gap: float) -> Doubles:
    """Return probabilities whose mean in a segment is another one by that gap: shifted log-odds there."""
    own, low, high = np.log(prob / (1 - prob))[inside], -5.0, 5.0
    for _ in range(40):
        middle = (low + high) / 2
        below = from_log_odds(own + middle).mean() < prob[inside].mean() + gap
        low, high = (middle, high) if below else (low, middle)
    found = prob.copy()
    found[inside] = from_log_odds(own + low)
    return found


def _normal_cdf(values: Doubles) -> Doubles:
    """Return the normal distribution, by its table."""
    x = np.linspace(-8, 8, 160_001)
    steps = np.cumsum(np.exp(-(x**2) / 2))
    return np.interp(values, x, steps / steps[-1])


class Results(Kept):
    """The results of all cells."""

    def __init__(self, path: Path = RESULTS) -> None:
        super().__init__(path, "bases", "whole", "frequencies", "quarters")

    def run(self, number: int, base: float) -> None:
        """Simulate the sets of a base rate, unless that is done."""
        if str(base) not in self.found["bases"]:
            self.found["bases"][str(base)] = planted(base, number)
            self.write()
            print(base, self.found["bases"][str(base)], flush=True)

    def run_quarters(self) -> None:
        """Simulate the sets in which a quarter of the rows is off, unless that is done."""
        cells: dict[str, dict[str, Callable[[], dict[str, Any]]]] = {
            "quarters": {
                f"{base} {after}": partial(a_quarter, base, after) for base in RARE for after in AFTER
            },
            "frequencies": {
                f"{predicted} {true} {size} {after}": partial(frequencies, predicted, true, size, after, sets)
                for predicted, true in PAIRS for size, sets in SIZES.items() for after in AFTER
            },
        }  # fmt: skip
        for part, of_part in cells.items():
            for name, cell in of_part.items():
                if name not in self.found[part]:
                    self.found[part][name] = cell()
                    self.write()
                    print(part, name, self.found[part][name], flush=True)

    def run_whole(self) -> None:
        """Simulate the sets in which no segment is off, unless that is done."""
        if not self.found["whole"]:
            self.found["whole"] = without_segments(len(MEANS))
            self.write()
            print(self.found["whole"], flush=True)


def page(results: Results) -> str:
    """Return the tables of the guide."""
    rows = [
        [
            f"{float(base):.0%}",
            *(f"{one[name] / one['sets']:.1%}" for name in ("flagged", "found", "first")),
            f"{one['reported'] / one['sets']:.2f}",
            f"{one['missed'] / one['sets']:.1%}",
        ]
        for base, one in results.found["bases"].items()
    ]
    heads = [
        "positive", "calibrated: any found", "one off by its smallest gap: found", "reported first",
        "segments reported", "an interval misses",
    ]  # fmt: skip
    whole = results.found["whole"]
    names = {
        "raw": "over-confident as a whole, `--after none`", "over_confident": "the same, recalibrated first",
        "rows": "clusters of 5 that are alike, taken for rows", "clusters": "the same, `--cluster`",
    }  # fmt: skip
    more = [[words, f"{whole[name] / whole['sets']:.1%}"] for name, words in names.items()]
    quarters = [
        [f"{100 * float(name.split()[0]):.3g}%", f"`--after {name.split()[1]}`",
         f"{100 * one['gap']:.2f} points",
         f"{one['found'] / one['sets']:.1%}"]
        for name, one in results.found["quarters"].items()
    ]  # fmt: skip
    missed = []
    for predicted, true in PAIRS:
        cells = [
            [results.found["frequencies"][f"{predicted} {true} {size} {after}"] for size in SIZES]
            for after in AFTER
        ]
        shares = [f"{100 * one['missed'] / one['sets']:.1f}" for of_after in cells for one in of_after]
        width = [f"± {50 * one['width']:.1f}" for one in cells[1]]
        missed.append(
            [
                f"{100 * predicted:.3g}%",
                f"{100 * true:.3g}%",
                " / ".join(shares[:3]),
                " / ".join(shares[3:]),
                " / ".join(width),
            ]
        )
    heads_of_missed = [
        "predicted", "true", "% missed, recalibrated first", "% missed, `--after none`",
        "points, `--after none`",
    ]  # fmt: skip
    return "\n".join(
        [
            *table(heads, rows), "", *table(["no segment is off", "any found"], more), "",
            *table(["positive", "a quarter of 10,000 rows", "smallest difference", "found"], quarters), "",
            *table(heads_of_missed, missed), "",
        ]
    )  # fmt: skip


def refreshed(text: str, results: Results) -> str:
    """Return the page of the guide with its table written anew."""
    return between(text, "segments", page(results))


def main() -> None:
    """Run the study, or write its table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--page", action="store_true", help="write the table of the guide")
    asked, _ = parser.parse_known_args()
    results = Results()
    if asked.page:
        PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")
        return
    results.run_quarters()
    for number, base in enumerate(MEANS):
        results.run(number, base)
    results.run_whole()


if __name__ == "__main__":
    main()
