"""Calls of every command that writes files, with all options that do, and what they read."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from typer.main import get_command

from calcli.cli.main import app_of

OLD = b"what was there before"
CALLS = {
    "evaluate": "evaluate a.csv -o new/report --html page.html --save-state new.calcli",
    "fit": "fit a.csv -m temperature -o new.json --html page.html --cross-validated rows.csv",
    "fit, arrays": "fit a.csv -m vector -o new.npz",
    "apply, csv": "apply cal.json a.csv -o new.csv",
    "apply, parquet": "apply cal.json a.csv -o new.parquet",
    "apply, npy": "apply cal.json a.csv -o new.npy",
    "threshold": "threshold a.csv --max-error 0.9 -o new.json",
    "plot": "plot a.csv -o new/figures --figure reliability --data --html page.html",
    "compare": "compare a.csv b.csv --metrics brier --html page.html",
    "check": "check a.csv -p p.toml --write json=new.json --write junit=new.xml --html page.html",
    "monitor": "monitor a.csv --html page.html",
    "segments": "segments a.csv --columns half --min-rows 10 --draws 19 --html page.html",
    "export": "export cal.json --as python -o new.py",
    "merge": "merge one.calcli two.calcli -o new.calcli",
    "simulate": "simulate cal --rows 60 --n-classes 3 -o new.parquet --posteriors truth.npy",
    "study": "study mixture --metrics ece:lens=class-1 --rows 100 --series 3 -o new.png",
    "benchmark": "benchmark --cal a.csv --test b.csv --methods temperature --html page.html",
}
MAKING = (
    "fit a.csv -m temperature -o cal.json",
    "evaluate a.csv --save-state one.calcli",
    "evaluate b.csv --save-state two.calcli",
)
TELLS_OF_WRITING = re.compile(r"(?i)\b(also (write|draw|keep)|where to (write|save))\b")
READ = {"--as", "--calibrator", "--by"}  # whose help speaks of that, and which write nothing


def writing_options() -> dict[str, set[str]]:
    """Return for each command its options that write files, by what the help says of them."""
    found: dict[str, set[str]] = {}
    for name, command in get_command(app_of()).commands.items():  # type: ignore[attr-defined]
        for option in command.params:
            told = TELLS_OF_WRITING.search(getattr(option, "help", None) or "")
            if (told or "--output" in option.opts) and not READ & set(option.opts):
                found.setdefault(name, set()).update(
                    one for one in option.opts if one in ("-o",) or "--output" not in option.opts
                )
    return found


def fill(folder: Path) -> None:
    """Write what the calls read, apart from what calcli makes itself."""
    rng = np.random.default_rng(5)
    probs = rng.dirichlet([1, 1, 1], 80)
    labels = (rng.random((80, 1)) > np.cumsum(probs, 1)[:, :-1]).sum(1).tolist()
    for name, rows in (("a.csv", probs), ("b.csv", 0.5 * probs + 1 / 6)):
        cells = enumerate(zip(labels, rows.tolist(), strict=True))
        lines = [",".join(["xyz"[k], str(n % 2), *map(repr, row)]) for n, (k, row) in cells]
        (folder / name).write_text("\n".join(["label,half,prob_x,prob_y,prob_z", *lines, ""]))
    (folder / "p.toml").write_text('[[rules]]\nmetric = "brier"\nmax = 2.0\n')
