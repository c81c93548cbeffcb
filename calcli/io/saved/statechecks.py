"""What the numbers of a state must be; what somebody changed shows when it is read, not in a result."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import get_args

import numpy as np

from calcli.core.data.arrays import LARGEST, Array
from calcli.core.data.binning import Bins
from calcli.core.data.predictions import Kind
from calcli.core.language.metrics import METRICS
from calcli.core.language.settings import LARGEST_ROW
from calcli.core.state.state import Body, Facts, Head, Part

WHOLE = re.compile(
    r"(bins|cells)/.*/(count|counts|keys|cells)|(rows|sample)/(labels|hashes|numbers)|deals/(count|digest|infinite/.*)"
)
ROUNDING = 1e-6  # by which a probability may be above 1
ANY_SIGN = re.compile(r"rows/columns/|deals/sums/|cells/.*/places|bins/.*/score|sample/scores")
MAY_BE_INFINITE = ("rows/columns/", "sample/scores")


def check_arrays(arrays: Mapping[str, Array]) -> None:
    """Raise a ValueError unless all arrays hold numbers, those of rows counts."""
    for name, array in arrays.items():
        kinds, kind = "iu" if WHOLE.fullmatch(name) else "biuf", array.dtype.kind
        if kind in kinds and (kind in "bu" or not array.size):
            continue
        ends = (array.min(), array.max()) if kind in kinds else (np.nan,)  # nan if there is one
        if np.isnan(ends[0]):
            raise ValueError(f"{name} holds something other than {'counts' if kinds == 'iu' else 'numbers'}")
        if not ANY_SIGN.match(name) and ends[0] < 0:
            raise ValueError(f"{name} holds negative numbers")
        if not name.startswith(MAY_BE_INFINITE) and np.isinf(ends).any():
            raise ValueError(f"{name} holds infinite numbers")


def check_told(head: Head, facts: Facts, parts: tuple[Part, ...]) -> None:
    """Raise a ValueError unless the head holds text and numbers where they belong."""
    texts = (*head.classes, head.kind_reason, head.dtype, head.labels, *head.metrics)
    texts = (*texts, *(text for part in parts for text in (part.name, part.digest, part.run)))
    texts = (*texts, *(text for group in head.groups.values() for pair in group.items() for text in pair))
    counts = (
        facts.zeros,
        facts.ones,
        facts.tied_rows,
        *(n for part in parts for n in (part.rows, part.first, part.left)),
    )
    sound = (
        all(isinstance(text, str) for text in texts)
        and len(head.classes) == len(set(head.classes)) >= 2
        and head.kind in get_args(Kind)
        and np.dtype(head.dtype).kind in "biuf"
        and head.computed_in in ("float32", "float64")
        and isinstance(head.weighted, bool)
        and isinstance(head.percent, bool)
        and _is_number(head.clip) and 0 <= head.clip < 1
        and all(len(names) == 3 for names in head.lenses.values())
        and all(type(count) is int and count >= 0 for count in counts)
        and _is_number(facts.worst_row_sum) and facts.worst_row_sum > 0
        and bool(parts) and all(part.first <= LARGEST_ROW for part in parts)
    )  # fmt: skip
    if not sound:
        raise ValueError("its head is not that of a state")


def check_rows(head: Head, parts: tuple[Part, ...], body: Body) -> None:
    """Raise a ValueError unless the columns of rows are there, of their types and within their range."""
    columns, n = body.columns, sum(part.rows for part in parts)
    if len(body.labels) != n:
        raise ValueError(f"{len(body.labels)} rows, of {n} in its parts")
    if body.numbers.shape != (n,) or (np.diff(body.numbers) < 1).any():
        raise ValueError("rows are not in the order of their numbers")
    flags = {"hit", "clipped", *(name for lens in head.lenses.values() for name in lens[1:] if name)}
    scores = {lens[0] for lens in head.lenses.values()}
    if not (flags | scores) - {"clipped"} <= columns.keys():
        raise ValueError("a statistic is missing")
    for name, values in columns.items():
        floats = values.dtype in (np.float32, np.float64)  # scores are sorted by their bits
        if not (values.dtype == bool and name not in scores) and (name in flags or not floats):
            raise ValueError(f"rows/columns/{name} is of type {values.dtype}")
        if name in METRICS and _is_below(values, METRICS[name].range):
            raise ValueError(f"rows/columns/{name} holds values that no row has")
        if name in scores and len(values) and not (values.min() >= 0 and values.max() <= 1 + ROUNDING):
            raise ValueError(f"rows/columns/{name} holds no probabilities")


def check_bins(bins: Bins) -> None:
    """Raise a ValueError unless sums of probabilities and of outcomes fit to the weight of each bin."""
    most = bins.weight * (1 + ROUNDING) + ROUNDING * max(1, bins.weight.sum(-1).max())  # a bin may be a rest
    if not ((np.abs(bins.score) <= most) & (bins.outcome <= most)).all():
        raise ValueError("bins hold more than their rows")


def check_sample(kind: Kind, scores: Array) -> None:
    """Raise a ValueError unless the scores of each row can be those of some classes."""
    least = 0.0 if kind == "probs" else -np.inf
    if scores.min() > least and scores.max() <= LARGEST:  # most often, and the largest of each row takes long
        return
    best = scores.max(axis=1)
    if not (np.abs(best) <= LARGEST).all() or (
        kind == "probs" and not (scores.min() >= 0 and best.min() > 0)
    ):
        raise ValueError("the sample holds rows that are no scores")


def _is_below(values: Array, told: str) -> bool:
    """Tell whether a value is below a range such as "0 to inf"; never if that begins with words."""
    try:
        least = float(told.partition(" to ")[0])
    except ValueError:
        return False
    return bool(len(values) and values.min() < least - ROUNDING)


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and bool(np.isfinite(np.float64(value)))  # type: ignore[arg-type]
