"""Several seeds of one model, as shown."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from calcli.core.comparing.seeds import OverSeeds
from calcli.core.evaluating.results import Summary
from calcli.core.language.numbers import apart, counted, number
from calcli.core.language.settings import Settings
from calcli.report.comparison import ShownComparison, systems_object
from calcli.report.findings import backwards_table, of_order
from calcli.report.objects import SeedsObject
from calcli.report.shown import Column, Shown, TextTable, table_of
from calcli.report.summary import short_names
from calcli.report.wording import NONE


@dataclass(frozen=True)
class SeedsReport(Shown):
    """A model's metrics over several seeds.

    Attributes
    ----------
    summaries
        One a seed.
    spreads
        Of each metric over them.
    settings
        How they were evaluated.
    """

    summaries: Sequence[Summary]
    spreads: Sequence[OverSeeds]
    settings: Settings

    title = ShownComparison.title
    schema = "calcli.seeds/1"

    def tables(self) -> list[TextTable]:
        """Return a row for each metric."""
        names = short_names([one.input.path for one in self.summaries])
        found = ((spread.call.asked, spread) for spread in self.spreads)
        cells: dict[Column, Callable[[OverSeeds], str]] = {
            Column("mean"): lambda one: number(one.mean, digits=apart(one.sd)),
            Column("sd"): lambda one: NONE if math.isnan(one.sd) else number(one.sd, digits=apart(one.sd)),
            Column("least"): lambda one: number(one.least, digits=apart(one.sd)),
            Column("greatest"): lambda one: number(one.greatest, digits=apart(one.sd)),
        }
        note = f"sd is that between seeds of one model (divisor n - 1): {', '.join(names)}."
        first = backwards_table([*zip(names, map(of_order, self.summaries), strict=True)])
        return [*first, table_of(f"{counted(len(names), 'seed')} of one model", found, cells, (note,))]

    def content(self) -> SeedsObject:
        """Return settings, systems, and metrics over the seeds."""
        return {
            "settings": asdict(self.settings),
            "systems": systems_object(self.summaries, [0] * len(self.summaries)),
            "over_seeds": {
                spread.call.asked: {key: value for key, value in asdict(spread).items() if key != "call"}
                for spread in self.spreads
            },
        }
