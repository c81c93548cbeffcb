"""Evaluations as shown: input, proper scores, calibration errors, classes, warnings."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from html import escape
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from calcli.core.comparing.averaging import MACRO
from calcli.core.estimators.calibrationerror import Null
from calcli.core.estimators.intervals import level_percent
from calcli.core.evaluating.results import ClassRow, Estimate, Evaluation, Input, VectorBins
from calcli.core.evaluating.sections import ENOUGH_OF_CLASS, rows_needed
from calcli.core.language.declaring import TEXT
from calcli.core.language.errors import CalcliError, UsageError
from calcli.core.language.expressions import parse_metric
from calcli.core.language.figures import parse_figures
from calcli.core.language.settings import Settings
from calcli.core.language.text import counted, number, p_value, some
from calcli.report.estimates import (
    CALIBRATION,
    CHANCE,
    CONFIDENCE,
    CONSTANT,
    CORRECTED,
    DIAGNOSIS,
    ERRORS,
    NORMALIZED,
    NORMALIZED_ANSWERS,
    ORACLE,
    SCORES,
    P,
    bounds,
    ends,
    error_notes,
    estimates_table,
    few_draws,
    if_calibrated,
    interval_head,
    meaning,
    of_class,
    of_section,
    tested_p,
    value,
    without_interval,
)
from calcli.report.files import sha256, system_names
from calcli.report.findings import FIRST, Result, backwards_table
from calcli.report.labels import label_tables, labels_of
from calcli.report.markdown import markdown_text
from calcli.report.objects import CLASS, INPUT, BinsObject, EstimateObject, EvaluationObject, ResultObject
from calcli.report.operating import operating_table, point_objects
from calcli.report.overview import (
    MANY,
    Unread,
    comparison_tables,
    decision_table,
    further,
    glance_table,
    overview,
    usual_metrics,
)
from calcli.report.reading import considered_objects, considered_table, read_table, reading_sentences
from calcli.report.recalibration import loss_table, parts_of_scores, parts_table
from calcli.report.shown import Column, Format, Headline, Number, Shown, TextTable, render, table_of
from calcli.report.slices import is_compared, ranked_by, slice_tables, with_slices, worst_slices
from calcli.report.systems import System, systems_of, systems_table

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

    from calcli.figures import Drawing
    from calcli.report.page import Picture

MEANING = Column("what it says", "left", optional=True)
LEADING = ("log_loss", "accuracy", "mean_gap")  # metrics that a page shows first
LEADING_OF_TWO = ("log_loss", "auroc", "ece")
MOST_PREDICTED = 20  # most classes of a confusion matrix in tables
MOST_CONSIDERED = 6  # other readings, in tables
MOST_SYSTEMS = 6  # notes there; tables have all
NAMED = 4  # metrics in one line
ASKED = ("costs", "decision_column", "cost_column", "test")


RECORD = (
    "path", "slice", "class", "metric", "value", "low", "high", "level",
    "if_calibrated_mean", "if_calibrated_sd", "p_value", "corrected_p",
    "signature",
)  # fmt: skip
BESIDE = {"constant": CONSTANT, "oracle": ORACLE, "chance": CHANCE}  # parts with a column
OF_CLASSES = "ece: of the probability of each class (lens=class-0, class-1, ...); their mean is cw_ece."
CLASS_FIGURES = ("rows", "frequency", "mean_prob", "recall", "ece")


@dataclass(frozen=True, repr=False, eq=False)
class Report(Shown):
    """The results of one evaluation, or of several side by side; printed, the tables of the command line.

    Attributes
    ----------
    results
        At least one; each is followed by the results of its slices, if any.
    settings
        How the results were computed.
    unread
        Files that could not be read.
    failures
        Sentences on the limits that each data set breaks, by path.
    details
        Whether tables and records have everything, also the figures of each class; else a screen of one data
        set, a line each of several, and of many data sets and slices the failures, and results worse than
        chance would make them.
    evaluation
        The evaluation behind them in Python, for `calcli.figures.standard_set`.
    drawn
        Figures of data sets without their rows.
    """

    results: Sequence[Result]
    settings: Settings
    unread: Sequence[Unread] = ()
    failures: Mapping[str, Sequence[str]] = field(default_factory=dict)
    details: bool = False
    evaluation: Evaluation | None = None
    drawn: Sequence[Picture] = ()

    title = "Calibration report"
    schema = "calcli.report/1"

    @property
    def exit_status(self) -> int:
        """The exit status of `calcli evaluate`: 1 if a limit is broken, 2 if a file could not be read."""
        return 1 if self.failures else 2 if self.unread else 0

    def tables(self) -> list[TextTable]:
        """Return the input and the results, then slices and classes, then warnings."""
        groups = with_slices(self.results)
        all_rows = [overall for overall, _ in groups]
        if len(all_rows) + len(self.unread) == 1:
            names = [""]
            tables = overview(all_rows[0]) if self._is_short else _one_by_one(all_rows[0])
            if self._is_short and all_rows[0].settings.metrics:
                tables += _lost(all_rows[0])
            text_tables = backwards_table([("", all_rows[0].warnings)])
        else:
            names = system_names([result.input for result in all_rows])
            text_tables = backwards_table([*zip(names, (r.warnings for r in all_rows), strict=True)])
            of_labels = {
                r.input.path for label in labels_of(all_rows).values() for r in label if not self.details
            }
            listed = [n for n, r in enumerate(all_rows) if r.input.path not in of_labels]
            many = len(listed) > MANY
            short = many or (self._is_short and not all_rows[0].settings.metrics) if all_rows else many
            detailed = [n for n in listed if self._is_detailed(all_rows[n], short)]
            tables = [*label_tables(all_rows)]
            if listed or self.unread:
                results, titles = [all_rows[n] for n in listed], [names[n] for n in listed]
                hidden = len(listed) - len(detailed)
                tables.append(glance_table(results, titles, self.unread, self.failures, hidden))
            if len(self.systems()) < len(all_rows) and (one_table := self.of_systems()):
                return [*text_tables, one_table[0], tables[0]]
            tables += comparison_tables([all_rows[n] for n in detailed], [names[n] for n in detailed])
            if many:
                groups, names = [groups[n] for n in detailed], [names[n] for n in detailed]
                all_rows = [overall for overall, _ in groups]
        for (overall, slices), name in zip(groups, names, strict=True):
            tables += operating_table(overall, name)
            tables += slice_tables(overall, slices, name, details=self.details)
            tables += [_per_class(overall, name)] if self.details and not overall.input.of_answers else []
        warnings = _warnings(all_rows, names)
        if len(all_rows) + len(self.unread) == 1 and self._is_short:
            tables.append(TextTable("", notes=tuple(filter(None, [*warnings, further(all_rows[0])]))))
        else:
            tables.append(TextTable("Warnings", notes=tuple(warnings)))
        return [*text_tables, *(table for table in tables if table.rows or table.notes)]

    @property
    def _is_short(self) -> bool:
        """Whether one screen is enough: nothing beyond the default report was requested."""
        settings = self.settings, self.results[0].settings  # a state knows its metrics
        return not (self.details or any(getattr(of, name) for of in settings for name in ASKED))

    def _is_detailed(self, result: Result, at_a_glance: bool) -> bool:
        return self.details or bool(self.failures.get(result.input.path)) or not at_a_glance

    def of_systems(self) -> tuple[TextTable, Sequence[Mapping[str, Any]]] | None:
        """Return one table of several data sets without slices: the requested or the default metrics."""
        systems = self.systems()
        if self.details or len(self.results) < 2 or any(result.slice for result in self.results):
            return None
        every = list(dict.fromkeys(chain.from_iterable(result.metrics for result in self.results)))
        usual = [name for name in usual_metrics(self.results) if name in every]
        metrics = every if self.results[0].settings.metrics or not usual else usual
        title = of_class("Systems", [result.input for result in self.results])
        table = systems_table(systems, title, metrics)
        table = replace(table, marks={}) if labels_of(self.results) else table
        return table, [system.record(metrics) for system in systems]

    def systems(self) -> list[System]:
        """Return the data sets without slices; data sets with one name, such as seeds, are one system."""
        all_rows = [result for result in self.results if result.slice is None]
        names = system_names([result.input for result in all_rows])
        pairs = zip((result.input.name for result in all_rows), names, strict=True)
        names = [name if title in ("", MACRO) else title for title, name in pairs]
        return systems_of(names, [result.metrics for result in all_rows])

    def headline(self) -> Headline:
        """Return the input, the verdict and three numbers; for several data sets their names."""
        all_rows = [overall for overall, _ in with_slices(self.results)]
        if len(all_rows) > 1:
            names = system_names([result.input for result in all_rows])
            rows = sum(result.input.rows for result in all_rows)
            read = f"{len(all_rows)} data sets, {counted(rows, 'row')} in all"
            read += f"; the first {MOST_SYSTEMS}:" if len(all_rows) > MOST_SYSTEMS else ""
            numbers = [_of_system(name, result) for name, result in zip(names, all_rows, strict=True)]
            return Headline(read, numbers=numbers[:MOST_SYSTEMS], systems=names)
        return _headline(all_rows[0])

    def data(self) -> EvaluationObject:
        """Return settings and results, with the definition of every number."""
        seeds = {
            system.name: {metric: system.numbers(metric) for metric in system.files[0]}
            for system in self.systems()
            if len(system.files) > 1
        }
        document: EvaluationObject = {
            "settings": self.settings.recorded | {"clip": self._clip()},
            "unread": [asdict(fault) for fault in self.unread],
            "failures": {path: list(sentences) for path, sentences in self.failures.items()},
            "results": [
                _result(result, slices if result is overall else ())
                for overall, slices in with_slices(self.results)
                for result in (overall, *slices)
            ],
        }
        if seeds:
            document["seeds"] = seeds
        return document

    def _clip(self) -> float | None:
        """Return the clip, which states carry along; None if it differs."""
        clips = {result.settings.clip for result in self.results} or {self.settings.clip}
        return clips.pop() if len(clips) == 1 else None

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield a record for every metric of every result, with details for every figure of a class.

        Each has the keys `RECORD`; values that a metric lacks are None.
        """
        for result in self.results:
            labels = [f"label={result.input.label}"] * bool(result.input.label)
            part = ", ".join([*labels, *([str(result.slice)] if result.slice else [])]) or None
            empty = dict.fromkeys(RECORD) | {"path": result.input.path, "slice": part}
            for name, estimate in result.metrics.items():
                record = empty | {"metric": name, "value": estimate.value}
                record |= {"signature": estimate.signature}
                record |= asdict(estimate.interval) if estimate.interval else {}
                yield record | _flat_null(estimate.if_calibrated)
            for row in result.per_class if self.details and not result.input.of_answers else ():
                for figure in CLASS_FIGURES:
                    record = empty | {"class": row.name, "metric": figure, "value": getattr(row, figure)}
                    yield record | _flat_null(row.if_calibrated if figure == "ece" else None)

    def how_read(self) -> list[str]:
        """Return how each file was read, in sentences."""
        all_rows = [overall.input for overall, _ in with_slices(self.results)]
        return reading_sentences((read.name or read.path, read.reading) for read in all_rows)

    def beside(self, format: Format) -> list[str]:
        """Return how files were read, and warnings, for forms without a place for them."""
        if format != "csv":
            return []
        warned = [
            f"{result.input.path}{f', {result.slice}' if result.slice else ''}: {warning.message}"
            for result in self.results
            for warning in result.warnings
        ]
        return [*self.how_read(), *warned]

    def faults(self) -> list[str]:
        """Return why files could not be read, and the broken limits."""
        return [*(file.reason for file in self.unread), *chain.from_iterable(self.failures.values())]

    def pictures(self) -> Sequence[Picture]:
        """Return the standard figures."""
        if self.evaluation is None:
            return self.drawn
        from calcli.report.pictures import Album

        album = Album()
        album.draw(self.evaluation)
        return album.pictures

    def to_frame(self, per_class: bool = False, *, signature: bool = False) -> pandas.DataFrame:
        """Return a row for every number: metric, value, low, high, p, and its slice, if any.

        p tests perfect calibration, corrected for the number of tests.

        Parameters
        ----------
        per_class
            Whether to add the figures of each class.
        signature
            Whether to add the definition of each number.
        """
        from calcli.io.frames import to_frame  # this loads modules that arrays do not need

        records = [*replace(self, details=per_class).records()]
        for record in records:
            record["p"] = record["p_value"] if record["corrected_p"] is None else record["corrected_p"]
        part_columns = [
            name for name in ("slice", "class") if any(record[name] is not None for record in records)
        ]
        columns = [
            *part_columns,
            "metric",
            "value",
            "low",
            "high",
            "p",
            *(["signature"] if signature else []),
        ]
        return to_frame({name: record[name] for name in columns} for record in records)

    def __getitem__(self, metric: str) -> Estimate:
        """Return the estimate of a metric on all rows, by the requested expression or another spelling of it.

        Raises
        ------
        KeyError
            If it was not computed.
        """
        result = self.results[0]
        if not isinstance(metric, str):
            raise KeyError(f"{metric!r} is not the name of a metric; there are {', '.join(result.metrics)}")
        if metric in result.metrics:
            return result.metrics[metric]
        call = str(parse_metric(metric, result.settings.defaults))
        if call not in result.estimates:
            raise KeyError(f"{metric} was not computed; there are {', '.join(result.metrics)}")
        return result.estimates[call]

    def __contains__(self, metric: object) -> bool:
        """Return whether a metric was computed on all rows, by any spelling of it."""
        try:
            return isinstance(metric, str) and self[metric] is not None
        except (KeyError, UsageError):
            return False

    def __iter__(self) -> Iterator[str]:
        """Yield the metrics computed on all rows, as requested."""
        return iter(self.results[0].metrics)

    def plot(
        self,
        figure: str = "reliability",
        *,
        title: str | None = None,
        ax: Axes | None = None,
        figsize: tuple[float, float] | None = None,
        **view: Any,
    ) -> Drawing:
        """Return a figure, which a notebook shows.

        Parameters
        ----------
        figure
            A name that `calcli explain` lists, with arguments if any, as in reliability:binning=equal-mass.
        title
            Title of the predictions, in place of the name of their file.
        ax
            Axes of a grid of plots to draw on.
        figsize
            Width and height in inches.
        **view
            As for `calcli.figures.View`: lens, binning and so on.
        """
        from calcli.figures.drawing import View, draw, system_name, viewed
        from calcli.figures.style import Appearance, appearing, drawn_in

        if ax is not None and figsize is not None:
            raise UsageError("ax has its place and size already; leave out figsize")
        ((figure, arguments),) = parse_figures([[TEXT.checked("figure", figure)]]).items()
        if self.evaluation is None:
            raise UsageError("figures of Python show one label; evaluate the one that is to be shown")
        name = title or system_name(self.evaluation)
        look = viewed(View(draws=self.evaluation.settings.draws), **arguments | view)
        with appearing(Appearance("", *(figsize or ()))) if ax is None else drawn_in(ax):
            drawing = draw(figure, {name: self.evaluation}, look)
        return drawing if ax is None else replace(drawing, figure=drawing.figure.figure)

    def _repr_html_(self) -> str:
        """Return the verdict, the tables and the reliability diagram, which a notebook shows."""
        try:
            drawing = self.plot()
        except CalcliError:  # a state may not keep it
            return super()._repr_html_()
        image = b64encode(drawing._repr_png_()).decode()
        style = "max-width: 100%; height: auto"
        picture = f'<img style="{style}" alt="{escape(drawing.caption)}" src="data:image/png;base64,{image}">'
        return super()._repr_html_() + picture

    def __repr__(self) -> str:
        read, metrics = self.results[0].input, self.results[0].metrics
        size = f"{counted(read.rows, 'row')}, {counted(read.classes, 'class')}"
        if read.of_answers:
            size = counted(read.rows, "answer")
        values = [f"{name} {number(estimate.value)}" for name, estimate in list(metrics.items())[:NAMED]]
        values += [f"and {len(metrics) - NAMED} more"] if len(metrics) > NAMED else []
        return f"<Report on {read.path}: {size}; {', '.join(values)}>"

    def write_into(self, folder: Path, captions: Mapping[Path, str]) -> None:
        """Write report.json, .md and .html into a folder.

        report.md shows the figures in it, by their captions.
        """
        (folder / "report.json").write_text(render(self, "json"), encoding="utf-8")
        figures = {file.relative_to(folder).as_posix(): text for file, text in captions.items()}
        report = self.in_full()
        page = markdown_text(report.tables(), self.title, figures)
        (folder / "report.md").write_text(page, encoding="utf-8")
        report.write(str(folder / "report.html"), "html")


