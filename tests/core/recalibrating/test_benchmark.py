"""Trials of calibrators, and ranks over data sets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import rankdata

from calcli.core.calibrators.base import make
from calcli.core.data.derived import select
from calcli.core.estimators.calibrationerror import holm
from calcli.core.estimators.intervals import Influences, contrast
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.errors import InputError
from calcli.core.language.expressions import parse_method, parse_methods
from calcli.core.language.settings import FitSettings, Settings
from calcli.core.recalibrating.benchmark import UNCALIBRATED, Trial, like_best, mean_ranks, run, task_of
from calcli.core.recalibrating.fitting import fit, with_folds

SETTINGS = Settings(metrics=("log_loss", "ks"), intervals=False, draws=0)


@pytest.fixture
def halves(predict):
    """Return two over-confident halves of the same data."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 400)
    logits = 4 * (np.eye(3)[labels] + rng.normal(size=(400, 3)))
    return predict(logits[:200], labels[:200], "logits"), predict(logits[200:], labels[200:], "logits")


@pytest.mark.parametrize("workers", [1, 2])
def test_a_trial_is_fit_apply_evaluate(halves, predict, workers):
    cal, test = halves
    methods, seen = ["temperature", "histogram:bins=5"], []
    found = run([task_of("m", cal, test)], methods, SETTINGS, workers, seen.append)
    assert seen == [1, 2, 3]
    assert [trial.method for trial in found] == [UNCALIBRATED, "temperature", "histogram:bins=5"]
    assert found[0].values["ks"] == evaluate(test, SETTINGS).estimates["ks"].value
    for trial in found[1:]:
        fitted = make(parse_method(trial.method)).fit(cal.scores.array, cal.labels)
        recalibrated = predict(fitted.apply(test.scores.array), test.labels, "log-probs")
        estimates = evaluate(recalibrated, SETTINGS).estimates
        assert {name: trial.values[name] for name in estimates} == pytest.approx(
            {name: estimate.value for name, estimate in estimates.items()}, abs=1e-12
        )
    assert found[1].values["log_loss"] < found[0].values["log_loss"]
    assert found[1].values["accuracy"] == found[0].values["accuracy"]


def test_cross_validation_judges_every_row_of_the_one_file(halves):
    (plain, temperature) = run([task_of("m", halves[0], None, folds=5)], ["temperature"], SETTINGS, 1)
    assert plain.values["log_loss"] == evaluate(halves[0], SETTINGS).estimates["log_loss"].value
    assert temperature.values["log_loss"] < plain.values["log_loss"]
    assert temperature.apply_seconds == 0


def test_auto_is_the_fit_that_it_chooses(halves, predict, monkeypatch):
    names = ["temperature", "dp", "isotonic", "pool:members=temperature+isotonic"]
    monkeypatch.setattr("calcli.core.recalibrating.benchmark.candidates_for", lambda classes, rows: names)
    cal, test = halves
    (_, tried) = run([task_of("m", cal, test)], ["auto"], SETTINGS, 1)
    assert not tried.fault
    chosen = fit(cal, parse_methods(names))
    recalibrated = predict(chosen.calibrator.apply(test.scores.array), test.labels, "log-probs")
    estimates = evaluate(recalibrated, SETTINGS).estimates
    assert tried.values["log_loss"] == pytest.approx(estimates["log_loss"].value, abs=1e-12)
    (plain, folded) = run([task_of("m", cal, None, folds=2)], ["auto"], SETTINGS, 1)
    assert folded.values["log_loss"] < plain.values["log_loss"]


def test_the_failure_of_one_method_is_a_result(halves, monkeypatch):
    from calcli.core.calibrators.temperature import Temperature

    def fail(*_args, **_options):
        raise FloatingPointError("nothing converges")

    monkeypatch.setattr(Temperature, "learn", fail)
    found = run([task_of("m", *halves)], ["temperature", "bias"], SETTINGS, 1)
    assert found[1].fault == "FloatingPointError: nothing converges"
    assert found[1].values == {}
    assert found[2].fault == ""


