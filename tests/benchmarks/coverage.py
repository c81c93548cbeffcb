"""How often intervals hold the truth and tests of what is true reject it, cell by cell.

Results stand in `coverage.json` beside this file and are written as they come: a run goes on where the last
one ended. `python -m tests.benchmarks.coverage --sets 400 [--core]` does so. `--again METRIC,...` does all
data sets once more for metrics and tests, `--changed` for those that are now computed otherwise, `--repeat`
does what exceeds its limit with other seeds, and `--page` writes the tables of the guide anew.

Of those intervals that are shown many may miss though few of all do. Where some data sets show an interval
and others do not, more of them are drawn until enough show one; `--further METRIC,...` does so for metrics
alone, and every other run for those it is about.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Container, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from scipy.stats import binom

from calcli.core.estimators.calibrationerror import holm
from calcli.core.estimators.intervals import Interval
from tests.benchmarks.cells import (
    DEFAULT,
    DRAWS,
    KINDS,
    LEVEL,
    Cell,
    Found,
    as_numbers,
    every_cell,
    is_core,
)
from tests.benchmarks.keeping import GUIDE, Kept, between, table

RESULTS = Path(__file__).with_suffix(".json")
PAGE = GUIDE / "statistics.md"
TABLES = Path(__file__).with_suffix(".md")
FIXED = 5  # data sets whose intervals and p-values are kept
TOLERANCE = 1e-9  # within which they stay
STEP = 25  # data sets after which the results are written
STAGES = (100, 200)  # data sets that every cell has before one has more
OTHER_SEEDS = 1_000_000  # the first of those with which a cell is repeated
ALPHA = 1 - LEVEL
MISSED, REJECTED = 0.07, 0.05  # of all data sets, at most
MEAN_REJECTED = 0.053  # of all data sets of all cells of a test, at most
SURE = 0.01  # of all cells together, by Holm's correction
SOME = (0.1, 0.9)  # of the data sets: where so many show an interval, those are looked at by themselves
SHOWN = 400  # of which there are to be so many
MISSED_OF_SHOWN = 0.1  # at most
Place = tuple[str, str]  # a metric or test, and the cell


class Results(Kept):
    """The results of all cells."""

    def __init__(self, path: Path = RESULTS) -> None:
        super().__init__(path, "truths", "cells")

    @property
    def cells(self) -> dict[str, Any]:
        """What is known of each cell, by its name."""
        return self.found["cells"]

    def truth(self, cell: Cell) -> dict[str, float]:
        """Return the true values, computed once."""
        found: dict[str, float] = self.found["truths"].setdefault(cell.of_truth, {})
        if lacking := set(cell.metrics) - found.keys():
            found |= cell.truth(lacking)
        return found

    def run(self, cell: Cell, sets: int) -> None:
        """Do the data sets that a cell lacks."""
        truth = self.truth(cell)
        empty = {"kind": cell.kind, "classes": cell.classes, "rows": cell.rows, "sets": 0}
        own = self.cells.setdefault(str(cell), empty | _nothing())
        while own["sets"] < sets:
            for seed in range(own["sets"], min(own["sets"] + STEP, sets)):
                _add(own, seed, cell.found(seed), truth)
                own["sets"] += 1
            own["date"] = date.today().isoformat()
            self.write()

    def again(self, cell: Cell, names: Sequence[str]) -> None:
        """Do the data sets of a cell once more for some metrics and tests, and for new ones."""
        own, new = self.cells[str(cell)], _nothing()
        of_report = not set(names).isdisjoint(DEFAULT)
        counted = {*names, *DEFAULT} if of_report else set(names)
        for seed in range(own["sets"]):
            _add(new, seed, cell.found(seed, counted), self.truth(cell))
        for kind in ("intervals", "tests"):
            own[kind] |= new[kind]
        for known, fixed in zip(own["fixed"], new["fixed"], strict=True):
            for kind, values in fixed.items():
                known[kind] |= values
        own["date"] = date.today().isoformat()
        if of_report:
            own["whole"] = new["whole"]
        own.pop("repeated", None)
        self.write()

    def further(self, cell: Cell, names: Container[str]) -> None:
        """Do more data sets for metrics of which some show an interval, until enough do."""
        own, step = self.cells[str(cell)], 0
        while lacking := {
            name: counts[0]
            for name, counts in own["intervals"].items()
            if name in names and _in_some(counts) and counts[1] < SHOWN
        }:
            seed = min(lacking.values())
            only = [name for name, sets in lacking.items() if sets == seed]
            _count(own, Found(cell.found(seed, only).intervals, {}), self.truth(cell))
            step += 1
            if step % SHOWN == 0:
                self.write()
        self.write()

    def repeat(self, cell: Cell, names: Container[str]) -> None:
        """Do as many data sets of other seeds for some metrics and tests."""
        own, new = self.cells[str(cell)], _nothing()
        for seed in range(OTHER_SEEDS, OTHER_SEEDS + own["sets"]):
            _add(new, seed, cell.found(seed, names), self.truth(cell))
        known = own.setdefault("repeated", {"intervals": {}, "tests": {}})
        for kind in known:
            known[kind] |= new[kind]
        self.write()


def _nothing() -> dict[str, Any]:
    return {"whole": 0, "intervals": {}, "tests": {}, "fixed": []}


def _add(own: dict[str, Any], seed: int, found: Found, truth: dict[str, float]) -> None:
    """Add one data set to a cell."""
    _count(own, found, truth)
    own["whole"] += all(isinstance(found.intervals[n], Interval) for n in DEFAULT if n in found.intervals)
    if seed < FIXED:
        own["fixed"].append(as_numbers(found))


def _count(own: dict[str, Any], found: Found, truth: dict[str, float]) -> None:
    """Add one data set to the counts: sets, intervals shown, too high, too low; tests, rejections."""
    for name, interval in found.intervals.items():
        counts = own["intervals"].setdefault(name, [0, 0, 0, 0])
        counts[0] += 1
        if isinstance(interval, Interval) and not math.isnan(truth[name]):
            counts[1] += 1
            if not interval.contains(truth[name]):
                counts[2 if interval.low > truth[name] else 3] += 1
    for name, p in found.p_values.items():
        counts = own["tests"].setdefault(name, [0, 0])
        if not math.isnan(p):
            counts[0] += 1
            counts[1] += p <= ALPHA + 1e-12


def differing(
    cell: Cell, fixed: list[dict[str, Any]], tolerance: float, seeds: Sequence[int] | None = None
) -> list[str]:
    """Return the metrics and tests whose numbers on the fixed data sets are no longer those of the study."""
    found = []
    for seed in range(len(fixed)) if seeds is None else seeds:
        before, now = fixed[seed], as_numbers(cell.found(seed))
        for kind in ("intervals", "p_values"):
            names = {**before[kind], **now[kind]}
            pairs = {name: (before[kind].get(name), now[kind].get(name)) for name in names}
            found += [name for name, pair in pairs.items() if not _alike(*pair, tolerance)]
    return list(dict.fromkeys(found))


def _alike(first: Any, second: Any, tolerance: float) -> bool:
    if isinstance(first, list) and isinstance(second, list):
        return all(_alike(a, b, tolerance) for a, b in zip(first, second, strict=True))
    if isinstance(first, float | int) and isinstance(second, float | int):
        both_nan = math.isnan(first) and math.isnan(second)
        return both_nan or abs(first - second) <= tolerance * max(1.0, abs(first))
    return first == second


def exceeding(counts: dict[Any, tuple[int, int]], share: float) -> list[Any]:
    """Return which counts (number, of how many) exceed a share beyond chance, all at once (Holm, at 1%)."""
    p = [float(binom.sf(number - 1, total, share)) for number, total in counts.values()]
    return [name for name, one in zip(counts, holm(p).tolist(), strict=True) if one <= SURE]


def missed(cells: dict[str, Any]) -> dict[Place, tuple[int, int]]:
    """Return how many data sets show an interval that misses, of all, by metric and cell."""
    return {
        (metric, name): (high + low, sets)
        for name, cell in cells.items()
        for metric, (sets, _, high, low) in cell["intervals"].items()
    }


def missed_of_shown(cells: dict[str, Any]) -> dict[Place, tuple[int, int]]:
    """Return how many intervals miss, of those shown, where some data sets show one and others do not."""
    return {
        (metric, name): (counts[2] + counts[3], counts[1])
        for name, cell in cells.items()
        for metric, counts in cell["intervals"].items()
        if _in_some(counts)
    }


def _in_some(counts: Sequence[int]) -> bool:
    """Tell whether some data sets show an interval and others do not."""
    return SOME[0] <= counts[1] / counts[0] <= SOME[1]


def too_often_of_shown(cells: dict[str, Any]) -> list[Place]:
    """Return the intervals of which too many miss that are shown; cells of one metric are corrected for."""
    counts = missed_of_shown(cells)
    metrics = dict.fromkeys(metric for metric, _ in counts)
    alone = ({place: one for place, one in counts.items() if place[0] == metric} for metric in metrics)
    return [place for own in alone for place in exceeding(own, MISSED_OF_SHOWN)]


def rejected(cells: dict[str, Any]) -> dict[Place, tuple[int, int]]:
    """Return how many data sets a test rejects, of those tested, by test and cell."""
    return {
        (test, name): (count, total)
        for name, cell in cells.items()
        for test, (total, count) in cell["tests"].items()
        if total
    }


def repeated(cells: dict[str, Any]) -> dict[str, Any]:
    """Return what was found with other seeds, by cell."""
    return {name: cell["repeated"] for name, cell in cells.items() if "repeated" in cell}


def too_often(cells: dict[str, Any]) -> list[Place]:
    """Return the intervals that miss and the tests that reject too often."""
    return exceeding(missed(cells), MISSED) + exceeding(rejected(cells), REJECTED)


def by_test(cells: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Return how many data sets of all cells each test rejects, of how many; tests of two systems apart."""
    found: dict[str, tuple[int, int]] = {}
    for (test, name), (count, total) in rejected(cells).items():
        kind = cells[name]["kind"]
        key = test if kind in KINDS else f"{test} ({kind})"
        known = found.get(key, (0, 0))
        found[key] = known[0] + count, known[1] + total
    return found


