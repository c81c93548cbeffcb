"""The scale of scores with the least log-loss of the softmax: a convex function of one number."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from calcli.core.calibrators.fit.training import MASKED, TrainingRows
from calcli.core.data.arrays import Doubles, Positions, log_softmax, row_blocks, row_max
from calcli.core.data.blocks import DOUBLE_LIMIT

FLATTEST = 1e-3  # mean lead of the top score over T, to which scores without information are flattened
SAMPLE_ROWS = 1000  # rows, about, of the sample on which the search begins
SAMPLE_SHARE = 20
MAX_ITERATIONS = 100
ROUGH = 1e-3  # tolerance of a scale to begin with
FEW_CLASSES = 64
LOST = 4 * np.finfo(np.float64).eps  # a relative step that is lost in rounding


@dataclass(frozen=True)
class Derivatives:
    """Sums of the log-losses of softmax(alpha x), and of their derivatives in alpha, by part of the rows.

    Attributes
    ----------
    sums
        (P, 4) weighted log-loss and its first three derivatives.
    behind
        How far labels are behind the largest score, in all.
    """

    sums: Doubles
    behind: float

    @property
    def all_hit(self) -> bool:
        """Whether every label has the largest score, in which case the log-loss falls for ever."""
        return self.behind == 0 and bool(self.sums[:, 1].sum() < 0)


def derivatives(
    rows: TrainingRows, alpha: float, part: Positions | None = None, n_parts: int = 1
) -> Derivatives:
    """Return the derivatives at `alpha`, of all rows or by the (N,) part of each."""
    sums = np.zeros((n_parts, 4))
    behind = 0.0
    part = np.broadcast_to(np.intp(0), len(rows.labels)) if part is None else part
    # many rows of few classes, whose sums are far faster class by class
    few = rows.scores.shape[1] <= FEW_CLASSES and rows.scores.size > DOUBLE_LIMIT
    unit_logits = np.ones(rows.scores.shape[1], rows.scores.dtype)
    for block in row_blocks(rows.scores):
        x = np.ascontiguousarray(rows.scores[block].T) if few else rows.scores[block]
        x = x - (x.max(axis=0) if few else row_max(x))
        place = np.arange(len(rows.labels[block]))
        of_label = x[(rows.labels[block], place) if few else (place, rows.labels[block])].astype(np.float64)
        e = x * x.dtype.type(alpha)
        np.exp(e, out=e)
        total, moments = e.sum(axis=0) if few else e @ unit_logits, []
        for _ in range(3):
            moment = np.einsum("kn,kn->n", e, x) if few else np.vecdot(e, x)
            moments.append((moment / total).astype(np.float64))
            e *= x
        mean, second, third = moments
        of_rows = (
            np.log(total) - alpha * of_label,
            mean - of_label,
            second - mean**2,
            third - mean * (3 * second - 2 * mean * mean),  # a cube by pow takes 200 times as long
        )
        where, w = part[block], rows.weights[block]
        for order, values in enumerate(of_rows):
            sums[:, order] += np.bincount(where, w * values, minlength=n_parts)
        behind += float(of_label.sum())
    return Derivatives(sums, behind)


def first_guess(rows: TrainingRows) -> float:
    """Return 1/T of a small part of the rows, roughly: where a search on all rows begins."""
    return solve_temperature(sample(rows), 1.0, ROUGH)[0]


def sample(rows: TrainingRows) -> TrainingRows:
    """Return a small part of the rows; all, if they are few."""
    return rows.every(min(SAMPLE_SHARE, max(1, len(rows.labels) // SAMPLE_ROWS)))


def _flattest(rows: TrainingRows) -> float:
    """Return the least scale, by how much the largest score leads the mean of its row."""
    lead = 0.0
    for block in row_blocks(rows.scores):
        x = rows.scores[block]
        top = row_max(x)
        if x.min() <= MASKED:
            x = np.where(x > MASKED, x, top)
        lead += float(rows.weights[block] @ (top[:, 0] - x.mean(axis=1)))
    return FLATTEST / lead if lead > 0 else FLATTEST


def solve_temperature(
    rows: TrainingRows, alpha: float, tolerance: float, fold: Positions | None = None
) -> tuple[float, list[str], Derivatives]:
    """Return alpha = 1/T that minimizes the log-loss, what there is to say, and derivatives by fold there.

    Halley's method on the slope. Its sign keeps the optimum between two bounds; their geometric mean replaces
    a step beyond either. Where the probabilities are all but 0 and 1, steps down are short and equal: they
    are doubled as long as they stay so.
    """
    low = lowest = 0.0  # until a step goes far
    high, folds = np.inf, 1 if fold is None else int(fold.max()) + 1
    notes: list[str] = []
    stride, last = 1.0, -np.inf
    for _ in range(MAX_ITERATIONS):
        at = derivatives(rows, alpha, fold, folds)
        (loss, slope, curvature, third), all_hit = at.sums.sum(axis=0), at.all_hit
        ridge = rows.ridge if all_hit else 0.0
        slope, curvature = slope + ridge * (alpha - 1), max(curvature, 0.0) + ridge
        if abs(slope) <= tolerance * np.sqrt(loss * curvature):  # whatever the unit of the scores
            break
        if slope > 0:
            high = alpha
        else:
            low = alpha
        if high <= lowest:
            notes = [f"the scores are unrelated to the labels: the temperature stays at {1 / lowest:.4g}"]
            break
        step = _step(slope, curvature, third)
        stride = 2 * stride if step < last / 2 < 0 else 1.0
        new, last = alpha + stride * step, step
        if abs(new - alpha) <= LOST * alpha:
            break
        lowest = lowest if lowest or alpha / 2 <= new < high else _flattest(rows)
        low = max(low, lowest)
        if new >= high:
            new = np.sqrt(low * high)
        elif new <= low:
            new = lowest if low == lowest else np.sqrt(low * high)
        if new == alpha:
            break
        alpha = float(new)
    else:
        notes = [f"the temperature stopped at a relative gradient of {abs(slope) / loss:.1e}"]
    if all_hit:
        notes = ["every label has the largest score, so the temperature would go to 0: "
                 "1/T is drawn towards 1 by the weight of one row"]  # fmt: skip
    return alpha, notes, at


def _step(slope: float, curvature: float, third: float) -> float:
    """Return Halley's step, or Newton's where that would be more than twice as long."""
    if curvature <= 0:
        return np.inf
    bent = curvature - slope * third / (2 * curvature)
    return float(-slope / (bent if bent > curvature / 2 else curvature))


def fold_scales(at: Derivatives, alpha: float, tolerance: float) -> Iterator[tuple[int, float]]:
    """Yield the number of a fold, and alpha that minimizes the log-loss of the rows outside it.

    These optima are so near to the optimum of all rows, `alpha`, that the derivatives there give them; a fold
    where they do not, within the tolerance, is left out.
    """
    outside = at.sums.sum(axis=0) - at.sums
    for number, (loss, slope, curvature, third) in enumerate(outside.tolist()):
        root = curvature**2 - 2 * slope * third
        if not (curvature > 0 and root > 0):
            continue
        step = -2 * slope / (curvature + math.sqrt(root))  # where slope + curvature d + third d^2 / 2 is 0
        next_term = third**2 * step**3 / (2 * curvature)  # as large, if they fall off evenly
        if abs(next_term) <= tolerance * math.sqrt(max(loss, 0) * curvature):
            yield number, alpha + step


def first_map(rows: TrainingRows, *, scales: bool) -> tuple[float, Doubles]:
    """Return a rough 1/T and intercepts, (K,): 0, or values that shift each class to its frequency.

    What has less log-loss on a part of the rows: where classes are far from their frequencies, all
    probabilities are 0 or 1, and there is no slope to follow from the first.

    Parameters
    ----------
    rows
        The rows of the fit.
    scales
        Whether scores can be multiplied; else 1/T is 1.
    """
    part = sample(rows)
    away = _away(part)
    candidates = []
    for shift in (np.zeros_like(away), away):
        shifted = replace(part, scores=part.scores - shift.astype(part.scores.dtype))
        alpha = solve_temperature(shifted, 1.0, ROUGH)[0] if scales else 1.0
        candidates.append((float(derivatives(shifted, alpha).sums[0, 0]), alpha, -alpha * shift))
    return min(candidates, key=lambda candidate: candidate[0])[1:]


def _away(rows: TrainingRows) -> Doubles:
    """Return by how much the mean score of each class is above the logarithm of its frequency, (K,)."""
    finite = rows.scores > MASKED
    weights = np.where(finite, rows.weights[:, None], 0)
    total = weights.sum(axis=0)
    sums = np.where(finite, rows.scores, 0).astype(np.float64) * weights
    means = sums.sum(axis=0) / np.where(total > 0, total, 1)
    counts = np.bincount(rows.labels, rows.weights, minlength=len(means))
    away: Doubles = means - np.log(np.maximum(counts, rows.ridge))
    return away - away.mean()


FACTOR = 4.0  # the grid reaches from the scale over this to it times this
COARSE = 17  # points
GOLDEN = (np.sqrt(5) - 1) / 2
NARROW = 1e-9  # in the logarithm of the temperature


def least_brier(rows: TrainingRows, alpha: float) -> float:
    """Return 1 / T of the least Brier score near `alpha`, the optimum of the log-loss."""
    return least_near(lambda scale: _brier(_probs(rows, scale), rows), alpha)


def least_near(value: Callable[[float], float], scale: float) -> float:
    """Return the minimum of a function over some scales around `scale`, refined near the best."""
    grid = scale * np.geomspace(1 / FACTOR, FACTOR, COARSE)
    place = int(np.argmin([value(float(point)) for point in grid]))
    low, high = np.log(grid[[max(place - 1, 0), min(place + 1, COARSE - 1)]])
    nearby = _narrowed(lambda log: value(float(np.exp(log))), low, high)
    return min(nearby, scale, key=value)


def _narrowed(value: Callable[[float], float], low: float, high: float) -> float:
    """Return the exponential of where a function has its minimum, by golden sections."""
    inner = [high - GOLDEN * (high - low), low + GOLDEN * (high - low)]
    values = [value(inner[0]), value(inner[1])]
    while high - low > NARROW:
        if values[0] <= values[1]:
            high = inner[1]
            inner = [high - GOLDEN * (high - low), inner[0]]
            values = [value(inner[0]), values[0]]
        else:
            low = inner[0]
            inner = [inner[1], low + GOLDEN * (high - low)]
            values = [values[1], value(inner[1])]
    return float(np.exp((low + high) / 2))


def _probs(rows: TrainingRows, alpha: float) -> Doubles:
    scaled = np.multiply(rows.scores, alpha, dtype=np.float64)
    return np.exp(log_softmax(scaled)).astype(np.float64, copy=False)


def _brier(probs: Doubles, rows: TrainingRows) -> float:
    of_label = probs[np.arange(len(probs)), rows.labels]
    return float(rows.weights @ (np.vecdot(probs, probs) - 2 * of_label + 1))
