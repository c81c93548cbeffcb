"""Structured scaling: log-probabilities and their bends, with slopes for all classes, for each, and a matrix.

SMS and SVS are of Berta et al. 2025; the others are calcli's own.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import Literal, Self

import numpy as np

from calcli.core.calibrators.base import FOLD_SEED, FOLDS, OF_SCORES, STRONGEST, Calibrator
from calcli.core.calibrators.fit.newton import minimize
from calcli.core.calibrators.fit.scale import first_guess, solve_temperature
from calcli.core.calibrators.fit.softmaxloss import Parts, PartsModel, Penalty, SoftmaxLoss, forward
from calcli.core.calibrators.fit.training import (
    Parameter,
    Parameters,
    TrainingRows,
    clip_below,
    inner_folds,
    prepare,
    refuse_wide,
    weighted_rows,
)
from calcli.core.calibrators.softmax import DPAffine
from calcli.core.data.arrays import Array, Doubles, Floats, Labels, log_softmax, row_blocks, row_max
from calcli.core.language.entries import arg, method
from calcli.core.language.errors import InputError

Bends = Literal["none", "complement", "both"]

SOFTENING = 0.01  # ln(p + 0.01) bends where probabilities are about as small
MAP_POINTS = 2001  # of probabilities at which a map is seen to rise


def bends_of(log_probs: Floats, bends: Bends) -> list[Floats]:
    """Return the (N, K) features that bend a map of log-probabilities: -ln(1 - p) and ln(p + 0.01).

    With two classes the first is the log-probability of the other class, and left out.
    """
    if bends == "none":
        return []
    features = [] if log_probs.shape[1] == 2 else [_complement(log_probs)]
    if bends == "both":
        features.append(np.log(np.exp(log_probs) + log_probs.dtype.type(SOFTENING)))
    return features


def _complement(log_probs: Floats) -> Floats:
    """Return -ln(1 - p), for the largest p from the sum of the others."""
    rows, top = np.arange(len(log_probs)), log_probs.argmax(axis=1)
    below = log_probs.copy()
    below[rows, top] = -np.inf
    second = row_max(below)
    others_sum = np.exp(below - second).sum(axis=1)
    result: Floats = -np.log1p(-np.minimum(np.exp(below), 0.5))
    result[rows, top] = -(second[:, 0] + np.log(others_sum))
    return result


def rises(slopes: Doubles, classes: int) -> bool:
    """Return whether the map with both bends keeps the order of any probabilities."""
    p = np.concatenate([np.geomspace(1e-12, 0.5, MAP_POINTS), 1 - np.geomspace(1e-12, 0.5, MAP_POINTS)])
    terms = [1 / p, *([1 / (1 - p)] if classes > 2 else []), 1 / (p + SOFTENING)]
    return bool((slopes @ np.array(terms) > 0).all())


Base = Literal["scaled", "centered", "mixed"]
Form = Literal["matrix", "diagonal"]
First = tuple[float, Doubles]  # alpha and the intercepts from which a fit starts

ROUGH = 1e-3  # relative gradient that is enough to compare penalties: of a loss, less than 1e-4
MOST = 1000  # classes of a matrix of no more rows, fitted once
WIDEST = 128  # the same, fitted for each of the penalties tried


@dataclass(kw_only=True, eq=False, repr=False)
class Structured(Calibrator):
    """The base of the structured calibrators: features of log-probabilities, one penalized convex fit.

    The features are functions of the probabilities p from temperature scaling or a DP affine map, with its
    alpha learned first; `stand_in_below` says what stands for the logarithm of 0.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self.rough = False  # whether a fit in single precision, near the optimum, will do

    def fresh(self, parameters: Parameters | None = None) -> Self:
        """Return another calibrator with the same settings, as rough as this one."""
        copy_ = super().fresh(parameters)
        copy_.rough = self.rough
        return copy_

    @abstractmethod
    def _penalty(self, rows: float, classes: int) -> Penalty:
        """Return the weights of the squares, from the weight of the rows and the number of classes."""

    def _base(self) -> Base:
        return "scaled"

    def _bends(self) -> Bends:
        return "none"

    def _first(self, rows: TrainingRows, start: Parameters | None) -> First:
        """Return alpha and the intercepts from which to start."""
        begin = {"alpha": start["alpha"], "beta": np.zeros(rows.scores.shape[1])} if start else None
        parameters = DPAffine().fit_rows(rows, begin, ROUGH if self.rough else rows.tolerance).parameters
        return float(parameters["alpha"]), np.asarray(parameters["beta"])

    def _intercept(self, rows: TrainingRows, alpha: float, beta: Doubles) -> Doubles:
        """Return the target of the intercepts, from alpha and the intercepts at the start."""
        return np.zeros_like(beta)

    def learn(self, scores: Array, labels: Labels, weights: Array | None, start: Parameters | None) -> None:
        """Learn the parts; see `Calibrator.fit`."""
        rows = self._rows(scores, labels, weights)
        self._learn_rows(rows, self._first(rows, start), self._penalty(rows.total, scores.shape[1]), start)

    def _rows(self, scores: Array, labels: Array, weights: Array | None) -> TrainingRows:
        if self.rough:
            scores = log_softmax(scores).astype(np.float32)
        return prepare(scores, labels, weights, normalize=True, keep_zeros=False, upcast=not self.rough)

    def _learn_rows(
        self, rows: TrainingRows, affine: First, penalty: Penalty, start: Parameters | None
    ) -> None:
        alpha, beta = affine
        fixed: dict[str, Parameter] = {"alpha": alpha, "floor": rows.floor_level}
        fixed["share"] = 1 / (rows.total + 1)
        features = self._features(rows.scores, fixed)
        centre = np.zeros(len(features))
        centre[0] = 1.0
        model = PartsModel(features, penalty, centre, self._intercept(rows, alpha, beta))
        theta = model.pack(self._start(start, centre, beta))
        loss = SoftmaxLoss(rows, model, model.penalty)
        best = minimize(loss, theta, ROUGH if self.rough else rows.tolerance)
        optimum = model.parts(best.x)
        self.parameters = fixed | {"slopes": optimum.slopes}
        for name, weight in zip(Parts._fields[1:], penalty[1:], strict=True):
            if weight is not None:
                self.parameters[name] = getattr(optimum, name)
        self.notes = [*rows.notes]
        if not best.converged:
            self.notes.append(f"the fit stopped at a relative gradient of {best.gradient:.1e}")

    def _start(self, start: Parameters | None, centre: Doubles, beta: Doubles) -> Parts:
        count, classes = len(centre), len(beta)
        begin = Parts(centre, np.zeros((count, classes)), beta, np.zeros((classes, classes)))
        if start is None or np.shape(start["slopes"]) != np.shape(centre):
            return begin
        stored = {name: np.asarray(start[name]) for name in Parts._fields if name in start}
        return begin._replace(**stored)

    def _features(self, scores: Floats, parameters: Parameters) -> list[Floats]:
        """Return the features of finite log-probabilities."""
        share, scores = parameters["share"], scores * scores.dtype.type(parameters["alpha"])
        log_probs = log_softmax(scores)
        bends = bends_of(log_probs, self._bends())
        if self._base() == "centered":
            return [scores - scores.mean(axis=1, keepdims=True), *bends]
        if self._base() == "mixed":
            uniform = share / scores.shape[1]
            log_probs = np.log(np.exp(log_probs) * scores.dtype.type(1 - share) + scores.dtype.type(uniform))
        return [log_probs, *bends]

    def apply(self, scores: Array) -> Doubles:
        """Return log-probabilities, (N, K)."""
        slopes = np.asarray(self.learned("slopes"))
        classes = scores.shape[1]
        for name in ("own", "intercept", "matrix"):
            if name in self.parameters and np.shape(self.parameters[name])[-1] != classes:
                fitted = np.shape(self.parameters[name])[-1]
                raise InputError(
                    f"{self.name} calibrator was fitted on {fitted} classes, the scores have {classes}"
                )
        log_probs = clip_below(log_softmax(scores.astype(np.float64, copy=False)), self.learned("floor"))
        features = self._features(log_probs, self.parameters)
        nothing = Parts(slopes, np.zeros((len(slopes), classes)), np.zeros(classes), np.zeros((0, 0)))
        learned = {
            name: np.asarray(self.parameters[name]) for name in Parts._fields if name in self.parameters
        }
        result = np.empty(scores.shape)
        forward(features, nothing._replace(**learned), out=result)
        return log_softmax(result)


