"""Runs in forks that are struck: by a signal, a full disk, too little memory, a file that changes."""

from __future__ import annotations

import errno
import os
import resource
import select
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from tests.forked import call

CHANGES = (
    "os.mkdir",
    "os.rename",
    "os.remove",
    "os.rmdir",
    "os.chmod",
    "os.chown",
    "os.truncate",
    "shutil.move",
)
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
PATIENCE = 60  # seconds
HUNG = -1000
Strike = Callable[[], None]


@dataclass(frozen=True)
class Fault:
    """What happens to a run.

    Attributes
    ----------
    name
        What it is called.
    moment
        The number of the operation on files before which it happens, counted from 0; None for all of them.
    strike
        Does it.
    reading
        Whether operations are those that open a file to read it, in place of those that change something.
    limit
        A limit of resources, and what it is set to; memory is counted from what the process has.
    """

    name: str
    moment: int | None = 0
    strike: Strike | None = None
    reading: bool = False
    limit: tuple[int, int] | None = None


@dataclass(frozen=True)
class Ended:
    """What a run left: its status, what it said, all files of its folder, its operations on files.

    The status is `HUNG` if it had to be ended.
    """

    status: int
    said: str
    files: dict[str, bytes | None]
    operations: int


def send(number: int) -> Strike:
    """Return what sends this process a signal."""
    return lambda: os.kill(os.getpid(), number)


def fail(number: int) -> Strike:
    """Return what makes an operation on files fail."""

    def strike() -> None:
        raise OSError(number, os.strerror(number))

    return strike


def kill(moment: int) -> Fault:
    """Return the end by `kill -9`."""
    return Fault("kill -9", moment, send(signal.SIGKILL))


def term(moment: int) -> Fault:
    """Return the end by SIGTERM."""
    return Fault("SIGTERM", moment, send(signal.SIGTERM))


def interrupt(moment: int) -> Fault:
    """Return the end by Ctrl-C."""
    return Fault("SIGINT", moment, send(signal.SIGINT))


def full(moment: int) -> Fault:
    """Return a disk that is full from one operation on; removing still works."""
    return Fault("full disk", moment, fail(errno.ENOSPC))


def too_large(size: int) -> Fault:
    """Return a limit of the size of files, as of a disk that fills while a file is written."""
    return Fault("full disk", None, limit=(resource.RLIMIT_FSIZE, size))


def read_only() -> Fault:
    """Return a file system that is mounted read-only, which also root has to heed."""
    return Fault("read-only", None, fail(errno.EROFS))


def little_memory(size: int) -> Fault:
    """Return a limit of memory, beyond that of the process when it starts."""
    return Fault("memory limit", None, limit=(resource.RLIMIT_AS, size))


def changed(moment: int, path: Path, content: bytes) -> Fault:
    """Return another content of a file, put there before it or another is opened once more."""
    return Fault("changing file", moment, lambda: _put(path, content), reading=True)


def _put(path: Path, content: bytes) -> None:
    file = os.open(path, os.O_WRONLY | os.O_TRUNC)  # in place, as an editor or a log does
    os.write(file, content)
    os.close(file)


def start(arguments: list[str], folder: Path, fault: Fault | None = None) -> int:
    """Start a run in `work` of a folder, with `tmp` and the streams beside it; return its process."""
    for name in ("work", "tmp", "home"):
        (folder / name).mkdir(exist_ok=True)
    for name in ("out", "err", "operations"):
        (folder / name).write_bytes(b"")
    if (child := os.fork()) == 0:
        status = 70
        try:
            status = _be(arguments, folder, fault)
        finally:
            os._exit(status)
    return child


def end(child: int, folder: Path) -> Ended:
    """Wait for a run, and return what it left."""
    handle = os.pidfd_open(child)
    waiting = select.poll()
    waiting.register(handle, select.POLLIN)
    hung = not waiting.poll(PATIENCE * 1000)
    if hung:
        os.kill(child, signal.SIGKILL)
    os.close(handle)
    _, status = os.waitpid(child, 0)
    files = {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for name in ("work", "tmp")
        for path in sorted((folder / name).rglob("*"))
    }
    said = (folder / "err").read_text(errors="replace")
    return Ended(
        HUNG if hung else os.waitstatus_to_exitcode(status),
        said,
        files,
        (folder / "operations").stat().st_size,
    )


def run(arguments: list[str], folder: Path, fault: Fault | None = None) -> Ended:
    """Run to the end."""
    return end(start(arguments, folder, fault), folder)


def _be(arguments: list[str], folder: Path, fault: Fault | None) -> int:
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    count = os.open(folder / "operations", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    environment = {
        "PATH": os.defpath, "HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp"), "LC_ALL": "C.UTF-8",
        "MPLCONFIGDIR": os.environ["MPLCONFIGDIR"], "SOURCE_DATE_EPOCH": "0",
    }  # fmt: skip
    tempfile.tempdir = None
    if fault is not None and fault.limit is not None:
        kind, size = fault.limit
        if kind == resource.RLIMIT_AS:
            size += int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(kind, (size, size))
    sys.addaudithook(_Hook(str(folder), fault, count))
    with mock.patch.object(time, "process_time", return_value=0.0):  # pages tell how long fits take
        return call(arguments, str(folder / "work"), environment)


class _Hook:
    """Counts operations on files in a folder, and strikes before one of them."""

    def __init__(self, folder: str, fault: Fault | None, count: int) -> None:
        self.folders = (f"{folder}/work/", f"{folder}/tmp/")
        self.fault = fault
        self.count = count
        self.done = 0
        self.striking = False

    def __call__(self, event: str, given: tuple[Any, ...]) -> None:
        if self.striking or not self._counts(event, given):
            return
        at, self.done = self.done, self.done + 1
        fault = self.fault
        if fault is None or fault.strike is None:
            if fault is None:
                os.write(self.count, b".")
            return
        lasting = fault.name in ("full disk", "read-only")
        if fault.moment is None or at == fault.moment or (lasting and at > fault.moment):
            if lasting and event in ("os.remove", "os.rmdir") and fault.name == "full disk":
                return
            self.striking = True
            try:
                fault.strike()
            finally:
                self.striking = False

    def _counts(self, event: str, given: tuple[Any, ...]) -> bool:
        if event != "open" and event not in CHANGES:
            return False
        path = given[0]
        if not isinstance(path, (str, bytes, os.PathLike)):
            return False
        if not os.path.abspath(os.fsdecode(path)).startswith(self.folders):
            return False
        if event != "open":
            return not (self.fault and self.fault.reading)
        writes = isinstance(given[2], int) and bool(given[2] & WRITES)
        return writes != bool(self.fault and self.fault.reading)