def _headline(result: Result) -> Headline:
    read, metrics = result.input, result.metrics
    place = "standard input" if read.path == "-" else read.path
    size = f"{place}: {counted(read.rows, 'row')}, {counted(read.classes, 'class')}, {read.kind}"
    sentences = [warning.message for warning in result.warnings if warning.code in FIRST]
    sentences += [result.verdict.sentence] if result.verdict else []
    sentences += [result.gain.sentence] if result.gain else []
    word = result.verdict.word if result.verdict else "untested"
    plain = word in ("untested", "right on average") and result.backwards_area is None
    good = word == "consistent" and result.backwards_area is None
    tone: Literal["good", "bad", "plain"] = "good" if good else "plain" if plain else "bad"
    leading = LEADING_OF_TWO if result.input.of_two else LEADING
    chosen = [name for name in leading if name in metrics] or list(metrics)
    numbers = [Number(name, value(metrics[name]), _beside(metrics[name])) for name in chosen[:3]]
    return Headline(size, " ".join(sentences), tone, numbers)


def _warnings(results: Sequence[Result], names: Sequence[str]) -> list[str]:
    """Return the warnings, each once with all data sets that it applies to."""
    of: dict[str, list[str]] = {}
    for result, name in zip(results, names, strict=True):
        for warning in result.warnings:
            if warning.code not in FIRST:
                of.setdefault(warning.message, []).append(name)
    return [f"{some(whose)}: {message}" if any(whose) else message for message, whose in of.items()]