def _temperature(rows: TrainingRows, start: Parameters | None, rough: bool) -> First:
    guess = float(start["alpha"]) if start else first_guess(rows)
    alpha = solve_temperature(rows, guess, ROUGH if rough else rows.tolerance)[0]
    return alpha, np.zeros(rows.scores.shape[1])


def beyond_chance(rows: TrainingRows, alpha: float, beta: Doubles) -> float:
    """Return the share of the intercepts of a DP affine map beyond chance.

    Their square in units of their errors, the weight of the rows times the mean variance of an intercept
    under the probabilities of a row, is K - 1 on average where every intercept is 0 (after James & Stein
    1961).
    """
    size, offset = 0.0, beta.astype(rows.scores.dtype)
    for block in row_blocks(rows.scores):
        probs = np.exp(log_softmax(rows.scores[block] * rows.scores.dtype.type(alpha) + offset))
        of_rows = probs @ beta**2 - (probs @ beta) ** 2
        size += rows.total * float(rows.weights[block] @ of_rows)
    return max(0.0, 1 - (len(beta) - 1) / size) if size > 0 else 0.0


@method(
    "bent-temperature", "Bent temperature scaling", family="softmax", freedom=30, parameters="4",
    count=lambda k, s: 4, effort=6, quick=True,
)  # fmt: skip
class BentTemperature(Structured):
    """softmax(a ln p + c ln(1 / (1 - p)) + e ln(p + 0.01)), p by temperature scaling: three slopes.

    Learns: softmax(a ln p + c ln(1 / (1 - p)) + e ln(p + 0.01)), p by temperature scaling
    Keeps: the order of the classes while the map is increasing
    Source: calcli

    Temperature scaling with a bend at either end, as networks that were trained with smoothed labels need.
    The slopes are drawn to (1, 0, 0) by the weight of one row. The order of the classes stays while the map
    rises.
    """

    def _first(self, rows: TrainingRows, start: Parameters | None) -> First:
        return _temperature(rows, start, self.rough)

    def _bends(self) -> Bends:
        return "both"

    def _penalty(self, rows: float, classes: int) -> Penalty:
        return Penalty(0.5 / rows, None, None, None)

    def keeps_classes(self, classes: int) -> bool:
        """Return whether the map, the same for all classes, rises."""
        return rises(self.learned("slopes"), classes)


