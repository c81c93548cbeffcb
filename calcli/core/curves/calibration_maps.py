"""The effect of a calibrator on a score, and the log-loss as a function of the temperature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calcli.core.calibrators.base import Calibrator
from calcli.core.calibrators.crossvalidation import rows_of
from calcli.core.calibrators.temperature import Temperature
from calcli.core.curves.reliability import FEW_ROWS
from calcli.core.data.arrays import Bools, Doubles, Tables, from_log_odds, log_odds, log_softmax, log_sum_exp
from calcli.core.data.binning import Bins
from calcli.core.data.predictions import Predictions
from calcli.core.language.errors import InputError
from calcli.core.problems.problem import ordered_problem

POINTS = 201
BINS = 15
RUNS = 40  # runs of rows with similar scores, evenly spaced in log-odds
FLAT = 1e-6  # nats: a smaller difference shows no optimum
SPREAD = 0.9  # share of the rows between the lower and upper curves


@dataclass(frozen=True)
class CalibrationMap:
    """The calibrated score against the score.

    Attributes
    ----------
    lens
        "class-1" for two classes; "top-1" for more: the predicted class before and after.
    before, after
        (p,) score, ascending, and its mean after calibration.
    low, high
        (p,) central 90% of the results for rows with similar scores; equal to `after` for two classes, where
        the calibrated score is a function of the score.
    bins
        (m,) sums of the scores and outcomes of the data, in bins of equal width in the score or, for two
        classes, in its log-odds.
    all_rows
        Number of all rows of the data, before thinning.
    """

    lens: str
    before: Doubles
    after: Doubles
    low: Doubles
    high: Doubles
    bins: Bins
    all_rows: int

    @property
    def thin(self) -> Bools:
        """(m,) whether a bin has rows, but too few for a conclusion."""
        return (self.bins.count > 0) & (self.bins.count < FEW_ROWS)

    def tables(self) -> Tables:
        """Return the table behind the map, and the table behind the circles: nonempty bins of the data."""
        columns = {"before": self.before, "after": self.after, "low": self.low, "high": self.high}
        filled = self.bins.weight > 0
        weight = self.bins.weight[filled]
        circles = {
            "rows": self.bins.count[filled],
            "weight": weight,
            "mean_score": self.bins.score[filled] / weight,
            "frequency": self.bins.outcome[filled] / weight,
        }
        return {"": columns, "observed": circles}


@dataclass(frozen=True)
class TemperatureCurve:
    """Log-loss of the scores divided by a temperature.

    Attributes
    ----------
    temperature
        (p,) ascending.
    log_loss
        (p,) mean log-loss in nats, over the rows used.
    fitted, fitted_loss
        The temperature that `fit` learns from these rows, and its log-loss; None if no temperature is
        better than others, or it is outside the curve.
    rows, all_rows
        Rows used, and rows of the data.
    left_out
        Rows with probability 0 of their label, which no temperature changes.
    """

    temperature: Doubles
    log_loss: Doubles
    fitted: float | None = None
    fitted_loss: float | None = None
    rows: int = 0
    all_rows: int = 0
    left_out: int = 0

    def tables(self) -> Tables:
        """Return the table behind the curve, and the fit."""
        fitted = [np.nan if optimum is None else optimum for optimum in (self.fitted, self.fitted_loss)]
        fit = {
            "temperature": np.array(fitted[:1]),
            "log_loss": np.array(fitted[1:]),
            "rows": np.array([self.rows]),
        }
        return {"": {"temperature": self.temperature, "log_loss": self.log_loss}, "fit": fit}

    @property
    def is_best(self) -> bool:
        """Whether the fitted temperature is the best; if every row is right, lower ones are better."""
        return self.fitted_loss is not None and self.fitted_loss <= self.log_loss.min() * (1 + FLAT)


def calibration_map(calibrator: Calibrator, rows: Predictions, *, raw: bool = False) -> CalibrationMap:
    """Return how a fitted calibrator maps the scores of data, such as the data of its fit.

    Parameters
    ----------
    calibrator
        A calibrator fitted to these classes.
    rows
        Some of these data.
    raw
        Whether it takes raw logits, which probabilities do not determine.
    """
    rows_read = rows_of(rows, exact=True)
    scores, labels = rows_read.scores, np.asarray(rows_read.labels)
    probs = np.exp(log_softmax(scores))
    if scores.shape[1] == 2:
        lens, chosen = "class-1", np.ones(len(labels), np.intp)
    else:
        lens, chosen = "top-1", probs.argmax(1)
    score, outcome = probs[np.arange(len(labels)), chosen], labels == chosen
    low_end, high_end = log_odds(np.array([score.min(), score.max()])).tolist()
    if lens == "class-1" and not raw:
        before = from_log_odds(np.linspace(low_end, high_end, POINTS))
        after = low = high = np.exp(calibrator.apply(np.log(np.stack([1 - before, before], axis=1)))[:, 1])
    else:
        calibrated = np.exp(calibrator.apply(scores)[np.arange(len(labels)), chosen])
        before, after, low, high = _summary(score, calibrated)
    problem = ordered_problem(score, outcome, rows_read.weights)
    even = tuple(from_log_odds(np.linspace(low_end, high_end, BINS + 1)).tolist())
    bins = problem.bins(even if lens == "class-1" else "equal-width", BINS)
    return CalibrationMap(lens, before, after, low, high, bins, _all_rows(rows))


def _summary(before: Doubles, after: Doubles) -> tuple[Doubles, Doubles, Doubles, Doubles]:
    """Return the mean score, and mean and quantiles of the calibrated score, in runs of similar scores.

    The first and last points are the lowest and highest score: the line reaches all rows.
    """
    order = np.argsort(before, kind="stable")
    place = log_odds(before[order])
    cells = np.floor((place - place[0]) / max(np.ptp(place), 1e-9) * RUNS).clip(max=RUNS - 1)
    inner = np.split(order, np.flatnonzero(np.diff(cells)) + 1)
    runs = [order[before[order] == before[order[0]]], *inner, order[before[order] == before[order[-1]]]]
    tails = [(1 - SPREAD) / 2, (1 + SPREAD) / 2]
    rows = [(before[run].mean(), after[run].mean(), *np.quantile(after[run], tails)) for run in runs]
    mean, places = np.unique([row[0] for row in rows], return_index=True)
    _, calibrated, low, high = np.array(rows)[places].T
    return mean, calibrated, low, high


def _all_rows(rows: Predictions) -> int:
    """Return the number of rows before sampling."""
    return rows.provenance.sampled_from or rows.n_rows


def temperature_curve(rows: Predictions, widest: float = 8.0) -> TemperatureCurve:
    """Return the log-loss against the temperature, from 1 / widest to widest.

    Rows with probability 0 of their label would make it infinite everywhere and are left out.

    Raises
    ------
    InputError
        If no row is left.
    """
    scored_rows = rows_of(rows, exact=True)
    labels, weights, log_probs = (
        np.asarray(scored_rows.labels),
        scored_rows.weights,
        log_softmax(scored_rows.scores),
    )
    of_label = log_probs[np.arange(len(labels)), labels]
    possible = np.isfinite(of_label)
    if not possible.any():
        raise InputError("every label has probability 0, so no temperature changes the log-loss")
    log_probs, of_label, labels = log_probs[possible], of_label[possible], labels[possible]
    weights = None if weights is None else weights[possible]

    def loss(t: float) -> float:
        return float(np.average(log_sum_exp(log_probs / t)[:, 0] - of_label / t, weights=weights))

    temperature = np.geomspace(1 / widest, widest, 61)
    losses = np.array(list(map(loss, temperature.tolist())))
    fitted = fitted_loss = None
    if np.ptp(losses) > FLAT:
        optimum = float(Temperature().fit(log_probs, labels, weights).parameters["temperature"])
        if temperature[0] <= optimum <= temperature[-1]:
            fitted, fitted_loss = optimum, loss(optimum)
    left_out = int(np.count_nonzero(~possible))
    return TemperatureCurve(temperature, losses, fitted, fitted_loss, rows.n_rows, _all_rows(rows), left_out)
