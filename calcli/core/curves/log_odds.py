"""Probabilities as log-odds, for axes on which small ones can be told apart."""

from __future__ import annotations

import numpy as np

from calcli.core.data.arrays import Doubles

WIDEST = 14.0  # log-odds: scores beyond, about one in a million, count as there


def log_odds(score: Doubles) -> Doubles:
    """Return log-odds, those beyond one in a million as there."""
    least = 1 / (1 + np.exp(WIDEST))
    inner = np.clip(score, least, 1 - least)
    return np.log(inner / (1 - inner))


def from_log_odds(value: Doubles) -> Doubles:
    """Return the probabilities of log-odds."""
    return 1 / (1 + np.exp(-value))
