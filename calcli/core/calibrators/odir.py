"""Matrix scaling with off-diagonal and intercept regularization (ODIR), and Dirichlet calibration."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from calcli.core.calibrators.fit.newton import Vector
from calcli.core.calibrators.fit.training import Parameters, inner_folds, weighted_rows
from calcli.core.calibrators.softmax import MatrixScaling, Score
from calcli.core.data.arrays import Array

ROUGH = 1e-4  # relative gradient that is enough to compare penalties


@dataclass(kw_only=True, eq=False, repr=False)
class MatrixODIR(MatrixScaling):
    """Matrix scaling that pays for off-diagonal entries and intercepts.

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

    name: ClassVar[str] = "matrix-odir"

    score: Score = field(default="log_loss", init=False)  # no setting: the penalties are made for it

    off_diagonal_penalty: float = 1000.0
    intercept_penalty: float = 0.01

    def _penalty(self, classes: int) -> Vector:
        pairs = classes * (classes - 1)
        penalty = np.full((classes, classes + 1), 2 * self.off_diagonal_penalty / pairs)
        penalty[:, -1] = 2 * self.intercept_penalty / classes
        np.fill_diagonal(penalty, 0)
        return penalty.ravel()


@dataclass(kw_only=True, eq=False, repr=False)
class Dirichlet(MatrixScaling):
    """Dirichlet calibration: `MatrixODIR` whose penalties are chosen by cross-validated log-loss.

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

    name: ClassVar[str] = "dirichlet"

    score: Score = field(default="log_loss", init=False)  # no setting: the penalties are made for it

    off_diagonal_penalties: tuple[float, ...] = (1e6, 1e5, 1e4, 1e3, 1e2, 10.0, 1.0, 0.1, 0.01)
    intercept_penalties: tuple[float, ...] = (1.0, 0.01)
    folds: int = 3
    seed: int = 0

    def learn(
        self,
        scores: Array,
        labels: NDArray[np.integer[Any]],
        weights: Array | None,
        start: Parameters | None,
    ) -> None:
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
        """Return the off-diagonal penalties, the strongest first; one of them where none has an effect."""
        return sorted(self.off_diagonal_penalties, reverse=True)[: None if classes > 2 else 1]

    def _penalized(self, lambda_: float, mu: float) -> MatrixODIR:
        return MatrixODIR(input=self.input, off_diagonal_penalty=lambda_, intercept_penalty=mu)

    def _path(
        self, scores: Array, labels: NDArray[np.integer[Any]], weights: Array, fold: Array, mu: float
    ) -> list[tuple[float, float, float]]:
        """Return (held-out log-loss, lambda, mu) from the strongest lambda to the second rise on end."""
        kept = [np.flatnonzero(fold != i) for i in range(self.folds)]
        rows = [self.training(scores[k], labels[k], weights[k]) for k in kept]
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
