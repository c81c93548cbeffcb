"""Pairs of calls that must say the same: of rows in another form, order or number, as a state, recalibrated.

Each is a function that writes plain valid rows and returns two calls of them; its docstring says what is on
either side. What is tried is whether two roads to a number lead to the same one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from calcli.core.language.methods import METHODS
from tests.hostile.cases import Case
from tests.hostile.drawing import Draw
from tests.hostile.files import write
from tests.hostile.models import by_calcli, toml
from tests.hostile.options import metrics as any_metrics
from tests.hostile.tables import Rows, another, plain_rows

JSON, QUICK = ["--format", "json", "-q"], ["--draws", "99"]
TABLES = ("csv", "parquet", "jsonl", "json", "arrow")
SMOOTH = (  # what moves no more than scores do
    "log_loss", "brier", "normalized_log_loss", "normalized_brier", "mean_confidence",
)  # fmt: skip
STEPPED = (  # what a tie moves, or a score on an edge of a bin
    "accuracy", "auroc", "ece", "mce", "cw_ece", "ks", "ece:binning=equal-mass", "ece_l2", "mean_gap",
    "ece:lens=class-wise", "ece:lens=within-top-2", "top1_brier", "bayes_risk", "normalized_bayes_risk",
)  # fmt: skip
HIGHER, UNDIRECTED = ("accuracy", "auroc"), ("mean_confidence", "mean_gap")
OF_STATES = ("--by", "--clip", "--weights")  # options that go into states
WEIGHTS = ["--weights", "weight"]
SIMPLE = tuple(name for name, one in METHODS.items() if one.family != "wrapper" and name != "pool")
CONTINUOUS = (  # methods that keep apart what is apart
    "temperature", "bias", "dp", "bent-dp", "vector", "platt", "beta", "bent-temperature",
)  # fmt: skip


def _metrics(draw: Draw, of: Rows, stepped: bool = True) -> list[str]:
    """Return metrics asked for; none that ties upset where there are ties, or if it is not to be stepped."""
    kept = [*SMOOTH, *(STEPPED if stepped and not of.tied else ())]
    kept += ("cllr", "beta_score") if len(of.names) == 2 else ()
    return ["--metrics", ",".join(draw.sample(kept, 3))]


def _asked(draw: Draw, of: Rows, *names: str) -> list[str]:
    """Return options that fit the rows, of these names."""
    known = {
        "--weights": "weight", "--cluster": "patient", "--by": draw.choice(("country", "age")),
        "--clip": draw.choice(("1e-6", "0.01")),
        "--costs": draw.choice(("balanced", "abstain:0.1", f"imbalanced:{of.names[-1]}:10")),
    }  # fmt: skip
    if len(np.unique(of.labels)) == len(of.names):
        known["--priors"] = "uniform"
    given = draw.some([pair for pair in known.items() if not names or pair[0] in names], 2)
    return [text for pair in given for text in pair]


def _only(names: Sequence[str], given: list[str]) -> list[str]:
    """Return those options that have one of these names."""
    pairs = zip(given[::2], given[1::2], strict=True)
    return [text for name, value in pairs if name in names for text in (name, value)]


def _without(given: list[str], *names: str) -> list[str]:
    return _only([name for name in given[::2] if name not in names], given)


def _fit_to_priors(given: list[str]) -> list[str]:
    """Return metrics without one that priors leave nothing of, if there are any."""
    return [text.replace("cllr", "brier") for text in given] if "--priors" in given else given


@dataclass(frozen=True)
class Way:
    """How rows are written: the format, the order of the columns of classes, whether in single precision."""

    form: str
    order: tuple[int, ...]
    single: bool


def _way(draw: Draw, of: Rows, single: float = 0.25) -> Way:
    count = len(of.names)
    order = tuple(draw.sample(range(count), count)) if draw.chance(0.5) else tuple(range(count))
    return Way(draw.choice(TABLES), order, draw.chance(single))


def _put(draw: Draw, of: Rows, by: Way, stem: str) -> str:
    return write(draw, of.columns(by.order, by.single), by.form, stem)


def _in_order(of: Rows, *ways: Way) -> list[str]:
    """Return what makes files whose columns stand in several orders agree on the first of these."""
    first = ways[0].order
    same = all(by.order == first for by in ways)
    return [] if same or of.numbered else ["--classes", ",".join(of.names[n] for n in first)]


def the_same(draw: Draw) -> Case:
    """Rows, beside the same ones in another format, in parts, behind others, or once more; of any metric."""
    of = plain_rows(draw)
    by = _way(draw, of, single=0)
    first, how = _put(draw, of, by, "a"), draw.choice(("form", "form", "parts", "behind", "again"))
    asked = ["--metrics", any_metrics(draw), *_asked(draw, of), *JSON]
    asked = _fit_to_priors(asked)
    again = [first]
    if how == "form":
        again = [_put(draw, of, Way(draw.choice(TABLES), _shuffled(draw, of, by), False), "b")]
    elif how == "parts":
        _parts(draw, of, by, "parts")
        again = ["parts", "--concat"]
    elif how == "behind":
        again = [_put(draw, another(draw, of), by, "b"), first]
    if how == "again" and draw.chance(0.5):
        both = [
            "--cal",
            first,
            "--test",
            _put(draw, another(draw, of), by, "b"),
            "--methods",
            draw.choice(SIMPLE),
        ]
        asked = ["benchmark", *both, *asked[:2], *JSON]
        return Case(asked, again=asked)
    alike = "all" if how != "form" else "same values"
    return Case(["evaluate", first, *asked], again=["evaluate", *again, *asked], alike=alike)


def _shuffled(draw: Draw, of: Rows, by: Way) -> tuple[int, ...]:
    """Return another order of columns, where it is not that of the classes."""
    return tuple(draw.sample(by.order, len(by.order))) if of.numbered else by.order


def _parts(draw: Draw, of: Rows, by: Way, folder: str) -> list[str]:
    """Write rows in a few parts, and return their names."""
    size = len(of.labels)
    begins = sorted({0, *(draw.randrange(size) for _ in range(draw.choice((1, 2, 3))))})
    bounds = zip(begins, [*begins[1:], size], strict=True)
    return [_put(draw, of.part(slice(low, high)), by, f"{folder}/{low:03}") for low, high in bounds]


def in_another_order(draw: Draw) -> Case:
    """Rows, beside the same ones in another order, or a country of them beside its rows alone."""
    of = plain_rows(draw)
    by, asked = _way(draw, of), [*_metrics(draw, of), *JSON]
    first = _put(draw, of, by, "a")
    if draw.chance(0.5):
        own = replace(by, order=_shuffled(draw, of, by))
        second = _put(draw, of.part(draw.arrays.permutation(len(of.labels))), own, "b")
        return Case(["evaluate", first, *asked], again=["evaluate", second, *asked], alike="same values")
    country = of.column("country")
    second = _put(draw, of.part(country == draw.choice(list(country))), by, "b")
    asked = [*asked, "--by", "country"]
    return Case(["evaluate", first, *asked], again=["evaluate", second, *asked], alike="slices")


def _method(draw: Draw) -> tuple[str, bool]:
    """Return a method, and whether it keeps apart what is apart, so that bins and orders can be compared."""
    name = draw.choice(CONTINUOUS if draw.chance(0.5) else SIMPLE)
    wrapper = draw.choice(("per-predicted-class", "preserve-top1", "reduced")) if draw.chance(0.2) else ""
    return (f"{wrapper}:calibrator={name}", False) if wrapper else (name, name in CONTINUOUS)


def applied(draw: Draw) -> Case:
    """A fit applied to rows and evaluated, beside the benchmark of the same method, or what the fit says."""
    fitted = plain_rows(draw)
    other = plain_rows(draw, fitted.names)
    ways, weighted = (_way(draw, fitted), _way(draw, other)), draw.choice(([], WEIGHTS))
    cal, test = _put(draw, fitted, ways[0], "a"), _put(draw, other, ways[1], "b")
    method, apart = _method(draw)
    out, crossed = f"out.{draw.choice(TABLES)}", [f"crossed.{ways[0].form}"]
    fit = ["fit", cal, "-m", method, *weighted, "--folds", draw.choice(("2", "5"))]
    by_calcli(draw.folder, [*fit, "-o", "cal.json", "--cross-validated", *crossed])
    by_calcli(draw.folder, ["apply", "cal.json", test, "-o", out])
    if not ways[0].single and draw.chance(0.4):
        draw.outputs.append("again.json")
        again = [*fit, "-o", "again.json", *JSON]
        asked = [*weighted, "--metrics", "log_loss,brier", *JSON]
        return Case(["evaluate", *crossed, *asked], again=again, alike="cross_validated")
    asked = [*_asked(draw, other, "--priors", "--costs"), *_metrics(draw, other, apart)]
    asked = [*weighted, *_fit_to_priors(asked), *JSON]
    both = ["--cal", cal, "--test", test, *_in_order(fitted, *ways)]
    again = ["benchmark", *both, "--methods", method, *asked]
    return Case(["evaluate", out, *asked], again=again, alike="after")


def beside_itself(draw: Draw) -> Case:
    """Rows compared with themselves, in another way to write or as a state; or checked against themselves."""
    of = plain_rows(draw)
    ways = [_way(draw, of), _way(draw, of)]
    ways = ways if not (ways[0].single or ways[1].single) else ways[:1] * 2  # else the last digits differ
    names = [_put(draw, of, by, stem) for by, stem in zip(ways, "ab", strict=True)]
    if draw.chance(0.5):
        return _passed_by_itself(draw, of, names[0])
    asked = _fit_to_priors([*_asked(draw, of), *_metrics(draw, of)])
    asked += _in_order(of, *ways)
    if draw.chance(0.5) and not {"--weights", "--cluster", "--priors", "--classes"} & {*asked}:
        by_calcli(draw.folder, ["evaluate", names[1], *asked, *JSON, "--save-state", "b.calcli"])
        names[1] = "b.calcli"
    names = draw.choice((names, names[::-1], names[:1] * 2, names[1:] * 2))
    return Case(["compare", *names, *asked, *QUICK, *JSON], alike="itself")


def _passed_by_itself(draw: Draw, of: Rows, name: str) -> Case:
    """Return a check of rows against themselves, their state or report: nothing may get worse."""
    asked = _asked(draw, of)
    baseline = draw.choice((name, "b.calcli", "made/report.json"))
    if baseline == "b.calcli":
        asked = _without(_only(OF_STATES, asked), "--weights")
    tested = baseline != "made/report.json"  # which has no rows to test a difference of errors with
    metrics = _metrics(draw, of, tested)[1].replace("cllr", "brier")
    _policy(draw, metrics.split(","), asked)
    saved = {"b.calcli": ["--save-state", "b.calcli"], "made/report.json": ["-o", "made"]}.get(baseline)
    if saved:
        by_calcli(draw.folder, ["evaluate", name, *asked, "--metrics", metrics, "-q", *saved])
    weighted = _only(("--weights",), asked)
    return Case(["check", name, "--baseline", baseline, *weighted, *JSON], alike="itself")


def _policy(draw: Draw, metrics: list[str], asked: list[str]) -> None:
    """Write rules that let no metric get worse, on all rows and on slices, under the settings of options."""
    options = dict(zip(asked[::2], asked[1::2], strict=True))
    general: dict[str, object] = {"min_rows": 5, "draws": 99}
    general |= {key: options[f"--{key}"] for key in ("cluster", "priors") if f"--{key}" in options}
    general |= {"clip": float(options["--clip"])} if "--clip" in options else {}
    general |= {"costs": [options["--costs"]]} if "--costs" in options else {}
    rules: list[dict[str, object]] = [
        {"metric": metric, "max_decrease" if metric in HIGHER else "max_increase": 0.0}
        for metric in metrics
        if metric not in UNDIRECTED
    ]
    if by := options.get("--by"):
        rules += [{**rule, "slice": f"{by}=*"} for rule in rules]
    draw.put("calcli.toml", toml(general) + "".join("[[rules]]\n" + toml(rule) for rule in rules))


def by_states(draw: Draw) -> Case:
    """A report, comparison or check of states, of the whole or merged from parts, beside that of the rows."""
    of = plain_rows(draw)
    both = of, another(draw, of)
    by = _way(draw, of, single=0)
    names = [_put(draw, rows, by, stem) for rows, stem in zip(both, "ab", strict=True)]
    metrics = list(
        dict.fromkeys([*_metrics(draw, of)[1].split(","), "log_loss"])
    )  # by which comparisons rank
    keyed = draw.choice(([], ["--key", "id"]))
    options = _asked(draw, of, *OF_STATES)
    asked = ["--metrics", ",".join(metrics), *options, *keyed]
    states = ["a.calcli", "b.calcli" if "--weights" in options or draw.chance(0.5) else names[1]]
    for rows, name, state in zip(both, names, states, strict=True):
        if state != name:
            _state(draw, rows, by, name, state, asked)
    how = draw.choice(("evaluate", "compare", "check"))
    if how == "evaluate":
        of_rows = _without(asked, "--key")
        first, again = [states[0], *asked[:2], *JSON], [names[0], *of_rows, *JSON]
    elif how == "compare":
        shown = [*QUICK, *JSON]
        first, again = [*states, *_without(asked, "--weights"), *shown], [*names, *asked, *shown]
    else:
        _policy(draw, metrics, asked)
        beside = _only(("--weights", "--key"), asked)
        first = [states[0], "--baseline", states[1], *keyed, *JSON]
        again = [names[0], "--baseline", names[1], *beside, *JSON]
    return Case([how, *first], again=[how, *again], alike="state")


def _state(draw: Draw, of: Rows, by: Way, whole: str, to: str, asked: list[str]) -> None:
    """Save the state of rows, at times merged from parts, with keys in any order."""
    if draw.chance(0.5):
        by_calcli(draw.folder, ["evaluate", whole, *asked, "-q", "--save-state", to])
        return
    states = []
    for part in _parts(draw, of, by, f"{to}.of"):
        states.append(f"{part}.calcli")
        by_calcli(draw.folder, ["evaluate", part, *asked, "-q", "--save-state", states[-1]])
    if "--key" in asked:
        draw.shuffle(states)
    by_calcli(draw.folder, ["merge", *states, "-q", "-o", to])


@dataclass(frozen=True)
class Done:
    """An option, and how to do by hand what it does.

    Attributes
    ----------
    option
        As it is given, with whatever it takes beside it.
    before, after
        Make the rows that it is given with, and those that it makes.
    beside
        What is given with these.
    commands
        That have it.
    """

    option: list[str]
    before: Callable[[Rows], Rows]
    after: Callable[[Rows], Rows]
    beside: list[str] = ()  # type: ignore[assignment]
    commands: tuple[str, ...] = ("evaluate", "compare", "fit", "benchmark")


def by_hand(draw: Draw) -> Case:
    """An option, beside the rows that it makes, in a report, a comparison, a fit or a benchmark."""
    of = plain_rows(draw)
    done = draw.choice(WAYS)(draw, of)
    by, both = Way(draw.choice(("parquet", "csv", "arrow")), (), False), (of, another(draw, of))
    names = [
        _put(draw, change(rows), by, f"{stem}_{n}")
        for stem, change in (("before", done.before), ("after", done.after))
        for n, rows in enumerate(both)
    ]
    command = draw.choice(done.commands)
    calls = [[*_called(command, names[:2]), *done.option], [*_called(command, names[2:]), *done.beside]]
    left = done.after(of)
    given = [*_asked(draw, left, "--by", "--cluster", "--clip", "--costs"), *_metrics(draw, left)]
    if command == "fit":
        given = []
        draw.outputs.append("cal.json")
    if command == "benchmark":
        given = _without(given, "--by", "--clip", "--costs")
    given += ["--key", "id"] if command == "compare" else []  # rows may not be paired where any are dropped
    shown = JSON if command in ("fit", "benchmark") else [*QUICK, *JSON]
    return Case([*calls[0], *given, *shown], again=[*calls[1], *given, *shown], alike="same values")


def _called(command: str, names: list[str]) -> list[str]:
    if command == "fit":
        return ["fit", names[0], "-m", "temperature", "--folds", "2", "-o", "cal.json"]
    if command == "benchmark":
        return ["benchmark", "--cal", names[0], "--test", names[1], "--methods", "dp"]
    return [command, names[0], *(names[1:] if command == "compare" else [])]


def _left_out(draw: Draw, of: Rows) -> Done:
    """Leave out rows without weight or scores, or without a class, which labels in numbers can have."""
    out = draw.arrays.random(len(of.labels)) < 0.2
    weights = np.where(out, 0, of.column("weight"))
    missing = lambda rows: replace(rows, probs=np.where(out[:, None], np.nan, rows.probs))  # noqa: E731
    ways = [
        Done(WEIGHTS, lambda rows: rows.with_column("weight", weights), lambda rows: rows.part(~out), WEIGHTS)
    ]
    ways += [Done(["--drop-missing"], missing, lambda rows: rows.part(~out), [])]
    if of.numbered:
        ignored = lambda rows: replace(rows, labels=np.where(out, -100, rows.labels))  # noqa: E731
        ways += [Done(["--ignore-label", "-100"], ignored, lambda rows: rows.part(~out), [])]
    return draw.choice(ways)


def _repeated(draw: Draw, of: Rows) -> Done:
    """Weigh rows, beside repeating them, or weighing them many times as much."""
    times = draw.arrays.integers(draw.choice((0, 1, 1)), 4, size=len(of.labels))
    times[0] = 1
    weigh = lambda rows: rows.with_column("weight", times * 1.0)  # noqa: E731
    if draw.chance(0.5):
        factor = draw.choice((1e-9, 0.1, 7.0, 1e9))
        return Done(
            WEIGHTS,
            weigh,
            lambda rows: rows.with_column("weight", times * factor),
            WEIGHTS,
            ("evaluate", "compare"),
        )
    return Done(
        WEIGHTS, weigh, lambda rows: rows.part(np.repeat(np.arange(len(times)), times)), [], ("evaluate",)
    )


def _against_rest(draw: Draw, of: Rows) -> Done:
    """Take a class and all others together for two."""
    if len(of.names) == 2 or of.tied:  # one minus a score on the edge of a bin may lie beside it
        return _left_out(draw, of)
    place = draw.randrange(len(of.names))

    def two(rows: Rows) -> Rows:
        own = rows.probs[:, place]
        labels = (rows.labels == place).astype(np.int64)
        return replace(rows, probs=np.column_stack([1 - own, own]), labels=labels, names=("0", "1"))

    return Done(["--against-rest", of.names[place]], lambda rows: rows, two, [])


WAYS = (_left_out, _left_out, _repeated, _against_rest)
RELATIONS: tuple[Callable[[Draw], Case], ...] = (
    the_same, the_same, the_same, in_another_order, applied, applied, beside_itself, beside_itself, by_states,
    by_states,
    by_hand, by_hand, by_hand,
)  # fmt: skip
