"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from calcli.core.language.errors import InputError


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Give a temporary name to write to: it becomes `path` at the end, or vanishes if the block fails.

    It is in the same folder and has the same ending, for writers that go by that.

    Raises
    ------
    InputError
        If the folder cannot be written to.
    """
    target = Path(path)
    try:
        handle, name = tempfile.mkstemp(target.suffix, f".{target.stem}-", target.parent)
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror}; choose another place") from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
