"""Evaluations as shown: what was read, quality for decisions, calibration errors, classes, warnings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from calcli.core.estimators.consistency import Null
from calcli.core.evaluating.classrows import ENOUGH_OF_CLASS, rows_needed
from calcli.core.evaluating.results import ClassRow, Estimate, Input
from calcli.core.language.figures import FIGURES
from calcli.core.language.settings import Settings
from calcli.report.estimates import ends, estimates_table, if_calibrated, of_section, tested_p
from calcli.report.hashing import sha256
from calcli.report.markdown import markdown_text
from calcli.report.numbers import counted, number, p_value, percent, some
from calcli.report.recalibration import decision_table, loss_table, parts_of_scores, parts_table
from calcli.report.shown import Column, Shown, Table, render, table_of
from calcli.report.sidebyside import comparison_tables
from calcli.report.slices import is_compared, ranked_by, slice_tables, with_slices, worst_slices
from calcli.report.summary import Result, short_names
from calcli.report.wording import (
    CLASSICAL,
    CONSTANT,
    CORRECTED,
    DIAGNOSIS,
    ERRORS,
    NORMALIZED,
    QUALITY,
    P,
    error_notes,
    few_draws,
    interval_head,
    unsure,
)

IDEALS = {
    "calibration_in_the_large": "0", "calibration_intercept": "0", "calibration_slope": "1",
    "spiegelhalter_z": "0",
}  # fmt: skip
MEANING = Column("what it says", "left", optional=True)
BETTER = {"lower": "lower", "higher": "higher", "zero": "near 0", "none": ""}


RECORD = (
    "path", "slice", "class", "metric", "value", "low", "high", "level", "sd",
    "if_calibrated_mean", "if_calibrated_sd", "p_value", "corrected_p", "signature",
)  # fmt: skip
CLASS_FIGURES = ("rows", "frequency", "mean_prob", "recall", "ece")


@dataclass(frozen=True)
class EvaluationReport(Shown):
    """The results of one evaluation, or of several side by side with a row each.

    Attributes
    ----------
    results
        At least one; behind each those of its slices, if any.
    settings
        How they were computed.
    per_class
        Whether tables and records have the figures of each class; JSON always has.
    """

    results: Sequence[Result]
    settings: Settings
    per_class: bool = False

    title = "Calibration report"
    schema = "calcli.report/1"

    def tables(self) -> list[Table]:
        """Return what was read and found, then slices and classes, then warnings."""
        groups = with_slices(self.results)
        wholes = [whole for whole, _ in groups]
        if len(wholes) == 1:
            names = [""]
            tables = _one_by_one(wholes[0])
        else:
            names = short_names([result.input.path for result in wholes])
            tables = comparison_tables(wholes, names)
        for (whole, parts), name in zip(groups, names, strict=True):
            tables += slice_tables(whole, parts, name)
            tables += [_per_class(whole, name)] if self.per_class else []
        warnings = [
            f"{name}: {warning.message}" if name else warning.message
            for result, name in zip(wholes, names, strict=True)
            for warning in result.warnings
        ]
        tables.append(Table("Warnings", notes=tuple(warnings)))
        return [table for table in tables if table.rows or table.notes]

    def content(self) -> dict[str, Any]:
        """Return settings and results, with the definition of every number."""
        return {
            "settings": asdict(self.settings),
            "results": [
                {**_result(result), **_worst(parts if result is whole else ())}
                for whole, parts in with_slices(self.results)
                for result in (whole, *parts)
            ],
        }

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield a record for every metric of every result, and for every figure of a class if asked.

        Each has the keys `RECORD`; what a metric does not have is None.
        """
        for result in self.results:
            part = str(result.slice) if result.slice else None
            empty = dict.fromkeys(RECORD) | {"path": result.input.path, "slice": part}
            for name, estimate in result.metrics.items():
                record = empty | {"metric": name, "value": estimate.value, "sd": estimate.sd}
                record |= {"signature": estimate.signature}
                record |= asdict(estimate.interval) if estimate.interval else {}
                yield record | _flat_null(estimate.if_calibrated)
            for row in result.per_class if self.per_class else ():
                for figure in CLASS_FIGURES:
                    record = empty | {"class": row.name, "metric": figure, "value": getattr(row, figure)}
                    yield record | _flat_null(row.if_calibrated if figure == "ece" else None)

    def write(self, folder: Path) -> None:
        """Write report.json and report.md into a folder; the page shows the figures that are there."""
        (folder / "report.json").write_text(render(self, "json"), encoding="utf-8")
        order = list(FIGURES)
        files = sorted(folder.rglob("*.png"), key=lambda file: (file.parent, order.index(file.stem)))
        figures = [file.relative_to(folder).as_posix() for file in files]
        page = markdown_text(self.tables(), self.title, figures)
        (folder / "report.md").write_text(page, encoding="utf-8")


