"""Files that appear whole or not at all, alone or together."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from secrets import token_hex

from calcli.core.language.errors import InputError
from calcli.io.places.paths import Remote, path_of

STREAMS = {1: "standard output", 2: "standard error"}
IS_FOLDER = "{} is a folder; expected the name of a file"
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
RESERVE = 4_000_000  # bytes
FILE_ENDINGS = (".png", ".svg", ".pdf", ".html", ".json", ".md", ".txt", ".csv")
AS_FOLDER = " as a folder", "choose another with -o"  # places that cannot be written to, and remedies


@dataclass
class _Waiting:
    """Complete outputs that are not in place yet: how to move them there, and how to remove them.

    Removing folders lists them, which takes memory; a reserve is kept in case it runs out.
    """

    sent: list[Callable[[], object]] = field(default_factory=list)
    moves: list[Callable[[], object]] = field(default_factory=list)
    left: ExitStack = field(default_factory=ExitStack)
    reserve: bytearray = field(default_factory=lambda: bytearray(RESERVE))


_waiting: ContextVar[_Waiting | None] = ContextVar("waiting", default=None)


@contextmanager
def together() -> Iterator[_Waiting]:
    """Make all files and folders written in the block appear when it ends, or none.

    Outputs to URLs, devices or pipes go first, as these may fail; anything sent by then
    stays there.
    """
    if (larger := _waiting.get()) is not None:
        yield larger
        return
    waiting = _Waiting()
    with waiting.left:
        try:
            with _kept_by(waiting):
                yield waiting
            for put in (*waiting.sent, *waiting.moves):
                put()
        except BaseException:
            waiting.reserve.clear()
            raise


@contextmanager
def _kept_by(waiting: _Waiting | None) -> Iterator[None]:
    before = _waiting.set(waiting)
    try:
        yield
    finally:
        _waiting.reset(before)


def refuse_folders(*paths: str | None) -> None:
    """Raise an InputError for an output that is a folder, before anything is written."""
    for path in paths:
        if path is not None and not isinstance(where := path_of(path), Remote) and where.is_dir():
            raise InputError(IS_FOLDER.format(path))


def refuse_nowhere(*paths: str | None, new_folder: str | None = None) -> None:
    """Raise an InputError for an output in a missing folder, before anything is written.

    A folder that will be `new_folder` counts as existing.
    """
    for path in paths:
        if path is None or isinstance(where := path_of(path), Remote) or where.parent.exists():
            continue
        if new_folder is None or Path(new_folder) not in where.parents:
            raise InputError(f"{path} cannot be written: {os.strerror(errno.ENOENT)}; choose another place")


@contextmanager
def atomic_path(path: str | Path | Remote) -> Iterator[Path]:
    """Yield a temporary path: it becomes `path` at the end, or is removed if the block fails.

    It has the same ending, for writers that depend on it. Links are followed; a replaced file keeps its
    mode and, if allowed, its owner; a device or a pipe receives the content. A URL receives it
    when it is complete.

    Raises
    ------
    InputError
        If nothing can be written there.
    """
    if isinstance(where := path_of(path), Remote):
        where.require_writable()
        with together() as waiting:
            scratch = waiting.left.enter_context(tempfile.TemporaryDirectory(prefix="calcli-"))
            yield (only := Path(scratch) / where.name)
            waiting.sent.append(lambda: where.upload(only))
        return
    path = where
    with together() as waiting:
        with _naming_faults(path):
            target, status = _followed(path)
            sent = status is not None and (not stat.S_ISREG(status.st_mode) or not target.exists())
            # a folder of devices is unsuitable for a temporary file
            folder = Path(tempfile.gettempdir()) if sent else target.parent
            temporary = folder / f".{path.stem}-{token_hex(4)}{path.suffix}"
            waiting.left.callback(_surely, temporary.unlink)  # before it is there: a signal may come
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with _naming_full_disks(path):
            yield temporary

        def put() -> None:
            with _naming_faults(path):
                if sent:
                    _send(temporary, path)
                else:
                    _allow_as(status, temporary)
                    temporary.replace(target)

        (waiting.sent if sent else waiting.moves).append(put)


@contextmanager
def _naming_faults(path: str | Path, note: str = "", mend: str = "choose another place") -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"{path} cannot be written{note}: {error.strerror or error}; {mend}") from error


@contextmanager
def _naming_full_disks(path: str | Path) -> Iterator[None]:
    """Name the output on a full disk; writers only report that there is no space."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL or (error.errno is None and "requested and" in str(error)):  # numpy's words
            reason = os.strerror(error.errno or errno.ENOSPC)
            raise InputError(
                f"{path} cannot be written: {reason}; make room, or choose another place"
            ) from error
        raise


