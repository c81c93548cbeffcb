"""Many struck runs, and what they must leave."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults import runs
from tests.faults.commands import CALLS, MAKING, OLD, fill
from tests.faults.runs import Ended, Fault
from tests.forked import load

STATUS = {"kill -9": -signal.SIGKILL, "SIGTERM": 128 + signal.SIGTERM, "SIGINT": 130}
ABORTS = (-signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS, 127)  # of libraries without memory, 127 of glibc
REMARK = "calcli: "
KINDS = (
    "kill -9",
    "SIGTERM",
    "SIGINT",
    "any moment",
    "full disk",
    "read-only",
    "memory limit",
    "changing file",
)


@dataclass
class Stage:
    """A call, what it reads and what it makes when nothing strikes.

    Attributes
    ----------
    arguments
        Of the call.
    inputs, made
        Files of the folder before, and those that are new afterwards; None for a folder.
    operations
        On files, while it runs.
    seconds
        It takes.
    """

    arguments: list[str]
    inputs: dict[str, bytes | None]
    made: dict[str, bytes | None]
    operations: int
    seconds: float


@dataclass
class Tried:
    """How often each fault was tried, how runs ended, and what was wrong."""

    times: Counter[str] = field(default_factory=Counter)
    ended: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def summary(self) -> str:
        """Return a line for each fault."""
        lines = [f"{name}: {times} runs" for name, times in self.times.items()]
        ends = ", ".join(f"{times} {how}" for how, times in self.ended.most_common())
        return "\n".join([*lines, f"ended: {ends}", f"{self.times.total()} runs, {len(self.wrong)} wrong"])


def prepare(folder: Path) -> dict[str, bytes | None]:
    """Load calcli, and return the files that calls read."""
    load()
    os.environ["MPLCONFIGDIR"] = str(folder / "fonts")
    (folder / "first" / "work").mkdir(parents=True)
    fill(folder / "first" / "work")
    for text in MAKING:
        done = runs.run(text.split(), folder / "first")
        assert done.status == 0, done.said
    return done.files


def stage(text: str, folder: Path, inputs: dict[str, bytes | None]) -> Stage:
    """Run a call twice without a fault, and see what it makes; it has to be the same."""
    made = []
    for name in ("once", "again"):
        _lay(folder / name, inputs)
        begun = time.monotonic()
        done = runs.run(text.split(), folder / name)
        seconds = time.monotonic() - begun
        assert done.status == 0, f"{text}: {done.said}"
        made.append({path: one for path, one in done.files.items() if path not in inputs})
        shutil.rmtree(folder / name)
    assert made[0] == made[1], f"{text} makes other files each time"
    return Stage(text.split(), inputs, made[0], done.operations, seconds)


def _lay(folder: Path, files: dict[str, bytes | None]) -> None:
    for name in ("work", "tmp"):
        (folder / name).mkdir(parents=True)
    for path, content in files.items():
        if content is None:
            (folder / path).mkdir(exist_ok=True)
        else:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)


def attempts(seed: int, number: int) -> Iterator[tuple[str, str, bool, random.Random]]:
    """Yield calls, faults, whether targets are there before, and chance: all pairs in turn, then again."""
    chance = random.Random(seed)
    pairs = [(call, kind) for call in CALLS for kind in KINDS]
    while number > 0:
        chance.shuffle(pairs)
        for call, kind in pairs[:number]:
            yield call, kind, chance.random() < 0.5, chance
        number -= len(pairs)


def fault_of(kind: str, stage: Stage, folder: Path, chance: random.Random) -> Fault:
    """Return a fault at some moment of a call."""
    moment = chance.randrange(max(1, stage.operations))
    by_signal = {"kill -9": runs.kill, "SIGTERM": runs.term, "SIGINT": runs.interrupt}
    if kind in by_signal:
        return by_signal[kind](moment)
    if kind == "full disk":
        return chance.choice([runs.full(moment), runs.too_large(int(2 ** chance.uniform(0, 17)))])
    if kind == "memory limit":
        return runs.little_memory(int(2 ** chance.uniform(18, 29)))
    if kind == "changing file":
        path = folder / chance.choice([name for name, content in stage.inputs.items() if content is not None])
        content = path.read_bytes()
        half = content[: chance.randrange(len(content))]
        return runs.changed(chance.randrange(4), path, chance.choice([b"", half, content * 2]))
    return runs.read_only()


def attempt(
    stage: Stage, kind: str, there: bool, folder: Path, chance: random.Random
) -> tuple[Ended, list[str]]:
    """Run a call with a fault, and return how it ended and what is wrong about that."""
    before = dict(stage.inputs)
    if there:
        before |= {path: one if one is None else OLD for path, one in stage.made.items()}
    _lay(folder, before)
    if kind == "any moment":
        kind = chance.choice(("kill -9", "SIGTERM", "SIGINT"))
        child = runs.start(stage.arguments, folder)
        time.sleep(stage.seconds * chance.random())
        number = {"kill -9": signal.SIGKILL, "SIGTERM": signal.SIGTERM, "SIGINT": signal.SIGINT}[kind]
        os.kill(child, number)  # it is there until it is waited for
        ended = runs.end(child, folder)
        early = ended.status in (-signal.SIGTERM, -signal.SIGINT, 70)  # before calcli had begun
    else:
        ended, early = runs.run(stage.arguments, folder, fault_of(kind, stage, folder, chance)), False
    wrong = [] if early and not _changed(ended, before) else list(verdicts(stage, kind, before, ended))
    shutil.rmtree(folder)
    return ended, wrong


def _changed(ended: Ended, before: dict[str, bytes | None]) -> bool:
    return (
        any(ended.files.get(path, OLD) != one for path, one in before.items())
        or ended.files.keys() != before.keys()
    )


def verdicts(stage: Stage, kind: str, before: dict[str, bytes | None], ended: Ended) -> Iterator[str]:
    """Yield what is wrong."""
    yield from _wrong_files(stage, kind, before, ended)
    yield from (f"{path} is gone" for path in before.keys() - ended.files.keys())
    expected = {STATUS[kind], 0} if kind in STATUS else {0, 2}
    if kind == "memory limit" and ended.status in ABORTS:
        return
    if ended.status not in expected:
        yield f"status {ended.status}, {ended.said[-300:]!r}"
    if ended.status == 0 and kind == "read-only":
        yield "nothing was written, and nobody was told"
    elif ended.status == 0 and kind != "changing file" and ended.files != before | stage.made:
        yield "status 0, but not all was written"
    begun = ended.said[: len(REMARK)]
    cut = kind == "full disk" and REMARK.startswith(begun)  # what was said had no more room either
    sentence = begun == REMARK or cut or ended.status != 2 or _reported(stage, ended)
    if not sentence or "Traceback" in ended.said or "bug in calcli" in ended.said:
        yield f"said {ended.said[-600:]!r}"


def _wrong_files(stage: Stage, kind: str, before: dict[str, bytes | None], ended: Ended) -> Iterator[str]:
    died = ended.status in (-signal.SIGKILL, *ABORTS)
    for path, content in ended.files.items():
        if path in stage.made:
            whole = (path in before and content == before[path]) or content == stage.made[path]
            other = (kind == "changing file" and ended.status in (0, 1)) or _reported(stage, ended)
            if not whole and not other:
                yield f"{path} is neither old nor new ({len(content or b'')} bytes)"
        elif path not in before and not (died and _hidden(path)):
            yield f"{path} was left"
        elif path in before and content != before[path] and kind != "changing file":
            yield f"{path} was altered"


def _reported(stage: Stage, ended: Ended) -> bool:
    """Tell whether a check found that a file cannot be judged, which is in all of its outputs."""
    return stage.arguments[0] == "check" and ended.status == 2


def _hidden(path: str) -> bool:
    return path.startswith("tmp/") or any(part.startswith(".") for part in Path(path).parts) or "/new" in path


def two_writers(inputs: dict[str, bytes | None], folder: Path) -> Iterator[str]:
    """Let two calls write the same targets at once, and yield what is neither's."""
    pairs = (("apply cal.json a.csv -o new.csv", "apply cal.json b.csv -o new.csv"), (
        "evaluate a.csv --save-state new.calcli", "evaluate b.csv --save-state new.calcli",
    ), ("plot a.csv -o new --figure ks", "plot b.csv -o new --figure ks"))  # fmt: skip
    for texts in pairs:
        known = [stage(text, folder, inputs).made for text in texts]
        _lay(folder / "both", inputs)
        (folder / "other").mkdir()
        children = [
            runs.start(texts[0].split(), folder / "both"), runs.start(texts[1].split(), folder / "both")
        ]  # fmt: skip
        done = [runs.end(child, folder / "both") for child in children]
        for ended in done:
            if ended.status != 0:
                yield f"{texts[0]}: status {ended.status}, {ended.said}"
        for path, content in done[-1].files.items():
            if path not in inputs and content not in [made.get(path, OLD) for made in known]:
                yield f"{texts[0]}: {path} is of neither"
        shutil.rmtree(folder / "both")
        shutil.rmtree(folder / "other")


def try_many(seed: int, number: int, folder: Path, names: tuple[str, ...] = tuple(CALLS)) -> Tried:
    """Strike runs of the calls, and let two write at once."""
    inputs, tried = prepare(folder), Tried()
    stages: dict[str, Stage] = {}  # of the calls whose turn has come
    for name, kind, there, chance in attempts(seed, number):
        if name not in names:
            continue
        if name not in stages:
            stages[name] = stage(CALLS[name], folder, inputs)
        ended, wrong = attempt(stages[name], kind, there, folder / "run", chance)
        tried.times[kind] += 1
        tried.ended[f"with status {ended.status}"] += 1
        told = [f"{name}, {kind}{' over old files' if there else ''}: {one}" for one in wrong]
        tried.wrong += told
        print(*told, sep="\n", end="\n" if told else "", flush=True)
    tried.wrong += two_writers(inputs, folder)
    tried.times["two writers"] += 3
    return tried
