"""Some runs that are struck; that all commands are among them, and that a wrong end would be seen."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults import trying
from tests.faults.commands import CALLS, OLD, writing_options
from tests.faults.runs import Ended

ROOT = Path(__file__).resolve().parents[2]


def test_every_option_that_writes_is_tried():
    texts = [text.split() for text in CALLS.values()]
    for command, options in writing_options().items():
        tried = {word for text in texts if text[0] == command for word in text}
        assert options <= tried, command


def test_struck_runs_leave_old_or_new_files():
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1", "PYTHONUTF8": "1"}
    call = [sys.executable, "-W", "ignore::DeprecationWarning", "-m", "tests.faults", "--runs", "12"]
    done = subprocess.run(call, capture_output=True, text=True, check=False, env=environment, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("15 runs, 0 wrong\n")


STAGE = trying.Stage(["fit"], {"work/a.csv": b"a"}, {"work/new.json": b"whole"}, 9, 1.0)
BEFORE = {"work/a.csv": b"a", "work/new.json": OLD}


@pytest.mark.parametrize(
    ("kind", "status", "said", "changes", "wrong"),
    [
        ("SIGTERM", 143, "", {}, None),
        ("SIGTERM", 143, "", {"work/new.json": b"wh"}, "work/new.json is neither old nor new"),
        ("SIGTERM", 143, "", {"work/.new-1.json": b"wh"}, "was left"),
        ("kill -9", -9, "", {"work/.new-1.json": b"wh"}, None),
        ("SIGINT", 1, "Traceback", {}, "status 1"),
        ("full disk", 0, "", {}, "not all was written"),
        ("full disk", 2, "calcli: this is a bug in calcli", {}, "said"),
        ("read-only", 0, "", {"work/new.json": b"whole"}, "nobody was told"),
        ("changing file", 2, "calcli: a.csv", {"work/a.csv": b""}, None),
        ("memory limit", 2, "calcli: not enough memory", {"work/a.csv": b""}, "work/a.csv was altered"),
    ],
)
def test_what_is_wrong_is_seen(kind, status, said, changes, wrong):
    found = list(trying.verdicts(STAGE, kind, BEFORE, Ended(status, said, BEFORE | changes, 9)))
    assert any(wrong in one for one in found) if wrong else found == []
