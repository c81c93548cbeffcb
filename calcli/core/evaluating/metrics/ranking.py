"""Ranking quality: the area under the ROC curve, average precision, and their standard errors."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from calcli.core.data.arrays import Array, Bools, Doubles, Floats, Positions
from calcli.core.data.binning import is_run_end
from calcli.core.data.blocks import Block
from calcli.core.data.units import numbers_of
from calcli.core.estimators.intervals import FEWEST, Influences, Interval, Spread, of_equal_weight, t_quantile
from calcli.core.evaluating.measurements import Measurements
from calcli.core.evaluating.metrics.base import Calls, signature
from calcli.core.evaluating.results import Estimate
from calcli.core.language.entries import RANKING, SELECTIVE, arg, metric
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import Measure
from calcli.core.language.metrics import ALMOST
from calcli.core.language.settings import Settings
from calcli.core.problems.lenses import ScoredRows
from calcli.core.problems.problem import Problem, ordered_problem
from calcli.core.state.cells import rank_of
from calcli.core.state.needs import ClassRanks, Mean, Need, Pass, Sampled, Scores, every_class, through

MOST_RANKED = 20  # classes that each have cells, of 1 MB, where all rows are summed
SURE = 2.5758  # standard deviations that one normal number in 200 is below


@dataclass(frozen=True)
class DeLongPlacements:
    """A measure and, by run of equal scores, the weight of each outcome and its influence per weight.

    The bias is its expected excess, for rows of weight 1.
    """

    value: float
    positive: Doubles
    negative: Doubles
    of_positive: Doubles
    of_negative: Doubles
    bias: float = 0.0


def _order(block: Block) -> Array:
    """Return (n,) numbers in [0, 2] that increase with the log-odds of the second class."""
    tail = 1 / (1 + np.abs(block.log_odds.astype(np.float64)))
    return np.where(block.log_odds < 0, tail, 2 - tail)


ORDER = Mean("order of log-odds", _order)


class Ranking(Measure, ABC):
    """A measure of ranking, from the placement of each row among the others."""

    family = RANKING
    rows_per_positive = 1  # rows of the rarer outcome needed for each effective row
    moves = True  # whether the influences of rows give its spread

    @abstractmethod
    def place(self, outcome: Bools, weights: Floats | None, ends: Positions) -> DeLongPlacements | None:
        """Return the placements of runs of ascending scores; None if one of the outcomes does not occur."""

    def parts(self, problem: Problem) -> dict[str, float]:
        """Return numbers to read it with, by name."""
        return {}

    def held(self, spread: Spread, level: float) -> Interval:
        """Return an interval that is valid for any distribution and any number of rows.

        It has the spread of a mean over the rarer outcome: no area varies more (Birnbaum & Klose 1957).
        """
        return spread.held(level, spread.fewest * self.rows_per_positive)

    def spread(self, problem: Problem) -> Spread:
        """Return the measure of a binary problem.

        It is in [0, 1], and nan if one of the outcomes does not occur. Its effective number of rows is at
        most the number of the rarer outcome.
        """
        placed = self.place(problem.outcome, problem.weights, problem.run_ends)
        rows = len(problem.outcome)
        if placed is None:
            return Spread(math.nan, rows, math.nan, math.nan, math.nan)
        powers, masses = [], [(placed.positive, placed.negative)] * 3
        if problem.weights is not None:
            hit, ends, weights, masses = problem.outcome, problem.run_ends, problem.weights, []
            rows = int(
                np.count_nonzero(weights) if problem.counts is None else problem.counts[weights > 0].sum()
            )
            for _ in range(3):
                weights = weights * problem.mean_row_weights
                masses.append(run_masses(hit, weights, ends))
        influences = zip(_powers(placed.of_positive), _powers(placed.of_negative), strict=True)
        for power, (positive, negative), (of_pos, of_neg) in zip((2, 3, 4), masses, influences, strict=True):
            powers.append(float(positive @ of_pos + negative @ of_neg) / problem.total_weight**power)
        squares, cubes, fourths = powers
        classes = zip((placed.positive, placed.negative), masses[0], strict=True)
        fewest = min(float(of_equal_weight(weight.sum(), square.sum())) for weight, square in classes)
        bias = placed.bias * float(masses[0][0].sum() / placed.positive.sum()) if placed.bias else 0.0
        return Spread(
            placed.value, rows, squares, cubes, fourths, bias, fewest=fewest / self.rows_per_positive
        )

    def interval(self, spread: Spread, level: float, unit: str) -> tuple[Interval | None, str]:
        """Return the interval, on the scale of log-odds, or why there is none."""
        bounded, value = self.held(spread, level), spread.value
        if not spread.enough or value in (0, 1):
            return bounded, ""
        ends = spread.scaled(math.log(value / (1 - value)), 1 / (value * (1 - value))).interval(level)
        return Interval(_of_log_odds(ends.low), _of_log_odds(ends.high), level).within(bounded), ""

    def needs(self, of: Pass) -> Iterable[Need]:
        """Return scores and outcomes of the lens, or the probabilities, to sort each class."""
        if self.lens:
            need = through(self.lens, of.rows, of.settings)
            if not isinstance(need, Scores) or need.lens.given:
                raise UsageError(
                    f"{self} needs one score in every row; expected a lens such as top-1 or class-1"
                )
            return (need,)
        if of.summed and 2 < of.rows.n_classes <= MOST_RANKED:
            return ClassRanks(), Sampled()
        finest = of.rows.n_classes == 2 and of.rows.has_rows and of.rows.kind != "probs"
        return (*every_class(of.rows, of.settings), *([ORDER] if finest else []))

    def estimate(self, measured: Measurements, settings: Settings, metrics: Calls = ()) -> Estimate:
        """Return the measure; rows of one cluster count as one observation in its standard error."""
        lens, spread = self._single_lens(measured), self.spread_of(measured)
        interval, reason = None, ""
        if settings.intervals and not math.isnan(spread.value):
            unit = "row" if settings.cluster is None else "cluster"
            interval, reason = self.interval(spread, settings.level, unit)
        terms = self.parts(measured.problem(lens)) if lens else {}
        line = signature(self, measured, settings, "interval:delong")
        return Estimate(self, spread.value, line, interval, reason, parts=terms)

    def influences(self, measured: Measurements) -> Influences | None:
        """Return the influences of the units (DeLong et al. 1988); slices of large states lack them."""
        if not self.moves:
            return None
        lens = self._single_lens(measured)
        if lens is None or not measured.of_cells:
            result = self._of_rows(measured)
        elif measured.sample is not None:
            result = self._of_sample(lens, measured)
        else:
            return None
        return None if math.isnan(result.value) else result

    def spread_of(self, measured: Measurements) -> Spread:
        """Return the measure with its spread."""
        lens = self._single_lens(measured)
        if measured.units.single and lens:
            return self.spread(_ranked(measured, lens))
        return self._of_rows(measured).spread

    def _single_lens(self, measured: Measurements) -> str | None:
        """Return the lens of one score; None if every class has one."""
        return self.lens or ("class-1" if measured.predictions.n_classes == 2 else None)

    def _of_sample(self, lens: str, measured: Measurements) -> Influences:
        """Return the measure of all rows, with the influences of the sample's rows."""
        problem = measured.problem(lens)
        spread, placed = self.spread(problem), self.place(problem.outcome, problem.weights, problem.run_ends)
        score, outcome, weights, *_ = measured.sampled(lens).look(lens)
        if placed is None:
            return Influences(math.nan, np.empty(0), 0)
        runs = problem.score[problem.run_ends - 1]
        place = np.searchsorted((runs[1:] + runs[:-1]) / 2, score)
        influence_values = np.where(outcome, placed.of_positive[place], placed.of_negative[place])
        total = problem.total_weight, problem.n_rows
        return _scaled_up(spread.value, influence_values, weights, *total, fewest=spread.fewest)

    def _of_classes(self, measured: Measurements, sums: Array) -> Influences:
        """Return the mean over the classes, each from its cells, with the influences of the sample's rows."""
        sampled, classes = measured.sampled("canonical"), measured.rows_by_class
        rows, cells, n_rows = sampled.predictions, rank_of(sampled.class_probs), measured.predictions.n_rows
        values, influences = [], np.zeros(len(rows.labels))
        for k, (every, positive) in enumerate(sums):
            filled = np.flatnonzero(every)
            weights = np.stack([positive[filled], every[filled] - positive[filled]], axis=1).ravel()
            outcome = np.arange(len(weights)) % 2 == 0
            placed = self.place(outcome, weights, np.arange(2, len(weights) + 1, 2))
            if placed is not None:
                values.append(placed.value)
                at = np.searchsorted(filled[:-1], cells[k])
                influences += np.where(rows.labels == k, placed.of_positive[at], placed.of_negative[at])
        if not values:
            return Influences(math.nan, np.empty(0), 0)
        value, number, total = float(np.mean(values)), len(values), float(sums[0, 0].sum())
        rarer = np.minimum(classes, n_rows - classes)[classes > 0]
        fewest = float(number / (1 / rarer).sum()) / self.rows_per_positive
        return _scaled_up(value, influences / number, rows.weights, total, n_rows, fewest=fewest)

    def _of_rows(self, measured: Measurements) -> Influences:
        """Return the measure with the influences of the units on it."""

        def influences_of_rows() -> Influences:
            if (ranks := measured.state.kept.get(ClassRanks())) is not None:
                return self._of_classes(measured, ranks.sums)
            units, weights, labels = measured.units, measured.predictions.weights, measured.predictions.labels
            if lens := self._single_lens(measured):
                score, outcome, *_ = _finest(measured, lens)
                value, influences = row_influences(self, score, outcome.astype(bool), weights)
                fewest = _rarer(measured, outcome.astype(bool))
            else:
                value, influences = ranking_influences(self, measured.class_probs, labels, weights)
                # each area rests on the rarer of the rows of its class and all others; by their reciprocals
                # they enter the variance of the mean area, which is too small where they are few
                of_class, of_rest = _masses(measured)
                rarer = np.minimum(of_equal_weight(*of_class), of_equal_weight(*of_rest))[of_class[0] > 0]
                fewest = float(len(rarer) / (1 / rarer).sum()) if rarer.all() else 0.0
            number = int(np.count_nonzero(units.weights(weights)))
            return Influences(value, units.sums(influences), number, fewest=fewest / self.rows_per_positive)

        return measured.once(f"influences of {self}", influences_of_rows)


