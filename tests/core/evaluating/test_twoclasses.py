"""Classical measures as metrics: of the second class, by its exact log-odds."""

from __future__ import annotations

import numpy as np
import pytest

from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.errors import UsageError
from calcli.core.language.settings import Settings

NAMES = ("calibration_in_the_large", "calibration_intercept", "calibration_slope", "spiegelhalter_z")


def found(predictions, **settings):
    return evaluate(predictions, Settings(metrics=NAMES, **settings)).estimates


def over_confident(n=4000):
    rng = np.random.default_rng(0)
    truth = rng.normal(size=n)
    labels = (rng.random(n) < 1 / (1 + np.exp(-truth))).astype(int)
    return np.stack([np.zeros(n), 2 * truth], axis=1), labels


def test_an_intercept_makes_the_mean_right_and_spiegelhalter_has_a_p_value(predict):
    logits, labels = over_confident()
    z = found(predict(logits, labels, "logits"))["spiegelhalter_z"]
    assert z.value > 5
    assert (z.if_calibrated.mean, z.if_calibrated.sd) == (0, 1)
    assert z.if_calibrated.p_value < 1e-6
    intercept = found(predict(logits, labels, "logits"))["calibration_intercept"]
    moved = 1 / (1 + np.exp(-logits[:, 1] - intercept.value))
    assert moved.mean() == pytest.approx(labels.mean(), abs=1e-9)  # that is what it is
    assert intercept.interval.low < 0 < intercept.interval.high
    right = found(predict(logits / 2, labels, "logits"))["spiegelhalter_z"]
    assert right.if_calibrated.p_value > 0.01


def test_sure_probabilities_have_no_log_odds_unless_clipped(predict):
    logits, labels = over_confident(200)
    probs = np.exp(logits - np.logaddexp(*logits.T)[:, None])
    probs[0] = [0, 1]
    estimates = found(predict(probs, labels))
    assert np.isnan([estimates[name].value for name in NAMES[1:3]]).all()
    assert np.isfinite([estimates[name].value for name in (NAMES[0], NAMES[3])]).all()
    clipped = found(predict(probs, labels), clip=1e-6).values()
    assert np.isfinite([estimate.value for estimate in clipped]).all()


def test_more_classes_are_refused(predict):
    with pytest.raises(UsageError, match="calibration_in_the_large is for two classes, and there are 3"):
        found(predict(np.full((4, 3), 1 / 3), [0, 1, 2, 0]))


def test_without_variance_there_is_no_test(predict):
    z = found(predict(np.full((6, 2), 0.5), [0, 1] * 3))["spiegelhalter_z"]
    assert np.isnan(z.value)
    assert z.if_calibrated is None
