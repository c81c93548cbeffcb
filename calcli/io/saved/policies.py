"""Policies from TOML, and the reports and thresholds for checks."""

from __future__ import annotations

import math
import os
import sys
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, get_args

from calcli.core.comparing.checking import StoredReport, StoredValue
from calcli.core.comparing.policy import DEFAULTS, Bound, End, NoWorse, Policy, Rule, Severity, Undecided
from calcli.core.data.derived import Slice
from calcli.core.data.predictions import Kind
from calcli.core.estimators.evidence import Margin
from calcli.core.estimators.intervals import Interval
from calcli.core.estimators.thresholds import Found, Threshold, checksum
from calcli.core.language.declaring import NUMBER, TEXT, checked, choice, declared, mapping, whole
from calcli.core.language.errors import CalcliError, InputError, UsageError
from calcli.core.language.expressions import Measure, nearest_name, parse_metric
from calcli.core.language.settings import SegmentSettings, Settings
from calcli.core.language.version import __version__
from calcli.io.options import ReadOptions
from calcli.io.places.archives import SAID, naming_faults
from calcli.io.places.outputs import atomic_path
from calcli.io.places.paths import AnyPath, path_of
from calcli.io.places.small import opened, parsed_toml
from calcli.io.saved.calibrators import check_version, pretty, read_json
from calcli.io.saved.settings import settings_of

FILE, PROJECT = "calcli.toml", "pyproject.toml"  # the first existing one counts
FIRST = "write a first policy with calcli check --init FILE"
COUNT = whole()
OF_ALL = {s.key: name for name, s in declared(Settings).items() if s.in_policies}
GENERAL = (*OF_ALL, "min_rows", "reading", "rules")
READING = mapping('a table such as [reading] with label_column = "truth"')
OF_RULE = (
    "metric", "max", "min", "bound", "max_increase", "max_decrease", "undecided", "slice", "severity",
    "min_rows", "name", "labels",
)  # fmt: skip
OF_SEGMENTS = ("segments", "max_gap", "severity", "min_rows", "name")
FORMER = {
    "prove": 'prove = "not worse" is now undecided = "fail"; prove = "worse" needs no key: leave it out',
}
CONDITIONS = ("max", "min", "max_increase", "max_decrease")
SCHEMA = "calcli.report/1"
START = 100  # bytes within which a report names its schema
THRESHOLDS_SCHEMA = "calcli.threshold/1"
WHAT = "threshold"
ENDINGS = ("", ".json")  # devices and pipes have none


def policy_path(path: str | None) -> str:
    """Return the path of the policy: the given one, or the nearest in this folder or a folder above."""
    if path is not None:
        return path
    current = Path.cwd()
    for folder in (current, *current.parents):
        if (folder / FILE).exists():
            return os.path.relpath(folder / FILE)
        if (folder / PROJECT).is_file() and _holds_policy(folder / PROJECT):
            return os.path.relpath(folder / PROJECT)
    return PROJECT if Path(PROJECT).is_file() else FILE


def _holds_policy(project: Path) -> bool:
    """Return whether a pyproject.toml has a policy, or is unreadable, as reading it then reports."""
    try:
        return "calcli" in tomllib.loads(project.read_text(encoding="utf-8")).get("tool", {})
    except (OSError, ValueError, RecursionError, TypeError):
        return True


