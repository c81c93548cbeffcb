"""Options of every command, from their declarations, each with a value that it takes, or should refuse."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args, get_origin

from calcli.cli.main import app_of
from tests.hostile import expressions
from tests.hostile.drawing import Draw, text_of
from tests.hostile.places import Place
from tests.hostile.rows import FOR_OPTION
from tests.hostile.sidefiles import labels_file, side_file

CLUSTER = ("--engine",)  # would start processes or call others
OUTPUTS = {
    "--output": "", "--html": ".html", "--save-state": ".calcli", "--cross-validated": ".csv",
    ("simulate", "--posteriors"): ".csv", ("evaluate", "--output"): "", ("plot", "--output"): "",
    ("fit", "--output"): ".json", ("apply", "--output"): ".csv", ("simulate", "--output"): ".npy",
    ("study", "--output"): ".png", ("merge", "--output"): ".calcli",
}  # fmt: skip
SLOW = (
    "--draws",
    "--series",
    "--workers",
    "--rows",
    "--folds",
)


@dataclass(frozen=True)
class Declared:
    """An option as its command declares it."""

    name: str
    off: str
    type: Any
    metavar: str

    @property
    def choices(self) -> tuple[Any, ...]:
        """The words it takes, if it takes a few."""
        kinds = [self.type, *get_args(self.type)]
        return next((get_args(kind) for kind in kinds if get_origin(kind) is Literal), ())

    @property
    def is_whole(self) -> bool:
        return self.type is int or int in get_args(self.type)

    @property
    def is_flag(self) -> bool:
        return self.type is bool or bool in get_args(self.type)


@cache
def declared(command: str) -> tuple[Declared, ...]:
    """Return the options of a command."""
    function = app_of([command]).registered_commands[0].callback
    found = []
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        kind, said = get_args(parameter.annotation)
        if "Option" not in type(said).__name__:
            continue
        texts = said.default, *(said.param_decls or ())  # typer takes the first name for a default
        spelled = [text for text in texts if isinstance(text, str) and text.startswith("--")]
        name, _, off = (spelled or ["--" + parameter.name.replace("_", "-")])[0].partition("/")
        found.append(Declared(name, off, kind, said.metavar or ""))
    return tuple(found)


def options(draw: Draw, command: str, place: Place, most: int = 4) -> list[str]:
    """Return a few options of a command, each with a value that it takes, or should refuse."""
    given: list[str] = []
    for one in draw.some([one for one in declared(command) if one.name not in CLUSTER], most):
        given += _given(draw, command, one, place)
    return [text_of(text) for text in given]


def _given(draw: Draw, command: str, one: Declared, place: Place) -> list[str]:
    if one.is_flag:
        return [one.off if one.off and draw.chance(0.5) else one.name]
    value = _value(draw, command, one, place)
    return [f"{one.name}={value}"] if draw.chance(0.2) else [one.name, value]


def _value(draw: Draw, command: str, one: Declared, place: Place) -> str:
    ending = OUTPUTS.get((command, one.name), OUTPUTS.get(one.name))
    if ending is not None:
        return draw.output(ending)
    if one.choices:
        return draw.choice(one.choices) if draw.chance(0.9) else draw.name()
    column = FOR_OPTION.get(one.name)
    if column in place.columns and draw.chance(0.7):
        return str(column)
    if one.name in SLOW:
        return draw.choice(
            ("1", "2", "3", "5") if draw.chance(0.8) else ("10,20", "0", "-1", "x", "1.5", "nan")
        )
    if one.is_whole:
        return draw.choice(
            ("0", "1", "2", "3", "7", "20") if draw.chance(0.8) else ("-1", "-2", "99", draw.number())
        )
    by_name = BY_NAME.get(one.name) or BY_METAVAR.get(one.metavar)
    if by_name is not None and draw.chance(0.92):
        return by_name(draw, place)
    return draw.choice((draw.number(), draw.name(), place.column(draw)))


def _number(draw: Draw, place: Place) -> str:
    return draw.choice(("0.5", "0.1", "0.9", "0.99", "1", "2", draw.number()))


def _listed(draw: Draw, place: Place) -> str:
    return ",".join(place.some_class(draw) for _ in range(draw.randrange(1, 4)))


def _costs(draw: Draw, place: Place) -> str:
    word = draw.choice(("zero-one", "balanced", "abstain:0.1", "abstain:" + draw.number(), "", draw.name()))
    heavy = f"imbalanced:{place.some_class(draw)}:{draw.number()}"
    return draw.choice((word, word, heavy, side_file(draw, "costs", list(place.classes))))


def _priors(draw: Draw, place: Place) -> str:
    count = len(place.classes) or 1
    listed = ",".join(draw.number() if draw.chance(0.2) else f"{1 / count:.4g}" for _ in range(count))
    return draw.choice(("uniform", listed, listed, side_file(draw, "priors", list(place.classes))))


def _groups(draw: Draw, place: Place) -> str:
    parts = "+".join(place.classes[:2]) + "," + "+".join(place.classes[2:])
    named = draw.choice(("kind=", "kind=", "top-1=", "=", draw.name()))
    return named + draw.choice((parts, parts, side_file(draw, "groups", list(place.classes)), draw.name()))


def _fails(draw: Draw, place: Place) -> str:
    return f"{expressions.metric(draw)}{draw.choice('<>=!')}{draw.number()}"


def _written(draw: Draw, place: Place) -> str:
    form, ending = draw.choice(
        (("junit", ".xml"), ("json", ".json"), ("markdown", ".md"), ("html", ".html"), ("x", ""))
    )
    return f"{form}={draw.output(ending)}"


def _glob(draw: Draw, place: Place) -> str:
    return draw.choice((place.file(draw), "*", "**/*", "[", "*.none", "deep/*", ""))


def _system(draw: Draw, place: Place) -> str:
    return f"{draw.choice(('a', 'b', draw.name()))}={draw.choice((place.column(draw), 'prob_*', 'a,b'))}"


Drawn = Callable[[Draw, Place], str]
BY_NAME: dict[str, Drawn] = {
    "--metrics": lambda draw, place: expressions.metrics(draw),
    "--sort": lambda draw, place: expressions.metric(draw),
    "--select": lambda draw, place: expressions.metric(draw),
    "--methods": lambda draw, place: expressions.methods(draw),
    "--candidates": lambda draw, place: expressions.methods(draw),
    "--figure": lambda draw, place: expressions.figure(draw),
    "--lens": lambda draw, place: draw.choice(expressions.LENSES),
    "--class-axis": lambda draw, place: draw.choice(("0", "1", "-1", "2", "-33", "99")),
    "--scores": lambda draw, place: draw.choice(("prob_*", "*", "scores", "[", f"{place.column(draw)},x")),
    "--labels": lambda draw, place: draw.choice(
        ("y", "labels", labels_file(draw, place.rows, list(place.classes)))
    ),
    "--classes": _listed,
    "--costs": _costs,
}
BY_METAVAR: dict[str, Drawn] = {
    "N": _number, "P": _number, "X": _number, "NAMES": _listed, "DIR|GLOB": _glob,
    **dict.fromkeys(("COLUMN", "NAME"), lambda draw, place: place.column(draw)),
    **dict.fromkeys(("CLASS", "LABEL"), lambda draw, place: place.some_class(draw)),
    **dict.fromkeys(("FILE", "CAL TEST"), lambda draw, place: place.file(draw)),
    "PRIORS": _priors, "COSTS": _costs, "NAME=GROUPS": _groups, "NAME=COLUMNS": _system,
    "LIMIT": _fails, "FORMAT=FILE": _written,
    "METHOD": lambda draw, place: expressions.method(draw),
    "METRIC=X": lambda draw, place: f"{expressions.metric(draw)}={draw.number()}",
    "NAME=GLOB": lambda draw, place: f"{place.some_class(draw)}={_glob(draw, place)}",
}  # fmt: skip
