"""The recipes of the guide for gates: each is taken from its page and tried."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from calcli.guide import page_text
from calcli.io.saved.policies import parse_policy
from tests.cli.conftest import ROOT, put_on_path

PAGE = page_text("gates-and-ci")
ACTION = (ROOT / "action.yml").read_text(encoding="utf-8")
SHELL = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c")  # as GitHub runs steps


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


def test_the_step(folder):
    place, status = folder
    (line,) = re.findall(r"run: \|\n\s+(calcli .*)", PAGE)
    assert run(place, "bash", "-e", "-c", line).returncode == status
    assert "| log_loss |" in (place / "summary.md").read_text()


@pytest.mark.parametrize("folder", ["release_2"], indirect=True)
def test_the_test_for_pytest(folder):
    place, status = folder
    (place / "test_release.py").write_text(block("py"))
    done = run(place, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_release.py")
    assert done.returncode == status, done.stdout
    assert not status or seen_by_a_person(done.stdout)


def seen_by_a_person(printed: str) -> bool:
    """Tell whether the lines of pytest, which cuts what is long, name the file and each broken rule."""
    lines = [line.removeprefix("E").strip() for line in printed.splitlines() if line.startswith("E  ")]
    summary = next(n for n, line in enumerate(lines) if "preds.parquet: " in line and "failed" in line)
    assert lines[summary + 1].startswith("log_loss (upper end) at most 0.4: undecided, 0.")
    assert any(line.startswith("log_loss at most 5% worse than baseline: FAILED") for line in lines)
    return "..." not in "".join(lines[summary : lines.index("assert 1 == 0")])


def test_the_line_before_a_merge(folder):
    place, status = folder
    assert run(place, "sh", "-c", f"{block('sh')}\necho merged").returncode == status


@pytest.mark.parametrize("folder", ["release_2"], indirect=True)
def test_the_line_before_a_merge_makes_a_policy_that_compares(folder):
    place, _ = folder
    (place / "calcli.toml").unlink()
    run(place, "sh", "-c", block("sh"))
    assert parse_policy(tomllib.loads((place / "calcli.toml").read_text()), "the page").compares


GH = """#!{python}
# as much of GitHub's command line as the action uses: comments are the lines of a file
import json, os, pathlib, sys
store = pathlib.Path({store!r})
comments = json.loads(store.read_text()) if store.exists() else []
if "--method" in sys.argv:
    method, place = sys.argv[sys.argv.index("--method") + 1 :][:2]
    field, _, file = sys.argv[-1].partition("=@")
    assert field == "body"
    text = pathlib.Path(file).read_text()
    if method == "POST":
        comments.append(text)
    else:
        comments[int(place.rpartition("/")[2]) - 1] = text
    store.write_text(json.dumps(comments))
else:
    print(*(n for n, text in enumerate(comments, 1) if text.startswith(os.environ["MARK"])), sep="\\n")
