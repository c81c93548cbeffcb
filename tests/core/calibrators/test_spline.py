from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from calcli.core.calibrators.spline import GRID, Spline, spline_basis
from calcli.core.language.errors import UsageError

HEIGHTS = np.array([0.0, 1.0, -2.0, 0.5, 3.0, 1.0, 0.0])
SCIPY_ENDS = {"natural": "natural", "cubic": "not-a-knot"}


def sample(n, seed, calibrated):
    rng = np.random.default_rng(seed)
    q = rng.beta(1.5, 1, n)
    labels = (rng.random(n) < (q if calibrated else q**2)).astype(int)
    return np.log(np.column_stack([1 - q, q])), labels, q


@pytest.mark.parametrize("runout", SCIPY_ENDS)
def test_basis_is_the_spline_of_scipy(runout):
    t = np.linspace(0, 1, 50)
    oracle = CubicSpline(np.linspace(0, 1, 7), HEIGHTS, bc_type=SCIPY_ENDS[runout])
    np.testing.assert_allclose(spline_basis(t, 7, runout) @ HEIGHTS, oracle(t), atol=1e-12)


def test_quadratic_runout_has_quadratic_outer_pieces():
    t = np.concatenate([np.linspace(0, 1 / 6, 5), np.linspace(5 / 6, 1, 5)])
    value = spline_basis(t, 7, "quadratic") @ HEIGHTS
    for piece in (value[:5], value[5:]):
        np.testing.assert_allclose(np.diff(piece, 3), 0, atol=1e-12)
        assert abs(np.diff(piece, 2)).min() > 1e-3


@pytest.mark.parametrize("runout", SCIPY_ENDS)
def test_calibrated_score_is_score_plus_slope_at_its_fractile(runout):
    # as many rows as grid steps and no ties: the least squares are over the rows, which scipy can do
    scores, labels, q = sample(GRID, seed=1, calibrated=False)
    order = np.argsort(q)
    gap = np.append(0, np.cumsum(labels[order] - q[order])) / GRID
    t, knots = np.arange(GRID + 1) / GRID, np.linspace(0, 1, 6)
    basis = [CubicSpline(knots, row, bc_type=SCIPY_ENDS[runout]) for row in np.eye(6)]
    heights = np.linalg.lstsq(np.column_stack([b(t) for b in basis]), gap, rcond=None)[0]
    middle = t[1:] - 0.5 / GRID
    slope = np.column_stack([b(middle, 1) for b in basis]) @ heights
    expected = np.clip(q[order] + slope, 0, 1)
    got = Spline(runout=runout, smoothing=0).fit(scores, labels).predict_proba(scores[order])[:, 1]
    np.testing.assert_allclose(got, expected, atol=1e-6)


def test_calibrated_scores_stay_nearly():
    scores, labels, q = sample(200_000, seed=2, calibrated=True)
    got = Spline().fit(scores, labels).predict_proba(scores)[:, 1]
    # the slope of a spline of 6 knots has an error of about sqrt(knots / n) = 0.005
    assert np.sqrt(np.mean((got - q) ** 2)) < 0.01


@pytest.mark.parametrize("runout", ["natural", "quadratic", "cubic"])
def test_distortion_is_undone(runout):
    scores, labels, q = sample(200_000, seed=3, calibrated=False)
    got = Spline(runout=runout).fit(scores, labels).predict_proba(scores)[:, 1]
    assert np.sqrt(np.mean((got - q**2) ** 2)) < 0.02 < np.sqrt(np.mean((q - q**2) ** 2))


def test_a_score_that_many_rows_share_becomes_their_frequency():
    rng = np.random.default_rng(4)
    q = np.concatenate([rng.uniform(0.3, 0.9, 1000), np.full(4000, 0.97)])
    labels = (rng.random(5000) < np.where(q == 0.97, 0.8, q)).astype(int)
    scores = np.log(np.column_stack([1 - q, q]))
    got = Spline().fit(scores, labels).predict_proba(np.log([[0.03, 0.97]]))[0, 1]
    assert got == pytest.approx(labels[1000:].mean(), abs=0.01)


def test_scores_never_leave_the_interval():
    q = np.linspace(0.5, 1, 200)
    labels = np.repeat([0, 1], 100)
    scores = np.log(np.column_stack([1 - np.minimum(q, 1 - 1e-9), np.minimum(q, 1 - 1e-9)]))
    plain = Spline(smoothing=0).fit(scores, labels).predict_proba(scores)
    assert plain.min() == 0
    smooth = Spline().fit(scores, labels).predict_proba(scores)
    assert smooth.min() == pytest.approx(0.5 / 201)


def test_within_top_2_is_calibrated():
    rng = np.random.default_rng(5)
    logits = rng.normal(0, 1.5, (40_000, 5))
    probs = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    labels = (rng.random((40_000, 1)) > probs.cumsum(1)).sum(1)
    sharpened = 2 * logits
    after = Spline(lens="within-top-2").fit(sharpened, labels).predict_proba(sharpened)
    top = np.argsort(-logits, axis=1)[:, :2]
    score = np.take_along_axis(after, top, axis=1).sum(1)
    hit = (top == labels[:, None]).any(1)
    fifths = np.array_split(np.argsort(score), 5)
    for part in fifths:
        assert score[part].mean() == pytest.approx(hit[part].mean(), abs=4 * 0.5 / np.sqrt(8000))
    np.testing.assert_allclose(after.sum(1), 1)


@pytest.mark.parametrize("settings", [{"knots": 3}, {"runout": "parabolic"}, {"lens": "within-top-0"}])
def test_settings_it_does_not_have_are_refused(settings):
    with pytest.raises(UsageError, match=next(iter(settings))):
        Spline(**settings)
