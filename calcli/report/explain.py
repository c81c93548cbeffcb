"""The registries -> explanations of metrics, calibrators, figures, their arguments, and options; no numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from calcli.core.language.entries import Argument, Entry, FigureKind, Method, Metric, Tier, written
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import nearest_name
from calcli.core.language.figures import FIGURES
from calcli.core.language.methods import CHOICE, METHODS
from calcli.core.language.metrics import METRICS
from calcli.core.language.synonyms import also_called, meant, other_thing
from calcli.report.shown import Column, Shown, TextTable

METRICS_TITLES: Mapping[Tier, str] = {
    "to know": "Metrics: the ten to know",
    "more": "More metrics",
    "works": "Metrics mainly for the works",
}
METHODS_TITLE = "Calibrators"
FIGURES_TITLE = "Figures"
SAYS = Column("what it says", "left")
LEARNS = Column("what it learns", "left")
SHOWS = Column("what it shows", "left")
MORE = "calcli explain NAME says more, such as calcli explain ks."
ARGUMENTS = "calcli explain ARGUMENT says what one of them means, such as calcli explain {}."
HEADS = {
    "letters": "short for", "says": "meaning", "learns": "model", "keeps": "preserves",
    "misses": "limitations",
}  # fmt: skip
HIDDEN = ("arguments", "count", "proper", "abbreviation_of", "made", "freedom")  # of what JSON shows
REQUIRED = "METHOD"  # as the default of what has to be given
REGISTRIES: dict[str, Mapping[str, Entry]] = {"metrics": METRICS, "methods": METHODS, "figures": FIGURES}


@dataclass(frozen=True)
class Option:
    """What is to be known of an option of some commands.

    Attributes
    ----------
    names
        Every spelling of it.
    commands
        That have it with this meaning.
    says
        The meaning.
    takes, default
        Its values, in words.
    python, policy
        What it is in Python and in a policy; "" if it is not there.
    """

    names: tuple[str, ...]
    commands: tuple[str, ...]
    says: str
    takes: str = ""
    default: str = ""
    python: str = ""
    policy: str = ""


@dataclass(frozen=True)
class _OneArgument:
    """An argument of expressions, and the default of each entry that has it with this meaning."""

    name: str
    argument: Argument
    defaults: Mapping[str, Any]


@dataclass(frozen=True)
class _OtherThing:
    """A word that is not the name of one thing here, and what it means."""

    name: str
    says: str


Said = Entry | Option | _OneArgument | _OtherThing


@dataclass(frozen=True)
class Explanation(Shown):
    """What has a name: entries of the registries, arguments and options; or all entries in a line each.

    Attributes
    ----------
    name
        In any spelling, or what else people call it; an expression stands for what it names. None for all.
    options
        Of all commands.

    Raises
    ------
    UsageError
        If there is nothing of that name.
    """

    name: str | None = None
    options: Sequence[Option] = ()

    title = "What calcli knows"

    def tables(self) -> list[TextTable]:
        """Return a table of each thing of that name, or all metrics by tier, calibrators and figures."""
        return _lists() if self.name is None else [_table(one, self.name) for one in self._found(self.name)]

    def content(self) -> dict[str, Any]:
        """Return what has that name, the first with the others in it, or all registries."""
        if self.name is not None:
            first, *others = map(_object, self._found(self.name))
            beside: dict[str, Any] = {"figure": others.pop(0)} if _is_figure(others) else {}
            return first | beside | ({"others": others} if others else {})
        return {
            kind: {key: _object(entry) for key, entry in known.items()} for kind, known in REGISTRIES.items()
        }

    def _found(self, name: str) -> Sequence[Said]:
        """Return the entries of a name, then options, then arguments; only options if it has dashes."""
        every = [entry for known in REGISTRIES.values() for entry in known.values()]
        base = meant(name.partition(":")[0], every).partition(":")[0]
        asked = _key(name)
        options = [one for one in self.options if asked in map(_key, one.names)]
        if name.startswith("-") and options:
            return options
        entries = [CHOICE] if base == CHOICE.name else [r[base] for r in REGISTRIES.values() if base in r]
        arguments = _arguments(every)
        found = [*entries, *options, *(one for one in arguments if one.name == asked)]
        if not found and (other := other_thing(name)):
            return [_OtherThing(name, other)]
        if not found:
            names = [_key(spelled) for one in self.options for spelled in one.names]
            known = [*(entry.name for entry in every), *names, *(one.name for one in arguments)]
            raise UsageError(
                f"no metric, calibrator, figure, argument or option is called {name!r}"
                f"{nearest_name(asked, known)}; calcli explain lists the first three, calcli COMMAND --help "
                "the options"
            )
        return found


def _is_figure(records: Sequence[Mapping[str, Any]]) -> bool:
    return bool(records) and records[0]["kind"] == "figure"


def _key(name: str) -> str:
    """Return the name of an option or argument without dashes, as in Python."""
    return name.lower().lstrip("-").replace("-", "_")


def _arguments(entries: Sequence[Entry]) -> list[_OneArgument]:
    """Return the arguments of all entries, those of one name and meaning once."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    first: dict[tuple[str, str, str], Argument] = {}
    for entry in entries:
        for name, argument in entry.arguments.items():
            key = name, argument.says, argument.expected
            first.setdefault(key, argument)
            found.setdefault(key, {})[entry.name] = argument.default
    return [_OneArgument(key[0], first[key], defaults) for key, defaults in found.items()]