def _scaled_up(
    value: float, influences: Doubles, weights: Floats | None, total: float, n_rows: int, *, fewest: float
) -> Influences:
    """Return influences of a sample's rows in place of all rows, of that weight and number."""
    share = (np.ones(len(influences)) if weights is None else weights) / total
    influences = share * (influences - np.average(influences, weights=share))
    return Influences(value, math.sqrt(n_rows / len(influences)) * influences, len(influences), fewest=fewest)


def _finest(measured: Measurements, lens: str) -> ScoredRows:
    """Return the view of a lens; two classes with logits are ordered by log-odds, since 1 is rounded."""
    seen, order = measured.look(lens), measured.columns.get(ORDER.name)
    return seen if lens != "class-1" or order is None else seen._replace(score=order)


def _ranked(measured: Measurements, lens: str) -> Problem:
    """Return the ordered problem of a lens, as finely as the scores allow."""
    if measured.of_cells or measured.predictions.kind == "probs":
        return measured.problem(lens)
    return measured.once(("ranked", lens), lambda: ordered_problem(*_finest(measured, lens)[:3]))


@metric(
    "auroc", "AUROC", abbreviation_of="area under the receiver operating characteristic", tier="to know",
    direction="higher",
)  # fmt: skip
class RocArea(Ranking):
    """probability that a row of the class scores above one of another class (mean over classes if more than
    two)

    Formula: P(q+ > q-) + P(q+ = q-) / 2
    Source: Hanley & McNeil 1982; DeLong et al. 1988 (interval)
    Misses: increasing maps of the scores do not change it; log_loss sees calibration
    Of answers: probability that a right answer has more confidence than a wrong one
    """

    def interval(self, spread: Spread, level: float, unit: str) -> tuple[Interval | None, str]:
        """Return the narrower of the influences' interval and an equally wide score interval."""
        interval, reason = super().interval(spread, level, unit)
        rarer, commoner = spread.fewest, spread.number - spread.fewest
        if rarer > 1 and commoner >= 1 and interval is not None:
            least = spread.squares * rarer / (rarer - 1) * t_quantile((1 + level) / 2, rarer - 1) ** 2
            score = Interval.of_area(spread.value, rarer, commoner, level, least)
            interval = min(interval, score.within(self.held(spread, level)), key=lambda ci: ci.high - ci.low)
        return interval, reason

    def place(self, outcome: Bools, weights: Floats | None, ends: Positions) -> DeLongPlacements | None:
        """Return the correctly ranked shares of the other outcome (DeLong et al. 1988)."""
        positive, negative = run_masses(outcome, weights, ends)
        positives, negatives = positive.sum(), negative.sum()
        if not (positives and negatives):
            return None
        # share of the other outcome that is ranked correctly, half for equal scores
        of_positive = (np.cumsum(negative) - negative / 2) / negatives
        of_negative = 1 - (np.cumsum(positive) - positive / 2) / positives
        area = float(positive @ of_positive) / float(positives)
        total = positives + negatives
        of_positive = (of_positive - area) * (total / positives)
        of_negative = (of_negative - area) * (total / negatives)
        return DeLongPlacements(area, positive, negative, of_positive, of_negative)


