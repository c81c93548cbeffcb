"""Settings from values, text and names of files; costs and groups of classes."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from calcli.core.data.derived import Priors
from calcli.core.estimators.costs import FORMS, CostTable, Definition, parse_cost_word, with_distinct_names
from calcli.core.language.declaring import Spelling, checked, declared
from calcli.core.language.errors import InputError, UsageError, naming
from calcli.core.language.expressions import parse_metrics
from calcli.core.language.metrics import UNIFORM
from calcli.core.language.settings import Settings
from calcli.io.messages import listed
from calcli.io.places.paths import AnyPath, path_of
from calcli.io.places.small import ENDINGS, by_class, is_small_file, lines_of, tree

PRIORS = ("priors", "shift_to_priors", "trained_at")
BY_NAME = ("groups", "threshold_weights")  # may be mappings
Row: TypeAlias = Mapping[str, Any]
CSV_COSTS = "a line of decisions, then for each class its name and its costs"
CSV_PRIORS = "a line for each class: its name and its prior"
NAME, NOTHING = re.compile(r"[^\W\d][\w.-]*"), re.compile(r"(?!)")
LENS = re.compile(r"canonical|marginal|class-wise|worst-class|(top|within-top|class|predicted|largest)-\d+")
WEIGHTS = re.compile(UNIFORM)
CSV_WEIGHTS = "two columns, thresholds that ascend within 0 and 1 and their weights of at least 0"
CSV_GROUPS = "a line for each class: its name and its group"


def settings_of(
    options: Mapping[str, Any], spelling: Spelling = "keyword", defaults: Settings | None = None
) -> Settings:
    """Return settings from values by keyword.

    Parameters
    ----------
    options
        Costs, priors, groups and weights may be text or objects.
    spelling
        Names of options, for messages.
    defaults
        Defaults.

    Raises
    ------
    UsageError
        If a setting is unknown, or its value is invalid.
    InputError
        If a file of class groups, costs, priors or weights is damaged.
    """
    options, ready, mappings = dict(options), {}, {}
    if spelling == "keyword":
        ready = {name: options.pop(name) for name, value in [*options.items()] if _is_ready(name, value)}
        if "costs" in ready:
            ready["costs"] = with_distinct_names(ready["costs"])
        mappings = {name: options.pop(name) for name in BY_NAME if isinstance(options.get(name), Mapping)}
    values = checked(Settings, options, spelling) | mappings
    called = {name: setting.spelled(spelling) for name, setting in declared(Settings).items()}
    if "costs" in values:
        with naming(called["costs"]):
            values["costs"] = read_costs(values["costs"])
    for name in PRIORS:
        if values.get(name) is not None:
            with naming(called[name]):
                values[name] = read_priors(values[name])
    if "groups" in values:
        values["groups"] = read_class_groups(values["groups"], called["groups"])
    if "threshold_weights" in values:
        values["threshold_weights"] = read_weights(values["threshold_weights"], called["threshold_weights"])
    files = files_of_weights(values.get("metrics", ()), values.get("threshold_weights", {}))
    if files:
        values["threshold_weights"] = {**values.get("threshold_weights", {}), **files}
    settings = replace(defaults or Settings(), **values, **ready)
    refuse_half_a_shift(settings, called)
    return settings


def refuse_half_a_shift(settings: Settings, called: Mapping[str, str]) -> None:
    """Raise a UsageError if the source of a shift of priors, or the class frequencies, are not given."""
    shift, trained, priors = called["shift_to_priors"], called["trained_at"], called["priors"]
    if settings.trained_at is not None and settings.shift_to_priors is None:
        raise UsageError(f"{trained} says what {shift} moves from; give that as well")
    if settings.shift_to_priors is not None and settings.priors is None and settings.trained_at is None:
        raise UsageError(
            f"{shift} moves the probabilities alone; give {priors} as well if the rows are to have these "
            "priors, or move the scores from the priors of the training with calcli apply --trained-at"
        )


def _is_ready(name: str, value: Any) -> bool:
    """Return whether a value needs no parsing."""
    if name == "costs":
        return isinstance(value, list | tuple) and all(isinstance(item, Definition) for item in value)
    return name in PRIORS and isinstance(value, Priors)


def read_costs(texts: tuple[str, ...]) -> tuple[Definition, ...]:
    """Return costs by word, such as `abstain:0.1`, or from files, named after the file's stem.

    Raises
    ------
    UsageError
        If a value is neither, or two have the same name.
    InputError
        If a file is damaged, or its costs are not numbers.
    """
    return with_distinct_names([parse_cost_word(text) or _cost_table(text) for text in texts])


def read_priors(text: str) -> Priors:
    """Return priors: `uniform`, numbers separated by commas in the order of the classes, or a file.

    Raises
    ------
    UsageError
        If the text is none of these.
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
    priors = by_class(path, CSV_PRIORS, head="prior")
    values = tuple(_number(path, (name,), value) for name, value in priors.items())
    return Priors(values, tuple(priors))


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
    start, decisions = next((name, tuple(row)) for name, row in rows.items())
    for name, row in rows.items():
        if set(row) != set(decisions):
            odd = next(iter(set(row) ^ set(decisions)))
            raise InputError(f"{path}: only one of the classes {start!r} and {name!r} has a cost of {odd!r}")
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


