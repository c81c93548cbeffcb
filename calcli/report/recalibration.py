"""The gain of recalibration, and the parts of scores: tables and sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, isinf

from calcli.core.estimators.intervals import Interval
from calcli.core.evaluating.results import Estimate
from calcli.core.language.entries import written
from calcli.core.language.expressions import Measure, nested_method
from calcli.core.language.metrics import AFFINE, CARRIED, PAV
from calcli.core.language.text import apart, number, numbers, percent, span
from calcli.report.estimates import (
    NONE,
    OF_SAMPLE,
    PARTS,
    SAMPLED,
    WON_BACK,
    ends,
    estimates_table,
    interval_head,
    of_section,
    sampled,
)
from calcli.report.shown import Column, TextTable

LOSSES = ("calibration_loss", "relative_calibration_loss")
NAMED = {"brier": "Brier score", "bayes_risk": "Bayes risk"}  # named after a person
PHRASES = {
    "dp": "an affine recalibration",
    "temperature": "temperature scaling",
    PAV: "the isotonic fit",
}
NOTHING = 0.0005  # share of a score below which a gain is negligible
HARM = -0.05  # share below which a recalibration is harmful
ADVICE = (
    "Fit it to validation data, `calcli fit VALIDATION -m {method} -o calibrator.json`, not to the rows that "
    "judge it; without such data use the cross-validated results of the fit."
)
BACKWARDS = "not miscalibration, as these scores rank in the wrong direction"
ONE_LABEL = "all rows have the same label, which it learns to predict"
CHANCE = 2  # standard errors within which a gain may be due to chance
TRAINING = {"cross-validation": "", "held-out": ", held-out", "test": " in sample"}
ERROR = "± se: the standard error, over rows and over folds."
FEW = f"{CARRIED}; recalibrator=dp uses it anyway."


@dataclass(frozen=True)
class Gain:
    """The gain of one way to recalibrate, in words.

    Attributes
    ----------
    sentence
        The gain.
    advice
        The recommended fit; "" for none.
    on_unseen
        Whether it was judged on rows to which it was not fitted.
    """

    sentence: str
    advice: str = ""
    on_unseen: bool = True

    def __str__(self) -> str:
        return f"{self.sentence} {self.advice}".rstrip()


def recalibration_gains(
    metrics: Mapping[str, Estimate], classes: int = 2, *, one_class: bool = False, backwards: bool = False
) -> tuple[Gain, ...]:
    """Return the gains in words, once for each way to recalibrate.

    If there is a gain, a fit is recommended: not to the evaluated rows, which must judge it. Rows of
    a single class lead to no recommendation: a fit could only learn to predict this class. Nor do scores that
    rank the wrong way round: their gain is not miscalibration.
    """
    accuracy = metrics.get("accuracy")
    all_right = accuracy is not None and accuracy.value == 1
    gains: dict[tuple[object, ...], Gain] = {}
    for estimate in metrics.values():
        arguments = estimate.metric.arguments
        if estimate.metric.entry.name in LOSSES and estimate.parts:
            way = arguments["recalibrator"], arguments["training"]
            if isinf(estimate.parts["before"]):  # which does not concern the other score
                gains.setdefault((*way, arguments["score"]), Gain(_of_infinite(estimate)))
            else:
                taught = BACKWARDS if backwards else ONE_LABEL if one_class else ""
                gains.setdefault(way, _gain(estimate, classes, all_right, taught))
    return tuple(gains.values())


def _of_infinite(estimate: Estimate) -> str:
    by, score, change = _terms(estimate)
    if isinf(estimate.parts["after"]):
        return f"{_capitalized(by)} leaves the {score} infinite; --clip makes it finite."
    return f"{_capitalized(by)} makes the infinite {score} finite {change}, so there is no share."


def _gain(estimate: Estimate, classes: int, all_right: bool, taught: str) -> Gain:
    method, training = estimate.recalibrator, estimate.metric.arguments["training"]
    before, after = estimate.parts["before"], estimate.parts["after"]
    by, score, change = _terms(estimate)
    if isinf(after):
        return Gain(
            f"{_capitalized(by)} gives labels probability 0, which makes the {score} infinite {change}."
        )
    share = (before - after) / before if before > 0 else 0.0
    if training == "test":
        bound = ", the most that an increasing map can gain" if method == PAV and classes == 2 else ""
        wins = f"{by} gains {percent(share)} of the {score} {change}{bound}"
        return Gain(f"On its own rows, {wins}: optimistic.", on_unseen=False)
    if HARM <= share < NOTHING:
        normal = "; a share slightly below zero is normal on unseen rows" * (after != before)
        return Gain(f"{_capitalized(by)} gains nothing of the {score} {change}{normal}.")
    wins = f"{_with_error(share, estimate)} of the {score} {change}"
    if all_right or not abs(share) > CHANCE * estimate.parts["relative_standard_error"]:
        if share < 0:
            return Gain(f"No gain can be shown with so few rows: {by} {change}.")
        undone = ": no prediction is wrong, and a single error could undo it" if all_right else ""
        return Gain(f"{_capitalized(by)} gains {wins}, which may be chance{undone}.")
    if share < HARM:
        reason = "too few rows, or the wrong kind of map for these scores"
        return Gain(f"{_capitalized(by)} makes the {score} worse {change}: {reason}.")
    if taught:
        return Gain(f"{_capitalized(by)} gains {wins}: {taught}.")
    advice = "" if method == PAV else ADVICE.format(method=nested_method(method))
    return Gain(f"{wins} is miscalibration that {by} removes.", advice)


def _terms(estimate: Estimate) -> tuple[str, str, str]:
    """Return the recalibration, the score and its change, in words."""
    method = estimate.recalibrator
    by = PHRASES.get(method) or f"recalibration by {nested_method(method)}"
    sample = f" in a sample of {estimate.rows:,} rows" if estimate.rows else ""
    change = f"({' -> '.join(numbers(estimate.parts['before'], estimate.parts['after']))}{sample})"
    return by, _score_name(estimate.metric.base_score), change


def _score_name(score: Measure) -> str:
    name = NAMED.get(score.entry.name, score.entry.title.lower())
    of = ", ".join(f"{key} {written(value)}" for key, value in score.arguments.items())
    return f"{name} of {of}" if of else name


def _with_error(share: float, estimate: Estimate) -> str:
    error = estimate.parts["relative_standard_error"]
    if not isfinite(error):
        return percent(share)
    digits = (apart(error) or 0) - 1  # one digit of the error is enough
    return f"{percent(share, digits=digits)} ± {percent(error, digits=digits)}"


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def loss_table(metrics: Mapping[str, Estimate], gains: Sequence[Gain]) -> TextTable:
    """Return the gains of recalibration, one row per score and way to recalibrate."""
    losses = [estimate for estimate in metrics.values() if estimate.metric.entry.name in LOSSES]
    columns = [Column("", "left"), Column("by", "left")]
    columns += map(Column, ("before", "after", "gain", "share ± se"))
    further: dict[Column, Callable[[Estimate], str]] = {}
    if any(estimate.rows for estimate in losses):
        further[Column(SAMPLED)] = sampled
    if any(estimate.interval for estimate in losses):
        further[Column(interval_head(losses), optional=True)] = lambda e: _ends(e, e.interval)
    rows = [(*_won(estimate), *(make(estimate) for make in further.values())) for estimate in losses]
    notes = [*map(str, gains), *_loss_notes(losses)] if rows else []
    return TextTable(WON_BACK, (*columns, *further), tuple(dict.fromkeys(rows)), tuple(notes))


def share_won(metrics: Mapping[str, Estimate]) -> str:
    """Return the share of the log-loss gained on unseen rows by the first way to recalibrate."""
    for metric in metrics.values():
        arguments = metric.metric.arguments
        unseen = metric.metric.entry.name in LOSSES and arguments["training"] != "test"
        if unseen and arguments["score"] == "log_loss" and metric.parts:
            before, after, error = (
                metric.parts[name] for name in ("before", "after", "relative_standard_error")
            )
            if not (before > 0 and isfinite(before - after) and isfinite(error)):
                return NONE
            digits = 0 if error >= 0.01 else 1
            share = (before - after) / before
            return f"{100 * share:.{digits}f} ± {100 * error:.{digits}f}%"
    return NONE


def _won(estimate: Estimate) -> tuple[str, ...]:
    """Return the score, the recalibrator, the score before and after, and the gain."""
    arguments, terms = estimate.metric.arguments, estimate.parts
    by = (estimate.recalibrator or arguments["recalibrator"]).replace(PAV, "isotonic")
    by += TRAINING[arguments["training"]]
    if not terms:
        return arguments["score"], by, *([NONE] * 4)
    before, after = terms["before"], terms["after"]
    won = NONE
    if before > 0 and isfinite(before - after):
        share = (before - after) / before
        won = percent(share) if arguments["training"] == "test" else _with_error(share, estimate)
    return arguments["score"], by, *numbers(before, after), number(before - after), won


def _loss_notes(estimates: Sequence[Estimate]) -> Iterator[str]:
    """Yield notes on how to read the table of losses."""
    if any(estimate.parts and estimate.metric.arguments["training"] != "test" for estimate in estimates):
        yield ERROR
    if any(
        estimate.metric.arguments["recalibrator"] == AFFINE and estimate.recalibrator == "temperature"
        for estimate in estimates
    ):
        yield FEW
    if any(estimate.rows for estimate in estimates):
        yield OF_SAMPLE


def parts_of_scores(metrics: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """Return the estimates of requested parts of scores."""
    estimates = of_section(metrics, "parts").items()
    return {name: estimate for name, estimate in estimates if estimate.metric.entry.name not in LOSSES}


def parts_table(estimates: Mapping[str, Estimate]) -> TextTable:
    """Return parts of scores, and their components."""
    cells: dict[Column, Callable[[Estimate], str]] = {}
    if any(estimate.interval for estimate in estimates.values()):
        cells[Column(interval_head(estimates.values()))] = ends
    cells[Column("read with", "left")] = _made_of
    return estimates_table(PARTS, estimates, cells)


def _ends(estimate: Estimate, interval: Interval | None) -> str:
    """Return the ends of an interval in the unit of its metric: shares in percent."""
    if interval is None:
        return NONE
    if estimate.metric.entry.name == "relative_calibration_loss":
        return span(interval.low, interval.high, percent)
    return span(interval.low, interval.high)


def _made_of(estimate: Estimate) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {number(value)}" for name, value in estimate.parts.items())
