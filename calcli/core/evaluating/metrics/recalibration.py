"""Scores of recalibrated posteriors: the cost of miscalibration, and the expected score."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from calcli.core.data.arrays import Array, Doubles
from calcli.core.data.predictions import Predictions
from calcli.core.estimators.intervals import ERROR, Influences, Interval
from calcli.core.estimators.rules import ScoringRule
from calcli.core.estimators.scoring import Means
from calcli.core.estimators.unittable import UnitTable
from calcli.core.evaluating.measurements import Measurements
from calcli.core.evaluating.metrics.base import HITS, Calls, judged, loss, signature
from calcli.core.evaluating.metrics.scores import Scored
from calcli.core.evaluating.recalibrated import Recalibrated
from calcli.core.evaluating.results import Estimate
from calcli.core.language.entries import RECALIBRATION, arg, metric
from calcli.core.language.expressions import Measure
from calcli.core.language.methods import METHODS
from calcli.core.language.metrics import AFFINE, AS_SCORE, CARRIED, L1, PAV, Training
from calcli.core.language.settings import Settings
from calcli.core.state.needs import Need, Pass, Rows

POSTERIOR = "posterior of class {}"


EXPECTED = (  # scores with an expectation under a posterior
    "log_loss", "brier", "rps", "error_rate", "bayes_risk", "beta_score", "weighted_risk",
)  # fmt: skip
MISSES = f"what the recalibrator cannot express; try another. {CARRIED}"


@dataclass(frozen=True, kw_only=True)
class OfRecalibration(Measure, ABC):
    """A function of means over rows of a recalibration's results."""

    family = RECALIBRATION
    score: str = arg(
        "the score that is split; its own arguments follow after slashes",
        default="log_loss", choices=EXPECTED, nested=True,
    )  # fmt: skip
    recalibrator: str = arg(
        "the method, its arguments after slashes; affine (dp or temperature, by the number of rows); or pav "
        "(isotonic, without smoothing)",
        default=AFFINE, choices=(AFFINE, *METHODS, PAV), nested=True,
    )  # fmt: skip
    training: Training = arg(
        "the rows it is fitted to; held-out: those of --calibration-data", default="cross-validation"
    )

    compared: ClassVar[bool] = False  # whether its influences give intervals of differences
    labelless: ClassVar[bool] = False  # whether no label moves it

    @abstractmethod
    def columns(self, recalibrated: Recalibrated) -> dict[str, Array]:
        """Return the (n,) numbers of the rows, by name."""

    @abstractmethod
    def value(self, means: Means, rule: ScoringRule) -> Doubles:
        """Return the metric, given the means of all rows, or of all rows but one unit."""

    @abstractmethod
    def parts(self, recalibrated: Recalibrated) -> dict[str, float]:
        """Return the numbers to read it with."""

    def needs(self, of: Pass) -> Iterable[Need]:
        """Return the losses of the rows, and the rows, for fits."""
        return loss(self.score, self._rule(of.rows, of.settings), of.settings), HITS, Rows()

    def estimate(self, measured: Measurements, settings: Settings, metrics: Calls = ()) -> Estimate:
        """Return it with fixed posteriors."""
        recalibrated = self._recalibrated(measured)
        how = *self._folds(recalibrated, settings), "interval:jackknife"
        if recalibrated is None:
            return Estimate(self, np.nan, signature(self, measured, settings, *how))
        value, terms = _value(recalibrated, self), self.parts(recalibrated)
        interval, reason = self._interval(recalibrated, value, measured, settings)
        line = signature(self.with_argument("recalibrator", recalibrated.method), measured, settings, *how)
        return Estimate(self, value, line, interval, reason, parts=terms, recalibrator=recalibrated.method)

    def influences(self, measured: Measurements) -> Influences | None:
        """Return the influences of units on a calibration loss.

        Recalibrated posteriors are fixed; no transform is fitted again. As the score after
        recalibration is minimal over the parameters of the transform, their variation changes it in
        second order only.
        """
        recalibrated = self._recalibrated(measured) if self.compared else None
        return None if recalibrated is None else self._influences(recalibrated, measured, priors=False)

    def _rule(self, rows: Predictions, settings: Settings) -> ScoringRule:
        score = self.base_score
        assert isinstance(score, Scored)
        return score.rule(rows, settings)

    def _recalibrated(self, measured: Measurements) -> Recalibrated | None:
        """Return the recalibration behind the metric; None without two folds."""
        rule = self._rule(measured.predictions, measured.settings)
        return measured.recalibrations.of(self, rule, measured.columns[self.score])

    def _influences(
        self, recalibrated: Recalibrated, measured: Measurements, *, priors: bool
    ) -> Influences | None:
        """Return the influences of units on a metric, with fixed posteriors."""
        rows, predictions = recalibrated.rows, measured.predictions
        class_priors = predictions.priors if priors else None
        columns = self.columns(recalibrated)
        table = UnitTable.of_rows(
            columns, rows.labels, predictions.n_classes, rows.weights, class_priors, recalibrated.units
        )
        with np.errstate(invalid="ignore", divide="ignore"):  # infinite losses have no gain
            influence_values = table.influences(lambda means: self.value(means, recalibrated.rule))
        if influence_values is None:
            return None
        before = recalibrated.mean(recalibrated.before) if isinstance(self, RelativeCalibrationLoss) else 1.0
        lost = recalibrated.variance_of_fits / before**2 if before else 0.0
        fewest = math.inf if self.labelless else measured.errors
        return replace(influence_values, fewest=fewest, scarce=ERROR, lost=lost)

    def _folds(self, recalibrated: Recalibrated | None, settings: Settings) -> list[str]:
        """Return the folds of the rows, and the number of repetitions, for the signature."""
        if self.training != "cross-validation":
            return []
        if settings.fold_column is not None:
            return [f"folds:{settings.fold_column}"]
        return [f"folds:{settings.folds}", f"deals:{1 if recalibrated is None else len(recalibrated.deals)}"]

    def _interval(
        self, recalibrated: Recalibrated, value: float, measured: Measurements, settings: Settings
    ) -> tuple[Interval | None, str]:
        """Return the interval of a metric, or why there is none.

        A transform of other rows is part of the system (Ferrer & Ramos 2024, appendix E). A recalibration
        trained on these rows varies with them: intervals without that part miss too often, and so do
        intervals from resamples.
        """
        if not settings.intervals:
            return None, ""
        if self.training != "held-out":
            return None, OF_THESE_ROWS if self.compared else ""
        rows, classes = recalibrated.deals[0].shape
        if isinstance(self, RelativeCalibrationLoss) and rows < classes:
            return None, "there are fewer rows than classes"
        influence_values = self._influences(recalibrated, measured, priors=True)
        return judged(influence_values.spread if influence_values else None, value, settings)


