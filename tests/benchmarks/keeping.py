"""What a study keeps: its results in a file, which are written as they come, and its tables in the guide."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

GUIDE = Path(__file__).resolve().parents[2] / "calcli" / "guide"


class Kept:
    """Results in a file.

    Parameters
    ----------
    path
        Of the file.
    parts
        What they are of, each by name.
    """

    def __init__(self, path: Path, *parts: str) -> None:
        self.path = path
        self.found: dict[str, Any] = {part: {} for part in parts}
        if path.exists():
            self.found = json.loads(path.read_text(encoding="utf-8"))

    def write(self) -> None:
        """Write the file in one step."""
        text = json.dumps(self.found, separators=(",", ":"), ensure_ascii=False)
        beside = self.path.with_suffix(".tmp")
        beside.write_text(text + "\n", encoding="utf-8")
        os.replace(beside, self.path)


def table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    """Yield the lines of a table in Markdown."""
    yield "| " + " | ".join(heads) + " |"
    yield "|---" * len(heads) + "|"
    for row in rows:
        yield "| " + " | ".join(map(str, row)) + " |"


def between(text: str, mark: str, tables: str) -> str:
    """Return a page with what stands between the marks of that name written anew."""
    begin, end = f"<!-- {mark} -->\n", f"<!-- end of {mark} -->\n"
    before, _, rest = text.partition(begin)
    return f"{before}{begin}{tables}{end}{rest.partition(end)[2]}"
