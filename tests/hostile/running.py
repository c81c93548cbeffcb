"""Calls in forks, within limits, and what they left: streams, files, seconds, memory, strays."""

from __future__ import annotations

import os
import resource
import select
import signal
import sys
import tempfile
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
        Of processor time, or those of the clock if it was ended for them.
    megabytes
        The most memory that it held at once.
    before, after
        The files of its folder, and of the home and temporary folder it was given.
    strays
        Where else it wrote.
    """

    status: int
    out: str
    err: str
    seconds: float
    megabytes: float
    before: Listing
    after: Listing
    strays: list[str]


def listing(folder: Path) -> Listing:
    """Return what is in a folder: the bytes of files, and when they were written."""
    found: Listing = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        found[name] = (path.read_bytes(), path.stat().st_mtime_ns) if path.is_file() else ()
    return found


def run(case: Case, folder: Path) -> Ended:
    """Run a case in the folder `work` of a folder; its streams go to files beside that.

    `home` and `tmp` of the same folder are all that it is told of the machine.
    """
    streams = folder / "streams"
    for path in (streams, folder / "home", folder / "tmp"):
        path.mkdir()
    watched = {name: listing(folder / name) for name in ("work", "home", "tmp")}
    if (child := os.fork()) == 0:
        _be(case, folder)
    ended, usage, clock = _wait(child)
    after = {name: listing(folder / name) for name in ("work", "home", "tmp")}
    encoding = case.environment.get("PYTHONIOENCODING", "utf-8")
    texts = [(streams / name).read_bytes().decode(encoding, "replace") for name in ("out", "err", "strays")]
    return Ended(
        os.waitstatus_to_exitcode(ended), *texts[:2], max(usage.ru_utime + usage.ru_stime, clock),
        usage.ru_maxrss / 1000, _flat(watched), _flat(after), texts[2].splitlines(),
    )  # fmt: skip


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
        _redirect(case, folder)
        strays = os.open(folder / "streams" / "strays", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        environment = {
            "PATH": os.defpath, "HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp"),
            "LC_ALL": "C.UTF-8", "MPLCONFIGDIR": os.environ["MPLCONFIGDIR"], **case.environment,
        }  # fmt: skip
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
        room = (
            int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + ROOM * 1_000_000
        )
        resource.setrlimit(resource.RLIMIT_AS, (room, room))
        tempfile.tempdir = None  # that of this process is not that of the case
        sys.addaudithook(lambda event, given: _watch(event, given, str(folder), strays))
        status = call(case.arguments, str(folder / "work"), environment)
        util._exit_function()  # as a process would at its end: what multiprocessing put away in folders
    finally:
        os._exit(status)


def _redirect(case: Case, folder: Path) -> None:
    stdin = folder / "work" / case.stdin if case.stdin else os.devnull
    os.dup2(os.open(stdin, os.O_RDONLY), 0)
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(folder / "streams" / name, os.O_WRONLY | os.O_CREAT), number)


def _watch(event: str, given: tuple[Any, ...], folder: str, strays: int) -> None:
    """Note where Python writes outside a folder."""
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
        if not whole.startswith(folder + "/") and whole != os.devnull:
            os.write(strays, f"{event} {whole}\n".encode("utf-8", "backslashreplace"))
