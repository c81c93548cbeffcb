"""Options of every command, and expressions, from their declarations: with values within and beyond."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args, get_origin

from calcli.cli.main import app_of
from calcli.core.language.entries import Argument, Entry
from calcli.core.language.figures import FIGURES
from calcli.core.language.methods import METHODS
from calcli.core.language.metrics import METRICS
from tests.hostile.drawing import Draw, text_of
from tests.hostile.models import labels_file, side_file

LENSES = (
    "top-1", "class-wise", "worst-class", "class-1", "class-0", "top-2", "within-top-2", "predicted-0",
    "largest-2", "canonical", "top-wise", "kind", "class-99", "top-0",
    "class-99999999999999999999", "class-x", "class-²", "within-top-" + "9" * 6000,
)  # fmt: skip
SANE = {
    "lens": ("top-1", "class-wise", "worst-class", "class-1", "within-top-2", "canonical"),
    "region": ("all", "0.8..1", "0..0.5"), "binning": ("equal-width", "equal-mass", "recursive"),
    "costs": ("zero-one", "balanced", "abstain:0.1"), "weights": ("uniform", "inverse-frequency"),
    "calibrator": ("temperature", "histogram/bins=3", "dp"),
    "min_rows": ("5",), "knots": ("6",), "smooth": ("moving/3",), "p_values": ("true",), "seeds": ("true",),
}  # fmt: skip
FREE = {
    "lens": LENSES,
    "region": ("1..0.8", "0..0", "-1..2", "nan..1", "0.5..", "..", "a..b", "1e400..1", "0/1..1/1"),
    "binning": ("0/0.5/1", "0/1/0.5", "", "equal"), "costs": ("costs", "imbalanced:cat:10"),
    "weights": ("mine", ""), "calibrator": ("reduced/calibrator=isotonic", "auto", ""),
}  # fmt: skip
COUNTS = ("1", "2", "3", "7", "15", "0", "-1", "1.5", "99999999999999999999", "1e3", "x", "")


def expression(draw: Draw, entries: Mapping[str, Entry]) -> str:
    """Return an entry with some arguments; one time in sixteen it is torn."""
    entry = draw.choice(list(entries.values()))
    given = draw.some(list(entry.arguments.items()))
    text = ":".join([entry.name, *(f"{key}={_argument(draw, key, one)}" for key, one in given)])
    if draw.odd(0.06):
        place = draw.randrange(len(text) + 1)
        torn = text[:place], text[:place] + draw.choice(":=/,+ ") + text[place:], text + ":" + text
        text = draw.choice((*torn, draw.name(), text + f":{draw.name()}={draw.number()}"))
    return text


def _argument(draw: Draw, key: str, said: Argument) -> str:
    """Return a value for an argument, mostly one that it may have."""
    if draw.odd(0.08):
        return draw.choice((draw.number(), draw.name(), "", "1/2", "/", "a/b=c"))
    if said.choices:
        return draw.choice(said.choices)
    for kind, values in ARGUMENTS.items():  # truth is a number too
        if isinstance(said.default, kind):
            return draw.choice(values)
    known = SANE if draw.calm or draw.chance(0.8) else FREE
    return draw.choice(known.get(key, ("dp", "temperature", "log_loss")))


ARGUMENTS: dict[type, tuple[str, ...]] = {
    bool: ("true", "false"), int: COUNTS[:5], float: ("0", "0.1", "0.5", "1", "2", "10"),
    tuple: ("1", "1/0.1", "0.1/1/10"),
}  # fmt: skip


def metric(draw: Draw) -> str:
    return expression(draw, METRICS)


def metrics(draw: Draw, entries: Mapping[str, Entry] = METRICS) -> str:
    return ",".join(expression(draw, entries) for _ in range(draw.choice((1, 1, 2, 3))))


def method(draw: Draw) -> str:
    found = expression(draw, METHODS)
    return f"{found}+{expression(draw, METHODS)}" if draw.odd(0.05) else found


def figure(draw: Draw) -> str:
    """Return a figure, perhaps with one of the arguments that it may have."""
    kind = draw.choice(list(FIGURES.values()))
    if not kind.options or draw.chance(0.5):
        return kind.name
    key = draw.choice(kind.options)
    return f"{kind.name}:{key}={draw.choice((*SANE[key], *SANE[key], *FREE.get(key, COUNTS)))}"


@dataclass
class Place:
    """What a call can name: files in its folder, columns and classes in these."""

    files: Sequence[str]
    columns: Sequence[str] = ("label", "country")
    classes: Sequence[str] = ("0", "1", "2")
    rows: int = 60

    def column(self, draw: Draw) -> str:
        """Return a name of a column, often one that is there."""
        return draw.choice(self.columns) if self.columns and draw.chance(0.75) else draw.name()

    def some_class(self, draw: Draw) -> str:
        return draw.choice(self.classes) if self.classes and draw.chance(0.75) else draw.name()

    def file(self, draw: Draw) -> str:
        odd = not self.files or draw.chance(0.1)
        return draw.choice(("missing.csv", ".", "", draw.name())) if odd else draw.choice(self.files)


CLUSTER = ("--engine",)  # would start processes or call others
OUTPUTS = {
    "--html": (".html",), "--save-state": (".calcli",), "--cross-validated": (".csv",),
    "--posteriors": (".csv",),
    "--output": ("", ".json", ".csv", ".npy", ".png", ".calcli"),
}  # fmt: skip
FOR_OPTION: Mapping[str, str] = {  # the column that an option is for
    "--weights": "weight", "--cluster": "patient", "--folds": "fold", "--key": "id", "--by": "country",
    "--decision-column": "decision", "--label-column": "label",
}  # fmt: skip
SLOW = ("--draws", "--series", "--workers", "--rows", "--folds")


@dataclass(frozen=True)
class Declared:
    """An option as its command declares it."""

    name: str
    off: str
    type: Any
    metavar: str

    def takes(self, kind: type) -> bool:
        return self.type is kind or kind in get_args(self.type)

    @property
    def choices(self) -> tuple[Any, ...]:
        """The words it takes, if it takes a few."""
        kinds = [self.type, *get_args(self.type)]
        return next((get_args(kind) for kind in kinds if get_origin(kind) is Literal), ())


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
        if one.takes(bool):
            given.append(one.off if one.off and draw.chance(0.5) else one.name)
        else:
            value = text_of(_value(draw, one, place))
            given += [f"{one.name}={value}"] if draw.chance(0.2) else [one.name, value]
    return list(map(text_of, given))


def _value(draw: Draw, one: Declared, place: Place) -> str:
    if one.name in OUTPUTS:
        return draw.output(draw.choice(OUTPUTS[one.name]))
    if one.choices:
        return draw.name() if draw.odd(0.1) else draw.choice(one.choices)
    if (column := FOR_OPTION.get(one.name)) in place.columns and draw.chance(0.7):
        return str(column)
    if one.name in SLOW:
        return draw.choice(("10,20", "0", "-1", "x", "1.5", "nan") if draw.odd(0.2) else ("1", "2", "3", "5"))
    if one.takes(int):
        return draw.choice(
            ("-1", "-2", "99", draw.number()) if draw.odd(0.2) else ("0", "1", "2", "3", "7", "20")
        )
    drawn = BY_NAME.get(one.name) or BY_METAVAR.get(one.metavar)
    if drawn is None or draw.odd(0.08):
        return draw.choice((draw.number(), draw.name(), place.column(draw)))
    return drawn(draw, place)


def _number(draw: Draw, place: Place) -> str:
    return draw.choice(("0.5", "0.1", "0.9", "0.99", "1", "2", draw.number()))


def _listed(draw: Draw, place: Place) -> str:
    return ",".join(place.some_class(draw) for _ in range(draw.randrange(1, 4)))


def _costs(draw: Draw, place: Place) -> str:
    word = draw.choice(("zero-one", "balanced", "abstain:0.1", "abstain:" + draw.number(), "", draw.name()))
    heavy = f"imbalanced:{place.some_class(draw)}:{draw.number()}"
    return draw.choice((word, word, heavy, side_file(draw, "costs", place.classes)))


def _priors(draw: Draw, place: Place) -> str:
    count = len(place.classes) or 1
    listed = ",".join(draw.number() if draw.odd(0.2) else f"{1 / count:.4g}" for _ in range(count))
    return draw.choice(("uniform", listed, listed, side_file(draw, "priors", place.classes)))


def _groups(draw: Draw, place: Place) -> str:
    parts = "+".join(place.classes[:2]) + "," + "+".join(place.classes[2:])
    named = draw.choice(("kind=", "kind=", "top-1=", "=", draw.name()))
    return named + draw.choice((parts, parts, side_file(draw, "groups", place.classes), draw.name()))


def _written(draw: Draw, place: Place) -> str:
    form = draw.choice(("junit", "json", "markdown", "html", "x"))
    return f"{form}={draw.output({'junit': '.xml', 'markdown': '.md'}.get(form, f'.{form}'))}"


def _glob(draw: Draw, place: Place) -> str:
    return draw.choice((place.file(draw), "*", "**/*", "[", "*.none", "deep/*", ""))


def _methods(draw: Draw, place: Place) -> str:
    return ",".join(method(draw) for _ in range(draw.choice((1, 1, 2))))


Drawn = Callable[[Draw, Place], str]
BY_NAME: dict[str, Drawn] = {
    "--metrics": lambda draw, place: metrics(draw),
    "--select": lambda draw, place: metric(draw),
    **dict.fromkeys(("--methods", "--candidates"), _methods),
    "--figure": lambda draw, place: figure(draw), "--lens": lambda draw, place: draw.choice(LENSES),
    "--class-axis": lambda draw, place: draw.choice(("0", "1", "-1", "2", "-33", "99")),
    "--scores": lambda draw, place: draw.choice(("prob_*", "*", "scores", "[", f"{place.column(draw)},x")),
    "--labels": lambda draw, place: draw.choice(("y", "labels", labels_file(draw, place.rows,
    place.classes))),
    "--classes": _listed, "--costs": _costs,
}  # fmt: skip
BY_METAVAR: dict[str, Drawn] = {
    **dict.fromkeys(("N", "P", "X"), _number), "NAMES": _listed, "DIR|GLOB": _glob,
    **dict.fromkeys(("COLUMN", "NAME"), lambda draw, place: place.column(draw)),
    **dict.fromkeys(("CLASS", "LABEL"), lambda draw, place: place.some_class(draw)),
    **dict.fromkeys(("FILE", "CAL TEST"), lambda draw, place: place.file(draw)),
    "PRIORS": _priors, "COSTS": _costs, "NAME=GROUPS": _groups, "FORMAT=FILE": _written,
    "NAME=COLUMNS": lambda draw, place: f"{draw.choice(('a', 'b', draw.name()))}="
    f"{draw.choice((place.column(draw), 'prob_*', 'a,b'))}",
    "LIMIT": lambda draw, place: f"{metric(draw)}{draw.choice('<>=!')}{draw.number()}",
    "METHOD": lambda draw, place: method(draw),
    "METRIC=X": lambda draw, place: f"{metric(draw)}={draw.number()}",
    "NAME=GLOB": lambda draw, place: f"{place.some_class(draw)}={_glob(draw, place)}",
}  # fmt: skip
