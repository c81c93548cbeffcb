"""Small files: values by class in CSV, JSON or TOML, a policy, a report."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from calcli.core.language.errors import InputError
from calcli.io.places.archives import SAID, naming_faults
from calcli.io.places.paths import AnyPath, path_of

KEY = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
LONG_KEY = re.compile(rf"(?<![\w.'\"-]){KEY}(?:[ \t]*+\.[ \t]*+{KEY}){{100}}")  # each dot is a table
ENDINGS = (".csv", ".json", ".toml")
MOST_BYTES = 1 << 26  # bytes of files that are read as a whole


@contextmanager
def opened(path: str | Path, mend: str = "") -> Iterator[tuple[BinaryIO, str]]:
    """Yield an open file, or standard input if the path is `-`, and its name.

    Raises
    ------
    InputError
        If there is no such file; the caller adds a remedy.
    """
    if str(path) == "-":
        yield _limited(sys.stdin.buffer, "standard input"), "standard input"
        return
    place = path_of(path)
    if not place.exists():
        raise InputError(f"{place}: no such file{mend}")
    with place.open("rb") as file:
        yield _limited(file, str(place)), str(place)


def _limited(file: BinaryIO, name: str) -> BinaryIO:
    """Return the content of a file, with a limit for devices that never end."""
    content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise InputError(f"{name} has more than {MOST_BYTES / 1e6:.0f} MB; expected a small file")
    return io.BytesIO(content)


def is_small_file(text: str) -> bool:
    """Return whether a text names such a file, by its ending."""
    return Path(text).suffix.lower() in ENDINGS


def by_class(path: AnyPath, expected: str, head: str) -> dict[str, Any]:
    """Return the value of each class in a file; CSV has two columns.

    Parameters
    ----------
    path
        The file.
    expected
        The expected content, for messages.
    head
        The second word of a line of headings, which is skipped.

    Raises
    ------
    InputError
        If it is empty or damaged, has other columns, or a class twice.
    """
    if path.suffix.lower() != ".csv":
        return tree(path)
    lines = lines_of(path, expected)
    if any(len(line) != 2 for line in lines):
        raise InputError(f"{path}: expected {expected}")
    values: dict[str, str] = {}
    for name, value in lines[1:] if lines[0][1] == head else lines:
        if name in values:
            raise InputError(f"{path}: class {name!r} is there twice; expected {expected}")
        values[name] = value
    return values


def lines_of(path: AnyPath, expected: str) -> list[list[str]]:
    """Return the cells of a CSV file, without empty lines.

    Raises
    ------
    InputError
        If there are no lines.
    """
    with path.open("rb") as stored, io.TextIOWrapper(stored, "utf-8-sig", newline="") as file:
        try:
            lines = [[cell.strip() for cell in line] for line in csv.reader(file) if any(line)]
        except (ValueError, csv.Error) as fault:
            raise InputError(f"{path} is not CSV in UTF-8: {fault}; expected {expected}") from fault
    if not lines:
        raise InputError(f"{path} is empty; expected {expected}")
    return lines


def parsed_toml(file: BinaryIO) -> dict[str, Any]:
    """Return the table in an open TOML file.

    Raises
    ------
    ValueError, RecursionError
        If it is not TOML in UTF-8, or nested too deeply.
    """
    text = file.read().decode()
    if match := LONG_KEY.search(text):
        raise ValueError(
            f"a key has more than 100 dots (at line {text.count(chr(10), 0, match.start()) + 1})"
        )
    return tomllib.loads(text)


def tree(path: AnyPath) -> dict[str, Any]:
    """Return the object in a JSON or TOML file.

    Raises
    ------
    InputError
        If it is damaged, or holds another type.
    """
    fault = f"{path} is not valid {path.suffix[1:].upper()}: {SAID}"
    with naming_faults(fault, (ValueError, RecursionError)), path.open("rb") as file:
        content = json.load(file) if path.suffix.lower() == ".json" else parsed_toml(file)
    if not isinstance(content, dict):
        raise InputError(
            f"{path} holds a {type(content).__name__}; expected an object with a key for each class"
        )
    return content
