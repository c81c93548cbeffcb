"""What an evaluation is asked for, and what it returns: values with their definition and spread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array
from calcli.core.data.binning import Bins
from calcli.core.data.blocks import Precision
from calcli.core.data.predictions import Predictions
from calcli.core.data.priors import Priors
from calcli.core.estimators.consistency import Null
from calcli.core.estimators.costs import Costs
from calcli.core.estimators.interval import Interval
from calcli.core.language.expressions import MetricExpression
from calcli.core.problems.problem import Problem
from calcli.core.state.collectors import InputFacts

Training = Literal["cross-validation", "held-out", "test"]


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
class Settings:
    """What is to be computed, and how.

    Attributes
    ----------
    metrics
        Metric expressions; empty for the default report.
    bins
        Number of bins where an expression does not say.
    level
        Nominal coverage of the intervals.
    resamples
        Bootstrap resamples; 0 for no intervals.
    draws
        Simulated data sets behind each p-value; 0 for no tests.
    seed
        Seed of both.
    precision
        "single", "double", or "auto": double up to 5 million elements.
    costs
        Costs of decisions that metrics may name.
    clip
        Least probability of a label that the log-loss counts with; 0 for no clipping.
    recalibrator, training
        How the calibration loss recalibrates, and what trains it, where an expression does not say.
    loss_resamples
        Bootstrap resamples behind the interval of a calibration loss; 0 for none.
    cluster
        Column whose values dependent rows share; they are resampled together and stay in one fold.
    fold_column
        Column that says which fold of the cross-validation a row is in; None to deal them out.
    priors
        Class priors to weight the rows to; None for the frequencies they have.
    shift_to_priors
        Whether to move the posteriors to these priors as well.
    test
        Whether to test every error, also the class-wise ones.
    resample_predictions
        Whether the tests resample the rows as well, and do not keep the predictions as they are.
    sd
        Whether to find the bootstrap standard deviation of every metric.
    groups
        Partitions of the classes by name, which lenses may name: the group of every class name.
    edges
        Explicit bin edges by name, which binnings may name.
    """

    metrics: tuple[str, ...] = ()
    bins: int = 15
    level: float = 0.95
    resamples: int = 1000
    draws: int = 999
    seed: int = 0
    precision: Precision = "auto"
    costs: tuple[Costs, ...] = ()
    clip: float = 0.0
    recalibrator: str = "dp"
    training: Training = "cross-validation"
    loss_resamples: int = 0
    cluster: str | None = None
    fold_column: str | None = None
    priors: Priors | None = None
    shift_to_priors: bool = False
    test: bool = False
    resample_predictions: bool = False
    sd: bool = False
    groups: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    edges: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    @property
    def defaults(self) -> dict[str, str | int]:
        """What metrics assume where their expression does not say; of costs, the only ones."""
        costs = {"costs": self.costs[0].name} if len(self.costs) == 1 else {}
        return {"bins": self.bins, "recalibrator": self.recalibrator, "training": self.training, **costs}

    def clusters(self, predictions: Predictions) -> Array | None:
        """Return the (N,) values that dependent rows share; None if rows do not depend."""
        return None if self.cluster is None else predictions.column(self.cluster)

    def given_folds(self, predictions: Predictions) -> Array | None:
        """Return the (N,) folds that a column names; None if they are to be dealt out."""
        return None if self.fold_column is None else predictions.column(self.fold_column)


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
    confidence
        The top-1 problem: confidence and hit of every row, in ascending order.
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
    confidence: Problem
    reliability: Bins
    class_bins: Bins
    infinite_rows: NDArray[np.intp]
    finite_log_loss: float
    skipped: tuple[str, ...] = ()
    decisions: Mapping[str, tuple[Decision, ...]] = field(default_factory=dict)
    recalibration_notes: tuple[str, ...] = ()
    clipped_rows: int = 0
