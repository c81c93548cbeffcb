"""Reports of `calcli evaluate` as baselines."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from calcli.core.comparing.checking import StoredReport, StoredValue
from calcli.core.data.derived import Slice
from calcli.core.estimators.intervals import Interval
from calcli.core.language.errors import InputError
from calcli.core.language.expressions import parse_metric
from calcli.io.places.paths import path_of
from calcli.io.places.small import opened

SCHEMA = "calcli.report/1"
START = 100  # bytes within which a report names its schema


def is_report(path: str) -> bool:
    """Tell whether a baseline is a report: by the ending of its name, on standard input by how it begins."""
    if path != "-":
        return path.endswith(".json") and not _holds_rows(path)
    start: bytes = sys.stdin.buffer.peek(START)  # type: ignore[union-attr]
    return b'"calcli.report/' in start[:START]


def _holds_rows(path: str) -> bool:
    """Tell whether a JSON file holds predictions: a list, or columns with data."""
    try:
        with path_of(path).open("rb") as file:
            start = file.read(START).lstrip()
    except OSError:
        return False
    return start.startswith(b"[") or b'"columns"' in start


def read_report(path: str | Path) -> StoredReport:
    """Read the values of a JSON report on one data set, from standard input if the path is `-`.

    Raises
    ------
    InputError
        If it is not such a report, of another version, or on several data sets.
    """
    with opened(path) as (file, name):
        try:
            report = json.load(file)
        except RecursionError as error:
            raise InputError(f"{name} is nested too deeply; expected a report of calcli evaluate") from error
        except ValueError as error:
            raise InputError(f"{name} is not JSON: {error}") from error
    found = report.get("schema") if isinstance(report, dict) else None
    if found != SCHEMA:
        raise InputError(
            f"{name} is not a report with schema {SCHEMA} (found {found!r}); write one with calcli "
            "evaluate FILE --format json"
        )
    try:
        return _stored(report["results"], report["settings"], name)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{name} is a damaged report ({type(error).__name__}: {error})") from error


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
        _slice(result["slice"]): {
            str(parse_metric(name, defaults)): _value(found) for name, found in result["metrics"].items()
        }
        for result in results
    }
    first = results[0]["input"]
    # priors weight rows as well, and older reports do not say
    weighted = None if settings.get("priors") else first.get("weighted")
    return StoredReport(path, tuple(first["class_names"]), metrics, settings, weighted)


def _slice(found: dict[str, str] | None) -> str:
    return "" if found is None else str(Slice(found["column"], found["value"]))


def _value(found: dict[str, Any]) -> StoredValue:
    interval = None
    if "low" in found:
        interval = Interval(float(found["low"]), float(found["high"]), float(found["level"]))
    return StoredValue(float(found["value"]), interval)
