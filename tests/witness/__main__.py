"""`python -m tests.witness OLD NEW` runs two checkouts on one corpus and lists what they make of it.

Nothing is stored: the corpus is made anew each time, unless `--corpus` names a folder to keep it in.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from tests.witness.corpus import build

HERE = Path(__file__).resolve().parents[2]


def main() -> int:
    """Compare; status 1 where an answer is another one, or one is given that was refused."""
    parser = argparse.ArgumentParser(prog="python -m tests.witness", description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--hostile", type=int, default=1500, help="cases of the fuzzer")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--corpus", type=Path, help="a folder to keep the corpus and the outcomes in")
    parser.add_argument("--show", type=int, default=20, help="cases of each list")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as own:
        folder = asked.corpus or Path(own)
        listed = folder / "cases.json"
        if not listed.exists():
            listed.write_text(json.dumps(build(folder, asked.hostile, asked.seed)))
        sides = [_outcomes(checkout, listed) for checkout in (asked.old, asked.new)]
        return _compare(json.loads(listed.read_text()), *sides, asked.show)


def _outcomes(checkout: Path, listed: Path) -> list[Any]:
    """Return what a checkout makes of the cases; kept beside them under its commit where that is clean."""
    git = ["git", "-C", str(checkout)]
    commit = subprocess.run(
        [*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    dirty = subprocess.run([*git, "status", "--porcelain", "calcli"], capture_output=True, check=True).stdout
    out = listed.with_name(f"{commit}.jsonl")
    if dirty or not out.exists():
        script = Path(__file__).with_name("running.py")
        environment = os.environ | {"PYTHONPATH": str(checkout.resolve()), "OPENBLAS_NUM_THREADS": "1"}
        part = out.with_suffix(".part")
        subprocess.run([sys.executable, script, listed, part], cwd=checkout, env=environment, check=True)
        part.replace(out)
    return [json.loads(line) for line in out.read_text().splitlines()]


def _compare(cases: list[Any], old: list[Any], new: list[Any], show: int) -> int:
    found: Counter[tuple[str, str]] = Counter()
    shown: dict[str, list[str]] = {}
    for case, before, after in zip(cases, old, new, strict=True):
        for words, one, other in zip(case["calls"], before, after, strict=True):
            kind = _kind(one, other)
            found[words[0], kind] += 1
            if kind != "same" and kind != "refused in other words":
                shown.setdefault(kind, []).append(
                    f"{case['folder']}: {shlex.join(words)}\n{_difference(one, other)}"
                )
    for kind, texts in shown.items():
        print(f"--- {kind}: {len(texts)}", *texts[:show], sep="\n")
    print(
        *(f"{command:9} {kind:24} {count:6,}" for (command, kind), count in sorted(found.items())), sep="\n"
    )
    return int(bool(shown.get("another answer") or shown.get("refused -> answered")))


def _kind(old: list[Any], new: list[Any]) -> str:
    if old == new:
        return "same"
    if old[0] != new[0]:
        return {(True, False): "answered -> refused", (False, True): "refused -> answered"}.get(
            (old[0] in (0, 1), new[0] in (0, 1)), "another status"
        )
    if old[0] == 2:
        return "refused in other words"
    return "another remark" if old[1] == new[1] and old[3] == new[3] else "another answer"


def _difference(old: list[Any], new: list[Any]) -> str:
    lines = []
    for one, other in zip(old[1:3], new[1:3], strict=True):
        pairs = zip(one.splitlines() or [""], other.splitlines() or [""], strict=False)
        lines += [f"    - {a[:300]}\n    + {b[:300]}" for a, b in pairs if a != b][:3]
    lines += [
        f"    {name}:\n    - {old[3].get(name, '')[:300]!r}\n    + {new[3].get(name, '')[:300]!r}"
        for name in {**old[3], **new[3]}
        if old[3].get(name) != new[3].get(name)
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
