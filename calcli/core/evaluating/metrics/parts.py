"""Calibration and refinement loss of every class, or of one, over bins or by kernel density."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import ClassVar, Literal

import numpy as np

from calcli.core.data.arrays import Array, Doubles, Floats, batches
from calcli.core.data.predictions import Predictions
from calcli.core.estimators.decomposition import BinnedLosses, Corp, RefinedBins, binned_losses, corp, summed
from calcli.core.estimators.intervals import ERROR, FEWEST, Influences, Spread
from calcli.core.estimators.rules import Decomposable, decomposable_rule
from calcli.core.estimators.scoring import Means, OfMeans
from calcli.core.estimators.unittable import UnitTable
from calcli.core.evaluating.measurements import Measurements
from calcli.core.evaluating.metrics.base import HITS, Calls, judged, loss, signature
from calcli.core.evaluating.metrics.scores import find_cllr, min_cllr
from calcli.core.evaluating.metrics.smooth import densities
from calcli.core.evaluating.results import Estimate
from calcli.core.language.entries import DECOMPOSITION, arg, metric
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import CLASS_WISE, Measure, region_ends
from calcli.core.language.metrics import AS_SCORE, LENS, METRICS, ScoreName, number_of_bins, vector_region
from calcli.core.language.settings import Settings
from calcli.core.problems.problem import Problem
from calcli.core.state.needs import LOG_ODDS, ClassPlaces, Mean, Need, Pass, all_probs, class_sums, through

Numbers = dict[str, float]

CANONICAL = "canonical"
EXAMPLE = "class-0@0.6..0.6+class-1@0.3..0.3"


def needs_of_parts(metric: Binned, of: Pass) -> Iterator[Need]:
    """Yield the needs of the parts of a score.

    Raises
    ------
    UsageError
        If the lens is neither class-wise nor of a class, or a region has no one score.
    """
    bins = metric.bins
    if metric.lens == CANONICAL:
        if metric.region == "all" or metric.estimator != "bins":
            raise UsageError(
                f"{metric}: for whole vectors a region is one bin; name it, as in region={EXAMPLE}"
            )
        yield all_probs(of.rows)
    elif "@" in metric.region:
        raise UsageError(f"{metric}: conditions on several classes are for whole vectors; say lens=canonical")
    elif metric.lens != CLASS_WISE:
        if not metric.lens.startswith("class-"):
            raise UsageError(
                f"{metric}: the parts are those of classes, not of the lens {metric.lens}; expected "
                "class-wise, one such as class-0, or canonical with a region"
            )
        yield through(metric.lens, of.rows, of.settings, each=True)
    elif metric.region != "all":
        raise UsageError(f"{metric}: a region needs one score; name the class, as in lens=class-0")
    elif metric.from_sums:
        yield from class_sums(bins, of.rows, of.settings)
    else:
        yield all_probs(of.rows)


def binned_parts(metric: Binned, measured: Measurements) -> Numbers:
    """Return the score, or the term of a class in it, its parts, their sum and the remainder.

    In a region all parts are shares of the whole: the share of the rows times the part among these rows. For
    whole vectors the rows of the region are one bin. Parts are nan without rows.
    """
    rule = metric.rule(measured.predictions)
    losses, weights = measured.columns[metric.score], measured.predictions.weights
    share: Numbers = {}
    if metric.lens == CLASS_WISE:
        every = _every_class(metric, measured, rule)
        score = _mean(losses, weights)
    elif metric.lens == CANONICAL:
        return _of_vectors(metric, measured, rule)
    else:
        prob, outcome, weights, inside = measured.look(metric.lens).within(metric.region)
        problem = measured.problem(metric.lens)
        total = problem.total_weight
        problem = problem.within(*region_ends(metric.region))
        if not problem.total_weight:
            return dict.fromkeys(("score", "calibration", "refinement", "estimated", "remainder"), math.nan)
        part = problem.total_weight / total
        within = _one_class(metric, problem, rule)
        every = BinnedLosses(part * within.calibration, part * within.refinement)
        score = part * _mean(rule.class_term(losses[inside], prob.astype(np.float64), outcome), weights)
        if metric.region != "all":
            share = {"share": part, "refinement_within": within.refinement}
    return {
        "score": score,
        "calibration": every.calibration,
        "refinement": every.refinement,
        "estimated": every.estimated,
        "remainder": score - every.estimated,
        **share,
    }


def _of_vectors(metric: Binned, measured: Measurements, rule: Decomposable) -> Numbers:
    """Return the parts of a region of whole vectors, with its rows as one bin."""
    problem = measured.vector_problem(CANONICAL)
    inside = problem.rows_in(metric.region, str(metric))
    weight = np.ones(len(inside)) if problem.weights is None else problem.weights.astype(np.float64)
    share = np.where(inside, weight, 0.0)
    if not share.any():
        return dict.fromkeys(("score", "calibration", "refinement", "estimated", "remainder"), math.nan)
    part = float(share.sum() / weight.sum())
    share /= share.sum()
    frequency = np.bincount(problem.labels, share, problem.probs.shape[1]).astype(np.float64)
    losses = BinnedLosses(*rule.binned(np.ones(len(frequency)), share @ problem.probs, frequency))
    score = part * _mean(measured.columns[metric.score][inside], share[inside])
    estimated = part * losses.estimated
    return {
        "score": score,
        "calibration": part * losses.calibration,
        "refinement": part * losses.refinement,
        "estimated": estimated,
        "remainder": score - estimated,
        "share": part,
        "refinement_within": losses.refinement,
    }


def _every_class(metric: Binned, measured: Measurements, rule: Decomposable) -> BinnedLosses:
    if metric.from_sums:
        return binned_losses(measured.class_bins(metric.bins), rule)
    losses = [_one_class(metric, problem, rule) for problem in measured.class_problems()]
    return BinnedLosses(sum(loss.calibration for loss in losses), sum(loss.refinement for loss in losses))


def _one_class(metric: Binned, problem: Problem, rule: Decomposable) -> BinnedLosses:
    if metric.estimator == "kernel":
        return BinnedLosses(*rule.binned(*densities(problem)))
    bins = problem.bins("equal-width", metric.bins)
    full = bins.weight > 0
    weight = bins.weight[full]
    return BinnedLosses(
        *rule.binned(weight / weight.sum(), bins.score[full] / weight, bins.outcome[full] / weight)
    )


def _mean(losses: Array, weights: Floats | None) -> float:
    losses = losses.astype(np.float64, copy=False)
    if weights is not None:  # rows without weight do not count, whatever their loss
        losses, weights = losses[weights > 0], weights[weights > 0]
    return float(np.average(losses, weights=weights))


CORP = "consistent, optimally binned, reproducible, pool adjacent violators"
LOOKED_UP = 1 << 20  # bins of probabilities at once


def _refined_losses(refined: RefinedBins, measured: Measurements) -> Array:
    """Return the (N,) losses of the rows if each probability were the frequency of its bin."""
    cells: Array = measured.kept(ClassPlaces(refined.bins)).cells
    labels = measured.predictions.labels
    every = batches(len(labels), len(cells), LOOKED_UP)
    return np.concatenate([refined.losses(cells[:, batch], labels[batch]) for batch in every])


class Parts(Measure, ABC):
    """One of several parts from one computation.

    Attributes
    ----------
    part
        The name of the part.
    """

    family = DECOMPOSITION
    part: ClassVar[str]

    @abstractmethod
    def parts(self, measured: Measurements) -> Numbers:
        """Return all parts by name."""

    def spread(self, measured: Measurements) -> Spread | None:
        """Return its spread, if it has an interval."""
        return None

    @property
    def has_interval(self) -> bool:
        """Whether its bias is known."""
        return False

    def estimate(self, measured: Measurements, settings: Settings, metrics: Calls = ()) -> Estimate:
        """Return it together with all parts."""
        terms = self.parts(measured)
        value = terms[self.part]
        interval, reason, how = None, "", []
        if self.has_interval and settings.intervals:
            interval, reason = judged(self.spread(measured), value, settings)
            how = ["interval:jackknife"]
        line = signature(self, measured, settings, *how)
        return Estimate(self, value, line, interval, reason, parts=terms)


@dataclass(frozen=True, kw_only=True)
class OfScore(Parts):
    """A part of a score of classes."""

    score: ScoreName = arg("the score that is split", default="brier")

    def rule(self, rows: Predictions) -> Decomposable:
        """Return the rule with the score as its mean."""
        return decomposable_rule(self.score, rows.n_classes)


def _corp(metric: Isotonic, measured: Measurements) -> Corp:
    rule = metric.rule(measured.predictions)
    labels, weights = measured.predictions.labels, measured.predictions.weights
    if not metric.is_class_wise:
        if not measured.is_scalar(metric.lens):
            raise UsageError(
                f"{metric}: the lens {metric.lens} has several outcomes; expected one such as top-1"
            )
        score, outcome, weights, _ = measured.look(metric.lens)
        if not len(score):
            return Corp(math.nan, math.nan, math.nan)
        score = score.astype(np.float64)
        return corp(score, outcome, rule.binary(score, outcome), weights, rule)
    if measured.predictions.n_classes == 2:
        # log-odds distinguish rows with probabilities that both round to 1
        columns, of_class = measured.columns, labels == 1
        parts_of_one = corp(columns["log_odds"], of_class, columns[metric.score], weights, rule)
        recalibrated, uncertainty = parts_of_one.recalibrated, parts_of_one.uncertainty
        return Corp(parts_of_one.score, rule.outcomes * recalibrated, rule.outcomes * uncertainty)
    if not rule.additive:
        raise UsageError(
            f"{metric}: the {METRICS[metric.score].title.lower()} of more than two classes is not a sum over "
            "classes; use score=brier or lens=top-1"
        )
    corps = []
    for k, probs in enumerate(measured.class_probs):
        outcome = labels == k
        corps.append(corp(probs, outcome, rule.binary(probs, outcome), weights, rule))
    return summed(corps)


def _influences(column: Array, of: OfMeans, measured: Measurements) -> Influences | None:
    """Return the influences of units on a function of the mean of a column named "value"."""
    rows = measured.predictions
    table_args = rows.n_classes, rows.weights, rows.priors, measured.units
    return UnitTable.of_rows({"value": column}, rows.labels, *table_args).influences(of)


@dataclass(frozen=True, kw_only=True)
class Binned(OfScore):
    """The parts of a score over bins of every class, or of one, or in a region."""

    bins: int = number_of_bins()
    lens: str = arg(LENS, default=CLASS_WISE)
    region: str = vector_region()
    estimator: Literal["bins", "kernel"] = arg("frequencies from bins or from a kernel", default="bins")

    def needs(self, of: Pass) -> Iterable[Need]:
        """Return the losses and the bins."""
        yield loss(self.score, self.rule(of.rows), of.settings)
        yield from needs_of_parts(self, of)
        if self.has_interval and of.settings.intervals:
            yield HITS
            yield ClassPlaces(self.bins)

    def parts(self, measured: Measurements) -> Numbers:
        """Return all parts by name."""
        return binned_parts(self, measured)

    @property
    def from_sums(self) -> bool:
        """Whether sums over the bins of every class are enough."""
        return self.lens == CLASS_WISE and self.estimator == "bins"

    @property
    def has_interval(self) -> bool:
        """Whether it is the refinement loss of all classes, the only part with a known bias."""
        return self.part == "refinement" and self.from_sums

    def spread(self, measured: Measurements) -> Spread | None:
        """Return its spread."""
        rows = measured.predictions
        refined = RefinedBins(measured.class_bins(self.bins), self.rule(rows))
        influence_values = _influences(_refined_losses(refined, measured), itemgetter("value"), measured)
        if influence_values is None:
            return None
        share, fewest, scarce = measured.effective_rows / rows.n_rows, measured.errors, ERROR
        if self.score == "log_loss" and fewest < 4 * FEWEST:
            fewest, scarce = (
                fewest / 4,
                "",
            )  # an unseen only error of a bin costs nothing, a seen one costs much
        return replace(influence_values.spread, fewest=fewest, scarce=scarce, bias=refined.bias(share))


@dataclass(frozen=True, kw_only=True)
class Isotonic(OfScore):
    """The parts of a score by isotonic regression (CORP)."""

    lens: str = arg(LENS, default=CLASS_WISE)

    def needs(self, of: Pass) -> Iterable[Need]:
        """Return the losses, and what must be sorted."""
        yield loss(self.score, self.rule(of.rows), of.settings)
        if self.lens != CLASS_WISE:
            yield through(self.lens, of.rows, of.settings, each=True)
        else:
            yield LOG_ODDS if of.rows.n_classes == 2 else all_probs(of.rows)

    def parts(self, measured: Measurements) -> Numbers:
        """Return all parts by name, and the score."""
        corp = _corp(self, measured)
        return {
            "score": corp.score,
            "miscalibration": corp.miscalibration,
            "discrimination": corp.discrimination,
            "uncertainty": corp.uncertainty,
        }

    @property
    def has_interval(self) -> bool:
        """Whether it is the uncertainty, the only part with an interval."""
        return self.part == "uncertainty" and not self.lens.startswith("predicted-")

    def spread(self, measured: Measurements) -> Spread | None:
        """Return its spread, from the frequencies of the classes, or of the outcome of a lens."""
        rule, of_classes = self.rule(measured.predictions), self.is_class_wise
        outcome = np.zeros(measured.predictions.n_rows) if of_classes else measured.look(self.lens).outcome

        def uncertainty(means: Means) -> Doubles:
            if of_classes:
                return rule.constant(means.priors)
            outcomes = means["value"]
            return rule.constant(np.stack([1 - outcomes, outcomes], axis=-1)) / rule.outcomes

        influence_values = _influences(outcome, uncertainty, measured)
        return None if influence_values is None else influence_values.spread


@metric("min_cllr", "Cost of log-likelihood ratios, least", tier="works", unit="bits")
class LeastCostOfRatios(Parts):
    """two classes: cllr after an isotonic fit; the difference to cllr is miscalibration

    Formula: cllr of the isotonic fit, both classes alike
    Source: Bruemmer & du Preez 2006
    Misses: fitted to the same rows: biased downward
    """

    part = "min_cllr"

    def needs(self, of: Pass) -> Iterable[Need]:
        """Return the costs of the ratios and the log-odds."""
        yield from (Mean(*item) for item in find_cllr(str(self), of.rows, of.settings).statistics.items())
        yield LOG_ODDS

    def parts(self, measured: Measurements) -> Numbers:
        """Return the costs, and the prior odds."""
        rows = measured.predictions
        cllr = find_cllr(str(self), rows, measured.settings)
        actual = float(cllr.value(measured.unit_table().means()))
        least = min_cllr(measured.columns["log_odds"], rows.labels, rows.weights)
        return {
            "cllr": actual,
            "min_cllr": least,
            "calibration": actual - least,
            "prior_odds": cllr.prior_odds,
        }


@metric("binned_calibration_loss", "Binned calibration loss", tier="works", range="0 to inf", unit=AS_SCORE)
class BinnedCalibrationLoss(Binned):
    """calibration part of a score: distance between mean probability and frequency in bins

    Formula: sum_k sum_b n_kb/N (mean prob - frequency)^2, or frequency ln(frequency / mean prob)
    Source: van de Waterlaat 2021, section 4.3
    Misses: biased upward near zero; relative_calibration_loss needs no bins
    """

    part = "calibration"


@metric("binned_refinement_loss", "Binned refinement loss", tier="works", range="0 to inf", unit=AS_SCORE)
class BinnedRefinementLoss(Binned):
    """refinement part of a score: what remains if each bin predicts its frequencies

    Formula: sum_k sum_b n_kb/N frequency (1 - frequency), or -frequency ln frequency
    Source: van de Waterlaat 2021, section 4.3
    Misses: what differs within bins, the more the fewer they are
    """

    part = "refinement"


@metric("binned_estimated_score", "Estimated score", tier="works", range="0 to inf", unit=AS_SCORE)
class BinnedEstimatedScore(Binned):
    """binned calibration loss plus binned refinement loss

    Formula: binned_calibration_loss + binned_refinement_loss
    Source: van de Waterlaat 2021, fig. 4.6
    Misses: what differs within bins; see binned_remainder
    """

    part = "estimated"


@metric(
    "binned_remainder", "Remainder of the estimated score", tier="works", direction="none",
    range="-inf to inf", unit=AS_SCORE,
)  # fmt: skip
class BinnedRemainder(Binned):
    """score minus its binned estimate: what differs within bins

    Formula: score - binned_estimated_score; brier: sum_kb n_kb/N (var prob - 2 cov(prob, label))
    Source: van de Waterlaat 2021, fig. 4.6
    """

    part = "remainder"


@metric(
    "corp_miscalibration", "Miscalibration (CORP)",
    abbreviation_of=CORP, range="0 to inf",
    unit=AS_SCORE,
)  # fmt: skip
class CorpMiscalibration(Isotonic):
    """part of a score that an isotonic fit to the same rows removes

    Formula: score - score of the isotonic fit, one isotonic fit a class
    Source: Dimitriadis, Gneiting & Jordan 2021 (CORP)
    Misses: fitted to the same rows: biased upward near zero
    """

    part = "miscalibration"


@metric(
    "corp_discrimination", "Discrimination (CORP)",
    abbreviation_of=CORP, direction="higher",
    range="0 to uncertainty", unit=AS_SCORE,
)  # fmt: skip
class CorpDiscrimination(Isotonic):
    """how much better the isotonic fit is than the class frequencies

    Formula: score of the class frequencies - score of the isotonic fit, one isotonic fit a class
    Source: Dimitriadis, Gneiting & Jordan 2021 (CORP)
    Of answers: how much better the isotonic fit is than always stating the accuracy
    """

    part = "discrimination"


@metric(
    "corp_uncertainty", "Uncertainty (CORP)",
    abbreviation_of=CORP, direction="none",
    range="0 to inf", unit=AS_SCORE,
)  # fmt: skip
class CorpUncertainty(Isotonic):
    """score of the class frequencies: how hard the data are without a classifier

    Formula: score of the class frequencies
    Source: Dimitriadis, Gneiting & Jordan 2021 (CORP)
    Of answers: score of always stating the accuracy
    """

    part = "uncertainty"