def _of_system(name: str, result: Result) -> Number:
    """Return the first available leading metric of one of several data sets, and its verdict."""
    metric = next((metric for metric in LEADING if metric in result.metrics), next(iter(result.metrics)))
    words = [metric, *([result.verdict.word] if result.verdict else [])]
    return Number(name, value(result.metrics[metric]), ", ".join(words))


def _beside(estimate: Estimate) -> str:
    if estimate.interval is not None:
        return f"{ends(estimate)} ({level_percent(estimate.interval.level)})"
    if estimate.if_calibrated is not None:
        return f"if calibrated {if_calibrated(estimate)}"
    return "no interval" if estimate.no_interval else ""


def _result(result: Result, results: Sequence[Result]) -> ResultObject:
    worst = worst_slices(result, results)
    document: ResultObject = {
        "input": input_object(result.input),
        "slice": result.slice and asdict(result.slice) | {"compared": is_compared(result)},
        "metrics": {name: _estimate(estimate) for name, estimate in result.metrics.items()},
        "verdict": result.verdict and asdict(result.verdict),
        "infinite_log_loss": result.infinite_log_loss and asdict(result.infinite_log_loss),
        "recalibration": [str(gain) for gain in result.recalibration],
        "decisions": {name: [asdict(row) for row in rows] for name, rows in result.decisions.items()},
        "operating_points": point_objects(result),
        "per_class": [_class(row) for row in result.per_class],
        "reliability": [asdict(row) for row in result.reliability],
        "warnings": [asdict(warning) for warning in result.warnings],
        "worst_slices": {column: part.slice.value for column, part in worst.items() if part.slice},
        "slices_ranked_by": ranked_by(results[0]) if results else None,
    }
    return document | {"mixed": list(result.mixed)} if result.input.questions else document