def _lists() -> list[TextTable]:
    tables = []
    for tier, title in METRICS_TITLES.items():
        rows = tuple((metric.name, metric.meaning) for metric in METRICS.values() if metric.tier == tier)
        tables.append(TextTable(title, (Column("metric", "left"), SAYS), rows))
    rows = tuple((method.name, f"{method.title}: {method.learns}") for method in METHODS.values())
    tables.append(TextTable(METHODS_TITLE, (Column("method", "left"), LEARNS), rows))
    rows = tuple((figure.name, figure.meaning) for figure in FIGURES.values())
    return [*tables, TextTable(FIGURES_TITLE, (Column("figure", "left"), SHOWS), rows, (MORE,))]


def _table(said: Said, asked: str) -> TextTable:
    rows = tuple((HEADS.get(key, key), text) for key, text in _lines(said, asked).items() if text)
    notes = (
        (ARGUMENTS.format(next(iter(said.arguments))),) if isinstance(said, Entry) and said.arguments else ()
    )
    return TextTable(_head(said), (Column("", "left"), Column("", "left")), rows, notes)


def _head(said: Said) -> str:
    match said:
        case Option():
            return f"The option {said.names[0]}"
        case _OneArgument():
            return f"The argument {said.name}"
        case _OtherThing():
            return said.name
    return f"{said.title} ({said.name})"


def _lines(said: Said, asked: str = "") -> dict[str, str]:
    match said:
        case Entry():
            return _named(said, asked) | _of_entry(said)
        case Option():
            return _of_option(said)
        case _OneArgument():
            return _of_argument(said)
    return {"says": said.says}


def _named(entry: Entry, asked: str) -> dict[str, str]:
    """Return what a name is, where it has arguments, and what else people call it."""
    expression = meant(asked.partition(":")[0], [entry])
    return {
        "asked for": f"{asked} is {expression}" if ":" in expression else "",
        "letters": entry.abbreviation_of,
        "also called": ", ".join(also_called(entry)),
    }


def _of_entry(entry: Entry) -> dict[str, str]:
    match entry:
        case Metric():
            return _of_metric(entry)
        case Method():
            return _of_method(entry)
        case FigureKind():
            return _of_figure(entry)
    raise TypeError(entry)


def _of_metric(metric: Metric) -> dict[str, str]:
    return {
        "says": metric.meaning,
        "of answers": _of_answers(metric) or metric.of_answers,
        "formula": metric.formula,
        "range": f"{metric.range} ({metric.unit}); better: {metric.better or 'neither'}",
        "source": metric.source,
        "misses": metric.misses,
        "bounds": metric.bounds,
        "comes with": metric.family.uncertainty,
        "arguments": _defaults(metric),
    }


def _of_answers(entry: Entry) -> str:
    """Say why an entry is not for answers, right or wrong; nothing if it is."""
    return f"not available: it {entry.needs_classes}" if entry.needs_classes else ""


def _of_method(method: Method) -> dict[str, str]:
    example = f"{method.name}:calibrator=temperature" if method.family == "wrapper" else method.name
    return {
        "learns": method.learns,
        "of answers": _of_answers(method),
        "parameters": f"{method.parameters} (K: number of classes)",
        "keeps": method.keeps,
        "misses": method.misses,
        "source": method.source,
        "settings": _defaults(method),
        "use": f"calcli fit VALIDATION -m {example} -o cal.json",
    }


def _of_option(option: Option) -> dict[str, str]:
    return {
        "says": option.says,
        "takes": option.takes,
        "default": option.default,
        "in Python": option.python,
        "in a policy": option.policy,
        "commands": ", ".join(option.commands),
    }


def _of_argument(one: _OneArgument) -> dict[str, str]:
    example, default = min(one.defaults.items(), key=lambda of: len(of[0]))
    by_default: dict[str, list[str]] = {}
    for entry, own in one.defaults.items():
        by_default.setdefault(REQUIRED if own is None else written(own), []).append(entry)
    return {
        "says": one.argument.says,
        "takes": one.argument.expected if one.argument.default is not None else "a method",
        "default": "; ".join(f"{own} of {', '.join(names)}" for own, names in by_default.items()),
        "written as": f"{example}:{one.name}={REQUIRED if default is None else written(default)}",
    }


def _of_figure(figure: FigureKind) -> dict[str, str]:
    return {
        "shows": figure.meaning,
        "of answers": _of_answers(figure),
        "source": figure.source,
        "metrics": ", ".join(figure.metrics),
        "use": f"calcli plot FILE --figure {figure.name} -o DIR",
    }


def _defaults(entry: Entry) -> str:
    given = {key: REQUIRED if value is None else written(value) for key, value in entry.defaults.items()}
    return ", ".join(f"{key}={text}" for key, text in given.items())


def _object(said: Said) -> dict[str, Any]:
    match said:
        case Option():
            return {"kind": "option", "name": said.names[0], **_of_option(said)}
        case _OneArgument():
            return {"kind": "argument", "name": said.name, **_of_argument(said)}
        case _OtherThing():
            return {"kind": "other", "name": said.name, "says": said.says}
    found = {field.name: getattr(said, field.name) for field in fields(said) if field.name not in HIDDEN}
    if isinstance(said, Metric):
        found["family"] = said.family.name
    if said.where:
        found["where"] = said.where
    return {
        "kind": said.kind,
        **found,
        "letters": said.abbreviation_of,
        "also_called": also_called(said),
        "settings" if said.kind == "method" else "arguments": said.defaults,
    }
