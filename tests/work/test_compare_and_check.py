"""Comparisons and checks from Python are those of the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import calcli
from calcli.cli.main import status_of
from calcli.core.language.errors import InputError, UsageError

OLD, NEW = "sample_data/release_1.parquet", "sample_data/release_2.parquet"
POLICY = {"rules": [{"metric": "log_loss", "max": 0.4}, {"metric": "accuracy", "max_decrease": 0.01}]}
TOML = """[[rules]]
metric = "log_loss"
max = 0.4
[[rules]]
metric = "accuracy"
max_decrease = 0.01
"""


@pytest.fixture(autouse=True)
def _in_the_repository(monkeypatch):
    monkeypatch.chdir(Path(__file__).resolve().parents[2])
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def releases():
    return calcli.read(OLD), calcli.read(NEW)


def test_compare_is_the_command(capsys, releases):
    found = calcli.compare(*releases, key="id", by="ink", margins={"accuracy": 0.02}, metrics="accuracy,ece")
    options = ["--key", "id", "--by", "ink", "--margin", "accuracy=0.02", "--metrics", "accuracy,ece"]
    command = ["compare", OLD, NEW, *options]
    assert status_of([*command, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == found.to_dict()
    assert status_of(command) == 0
    assert capsys.readouterr().out == f"{found}\n"
    assert "accuracy equivalent" in repr(found)
    assert found._repr_markdown_().startswith("# Comparison\n")
    assert "| accuracy |" in found._repr_markdown_()


def test_different_cases_are_compared_unpaired(releases):
    forest = calcli.read("sample_data/digits_forest_calibration.parquet")
    with pytest.raises(InputError, match="650 rows"):
        calcli.compare(releases[0], forest)
    found = calcli.compare(releases[0], forest, paired=False, metrics="accuracy")
    assert "Unpaired" in str(found)
    with pytest.raises(UsageError, match="at least one candidate"):
        calcli.compare(forest)


def test_other_classes_are_compared_when_told(releases):
    cancer = calcli.read("sample_data/cancer_bayes_test.csv")
    policy = {"rules": [{"metric": "accuracy", "max_decrease": 0.5}]}
    with pytest.raises(InputError, match="classes"):
        calcli.compare(releases[0], cancer)
    with pytest.raises(InputError, match="classes"):
        calcli.check(cancer, policy, releases[0])
    options = {"metrics": "accuracy", "allow_other_classes": True}
    accuracies = [
        calcli.evaluate(one, metrics="accuracy").results[0].metrics for one in (releases[0], cancer)
    ]
    first, second = (metrics["accuracy"].value for metrics in accuracies)
    found = calcli.compare(releases[0], cancer, **options).comparisons[0].differences[0]["accuracy"]
    assert (found.baseline, found.value) == pytest.approx((first, second - first))
    checked = calcli.check(cancer, policy, releases[0], allow_other_classes=True)
    assert checked.checked.outcomes[0].value == pytest.approx(second)
    assert checked.exit_status == 0


def test_check_is_the_command(capsys, releases, tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text(TOML)
    command = ["check", NEW, "--policy", str(policy), "--baseline", OLD, "--key", "id"]
    for rules in (POLICY, policy):
        found = calcli.check(releases[1], rules, releases[0], key="id")
        assert status_of([*command, "--format", "json"]) == found.exit_status == 1
        printed = json.loads(capsys.readouterr().out)
        assert printed["results"] == found.to_dict()["results"]
        assert status_of(command) == 1
        assert capsys.readouterr().out == f"{found}\n"
    assert repr(found).endswith(
        "log_loss at most 0.4: failed, accuracy at most 0.01 worse than baseline: passed>"
    )
    assert found._repr_markdown_().startswith("# Check\n")
    assert "| log_loss at most 0.4 |" in found._repr_markdown_()


def test_a_report_is_a_baseline(capsys, releases, tmp_path):
    report = tmp_path / "old.json"
    status_of(["evaluate", OLD, "--format", "json"])
    report.write_text(capsys.readouterr().out)
    assert calcli.check(releases[0], POLICY, report).exit_status == 0
    assert calcli.check(releases[0], POLICY).exit_status == 2