class Loss(OfRecalibration):
    """The loss of score through miscalibration, or its share of the score."""

    compared = True
    relative: ClassVar[bool] = False

    def columns(self, recalibrated: Recalibrated) -> dict[str, Array]:
        """Return the losses before and after."""
        return {"before": recalibrated.before, "after": recalibrated.losses}

    def value(self, means: Means, rule: ScoringRule) -> Doubles:
        """Return the gain; its share is nan if the score is zero or infinite."""
        before, won = means["before"], means["before"] - means["after"]
        if not self.relative:
            return won
        return np.where((before > 0) & (before < np.inf), won / before, np.nan)

    def parts(self, recalibrated: Recalibrated) -> dict[str, float]:
        """Return the score before and after, and standard errors."""
        before, after = recalibrated.mean(recalibrated.before), recalibrated.mean(recalibrated.losses)
        absolute, relative = recalibrated.standard_errors()
        return {"before": before, "after": after, "calibration_loss": before - after,
                "standard_error": absolute, "relative_standard_error": relative}  # fmt: skip


@metric(
    "calibration_loss", "Calibration loss", tier="to know", range="-inf to inf", unit=AS_SCORE,
    misses=MISSES,
)  # fmt: skip
class CalibrationLoss(Loss):
    """how much a recalibration fitted to other rows lowers a score; slightly below 0 if there is nothing to
    gain

    Formula: score - score after recalibration; by pav on test, of costs: actual - minimum cost
    Source: Ferrer & Ramos 2024, eq. 30
    """


@metric("relative_calibration_loss", "Calibration loss, relative", range="-inf to 1", misses=MISSES)
class RelativeCalibrationLoss(Loss):
    """share of a score that a recalibration fitted to other rows removes

    Formula: calibration_loss / score
    Source: Ferrer & Ramos 2024, eq. 33
    """

    relative = True


