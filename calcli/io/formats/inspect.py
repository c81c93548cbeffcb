"""Logs of Inspect (.eval): a zip archive of JSON, deflated or packed by zstd, read without Inspect."""

from __future__ import annotations

import json
import zipfile
from typing import Any

import pyarrow as pa

from calcli.core.language.errors import InputError
from calcli.io.layouts.logs import inspect_table
from calcli.io.places.archives import LOCAL, SAID, naming_faults, refuse_bomb
from calcli.io.places.paths import AnyPath
from calcli.io.tables.table import Table, in_memory

ZSTD = 93  # which the standard library opens from Python 3.14 on


def open_file(path: AnyPath, name: str) -> Table:
    """Read the samples of a log.

    Raises
    ------
    InputError
        If it is damaged, or has no samples.
    """
    with (
        naming_faults(f"{name} is damaged: {SAID}"),
        path.open("rb") as raw,
        zipfile.ZipFile(raw) as archive,
    ):
        names = {"header.json", "summaries.json"} - set(archive.namelist())
        if names:
            raise InputError(
                f"{name} has no {' and no '.join(sorted(names))}: it has not ended, or is no log of Inspect; "
                "write it anew with inspect log convert"
            )
        header, samples = (_member(archive, raw, part, name) for part in ("header.json", "summaries.json"))
    table = inspect_table(header, samples)
    if table is None:
        raise InputError(f"{name} has no samples; its status is {header.get('status')}")
    return in_memory(name, table)


def _member(archive: zipfile.ZipFile, raw: Any, member: str, name: str) -> Any:
    entry = archive.getinfo(member)
    refuse_bomb(f"{name}: {member}", entry.file_size, entry.compress_size)
    if entry.compress_type != ZSTD:
        return json.loads(archive.read(entry))
    raw.seek(entry.header_offset)
    raw.seek(sum(LOCAL.unpack(raw.read(LOCAL.size))), 1)
    return json.loads(pa.CompressedInputStream(pa.BufferReader(raw.read(entry.compress_size)), "zstd").read())
