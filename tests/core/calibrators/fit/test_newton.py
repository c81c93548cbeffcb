from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from scipy import optimize, special

from calcli.core.calibrators.fit.newton import minimize


@dataclass
class Plain:
    """A function of few variables, with the diagonal of its Hessian as preconditioner."""

    value: object
    gradient: object
    hessian: object
    at: np.ndarray = field(default=None)
    rounding = 1e-15
    refresh_cost = 1

    def evaluate(self, x):
        self.at = x
        return self.value(x), self.gradient(x)

    def curve(self, v):
        return self.hessian(self.at) @ v

    def refresh(self):
        self.diagonal = np.diag(self.hessian(self.at)).copy()

    def precondition(self, g):
        return g / self.diagonal

    def unbounded(self):
        return False

    def reach(self, v):
        return float(np.abs(v).max())

    def setback(self, v):
        return 0.0


def softplus(slopes, offsets, ridge):
    """sum log(1 + exp(slopes x + offsets)) + ridge/2 |x|^2."""

    def sigmoid(x):
        return special.expit(slopes @ x + offsets)

    return Plain(
        value=lambda x: np.logaddexp(0, slopes @ x + offsets).sum() + ridge / 2 * x @ x,
        gradient=lambda x: slopes.T @ sigmoid(x) + ridge * x,
        hessian=lambda x: (
            (slopes.T * (sigmoid(x) * (1 - sigmoid(x)))) @ slopes + ridge * np.eye(slopes.shape[1])
        ),
    )


def test_quadratic_function_ends_at_the_solution_of_its_linear_system():
    rng = np.random.default_rng(0)
    root = rng.standard_normal((12, 8))
    matrix, vector = root.T @ root, rng.standard_normal(8)
    solution = np.linalg.solve(matrix, vector)
    lowest = solution @ matrix @ solution / 2 - solution @ vector
    quadratic = Plain(
        value=lambda x: x @ matrix @ x / 2 - x @ vector - lowest + 1,
        gradient=lambda x: matrix @ x - vector,
        hessian=lambda x: matrix,
    )
    best = minimize(quadratic, np.zeros(8), 1e-10)
    assert best.converged
    assert not best.at_infinity
    np.testing.assert_allclose(best.x, solution, rtol=1e-7)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("ridge", [1e-3, 1.0])
def test_agrees_with_scipy_from_a_far_start(seed, ridge):
    rng = np.random.default_rng(seed)
    function = softplus(3 * rng.standard_normal((30, 5)), rng.standard_normal(30), ridge)
    best = minimize(function, np.full(5, 4.0), 1e-9)
    oracle = optimize.minimize(
        function.value, np.full(5, 4.0), jac=function.gradient, hess=function.hessian, method="trust-exact",
        options={"gtol": 1e-10},
    )  # fmt: skip
    assert best.converged
    np.testing.assert_allclose(best.x, oracle.x, rtol=1e-6, atol=1e-8)


def test_minimum_at_infinity_is_noticed():
    away = softplus(-np.ones((1, 1)), np.zeros(1), ridge=0.0)  # log(1 + exp(-x)) falls for ever
    assert minimize(away, np.zeros(1), 1e-8).at_infinity


def test_start_at_the_minimum_stays_there():
    square = Plain(value=lambda x: 1 + x @ x / 2, gradient=lambda x: x, hessian=lambda x: np.eye(2))
    best = minimize(square, np.zeros(2), 1e-8)
    assert best.converged
    assert best.x.tolist() == [0, 0]


@pytest.mark.parametrize("curvature", [1e-320, 0.0, -1e-320])
def test_goes_straight_down_where_rounding_left_no_curvature(curvature):
    hessian = np.array([[curvature]])
    square = Plain(value=lambda x: 1 + x @ x / 4, gradient=lambda x: x / 2, hessian=lambda _: hessian)
    square.precondition = lambda g: g / hessian[0, 0] if hessian[0, 0] else np.zeros_like(g)
    best = minimize(square, np.ones(1), 1e-8)
    assert best.converged
    np.testing.assert_allclose(best.x, 0, atol=1e-7)
