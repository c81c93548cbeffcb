"""Mean divergences of posteriors from a fixed one."""

from __future__ import annotations

import numpy as np
import pytest

from calcli.core.curves.risk import divergences
from calcli.core.problems.problem import ordered_problem
from calcli.works.simulation import gaussian_classes


@pytest.fixture(scope="module")
def posterior():
    made = gaussian_classes("cal", 3000, np.random.default_rng(0), prior=0.6)
    return np.exp(made.scores[:, 0])


def of(score, weights=None):
    return divergences(ordered_problem(score, np.zeros(len(score), bool), weights))


def test_means_by_hand(posterior):
    found = of(posterior)
    assert found.mean == pytest.approx(posterior.mean())
    s = np.column_stack([posterior, 1 - posterior])
    for at in (0, 137, 400):
        q = np.array([found.fixed[at], 1 - found.fixed[at]])
        expected = {
            "l1_of_one": np.abs(s - q)[:, 1].mean(),
            "l1": np.abs(s - q).sum(1).mean(),
            "squared": np.square(s - q).sum(1).mean(),
            "kl": (s * np.log(s / q)).sum(1).mean(),
        }
        assert {name: curve[at] for name, curve in found.curves.items()} == pytest.approx(expected)
    whole = of(np.array([0.0, 0.5, 0.5, 1.0]))
    weighted = of(np.array([0.0, 0.5, 1.0]), np.array([1.0, 2.0, 1.0]))
    for name, curve in whole.curves.items():
        np.testing.assert_allclose(weighted.curves[name], curve)
        assert np.isfinite(curve).all()


def test_only_score_divergences_are_least_at_the_mean(posterior):
    """Eq. 29 and fig. 4 of Ferrer & Ramos 2024: a counterexample for absolute differences."""
    found = of(posterior)
    least = {name: found.fixed[curve.argmin()] for name, curve in found.curves.items()}
    step = found.fixed[1] - found.fixed[0]
    for name in ("squared", "kl"):
        assert abs(least[name] - found.mean) <= step
        assert found.at_mean[name] <= found.curves[name].min() + 1e-12
    for name in ("l1_of_one", "l1"):
        assert abs(least[name] - np.median(posterior)) <= step
        assert abs(least[name] - found.mean) > 0.1
        assert found.at_mean[name] > found.curves[name].min() + 0.01