def _result(result: Result) -> dict[str, Any]:
    return {
        "input": input_object(result.input),
        "slice": result.slice and asdict(result.slice) | {"compared": is_compared(result)},
        "metrics": {name: _estimate(estimate) for name, estimate in result.metrics.items()},
        "verdict": result.verdict and asdict(result.verdict),
        "infinite_log_loss": result.infinite_log_loss and asdict(result.infinite_log_loss),
        "recalibration": list(result.recalibration),
        "decisions": {name: [asdict(row) for row in rows] for name, rows in result.decisions.items()},
        "per_class": [_class(row) for row in result.per_class],
        "reliability": [asdict(row) for row in result.reliability],
        "warnings": [asdict(warning) for warning in result.warnings],
    }


def _worst(parts: Sequence[Result]) -> dict[str, Any]:
    worst = {column: part.slice.value for column, part in worst_slices(parts).items() if part.slice}
    return {"worst_slices": worst, "slices_ranked_by": ranked_by(parts[0]) if parts else None}


def input_object(summary: Input) -> dict[str, Any]:
    """Return what was read as JSON values, with the hash of its files."""
    return asdict(summary) | {"sha256": sha256(summary.files)}


def _estimate(estimate: Estimate) -> dict[str, Any]:
    found: dict[str, Any] = {"value": estimate.value}
    if estimate.interval is not None:
        found |= asdict(estimate.interval)
    if estimate.sd is not None:
        found["sd"] = estimate.sd
    if estimate.parts:
        found["parts"] = dict(estimate.parts)
    return found | _null(estimate.if_calibrated) | {"signature": estimate.signature}


def _class(row: ClassRow) -> dict[str, Any]:
    found = asdict(row)
    del found["if_calibrated"]
    return found | _null(row.if_calibrated)


def _null(null: Null | None) -> dict[str, Any]:
    if null is None:
        return {}
    found = {"if_calibrated": {"mean": null.mean, "sd": null.sd}, "p_value": null.p_value}
    return found if null.corrected_p is None else found | {"corrected_p": null.corrected_p}


def _flat_null(null: Null | None) -> dict[str, float | None]:
    if null is None:
        return {}
    names = ("if_calibrated_mean", "if_calibrated_sd", "p_value", "corrected_p")
    return dict(zip(names, (null.mean, null.sd, null.p_value, null.corrected_p), strict=True))


def _one_by_one(result: Result) -> list[Table]:
    """Return quality for decisions first, then what recalibration would win back, then diagnosis."""
    metrics = result.metrics
    decisions = [
        decision_table(name, rows, result.input.class_names, _threshold(name, metrics))
        for name, rows in result.decisions.items()
    ]
    lost = [loss_table(metrics, result.recalibration), parts_table(parts_of_scores(metrics))]
    return [_read(result), _scores(result), *decisions, *lost, _errors(result), _classics(result)]


def _threshold(costs: str, metrics: Mapping[str, Estimate]) -> float | None:
    """Return from which probability the second of two decisions costs less."""
    risks = [one for one in metrics.values() if one.call.entry.name == "bayes_risk"]
    return next((one.parts.get("threshold") for one in risks if one.call.arguments["costs"] == costs), None)


def _read(result: Result) -> Table:
    read = result.input
    weighted = ", weighted" if read.weighted else ""
    rows = [
        ("rows", f"{read.rows:,}{weighted}"),
        ("classes", f"{read.classes:,}, {_balance(result)}"),
        *([("absent", some(read.absent_classes))] if read.absent_classes else []),
        ("labels", read.labels),
        ("scores", f"{read.kind}: {read.kind_reason}"),
        ("type", f"{read.dtype}, computed in {read.computed_in}"),
    ]
    if read.kind == "logits":
        rows.append(("exact", f"{counted(read.ones, 'row')} with a confidence of 1"))
    else:
        worst = f"{read.worst_row_sum:.7g}"
        divided = "" if worst == "1" else "; each row is divided by its sum"
        rows.append(("row sums", f"the farthest from 1 is {worst}{divided}"))
        rows.append(("exact", f"{read.zeros:,} probabilities of 0, {counted(read.ones, 'row')} with a 1"))
    rows.append(("ties", f"{counted(read.tied_rows, 'row')} with more than one most probable class"))
    rows += [("note", note) for note in read.notes]
    title = "standard input" if read.path == "-" else read.path
    return Table(title, (Column("", "left"), Column("", "left")), tuple(rows))