def too_often_on_average(cells: dict[str, Any]) -> list[str]:
    """Return the tests that reject more than is promised over all of their cells, and more than by chance."""
    counts = by_test(cells)
    beyond = exceeding(counts, REJECTED)
    return [test for test in beyond if counts[test][0] / counts[test][1] > MEAN_REJECTED]


def _percent(number: int, total: int) -> str:
    """Return a share with its standard error."""
    share = number / total
    return f"{100 * share:.1f} ± {100 * math.sqrt(max(share * (1 - share), 1 / total / 4) / total):.1f}"


def _share(counts: dict[Place, tuple[int, int]]) -> str:
    numbers, totals = zip(*counts.values(), strict=True)
    return _percent(sum(numbers), sum(totals))


def _heads(cells: list[dict[str, Any]]) -> list[str]:
    return [f"K={cell['classes']}, n={cell['rows']:,}" for cell in cells]


def _intervals(cells: list[dict[str, Any]]) -> list[list[str]]:
    names = list(dict.fromkeys(name for cell in cells for name in cell["intervals"]))
    rows = [[f"`{name}`", *(_interval_cell(cell, name) for cell in cells)] for name in names]
    if names and all(cell["kind"] in KINDS for cell in cells):
        whole = [f"{100 * cell['whole'] / cell['sets']:.1f}" for cell in cells]
        rows.append(["all of the default report are shown", *whole])
    return rows


