"""One flat record a number, for data frames and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any

from calcli.core.results import ClassRow
from calcli.report.summary import Result

COLUMNS = (
    "path", "class", "metric", "value", "low", "high", "level",
    "if_calibrated_mean", "if_calibrated_sd", "p_value", "signature",
)  # fmt: skip


def records(results: Iterable[Result], per_class: bool = False) -> Iterator[dict[str, Any]]:
    """Yield a record for every metric of every result, and for every figure of a class if asked.

    Each has the keys `COLUMNS`; what a metric does not have is None.
    """
    for result in results:
        empty = dict.fromkeys(COLUMNS) | {"path": result.input.path}
        for name, estimate in result.metrics.items():
            record = empty | {"metric": name, "value": estimate.value, "signature": estimate.signature}
            if estimate.interval is not None:
                interval = estimate.interval
                record |= {"low": interval.low, "high": interval.high, "level": interval.level}
            if (null := estimate.if_calibrated) is not None:
                record |= {"if_calibrated_mean": null.mean, "if_calibrated_sd": null.sd}
                record |= {"p_value": null.p_value}
            yield record
        for row in result.per_class if per_class else ():
            for figure in fields(ClassRow)[1:]:
                yield empty | {"class": row.name, "metric": figure.name, "value": getattr(row, figure.name)}


def csv_text(rows: Iterable[dict[str, Any]]) -> str:
    """Return records as CSV text with a line of headings."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