@method(
    "bent-dp", "Bent bias and temperature", family="softmax", freedom=70,
    abbreviation_of="direction-preserving", parameters="K + 3", count=lambda k, s: k + 3,
    effort=7, quick=True, needs_classes=OF_SCORES,
)  # fmt: skip
class BentDP(Structured):
    """softmax(a ln p + c ln(1 / (1 - p)) + e ln(p + 0.01) + b), p by a DP affine map without its intercepts.

    Learns: softmax(a ln p + c ln(1 / (1 - p)) + e ln(p + 0.01) + b), p by dp
    Keeps: with two classes, the order of the rows while the map is increasing
    Source: calcli

    All are drawn to where they start, (1, 0, 0) and the intercepts of that map, by the weight of one row.
    """

    def _intercept(self, rows: TrainingRows, alpha: float, beta: Doubles) -> Doubles:
        return beta

    def _bends(self) -> Bends:
        return "both"

    def _penalty(self, rows: float, classes: int) -> Penalty:
        return Penalty(0.5 / rows, None, 0.5 / rows, None)


@method(
    "svs", "Structured vector scaling", family="softmax", freedom=170, parameters="2K, penalized",
    effort=5, needs_classes=OF_SCORES,
)  # fmt: skip
class SVS(Structured):
    """Structured vector scaling: x + v x + b with x = ln q, q of temperature scaling mixed with 1 / K.

    Learns: softmax(x + v * x + b), x = ln q by temperature-mix, v and b penalized
    Keeps: with two classes, the order of the rows while the map is increasing
    Source: Berta et al. 2025

    ``(K / n) (|b|^2 + |v|^2)`` is added to the mean log-loss; q has the weight n of n + 1.

    References
    ----------
    Berta et al., Structured matrix scaling for multi-class calibration, 2025 (arXiv:2511.03685).
    """

    def _base(self) -> Base:
        return "mixed"

    def _first(self, rows: TrainingRows, start: Parameters | None) -> First:
        return _temperature(rows, start, self.rough)

    def _penalty(self, rows: float, classes: int) -> Penalty:
        return Penalty(None, classes / rows, classes / rows, None)


