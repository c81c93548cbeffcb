"""A fit as shown: what was learned, its effect, and warnings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, TypedDict

import numpy as np

from calcli.core.calibrators.crossvalidation import PairedDifference
from calcli.core.data.predictions import Kind, Predictions
from calcli.core.language.expressions import MethodExpression, parse_method
from calcli.core.language.metrics import METRICS
from calcli.core.language.settings import FitSettings
from calcli.core.language.text import apart, counted, number, numbers, percent, plus_minus, relative, some
from calcli.core.recalibrating.choosing import POOL, Candidate, Sureness
from calcli.core.recalibrating.fitting import Fit
from calcli.report.estimates import NONE
from calcli.report.findings import BACKWARDS, Warning, backwards, backwards_table
from calcli.report.reading import layout
from calcli.report.recalibration import ONE_LABEL
from calcli.report.shown import Column, Headline, Number, Shown, TextTable, table_of


class FitInputObject(TypedDict):
    """The input of a fit."""

    path: str
    rows: int
    sampled_from: int
    classes: int
    kind: Kind
    kind_reason: str
    labels: str
    read_as: str
    taken: tuple[str, ...]
    reading: tuple[str, ...]


class RangeObject(TypedDict):
    """An array of many numbers."""

    shape: list[int]
    least: float
    most: float


class CandidateObject(TypedDict):
    """A method that was tried."""

    method: str | None
    values: dict[str, float]
    difference_to_best: Annotated[Any, PairedDifference, None]
    chosen: bool
    failed: str | None


class FitObject(TypedDict):
    """A report of `calcli fit`."""

    settings: Annotated[Any, FitSettings]
    input: FitInputObject
    method: str
    learned: dict[str, Annotated[Any, RangeObject, float, list[Any]]]
    before: dict[str, float]
    after: dict[str, float]
    cross_validated: dict[str, float] | None
    gain: Annotated[Any, PairedDifference, None]
    changed_rows: int
    new_ties: int
    candidates: list[CandidateObject]
    sureness: Annotated[Any, Sureness, None]
    notes: list[str]
    warnings: list[Annotated[Any, Warning]]


class LabelFitsObject(TypedDict):
    """A report of `calcli fit` on several labels in a row."""

    labels: dict[str, FitObject]


ROWS_A_CLASS = 10  # rows of a class below which its parameters are mostly noise
ROWS_A_PARAMETER = 10
ROUNDING = 1e-9  # smaller differences of accuracy come from the order of summation
LISTED = 12  # longer arrays are shown by their range
WRAPPED = {
    "reduced": "on the confidence alone: two classes, right and wrong",
    "per-predicted-class": "one for each class predicted on {min_rows} rows or more",
    "preserve-top1": "the predicted class is preserved",
}
NO_GAIN = "* chosen: no method gains more than one standard error (se)."
SIMPLEST = "* chosen: the simplest within one standard error (se) of the best single method"
FLATTERED = "after: on the rows of the fit, which is optimistic."


@dataclass(frozen=True, eq=False)
class FitReport(Shown):
    """A fit: what was learned, its effect, and warnings.

    Attributes
    ----------
    fit
        The fit, with its performance.
    details
        Whether tables show how the file was read, and the parameters.
    """

    fit: Fit
    details: bool = False

    title = "Calibration report"
    schema = "calcli.fit/1"

    def tables(self) -> list[TextTable]:
        """Return the gain and the choice, the effect, the candidates and the warnings."""
        fit = self.fit
        of_fit = fit_warnings(fit)
        warnings = tuple(warning.message for warning in of_fit if warning.code != BACKWARDS)
        return [
            *backwards_table([("", of_fit)]),
            _summary(fit),
            *([_what(fit)] if self.details else []),
            _effect(fit),
            *([_candidates(fit)] if fit.candidates else []),
            *([TextTable("Warnings", notes=warnings)] if warnings else []),
        ]

    def headline(self) -> Headline:
        """Return the fit, and its effect on scores, on unseen rows if there are any."""
        fit = self.fit
        rows = fit.predictions
        after, where = (
            (fit.cross_validated, "cross-validated") if fit.cross_validated else (fit.after, "in sample")
        )
        numbers = [
            Number(
                name,
                number(after[name], fit.before[name]),
                f"{number(fit.before[name], after[name])} before; {where}",
            )
            for name in list(fit.before)[:3]
        ]
        size = f"{_size(rows)}, {counted(rows.n_classes, 'class')}"
        name, seen = next(iter(fit.before)), "" if fit.cross_validated else ", on the rows of the fit"
        before, now = fit.before[name], after[name]
        falls = f"{name} {number(before, now)} before, {number(now, before)} after{seen}"
        messages = [fit_warning.message for fit_warning in fit_warnings(fit) if fit_warning.code == BACKWARDS]
        sentence = " ".join([*messages, f"Fitted: {'nothing' if fit.unchanged else fit.method}; {falls}."])
        return Headline(size, sentence, "bad" if messages else "plain", numbers)

    def data(self) -> FitObject:
        """Return settings, input, what was learned, and its effect; long arrays by their range."""
        fit, rows = self.fit, self.fit.predictions
        return {
            "settings": asdict(fit.settings),
            "input": {
                "path": rows.provenance.path,
                "rows": rows.n_rows,
                "sampled_from": rows.provenance.sampled_from or rows.n_rows,
                "classes": rows.n_classes,
                "kind": rows.kind,
                "kind_reason": rows.scores.kind_reason,
                "labels": rows.provenance.labels,
                "read_as": rows.provenance.read_as,
                "taken": rows.provenance.taken,
                "reading": rows.reading(fit.settings.cluster),
            },
            "method": "none" if fit.unchanged else str(fit.method),
            "learned": {name: _plain(np.asarray(value)) for name, value in fit.calibrator.parameters.items()},
            "before": fit.before,
            "after": fit.after,
            "cross_validated": fit.cross_validated,
            "gain": fit.gain and asdict(fit.gain),
            "changed_rows": fit.changed_rows,
            "new_ties": fit.new_ties,
            "candidates": [_candidate(candidate, fit) for candidate in fit.candidates],
            "sureness": fit.sureness and asdict(fit.sureness),
            "notes": list(fit.calibrator.notes),
            "warnings": [asdict(warning) for warning in fit_warnings(fit)],
        }


@dataclass(frozen=True, eq=False)
class LabelFits(Shown):
    """The fits of several labels in a row.

    Attributes
    ----------
    fits
        Of each label.
    """

    fits: Mapping[str, Fit]

    title = "Calibration report"
    schema = "calcli.fits/1"

    def tables(self) -> list[TextTable]:
        """Return a row for each label."""
        cells: dict[Column, Callable[[Fit], str]] = {
            Column("rows"): lambda fit: f"{fit.predictions.n_rows:,}",
            Column("method", "left"): lambda fit: "none" if fit.unchanged else str(fit.method),
            Column("log_loss"): lambda fit: number(fit.before["log_loss"]),
            Column("recalibrated"): lambda fit: number((fit.cross_validated or fit.after)["log_loss"]),
            Column("ece"): lambda fit: number(fit.before["ece"]),
            Column("recalibrated "): lambda fit: number((fit.cross_validated or fit.after)["ece"]),
        }
        seen = all(fit.cross_validated for fit in self.fits.values())
        note = "recalibrated: cross-validated." if seen else FLATTERED
        return [table_of("A map for each label", self.fits.items(), cells, [note], head="label")]

    def data(self) -> LabelFitsObject:
        """Return the report on each fit, by label."""
        return {"labels": {label: FitReport(fit).data() for label, fit in self.fits.items()}}


def fit_warnings(fit: Fit) -> list[Warning]:
    """Return the warnings about a fit, the gravest first."""
    rows = fit.predictions
    return [*backwards(fit.backwards_area, rows.classes), *_losses(fit), *_few_rows(fit)]


def _size(rows: Predictions) -> str:
    return f"{rows.provenance.path}: {counted(rows.n_rows, 'row')}{rows.provenance.joined}"


def _summary(fit: Fit) -> TextTable:
    """Return a sentence on the choice, and its gain on unseen rows."""
    rows, score = fit.predictions, fit.settings.score if fit.candidates else next(iter(fit.before))
    tried = sum(candidate.method is not None for candidate in _shown(fit))
    chosen = f"{_short(fit.method)}, chosen among {tried} methods" if fit.candidates else _short(fit.method)
    before = fit.before[score]
    if fit.cross_validated is None:
        after = fit.after[score]
        where = "on the rows of the fit, not cross-validated"
    else:
        after, where = fit.cross_validated[score], "on unseen rows"
    change = " -> ".join(numbers(before, after))
    if math.isfinite(before) and before:
        change += f", {relative((after - before) / before)}"
    if np.count_nonzero(fit.class_rows) == 1:
        where += f": {ONE_LABEL}"
    outcomes = "answers" if rows.of_answers else counted(rows.n_classes, "class")
    title = f"{_size(rows)}, {outcomes}, {rows.kind}"
    repeats = rows.provenance.repeats if fit.settings.cluster is None else ()
    effect = f"{chosen}: {score} {change}, {where}."
    if fit.unchanged:
        effect = (
            f"None of {tried} methods lowers the {score}, {number(before)}, beyond chance: nothing changes."
        )
    return TextTable(title, notes=(effect, *(f"{repeat}." for repeat in repeats)))


def _what(fit: Fit) -> TextTable:
    rows = fit.predictions
    *wrappers, learning = fit.settings.wrapped(fit.method).chain
    origin = rows.provenance
    outcomes = ("classes", f"{rows.n_classes:,}")
    if rows.of_answers:
        outcomes = ("answers", f"{percent(fit.priors[1])} are right")
    lines = [
        ("read as", layout(origin.read_as, origin.taken)),
        *(("doubt", doubt) for doubt in origin.doubts),
        ("rows", f"{rows.n_rows:,}{'' if rows.weights is None else ', weighted'}"),
        outcomes,
        ("right by" if rows.of_answers else "labels", rows.provenance.labels),
        ("confidence" if rows.of_answers else "scores", f"{rows.kind}: {rows.scores.kind_reason}"),
        *(("note", note) for note in origin.notes),
        ("method", f"{fit.method}: {learning.entry.learns} ({learning.entry.source})"),
    ]
    lines += [("", WRAPPED[wrapper.entry.name].format(**wrapper.arguments)) for wrapper in reversed(wrappers)]
    learned = [(name, _learned(np.asarray(value))) for name, value in fit.calibrator.parameters.items()]
    parameters = [(name, text) for name, text in learned if text]
    lines += parameters[:LISTED]
    if len(parameters) > LISTED:
        lines.append(("", f"and {len(parameters) - LISTED:,} more"))
    notes = tuple(f"{note[:1].upper()}{note[1:]}." for note in fit.calibrator.notes)
    return TextTable("What was learned", (Column("", "left"), Column("", "left")), tuple(lines), notes)


def _learned(array: Any) -> str:
    """Return learned numbers as text; nothing for parameters that only describe the layout."""
    if array.dtype.kind != "f":
        return ""
    if array.ndim == 0:
        return number(float(array))
    if array.size <= LISTED and array.ndim == 1:
        return ", ".join(map(number, array.tolist()))
    shape = " x ".join(f"{length:,}" for length in array.shape)
    return f"{shape} numbers, {number(np.nanmin(array))} to {number(np.nanmax(array))}"


def _plain(array: Any) -> Any:
    if array.size <= LISTED:
        return array.tolist()
    return {"shape": list(array.shape), "least": float(np.nanmin(array)), "most": float(np.nanmax(array))}


def _candidates(fit: Fit) -> TextTable:
    score = fit.settings.score
    heads = (score, "to the best ± se", *(name for name in fit.before if name != score))
    rows = []
    tried = _shown(fit)
    every = {name: [c.values[name] for c in tried if c.difference] for name in (score, *fit.before)}
    for c in tried:
        name = "none (as they are)" if c.method is None else _short(c.method)
        if c.difference is None:
            rows.append((name, "failed", *[NONE] * (len(heads) - 1)))
            continue
        values = (number(value, *every[key]) for key, value in c.values.items() if key != score)
        rows.append(
            (
                f"{name} *" if c.method == (None if fit.unchanged else fit.method) else name,
                number(c.values[score], *every[score]),
                _difference(c.difference),
                *values,
            )
        )
    names = {c.method.entry.name for c in tried if c.method}
    pooled = "; then the pool, if it gains more than one standard error and 1%" * (POOL in names)
    notes = [NO_GAIN if fit.unchanged else f"{SIMPLEST}{pooled}."]
    notes.append(f"By cross-validation, {fit.settings.folds} folds{_repeated(fit.sureness)}.")
    if "structured" in names:
        notes.append("structured: base, and penalties of the slopes of each class and of the matrix, if any.")
    if fit.sureness is not None:
        notes += _sure(fit.sureness, score)
    notes += [f"{candidate.method}: {candidate.failed}." for candidate in fit.candidates if candidate.failed]
    columns = (Column("", "left"), *map(Column, heads))
    return TextTable("Candidates, by cross-validation", columns, tuple(rows), tuple(notes))


def _shown(fit: Fit) -> list[Candidate]:
    """Return the candidates for the table: for structured scaling the best strength with each base."""
    score = fit.settings.score
    best: dict[str, Candidate] = {}
    for c in fit.candidates:
        if c.method is not None and c.method.chain[-1].entry.name == "structured" and c.difference:
            base = str(c.method.chain[-1].arguments["base"])
            if base not in best or c.values[score] < best[base].values[score]:
                best[base] = c
    best_ones = list(best.values())
    return [
        candidate
        for candidate in fit.candidates
        if candidate.method is None
        or candidate.method.chain[-1].entry.name != "structured"
        or candidate.method == fit.method
        or not candidate.difference
        or any(candidate is leader for leader in best_ones)
    ]


def _repeated(sureness: Sureness | None) -> str:
    return f", dealt {sureness.repeats} times" if sureness and sureness.repeats > 1 else ""


def _sure(sureness: Sureness, score: str) -> list[str]:
    rivals = [
        f"{_short(parse_method(name))} ({percent(share)})"
        for name, share in list(sureness.others.items())[:2]
    ]
    instead = f"; others choose {'; '.join(rivals)}" if rivals else ""
    notes = [f"{percent(sureness.share)} of resamples choose the same{instead}."]
    if sureness.optimism > 0:
        notes.append(
            f"As it was chosen on these rows, its {score} is too low by about {sureness.optimism:.2g}."
        )
    return notes


def _short(metric: MethodExpression) -> str:
    """Return a method for a table: a pool without its members, structured scaling by its parts."""
    inner = metric.chain[-1]
    if inner.entry.name == POOL and inner.arguments["weights"]:
        return POOL
    if inner.entry.name != "structured" or len(metric.chain) > 1:
        return str(metric)
    strengths = [*inner.arguments["penalties"]]
    if inner.arguments["form"] == "matrix":
        strengths += inner.arguments["off_diagonal_penalties"]
    return f"structured, {inner.arguments['base']}, {', '.join(f'{strength:g}' for strength in strengths)}"


def _effect(fit: Fit) -> TextTable:
    losses = {"before": fit.before, "after": fit.after}
    if fit.cross_validated is None:
        notes = [f"{FLATTERED} Not cross-validated, as asked."]
    else:
        losses["cross-validated"] = fit.cross_validated
        notes = [f"{FLATTERED} cross-validated: on unseen rows, {fit.settings.folds} folds."]
    columns = (Column("", "left"), *map(Column, losses), Column("better", "left"))
    rows = [
        (name, *numbers(*(values[name] for values in losses.values())), METRICS[name].better)
        for name in fit.before
    ]
    if fit.gain is not None and not fit.unchanged:
        notes.append(_gain(fit.gain, fit.settings.score))
    if not fit.predictions.of_answers:
        notes.append(_changes(fit))
    return TextTable("What it does", columns, tuple(rows), tuple(notes))


def _gain(gain: PairedDifference, score: str) -> str:
    if np.isnan(gain.standard_error):
        rows = "as many rows as" if gain.mean == 0 else f"{'fewer' if gain.mean > 0 else 'more'} rows than"
        return f"By cross-validation {rows} before have an infinite {score}."
    way = "falls" if gain.mean > 0 else "rises"
    fine = apart(gain.standard_error)
    by, error = number(abs(gain.mean), digits=fine), number(gain.standard_error, digits=fine)
    return f"By cross-validation the {score} {way} by {by} (standard error {error})."


def _changes(fit: Fit) -> str:
    changed, rows = fit.changed_rows, int(fit.class_rows.sum())
    share = f" ({percent(changed / rows)})" if changed else ""
    tied = f"; {counted(fit.new_ties, 'row')} {'is' if fit.new_ties == 1 else 'are'} newly tied"
    return (
        f"The predicted class changes in {changed:,} of {counted(rows, 'row')}{share}"
        f"{tied if fit.new_ties else ', and no row is tied'}."
    )


def _losses(fit: Fit) -> Iterator[Warning]:
    losses, how = fit.after, "on the rows of the fit"
    if fit.cross_validated is not None:
        losses, how = fit.cross_validated, "by cross-validation"
    worse = [name for name in ("log_loss", "brier") if losses[name] > fit.before[name]]
    if worse:
        changes = " and ".join(
            f"{name} {' to '.join(numbers(fit.before[name], losses[name]))}" for name in worse
        )
        if fit.gain is not None and abs(fit.gain.mean) <= fit.gain.standard_error:
            yield Warning("no_gain", f"The fit gains nothing beyond chance; {how} {changes}: do not use it.")
        else:
            yield Warning("worse", f"The fit makes things worse {how}: {changes}.")
    if losses["accuracy"] < fit.before["accuracy"] - ROUNDING:
        fall = " to ".join(numbers(fit.before["accuracy"], losses["accuracy"]))
        perhaps = ", which may be chance" if _may_be_chance(fit, losses["accuracy"]) else ""
        mend = "--preserve-top1 keeps the predicted classes"
        yield Warning("accuracy_lost", f"The accuracy falls {how}, from {fall}{perhaps}; {mend}.")


def _may_be_chance(fit: Fit, accuracy: float) -> bool:
    """Return whether chance explains a loss of hits: each row with a changed class gains or loses one."""
    lost = (fit.before["accuracy"] - accuracy) * fit.predictions.n_rows
    return fit.predictions.weights is None and lost <= 2 * math.sqrt(fit.changed_rows)


def _few_rows(fit: Fit) -> Iterator[Warning]:
    rows = fit.predictions
    counts, total = fit.class_rows, int(fit.class_rows.sum())
    noun = "outcome" if rows.of_answers else "class"
    rare = [(rows.classes[k], int(counts[k])) for k in np.flatnonzero(counts < ROWS_A_CLASS)]
    absent = [name for name, count in rare if not count]
    few = [name for name, count in rare if count]
    if absent:
        yield Warning("absent_classes", f"{counted(len(absent), noun)} without a row: {some(absent)}.")
    if few:
        yield Warning(
            "few_rows_a_class",
            f"{counted(len(few), noun)} on fewer than {ROWS_A_CLASS} rows: {some(few)}.",
        )
    parameters = fit.settings.wrapped(fit.method).parameters(rows.n_classes)
    if parameters and total < ROWS_A_PARAMETER * parameters:
        yield Warning(
            "few_rows_a_parameter",
            f"{counted(total, 'row')} for {counted(parameters, 'parameter')}: expect noise; use more rows or "
            "a simpler method.",
        )


def _candidate(candidate: Candidate, fit: Fit) -> CandidateObject:
    return {
        "method": None if candidate.method is None else str(candidate.method),
        "values": candidate.values,
        "difference_to_best": candidate.difference and asdict(candidate.difference),
        "chosen": candidate.method == (None if fit.unchanged else fit.method),
        "failed": candidate.failed or None,
    }


def _difference(difference: PairedDifference) -> str:
    mean, error = difference.mean, difference.standard_error
    if mean == error == 0:
        return "best"
    return number(mean) if np.isnan(error) else plus_minus(mean, error)
