"""The size of each room: a ceiling that only falls.

Whoever makes a room smaller lowers its number here in the same commit (`python -m tests.test_size` writes
what it is now); nobody raises one. Lines are those of code, without docstrings, comments and blank lines.
"""

from __future__ import annotations

import io
import json
import sys
import tokenize
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tests.test_architecture import NO_CODE, lines_of_code

ROOT = Path(__file__).resolve().parents[1]
CEILINGS = Path(__file__).with_suffix(".json")
DENSER = 1.1  # tokens a line, of those there were: nobody gains by longer lines


@cache
def sizes() -> dict[str, int]:
    """Return the lines of code of each room: a folder of calcli, of core and io the folders in them."""
    found: Counter[str] = Counter()
    for file in (ROOT / "calcli").rglob("*.py"):
        parts = file.relative_to(ROOT / "calcli").parts[:-1]
        found["/".join(parts[: 2 if parts[:1] in (("core",), ("io",)) else 1])] += lines_of_code(
            file.read_text(encoding="utf-8")
        )
    return dict(sorted(found.items()))


def tokens_a_line() -> float:
    """Return how many tokens a line of code has in the mean."""
    tokens = 0
    for file in (ROOT / "calcli").rglob("*.py"):
        text = io.StringIO(file.read_text(encoding="utf-8"))
        tokens += sum(one.type not in NO_CODE for one in tokenize.generate_tokens(text.readline))
    return tokens / sum(sizes().values())


def ceilings() -> dict[str, float]:
    return json.loads(CEILINGS.read_text(encoding="utf-8"))


@pytest.mark.parametrize("room", sorted(sizes()))
def test_no_room_grows(room):
    assert sizes()[room] <= ceilings().get(room, 0), f"calcli/{room} has grown: take out as much as comes in"


def test_what_became_smaller_stays_so():
    known = {room: most for room, most in ceilings().items() if room != "tokens a line"}
    lower = {room: sizes().get(room, 0) for room, most in known.items() if sizes().get(room, 0) < most}
    assert not lower, f"lower the ceilings, by python -m tests.test_size: {lower}"


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="each part of an f-string is a token there")
def test_lines_do_not_become_denser():
    assert tokens_a_line() <= DENSER * ceilings()["tokens a line"]


def main() -> None:
    """Write what has become smaller, and rooms that are new; what grew stays as it was."""
    known = ceilings() if CEILINGS.exists() else {}
    found = {room: min(size, known.get(room, size)) for room, size in sizes().items()}
    found["tokens a line"] = known.get("tokens a line", round(tokens_a_line(), 3))
    CEILINGS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
