"""Running the command line inside the test's process."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from calcli.cli.main import status_of
from tests.forked import put_shim

ROOT = Path(__file__).resolve().parents[2]


class Done(NamedTuple):
    """What a command left behind."""

    status: int
    out: str
    err: str


def put_on_path(folder: Path) -> str:
    """Put a `calcli` of this checkout into a new folder and return the PATH to find it by."""
    folder.mkdir()
    put_shim(folder / "calcli")
    return f"{folder}:{os.environ['PATH']}"


@pytest.fixture
def run(capsys, monkeypatch) -> Callable[..., Done]:
    """Return a function that runs `calcli` with arguments, by a terminal of 80 columns without color."""
    monkeypatch.setenv("COLUMNS", "80")

    def command(*arguments: object) -> Done:
        status = status_of([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Done(status, out, err)

    return command


@pytest.fixture
def sample() -> Path:
    """Return the folder of sample data."""
    return ROOT / "sample_data"


@pytest.fixture
def preds(tmp_path) -> Path:
    """Return a file of four rows: log-loss of each -ln 0.8, accuracy 1."""
    file = tmp_path / "preds.csv"
    file.write_text("label,prob_cat,prob_dog\n" + "cat,0.8,0.2\ndog,0.2,0.8\n" * 2)
    return file
