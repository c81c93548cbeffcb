"""File formats: one module each, which is loaded for the first file of its format.

A module has `open_file(path, name)`, which returns a `Table` or `Arrays`, and `writer(sink, frame, path)`.
"""

from __future__ import annotations

import tomllib
from codecs import BOM_UTF8
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from typing import Any

from calcli.core.language.entries import Registry
from calcli.core.language.errors import InputError, UsageError
from calcli.io.messages import listed
from calcli.io.places.archives import GZIP
from calcli.io.places.paths import AnyPath


@dataclass(frozen=True)
class Format:
    """One format.

    Attributes
    ----------
    name
        Its name, and the name of its module unless `where` names another.
    endings
        Of file names.
    magic
        The first bytes of files; text may have blanks before them.
    text
        Whether it is text, which may be compressed by gzip.
    piped
        Whether it can come through standard input.
    of_arrays
        Whether it holds arrays, else columns.
    where
        The module of a plugin, with its name as the only ending, or one of several formats.
    log
        Whether it is a log, which is read and not written.
    """

    name: str
    endings: tuple[str, ...]
    magic: tuple[bytes, ...] = ()
    text: bool = False
    piped: bool = False
    of_arrays: bool = False
    where: str = ""
    log: bool = False

    @property
    def module(self) -> Any:
        """The module that reads and writes it."""
        return import_module(self.where or f"calcli.io.formats.{self.name}")

    def open(self, path: AnyPath, name: str, sheet: str | None = None) -> Any:
        """Return the `Table` or `Arrays` of a file with a name; for a workbook, one sheet."""
        if self.name == "excel":
            return self.module.open_file(path, name, sheet)
        if sheet is not None:
            raise UsageError(f"--sheet {sheet}: {name} has no sheets; leave it out")
        return self.module.open_file(path, name)


def _declared(name: str, endings: Sequence[str], magic: Sequence[str] = (), **fields: Any) -> Format:
    return Format(name, tuple(endings), tuple(mark.encode("latin-1") for mark in magic), **fields)


_FIELDS = tomllib.loads(files(__name__).joinpath("formats.toml").read_text("utf-8"))["format"]
FORMATS = tuple(_declared(**fields) for fields in _FIELDS)
PACKED = (".gz", ".zip")  # compression of text, or of one array
POINTER = b"version https://git-lfs"  # start of a placeholder of Git LFS
BY_NAME = Registry("calcli.formats", Format, lambda: FORMATS)
BY_ENDING = {ending: form for form in FORMATS for ending in form.endings}


def format_of(path: AnyPath) -> Format | None:
    """Return the format from the name of a file, or None."""
    packed = path.suffix.lower() in PACKED
    ending = (path.with_suffix("") if packed else path).suffix.lower()
    form = BY_ENDING.get(ending) or _of_plugin(ending)
    return None if packed and form is not None and not (form.text or form.name == "npy") else form


def _of_plugin(ending: str) -> Format | None:
    with suppress(KeyError):
        return BY_NAME[ending.removeprefix(".")] if ending else None
    return None


def named_format(path: AnyPath) -> Format:
    """Return the format that the name of a file stands for.

    Raises
    ------
    InputError
        If its ending is unknown.
    """
    form = format_of(path)
    if form is None:
        endings = listed([*BY_ENDING, ".csv.gz"], limit=20)
        raise InputError(f'{path}: the ending "{path.suffix}" is not known; expected one of {endings}')
    return form


def conversion_of(path: AnyPath) -> str:
    """Return the command that converts an unsupported file; "" if none is known."""
    lines = tomllib.loads(files(__name__).joinpath("conversions.toml").read_text("utf-8"))["lines"]
    line = next((line for endings, line in lines.items() if path.suffix.lower() in endings.split()), "")
    return line and f'python -c "{line.format(path=path, stem=path.with_suffix(""))}"'


def known_format(path: AnyPath) -> Format:
    """Return the format of a file to read.

    Raises
    ------
    InputError
        If the file is missing or empty, or its name has an unknown or wrong ending.
    """
    if path.exists() and format_of(path) is None and (line := conversion_of(path)):
        why = "may run any code when it is loaded" if "load(" in line else "is of another format"
        raise InputError(
            f"{path}: a {path.suffix} file {why}, and is not read; convert it, with its own names: {line}"
        )
    require_file(path)
    form = named_format(path)
    with path.open("rb", buffering=0) as file:
        start = file.read(len(POINTER))
    if start == POINTER:
        raise InputError(f"{path} is a pointer of Git LFS, not the file itself; fetch it with git lfs pull")
    binary = form.magic and not form.text and path.suffix.lower() not in PACKED
    if binary and not start.startswith(form.magic):
        content = sniff(start)
        clear = content == "gzip" or not BY_NAME[content].text
        like = f"it looks like {content}; rename it" if clear else "save it again, or rename it to what it is"
        raise InputError(f"{path} is not {form.name}, as its ending says: {like}")
    return form


def require_file(path: AnyPath) -> None:
    """Raise an InputError unless the file exists and is not empty."""
    if not path.exists():
        raise InputError(f"{path}: no such file")
    if not path.is_file():
        raise InputError(f"{path} is not a file; pipe it in with - as the file name")
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty (0 bytes)")


def sniff(start: bytes) -> str:
    """Return the format of data by its first bytes, or "gzip"; any other text is csv."""
    text = start.removeprefix(BOM_UTF8).lstrip()
    for form in FORMATS:
        if form.magic and (text if form.text else start).startswith(form.magic):
            return form.name
    return "gzip" if start.startswith(GZIP) else "csv"
