"""The recipes of the guide for gates: each is taken from its page and tried."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from calcli.guide import page_text
from calcli.io.policy import parse_policy
from tests.cli.conftest import ROOT, put_on_path

PAGE = page_text("gates-and-ci")


def block(language: str, number: int = 0) -> str:
    return re.findall(rf"```{language}[^\n]*\n(.*?)```", PAGE, re.DOTALL)[number]


@pytest.fixture(params=["release_1", "release_2"])
def folder(request, tmp_path) -> tuple[Path, int]:
    """Return a folder where a release is to replace the first one, and the exit status expected."""
    for name, source in (("main", "release_1"), ("preds", request.param)):
        shutil.copy(ROOT / "sample_data" / f"{source}.parquet", tmp_path / f"{name}.parquet")
    (tmp_path / "calcli.toml").write_text(block("toml"))
    put_on_path(tmp_path / "bin")
    return tmp_path, int(request.param == "release_2")


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "LANG": "C.UTF-8",
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
    }
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_the_policy_is_one():
    policy = parse_policy(tomllib.loads(block("toml")), "the page")
    assert [rule.title for rule in policy.rules] == [
        "log_loss (upper end) at most 0.4",
        "log_loss at most 5% worse than baseline",
        "accuracy proven within 0.02 of baseline",
        "calibrated on light ink",
    ]


def test_the_workflow(folder):
    place, status = folder
    lines = re.findall(r"run: (?:\|\n\s+)?(calcli .*|cat .*)", block("yaml"))
    assert len(lines) == 2
    done = run(place, "bash", "-e", "-c", lines[0])
    assert done.returncode == status
    assert done.stdout.startswith("::error file=calcli.toml" if status else "::notice")
    assert run(place, "bash", "-e", "-c", lines[1]).returncode == 0
    assert "| log_loss at most 5% worse than baseline |" in (place / "summary.md").read_text()


def test_the_step(folder):
    place, status = folder
    (line,) = re.findall(r"run: \|\n\s+(calcli .*)", block("yaml", 3))
    assert run(place, "bash", "-e", "-c", line).returncode == status
    assert "| log_loss |" in (place / "summary.md").read_text()


def test_the_line_before_a_merge(folder):
    place, status = folder
    assert run(place, "sh", "-c", f"{block('sh')}\necho merged").returncode == status


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_the_makefile(folder):
    place, status = folder
    (place / "Makefile").write_text(block("make"))
    done = run(place, "make", "check")
    assert (done.returncode != 0) == bool(status)
    assert (place / "check.xml").read_text().count("<failure") == (2 if status else 0)


@pytest.mark.parametrize("language", ["sh", "make"])
def test_recipes_make_a_policy_that_compares(folder, language):
    place, _ = folder
    (place / "calcli.toml").unlink()
    (place / "Makefile").write_text(block("make"))
    run(place, *(["sh", "-c", block("sh")] if language == "sh" else ["make", "check"]))
    assert parse_policy(tomllib.loads((place / "calcli.toml").read_text()), "the page").compares


def test_the_action_for_workflows(folder):
    place, status = folder
    action = (ROOT / ".github" / "actions" / "check" / "action.yml").read_text(encoding="utf-8")
    script = re.search(r"run: \|\n((?: {8}.*\n)+)", action)
    assert script is not None
    given = {"FILES": "preds.parquet", "POLICY": "calcli.toml", "BASELINE": "main.parquet", "OPTIONS": ""}
    assert all(f"{name}: ${{{{ inputs.{name.lower()} }}}}" in action for name in given)
    done = run(
        place, "env", *(f"{name}={value}" for name, value in given.items()), "bash", "-e", "-c", script[1]
    )
    assert done.returncode == status
    assert done.stdout.startswith("::error file=calcli.toml" if status else "::notice")
    assert "preds.parquet" in (place / "summary.md").read_text(encoding="utf-8")
    assert {"calcli.html", "calcli.xml"} <= {file.name for file in place.iterdir()}


def test_the_job_for_gitlab(folder):
    place, status = folder
    lines = re.findall(r"- (calcli check .*--html.*)", PAGE)
    assert len(lines) == 1
    assert run(place, "bash", "-e", "-c", lines[0]).returncode == status
    assert (place / "check.html").exists()
    assert (place / "check.xml").exists()
