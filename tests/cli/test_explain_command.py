"""`calcli explain`, from the registries."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from calcli.core.language.figures import FIGURES
from calcli.core.language.methods import CHOICE, METHODS
from calcli.core.language.metrics import METRICS
from calcli.core.language.synonyms import SYNONYMS


def test_everything_is_listed(run):
    out = run("explain").out
    for name in (*METRICS, *METHODS, *FIGURES):
        assert f"\n{name} " in out


ENTRIES = [*METRICS.values(), *METHODS.values(), CHOICE, *FIGURES.values()]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.kind} {entry.name}")
def test_every_entry_is_explained(run, entry):
    done = run("explain", entry.name)
    assert done.status == 0
    said = " ".join(done.out.split())
    for field in ("title", "source", "formula", "misses", "learns", "meaning"):
        line = getattr(entry, field, "")
        assert " ".join(line.split()) in said


def test_an_expression_stands_for_its_metric(run):
    assert run("explain", "ece:bins=20").out == run("explain", "ece").out


def test_json_is_the_registry(run):
    report = json.loads(run("explain", "--format", "json").out)
    assert list(report["metrics"]) == list(METRICS)
    assert list(report["methods"]) == list(METHODS)
    assert list(report["figures"]) == list(FIGURES)
    assert report["metrics"]["ece_l2"]["arguments"]["debiased"] is False
    assert report["methods"]["per-predicted-class"]["settings"] == {"min_rows": 100, "calibrator": None}
    assert json.loads(run("explain", "ks", "--format", "json").out)["formula"] == METRICS["ks"].formula


def test_a_metric_and_a_figure_of_one_name_are_both_explained(run):
    out = run("explain", "ks").out
    assert METRICS["ks"].title in out
    assert FIGURES["ks"].title in out
    assert json.loads(run("explain", "ks", "--format", "json").out)["figure"]["title"] == FIGURES["ks"].title


def test_the_nearest_name_is_suggested(run):
    done = run("explain", "tempratur")
    assert (done.status, done.out) == (2, "")
    assert "did you mean 'temperature'" in done.err
    assert "did you mean 'label_column'" in run("explain", "label-colum").err


def test_names_are_completed():
    environment = os.environ | {
        "_CALCLI_COMPLETE": "complete_bash", "COMP_WORDS": "calcli explain skc", "COMP_CWORD": "2",
    }  # fmt: skip
    command = [sys.executable, "-m", "calcli"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == "skce"


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("ECE", "ECE (ece)"),
        ("nll", "Log-loss (log_loss)"),
        ("Expected Calibration Error", "ECE (ece)"),
        ("calibration error", "ECE (ece)"),
        ("Temperature-Scaling", "Temperature scaling (temperature)"),
        ("reliability diagram", "Reliability diagram (reliability)"),
        ("bins", "The option --bins"),
        ("--draws", "The option --draws"),
        ("kind", "The option --kind"),
        ("--ignore-label", "The option --ignore-label"),
    ],
)
def test_what_people_call_it_is_found(run, name, title):
    assert run("explain", "--", name).out.splitlines()[0] == title


def test_every_synonym_is_of_something_there_is():
    entries = {*METRICS, *METHODS, *FIGURES}
    assert set(SYNONYMS.values()) <= entries
    assert not set(SYNONYMS) & entries