def read_class_groups(
    groups_given: tuple[str, ...] | Mapping[Any, Any], called: str = "--class-groups"
) -> dict[str, dict[str, str]]:
    """Return partitions of the classes by name, each as the group of every class.

    Parameters
    ----------
    groups_given
        `NAME=a+b,c+d`, or `NAME=FILE` with a CSV, JSON or TOML file that gives each class its group; or a
        mapping of names to such text, or to the group of each class.
    called
        The setting, for messages.

    Raises
    ------
    UsageError
        If a name cannot be used, or a class is in two groups.
    InputError
        If a file is damaged, or a group is neither text nor a number.
    """
    groups: dict[str, dict[str, str]] = {}
    for name, value in by_name(called, groups_given, "size=cat+mouse,horse+cow", LENS):
        if isinstance(value, Mapping) and value:
            groups[name] = _groups_of(value, f"{called} {name}")
        elif not isinstance(value, str):
            raise UsageError(
                f"{called} {name} is {value!r}; expected the group of each class, such as "
                '{"cat": "small", "horse": "large"}'
            )
        elif is_small_file(value):
            path = path_of(value)
            groups[name] = _groups_of(by_class(path, CSV_GROUPS, head="group"), str(path))
        else:
            groups[name] = _parse_groups(called, name, value)
    return groups


def read_weights(
    named_files: tuple[str, ...] | Mapping[Any, Any], called: str = "--threshold-weights"
) -> dict[str, tuple[tuple[float, float], ...]]:
    """Return thresholds with their weights by name, from `NAME=FILE`, or from files or pairs by name.

    `called` is the name of the setting in messages.

    Raises
    ------
    UsageError
        If a name cannot be used, or a file is no CSV file.
    InputError
        If a file holds no such table.
    """
    weights: dict[str, tuple[tuple[float, float], ...]] = {}
    for name, value in by_name(called, named_files, "mine=weights.csv", WEIGHTS):
        if not isinstance(value, str):
            weights[name] = weights_of(value, f"{called} {name}")
            continue
        if Path(value).suffix.lower() != ".csv":
            raise UsageError(f"{called} {name}={value}: expected a CSV file, as in {name}=weights.csv")
        weights[name] = _table_of_weights(path_of(value))
    return weights


