"""The probability of the first of two classes, from that of the second: ties stay ties."""

from __future__ import annotations

import numpy as np
import pytest

import calcli
from calcli.core.data.inmemory import two_columns


def other(second):
    return two_columns(second, "probs", np.empty((2, len(second)), second.dtype))[:, 0]


@pytest.mark.parametrize(
    ("dtype", "decimals"), [(np.float64, 2), (np.float64, 6), (np.float32, 2), (np.float32, 4)]
)
def test_decimals_are_kept(dtype, decimals):
    whole = np.arange(10**decimals + 1) if decimals < 6 else np.arange(0, 10**6 + 1, 997)
    probs = (whole / 10**decimals).astype(dtype)
    expected = ((10**decimals - whole) / 10**decimals).astype(dtype)
    np.testing.assert_array_equal(other(probs), expected)


def test_numbers_of_full_precision_are_subtracted():
    probs = np.random.default_rng(0).random(10_000)
    assert np.abs(other(probs) - (1 - probs)).max() < 1.2e-16
    small = np.array([1 - 2.0**-53, 1e-300, 0.0, 1.0])
    np.testing.assert_array_equal(other(small), 1 - small)


def test_both_layouts_have_the_same_ties():
    rng = np.random.default_rng(1)
    score = rng.choice([0.07, 0.18, 0.33, 0.67, 0.82, 0.93], 800)
    labels = (rng.random(800) < score).astype(int)
    asked = {"metrics": "ks,kuiper,aurc,coverage:max_error=0.1,ece:binning=equal-mass:bins=5", "draws": 0}
    one, two = (calcli.evaluate(p, labels, **asked) for p in (score, np.c_[np.round(1 - score, 2), score]))
    for own, other_layout in zip(
        one.results[0].metrics.values(), two.results[0].metrics.values(), strict=True
    ):
        assert own.value == other_layout.value
