"""Operating points: what the rows at or above a threshold of the second class's probability are worth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

from calcli.core.estimators.intervals import Interval
from calcli.core.evaluating.results import Estimate
from calcli.core.evaluating.usual import COST, OPERATING
from calcli.core.language.text import number
from calcli.report.estimates import cell, interval_head, of_class
from calcli.report.findings import Result
from calcli.report.shown import Column, TextTable

TITLE = "Operating points"
RATES = ("at or above", "precision", "recall", "false positive rate")
HEADS = ("threshold", *RATES, "net benefit", "treat all", "avoided")
COSTS = "cost of "
PER_ROW = "cost: the mean of all rows."
BENEFIT = (
    "net benefit: true positives per row less false ones at the odds of the threshold; treat all: the net "
    "benefit if every row is at or above it; avoided: interventions per 100 rows that treating all would add "
    "without any benefit."
)


@dataclass(frozen=True)
class OperatingPoint:
    """What a threshold is worth beside treating every row (Vickers & Elkin 2006).

    Attributes
    ----------
    threshold
        Of the probability of the second class, in (0, 1).
    treat_all
        Net benefit if every row were at or above it, -inf to 1.
    standardized_net_benefit
        Net benefit as a share of the frequency of the class, at most 1.
    avoided
        Interventions per 100 rows that treating all would add at the same net benefit.
    """

    threshold: float
    treat_all: float
    standardized_net_benefit: float
    avoided: float


def operating_points(result: Result) -> Iterator[tuple[OperatingPoint, dict[str, Estimate]]]:
    """Yield each threshold asked for with its estimates, by the name of the metric."""
    for threshold in result.settings.thresholds:
        calls = {estimate.metric: estimate for estimate in result.points.values()}
        estimates = {
            COSTS + call.arguments["costs"] if call.entry.name == COST else call.entry.name: estimate
            for call, estimate in calls.items()
            if call.arguments["threshold"] == threshold
        }
        if {*OPERATING} - estimates.keys() or not result.per_class:  # of a state that does not keep them
            continue
        frequency, odds = result.per_class[1].frequency, threshold / (1 - threshold)
        benefit, treat_all = estimates["net_benefit"].value, frequency - (1 - frequency) * odds
        standardized = benefit / frequency if frequency else float("nan")
        avoided = 100 * (benefit - treat_all) / odds
        yield OperatingPoint(threshold, treat_all, standardized, avoided), estimates


def operating_table(result: Result, name: str = "") -> list[TextTable]:
    """Return a row for each threshold, of data called so among several; nothing if none is asked for."""
    points = list(operating_points(result))
    if not points:
        return []
    costs = [name for name in points[0][1] if name.startswith(COSTS)]
    rows = tuple(
        (
            f"{point.threshold:g}",
            *(_share(estimates[name]) for name in ("alert_rate", "precision", "recall")),
            _share(_of_the_others(estimates["specificity"])),
            cell(estimates["net_benefit"]),
            number(point.treat_all),
            f"{point.avoided:.1f}",
            *(cell(estimates[cost]) for cost in costs),
        )
        for point, estimates in points
    )
    estimates = [estimate for _, of_point in points for estimate in of_point.values()]
    notes = (f"In brackets: the {interval_head(estimates)}.", BENEFIT, *[PER_ROW] * bool(costs))
    title = of_class(TITLE, [result.input]) + (f", {name}" if name else "")
    return [TextTable(title, tuple(map(Column, (*HEADS, *costs))), rows, notes)]


def _share(estimate: Estimate) -> str:
    """Return a share in percent, with the ends of its interval."""
    interval = estimate.interval
    ends = f" ({100 * interval.low:.1f} to {100 * interval.high:.1f})" if interval else ""
    return f"{100 * estimate.value:.1f}%{ends}"


def _of_the_others(share: Estimate) -> Estimate:
    """Return the estimate of 1 less a share."""
    interval = share.interval
    turned = interval and Interval(1 - interval.high, 1 - interval.low, interval.level)
    return replace(share, value=1 - share.value, interval=turned)


def point_objects(result: Result) -> list[dict[str, float]]:
    """Return the operating points as JSON values; their metrics stand among the others."""
    return [asdict(point) for point, _ in operating_points(result)]
