"""Lines through a series of values, against scipy."""

import numpy as np
import pytest
from scipy.signal import savgol_filter

from calcli.core.curves.series import smoother
from calcli.core.language.errors import UsageError


@pytest.mark.parametrize("window", [5, 11, 21])
def test_savgol_is_that_of_scipy(window):
    value = np.random.default_rng(0).normal(size=40).cumsum()
    smooth, width = smoother(f"savgol/{window}")
    assert width == window
    np.testing.assert_allclose(smooth(value), savgol_filter(value, window, polyorder=3), atol=1e-12)
    np.testing.assert_allclose(smooth(value[:window]), savgol_filter(value[:window], window, 3), atol=1e-12)


def test_savgol_keeps_cubic_curves():
    x = np.linspace(-1, 1, 30)
    np.testing.assert_allclose(smoother("savgol/11")[0](x**3 - x), x**3 - x, atol=1e-12)


def test_moving_mean():
    smooth, _ = smoother("moving/3")
    np.testing.assert_allclose(smooth(np.array([1.0, 2.0, 6.0, 1.0])), [1, 3, 3, 1])
    assert smooth(np.array([1.0, 2.0, 6.0, 1.0, np.inf]))[:3].tolist() == [1, 3, 3]


def test_few_values_and_none_are_left_alone():
    value = np.arange(10.0) ** 2
    for text in ("savgol/11", "moving/11", "none"):
        assert smoother(text)[0](value) is value


@pytest.mark.parametrize("text", ["savgol", "savgol/10", "savgol/3", "moving/1", "moving/x", "mean/3", ""])
def test_other_filters_are_refused(text):
    with pytest.raises(UsageError, match=r"expected none, moving/N or savgol/N"):
        smoother(text)