@metric("average_precision", "Average precision", tier="to know", direction="higher")
class AveragePrecision(Ranking):
    """area under the precision-recall curve, without interpolation (mean over classes if more than two)

    Formula: mean over rows of the class of P(class | q >= that row's)
    Source: as in scikit-learn, without interpolation; Boyd et al. 2013 (interval)
    Misses: increasing maps of the scores do not change it; random scores give the class frequency
    Of answers: area under the precision-recall curve of the right answers

    As each positive is among the rows that score at least as high, it is biased upward on few rows.
    """

    rows_per_positive = 4

    def place(self, outcome: Bools, weights: Floats | None, ends: Positions) -> DeLongPlacements | None:
        """Return the precisions at the score of each run, and the effects on the precision at others."""
        positive, negative = run_masses(outcome, weights, ends)
        positives, total = positive.sum(), positive.sum() + negative.sum()
        if positives in (0, total):
            return None
        hits, above = (np.cumsum(masses[::-1])[::-1] for masses in (positive, positive + negative))
        there = above > 0  # rows of weight 0 may be the first
        precision = np.divide(hits, above, out=np.zeros_like(hits), where=there)
        average = float(positive @ precision) / float(positives)
        # a row changes the precision at each positive that does not score higher
        raised = np.cumsum(np.divide(positive, above, out=np.zeros_like(hits), where=there))
        lowered = np.cumsum(np.divide(positive * precision, above, out=np.zeros_like(hits), where=there))
        of_positive = (precision + raised - lowered - average) * (total / positives)
        bias = float(raised[-1] - lowered[-1]) / float(positives)
        return DeLongPlacements(
            average, positive, negative, of_positive, -lowered * (total / positives), bias
        )


