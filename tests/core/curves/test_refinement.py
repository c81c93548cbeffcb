"""Curves of divergences and refinement losses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import entropy

from calcli.core.curves.refinement import refinement


def test_the_worked_example_and_scipy():
    """Example 4.3.2 of van de Waterlaat 2021: .18 where one row of ten is of the first class."""
    found = refinement()
    at = {round(float(c), 3): place for place, c in enumerate(found.calibrated)}
    assert found.brier[at[0.1]] == pytest.approx(0.18)
    for c, place in at.items():
        both = np.array([c, 1 - c])
        assert found.log_loss[place] == pytest.approx(entropy(both))
        assert found.kl[place] == pytest.approx(entropy(both, [0.5, 0.5]))
        assert found.squared[place] == pytest.approx(np.square(both - 0.5).sum())
        assert found.error_rate[place] == pytest.approx(both.min())
