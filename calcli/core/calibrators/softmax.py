"""Calibrators that are a softmax of a linear map of log-probabilities: bias, DP affine, vector, matrix."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from calcli.core.calibrators.arguments import refuse_wide
from calcli.core.calibrators.base import SHOWN, Calibrator, Parameter, Parameters
from calcli.core.calibrators.fit.affine import FEW, AffineLoss
from calcli.core.calibrators.fit.brier import RAN_AWAY, SoftmaxBrier, ran_away
from calcli.core.calibrators.fit.coordinates import Coordinates
from calcli.core.calibrators.fit.linear import (
    WIDEST,
    AffineMap,
    BiasMap,
    LinearMap,
    MatrixMap,
    SoftmaxLoss,
    VectorMap,
)
from calcli.core.calibrators.fit.newton import Minimum, Vector, minimize
from calcli.core.calibrators.fit.searching import CALIBRATION_ERRORS, best_in_box
from calcli.core.calibrators.fit.starting import first_map
from calcli.core.calibrators.fit.training import TrainingRows, lifted, prepare, raised
from calcli.core.data.arrays import Array, Floats
from calcli.core.data.logspace import log_softmax
from calcli.core.language.errors import InputError

Input = Literal["log-probs", "raw"]
Score = Literal["log_loss", "brier"]
ScoreOrError = Literal["log_loss", "brier", "ece", "ece_l2", "cw_ece", "cw_ece_l2"]


@dataclass(kw_only=True, eq=False, repr=False)
class LinearSoftmax(Calibrator):
    """What the linear calibrators share: one convex fit, and a safeguard where it has no finite optimum.

    The optimum is at infinity when a class has no row, or when the map can separate the labels. Then, and
    only then, the parameters are drawn towards the identity by a ridge with the weight of one row,
    ``|theta - identity|^2 / (2 n)``, and a note says so. `prepare` says what becomes of
    probabilities of exactly 0.

    Attributes
    ----------
    score
        What is minimized.
    """

    score: ScoreOrError = "log_loss"

    @abstractmethod
    def _map(self, classes: int) -> LinearMap:
        """Return the linear map."""

    @abstractmethod
    def _pack(self, parameters: Parameters) -> Vector:
        """Return named parameters as one vector."""

    @abstractmethod
    def _unpack(self, theta: Vector, rows: TrainingRows) -> dict[str, Parameter]:
        """Return the vector as named parameters."""

    def _penalty(self, classes: int) -> Vector:
        return np.zeros(self._map(classes).scaled_identity(1).size)

    def _objective(
        self,
        rows: TrainingRows,
        linear: LinearMap,
        score: Score,
        coordinates: Coordinates | None,
    ) -> SoftmaxLoss | AffineLoss:
        penalty, centre = self._penalty(rows.scores.shape[1]), linear.scaled_identity(1)
        if score == "brier":
            return SoftmaxBrier(rows, linear, penalty, centre, coordinates)
        if isinstance(linear, AffineMap) and linear.classes <= FEW:
            return AffineLoss(rows, penalty, centre)
        return SoftmaxLoss(rows, linear, penalty, centre, coordinates)

    def _coordinates(self, rows: TrainingRows) -> tuple[Coordinates | None, TrainingRows]:
        """Return coordinates in which the fit is well scaled, and the rows in them."""
        return None, rows

    def training(self, scores: Array, labels: Array, weights: Array | None) -> TrainingRows:
        """Return the rows prepared for the fit."""
        return prepare(scores, labels, weights, normalize=True, keep_zeros=True)

    def learn(
        self,
        scores: Array,
        labels: NDArray[np.integer[Any]],
        weights: Array | None,
        start: Parameters | None,
    ) -> None:
        """Learn the map by log-loss; see `Calibrator.fit`."""
        rows = self.training(scores, labels, weights)
        self.fit_rows(rows, start, rows.tolerance)

    def fit_rows(self, rows: TrainingRows, start: Parameters | None, tolerance: float) -> Self:
        """Learn the map from prepared rows, up to a relative gradient of `tolerance`."""
        classes = rows.scores.shape[1]
        linear = self._map(classes)
        theta = self._pack(start) if start else first_map(rows, linear)
        coordinates, scaled = self._coordinates(rows)
        if coordinates:
            theta = coordinates.inward(theta)
        best, notes = fit_or_guard(self._objective(scaled, linear, "log_loss", coordinates), theta, tolerance)
        if self.score == "brier":  # from the optimum of the log-loss, which is convex
            objective = self._objective(scaled, linear, "brier", coordinates)
            best, more = _fit_brier(objective, best.x, tolerance)
            notes += more
        found = coordinates.outward(best.x) if coordinates else best.x
        if self.score in CALIBRATION_ERRORS:
            found, told = best_in_box(rows, linear, found, self.score)
            notes.append(told)
        self.parameters = self._unpack(found, rows)
        self.notes = [*rows.notes, *notes]
        return self

    def _known_classes(self, scores: Array, fitted: int) -> None:
        if scores.shape[1] != fitted:
            raise InputError(
                f"{self.name} calibrator was fitted on {fitted} classes, the scores have {scores.shape[1]}"
            )


def fit_or_guard(
    objective: SoftmaxLoss | AffineLoss, theta: Vector, tolerance: float
) -> tuple[Minimum, list[str]]:
    """Minimize from `theta`; where there is no finite optimum, minimize with a ridge, and say why."""
    rows = objective.rows
    absent = rows.absent_classes()
    reason = ""
    if absent.size:
        named = ", ".join(map(str, absent[:SHOWN])) + (", ..." if absent.size > SHOWN else "")
        reason = (
            f"{absent.size} of the classes {'has' if absent.size == 1 else 'have'} no row (class {named})"
        )
    else:
        best = minimize(objective, theta, tolerance)
        if best.at_infinity:
            reason = "the rows can be separated"
    notes = []
    if reason:
        objective.penalty = objective.penalty + rows.ridge
        best = minimize(objective, theta, tolerance)
        notes.append(
            f"{reason} and no finite optimum exists: the parameters are drawn towards the identity "
            "by the weight of one row"
        )
    if not best.converged:
        notes.append(f"the fit stopped at a relative gradient of {best.gradient:.1e}")
    return best, notes


def _fit_brier(
    objective: SoftmaxLoss | AffineLoss, start: Vector, tolerance: float
) -> tuple[Minimum, list[str]]:
    """Minimize the Brier score from the optimum of the log-loss; where that leads far away, near it."""
    best = minimize(objective, start, tolerance)
    if not ran_away(best, start):
        return best, []
    coordinates = objective.coordinates
    centre = coordinates.outward(start) if coordinates else start
    objective.penalty, objective.centre = objective.penalty + objective.rows.ridge, centre
    return minimize(objective, start, tolerance), [RAN_AWAY]


@dataclass(kw_only=True, eq=False, repr=False)
class BiasOnly(LinearSoftmax):
    """softmax(log-probabilities + beta), beta summing to 0: other class priors, K - 1 parameters.

    Parameters
    ----------
    score : {"log_loss", "brier"}
        What is minimized. The Brier score is not convex: its minimum nearest to that of the log-loss.

    References
    ----------
    Saerens et al., Adjusting the outputs of a classifier to new a priori probabilities, 2002; here fitted by
    log-loss.
    """

    name: ClassVar[str] = "bias"

    score: Score = "log_loss"

    def _map(self, classes: int) -> LinearMap:
        return BiasMap(classes)

    def _pack(self, parameters: Parameters) -> Vector:
        return np.asarray(parameters["beta"])

    def _unpack(self, theta: Vector, rows: TrainingRows) -> dict[str, Parameter]:
        return {"beta": theta - theta.mean(), **rows.floored()}

    def apply(self, scores: Array) -> NDArray[np.float64]:
        """Return log-probabilities, (N, K); see `prepare` for those of 0."""
        beta = self.learned("beta")
        self._known_classes(scores, len(beta))
        scores = lifted(scores, self.parameters)
        return log_softmax(scores.astype(np.float64, copy=False) + beta)


@dataclass(kw_only=True, eq=False, repr=False)
class DPAffine(LinearSoftmax):
    """softmax(alpha * log-probabilities + beta), beta summing to 0: K parameters.

    Parameters
    ----------
    score : {"log_loss", "brier", "ece", "ece_l2", "cw_ece", "cw_ece_l2"}
        What is minimized. The Brier score is not convex: its minimum nearest to that of the log-loss. A
        calibration error is looked for in a box around that, by a grid that a note gives; see `Temperature`.

    References
    ----------
    Ferrer & Ramos, Evaluating posterior probabilities: decision theory, proper scoring rules, and
    calibration, 2024.
    """

    name: ClassVar[str] = "dp"

    def _map(self, classes: int) -> LinearMap:
        return AffineMap(classes)

    def _pack(self, parameters: Parameters) -> Vector:
        return np.concatenate([[parameters["alpha"]], np.asarray(parameters["beta"])])

    def _unpack(self, theta: Vector, rows: TrainingRows) -> dict[str, Parameter]:
        return {"alpha": float(theta[0]), "beta": theta[1:] - theta[1:].mean(), **rows.floored()}

    def apply(self, scores: Array) -> NDArray[np.float64]:
        """Return log-probabilities, (N, K); a 0 without a floor stays 0, even where alpha is not positive."""
        alpha, beta = self.learned("alpha"), self.learned("beta")
        self._known_classes(scores, len(beta))
        scores = lifted(scores, self.parameters).astype(np.float64, copy=False)
        scaled = np.full(scores.shape, -np.inf)
        np.multiply(scores, alpha, out=scaled, where=scores > -np.inf)
        return log_softmax(scaled + beta)


@dataclass(kw_only=True, eq=False, repr=False)
class _FeatureSoftmax(LinearSoftmax):
    """What vector and matrix scaling share: log-probabilities as features, or raw logits if asked for."""

    per_class: ClassVar[bool]  # whether a class has one slope, or one for the score of each class

    input: Input = "log-probs"
    score: Score = "log_loss"

    @property
    def takes(self) -> tuple[bool, bool]:
        """Whether it is fitted to log-probabilities, and whether probabilities of 0 stay 0."""
        return self.input == "log-probs", False

    def training(self, scores: Array, labels: Array, weights: Array | None) -> TrainingRows:
        """Return the rows prepared for the fit."""
        return prepare(scores, labels, weights, normalize=self.input == "log-probs", keep_zeros=False)

    def _coordinates(self, rows: TrainingRows) -> tuple[Coordinates | None, TrainingRows]:
        return Coordinates.of(rows, per_class=self.per_class)

    def _features(self, scores: Array, classes: int) -> Floats:
        self._known_classes(scores, classes)
        scores = scores.astype(np.float64, copy=False)
        features = log_softmax(scores) if self.input == "log-probs" else scores
        return raised(features, self.learned("floor"))


@dataclass(kw_only=True, eq=False, repr=False)
class VectorScaling(_FeatureSoftmax):
    """softmax(w_k * log-probability_k + b_k): 2K - 1 parameters.

    A constant added to a row of raw logits changes the model, hence the log-probabilities; `input="raw"` is
    the model of the paper. A probability of 0, or less than `floor`, counts as that; see `stand_in_below`.

    Parameters
    ----------
    input : {"log-probs", "raw"}
        Whether `fit` and `apply` act on log-probabilities, or on raw logits as they are.
    score : {"log_loss", "brier"}
        What is minimized. The Brier score is not convex: its minimum nearest to that of the log-loss.

    References
    ----------
    Guo et al., On calibration of modern neural networks, ICML 2017, section 4.2.
    """

    name: ClassVar[str] = "vector"
    per_class: ClassVar[bool] = True

    def _map(self, classes: int) -> LinearMap:
        return VectorMap(classes)

    def _pack(self, parameters: Parameters) -> Vector:
        return np.stack([parameters["scale"], parameters["intercept"]], axis=1).ravel()

    def _unpack(self, theta: Vector, rows: TrainingRows) -> dict[str, Parameter]:
        scale, intercept = theta.reshape(-1, 2).T.copy()
        return {"scale": scale, "intercept": intercept - intercept.mean(), "floor": rows.stand_in}

    def apply(self, scores: Array) -> NDArray[np.float64]:
        """Return log-probabilities, (N, K)."""
        scale = self.learned("scale")
        return log_softmax(self._features(scores, len(scale)) * scale + self.learned("intercept"))


@dataclass(kw_only=True, eq=False, repr=False)
class MatrixScaling(_FeatureSoftmax):
    """softmax(W log-probabilities + b): K (K + 1) parameters, without a penalty.

    Of the matrices that differ by one row added to all rows, and so give the same probabilities, the one with
    the smallest off-diagonal entries is reported: in each column their mean is 0.

    Parameters
    ----------
    input : {"log-probs", "raw"}
        Whether `fit` and `apply` act on log-probabilities, or on raw logits as they are.
    score : {"log_loss", "brier"}
        What is minimized. The Brier score is not convex: its minimum nearest to that of the log-loss.

    References
    ----------
    Guo et al., On calibration of modern neural networks, ICML 2017, section 4.2.
    """

    name: ClassVar[str] = "matrix"
    per_class: ClassVar[bool] = False

    def training(self, scores: Array, labels: Array, weights: Array | None) -> TrainingRows:
        """Return the rows prepared for the fit, of which a wide matrix needs some."""
        refuse_wide(self.name, scores, WIDEST)
        return super().training(scores, labels, weights)

    def _map(self, classes: int) -> MatrixMap:
        return MatrixMap(classes)

    def _pack(self, parameters: Parameters) -> Vector:
        return np.column_stack([parameters["matrix"], parameters["intercept"]]).ravel()

    def _unpack(self, theta: Vector, rows: TrainingRows) -> dict[str, Parameter]:
        classes = rows.scores.shape[1]
        matrix, intercept = self._map(classes).split(theta)
        common = (matrix.sum(axis=0) - matrix.diagonal()) / (classes - 1)
        return {"matrix": matrix - common, "intercept": intercept - intercept.mean(), "floor": rows.stand_in}

    def apply(self, scores: Array) -> NDArray[np.float64]:
        """Return log-probabilities, (N, K)."""
        matrix = self.learned("matrix")
        return log_softmax(self._features(scores, len(matrix)) @ matrix.T + self.learned("intercept"))