AREA, PRECISION = RocArea(), AveragePrecision()


def is_backwards(area: float, sizes: Doubles) -> bool:
    """Return whether an area is below 1/2 beyond chance: scores rank the wrong way round.

    For uninformative scores of two classes the variance is (n + 1) / (12 n_0 n_1), less with ties (Mann &
    Whitney 1947). For more classes, each against the rest, the standard deviation of the mean is at most the
    mean of theirs, which is used instead.

    Parameters
    ----------
    area
        The area for two classes, or the mean over more; nan if one has no rows.
    sizes
        (K,) independent rows of each class that occurs.
    """
    if not area < 0.5:
        return False
    total = sizes.sum()
    sds = np.sqrt((total + 1) / (12 * sizes * (total - sizes)))
    return bool(area < 0.5 - SURE * sds.mean())


def _of_log_odds(log_odds: float) -> float:
    return math.tanh(log_odds / 2) / 2 + 0.5


def ranking_influences(
    ranking: Ranking, probs: Floats, labels: Array, weights: Floats | None = None
) -> tuple[float, Doubles]:
    """Return the mean over the classes that occur, and the influence of each row (DeLong et al. 1988).

    The squares of the (n,) influences add up to the variance of the area; for two systems on the same rows,
    the squares of the influences' differences to the variance of the areas' difference.

    Parameters
    ----------
    ranking
        The measure.
    probs
        (K, n) probabilities, class by class.
    labels
        (n,) integers.
    weights
        (n,) row weights, or None.
    """
    every = (row_influences(ranking, probs[k], labels == k, weights) for k in numbers_of(labels))
    defined = [(value, influence) for value, influence in every if not math.isnan(value)]
    if not defined:
        return math.nan, np.full(len(labels), math.nan)
    values, influences = zip(*defined, strict=True)
    return float(np.mean(values)), sum(influences) / len(influences)


