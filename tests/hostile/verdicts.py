"""Whether a call ended as promised: a right answer, or one sentence and status 2, and no more."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from calcli.core.language.metrics import METRICS
from tests.hostile.agreeing import disagreements
from tests.hostile.cases import Case
from tests.hostile.running import MEGABYTES, SECONDS, Ended

RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
COMMAND = re.compile(r"^\s*(::error::planted|##\[error\]planted|##vso)", re.MULTILINE)
INTERNALS = re.compile(r"bug in calcli|Traceback \(most|\w+Warning: |object at 0x|<class '|Exception ignored")
MEMORY = re.compile(
    r"not enough memory|bad_alloc|MemoryError|Cannot allocate|malloc of size|out of memory", re.I
)
TAGS = re.compile(r"<script>planted|<img src=x|href=\W?https?://planted", re.I)
MARKUP = re.compile(TAGS.pattern + r"|(?<!\\)\]\(http://planted", re.I)  # of Markdown
LOCAL = re.compile(r"^(file|local)://([^/@]*@)?")  # a scheme of the disk, and a secret
JUDGES = ("evaluate", "check")  # what may end with status 2 and a report of what could be read
SAY_NO = (*JUDGES, "threshold", "monitor")  # what may end with status 1
DATA = ("apply", "simulate")  # what writes data to standard output, as they are
REMARK = "calcli: "
LONGEST = 20_000  # characters of a sentence
ABORTED = "memory: "  # how verdicts begin that are counted apart


def verdicts(case: Case, ended: Ended) -> list[str]:
    """Return what is wrong with the end of a case; nothing, if it is as promised."""
    if ended.status in (-6, -9, -11, 2) and MEMORY.search(ended.err):
        return [ABORTED + ended.err.strip().splitlines()[-1]]
    told = [*case.found, *_limits(ended), *_streams(case, ended), *_files(case, ended)]
    told += clashes(case) if ended.status == 0 else []
    if (case.again and ended.status == 0) or (case.alike == "itself" and ended.status in (0, 1)):
        told += disagreements(ended.out, ended.again, case.alike)
    return told


def _limits(ended: Ended) -> Iterator[str]:
    if ended.seconds > SECONDS or ended.status == -signal.SIGXCPU:
        yield f"slow: {ended.seconds:.0f} s"
    elif ended.status < 0:
        yield f"crash: signal {-ended.status}"
    if ended.megabytes > MEGABYTES:
        yield f"large: {ended.megabytes:.0f} MB"


def _streams(case: Case, ended: Ended) -> Iterator[str]:
    command, data = case.command, _writes_data(case)
    if ended.status not in (0, 2, 1 if command in SAY_NO else 0) and ended.status >= 0:
        yield f"status {ended.status}"
    for name, text in (("standard error", ended.err), *([] if data else [("standard output", ended.out)])):
        if found := INTERNALS.search(text):
            yield f"internals on {name}: {_line(text, found.start())}"
        if found := RAW.search(text) or COMMAND.search(text):
            yield f"raw text on {name}: {_line(text, found.start())!r}"
    lines = ended.err.splitlines()
    if ended.status == 2 and not lines and not ended.out:
        yield "no sentence"
    for line in lines:
        if not line.startswith((REMARK, "  ")) and not _talks(case):  # readings stand below a question
            yield f"not a remark: {line[:200]}"
            break
        if len(line) > LONGEST + sum(map(len, case.arguments)):
            yield f"long: {len(line)} characters, {line[:100]}"
    if ended.status == 0 and not data:
        yield from _answer(case, ended.out)


def _line(text: str, place: int) -> str:
    return text[text.rfind("\n", 0, place) + 1 :].partition("\n")[0][:300]


def _writes_data(case: Case) -> bool:
    return case.command in DATA or case.value("--format", "-f") == "csv"


def _talks(case: Case) -> bool:
    """Tell whether a call writes its results to standard error, as standard output has the calibrator."""
    return case.command == "fit" and "-" in (case.value("--output", "-o"), case.value("-o"))


def _unescaped(markdown: str) -> str:
    """Return Markdown without what it shows as it is."""
    return markdown.replace("\\\\", "").replace("\\<", "")


def _answer(case: Case, out: str) -> Iterator[str]:
    """Look at results: JSON is JSON, numbers are in the range of their metric, and names are no markup."""
    if case.value("--format", "-f") == "markdown" and (found := MARKUP.search(_unescaped(out))):
        yield f"markup on standard output: {_unescaped(out)[max(0, found.start() - 40) :][:150]!r}"
    if (
        case.value("--format", "-f") != "json"
        or case.command in ("plot", "fit")
        or {"--init", "--help", "-h"} & {*case.arguments}
    ):
        return
    try:
        tree = json.loads(out, parse_constant=_refuse)
    except ValueError as error:
        yield f"not JSON: {error}"
        return
    for result in tree["results"] if case.command == "evaluate" else []:
        for name, estimate in result["metrics"].items():
            yield from _estimate(name, estimate)


def _refuse(text: str) -> Any:
    raise ValueError(f"{text} is no JSON")


def _estimate(name: str, estimate: dict[str, Any]) -> Iterator[str]:
    low, _, high = METRICS[name.partition(":")[0]].range.partition(" to ")
    value = estimate["value"]
    if not isinstance(value, (int, float)) or "inverse-frequency" in name:  # a sum of errors, not a mean
        return
    try:
        inside = float(low) - 1e-9 <= value <= float(high) + 1e-9
    except ValueError:  # in words
        inside = True
    if not inside:
        yield f"{name} is {value}, out of {low} to {high}"
    ends = estimate.get("low"), estimate.get("high")
    if all(isinstance(end, float) for end in ends) and ends[0] > ends[1]:
        yield f"{name} has the interval {ends[0]} to {ends[1]}"


def _files(case: Case, ended: Ended) -> Iterator[str]:
    """Look at what was written: nothing beside outputs, and nothing at all if the call was refused."""
    yield from (f"outside: {stray}" for stray in ended.strays[:3])
    names = ended.before.keys() | ended.after.keys()
    changed = sorted(name for name in names if ended.before.get(name) != ended.after.get(name))
    partly = case.command in JUDGES and ended.out != ""
    if ended.status == 2 and changed and not partly:
        yield f"left behind: {', '.join(changed[:5])}"
        return
    outputs = [LOCAL.sub("", output) for output in case.outputs]
    policy = [case.value("--policy", "-p") or "calcli.toml"] if "--init" in case.arguments else []
    for name in changed:
        if not any(_is_of(name, f"work/{output}") for output in (*outputs, *policy)):
            yield f"changed: {name}"
    for name in changed:
        stored = ended.after.get(name)
        if not name.endswith((".html", ".md")) or not stored or not isinstance(stored[0], bytes):
            continue
        is_markdown = name.endswith(".md")
        text = _unescaped(stored[0].decode()) if is_markdown else stored[0].decode()
        if found := (MARKUP if is_markdown else TAGS).search(text):
            yield f"markup in {name}: {text[max(0, found.start() - 40) :][:150]!r}"


def clashes(case: Case) -> Iterator[str]:
    """Look for two outputs in one place, of which only one can be there."""
    if case.command in ("explain", "guide") or {"--help", "-h"} & {*case.arguments}:
        return
    spelled = ("-o", "--output"), ("--html",), ("--save-state",), ("--cross-validated",)
    places = [os.path.normpath(place) for names in spelled if (place := case.value(*names)) not in ("", "-")]
    for place in places:
        if places.count(place) > 1 and not place.startswith("/dev/"):
            yield f"two outputs in one place: {place}"


def _is_of(name: str, output: str) -> bool:
    """Tell whether a file belongs to an output: it is that, in it, above it, or beside it by its name."""
    output = os.path.normpath(output)
    stem = output.removesuffix(PurePath(output).suffix)
    return (
        name == output
        or name.startswith((f"{output}/", f"{stem}_labels", f"{stem}."))
        or output.startswith(f"{name}/")
    )