@pytest.mark.parametrize("metric", ["log_loss", "accuracy", "mean_gap"])
def test_mean_ranks_are_scipys(metric):
    rng = np.random.default_rng(1)
    values = np.round(rng.normal(size=(4, 5)), 1)
    trials = [Trial(f"model {i}", f"method {j}", {metric: values[i, j]}) for i in range(4) for j in range(5)]
    trials += [Trial(f"model {i}", "failed", {}, fault="no") for i in range(4)]  # and so ranks last
    costs = {"log_loss": values, "accuracy": -values, "mean_gap": np.abs(values)}[metric]
    expected = rankdata(costs, axis=1).mean(0)
    assert list(mean_ranks(trials, metric).values()) == pytest.approx([*expected, 6])


def test_methods_that_cannot_be_told_from_the_best(halves):
    settings = Settings(metrics=("log_loss", "accuracy", "ks"), draws=0)
    methods = ["temperature", "platt", "histogram:bins=2"]
    found = run([task_of("m", *halves)], methods, settings, 1)
    values = [trial.values["log_loss"] for trial in found]
    best, others = int(np.argmin(values)), np.delete(np.arange(4), np.argmin(values))
    p = []
    for other in others:
        influence_values = [found[k].influences["log_loss"] for k in (best, other)]
        apart = contrast(*influence_values).spread
        p.append(2 * min(apart.p_above(0), apart.p_below(0)))
    expected = {found[k].method for k, one in zip(others, holm(p), strict=True) if one > 0.05}
    assert like_best(found, "log_loss", 0.95) == expected
    assert UNCALIBRATED not in expected
    # temperature leaves every decision as it is
    assert {UNCALIBRATED, "temperature"} & like_best(found, "accuracy", 0.95)
    assert like_best(found, "ks", 0.95) == set()
    assert like_best([], "log_loss", 0.95) == set()


def of_mean(losses):
    return Influences(float(losses.mean()), (losses - losses.mean()) / len(losses), len(losses))


def test_an_infinite_loss_is_told_from_the_best_by_certainty():
    losses = np.linspace(0.5, 0.7, 99)
    trials = [
        Trial("m", "best", {"log_loss": 0.6}, influences={"log_loss": of_mean(losses)}),
        Trial("m", "like", {"log_loss": 0.61}, influences={"log_loss": of_mean(losses[::-1] + 0.01)}),
        Trial("m", "inf", {"log_loss": np.inf}),
    ]
    assert like_best(trials, "log_loss", 0.95) == {"like"}


def test_both_files_of_a_model_must_have_the_same_classes(halves, predict):
    with pytest.raises(InputError, match="2 classes where arrays has 3"):
        task_of("m", halves[0], predict(np.eye(2), [0, 1]))


@pytest.mark.parametrize("settings", [{}, {"cluster": "of"}, {"fold_column": "of"}])
def test_rows_of_weight_0_are_in_no_fold(predict, settings):
    rng = np.random.default_rng(3)
    labels, weights = rng.integers(0, 3, 300), rng.integers(0, 3, 300).astype(float)
    weights[:40] = 0  # all of some clusters
    rows = predict(2 * np.eye(3)[labels] + rng.normal(size=(300, 3)), labels, "logits", weights)
    rows = replace(rows, columns={"of": np.arange(300) // 20})
    asked = replace(SETTINGS, **settings)
    found, expected = (
        [one.values for one in run([task_of("m", own, None, 4, asked)], ["dp", "isotonic"], asked, 1)]
        for own in (rows, select(rows, weights > 0))
    )
    assert found == expected
    folds = FitSettings(fold_column="of")
    assert with_folds(folds, rows) == with_folds(folds, select(rows, weights > 0)) != folds
