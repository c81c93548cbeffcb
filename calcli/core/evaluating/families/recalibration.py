"""What recalibrated posteriors say of a score: what miscalibration costs, and what is to be expected."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from calcli.core.data.arrays import Array, Doubles
from calcli.core.data.predictions import Predictions
from calcli.core.estimators.effort import FIT, FIT_ROWS
from calcli.core.estimators.expected import expected_score
from calcli.core.estimators.influences import Influences, Spread
from calcli.core.estimators.interval import Interval
from calcli.core.estimators.rules.base import ScoringRule
from calcli.core.estimators.scoring import Means, OfMeans
from calcli.core.estimators.sums import Sums
from calcli.core.evaluating.families.base import Entrant, Family, Findings, judged, losses
from calcli.core.evaluating.measurements import Measurements, Pass
from calcli.core.evaluating.recalibrated import CalibrationLoss, Recalibrated
from calcli.core.evaluating.results import Estimate
from calcli.core.evaluating.signatures import signature
from calcli.core.language.expressions import MetricExpression
from calcli.core.language.metrics import GIVEN, L1
from calcli.core.language.settings import Settings

POSTERIOR = "posterior of class {}"

LOSSES: dict[str, Callable[[CalibrationLoss], float]] = {
    "calibration_loss": lambda loss: loss.absolute,
    "relative_calibration_loss": lambda loss: loss.relative,
}

OF_MEANS: dict[str, OfMeans] = {
    "calibration_loss": lambda means: means["before"] - means["after"],
    "relative_calibration_loss": lambda means: (means["before"] - means["after"]) / means["before"],
    "expected_score": lambda means: means["expected"],
    "score_divergence": lambda means: means["expected"] - means["entropy"],
}


LABELLESS = ("expected_score", "score_divergence")  # which no label moves


class RecalibrationFamily(Family):
    """With intervals under posteriors that stay as they are; of calibration losses also of those fitted."""

    def needs(self, call: MetricExpression, made: Pass) -> None:
        """Keep the losses of the rows."""
        made.keep_losses(losses(call, _rule(call, made), made.settings))

    def estimates(
        self, calls: Sequence[MetricExpression], measured: Measurements, settings: Settings
    ) -> Findings:
        """Return the estimates, and what the fits want said."""
        every = measured.recalibrations
        estimates, told = {}, list[str]()
        for call in calls:
            found, before = every.of(call), measured.rows[call.score]
            value, parts = float("nan"), dict[str, float]()
            interval, reason, how = None, "", "interval:jackknife"
            if found is not None:
                value, parts = _finding(call, found, before, _rule(call, measured))
                if settings.intervals:
                    interval, reason = _interval(call, found, value, measured, settings)
                if settings.retrain and call.arguments["training"] == "held-out":
                    how = f"resamples:{settings.loss_resamples}"
                    used = found.processes_for(settings.loss_resamples, settings.workers)
                    if interval is not None and used > 1:
                        told.append(f"{used} processes trained again on resamples (--workers)")
            grid = (measured.cell_errors or {}).get(str(call))
            note = signature(call, measured, settings, *_folds(call, settings), how, grid=grid)
            estimates[str(call)] = Estimate(call, value, note, interval, reason, parts=parts, grid=grid)
        return Findings(estimates, (*every.notes(), *dict.fromkeys(told)))

    def influences(self, calls: Sequence[MetricExpression], system: Entrant) -> Mapping[str, Influences]:
        """Return what each unit brings to the calibration losses.

        Rows have the recalibrated posteriors they have; no transform is fitted again. As the score after
        recalibration is at its least over the parameters of the transform, what these vary by changes it in
        second order only.
        """
        measured, every = system.measured, dict[str, Influences]()
        for call in calls:
            found = measured.recalibrations.of(call) if call.entry.name in LOSSES else None
            if found is None:
                continue
            columns = {
                "before": measured.rows[call.score][found.kept],
                "after": found.losses(_rule(call, measured)),
            }
            rows, n_classes = found.rows, measured.predictions.n_classes
            sums = Sums(columns, rows.labels, n_classes, rows.weights, None, found.units)
            every |= _of_sums(sums, call, OF_MEANS[call.entry.name], measured)
        return every

    def effort(self, call: MetricExpression, predictions: Predictions, settings: Settings) -> float:
        """Return what computing a metric again costs, its fits among it."""
        rows, classes = predictions.scores.shape
        fits = settings.folds if call.arguments["training"] == "cross-validation" else 1
        own = call.fitted.effort(rows + FIT_ROWS, classes) / 5 + FIT if call.fitted else 0
        return super().effort(call, predictions, settings) + fits * own


def calibration_loss(call: MetricExpression, measured: Measurements) -> CalibrationLoss | None:
    """Return the score before and after the recalibration of a metric; None where there are no two folds."""
    found = measured.recalibrations.of(call)
    if found is None:
        return None
    return found.calibration_loss(_rule(call, measured), measured.rows[call.score])


def _of_sums(
    sums: Sums, call: MetricExpression, of_means: OfMeans, measured: Measurements
) -> dict[str, Influences]:
    with np.errstate(invalid="ignore", divide="ignore"):  # of infinite losses nothing is won
        found = sums.influences({str(call): of_means})
    by_labels = call.entry.name not in LABELLESS
    moments = measured.pooled(losses(call, _rule(call, measured), measured.settings)) if by_labels else None
    return {name: replace(one, pooled=moments) for name, one in found.items()}


def _rule(call: MetricExpression, found: Pass | Measurements) -> ScoringRule:
    """Return the score that a metric is about."""
    return expected_score(call.whole, found.predictions, found.settings)


def _is_frozen(call: MetricExpression, settings: Settings) -> bool:
    """Tell whether the posteriors depend on no row that is resampled, so that all is made of means over rows.

    A transform of other rows is part of the system (Ferrer & Ramos 2024, appendix E).
    """
    held_out = call.arguments["training"] == "held-out" and not settings.retrain
    return held_out or call.arguments["recalibrator"] == GIVEN


def _folds(call: MetricExpression, settings: Settings) -> list[str]:
    """Return into what the rows are dealt, for the signature."""
    if call.arguments["training"] != "cross-validation" or call.arguments["recalibrator"] == GIVEN:
        return []
    return [f"folds:{settings.folds if settings.fold_column is None else settings.fold_column}"]


def _finding(
    call: MetricExpression, found: Recalibrated, before: Array, rule: ScoringRule
) -> tuple[float, dict[str, float]]:
    """Return the value of a metric and the numbers to read it with."""
    loss = found.calibration_loss(rule, before)
    if call.entry.name in LOSSES:
        parts = {"before": loss.before, "after": loss.after, "calibration_loss": loss.absolute}
        parts["standard_error"] = loss.standard_error
        return LOSSES[call.entry.name](loss), parts
    expected, entropy = found.mean(found.expected_losses(rule)), found.mean(found.entropies(rule))
    if call.entry.name == "expected_score":
        return expected, {"score": loss.before, "unexplained": found.unexplained(rule, loss.before)}
    if call.entry.name == "unexplained":
        return found.unexplained(rule, loss.before), {"score": loss.before, "expected_score": expected}
    parts = {"expected_score": expected, "entropy": entropy}
    if call.arguments["distance"] == L1:
        return found.mean(found.distances()), {**parts, "score_divergence": expected - entropy}
    return expected - entropy, parts


def _interval(
    call: MetricExpression, found: Recalibrated, value: float, measured: Measurements, settings: Settings
) -> tuple[Interval | None, str]:
    """Return the interval of a metric, or why there is none; neither where none is asked for."""
    before = measured.rows[call.score]
    if _is_frozen(call, settings):
        return judged(_frozen(call, found, before, measured), value, settings)
    if call.entry.name not in LOSSES:
        return None, ""
    if call.arguments["training"] == "held-out":
        return _retrained_interval(call, found, before, measured, settings)
    if settings.calibration_loss_interval:
        return _trained_interval(call, value, before, measured, settings)
    return None, ""


def _frozen(
    call: MetricExpression, found: Recalibrated, before: Array, measured: Measurements
) -> Spread | None:
    """Return the spread under posteriors that stay as they are."""
    rule = _rule(call, measured)
    if found.squares is not None:
        return _of_entries(call, found, before[found.kept].astype(np.float64), measured)
    columns = {
        "before": before[found.kept],
        "after": found.losses(rule),
        "expected": found.expected_losses(rule),
        "entropy": found.entropies(rule),
    }
    of_means = OF_MEANS.get(call.entry.name, _unexplained(rule, found.log_probs.shape[1]))
    if call.entry.name == "unexplained":
        columns |= {POSTERIOR.format(k): own for k, own in enumerate(np.exp(found.log_probs).T)}
    elif call.arguments.get("distance") == L1:
        columns, of_means = {"distance": found.distances()}, lambda means: means["distance"]
    rows, predictions = found.rows, measured.predictions
    sums = Sums(columns, rows.labels, predictions.n_classes, rows.weights, predictions.priors, found.units)
    influences = _of_sums(sums, call, of_means, measured).get(str(call))
    return None if influences is None else influences.spread


def _of_entries(
    call: MetricExpression, found: Recalibrated, before: Doubles, measured: Measurements
) -> Spread | None:
    """Return the spread of a calibration loss where entries stand for many rows that are alike.

    The bias of a share, of the order of one part in as many as there are, is left out.
    """
    after = found.losses(_rule(call, measured))
    weights, squares = found.rows.weights, found.squares
    assert weights is not None
    assert squares is not None
    loss = CalibrationLoss(found.mean(before), found.mean(after))
    value = LOSSES[call.entry.name](loss)
    if not np.isfinite([loss.before, loss.after, value]).all():
        return None
    brought = before - after - value
    if call.entry.name != "calibration_loss":
        brought = (before - after - value * before) / loss.before
    brought /= weights.sum()
    of_row = squares / weights  # mean weight of the rows of an entry, as they bring it in
    second, third, fourth = (float(weights @ (of_row ** (k - 1) * brought**k)) for k in (2, 3, 4))
    return Spread(value, measured.of_rows or len(weights), second, third, fourth)


def _unexplained(rule: ScoringRule, classes: int) -> OfMeans:
    """Return the unexplained share of the score as a function of means, those of the posteriors included."""

    def share(means: Means) -> Doubles:
        posterior = np.stack([means[POSTERIOR.format(k)] for k in range(classes)], axis=-1)
        observed = means["before"] / rule.constant(means.priors)
        return 1 - means["expected"] / rule.constant(posterior) / observed

    return share


def _trained_interval(
    call: MetricExpression, value: float, before: Array, measured: Measurements, settings: Settings
) -> tuple[Interval | None, str]:
    """Return the interval of what the transform would win if it were known.

    Trained on other rows it wins less than that, on the same rows more: the interval reaches from the lower
    end of the one to the upper end of the other, the posteriors taken as they are.
    """
    ends, every = [], measured.recalibrations
    for training in ("cross-validation", "test"):
        found = every.of(call, training)
        interval, reason = judged(
            None if found is None else _frozen(call, found, before, measured), value, settings
        )
        if interval is None:
            return None, reason
        ends.append(interval)
    low, high = min(one.low for one in ends), max(one.high for one in ends)
    return Interval(low, high, settings.level), ""


def _retrained_interval(
    call: MetricExpression, found: Recalibrated, before: Array, measured: Measurements, settings: Settings
) -> tuple[Interval | None, str]:
    """Return the percentile interval over resamples, to each of which the transform is fitted again."""
    spread = _frozen(call, found, before, measured)
    if spread is None or not spread.enough:
        return judged(
            spread, LOSSES[call.entry.name](found.calibration_loss(_rule(call, measured), before)), settings
        )
    workers = found.processes_for(settings.loss_resamples, settings.workers)
    losses = found.resampled_losses(
        _rule(call, measured), before, settings.loss_resamples, settings.seed, workers
    )
    value = LOSSES[call.entry.name]
    return Interval.of_draws(np.array([value(loss) for loss in losses]), settings.level), ""


FAMILY = RecalibrationFamily()
