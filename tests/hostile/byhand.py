"""What an option does to rows, beside rows to which it was done by hand, in every command that takes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tests.hostile import asking, datasets
from tests.hostile.asking import JSON, QUICK
from tests.hostile.datasets import Data, Way
from tests.hostile.drawing import Draw
from tests.hostile.places import Made, two_calls

WEIGHTS = ["--weights", "weight"]


@dataclass(frozen=True)
class Done:
    """An option, and how to do by hand what it does.

    Attributes
    ----------
    option
        As it is given, with whatever it takes beside it.
    before
        Makes the rows that it is given with.
    after
        Makes the rows that it makes.
    beside
        What is given with these.
    """

    option: list[str]
    before: Callable[[Data], Data]
    after: Callable[[Data], Data]
    beside: list[str]


def by_hand(draw: Draw) -> Made:
    """An option, beside the rows that it makes, in a report, a comparison, a fit or a benchmark."""
    of = datasets.data(draw)
    other = datasets.another(draw, of)
    done = draw.choice(WAYS)(draw, of)
    by = Way(draw.choice(("parquet", "csv", "arrow")))
    names = [
        datasets.write(draw, change(rows), by, f"{stem}_{n}")
        for stem, change in (("before", done.before), ("after", done.after))
        for n, rows in enumerate((of, other))
    ]
    at_priors = "--priors" in done.option
    # a benchmark at priors judges at them, and fits as the rows are; a fit has none
    command = draw.choice(("evaluate", "compare", *(() if at_priors else ("fit", "benchmark"))))
    calls = [
        [*_called(command, names[:2]), *done.option],
        [*_called(command, names[2:]), *done.beside],
    ]
    if command == "fit":
        draw.outputs.append("cal.json")
        return two_calls(*([*call, *JSON] for call in calls), "same values")
    left = done.after(of)
    known = ["--cluster"] if command == "benchmark" else ["--by", "--cluster", "--clip", "--costs"]
    given = [*asking.asked(draw, left, *known), *asking.metrics(draw, left)]
    if at_priors:  # slices and balanced costs have those of their own
        given = asking.without("--costs", asking.without("--by", given))
        given = [text.replace("cllr", "brier") for text in given]
    if command == "compare":
        given += ["--key", "id"]  # by their order rows may not be paired where any are dropped
    shown = JSON if command == "benchmark" else [*QUICK, *JSON]
    return two_calls(*([*call, *given, *shown] for call in calls), "same values")


def _called(command: str, names: list[str]) -> list[str]:
    if command == "fit":
        return ["fit", names[0], "-m", "temperature", "--folds", "2", "-o", "cal.json"]
    if command == "benchmark":
        return ["benchmark", "--cal", names[0], "--test", names[1], "--methods", "dp"]
    return [command, names[0], *(names[1:] if command == "compare" else [])]


def _as_it_is(of: Data) -> Data:
    return of


def _ignored(draw: Draw, of: Data) -> Done:
    """Leave out rows without a class, which labels in numbers can have."""
    if not of.numbered:
        return Done([], _as_it_is, lambda rows: rows, [])
    out = draw.arrays.random(len(of.labels)) < 0.2
    return Done(
        ["--ignore-label", "-100"],
        lambda rows: replace(rows, labels=np.where(out, -100, rows.labels)),
        lambda rows: rows.part(~out),
        [],
    )


def _dropped(draw: Draw, of: Data) -> Done:
    out = draw.arrays.random(len(of.labels)) < 0.2
    return Done(
        ["--drop-missing"],
        lambda rows: replace(rows, probs=np.where(out[:, None], np.nan, rows.probs)),
        lambda rows: rows.part(~out),
        [],
    )


def _weightless(draw: Draw, of: Data) -> Done:
    out = draw.arrays.random(len(of.labels)) < 0.2
    weights = np.where(out, 0, of.column("weight"))
    return Done(WEIGHTS, lambda rows: _weighted(rows, weights), lambda rows: rows.part(~out), WEIGHTS)


def _at_priors(draw: Draw, of: Data) -> Done:
    """Move to class priors, beside weights that lead to them."""
    numbers = np.arange(len(of.labels))
    labels = np.where(numbers < len(of.names), numbers, of.labels)  # every class is there
    priors = np.asarray([draw.choice((1.0, 2.0, 5.0)) for _ in of.names])
    priors /= priors.sum()
    weights = of.column("weight") if draw.chance(0.5) else np.ones(len(labels))
    shares = np.bincount(labels, weights, len(of.names)) / weights.sum()
    to_them = weights * (priors / shares)[labels]
    return Done(
        ["--priors", ",".join(map(repr, priors.tolist())), *WEIGHTS],
        lambda rows: _weighted(replace(rows, labels=labels), weights),
        lambda rows: _weighted(replace(rows, labels=labels), to_them),
        WEIGHTS,
    )


def _weighted(of: Data, weights: np.ndarray) -> Data:
    return replace(of, beside=[(name, weights if name == "weight" else one) for name, one in of.beside])


def _against_rest(draw: Draw, of: Data) -> Done:
    """Take a class and all others together for two."""
    if len(of.names) == 2 or of.tied:  # one minus a score on the edge of a bin may lie beside it
        return _dropped(draw, of)
    place = draw.randrange(len(of.names))

    def two(rows: Data) -> Data:
        own = rows.probs[:, place]
        labels = (rows.labels == place).astype(np.int64)
        return replace(rows, probs=np.column_stack([1 - own, own]), labels=labels, names=("0", "1"))

    return Done(["--against-rest", of.names[place]], _as_it_is, two, [])


WAYS = (_ignored, _dropped, _weightless, _at_priors, _against_rest)