def read_policy(path: str | Path) -> Policy:
    """Read a policy from a TOML file, or from standard input if the path is `-`.

    In a file called pyproject.toml, it is the table [tool.calcli].

    Raises
    ------
    InputError
        If there is no such file, it is not TOML, or a rule is wrong; all wrong rules are named.
    """
    with (
        opened(path, f"; {FIRST}") as (file, name),
        naming_faults(f"{name} is not TOML: {SAID}", (ValueError, RecursionError)),
    ):
        table = parsed_toml(file)
        if Path(name).name != PROJECT:
            return parse_policy(table, name)
        tools = table.get("tool")
        section = tools.get("calcli") if isinstance(tools, dict) else None
        if not isinstance(section, dict):
            raise InputError(f"{name} has no table [tool.calcli] with a policy; {FIRST}")
        return parse_policy(section, f"{name}: [tool.calcli]")


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
        values = {OF_ALL[key]: value for key, value in table.items() if key in OF_ALL}
        settings = settings_of(values, "key", DEFAULTS)
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
    if "segments" in entry:
        return [_of_segments(entry)]
    _refuse_unknown(entry, OF_RULE)
    if "metric" not in entry:
        raise UsageError('metric is missing; expected, for example, metric = "log_loss"')
    metric = parse_metric(TEXT.checked("metric", entry["metric"]), defaults)
    common = {
        "part": _slice(TEXT.checked("slice", entry.get("slice", ""))),
        "severity": _choice(entry, "severity", Severity),
        "min_rows": _min_rows(entry, min_rows),
        "name": TEXT.checked("name", entry.get("name", "")),
        "labels": _choice(entry, "labels", Literal["each", "mean"]),
    }
    if common["part"] and common["labels"] == "mean":
        raise UsageError("a rule on the mean over labels is for all rows; leave out slice")
    rules = [Rule(metric, condition, **common) for condition in _conditions(entry, metric)]
    means: Undecided | None = _choice(entry, "undecided", Undecided) if "undecided" in entry else None
    return Policy(tuple(rules)).where_undecided(means).rules


def _of_segments(entry: Mapping[str, Any]) -> Rule:
    """Return the rule on the gaps of segments of an entry."""
    _refuse_unknown(entry, OF_SEGMENTS)
    columns = declared(SegmentSettings)["columns"].values.checked("segments", entry["segments"])
    if not columns or "max_gap" not in entry:
        raise UsageError(
            'expected columns and a limit, as in segments = ["country", "device"], max_gap = 0.05'
        )
    limit = NUMBER.checked("max_gap", entry["max_gap"])
    return Rule(
        parse_metric("mean_gap"),
        Bound(limit, most=True),
        "",
        _choice(entry, "severity", Severity),
        _min_rows(entry, None),  # that of the policy is about all rows
        TEXT.checked("name", entry.get("name", "")),
        columns,
    )


def _conditions(entry: Mapping[str, Any], metric: Measure) -> list[Bound | NoWorse]:
    """Return the conditions of an entry on a metric."""
    conditions: list[Bound | NoWorse] = []
    if "bound" in entry and not {"max", "min"} & entry.keys():
        raise UsageError("bound says what max or min is compared with; there is neither")
    for key, is_most in (("max", True), ("min", False)):
        if key in entry:
            end: End = _choice(entry, "bound", End)
            conditions.append(Bound(NUMBER.checked(key, entry[key]), is_most, end))
    worse = {"lower": "max_increase", "higher": "max_decrease"}.get(metric.entry.direction)
    for key in ("max_increase", "max_decrease"):
        if key in entry and key != worse:
            mend = f"use {worse}" if worse else "give it max and min"
            raise UsageError(f"{key} of {metric}: {metric.entry.direction} is better; {mend}")
    if worse is not None and worse in entry:
        conditions.append(NoWorse(_margin(worse, entry[worse])))
    if not conditions:
        raise UsageError(f"it asks for nothing; expected one of {', '.join(CONDITIONS)}")
    return conditions


def _min_rows(table: Mapping[str, Any], usual: int | None) -> int | None:
    return COUNT.checked("min_rows", table["min_rows"]) if "min_rows" in table else usual


def _margin(key: str, value: Any) -> Margin:
    """Return the margin from a number, or from text such as `5%`."""
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


def _refuse_unknown(table: Mapping[str, Any], keys: tuple[str, ...]) -> None:
    for key in table:
        if key in FORMER:
            raise UsageError(FORMER[key])
        if key not in keys:
            raise UsageError(f"unknown key {key!r}{nearest_name(key, keys)}; known are {', '.join(keys)}")


def is_report(path: str) -> bool:
    """Return whether a baseline is a report: by its ending or, on standard input, by its first bytes."""
    start = b""
    if path == "-":
        start = sys.stdin.buffer.peek(START)  # type: ignore[union-attr]
        return b'"calcli.report/' in start[:START]
    if not path.endswith(".json"):
        return False
    with suppress(OSError), path_of(path).open("rb") as file:
        start = file.read(START).lstrip()
    return not (start.startswith(b"[") or b'"columns"' in start)  # which are predictions