def row_influences(
    ranking: Ranking, score: Floats, outcome: Array, weights: Floats | None = None
) -> tuple[float, Doubles]:
    """Return the measure of one (n,) score and outcome, and the influence of each row; nan if undefined."""
    order = np.argsort(score)
    ends = np.flatnonzero(is_run_end(score[order])) + 1
    placed = ranking.place(outcome[order], None if weights is None else weights[order], ends)
    if placed is None:
        return math.nan, np.full(len(score), math.nan)
    sizes, influence = np.diff(ends, prepend=0), np.empty(len(score))
    of_positive, of_negative = np.repeat(placed.of_positive, sizes), np.repeat(placed.of_negative, sizes)
    influence[order] = np.where(outcome[order], of_positive, of_negative)
    if weights is None:
        return placed.value, influence / len(score)
    return placed.value, influence * weights / weights.sum()


def is_not_backwards(positive: Doubles, negative: Doubles) -> bool:
    """Return whether cells of the scores show that the area, or its mean over classes, is at least one half.

    Parameters
    ----------
    positive, negative
        (..., cells) weight of each outcome, by ascending score.
    """
    below = np.cumsum(negative, axis=-1) - negative
    pairs = positive.sum(-1) * negative.sum(-1)
    ranked = np.vecdot(positive, below)[pairs > 0] / pairs[pairs > 0]
    return bool(ranked.size and ranked.mean() >= 0.5)


def fine_cells(score: Floats, outcome: Array, weights: Floats | None) -> tuple[Doubles, Doubles]:
    """Return (cells,) weights of both outcomes for (n,) scores in [0, 1], in cells that get finer near 0."""
    cells = score.astype(np.float32).view(np.uint32) >> 16  # the upper half of a number in single precision
    hit = outcome.astype(bool)
    every = np.bincount(cells, weights)
    positive = np.bincount(cells[hit], None if weights is None else weights[hit], len(every))
    return positive.astype(np.float64), (every - positive).astype(np.float64)


def run_masses(outcome: Bools, weights: Floats | None, ends: Positions) -> tuple[Doubles, Doubles]:
    """Return the weights of positives and of negatives in each run."""
    if weights is None:
        positive_end = np.cumsum(outcome, dtype=np.float64)[ends - 1]
        negative_end = ends - positive_end
    else:
        positive_end = np.cumsum(weights * outcome, dtype=np.float64)[ends - 1]
        negative_end = np.cumsum(weights * ~outcome, dtype=np.float64)[ends - 1]
    return np.diff(positive_end, prepend=0), np.diff(negative_end, prepend=0)


def _powers(values: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the second to the fourth power; numpy's `**` takes ten times as long for higher ones."""
    squares = np.square(values)
    return squares, squares * values, np.square(squares)


ROUNDING = 1e-9  # of a number of rows
EXPANSION = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132)  # coefficients of the digamma function, in 1 / x^2
LARGE = 12  # from where that is exact to the last bits
EULER = 0.5772156649015329  # the sum of 1/k up to n is ln n more
NEAR = 2 / 3  # exponent of the number of rows that determine the error rate at a threshold


