"""Divergences and refinement losses of two classes as functions of the calibrated probability."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calcli.core.data.arrays import Doubles, Tables

POINTS = 201
GUESS = 0.5  # the prediction whose divergences are shown


@dataclass(frozen=True)
class Refinement:
    """What rows of one prediction lose, by how often the first class occurs among them.

    Attributes
    ----------
    calibrated
        (p,) frequency of the first class, evenly spaced from 0 to 1.
    squared, kl
        (p,) divergence of the prediction 0.5, 0.5 from it: squared Euclidean, and Kullback-Leibler in nats.
    brier, log_loss
        (p,) refinement losses: the expected scores of the calibrated prediction.
    error_rate
        (p,) of the more frequent class.
    """

    calibrated: Doubles
    squared: Doubles
    kl: Doubles
    brier: Doubles
    log_loss: Doubles
    error_rate: Doubles

    def tables(self) -> Tables:
        """Return the table behind the curves."""
        return {"": dict(vars(self))}


def refinement() -> Refinement:
    """Return the curves (van de Waterlaat 2021, examples 4.3.2 and 4.3.3, fig. 4.2, 4.5 and 4.7)."""
    c = np.linspace(0, 1, POINTS)
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = [np.where(p > 0, p * np.log(p), 0.0) for p in (c, 1 - c)]
    entropy = -(parts[0] + parts[1])
    cross = -c * np.log(GUESS) - (1 - c) * np.log(1 - GUESS)
    return Refinement(
        c, 2 * (c - GUESS) ** 2, cross - entropy, 2 * c * (1 - c), entropy, np.minimum(c, 1 - c)
    )
