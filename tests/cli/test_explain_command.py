"""`calcli explain`, from the registries."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from calcli.core.language.methods import METHODS
from calcli.core.language.metrics import METRICS


def test_everything_is_listed(run):
    out = run("explain").out
    for name in (*METRICS, *METHODS):
        assert f"\n{name} " in out


@pytest.mark.parametrize("name", [*METRICS, *METHODS])
def test_every_entry_is_explained(run, name):
    done = run("explain", name)
    assert done.status == 0
    entry = METRICS.get(name) or METHODS[name]
    said = " ".join(done.out.split())
    for line in (entry.title, entry.source, getattr(entry, "formula", ""), getattr(entry, "misses", "")):
        assert " ".join(line.split()) in said


def test_an_expression_stands_for_its_metric(run):
    assert run("explain", "ece:bins=20").out == run("explain", "ece").out


def test_json_is_the_registry(run):
    report = json.loads(run("explain", "--format", "json").out)
    assert list(report["metrics"]) == list(METRICS)
    assert list(report["methods"]) == list(METHODS)
    assert json.loads(run("explain", "ks", "--format", "json").out)["formula"] == METRICS["ks"].formula


def test_the_nearest_name_is_suggested(run):
    done = run("explain", "tempratur")
    assert (done.status, done.out) == (2, "")
    assert "did you mean 'temperature'" in done.err


def test_names_are_completed():
    environment = os.environ | {
        "_CALCLI_COMPLETE": "complete_bash", "COMP_WORDS": "calcli explain skc", "COMP_CWORD": "2",
    }  # fmt: skip
    command = [sys.executable, "-m", "calcli"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == "skce"
