"""Calls that have to say the same: of the same rows in another form, in parts, as a state, or once more."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from calcli.core.language.entries import CLASSICAL, DECOMPOSITION, ERROR, RANKING, Metric
from calcli.core.language.metrics import METRICS
from tests.hostile import expressions, rows
from tests.hostile.datasets import TABLES, cuts, put
from tests.hostile.drawing import Draw
from tests.hostile.made import Store, by_calcli
from tests.hostile.options import options
from tests.hostile.places import Made, place_of, two_calls
from tests.hostile.tables import Columns


def agreements(draw: Draw, store: Store) -> Made:
    """Return two calls that have to say the same."""
    draw.calm = True
    columns = [(name, _plain(values)) for name, values in rows.rows(draw)]
    made = draw.choice(WAYS)(draw, columns)
    made.as_it_is = True
    return made


def _plain(values: Any) -> Any:
    """Return values in a form that CSV and Parquet keep alike."""
    array = np.asarray(values)
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def _asked(draw: Draw, columns: Columns, entries: Mapping[str, Metric] = METRICS) -> list[str]:
    """Return metrics and a few settings."""
    place = place_of(columns, "a.csv")
    given = options(draw, "evaluate", place, most=4) if draw.chance(0.5) else []
    kept = []
    for text, behind in zip(given, [*given[1:], ""], strict=False):
        name, equals, _ = text.partition("=")
        if name in SETTINGS:
            kept += [text] if equals or name in FLAGS else [text, behind]
    return ["--metrics", _metrics(draw, entries), *kept, "--format", "json", "-q"]


def _metrics(draw: Draw, entries: Mapping[str, Metric]) -> str:
    return ",".join(expressions.expression(draw, entries) for _ in range(draw.choice((1, 2, 3))))


# a sample keeps neither the order of rows, by which folds are dealt, nor that of nearly equal scores
ORDERED = (RANKING, DECOMPOSITION)
UNFITTED = {
    name: one
    for name, one in METRICS.items()
    if not {"training", "estimator"} & one.arguments.keys() and one.family not in ORDERED
}
UNTIED = {name: one for name, one in UNFITTED.items() if one.family not in (ERROR, CLASSICAL)}


def _told_by_sample(columns: Columns) -> Mapping[str, Metric]:
    """Return metrics that a sample tells: where scores are nearly equal, those that this does not upset."""
    scores = [np.asarray(values) for name, values in columns if name.startswith("prob_")]
    apart = all(len(np.unique(one.astype(np.float32))) == len(one) for one in scores)
    return UNFITTED if apart else UNTIED


FLAGS = ("--test", "--no-intervals")
SETTINGS = (
    *FLAGS, "--bins", "--costs", "--level", "--draws", "--seed", "--clip",
    "--weights", "--cluster", "--priors", "--by", "--decision-column",
)  # fmt: skip


def _forms(draw: Draw, columns: Columns) -> Made:
    names = [put(draw, columns, form, "a") for form in draw.sample(TABLES, 2)]
    asked = _asked(draw, columns)
    return two_calls(["evaluate", names[0], *asked], ["evaluate", names[1], *asked])


def _beside_another(draw: Draw, columns: Columns) -> Made:
    put(draw, columns, "parquet", "a")
    put(draw, rows.another(draw, columns), "parquet", "b")
    asked = _asked(draw, columns)
    return two_calls(["evaluate", "b.parquet", "a.parquet", *asked], ["evaluate", "a.parquet", *asked])


def _parts(draw: Draw, columns: Columns) -> list[tuple[int, Columns]]:
    """Return rows in a few parts, each with the place of its first row."""
    return [
        (low, [(name, values[low:high]) for name, values in columns])
        for low, high in cuts(draw, len(columns[0][1]))
    ]


def _folder(draw: Draw, columns: Columns) -> Made:
    """Return a folder of parts beside the whole."""
    put(draw, columns, "parquet", "a")
    form = draw.choice(TABLES)
    for place, part in _parts(draw, columns):
        put(draw, part, form, f"parts/{place}")
    asked = _asked(draw, columns)
    return two_calls(["evaluate", "parts", "--concat", *asked], ["evaluate", "a.parquet", *asked])


def _state(draw: Draw, columns: Columns) -> Made:
    """Return a state beside its rows."""
    put(draw, columns, "parquet", "a")
    asked = _asked(draw, columns, _told_by_sample(columns))
    by_calcli(draw.folder, ["evaluate", "a.parquet", *asked, "--save-state", "a.calcli"])
    return two_calls(
        ["evaluate", "a.calcli", *_of_metrics(asked)], ["evaluate", "a.parquet", *asked], alike="state"
    )


def _of_metrics(asked: list[str]) -> list[str]:
    """Return the metrics asked for, and what they assume where they do not say; the rest is in a state."""
    own = [k for k, text in enumerate(asked) if text.partition("=")[0] == "--bins"]
    assumed = [text for k in own for text in asked[k : k + 1 + ("=" not in asked[k])]]
    return asked[:2] + assumed + asked[-3:]


def _merged(draw: Draw, columns: Columns) -> Made:
    """Return the states of parts, with keys merged in any order, beside the state of the whole."""
    put(draw, columns, "parquet", "a")
    asked = _asked(draw, columns)
    kept = asked[:2] + asked[-3:]
    asked += ["--label-column", "label"]  # of few rows it is not doubted, of all it may be
    by_key = ["--key", "id"] if draw.chance(0.3) else []
    by_calcli(
        draw.folder,
        ["evaluate", "a.parquet", *asked, *by_key, "--save-state", "a.calcli"],
    )
    names = []
    for place, part in _parts(draw, columns):
        put(draw, part, "parquet", f"p{place}")
        names.append(f"p{place}.calcli")
        by_calcli(draw.folder, ["evaluate", f"p{place}.parquet", *asked, *by_key, "--save-state", names[-1]])
    if by_key:
        draw.shuffle(names)
    by_calcli(draw.folder, ["merge", *names, "-o", "b.calcli"])
    if draw.chance(0.3):
        draw.outputs.append("c.calcli")
    return two_calls(["evaluate", "b.calcli", *kept], ["evaluate", "a.calcli", *kept])


def _compared(draw: Draw, columns: Columns) -> Made:
    """Return a comparison of states, or of rows that are known by a key, beside that of rows."""
    put(draw, columns, "parquet", "a")
    put(draw, other := rows.another(draw, columns), "parquet", "b")
    told = _told_by_sample([*columns, *other])
    asked = ["--metrics", _metrics(draw, told), "--format", "json", "-q"]
    names = ["a.parquet", "b.parquet"]
    for name in draw.sample(("a", "b"), draw.choice((1, 2))):
        by_calcli(draw.folder, ["evaluate", f"{name}.parquet", *asked, "--save-state", f"{name}.calcli"])
        names = [f"{name}.calcli" if one == f"{name}.parquet" else one for one in names]
    return two_calls(
        ["compare", *names, *asked], ["compare", "a.parquet", "b.parquet", *asked], alike="state"
    )


def _once_more(draw: Draw, columns: Columns) -> Made:
    """Return the same call once more."""
    names = [put(draw, columns, draw.choice(TABLES), "a")]
    names.append(put(draw, rows.another(draw, columns), "parquet", "b"))
    command = draw.choice(("evaluate", "compare", "benchmark"))
    metrics = ["--metrics", expressions.metrics(draw), "--format", "json", "-q"]
    if command == "benchmark":
        chosen = ["--methods", expressions.methods(draw), "--workers", "1"]
        called = [command, "--cal", names[0], "--test", names[1], *chosen, *metrics]
    else:
        called = [command, *names, *metrics]
    return two_calls(called, called)


def _in_another_order(draw: Draw, columns: Columns) -> Made:
    """Return rows in another order; what is drawn or folded depends on it, scores do not."""
    put(draw, columns, "parquet", "a")
    order = draw.arrays.permutation(len(columns[0][1]))
    put(draw, [(name, np.asarray(values)[order]) for name, values in columns], "parquet", "b")
    metrics = ",".join(draw.sample(ORDERLESS, 4))
    asked = ["--metrics", metrics, "--format", "json", "-q"]
    asked += draw.choice(([], ["--weights", "weight"], ["--costs", "balanced"], ["--cluster", "patient"]))
    return two_calls(["evaluate", "a.parquet", *asked], ["evaluate", "b.parquet", *asked], alike="values")


def _sliced(draw: Draw, columns: Columns) -> Made:
    """Return a slice of a report beside the report of its rows."""
    put(draw, columns, "parquet", "a")
    country = dict(columns)["country"]
    chosen = draw.choice(list(country))
    kept = np.asarray(country) == chosen
    put(draw, [(name, np.asarray(values)[kept]) for name, values in columns], "parquet", "b")
    asked = ["--metrics", ",".join(draw.sample(ORDERLESS, 4)), "--format", "json", "-q", "--by", "country"]
    return two_calls(["evaluate", "a.parquet", *asked], ["evaluate", "b.parquet", *asked], alike="slices")


def _weighed(draw: Draw, columns: Columns) -> Made:
    """Return weights beside many times as much, or rows beside them and others without weight."""
    weights = draw.arrays.choice([0.5, 1.0, 3.0], len(columns[0][1]))
    columns = [(name, weights if name == "weight" else np.asarray(values)) for name, values in columns]
    put(draw, columns, "parquet", "a")
    if draw.chance(0.5):
        factor = draw.choice((1e-9, 0.1, 7.0, 1e9))
        other = [(name, values * factor if name == "weight" else values) for name, values in columns]
    else:
        place, beside = draw.randrange(len(weights) + 1), dict(rows.another(draw, columns))
        beside["weight"] = np.zeros(len(beside["weight"]))
        other = [
            (name, np.concatenate([values[:place], beside[name], values[place:]])) for name, values in columns
        ]
    put(draw, other, "parquet", "b")
    asked = ["--metrics", _metrics(draw, UNFITTED), "--weights", "weight", "--format", "json", "-q"]
    return two_calls(["evaluate", "a.parquet", *asked], ["evaluate", "b.parquet", *asked], alike="values")


ORDERLESS = (
    "log_loss", "brier", "accuracy", "normalized_log_loss", "normalized_brier", "auroc", "ece", "mce",
    "cw_ece", "ks", "mean_confidence", "mean_gap", "ece:binning=equal-mass", "ece:lens=class-1:norm=2",
    "expected_cost",
)  # fmt: skip
WAYS: tuple[Callable[[Draw, Columns], Made], ...] = (
    _forms, _beside_another, _folder, _state, _merged, _compared, _once_more,
    _in_another_order, _sliced, _weighed,
)  # fmt: skip
