from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize
from scipy.interpolate import CubicSpline

from calcli.core.calibrators.spline import GRID, Spline, even_knots, spline_basis
from calcli.core.language.errors import InputError, UsageError
from tests.core.samples import columns

HEIGHTS = np.array([0.0, 1.0, -2.0, 0.5, 3.0, 1.0, 0.0])
SCIPY_ENDS = {"natural": "natural", "cubic": "not-a-knot"}


def sample(n, seed, calibrated):
    rng = np.random.default_rng(seed)
    q = rng.beta(1.5, 1, n)
    labels = (rng.random(n) < (q if calibrated else q**2)).astype(int)
    return columns(q), labels, q


def test_quadratic_runout_has_quadratic_outer_pieces():
    t = np.concatenate([np.linspace(0, 1 / 6, 5), np.linspace(5 / 6, 1, 5)])
    value = spline_basis(t, even_knots(7), "quadratic") @ HEIGHTS
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


def test_scores_never_leave_the_interval():
    q = np.linspace(0.5, 1, 200)
    labels = np.repeat([0, 1], 100)
    scores = columns(np.minimum(q, 1 - 1e-9))
    plain = Spline(smoothing=0).fit(scores, labels).predict_proba(scores)
    assert plain.min() == 0
    smooth = Spline().fit(scores, labels).predict_proba(scores)
    assert smooth.min() == pytest.approx(0.5 / 201)


@pytest.mark.parametrize("runout", SCIPY_ENDS)
def test_basis_on_knots_of_ones_own_is_the_spline_of_scipy(runout):
    t, at = np.linspace(0, 1, 50), (0.0, 0.05, 0.3, 0.35, 0.7, 0.9, 1.0)
    oracle = CubicSpline(at, HEIGHTS, bc_type=SCIPY_ENDS[runout])
    np.testing.assert_allclose(spline_basis(t, at, runout) @ HEIGHTS, oracle(t), atol=1e-11)


def test_the_spline_through_the_cumulative_outcome():
    scores, labels, q = sample(GRID, seed=1, calibrated=False)
    order = np.argsort(q)
    outcome = np.append(0, np.cumsum(labels[order])) / GRID
    t, knots = np.arange(GRID + 1) / GRID, np.linspace(0, 1, 6)
    basis = [CubicSpline(knots, row, bc_type="natural") for row in np.eye(6)]
    heights = np.linalg.lstsq(np.column_stack([b(t) for b in basis]), outcome, rcond=None)[0]
    slope = np.column_stack([b(t[1:] - 0.5 / GRID, 1) for b in basis]) @ heights
    fitted = Spline(target="cumulative", smoothing=0).fit(scores, labels)
    got = fitted.predict_proba(scores[order])[:, 1]
    np.testing.assert_allclose(got, np.clip(slope, 0, 1), atol=1e-6)


def sharp(n=300, seed=7):
    """Return scores far too low, then far too high, where an unconstrained slope leaves [0, 1] and falls."""
    q = np.linspace(0.02, 0.98, n)
    labels = (q > 0.5).astype(int)
    labels[: n // 20] = 1
    return columns(q), labels, q


@pytest.mark.parametrize("target", ["difference", "cumulative"])
@pytest.mark.parametrize(
    "asked", [{"constrained": True}, {"monotone": True}, {"constrained": True, "monotone": True}]
)
def test_constrained_fits_are_the_optimum_of_scipy(target, asked):
    scores, labels, q = sharp()
    values = Spline(target=target, smoothing=0, **asked).fit(scores, labels).parameters["values"]
    plain = Spline(target=target, smoothing=0).fit(scores, labels).parameters["values"]
    assert np.abs(values - plain).max() > 0.01
    if "monotone" in asked:
        assert np.diff(values).min() > -1e-9
    assert 0 <= values.min() <= values.max() <= 1
    grid, share, knots = np.linspace(0, 1, GRID + 1), np.arange(301) / 300, even_knots(6)
    start = q if target == "difference" else np.zeros(300)
    curve = np.interp(grid, share, np.append(0, np.cumsum(labels - start)) / 300)
    basis = spline_basis(grid, knots, "natural")
    slopes = np.diff(spline_basis(share, knots, "natural"), axis=0) * 300
    constraints = []
    if "constrained" in asked:
        constraints.append(optimize.LinearConstraint(slopes, -start, 1 - start))
    if "monotone" in asked:
        rising, least = np.diff(slopes, axis=0), -np.diff(start)
        if target == "cumulative":  # the second derivatives at the knots are not negative
            bends = [CubicSpline(knots, row, bc_type="natural")(knots, 2) for row in np.eye(6)]
            rising, least = np.column_stack(bends)[1:-1], np.zeros(4)  # 0 at the ends of a natural spline
        constraints.append(optimize.LinearConstraint(rising, least, np.inf))
    hessian, linear = basis.T @ basis / GRID, basis.T @ curve / GRID
    oracle = optimize.minimize(
        lambda x: x @ hessian @ x / 2 - linear @ x,
        np.linalg.lstsq(basis, grid / 2, rcond=None)[0],
        jac=lambda x: hessian @ x - linear,
        constraints=constraints,
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-15},
    )
    np.testing.assert_allclose(values, np.clip(start + slopes @ oracle.x, 0, 1), atol=1e-3)


def test_constraints_that_hold_anyway_change_nothing():
    scores, labels, _ = sample(5000, seed=8, calibrated=True)
    plain = Spline(smoothing=0).fit(scores, labels)
    values = plain.parameters["values"]
    assert 0 < values.min() < values.max() < 1
    constrained = Spline(constrained=True, smoothing=0).fit(scores, labels)
    np.testing.assert_array_equal(constrained.parameters["values"], values)


@pytest.mark.parametrize("positions", [(0, 0.5, 1), (0, 0.5, 0.4, 1), (0.1, 0.2, 0.3, 1), (0, 0.2, 0.3, 0.9)])
def test_positions_that_are_no_knots_are_refused(positions):
    with pytest.raises(UsageError, match="positions must be 4 or more ascending numbers from 0 to 1"):
        Spline(positions=positions)


@pytest.mark.parametrize(("classes", "lens"), [(2, "class-wise"), (4, "top-1")])
def test_unasked_it_acts_on_the_confidence_of_many_classes_and_on_one_of_two(classes, lens):
    rng = np.random.default_rng(7)
    scores, labels = rng.normal(0, 2, (300, classes)), rng.integers(0, classes, 300)
    asked = Spline(lens=lens).fit(scores, labels).apply(scores)
    unasked = Spline().fit(scores, labels).apply(scores)
    np.testing.assert_array_equal(unasked, asked)
    if classes == 2:
        with pytest.raises(InputError, match="fitted on 2 classes"):
            Spline().fresh(Spline().fit(scores, labels).parameters).apply(np.zeros((1, 3)))
    else:
        np.testing.assert_array_equal(unasked.argmax(1), scores.argmax(1))


@pytest.mark.parametrize("monotone", [False, True])
def test_of_one_score_the_map_is_the_frequency(monotone):
    scores, labels = np.log(np.tile([0.25, 0.75], (8, 1))), np.array([0, 0, 0, 1, 1, 1, 1, 1])
    found = Spline(monotone=monotone, smoothing=0).fit(scores, labels)
    assert np.exp(found.apply(scores)[:, 1]) == pytest.approx(5 / 8)
