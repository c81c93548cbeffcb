"""Blocks of text end where rows end, as Python's own reader of CSV has them."""

from __future__ import annotations

import csv
import gzip
import io
import random

import pytest

from calcli.core.language.errors import InputError
from calcli.io.formats.csv import blocks

PIECES = ("a", ",", "\t", "\n", "\r\n", "\r", '"', '""', "1", "x y", "é")


def rows_of(text: bytes, delimiter: str) -> list[list[str]]:
    return [row for row in csv.reader(io.StringIO(text.decode(), newline=""), delimiter=delimiter) if row]


@pytest.mark.parametrize("seed", range(200))
def test_blocks_are_whole_rows(seed, tmp_path):
    draw = random.Random(seed)
    delimiter, end = draw.choice(",\t"), draw.choice(("\n", "\r\n", "\r"))
    rows = [
        ["".join(draw.choices(PIECES, k=draw.randrange(1, 6))) for _ in range(3)]
        for _ in range(draw.randrange(30))
    ]
    with io.StringIO(newline="") as file:
        csv.writer(file, delimiter=delimiter, lineterminator=end).writerows(rows)
        text = file.getvalue()
    if draw.random() < 0.3:  # inches within a field, which opens nothing
        text = text.replace("x y", 'x"y').replace(f'"x"y"{delimiter}', f'x"y{delimiter}')
    text = text.rstrip() if draw.random() < 0.3 else text
    (tmp_path / "t.csv").write_bytes(text.encode())
    found = list(blocks(tmp_path / "t.csv", "t.csv", delimiter, draw.choice((8, 40, 200)), 10_000))
    assert b"".join(found) == text.encode()
    assert [row for part in found for row in rows_of(part, delimiter)] == rows_of(text.encode(), delimiter)
    if len(rows) > 20:
        assert len(found) > 1


def test_text_in_gzip_and_none(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n3,4\n"))
    assert list(blocks(tmp_path / "t.csv.gz", "t", ",", 6, 100)) == [b"a,b\n", b"1,2\n3,4\n"]
    (tmp_path / "t.csv").write_bytes(b"")
    assert list(blocks(tmp_path / "t.csv", "t", ",", 6, 100)) == [b""]


def test_newlines_within_quotes_among_rows_that_end_in_returns(tmp_path):
    row = b'1,"two\nlines"\r'
    (tmp_path / "t.csv").write_bytes(20 * row)
    found = list(blocks(tmp_path / "t.csv", "t", ",", 2 * len(row), 100))
    assert found == [row, *[2 * row] * 8, 3 * row]  # what stands behind the first return is not known yet


def test_rows_without_an_end(tmp_path):
    (tmp_path / "t.csv").write_bytes(b'a\n"' + b"x\n" * 2_000_000)
    with pytest.raises(InputError, match=r"^t: a row is longer than 1 MB; expected rows of fields$"):
        list(blocks(tmp_path / "t.csv", "t", ",", 1 << 18, 1_000_000))
