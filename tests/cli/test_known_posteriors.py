"""`--posteriors`: true values in reports and figures, and refusals where nothing can use them."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from scipy import special


@pytest.fixture
def mixture(run, tmp_path):
    """Return files of uncalibrated predictions and of their true posteriors."""
    files = tmp_path / "wrong.csv", tmp_path / "truth.csv"
    options = ("--intercept", 1, "--slope", 1, "--rows", 500, "-o", files[0], "--posteriors", files[1])
    assert run("simulate", "mixture", *options, "-q").status == 0
    return files


def column(file, name):
    with file.open(newline="") as lines:
        return np.array([float(row[name]) for row in csv.DictReader(lines)])


def test_true_errors_and_tests_against_posteriors(run, mixture):
    wrong, truth = mixture
    name = "ece:lens=class-0:bins=10"
    asked = ("--posteriors", truth, "--metrics", name, "--test", "--draws", 19)
    found = json.loads(run("evaluate", wrong, *asked, "-f", "json").out)["results"][0]["metrics"][name]
    gap = np.exp(column(wrong, "log_prob_0")) - column(truth, "prob_0")
    assert found["parts"]["true"] == pytest.approx(np.abs(gap).mean())
    assert found["if_given"]["p_value"] > 0.05 == pytest.approx(found["p_value"])
    shown = run("evaluate", wrong, *asked).out
    assert "Errors if --posteriors are true" in shown
    assert f"{found['if_given']['mean']:.4f} ± {found['if_given']['sd']:.4f}" in shown


def test_csv_and_rows_side_by_side_have_them_too(run, mixture):
    wrong, truth = mixture
    asked = ("--posteriors", truth, "--metrics", "ece:lens=class-0,log_loss", "--test", "--draws", 19)
    report = json.loads(run("evaluate", wrong, *asked, "-f", "json").out)["results"][0]["metrics"]
    full = report["ece:lens=class-0"]
    lines = csv.DictReader(run("evaluate", wrong, *asked, "-f", "csv").out.splitlines())
    error, score = lines
    assert float(error["true"]) == full["parts"]["true"]
    for key, value in full["if_given"].items():
        assert float(error[f"if_given_{key}"]) == value
    assert (score["true"], score["if_given_p_value"]) == ("", "")
    shown = run("evaluate", wrong, wrong, *asked).out.partition("Errors if --posteriors are true")[2]
    cell = f"{full['parts']['true']:.4f} p {full['if_given']['p_value']:.3f}"
    assert shown.count(cell) == 2


def test_true_curves_are_drawn(run, mixture, tmp_path):
    wrong, truth = mixture
    asked = ("--lens", "class-0", "--draws", 9, "--data", "-o", tmp_path / "figures")
    figures = ("--figure", "deviation,reliability", "--posteriors", truth)
    assert run("plot", wrong, *figures, *asked).status == 0
    for name in ("deviation", "reliability"):
        with (tmp_path / "figures" / f"{name}.csv").open(newline="") as lines:
            rows = [row for row in csv.DictReader(lines) if row["name"] == "wrong.csv, truth"]
        score, frequency = (np.array([float(row[key]) for row in rows]) for key in ("score", "frequency"))
        feature = special.logit(score) - 1
        assert frequency == pytest.approx(special.expit(-2 * feature), abs=0.01)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("evaluate", "--priors", "uniform"), "belong to the unweighted rows; leave out --priors"),
        (("plot", "--figure", "deviation", "--priors", "uniform"), "leave out --priors"),
    ],
)
def test_posteriors_beside_other_priors_are_refused(run, mixture, tmp_path, command, message):
    wrong, truth = mixture
    output = ("-o", tmp_path / "new") if command[0] == "plot" else ()
    done = run(command[0], wrong, *command[1:], *output, "--posteriors", truth)
    assert (done.status, done.out) == (2, "")
    assert message in done.err
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("command", "what"),
    [
        (("evaluate", "--metrics", "log_loss"), "metric"),
        (("evaluate", "--metrics", "log_loss,smooth_ece", "--priors", "uniform"), "metric"),
        (("plot", "--figure", "ks"), "figure"),
        (("plot", "--lens", "class-wise"), "figure"),
    ],
)
def test_posteriors_that_nothing_uses_are_told(run, mixture, tmp_path, command, what):
    """All else is done as without them."""
    wrong, truth = mixture
    asked = (command[0], wrong, *command[1:], "--draws", 9)
    here, there = (("-o", tmp_path / name, "--data") if command[0] == "plot" else () for name in "ab")
    plain, done = run(*asked, *here), run(*asked, *there, "--posteriors", truth)
    assert (done.status, plain.status) == (0, 0)
    told = f"--posteriors has no effect: no {what} asked for uses them"
    assert (told in done.err, told in plain.err) == (True, False)
    assert done.out.replace("/b/", "/a/") == plain.out
    for file in (tmp_path / "a").glob("*.csv"):
        assert (tmp_path / "b" / file.name).read_text() == file.read_text()
    assert told not in run(*asked, *there, "--posteriors", truth, "-q").err


def test_a_state_has_no_rows_for_posteriors(run, mixture, tmp_path):
    wrong, truth = mixture
    state = tmp_path / "wrong.calcli"
    assert run("evaluate", wrong, "--metrics", "ece", "--save-state", state).status == 0
    done = run("evaluate", state, "--metrics", "ece", "--posteriors", truth)
    assert (done.status, "is a state, which keeps sums" in done.err) == (2, True)


@pytest.mark.parametrize("figure", ["reliability", "deviation", "ks", "corp", "smooth"])
def test_figures_through_the_marginal_lens(run, sample, tmp_path, figure):
    asked = ("--figure", figure, "--lens", "marginal", "--draws", 9, "--data", "-o", tmp_path)
    assert run("plot", sample / "iris_logistic_test.csv", *asked).status == 0
    text = (tmp_path / f"{figure}.csv").read_text()
    if figure in ("reliability", "deviation"):
        with (tmp_path / f"{figure}.csv").open(newline="") as lines:
            rows = [int(row["rows"]) for row in csv.DictReader(lines) if row["rows"]]
        with (sample / "iris_logistic_test.csv").open() as lines:
            assert sum(rows) == 3 * (sum(1 for _ in lines) - 1)
    assert text.count("\n") > 5