def input_object(summary: Input) -> dict[str, Any]:
    """Return the input as JSON values, with the hash of its files."""
    document = {name: value for name, value in asdict(summary).items() if name not in INPUT.without}
    few = {"judge": summary.judge, "unlabelled": summary.without_label} if summary.without_label else {}
    document |= {key: value for key in ("name", "label") if (value := getattr(summary, key))}
    return document | {"considered": considered_objects(summary), "sha256": sha256(summary.files)} | few


def _estimate(estimate: Estimate) -> EstimateObject:
    document: dict[str, Any] = {"value": estimate.value}
    if estimate.interval is not None:
        document |= asdict(estimate.interval)
    further = {
        "no_interval": estimate.no_interval,
        "recalibrator": estimate.recalibrator,
        "sampled_rows": estimate.rows,
        "parts": dict(estimate.parts),
        "bins": estimate.bins and _bins(estimate.bins),
    }
    document |= {key: value for key, value in further.items() if value not in (None, "", {})}
    return cast(EstimateObject, document | _null(estimate.if_calibrated) | {"signature": estimate.signature})


def _bins(bins: VectorBins) -> BinsObject:
    """Return the bins of vectors behind an error: the outcomes, and each bin's numbers in this order."""
    names = ("rows", "share", "mean", "frequency")
    columns = zip(*(getattr(bins, name).tolist() for name in names), strict=True)
    return {"outcomes": bins.outcomes, "bins": [dict(zip(names, row, strict=True)) for row in columns]}


