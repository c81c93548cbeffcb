"""The number of rows that a decision needs, as shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from calcli.core.estimators.intervals import level_percent
from calcli.core.estimators.power import POWER, Power
from calcli.core.language.text import counted, number
from calcli.report.objects import DetectNeedObject, MarginNeedObject, NeedObject, PlanObject, WidthNeedObject
from calcli.report.shown import Column, Shown, TextTable


@dataclass(frozen=True)
class Need:
    """A metric and the facts about its plan.

    Attributes
    ----------
    metric
        Its expression.
    value
        Value of the only file, or of the old one.
    width
        The requested half-width, or the margin of the difference.
    power
        The power of today's rows.
    now
        Half the width of today's interval, if a judge's verdicts make it narrower than labels alone.
    labels
        Sufficient number of labels with these verdicts; None if all labels are too few.
    seen
        Whether the width is a difference to detect.
    """

    metric: str
    value: float
    width: float
    power: Power
    now: float | None = None
    labels: int | None = None
    seen: bool = False

    @property
    def today(self) -> float:
        """The difference that today's rows detect, or half the width of the interval."""
        return self.power.detectable if self.seen else self.now or self.power.half_width

    @property
    def rows(self) -> int:
        """The rows needed, or labels if verdicts make them fewer."""
        if self.seen:
            return self.power.detecting(self.width)
        rows = self.power.known_within(self.width)
        return rows if self.labels is None else min(self.labels, rows)


@dataclass(frozen=True, repr=False, eq=False)
class PlanReport(Shown):
    """The number of rows needed, before more are labelled; printed, it shows the table of the command line.

    Attributes
    ----------
    needs
        One per metric.
    names
        Names of the files.
    paired
        Whether row i is the same case in both; False for one file.
    """

    needs: Sequence[Need]
    names: Sequence[str]
    paired: bool

    title = "Rows needed"
    schema = "calcli.plan/1"

    def tables(self) -> list[TextTable]:
        """Return the rows that each metric needs."""
        power = self.needs[0].power
        rows, level = counted(power.rows, "row"), level_percent(power.level)
        cells: list[tuple[str, ...]]
        (need, *_) = self.needs
        if need.seen or len(self.names) == 1:
            cells = [(n.metric, *map(number, (n.value, n.today, n.width)), f"{n.rows:,}") for n in self.needs]
            heads = ["value", f"± now ({level})", "± wanted", "rows needed"]
            notes = [
                f"With so many rows like the {rows} of {self.names[0]}, {POWER:.0%} of the intervals are "
                "as narrow as wanted."
            ]
            if need.seen:
                heads[1:3] = "detectable now", "difference"
                notes = [
                    f"From {rows}. With the rows shown, so large a true difference on the same rows is "
                    f"proven in {POWER:.0%} of cases, at {level}, two-sided."
                ]
            if need.now is not None:
                alone = f"Labels alone: {need.power.known_within(need.width):,}."
                notes = ["Rows needed are labels in all, with the verdicts on these rows; about ±35%.", alone]
                notes += ["No number of labels is enough: add rows with verdicts."] * (not need.labels)
        else:
            heads = ["old value", "detectable now", "margin", "rows: not worse", "rows: equivalent"]
            cells = [
                (
                    n.metric,
                    *map(number, (n.value, n.power.detectable, n.width)),
                    *(f"{of(n.width):,}" for of in (n.power.not_worse, n.power.equivalent)),
                )
                for n in self.needs
            ]
            how = "paired" if self.paired else "unpaired: as many times more of both files"
            notes = [
                f"From {rows}, {how}. With the rows shown, a new system that is as good is proven not worse "
                f"by the margin, or equivalent within it, in {POWER:.0%} of cases, at {level}."
            ]
        columns = (Column("", "left"), *map(Column, heads))
        return [TextTable(self.title, columns, tuple(cells), tuple(notes))]

    def data(self) -> PlanObject:
        """Return the same as JSON values."""
        return {
            "files": list(self.names),
            "paired": self.paired,
            "needs": [self._need(n) for n in self.needs],
        }

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield a record for every metric."""
        yield from (dict(self._need(need)) for need in self.needs)

    def _need(self, need: Need) -> WidthNeedObject | MarginNeedObject | DetectNeedObject:
        power = need.power
        document: NeedObject = {
            "metric": need.metric,
            "value": need.value,
            "rows": power.rows,
            "level": power.level,
        }
        if need.seen:
            return {
                **document,
                "difference": need.width,
                "detectable": power.detectable,
                "rows_needed": need.rows,
            }
        if len(self.names) == 1:
            return {**document, "half_width": need.width, "rows_for_width": need.rows}
        return {
            **document,
            "margin": need.width,
            "detectable": power.detectable,
            "rows_not_worse": power.not_worse(need.width),
            "rows_equivalent": power.equivalent(need.width),
        }
