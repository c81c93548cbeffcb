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
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import util
from pathlib import Path
from typing import Any

from calcli.io.places.paths import _secrets
from tests.forked import call
from tests.hostile.cases import Case

SECONDS = 20  # of processor time: other work on the machine does not count
PATIENCE = 120  # by the clock: what waits for ever is ended
MEGABYTES = 1000
ROOM = 6000  # megabytes of addresses beyond those of the loaded process: more would endanger the machine
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
CHANGES = (
    "os.mkdir",
    "os.rename",
    "os.remove",
    "os.rmdir",
    "os.link",
    "os.symlink",
    "os.chmod",
    "os.truncate",
)
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
    again: str | None = None


def listing(folder: Path) -> Listing:
    """Return what is in a folder: the bytes of files, and when they were written."""
    found: Listing = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = (os.readlink(path),)
            continue
        found[name] = (path.read_bytes(), path.stat().st_mtime_ns) if path.is_file() else ()
    return found


def run(case: Case, folder: Path) -> Ended:
    """Run a case in the folder `work` of a folder, in a process of its own.

    Its streams go to files beside that; `home` and `tmp` of the same folder are all that it is told of the
    machine.
    """
    before = _laid(folder)
    if (child := os.fork()) == 0:
        _be(case, folder)
    ended, usage, clock = _wait(child)
    numbers = _told(folder)
    seconds = numbers[1] if numbers else max(usage.ru_utime + usage.ru_stime, clock)
    return _looked(case, folder, before, os.waitstatus_to_exitcode(ended), seconds, usage.ru_maxrss / 1000)


def run_many(cases: dict[Path, Case]) -> dict[Path, Ended]:
    """Run cases in their folders, one after the other in one process; return how they ended, if they did.

    This is many times faster than a process for each. A call finds the memory as others left it, and what
    ends the process ends all that come behind: what did not end as it should is to be run again by `run`.
    """
    before = {folder: _laid(folder) for folder in cases}
    if (child := os.fork()) == 0:
        _be_many(cases)
    _wait(child)
    told = {folder: _told(folder) for folder in cases}
    return {
        folder: _looked(cases[folder], folder, before[folder], *numbers)
        for folder, numbers in told.items()
        if numbers
    }


def _laid(folder: Path) -> Listing:
    for name in ("streams", "home", "tmp"):
        (folder / name).mkdir()
    return _watched(folder)


def _told(folder: Path) -> tuple[int, float, float] | None:
    """Return status, seconds and megabytes of a case that came to its end."""
    with suppress(FileNotFoundError, ValueError):
        status, seconds, megabytes = json.loads((folder / "ended.json").read_text())
        return status, seconds, megabytes
    return None


def _watched(folder: Path) -> Listing:
    return _flat({name: listing(folder / name) for name in ("work", "home", "tmp")})


def _looked(
    case: Case, folder: Path, before: Listing, status: int, seconds: float, megabytes: float
) -> Ended:
    encoding = case.environment.get("PYTHONIOENCODING", "utf-8")
    out, err, strays = (
        (folder / "streams" / name).read_bytes().decode(encoding, "replace")
        for name in ("out", "err", "strays")
    )
    path = folder / "streams" / "again"
    again = path.read_text() if path.exists() else None
    return Ended(status, out, err, seconds, megabytes, before, _watched(folder), strays.splitlines(), again)


def _flat(listings: dict[str, Listing]) -> Listing:
    return {f"{folder}/{name}": one for folder, found in listings.items() for name, one in found.items()}


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
        _limit()
        status = _call(case, folder, _Watch())
    finally:
        os._exit(status)


def _be_many(cases: dict[Path, Case]) -> None:
    """Become one case after the other: in a fork, that never returns."""
    try:
        os.setsid()
        _limit()
        watch = _Watch()
        for folder, case in cases.items():
            Path("/proc/self/clear_refs").write_text("5")  # the most memory is counted anew
            _call(case, folder, watch)
            _secrets.clear()
    finally:
        os._exit(0)


def _most_megabytes() -> float:
    told = Path("/proc/self/status").read_text()
    return int(told.partition("VmHWM:")[2].split()[0]) / 1000


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + ROOM * 1_000_000,) * 2)


def _call(case: Case, folder: Path, watch: _Watch) -> int:
    _redirect(case, folder)
    environment = {
        "PATH": os.defpath, "HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp"),
        "LC_ALL": "C.UTF-8", "MPLCONFIGDIR": os.environ["MPLCONFIGDIR"], **case.environment,
    }  # fmt: skip
    tempfile.tempdir = None  # that of this process is not that of the case
    known = set(weakref.finalize._registry)  # type: ignore[attr-defined]
    with watch.over(folder):
        status, seconds = _timed(case.arguments, folder, environment)
        if case.again and status == 0:
            seconds = max(seconds, _call_again(case, folder, environment))
        util._run_finalizers()  # as at the end of a process: what multiprocessing put away in folders
        for one in set(weakref.finalize._registry) - known:  # type: ignore[attr-defined]
            one()
    (folder / "ended.json").write_text(json.dumps([status, seconds, _most_megabytes()]))
    return status


def _timed(arguments: list[str], folder: Path, environment: dict[str, str]) -> tuple[int, float]:
    """Make a call within its time; return its status and seconds."""
    begun, hard = sum(os.times()[:4]), resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + SECONDS + 1, hard))
    status = call(arguments, str(folder / "work"), environment)
    return status, sum(os.times()[:4]) - begun


def _call_again(case: Case, folder: Path, environment: dict[str, str]) -> float:
    """Make the call behind a call, and return its seconds; what it wrote is there only if it was answered."""
    path = folder / "streams" / "asked"
    file = os.open(path, os.O_WRONLY | os.O_CREAT)
    os.dup2(file, 1)
    os.close(file)
    status, seconds = _timed(case.again, folder, environment)
    if status == 0:
        path.replace(folder / "streams" / "again")
    return seconds


def _redirect(case: Case, folder: Path) -> None:
    stdin = str(folder / "work" / case.stdin) if case.stdin else os.devnull
    for number, path in enumerate((stdin, folder / "streams" / "out", folder / "streams" / "err")):
        file = os.open(path, os.O_WRONLY | os.O_CREAT if number else os.O_RDONLY)
        os.dup2(file, number)
        os.close(file)


class _Watch:
    """Notes where Python writes outside a folder."""

    def __init__(self) -> None:
        self.folder = ""
        self.strays = -1
        sys.addaudithook(self._see)  # stays as long as the process

    @contextmanager
    def over(self, folder: Path) -> Iterator[None]:
        """Watch over a folder."""
        self.strays = os.open(folder / "streams" / "strays", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.folder = f"{folder}/"
        yield
        self.folder = ""
        os.close(self.strays)

    def _see(self, event: str, given: tuple[Any, ...]) -> None:
        if not self.folder:
            return
        if event == "open":
            path, _, flags = given
            if not isinstance(flags, int) or not flags & WRITES:
                return
        elif event in CHANGES:
            path = given[1] if event in ("os.rename", "os.link", "os.symlink") else given[0]
        else:
            return
        if isinstance(path, (str, bytes, os.PathLike)):
            whole = os.path.abspath(os.fsdecode(path))
            if not whole.startswith(self.folder) and whole != os.devnull:
                os.write(self.strays, f"{event} {whole}\n".encode("utf-8", "backslashreplace"))