def _class(row: ClassRow) -> dict[str, Any]:
    document = {name: value for name, value in asdict(row).items() if name not in CLASS.without}
    return document | _null(row.if_calibrated)


def _null(null: Null | None) -> dict[str, Any]:
    if null is None:
        return {}
    document = {"if_calibrated": {"mean": null.mean, "sd": null.sd}, "p_value": null.p_value}
    return document if null.corrected_p is None else document | {"corrected_p": null.corrected_p}


def _flat_null(null: Null | None) -> dict[str, float | None]:
    if null is None:
        return {}
    names = ("if_calibrated_mean", "if_calibrated_sd", "p_value", "corrected_p")
    return dict(zip(names, (null.mean, null.sd, null.p_value, null.corrected_p), strict=True))


def _one_by_one(result: Result) -> list[TextTable]:
    """Return proper scores first, then what recalibration would win back, then calibration errors."""
    metrics = result.metrics
    decisions = [
        decision_table(name, rows, result.input.class_names, _threshold(name, metrics))
        for name, rows in result.decisions.items()
    ]
    mixed = TextTable("Right in some epochs only", notes=(", ".join(result.mixed),) * bool(result.mixed))
    read = [read_table(result), *considered_table(result.input, MOST_CONSIDERED)]
    return [*read, _scores(result), *decisions, *_lost(result), _errors(result), _classics(result), mixed]


