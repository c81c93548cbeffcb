"""Text of rows, a block at a time: cut where a row ends, whatever is in quotes.

Each block is parsed in this thread alone: what streams text by itself waits for ever where no memory is left
for a thread.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from calcli.core.language.errors import InputError
from calcli.io.archives import opened_text
from calcli.io.remote import AnyPath

QUOTE, NEWLINE, RETURN = (ord(mark) for mark in '"\n\r')


def blocks(path: AnyPath, name: str, delimiter: str, size: int, most: int) -> Iterator[bytes]:
    """Yield the text of a file, perhaps compressed, in blocks of whole rows.

    Parameters
    ----------
    path, name
        The file, and what to call it.
    delimiter
        Between fields.
    size
        Bytes of a block, but for what ends its last row.
    most
        Bytes that a row may have.

    Raises
    ------
    InputError
        If a row has more.
    """
    empty = True
    with opened_text(path) as stream:
        rest = stream.read(size)
        while part := stream.read(size):  # of the last one nothing is cut off
            if end := _end_of_rows(rest, delimiter):
                yield rest[:end]
                empty = False
                rest = rest[end:]
            rest += part
            if len(rest) > most + size:
                raise InputError(f"{name}: a row is longer than {most / 1e6:.0f} MB; expected rows of fields")
    if rest or empty:
        yield rest


def _end_of_rows(text: bytes, delimiter: str) -> int:
    """Return where the last whole row ends; 0 if there is none."""
    if b'"' not in text:
        end = text.rfind(b"\n") + 1
        return end or text.rfind(b"\r", 0, -1) + 1  # a return at the end may have a newline behind it
    marks = np.frombuffer(text, np.uint8)
    quotes = np.flatnonzero(marks == QUOTE)
    before = marks[quotes[::2] - 1]  # what stands before those that open
    opens = np.isin(before, (ord(delimiter), NEWLINE, RETURN, QUOTE))
    opens[0] |= quotes[0] == 0
    if not opens.all():
        return _by_rows(text, delimiter)
    for found in (marks == NEWLINE, marks[:-1] == RETURN):  # newlines may all be within quotes
        ends = np.flatnonzero(found)
        outside = ends[np.searchsorted(quotes, ends) % 2 == 0]
        if len(outside):
            return int(outside[-1]) + 1
    return 0


def _by_rows(text: bytes, delimiter: str) -> int:
    """Return the same where quotes stand within fields, which are marks as any other."""
    d = re.escape(delimiter.encode())
    field = rb'(?:"(?:[^"]|"")*+"[^%b\r\n]*+|[^"%b\r\n][^%b\r\n]*+)?+' % (d, d, d)
    rows = rb"(?:%b(?:%b%b)*+(?:\r\n|\n|\r(?!\n|\Z)))*+" % (field, d, field)
    found = re.compile(rows).match(text)
    return found.end() if found else 0
