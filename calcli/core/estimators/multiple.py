"""Many tests at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from calcli.core.estimators.consistency import Null

SIGNIFICANT = 0.05  # at which that many draws leave room: their least p-value, corrected, is half of it
SHARPNESS = 4  # the least p-value that resampling can give is so much smaller than the strictest level


def holm(p_values: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Return adjusted p-values; those at or below a level are rejected by Holm's procedure (Holm 1979).

    The chance that any true hypothesis is rejected is then at most the level, however the tests depend on
    each other.

    Parameters
    ----------
    p_values
        (m,) p-values, in [0, 1].

    Returns
    -------
    (m,) adjusted p-values in the same order, in [0, 1].
    """
    p = np.asarray(p_values, np.float64)
    order = np.argsort(p)
    hypotheses_left = np.arange(len(p), 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(hypotheses_left * p[order]), 1)
    return adjusted


def enough_draws(tests: int) -> int:
    """Return how many simulated data sets let the least p-value of so many tests be found significant."""
    return math.ceil(2 * tests / SIGNIFICANT) - 1


def with_holm(nulls: Sequence[Null | None], counted: Sequence[bool]) -> list[Null | None]:
    """Return tests with p-values corrected for their number.

    Parameters
    ----------
    nulls
        One a test; None for what was not tested.
    counted
        Whether each has rows enough to be judged; the others stay as they are.
    """
    judged = {n: null.p_value for n, null in enumerate(nulls) if null is not None and counted[n]}
    corrected = dict(zip(judged, holm(list(judged.values())).tolist(), strict=True))
    return [replace(null, corrected_p=corrected.get(n)) if null else None for n, null in enumerate(nulls)]
