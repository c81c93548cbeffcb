"""Studies: how far estimators are from the truth, and the procedures of the works on a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, ClassVar, NotRequired, TypedDict, cast

from calcli.core.language.text import apart, number, p_value
from calcli.report.estimates import NONE
from calcli.report.shown import Column, Shown, TextTable
from calcli.works.study import Deviation


class StudyObject(TypedDict):
    """A report of `calcli study`."""

    system: str
    series: int
    results: list[Annotated[Any, Deviation]]


class ProcedureRowObject(TypedDict):
    """The result of a procedure for a metric."""

    metric: str
    estimate: float
    true: NotRequired[float]
    unexplained: NotRequired[float]
    untrained: NotRequired[float]
    temperature: NotRequired[float]
    log_loss: NotRequired[float]
    least_log_loss: NotRequired[float]
    sd: NotRequired[float]
    mean: NotRequired[float]
    spread: NotRequired[float]
    p_value: NotRequired[float]


class ProcedureObject(TypedDict):
    """A report of `calcli study` on a file."""

    procedure: str
    path: str
    results: list[ProcedureRowObject]


TRUTHS = {
    "table": "The true values are exact.",
    "quadrature": "The true values are integrals, by quadrature.",
    "simulation": "The true values are simulated; ± is their Monte-Carlo standard error.",
}


@dataclass(frozen=True)
class StudyReport(Shown):
    """The results of a study.

    Attributes
    ----------
    system
        The simulated system.
    found
        Results by metric and number of rows.
    series
        Number of data sets behind each.
    """

    title: ClassVar[str] = "Study of estimators"
    schema: ClassVar[str] = "calcli.study/1"

    system: str
    found: tuple[Deviation, ...]
    series: int

    def tables(self) -> list[TextTable]:
        """Return the differences, one row per metric and size."""
        columns = (Column("", "left"), *map(Column, ("rows", "true", "5%", "mean", "95%")))
        rows = [
            (
                bias.metric,
                f"{bias.rows:,}",
                bias.written_truth(apart(bias.high - bias.low)),
                *(
                    number(end, digits=apart(bias.high - bias.low), sign=True)
                    for end in (bias.low, bias.mean, bias.high)
                ),
            )
            for bias in self.found
        ]
        notes = [
            f"{self.series:,} data sets of each size. Above 0 the estimate is too large; with many rows "
            "fixed bins give at most the true value.",
            TRUTHS[self.found[0].truth_by],
        ]
        return [TextTable(f"Estimate minus truth: {self.system}", columns, tuple(rows), tuple(notes))]

    def data(self) -> StudyObject:
        """Return all numbers."""
        return {"system": self.system, "series": self.series, "results": [asdict(row) for row in self.found]}

    def records(self) -> Iterable[Mapping[str, Any]]:
        """Return a record for each metric and size."""
        return [asdict(bias) for bias in self.found]


@dataclass(frozen=True)
class ProcedureReport(Shown):
    """The results of a procedure on a file.

    Attributes
    ----------
    procedure
        Its name.
    path
        The file.
    results
        A dictionary for each row of its table.
    note
        An explanation of its numbers.
    """

    title: ClassVar[str] = "Procedure of the works"
    schema: ClassVar[str] = "calcli.procedure/1"

    procedure: str
    path: str
    results: Sequence[Mapping[str, Any]]
    note: str

    def tables(self) -> list[TextTable]:
        """Return its numbers, one column each."""
        keys = list(dict.fromkeys(key for row in self.results for key in row))
        rows = tuple(
            (row["metric"], *(_cell(key, row.get(key)) for key in keys if key != "metric"))
            for row in self.results
        )
        columns = [Column(key.replace("_", " ")) for key in keys if key != "metric"]
        return [
            TextTable(f"{self.procedure}: {self.path}", (Column("", "left"), *columns), rows, (self.note,))
        ]

    def data(self) -> ProcedureObject:
        """Return all numbers."""
        return {
            "procedure": self.procedure,
            "path": self.path,
            "results": [cast(ProcedureRowObject, dict(row)) for row in self.results],
        }

    def records(self) -> Iterable[Mapping[str, Any]]:
        """Return a record for each row of its table."""
        return self.results


def _cell(key: str, value: float | None) -> str:
    if value is None:
        return NONE
    return p_value(value) if key == "p_value" else number(value)
