"""Faults planted into calcli, which the harness must see: `python -m tests.hostile.planted` tries all."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from calcli.cli.output import remark
from calcli.core.language.errors import InputError
from calcli.io import read
from tests.hostile import hunting, running, verdicts
from tests.hostile.cases import Case


def _left() -> None:
    Path("left").mkdir()
    raise InputError("refused")


def _traced() -> None:
    print("Traceback (most recent call last):", file=sys.stderr)
    sys.exit(2)


def _busy() -> None:
    while True:
        pass


def _other_rows() -> None:
    with Path("t.csv").open("a") as file:
        file.write("0,0.9,0.1\n")


def _once() -> None:
    if Path("seen").exists():
        raise InputError("refused")
    Path("seen").touch()


def _raised(error: BaseException) -> Callable[[], None]:
    def raise_it() -> None:
        raise error

    return raise_it


PLANTS: dict[str, Callable[[], Any]] = {  # by a part of what the harness says of them
    "bug in calcli (KeyError: 'planted')": _raised(KeyError("planted")),
    "internals on standard error: Traceback": _traced,
    "left behind: work/left": _left,
    "changed: home/stray": lambda: (Path.home() / "stray").touch(),
    "outside: open": lambda: (Path(os.environ["MPLCONFIGDIR"]) / "stray").write_text("x"),
    r"raw text on standard output: '\x1b[31m": lambda: print("\x1b[31m"),
    "not a remark: said": lambda: print("said", file=sys.stderr),
    "long: 25000 characters": lambda: (remark("x" * 24_992), sys.exit(2)),
    "no sentence": lambda: sys.exit(2),
    "crash: signal 11": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "slow: ": _busy,
    "large: ": lambda: b"x" * 400_000_000,
    "differs: /None/metrics/accuracy/high is": _other_rows,
    "answered once, and not again": _once,
}


def try_all() -> dict[str, list[str]]:
    """Return what the harness says of each fault."""
    plants = list(PLANTS)

    def make(seed: int, number: int, folder: Path, store: Path) -> Case:
        (folder / "t.csv").write_text("label,prob_0,prob_1\n0,0.5,0.5\n1,0.5,0.5\n")
        environment = {"PLANT": plants[number]} if number < len(plants) else {}
        again = ["evaluate", "t.csv", "--format", "json"]
        if environment and PLANTS[environment["PLANT"]] not in (_other_rows, _once):
            return Case(again[:2], environment=environment)
        return Case(again, environment=environment, again=again)

    known_format = read.known_format

    def planted(*given: Any) -> Any:
        PLANTS.get(os.environ.get("PLANT", ""), lambda: None)()
        return known_format(*given)

    hunting.make, read.known_format = make, planted
    running.SECONDS, verdicts.MEGABYTES = 4, 300
    numbers = range(len(plants) + 1)
    return dict(zip([*plants, ""], (one.verdicts for one in hunting.hunt(0, numbers, 1)), strict=True))


if __name__ == "__main__":
    print(json.dumps(try_all()))
