"""A fitted calibrator as a formula that runs without calcli: affine in logarithms, or lines between knots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calcli.core.calibrators.record import CalibratorRecord, recalibrate
from calcli.core.data.arrays import Bools, Doubles, Stream, generator, log_softmax
from calcli.core.language.errors import UsageError

EXACT = 1e-9  # largest difference of logarithms by which a map is affine
LARGEST = 300.0  # logarithm of odds that a formula reaches: exponentials of more overflow
NARROWEST = 1e-9  # distance of knots, in probability
MANY = 2  # numbers between two knots, at least, where another may be put between
BESIDE = 1e-9  # of a probability: how near to a corner a step is looked for
FEW = 4  # neighbouring numbers by which a step may be beside its corner
HALVINGS = 40  # that leave no number between the two sides of a step
LEAST = 1e-300  # smallest positive probability
MOST_KNOTS = 20_000
FINE = np.concatenate([np.linspace(-30, 30, 4_001), np.linspace(-690, 690, 2_761)])  # log-odds, to compare


@dataclass(frozen=True)
class AffineMap:
    """softmax(weights @ log(max(p, floor)) + intercept).

    Attributes
    ----------
    weights, intercept
        (K, K), and (K,).
    floor
        (K,) what smaller probabilities count as.
    """

    weights: Doubles
    intercept: Doubles
    floor: Doubles

    def __call__(self, probs: Doubles) -> Doubles:
        """Return (n, K) recalibrated probabilities of (n, K)."""
        logs = np.log(np.maximum(probs, self.floor))
        recalibrated: Doubles = np.exp(log_softmax(logs @ self.weights.T + self.intercept))
        return recalibrated


@dataclass(frozen=True)
class LineMap:
    """Straight lines of the probability of the second class between knots; steps are between two lines.

    Attributes
    ----------
    start
        (m,) where each line begins, the first at 0.
    value, slope
        (m,) at its beginning, and of it.
    """

    start: Doubles
    value: Doubles
    slope: Doubles

    def __call__(self, probs: Doubles) -> Doubles:
        """Return (n, 2) recalibrated probabilities of (n, 2)."""
        second = probs[:, 1]
        line = np.searchsorted(self.start, second, side="right") - 1
        recalibrated = self.value[line] + (second - self.start[line]) * self.slope[line]
        return np.column_stack([1 - recalibrated, recalibrated])


@dataclass(frozen=True)
class Formula:
    """A map, and the largest observed difference of its probabilities from the calibrator's."""

    map: AffineMap | LineMap
    error: float


def formula_of(record: CalibratorRecord, tolerance: float) -> Formula:
    """Return the formula of a fitted calibrator.

    Parameters
    ----------
    record
        The calibrator.
    tolerance
        Largest difference of a probability, where there is no closed form.

    Raises
    ------
    UsageError
        If it takes raw logits, or is a map of several classes without a closed form.
    """
    name, classes = record.calibrator.name, len(record.classes)
    if record.raw:
        raise UsageError(
            f"{name} was fitted to raw logits, which probabilities do not tell; fit without --input raw"
        )

    def apply(probs: Doubles) -> Doubles:
        recalibrated: Doubles = np.exp(recalibrate(record, probs, "probs"))
        return recalibrated

    looked = _rows(record) if classes == 2 else _rows_of_many(classes)
    affine = _affine(record, classes)
    if affine is not None and (error := float(np.abs(affine(looked) - apply(looked)).max())) <= tolerance:
        return Formula(affine, error)
    if classes > 2:
        raise UsageError(
            f"{name} of {classes} classes has no closed form; of several classes those that are a softmax of "
            "logarithms have one, such as temperature, dp, vector, matrix and dirichlet"
        )
    lines = _lines(
        lambda second: apply(np.column_stack([1 - second, second]))[:, 1], _corners(record), tolerance
    )
    return Formula(lines, float(np.abs(lines(looked) - apply(looked)).max()))


def _affine(record: CalibratorRecord, classes: int) -> AffineMap | None:
    """Return the affine map that agrees with a calibrator on random rows, if there is one."""
    rng = generator(0, Stream.SIMULATION)
    floor = float(np.exp(np.max(record.calibrator.parameters.get("floor", -LARGEST))))
    logs = log_softmax(rng.normal(scale=2.0, size=(6 * classes + 40, classes)))
    logs = logs[(logs > np.log(floor)).all(axis=1)]
    if len(logs) < 4 * classes:
        return None
    after = recalibrate(record, logs, "log-probs")
    after = after - after.mean(axis=1, keepdims=True)
    columns = np.column_stack([logs, np.ones(len(logs))])
    half = 3 * classes
    solution = np.linalg.lstsq(columns[:half], after[:half], rcond=None)[0].T
    if not np.abs(columns @ solution.T - after).max() <= EXACT:
        return None
    weights, intercept = solution[:, :-1], solution[:, -1]
    steepest = max(1.0, float(np.abs(weights).sum(axis=1).max()))
    least = np.full(classes, max(floor, float(np.exp(-LARGEST / steepest))))
    if classes == 2:  # where the two classes may have floors of their own
        for k, j in ((0, 1), (1, 0)):
            with np.errstate(divide="ignore", invalid="ignore"):
                odds = recalibrate(record, np.eye(2)[[j]], "probs")[0] @ (np.eye(2)[k] - np.eye(2)[j])
            weight = weights[k, k] - weights[j, k]
            if np.isfinite(odds) and weight:
                least[k] = np.exp((odds - intercept[k] + intercept[j]) / weight)
    return AffineMap(weights, intercept, np.clip(least, np.exp(-LARGEST / steepest), 1.0))


