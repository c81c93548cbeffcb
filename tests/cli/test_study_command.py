"""`calcli study`: tables, JSON, the figure, and what it refuses."""

from __future__ import annotations

import csv
import errno
import json
import re
from pathlib import Path

import numpy as np
import pytest


def test_table_json_and_figure(run, tmp_path):
    call = [
        "study",
        "mixture",
        "--metrics",
        "ece:lens=class-1:bins=10,ks",
        "--rows",
        "100,400",
        "--series",
        "5",
    ]
    done = run(*call, "-o", tmp_path / "study.png", "--format", "json", "--quiet")
    assert (done.status, done.err) == (0, "")
    found = json.loads(done.out)
    assert found["schema"] == "calcli.study/1"
    assert [(one["metric"], one["rows"]) for one in found["results"]] == [
        ("ece:lens=class-1:bins=10", 100), ("ece:lens=class-1:bins=10", 400), ("ks", 100), ("ks", 400)
    ]  # fmt: skip
    assert (tmp_path / "study.png").stat().st_size > 5000
    text = run(*call, "--quiet").out
    for one in found["results"]:
        assert f"{one['mean']:+.4f}" in text
    assert run(*call, "--quiet", "--format", "csv").out.splitlines()[0] == (
        "metric,rows,truth,truth_by,truth_error,low,mean,high"
    )


def test_a_truth_that_is_simulated_is_said_to_be(run):
    call = ["study", "mcs", "--metrics", "ece", "--rows", "100", "--series", "3", "--quiet"]
    by_integral, simulated = (run(*call, "--n-classes", number, "--format", "json").out for number in "23")
    (exact,), (drawn,) = (json.loads(text)["results"] for text in (by_integral, simulated))
    assert (exact["truth_by"], exact["truth_error"]) == ("quadrature", 0)
    assert drawn["truth_by"] == "simulation"
    assert 1e-5 < drawn["truth_error"] < 1e-3
    text = run(*call, "--n-classes", "3").out
    assert re.search(f"{drawn['truth']:.4f}[0-9]* ± {drawn['truth_error']:.4f}"[:-1], text)
    assert "The true values are simulated; ± is their Monte-Carlo standard error." in " ".join(text.split())
    assert "integrals, by quadrature" in run(*call).out
    exactly = run("study", "table-1", "--metrics", "ece", "--rows", "100", "--series", "3", "--quiet").out
    assert "The true values are exact." in exactly


def test_no_error_is_below_zero(run):
    call = ["study", "mixture", "--metrics", "ece", "--slope", "0", "--rows", "100,1000", "--series", "20"]
    found = json.loads(run(*call, "--format", "json", "--quiet").out)["results"]
    assert all(one["truth"] == 0 <= one["low"] <= one["mean"] for one in found)
    assert "-0.0" not in run(*call, "--quiet").out


def test_processes_change_nothing(run):
    call = ["study", "mixture", "--metrics", "ks", "--rows", "100", "--series", "50", "--quiet"]
    one, two = (run(*call, "--workers", workers).out for workers in ("1", "2"))
    assert two == one


def test_wrong_calls(run):
    assert (
        "--rows is ten; expected whole numbers"
        in run("study", "mixture", "--metrics", "ece", "--rows", "ten").err
    )
    assert (
        "--rows is 0; expected whole numbers of at least 1"
        in run("study", "mixture", "--metrics", "ece", "--rows", "0").err
    )
    assert "--metrics is empty" in run("study", "mixture", "--metrics", "").err
    done = run("study", "mixture", "--metrics", "log_loss", "--rows", "10", "--series", "2", "--quiet")
    assert done.status == 2
    assert "log_loss: its true value is not computed" in done.err


def test_a_figure_is_whole_or_the_old_one(run, tmp_path, monkeypatch):
    (tmp_path / "study.png").write_bytes(b"old")

    opened = Path.open

    def half(path, mode="r", **how):
        if "w" not in mode:
            return opened(path, mode, **how)
        with opened(path, mode, **how) as file:
            file.write(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "open", half)
    call = ["study", "mixture", "--metrics", "ks", "--rows", "100", "--series", "2", "--quiet"]
    done = run(*call, "-o", tmp_path / "study.png")
    assert (done.status, done.out) == (2, "")
    assert "study.png cannot be written: No space left on device; make room" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["study.png"]
    assert (tmp_path / "study.png").read_bytes() == b"old"


