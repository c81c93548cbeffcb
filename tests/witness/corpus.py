"""The inputs of a witness: files of the tests of `io`, hostile cases, sample data."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.forked import ROOT
from tests.hostile.hunting import make_case, prepare

READING = ("evaluate", "inspect", "apply", "fit")
QUICK = ["--metrics", "log_loss,accuracy,ece", "-q", "-f", "json"]


def build(folder: Path, hostile: int, seed: int) -> list[dict[str, Any]]:
    """Fill a folder with inputs; return for each its own folder, and calls that show how it is read."""
    (folder / "io").mkdir(parents=True)
    command = [sys.executable, "-m", "pytest", "-q", "tests/io", "-p", "tests.witness.recording"]
    environment = os.environ | {"WITNESS": str(folder / "io"), "PYTHONPATH": str(ROOT)}
    subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, check=False)
    recorded = [json.loads(path.read_text()) for path in sorted((folder / "io").glob("*.json"))]
    samples = [(str(ROOT / "sample_data"), [one.name], []) for one in (ROOT / "sample_data").iterdir()]
    cases = [{"folder": own, "calls": _calls(files, words)} for own, files, words in [*recorded, *samples]]
    prepare(folder / "hunt")
    for number in range(hostile):
        own = folder / "hunt" / str(number)
        case = make_case(seed, number, own, folder / "hunt" / "store")
        if case.command in READING and not case.stdin:
            cases.append({"folder": str(own / "work"), "calls": [case.arguments]})
    return cases


def _calls(files: list[str], words: list[str]) -> list[list[str]]:
    calls = [["inspect", *files, *words, "-f", "json"], ["evaluate", *files, *words, *QUICK]]
    if len(files) == 1:
        calls.append(["fit", *files, *words, "-m", "temperature", "--folds", "0", "-q", "-o", "cal.json"])
        endings = sorted({Path(files[0]).suffix or ".csv", ".csv", ".parquet"})
        calls += [["apply", "cal.json", *files, *words, "-q", "-o", f"out{ending}"] for ending in endings]
    return calls