def _lost(result: Result) -> list[TextTable]:
    metrics = result.metrics
    return [loss_table(metrics, result.recalibration), parts_table(parts_of_scores(metrics))]


def _threshold(costs: str, metrics: Mapping[str, Estimate]) -> float | None:
    """Return the probability from which the second of two decisions costs less."""
    risks = [metric for metric in metrics.values() if metric.metric.entry.name == "bayes_risk"]
    return next((r.parts.get("threshold") for r in risks if r.metric.arguments["costs"] == costs), None)


def _scores(result: Result) -> TextTable:
    estimates = of_section(result.listed, "scores")
    notes = [result.verdict.sentence] if result.verdict else []
    if not estimates:
        return TextTable(CONFIDENCE, notes=tuple(notes))
    if any(name.startswith("normalized_") for name in estimates):
        notes.append(NORMALIZED_ANSWERS if result.input.of_answers else NORMALIZED)
    notes += without_interval(estimates.values())
    names = [name for name in BESIDE if any(name in estimate.parts for estimate in estimates.values())]
    notes += [BESIDE[name] for name in names]
    odds = [estimate.parts["prior_odds"] for estimate in estimates.values() if "prior_odds" in estimate.parts]
    whose = "of --shift-to-priors" if result.settings.shift_to_priors else "of the labels"
    second = result.input.class_names[-1]
    notes += [f"cllr: the prior odds of {second} are {number(odds[0])}, those {whose}."] if odds else []
    cells: dict[Column, Callable[[Estimate], str]] = {
        Column(interval_head(estimates.values())): ends,
        **{Column(name): partial(_part, name) for name in names},
        Column("better", "left"): lambda e: e.metric.entry.better,
        MEANING: lambda e: meaning(e, result.input),
    }
    return estimates_table(of_class(SCORES, [result.input]), estimates, cells, notes)


def _part(name: str, estimate: Estimate) -> str:
    return number(estimate.parts[name]) if name in estimate.parts else ""


def _errors(result: Result) -> TextTable:
    estimates = of_section(result.metrics, "errors")
    cells = {
        Column("if calibrated"): if_calibrated,
        Column("p"): tested_p,
        **bounds(estimates.values()),
        MEANING: lambda e: meaning(e, result.input),
    }
    notes = [*error_notes(estimates.values(), ERRORS), *without_interval(estimates.values())]
    return estimates_table(of_class(DIAGNOSIS, [result.input]), estimates, cells, notes)


def _classics(result: Result) -> TextTable:
    estimates = of_section(result.metrics, "classical")
    tests = {Column("if calibrated"): if_calibrated, Column("p"): tested_p}
    cells: dict[Column, Callable[[Estimate], str]] = {
        Column(interval_head(estimates.values())): ends,
        **tests,
    }
    return estimates_table(of_class(CALIBRATION, [result.input]), estimates, cells)


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
    """Return the confusion matrix if it is small: the rows of each class by predicted class."""

    def predicted(place: int, row: ClassRow) -> str:
        return f"{row.predicted_as[place]:,}"

    cells: dict[Column, Callable[[ClassRow], str]] = {
        Column("rows"): lambda row: f"{row.rows:,}",
        Column("recall"): lambda row: number(row.recall) if row.rows else "no rows",
    }
    if len(result.per_class) <= MOST_PREDICTED:
        for place, class_row in enumerate(result.per_class):
            cells[Column(f"as {class_row.name}")] = partial(predicted, place)
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
