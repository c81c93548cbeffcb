"""Cases: by two numbers the files in a folder, and the call that is made there."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from calcli.core.language.figures import FIGURES
from tests.hostile import expressions, models
from tests.hostile.drawing import Draw, text_of
from tests.hostile.kinds import ENDINGS, KINDS, Made
from tests.hostile.made import Store
from tests.hostile.options import declared, options


@dataclass
class Case:
    """A call of calcli in a folder of files.

    Attributes
    ----------
    kind
        What is hostile.
    arguments
        Behind the name of the command calcli.
    stdin
        The file that is piped in, if any.
    environment
        Variables beside those that every case has.
    outputs
        Where the call may write.
    again
        The arguments of another call behind it, which has to say the same.
    alike
        How far: a name in `agreeing.LIKENESSES`.
    found
        What was wrong already while the files were made by calcli.
    """

    kind: str
    arguments: list[str]
    stdin: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    outputs: list[str] = field(default_factory=list)
    again: list[str] = field(default_factory=list)
    alike: str = "all"
    found: list[str] = field(default_factory=list)


def make(seed: int, number: int, folder: Path, store: Store) -> Case:
    """Write the files of a case, the same for the same numbers, and return its call."""
    kind = kind_of(number)
    draw = Draw(f"{seed} {number}")
    draw.folder, draw.outputs = folder, []
    made = KINDS[kind](draw, store)
    command = made.command or draw.choice(READERS)
    if made.as_it_is:
        called = [text_of(text) for text in [command, *made.arguments]]
        return Case(
            kind, called, made.stdin, made.environment, draw.outputs, made.again, made.alike, made.found
        )
    arguments = [command, *call(draw, store, command, made), *made.arguments]
    arguments += options(draw, command, made.place, most=2) if draw.chance(0.4) else []
    stdin = ""
    arguments += shown(draw, command) if draw.chance(0.3) else []
    readable = [text for text in arguments if text in made.place.files and (folder / text).is_file()]
    if readable and draw.chance(0.05):
        stdin = readable[0]
        arguments[arguments.index(stdin)] = "-"
    return Case(kind, [text_of(text) for text in arguments], stdin, made.environment, draw.outputs)


def kind_of(number: int) -> str:
    """Return the kind of a case; they take turns."""
    return list(KINDS)[number % len(KINDS)]


def shown(draw: Draw, command: str) -> list[str]:
    """Return how results are to be shown: in a form that can be checked, or on a page."""
    known = {one.name: one for one in declared(command)}
    if "--html" in known and draw.chance(0.3):
        return ["--html", draw.output(".html")]
    forms = [
        form for form in ("json", "markdown") if "--format" in known and form in known["--format"].choices
    ]
    return ["--format", draw.choice(forms)] if forms else []


READERS = (
    ("evaluate",) * 8 + ("inspect",) * 3 + ("fit", "apply", "plot", "compare", "check", "check", "benchmark")
)


def call(draw: Draw, store: Store, command: str, made: Made) -> list[str]:
    """Return what a command needs at the least, with a short run where its usual one is long."""
    place = made.place
    first = [place.files[0]] if place.files else []
    classes = min(max(len(place.classes), 2), 5)
    if command == "fit":
        method = expressions.method(draw) if draw.chance(0.7) else draw.choice(("auto", "temperature", "dp"))
        return [*first, "-m", method, "-o", draw.output(draw.choice((".json", ".npz"))), "--folds", "2"]
    if command == "apply":
        there = [name for name in ("cal.json", "cal.npz") if (draw.folder / name).exists()]
        cal = there[0] if there else models.calibrator(draw, store, classes, calm=True)
        return [cal, *first, *(["-o", draw.output(draw.choice(ENDINGS))] if draw.chance(0.7) else [])]
    if command == "plot":
        figure = ["--figure", draw.choice(list(FIGURES))] if draw.chance(0.7) else []
        return [*place.files, "-o", draw.output(""), *figure]
    if command == "compare":
        return [*first, *(place.files[1:] or first)]
    if command == "check":
        if draw.chance(0.2) and not (draw.folder / "calcli.toml").exists():
            return [*first, "--init"]
        has = (draw.folder / "calcli.toml").exists()
        return [*first, "-p", "calcli.toml" if has else models.policy(draw, store, classes, calm=True)]
    if command == "benchmark":
        return ["--cal", *first, "--test", *first, "--methods", expressions.methods(draw), "--jobs", "1"]
    return [*place.files]
