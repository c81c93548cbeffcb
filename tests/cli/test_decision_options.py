"""Costs, priors, clipping and recalibration as options of `calcli evaluate`."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from calcli.core.calibrators.crossvalidation import rows_of
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.evaluating.recalibration import recalibrator
from calcli.core.language.settings import Settings
from calcli.core.recalibrating.fitting import recalibrated
from calcli.io.options import ReadOptions
from calcli.io.read import read

FAST = ("--resamples", 0, "--draws", 0, "--format", "json")


@pytest.fixture
def metrics(run, sample):
    """Return a function that evaluates a sample with options and returns the first result."""

    def ask(file, *options):
        done = run("evaluate", sample / file, *FAST, *options)
        assert (done.status, done.err) == (0, "")
        return json.loads(done.out)["results"][0]

    return ask


def test_costs_by_word_and_by_file(metrics, tmp_path):
    table = tmp_path / "surgery.csv"
    table.write_text(",home,examine,operate\nbenign,0,1,10\nmalignant,50,5,0\n")
    found = metrics("cancer_bayes_test.csv", "--costs", f"zero-one,abstain:0.1,{table}")
    risks = {name: value["value"] for name, value in found["metrics"].items() if "bayes_risk" in name}
    assert risks["bayes_risk:costs=zero-one"] == pytest.approx(1 - found["metrics"]["accuracy"]["value"])
    assert set(risks) == {
        f"{kind}{costs}"
        for kind in ("bayes_risk", "normalized_bayes_risk")
        for costs in (":costs=zero-one", ":costs=abstain", ":costs=surgery")
    }
    taken = {row["name"]: row["rows"] for row in found["decisions"]["surgery"]}
    assert list(taken) == ["home", "examine", "operate"]
    assert sum(taken.values()) == found["input"]["rows"]


def test_the_only_costs_are_those_of_a_risk_that_names_none(metrics):
    options = ("cancer_bayes_test.csv", "--costs", "abstain:0.1", "--metrics")
    found, named = (metrics(*options, name)["metrics"] for name in ("bayes_risk", "bayes_risk:costs=abstain"))
    assert list(found) == ["bayes_risk"]
    assert found["bayes_risk"] == named["bayes_risk:costs=abstain"]
    assert "costs:abstain" in found["bayes_risk"]["signature"]


def test_priors_and_shift(metrics):
    plain = metrics("cancer_bayes_test.csv", "--metrics", "error_rate")
    uniform = metrics("cancer_bayes_test.csv", "--metrics", "error_rate", "--priors", "uniform")
    given = metrics("cancer_bayes_test.csv", "--metrics", "error_rate", "--priors", "0.5,0.5")
    recall = [row["recall"] for row in plain["per_class"]]
    assert uniform["metrics"]["error_rate"]["value"] == pytest.approx(1 - sum(recall) / 2)
    assert given["metrics"] == uniform["metrics"]
    assert "weighted to the class priors 0.5, 0.5" in uniform["input"]["notes"][-1]
    moved = metrics("cancer_bayes_test.csv", "--priors", "0.01,0.99", "--shift-to-priors")
    assert "moved to them" in moved["input"]["notes"][-1]


def test_infinite_losses_are_clipped_only_on_request(run, tmp_path):
    file = tmp_path / "sure.csv"
    file.write_text("label,prob_a,prob_b\na,0,1\nb,0.5,0.5\n")
    plain, clipped = (
        json.loads(run("evaluate", file, *FAST, *options).out)["results"][0]
        for options in ((), ("--clip", "1e-3"))
    )
    assert plain["metrics"]["log_loss"]["value"] == "inf"
    assert clipped["metrics"]["log_loss"]["value"] == pytest.approx((math.log(1000) + math.log(2)) / 2)
    assert "clip:0.001" in clipped["metrics"]["log_loss"]["signature"]
    messages = {warning["code"]: warning["message"] for warning in clipped["warnings"]}
    assert messages["clipped"].startswith("The log-loss of 1 row was clipped")
    assert "infinite_log_loss" not in messages


def test_calibration_data_trains(metrics, sample):
    test, other = sample / "cancer_bayes_test.csv", sample / "cancer_bayes_calibration.csv"
    found = metrics("cancer_bayes_test.csv", "--calibration-data", other, "--recalibrator", "platt")
    estimate = found["metrics"]["relative_calibration_loss"]
    assert "recalibrator:platt|training:held-out" in estimate["signature"]
    rows = [read(file, ReadOptions()) for file in (test, other)]
    fitted = recalibrator("platt")
    train, evaluated = map(rows_of, (rows[1], rows[0]))
    fitted.fit(train.scores, train.labels)
    after = evaluate(recalibrated(rows[0], fitted.apply(evaluated.scores)), Settings(metrics=("log_loss",)))
    assert estimate["parts"]["after"] == pytest.approx(after.estimates["log_loss"].value)


def test_the_labels_of_the_calibration_data_are_its_own(run, tmp_path):
    """Both files have as many rows; the labels of the one are the reverse of those of the other."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 200)
    for name, of_file in (("test", labels), ("cal", 1 - labels)):
        np.save(tmp_path / f"{name}.npy", rng.normal(size=(200, 2)) + 3 * np.eye(2)[of_file])
        np.save(tmp_path / f"{name}_truth.npy", of_file)
    asked = ("--labels", tmp_path / "test_truth.npy", "--calibration-data", tmp_path / "cal.npy", *FAST)
    done = run("evaluate", tmp_path / "test.npy", *asked, "--metrics", "calibration_loss")
    assert done.status == 2
    assert "cal.npy" in done.err
    found = run(
        "evaluate",
        tmp_path / "test.npy",
        *asked,
        "--metrics",
        "relative_calibration_loss",
        "--calibration-labels",
        tmp_path / "cal_truth.npy",
    )
    (loss,) = json.loads(found.out)["results"][0]["metrics"].values()
    assert loss["value"] > 0


