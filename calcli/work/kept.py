"""What results in Python have beside their tables: a data frame of their numbers, and files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from calcli.core.data.predictions import Predictions
from calcli.core.language.declaring import PATH
from calcli.report.check import ShownCheck
from calcli.report.comparison import ShownComparison
from calcli.report.shown import Shown

if TYPE_CHECKING:
    import pandas

    from calcli.report.page import Picture


class Kept(Shown):
    """A result that can be a data frame, and a file with all its details."""

    def to_frame(self) -> pandas.DataFrame:
        """Return a row for every number, with what it is of."""
        from calcli.io.frames import to_frame

        return to_frame(self.records())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a page as .html, else .json, .md, .csv or .txt.

        Raises
        ------
        InputError
            If it cannot be written.
        UsageError
            If the ending is none of these.
        """
        from calcli.work.page import save_report

        save_report(replace(cast("Any", self), details=True), PATH.checked("path", path))


@dataclass(frozen=True, repr=False, eq=False)
class ComparisonReport(ShownComparison, Kept):
    """How systems differ; printed, it shows the tables of the command line.

    Attributes
    ----------
    systems
        The rows that were compared, for the figures of a page.
    """

    systems: Sequence[Predictions] = ()

    def pictures(self) -> list[Picture]:
        """Return the changes with their intervals, and the reliability curves of all systems."""
        from calcli.work.page import pictures_of_comparison

        return pictures_of_comparison(self.comparisons[0], self.systems, self.settings, self.names())


class CheckReport(ShownCheck, Kept):
    """Predictions judged by a policy; printed, it shows the tables of the command line."""
