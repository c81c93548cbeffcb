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
    done = run("benchmark", "--cal", forest[0], "--test", forest[1], *QUICK)
    assert (done.status, done.err) == (0, "")
    table, changes = done.out.split("Change in percent\n")
    lines = {line.split()[0]: line.split() for line in table.splitlines() if line}
    assert lines["uncalibrated"][1] == "0.7673"
    assert lines["temperature"][1].endswith("*")
    assert lines["dp"][1].endswith("+")
    assert lines["dp"][3] == "+0.0050"
    change = 0.3288 / 0.7673 - 1
    assert changes.splitlines()[-3].split()[:2] == ["dp", f"{100 * change:.1f}%"]


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
    assert heads.split(" | ")[1:4] == metrics[1].split(",")


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
        (("--limit", 50), "without --limit"),
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


def test_tables_as_printed(run, two_models, tmp_path):
    options = ["--methods", "van-de-waterlaat-2021", "--as-printed", "-q", "--workers", "1"]
    options += ["--column", f"CSS={tmp_path / 'css' / '*.npy'}"]
    report = json.loads(run("benchmark", *two_models, *options, "-f", "json").out)
    trials = {(one["model"], one["method"]): one for one in report["trials"]}
    page = run("benchmark", *two_models, *options, "-f", "markdown").out
    assert "## ece\\_l2\n" in page or "## ece_l2\n" in page
    assert "cw_ece_l2, times 100" in page.replace("\\", "")
    lines = [line for line in page.splitlines() if line.startswith("| ")]
    heads = [cell.strip() for cell in lines[0].strip("|").split("|")]
    assert heads[:4] == ["classifier", "data set", "uncalibrated", "temperature (keeps accuracy)"]
    assert heads[4:] == [*PRESET, "CSS"]
    cells = [cell.strip() for cell in lines[2].strip("|").split("|")]
    model = next(iter(trials))[0]
    plain = trials[model, "uncalibrated"]["values"]
    assert cells[2] == f"{plain['ece_l2']:.3f} ({100 * plain['accuracy']:.1f})"
    names = ["uncalibrated", "temperature", *PRESET, "CSS"]
    own = [trials[model, name]["values"] for name in names]
    for cell, values in zip(cells[3:], own[1:], strict=True):
        change = 100 * (values["accuracy"] - plain["accuracy"])
        assert f"{values['ece_l2']:.3f} ({change:+.2f})".replace("-0.00", "+0.00") in cell
    best = min(range(len(own)), key=lambda n: own[n]["ece_l2"])
    assert [n for n, cell in enumerate(cells[2:]) if "**" in cell] == [best]
    top = max(values["accuracy"] for values in own)
    assert [n for n, cell in enumerate(cells[2:]) if "<u>" in cell] == [
        n for n, values in enumerate(own) if values["accuracy"] == top
    ]
    assert "may be chance" in page
    assert trials[model, "temperature"]["values"]["accuracy"] == plain["accuracy"]
    relative = trials[model, "temperature"]["relative_change"]["ece_l2"]
    assert relative == pytest.approx(own[1]["ece_l2"] / plain["ece_l2"] - 1)


PRESET = [
    "platt:target_smoothing=false:input=raw", "isotonic:smoothing=0:interpolation=steps",
    "histogram:binning=equal-width:smoothing=0", "beta:constrained=false", "vector:input=raw",
    "matrix:input=raw",
]  # fmt: skip


def test_columns_that_do_not_fit(run, two_models, tmp_path):
    done = run("benchmark", *two_models, "--column", "CSS=css/*.npy")
    assert "give both" in done.err
    done = run("benchmark", *two_models, "--as-printed", "--column", "CSS")
    assert "expected NAME=GLOB" in done.err
    tmp_path.joinpath("css", "woof_net.npy").unlink()
    done = run("benchmark", *two_models, "--as-printed", "--column", f"CSS={tmp_path / 'css'}")
    assert (done.status, done.out) == (2, "")
    assert "expected one file called woof_net.npy, not 0" in done.err


