"""The whole story in a shell: simulate, fit, apply, evaluate, compare, and the gate of a release."""

from __future__ import annotations

import subprocess

import pytest

from tests.cli.conftest import put_on_path

RECALIBRATE = """
calcli simulate mcps --rows 2000 --seed 1 --quiet -o val.parquet
calcli simulate mcps --rows 2000 --seed 2 --quiet | gzip > raw.csv.gz
calcli fit val.parquet -m dp -o cal.json > fit.txt
calcli apply cal.json raw.csv.gz -o - --quiet > good.csv
calcli evaluate good.csv --fail-if 'log_loss>0.2' --quiet > good.txt
calcli compare raw.csv.gz good.csv --metrics log_loss,accuracy > compare.txt
calcli check --init good.csv --baseline good.csv
"""


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    """Return a function that runs lines of a shell, with `calcli` on the path, in one folder."""
    folder = tmp_path_factory.mktemp("story")
    environment = {"PATH": put_on_path(folder / "bin"), "COLUMNS": "100", "LANG": "C.UTF-8"}

    def run(lines: str) -> subprocess.CompletedProcess[str]:
        command = ["sh", "-e", "-c", lines]
        return subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )

    done = run(RECALIBRATE)
    assert done.returncode == 0, done.stderr
    return run


def test_recalibrated_predictions_are_better(shell):
    lines = {line.split()[0]: line for line in shell("cat compare.txt").stdout.splitlines() if line}
    assert lines["log_loss"].split()[1] == "better"


def test_the_gate_lets_the_good_file_pass(shell):
    done = shell("calcli check good.csv --baseline good.csv")
    assert done.returncode == 0
    assert "7 rules: 7 passed." in done.stdout


def test_the_gate_stops_the_bad_file_and_says_which_rule_and_by_how_much(shell):
    done = shell("calcli check raw.csv.gz --baseline good.csv --write junit=check.xml")
    assert done.returncode == 1
    found = " ".join(done.stdout.split())
    assert "log_loss at most 2% worse than baseline: log_loss is 2.4" in found
    assert "worse than the baseline's 0.17" in found
    assert "proven worse by more than 2%" in found
    for rule in ("log_loss at most 0", "mean_gap at most 0", "ece at most 0"):
        assert rule in found.partition("corrected for")[2]
    assert shell("grep -c '<failure' check.xml").stdout.strip() == "4"  # the ranking is that of the good file


def test_a_file_that_is_not_there_is_no_pass(shell):
    assert shell("calcli check gone.csv").returncode == 2


def test_results_go_through_pipes(shell):
    done = shell("calcli check - --format json < good.csv | head -c 30; calcli explain | head -1")
    assert done.returncode == 0
    assert done.stdout.startswith('{\n  "schema": "calcli.check/1"')
    assert done.stderr == ""
