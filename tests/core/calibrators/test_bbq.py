from __future__ import annotations

import numpy as np
import pytest
from scipy.special import beta

from calcli.core.calibrators.bbq import BBQ


def columns(q):
    return np.log(np.column_stack([1 - q, q]))


def test_the_mean_of_binnings_by_hand():
    q = np.array([0.1, 0.2, 0.4, 0.5, 0.6, 0.9])
    labels = np.array([0, 0, 1, 0, 1, 1])
    edges = {1: [0, 1], 2: [0, 0.45, 1], 3: [0, 0.3, 0.55, 1], 6: [0, 0.15, 0.3, 0.45, 0.55, 0.75, 1]}
    edges[4] = [0, 0.3, 0.45 + 0.1, 0.75, 1]  # sizes 2, 2, 1, 1
    edges[5] = [0, 0.3, 0.45, 0.55, 0.75, 1]
    evidence, values = [], []
    for bins in range(1, 7):
        ends = np.array(edges[bins])
        place = np.searchsorted(ends, q, side="right") - 1
        middle = (ends[:-1] + ends[1:]) / 2
        count, hits = np.bincount(place, minlength=bins), np.bincount(place, labels, bins)
        a, c = 2 / bins * middle, 2 / bins * (1 - middle)
        evidence.append(np.prod(beta(hits + a, count - hits + c) / beta(a, c)))
        values.append(((hits + a) / (count + 2 / bins))[place])
    expected = np.average(values, axis=0, weights=evidence)
    got = BBQ().fit(columns(q), labels).predict_proba(columns(q))[:, 1]
    np.testing.assert_allclose(got, expected, rtol=1e-9)


def test_distortion_is_undone():
    rng = np.random.default_rng(0)
    q = rng.beta(1.5, 1, 20_000)
    labels = (rng.random(len(q)) < q**2).astype(int)
    got = BBQ().fit(columns(q), labels).predict_proba(columns(q))[:, 1]
    assert np.sqrt(np.mean((got - q**2) ** 2)) < 0.03 < np.sqrt(np.mean((q - q**2) ** 2))
    assert 0 < got.min() < got.max() < 1


def test_scores_all_alike_become_their_frequency():
    q, labels = np.full(50, 0.3), np.repeat([0, 1], [20, 30])
    got = BBQ().fit(columns(q), labels).predict_proba(columns(q))[:, 1]
    np.testing.assert_allclose(got, (30 + 1) / 52)
    assert BBQ().fit(columns(q), labels).predict_proba(columns(np.array([0.99])))[0, 1] == pytest.approx(
        31 / 52
    )
