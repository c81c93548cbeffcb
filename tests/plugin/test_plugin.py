"""The example package, installed beside calcli: its metric, its calibrator, its format; and a broken one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calcli.core.language.methods import METHODS
from calcli.core.language.metrics import METRICS

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "sample_data" / "iris_logistic_test.csv"


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """Return a folder with the package as pip installs it, from its pyproject.toml."""
    folder = tmp_path_factory.mktemp("site")
    project = tomllib.loads((Path(__file__).parent / "pyproject.toml").read_text())["project"]
    shutil.copytree(Path(__file__).parent / "calcli_example", folder / "calcli_example")
    about = folder / "calcli_example-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 1.0\n")
    groups = project["entry-points"].items()
    (about / "entry_points.txt").write_text(
        "".join(
            f"[{group}]\n" + "".join(f"{key} = {at}\n" for key, at in points.items())
            for group, points in groups
        )
    )
    return folder


@pytest.fixture
def run(installed, tmp_path):
    def running(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"PYTHONPATH": f"{installed}{os.pathsep}{ROOT}"}
        command = [sys.executable, "-m", "calcli", *map(str, arguments)]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    return running


def test_a_metric_has_a_value_and_an_interval(run):
    done = run("evaluate", SAMPLE, "--metrics", "missed_by:power=2,accuracy", "--format", "json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["results"][0]["metrics"]["missed_by:power=2"]
    table = pd.read_csv(SAMPLE)
    own = np.array([row[f"prob_{row['label']}"] for _, row in table.iterrows()])
    assert found["value"] == pytest.approx(np.mean((1 - own) ** 2))
    assert found["low"] < found["value"] < found["high"]


def test_a_metric_is_compared_and_is_a_rule_of_policies(run, tmp_path):
    assert "missed_by" in run("compare", SAMPLE, SAMPLE, "--metrics", "missed_by").stdout
    (tmp_path / "calcli.toml").write_text('[[rules]]\nmetric = "missed_by"\nmax = 0.0\n')
    assert run("check", SAMPLE).returncode == 1


def test_a_calibrator_is_fitted_written_and_applied(run, tmp_path):
    assert run("fit", SAMPLE, "-m", "halved", "-o", "cal.json").returncode == 0
    done = run("apply", "cal.json", SAMPLE, "-o", "out.csv")
    assert done.returncode == 0, done.stderr
    columns = [name for name in pd.read_csv(SAMPLE).columns if name.startswith("prob_")]
    before, after = (np.log(pd.read_csv(file)[columns]) for file in (SAMPLE, tmp_path / "out.csv"))
    halves, found = (table.iloc[:, 1] - table.iloc[:, 0] for table in (before / 2, after))
    np.testing.assert_allclose(found, halves, rtol=1e-6)


def test_a_format_is_read(run, tmp_path):
    rows = [(0, 0.75), (1, 0.5), (0, 0.9), (1, 0.2), (0, 0.3)] * 10
    text = "".join(f"{label}|{first}|{1 - first}\n" for label, first in rows)
    (tmp_path / "preds.bars").write_text(f"label|prob_0|prob_1\n{text}")
    done = run("evaluate", "preds.bars", "--metrics", "brier", "--format", "json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["results"][0]["metrics"]["brier"]["value"]
    assert found == pytest.approx(np.mean([((label == 0) - first) ** 2 for label, first in rows]))


def test_a_broken_plugin_is_one_sentence(run):
    done = run("evaluate", SAMPLE, "--metrics", "broken")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert (
        "the plugin calcli_example:ABSENT (calcli.metrics: broken) cannot be loaded: AttributeError"
        in done.stderr
    )


def test_plugins_are_not_looked_for_where_all_names_are_known(monkeypatch):
    monkeypatch.setattr("importlib.metadata.entry_points", None)
    assert METRICS["ece"].name == "ece"
    assert METHODS["dp"].name == "dp"
