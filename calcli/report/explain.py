"""The registries -> explanations of metrics and calibrators; loads without numpy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import nearest_name
from calcli.core.language.methods import METHODS, Method
from calcli.core.language.metrics import METRICS, Metric
from calcli.report.shown import Column, Shown, Table

FAMILIES = {
    "score": "Scores",
    "ranking": "Ranking",
    "recalibration": "What recalibration would win back",
    "decomposition": "Parts of scores",
    "error": "Calibration errors",
    "classical": "Classical calibration of two classes",
}
SWAPPED = "; in comparisons a p-value from swapped predictions"
SPREAD = {
    "score": "a bootstrap interval; in comparisons a paired one",
    "ranking": "a normal interval; in comparisons a paired one",
    "recalibration": "an interval under given posteriors; of calibration losses on request, trained again "
    "for each resample; in comparisons a paired one of calibration losses, a p-value of the others",
    "decomposition": "an interval for refinement and uncertainty; none for the others (biased upward)"
    + SWAPPED,
    "error": "its value if calibrated and a p-value, no interval (biased upward near zero)" + SWAPPED,
    "classical": "a normal interval, or a p-value" + SWAPPED,
}
BETTER = {"lower": "lower", "higher": "higher", "zero": "near 0", "none": "neither"}
METHODS_TITLE = "Calibrators"
SAYS = Column("what it says", "left")
LEARNS = Column("what it learns", "left")
MORE = "calcli explain NAME says more, such as calcli explain ks."


@dataclass(frozen=True)
class ShownEntries(Shown):
    """One entry of the registries, or all of them in a line each.

    Attributes
    ----------
    name
        Of a metric or calibrator; an expression stands for what it names. None for all.

    Raises
    ------
    UsageError
        If there is none of that name.
    """

    name: str | None = None

    title = "What calcli knows"

    def tables(self) -> list[Table]:
        """Return the table of the entry, or all metrics by family and all calibrators."""
        return _lists() if self.name is None else [_table(_entry(self.name))]

    def content(self) -> dict[str, Any]:
        """Return the entry, or both registries by name."""
        if self.name is not None:
            return _object(_entry(self.name))
        return {
            "metrics": {key: _object(metric) for key, metric in METRICS.items()},
            "methods": {key: _object(method) for key, method in METHODS.items()},
        }


def _lists() -> list[Table]:
    tables = []
    for family, title in FAMILIES.items():
        members = [metric for metric in METRICS.values() if metric.family == family]
        if members:
            rows = tuple((metric.name, metric.meaning) for metric in members)
            tables.append(Table(title, (Column("metric", "left"), SAYS), rows))
    rows = tuple((method.name, f"{method.title}: {method.learns}") for method in METHODS.values())
    return [*tables, Table(METHODS_TITLE, (Column("method", "left"), LEARNS), rows, (MORE,))]


def _table(entry: Metric | Method) -> Table:
    lines = _of_metric(entry) if isinstance(entry, Metric) else _of_method(entry)
    rows = tuple((key, text) for key, text in lines.items() if text)
    return Table(f"{entry.title} ({entry.name})", (Column("", "left"), Column("", "left")), rows)


def _entry(name: str) -> Metric | Method:
    base = name.partition(":")[0]
    if base in METRICS:
        return METRICS[base]
    if base in METHODS:
        return METHODS[base]
    raise UsageError(
        f"no metric or calibrator is called {name!r}{nearest_name(base, [*METRICS, *METHODS])}; calcli "
        "explain lists them all"
    )


def _of_metric(metric: Metric) -> dict[str, str]:
    return {
        "says": metric.meaning,
        "formula": metric.formula,
        "range": f"{metric.range} ({metric.unit}); better: {BETTER[metric.direction]}",
        "source": metric.source,
        "misses": metric.misses,
        "comes with": SPREAD.get(metric.family, ""),
        "arguments": _defaults(metric.arguments),
    }


def _of_method(method: Method) -> dict[str, str]:
    return {
        "learns": method.learns,
        "parameters": f"{method.parameters} (K: number of classes)",
        "keeps": method.keeps,
        "source": method.source,
        "settings": _defaults(method.settings),
        "use": f"calcli fit VALIDATION -m {method.name} -o cal.json",
    }


def _defaults(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in values.items())


def _object(entry: Metric | Method) -> dict[str, Any]:
    fields = {key: value for key, value in asdict(entry).items() if not callable(value)}
    return {"kind": "metric" if isinstance(entry, Metric) else "method", **fields}
