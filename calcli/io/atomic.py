"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from calcli.core.language.errors import InputError

STREAMS = {1: "standard output", 2: "standard error"}


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Give a temporary name to write to: it becomes `path` at the end, or vanishes if the block fails.

    It has the same ending, for writers that go by that. Links are followed; a file that is replaced keeps its
    mode and, where that is allowed, its owner; a device or a pipe is sent what was written.

    Raises
    ------
    InputError
        If nothing can be written there.
    """
    with _told(path):
        target, found = _followed(path)
        sent = found is not None and (not stat.S_ISREG(found.st_mode) or not target.exists())
        folder = None if sent else target.parent  # a folder of devices is not the place for a temporary file
        handle, name = tempfile.mkstemp(Path(path).suffix, f".{Path(path).stem}-", folder)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with _told(path):
            if sent:
                _send(temporary, path)
            else:
                _allow_as(found, temporary)
                temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def _told(path: str | Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}; choose another place") from error


def _followed(path: str | Path) -> tuple[Path, os.stat_result | None]:
    """Return where links lead, and what is there."""
    target = Path(os.path.realpath(path))
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return target, None
    if stat.S_ISDIR(found.st_mode):
        raise InputError(f"{path} is a folder; expected the name of a file")
    if stat.S_ISSOCK(found.st_mode):
        raise InputError(f"{path} is a socket; expected a file, a device or a pipe")
    if stat.S_ISREG(found.st_mode) and (stream := _stream_into(found)):
        raise InputError(f"{path} is where {stream} goes; expected a file of its own")
    return target, found


def _stream_into(file: os.stat_result) -> str | None:
    for number, name in STREAMS.items():
        with suppress(OSError):  # a closed one
            if os.path.samestat(file, os.fstat(number)):
                return name
    return None


def _send(temporary: Path, path: str | Path) -> None:
    with (
        suppress(BrokenPipeError),  # a reader that has seen enough
        temporary.open("rb") as written,
        open(os.open(path, os.O_WRONLY), "wb") as sink,
    ):
        shutil.copyfileobj(written, sink)


def _allow_as(replaced: os.stat_result | None, temporary: Path) -> None:
    """Give a file the owner and mode of the one it replaces, or those of any new file."""
    if replaced is None:
        temporary.chmod(0o666 & ~_umask())
        return
    for owner in (replaced.st_uid, -1):  # the group at least
        with suppress(OSError):
            os.chown(temporary, owner, replaced.st_gid)
            break
    temporary.chmod(replaced.st_mode & 0o777)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
