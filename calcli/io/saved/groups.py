"""What metric expressions use by name: groups of classes and weights, from options and files."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.expressions import parse_metrics
from calcli.core.language.metrics import UNIFORM
from calcli.io.places.paths import AnyPath, path_of
from calcli.io.places.small import ENDINGS, by_class, is_small_file, lines_of

NAME = re.compile(r"[^\W\d][\w.-]*")
LENS = re.compile(r"canonical|marginal|class-wise|worst-class|(top|within-top|class|predicted|largest)-\d+")
WEIGHTS = re.compile(UNIFORM)
CSV_WEIGHTS = "two columns, thresholds that ascend within 0 and 1 and their weights of at least 0"
CSV_GROUPS = "a line for each class: its name and its group"


def read_class_groups(
    given: tuple[str, ...] | Mapping[Any, Any], called: str = "--class-groups"
) -> dict[str, dict[str, str]]:
    """Return partitions of the classes by name, each as the group of every class.

    Parameters
    ----------
    given
        `NAME=a+b,c+d`, or `NAME=FILE` with a CSV, JSON or TOML file that gives each class its group; or a
        mapping of names to that, or to the group of each class.
    called
        The setting, for messages.

    Raises
    ------
    UsageError
        If a name cannot be used, or a class is in two groups.
    InputError
        If a file is damaged, or a group is neither text nor a number.
    """
    found: dict[str, dict[str, str]] = {}
    for name, value in _by_name(called, given, "size=cat+mouse,horse+cow", LENS):
        if isinstance(value, Mapping) and value:
            found[name] = _groups_of(value, f"{called} {name}")
        elif not isinstance(value, str):
            raise UsageError(
                f"{called} {name} is {value!r}; expected the group of each class, such as "
                '{"cat": "small", "horse": "large"}'
            )
        elif is_small_file(value):
            path = path_of(value)
            found[name] = _groups_of(by_class(path, CSV_GROUPS, head="group"), str(path))
        else:
            found[name] = _parse_groups(called, name, value)
    return found


def read_weights(
    given: tuple[str, ...] | Mapping[Any, Any], called: str = "--threshold-weights"
) -> dict[str, tuple[tuple[float, float], ...]]:
    """Return thresholds with their weights by name, from `NAME=FILE`, or by name a file or the pairs.

    The setting is `called` so in messages.

    Raises
    ------
    UsageError
        If a name cannot be used, or a file is no CSV file.
    InputError
        If a file holds something other than such a table.
    """
    found: dict[str, tuple[tuple[float, float], ...]] = {}
    for name, value in _by_name(called, given, "mine=weights.csv", WEIGHTS):
        if not isinstance(value, str):
            found[name] = weights_of(value, f"{called} {name}")
            continue
        if Path(value).suffix.lower() != ".csv":
            raise UsageError(f"{called} {name}={value}: expected a CSV file, as in {name}=weights.csv")
        found[name] = _table_of_weights(path_of(value))
    return found


def files_of_weights(metrics: Iterable[str], known: Container[str]) -> dict[str, Any]:
    """Return the tables in CSV files that metrics name, as in `weighted_risk:weights=w.csv`, by that name.

    Raises
    ------
    InputError
        If a file holds something else.
    """
    calls = parse_metrics(metrics)
    calls += [call.whole for call in calls if "score" in call.arguments]
    named = dict.fromkeys(str(call.arguments.get("weights", "")) for call in calls)
    files = [name for name in named if name.lower().endswith(".csv") and name not in known]
    return {name: _table_of_weights(path_of(name)) for name in files}


def weights_of(pairs: Any, owner: str) -> tuple[tuple[float, float], ...]:
    """Return thresholds with their weights as numbers.

    Raises
    ------
    InputError
        If they are no such table; its owner is named, and where.
    """
    if not isinstance(pairs, Iterable):
        raise InputError(f"{owner} is {pairs!r}; expected pairs of a threshold and its weight")
    table: list[tuple[float, float]] = []
    for number, pair in enumerate(pairs, 1):
        try:
            threshold, weight = map(float, pair)
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"{owner}: entry {number} is {pair!r}; expected {CSV_WEIGHTS}") from None
        if not (0 <= threshold <= 1 and 0 <= weight < math.inf):
            raise InputError(f"{owner}: entry {number} is {threshold:g}, {weight:g}; expected {CSV_WEIGHTS}")
        if table and threshold <= table[-1][0]:
            raise InputError(
                f"{owner}: threshold {threshold:g} follows {table[-1][0]:g}; expected {CSV_WEIGHTS}"
            )
        table.append((threshold, weight))
    if not any(weight for _, weight in table) or len(table) < 2:
        raise InputError(f"{owner} weighs nothing; expected {CSV_WEIGHTS}, two at the least")
    return tuple(table)


def _table_of_weights(path: AnyPath) -> tuple[tuple[float, float], ...]:
    lines = lines_of(path, CSV_WEIGHTS)
    return weights_of(lines[1:] if lines[0][1:] == ["weight"] else lines, str(path))


def _by_name(
    called: str, given: tuple[str, ...] | Mapping[Any, Any], example: str, taken: re.Pattern[str]
) -> Iterator[tuple[str, Any]]:
    """Yield names with what they stand for, from a mapping or from text with an equals sign.

    Raises
    ------
    UsageError
        If a name cannot be used, or stands for nothing.
    """
    if isinstance(given, Mapping):
        values = (os.fspath(one) if isinstance(one, os.PathLike) else one for one in given.values())
        parts = [(f"{name!r}", name, value) for name, value in zip(given, values, strict=True)]
    else:
        split = [(text, text.partition("=")) for text in given]
        parts = [(text, name.strip(), value.strip()) for text, (name, _, value) in split]
    found: set[str] = set()
    for text, name, value in parts:
        if (isinstance(value, str) and not value) or not isinstance(name, str) or not NAME.fullmatch(name):
            raise UsageError(f"{called} {text}: expected a name and what it stands for, as in {example}")
        if taken.fullmatch(name):
            raise UsageError(f"{called} {text}: {name} has a meaning of its own; choose another name")
        if name in found:
            raise UsageError(f"{called} {text}: {name} has been given before; choose another name")
        found.add(name)
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


def _groups_of(given: Mapping[Any, Any], owner: str) -> dict[str, str]:
    for name, group in given.items():
        if not isinstance(group, str | int) or isinstance(group, bool):
            raise InputError(f"{owner}: the group of class {name!r} is {group!r}; expected text or a number")
    return {str(name): str(group) for name, group in given.items()}
