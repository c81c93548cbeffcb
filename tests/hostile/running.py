"""Calls in forks, within limits, and what they left: streams, files, seconds, memory, strays."""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import sys
import tempfile
import time
import weakref
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import util
from pathlib import Path
from typing import Any

from tests.forked import call
from tests.hostile.cases import Case

SECONDS = 20  # of processor time: other work on the machine does not count
PATIENCE = 120  # by the clock: what waits for ever is ended
MEGABYTES = 1000
ROOM = 6000  # megabytes of addresses beyond those of the loaded process: more would endanger the machine
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
CHANGES = "mkdir", "rename", "remove", "rmdir", "link", "symlink", "chmod", "truncate"
Listing = dict[str, tuple[Any, ...]]


@dataclass
class Ended:
    """What a call left.

    Attributes
    ----------
    status
        The exit status; negative for the number of a signal.
    out, err
        What it wrote to the standard streams.
    seconds
        Of processor time, of two calls those of the slower one; by the clock if it was ended for them.
    megabytes
        The most memory that it held at once.
    before, after
        The files of its folder, and of the home and temporary folder it was given.
    strays
        Where else it wrote.
    again
        What the call behind it wrote to standard output; None if it was not made or was refused.
    """

    status: int
    out: str
    err: str
    seconds: float
    megabytes: float
    before: Listing
    after: Listing
    strays: list[str]
    again: str | None


def _listing(folder: Path) -> Listing:
    """Return what is in the folders of a case: the bytes of files, and when they were written."""
    found: Listing = {}
    for path in sorted(one for name in ("work", "home", "tmp") for one in (folder / name).rglob("*")):
        stored = (
            (path.read_bytes(), path.stat().st_mtime_ns) if path.is_file() and not path.is_symlink() else ()
        )
        found[str(path.relative_to(folder))] = (os.readlink(path),) if path.is_symlink() else stored
    return found


def run(case: Case, folder: Path) -> Ended:
    """Run a case in the folder `work` of a folder, in a process of its own.

    Its streams go to files beside that; `home` and `tmp` of the same folder are all that it is told of the
    machine.
    """
    for name in ("streams", "home", "tmp"):
        (folder / name).mkdir()
    before = _listing(folder)
    if (child := os.fork()) == 0:
        _be(case, folder)
    ended, usage, clock = _wait(child)
    encoding = case.environment.get("PYTHONIOENCODING", "utf-8")
    out, err, strays = (
        (folder / "streams" / name).read_bytes().decode(encoding, "replace")
        for name in ("out", "err", "strays")
    )
    seconds = max(usage.ru_utime + usage.ru_stime, clock)
    with suppress(FileNotFoundError):
        seconds = json.loads((folder / "seconds").read_text())
    again = (folder / "again").read_text() if (folder / "again").exists() else None
    status, megabytes = os.waitstatus_to_exitcode(ended), usage.ru_maxrss / 1000
    return Ended(status, out, err, seconds, megabytes, before, _listing(folder), strays.splitlines(), again)


def _wait(child: int) -> tuple[int, resource.struct_rusage, float]:
    """Wait for a fork, and end it and all that it started when its time is over."""
    handle = os.pidfd_open(child)
    waiting = select.poll()
    waiting.register(handle, select.POLLIN)
    late = 0.0 if waiting.poll(PATIENCE * 1000) else float(PATIENCE)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.close(handle)
    _, ended, usage = os.wait4(child, 0)
    return ended, usage, late


def _be(case: Case, folder: Path) -> None:
    """Become the case: in a fork, that never returns."""
    status = 70
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (held + ROOM * 1_000_000,) * 2)
        status = _call(case, folder)
    finally:
        os._exit(status)


def _call(case: Case, folder: Path) -> int:
    streams = folder / "streams"
    _redirect(0, str(folder / "work" / case.stdin) if case.stdin else os.devnull)
    _redirect(1, streams / "out")
    _redirect(2, streams / "err")
    environment = {
        "PATH": os.defpath, "HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp"),
        "LC_ALL": "C.UTF-8", "MPLCONFIGDIR": os.environ["MPLCONFIGDIR"], **case.environment,
    }  # fmt: skip
    tempfile.tempdir = None  # that of this process is not that of the case
    known = set(weakref.finalize._registry)  # type: ignore[attr-defined]
    _watch(folder)
    status, seconds = _timed(case.arguments, folder, environment)
    if case.again and status == 0:  # what this writes is there only if it was answered
        _redirect(1, folder / "asked")
        again, more = _timed(case.again, folder, environment)
        seconds = max(seconds, more)
        if again == 0:
            (folder / "asked").replace(folder / "again")
    util._run_finalizers()  # as at the end of a process: what multiprocessing put away in folders
    for one in set(weakref.finalize._registry) - known:  # type: ignore[attr-defined]
        one()
    (folder / "seconds").write_text(json.dumps(seconds))
    return status


def _redirect(number: int, path: str | Path) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT if number else os.O_RDONLY)
    os.dup2(file, number)
    os.close(file)


def _timed(arguments: list[str], folder: Path, environment: dict[str, str]) -> tuple[int, float]:
    """Make a call within its time; return its status and seconds."""
    begun, hard = sum(os.times()[:4]), resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + SECONDS + 1, hard))
    status = call(arguments, str(folder / "work"), environment)
    return status, sum(os.times()[:4]) - begun


def _watch(folder: Path) -> None:
    """Note from now on where Python writes outside a folder, where it keeps no compiled modules."""
    sys.dont_write_bytecode = True
    strays = os.open(folder / "streams" / "strays", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def see(event: str, given: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = given
            if not isinstance(flags, int) or not flags & WRITES:
                return
        elif event.startswith("os.") and event[3:] in CHANGES:
            path = given[1] if event in ("os.rename", "os.link", "os.symlink") else given[0]
        else:
            return
        if isinstance(path, (str, bytes, os.PathLike)):
            whole = os.path.abspath(os.fsdecode(path))
            if not whole.startswith(f"{folder}/") and whole != os.devnull:
                os.write(strays, f"{event} {whole}\n".encode("utf-8", "backslashreplace"))

    sys.addaudithook(see)
