"""Costs of decisions and class priors, from words, numbers and files."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

from calcli.core.data.derived import Priors
from calcli.core.estimators.costs import FORMS, CostTable, Definition, parse_cost_word, with_distinct_names
from calcli.core.language.errors import InputError, UsageError
from calcli.io.messages import listed
from calcli.io.places.paths import AnyPath, path_of
from calcli.io.places.small import ENDINGS, by_class, is_small_file, lines_of, tree

Row: TypeAlias = Mapping[str, Any]

CSV_COSTS = "a line of decisions, then for each class its name and its costs"
CSV_PRIORS = "a line for each class: its name and its prior"


def read_costs(texts: tuple[str, ...]) -> tuple[Definition, ...]:
    """Return costs by word, such as `abstain:0.1`, or from files, which are called by their stem.

    Raises
    ------
    UsageError
        If something is neither, or two are called the same.
    InputError
        If a file is damaged, or its costs are not numbers.
    """
    return with_distinct_names([parse_cost_word(text) or _cost_table(text) for text in texts])


def read_priors(text: str) -> Priors:
    """Return priors: `uniform`, numbers separated by commas in the order of the classes, or a file.

    Raises
    ------
    UsageError
        If it is none of these.
    InputError
        If a file is damaged, or its priors are not numbers.
    """
    if text == "uniform":
        return Priors()
    if not is_small_file(text):
        try:
            return Priors(tuple(float(part) for part in text.split(",")))
        except ValueError:
            raise UsageError(
                f"{text!r} is not a list of priors; expected uniform, numbers such as 0.9,0.1, or a file "
                f"that ends in {listed(ENDINGS)}"
            ) from None
    path = path_of(text)
    found = by_class(path, CSV_PRIORS, head="prior")
    values = tuple(_number(path, (name,), value) for name, value in found.items())
    return Priors(values, tuple(found))


def _cost_table(text: str) -> CostTable:
    path = path_of(text)
    if not is_small_file(text):
        raise UsageError(
            f"{text!r} is not a list of costs; expected {FORMS}, or a file that ends in {listed(ENDINGS)}"
        )
    rows = _csv_costs(path) if path.suffix.lower() == ".csv" else tree(path)
    for name, row in rows.items():
        if not isinstance(row, Mapping) or not row:
            raise InputError(f"{path}: class {name!r} has no costs by decision; expected a number for each")
    if not rows:
        raise InputError(f"{path} has no costs; expected a row for each class")
    first, decisions = next((name, tuple(row)) for name, row in rows.items())
    for name, row in rows.items():
        if set(row) != set(decisions):
            odd = next(iter(set(row) ^ set(decisions)))
            raise InputError(f"{path}: only one of the classes {first!r} and {name!r} has a cost of {odd!r}")
    costs = tuple(tuple(_number(path, (name, d), row[d]) for d in decisions) for name, row in rows.items())
    return CostTable(path.stem, tuple(rows), decisions, costs)


def _csv_costs(path: AnyPath) -> dict[str, Row]:
    (_, *decisions), *lines = lines_of(path, CSV_COSTS)
    if len(set(decisions)) < len(decisions):
        raise InputError(f"{path}: a decision is named twice in the first line")
    rows: dict[str, Row] = {}
    for number, (name, *costs) in enumerate(lines, start=2):
        if len(costs) != len(decisions):
            raise InputError(f"{path}: line {number} has {len(costs)} costs for {len(decisions)} decisions")
        if name in rows:
            raise InputError(f"{path}: class {name!r} has two rows")
        rows[name] = dict(zip(decisions, costs, strict=True))
    return rows


def _number(path: AnyPath, place: tuple[str, ...], value: Any) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{path}: {' / '.join(place)} is {value!r}; expected a finite number")
    return number
