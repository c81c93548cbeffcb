"""Sums of row statistics by unit, and their means without each unit: the jackknife.

Every score is a function of weighted means of row statistics. Leaving out each unit in turn (a row, a
cluster, or a random group if there are many) shows its influence on the score and how far the score is
biased, and no row is read again (Efron & Stein 1981).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache

import numpy as np

from calcli.core.data.arrays import Array, Doubles, Floats, batches, label_sums
from calcli.core.data.units import Units
from calcli.core.estimators.intervals import Influences
from calcli.core.estimators.scoring import Means, OfMeans
from calcli.core.language.errors import NeedsRows
from calcli.core.state.needs import ONLY_SUMS
from calcli.core.state.random_groups import RandomGroups

FREQUENCIES = 2_000_000  # class sums without a unit, held in memory at once


class UnitTable:
    """Weighted sums of row statistics by unit.

    Parameters
    ----------
    weight
        (units,) sums of the row weights.
    sums
        Returns the (units,) sums of the finite values of a statistic, and whether there are infinite ones.
    classes
        Returns the (units,) class of each unit, or the (units, K) weights of its classes.
    of_classes
        (K,) weights of the classes, or their priors.
    are_priors
        Whether these stay the same when rows are left out.
    """

    def __init__(
        self,
        weight: Doubles,
        sums: Callable[[str], tuple[Doubles, bool]],
        classes: Callable[[], Array],
        of_classes: Array,
        *,
        are_priors: bool = False,
    ) -> None:
        self._weight, self._total = weight, float(weight.sum())
        self._sums, self._classes = cache(sums), cache(classes)
        self._of_classes, self._are_priors = of_classes.astype(np.float64), are_priors
        self._frequency = self._of_classes if are_priors else self._of_classes / self._of_classes.sum()

    @classmethod
    def of_rows(
        cls,
        columns: Mapping[str, Array],
        labels: Array,
        n_classes: int,
        weights: Floats | None = None,
        priors: Floats | None = None,
        units: Units | None = None,
        class_mean: str = "",
    ) -> UnitTable:
        """Return the table of rows.

        Parameters
        ----------
        columns
            (N,) row statistics by name; a mean with infinite values is infinite.
        labels
            (N,) integers in 0..n_classes-1.
        weights
            (N,) row weights, or None.
        priors
            (K,) class priors that the weights produce.
        units
            Rows to leave out together; None if each is by itself.
        class_mean
            The statistic divided by the frequency of the class, so that its mean is one over the classes,
            whichever rows are left out.
        """
        units = (units or Units.of(len(labels))).dealt_if_many()

        def sums(name: str) -> tuple[Doubles, bool]:
            values, is_infinite = columns[name], False
            if np.isinf(values.max()):
                infinite = np.isinf(values)
                values = np.where(infinite, 0, values)
                is_infinite = weights is None or bool(weights[infinite].any())
            if priors is not None or name == class_mean:
                # the mean of every class moves to that of all rows: without a unit classes do not have their
                # priors, but the mean is then to first order the one with the classes weighted back to them
                weight = label_sums(labels, weights, n_classes)
                sums = np.bincount(labels, values if weights is None else weights * values, n_classes)
                means = np.divide(sums, weight, out=np.zeros(n_classes), where=weight > 0)
                values = values - means[labels] + sums.sum() / weight.sum()
            return units.sums(values, weights), is_infinite

        def classes() -> Array:
            if units.single:
                return labels
            return units.table(labels, n_classes, weights)[:, 0].astype(np.float64)

        of_classes = label_sums(labels, weights, n_classes) if priors is None else priors
        return cls(units.weights(weights), sums, classes, of_classes, are_priors=priors is not None)

    @classmethod
    def of_groups(cls, groups: RandomGroups) -> UnitTable:
        """Return the table of a state."""

        def sums(name: str) -> tuple[Doubles, bool]:
            if name not in groups.statistics:
                raise NeedsRows(ONLY_SUMS)
            statistic = groups.statistics[name]
            return statistic.sums.astype(np.float64), bool(statistic.infinite.any())

        weight = (groups.count if groups.weight is None else groups.weight).astype(np.float64)
        return cls(weight, sums, lambda: groups.classes.astype(np.float64), groups.classes.sum(0))

    def means(self) -> Means:
        """Return the means of all rows."""
        return self._means(lambda sums: sums.sum() / self._total, lambda: self._frequency)

    def influences(self, of: OfMeans) -> Influences | None:
        """Return the influence of each unit on a score; None if the score is not finite.

        With T the score, and T_i the score without unit i, which has the share s_i of the weight, it is
        (1 - s_i) (T - T_i): for a mean exactly the share times the deviation. The influences sum to minus the
        bias. its sign.
        """
        value, share = float(of(self.means())), self._weight / self._total
        number = int(np.count_nonzero(share))
        if number < 2 or not math.isfinite(value):
            return None
        without = np.empty(len(share))
        for batch in batches(len(share), len(self._frequency), FREQUENCIES):
            without[batch] = of(self._without(batch))
        of_unit = (1 - share) * (value - without)
        if not np.isfinite(of_unit).all():
            return None
        total = float(of_unit.sum())
        of_unit -= share * total
        bend = self._curvature(of, value, of_unit)
        return Influences(value, of_unit, number, -total, share, curvature=bend)

    def _curvature(self, of: OfMeans, value: float, of_unit: Doubles) -> float:
        """Return half the second derivative of a score in the direction in which its influences point."""
        squares = float((of_unit * of_unit).sum())
        if not 0 < squares < math.inf:
            return 0.0
        drift = float((of_unit * self._weight).sum())

        def moved(way: float) -> float:
            rate = way / (squares * self._total)

            def mean(sums: Doubles) -> Doubles:
                average = sums.sum() / self._total
                return average + rate * (float((of_unit * sums).sum()) - average * drift)

            def frequency() -> Doubles:
                tilted = rate * (self._class_sums(of_unit) - self._frequency * drift)
                return np.maximum(self._frequency + tilted, 0)

            return float(of(self._means(mean, frequency)))

        step = math.sqrt(squares)
        bend = (moved(step) + moved(-step) - 2 * value) / (2 * squares)
        return bend if math.isfinite(bend) else 0.0

    def _without(self, batch: slice) -> Means:
        """Return the means without each of some units."""
        weight = self._total - self._weight[batch]
        weight[weight <= 0] = np.nan

        def frequency() -> Doubles:
            return np.maximum(self._of_classes - self._class_weights(batch), 0) / weight[:, None]

        return self._means(lambda sums: (sums.sum() - sums[batch]) / weight, frequency)

    def _means(self, mean: Callable[[Doubles], Doubles], frequency: Callable[[], Doubles]) -> Means:
        def column(name: str) -> Doubles:
            sums, infinite = self._sums(name)
            means = np.asarray(mean(sums))
            return np.full_like(means, np.inf) if infinite else means

        priors = (lambda: self._frequency) if self._are_priors else frequency
        return Means(column, priors, self._frequency)

    def _class_weights(self, batch: slice) -> Doubles:
        """Return the (n, K) weights of the classes of some units."""
        classes: Array = self._classes()[batch]
        if classes.ndim == 2:
            return classes
        weights = np.zeros((len(classes), len(self._frequency)))
        weights[np.arange(len(classes)), classes] = self._weight[batch]
        return weights

    def _class_sums(self, of_unit: Doubles) -> Doubles:
        """Return (K,) sums of the class weights of units times (units,) values."""
        classes = self._classes()
        if classes.ndim == 2:
            return of_unit @ classes
        return np.asarray(np.bincount(classes, of_unit * self._weight, len(self._frequency)), np.float64)
