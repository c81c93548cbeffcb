"""Zip archives and gzip files, including damaged ones and decompression bombs."""

from __future__ import annotations

import gzip
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tokenize import TokenError
from typing import Any

from calcli.core.language.errors import InputError
from calcli.io.places.paths import AnyPath, on_disk

Errors = tuple[type[Exception], ...]
VALUES: Errors = (  # errors of libraries on damaged values, and on damaged compressed data
    *(ValueError, LookupError, TypeError, ArithmeticError, AttributeError, EOFError, RuntimeError),
    *(SyntaxError, TokenError, MemoryError, SystemError, struct.error),
)
DAMAGE: Errors = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, OSError, *VALUES)
SAID = "\0"  # placeholder in a sentence for the words of a library
TRUNCATED = "is truncated or damaged; copy it again"
LOCAL = struct.Struct("<26xHH")  # header of an entry: the lengths of its name, and of extra data
GZIP = b"\x1f\x8b"
ZIP = b"PK\x03\x04"
UNSUSPECTED, PACKING = 1 << 28, 400  # bytes, and bytes per packed byte: larger values are a bomb


@contextmanager
def naming_faults(sentence: str, errors: Errors = DAMAGE) -> Iterator[None]:
    """Turn errors of libraries on damaged data into a sentence, in which SAID stands for their words."""
    try:
        yield
    except errors as error:
        raise InputError(sentence.replace(SAID, said(error))) from error


def said(error: Exception) -> str:
    """Return the words of an error, for use in a sentence."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    text = " ".join(str(error).split()).partition("; use sys.")[0].rstrip(".")
    return f"no entry {text}" if isinstance(error, KeyError) else text


def refuse_bomb(name: str, size: int, packed: int) -> None:
    """Raise an InputError for a file whose compression is only possible for equal values.

    Parameters
    ----------
    name
        Its name.
    size, packed
        Bytes before and after compression.
    """
    if size > _most(packed):
        raise InputError(
            f"{name} would have {size / 1e9:.1f} GB, packed into {packed / 1e6:.1f} MB as nothing but equal "
            "values can be; save it without compression"
        )


def _most(packed: int) -> int:
    return max(UNSUSPECTED, PACKING * packed)


def opened_text(path: AnyPath) -> Any:
    """Return a text file as a pyarrow.NativeFile, decompressed if its first bytes are gzip.

    Raises
    ------
    InputError
        If it is truncated, or a decompression bomb.
    """
    import pyarrow as pa

    local = on_disk(path)
    with local.open("rb", buffering=0) as file:
        start = file.read(len(ZIP))
    if start == ZIP:
        return pa.BufferReader(_only_member(local, str(path)))
    packed = start.startswith(GZIP)
    if packed:
        _refuse_gzip_bomb(local, str(path))
    return pa.input_stream(str(local), compression="gzip" if packed else None)


def unpacked_bytes(path: AnyPath) -> bytes:
    """Return the content of a gzip file, or of the only file in a zip archive.

    Raises
    ------
    InputError
        If it is damaged, or a decompression bomb.
    """
    with naming_faults(f"{path} {TRUNCATED}"):
        return bytes(opened_text(path).read())


def _only_member(path: Path, name: str) -> bytes:
    """Return the only file in a zip archive, apart from the files of macOS."""
    with naming_faults(f"{name} {TRUNCATED}"), zipfile.ZipFile(path) as archive:
        members = [
            info for info in archive.infolist() if not (info.is_dir() or info.filename.startswith("__MACOSX"))
        ]
        if len(members) != 1:
            raise InputError(f"{name} holds {len(members)} files; expected one; unpack it")
        refuse_bomb(name, members[0].file_size, members[0].compress_size)
        return archive.read(members[0])


def _refuse_gzip_bomb(path: Path, name: str) -> None:
    """Raise an InputError for a gzip bomb, by the size in its last four bytes (modulo 4 GB).

    A truncated file may state any size, so it is decompressed and counted.
    """
    packed = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, packed - 4))
        declared = int.from_bytes(file.read(4), "little")
    counted, limit = 0, _most(packed)
    if declared > limit:
        with naming_faults(f"{name} {TRUNCATED}"), gzip.open(path) as file:
            while counted <= limit and (part := file.read(1 << 20)):
                counted += len(part)
    if counted > limit:
        refuse_bomb(name, declared, packed)


def stored_content(archive: bytes | memoryview, entry: zipfile.ZipInfo) -> memoryview:
    """Return the content of an uncompressed entry of an archive in memory, without a copy.

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
    raise zipfile.BadZipFile(f"the checksum of {entry.filename} is wrong")