def _interval_cell(cell: dict[str, Any], name: str) -> str:
    if name not in cell["intervals"]:
        return ""
    sets, shown, high, low = cell["intervals"][name]
    part = "" if shown == sets else f" ({100 * shown / sets:.0f}% shown)"
    if _in_some(cell["intervals"][name]):
        part = f" ({100 * shown / sets:.0f}% shown, of these {_percent(high + low, shown)})"
    return _percent(high + low, sets) + part if shown else "-"


def _tests(cells: list[dict[str, Any]]) -> list[list[str]]:
    names = list(dict.fromkeys(name for cell in cells for name in cell["tests"]))
    rows = []
    for name in names:
        found = [cell["tests"].get(name, [0, 0]) for cell in cells]
        rows.append([f"`{name}`", *(_percent(count, total) if total else "" for total, count in found)])
    return rows


def _known(results: Results) -> dict[str, Any]:
    return {name: cell for name, cell in results.cells.items() if cell["sets"]}


def page(results: Results) -> str:
    """Return what the guide says of all cells."""
    cells = _known(results)
    dates = sorted(cell["date"] for cell in cells.values())
    sets = sorted({cell["sets"] for cell in cells.values()})
    when = " to ".join(dict.fromkeys((dates[0], dates[-1])))
    number = f"{sets[0]}" if len(sets) == 1 else f"{sets[0]} to {sets[-1]}"
    every, tests = missed(cells), rejected(cells)
    lines = [
        f"{len(cells)} cells of {number} data sets or more, {when}, {DRAWS} draws a test. Shares",
        "of all data sets, in percent, with standard errors; significance by exact binomial tests at 1%",
        "(Holm).",
        "",
        f"- Intervals that miss: {_share(every)} over all metrics and cells, nominally 5 of those shown. "
        f"Significantly above 7: {_named(exceeding(every, MISSED), every, missed(repeated(cells)))}.",
        *_of_shown(cells),
    ]
    if tests:
        counts = by_test(cells)
        most = max(counts, key=lambda test: counts[test][0] / counts[test][1])
        lines += [
            f"- Tests that reject a true hypothesis: {_share(tests)}, nominally 5. Significantly above 5: "
            f"{_named(exceeding(tests, REJECTED), tests, rejected(repeated(cells)))}. "
            f"The highest mean of a test over its cells is {_percent(*counts[most])}, of `{most}`.",
        ]
    lines.append("")
    heads = ["data", "cells", "intervals that miss", "most", "tests that reject", "most"]
    rows = []
    for kind, own in _by_kind(cells).items():
        each = [counts for of in (missed(own), rejected(own)) for counts in _mean_and_most(of)]
        rows.append([kind, len(own), *each])
    return "\n".join([*lines, *table(heads, rows), ""])