def test_a_column_is_of_the_rows_that_are_judged(run, two_models, tmp_path):
    cal, test = two_models[1:3]
    files = ("benchmark", "--cal", cal, "--test", test)
    asked = (*files, "--methods", "temperature", "--as-printed", "--column")
    done = run(*asked, f"CSS={cal}")
    assert (done.status, done.out) == (2, "")
    assert "the labels of" in done.err
    assert "expected another model's predictions for the same test rows" in done.err
    for end in (".npy", "_labels.npy"):
        np.save(tmp_path / f"other{end}", np.load(f"{test}".replace(".npy", end)))
    trials = json.loads(run(*asked, f"CSS={tmp_path / 'other.npy'}", "-f", "json").out)["trials"]
    assert trials[2]["method"] == "CSS"
    assert trials[2]["values"] == trials[0]["values"]


@pytest.mark.parametrize("more", [(), ("--sizes", "50", "--repeats", "2")])
def test_a_method_that_was_asked_for_and_fails_is_told_and_has_a_status(run, sample, more):
    files = [f"--{part}={sample / f'digits_forest_{name}.parquet'}" for part, name in PARTS]
    done = run("benchmark", *files, "--methods", "platt:input=raw,bias", *more)
    assert done.status == 2
    assert "platt:input=raw" in done.err
    assert "takes raw logits" in done.err
    assert "bias" in done.out


def test_random_subsets_of_the_calibration_rows(run, forest):
    """All rows give what the plain benchmark gives; of few, each subset its own value."""
    files = ("benchmark", "--cal", forest[0], "--test", forest[1], *QUICK)
    whole = json.loads(run(*files, "-f", "json").out)["trials"]
    rows = len(pd.read_parquet(forest[0]))
    sizes = (*files, "--sizes", f"30,{rows}", "--repeats", "3")
    found = json.loads(run(*sizes, "-f", "json").out)
    assert found["repeats"] == 3
    by_place = {(one["rows"], one["method"]): one["values"]["log_loss"] for one in found["trials"]}
    assert list(by_place) == [(n, one["method"]) for n in (30, rows) for one in whole]
    for one in whole:
        assert by_place[rows, one["method"]] == pytest.approx([one["values"]["log_loss"]] * 3)
    assert by_place[30, "uncalibrated"] == by_place[rows, "uncalibrated"]
    assert len(set(by_place[30, "dp"])) == 3
    lines = list(csv.DictReader(io.StringIO(run(*sizes, "-f", "csv").out)))
    assert [float(one["log_loss"]) for one in lines if (one["rows"], one["method"]) == ("30", "dp")] == (
        by_place[30, "dp"]
    )
    mean, sd = np.mean(by_place[30, "dp"]), np.std(by_place[30, "dp"], ddof=1)
    assert f"{mean:.4f} ± {sd:.4f}" in run(*sizes).out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--sizes", "30,x"), "--sizes is 30,x; expected whole numbers"),
        (("--sizes", "99999"), "--sizes 99999: expected sizes from 1 to"),
        (("--sizes", "30", "--as-printed"), "leave out --folds"),
    ],
)
def test_sizes_that_make_no_sense(run, forest, arguments, message):
    done = run("benchmark", "--cal", forest[0], "--test", forest[1], *QUICK, *arguments)
    assert (done.status, done.out) == (2, "")
    assert message in done.err


def test_repeats_without_sizes_are_told(run, forest):
    call = ("benchmark", "--cal", forest[0], "--test", forest[1], *QUICK, "-f", "json")
    plain, done = run(*call), run(*call, "--repeats", 3)
    found, expected = (
        [(trial["method"], trial["values"]) for trial in json.loads(one.out)["trials"]]
        for one in (done, plain)
    )
    assert (done.status, found) == (0, expected)
    assert "--repeats 3 changes nothing without --sizes" in done.err


def test_workers_give_the_same(run, bayes):
    command = ("benchmark", "--cal", bayes[0], "--test", bayes[1], *QUICK[:4], "-f", "json")
    one, two = (json.loads(run(*command, "--workers", n).out)["trials"] for n in (1, 2))
    assert [trial["values"] for trial in one] == [trial["values"] for trial in two]
    told = run("benchmark", "--cal", bayes[0], "--test", bayes[1], *QUICK[:4], "--workers", 2).out
    assert "tried by 2 processes (--workers)" in " ".join(told.split())