def test_training_on_the_test_data_is_called_optimistic(metrics):
    found = metrics("iris_logistic_test.csv", "--train-on-test", "--recalibrator", "temperature")
    (sentence, *_) = found["recalibration"]
    assert sentence.startswith("On its own rows, temperature scaling wins")
    assert sentence.endswith("optimistic.")


def test_an_interval_on_request(metrics, monkeypatch):
    monkeypatch.setattr("calcli.cli.options.LOSS_RESAMPLES", 20)
    name = "relative_calibration_loss"
    plain = metrics("iris_logistic_test.csv", "--metrics", name)["metrics"][name]
    asked = metrics("iris_logistic_test.csv", "--metrics", name, "--calibration-loss-interval")["metrics"][
        name
    ]
    assert "low" not in plain
    assert asked["low"] <= asked["value"] <= asked["high"]
    assert "resamples:20" in asked["signature"]


def test_clusters_and_folds_are_columns(run, tmp_path):
    file = tmp_path / "speakers.csv"
    lines = [f"{'ab'[i % 2]},{0.3 + 0.4 * (i % 2)},{0.7 - 0.4 * (i % 2)},s{i % 7},{i % 3}" for i in range(60)]
    file.write_text("\n".join(["label,prob_a,prob_b,speaker,part", *lines]) + "\n")
    for option in ("--cluster=speaker", "--fold-column=part"):
        done = run("evaluate", file, "--metrics", "calibration_loss", option, *FAST)
        assert done.status == 0, done.err
    done = run("evaluate", file, "--cluster", "nobody", *FAST)
    assert done.status == 2
    assert f"{file}: no column 'nobody'; the columns are: speaker, part" in done.err


def test_given_posteriors(metrics, sample):
    name = "score_divergence:recalibrator=given"
    itself = metrics(
        "iris_logistic_test.csv", "--posteriors", sample / "iris_logistic_test.csv", "--metrics", name
    )
    assert itself["metrics"][name]["value"] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--costs", "nonsense"), "'nonsense' is not a list of costs; expected zero-one"),
        (("--costs", "imbalanced:cat:3"), "imbalanced costs name the class 'cat'; the classes are"),
        (
            ("--metrics", "bayes_risk:costs=abstain"),
            "no costs are called 'abstain'; define them with --costs",
        ),
        (("--priors", "0.5,0.6"), "2 priors for 3 classes"),
        (("--priors", "half"), "'half' is not a list of priors"),
        (("--shift-to-priors",), "--shift-to-priors moves to the priors of --priors"),
        (("--clip", "1"), "--clip is 1; expected a small probability"),
        (("--recalibrator", "dpp"), "recalibrator must be one of"),
        (("--train-on-test", "--calibration-data", "x.csv"), "exclude each other"),
        (("--metrics", "calibration_loss:training=held-out"), "give it with --calibration-data FILE"),
        (("--metrics", "score_divergence:recalibrator=given"), "give it with --posteriors FILE"),
        (("--metrics", "beta_score"), "beta_score is for two classes"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(options, message, run, sample):
    done = run("evaluate", sample / "iris_logistic_test.csv", *options)
    assert (done.status, done.out) == (2, "")
    assert message in done.err
    assert done.err.count("\n") == 1
