"""The versioned JSON report: everything the tables say, with the definition of every number."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from calcli.core.estimators.consistency import Null
from calcli.core.evaluating.results import ClassRow, Estimate, Settings
from calcli.core.language.jsonvalues import json_value
from calcli.core.language.version import __version__
from calcli.report.slices import is_compared, ranked_by, with_slices, worst_slices
from calcli.report.summary import Input, Result

SCHEMA = "calcli.report/1"

Digest = Callable[[Sequence[str]], str]


def report_object(
    results: Sequence[Result], settings: Settings, digest: Digest | None = None
) -> dict[str, Any]:
    """Return the report as JSON values.

    Parameters
    ----------
    results
        One entry each.
    settings
        How they were computed.
    digest
        Returns the SHA-256 of some files; hashes are null without it.

    Returns
    -------
    Dictionaries, lists, strings, numbers, None; inf and nan, which JSON does not have, are strings.
    """
    report = {
        "schema": SCHEMA,
        "calcli": __version__,
        "settings": asdict(settings),
        "results": [
            {**_result(result, digest), **_worst(parts if result is whole else ())}
            for whole, parts in with_slices(results)
            for result in (whole, *parts)
        ],
    }
    return json_value(report)


def report_text(report: dict[str, Any]) -> str:
    """Return a report object as JSON text."""
    return json.dumps(report, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _result(result: Result, digest: Digest | None) -> dict[str, Any]:
    return {
        "input": input_object(result.input, digest),
        "slice": result.slice and asdict(result.slice) | {"compared": is_compared(result)},
        "metrics": {name: _estimate(estimate) for name, estimate in result.metrics.items()},
        "verdict": result.verdict and asdict(result.verdict),
        "infinite_log_loss": result.infinite_log_loss and asdict(result.infinite_log_loss),
        "recalibration": list(result.recalibration),
        "decisions": {name: [asdict(row) for row in rows] for name, rows in result.decisions.items()},
        "per_class": [_class(row) for row in result.per_class],
        "reliability": [asdict(row) for row in result.reliability],
        "warnings": [asdict(warning) for warning in result.warnings],
    }


def _worst(parts: Sequence[Result]) -> dict[str, Any]:
    worst = {column: part.slice.value for column, part in worst_slices(parts).items() if part.slice}
    return {"worst_slices": worst, "slices_ranked_by": ranked_by(parts[0]) if parts else None}


def input_object(summary: Input, digest: Digest | None) -> dict[str, Any]:
    """Return what was read as JSON values, with the hash of its files."""
    return asdict(summary) | {"sha256": digest(summary.files) if digest and summary.files else None}


def _estimate(estimate: Estimate) -> dict[str, Any]:
    found: dict[str, Any] = {"value": estimate.value}
    if estimate.interval is not None:
        found |= asdict(estimate.interval)
    if estimate.sd is not None:
        found["sd"] = estimate.sd
    if estimate.parts:
        found["parts"] = dict(estimate.parts)
    return found | _null(estimate.if_calibrated) | {"signature": estimate.signature}


def _class(row: ClassRow) -> dict[str, Any]:
    found = asdict(row)
    del found["if_calibrated"]
    return found | _null(row.if_calibrated)


def _null(null: Null | None) -> dict[str, Any]:
    if null is None:
        return {}
    found = {"if_calibrated": {"mean": null.mean, "sd": null.sd}, "p_value": null.p_value}
    return found if null.corrected_p is None else found | {"corrected_p": null.corrected_p}
