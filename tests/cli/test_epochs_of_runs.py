"""`calcli plot --figure epochs` over runs of one model, with p-values and a choice on another set."""

from __future__ import annotations

import csv
import json
import shutil

import pytest


@pytest.fixture
def runs(sample, tmp_path):
    """Return two runs of three epochs, whose validation sets are best at other numbers."""
    for run, order in (("run-1", (4, 10, 1)), ("run-2", (1, 4, 10))):
        for part in ("test", "val"):
            (tmp_path / run / part).mkdir(parents=True)
            for number, source in enumerate(order if part == "val" else (1, 4, 10), 1):
                shutil.copy(
                    sample / "epochs" / f"epoch_{source:02}.parquet",
                    tmp_path / run / part / f"{number}.parquet",
                )
    return tmp_path


def test_p_values_of_runs_and_what_their_validation_sets_choose(run, runs):
    """As in fig. 3 of Vaicenavicius et al. 2019; the p-values are those of evaluate."""
    files = sorted(runs.glob("run-*/test/*"))
    asked = ("--metrics", "log_loss,ece", "--draws", 19)
    more = ("--p-values", "--seeds", "--select", "log_loss", "--select-on", f"{runs}/run-*/val/*")
    done = run("plot", *files, "--figure", "epochs", *asked, *more, "--data", "-o", runs / "out")
    assert done.status == 0
    with (runs / "out" / "epochs.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    chosen = {row["name"]: int(row["number"]) for row in rows if row["chosen"] == "1"}
    assert len(chosen) == 6
    assert {number for name, number in chosen.items() if "run-1" in name} == {1}
    assert {number for name, number in chosen.items() if "run-2" in name} == {2}
    p = [float(row["value"]) for row in rows if row["name"].startswith("p of ece") and "run-1" in row["name"]]
    report = json.loads(run("evaluate", *files[:3], *asked, "-f", "json").out)
    assert p == [result["metrics"]["ece"]["p_value"] for result in report["results"]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--figure", "epochs", "--select", "log_loss"), "give both"),
        (
            ("--figure", "epochs", "--select-on", "nowhere", "--select", "log_loss"),
            "--select-on nowhere: no such",
        ),
        (
            ("--figure", "epochs", "--p-values", "--metrics", "log_loss"),
            "--p-values are those of calibration",
        ),
        (("--figure", "epochs", "--p-values", "--draws", "0", "--metrics", "ece"), "from --draws"),
    ],
)
def test_wrong_calls(run, runs, options, message):
    done = run("plot", *sorted(runs.glob("run-1/test/*")), *options, "-o", runs / "new")
    assert (done.status, message in done.err, (runs / "new").exists()) == (2, True, False), done.err