def files_of_weights(metrics: Iterable[str], read: Container[str]) -> dict[str, Any]:
    """Return the tables in CSV files that metrics name, as in `weighted_risk:weights=w.csv`, by name.

    Raises
    ------
    InputError
        If a file holds no such table.
    """
    calls = parse_metrics(metrics)
    calls += [metric.base_score for metric in calls if "score" in metric.arguments]
    weights = dict.fromkeys(str(metric.arguments.get("weights", "")) for metric in calls)
    files = [name for name in weights if name.lower().endswith(".csv") and name not in read]
    return {name: _table_of_weights(path_of(name)) for name in files}


def weights_of(pairs: Any, owner: str) -> tuple[tuple[float, float], ...]:
    """Return thresholds with their weights as numbers.

    Raises
    ------
    InputError
        If they are no such table; the message names the owner and the place.
    """
    table: list[tuple[float, float]] = []
    for number, pair in enumerate(pairs if isinstance(pairs, Iterable) else [pairs], 1):
        try:
            threshold, weight = map(float, pair)
        except (TypeError, ValueError, OverflowError):
            threshold = weight = math.nan
        behind = f" behind {table[-1][0]:g}" if table and threshold <= table[-1][0] else ""
        if behind or not (0 <= threshold <= 1 and 0 <= weight < math.inf):
            raise InputError(f"{owner}: entry {number} is {pair!r}{behind}; expected {CSV_WEIGHTS}")
        table.append((threshold, weight))
    if not any(weight for _, weight in table) or len(table) < 2:
        raise InputError(f"{owner} weighs nothing; expected {CSV_WEIGHTS}, two at the least")
    return tuple(table)


def _table_of_weights(path: AnyPath) -> tuple[tuple[float, float], ...]:
    lines = lines_of(path, CSV_WEIGHTS)
    return weights_of(lines[1:] if lines[0][1:] == ["weight"] else lines, str(path))


def by_name(
    called: str,
    mapping: tuple[str, ...] | Mapping[Any, Any],
    example: str,
    reserved: re.Pattern[str] = NOTHING,
    names: re.Pattern[str] = NAME,
) -> Iterator[tuple[str, Any]]:
    """Yield names with their values, from a mapping or from text with equals signs.

    Raises
    ------
    UsageError
        If a name cannot be used, or has no value.
    """
    if isinstance(mapping, Mapping):
        values = (os.fspath(v) if isinstance(v, os.PathLike) else v for v in mapping.values())
        entries = [(f"{name!r}", name, value) for name, value in zip(mapping, values, strict=True)]
    else:
        split = [(text, text.partition("=")) for text in mapping]
        entries = [(text, name.strip(), value.strip()) for text, (name, _, value) in split]
    seen: set[str] = set()
    for text, name, value in entries:
        if (isinstance(value, str) and not value) or not isinstance(name, str) or not names.fullmatch(name):
            raise UsageError(f"{called} {text}: expected a name and what it stands for, as in {example}")
        if reserved.fullmatch(name):
            raise UsageError(f"{called} {text}: {name} has a meaning of its own; choose another name")
        if name in seen:
            raise UsageError(f"{called} {text}: {name} has been given before; choose another name")
        seen.add(name)
        yield name, value


def _parse_groups(called: str, name: str, text: str) -> dict[str, str]:
    group_of: dict[str, str] = {}
    for group in text.split(","):
        for member in group.split("+"):
            if member.strip() in group_of:
                raise UsageError(
                    f"{called} {name}={text}: class {member.strip()!r} is there twice; expected every "
                    f"class once, or a file that ends in {', '.join(ENDINGS)}"
                )
            group_of[member.strip()] = group.strip()
    return group_of


def _groups_of(mapping: Mapping[Any, Any], owner: str) -> dict[str, str]:
    for name, group in mapping.items():
        if not isinstance(group, str | int) or isinstance(group, bool):
            raise InputError(f"{owner}: the group of class {name!r} is {group!r}; expected text or a number")
    return {str(name): str(group) for name, group in mapping.items()}
