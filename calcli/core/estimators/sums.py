"""Sums of row statistics, and what is left of their means without each unit: the jackknife.

Every score is a function of weighted means of row statistics. Leaving out one unit after the other (a row, a
cluster, or a random group where there are many) shows what each brings to the score and how far the score is
biased, and no row is read again (Efron & Stein 1981).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Doubles, Floats, batches, label_sums
from calcli.core.data.units import Units
from calcli.core.estimators.intervals import Influences
from calcli.core.estimators.scoring import Means, OfMeans
from calcli.core.language.errors import NeedsRows
from calcli.core.state.needs import ONLY_SUMS
from calcli.core.state.random_groups import RandomGroups

FREQUENCIES = 2_000_000  # of classes without a unit, held in memory at once


class Sums:
    """Weighted sums of row statistics over units.

    Parameters
    ----------
    columns
        (N,) row statistics by name; the means of those with infinite values are infinite.
    labels
        (N,) integers in 0..n_classes-1.
    weights
        (N,) row weights, or None.
    priors
        (K,) class priors that the weights bring about, whatever rows are left out.
    units
        Rows that are left out together; None if each is by itself.
    of_classes
        Those statistics that are over the frequency of the class, so that their means are means over the
        classes, whatever rows are left out.

    Attributes
    ----------
    units
        Rows that are left out together, or random groups of them.
    weight
        Of all rows.
    """

    def __init__(
        self,
        columns: Mapping[str, Array],
        labels: Array,
        n_classes: int,
        weights: Floats | None = None,
        priors: Floats | None = None,
        units: Units | None = None,
        of_classes: Collection[str] = (),
    ) -> None:
        whole = units or Units.of(len(labels))
        self.units = units = whole.dealt_if_many()
        self._unit_weight = units.weights(weights)
        self.weight = float(self._unit_weight.sum())
        self._classes = _Classes(labels, n_classes, weights, priors, units)
        self._infinite: set[str] = set()
        self._sums: dict[str, Doubles] = {}

        def added(name: str) -> Doubles:
            values = columns[name]
            if np.isinf(values.max()):
                infinite = np.isinf(values)
                values = np.where(infinite, 0, values)
                if weights is None or weights[infinite].any():
                    self._infinite.add(name)
            if priors is not None or name in of_classes:
                values = _centred(values, labels, weights, n_classes)
            return units.sums(values, weights)

        self._added = added

    @classmethod
    def of_groups(cls, groups: RandomGroups, weighted: bool) -> Sums:
        """Return the sums that a state holds."""
        sums = cls.__new__(cls)
        sums.units = Units(groups.rows, len(groups.count))
        sums._unit_weight = (groups.count if groups.weight is None else groups.weight).astype(np.float64)
        sums.weight = float(sums._unit_weight.sum())
        sums._classes = _Classes.of_table(groups.classes, weighted)
        sums._infinite = {name for name, statistic in groups.statistics.items() if statistic.infinite.any()}
        sums._sums = {}

        def added(name: str) -> Doubles:
            if name not in groups.statistics:
                raise NeedsRows(ONLY_SUMS)
            return groups.statistics[name].sums.astype(np.float64)

        sums._added = added
        return sums

    def _of(self, name: str) -> Doubles:
        """Return the sums of a statistic."""
        if name not in self._sums:
            self._sums[name] = self._added(name)
        return self._sums[name]

    def means(self) -> Means:
        """Return the means of all rows."""
        return self._means(lambda sums: np.asarray(sums.sum() / self.weight), lambda: self._classes.sample)

    def influences(self, of: OfMeans) -> Influences | None:
        """Return what each unit brings to a score; None if that is not finite.

        With T the score and T_i what it is without unit i, which has the share s_i of the weight, that is
        (1 - s_i) (T - T_i), for a mean exactly the share times the deviation. These sum to the bias but for
        its sign.
        """
        means = self.means()
        value = float(of(means))
        share = self._unit_weight / self.weight
        number = int(np.count_nonzero(share))
        if number < 2 or not math.isfinite(value):
            return None
        without = np.empty(self.units.number)
        for batch in batches(self.units.number, self._classes.number, FREQUENCIES):
            without[batch] = of(self._left(batch))
        of_unit = (1 - share) * (value - without)
        if not np.isfinite(of_unit).all():
            return None
        total = float(of_unit.sum())
        of_unit -= share * total
        bend = self._curvature(of, value, of_unit, means)
        return Influences(value, of_unit, number, -total, share, curvature=bend)

    def _curvature(self, of: OfMeans, value: float, weights: Doubles, means: Means) -> float:
        """Return half the second derivative of a score in the direction in which its influences point."""
        squares = float((weights * weights).sum())
        if not 0 < squares < math.inf:
            return 0.0
        drift = float((weights * self._unit_weight).sum())

        def moved(way: float) -> float:
            rate = way / (squares * self.weight)

            def column(name: str) -> Doubles:
                mean = means[name]
                if name in self._infinite:
                    return mean
                return mean + rate * (float((weights * self._of(name)).sum()) - mean * drift)

            def priors() -> Doubles:
                if self._classes.given:
                    return means.priors
                tilted = rate * (self._classes.tilted(weights) - means.priors * drift)
                return np.maximum(means.priors + tilted, 0)

            return float(of(Means(column, priors, means.of_sample)))

        step = math.sqrt(squares)
        bend = (moved(step) + moved(-step) - 2 * value) / (2 * squares)
        return bend if math.isfinite(bend) else 0.0

    def _left(self, batch: slice) -> Means:
        """Return the means without each of some units."""
        weight = self.weight - self._unit_weight[batch]
        weight[weight <= 0] = np.nan
        return self._means(
            lambda sums: (sums.sum() - sums[batch]) / weight, lambda: self._classes.without(batch, weight)
        )

    def _means(self, mean: Callable[[Doubles], Doubles], priors: Callable[[], Doubles]) -> Means:
        def column(name: str) -> Doubles:
            means = mean(self._of(name))
            return np.full_like(means, np.inf) if name in self._infinite else means

        return Means(column, priors, self._classes.sample)


def _centred(values: Array, labels: Array, weights: Floats | None, n_classes: int) -> NDArray[np.float64]:
    """Move the mean of every class to the mean of all rows.

    The overall mean stays. Without a unit the classes do not have their priors; with these values that does
    not matter: their mean is, to first order, the one with the classes weighted back to their priors.
    """
    weight = label_sums(labels, weights, n_classes)
    sums = np.bincount(labels, values if weights is None else weights * values, n_classes)
    means = np.divide(sums, weight, out=np.zeros(n_classes), where=weight > 0)
    return values - means[labels] + sums.sum() / weight.sum()


class _Classes:
    """The class frequencies, of all rows and without units."""

    def __init__(
        self, labels: Array, n_classes: int, weights: Floats | None, priors: Floats | None, units: Units
    ) -> None:
        self.number = n_classes
        self._labels, self._weights, self.given = labels, weights, priors is not None
        self._total = label_sums(labels, weights, n_classes).astype(np.float64)
        self.sample = self._total / self._total.sum() if priors is None else priors.astype(np.float64)
        self._units = units

    @classmethod
    def of_table(cls, table: Array, weighted: bool) -> _Classes:
        """Return the frequencies of (units, K) sums."""
        classes = cls.__new__(cls)
        classes.number, classes.given = table.shape[1], False
        classes._total = table.sum(0).astype(np.float64)
        classes.sample = classes._total / classes._total.sum()
        classes._table = _narrow(table, weighted)
        return classes

    @cached_property
    def _table(self) -> Floats | None:
        """(units, K) sums of the classes, where units are of several rows."""
        if self.given or self._units.single:
            return None
        cells = self._units.cells(self.number)
        cells += self._labels
        table = np.bincount(cells, self._weights, self._units.number * self.number)
        return _narrow(table.reshape(-1, self.number), self._weights is not None)

    def tilted(self, of_unit: Doubles) -> Doubles:
        """Return (K,) sums of the class weights of units times (units,) values."""
        if self._table is not None:
            return of_unit @ self._table
        weighted = of_unit if self._weights is None else of_unit * self._weights
        return np.bincount(self._labels, weighted, self.number).astype(np.float64, copy=False)

    def without(self, batch: slice, weight: Doubles) -> Doubles:
        """Return the (n, K) frequencies without each of n units, which leave a weight."""
        if self.given:
            return np.broadcast_to(self.sample, (len(weight), self.number))
        if self._table is not None:
            left = self._total - self._table[batch]
        else:
            left = np.tile(self._total, (len(weight), 1))
            places = np.arange(len(weight)), self._labels[batch]
            left[places] -= 1 if self._weights is None else self._weights[batch]
        return np.maximum(left, 0) / weight[:, None]


def _narrow(table: Array, weighted: bool) -> Floats:
    return table.astype(np.float64 if weighted else np.float32)  # which holds counts exactly
