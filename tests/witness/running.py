"""What one checkout makes of the inputs of a witness: `python -m tests.witness.running CASES OUTCOMES`.

It is run with the folder of the checkout first in the path, whatever that has in its own tests.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.forked import call, load

SECONDS, BYTES = 20, 3_000_000_000


def outcomes(case: dict[str, Any], work: Path) -> list[list[Any]]:
    """Return of each call its status, what it says, and what it left, written anew in a fork."""
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(case["folder"], work / "at", symlinks=True)
    found = []
    for number, words in enumerate(case["calls"]):
        before = _listing(work / "at")
        if (child := os.fork()) == 0:
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
            resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
            for stream in (0, 1, 2):
                path = os.devnull if not stream else str(work / f"{number}.{stream}")
                os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), stream)
            kept = {name: os.environ[name] for name in ("MPLCONFIGDIR", "PATH")}
            os._exit(call(words, str(work / "at"), kept | {"HOME": str(work), "COLUMNS": "200"}))
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said, told = (
            (work / f"{number}.{stream}").read_bytes().decode(errors="replace") for stream in (1, 2)
        )
        after = {name: told for name, told in _listing(work / "at").items() if before.get(name) != told}
        found.append([status, said, told, after])
    return found


def _listing(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): _shown(path) for path in files}


def _shown(path: Path) -> str:
    held = path.read_bytes()
    text = (
        held[:20_000].decode(errors="replace") if path.suffix in (".csv", ".json", ".jsonl", ".tsv") else ""
    )
    return f"{hashlib.sha256(held).hexdigest()[:12]} {text}"


def main(cases: str, out: str) -> None:
    """Write the outcomes of all cases, one in a line."""
    load()
    with tempfile.TemporaryDirectory() as folder, Path(out).open("w", encoding="utf-8") as file:
        os.environ["MPLCONFIGDIR"] = folder
        for case in json.loads(Path(cases).read_text()):
            print(json.dumps(outcomes(case, Path(folder) / "work")), file=file, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