@dataclass(frozen=True)
class Runs:
    """Rows of equal confidence, the most confident first.

    Attributes
    ----------
    hits, errors
        (m,) right and wrong rows of each run; no run is empty.
    """

    hits: Doubles
    errors: Doubles

    @classmethod
    def of(cls, hits: Doubles, errors: Doubles) -> Self:
        """Return the runs with rows."""
        filled = hits + errors > 0
        return cls(hits[filled], errors[filled])

    @cached_property
    def rows(self) -> Doubles:
        """(m,) rows of each run."""
        return self.hits + self.errors

    @cached_property
    def end(self) -> Doubles:
        """(m,) rows up to the end of each run."""
        return np.cumsum(self.rows)

    @cached_property
    def wrong(self) -> Doubles:
        """(m,) errors up to the end of each run."""
        return np.cumsum(self.errors)

    @property
    def number(self) -> float:
        """All rows."""
        return float(self.end[-1])

    @property
    def rate(self) -> Doubles:
        """(m,) error rate of each run."""
        return self.errors / self.rows

    @cached_property
    def harmonic(self) -> Doubles:
        """(m,) sums of 1/k over the rows of each run, the k-th among all."""
        sums = 1 / self.end
        several = self.rows != 1
        end, rows = self.end[several], self.rows[several]
        sums[several] = _digamma(end + 1) - _digamma(np.maximum(end - rows, 0) + 1)
        return sums

    def errors_at(self, rows: float) -> float:
        """Return the expected errors among the first rows, by number of rows."""
        return float(np.interp(rows, np.append(0, self.end), np.append(0, self.wrong)))


@dataclass(frozen=True, kw_only=True)
class Selective(Ranking):
    """A measure of the errors among the most confident rows; positive rows are right."""

    family = SELECTIVE
    lens: str = arg("the probability that orders rows, and the event that is right", default="top-1")

    @abstractmethod
    def of(self, runs: Runs) -> float:
        """Return the measure."""

    @abstractmethod
    def influence_values(self, runs: Runs) -> tuple[Doubles, Doubles]:
        """Return the influence of a wrong row of each run, and the influence of any row, up to a constant.

        The second is subtracted.
        """

    def place(self, outcome: Bools, weights: Floats | None, ends: Positions) -> DeLongPlacements | None:
        """Return the placements of runs of ascending confidence."""
        positive, negative = run_masses(outcome, weights, ends)
        unit, filled = _unit(weights), positive + negative > 0
        runs = Runs.of(positive[::-1] / unit, negative[::-1] / unit)
        if_wrong, anyway = self.influence_values(runs)
        mean = float(runs.errors @ if_wrong - runs.rows @ anyway) / runs.number
        of_right, of_wrong = np.zeros((2, len(positive)))
        of_right[filled] = (-anyway - mean)[::-1]
        of_wrong[filled] = (if_wrong - anyway - mean)[::-1]
        return DeLongPlacements(self.of(runs), positive, negative, of_right, of_wrong)

    def most(self, rows: float) -> float:
        """Return the largest contribution of an error, in units of 1 over the number of rows."""
        return 1.0

    def held(self, spread: Spread, level: float) -> Interval:
        """Return the interval of a mean over all rows, to which errors add values by their position."""
        return spread.held(level, spread.number, heaviest=self.most(spread.number))

    def parts(self, problem: Problem) -> dict[str, float]:
        """Return its value with all right rows first (an oracle), and in a random order."""
        weights = problem.weights
        right = float(np.count_nonzero(problem.outcome) if weights is None else weights @ problem.outcome)
        hits, errors = right / _unit(weights), (problem.total_weight - right) / _unit(weights)
        oracle = Runs.of(np.array([hits, 0]), np.array([0, errors]))
        return {"oracle": self.of(oracle), "chance": self.of(Runs.of(np.array([hits]), np.array([errors])))}


