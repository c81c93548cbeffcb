"""What recalibrated posteriors say of a score: what miscalibration costs, and what is to be expected."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter, itemgetter
from typing import ClassVar

import numpy as np

from calcli.core.data.arrays import Array, Doubles
from calcli.core.data.predictions import Predictions
from calcli.core.estimators import expected
from calcli.core.estimators.effort import FIT, FIT_ROWS
from calcli.core.estimators.influences import Influences, Spread
from calcli.core.estimators.intervals import Interval
from calcli.core.estimators.rules.base import ScoringRule
from calcli.core.estimators.scoring import Means, OfMeans
from calcli.core.estimators.sums import Sums
from calcli.core.evaluating.families.base import HITS, Family, Findings, judged, loss
from calcli.core.evaluating.measurements import Measurements
from calcli.core.evaluating.recalibrated import CalibrationLoss, Recalibrated
from calcli.core.evaluating.results import Estimate
from calcli.core.evaluating.signatures import signature
from calcli.core.language.expressions import MetricExpression
from calcli.core.language.metrics import GIVEN, L1
from calcli.core.language.settings import Settings
from calcli.core.state.needs import Need, Pass, Rows

POSTERIOR = "posterior of class {}"


class OfRecalibration(ABC):
    """What a metric makes of the scores before and after a recalibration, and of its posteriors."""

    trained: ClassVar[bool] = False  # whether it is a loss whose transform can be trained again
    labelless: ClassVar[bool] = False  # whether no label moves it

    @abstractmethod
    def finding(self, call: MetricExpression, found: Recalibrated) -> tuple[float, dict[str, float]]:
        """Return the value and the numbers to read it with."""

    @abstractmethod
    def means(self, call: MetricExpression, found: Recalibrated) -> tuple[dict[str, Array], OfMeans]:
        """Return columns of rows, and the value as a function of their means."""


@dataclass(frozen=True)
class Loss(OfRecalibration):
    """What the score loses by miscalibration."""

    trained: ClassVar[bool] = True
    value: Callable[[CalibrationLoss], float]
    of_means: OfMeans

    def finding(self, call: MetricExpression, found: Recalibrated) -> tuple[float, dict[str, float]]:
        """Return the loss, the score before and after, and standard errors."""
        loss = found.calibration_loss
        parts = {"before": loss.before, "after": loss.after, "calibration_loss": loss.absolute}
        parts |= {"standard_error": loss.standard_error, "relative_standard_error": loss.relative_error}
        return self.value(loss), parts

    def means(self, call: MetricExpression, found: Recalibrated) -> tuple[dict[str, Array], OfMeans]:
        """Return the losses of rows before and after."""
        return {"before": found.before, "after": found.losses}, self.of_means


class Expected(OfRecalibration):
    """The score that the recalibrated posteriors expect."""

    labelless: ClassVar[bool] = True

    def finding(self, call: MetricExpression, found: Recalibrated) -> tuple[float, dict[str, float]]:
        """Return it beside the score."""
        parts = {"score": found.calibration_loss.before, "unexplained": found.unexplained()}
        return found.mean(found.expected_losses()), parts

    def means(self, call: MetricExpression, found: Recalibrated) -> tuple[dict[str, Array], OfMeans]:
        """Return the expected losses of rows."""
        return {"expected": found.expected_losses()}, itemgetter("expected")


class Unexplained(OfRecalibration):
    """The share of the score that its expectation leaves."""

    def finding(self, call: MetricExpression, found: Recalibrated) -> tuple[float, dict[str, float]]:
        """Return it beside the score and the one expected."""
        expected = found.mean(found.expected_losses())
        return found.unexplained(), {"score": found.calibration_loss.before, "expected_score": expected}

    def means(self, call: MetricExpression, found: Recalibrated) -> tuple[dict[str, Array], OfMeans]:
        """Return the losses of rows, seen and expected, and the posteriors of the classes."""
        every = dict(enumerate(found.posteriors().T))

        def share(means: Means) -> Doubles:
            posterior = np.stack([means[POSTERIOR.format(k)] for k in every], axis=-1)
            observed = means["before"] / found.rule.constant(means.priors)
            return 1 - means["expected"] / found.rule.constant(posterior) / observed

        columns = {"before": found.before, "expected": found.expected_losses()}
        return columns | {POSTERIOR.format(k): own for k, own in every.items()}, share


class Divergence(OfRecalibration):
    """How far the recalibrated posteriors are from the probabilities."""

    labelless: ClassVar[bool] = True

    def finding(self, call: MetricExpression, found: Recalibrated) -> tuple[float, dict[str, float]]:
        """Return it beside the score expected and the entropy."""
        expected, entropy = found.mean(found.expected_losses()), found.mean(found.entropies())
        parts = {"expected_score": expected, "entropy": entropy}
        if call.arguments["distance"] == L1:
            return found.mean(found.distances()), {**parts, "score_divergence": expected - entropy}
        return expected - entropy, parts

    def means(self, call: MetricExpression, found: Recalibrated) -> tuple[dict[str, Array], OfMeans]:
        """Return the expected losses and entropies of rows, or their distances."""
        if call.arguments["distance"] == L1:
            return {"distance": found.distances()}, itemgetter("distance")
        columns = {"expected": found.expected_losses(), "entropy": found.entropies()}
        return columns, lambda means: means["expected"] - means["entropy"]


calibration_loss = Loss(attrgetter("absolute"), lambda means: means["before"] - means["after"])
relative_calibration_loss = Loss(
    attrgetter("relative"), lambda means: (means["before"] - means["after"]) / means["before"]
)
expected_score, unexplained, score_divergence = Expected(), Unexplained(), Divergence()

OF_THESE_ROWS = "the recalibration is fitted to these rows; --calibration-data fits it to other rows"


class RecalibrationFamily(Family):
    """With intervals under posteriors that stay as they are."""

    def needs(self, call: MetricExpression, of: Pass) -> Iterable[Need]:
        """Return the losses of the rows, and the rows, for fits."""
        rule = expected.expected_score(call.whole, of.rows, of.settings)
        return loss(call, rule, of.settings, each=True), HITS, Rows()

    def estimates(
        self, calls: Sequence[MetricExpression], measured: Measurements, settings: Settings
    ) -> Findings:
        """Return the estimates, and what the fits want said."""
        estimates, told = {}, list[str]()
        for call in calls:
            found = recalibrated(call, measured)
            value, parts = float("nan"), dict[str, float]()
            interval, reason, again = None, "", None
            if found is not None:
                value, parts = _of(call).finding(call, found)
                if settings.intervals:
                    interval, reason = _interval(call, found, value, measured, settings)
                    if settings.retrain and _is_trained(call, found):
                        again, used = _retrained(call, found, settings)
                        told += [f"{used} processes refitted to resamples (--workers)"] * (used > 1)
            grid = (measured.cell_errors or {}).get(str(call))
            own = call if found is None else call.with_argument("recalibrator", found.method)
            how = *_folds(call, found, settings), "interval:jackknife"
            note = signature(own, measured, settings, *how, grid=grid)
            estimates[str(call)] = Estimate(
                call, value, note, interval, reason, parts=parts, grid=grid, retrained=again,
                recalibrator="" if found is None else found.method,
            )  # fmt: skip
        return Findings(estimates, (*measured.recalibrations.notes(), *dict.fromkeys(told)))

    def influences(
        self, calls: Sequence[MetricExpression], measured: Measurements
    ) -> Mapping[str, Influences]:
        """Return what each unit brings to the calibration losses.

        Rows have the recalibrated posteriors they have; no transform is fitted again. As the score after
        recalibration is at its least over the parameters of the transform, what these vary by changes it in
        second order only.
        """
        every = dict[str, Influences]()
        for call in calls:
            found = recalibrated(call, measured) if _of(call).trained else None
            if found is None:
                continue
            columns, of_means = _of(call).means(call, found)
            rows, n_classes = found.rows, measured.predictions.n_classes
            sums = Sums(columns, rows.labels, n_classes, rows.weights, None, found.units)
            every |= _of_sums(sums, call, of_means, measured, _of_fits(call, found))
        return every

    def effort(self, call: MetricExpression, predictions: Predictions, settings: Settings) -> float:
        """Return what computing a metric again costs, its fits among it."""
        rows, classes = predictions.scores.shape
        fits = settings.folds if call.arguments["training"] == "cross-validation" else 1
        own = call.fitted.effort(rows + FIT_ROWS, classes) / 5 + FIT if call.fitted else 0
        return super().effort(call, predictions, settings) + fits * own


def recalibrated(call: MetricExpression, measured: Measurements) -> Recalibrated | None:
    """Return the recalibration that a metric asks for; None where there are no two folds."""
    return measured.recalibrations.of(call, _rule(call, measured), measured.columns[call.score])


def _of_sums(
    sums: Sums, call: MetricExpression, of_means: OfMeans, measured: Measurements, of_fits: float
) -> dict[str, Influences]:
    with np.errstate(invalid="ignore", divide="ignore"):  # of infinite losses nothing is won
        found = sums.influences({str(call): of_means})
    by_labels = not _of(call).labelless
    fewest = measured.errors if by_labels else math.inf
    return {name: replace(one, fewest=fewest, lost=of_fits) for name, one in found.items()}


def _of_fits(call: MetricExpression, found: Recalibrated) -> float:
    """Return what the variance of a loss is increased by, as the posteriors come from fits."""
    before = found.mean(found.before) if call.entry.name == "relative_calibration_loss" else 1.0
    return found.variance_of_fits / before**2 if before else 0.0


def _rule(call: MetricExpression, measured: Measurements) -> ScoringRule:
    """Return the score that a metric is about."""
    return expected.expected_score(call.whole, measured.predictions, measured.settings)


def _of(call: MetricExpression) -> OfRecalibration:
    found: OfRecalibration = call.entry.mathematics
    return found


def _is_trained(call: MetricExpression, found: Recalibrated) -> bool:
    """Tell whether a metric is a loss whose transform can be trained again on resamples of rows."""
    return _of(call).trained and bool(found.recalibrations) and found.squares is None


def _folds(call: MetricExpression, found: Recalibrated | None, settings: Settings) -> list[str]:
    """Return into what the rows are dealt, and how often, for the signature."""
    if call.arguments["training"] != "cross-validation" or call.arguments["recalibrator"] == GIVEN:
        return []
    if settings.fold_column is not None:
        return [f"folds:{settings.fold_column}"]
    return [f"folds:{settings.folds}", f"deals:{1 if found is None else len(found.deals)}"]


def _interval(
    call: MetricExpression, found: Recalibrated, value: float, measured: Measurements, settings: Settings
) -> tuple[Interval | None, str]:
    """Return the interval of a metric, or why there is none.

    A transform of other rows is part of the system (Ferrer & Ramos 2024, appendix E). One that is trained on
    these rows varies with them: intervals that leave that out miss too often, and so do those of resamples.
    """
    if call.arguments["recalibrator"] != GIVEN and call.arguments["training"] != "held-out":
        return None, OF_THESE_ROWS if _of(call).trained else ""
    return judged(_spread(call, found, measured), value, settings)


def _spread(call: MetricExpression, found: Recalibrated, measured: Measurements) -> Spread | None:
    """Return the spread under posteriors that stay as they are."""
    columns, of_means = _of(call).means(call, found)
    rows, predictions = found.rows, measured.predictions
    sums = Sums(columns, rows.labels, predictions.n_classes, rows.weights, predictions.priors, found.units)
    influences = _of_sums(sums, call, of_means, measured, _of_fits(call, found)).get(str(call))
    return None if influences is None else influences.spread


def _retrained(
    call: MetricExpression, found: Recalibrated, settings: Settings
) -> tuple[Interval | None, int]:
    """Return the percentile interval over resamples, to each of which the transform is trained again.

    Ferrer & Ramos 2024, appendix E: a row that is drawn twice stays in its fold. How many processes did it is
    told as well.
    """
    workers = found.processes_for(settings.retrain, settings.workers)
    losses = found.resampled_losses(settings.retrain, settings.seed, workers)
    own = _of(call)
    assert isinstance(own, Loss)
    return Interval.of_draws(np.array([own.value(loss) for loss in losses]), settings.level), workers


FAMILY = RecalibrationFamily()
