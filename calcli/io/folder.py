"""A folder of results whose files appear all together or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from calcli.core.language.errors import InputError
from calcli.io.atomic import atomic_path


@contextmanager
def filled_folder(path: Path) -> Iterator[Path]:
    """Give a temporary folder to fill; its files move to `path` when the block ends.

    They vanish if the block is left otherwise. Files of the same names are replaced as `atomic_path` does,
    others stay.

    Raises
    ------
    InputError
        If the folder cannot be made or written to, or is `-`.
    """
    if str(path) == "-":
        raise InputError("-o - asks for several files on standard output; expected the name of a folder")
    with ExitStack() as made:
        home = Path(os.path.realpath(path))
        with _told(path):
            _make(home, made)
            temporary = Path(tempfile.mkdtemp(prefix=".calcli-", dir=home))
        try:
            yield temporary
            _move(temporary, path, made)
        finally:
            shutil.rmtree(temporary)
        made.pop_all()


def _make(folder: Path, made: ExitStack) -> None:
    missing = [part for part in (folder, *folder.parents) if not part.is_dir()]
    for part in reversed(missing):
        part.mkdir(exist_ok=True)
        made.callback(part.rmdir)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"{path} cannot be written as a folder: {reason}; choose another with -o") from error


def _move(filled: Path, path: Path, made: ExitStack) -> None:
    with ExitStack() as moved:  # all have a place before one of them is there
        for file in sorted(filled.rglob("*")):
            target = path / file.relative_to(filled)
            if file.is_dir():
                with _told(target):
                    _make(target, made)
            else:
                shutil.move(file, moved.enter_context(atomic_path(target)))
