"""Some hostile cases of every kind; and planted faults, which the harness must see."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from calcli.cli.main import COMMANDS, app_of
from tests.hostile import files, models
from tests.hostile.cases import Case
from tests.hostile.kinds import KINDS, make
from tests.hostile.options import declared
from tests.hostile.planted import PLANTS
from tests.hostile.verdicts import clashes

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1", "PYTHONUTF8": "1"}
    call = [sys.executable, "-m", *arguments]
    return subprocess.run(call, capture_output=True, text=True, check=False, env=environment, cwd=ROOT)


@pytest.mark.parametrize("turn", range(3))
def test_hostile_cases_end_as_promised(turn):
    size = len(KINDS)
    done = run("tests.hostile", "--cases", str(size), "--first", str(turn * size), "--jobs", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{size} cases of {size} kinds" in done.stdout
    assert " 0 faults" in done.stdout


def test_planted_faults_are_seen():
    done = run("tests.hostile.planted")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.pop("") == []
    assert found.keys() == PLANTS.keys()
    for told, verdicts in found.items():
        assert any(told in verdict for verdict in verdicts), f"{told}: {verdicts}"


@pytest.mark.parametrize(
    ("words", "same"),
    [
        ("-o ./x --html x", True),
        ("-o x --html made/../x", True),
        ("--output=x.json --cross-validated x.json", True),
        ("-o x -o y --html x", False),
        ("-o x --html y", False),
        ("-o x --html x --help", False),
    ],
)
def test_two_outputs_in_one_place_are_seen(words, same):
    assert bool(list(clashes(Case(["fit", *words.split()])))) == same


@pytest.mark.parametrize("number", range(len(KINDS)), ids=list(KINDS))
def test_a_number_gives_a_case_again(number, tmp_path, monkeypatch):
    monkeypatch.setattr(models, "by_calcli", lambda folder, arguments: stand_in(folder / arguments[-1]))
    made = []
    for folder in (tmp_path / "once", tmp_path / "again", tmp_path / "other"):
        folder.mkdir()
        case = make(8 if folder.name == "other" else 7, number, folder, tmp_path)
        put = [path for path in folder.rglob("*.*") if path.is_file() and not path.is_symlink()]
        made.append((case, {str(path.relative_to(folder)): path.read_bytes() for path in put}))
    assert made[0] == made[1]
    assert made[0] != made[2]
    assert made[0][0].kind == list(KINDS)[number]


def stand_in(path):
    """Write something in place of what calcli makes."""
    path = path / "report.json" if path.name == "made" else path
    path.parent.mkdir(exist_ok=True)
    content = b'{"schema": "calcli", "parameters": {"temperature": 2.0}}'
    path.write_bytes(
        content if path.suffix in (".json", ".toml") else files.archive({"a.npy": files.npy([0, 1])})
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_options_are_those_that_are_declared(command):
    """The harness reads declarations; the command line is made of the same."""
    known = {name for one in get_command(app_of()).commands[command].params for name in one.opts}
    found = {one.name for one in declared(command)}
    assert found <= known
    assert {name for name in known - found if name.startswith("--")} <= {"--help", "--help-all"}
