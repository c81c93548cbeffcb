"""Calibrators by a softmax of a linear map of log-probabilities: bias, DP affine, vector, matrix."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal, Self

import numpy as np

from calcli.core.calibrators.base import (
    FITTED_TO,
    FOLD_SEED,
    FOLDS,
    MINIMIZED,
    OF_SCORES,
    SHOWN,
    STRONGEST,
    Calibrator,
)
from calcli.core.calibrators.fit.newton import RAN_AWAY, Minimum, Vector, minimize, minimize_brier
from calcli.core.calibrators.fit.scale import first_map
from calcli.core.calibrators.fit.softmaxloss import (
    WIDEST,
    Coordinates,
    MatrixModel,
    PartsModel,
    Penalty,
    SoftmaxLoss,
    SoftmaxModel,
)
from calcli.core.calibrators.fit.training import (
    Parameter,
    Parameters,
    TrainingRows,
    clip_below,
    inner_folds,
    prepare,
    refuse_wide,
    weighted_rows,
    with_floor,
)
from calcli.core.data.arrays import Array, Doubles, Floats, Labels, log_softmax
from calcli.core.language.entries import arg, method
from calcli.core.language.errors import InputError

Input = Literal["log-probs", "raw"]
Score = Literal["log_loss", "brier"]


@dataclass(kw_only=True, eq=False, repr=False)
class LinearSoftmax(Calibrator):
    """The base of the linear calibrators: one convex fit, and a safeguard if it has no finite optimum.

    The optimum is at infinity when a class has no row, or when the map can separate the labels. Then, and
    only then, the parameters are drawn towards the identity by a ridge with the weight of one row,
    ``|theta - identity|^2 / (2 n)``, and a note says so. `prepare` says what becomes of
    probabilities of exactly 0.

    Attributes
    ----------
    score
        Score that the fit minimizes.
    """

    score: Score = arg(MINIMIZED, default="log_loss")

    @abstractmethod
    def _model(self, rows: TrainingRows) -> SoftmaxModel:
        """Return the model of the rows."""

    @abstractmethod
    def _scaled(self, alpha: float, beta: Doubles) -> Vector:
        """Return the parameters of alpha x + beta."""

    @abstractmethod
    def _pack(self, parameters: Parameters) -> Vector:
        """Return named parameters as one vector."""

    @abstractmethod
    def _unpack(self, theta: Vector, rows: TrainingRows) -> dict[str, Parameter]:
        """Return the vector as named parameters."""

    def _penalty(self, classes: int) -> Vector:
        return np.zeros_like(self._scaled(1, np.zeros(classes)))

    def training(self, scores: Array, labels: Array, weights: Array | None) -> TrainingRows:
        """Return the rows prepared for the fit."""
        return prepare(scores, labels, weights, normalize=True, keep_zeros=True)

    def learn(self, scores: Array, labels: Labels, weights: Array | None, start: Parameters | None) -> None:
        """Learn the map by log-loss; see `Calibrator.fit`."""
        rows = self.training(scores, labels, weights)
        self.fit_rows(rows, start, rows.tolerance)

    def fit_rows(self, rows: TrainingRows, start: Parameters | None, tolerance: float) -> Self:
        """Learn the map from prepared rows, up to a relative gradient of `tolerance`."""
        classes = rows.scores.shape[1]
        model = self._model(rows)
        theta = self._pack(start) if start else self._scaled(*first_map(rows, scales=model.scales))
        identity, penalty = self._scaled(1, np.zeros(classes)), self._penalty(classes)
        if model.coordinates:
            theta, identity = model.coordinates.inward(theta), model.coordinates.inward(identity)
        best, notes = fit_or_guard(SoftmaxLoss(rows, model, penalty), theta, identity, tolerance)
        if self.score == "brier":
            objective = SoftmaxLoss(rows, model, penalty, brier=True)
            best, guarded = minimize_brier(objective, best.x, tolerance, rows.ridge)
            notes += [RAN_AWAY] if guarded else []
        optimum = model.coordinates.outward(best.x) if model.coordinates else best.x
        self.parameters = self._unpack(optimum, rows)
        self.notes = [*rows.notes, *notes]
        return self

    def _known_classes(self, scores: Array, fitted: int) -> None:
        if scores.shape[1] != fitted:
            raise InputError(
                f"{self.name} calibrator was fitted on {fitted} classes, the scores have {scores.shape[1]}"
            )


def fit_or_guard(
    objective: SoftmaxLoss, theta: Vector, identity: Vector, tolerance: float
) -> tuple[Minimum, list[str]]:
    """Minimize from `theta`; without a finite optimum, draw towards the identity and say why."""
    rows = objective.rows
    absent = rows.absent_classes()
    reason = ""
    if absent.size:
        classes = ", ".join(map(str, absent[:SHOWN])) + (", ..." if absent.size > SHOWN else "")
        reason = (
            f"{absent.size} of the classes {'has' if absent.size == 1 else 'have'} no row (class {classes})"
        )
    else:
        best = minimize(objective, theta, tolerance)
        if best.at_infinity:
            reason = "the rows can be separated"
    notes = []
    if reason:
        objective.add_ridge(identity, rows.ridge)
        best = minimize(objective, theta, tolerance)
        notes.append(
            f"{reason} and no finite optimum exists: the parameters are drawn towards the identity "
            "by the weight of one row"
        )
    if not best.converged:
        notes.append(f"the fit stopped at a relative gradient of {best.gradient:.1e}")
    return best, notes


@method("bias", "Bias only", family="softmax", freedom=50, parameters="K - 1", count=lambda k, s: k - 1)
class BiasOnly(LinearSoftmax):
    """softmax(log-probabilities + beta), beta summing to 0: other class priors, K - 1 parameters.

    Learns: softmax(log q + beta)
    Keeps: with two classes, the order of the rows
    Source: Saerens et al. 2002, fitted by log-loss

    Parameters
    ----------
    score : {"log_loss", "brier"}
        Score that the fit minimizes. The Brier score is not convex: its minimum nearest to the minimum of the
        log-loss.

    References
    ----------
    Saerens et al., Adjusting the outputs of a classifier to new a priori probabilities, 2002; here fitted by
    log-loss.
    """

    score: Score = arg(MINIMIZED, default="log_loss")

    def _model(self, rows: TrainingRows) -> SoftmaxModel:
        return PartsModel([rows.scores], Penalty(None, None, 0.0, None), np.ones(1))

    def _scaled(self, alpha: float, beta: Doubles) -> Vector:
        return beta

    def _pack(self, parameters: Parameters) -> Vector:
        return np.asarray(parameters["beta"])

    def _unpack(self, theta: Vector, rows: TrainingRows) -> dict[str, Parameter]:
        return {"beta": theta - theta.mean(), **rows.floored()}

    def apply(self, scores: Array) -> Doubles:
        """Return log-probabilities, (N, K); see `prepare` for probabilities of 0."""
        beta = self.learned("beta")
        self._known_classes(scores, len(beta))
        scores = with_floor(scores, self.parameters)
        return log_softmax(scores.astype(np.float64, copy=False) + beta)


@method(
    "dp", "Bias and temperature", family="softmax", freedom=60, abbreviation_of="direction-preserving",
    parameters="K", count=lambda k, s: k, quick=True,
)  # fmt: skip
class DPAffine(LinearSoftmax):
    """softmax(alpha * log-probabilities + beta), beta summing to 0: K parameters.

    Learns: softmax(alpha log q + beta)
    Keeps: with two classes, the order of the rows while the map is increasing
    Source: Ferrer & Ramos 2024
    Misses: errors not linear in the log-probabilities; structured and isotonic see them

    Parameters
    ----------
    score : {"log_loss", "brier"}
        Score that the fit minimizes. The Brier score is not convex: its minimum nearest to the minimum of the
        log-loss.

    References
    ----------
    Ferrer & Ramos, Evaluating posterior probabilities: decision theory, proper scoring rules, and
    calibration, 2024.
    """

    def _model(self, rows: TrainingRows) -> SoftmaxModel:
        return PartsModel([rows.scores], Penalty(0.0, None, 0.0, None), np.zeros(1))

    def _scaled(self, alpha: float, beta: Doubles) -> Vector:
        return np.append(alpha, beta)

    def _pack(self, parameters: Parameters) -> Vector:
        return np.append(parameters["alpha"], parameters["beta"])

    def _unpack(self, theta: Vector, rows: TrainingRows) -> dict[str, Parameter]:
        return {"alpha": float(theta[0]), "beta": theta[1:] - theta[1:].mean(), **rows.floored()}

    def apply(self, scores: Array) -> Doubles:
        """Return log-probabilities, (N, K); a 0 without a floor stays 0, even where alpha is not positive."""
        alpha, beta = self.learned("alpha"), self.learned("beta")
        self._known_classes(scores, len(beta))
        scores = with_floor(scores, self.parameters).astype(np.float64, copy=False)
        scaled = np.full(scores.shape, -np.inf)
        np.multiply(scores, alpha, out=scaled, where=scores > -np.inf)
        return log_softmax(scaled + beta)


@dataclass(kw_only=True, eq=False, repr=False)
class _FeatureSoftmax(LinearSoftmax):
    """The base of vector and matrix scaling: features are log-probabilities, or raw logits on request."""

    input: Input = arg(FITTED_TO, default="log-probs")
    score: Score = arg(MINIMIZED, default="log_loss")

    def training(self, scores: Array, labels: Array, weights: Array | None) -> TrainingRows:
        """Return the rows prepared for the fit."""
        return prepare(scores, labels, weights, normalize=self.input == "log-probs", keep_zeros=False)

    def _features(self, scores: Array, classes: int) -> Floats:
        self._known_classes(scores, classes)
        scores = scores.astype(np.float64, copy=False)
        features = log_softmax(scores) if self.input == "log-probs" else scores
        return clip_below(features, self.learned("floor"))


@method(
    "vector", "Vector scaling", family="softmax", freedom=80, parameters="2K - 1",
    count=lambda k, s: 2 * k - 1, effort=10, needs_classes=OF_SCORES,
)  # fmt: skip
class VectorScaling(_FeatureSoftmax):
    """softmax(w_k * log-probability_k + b_k): 2K - 1 parameters.

    Learns: softmax(w * log q + b)
    Keeps: with two classes, the order of the rows while the map is increasing
    Source: Guo et al. 2017

    A constant added to a row of raw logits changes the model, hence the log-probabilities; `input="raw"` is
    the model of the paper. A probability of 0, or less than `floor`, counts as that; see `stand_in_below`.

    Parameters
    ----------
    input : {"log-probs", "raw"}
        Whether `fit` and `apply` act on log-probabilities, or on raw logits as they are.
    score : {"log_loss", "brier"}
        Score that the fit minimizes. The Brier score is not convex: its minimum nearest to the minimum of the
        log-loss.

    References
    ----------
    Guo et al., On calibration of modern neural networks, ICML 2017, section 4.2.
    """

    def _model(self, rows: TrainingRows) -> SoftmaxModel:
        coordinates, features = Coordinates.of(rows, axis=0)
        strengths = Penalty(None, 0.0, 0.0, None)
        return PartsModel([features], strengths, np.zeros(1), coordinates=coordinates)

    def _scaled(self, alpha: float, beta: Doubles) -> Vector:
        return np.append(np.full(len(beta), alpha), beta)

    def _pack(self, parameters: Parameters) -> Vector:
        return np.append(parameters["scale"], parameters["intercept"])

    def _unpack(self, theta: Vector, rows: TrainingRows) -> dict[str, Parameter]:
        scale, intercept = np.split(theta, 2)
        return {"scale": scale, "intercept": intercept - intercept.mean(), "floor": rows.floor_level}

    def apply(self, scores: Array) -> Doubles:
        """Return log-probabilities, (N, K)."""
        scale = self.learned("scale")
        return log_softmax(self._features(scores, len(scale)) * scale + self.learned("intercept"))


@method(
    "matrix", "Matrix scaling", family="softmax", freedom=220, parameters="K(K + 1)",
    count=lambda k, s: k * (k + 1), effort=40, needs_classes=OF_SCORES,
)  # fmt: skip
class MatrixScaling(_FeatureSoftmax):
    """softmax(W log-probabilities + b): K (K + 1) parameters, without a penalty.

    Learns: softmax(W log q + b)
    Keeps: with two classes, the order of the rows while the map is increasing
    Source: Guo et al. 2017

    Of the matrices that differ by one row added to all rows, and so give the same probabilities, the one with
    the smallest off-diagonal entries is reported: in each column their mean is 0.

    Parameters
    ----------
    input : {"log-probs", "raw"}
        Whether `fit` and `apply` act on log-probabilities, or on raw logits as they are.
    score : {"log_loss", "brier"}
        Score that the fit minimizes. The Brier score is not convex: its minimum nearest to the minimum of the
        log-loss.

    References
    ----------
    Guo et al., On calibration of modern neural networks, ICML 2017, section 4.2.
    """

    def training(self, scores: Array, labels: Array, weights: Array | None) -> TrainingRows:
        """Return the rows prepared for the fit, or some of the rows for a wide matrix."""
        refuse_wide(self.name, scores, WIDEST)
        return super().training(scores, labels, weights)

    def _model(self, rows: TrainingRows) -> SoftmaxModel:
        return MatrixModel(rows)

    def _scaled(self, alpha: float, beta: Doubles) -> Vector:
        return np.column_stack([alpha * np.eye(len(beta)), beta]).ravel()

    def _pack(self, parameters: Parameters) -> Vector:
        return np.column_stack([parameters["matrix"], parameters["intercept"]]).ravel()

    def _unpack(self, theta: Vector, rows: TrainingRows) -> dict[str, Parameter]:
        classes = rows.scores.shape[1]
        table = theta.reshape(classes, classes + 1)
        matrix, intercept = table[:, :-1], table[:, -1]
        common = (matrix.sum(axis=0) - matrix.diagonal()) / (classes - 1)
        floor = rows.floor_level
        return {"matrix": matrix - common, "intercept": intercept - intercept.mean(), "floor": floor}

    def apply(self, scores: Array) -> Doubles:
        """Return log-probabilities, (N, K)."""
        matrix = self.learned("matrix")
        return log_softmax(self._features(scores, len(matrix)) @ matrix.T + self.learned("intercept"))


ROUGH = 1e-4  # relative gradient that is enough to compare penalties


@method(
    "matrix-odir", "Matrix scaling with ODIR", family="softmax", freedom=200,
    abbreviation_of="off-diagonal and intercept regularization", parameters="K(K + 1), penalized", effort=10,
    needs_classes=OF_SCORES,
)  # fmt: skip
class MatrixODIR(MatrixScaling):
    """Matrix scaling that pays for off-diagonal entries and intercepts.

    Learns: softmax(W log q + b), off-diagonal entries and intercepts penalized
    Keeps: with two classes, the order of the rows while the map is increasing
    Source: Kull et al. 2019
    Misses: the diagonal is not penalized, so a strong penalty leads to vector scaling, not to
        temperature; with two classes the off-diagonal entries, and their penalty, have no effect

    ``off_diagonal_penalty * mean(W_kl^2, k != l) + intercept_penalty * mean(b_k^2)`` is added to the mean
    log-loss. The diagonal is free: a strong penalty leads to vector scaling, not to temperature. The defaults
    suit 100 classes on a few thousand rows; `Dirichlet` chooses its own.

    Parameters
    ----------
    input : {"log-probs", "raw"}
        Whether `fit` and `apply` act on log-probabilities, or on raw logits as they are.
    off_diagonal_penalty : float
        Lambda of the paper, 0 or more.
    intercept_penalty : float
        Mu of the paper, 0 or more.

    References
    ----------
    Kull et al., Beyond temperature scaling: obtaining well-calibrated multi-class probabilities with
    Dirichlet calibration, NeurIPS 2019, section 3.
    """

    score: Score = field(default="log_loss", init=False)  # no setting: the penalties are made for it

    off_diagonal_penalty: float = arg("lambda of the paper", default=1000.0, least=0, most=STRONGEST)
    intercept_penalty: float = arg("mu of the paper", default=0.01, least=0, most=STRONGEST)

    def _penalty(self, classes: int) -> Vector:
        pairs = classes * (classes - 1)
        penalty = np.full((classes, classes + 1), 2 * self.off_diagonal_penalty / pairs)
        penalty[:, -1] = 2 * self.intercept_penalty / classes
        np.fill_diagonal(penalty, 0)
        return penalty.ravel()


@method(
    "dirichlet", "Dirichlet calibration", family="softmax", freedom=210, parameters="K(K + 1), penalized",
    effort=20, needs_classes=OF_SCORES,
)  # fmt: skip
class Dirichlet(MatrixScaling):
    """Dirichlet calibration: `MatrixODIR` with penalties chosen by cross-validated log-loss.

    Learns: as matrix-odir, the penalties chosen by cross-validation
    Keeps: with two classes, the order of the rows while the map is increasing
    Source: Kull et al. 2019
    Misses: the diagonal is not penalized, so a strong penalty leads to vector scaling, not to
        temperature; with two classes the off-diagonal entries, and their penalty, have no effect

    For each intercept penalty the off-diagonal penalties are tried from the strongest on, each fit starting
    from the one before, until the held-out log-loss rises twice in a row. With two classes the off-diagonal
    penalty has no effect, as the diagonal can do all that its neighbors can; then it is not chosen. A single
    pair is taken as it is. A row of weight 2 is in one fold, where the row twice could be in two: the
    penalties chosen may differ.

    Parameters
    ----------
    input : {"log-probs", "raw"}
        Whether `fit` and `apply` act on log-probabilities, or on raw logits as they are.
    off_diagonal_penalties : tuple of float
        Values of lambda to choose from, 0 or more.
    intercept_penalties : tuple of float
        Values of mu to choose from, 0 or more.
    folds : int
        Number of folds, 2 or more.
    seed : int
        Seed of the folds.

    Raises
    ------
    InputError
        By `fit`, if there are fewer rows than folds.

    References
    ----------
    Kull et al., Beyond temperature scaling: obtaining well-calibrated multi-class probabilities with
    Dirichlet calibration, NeurIPS 2019.
    """

    score: Score = field(default="log_loss", init=False)  # no setting: the penalties are made for it

    off_diagonal_penalties: tuple[float, ...] = arg(
        "values of lambda to choose from",
        default=(1000000.0, 100000.0, 10000.0, 1000.0, 100.0, 10.0, 1.0, 0.1, 0.01),
        least=0,
        most=STRONGEST,
    )
    intercept_penalties: tuple[float, ...] = arg(
        "values of mu to choose from", default=(1.0, 0.01), least=0, most=STRONGEST
    )
    folds: int = arg(FOLDS, default=3, least=2)
    seed: int = arg(FOLD_SEED, default=0, least=0)

    def learn(self, scores: Array, labels: Labels, weights: Array | None, start: Parameters | None) -> None:
        """Choose the penalties, then learn the map; see `Calibrator.fit`."""
        scores, labels, weights = weighted_rows(scores, labels, weights)
        weights = np.ones(len(labels)) if weights is None else weights
        tried = self._tried(scores.shape[1])
        lambda_, mu = tried[0], self.intercept_penalties[0]
        if len(tried) * len(self.intercept_penalties) > 1:
            mend = "; matrix-odir takes given penalties"
            fold = inner_folds(self.name, labels, self.folds, self.seed, mend)
            paths = [self._path(scores, labels, weights, fold, mu) for mu in self.intercept_penalties]
            _, lambda_, mu = min(chain.from_iterable(paths))
        chosen = self._penalized(lambda_, mu)
        chosen.learn(scores, labels, weights, start)
        self.notes = list(chosen.notes)
        self.parameters = {**chosen.parameters, "intercept_penalty": mu}
        if scores.shape[1] > 2:
            self.parameters["off_diagonal_penalty"] = lambda_
        if len(tried) > 1 and lambda_ in (tried[0], tried[-1]):
            strongest = lambda_ == tried[0]
            end, so = ("strongest", "nearly vector scaling") if strongest else ("weakest", "nearly free")
            self.notes.append(f"the off-diagonal penalty is the {end} of those tried: the matrix is {so}")

    def _tried(self, classes: int) -> list[float]:
        """Return the off-diagonal penalties, the strongest first; a single one where none has an effect."""
        return sorted(self.off_diagonal_penalties, reverse=True)[: None if classes > 2 else 1]

    def _penalized(self, lambda_: float, mu: float) -> MatrixODIR:
        return MatrixODIR(input=self.input, off_diagonal_penalty=lambda_, intercept_penalty=mu)

    def _path(
        self, scores: Array, labels: Labels, weights: Array, fold: Array, mu: float
    ) -> list[tuple[float, float, float]]:
        """Return (held-out log-loss, lambda, mu) from the strongest lambda to the second rise on end."""
        training = [np.flatnonzero(fold != i) for i in range(self.folds)]
        rows = [self.training(scores[k], labels[k], weights[k]) for k in training]
        fits: list[Parameters | None] = [None] * self.folds
        path: list[tuple[float, float, float]] = []
        for lambda_ in self._tried(scores.shape[1]):
            log_probs = np.empty(len(labels))
            for i in range(self.folds):
                model = self._penalized(lambda_, mu).fit_rows(rows[i], fits[i], ROUGH)
                fits[i] = model.parameters
                out = np.flatnonzero(fold == i)
                log_probs[out] = model.apply(scores[out])[np.arange(len(out)), labels[out]]
            path.append((-float(np.average(log_probs, weights=weights)), lambda_, mu))
            if len(path) > 2 and path[-1][0] > path[-2][0] > path[-3][0]:
                break
        return path
