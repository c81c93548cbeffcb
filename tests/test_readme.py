"""What the README shows is what the tool prints; `python tests/test_readme.py` writes it anew."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from calcli.core.language.figures import FIGURES
from calcli.core.language.methods import METHODS
from calcli.core.language.metrics import METRICS

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"


def shell(command: str, folder: Path) -> str:
    """Run a command line with `calcli` on the path and return both streams as a terminal would show them."""
    shim = folder / "calcli"
    shim.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m calcli "$@"\n')
    shim.chmod(0o755)
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", "COLUMNS": "80", "LANG": "C.UTF-8"}
    command = f"exec 2>&1; {command}"
    done = subprocess.run(["sh", "-c", command], cwd=ROOT, env=environment, capture_output=True, text=True)
    return done.stdout


def metric_table() -> str:
    rows = [
        f"| `{metric.name}` | {metric.meaning} | {metric.range} | {metric.source} |".replace("  ", " ")
        for metric in METRICS.values()
    ]
    return "\n".join(["| metric | what it says | range | source |", "|---|---|---|---|", *rows])


def method_table() -> str:
    rows = [
        f"| `{method.name}` | {method.learns} | {method.parameters} | {method.keeps} | {method.source} |"
        for method in METHODS.values()
    ]
    heads = ["| method | what it learns | parameters | keeps | source |", "|---|---|---|---|---|"]
    return "\n".join([*heads, *rows])


def figure_table() -> str:
    rows = [f"| `{kind.name}` | {kind.meaning} | {kind.source} |" for kind in FIGURES.values()]
    return "\n".join(["| figure | what is to be seen | source |", "|---|---|---|", *rows])


def refreshed(text: str, folder: Path) -> str:
    """Return the README with every session run again and its tables written anew."""

    def session(block: re.Match[str]) -> str:
        commands = re.findall(r"^\$ (.*)$", block[1], re.MULTILINE)
        shown = "".join(f"$ {command}\n{shell(command, folder)}" for command in commands)
        return f"```console\n{shown}```"

    def python(block: re.Match[str]) -> str:
        script = folder / "example.py"
        script.write_text(block[1])
        command = f'PYTHONPATH="{ROOT}" "{sys.executable}" "{script}"'
        return f"```python\n{block[1]}```\n\n```text\n{shell(command, folder)}```"

    text = re.sub(r"```console\n(.*?)```", session, text, flags=re.DOTALL)
    text = re.sub(r"```python\n(.*?)```\n\n```text\n.*?```", python, text, flags=re.DOTALL)
    tables = {"metrics": metric_table(), "methods": method_table(), "figures": figure_table()}
    for name, table in tables.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        text = re.sub(f"{begin}.*{end}", lambda _, new=f"{begin}{table}\n{end}": new, text, flags=re.DOTALL)
    return text


def test_the_readme_shows_what_is_printed(tmp_path):
    text = README.read_text(encoding="utf-8")
    assert refreshed(text, tmp_path) == text, "run `python tests/test_readme.py` and look at the difference"


def test_the_readme_has_sessions():
    assert README.read_text(encoding="utf-8").count("```console") >= 4


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        README.write_text(refreshed(README.read_text(encoding="utf-8"), Path(folder)), encoding="utf-8")
