"""What two answers in JSON have to agree on, or one answer about a file beside itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

VALUES = ("value", "baseline", "candidate")  # what has to be the same if draws need not
ABOUT = (
    "input", "settings", "systems", "unread", "signature", "sentence", "notes", "warnings", "reading",
    "fit_seconds", "apply_seconds",
)  # fmt: skip
ALIKE = ("no evidence", "undecided", "equal", "equivalent", "untested")  # verdicts on a file beside itself


@dataclass(frozen=True)
class Likeness:
    """How far two answers are alike.

    Attributes
    ----------
    near
        Relative and absolute tolerance: by default of sums in another order.
    whole
        Whether everything said is the same, and not values alone.
    strict
        Whether the second call is answered if the first one is.
    slices
        Whether slices alone are looked at, without all rows.
    of_fit
        What is looked at in the answer of a fit.
    written
        Whether the first answer is of probabilities that were written: below 5e-324 they are 0.
    """

    near: tuple[float, float] = (1e-7, 1e-9)
    whole: bool = False
    strict: bool = True
    slices: bool = False
    of_fit: str = "after"
    written: bool = False


SINGLE = 1e-6, 1e-7  # of scores in single precision, as a state has them in its sample: errors of 6e-8
LIKENESSES = {
    "all": Likeness(whole=True),
    "values": Likeness(strict=False),
    "state": Likeness(near=SINGLE, strict=False),
    "slices": Likeness(slices=True, strict=False),
    "same values": Likeness(),
    "near values": Likeness(near=SINGLE),
    "after": Likeness(near=SINGLE, written=True),
    "cross_validated": Likeness(near=SINGLE, of_fit="cross_validated", written=True),
}


def disagreements(out: str, again: str | None, alike: str) -> Iterator[str]:
    """Yield what two answers in JSON do not agree on, at most a few."""
    if alike == "itself":
        yield from _of_itself(json.loads(out))
        return
    how = LIKENESSES[alike]
    if again is None:
        if how.strict:
            yield "answered once, and not again"
        return
    first, second = (dict(_facts(json.loads(text), how)) for text in (out, again))
    both = first.keys() & second.keys()
    different = [name for name in both if not _agree(first[name], second[name], how)]
    for name in sorted(different)[:3]:
        yield f"differs: {name} is {first[name]!r}, and again {second[name]!r}"
    if how.whole and (lone := sorted(first.keys() ^ second.keys())):
        yield f"said once: {', '.join(lone[:3])}"
    if how.strict and not both:
        yield "nothing is said twice"


def _facts(tree: Any, how: Likeness) -> Iterator[tuple[str, Any]]:
    """Yield what is said of the last file or method, each with where it is said: numbers, or values alone."""
    tree = _as_report(tree, how)
    if how.slices:
        tree.pop("None", None)
    for name, value in _leaves(tree, ""):
        if how.whole or name.rpartition("/")[2] in VALUES:
            yield name, value


def _as_report(tree: Any, how: Likeness) -> Any:
    """Return the metrics of a report by slice; those of fits and benchmarks as if they were a report's."""
    schema, results = str(tree.get("schema")).partition("/")[0], tree.get("results", [])
    if results and "metrics" in results[0]:
        last = results[-1]["input"]["path"]
        results = [one for one in results if one["input"]["path"] == last]
        return {str(one["slice"]): {"metrics": one["metrics"], "of": one["verdict"]} for one in results}
    if schema == "calcli.benchmark" and tree["trials"][-1]["values"]:
        values = tree["trials"][-1]["values"]
    elif schema == "calcli.fit":
        values = tree[how.of_fit]
    else:
        return tree
    return {"None": {"metrics": {name: {"value": value} for name, value in values.items()}}}


def _leaves(tree: Any, name: str) -> Iterator[tuple[str, Any]]:
    if isinstance(tree, (dict, list)):
        for key, one in tree.items() if isinstance(tree, dict) else enumerate(tree):
            if key not in ABOUT:
                yield from _leaves(one, f"{name}/{key}")
    else:
        yield name, tree


def _of_itself(tree: Any) -> Iterator[str]:
    """Yield where a comparison or a check finds that a file differs from itself."""
    for result in tree.get("results", []):
        if result["fault"]:
            yield f"worse than itself: {result['fault']}"
        for rule in result["rules"]:
            if rule["result"] == "failed":
                yield f"worse than itself: {rule['title']}: {rule['reason']}"
    for name, value in _leaves(tree.get("comparisons", []), ""):
        last = name.rpartition("/")[2]
        if last == "verdict" and value not in ALIKE:
            yield f"{value} than itself: {name}"
        if last == "difference" and isinstance(value, float) and not np.isclose(value, 0.0, *SINGLE):
            yield f"differs from itself: {name} is {value!r}"


def _agree(first: Any, second: Any, how: Likeness) -> bool:
    if how.written and first == "inf" and isinstance(second, float) and second > 0:
        return True  # a probability was too small to be written
    if isinstance(first, (int, float)) and isinstance(second, (int, float)):
        return bool(np.isclose(first, second, *how.near))
    return bool(first == second)
