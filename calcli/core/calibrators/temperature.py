"""Temperature scaling, and the ensemble of temperatures of Mix-n-Match."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Literal, Self

import numpy as np

from calcli.core.calibrators.base import MINIMIZED, Calibrator
from calcli.core.calibrators.fit.scale import (
    first_guess,
    fold_scales,
    least_brier,
    least_near,
    solve_temperature,
)
from calcli.core.calibrators.fit.training import Parameters, TrainingRows, prepare, with_floor
from calcli.core.calibrators.pool import mixture_weights
from calcli.core.data.arrays import Array, Doubles, Floats, Labels, Positions, log_softmax, row_blocks
from calcli.core.data.predictions import Kind
from calcli.core.language.entries import arg, method

Score = Literal["log_loss", "brier"]


class _Positive(Calibrator):
    """The base of calibrators with a temperature, which is above 0."""

    def check(self) -> None:
        """Raise `ValueError` unless the parameters are such as a fit gives."""
        super().check()
        if not self.learned("temperature") > 0:
            raise ValueError(f"a temperature of {self.learned('temperature')}")


@method(
    "temperature", "Temperature scaling", family="softmax", freedom=10, parameters="1",
    count=lambda k, s: 1, effort=1, quick=True,
)  # fmt: skip
class Temperature(_Positive):
    """softmax(scores / T): one parameter, T > 0, learned by log-loss; keeps the order of the classes.

    Learns: softmax(log q / T), T > 0
    Keeps: the order of the classes
    Source: Guo et al. 2017
    Misses: errors beyond one number: classes off in different ways

    Parameters
    ----------
    score : {"log_loss", "brier"}
        Score that the fit minimizes.

    Adding a constant to a row of scores changes nothing: logits and log-probabilities give the same T. If
    every label has the largest score, T would run to 0: then 1/T is drawn towards 1 by the weight of one row.
    If the scores say nothing about the labels, T would be infinite or negative: it stays where the largest
    score leads the mean of its row by T / 1,000 on average. A probability of 0 stays 0, unless the true class
    of a row of the fit has it: then it counts as half the smallest positive one.

    References
    ----------
    Guo et al., On calibration of modern neural networks, ICML 2017, section 4.2.
    """

    gives: ClassVar[Kind] = "logits"

    score: Score = arg(MINIMIZED, default="log_loss")

    def learn(self, scores: Array, labels: Labels, weights: Array | None, start: Parameters | None) -> None:
        """Learn the temperature; see `Calibrator.fit`."""
        alpha = 1 / float(start["temperature"]) if start else None
        self._learn(prepare(scores, labels, weights, normalize=False, keep_zeros=True), alpha)

    def learn_by_fold(
        self, scores: Array, labels: Labels, weights: Array | None, fold: Positions
    ) -> dict[int, Self]:
        """Learn the temperature, and return fits to the rows outside each fold; see `Calibrator`."""
        if not (weights is None or weights.all()):
            return super().learn_by_fold(scores, labels, weights, fold)
        rows = prepare(scores, labels, weights, normalize=False, keep_zeros=True)
        scales = self._learn(rows, fold=fold)
        if self.score != "log_loss" or self.notes:
            return {}
        return {number: self.fresh({"temperature": 1 / alpha}) for number, alpha in scales}

    def _learn(
        self, rows: TrainingRows, alpha: float | None = None, fold: Positions | None = None
    ) -> Iterable[tuple[int, float]]:
        """Learn, starting at a scale or a guess; return the near scales of the rows outside each fold."""
        alpha = first_guess(rows) if alpha is None else alpha
        alpha, notes, at = solve_temperature(rows, alpha, rows.tolerance, fold)
        self.notes = [*rows.notes, *notes]
        scales = fold_scales(at, alpha, rows.tolerance)
        if self.score != "log_loss":
            alpha = least_brier(rows, alpha)
        self.parameters = {"temperature": 1 / alpha, **rows.floored()}
        return scales

    def rescore(self, scores: Array) -> Floats:
        """Return logits, (N, K), in the precision of the scores."""
        lifts = with_floor(scores, self.parameters)
        return lifts * lifts.dtype.type(1 / self.learned("temperature"))

    def apply(self, scores: Array) -> Doubles:
        """Return log-probabilities, (N, K); see `prepare` for probabilities of 0."""
        scale = 1 / self.learned("temperature")
        return scaled_log_softmax(with_floor(scores, self.parameters), scale)


@method(
    "temperature-mix", "Temperature scaling mixed with the uniform distribution", family="softmax",
    freedom=20, parameters="1", count=lambda k, s: 1, effort=1, quick=True,
)  # fmt: skip
class TemperatureMix(_Positive):
    """n / (n + 1) softmax(scores / T) + 1 / (n + 1) / K, n the weight of the rows: no class gets nothing.

    Learns: n / (n + 1) softmax(log q / T) + 1 / (n + 1) / K
    Keeps: the order of the classes
    Source: Berta et al. 2025

    T comes from temperature scaling. Keeps the order of the classes.

    References
    ----------
    Berta et al., Structured matrix scaling for multi-class calibration, 2025 (arXiv:2511.03685).
    """

    def learn(self, scores: Array, labels: Labels, weights: Array | None, start: Parameters | None) -> None:
        """Learn the temperature; see `Calibrator.fit`."""
        temperature = Temperature()
        temperature.learn(scores, labels, weights, start)
        total = len(labels) if weights is None else float(np.sum(weights))
        self.notes = temperature.notes
        self.parameters = {**temperature.parameters, "share": 1 / (total + 1)}

    def apply(self, scores: Array) -> Doubles:
        """Return log-probabilities, (N, K)."""
        share = float(self.learned("share"))
        scaled = scaled_log_softmax(with_floor(scores, self.parameters), 1 / self.learned("temperature"))
        return np.logaddexp(scaled + np.log1p(-share), np.log(share / scores.shape[1]))


@method(
    "ensemble-temperature", "Ensemble temperature scaling (Mix-n-Match)", family="softmax", freedom=40,
    parameters="3", count=lambda k, s: 3,
)  # fmt: skip
class EnsembleTemperature(_Positive):
    """w_1 softmax(scores / T) + w_2 softmax(scores) + w_3 / K, the weights on the simplex.

    Learns: w1 softmax(log q / T) + w2 q + w3 / K
    Keeps: the order of the classes
    Source: Zhang et al. 2020

    As published T comes from temperature scaling, and the weights then minimize the log-loss. Keeps the order
    of the classes.

    Parameters
    ----------
    joint : bool
        Whether T and the weights minimize the log-loss together: the best of some temperatures around the one
        of temperature scaling, and then near it. It is not convex in T.

    References
    ----------
    Zhang et al., Mix-n-Match: ensemble and compositional methods for uncertainty calibration in deep
    learning, ICML 2020, equation 13.
    """

    joint: bool = arg("whether T and the weights are fitted together", default=False)

    def learn(self, scores: Array, labels: Labels, weights: Array | None, start: Parameters | None) -> None:
        """Learn the temperature and the three weights; see `Calibrator.fit`."""
        rows = prepare(scores, labels, weights, normalize=False, keep_zeros=True)
        alpha = 1 / float(start["temperature"]) if start and not self.joint else first_guess(rows)
        alpha, notes, _ = solve_temperature(rows, alpha, rows.tolerance)
        plain = np.exp(_label_log_probs(rows, 1.0))
        if self.joint:
            alpha = least_near(lambda scale: _mixed(rows, scale, plain)[1], alpha)
        self.notes = [*rows.notes, *notes]
        mixture = _mixed(rows, alpha, plain)[0]
        self.parameters = {"temperature": 1 / alpha, "weights": mixture, **rows.floored()}

    def apply(self, scores: Array) -> Doubles:
        """Return log-probabilities, (N, K)."""
        with np.errstate(divide="ignore"):
            scaled, plain, uniform = np.log(self.learned("weights"))
        scores = with_floor(scores, self.parameters)
        mixed = np.logaddexp(
            scaled_log_softmax(scores, 1 / self.learned("temperature")) + scaled,
            scaled_log_softmax(scores, 1.0) + plain,
        )
        return np.logaddexp(mixed, uniform - np.log(scores.shape[1]))


def _mixed(rows: TrainingRows, alpha: float, plain: Doubles) -> tuple[Doubles, float]:
    """Return the weights of the mixture for one scale, and its log-loss."""
    uniform = np.full(len(plain), 1 / rows.scores.shape[1])
    members = np.column_stack([np.exp(_label_log_probs(rows, alpha)), plain, uniform])
    weights = mixture_weights(members, rows.weights)
    return weights, -float(rows.weights @ np.log(members @ weights))


def scaled_log_softmax(scores: Array, alpha: float) -> Doubles:
    """Return log(softmax(alpha * scores)), (N, K), in float64."""
    scaled: Doubles = np.multiply(scores, alpha, dtype=np.float64)
    return log_softmax(scaled)


def _label_log_probs(rows: TrainingRows, alpha: float) -> Doubles:
    result = np.empty(len(rows.labels))
    for block in row_blocks(rows.scores):
        log_probs = scaled_log_softmax(rows.scores[block], alpha)
        result[block] = log_probs[np.arange(len(log_probs)), rows.labels[block]]
    return result