def _balance(result: Result) -> str:
    least, *_, most = sorted(result.per_class, key=lambda row: row.rows)
    low, high = percent(least.rows / result.input.rows), percent(most.rows / result.input.rows)
    if least.rows == most.rows:
        return f"each {low} of the rows"
    return f"{low} ({least.name}) to {high} ({most.name}) of the rows"


def _scores(result: Result) -> Table:
    found = of_section(result.metrics, "scores")
    notes = [result.verdict.sentence] if result.verdict else []
    if any(name.startswith("normalized_") for name in found):
        notes.append(NORMALIZED)
    notes += unsure(found.values())
    if any("constant" in estimate.parts for estimate in found.values()):
        notes.append(CONSTANT)
    notes += _prior_odds(found, result)
    cells = {
        Column(interval_head(found.values())): ends,
        Column("constant"): lambda e: number(e.parts["constant"]) if "constant" in e.parts else "",
        Column("better", "left"): lambda e: BETTER[e.call.entry.direction],
        MEANING: lambda e: e.call.entry.meaning,
    }
    return estimates_table(QUALITY, found, cells, notes)


def _prior_odds(found: Mapping[str, Estimate], result: Result) -> list[str]:
    odds = [one.parts["prior_odds"] for one in found.values() if "prior_odds" in one.parts]
    whose = "of --priors" if result.settings.shift_to_priors else "of the labels"
    second = result.input.class_names[-1]
    return [f"cllr: the prior odds of {second} are {number(odds[0])}, those {whose}."] if odds else []


def _errors(result: Result) -> Table:
    found = of_section(result.metrics, "errors")
    cells = {
        Column("if calibrated"): if_calibrated,
        Column("p"): tested_p,
        MEANING: lambda e: e.call.entry.meaning,
    }
    return estimates_table(DIAGNOSIS, found, cells, error_notes(found.values(), ERRORS))


def _classics(result: Result) -> Table:
    found = of_section(result.metrics, "classical")
    cells = {
        Column(interval_head(found.values())): ends,
        Column("if calibrated"): lambda e: "0 ± 1" if e.if_calibrated else IDEALS[e.call.entry.name],
        Column("p"): tested_p,
    }
    return estimates_table(CLASSICAL, found, cells)


def _per_class(result: Result, name: str) -> Table:
    tested = any(row.if_calibrated for row in result.per_class)
    cells: dict[Column, Callable[[ClassRow], str]] = {
        Column("rows"): lambda row: f"{row.rows:,}",
        Column("frequency"): lambda row: number(row.frequency),
        Column("mean prob"): lambda row: number(row.mean_prob),
        Column("recall"): lambda row: number(row.recall) if row.rows else "no rows",
        Column("ece"): lambda row: number(row.ece),
        **({Column("p"): _class_p} if tested else {}),
        Column("calibration loss", optional=True): lambda row: number(row.calibration_loss),
        Column("refinement loss", optional=True): lambda row: number(row.refinement_loss),
    }
    rows = ((row.name, row) for row in result.per_class)
    title = f"Classes of {name}" if name else "Classes"
    return table_of(title, rows, cells, _class_notes(result) if tested else (), head="class")


def _class_p(row: ClassRow) -> str:
    p = row.if_calibrated.corrected_p if row.if_calibrated else None
    return "too few rows" if p is None else p_value(p)


def _class_notes(result: Result) -> list[str]:
    notes = [f"{P} {CORRECTED}", *few_draws(row.if_calibrated for row in result.per_class)]
    if any(row.if_calibrated and row.if_calibrated.corrected_p is None for row in result.per_class):
        notes.append(
            f"Too few rows: less than {ENOUGH_OF_CLASS} by label and by probability. About "
            f"{rows_needed(result.per_class):,} rows like these would be enough for every class that occurs."
        )
    return notes
