"""Bytes that were hurt: flipped, cut, doubled, overwritten, or the words of a text exchanged."""

from __future__ import annotations

import re

from tests.hostile.drawing import Draw

NUMBER = re.compile(rb"-?\d+\.?\d*(?:[eE][-+]?\d+)?")
WORD = re.compile(rb'"[^"]{0,80}"|[A-Za-z_]\w+')
MARKS = (
    b"{",
    b"}",
    b"[",
    b"]",
    b"(",
    b")",
    b'"',
    b"'",
    b",",
    b":",
    b"\n",
    b"\0",
    b"\xff",
    b"=",
    b";",
    b"\\",
    b"#",
)
RUNS = (
    b"\0" * 8,
    b"\xff" * 8,
    b"\xff\xff\xff\x7f",
    b"\0\0\0\x80",
    b"[" * 3000,
    b"(" * 300,
    b"\xed\xa0\x80",
    b"\\ud800",
)


def damaged(draw: Draw, content: bytes) -> bytes:
    """Return bytes after a wound, or up to three; the head and the foot of a file are hit most."""
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        place = _place(draw, len(content))
        kind = draw.choice((0, 1, 1, 2, 3, 4, 5, 6, 7, 7, 7, 8))
        if kind == 0:
            content = content[:place] + bytes([draw.randrange(256)]) + content[place + 1 :]
        elif kind == 1 and content:
            flipped = content[place : place + 1] or b"\0"
            content = content[:place] + bytes([flipped[0] ^ 1 << draw.randrange(8)]) + content[place + 1 :]
        elif kind == 2:
            content = content[:place] + content[place + draw.randrange(1, 60) :]
        elif kind == 3:
            content = content[:place]
        elif kind == 4:
            content = content[:place] + content[place // 2 : place] + content[place:]
        elif kind == 5:
            run = draw.choice(RUNS)
            content = content[:place] + run + content[place + draw.choice((0, len(run))) :]
        elif kind == 6:
            content = content[:place] + draw.choice(MARKS) + content[place + draw.randrange(2) :]
        elif kind == 7:
            content = _exchanged(draw, content, NUMBER, draw.number().encode())
        else:
            content = _exchanged(draw, content, WORD, b'"' + draw.name().encode() + b'"')
    return content


def _place(draw: Draw, size: int) -> int:
    where = draw.random()
    if where < 0.4:
        return draw.randrange(min(size, 160) + 1)
    return size - draw.randrange(min(size, 300) + 1) if where < 0.7 else draw.randrange(size + 1)


def _exchanged(draw: Draw, content: bytes, pattern: re.Pattern[bytes], by: bytes) -> bytes:
    found = list(pattern.finditer(content[:100_000]))
    if not found:
        return content
    one = draw.choice(found)
    return content[: one.start()] + by + content[one.end() :]
