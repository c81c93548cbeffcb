"""The families of metrics, by the key that the entries of their metrics name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from calcli.core.evaluating.families import classical, decomposition, error, ranking, recalibration, score
from calcli.core.evaluating.families.base import Family
from calcli.core.language.expressions import MetricExpression

FAMILIES: dict[str, Family] = {
    "score": score.FAMILY,
    "ranking": ranking.FAMILY,
    "error": error.FAMILY,
    "classical": classical.FAMILY,
    "decomposition": decomposition.FAMILY,
    "recalibration": recalibration.FAMILY,
}


def by_family(calls: Sequence[MetricExpression]) -> Iterator[tuple[Family, list[MetricExpression]]]:
    """Yield each family that metrics are of, with its metrics."""
    for name, family in FAMILIES.items():
        if own := [call for call in calls if call.entry.family == name]:
            yield family, own
