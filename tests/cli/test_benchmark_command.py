"""`calcli benchmark` as a user calls it."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest

from calcli.core.calibrators.crossvalidation import rows_of
from calcli.core.calibrators.softmax import DPAffine
from calcli.core.language.settings import Settings
from calcli.core.recalibrating.benchmark import task_of
from calcli.io.read import read


@pytest.fixture
def forest(sample):
    return sample / "digits_forest_calibration.parquet", sample / "digits_forest_test.parquet"


@pytest.fixture
def bayes(sample):
    return sample / "cancer_bayes_calibration.csv", sample / "cancer_bayes_test.csv"


QUICK = ("--methods", "temperature,dp", "--metrics", "log_loss,accuracy", "--workers", "1")


def test_a_row_for_each_method_with_the_best_marked(run, forest):
    done = run("benchmark", "--cal", forest[0], "--test", forest[1], *QUICK, "--details")
    assert (done.status, done.err) == (0, "")
    table, changes = done.out.split("What was read\n")[0].split("Change in percent, and time\n")
    lines = {line.split()[0]: line.split() for line in table.splitlines() if line}
    assert lines["uncalibrated"][1] == "0.7673"
    assert lines["temperature"][1].endswith("*")
    assert lines["dp"][1].endswith("+")
    change = 0.3288 / 0.7673 - 1
    assert ["dp", f"{100 * change:.1f}%"] in [line.split()[:2] for line in changes.splitlines()]


def test_it_begins_with_its_verdict_and_one_table(run, forest, bayes):
    done = run("benchmark", "--cal", forest[0], "--test", forest[1], *QUICK)
    verdict, table = done.out.split("\n\n")
    assert verdict.endswith("The lowest log_loss: temperature, 0.3250. Not significantly worse: dp.")
    assert [line.split()[0] for line in table.splitlines()[3:6]] == ["uncalibrated", "temperature", "dp"]
    both = run("benchmark", "--pair", *forest, "--pair", *bayes, *QUICK).out
    assert "The best mean rank by log_loss: temperature and dp, 1.50." in both
    assert both.count("uncalibrated") == 1


def test_values_over_seeds_are_means_with_their_deviation(run, bayes):
    command = ("benchmark", "--cal", bayes[0], "--folds", 3, *QUICK, "-f", "json")
    alone = [json.loads(run(*command, "--seed", seed).out)["trials"][2]["values"] for seed in (5, 6, 7)]
    losses = [values["log_loss"] for values in alone]
    together = json.loads(run(*command, "--seed", 5, "--seeds", 3).out)["trials"]
    assert together[2]["values"]["log_loss"] == pytest.approx(np.mean(losses))
    assert together[2]["deviations"]["log_loss"] == pytest.approx(np.std(losses, ddof=1))
    assert together[0]["deviations"] == {"log_loss": 0, "accuracy": 0}
    text = run(*command[:-2], "--seed", 5, "--seeds", 3).out
    assert f"{np.mean(losses):.4f} ± {np.std(losses, ddof=1):.4f}" in text
    refused = run("benchmark", "--cal", bayes[0], "--test", bayes[1], "--seeds", 3)
    assert (refused.status, refused.err) == (
        2, "calcli: --seeds deals the folds anew; it needs --folds N\n"
    )  # fmt: skip


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
    done = run("benchmark", "--pair", *forest, "--pair", *bayes, *QUICK, "--format", "markdown", "--details")
    assert "| uncalibrated | <u>3.00</u> |" in done.out
    assert "| temperature | **0.3250** |" in done.out
    assert "| dp | <u>~0.3288</u> |" in done.out
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
    ratio = float(rows[2]["log_loss"]) / float(rows[0]["log_loss"])
    assert float(rows[2]["log_loss change"]) == pytest.approx(ratio - 1)


def test_metrics_go_by_what_was_asked_for(run, bayes):
    metrics = ("--metrics", "ece,ece:bins=15,normalized_bayes_risk:costs=zero-one", "--bins", "10")
    files = ("--cal", bayes[0], "--test", bayes[1], *QUICK[:2], "--workers", "1", *metrics)
    rows = list(csv.DictReader(io.StringIO(run("benchmark", *files, "--format", "csv").out)))
    for row in rows:
        ten, fifteen, risk = (float(row[name]) for name in metrics[1].split(","))
        assert 0 < ten != fifteen > 0 < risk
    page = run("benchmark", *files, "--format", "markdown").out.splitlines()
    heads = next(line for line in page if line.startswith("|"))
    assert heads.removesuffix(" |").split(" | ")[1:] == metrics[1].split(",")


def test_a_failure_is_a_cell_that_says_why(run, bayes, monkeypatch):
    from calcli.core.calibrators.temperature import Temperature

    monkeypatch.setattr(Temperature, "learn", lambda *_, **options: 1 / 0)
    done = run("benchmark", "--cal", bayes[0], "--test", bayes[1], *QUICK)
    assert done.status == 2
    assert "failed" in done.out
    assert "temperature: ZeroDivisionError: division by zero." in " ".join(done.out.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "there are no calibration data"),
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


DP = ("--methods", "dp", "--workers", "1", "-f", "json", "--metrics")


def test_what_is_cross_validated_can_be_written(run, bayes, tmp_path):
    """The rows "cal" of table 2 of Ferrer & Ramos 2024, in two commands or in one."""
    file, costs = tmp_path / "cal.csv", ("--costs", "abstain:0.1", "--priors", "0.9,0.1")
    fitted = run("fit", bayes[1], "-m", "dp", "--cross-validated", file, "-f", "json")
    asked = "log_loss,normalized_log_loss,ece,normalized_bayes_risk:costs=abstain"
    done = run("evaluate", file, *costs, "--metrics", asked, "-f", "json", "--draws", 0)
    found = {name: one["value"] for name, one in json.loads(done.out)["results"][0]["metrics"].items()}
    _, dp = json.loads(run("benchmark", "--cal", bayes[1], "--folds", 5, *DP, asked, *costs).out)["trials"]
    assert {name: dp["values"][name] for name in found} == pytest.approx(found, rel=1e-9)
    plain = run("evaluate", file, "--metrics", "log_loss", "-f", "json")
    (loss,) = json.loads(plain.out)["results"][0]["metrics"].values()
    assert json.loads(fitted.out)["cross_validated"]["log_loss"] == pytest.approx(loss["value"])
    before, after = pd.read_csv(bayes[1]), pd.read_csv(file)
    assert list(after) == list(before)
    assert (after[["id", "label"]] == before[["id", "label"]]).all(axis=None)


def test_cross_validated_rows_are_those_of_one_file_with_folds(run, bayes, tmp_path):
    for options, said in (
        (("--folds", 0), "--folds of 2 or more"),
        (("--ignore-label", "void"), "--ignore-label"),
    ):
        done = run("fit", bayes[1], "-m", "dp", "--cross-validated", tmp_path / "x.csv", *options)
        assert (done.status, said in done.err) == (2, True)
    assert not (tmp_path / "x.csv").exists()


def test_folds_and_clusters_of_columns(run, bayes, tmp_path):
    file = tmp_path / "folds.csv"
    table = pd.read_csv(bayes[1])
    table.assign(part=table["id"] % 3, patient=table["id"] // 5).to_csv(file, index=False)
    done = run(
        "benchmark", "--cal", file, "--folds", "part", *DP, "log_loss,calibration_loss:recalibrator=dp"
    )
    none, dp = json.loads(done.out)["trials"]
    predictions = read(file)
    scores, labels = rows_of(predictions).scores, predictions.labels
    losses = np.empty(len(labels))
    for part in range(3):
        own = (table["id"] % 3 == part).to_numpy()
        log_probs = DPAffine().fit(scores[~own], labels[~own]).apply(scores[own])
        losses[own] = -log_probs[np.arange(own.sum()), labels[own]]
    assert dp["values"]["log_loss"] == pytest.approx(losses.mean(), rel=1e-6)
    won = none["values"]["log_loss"] - losses.mean()
    assert none["values"]["calibration_loss:recalibrator=dp"] == pytest.approx(won, rel=1e-6)
    clustered = task_of("x", predictions, None, 4, Settings(cluster="patient"))
    assert (pd.Series(clustered.fold).groupby(table["id"] // 5).nunique() == 1).all()
    assert run("benchmark", "--cal", file, "--cluster", "patient", "--folds", 4, *DP, "brier").status == 0


def test_the_usual_metrics_have_the_risks_of_costs(run, bayes):
    done = run("benchmark", "--cal", bayes[0], "--test", bayes[1], *DP[:5], "json", "--costs", "abstain:0.1")
    assert "bayes_risk:costs=abstain" in json.loads(done.out)["trials"][0]["values"]


PARTS = (("cal", "calibration"), ("test", "test"))


def test_raw_logits_where_there_are_none(run, sample):
    files = [f"--{part}={sample / f'digits_forest_{name}.parquet'}" for part, name in PARTS]
    report = json.loads(run("benchmark", *files, "--methods", "platt:input=raw,dp", "-f", "json", "-q").out)
    faults = {trial["method"]: trial["fault"] for trial in report["trials"]}
    assert "takes raw logits, which" in faults["platt:input=raw"]
    assert faults["dp"] is None
    files = [f"--{part}={sample / f'digits_network_{name}.npy'}" for part, name in PARTS]
    report = json.loads(run("benchmark", *files, "--methods", "platt:input=raw", "-f", "json", "-q").out)
    assert [trial["fault"] for trial in report["trials"]] == [None, None]


@pytest.fixture
def two_models(sample, tmp_path):
    """Two classifiers of the digits, and other ones of the same names."""
    for folder, source in (("cifar", "network"), ("woof", "network")):
        for part in ("calibration", "test"):
            tmp_path.joinpath(folder, part).mkdir(parents=True, exist_ok=True)
            scores = np.load(sample / f"digits_{source}_{part}.npy")
            np.save(tmp_path / folder / part / f"{folder}_net.npy", scores * (1 if folder == "cifar" else 2))
            labels = np.load(sample / f"digits_{source}_{part}_labels.npy")
            np.save(tmp_path / folder / part / f"{folder}_net_labels.npy", labels)
            if part == "test":
                tmp_path.joinpath("css").mkdir(exist_ok=True)
                np.save(tmp_path / "css" / f"{folder}_net.npy", scores / 2)
                np.save(tmp_path / "css" / f"{folder}_net_labels.npy", labels)
    pairs = []
    for folder in ("cifar", "woof"):
        parts = (tmp_path / folder / part for part in ("calibration", "test"))
        pairs += ["--pair", *(part / f"{folder}_net.npy" for part in parts)]
    return pairs


def test_a_method_that_was_asked_for_and_fails_is_told_and_has_a_status(run, sample):
    files = [f"--{part}={sample / f'digits_forest_{name}.parquet'}" for part, name in PARTS]
    done = run("benchmark", *files, "--methods", "platt:input=raw,bias")
    assert done.status == 2
    assert "platt:input=raw" in done.err
    assert "takes raw logits" in done.err
    assert "bias" in done.out


def test_workers_give_the_same(run, bayes):
    command = ("benchmark", "--cal", bayes[0], "--test", bayes[1], *QUICK[:4], "-f", "json")
    one, two = (json.loads(run(*command, "--workers", n).out)["trials"] for n in (1, 2))
    assert [trial["values"] for trial in one] == [trial["values"] for trial in two]
