"""The weights of a mixture that minimize its log-loss, or its Brier score."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calcli.core.calibrators.fit.quadratic import nearest_within
from calcli.core.data.arrays import Doubles, Floats

MAX_ITERATIONS = 200
TOLERANCE = 1e-10
ARMIJO = 1e-4
LEAST = 1e-150  # likelihood of a row of which neither the inverse nor its square overflows
DAMPING = 1e-9  # members may be equal


def mixture_weights(likelihoods: Floats, weights: Floats) -> NDArray[np.float64]:
    """Return the weights, on the simplex, that minimize -sum_i weights_i log(sum_j likelihoods_ij w_j).

    With sum(w) added, the minimum over w >= 0 has sum(w) = 1 by itself, so that the simplex needs no
    constraint; signs are kept by projected Newton steps (Bertsekas, SIAM J. Control Optim. 20, 1982).

    Parameters
    ----------
    likelihoods : array (N, J)
        What each member gives the label of each row, 0 to 1; no row has a mean below `LEAST`.
    weights : array (N,)
        Positive row weights that sum to 1.

    Returns
    -------
    array (J,)
        Weights of the members, which sum to 1.
    """
    members = likelihoods.shape[1]
    w = np.full(members, 1 / members)
    value = _value(likelihoods, weights, w)
    for _ in range(MAX_ITERATIONS):
        ratios = likelihoods / (likelihoods @ w)[:, None]
        gradient = 1 - weights @ ratios
        free = (w > 0) | (gradient < 0)
        if np.abs(gradient[free]).max(initial=0) <= TOLERANCE:
            break
        hessian = (ratios * weights[:, None]).T @ ratios
        hessian += DAMPING * hessian.trace() * np.eye(members)
        step = np.zeros(members)
        step[free] = np.linalg.solve(hessian[np.ix_(free, free)], -gradient[free])
        size = 1.0
        new = np.maximum(w + step, 0)
        while (new_value := _value(likelihoods, weights, new)) > value + ARMIJO * float(gradient @ (new - w)):
            size /= 2
            if size < TOLERANCE:
                return w / w.sum()
            new = np.maximum(w + size * step, 0)
        w, value = new, new_value
    return w / w.sum()


def _value(likelihoods: Floats, weights: Floats, w: NDArray[np.float64]) -> float:
    mixed = likelihoods @ w
    if mixed.min() < LEAST:
        return np.inf
    return float(w.sum() - weights @ np.log(mixed))


def brier_weights(gram: Doubles, own: Doubles) -> Doubles:
    """Return the weights, on the simplex, that minimize w' gram w - 2 own' w.

    Parameters
    ----------
    gram : array (J, J)
        Mean of the products of the members' probabilities, summed over the classes.
    own : array (J,)
        Mean of what each gives the label.
    """
    members = len(own)
    damped = gram + DAMPING * gram.trace() * np.eye(members)
    limits = np.vstack([np.eye(members), np.ones(members), -np.ones(members)])
    least = np.concatenate([np.zeros(members), [1.0, -1.0]])
    w = nearest_within(np.linalg.solve(damped, own), np.linalg.cholesky(damped).T, limits, least)
    w = np.maximum(w, 0)
    return w / w.sum()
