"""Calibration and refinement loss of every class, or of one, over bins or by kernel density."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Floats
from calcli.core.estimators.decomposition import BinnedLosses, binned_losses
from calcli.core.estimators.rules import decomposable_rule
from calcli.core.estimators.rules.base import Decomposable
from calcli.core.estimators.smooth import densities
from calcli.core.evaluating.measurements import Measurements
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import CLASS_WISE, MetricExpression, region_ends
from calcli.core.problems.problem import Problem
from calcli.core.state.needs import Need, Pass, all_probs, class_sums, through, unit_sums

Parts = dict[str, float]

CANONICAL = "canonical"
EXAMPLE = "class-0@0.6..0.6+class-1@0.3..0.3"


def from_class_sums(call: MetricExpression) -> bool:
    """Tell whether sums over the bins of every class are enough."""
    return call.lens == CLASS_WISE and call.arguments["estimator"] == "bins"


def needs_of_parts(call: MetricExpression, of: Pass) -> Iterator[Need]:
    """Yield what a pass must keep for the parts of a score.

    Raises
    ------
    UsageError
        If the lens is another one than class-wise and that of a class, or a region has no one score.
    """
    bins = call.arguments["bins"]
    if call.lens == CANONICAL:
        if call.region == "all" or call.arguments["estimator"] != "bins":
            raise UsageError(
                f"{call}: for whole vectors a region is one bin; name it, as in region={EXAMPLE}"
            )
        yield all_probs(of.rows)
    elif "@" in call.region:
        raise UsageError(f"{call}: conditions on several classes are for whole vectors; say lens=canonical")
    elif call.lens != CLASS_WISE:
        if not call.lens.startswith("class-"):
            raise UsageError(
                f"{call}: the parts are those of classes, not of the lens {call.lens}; expected class-wise, "
                "one such as class-0, or canonical with a region"
            )
        yield through(call.lens, of.rows, of.settings, each=True)
    elif call.region != "all":
        raise UsageError(f"{call}: a region needs one score; name the class, as in lens=class-0")
    elif from_class_sums(call):
        yield from class_sums(bins, of.rows, of.settings)
        yield from unit_sums(bins, of)
    else:
        yield all_probs(of.rows)


def binned_parts(call: MetricExpression, measured: Measurements) -> Parts:
    """Return the score, or the term of a class in it, its parts, their sum and what that sum misses.

    Of a region all of them are shares of the whole: the share of the rows times what they are among these
    rows. Of whole vectors the rows of the region are one bin. They are nan where there is no row.
    """
    rule = decomposable_rule(call.score, of_answers=measured.predictions.of_answers)
    losses, weights = measured.columns[call.score], measured.predictions.weights
    share: Parts = {}
    if call.lens == CLASS_WISE:
        found = _every_class(call, measured, rule)
        score = _mean(losses, weights)
    elif call.lens == CANONICAL:
        return _of_vectors(call, measured, rule)
    else:
        prob, outcome, *_ = measured.look(call.lens)
        inside = _inside(prob, call.region)
        problem = measured.problem(call.lens)
        whole = problem.total_weight
        problem = problem.within(*region_ends(call.region))
        if not problem.total_weight:
            return dict.fromkeys(("score", "calibration", "refinement", "estimated", "remainder"), math.nan)
        part = problem.total_weight / whole
        within = _one_class(call, problem, rule)
        found = BinnedLosses(part * within.calibration, part * within.refinement)
        terms = rule.class_term(losses[inside], prob[inside].astype(np.float64), outcome[inside])
        score = part * _mean(terms, None if weights is None else weights[inside])
        if call.region != "all":
            share = {"share": part, "refinement_within": within.refinement}
    return {
        "score": score,
        "calibration": found.calibration,
        "refinement": found.refinement,
        "estimated": found.estimated,
        "remainder": score - found.estimated,
        **share,
    }


def _of_vectors(call: MetricExpression, measured: Measurements, rule: Decomposable) -> Parts:
    """Return the parts of a region of whole vectors, of which its rows are one bin."""
    problem = measured.vector_problem(CANONICAL)
    inside = problem.rows_in(call.region, str(call))
    weight = np.ones(len(inside)) if problem.weights is None else problem.weights.astype(np.float64)
    own = np.where(inside, weight, 0.0)
    if not own.any():
        return dict.fromkeys(("score", "calibration", "refinement", "estimated", "remainder"), math.nan)
    part = float(own.sum() / weight.sum())
    own /= own.sum()
    frequency = np.bincount(problem.labels, own, problem.probs.shape[1]).astype(np.float64)
    found = BinnedLosses(*rule.binned(np.ones(len(frequency)), own @ problem.probs, frequency))
    score = part * _mean(measured.columns[call.score][inside], own[inside])
    estimated = part * found.estimated
    return {
        "score": score,
        "calibration": part * found.calibration,
        "refinement": part * found.refinement,
        "estimated": estimated,
        "remainder": score - estimated,
        "share": part,
        "refinement_within": found.refinement,
    }


def _every_class(call: MetricExpression, measured: Measurements, rule: Decomposable) -> BinnedLosses:
    if from_class_sums(call):
        return binned_losses(measured.class_bins(call.arguments["bins"]), rule)
    each = [_one_class(call, problem, rule) for problem in measured.class_problems()]
    return BinnedLosses(sum(one.calibration for one in each), sum(one.refinement for one in each))


def _one_class(call: MetricExpression, problem: Problem, rule: Decomposable) -> BinnedLosses:
    if call.arguments["estimator"] == "kernel":
        return BinnedLosses(*rule.binned(*densities(problem)))
    bins = problem.bins("equal-width", call.arguments["bins"])
    full = bins.weight > 0
    weight = bins.weight[full]
    return BinnedLosses(
        *rule.binned(weight / weight.sum(), bins.score[full] / weight, bins.outcome[full] / weight)
    )


def _inside(prob: Floats, region: str) -> NDArray[np.bool_]:
    low, high = region_ends(region)
    return (prob >= np.float64(low)) & ((prob < np.float64(high)) | (high >= 1))


def _mean(losses: Array, weights: Floats | None) -> float:
    losses = losses.astype(np.float64, copy=False)
    if weights is not None:  # rows without weight do not count, whatever their loss
        losses, weights = losses[weights > 0], weights[weights > 0]
    return float(np.average(losses, weights=weights))
