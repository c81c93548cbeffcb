"""The picture of the README: `python -m tests.picture` draws it; what it says is kept in the file as well."""

from __future__ import annotations

import io
import textwrap
from dataclasses import replace
from pathlib import Path

import matplotlib.image
from matplotlib.figure import Figure
from PIL import Image

import calcli
from calcli.figures import draw

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / ".github" / "page.png"
SHOWN = "sample_data/digits_network_test.npy"
DOTS = 100  # an inch


def drawn() -> tuple[Figure, str]:
    """Return the head of a page, drawn, and all that it says in words."""
    path = ROOT / SHOWN
    report = calcli.evaluate(calcli.read(str(path)))
    head, table = (
        report.headline(),
        next(one for one in replace(report, details=True).tables() if one.title.endswith(path.name)),
    )
    rows = [(name, cell.replace(f"{ROOT}/", "")) for name, cell in table.rows]
    read = head.read.replace(f"{ROOT}/", "")
    figure = Figure(figsize=(11.8, 7), dpi=DOTS)

    def say(
        x: float, y: float, text: str, size: float, weight: str = "normal", color: str = "#222222"
    ) -> None:
        figure.text(x, y, text, fontsize=size, weight=weight, color=color, va="top", linespacing=1.4)

    say(0.04, 0.95, report.title, 16, "bold")
    say(0.04, 0.89, read, 10.5, color="#6b6b6b")
    say(0.04, 0.84, textwrap.fill(head.verdict, 62), 12)
    for n, one in enumerate(head.numbers):
        say(0.04 + 0.18 * n, 0.66, one.name, 10, color="#6b6b6b")
        say(0.04 + 0.18 * n, 0.625, one.value, 17, "bold")
        say(0.04 + 0.18 * n, 0.57, one.beside, 9, color="#6b6b6b")
    for n, (name, cell) in enumerate(rows):
        say(0.04, 0.5 - 0.05 * n, name, 9.5)
        say(0.12, 0.5 - 0.05 * n, textwrap.shorten(cell, 66), 9.5)
    diagram = io.BytesIO()
    drawing = draw("reliability", {path.name: report.evaluation})
    drawing.figure.savefig(diagram, dpi=135)
    diagram.seek(0)
    figure.figimage(matplotlib.image.imread(diagram), xo=710, yo=60)
    said = [report.title, read, head.verdict]
    said += [f"{one.name} {one.value} {one.beside}" for one in head.numbers]
    said += [f"{name}: {cell}" for name, cell in rows]
    return figure, "\n".join([*said, drawing.caption])


def kept() -> str:
    """Return what the picture says that is there."""
    with Image.open(PICTURE) as image:
        return str(image.info["Description"])


if __name__ == "__main__":
    figure, said = drawn()
    figure.savefig(PICTURE, metadata={"Description": said, "Software": None})
