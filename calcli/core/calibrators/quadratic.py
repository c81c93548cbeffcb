"""Quadratic scaling of log-odds (Berta et al. 2025)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calcli.core.calibrators.events import Event
from calcli.core.calibrators.fit.logistic import LogisticLoss
from calcli.core.calibrators.fit.newton import minimize
from calcli.core.calibrators.fit.outcomes import LogisticProblem, fit_each, unit_of
from calcli.core.calibrators.logistic import Logistic, finite_logs, sigmoid_event
from calcli.core.calibrators.onevsrest import MapParameters
from calcli.core.data.arrays import Doubles

ROUGH = 1e-8  # tolerance at which a fit is still running away, where outcomes are separable


@dataclass(kw_only=True, eq=False, repr=False)
class Quadratic(Logistic):
    """sigmoid(square * log-odds^2 + slope * log-odds + intercept), fitted by maximum likelihood.

    The map need not rise. Where two thresholds separate the outcomes there is no finite optimum, and targets
    are smoothed as by Platt.

    Parameters
    ----------
    {lens}
    score : {"log_loss", "brier"}
        What is minimized. The Brier score is not convex: its minimum nearest to that of the log-loss.

    References
    ----------
    Berta et al., Structured matrix scaling for multi-class calibration, 2025 (arXiv:2511.03685): quadratic
    scaling of two classes.
    """

    name: ClassVar[str] = "quadratic"

    def fit_together(self, problems: Sequence[LogisticProblem]) -> list[MapParameters]:
        """Return `square`, `slope` and `intercept` of each, and what stands for the logarithm of 0."""
        return [self._fitted(problem) for problem in problems]

    def _fitted(self, problem: LogisticProblem) -> MapParameters:
        unit = unit_of(problem.log_odds)  # else the square would rule the fit
        scaled = problem.log_odds / unit
        features = np.column_stack([scaled**2, scaled, np.ones_like(scaled)])
        target = problem.outcome.astype(np.float64)
        separable = bool(problem.outcome.all() or not problem.outcome.any())
        if not separable:
            first = minimize(LogisticLoss(features, target, problem.share), np.zeros(3), ROUGH)
            separable = first.at_infinity or not first.converged
        target = self.safe_targets(problem, separable)
        square, slope, intercept = fit_each([problem], features[None], target[None])[0][0]
        return {"square": square / unit**2, "slope": slope / unit, "intercept": intercept, **problem.levels}

    def corners(self) -> Doubles:
        """Return where the parabola of each map turns as well."""
        square, slope = (np.asarray(self.learned(key)) for key in ("square", "slope"))
        bent = square != 0
        vertex = -slope[bent] / (2 * square[bent])
        return np.concatenate([super().corners(), np.exp(-np.logaddexp(0, -vertex))])

    def apply_map(self, parameters: MapParameters, event: Event) -> Event:
        """Return the event after calibration."""
        log_prob, log_complement = finite_logs(parameters, event)
        odds = log_prob - log_complement
        slope = parameters["square"] * odds + parameters["slope"]
        return sigmoid_event(slope * odds + parameters["intercept"])