@metric(
    "expected_score", "Semi-empirical score", tier="works", direction="none", range="0 to inf",
    unit=AS_SCORE,
)  # fmt: skip
class ExpectedScore(OfRecalibration):
    """score expected if the recalibrated posteriors were true; far from the actual score, they are not

    Formula: mean over rows of sum_k p_k score(q, k), p recalibrated
    Source: Ferrer & Ramos 2024, eq. 25 and table 1
    Misses: wrong class priors; unexplained, the difference of the normalized scores, sees them
    """

    labelless = True

    def columns(self, recalibrated: Recalibrated) -> dict[str, Array]:
        """Return the expected losses."""
        return {"expected": recalibrated.expected_losses}

    def value(self, means: Means, rule: ScoringRule) -> Doubles:
        """Return their mean."""
        return means["expected"]

    def parts(self, recalibrated: Recalibrated) -> dict[str, float]:
        """Return the score beside it."""
        return {
            "score": recalibrated.mean(recalibrated.before),
            "unexplained": _value(recalibrated, Unexplained(score=self.score)),
        }


@metric("unexplained", "Unexplained share of the score", tier="works", direction="none", range="-inf to 1")
class Unexplained(OfRecalibration):
    """share of the normalized score that the recalibrated posteriors do not explain; far from 0, do not
    trust them

    Formula: 1 - normalized expected_score / normalized score
    Source: Ferrer & Ramos 2024, table 1
    """

    def columns(self, recalibrated: Recalibrated) -> dict[str, Array]:
        """Return the observed and expected losses of rows, and the posteriors of the classes."""
        posteriors = enumerate(recalibrated.over_deals(np.exp).T)
        columns = {"before": recalibrated.before, "expected": recalibrated.expected_losses}
        return columns | {POSTERIOR.format(k): posterior for k, posterior in posteriors}

    def value(self, means: Means, rule: ScoringRule) -> Doubles:
        """Return the share."""
        posteriors = [means[POSTERIOR.format(k)] for k in range(means.priors.shape[-1])]
        observed = means["before"] / rule.constant(means.priors)
        return 1 - means["expected"] / rule.constant(np.stack(posteriors, axis=-1)) / observed

    def parts(self, recalibrated: Recalibrated) -> dict[str, float]:
        """Return the score and the expected score."""
        return {
            "score": recalibrated.mean(recalibrated.before),
            "expected_score": recalibrated.mean(recalibrated.expected_losses),
        }


@metric("score_divergence", "Score divergence", tier="works", range="0 to inf", unit=AS_SCORE)
class ScoreDivergence(OfRecalibration):
    """divergence from the recalibrated posteriors: the part of the expected score that recalibration removes

    Formula: mean over rows of sum_k p_k (score(q, k) - score(p, k)), p recalibrated
    Source: Broecker 2009; Ferrer & Ramos 2024, eq. 26
    Misses: assumes that the posteriors are right; distance=l1, the mean of sum_k |p_k - q_k|, is not a score
        divergence
    """

    distance: Literal["score", "l1"] = arg(
        "the divergence of the score, or the sum of |p_k - q_k|", default="score"
    )
    labelless = True

    def columns(self, recalibrated: Recalibrated) -> dict[str, Array]:
        """Return the expected excess of losses over the least possible ones, or the distances."""
        if self.distance == L1:
            probs = np.exp(recalibrated.log_probs)
            return {
                "divergence": recalibrated.over_deals(lambda deal: np.abs(probs - np.exp(deal)).sum(axis=1))
            }
        return {"divergence": recalibrated.expected_losses - _entropies(recalibrated)}

    def value(self, means: Means, rule: ScoringRule) -> Doubles:
        """Return their mean."""
        return means["divergence"]

    def parts(self, recalibrated: Recalibrated) -> dict[str, float]:
        """Return the expected score and the entropy, and their difference if it is not the value."""
        expected_losses, entropies = recalibrated.expected_losses, _entropies(recalibrated)
        terms = {
            "expected_score": recalibrated.mean(expected_losses),
            "entropy": recalibrated.mean(entropies),
        }
        if self.distance == L1:
            terms["score_divergence"] = recalibrated.mean(expected_losses - entropies)
        return terms


def _entropies(recalibrated: Recalibrated) -> Doubles:
    """Return the (n,) expected losses of the recalibrated posteriors, the least possible ones."""
    return recalibrated.over_deals(lambda posteriors: recalibrated.rule.expected(posteriors, posteriors))


OF_THESE_ROWS = "the recalibration is fitted to these rows; --calibration-data fits it to other rows"


def _value(recalibrated: Recalibrated, metric: OfRecalibration) -> float:
    """Return a metric of all rows."""
    priors = np.bincount(recalibrated.rows.labels, recalibrated.rows.weights, recalibrated.deals[0].shape[1])
    priors = priors / priors.sum()
    means = {
        name: np.asarray(recalibrated.mean(values)) for name, values in metric.columns(recalibrated).items()
    }
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(metric.value(Means(means.__getitem__, lambda: priors, priors), recalibrated.rule))
