"""Policy files: TOML to rules."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from calcli.core.comparing.policy import DEFAULTS, Bound, End, NoWorse, Policy, Rule, Severity, Undecided
from calcli.core.estimators.evidence import Margin
from calcli.core.language.declaring import NUMBER, TEXT, checked, choice, declared, mapping, whole
from calcli.core.language.errors import CalcliError, InputError, UsageError
from calcli.core.language.expressions import MetricExpression, nearest_name, parse_metric
from calcli.core.language.settings import Settings
from calcli.io.options import ReadOptions
from calcli.io.places.small import opened, parsed_toml
from calcli.io.saved.settings import settings_of

FILE, PROJECT = "calcli.toml", "pyproject.toml"  # the first one counts where both are there
FIRST = "write a first policy with calcli check --init FILE"
COUNT = whole()
OF_ALL = {one.key: name for name, one in declared(Settings).items() if one.in_policies}
GENERAL = (*OF_ALL, "min_rows", "reading", "rules")
READING = mapping('a table such as [reading] with label_column = "truth"')
OF_RULE = (
    "metric", "max", "min", "bound", "max_increase", "max_decrease", "undecided", "slice", "severity",
    "min_rows", "name",
)  # fmt: skip
FORMER = {
    "prove": 'prove = "not worse" is now undecided = "fail"; prove = "worse" needs no key: leave it out',
}
CONDITIONS = ("max", "min", "max_increase", "max_decrease")


def policy_path(given: str | None) -> str:
    """Return where the policy is: what was given, else the nearest one, here or in a folder above."""
    if given is not None:
        return given
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / FILE).exists():
            return os.path.relpath(folder / FILE)
        if (folder / PROJECT).is_file() and _holds_policy(folder / PROJECT):
            return os.path.relpath(folder / PROJECT)
    return PROJECT if Path(PROJECT).is_file() else FILE


def _holds_policy(project: Path) -> bool:
    """Tell whether a pyproject.toml has a policy, or cannot be read, which is said when it is."""
    try:
        return "calcli" in tomllib.loads(project.read_text(encoding="utf-8")).get("tool", {})
    except (OSError, ValueError, RecursionError, TypeError):
        return True


def read_policy(path: str | Path) -> Policy:
    """Read a policy from a TOML file, or from standard input if the path is `-`.

    Of a file called pyproject.toml, it is the table [tool.calcli].

    Raises
    ------
    InputError
        If there is no such file, it is not TOML, or a rule is wrong; all wrong rules are named.
    """
    with opened(path, f"; {FIRST}") as (file, name):
        try:
            table = parsed_toml(file)
            if Path(name).name != PROJECT:
                return parse_policy(table, name)
            tools = table.get("tool")
            own = tools.get("calcli") if isinstance(tools, dict) else None
            if not isinstance(own, dict):
                raise InputError(f"{name} has no table [tool.calcli] with a policy; {FIRST}")
            return parse_policy(own, f"{name}: [tool.calcli]")
        except RecursionError as error:
            raise InputError(
                f"{name} is nested too deeply; expected rules, as calcli check --init writes"
            ) from error
        except ValueError as error:  # also of integers with thousands of digits
            raise InputError(f"{name} is not TOML: {str(error).partition(';')[0]}") from error


def parse_policy(table: Mapping[str, Any], path: str) -> Policy:
    """Return the policy of a TOML table; `path` is for messages.

    Raises
    ------
    InputError
        As for `read_policy`.
    """
    faults: list[str] = []
    rules: list[Rule] = []
    settings, min_rows, reading = DEFAULTS, None, {}
    try:
        _refuse_unknown(table, GENERAL)
        given = {OF_ALL[key]: value for key, value in table.items() if key in OF_ALL}
        settings = settings_of(given, "key", DEFAULTS)
        min_rows = _min_rows(table, None)
        reading = checked(ReadOptions, READING.checked("reading", table.get("reading", {})), "key")
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
    return Policy(tuple(rules), settings, reading)


def _rules(
    entry: Mapping[str, Any], min_rows: int | None, defaults: Mapping[str, str | int]
) -> Sequence[Rule]:
    """Return one rule for each condition of an entry."""
    _refuse_unknown(entry, OF_RULE)
    if "metric" not in entry:
        raise UsageError('metric is missing; expected, for example, metric = "log_loss"')
    call = parse_metric(TEXT.checked("metric", entry["metric"]), defaults)
    common = {
        "part": _slice(TEXT.checked("slice", entry.get("slice", ""))),
        "severity": _choice(entry, "severity", Severity),
        "min_rows": _min_rows(entry, min_rows),
        "name": TEXT.checked("name", entry.get("name", "")),
    }
    rules = [Rule(call, condition, **common) for condition in _conditions(entry, call)]
    means: Undecided | None = _choice(entry, "undecided", Undecided) if "undecided" in entry else None
    return Policy(tuple(rules)).where_undecided(means).rules


def _conditions(entry: Mapping[str, Any], call: MetricExpression) -> list[Bound | NoWorse]:
    """Return what an entry asks of a metric."""
    conditions: list[Bound | NoWorse] = []
    if "bound" in entry and not {"max", "min"} & entry.keys():
        raise UsageError("bound says what max or min is compared with; there is neither")
    for key, most in (("max", True), ("min", False)):
        if key in entry:
            end: End = _choice(entry, "bound", End)
            conditions.append(Bound(NUMBER.checked(key, entry[key]), most, end))
    worse = {"lower": "max_increase", "higher": "max_decrease"}.get(call.entry.direction)
    for key in ("max_increase", "max_decrease"):
        if key in entry and key != worse:
            mend = f"use {worse}" if worse else "give it max and min"
            raise UsageError(f"{key} of {call}: {call.entry.direction} is better; {mend}")
    if worse is not None and worse in entry:
        conditions.append(NoWorse(_margin(worse, entry[worse])))
    if not conditions:
        raise UsageError(f"it asks for nothing; expected one of {', '.join(CONDITIONS)}")
    return conditions


def _min_rows(table: Mapping[str, Any], usual: int | None) -> int | None:
    return COUNT.checked("min_rows", table["min_rows"]) if "min_rows" in table else usual


def _margin(key: str, value: Any) -> Margin:
    """Return the margin that a number, or text such as `5%`, stands for."""
    try:
        if isinstance(value, bool) or (isinstance(value, str) and not value.strip().endswith("%")):
            raise ValueError
        return Margin.read(str(value))
    except ValueError as error:
        raise UsageError(
            f'{key} is {value!r}; expected a number of at least 0, such as 0.01, or a share, "5%"'
        ) from error


def _slice(text: str) -> str:
    column, equals, _ = text.partition("=")
    if text and not (column and equals):
        raise UsageError(f'slice is {text!r}; expected a column and a value, as in "country=DE"')
    return text


def _choice(table: Mapping[str, Any], key: str, of: Any) -> Any:
    values = choice(of)
    return values.checked(key, table.get(key, values.choices[0]))


def _refuse_unknown(table: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in table:
        if key in FORMER:
            raise UsageError(FORMER[key])
        if key not in known:
            raise UsageError(f"unknown key {key!r}{nearest_name(key, known)}; known are {', '.join(known)}")