def read_report(path: str | Path) -> StoredReport:
    """Read the values of a JSON report on one data set, from standard input if the path is `-`.

    Raises
    ------
    InputError
        If it is no such report, of another version, or covers several data sets.
    """
    with opened(path) as (file, name):
        report = read_json(file.read(), name, "report")
    check_version(report, name, "report", SCHEMA)
    with naming_faults(f"{name} is a damaged report ({SAID})"):
        return _stored(report["results"], report["settings"], name)


def _stored(results: list[dict[str, Any]], settings: dict[str, Any], path: str) -> StoredReport:
    inputs = {result["input"]["path"] for result in results}
    if len(inputs) != 1:
        raise InputError(
            f"{path} reports on {len(inputs)} data sets; expected one: evaluate the baseline alone"
        )
    defaults = {name: settings[name] for name in ("bins", "training")}
    if len(settings["costs"]) == 1:
        defaults["costs"] = settings["costs"][0]["name"]
    metrics = {
        str(Slice(part["column"], part["value"])) if (part := result["slice"]) else "": {
            str(parse_metric(name, defaults)): _value(entry) for name, entry in result["metrics"].items()
        }
        for result in results
    }
    input_ = results[0]["input"]
    # priors weight rows as well, and older reports do not tell
    weighted = None if settings.get("priors") else input_.get("weighted")
    return StoredReport(path, tuple(input_["class_names"]), metrics, settings, weighted)


def _value(entry: dict[str, Any]) -> StoredValue:
    interval = None
    if "low" in entry:
        interval = Interval(float(entry["low"]), float(entry["high"]), float(entry["level"]))
    return StoredValue(float(entry["value"]), interval)


def refuse_ending(path: str | Path) -> None:
    """Raise a UsageError for a file name without the ending of thresholds."""
    if (ending := Path(path).suffix.lower()) not in ENDINGS:
        raise UsageError(f"{path}: a threshold is written as JSON, not {ending}; end the name so")


def save_threshold(threshold: Threshold, path: str | Path) -> None:
    """Write a threshold file, whole or not at all.

    Raises
    ------
    InputError
        If it cannot be written there.
    UsageError
        If its name has another ending.
    """
    refuse_ending(path)
    with atomic_path(path) as temporary:
        text = pretty({"schema": THRESHOLDS_SCHEMA, "calcli": __version__, **threshold.content()}) + "\n"
        temporary.write_text(text, encoding="utf-8")


def is_threshold(path: AnyPath) -> bool:
    """Return whether a file is marked as a threshold."""
    try:
        return path.is_file() and f'"{THRESHOLDS_SCHEMA.split("/")[0]}/'.encode() in path.read_bytes()[:200]
    except OSError:
        return False


def load_threshold(path: str | Path) -> Threshold:
    """Read a threshold file.

    Raises
    ------
    InputError
        If it is missing, of an unknown version, or damaged.
    """
    file = path_of(path)
    if not file.is_file():
        raise InputError(f"{file}: no such file; expected a threshold, as written by calcli threshold -o")
    document = read_json(file.read_bytes(), file, WHAT)
    check_version(document, file, WHAT, THRESHOLDS_SCHEMA)
    with naming_faults(f"{file} is damaged ({SAID}); make it again, or copy it again"):
        content = {name: v for name, v in document.items() if name not in ("schema", "calcli", "crc32")}
        if document["crc32"] != checksum(content):
            raise ValueError("it does not have its checksum")
        return _threshold(document)


def _threshold(document: Mapping[str, Any]) -> Threshold:
    promises = [Found(**{k: cut[k] for k in Found.__dataclass_fields__}) for cut in document["thresholds"]]
    for sound, wrong in (
        (document["of"] == "confidence", f"a threshold of {document['of']}, not of the confidence"),
        (document["kind"] in get_args(Kind), "the scores are of no known kind"),
        (
            all(promise.threshold is None or math.isfinite(promise.threshold) for promise in promises),
            "a threshold that is no number",
        ),
        (promises and (document["by"] or len(promises) == 1), "its slices and thresholds do not agree"),
    ):
        if not sound:
            raise ValueError(wrong)
    names = ("kind", "target", "max_error", "level", "by", "cluster", "seed", "made_of")
    classes = tuple(map(str, document["classes"]))
    return Threshold(classes=classes, found=tuple(promises), **{name: document[name] for name in names})
