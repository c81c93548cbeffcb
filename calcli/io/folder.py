"""A folder of results whose files appear all together or not at all."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from calcli.core.language.errors import InputError


@contextmanager
def filled_folder(path: Path) -> Iterator[Path]:
    """Give a temporary folder to fill; its files move to `path` when the block ends.

    They vanish if the block is left otherwise. Files of the same names are replaced, others stay.

    Raises
    ------
    InputError
        If the folder cannot be made or written to, or is `-`.
    """
    if str(path) == "-":
        raise InputError("-o - asks for several files on standard output; expected the name of a folder")
    made = not path.exists()
    try:
        path.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=".calcli-", dir=path))
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"{path} cannot be written as a folder: {reason}; choose another with -o") from error
    try:
        yield temporary
        for file in sorted(temporary.rglob("*")):
            target = path / file.relative_to(temporary)
            if file.is_dir():
                target.mkdir(exist_ok=True)
            else:
                file.replace(target)
        made = False
    finally:
        shutil.rmtree(temporary)
        if made:
            path.rmdir()
