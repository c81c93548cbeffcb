"""What an evaluation is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from calcli.core.data.arrays import Array
    from calcli.core.data.predictions import Predictions
    from calcli.core.data.priors import Priors
    from calcli.core.estimators.costs import Costs

Precision = Literal["auto", "single", "double"]
Training = Literal["cross-validation", "held-out", "test"]


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
