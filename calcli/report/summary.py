"""What is reported of an evaluation."""

from __future__ import annotations

from functools import cached_property

from calcli.core.evaluating.results import Evaluation, Summary
from calcli.report.findings import Verdict, Warning, verdict, warnings
from calcli.report.recalibration import Gain, recalibration_gains


class Result(Summary):
    """What is reported of one evaluation: what was found out, and what it says in words."""

    @cached_property
    def verdict(self) -> Verdict | None:
        """Whether the confidence keeps what it promises; None where nothing is known of it."""
        return verdict(self)

    @cached_property
    def warnings(self) -> tuple[Warning, ...]:
        """What stands in the way of trusting a number."""
        return tuple(warnings(self))

    @property
    def of_two(self) -> bool:
        """Whether there are two classes, the second of which is the one that is looked at."""
        return self.input.classes == 2 and not self.input.of_answers

    @cached_property
    def recalibration(self) -> tuple[Gain, ...]:
        """What recalibration would win, by each way that was tried."""
        one_class = not self.input.of_answers and sum(row.rows > 0 for row in self.per_class) == 1
        return recalibration_gains(
            self.estimates, self.input.classes, one_class=one_class, backwards=self.backwards_area is not None
        )

    @property
    def gain(self) -> Gain | None:
        """What recalibration would win on rows that it was not fitted to; None where nothing tells."""
        return next((gain for gain in self.recalibration if gain.on_unseen), None)


def summarize(evaluation: Evaluation) -> Result:
    """Return what is reported of an evaluation, without its rows."""
    return Result(**vars(evaluation.summary))
