"""Names and sentences that say little: ceilings that only fall, like those of tests/test_size.py.

`python -m tests.test_wording` writes what there is now.
"""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CEILINGS = Path(__file__).with_suffix(".json")
VAGUE = re.compile(
    r"ones?|others?|found|first|told|said|kept|held|asked|judged|given|used|own|rest|more|most|both|each|some|"
    r"what|whole|made|taken|left|done|meant|known|shown|drawn|here|beside|named|things?|parts|pieces"
)
PHRASES = re.compile(
    r"\b(those|that of|is that|what is|of which|thereby|whose|that is to|so that|as many|it be|that are|"
    r"of them|are there|is there|is told|are told|is said|are said)\b",
    re.IGNORECASE,
)


@cache
def counts() -> dict[str, int]:
    """Return the number of vague local names, and of stilted phrases in 10,000 words of docstrings."""
    names = phrases = words = 0
    for file in (ROOT / "calcli").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            name = node.arg if isinstance(node, ast.arg) else ""
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                name = node.id
            names += VAGUE.fullmatch(name) is not None
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
                text = ast.get_docstring(node) or ""
                phrases, words = phrases + len(PHRASES.findall(text)), words + len(text.split())
    return {"vague names": names, "phrases in 10,000 words": round(1e4 * phrases / words)}


def test_names_and_sentences_get_no_vaguer():
    ceilings = json.loads(CEILINGS.read_text(encoding="utf-8"))
    assert all(count <= ceilings[name] for name, count in counts().items()), counts()


if __name__ == "__main__":
    CEILINGS.write_text(json.dumps(counts(), indent=1) + "\n", encoding="utf-8")
