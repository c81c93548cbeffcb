"""The packages in dist/ hold what they should, and the wheel runs where nothing else is: `make dist`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import calcli

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"
LARGEST = 1_150_000  # bytes of the wheel

if not DIST.is_dir():
    pytest.skip("nothing is built: make dist", allow_module_level=True)


@pytest.fixture(scope="module")
def wheel():
    (found,) = DIST.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Return the programs of an environment that holds the wheel and what it requires."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([os.environ.get("PYTHON", sys.executable), "-m", "venv", folder], check=True)
    subprocess.run([folder / "bin" / "pip", "install", "--quiet", "--no-compile", wheel], check=True)
    return folder / "bin"


def test_the_wheel_is_small(wheel):
    assert wheel.stat().st_size < LARGEST


def test_the_sdist_holds_tests_and_sample_data():
    (found,) = DIST.glob("*.tar.gz")
    with tarfile.open(found) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    left_out = {name for name in tracked.splitlines() if not name.startswith(".")} - names
    assert not left_out
    assert not [name for name in names if "__pycache__" in name]


def test_the_wheel_runs_in_an_empty_environment(installed, tmp_path):
    shutil.copy(ROOT / "sample_data" / "iris_logistic_test.csv", tmp_path)

    def printed(*command):
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    program = installed / "calcli"
    assert printed(program, "--version") == f"calcli {calcli.__version__}\n"
    assert printed(program, "guide", "files").startswith("# Files")
    shown = printed(program, "evaluate", "iris_logistic_test.csv", "--html", "page.html", "--format", "json")
    assert json.loads(shown)["results"][0]["input"]["rows"] == 60
    assert "<svg" in (tmp_path / "page.html").read_text()
    again = printed(installed / "python", "-m", "calcli", "evaluate", "iris_logistic_test.csv", "-f", "json")
    assert again == shown
