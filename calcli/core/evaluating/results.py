"""What an evaluation returns: values with their definition and spread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.binning import Bins
from calcli.core.data.predictions import Predictions
from calcli.core.estimators.consistency import Null
from calcli.core.estimators.interval import Interval
from calcli.core.language.expressions import MetricExpression
from calcli.core.language.settings import Settings
from calcli.core.problems.problem import Problem
from calcli.core.state.collectors import InputFacts


@dataclass(frozen=True)
class Estimate:
    """The value of a metric with its definition.

    Attributes
    ----------
    call
        The metric and its arguments.
    value
        The number, a fraction or nats; may be inf or nan.
    signature
        Everything the number depends on, in one line.
    interval
        A bootstrap interval, for scores.
    if_calibrated
        The error under perfect calibration and the p-value, for calibration errors that were tested.
    sd
        Its bootstrap standard deviation, where that was asked for; of an error, it leaves out the bias.
    parts
        Numbers that the value is to be read with, by name: `constant`, the value of the best system that
        gives every row the same answer; or those it is made of.
    """

    call: MetricExpression
    value: float
    signature: str
    interval: Interval | None = None
    if_calibrated: Null | None = None
    sd: float | None = None
    parts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Decision:
    """One decision that costs know: how often it was taken and what that cost.

    Attributes
    ----------
    name
        The decision.
    rows
        Rows it was taken for.
    share
        Their share of the weight.
    mean_cost
        Weighted mean of what it cost; nan if it was never taken.
    """

    name: str
    rows: int
    share: float
    mean_cost: float


@dataclass(frozen=True)
class ClassRow:
    """One class: how often it occurs, what it is given, and how far that is off.

    Attributes
    ----------
    name
        The class.
    rows
        How many rows have it as label.
    frequency, mean_prob
        Weighted share of the labels, and mean probability.
    recall
        Weighted share of its rows that are predicted as it; nan without rows.
    ece
        Equal-width L1 error of its probability.
    if_calibrated
        That error under perfect calibration, where the classes were tested; the p-value is corrected for
        their number, of a class with rows enough.
    """

    name: str
    rows: int
    frequency: float
    mean_prob: float
    recall: float
    ece: float
    if_calibrated: Null | None = None


@dataclass(frozen=True)
class Evaluation:
    """Everything found out about one set of predictions.

    Attributes
    ----------
    predictions
        What was evaluated.
    settings
        How.
    dtype
        The type the pass computed in.
    facts
        What the pass noticed about the scores.
    estimates
        Metric values in the order asked for, by canonical expression.
    per_class
        One entry a class.
    problems
        The top-1 problem, confidence and hit of every row in ascending order, and those of other lenses that
        were asked for, by lens.
    reliability
        Its equal-width bins.
    class_bins
        (K, m) equal-width bins of every class's probability.
    infinite_rows
        Rows whose label has probability 0.
    finite_log_loss
        Log-loss of the other rows; nan if all are finite, or none is.
    skipped
        A sentence for each metric of the default report that was left out.
    decisions
        How often each decision was taken, for each of the costs in use.
    recalibration_notes
        What the fits behind calibration losses want said.
    clipped_rows
        Rows whose log-loss was clipped.
    """

    predictions: Predictions
    settings: Settings
    dtype: np.dtype[Any]
    facts: InputFacts
    estimates: dict[str, Estimate]
    per_class: list[ClassRow]
    problems: dict[str, Problem]
    reliability: Bins
    class_bins: Bins
    infinite_rows: NDArray[np.intp]
    finite_log_loss: float
    skipped: tuple[str, ...] = ()
    decisions: Mapping[str, tuple[Decision, ...]] = field(default_factory=dict)
    recalibration_notes: tuple[str, ...] = ()
    clipped_rows: int = 0

    @property
    def confidence(self) -> Problem:
        """The top-1 problem."""
        return self.problems["top-1"]
