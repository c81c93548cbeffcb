"""Relations that must hold where two features meet: recalibrations, gates, states, weights, ways to write.

Each is a function that draws plain valid rows and makes two calls of them; its docstring says what is on
either side. What is tried is whether two roads to a number lead to the same one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from calcli.core.language.methods import METHODS
from tests.hostile import asking, byhand, datasets
from tests.hostile.asking import JSON, QUICK
from tests.hostile.datasets import Data, Way
from tests.hostile.drawing import Draw
from tests.hostile.made import Store, by_calcli
from tests.hostile.places import Made, two_calls
from tests.hostile.reading import unlike_columns
from tests.hostile.sidefiles import toml

SIMPLE = tuple(name for name, one in METHODS.items() if one.family != "wrapper" and name != "pool")
OF_SUMS = tuple(  # methods that neither count rows nor deal them to folds
    name for name in SIMPLE if not {"folds", "min_rows"} & METHODS[name].arguments.keys()
)
CONTINUOUS = (  # methods that keep apart what is apart
    "temperature", "bias", "dp", "bent-dp", "vector", "platt", "beta", "bent-temperature",
)  # fmt: skip


def relations(draw: Draw, store: Store) -> Made:
    """Return two calls that have to say the same of plain rows."""
    draw.calm = True
    made = draw.choice(RELATIONS)(draw)
    made.as_it_is = True
    return made


def _method(draw: Draw) -> tuple[str, bool]:
    """Return a method, and whether it keeps apart what is apart, so that bins and orders can be compared."""
    name = draw.choice(CONTINUOUS if draw.chance(0.5) else SIMPLE)
    wrapper = draw.choice(("per-predicted-class", "preserve-top1", "reduced")) if draw.chance(0.2) else ""
    return (f"{wrapper}:calibrator={name}", False) if wrapper else (name, name in CONTINUOUS)


def _two_sets(draw: Draw) -> tuple[Data, Data]:
    """Return rows to fit to, and others of the same classes."""
    first = datasets.data(draw)
    return first, datasets.data(draw, len(first.names), first.names)


def _in_order(of: Data, *ways: Way) -> list[str]:
    """Return what makes files whose columns stand in several orders agree on the first of these."""
    first = ways[0].order or range(len(of.names))
    same = all((by.order or range(len(of.names))) == first for by in ways)
    return [] if same or of.numbered else ["--classes", ",".join(of.names[n] for n in first)]


def _applied(draw: Draw) -> Made:
    """A fit applied and evaluated, beside the benchmark of the same method."""
    fitted, other = _two_sets(draw)
    ways = datasets.way(draw, fitted, named=True), datasets.way(draw, other, named=True)
    cal, test = datasets.write(draw, fitted, ways[0], "a"), datasets.write(draw, other, ways[1], "b")
    method, apart = _method(draw)
    weighted = draw.choice(([], ["--weights", "weight"]))
    asked = [*asking.asked(draw, other, "--priors", "--costs"), *asking.metrics(draw, other, apart)]
    asked = asking.without_cllr(asked)
    by_calcli(draw.folder, ["fit", cal, "-m", method, *weighted, "--folds", "0", "-o", "cal.json"])
    out = f"out.{draw.choice(datasets.TABLES)}"
    by_calcli(draw.folder, ["apply", "cal.json", test, "-o", out])
    found = unlike_columns(draw.folder / test, draw.folder / out)
    both = ["--cal", cal, "--test", test, *_in_order(fitted, *ways)]
    benchmark = ["benchmark", *both, "--methods", method, *weighted, *asked, *JSON]
    return two_calls(["evaluate", out, *weighted, *asked, *JSON], benchmark, "after", found)


def _applied_to_parts(draw: Draw) -> Made:
    """A fit applied to parts, beside it applied to the whole, in any way to write."""
    fitted, other = _two_sets(draw)
    by = datasets.way(draw, other)
    of_fit = datasets.way(draw, fitted, named=True) if by.layout == "wide" else by
    cal = datasets.write(draw, fitted, of_fit, "a")
    method, apart = _method(draw)
    more = draw.choice(([], [], ["--preserve-top1"], ["--per-predicted-class", "--min-rows", "10"]))
    read = datasets.reading(fitted, of_fit)
    by_calcli(draw.folder, ["fit", cal, *read, "-m", method, *more, "--folds", "0", "-o", "cal.json"])
    whole = datasets.write(draw, other, by, "b")
    for low, high in datasets.cuts(draw, len(other.labels)):
        datasets.write(draw, other.part(slice(low, high)), by, f"parts/{low}")
    read = datasets.reading(other, by)
    how = draw.choice(([], ["--shift-to-priors", "uniform"], ["--as", "logits"], ["--as", "log-probs"]))
    out = f"out.{by.form}"
    by_calcli(draw.folder, ["apply", "cal.json", whole, *read, *how, "-o", out])
    by_calcli(draw.folder, ["apply", "cal.json", "parts", *read, *how, "-o", "outs"])
    found = unlike_columns(draw.folder / whole, draw.folder / out)
    asked = asking.without_cllr(
        [*asking.asked(draw, other), *asking.metrics(draw, other, apart and not how), *JSON]
    )
    asked += asking.only(("--classes",), read)
    return two_calls(
        ["evaluate", "outs", "--concat", *asked], ["evaluate", out, *asked], "near values", found
    )


def _told_by_the_fit(draw: Draw) -> Made:
    """What a fit says of its own rows, or of those it left out, beside the evaluation of what it writes."""
    of = datasets.data(draw)
    by = replace(datasets.way(draw, of, named=True), single=False)
    name = datasets.write(draw, of, by, "a")
    method, apart = _method(draw)
    weighted = draw.choice(([], ["--weights", "weight"]))
    metrics = "log_loss,brier,accuracy,ece" if apart and not of.tied else "log_loss,brier"
    fit = ["fit", name, "-m", method, *weighted, "--folds", draw.choice(("2", "5"))]
    crossed = ["--cross-validated", f"out.{by.form}"] if draw.chance(0.5) else []
    by_calcli(draw.folder, [*fit, "-o", "cal.json", *crossed])
    if not crossed:
        by_calcli(draw.folder, ["apply", "cal.json", name, "-o", f"out.{by.form}"])
    found = unlike_columns(draw.folder / name, draw.folder / f"out.{by.form}")
    draw.outputs.append("again.json")
    return two_calls(
        ["evaluate", f"out.{by.form}", *weighted, "--metrics", metrics, *JSON],
        [*fit, "-o", "again.json", *JSON],
        "cross-validated" if crossed else "after",
        found,
    )


def _written_otherwise(draw: Draw) -> Made:
    """The same rows in two ways to write them."""
    of = datasets.data(draw)
    ways = datasets.way(draw, of), datasets.way(draw, of)
    names = [datasets.write(draw, of, by, stem) for by, stem in zip(ways, "ab", strict=True)]
    exact = all(by.exact for by in ways)
    asked = asking.without_cllr([*asking.asked(draw, of), *asking.metrics(draw, of, exact), *JSON])
    calls = [
        ["evaluate", name, *datasets.reading(of, by), *asked] for name, by in zip(names, ways, strict=True)
    ]
    if exact and (ways[0].order or ()) == (ways[1].order or ()):
        return two_calls(*calls)
    return two_calls(*calls, "same values" if exact else "near values")


def _beside_itself(draw: Draw) -> Made:
    """A comparison of rows with themselves, in another way to write, or with their state."""
    of = datasets.data(draw)
    asked = asking.without_cllr([*asking.asked(draw, of), *asking.metrics(draw, of)])
    ways = [datasets.way(draw, of, named=True), datasets.way(draw, of, named=True)]
    alike = all(by.exact for by in ways)  # else the last digits differ, and all in one direction
    ways = [replace(by, single=ways[0].single) for by in (ways if alike else ways[:1] * 2)]
    names = [datasets.write(draw, of, by, stem) for by, stem in zip(ways, "ab", strict=True)]
    asked += _in_order(of, *ways)
    if draw.chance(0.5) and not {"--weights", "--cluster", "--priors", "--classes"} & {*asked}:
        by_calcli(draw.folder, ["evaluate", names[1], *asked, *JSON, "--save-state", "b.calcli"])
        names[1] = "b.calcli"
    names = draw.choice((names, names[::-1], names[:1] * 2, names[1:] * 2))
    return two_calls(["compare", *names, *asked, *QUICK, *JSON], [], "itself")


def _passed_by_itself(draw: Draw) -> Made:
    """A check of rows against themselves, their state or report, by rules that let nothing get worse."""
    of = datasets.data(draw)
    asked = asking.asked(draw, of)
    baseline = draw.choice(("a", "b.calcli", "report.json"))
    if baseline == "b.calcli":
        asked = asking.without("--weights", asking.only(asking.OF_STATES, asked))
    tested = baseline != "report.json"  # which has no rows to test a difference of errors with
    metrics = asking.metrics(draw, of, tested)[1].replace("cllr", "brier")
    name = datasets.write(draw, of, datasets.way(draw, of, named=True), "a")
    draw.put("calcli.toml", _policy(metrics.split(","), dict(zip(asked[::2], asked[1::2], strict=True))))
    made = {"b.calcli": ["--save-state", "b.calcli"], "report.json": ["-o", "."]}.get(baseline)
    if made:
        by_calcli(draw.folder, ["evaluate", name, *asked, "--metrics", metrics, "-q", *made])
    baseline = baseline if made else name
    weighted = asking.only(("--weights",), asked)
    return two_calls(["check", name, "--baseline", baseline, *weighted, *JSON], [], "itself")


def _policy(metrics: list[str], options: dict[str, str]) -> str:
    """Return rules that let no metric get worse, on all rows and on slices, under the settings of options."""
    general: dict[str, object] = {"min_rows": 5, "draws": 99}
    general |= {key: options[f"--{key}"] for key in ("cluster", "priors") if f"--{key}" in options}
    if "--clip" in options:
        general["clip"] = float(options["--clip"])
    if "--costs" in options:
        general["costs"] = [options["--costs"]]
    rules: list[dict[str, object]] = [
        {"metric": metric, "max_decrease" if metric in asking.HIGHER else "max_increase": 0.0}
        for metric in metrics
        if metric not in asking.UNDIRECTED
    ]
    if by := options.get("--by"):
        rules += [{**rule, "slice": f"{by}=*"} for rule in rules]
    return toml(general) + "".join("[[rules]]\n" + toml(rule) for rule in rules)


def _turned(draw: Draw) -> Made:
    """A comparison, beside that of the same systems the other way round."""
    of = datasets.data(draw)
    other = datasets.another(draw, of)
    ways = datasets.way(draw, of, named=True), datasets.way(draw, of, named=True)
    first, second = datasets.write(draw, of, ways[0], "a"), datasets.write(draw, other, ways[1], "b")
    asked = asking.without_cllr(
        [*asking.asked(draw, of), *asking.metrics(draw, of), *draw.choice(([], ["--key", "id"]))]
    )
    asked += [*_in_order(of, *ways), *QUICK, *JSON]
    return two_calls(["compare", first, second, *asked], ["compare", second, first, *asked], "turned")


def _by_states(draw: Draw) -> Made:
    """A report, comparison or check of states, of the whole or merged from parts, beside that of the rows."""
    of = datasets.data(draw)
    other = datasets.another(draw, of)
    by = replace(datasets.way(draw, of, named=True), single=False)
    names = [datasets.write(draw, one, by, stem) for one, stem in ((of, "a"), (other, "b"))]
    metrics = [*asking.metrics(draw, of)[1].split(","), "log_loss"]  # by which comparisons rank
    keyed = draw.choice(([], ["--key", "id"]))
    options = asking.asked(draw, of, *asking.OF_STATES)
    asked = ["--metrics", ",".join(dict.fromkeys(metrics)), *options, *keyed]
    both = "--weights" in options or draw.chance(0.5)
    states = [name if n and not both else f"{'ab'[n]}.calcli" for n, name in enumerate(names)]
    for rows, name, state in zip((of, other), names, states, strict=True):
        if state != name:
            _state(draw, rows, by, name, state, asked)
    given = asking.without("--weights", asked)
    how = draw.choice(("evaluate", "compare", "check"))
    if how == "evaluate":
        of_rows = asking.without("--key", asked)
        return two_calls(
            ["evaluate", states[0], *asked[:2], *JSON], ["evaluate", names[0], *of_rows, *JSON], "state"
        )
    if how == "compare":
        shown = [*QUICK, *JSON]
        return two_calls(["compare", *states, *given, *shown], ["compare", *names, *asked, *shown], "state")
    draw.put("calcli.toml", _policy(metrics, dict(zip(asked[::2], asked[1::2], strict=True))))
    beside = asking.only(("--weights", "--key"), asked)
    return two_calls(
        ["check", states[0], "--baseline", states[1], *keyed, *JSON],
        ["check", names[0], "--baseline", names[1], *beside, *JSON],
        "state",
    )


def _state(draw: Draw, of: Data, by: Way, whole: str, to: str, asked: list[str]) -> None:
    """Save the state of rows, at times merged from parts, with keys in any order."""
    if draw.chance(0.5):
        by_calcli(draw.folder, ["evaluate", whole, *asked, "-q", "--save-state", to])
        return
    parts = []
    for low, high in datasets.cuts(draw, len(of.labels)):
        part = datasets.write(draw, of.part(slice(low, high)), by, f"{to}_{low}")
        parts.append(f"{to}_{low}.calcli")
        by_calcli(draw.folder, ["evaluate", part, *asked, "-q", "--save-state", parts[-1]])
    if "--key" in asked:
        draw.shuffle(parts)
    by_calcli(draw.folder, ["merge", *parts, "-q", "-o", to])


def _repeated(draw: Draw) -> Made:
    """Rows that are repeated, beside rows with that many as weight."""
    of, times = _counted(draw)
    by = datasets.way(draw, of, named=True)
    first = datasets.write(draw, of, by, "a")
    second = datasets.write(draw, of.part(np.repeat(np.arange(len(times)), times)), by, "b")
    asked = [*asking.asked(draw, of, "--by", "--clip", "--costs", "--priors"), *asking.metrics(draw, of)]
    asked = [*asking.without_cllr(asked), *JSON]
    return two_calls(
        ["evaluate", first, "--weights", "weight", *asked], ["evaluate", second, *asked], "same values"
    )


def _fitted_to_repeated(draw: Draw) -> Made:
    """A fit to rows that are repeated, beside one to rows with that many as weight."""
    of, times = _counted(draw)
    by = datasets.way(draw, of, named=True)
    first = datasets.write(draw, of, by, "rows")
    second = datasets.write(draw, of.part(np.repeat(np.arange(len(times)), times)), by, "more")
    sums = [name for name in OF_SUMS if not (of.tied and name == "scaling-binning")]  # rounds before it bins
    method, metrics = draw.choice(sums), asking.metrics(draw, of, False)
    by_calcli(
        draw.folder, ["fit", first, "--weights", "weight", "-m", method, "--folds", "0", "-o", "cal_a.json"]
    )
    by_calcli(draw.folder, ["fit", second, "-m", method, "--folds", "0", "-o", "cal_b.json"])
    for cal in "ab":
        by_calcli(draw.folder, ["apply", f"cal_{cal}.json", first, "-o", f"{cal}.{by.form}"])
    calls = [["evaluate", f"{cal}.{by.form}", *metrics, *JSON] for cal in "ab"]
    return two_calls(*calls, "near values")


def _counted(draw: Draw) -> tuple[Data, np.ndarray]:
    """Return rows whose weights are how often they are to be repeated, and these numbers."""
    of = datasets.data(draw)
    times = draw.arrays.integers(draw.choice((0, 1, 1)), 4, size=len(of.labels))
    times[0] = 1
    beside = [(name, times * 1.0 if name == "weight" else values) for name, values in of.beside]
    return replace(of, beside=beside), times


RELATIONS: tuple[Callable[[Draw], Made], ...] = (
    _applied, _applied_to_parts, _told_by_the_fit, _written_otherwise, _beside_itself, _passed_by_itself,
    _turned, _by_states, _repeated, _fitted_to_repeated, byhand.by_hand, byhand.by_hand,
)  # fmt: skip
