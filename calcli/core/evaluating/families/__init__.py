"""How the metrics of each family are measured, estimated and compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from calcli.core.evaluating.families import classical, decomposition, error, ranking, recalibration, score
from calcli.core.evaluating.families.base import Family
from calcli.core.language import entries as families
from calcli.core.language.entries import MetricFamily
from calcli.core.language.expressions import MetricExpression

FAMILIES: dict[MetricFamily, Family] = {
    families.SCORE: score.FAMILY,
    families.RANKING: ranking.FAMILY,
    families.SELECTIVE: ranking.FAMILY,
    families.ERROR: error.FAMILY,
    families.CLASSICAL: classical.FAMILY,
    families.DECOMPOSITION: decomposition.FAMILY,
    families.RECALIBRATION: recalibration.FAMILY,
}


def by_family(calls: Sequence[MetricExpression]) -> Iterator[tuple[Family, list[MetricExpression]]]:
    """Yield each family that metrics are of, with its metrics."""
    for described, family in FAMILIES.items():
        if own := [call for call in calls if call.entry.family == described]:
            yield family, own