def _by_kind(cells: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the cells of each kind, the smallest first."""
    kinds = dict.fromkeys(cell["kind"] for cell in cells.values())
    ordered = sorted(cells.items(), key=lambda item: (item[1]["classes"], item[1]["rows"]))
    return {kind: {name: cell for name, cell in ordered if cell["kind"] == kind} for kind in kinds}


def _mean_and_most(counts: dict[Place, tuple[int, int]]) -> list[str]:
    """Return the share over all metrics and cells, and the largest of one with its name."""
    if not counts:
        return ["", ""]
    place = max(counts, key=lambda one: counts[one][0] / counts[one][1])
    return [_share(counts), f"{_percent(*counts[place])}, `{place[0]}`"]


def tables(results: Results) -> str:
    """Return the tables of all cells."""
    lines = [
        "# How often intervals miss and tests reject",
        "",
        "Written by `python -m tests.benchmarks.coverage --page`; statistics.md says what a cell is.",
        "Each share is that of all data sets, in percent, with its standard error.",
        "",
    ]
    for kind, named in _by_kind(_known(results)).items():
        own = list(named.values())
        for title, rows in (("intervals that miss", _intervals(own)), ("rejections", _tests(own))):
            if rows:
                lines += [f"## {kind.capitalize()}: {title}", "", *table(["", *_heads(own)], rows), ""]
    return "\n".join(lines)


def _of_shown(cells: dict[str, Any]) -> list[str]:
    """Return what is told of the intervals that are shown, where some data sets show none."""
    shown = missed_of_shown(cells)
    if not shown:
        return []
    return [
        f"- Where 10 to 90% of the data sets show an interval, {_share(shown)} of those shown miss. "
        f"Significantly above 10, by metric: {_named(too_often_of_shown(cells), shown, {})}.",
    ]


def _named(
    places: list[Place], counts: dict[Place, tuple[int, int]], others: dict[Place, tuple[int, int]]
) -> str:
    """Return metrics or tests and their cells, each with its share and that with other seeds."""
    found = []
    for place in places:
        other = f", with other seeds {_percent(*others[place])}" if place in others else ""
        found.append(f"`{place[0]}` ({place[1]}): {_percent(*counts[place])}{other}")
    return "; ".join(found) if found else "none"


def refreshed(text: str, results: Results) -> str:
    """Return the page of the guide with its tables written anew."""
    return between(text, "coverage", page(results))


def main() -> None:
    """Run the study, or write its tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sets", type=int, default=400)
    parser.add_argument("--core", action="store_true", help="only the cells of the core, and pairs")
    parser.add_argument("--only", default="", help="cells whose name has this in it")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--again", default="", help="metrics and tests to be done once more in cells known")
    parser.add_argument("--changed", action="store_true", help="do what is computed otherwise once more")
    parser.add_argument("--further", default="", help="metrics that need more sets with an interval")
    parser.add_argument("--repeat", action="store_true", help="do what exceeds its limit with other seeds")
    parser.add_argument("--page", action="store_true", help="write the tables of the guide")
    asked, _ = parser.parse_known_args()
    results = Results(asked.results)
    if asked.page:
        PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")
        TABLES.write_text(tables(results), encoding="utf-8")
        return
    cells = [cell for cell in every_cell() if asked.only in str(cell) and (is_core(cell) or not asked.core)]
    known = [cell for cell in cells if str(cell) in results.cells]
    if asked.repeat:
        for cell in known:
            if names := [metric for metric, name in too_often(results.cells) if name == str(cell)]:
                results.repeat(cell, names)
    elif asked.again or asked.changed:
        for cell in known:
            fixed = results.cells[str(cell)]["fixed"]
            if names := asked.again.split(",") if asked.again else differing(cell, fixed, TOLERANCE):
                results.again(cell, names)
                results.further(cell, names)
            print(cell, *names, flush=True)
    elif asked.further:
        for cell in known:
            results.further(cell, asked.further.split(","))
            print(cell, flush=True)
    else:
        _go_on(results, cells, asked.sets)


def _go_on(results: Results, cells: Sequence[Cell], sets: int) -> None:
    """Do the data sets that are not there, after telling which of those that are have become stale."""
    for cell in cells:
        if str(cell) in results.cells:
            changed = differing(cell, results.cells[str(cell)]["fixed"], TOLERANCE)
            if changed:
                print(f"{cell} is to be done again: --again {','.join(changed)}", flush=True)
    for goal in sorted({min(stage, sets) for stage in (*STAGES, sets)}):
        for cell in cells:
            results.run(cell, goal)
            print(cell, goal, flush=True)
    for cell in cells:
        results.further(cell, results.cells[str(cell)]["intervals"])


if __name__ == "__main__":
    main()
