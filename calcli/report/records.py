"""One flat record a number, for data frames and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Any

from calcli.core.estimators.consistency import Null
from calcli.report.summary import Result

COLUMNS = (
    "path", "slice", "class", "metric", "value", "low", "high", "level", "sd",
    "if_calibrated_mean", "if_calibrated_sd", "p_value", "corrected_p", "signature",
)  # fmt: skip

CLASS_FIGURES = ("rows", "frequency", "mean_prob", "recall", "ece")


def records(results: Iterable[Result], per_class: bool = False) -> Iterator[dict[str, Any]]:
    """Yield a record for every metric of every result, and for every figure of a class if asked.

    Each has the keys `COLUMNS`; what a metric does not have is None.
    """
    for result in results:
        part = str(result.slice) if result.slice else None
        empty = dict.fromkeys(COLUMNS) | {"path": result.input.path, "slice": part}
        for name, estimate in result.metrics.items():
            record = empty | {"metric": name, "value": estimate.value, "sd": estimate.sd}
            record |= {"signature": estimate.signature}
            if estimate.interval is not None:
                interval = estimate.interval
                record |= {"low": interval.low, "high": interval.high, "level": interval.level}
            yield record | _null(estimate.if_calibrated)
        for row in result.per_class if per_class else ():
            for figure in CLASS_FIGURES:
                record = empty | {"class": row.name, "metric": figure, "value": getattr(row, figure)}
                yield record | _null(row.if_calibrated if figure == "ece" else None)


def _null(null: Null | None) -> dict[str, float | None]:
    if null is None:
        return {}
    names = ("if_calibrated_mean", "if_calibrated_sd", "p_value", "corrected_p")
    return dict(zip(names, (null.mean, null.sd, null.p_value, null.corrected_p), strict=True))


def csv_text(rows: Iterable[dict[str, Any]]) -> str:
    """Return records as CSV text with a line of headings."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