@metric("aurc", "AURC", abbreviation_of="area under the risk-coverage curve")
class Aurc(Selective):
    """error rate of the most confident rows, averaged over how many of them are answered

    Formula: mean over k of errors among the k most confident rows / k
    Source: Geifman et al. 2019
    Misses: mostly the error rate itself, and the first rows count most; augrc weights errors alike
    """

    def of(self, runs: Runs) -> float:
        """Return the area."""
        before, start = runs.wrong - runs.errors, runs.end - runs.rows
        sums = runs.errors + (before - runs.rate * start) * runs.harmonic
        return float(sums.sum()) / runs.number

    def most(self, rows: float) -> float:
        """Return the sum of 1/k over all rows, the contribution of an error of the most confident row."""
        return math.log(rows) + EULER

    def influence_values(self, runs: Runs) -> tuple[Doubles, Doubles]:
        """Return the sum of 1/k from a row on, and the same over the errors from this row on."""
        start = runs.end - runs.rows
        within_run = (runs.rows - start * runs.harmonic) / runs.rows  # at a random position of its run
        return _after(runs.harmonic) + within_run, _after(runs.rate * runs.harmonic) + runs.rate * within_run


@metric("augrc", "AUGRC", abbreviation_of="area under the generalized risk-coverage curve")
class Augrc(Selective):
    """wrong answers given, as a share of all rows, averaged over how many rows are answered

    Formula: mean over k of errors among the k most confident rows / n
    Source: Traub et al. 2024
    Misses: increasing maps of the confidence do not change it; log_loss sees calibration
    """

    def of(self, runs: Runs) -> float:
        """Return the area."""
        before = runs.wrong - runs.errors
        sums = runs.rows * before + runs.errors * (runs.rows + 1) / 2
        return float(sums.sum()) / runs.number**2

    def influence_values(self, runs: Runs) -> tuple[Doubles, Doubles]:
        """Return the share of rows from a row on, and the share of errors."""
        within_run = (runs.rows + 1) / 2
        if_wrong = _after(runs.rows) + within_run
        return if_wrong / runs.number, (_after(runs.errors) + runs.rate * within_run) / runs.number


@metric("selective_accuracy", "Selective accuracy", direction="higher")
class SelectiveAccuracy(Selective):
    """accuracy of the most confident rows, at a given share of rows that is answered

    Formula: 1 - errors among the k most confident rows / k, k = ceil(coverage n)
    Source: El-Yaniv & Wiener 2010
    Misses: any other coverage; aurc averages over all
    """

    coverage: float = arg("the share of rows that is answered", default=0.8, least=0, most=1, above=True)

    def of(self, runs: Runs) -> float:
        """Return the accuracy."""
        answered = self._kept(runs)
        return 1 - runs.errors_at(answered) / answered

    def influence_values(self, runs: Runs) -> tuple[Doubles, Doubles]:
        """Return the loss from a row, and the effect of replacing it at the threshold."""
        answered = self._kept(runs)
        share = np.clip((answered - runs.end + runs.rows) / runs.rows, 0, 1)
        reach = runs.number**NEAR / 2
        low, high = max(0.0, answered - reach), min(runs.number, answered + reach)
        rate = (runs.errors_at(high) - runs.errors_at(low)) / (high - low)
        scale = runs.number / answered
        return -share * scale, -share * rate * scale

    def most(self, rows: float) -> float:
        """Return the number of all rows per kept row."""
        return 1 / self.coverage

    def _kept(self, runs: Runs) -> float:
        """Return the number of kept rows."""
        return min(runs.number, math.ceil(self.coverage * runs.number * (1 - ROUNDING)))


