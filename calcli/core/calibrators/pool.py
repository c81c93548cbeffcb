"""A weighted mean of the probabilities of several calibrators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from calcli.core.calibrators.base import FOLD_SEED, Calibrator, make
from calcli.core.calibrators.fit.quadratic import nearest_within
from calcli.core.calibrators.fit.training import Parameter, Parameters, inner_folds, weighted_rows
from calcli.core.data.arrays import Array, Doubles, Floats, Labels, row_blocks
from calcli.core.language.entries import arg, method
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import nested_method
from calcli.core.language.methods import JOINED, METHODS

WEIGHTS = "pool"  # parameter: the weights of the members
MAX_ITERATIONS = 200
TOLERANCE = 1e-10
ARMIJO = 1e-4
NOISE = 1e-14  # rounding of a loss
NEAR = 1e-3  # smaller weights that are to fall take no part in a Newton step: it would end where they reach 0
LEAST = 1e-150  # likelihood of a row of which neither the inverse nor its square overflows
DAMPING = 1e-9  # members may be equal


def _known_members(text: str) -> bool:
    names = [part.partition("/")[0] for part in text.split(JOINED)]
    return all(name in METHODS and METHODS[name].family in ("softmax", "one score") for name in names)


@method(
    "pool", "Linear pool", family="pool", freedom=240, parameters="those of its members, and their weights"
)
class Pool(Calibrator):
    """A linear opinion pool: sum_j w_j p_j of calibrators fitted to the same rows.

    Learns: w1 p1 + w2 p2 + ..., the weights by cross-validated score
    Keeps: nothing
    Source: Stone 1961, Wolpert 1992
    Misses: among the candidates of auto, a plain pool holds the other candidates

    The weights, on the simplex, minimize the log-loss or the Brier score of the members' cross-validated
    probabilities.

    Parameters
    ----------
    members : str
        Method expressions joined by ``+``, their settings behind slashes.
    weights : tuple of float
        A weight of each, if they are given; they are divided by their sum.
    score : {"log_loss", "brier"}
        What the weights minimize.
    folds, seed : int
        Of the cross-validation behind them.

    References
    ----------
    Stone, The opinion pool, 1961; as a way to combine cross-validated fits: Wolpert, Stacked generalization,
    1992.
    """

    members: str = arg(
        "what is pooled, their arguments after slashes",
        default="temperature+dp+bent-dp+structured",
        fits=_known_members,
        form=f"methods joined by {JOINED}",
    )
    weights: tuple[float, ...] = arg(
        "the weight of each member, instead of fitting them", default=(), least=0, most=1
    )
    score: Literal["log_loss", "brier"] = arg("what the weights minimize", default="log_loss")
    folds: int = arg("folds of the cross-validation behind the weights", default=5, least=2)
    seed: int = arg(FOLD_SEED, default=0, least=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        count = len(self._made())
        if self.weights and (len(self.weights) != count or not sum(self.weights) > 0):
            raise UsageError(f"{count} members need {count} weights, not all 0; got {len(self.weights)}")

    def _made(self) -> list[Calibrator]:
        return [make(nested_method(text)) for text in self.members.split(JOINED)]

    def learn(self, scores: Array, labels: Labels, weights: Array | None, start: Parameters | None) -> None:
        """Fit the members, and their weights where they are not given; see `Calibrator.fit`."""
        mixed = np.array(self.weights) if self.weights else self._weights(scores, labels, weights)
        parameters: dict[str, Parameter] = {WEIGHTS: mixed / mixed.sum()}
        self.notes = []
        for number, member in enumerate(self._made()):
            member.learn(scores, labels, weights, None)
            parameters |= {f"{number}.{key}": value for key, value in member.parameters.items()}
            self.notes += [f"{member.name}: {note}" for note in member.notes]
        self.parameters = parameters

    def _weights(self, scores: Array, labels: Labels, weights: Array | None) -> Doubles:
        scores, labels, weights = weighted_rows(scores, labels, weights)
        fold = inner_folds(self.name, labels, self.folds, self.seed)
        held_out = [np.empty(scores.shape) for _ in self._made()]
        for number in range(self.folds):
            inside, out = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
            part = None if weights is None else weights[inside]
            for place, member in enumerate(self._made()):
                member.learn(scores[inside], labels[inside], part, None)
                held_out[place][out] = member.apply(scores[out])
        return pool_weights(held_out, labels, weights, self.score)

    def apply(self, scores: Array) -> Doubles:
        """Return log-probabilities, (N, K)."""
        mixed = np.asarray(self.learned(WEIGHTS))
        result = np.full(scores.shape, -np.inf)
        for weight, member in zip(mixed, self._fitted(), strict=True):
            if weight > 0:
                result = np.logaddexp(result, member.apply(scores) + np.log(weight))
        return result

    def breakpoints(self) -> Doubles:
        """Return the breakpoints of all members."""
        return np.concatenate([member.breakpoints() for member in self._fitted()])

    def check(self) -> None:
        """Raise `ValueError` unless the parameters are such as a fit gives."""
        mixed = np.asarray(self.learned(WEIGHTS))
        if not (np.isfinite(mixed).all() and mixed.min() >= 0 and abs(mixed.sum() - 1) < 1e-9):
            raise ValueError("weights that are not shares")
        for member in self._fitted():
            member.check()

    def _fitted(self) -> list[Calibrator]:
        fitted = []
        for number, member in enumerate(self._made()):
            prefix = f"{number}."
            learned = {k.removeprefix(prefix): v for k, v in self.parameters.items() if k.startswith(prefix)}
            fitted.append(member.fresh(learned))
        return fitted


def pool_weights(log_probs: Sequence[Floats], labels: Labels, weights: Array | None, score: str) -> Doubles:
    """Return the weights of a pool that minimize a score.

    Parameters
    ----------
    log_probs : sequence of J arrays (N, K)
        The log-probabilities of each member.
    labels : array (N,)
        The true classes.
    weights : array (N,), optional
        Of the rows.
    score : {"log_loss", "brier"}
        Score that the fit minimizes.
    """
    share = np.ones(len(labels)) if weights is None else weights.astype(np.float64)
    counted = share > 0
    share = share / share.sum()
    rows = np.arange(len(labels))
    of_label = np.exp(np.column_stack([log_prob[rows, labels] for log_prob in log_probs]), dtype=np.float64)
    if score == "log_loss":
        possible = counted & (of_label.mean(axis=1) >= LEAST)
        if not possible.any():
            return np.full(len(log_probs), 1 / len(log_probs))
        return mixture_weights(of_label[possible], share[possible] / share[possible].sum())
    gram = np.zeros((len(log_probs), len(log_probs)))
    for block in row_blocks(log_probs[0]):
        probs = np.exp(np.array([log_prob[block] for log_prob in log_probs]), dtype=np.float64)
        gram += np.einsum("ink,jnk,n->ij", probs, probs, share[block], optimize=True)
    return brier_weights(gram, share @ of_label)


def mixture_weights(likelihoods: Floats, weights: Floats) -> Doubles:
    """Return the weights, on the simplex, that minimize -sum_i weights_i log(sum_j likelihoods_ij w_j).

    With sum(w) added, the minimum over w >= 0 has sum(w) = 1 by itself, and the simplex needs no constraint;
    signs are kept by projected Newton steps (Bertsekas, SIAM J. Control Optim. 20, 1982).

    Parameters
    ----------
    likelihoods : array (N, J)
        The probability of each row's label by each member, 0 to 1; no row has a mean below `LEAST`.
    weights : array (N,)
        Positive row weights that sum to 1.

    Returns
    -------
    array (J,)
        Weights of the members, which sum to 1.
    """
    members = likelihoods.shape[1]
    w = np.full(members, 1 / members)
    value = _loss(likelihoods, weights, w)
    for _ in range(MAX_ITERATIONS):
        ratios = likelihoods / (likelihoods @ w)[:, None]
        gradient = 1 - weights @ ratios
        away = np.abs(w - np.maximum(w - gradient, 0)).max()
        if away <= TOLERANCE:
            break
        free = (w > min(NEAR, away)) | (gradient < 0)  # the others fall to 0
        hessian = (ratios * weights[:, None]).T @ ratios
        hessian += DAMPING * hessian.trace() * np.eye(members)
        step = -w
        step[free] = np.linalg.solve(hessian[np.ix_(free, free)], -gradient[free])
        size = 1.0
        new = np.maximum(w + step, 0)
        highest = value + NOISE
        while (new_value := _loss(likelihoods, weights, new)) > highest + ARMIJO * (gradient @ (new - w)):
            size /= 2
            if size < TOLERANCE:
                return w / w.sum()
            new = np.maximum(w + size * step, 0)
        w, value = new, new_value
    return w / w.sum()


def _loss(likelihoods: Floats, weights: Floats, w: Doubles) -> float:
    mixed = likelihoods @ w
    if mixed.min() < LEAST:
        return np.inf
    return float(w.sum() - weights @ np.log(mixed))


def brier_weights(gram: Doubles, of_label: Doubles) -> Doubles:
    """Return the weights, on the simplex, that minimize w' gram w - 2 own' w.

    Parameters
    ----------
    gram : array (J, J)
        Mean of the products of the members' probabilities, summed over the classes.
    of_label : array (J,)
        Mean probability of the label by each member.
    """
    members = len(of_label)
    damped = gram + DAMPING * gram.trace() * np.eye(members)
    limits = np.vstack([np.eye(members), np.ones(members), -np.ones(members)])
    least = np.concatenate([np.zeros(members), [1.0, -1.0]])
    w = nearest_within(np.linalg.solve(damped, of_label), np.linalg.cholesky(damped).T, limits, least)
    w = np.maximum(w, 0)
    return w / w.sum()