def _corners(record: CalibratorRecord) -> Doubles:
    """Return the probabilities of the second class at which a map may bend or jump."""
    breakpoints = np.asarray(record.calibrator.breakpoints(), np.float64)
    corners = np.unique(np.concatenate([breakpoints, 1 - breakpoints, [0.5]]))
    return corners[(corners > 0) & (corners < 1)]


def _rows(record: CalibratorRecord) -> Doubles:
    """Return (n, 2) probabilities at which formulas of two classes are compared: also beside each step."""
    breakpoints = _corners(record)
    odds = 1 / (1 + np.exp(-FINE))
    even = np.linspace(0, 1, 10_001)
    nearby = [breakpoints * (1 + few * np.finfo(np.float64).eps) for few in range(-3, 4)]
    second = np.minimum(np.concatenate([odds, even, *nearby]), 1.0)
    return np.column_stack([1 - second, second])


def _rows_of_many(classes: int) -> Doubles:
    """Return (n, K) probabilities at which formulas are compared: near and far from even, some 0 or 1."""
    rng = generator(1, Stream.SIMULATION)
    rows = [rng.dirichlet(np.full(classes, share), 1_000) for share in (0.05, 0.3, 3.0)]
    return np.concatenate([*rows, np.eye(classes)])


def _lines(apply: Callable[[Doubles], Doubles], breakpoints: Doubles, tolerance: float) -> LineMap:
    """Return lines within a tolerance of a map of (n,) probabilities."""
    jumps = np.append(_jumps(apply, breakpoints, tolerance / 3), 1.0)
    stops = np.append(np.nextafter(jumps, 0), 0.0)
    odds = 1 / (1 + np.exp(-np.linspace(-690, 690, 2_761)))
    knots = np.unique(np.concatenate([[0.0, LEAST], breakpoints, jumps, stops, np.linspace(0, 1, 33), odds]))
    values, last = apply(knots), np.isin(knots, stops)  # a line ends at each: what follows is a step
    while len(knots) < MOST_KNOTS:
        shares = np.array([0.25, 0.5, 0.75])
        inner = knots[:-1, None] + np.diff(knots)[:, None] * shares
        between = values[:-1, None] + np.diff(values)[:, None] * shares
        middle = apply(inner.ravel()).reshape(inner.shape)
        rarer = np.minimum(knots[1:], 1 - knots[:-1])
        wide = np.diff(knots) > np.maximum(NARROWEST * rarer, MANY * np.spacing(knots[1:]))
        far = (np.abs(middle - between).max(axis=1) > tolerance / 3) & wide & ~last[:-1]
        if not far.any():
            break
        knots, order = np.unique(np.concatenate([knots, inner[far].ravel()]), return_index=True)
        values = np.concatenate([values, middle[far].ravel()])[order]
        last = np.append(last, np.zeros(3 * int(far.sum()), np.bool_))[order]
    turning = _needed(knots, values, last, tolerance / 3)
    knots, values, last = knots[turning], values[turning], last[turning]
    begins = np.append(~last[:-1], True)  # there is no line from the last knot before a step to the step
    slope = np.append(np.diff(values) / np.diff(knots), 0.0)
    begins[0], slope[0] = True, 0.0  # the line of 0 alone
    start, value, slope = knots[begins], values[begins], slope[begins]
    reached = value[:-1] + np.diff(start) * slope[:-1]
    turns = ~np.isclose(reached, value[1:], 0, EXACT) | ~np.isclose(slope[:-1], slope[1:], EXACT, EXACT)
    turning = np.append(True, turns)
    return LineMap(start[turning], value[turning], slope[turning])


def _jumps(apply: Callable[[Doubles], Doubles], breakpoints: Doubles, least: float) -> Doubles:
    """Return where a map of (n,) probabilities jumps by more than the least: the number after the jump."""
    distance = np.maximum(BESIDE * np.minimum(breakpoints, 1 - breakpoints), FEW * np.spacing(breakpoints))
    low, high = breakpoints - distance, np.minimum(breakpoints + distance, 1.0)
    jumps = np.abs(apply(high) - apply(low)) > least
    low, high = low[jumps], high[jumps]
    below = apply(low) if len(low) else low
    for _ in range(HALVINGS if len(low) else 0):
        middle = (low + high) / 2
        same = np.abs(apply(middle) - below) <= least / 2
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return high


def _needed(knots: Doubles, values: Doubles, last: Bools, tolerance: float) -> Bools:
    """Return (m,) the knots that remain after dropping the ones on a straight line."""
    needed, begin, furthest = np.ones(len(knots), np.bool_), 0, 200
    while begin < len(knots) - 2:
        end = begin + 2
        while end < len(knots) and end - begin < furthest and not last[begin:end].any():
            inner = slice(begin + 1, end)
            line = np.interp(knots[inner], knots[[begin, end]], values[[begin, end]])
            if not np.abs(line - values[inner]).max() <= tolerance:
                break
            needed[end - 1] = False
            end += 1
        begin = end - 1
    return needed