def _followed(path: str | Path) -> tuple[Path, os.stat_result | None]:
    """Return the target of links, and its status."""
    target = Path(os.path.realpath(path))
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return target, None
    if stat.S_ISDIR(status.st_mode):
        raise InputError(IS_FOLDER.format(path))
    if stat.S_ISSOCK(status.st_mode):
        raise InputError(f"{path} is a socket; expected a file, a device or a pipe")
    if stat.S_ISREG(status.st_mode) and (stream := _stream_into(status)):
        raise InputError(f"{path} is where {stream} goes; expected a file of its own")
    return target, status


def _stream_into(file: os.stat_result) -> str | None:
    for number, name in STREAMS.items():
        with suppress(OSError):  # a closed one
            if os.path.samestat(file, os.fstat(number)):
                return name
    return None


def _send(temporary: Path, path: str | Path) -> None:
    with (
        suppress(BrokenPipeError),  # a reader that stopped reading
        temporary.open("rb") as written,
        open(os.open(path, os.O_WRONLY), "wb") as sink,
    ):
        shutil.copyfileobj(written, sink)


def _allow_as(replaced: os.stat_result | None, temporary: Path) -> None:
    """Give a file the owner and mode of the file it replaces, or of a new file."""
    if replaced is None:
        os.umask(mask := os.umask(0))
        temporary.chmod(0o666 & ~mask)
        return
    for owner in (replaced.st_uid, -1):  # the group at least
        with suppress(OSError):
            os.chown(temporary, owner, replaced.st_gid)
            break
    temporary.chmod(replaced.st_mode & 0o777)


@contextmanager
def filled_folder(path: str | Path) -> Iterator[Path]:
    """Yield a temporary folder to fill; its files move to `path` when the block ends.

    They are removed if the block fails. Files of the same names are replaced as by `atomic_path`, and
    other files stay.

    Raises
    ------
    InputError
        If the folder cannot be made or written to, is `-`, or is named like a file.
    """
    if str(path) == "-":
        raise InputError("-o - asks for several files on standard output; expected the name of a folder")
    ending = Path(str(path)).suffix.lower()
    if ending in FILE_ENDINGS and not Path(path).exists():
        raise InputError(
            f"{path}: a folder is written here, and {ending} is the ending of a file; give a folder"
        )
    if isinstance(where := path_of(path), Remote):
        where.require_writable()
        with together() as waiting:
            filled = Path(waiting.left.enter_context(tempfile.TemporaryDirectory(prefix="calcli-")))
            with _kept_by(None):  # it is complete when its files are
                yield filled
            waiting.sent.append(lambda: _upload(filled, where))
        return
    path = where
    with together() as waiting:
        made_folders = waiting.left.enter_context(ExitStack())  # folders, which stay if all goes well
        home = Path(os.path.realpath(path))
        with _naming_faults(path, *AS_FOLDER):
            _make(home, made_folders)
            temporary = home / f".calcli-{token_hex(4)}"
            waiting.left.callback(_surely, partial(shutil.rmtree, temporary, ignore_errors=True))
            temporary.mkdir(0o700)
        with _naming_full_disks(path), _kept_by(None):
            yield temporary
        with _naming_full_disks(path):
            _move(temporary, path, made_folders)
        waiting.moves.append(made_folders.pop_all)


def _upload(filled: Path, where: Remote) -> None:
    for file in sorted(path for path in filled.rglob("*") if path.is_file()):
        (where / file.relative_to(filled).as_posix()).upload(file)


def _make(folder: Path, exit_stack: ExitStack) -> None:
    missing = [part for part in (folder, *folder.parents) if not part.is_dir()]
    for part in reversed(missing):
        exit_stack.callback(_surely, part.rmdir)  # before it is there: a signal may come
        part.mkdir(exist_ok=True)


def _surely(tidy: Callable[[], object]) -> None:
    """Clean up, and again if a signal came meanwhile. Outputs already in place stay."""
    with suppress(OSError):
        try:
            tidy()
        except BaseException:
            with suppress(OSError):
                tidy()
            raise


def _move(filled: Path, path: Path, exit_stack: ExitStack) -> None:
    for file in sorted(filled.rglob("*")):
        target = path / file.relative_to(filled)
        if file.is_dir():
            with _naming_faults(target, *AS_FOLDER):
                _make(target, exit_stack)
        else:
            with atomic_path(target) as temporary:
                shutil.move(file, temporary)
