"""The bins of vectors behind errors, as JSON values and as records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from calcli.core.evaluating.results import VectorBins
from calcli.report.objects import BinsObject
from calcli.report.summary import Result

COLUMNS = ("rows", "share", "mean", "frequency")


def bins_object(bins: VectorBins) -> BinsObject:
    """Return bins as JSON values: the outcomes, and of each bin numbers in their order."""
    columns = zip(*(getattr(bins, name).tolist() for name in COLUMNS), strict=True)
    return {"outcomes": bins.outcomes, "bins": [dict(zip(COLUMNS, row, strict=True)) for row in columns]}


def bins_records(results: Sequence[Result]) -> Iterator[dict[str, Any]]:
    """Yield a record for each outcome in each bin of every error of vectors."""
    for result in results:
        part = str(result.slice) if result.slice else None
        for name, estimate in result.metrics.items():
            if estimate.bins is None:
                continue
            own = {"path": result.input.path, "slice": part, "metric": name}
            for number, one in enumerate(bins_object(estimate.bins)["bins"]):
                of_bin = own | {"bin": number, "rows": one["rows"], "share": one["share"]}
                means = zip(estimate.bins.outcomes, one["mean"], one["frequency"], strict=True)
                for outcome, mean, frequency in means:
                    yield of_bin | {"outcome": outcome, "mean": mean, "frequency": frequency}
