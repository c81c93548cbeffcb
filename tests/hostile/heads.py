"""Heads of arrays: .npy files and members of .npz archives that promise something else."""

from __future__ import annotations

import io
import struct
import zipfile

import numpy as np

from tests.hostile.drawing import Draw

TYPES = (
    "<f8", "<f4", "<f2", ">f8", "|b1", "<i8", "<u8", "|i1", "<c16", "<f16", "|O", "|V8", "<U3", "|S3",
    "<M8[s]", "<m8", "f8", "f", "", "<f8,<f8", "<f3", "|U0", "<f8\\x00", "object", "no type", "<U999999999",
)  # fmt: skip
SHAPES = (
    "(40, 3)", "(120,)", "()", "(0, 3)", "(40, 0)", "(-1, 3)", "(40, 3.0)", "[40, 3]", "(True, 3)", "40",
    "None", "(10000000000, 3)", "(9223372036854775807, 9223372036854775807)", "(" + "1, " * 40 + ")",
    "(40, 3, 1)", "(40, '3')", "(40 * 3,)", "__import__('os')", "(4_0, 3)", "(1" + "0" * 5000 + ",)",
    "(40, 3", "40, 3)",
)  # fmt: skip
BROKEN = ("}", ")", "'", "", "\n", "\0", "{", "#", "\\", ", ", "é", "((((", "lambda: 0")


def head(draw: Draw) -> bytes:
    """Return a head in text: two keys of three are as they should be."""
    sound = draw.chance(0.3)
    descr = (
        "'<f8'"
        if sound or draw.chance(0.5)
        else draw.choice((f"'{draw.choice(TYPES)}'", "[('a', '<f8')]", "3"))
    )
    order = draw.choice(("False", "True") if draw.chance(0.8) else ("0", "None", "'no'", "[]"))
    shape = "(40, 3)" if sound or draw.chance(0.5) else draw.choice(SHAPES)
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"
    if draw.chance(0.3):
        place = draw.randrange(len(text))
        text = text[:place] + draw.choice(BROKEN) + text[place + draw.randrange(2) :]
    if draw.chance(0.1):
        text = draw.choice(
            ("{}", "", "[1]", "{'descr': '<f8'}", text + text, "{" * 2000, "1", text.replace("'", '"'))
        )
    return text.encode("latin-1", "replace")


def npy_file(draw: Draw) -> bytes:
    """Return a .npy file whose head is drawn, and whose body is that of (40, 3) doubles, or a part."""
    text = head(draw) + b" " * draw.randrange(64) + (b"\n" if draw.chance(0.9) else draw.choice((b"", b" ")))
    version = draw.choice(((1, 0), (2, 0), (3, 0)) if draw.chance(0.9) else ((0, 0), (9, 9), (1, 255)))
    said = len(text) if draw.chance(0.9) else draw.choice((0, 1, len(text) - 1, len(text) + 50, 65535))
    length = struct.pack("<H" if version[0] == 1 else "<I", said)
    body = draw.arrays.dirichlet(np.ones(3), size=40).tobytes()
    cut = len(body) if draw.chance(0.8) else draw.randrange(len(body))
    return b"\x93NUMPY" + bytes(version) + length + text + body[:cut]


def npz_file(draw: Draw) -> bytes:
    """Return an archive with members of such heads, names beside those expected, or no arrays."""
    with io.BytesIO() as file:
        with zipfile.ZipFile(file, "w", draw.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
            for name in (
                "scores.npy",
                "labels.npy",
                *draw.some(("notes.txt", "../up.npy", "a/b.npy", "", "x.npy")),
            ):
                stored = npy_file(draw) if draw.chance(0.5) else _labels(draw)
                info = zipfile.ZipInfo(name or "empty", (1980, 1, 1, 0, 0, 0))
                archive.writestr(info, b"" if draw.chance(0.05) else stored)
        return file.getvalue()


def _labels(draw: Draw) -> bytes:
    with io.BytesIO() as file:
        np.save(file, draw.arrays.integers(3, size=40))
        return file.getvalue()
