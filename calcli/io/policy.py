"""Policy files: TOML to rules."""

from __future__ import annotations

import math
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args

from calcli.core.comparing.policy import DEFAULTS, Bound, End, NoWorse, Policy, Proof, Rule, Severity
from calcli.core.estimators.evidence import Margin
from calcli.core.language.errors import CalcliError, InputError, UsageError
from calcli.core.language.expressions import nearest_name, parse_metric
from calcli.core.language.settings import Settings
from calcli.io.costs import read_costs, read_priors
from calcli.io.named import parse_edges, read_class_groups

T = TypeVar("T", int, float, str, bool)

GENERAL = (
    "level", "min_rows", "resamples", "draws", "seed", "costs", "class_groups", "edges", "priors",
    "shift_to_priors", "clip", "cluster", "rules",
)  # fmt: skip
OF_RULE = (
    "metric", "max", "min", "bound", "max_increase", "max_decrease", "prove", "slice", "severity", "min_rows",
    "name",
)  # fmt: skip
GREATEST = sys.float_info.max  # TOML has inf, nan and integers of any size
CONDITIONS = ("max", "min", "max_increase", "max_decrease")


def read_policy(path: str | Path) -> Policy:
    """Read a policy from a TOML file, or from standard input if the path is `-`.

    Raises
    ------
    InputError
        If there is no such file, it is not TOML, or a rule is wrong; all wrong rules are named.
    """
    try:
        if str(path) == "-":
            path = "standard input"
            table = tomllib.load(sys.stdin.buffer)
        else:
            with open(path, "rb") as file:
                table = tomllib.load(file)
    except FileNotFoundError as error:
        raise InputError(
            f"{path}: no such file; write a first policy with calcli check --init FILE"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not TOML: {error}") from error
    return parse_policy(table, str(path))


def parse_policy(table: Mapping[str, Any], path: str) -> Policy:
    """Return the policy of a TOML table; `path` is for messages.

    Raises
    ------
    InputError
        As for `read_policy`.
    """
    faults: list[str] = []
    rules: list[Rule] = []
    settings, min_rows = DEFAULTS, 1
    try:
        _refuse_unknown(table, GENERAL)
        settings, min_rows = _settings(table), _count(table, "min_rows", 1)
    except CalcliError as fault:
        faults.append(str(fault))
    entries = table.get("rules", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries) or not entries:
        faults.append(
            'there are no rules; expected tables such as [[rules]] with metric = "log_loss" and max = 0.5'
        )
        entries = []
    for number, entry in enumerate(entries, 1):
        try:
            rules += _rules(entry, min_rows, settings.defaults)
        except CalcliError as fault:
            faults.append(f"rule {number} ({entry.get('name') or entry.get('metric', 'no metric')}): {fault}")
    if faults:
        raise InputError(f"{path}: {'; '.join(faults)}")
    return Policy(tuple(rules), settings)


def _settings(table: Mapping[str, Any]) -> Settings:
    """Return what a policy says of all rules, with the words of the command line's options."""
    level, clip = _get(table, "level", float, DEFAULTS.level), _get(table, "clip", float, DEFAULTS.clip)
    if not 0 < level < 1:
        raise UsageError(f"level is {level:g}; expected a number between 0 and 1, such as 0.95")
    if not 0 <= clip < 1:
        raise UsageError(f"clip is {clip:g}; expected a small probability, such as 1e-12")
    priors, shifted = _get(table, "priors", str, ""), _get(table, "shift_to_priors", bool, False)
    if shifted and not priors:
        raise UsageError('shift_to_priors moves to the priors of priors = "0.9,0.1"; give them as well')
    return Settings(
        level=level,
        resamples=_count(table, "resamples", DEFAULTS.resamples),
        draws=_count(table, "draws", DEFAULTS.draws),
        seed=_count(table, "seed", DEFAULTS.seed),
        clip=clip,
        costs=read_costs(_texts(table, "costs", "abstain:0.1")),
        groups=read_class_groups(_texts(table, "class_groups", "kind=cat+dog,cow+horse")),
        edges=parse_edges(_texts(table, "edges", "mine=0,0.5,0.9,1")),
        priors=read_priors(priors) if priors else None,
        shift_to_priors=shifted,
        cluster=_get(table, "cluster", str, "") or None,
    )


def _count(table: Mapping[str, Any], key: str, default: int) -> int:
    count = _get(table, key, int, default)
    if count < 0:
        raise UsageError(f"{key} is {count}; expected a number of at least 0")
    return count


def _texts(table: Mapping[str, Any], key: str, example: str) -> tuple[str, ...]:
    texts = table.get(key, [])
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise UsageError(f'{key} is {texts!r}; expected a list of text, such as ["{example}"]')
    return tuple(texts)


def _rules(entry: Mapping[str, Any], min_rows: int, defaults: Mapping[str, str | int]) -> list[Rule]:
    """Return one rule for each condition of an entry."""
    _refuse_unknown(entry, OF_RULE)
    if "metric" not in entry:
        raise UsageError('metric is missing; expected, for example, metric = "log_loss"')
    call = parse_metric(_get(entry, "metric", str, ""), defaults)
    common = {
        "part": _slice(_get(entry, "slice", str, "")),
        "severity": _choice(entry, "severity", get_args(Severity)),
        "min_rows": _count(entry, "min_rows", min_rows),
        "name": _get(entry, "name", str, ""),
    }
    conditions: list[Bound | NoWorse] = []
    if "bound" in entry and not {"max", "min"} & entry.keys():
        raise UsageError("bound says what max or min is compared with; there is neither")
    for key, most in (("max", True), ("min", False)):
        if key in entry:
            end: End = _choice(entry, "bound", get_args(End))
            conditions.append(Bound(_get(entry, key, float, 0.0), most, end))
    worse = {"lower": "max_increase", "higher": "max_decrease"}.get(call.entry.direction)
    for key in ("max_increase", "max_decrease"):
        if key in entry and key != worse:
            mend = f"use {worse}" if worse else "give it max and min"
            raise UsageError(f"{key} of {call}: {call.entry.direction} is better; {mend}")
    if worse is not None and worse in entry:
        proof: Proof = _choice(entry, "prove", get_args(Proof))
        conditions.append(NoWorse(_margin(worse, entry[worse]), proof))
    elif "prove" in entry:
        raise UsageError(f"prove is about a baseline; say how much worse is allowed with {worse} = 0.01 or 0")
    if not conditions:
        raise UsageError(f"it asks for nothing; expected one of {', '.join(CONDITIONS)}")
    return [Rule(call, condition, **common) for condition in conditions]


def _margin(key: str, value: Any) -> Margin:
    """Return the margin that a number, or text such as `5%`, stands for."""
    relative = isinstance(value, str) and value.strip().endswith("%")
    try:
        size = float(value.strip()[:-1]) / 100 if relative else float(value)
        if isinstance(value, (bool, str)) and not relative:
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        size = math.nan
    if not 0 <= size < math.inf:
        raise UsageError(
            f'{key} is {value!r}; expected a number of at least 0, such as 0.01, or a share, "5%"'
        )
    return Margin(relative=size) if relative else Margin(absolute=size)


def _slice(text: str) -> str:
    column, equals, value = text.partition("=")
    if text and not (column and equals and value):
        raise UsageError(f'slice is {text!r}; expected a column and a value, as in "country=DE"')
    return text


def _get(table: Mapping[str, Any], key: str, kind: type[T], default: T) -> T:
    """Return the value of a key, which must be of a kind; whole numbers are numbers."""
    value = table.get(key, default)
    allowed: Any = (int, float) if kind is float else kind
    wrong_bool = isinstance(value, bool) and kind is not bool
    if wrong_bool or not isinstance(value, allowed) or (kind is float and not abs(value) <= GREATEST):
        what = {int: "a whole number", float: "a finite number", str: "text", bool: "true or false"}[kind]
        raise UsageError(f"{key} is {value!r}; expected {what}")
    return kind(value)


def _choice(table: Mapping[str, Any], key: str, choices: tuple[Any, ...]) -> Any:
    value = table.get(key, choices[0])
    if value not in choices:
        expected = ", ".join(f'"{choice}"' for choice in choices)
        raise UsageError(f"{key} is {value!r}; expected one of {expected}{nearest_name(str(value), choices)}")
    return value


def _refuse_unknown(table: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in table:
        if key not in known:
            raise UsageError(f"unknown key {key!r}{nearest_name(key, known)}; known are {', '.join(known)}")
