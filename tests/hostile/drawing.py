"""What all generators draw from: numbers, names, texts and bytes as nobody would hope for, by one seed."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

NUMBERS = (
    "0", "1", "-1", "0.5", "0.9", "1e-3", "nan", "inf", "-inf", "-0.0", "5e-324", "1e-320", "1e-45", "1e308",
    "-1e308", "1.8e308", "3.4e38", "1e19", "9223372036854775807", "-9223372036854775808",
    "18446744073709551615", "1" + "0" * 400, "9" * 6000, "²", "0x10", "1_000", "1e", "½", "١", "1,5", "",
    "null", "None", "True", "1e-400", "0.30000000000000004", " 1 ", "+1", "1e5", "2", "3", "1.0", "1.5",
    "1/0", "1j",
)  # fmt: skip
CONTROL = (
    "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "two\nlines", "back\rhere", "tab\there", "\x7f", "\x9b31m",
    "\u2028", "\u202egnp", "\u200b", "\n::error::planted", "::error::planted", "##[error]planted",
    "##vso[task.complete]", "\x08\x08", "\x00",
)  # fmt: skip
MARKUP = (
    "<script>planted()</script>", "<img src=x onerror=planted()>", "[link](http://planted.example)",
    "![i](http://planted.example/x.png)", "`code`", "|", "a|b", "$x^2$", "$\\frac{", "\\alpha", "$", "_", "*",
    "%s", "{0}", "{class}", "[bold]", "[/]", "<b>", "&amp;", "]]>", "-->", "https://planted.example",
)  # fmt: skip
WORDS = (
    "cat", "dog", "0", "1", "01", "1.0", "-1", "1e3", "nan", "None", "true", "False", "inf", "a" * 300,
    "é", "😀", "日本", "e\u0301", "Å", "a,b", "a;b", 'quo"te', "quo'te", "=1+1", "@cmd", "-dash", "--help",
    "+plus", "", " ", "  padded ", "prob_", "prob_cat", "label", "correct", "..", ".", "/", "a/b", "p_*", "*",
    "a:b=c", "a+b", "a=b", "predicted-class", "all", "2024-01-01", "1970-01-01T00:00:00", "12:30", "\ufeff",
)  # fmt: skip


class Draw(random.Random):
    """A source of draws for one case, whose files go to a folder."""

    folder: Path  # of the case
    store: Path  # what a hunt shares
    outputs: list[str]  # where the call may write
    calm = False  # whether numbers and names are such as anybody has

    def chance(self, share: float) -> bool:
        return self.random() < share

    def odd(self, share: float) -> bool:
        """Tell whether to do what nobody does, in a share of the cases that are not calm."""
        return not self.calm and self.random() < share

    def maybe(self, share: float, *words: str) -> list[str]:
        """Return words, or none of them."""
        return list(words) if self.chance(share) else []

    def some(self, items: Sequence[Any], most: int = 3) -> list[Any]:
        """Return a few items, perhaps none, each at most once."""
        return self.sample(list(items), min(len(items), self.randrange(most + 1)))

    @property
    def arrays(self) -> np.random.Generator:
        """A generator of arrays, another one each time."""
        return np.random.default_rng(self.getrandbits(63))

    def number(self) -> str:
        if self.calm:
            return self.choice(("0", "1", "0.5", "0.1", "0.01", "2", "10"))
        return self.choice(NUMBERS) if self.chance(0.7) else f"{self.gauss(0, 3):.3g}"

    def floating(self) -> float:
        """Return a number that may be at the end of what doubles hold, or none."""
        try:
            return float(self.number())
        except ValueError:
            return self.choice((float("nan"), float("inf"), -float("inf"), 0.0, 2.0**-149, 3.4e38))

    def name(self) -> str:
        if self.calm:
            return self.choice(("cat", "0", "1", "prob_*", "label"))
        return self.choice(self.choice((CONTROL, MARKUP, WORDS, WORDS)))

    def names(self, count: int) -> list[str]:
        """Return different names of so many classes or columns, in one of three tempers."""
        temper = self.random()
        if temper < 0.4:
            return [str(n) for n in range(count)]
        if temper < 0.6:
            return [f"class{n}" for n in range(count)]
        drawn = dict.fromkeys(self.name() for _ in range(count))
        return [*drawn, *(f"other{n}" for n in range(count - len(drawn)))]

    def value(self, depth: int = 0) -> Any:
        """Return what JSON or TOML may hold: text, a number, nothing, or a few of these in each other."""
        kind = self.random()
        if kind < 0.3:
            return self.name()
        if kind < 0.7:
            return self.choice((0, 1, -1, 10**18, 10**400, 0.5, True, False, None, self.floating()))
        if depth > 2:
            return []
        inner = [self.value(depth + 1) for _ in range(self.randrange(4))]
        return inner if kind < 0.85 else {self.name(): one for one in inner}

    def file_name(self, ending: str) -> str:
        """Return the name of a file, mostly a harmless one, without what no file system takes."""
        if self.chance(0.9):
            return self.choice(("preds", "t", "val", "test")) + ending
        stem = self.choice((self.name(), "bytes\udcff", "-", "a b"))
        return stem.replace("/", "_").replace("\0", "_")[:100].strip(".") + ending

    def put(self, name: str, content: str | bytes) -> str:
        """Write a file and return its name."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
        return name

    def output(self, ending: str) -> str:
        """Return where a run may write; below a folder, over a folder, or nowhere, if it likes."""
        stem = self.choice(("out", "out", "out", "deep/er/out", "taken", self.file_name("")))
        if stem == "taken":
            (self.folder / "taken").mkdir(exist_ok=True)
        found = stem + (
            ending if self.chance(0.8) else self.choice(("", ".txt", ".exe", "/", ".PNG", ".json"))
        )
        self.outputs.append(found)
        return found


