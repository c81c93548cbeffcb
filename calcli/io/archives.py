"""What Python raises on zip archives that are damaged."""

from __future__ import annotations

import lzma
import zipfile
import zlib

ARCHIVE_DAMAGE: tuple[type[Exception], ...] = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    ValueError,
    LookupError,
    OverflowError,
    RuntimeError,  # a password is asked for, or a way of packing is not known
    SystemError,
)