"""


def step(name: str) -> str:
    """Return the shell commands of a step of the action."""
    found = re.search(rf"- id: {name}\n.*?run: \|\n((?: {{8}}[^\n]*\n)+)", ACTION, re.DOTALL)
    assert found is not None
    return found[1]


def outputs_of(folder: Path) -> dict[str, str]:
    lines = (folder / "outputs").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)


def check_by_action(folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    given = {"FILES": "preds.parquet", "POLICY": "", "BASELINE": "", "OPTIONS": ""} | inputs
    assert all(f"{name}: ${{{{ inputs.{name.lower()} }}}}" in ACTION for name in given)
    (folder / "calcli").mkdir(exist_ok=True)
    if not (folder / "calcli" / "bin").exists():
        (folder / "calcli" / "bin").symlink_to(folder / "bin")
    given |= {"RUNNER_TEMP": str(folder), "GITHUB_OUTPUT": str(folder / "outputs")}
    return run(folder, "env", *(f"{name}={value}" for name, value in given.items()), *SHELL, step("check"))


def test_the_action_judges(folder):
    place, status = folder
    done = check_by_action(place, BASELINE="main.parquet")
    assert done.returncode == status
    assert done.stdout.startswith("::error file=calcli.toml" if status else "::notice")
    assert outputs_of(place) == {"verdict": "failed" if status else "passed", "report": "calcli-report"}
    assert "preds.parquet" in (place / "summary.md").read_text(encoding="utf-8")
    written = {file.name for file in (place / "calcli-report").iterdir()}
    assert {"check.md", "check.json", "check.xml", "check.html"} <= written


@pytest.mark.parametrize("folder", ["release_2"], indirect=True)
def test_the_action_replaces_its_comment(folder):
    place, _ = folder
    (place / "bin" / "gh").write_text(GH.format(python=sys.executable, store=str(place / "comments.json")))
    (place / "bin" / "gh").chmod(0o755)
    environment = {"RUNNER_TEMP": str(place), "GITHUB_REPOSITORY": "team/models", "NUMBER": "7"}
    environment |= {"REPORT": "calcli-report", "MARK": "<!-- calcli check of preds.parquet in build  -->"}
    (place / "comments.json").write_text('["Looks good to me."]')
    for files in ("absent.parquet", "preds.parquet"):
        check_by_action(place, FILES=files)
        variables = (f"{name}={value}" for name, value in environment.items())
        assert run(place, "env", *variables, *SHELL, step("comment")).returncode == 0
        first, comment = json.loads((place / "comments.json").read_text())
        assert first == "Looks good to me."
        assert comment.startswith(environment["MARK"])
    assert "| log_loss (upper end) at most 0.4 |" in comment


def test_the_action_says_why_nothing_was_judged(folder):
    place, _ = folder
    assert check_by_action(place, POLICY="absent.toml").returncode == 2
    assert outputs_of(place)["verdict"] == "not judged"
    assert "absent.toml: no such file" in (place / "summary.md").read_text()


@pytest.mark.parametrize("folder", ["release_2"], indirect=True)
@pytest.mark.parametrize("where", ["action", "hook"])
def test_a_policy_in_pyproject_is_used_by_the_action_and_the_hook(folder, where):
    place, status = folder
    rules = block("toml").replace("[[rules]]", "[[tool.calcli.rules]]")
    (place / "pyproject.toml").write_text(f'[project]\nname = "model"\n[tool.calcli]\n{rules}')
    (place / "calcli.toml").unlink()
    if where == "action":
        done = check_by_action(place, BASELINE="main.parquet")
        assert done.stdout.startswith("::error file=pyproject.toml" if status else "::notice")
    else:
        done = run(place, "calcli", "check", "--baseline", "main.parquet", "preds.parquet")
    assert done.returncode == status


@pytest.mark.parametrize("folder", ["release_2"], indirect=True)
def test_the_hook(folder):
    place, status = folder
    hook = dict(
        re.findall(r"^(?:- |  )(\w+): (.*)$", (ROOT / ".pre-commit-hooks.yaml").read_text(), re.MULTILINE)
    )
    assert (
        run(place, *hook["entry"].split(), "--baseline", "main.parquet", "preds.parquet").returncode == status
    )
    taken = ("preds.parquet", "out/predictions_test.csv", "pred.npz")
    assert all(re.search(hook["files"], path) for path in taken)
    assert not any(re.search(hook["files"], path) for path in ("spreads.csv", "model.parquet", "preds.py"))


@pytest.mark.parametrize("folder", ["release_2"], indirect=True)
def test_the_job_for_gitlab(folder):
    place, status = folder
    lines = re.findall(r"- (calcli check .*--html.*)", PAGE)
    assert len(lines) == 1
    assert run(place, "bash", "-e", "-c", lines[0]).returncode == status
    assert (place / "check.html").exists()
    assert (place / "check.xml").exists()
