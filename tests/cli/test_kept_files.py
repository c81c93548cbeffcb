"""Files that calcli 1.0 wrote, one of each kind, are read by every later 1.x; they are never made anew."""

from __future__ import annotations

import json
import shutil
import zipfile

import pytest
from jsonschema import Draft202012Validator

import calcli
from calcli.work.schema import DOCUMENTS, schema_of
from tests.cli.conftest import ROOT

KEPT = ROOT / "tests" / "kept" / "1.0"
PREDS = KEPT / "preds.csv"
REPORT = json.loads((KEPT / "report.json").read_text())["results"][0]["metrics"]
DOCUMENTS_KEPT = {file.stem: file for file in KEPT.glob("*.json") if file.stem != "watch"}


@pytest.mark.parametrize("name", DOCUMENTS_KEPT)
def test_documents_are_valid_by_the_schema_of_today(name):
    document = json.loads(DOCUMENTS_KEPT[name].read_text())
    Draft202012Validator(schema_of(name)).validate(document)
    assert name in DOCUMENTS


@pytest.mark.parametrize("name", ["calibrator.json", "calibrator.npz"])
def test_calibrators_are_applied(run, name, tmp_path):
    done = run("apply", KEPT / name, PREDS, "-o", tmp_path / "out.csv", "--quiet")
    assert done.status == 0, done.err
    assert calcli.evaluate(tmp_path / "out.csv")["log_loss"].value < 2 * REPORT["log_loss"]["value"]


def test_a_threshold_marks_rows(run, tmp_path):
    done = run("apply", KEPT / "threshold.json", PREDS, "-o", tmp_path / "out.csv", "--quiet")
    assert done.status == 0, done.err
    assert "answer" in (tmp_path / "out.csv").read_text().partition("\n")[0]


def test_a_state_is_evaluated_and_merged(run, tmp_path):
    done = run("evaluate", KEPT / "state.calcli", "--format", "json")
    found = json.loads(done.out)["results"][0]["metrics"]
    assert found["log_loss"]["value"] == pytest.approx(REPORT["log_loss"]["value"], rel=1e-9)
    assert run("merge", KEPT / "state.calcli", "-o", tmp_path / "merged.calcli").status == 0


def test_a_watch_goes_on(run, tmp_path):
    shutil.copy(KEPT / "watch.json", tmp_path / "watch.json")
    head, *rows = PREDS.read_text().splitlines()
    (tmp_path / "new.csv").write_text("\n".join([head, *rows[::-1], ""]))
    done = run("monitor", tmp_path / "new.csv", "--state", tmp_path / "watch.json", "--format", "json")
    assert done.status == 0, done.err
    (stream,) = json.loads(done.out)["streams"]
    assert [one["name"].rpartition("/")[2] for one in stream["periods"]] == ["preds.csv", "new.csv"]


def test_a_policy_is_judged_by(run):
    assert run("check", PREDS, "--policy", KEPT / "calcli.toml").status == 0


def test_a_report_is_a_baseline(run, tmp_path):
    (tmp_path / "calcli.toml").write_text('[[rules]]\nmetric = "log_loss"\nmax_increase = "5%"\n')
    done = run("check", PREDS, "--policy", tmp_path / "calcli.toml", "--baseline", KEPT / "report.json")
    assert done.status in (0, 2), done.err  # few rows prove nothing; the report is read
    assert "log_loss at most 5% worse than baseline" in done.out


def test_every_kind_of_file_is_kept():
    with zipfile.ZipFile(KEPT / "state.calcli") as state:
        assert json.loads(state.read("state.json"))["schema"] == "calcli.state/2"
    assert {"report", "check", "calibrator", "threshold"} <= set(DOCUMENTS_KEPT)
    assert json.loads((KEPT / "watch.json").read_text())["schema"] == "calcli.watch/1"
