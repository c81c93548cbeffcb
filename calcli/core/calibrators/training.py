"""The rows a softmax calibrator is fitted to: finite, in the working precision, weights summing to 1."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calcli.core.blocks import DOUBLE_LIMIT
from calcli.core.logspace import as_floats, log_softmax
from calcli.core.predictions import Array, Floats

LOG_2 = float(np.log(2))


@dataclass(frozen=True)
class Training:
    """Rows to fit to.

    Attributes
    ----------
    scores
        (N, K) finite scores: float64 up to `DOUBLE_LIMIT` elements, above that in the precision given.
    labels
        (N,) true classes.
    weights
        (N,) positive weights that sum to 1.
    total
        Sum of the weights as given; the number of rows when none were.
    notes
        What had to be done to the scores; a sentence each.
    """

    scores: Floats
    labels: NDArray[np.intp]
    weights: NDArray[np.float64]
    total: float
    notes: tuple[str, ...] = ()

    @property
    def tolerance(self) -> float:
        """Relative gradient at which a fit is converged."""
        return 1e-8 if self.scores.dtype == np.float64 else 1e-6

    @property
    def ridge(self) -> float:
        """Weight of the safeguard where no finite optimum exists.

        ``ridge / 2 * |theta - identity|^2`` is a normal prior of unit variance around the identity: the
        weight of one row, which fades as rows are added.
        """
        return 1 / self.total

    def absent_classes(self) -> NDArray[np.intp]:
        """Return the classes without a row."""
        return np.flatnonzero(np.bincount(self.labels, minlength=self.scores.shape[1]) == 0)

    def every(self, step: int) -> Training:
        """Return every `step`-th row."""
        weights = self.weights[::step]
        share = weights.sum()
        return replace(
            self,
            scores=self.scores[::step],
            labels=self.labels[::step],
            weights=weights / share,
            total=self.total * float(share),
        )


def prepare(scores: Array, labels: Array, weights: Array | None, *, normalize: bool) -> Training:
    """Return the rows to fit to; log-probabilities if `normalize`, else the scores as they are.

    Rows of weight 0 are left out. A probability of exactly 0 has no finite logarithm: in the fit it counts
    as half the smallest positive probability of the data, the customary stand-in for a value below a
    limit of detection.
    """
    weights = np.ones(len(labels)) if weights is None else np.asarray(weights, np.float64)
    if not weights.all():
        kept = weights > 0
        scores, labels, weights = scores[kept], labels[kept], weights[kept]
    values = as_floats(scores)
    if values.size <= DOUBLE_LIMIT:
        values = values.astype(np.float64, copy=False)
    has_zeros = bool(values.min() == -np.inf)
    if normalize or has_zeros:
        values = log_softmax(values)
    labels = labels.astype(np.intp, copy=False)
    notes: tuple[str, ...] = ()
    if has_zeros:
        values, notes = _without_zeros(values, labels)
    total = float(weights.sum())
    return Training(np.ascontiguousarray(values), labels, weights / total, total, notes)


def smallest_log_prob(scores: Floats) -> float:
    """Return the logarithm of half the smallest positive probability; -inf entries are passed over."""
    return float(scores.min(where=scores > -np.inf, initial=np.inf)) - LOG_2


def _without_zeros(log_probs: Floats, labels: NDArray[np.intp]) -> tuple[Floats, tuple[str, ...]]:
    zero = log_probs == -np.inf
    of_label = int(zero[np.arange(len(labels)), labels].sum())
    note = (
        f"{zero.sum()} probabilities are exactly 0, {of_label} of them of the true class; "
        "the fit takes each for half the smallest positive one"
    )
    filled: Floats = np.where(zero, smallest_log_prob(log_probs), log_probs)
    return filled.astype(log_probs.dtype, copy=False), (note,)