@pytest.fixture
def mixture(run, tmp_path):
    """Return files of uncalibrated predictions and of their true posteriors."""
    files = tmp_path / "wrong.csv", tmp_path / "truth.csv"
    options = ("--intercept", 1, "--slope", -1, "--rows", 500, "-o", files[0], "--posteriors", files[1])
    assert run("simulate", "mixture", *options, "-q").status == 0
    return files


def column(file, name):
    with file.open(newline="") as lines:
        return np.array([float(row[name]) for row in csv.DictReader(lines)])


def rows_of(run, *call):
    done = run("study", *call, "--format", "json")
    assert (done.status, done.err) == (0, "")
    found = json.loads(done.out)
    assert found["schema"] == "calcli.procedure/1"
    return {row["metric"]: row for row in found["results"]}


def test_errors_and_scores_under_posteriors(run, mixture, tmp_path):
    wrong, truth = mixture
    name, figure = "ece:lens=class-0:bins=10", tmp_path / "curve.png"
    asked = ("posteriors", wrong, "--posteriors", truth, "--metrics", name, "--draws", 19, "-o", figure)
    found = rows_of(run, *asked)
    q, p = np.exp(column(wrong, "log_prob_0")), column(truth, "prob_0")
    assert found[name]["true"] == pytest.approx(np.abs(q - p).mean())
    assert found[name]["p_value"] > 0.05
    assert found["log_loss"]["true"] == pytest.approx(-(p * np.log(q) + (1 - p) * np.log1p(-q)).mean())
    assert found["brier"]["true"] == pytest.approx((p * (1 - q) ** 2 + (1 - p) * q**2).mean())
    assert abs(found["log_loss"]["unexplained"]) < 0.1
    assert figure.stat().st_size > 5000
    shown = run("study", *asked).out
    assert f"{found[name]['true']:.4f}" in shown


@pytest.mark.parametrize("procedure", ["resampling", "marginal", "trained-bins", "objectives"])
def test_procedures_on_a_file(run, sample, procedure):
    found = rows_of(run, procedure, sample / "iris_logistic_test.csv", "--draws", 5)
    assert all(0 <= row["estimate"] <= 1 for row in found.values())
    text = run("study", procedure, sample / "iris_logistic_test.csv", "--draws", 5, "-f", "csv").out
    assert text.startswith("metric,estimate")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (("marginal",), "marginal is a procedure on predictions; name their file"),
        (("mcs", "x.csv"), "mcs is simulated; leave out x.csv"),
        (("posteriors", "x.csv"), "give it with --posteriors FILE"),
        (("marginal", "x.csv", "--posteriors", "y.csv"), "--posteriors is for posteriors; leave it out"),
        (("objectives", "x.csv", "--calibration-data", "y.csv"), "--calibration-data is for trained-bins"),
        (("marginal", "x.csv", "-o", "y.png"), "--output is for posteriors"),
    ],
)
def test_calls_that_make_no_sense_are_refused(run, call, message):
    done = run("study", *call)
    assert (done.status, done.out) == (2, "")
    assert message in " ".join(done.err.split())


def test_files_are_read_as_other_commands_read_them(run, tmp_path):
    file = tmp_path / "sums.csv"
    file.write_text("a,b,c,label\n" + "0.5,0.3,0.22,a\n0.2,0.6,0.22,b\n0.1,0.2,0.72,c\n" * 20)
    refused = run("study", "resampling", file, "--metrics", "ece")
    assert (refused.status, "--renormalize" in refused.err) == (2, True)
    call = "resampling", file, "--metrics", "ece", "--draws", "20", "--renormalize"
    done = run("study", *call, "--format", "json")
    read = run("evaluate", file, "--metrics", "ece", "--renormalize", "--format", "json")
    (studied,), values = json.loads(done.out)["results"], json.loads(read.out)["results"][0]["metrics"]
    assert studied["estimate"] == values["ece"]["value"]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["mixture", "--metrics", "ks", "--draws", "5"], "--draws is for procedures on a file"),
        (["mixture", "--metrics", "ks", "--drop-missing"], "--drop-missing is for procedures on a file"),
        (["marginal", "x.csv", "--series", "5"], "--series is for simulated systems"),
        (["marginal", "x.csv", "--slope", "1"], "--slope is for simulated systems"),
    ],
)
def test_options_of_the_other_kind_are_refused(run, options, named):
    done = run("study", *options)
    assert done.status == 2
    assert f"{named}, and {options[0]} is" in done.err
