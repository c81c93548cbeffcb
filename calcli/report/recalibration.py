"""What recalibration would win back, and the parts of scores: tables and plain sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite, isinf

from calcli.core.evaluating.results import Estimate
from calcli.core.language.entries import written
from calcli.core.language.expressions import MetricExpression, nested_method
from calcli.core.language.metrics import GIVEN, PAV
from calcli.core.language.numbers import number, numbers, percent, span
from calcli.report.estimates import ends, estimates_table, of_section, sampled
from calcli.report.shown import Column, TextTable
from calcli.report.wording import NONE, OF_SAMPLE, PARTS, SAMPLED, WON_BACK, interval_head

LOSSES = ("calibration_loss", "relative_calibration_loss")
NAMED = {"brier": "Brier score", "bayes_risk": "Bayes risk"}  # after a person
PHRASES = {
    "dp": "an affine recalibration",
    "temperature": "temperature scaling",
    PAV: "the isotonic fit",
    GIVEN: "a move to the given posteriors",
}
NOTHING = 0.0005  # share of a score below which there is nothing to win
HARM = -0.05  # share below which a recalibration does harm
ADVICE = (
    "Fit it to validation data, `calcli fit VALIDATION -m {method} -o calibrator.json`, not to the rows that "
    "judge it; without such data, go by the cross-validated results of the fit."
)
CHANCE = 2  # standard errors within which a gain may be chance


def recalibration_sentences(
    metrics: Mapping[str, Estimate], classes: int = 2, *, one_class: bool = False
) -> tuple[str, ...]:
    """Say in words what recalibration wins, once for each way to recalibrate.

    Where that is something a fit is recommended: not to the rows evaluated, which are to judge it. Rows of
    one class alone recommend none: all that a fit learns of them is to predict that class.
    """
    accuracy = metrics.get("accuracy")
    all_right = accuracy is not None and accuracy.value == 1
    found: dict[tuple[object, ...], str] = {}
    for estimate in metrics.values():
        arguments = estimate.call.arguments
        if estimate.call.entry.name in LOSSES and estimate.parts:
            way = arguments["recalibrator"], arguments["training"]
            if isinf(estimate.parts["before"]):  # which says nothing of the other score
                found.setdefault((*way, arguments["score"]), _of_infinite(estimate))
            else:
                found.setdefault(way, _sentence(estimate, classes, all_right=all_right, one_class=one_class))
    return tuple(found.values())


def _of_infinite(estimate: Estimate) -> str:
    by, score, change = _terms(estimate)
    if isinf(estimate.parts["after"]):
        return f"{_capitalized(by)} leaves the {score} infinite: no share is won. --clip makes it finite."
    return f"{_capitalized(by)} makes the infinite {score} finite {change}, so there is no share to name."


def _sentence(estimate: Estimate, classes: int, *, all_right: bool, one_class: bool) -> str:
    method, training = (estimate.call.arguments[key] for key in ("recalibrator", "training"))
    before, after = estimate.parts["before"], estimate.parts["after"]
    by, score, change = _terms(estimate)
    if isinf(after):
        return f"{_capitalized(by)} gives labels probability 0, which makes the {score} infinite {change}."
    share = (before - after) / before if before > 0 else 0.0
    if training == "test":
        bound = ", the most that any increasing map could" if method == PAV and classes == 2 else ""
        return f"On its own rows, {by} wins {percent(share)} of the {score} {change}{bound}: optimistic."
    if share < HARM:
        reason = "it has too few rows to learn from, or does not suit these scores"
        if method == GIVEN:
            reason = "they are hardly those of these rows"
        return f"{_capitalized(by)} makes the {score} worse {change}: {reason}."
    if share < NOTHING:
        nothing = f"{_capitalized(by)} wins nothing of the {score} {change}"
        if after == before:
            return f"{nothing}."
        return f"{nothing}; a share slightly below zero is what calibrated probabilities get."
    if one_class:
        taught = "all rows have one label, and it learns to predict that"
        return f"{_capitalized(by)} wins {percent(share)} of the {score} {change}: {taught}."
    if all_right or before - after < CHANCE * estimate.parts["standard_error"]:
        chance = f"{_capitalized(by)} wins {percent(share)} of the {score} {change}, which may be chance"
        return f"{chance}: no row is predicted wrongly, and one could undo it." if all_right else f"{chance}."
    sentence = f"{percent(share)} of the {score} {change} is miscalibration that {by} removes"
    if method in (PAV, GIVEN):
        return f"{sentence}."
    return f"{sentence}. {ADVICE.format(method=nested_method(method))}"


def _terms(estimate: Estimate) -> tuple[str, str, str]:
    """Return what recalibrates, the score, and its change, in words."""
    method = estimate.call.arguments["recalibrator"]
    by = PHRASES.get(method) or f"recalibration by {nested_method(method)}"
    change = f"({' -> '.join(numbers(estimate.parts['before'], estimate.parts['after']))})"
    return by, _score_name(estimate.call.whole), change


def _score_name(score: MetricExpression) -> str:
    name = NAMED.get(score.entry.name, score.entry.title.lower())
    of = ", ".join(f"{key} {written(value)}" for key, value in score.arguments.items())
    return f"{name} of {of}" if of else name


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def loss_table(metrics: Mapping[str, Estimate], sentences: Sequence[str]) -> TextTable:
    """Return what recalibration wins, a row a score and way to recalibrate."""
    found = [estimate for estimate in metrics.values() if estimate.call.entry.name in LOSSES]
    heads = ["before", "after", "won back", "share"]
    with_interval = any(estimate.interval for estimate in found)
    of_sample = any(estimate.rows for estimate in found)
    if of_sample:
        heads.append(SAMPLED)
    if with_interval:
        heads.append(interval_head(found))
    rows = []
    for estimate in found:
        arguments, parts = estimate.call.arguments, estimate.parts
        training = {"cross-validation": "", "held-out": ", held-out", "test": ", same rows"}
        by = f"{arguments['recalibrator']}{training[arguments['training']]}"
        cells = [NONE] * 4
        if parts:
            before, after = parts["before"], parts["after"]
            share = percent((before - after) / before) if before > 0 and isfinite(before - after) else NONE
            cells = [*numbers(before, after), number(before - after), share]
        if of_sample:
            cells.append(sampled(estimate))
        if with_interval:
            cells.append(_share_ends(estimate))
        rows.append((arguments["score"], by, *cells))
    columns = (Column("", "left"), Column("by", "left"), *map(Column, heads))
    notes = [*sentences, *([OF_SAMPLE] if of_sample else [])]
    return TextTable(WON_BACK, columns, tuple(dict.fromkeys(rows)), tuple(notes) if rows else ())


def parts_of_scores(metrics: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """Return the estimates of the parts of scores that were asked for."""
    found = of_section(metrics, "parts").items()
    return {name: estimate for name, estimate in found if estimate.call.entry.name not in LOSSES}


def parts_table(found: Mapping[str, Estimate]) -> TextTable:
    """Return parts of scores, and what they are made of."""
    cells: dict[Column, Callable[[Estimate], str]] = {}
    if any(estimate.interval for estimate in found.values()):
        cells[Column(interval_head(found.values()))] = ends
    cells[Column("read with", "left")] = _made_of
    return estimates_table(PARTS, found, cells)


def _share_ends(estimate: Estimate) -> str:
    interval = estimate.interval
    if interval is None or estimate.call.entry.name != "relative_calibration_loss":
        return ends(estimate)
    return span(interval.low, interval.high, percent)  # as its column shows it


def _made_of(estimate: Estimate) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {number(value)}" for name, value in estimate.parts.items())