@metric("coverage", "Coverage", direction="higher")
class Coverage(Selective):
    """largest share of rows, the most confident ones, with at most a given error rate

    Formula: max k/n with errors among the k most confident rows / k <= max_error
    Source: El-Yaniv & Wiener 2010
    Misses: it is chosen on these rows, so new ones have more errors
    """

    max_error: float = arg("the largest error rate among them", default=0.05, least=0, most=ALMOST)
    moves = False

    def of(self, runs: Runs) -> float:
        """Return the share, of whole runs."""
        answered = runs.end[runs.wrong <= self.max_error * runs.end * (1 + ROUNDING)]
        return float(answered[-1]) / runs.number if len(answered) else 0.0

    def influence_values(self, runs: Runs) -> tuple[Doubles, Doubles]:
        """Return nothing: a threshold moves by more than the influences of rows."""
        return np.zeros(len(runs.rows)), np.zeros(len(runs.rows))

    def parts(self, problem: Problem) -> dict[str, float]:
        """Return the same for an oracle, which includes errors as far as allowed, and for a random order."""
        terms = super().parts(problem)
        unit, right = _unit(problem.weights), terms["oracle"] * problem.total_weight
        rows = math.floor(right / unit / (1 - self.max_error) * (1 + ROUNDING))
        return terms | {"oracle": min(1.0, rows * unit / problem.total_weight)}

    def interval(self, spread: Spread, level: float, unit: str) -> tuple[Interval | None, str]:
        """Return why there is none."""
        return None, "it rests on the error rate near one threshold"


def _after(values: Doubles) -> Doubles:
    """Return the (m,) sums over all later entries."""
    return np.append(np.cumsum(values[::-1])[::-1][1:], 0)


def _unit(weights: Floats | None) -> float:
    """Return the weight that counts as a row."""
    counted = np.ones(1) if weights is None else weights[weights > 0]
    return 1.0 if not len(counted) or not np.mod(counted, 1).any() else float(counted.mean())


def _digamma(x: Doubles) -> Doubles:
    """Return (n,) digamma functions of numbers of at least 1."""
    x, shift = x.copy(), np.zeros(len(x))
    for _ in range(LARGE):
        small = x < LARGE
        shift[small] -= 1 / x[small]
        x[small] += 1
    series = np.polynomial.polynomial.polyval(1 / np.square(x), (0.0, *EXPANSION))
    return np.asarray(shift + np.log(x) - 1 / (2 * x) - series)


def backwards_area(measured: Measurements) -> float | None:
    """Return the area if the scores rank the wrong way round beyond chance, else None."""
    metric = RocArea()
    lens = metric._single_lens(measured)
    if lens and not measured.of_cells and is_not_backwards(*fine_cells(*measured.look(lens)[:3])):
        return None  # which is faster to compute than the area
    area = metric.spread_of(measured)
    if math.isnan(area.value) or area.fewest < FEWEST:
        return None
    return area.value if is_backwards(area.value, _sizes(measured)) else None


def _sizes(measured: Measurements) -> Doubles:
    """Return the effective number of units of each of two classes, or of each class that occurs."""
    if measured.predictions.n_classes == 2 and measured.units.single:
        problem = measured.problem("class-1")
        if (weight := problem.weights) is None:
            positives = np.count_nonzero(problem.outcome)
            return np.array([len(problem.outcome) - positives, positives], np.float64)
        of = (~problem.outcome, problem.outcome)
        return np.array([of_equal_weight(weight @ hits, problem.squared_weights @ hits) for hits in of])
    of_class, _ = _masses(measured)
    return of_equal_weight(*of_class)[of_class[0] > 0]


def _masses(measured: Measurements) -> tuple[Any, Any]:
    """Return (2, K) sums of weights and of their squares, of the units of each class and of all others."""
    rows, units = measured.predictions, measured.units
    weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
    if units.single:
        masses = np.stack([np.bincount(rows.labels, weights**power, rows.n_classes) for power in (1, 2)])
        return masses, masses.sum(axis=1, keepdims=True) - masses
    total = units.weights(rows.weights)
    of_class = [units.sums(1.0 * (rows.labels == k), weights) for k in range(rows.n_classes)]
    mass_of_class, outside = (
        np.array([[sum_.sum(), np.square(sum_).sum()] for sum_ in sums]).T
        for sums in (of_class, [total - of_k for of_k in of_class])
    )
    return mass_of_class, outside


def _rarer(measured: Measurements, outcome: Array) -> float:
    """Return the effective number of units with the rarer of two outcomes."""
    rows, units = measured.predictions, measured.units
    weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
    sums = (units.sums(1.0 * side, weights) for side in (outcome, ~outcome))
    return min(float(of_equal_weight(sum_.sum(), np.square(sum_).sum())) for sum_ in sums)
