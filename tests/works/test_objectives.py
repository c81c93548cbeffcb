"""Temperatures of the least calibration error, against the metrics themselves."""

from __future__ import annotations

import numpy as np
import pytest

from calcli import Temperature
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.errors import UsageError
from calcli.core.language.settings import Settings
from calcli.works.objectives import least_error


@pytest.mark.parametrize("score", ["ece", "ece_l2", "cw_ece", "cw_ece_l2"])
def test_no_temperature_of_the_grid_has_less_error(predict, score):
    rng = np.random.default_rng(3)
    logits = rng.normal(size=(600, 3)) * 2
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(1)
    logits = logits * [2.5, 1.5, 2.0] + [0.5, 0, -0.5]
    optimum = Temperature().fit(logits, labels).parameters["temperature"]
    found = least_error(predict(logits, labels, "logits"), score, optimum)

    def values(temperature):
        rows = predict(logits / temperature, labels, "logits")
        estimates = evaluate(rows, Settings((score, "log_loss"), intervals=False, draws=0)).estimates
        return estimates[score].value, estimates["log_loss"].value

    assert (found.error, found.log_loss) == pytest.approx(values(found.temperature))
    assert found.least_log_loss == pytest.approx(values(optimum)[1])
    assert found.error <= 1e-12 + min(
        values(optimum * factor)[0] for factor in np.geomspace(0.25, 4, 401)[::10]
    )


def test_scores_are_refused(predict):
    with pytest.raises(UsageError, match="log_loss is not minimized; expected one of ece, ece_l2"):
        least_error(predict([[0.5, 0.5]] * 4, [0, 1, 0, 1]), "log_loss", 1.0)
