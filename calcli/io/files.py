"""File names and first bytes: which format a file is in, and which files a folder holds."""

from __future__ import annotations

import re
from pathlib import Path

from calcli.core.language.errors import InputError
from calcli.io.places import listed

FORMATS = {
    ".npy": "npy",
    ".npz": "npz",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
COMPRESSIBLE = ("csv", "jsonl")
MAGIC = {
    "npy": (b"\x93NUMPY",),
    "npz": (b"PK\x03\x04", b"PK\x05\x06"),
    "parquet": (b"PAR1",),
    "arrow": (b"ARROW1", b"\xff\xff\xff\xff"),
    "gzip": (b"\x1f\x8b",),
}


def format_of(path: Path) -> str | None:
    """Return the format that the name of a file stands for, or None."""
    plain = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    found = FORMATS.get(plain.suffix.lower())
    return None if plain != path and found not in COMPRESSIBLE else found


def named_format(path: Path) -> str:
    """Return the format that the name of a file stands for.

    Raises
    ------
    InputError
        If its ending is not known.
    """
    found = format_of(path)
    if found is None:
        endings = listed([*FORMATS, ".csv.gz"], limit=20)
        raise InputError(f'{path}: the ending "{path.suffix}" is not known; expected one of {endings}')
    return found


def known_format(path: Path) -> str:
    """Return the format of a file that is to be read.

    Raises
    ------
    InputError
        If there is no such file, it is empty, or its name has no known ending.
    """
    if not path.exists():
        raise InputError(f"{path}: no such file")
    if not path.is_file():
        raise InputError(f"{path} is not a file; pipe it in with - as the file name")
    found = named_format(path)
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty (0 bytes)")
    return found


def sniff(start: bytes) -> str:
    """Return the format of data by its first bytes; text is csv or jsonl."""
    for name, magics in MAGIC.items():
        if start.startswith(magics):
            return name
    return "jsonl" if start.lstrip().startswith(b"{") else "csv"


def refuse_wrong_content(path: Path, expected: str) -> None:
    """Raise if a file of a binary format does not begin as that format does.

    Raises
    ------
    InputError
        If its ending and its contents disagree.
    """
    with path.open("rb") as file:
        start = file.read(16)
    if not start.startswith(MAGIC[expected]):
        found = sniff(start)
        like = (
            f"it looks like {found}; rename it"
            if found in MAGIC
            else "save it again, or rename it to what it is"
        )
        raise InputError(f"{path} is not {expected}, as its ending says: {like}")


def natural_key(text: str) -> list[tuple[int, str]]:
    """Return a key that sorts numbers in names as numbers: part-2 before part-10."""
    pieces = re.split(r"(\d+)", text)
    return [(int(piece), "") if i % 2 else (-1, piece) for i, piece in enumerate(pieces)]
