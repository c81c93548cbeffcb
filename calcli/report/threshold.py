"""A threshold on the confidence: what is promised above it, in words and tables."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from calcli.core.estimators.intervals import level_percent
from calcli.core.estimators.thresholds import Found, Threshold, ThresholdObject
from calcli.core.language.declaring import PATH
from calcli.core.language.errors import UsageError
from calcli.core.language.text import counted, percent, span
from calcli.report.estimates import NONE
from calcli.report.shown import Column, Headline, Shown, TextTable, table_of

ALL = "all rows"


@dataclass(frozen=True, repr=False, eq=False)
class ThresholdReport(Shown):
    """A threshold, or why there is none.

    Attributes
    ----------
    threshold
        What was found.
    repeats
        How rows depend on each other, as far as columns show it.
    """

    threshold: Threshold
    repeats: Sequence[str] = ()

    title = "Threshold on the confidence"
    schema = "calcli.threshold/1"

    @property
    def exit_status(self) -> int:
        """That of `calcli threshold`: 1 if nothing can be promised."""
        return 0 if self.threshold.promises else 1

    def tables(self) -> list[TextTable]:
        """Return a row for all rows, or each slice."""
        cells = {
            Column("threshold"): lambda one: NONE if one.threshold is None else repr(one.threshold),
            Column("accepted"): lambda one: percent(one.accepted_rows / one.rows),
            Column("interval"): lambda one: (
                span(one.accepted.low, one.accepted.high, percent) if one.accepted_rows else NONE
            ),
            Column("errors"): lambda one: (
                f"{one.errors:,} of {one.accepted_rows + self.threshold.of_recall * one.errors:,}"
            ),
            Column("rows"): lambda one: f"{one.rows:,}",
        }
        by, promises = self.threshold.by, self.threshold.found
        rows = [(ALL if one.value is None else f"{by}={one.value}", one) for one in promises]
        return [table_of(self.title, rows, cells, [*self._notes(), *(f"{one}." for one in self.repeats)])]

    def headline(self) -> Headline:
        """Return what is promised."""
        made_of, said = self.threshold.made_of, next(self._notes())
        return Headline(made_of["path"], said, "good" if self.threshold.promises else "bad")

    def data(self) -> ThresholdObject:
        """Return the same as nested values: those of the file."""
        return self.threshold.content()

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield a record for all rows, or each slice."""
        for one in self.threshold.found:
            yield vars(one)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the threshold's file, which `calcli apply` and `calcli check` take.

        Raises
        ------
        InputError
            If it cannot be written.
        UsageError
            If nothing is promised, or the name does not end in .json.
        """
        from calcli.io.saved.policies import save_threshold

        if not self.threshold.promises:
            raise UsageError("nothing can be promised, so there is no threshold to be saved")
        save_threshold(self.threshold, PATH.checked("path", path))

    def _notes(self) -> Iterator[str]:
        threshold = self.threshold
        what, wrong = "confidence", "wrong"
        if threshold.target is not None:
            name = threshold.target.partition(":")[2]
            what, wrong = f"probability of {name}", f"not {name}"
        above = "its threshold" if threshold.by else "the threshold"
        each = " in every slice" if threshold.by else ""
        if threshold.promises and threshold.of_recall:
            yield (
                f"With a probability of {level_percent(threshold.level)}, at least "
                f"{level_percent(1 - threshold.max_error)} of the rows that are {name} have a {what} "
                f"of at least {above}{each}."
            )
        elif threshold.promises:
            yield (
                f"With a probability of {level_percent(threshold.level)}, at most "
                f"{level_percent(threshold.max_error)} of the rows with a {what} of at least {above} are "
                f"{wrong}{each}."
            )
        if threshold.by:
            level = level_percent(threshold.found[0].level)
            yield f"{counted(len(threshold.found), 'slice')} share the level: each has {level}."
        for one in threshold.found:
            if one.threshold is None:
                yield self._refused(one)
        if threshold.cluster:
            drawn = sum(one.rows for one in threshold.found)
            yield (
                f"One row of each {threshold.cluster} was drawn (seed {threshold.seed}), {drawn:,} in all: "
                "the promise is about a random row of a random one."
            )
        if threshold.promises:
            yield "It holds for independent rows like these, if no calibrator was fitted to them."

    def _refused(self, one: Found) -> str:
        of = f" of {self.threshold.by}={one.value}" if self.threshold.by else ""
        kind = " of the class" if self.threshold.of_recall else " without an error"
        assert one.least_error is not None
        return (
            f"Nothing can be promised{of} at {level_percent(self.threshold.max_error)}; the lowest error "
            f"rate these rows support is {percent(one.least_error)}. It takes at least "
            f"{counted(one.least_rows, 'row')}{kind}; there {'is' if one.rows == 1 else 'are'} {one.rows:,}."
        )
