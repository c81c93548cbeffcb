"""A threshold on the confidence: the promise above it, in words and tables."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
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
        Dependence between rows that columns show.
    class_name
        Name of the class with the probability that the threshold is on; "" for the confidence.
    """

    threshold: Threshold
    repeats: Sequence[str] = ()
    class_name: str = ""

    title = "Threshold"
    schema = "calcli.threshold/1"

    @property
    def exit_status(self) -> int:
        """The exit status of `calcli threshold`: 1 if nothing can be promised."""
        return 0 if self.threshold.promises else 1

    def tables(self) -> list[TextTable]:
        """Return a row for all rows, or each slice."""
        cells: dict[Column, Callable[[Found], str]] = {
            Column("threshold"): lambda entry: NONE if entry.threshold is None else repr(entry.threshold)
        }
        if self.class_name:
            cells |= {Column(name): partial(_share, name) for name in ("recall", "precision", "alerts")}
        else:
            cells[Column("accepted")] = lambda entry: percent(entry.accepted_rows / entry.rows)
            cells[Column("interval")] = lambda entry: (
                span(entry.accepted.low, entry.accepted.high, percent) if entry.accepted_rows else NONE
            )
            cells[Column("errors")] = lambda entry: f"{entry.errors:,} of {entry.accepted_rows:,}"
        rows_head = f"rows of {self.class_name}" if self.threshold.of_recall else "rows"
        cells[Column(rows_head)] = lambda entry: f"{entry.rows:,}"
        by, promises = self.threshold.by, self.threshold.found
        rows = [(ALL if promise.value is None else f"{by}={promise.value}", promise) for promise in promises]
        title = f"Threshold on the {self._scores}"
        return [table_of(title, rows, cells, [*self._notes(), *(f"{repeat}." for repeat in self.repeats)])]

    def headline(self) -> Headline:
        """Return the promises."""
        made_of, verdict = self.threshold.made_of, next(self._notes())
        return Headline(made_of["path"], verdict, "good" if self.threshold.promises else "bad")

    def data(self) -> ThresholdObject:
        """Return the same as nested values, as in the file."""
        return self.threshold.content()

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield a record for all rows, or each slice."""
        for entry in self.threshold.found:
            yield vars(entry)

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

    @property
    def _scores(self) -> str:
        """Return the name of the scores with the threshold."""
        return f"probability of {self.class_name}" if self.class_name else "confidence"

    def _notes(self) -> Iterator[str]:
        threshold, name = self.threshold, self.class_name
        above = "its threshold" if threshold.by else "the threshold"
        per_slice = " in every slice" if threshold.by else ""
        if threshold.promises:
            at_most = threshold.measure in ("", "alerts")
            share = level_percent(threshold.max_error if at_most else 1 - threshold.max_error)
            rows = f"at {'most' if at_most else 'least'} {share} of the rows"
            scored = f"a {self._scores} of at least {above}"
            says = f"{rows} with {scored} are {name or 'wrong'}"
            if threshold.measure == "alerts":
                says = f"{rows} have {scored}"
            elif threshold.of_recall:
                says = f"{rows} that are {name} have {scored}"
            yield f"With a probability of {level_percent(threshold.level)}, {says}{per_slice}."
        if threshold.by:
            level = level_percent(threshold.found[0].level)
            yield f"{counted(len(threshold.found), 'slice')} share the level: each has {level}."
        for entry in threshold.found:
            if entry.threshold is None:
                yield self._refused(entry)
        if threshold.cluster:
            rows_drawn = sum(entry.rows for entry in threshold.found)
            yield (
                f"One row of each {threshold.cluster} was drawn (seed {threshold.seed}), {rows_drawn:,} in "
                "all: the promise is about a random row of a random one."
            )
        if name and threshold.promises:
            yield f"alerts: the share of all rows at or above {above}."
        if threshold.promises:
            yield "It holds for independent rows like these, if no calibrator was fitted to them."

    def _refused(self, entry: Found) -> str:
        of = f" of {self.threshold.by}={entry.value}" if self.threshold.by else ""
        extreme, measure, limit, best = "lowest", "error rate", self.threshold.max_error, entry.least_error
        assert best is not None
        if self.threshold.measure == "alerts":
            measure = "share of alerts"
        elif self.class_name:
            extreme, measure, limit, best = "best", self.threshold.measure, 1 - limit, 1 - best
        kind = f" of {self.class_name}" if self.threshold.of_recall else " without an error"
        kind = "" if self.threshold.measure == "alerts" else kind
        return (
            f"Nothing can be promised{of}: the {extreme} {measure} these rows "
            f"support is {percent(best)}, not {level_percent(limit)}. It takes at least "
            f"{counted(entry.least_rows, 'row')}{kind}; there "
            f"{'is' if entry.rows == 1 else 'are'} {entry.rows:,}."
        )


def _share(name: str, entry: Found) -> str:
    return NONE if entry.threshold is None else percent(getattr(entry, name))