@method(
    "sms", "Structured matrix scaling", family="softmax", freedom=180, parameters="K(K + 1), penalized",
    effort=9, needs_classes=OF_SCORES,
)  # fmt: skip
class SMS(SVS):
    """Structured matrix scaling: `SVS` with a matrix, with a penalty of (K (K - 1) / n) |M|^2 on its entries.

    Learns: softmax(x + V x + b), x = ln q by temperature-mix, V and b penalized
    Keeps: with two classes, the order of the rows while the map is increasing
    Source: Berta et al. 2025
    Misses: the scale stays the one of temperature scaling, which is wrong under other class priors;
        structured fits it

    References
    ----------
    Berta et al., Structured matrix scaling for multi-class calibration, 2025 (arXiv:2511.03685).
    """

    def _rows(self, scores: Array, labels: Array, weights: Array | None) -> TrainingRows:
        refuse_wide(self.name, scores, MOST)
        return super()._rows(scores, labels, weights)

    def _penalty(self, rows: float, classes: int) -> Penalty:
        return super()._penalty(rows, classes)._replace(matrix=classes * (classes - 1) / rows)


@method(
    "structured", "Structured scaling", family="softmax", freedom=190, parameters="K(K + 3), penalized",
    effort=22, needs_classes=OF_SCORES,
)  # fmt: skip
class StructuredScaling(Structured):
    """softmax of slopes for all classes, small ones for each, small intercepts and a small matrix.

    Learns: softmax(M x + sum_j (c_j + u_j) f_j + b): slopes for all, small ones for each class
    Keeps: with two classes, the order of the rows while the map is increasing
    Source: calcli, after Berta et al. 2025
    Misses: with form=diagonal there is no M, and its strength has no effect

    z = sum_j (c_j + u_j) F_j + M F_0 + b, with F_0 the log-probabilities and F_1, F_2 their bends. c is free
    but for the weight of one row; ``penalty K / n (|u|^2 + |b - b_0|^2) + off_diagonal K / n |M|^2`` draws
    the rest to 0, and b to b_0, the intercepts of a DP affine map as far as they are more than chance: few
    rows leave little more than temperatures, and other class priors are mended at no cost.

    Parameters
    ----------
    form : {"matrix", "diagonal"}
        With or without M.
    base : {"scaled", "centered", "mixed"}
        F_0: the logarithms of p, a DP affine map without its intercepts; these less their mean in a row; or
        the logarithms of p mixed with a row's share of the uniform distribution, for scores with many zeros.
    bends : {"none", "complement", "both"}
        ln(1 / (1 - p)), with more than two classes, and ln(p + 0.01).
    penalties, off_diagonal_penalties : tuple of float
        Strengths, 1e-9 to 1e9; of several the one with the smallest cross-validated log-loss.
    folds, seed : int
        Of this cross-validation.

    References
    ----------
    The shrinkage of b_0: James & Stein, Estimation with quadratic loss, 4th Berkeley Symposium, 1961.
    """

    form: Form = arg("with M, or without", default="matrix")
    base: Base = arg(
        "the first feature: ln p, ln p minus its mean in a row, or ln of p mixed with 1 / K", default="scaled"
    )
    bends: Bends = arg("the features ln(1 / (1 - p)), and ln(p + 0.01)", default="both")
    penalties: tuple[float, ...] = arg(
        "strengths to choose from", default=(1.0, 0.1), least=1 / STRONGEST, most=STRONGEST
    )
    off_diagonal_penalties: tuple[float, ...] = arg(
        "those of M", default=(10.0, 3.0, 1.0, 0.3), least=1 / STRONGEST, most=STRONGEST
    )
    folds: int = arg(FOLDS, default=5, least=2)
    seed: int = arg(FOLD_SEED, default=0, least=0)

    def _base(self) -> Base:
        return self.base

    def _bends(self) -> Bends:
        return self.bends

    def _intercept(self, rows: TrainingRows, alpha: float, beta: Doubles) -> Doubles:
        return beta * beyond_chance(rows, alpha, beta)

    def _penalty(self, rows: float, classes: int) -> Penalty:
        return self._weighted(rows, classes, self.penalties[0], self.off_diagonal_penalties[0])

    def _weighted(self, rows: float, classes: int, penalty: float, off_diagonal: float) -> Penalty:
        unit = classes / rows
        matrix = off_diagonal * unit if self.form == "matrix" else None
        return Penalty(0.5 / rows, penalty * unit, penalty * unit, matrix)

    def learn(self, scores: Array, labels: Labels, weights: Array | None, start: Parameters | None) -> None:
        """Choose the strengths where there are several, then learn the parts; see `Calibrator.fit`."""
        if self.form == "matrix":
            refuse_wide(self.name, scores, WIDEST, ", or form=diagonal")
        strengths = self._strengths()
        chosen = strengths[0]
        if len(strengths) > 1:
            chosen = self._chosen(scores, labels, weights, strengths)
        rows = self._rows(scores, labels, weights)
        penalty = self._weighted(rows.total, scores.shape[1], *chosen)
        self._learn_rows(rows, self._first(rows, start), penalty, start)
        self.parameters["penalty"] = chosen[0]
        if self.form == "matrix":
            self.parameters["off_diagonal_penalty"] = chosen[1]

    def _strengths(self) -> list[tuple[float, float]]:
        """Return pairs of penalties, the strongest first."""
        matrix = sorted(self.off_diagonal_penalties, reverse=True) if self.form == "matrix" else [np.inf]
        return list(product(sorted(self.penalties, reverse=True), matrix))

    def _chosen(
        self,
        scores: Array,
        labels: Labels,
        weights: Array | None,
        strengths: Iterable[tuple[float, float]],
    ) -> tuple[float, float]:
        scores, labels, weights = weighted_rows(scores, labels, weights)
        weights = np.ones(len(labels)) if weights is None else weights
        fold = inner_folds(self.name, labels, self.folds, self.seed, "; give one penalty of each kind")
        losses = dict.fromkeys(strengths, 0.0)
        model = self.fresh()
        model.rough = True
        for number in range(self.folds):
            train, out = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
            rows = model._rows(scores[train], labels[train], weights[train])
            start: Parameters | None = None
            affine = model._first(rows, start)
            for pair in losses:
                model._learn_rows(rows, affine, model._weighted(rows.total, scores.shape[1], *pair), start)
                start = model.parameters
                log_probs = model.apply(scores[out])[np.arange(len(out)), labels[out]]
                losses[pair] -= float(weights[out] @ log_probs)
        return min(losses, key=lambda pair: losses[pair])
