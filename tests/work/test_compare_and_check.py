"""Comparisons and checks from Python are those of the command line."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import log_softmax
from scipy.stats import norm

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


def test_the_detectable_difference_is_that_of_the_losses_of_the_rows():
    losses = []
    for path in (OLD, NEW):
        frame = pd.read_parquet(path)
        logits = frame[[name for name in frame if name.startswith("logit_")]].to_numpy()
        losses.append(-log_softmax(logits.astype(float), axis=1)[np.arange(len(frame)), frame["label"]])
    z = norm.ppf([0.975, 0.8, 0.9])
    paired, unpaired = (
        calcli.compare(OLD, NEW, metrics="log_loss", margins={"log_loss": "1%"}, paired=how).to_dict()
        for how in (True, False)
    )
    found, apart = (one["comparisons"][0]["differences"][0]["log_loss"] for one in (paired, unpaired))
    sd, margin = np.std(losses[1] - losses[0], ddof=1), 0.01 * losses[0].mean()
    assert found["detectable_difference"] == pytest.approx((z[0] + z[1]) * sd / 997**0.5, rel=1e-9)
    assert found["detectable_difference"] == pytest.approx(0.095, abs=5e-4)
    assert apart["detectable_difference"] == pytest.approx(0.196, abs=5e-4)
    needed = [((z[0] + power) * sd / margin) ** 2 for power in z[1:]]
    assert found["margin"] == pytest.approx(margin, rel=1e-12)
    for rows, least in zip(found["rows_needed"].values(), map(math.ceil, needed), strict=True):
        assert least <= rows <= 1.3 * least  # few rows carry it, which the formula does not know


def test_a_plan_says_what_the_comparison_says(capsys):
    two = calcli.plan(OLD, NEW, margins={"log_loss": "1%", "accuracy": 0.01}).to_dict()
    command = ["plan", OLD, NEW, "--margin", "log_loss=1%", "--margin", "accuracy=0.01", "-f", "json"]
    assert status_of(command) == 0
    assert json.loads(capsys.readouterr().out) == two
    found = calcli.compare(OLD, NEW, margins={"log_loss": "1%", "accuracy": 0.01}, draws=0).to_dict()
    for need in two["needs"]:
        one = found["comparisons"][0]["differences"][0][need["metric"]]
        assert (need["margin"], need["detectable"]) == (one["margin"], one["detectable_difference"])
        assert need["rows_not_worse"] == one["rows_needed"]["not_worse"]
        assert need["rows_equivalent"] == one["rows_needed"]["equivalent"]
    frame = pd.read_parquet(OLD)
    logits = frame[[name for name in frame if name.startswith("logit_")]].to_numpy().astype(float)
    losses = -log_softmax(logits, axis=1)[np.arange(len(frame)), frame["label"]]
    (need,) = calcli.plan(OLD, half_width=0.01).to_dict()["needs"]
    redrawn = np.random.default_rng(0).choice(losses, (2000, len(losses)))
    rows = float(np.quantile((norm.ppf(0.975) * redrawn.std(axis=1, ddof=1) / 0.01) ** 2, 0.8))
    assert rows <= need["rows_for_width"] <= 1.2 * rows  # a little more, for a larger loss that was not drawn


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([OLD, NEW], "plan takes one thing"),
        ([OLD, "--margin", "log_loss=1%"], "plan takes one thing"),
        ([OLD, "--half-width", "0"], "'0' is no width; expected a number or a percentage above 0"),
        ([OLD, NEW, "--margin", "ece=0.01"], "these rows do not tell how much ece varies"),
        ([OLD, "--metric", "ece", "--half-width", "1%"], "these rows do not tell how much ece varies"),
    ],
)
def test_plans_that_cannot_be_are_refused(capsys, arguments, message):
    assert status_of(["plan", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_what_the_data_do_not_decide_does_what_is_said(capsys, tmp_path):
    (tmp_path / "p.toml").write_text(TOML.replace("max = 0.4", "max = 0.5\nbound = 'upper'"))
    command = ["check", NEW, "--baseline", OLD, "--policy", str(tmp_path / "p.toml"), "-f", "json", "-q"]
    expected = {
        (): ["failed", "passed"], ("fail",): ["failed", "failed"], ("warn",): ["warning"] * 2,
        ("pass",): ["passed"] * 2,
    }  # fmt: skip
    for means, results in expected.items():
        status = status_of([*command, *(("--undecided", *means) if means else ())])
        rules = json.loads(capsys.readouterr().out)["results"][0]["rules"]
        assert [one["result"] for one in rules] == results
        assert all(one["undecided"] for one in rules)
        assert status == ("failed" in results)
    assert rules[1]["detectable_difference"] == pytest.approx(0.0146, abs=5e-5)
    found = calcli.check(NEW, {"rules": [{"metric": "log_loss", "max": 0.4}]})
    assert not found.to_dict()["results"][0]["rules"][0]["undecided"]
    with pytest.raises(UsageError, match="undecided is for rules that an interval decides"):
        calcli.check(NEW, {"rules": [{"metric": "log_loss", "max": 0.4}]}, undecided="pass")


def test_compare_is_the_command(capsys, releases):
    found = calcli.compare(*releases, key="id", by="ink", margins={"accuracy": 0.02}, metrics="accuracy,ece")
    options = ["--key", "id", "--by", "ink", "--margin", "accuracy=0.02", "--metrics", "accuracy,ece"]
    command = ["compare", OLD, NEW, *options]
    assert status_of([*command, "--format", "json"]) == 0
    documents = json.loads(capsys.readouterr().out), found.to_dict()
    for system in (system for document in documents for system in document["systems"]):
        system["input"].pop("considered")  # a key is never considered as a score
    assert documents[0] == documents[1]
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
    assert repr(found).endswith("2 rules: 1 failed, 1 undecided.\n  log_loss at most 0.4: FAILED, 0.4817")
    assert found._repr_markdown_().startswith("# Check\n")
    assert "| log_loss at most 0.4 |" in found._repr_markdown_()


def test_a_report_is_a_baseline(capsys, releases, tmp_path):
    report = tmp_path / "old.json"
    status_of(["evaluate", OLD, "--format", "json"])
    report.write_text(capsys.readouterr().out)
    assert calcli.check(releases[0], POLICY, report).exit_status == 0
    assert calcli.check(releases[0], POLICY).exit_status == 2
