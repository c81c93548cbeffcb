"""Evaluations as shown: what was read, quality for decisions, calibration errors, classes, warnings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

from calcli.core.curves.reliability import Reliability
from calcli.core.estimators.calibrationerror import Null
from calcli.core.estimators.intervals import level_percent
from calcli.core.evaluating.results import ClassRow, Estimate, Input
from calcli.core.evaluating.sections import ENOUGH_OF_CLASS, rows_needed
from calcli.core.language.settings import Settings
from calcli.core.language.text import counted, number, p_value, some
from calcli.report.atglance import MANY, Unread, glance_table
from calcli.report.decisions import decision_records, decision_table
from calcli.report.diagram import diagram_table
from calcli.report.estimates import (
    bounds,
    ends,
    estimates_table,
    if_calibrated,
    meaning,
    of_section,
    tested_p,
    value,
)
from calcli.report.findings import BACKWARDS, backwards_table
from calcli.report.hashing import sha256
from calcli.report.markdown import markdown_text
from calcli.report.objects import CLASS, INPUT, EstimateObject, EvaluationObject, ResultObject
from calcli.report.overview import further, overview
from calcli.report.reading import considered_objects, considered_table, read_table, reading_sentences
from calcli.report.recalibration import loss_table, parts_of_scores, parts_table
from calcli.report.shown import Column, Headline, Number, Shown, TextTable, csv_text, render, table_of
from calcli.report.sidebyside import comparison_tables
from calcli.report.slices import is_compared, ranked_by, slice_tables, with_slices, worst_slices
from calcli.report.summary import Result, short_names
from calcli.report.vectorbins import bins_object, bins_records
from calcli.report.wording import (
    CHANCE,
    CLASSICAL,
    CLASSICAL_ANSWERS,
    CONFIDENCE,
    CONSTANT,
    CORRECTED,
    DIAGNOSIS,
    ERRORS,
    NORMALIZED,
    NORMALIZED_ANSWERS,
    ORACLE,
    QUALITY,
    P,
    error_notes,
    few_draws,
    interval_head,
    without_interval,
)

IDEALS = {
    "calibration_in_the_large": "0", "calibration_intercept": "0", "calibration_slope": "1",
    "spiegelhalter_z": "0",
}  # fmt: skip
MEANING = Column("what it says", "left", optional=True)
LEADING = ("log_loss", "accuracy", "mean_gap")  # what a page shows first
LEADING_OF_TWO = ("log_loss", "auroc", "ks:lens=class-1")  # as the verdict is of the second class
MOST_PREDICTED = 20  # classes of a confusion matrix in tables
MOST_CONSIDERED = 6  # other readings, in tables
MOST_SYSTEMS = 6  # there; tables have all
ASKED = (
    "costs", "decision_column", "test",
)  # fmt: skip


RECORD = (
    "path", "slice", "class", "metric", "value", "low", "high", "level",
    "if_calibrated_mean", "if_calibrated_sd", "p_value", "corrected_p",
    "signature",
)  # fmt: skip
BESIDE = {"constant": CONSTANT, "oracle": ORACLE, "chance": CHANCE}  # parts with a column
OF_CLASSES = "ece: of the probability of each class (lens=class-0, class-1, ...); their mean is cw_ece."
CLASS_FIGURES = ("rows", "frequency", "mean_prob", "recall", "ece")


@dataclass(frozen=True, eq=False)
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
    diagrams
        Reliability to be shown in the tables, one for each data set, or none.
    unread
        Files that could not be read.
    failures
        A sentence for each limit that a data set breaks, by its path.
    sort
        The metric that orders several data sets; None for the order given.
    details
        Whether tables have all there is; else a screen of one data set, a line each of several, and of many
        data sets and slices what failed, and what is worse than chance would make it.
    """

    results: Sequence[Result]
    settings: Settings
    per_class: bool = False
    diagrams: Sequence[Reliability] = ()
    unread: Sequence[Unread] = ()
    failures: Mapping[str, Sequence[str]] = field(default_factory=dict)
    sort: str | None = None
    details: bool = False

    title = "Calibration report"
    schema = "calcli.report/1"

    def tables(self) -> list[TextTable]:
        """Return what was read and found, then slices and classes, then warnings."""
        groups = with_slices(self.results)
        wholes = [whole for whole, _ in groups]
        if len(wholes) + len(self.unread) == 1:
            names = [""]
            tables = overview(wholes[0]) if self._is_short else _one_by_one(wholes[0])
            if self._is_short and wholes[0].settings.metrics:
                tables += [*_lost(wholes[0]), _classics(wholes[0])]
            first = backwards_table([("", wholes[0].warnings)])
        else:
            names = short_names([result.input.path for result in wholes])
            first = backwards_table([*zip(names, (one.warnings for one in wholes), strict=True)])
            many = len(wholes) > MANY
            short = many or (self._is_short and not wholes[0].settings.metrics) if wholes else many
            beside = [n for n, one in enumerate(wholes) if self._is_detailed(one, short)]
            hidden = len(wholes) - len(beside)
            tables = [glance_table(wholes, names, self.unread, self.failures, self.sort, hidden)]
            tables += comparison_tables([wholes[n] for n in beside], [names[n] for n in beside])
            if many:
                groups, names = [groups[n] for n in beside], [names[n] for n in beside]
                wholes = [whole for whole, _ in groups]
        for diagram, name in zip(self.diagrams, names, strict=False):
            tables.append(diagram_table(diagram, f"Reliability of {name}" if name else "Reliability"))
        for (whole, parts), name in zip(groups, names, strict=True):
            tables += slice_tables(whole, parts, name, details=self.details)
            tables += [_per_class(whole, name)] if self.per_class else []
        warnings = _warnings(wholes, names)
        if len(wholes) + len(self.unread) == 1 and self._is_short:
            tables.append(TextTable("", notes=(*warnings, further(wholes[0]))))
        else:
            tables.append(TextTable("Warnings", notes=tuple(warnings)))
        return [*first, *(table for table in tables if table.rows or table.notes)]

    @property
    def _is_short(self) -> bool:
        """Whether one screen answers: nobody asked for more than the usual."""
        asked = self.settings, self.results[0].settings  # a state knows what it was made for
        return not (self.details or any(getattr(of, name) for of in asked for name in ASKED))

    def _is_detailed(self, result: Result, at_a_glance: bool) -> bool:
        return self.details or bool(self.failures.get(result.input.path)) or not at_a_glance

    def headline(self) -> Headline:
        """Return what was read, the verdict and three numbers; of several data sets who they are."""
        wholes = [whole for whole, _ in with_slices(self.results)]
        if len(wholes) > 1:
            names = short_names([result.input.path for result in wholes])
            rows = sum(result.input.rows for result in wholes)
            read = f"{len(wholes)} data sets, {counted(rows, 'row')} in all"
            read += f"; the first {MOST_SYSTEMS}:" if len(wholes) > MOST_SYSTEMS else ""
            numbers = [_of_system(name, result) for name, result in zip(names, wholes, strict=True)]
            return Headline(read, numbers=numbers[:MOST_SYSTEMS], systems=names)
        return _headline(wholes[0])

    def content(self) -> EvaluationObject:
        """Return settings and results, with the definition of every number."""
        return {
            "settings": asdict(self.settings) | {"clip": self._clip()},
            "unread": [asdict(one) for one in self.unread],
            "failures": {path: list(sentences) for path, sentences in self.failures.items()},
            "results": [
                _result(result, parts if result is whole else ())
                for whole, parts in with_slices(self.results)
                for result in (whole, *parts)
            ],
        }

    def _clip(self) -> float | None:
        """Return the clip that was used, which states bring along; None if it was not the same for all."""
        used = {result.settings.clip for result in self.results} or {self.settings.clip}
        return used.pop() if len(used) == 1 else None

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield a record for every metric of every result, and for every figure of a class if asked.

        Each has the keys `RECORD`; what a metric does not have is None.
        """
        for result in self.results:
            part = str(result.slice) if result.slice else None
            empty = dict.fromkeys(RECORD) | {"path": result.input.path, "slice": part}
            for name, estimate in result.metrics.items():
                record = empty | {"metric": name, "value": estimate.value}
                record |= {"signature": estimate.signature}
                record |= asdict(estimate.interval) if estimate.interval else {}
                yield record | _flat_null(estimate.if_calibrated)
            for row in result.per_class if self.per_class else ():
                for figure in CLASS_FIGURES:
                    record = empty | {"class": row.name, "metric": figure, "value": getattr(row, figure)}
                    yield record | _flat_null(row.if_calibrated if figure == "ece" else None)

    def reading(self) -> list[str]:
        """Return how each file was read, sentences for the user."""
        wholes = [whole.input for whole, _ in with_slices(self.results)]
        return reading_sentences((read.path, read.reading) for read in wholes)

    def write(self, folder: Path, captions: Mapping[Path, str]) -> None:
        """Write report.json and report.md into a folder, and tables of what they have no place for.

        report.md shows the figures in it, by their captions.
        """
        (folder / "report.json").write_text(render(self, "json"), encoding="utf-8")
        figures = {file.relative_to(folder).as_posix(): text for file, text in captions.items()}
        tables = {"vector_bins": bins_records, "decisions": decision_records}
        for name, records_of in tables.items():
            if records := list(records_of(self.results)):
                (folder / f"{name}.csv").write_text(csv_text(records), encoding="utf-8")
        page = markdown_text(self.tables(), self.title, figures)
        (folder / "report.md").write_text(page, encoding="utf-8")


def _headline(result: Result) -> Headline:
    read, metrics = result.input, result.metrics
    place = "standard input" if read.path == "-" else read.path
    size = f"{place}: {counted(read.rows, 'row')}, {counted(read.classes, 'class')}, {read.kind}"
    sentences = [one.message for one in result.warnings if one.code == BACKWARDS]
    sentences += [result.verdict.sentence] if result.verdict else []
    sentences += [result.gain.sentence] if result.gain else []
    word = result.verdict.word if result.verdict else "untested"
    plain = word in ("untested", "right on average") and result.backwards_area is None
    good = word == "consistent" and result.backwards_area is None
    tone: Literal["good", "bad", "plain"] = "good" if good else "plain" if plain else "bad"
    leading = LEADING_OF_TWO if result.of_two else LEADING
    chosen = [name for name in leading if name in metrics] or list(metrics)
    numbers = [Number(name, value(metrics[name]), _beside(metrics[name])) for name in chosen[:3]]
    return Headline(size, " ".join(sentences), tone, numbers)


def _warnings(results: Sequence[Result], names: Sequence[str]) -> list[str]:
    """Return what stands in the way of trusting a number, once for all data sets that it holds of."""
    of: dict[str, list[str]] = {}
    for result, name in zip(results, names, strict=True):
        for warning in result.warnings:
            if warning.code != BACKWARDS:
                of.setdefault(warning.message, []).append(name)
    return [f"{some(whose)}: {message}" if any(whose) else message for message, whose in of.items()]


def _of_system(name: str, result: Result) -> Number:
    """Return the first of the leading metrics of one of several data sets, and its verdict."""
    metric = next((metric for metric in LEADING if metric in result.metrics), next(iter(result.metrics)))
    words = [metric, *([result.verdict.word] if result.verdict else [])]
    return Number(name, value(result.metrics[metric]), ", ".join(words))


def _beside(estimate: Estimate) -> str:
    if estimate.interval is not None:
        return f"{ends(estimate)} ({level_percent(estimate.interval.level)})"
    if estimate.if_calibrated is not None:
        return f"if calibrated {if_calibrated(estimate)}"
    return "no interval" if estimate.no_interval else ""


def _result(result: Result, parts: Sequence[Result]) -> ResultObject:
    worst = worst_slices(result, parts)
    return {
        "input": input_object(result.input),
        "slice": result.slice and asdict(result.slice) | {"compared": is_compared(result)},
        "metrics": {name: _estimate(estimate) for name, estimate in result.metrics.items()},
        "verdict": result.verdict and asdict(result.verdict),
        "infinite_log_loss": result.infinite_log_loss and asdict(result.infinite_log_loss),
        "recalibration": [str(gain) for gain in result.recalibration],
        "decisions": {name: [asdict(row) for row in rows] for name, rows in result.decisions.items()},
        "per_class": [_class(row) for row in result.per_class],
        "reliability": [asdict(row) for row in result.reliability],
        "warnings": [asdict(warning) for warning in result.warnings],
        "worst_slices": {column: part.slice.value for column, part in worst.items() if part.slice},
        "slices_ranked_by": ranked_by(parts[0]) if parts else None,
    }


def input_object(summary: Input) -> dict[str, Any]:
    """Return what was read as JSON values, with the hash of its files."""
    found = {name: value for name, value in asdict(summary).items() if name not in INPUT.without}
    return found | {"considered": considered_objects(summary), "sha256": sha256(summary.files)}


def _estimate(estimate: Estimate) -> EstimateObject:
    found: dict[str, Any] = {"value": estimate.value}
    if estimate.interval is not None:
        found |= asdict(estimate.interval)
    further = {
        "no_interval": estimate.no_interval,
        "recalibrator": estimate.recalibrator,
        "sampled_rows": estimate.rows,
        "grid_error": estimate.grid and asdict(estimate.grid),
        "parts": dict(estimate.parts),
        "bins": estimate.bins and bins_object(estimate.bins),
    }
    found |= {key: value for key, value in further.items() if value not in (None, "", {})}
    return cast(EstimateObject, found | _null(estimate.if_calibrated) | {"signature": estimate.signature})


def _class(row: ClassRow) -> dict[str, Any]:
    found = {name: value for name, value in asdict(row).items() if name not in CLASS.without}
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


def _one_by_one(result: Result) -> list[TextTable]:
    """Return quality for decisions first, then what recalibration would win back, then diagnosis."""
    metrics = result.metrics
    decisions = [
        decision_table(name, rows, result.input.class_names, _threshold(name, metrics))
        for name, rows in result.decisions.items()
    ]
    read = [read_table(result), *considered_table(result.input, MOST_CONSIDERED)]
    return [*read, _scores(result), *decisions, *_lost(result), _errors(result), _classics(result)]


def _lost(result: Result) -> list[TextTable]:
    metrics = result.metrics
    return [loss_table(metrics, result.recalibration), parts_table(parts_of_scores(metrics))]


def _threshold(costs: str, metrics: Mapping[str, Estimate]) -> float | None:
    """Return from which probability the second of two decisions costs less."""
    risks = [one for one in metrics.values() if one.call.entry.name == "bayes_risk"]
    return next((one.parts.get("threshold") for one in risks if one.call.arguments["costs"] == costs), None)


def _scores(result: Result) -> TextTable:
    found = of_section(result.metrics, "scores")
    notes = [result.verdict.sentence] if result.verdict else []
    if not found:
        return TextTable(CONFIDENCE, notes=tuple(notes))
    if any(name.startswith("normalized_") for name in found):
        notes.append(NORMALIZED_ANSWERS if result.input.of_answers else NORMALIZED)
    notes += without_interval(found.values())
    beside = [name for name in BESIDE if any(name in estimate.parts for estimate in found.values())]
    notes += [BESIDE[name] for name in beside]
    notes += _prior_odds(found, result)
    cells: dict[Column, Callable[[Estimate], str]] = {
        Column(interval_head(found.values())): ends,
        **{Column(name): partial(_part, name) for name in beside},
        Column("better", "left"): lambda e: e.call.entry.better,
        MEANING: lambda e: meaning(e, result.input),
    }
    return estimates_table(QUALITY, found, cells, notes)


def _part(name: str, estimate: Estimate) -> str:
    return number(estimate.parts[name]) if name in estimate.parts else ""


def _prior_odds(found: Mapping[str, Estimate], result: Result) -> list[str]:
    odds = [one.parts["prior_odds"] for one in found.values() if "prior_odds" in one.parts]
    whose = "of --shift-to-priors" if result.settings.shift_to_priors else "of the labels"
    second = result.input.class_names[-1]
    return [f"cllr: the prior odds of {second} are {number(odds[0])}, those {whose}."] if odds else []


def _errors(result: Result) -> TextTable:
    found = of_section(result.metrics, "errors")
    cells = {
        Column("if calibrated"): if_calibrated,
        Column("p"): tested_p,
        **bounds(found.values()),
        MEANING: lambda e: meaning(e, result.input),
    }
    notes = [*error_notes(found.values(), ERRORS), *without_interval(found.values())]
    return estimates_table(DIAGNOSIS, found, cells, notes)


def _classics(result: Result) -> TextTable:
    found = of_section(result.metrics, "classical")
    cells = {
        Column(interval_head(found.values())): ends,
        Column("if calibrated"): lambda e: "0 ± 1" if e.if_calibrated else IDEALS[e.call.entry.name],
        Column("p"): tested_p,
    }
    title = CLASSICAL_ANSWERS if result.input.of_answers else CLASSICAL
    return estimates_table(title, found, cells)


def _per_class(result: Result, name: str) -> TextTable:
    tested = any(row.if_calibrated for row in result.per_class)
    title = f"Classes of {name}" if name else "Classes"
    if result.input.outcomes:
        return _confusion(result, title)
    cells: dict[Column, Callable[[ClassRow], str]] = {
        Column("rows"): lambda row: f"{row.rows:,}",
        Column("frequency"): lambda row: number(row.frequency, row.mean_prob),
        Column("mean prob"): lambda row: number(row.mean_prob, row.frequency),
        Column("recall"): lambda row: number(row.recall) if row.rows else "no rows",
        Column("ece"): lambda row: number(row.ece),
        **({Column("p"): _class_p} if tested else {}),
        Column("calibration loss", optional=True): lambda row: number(row.calibration_loss),
        Column("refinement loss", optional=True): lambda row: number(row.refinement_loss),
    }
    rows = ((row.name, row) for row in result.per_class)
    notes = [OF_CLASSES, *(_class_notes(result) if tested else ())]
    return table_of(title, rows, cells, notes, head="class")


def _confusion(result: Result, title: str) -> TextTable:
    """Return the rows of each class, and as what they are predicted: the confusion matrix, if it is small."""

    def predicted(place: int, row: ClassRow) -> str:
        return f"{row.predicted_as[place]:,}"

    cells: dict[Column, Callable[[ClassRow], str]] = {
        Column("rows"): lambda row: f"{row.rows:,}",
        Column("recall"): lambda row: number(row.recall) if row.rows else "no rows",
    }
    if len(result.per_class) <= MOST_PREDICTED:
        for place, one in enumerate(result.per_class):
            cells[Column(f"as {one.name}")] = partial(predicted, place)
    return table_of(title, ((row.name, row) for row in result.per_class), cells, head="class")


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
