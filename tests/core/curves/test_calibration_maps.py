"""Calibration maps and temperature curves against closed forms and reference values."""

from __future__ import annotations

import numpy as np
import pytest

from calcli.core.calibrators.crossvalidation import rows_of
from calcli.core.calibrators.softmax import VectorScaling
from calcli.core.calibrators.temperature import Temperature
from calcli.core.curves.calibration_maps import calibration_map, temperature_curve
from calcli.core.data.arrays import log_softmax
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.language.errors import InputError


@pytest.mark.parametrize("name", ["sst2_gpt2", "agnews_gpt2", "cifar100_vgg19_bn"])
def test_temperature_curve_has_its_minimum_at_the_fitted_temperature(golden, reference_predictions, name):
    curve = temperature_curve(reference_predictions(name))
    assert np.interp(1, curve.temperature, curve.log_loss) == pytest.approx(golden[name]["ce_nats"], abs=1e-9)
    assert curve.fitted == pytest.approx(golden[name]["rcl_tot_ts_T"], rel=1e-3)
    assert curve.fitted_loss == pytest.approx(golden[name]["rcl_tot_ts_ce"], abs=1e-6)
    assert curve.fitted_loss <= curve.log_loss.min()
    assert curve.rows == curve.all_rows


def test_map_of_a_temperature_is_a_sigmoid(golden, reference_predictions):
    predictions = reference_predictions("sst2_gpt2")
    temperature = golden["sst2_gpt2"]["rcl_tot_ts_T"]
    calibrator = Temperature()
    calibrator.fit(predictions.scores.array, predictions.labels)
    result = calibration_map(calibrator, predictions)
    expected = 1 / (1 + ((1 - result.before) / result.before) ** (1 / temperature))
    np.testing.assert_allclose(result.after, expected, atol=1e-5)
    assert result.lens == "class-1"
    assert result.bins.count.sum() == predictions.n_rows


def test_map_of_many_classes_follows_the_predicted_class(reference_predictions):
    predictions = reference_predictions("agnews_gpt2")
    calibrator = Temperature().fit(predictions.scores.array, predictions.labels)
    result = calibration_map(calibrator, predictions)
    probs = np.exp(log_softmax(rows_of(predictions).scores))
    assert result.lens == "top-1"
    assert (result.before[0], result.before[-1]) == (probs.max(1).min(), probs.max(1).max())
    assert np.all(result.low <= result.high)
    assert np.all(np.diff(result.before) > 0)


def test_map_of_raw_logits_sees_what_probabilities_do_not():
    rng = np.random.default_rng(5)
    logits = rng.normal(size=(2000, 2))
    labels = (rng.random(2000) < 1 / (1 + np.exp(logits[:, 0] + logits[:, 1]))).astype(int)
    calibrator = VectorScaling(input="raw").fit(logits, labels)
    predictions = Predictions(ArrayScores(logits, "logits"), labels, ("a", "b"))
    result = calibration_map(calibrator, predictions, raw=True)
    assert result.lens == "class-1"
    # rows of one score differ in the sum of their logits, on which the label depends
    middle = (result.before > 0.1) & (result.before < 0.9)  # in runs of many rows
    assert np.all(result.high[middle] - result.low[middle] > 0.1)


def test_rows_that_no_temperature_changes_are_counted_unless_they_are_all(predict):
    curve = temperature_curve(predict([[1, 0], [1, 0], [0.5, 0.5]], [1, 0, 0]))
    assert curve.left_out == 1
    np.testing.assert_allclose(curve.log_loss, np.log(2) / 2)
    with pytest.raises(InputError, match="every label has probability 0"):
        temperature_curve(predict([[1, 0], [1, 0]], [1, 1]))
