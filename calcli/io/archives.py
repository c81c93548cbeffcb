"""Zip archives and gzip files that are damaged, or made to fill memory."""

from __future__ import annotations

import lzma
import struct
import zipfile
import zlib

from calcli.core.language.errors import InputError
from calcli.io.remote import AnyPath

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
LOCAL = struct.Struct("<26xHH")  # what stands before an entry: the lengths of its name, and of more
UNSUSPECTED, PACKING = 1 << 28, 400  # bytes, and bytes for each packed one: more is made to fill memory


def refuse_bomb(name: str, size: int, packed: int) -> None:
    """Raise an InputError for what is packed as only something of equal values can be.

    Parameters
    ----------
    name
        What it is.
    size, packed
        In bytes, before and after packing.
    """
    if size > max(UNSUSPECTED, PACKING * packed):
        raise InputError(
            f"{name} would have {size / 1e9:.1f} GB, packed into {packed / 1e6:.1f} MB as nothing but equal "
            "values can be; save it without compression"
        )


def refuse_gzip_bomb(path: AnyPath) -> None:
    """Raise an InputError for such a gzip file, by the size in its last four bytes (modulo 4 GB)."""
    packed = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, packed - 4))
        refuse_bomb(str(path), int.from_bytes(file.read(4), "little"), packed)


def stored_content(archive: bytes | memoryview, entry: zipfile.ZipInfo) -> memoryview:
    """Return what an archive in memory holds under an entry that is not packed, without a copy.

    Raises
    ------
    zipfile.BadZipFile
        If it is damaged.
    """
    at = entry.header_offset
    if 0 <= at <= len(archive) - LOCAL.size:
        start = at + LOCAL.size + sum(LOCAL.unpack_from(archive, at))
        content = memoryview(archive)[start : start + entry.file_size]
        if len(content) == entry.file_size and zlib.crc32(content) == entry.CRC:
            return content
    raise zipfile.BadZipFile(f"the sum of {entry.filename} is wrong")
