"""Calibration maps and temperature curves against closed forms and reference values; courses of metrics."""

from __future__ import annotations

import numpy as np
import pytest

from calcli.core.calibrators.softmax import VectorScaling
from calcli.core.calibrators.temperature import Temperature
from calcli.core.curves.calibration_maps import calibration_map, temperature_curve
from calcli.core.curves.series import courses, score_sets
from calcli.core.data.logspace import log_softmax
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.figures import FIGURES, find_figure
from calcli.core.language.settings import Settings
from calcli.core.state.sample import thinned_rows

ROWS = 20_000


@pytest.mark.parametrize("name", ["sst2_gpt2", "agnews_gpt2", "cifar100_vgg19_bn"])
def test_temperature_curve_has_its_minimum_at_the_fitted_temperature(golden, reference_predictions, name):
    curve = temperature_curve(thinned_rows(reference_predictions(name), ROWS))
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
    result = calibration_map(calibrator, thinned_rows(predictions, ROWS))
    expected = 1 / (1 + ((1 - result.before) / result.before) ** (1 / temperature))
    np.testing.assert_allclose(result.after, expected, atol=1e-5)
    assert result.lens == "class-1"
    assert result.bins.count.sum() == predictions.n_rows


def test_map_of_many_classes_follows_the_predicted_class(reference_predictions):
    predictions = reference_predictions("agnews_gpt2")
    calibrator = Temperature().fit(predictions.scores.array, predictions.labels)
    result = calibration_map(calibrator, thinned_rows(predictions, ROWS))
    probs = np.exp(log_softmax(thinned_rows(predictions, 10**6).scores))
    assert result.lens == "top-1"
    assert (result.before[0], result.before[-1]) == (probs.max(1).min(), probs.max(1).max())
    assert np.all(result.low <= result.high)
    assert np.all(np.diff(result.before) > 0)


@pytest.mark.parametrize("k", [3, 300])
def test_thinned_rows_are_the_rows_they_stand_for(k):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(20_000 if k == 3 else 700, k))
    predictions = Predictions(
        ArrayScores(scores, "logits"), rng.integers(0, k, len(scores)), tuple(map(str, range(k)))
    )
    kept = thinned_rows(predictions, 101)
    rows = np.unique(np.linspace(0, len(scores) - 1, 101).astype(int))
    np.testing.assert_array_equal(kept.scores, scores[rows])
    np.testing.assert_array_equal(kept.labels, predictions.labels[rows])


def test_map_of_raw_logits_sees_what_probabilities_do_not():
    rng = np.random.default_rng(5)
    logits = rng.normal(size=(2000, 2))
    labels = (rng.random(2000) < 1 / (1 + np.exp(logits[:, 0] + logits[:, 1]))).astype(int)
    calibrator = VectorScaling(input="raw").fit(logits, labels)
    predictions = Predictions(ArrayScores(logits, "logits"), labels, ("a", "b"))
    result = calibration_map(calibrator, thinned_rows(predictions, ROWS), raw=True)
    assert result.lens == "class-1"
    # rows of one score differ in the sum of their logits, on which the label depends
    middle = (result.before > 0.1) & (result.before < 0.9)  # in runs of many rows
    assert np.all(result.high[middle] - result.low[middle] > 0.1)


def test_courses_find_the_best_file_of_each_metric():
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(3), 500)
    labels = (probs.cumsum(1) < rng.random((500, 1))).sum(1)
    series = []
    for power in (0.2, 0.5, 1.0, 2.0, 4.0):  # calibrated in the middle
        scores = power * np.log(probs)
        predictions = Predictions(ArrayScores(scores, "logits"), labels, ("a", "b", "c"))
        metrics = ("log_loss", "accuracy", "mean_gap", "mean_confidence")
        series.append(evaluate(predictions, Settings(metrics, draws=0, intervals=False)).estimates)
    systems = {f"run/e_{number}.npy": found for number, found in zip([1, 10, 2, 20, 3], series, strict=True)}
    order = [0, 2, 4, 1, 3]  # by number, not by name
    found = courses(systems, "moving/3").named()
    assert list(found) == ["log_loss", "accuracy", "mean_gap"]  # no confidence is better than another
    loss = found["log_loss"]
    assert loss.number.tolist() == [1, 2, 3, 10, 20]
    assert loss.value.tolist() == [series[n]["log_loss"].value for n in order]
    assert loss.best == loss.value.argmin() != loss.line.argmin()
    assert found["accuracy"].best == 0  # all the same: the first
    assert found["mean_gap"].best == np.abs(found["mean_gap"].value).argmin()
    folders = {f"{'ab'[n % 2]}/e_{n}.npy": found for n, found in enumerate(series)}
    parted = courses(folders).named()
    assert list(parted)[:2] == ["log_loss, a", "log_loss, b"]
    assert parted["log_loss, b"].number.tolist() == [1, 3]
    unnumbered = courses(dict(zip("edcba", series, strict=True)))
    assert not unnumbered.numbered
    assert unnumbered.named()["log_loss"].value.tolist() == [one["log_loss"].value for one in series]
    with pytest.raises(UsageError, match="share no metric that says which is better"):
        courses({"a": {}, "b": {}})


def test_score_sets_need_a_normalized_score():
    predictions = Predictions(ArrayScores(np.eye(2), "probs"), np.array([0, 1]), ("a", "b"))
    estimates = evaluate(
        predictions, Settings(("normalized_brier", "brier"), draws=0, intervals=False)
    ).estimates
    table = score_sets({"a": estimates})["a"].tables()[""]
    assert table["metric"].tolist() == ["normalized_brier"]
    assert np.isnan(table["low"]).all()
    with pytest.raises(UsageError, match="normalized_log_loss"):
        score_sets({"a": {}})


def test_score_sets_hold_what_all_systems_have():
    predictions = Predictions(ArrayScores(np.eye(2), "probs"), np.array([0, 1]), ("a", "b"))
    metrics = {"a": ("normalized_brier", "normalized_error_rate"), "b": ("normalized_error_rate",)}
    settings = {system: Settings(names, draws=0, intervals=False) for system, names in metrics.items()}
    sets = score_sets({system: evaluate(predictions, how).estimates for system, how in settings.items()})
    for found in sets.values():
        assert [str(estimate.call) for estimate in found.estimates] == ["normalized_error_rate"]


def test_unknown_figures_suggest_the_nearest():
    assert find_figure("ks") is FIGURES["ks"]
    with pytest.raises(UsageError, match="did you mean 'reliability'"):
        find_figure("reliabilty")


def test_rows_that_no_temperature_changes_are_counted(predict):
    curve = temperature_curve(thinned_rows(predict([[1, 0], [1, 0], [0.5, 0.5]], [1, 0, 0]), ROWS))
    assert curve.left_out == 1
    np.testing.assert_allclose(curve.log_loss, np.log(2) / 2)


def test_no_temperature_helps_where_every_label_has_probability_zero(predict):
    with pytest.raises(InputError, match="every label has probability 0"):
        temperature_curve(thinned_rows(predict([[1, 0], [1, 0]], [1, 1]), ROWS))