def text_of(value: Any) -> str:
    """Return text as an argument of a command, which cannot hold NUL."""
    return str(value).replace("\0", "")


NUMBER = re.compile(rb"-?\d+\.?\d*(?:[eE][-+]?\d+)?")
WORD = re.compile(rb'"[^"]{0,80}"|[A-Za-z_]\w+')
MARKS = tuple(bytes([mark]) for mark in b"{}[]()\"',:\n\0\xff=;\\#")
RUNS = (
    b"\0" * 8, b"\xff" * 8, b"\xff\xff\xff\x7f", b"\0\0\0\x80", b"[" * 3000, b"(" * 300, b"\xed\xa0\x80",
    b"\\ud800",
)  # fmt: skip


def damaged(draw: Draw, content: bytes) -> bytes:
    """Return bytes after a wound, or up to three; the head and the foot of a file are hit most."""
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        size, where = len(content), draw.random()
        place = (
            draw.randrange(min(size, 160) + 1) if where < 0.4 else size - draw.randrange(min(size, 300) + 1)
        )
        place = place if where < 0.7 else draw.randrange(size + 1)
        before, behind = content[:place], content[place:]
        run = draw.choice((*RUNS, *MARKS, bytes([draw.randrange(256)])))
        flipped = bytes([(behind or b"\0")[0] ^ 1 << draw.randrange(8)])
        content = draw.choice((
            before, before + flipped + behind[1:], before + behind[draw.randrange(1, 60) :],
            before + before[place // 2 :] + behind, before + run + behind[draw.choice((0, len(run))) :],
            _exchanged(draw, content, NUMBER, draw.number()), _exchanged(draw, content, NUMBER,
            draw.number()),
            _exchanged(draw, content, WORD, f'"{draw.name()}"'),
        ))  # fmt: skip
    return content


def _exchanged(draw: Draw, content: bytes, pattern: re.Pattern[bytes], by: str) -> bytes:
    found = list(pattern.finditer(content[:100_000]))
    if not found:
        return content
    one = draw.choice(found)
    return content[: one.start()] + by.encode("utf-8", "replace") + content[one.end() :]
