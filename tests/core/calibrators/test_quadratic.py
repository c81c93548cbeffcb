from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, special

from calcli.core.calibrators.quadratic import Quadratic
from tests.core.samples import drawn


@pytest.mark.parametrize("scale", [1.0, 40.0])
def test_no_scipy_search_does_better(scale):
    logits, labels = drawn(500, 2)
    odds = scale * (logits[:, 1] - logits[:, 0])
    fitted = Quadratic().fit(np.column_stack([np.zeros(500), odds]), labels)
    features = np.column_stack([(odds / scale) ** 2, odds / scale, np.ones(500)])

    def loss(t):
        return -special.log_expit((2 * labels - 1) * (features @ t)).mean()

    oracle = optimize.minimize(loss, np.zeros(3), method="BFGS", options={"gtol": 1e-9})
    found = [fitted.parameters[name][0] for name in ("square", "slope", "intercept")]
    assert loss(np.array([found[0] * scale**2, found[1] * scale, found[2]])) <= oracle.fun + 1e-10


def test_outcomes_between_two_thresholds_have_a_finite_fit_and_a_note():
    odds = np.linspace(-3, 3, 60)
    fitted = Quadratic().fit(np.column_stack([np.zeros(60), odds]), (np.abs(odds) > 1).astype(int))
    assert "targets were smoothed" in fitted.notes[0]
    assert fitted.parameters["square"][0] > 0
    assert np.isfinite(fitted.apply(np.column_stack([np.zeros(60), odds]))).all()
