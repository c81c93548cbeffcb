"""`calcli benchmark` as a user calls it."""

from __future__ import annotations

import csv
import io
import json

import pytest


@pytest.fixture
def forest(sample):
    return sample / "digits_forest_calibration.parquet", sample / "digits_forest_test.parquet"


@pytest.fixture
def bayes(sample):
    return sample / "cancer_bayes_calibration.csv", sample / "cancer_bayes_test.csv"


QUICK = ("--methods", "temperature,dp", "--metrics", "log_loss,accuracy", "--jobs", "1")


def test_a_row_for_each_method_with_the_best_marked(run, forest):
    done = run("benchmark", "--cal", forest[0], "--test", forest[1], *QUICK)
    assert (done.status, done.err) == (0, "")
    lines = {line.split()[0]: line.split() for line in done.out.splitlines() if line}
    assert lines["uncalibrated"][1] == "0.7673"
    assert lines["temperature"][1].endswith("*")
    assert lines["dp"][1].endswith("+")
    assert lines["dp"][3] == "+0.0050"


def test_wrapped_methods_are_benchmarked(run, forest):
    methods = "temperature,preserve-top1:calibrator=dp"
    done = run(
        "benchmark", "--cal", forest[0], "--test", forest[1], "--methods", methods, *QUICK[2:], "-f", "json"
    )
    none, _, wrapped = json.loads(done.out)["trials"]
    assert wrapped["method"] == "preserve-top1:calibrator=dp"
    assert wrapped["values"]["accuracy"] == none["values"]["accuracy"]
    assert wrapped["values"]["log_loss"] < none["values"]["log_loss"]


def test_several_models_are_ranked(run, forest, bayes):
    done = run("benchmark", "--pair", *forest, "--pair", *bayes, *QUICK, "--format", "markdown")
    assert "| mean rank |" in done.out
    assert "| digits_forest_test.parquet | 0.7673 | **0.3250** | <u>~0.3288</u> |" in done.out
    report = json.loads(run("benchmark", "--pair", *forest, "--pair", *bayes, *QUICK, "--format", "json").out)
    assert len(report["trials"]) == 6
    assert report["mean_ranks"]["log_loss"]["uncalibrated"] == 3
    assert report["like_best"]["digits_forest_test.parquet"]["log_loss"] == ["dp"]
    assert "draws" not in report["trials"][0]


def test_csv_has_a_line_for_each_trial(run, bayes):
    done = run("benchmark", "--cal", bayes[0], "--folds", "3", *QUICK, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert [row["method"] for row in rows] == ["uncalibrated", "temperature", "dp"]
    assert all(float(row["log_loss"]) > 0 for row in rows)


def test_metrics_go_by_what_was_asked_for(run, bayes):
    metrics = ("--metrics", "ece,ece:bins=15,normalized_bayes_risk:costs=zero-one", "--bins", "10")
    files = ("--cal", bayes[0], "--test", bayes[1], *QUICK[:2], "--jobs", "1", *metrics)
    rows = list(csv.DictReader(io.StringIO(run("benchmark", *files, "--format", "csv").out)))
    for row in rows:
        ten, fifteen, risk = (float(row[name]) for name in metrics[1].split(","))
        assert 0 < ten != fifteen > 0 < risk
    heads = run("benchmark", *files, "--format", "markdown").out.splitlines()[4]
    assert heads.split(" | ")[1:4] == metrics[1].split(",")


def test_a_failure_is_a_cell_that_says_why(run, bayes, monkeypatch):
    from calcli.core.calibrators.temperature import Temperature

    monkeypatch.setattr(Temperature, "learn", lambda *_, **options: 1 / 0)
    done = run("benchmark", "--cal", bayes[0], "--test", bayes[1], *QUICK)
    assert done.status == 0
    assert "failed" in done.out
    assert "temperature: ZeroDivisionError: division by zero." in " ".join(done.out.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "there is nothing to fit to"),
        (["--cal", "a.csv"], "expected either --test FILE"),
        (["--cal", "a.csv", "--test", "b.csv", "--folds", "2"], "expected either --test FILE"),
        (["--cal", "a.csv", "--folds", "1"], "leaves no rows"),
        (["--pair", "a.csv"], "1 times --pair and 0 second files"),
        (["a.csv", "b.csv"], "0 times --pair and 2 second files"),
        (["--pair", "a.csv", "b.csv", "--folds", "3"], "leave out --cal, --test and --folds"),
        (["--cal", "a.csv", "--folds", "3", "--methods", "temprature"], "did you mean 'temperature'"),
        (["--cal", "a.csv", "--folds", "3", "--metrics", "eec"], "unknown metric 'eec'"),
        (["--cal", "a.csv", "--folds", "3"], "a.csv: no such file"),
    ],
)
def test_bad_calls_are_one_sentence(run, arguments, message):
    done = run("benchmark", *arguments)
    assert (done.status, done.out) == (2, "")
    assert message in done.err
    assert len(done.err.splitlines()) == 1
