"""The results of an evaluation: values with their definition and spread."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from calcli.core.data.arrays import Array, Doubles
from calcli.core.data.binning import Bins
from calcli.core.data.derived import Slice
from calcli.core.data.predictions import Predictions, Provenance
from calcli.core.estimators.calibrationerror import Null
from calcli.core.estimators.intervals import Interval
from calcli.core.language.expressions import WRONG_RIGHT, Measure
from calcli.core.language.settings import Settings
from calcli.core.language.text import apart
from calcli.core.problems.lenses import VectorProblem
from calcli.core.problems.problem import Problem

SHOWN = 4  # metrics in one line


@dataclass(frozen=True, eq=False)
class VectorBins:
    """The bins of vectors behind an error, without empty ones.

    Attributes
    ----------
    outcomes
        d names.
    rows, share
        (m,) number of rows, and share of the weight.
    mean, frequency
        (m, d) mean prediction and frequency of each outcome (Vaicenavicius et al. 2019, section 4.1).
    """

    outcomes: tuple[str, ...]
    rows: Array
    share: Doubles
    mean: Doubles
    frequency: Doubles


@dataclass(frozen=True, repr=False)
class Estimate:
    """The value of a metric with its definition.

    Attributes
    ----------
    metric
        The metric and its arguments.
    value
        The number, a fraction or nats; may be inf or nan.
    signature
        Everything that the value depends on, in one line.
    interval
        For metrics that may have one.
    no_interval
        Why there is none; "" if there is one, or none was requested.
    if_calibrated
        The error under perfect calibration and the p-value, for calibration errors that were tested.
    parts
        Numbers to read the value with, by name: `constant`, the value of the best system that
        gives every row the same answer; or the components of the metric.
    bins
        For an error of vectors, unless there are too many.
    rows
        Number of rows of the sample behind it; None if it comes from all rows.
    grid
        The largest possible distance to the value from the rows, if scores lie on the grid of a state and the
        distance is known.
    recalibrator
        The recalibration, if there was one.
    """

    metric: Measure
    value: float
    signature: str
    interval: Interval | None = None
    no_interval: str = ""
    if_calibrated: Null | None = None
    parts: Mapping[str, float] = field(default_factory=dict)
    bins: VectorBins | None = None
    rows: int | None = None
    recalibrator: str = ""

    @property
    def digits(self) -> int | None:
        """The number of decimals that matches its precision; None if that is unknown."""
        width = self.interval.high - self.interval.low if self.interval else 0.0
        return apart(width, self.if_calibrated.sd if self.if_calibrated else 0.0)

    def __repr__(self) -> str:
        texts = [f"{self.metric.text} {self.value:.6g}"]
        if self.interval is not None:
            low, high, level = self.interval.low, self.interval.high, self.interval.level
            texts.append(f"{level:.4g} interval {low:.6g} to {high:.6g}")
        if self.if_calibrated is not None:
            null = self.if_calibrated
            texts.append(f"if calibrated {null.mean:.4g} ± {null.sd:.2g}, p {null.p_value:.3g}")
        return f"<{'; '.join(texts)}>"


@dataclass(frozen=True)
class OfClass:
    """How often a decision was taken for a class (Ferrer & Ramos 2024, eq. 7).

    Attributes
    ----------
    rows
        N_ij: rows of the class for which it was taken.
    share
        R_ij: their share of the weight of the class.
    """

    rows: int
    share: float


@dataclass(frozen=True)
class Decision:
    """One decision of the costs: how often it was taken, and its cost.

    Attributes
    ----------
    name
        The decision.
    rows
        Rows for which it was taken.
    share
        Their share of the weight.
    mean_cost
        Weighted mean cost; nan if it was never taken.
    by_class
        The classes for which it was taken.
    """

    name: str
    rows: int
    share: float
    mean_cost: float
    by_class: Mapping[str, OfClass] = field(default_factory=dict)


@dataclass(frozen=True)
class ClassRow:
    """One class: its frequency, its mean probability, and the error of its probability.

    Attributes
    ----------
    name
        The class.
    rows
        Number of rows with this label.
    frequency, mean_prob
        Weighted share of the labels, and mean probability.
    recall
        Weighted share of its rows predicted as it; nan without rows.
    ece
        Equal-width L1 error of its probability.
    calibration_loss, refinement_loss
        Its terms in the binned losses of the Brier score (van de Waterlaat 2021, eq. 4.8 and B.3).
    if_calibrated
        The error under perfect calibration, if the classes were tested; the p-value is corrected for
        the number of classes with enough rows.
    predicted_as
        For predicted classes, how many of its rows are predicted as each class: its row in the confusion
        matrix.
    """

    name: str
    rows: int
    frequency: float
    mean_prob: float
    recall: float
    ece: float
    calibration_loss: float
    refinement_loss: float
    if_calibrated: Null | None = None
    predicted_as: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Input(Provenance):
    """The input: where it came from and how it was read.

    Attributes
    ----------
    rows, classes
        Their number.
    class_names
        In the order of the columns.
    weighted
        Whether rows carry weights.
    kind, kind_reason
        The kind of the scores, and why.
    dtype, computed_in
        Type of the stored scores, and of the computation.
    worst_row_sum
        The sum of probabilities farthest from one, as given.
    zeros, ones
        Probabilities of exactly 0, rows with a probability of exactly 1.
    tied_rows
        Rows with a shared largest probability.
    absent_classes
        Classes without a row.
    reading
        How the data were read, in a sentence, and the doubts.
    """

    rows: int
    classes: int
    class_names: tuple[str, ...]
    weighted: bool
    kind: str
    kind_reason: str
    dtype: str
    computed_in: str
    worst_row_sum: float
    zeros: int
    ones: int
    tied_rows: int
    absent_classes: tuple[str, ...]
    reading: tuple[str, ...] = ()

    @property
    def of_answers(self) -> bool:
        """Whether these are answers, right or wrong, instead of rows with classes."""
        return self.class_names == WRONG_RIGHT

    @property
    def of_two(self) -> bool:
        """Whether there are two classes, with the probability of the second one as the score."""
        return self.classes == 2 and not self.of_answers


@dataclass(frozen=True)
class InfiniteLogLoss:
    """Rows with probability 0 of their label.

    Attributes
    ----------
    rows
        How many.
    first
        The first such row, counted from 0.
    value_without
        The log-loss of the others.
    """

    rows: int
    first: tuple[int, ...]
    value_without: float


@dataclass(frozen=True)
class ReliabilityBin:
    """One nonempty bin of the scores through the default lens.

    Attributes
    ----------
    low, high
        Its edges.
    rows
        Rows in it.
    predicted, observed
        Weighted mean score and frequency of these rows.
    """

    low: float
    high: float
    rows: int
    predicted: float
    observed: float


@dataclass(frozen=True)
class Summary:
    """The results for one set of predictions, small enough to keep by the thousand.

    Attributes
    ----------
    input
        The input.
    settings
        How it was evaluated.
    estimates
        Metric values in the order asked for, by canonical expression.
    infinite_log_loss
        None if there is no such row.
    decisions
        How often each decision was taken and what it cost, for each of the costs in use.
    skipped
        A sentence for each metric of the default report that was left out.
    recalibration_notes
        Notes of the fits behind calibration losses.
    clipped_rows
        Rows with a clipped log-loss.
    accuracy
        Weighted share of the correctly predicted rows.
    per_class
        One entry per class, in the order of the columns.
    reliability
        Top-1 reliability, in nonempty bins.
    slice
        The value of a column that all rows share; None for all rows of the data.
    gap
        Mean confidence minus accuracy, for any request; None if the needed rows were not kept.
    backwards_area
        The area under the ROC curve, for any request, if scores rank the wrong way round; else None.
    mixed
        Names of the questions with right and wrong epochs.
    """

    input: Input
    settings: Settings
    estimates: Mapping[str, Estimate]
    infinite_log_loss: InfiniteLogLoss | None
    decisions: Mapping[str, tuple[Decision, ...]]
    skipped: tuple[str, ...]
    recalibration_notes: tuple[str, ...]
    clipped_rows: int
    accuracy: float = math.nan
    per_class: tuple[ClassRow, ...] = ()
    reliability: tuple[ReliabilityBin, ...] = ()
    slice: Slice | None = None
    gap: Estimate | None = None
    backwards_area: float | None = None
    mixed: tuple[str, ...] = ()

    def __repr__(self) -> str:
        part = "" if self.slice is None else f", {self.slice}"
        texts = [f"{name} {estimate.value:.4g}" for name, estimate in list(self.metrics.items())[:SHOWN]]
        texts += [f"and {len(self.metrics) - SHOWN} more"] if len(self.metrics) > SHOWN else []
        return f"<{type(self).__name__} on {self.input.path}{part}: {', '.join(texts)}>"

    @property
    def metrics(self) -> dict[str, Estimate]:
        """Metric values by the requested expression."""
        return {estimate.metric.text: estimate for estimate in self.estimates.values()}


class LensProblems(dict[str, Problem]):
    """Induced problems by lens; some are sorted on first use."""

    def __init__(self, lenses: Iterable[str], problem: Callable[[str], Problem]) -> None:
        super().__init__()
        self._lenses, self._problem = frozenset(lenses), problem

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, ({lens: self[lens] for lens in [*self._lenses, *self]},)

    def __contains__(self, lens: object) -> bool:
        return lens in self._lenses or super().__contains__(lens)

    def __missing__(self, lens: str) -> Problem:
        if lens not in self._lenses:
            raise KeyError(lens)
        self[lens] = self._problem(lens)
        return self[lens]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The results for one set of predictions, with the rows that figures need.

    Attributes
    ----------
    predictions
        The evaluated predictions.
    summary
        The results without rows.
    problems
        The problem of the default lens, score and outcome of every row in ascending order, and problems of
        other lenses that were asked for, by lens.
    class_bins
        (K, m) equal-width bins of every class's probability, if classes are shown.
    vectors
        Requested problems of several outcomes, by lens.
    slices
        Results for the values of requested columns, by column.
    """

    predictions: Predictions
    summary: Summary
    problems: LensProblems
    class_bins: Bins | None
    vectors: dict[str, VectorProblem] = field(default_factory=dict)
    slices: dict[str, tuple[Summary, ...]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return repr(self.summary).replace(type(self.summary).__name__, type(self).__name__, 1)

    @property
    def settings(self) -> Settings:
        """How it was evaluated."""
        return self.summary.settings

    @property
    def estimates(self) -> Mapping[str, Estimate]:
        """Metric values, by canonical expression."""
        return self.summary.estimates
