"""Explanations of metrics, calibrators, figures, arguments and options from the registries, without numpy."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from calcli.core.language.entries import (
    Argument,
    Entry,
    FigureKind,
    Method,
    Metric,
    Tier,
    also_called,
    meant,
    other_thing,
    plain_word,
    written,
)
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import AUTO_LENS, nearest_name
from calcli.core.language.figures import FIGURES
from calcli.core.language.methods import CHOICE, METHODS
from calcli.core.language.metrics import METRICS
from calcli.report.shown import Column, Shown, TextTable

METRICS_TITLES: Mapping[Tier, str] = {
    "to know": "Metrics: those to know",
    "more": "More metrics",
    "works": "Metrics mainly for the works",
}
MORE = "calcli explain NAME says more, such as calcli explain ks."
ARGUMENTS = "calcli explain ARGUMENT says what one of them means, such as calcli explain {}."
HEADS = {
    "letters": "short for", "says": "meaning", "learns": "model", "keeps": "preserves",
    "misses": "limitations",
}  # fmt: skip
HIDDEN = ("arguments", "count", "abbreviation_of", "made", "freedom")  # parts of the JSON object
MOST_SECTIONS = 3
OF_COMMANDS = ("option", "argument")
REQUIRED = "METHOD"  # shown as default if a value is required
REGISTRIES: dict[str, Mapping[str, Entry]] = {"metrics": METRICS, "methods": METHODS, "figures": FIGURES}


@dataclass(frozen=True)
class Option:
    """The facts about an option of some commands.

    Attributes
    ----------
    names
        Every spelling of it.
    commands
        Commands that have it with this meaning.
    says
        The meaning.
    takes, default
        Its values, in words.
    python, policy
        Its name in Python and in a policy; "" if it has none there.
    """

    names: tuple[str, ...]
    commands: tuple[str, ...]
    says: str
    takes: str = ""
    default: str = ""
    python: str = ""
    policy: str = ""


@dataclass(frozen=True)
class _Said:
    """The explanation of a term: its heading, a line for each aspect, and its JSON object."""

    head: str
    lines: Mapping[str, str]
    written: Mapping[str, Any]
    notes: tuple[str, ...] = ()

    def table(self, sections: Sequence[str], briefs: Sequence[str]) -> TextTable:
        """Return a table, with other meanings of the name, and the sections of the guide that have it."""
        rows = [(HEADS.get(key, key), text) for key, text in self.lines.items() if text]
        rows += [("also", brief) for brief in briefs] + [("guide", place) for place in sections]
        return TextTable(self.head, (Column("", "left"),) * 2, tuple(rows), self.notes)

    @property
    def brief(self) -> str:
        """The meaning in short, listed after another thing with the same name."""
        says = next(self.lines[key] for key in ("says", "learns", "shows") if key in self.lines)
        where = self.lines.get("commands") or self.lines.get("default")
        return f"{self.head}: {says}" + (f" ({where})" if where else "")


@dataclass(frozen=True)
class Explanation(Shown):
    """Explanations of a name: entries of registries, arguments and options; or all entries in a line each.

    Attributes
    ----------
    name
        A name in any spelling, or a synonym; an expression stands for its entry. None for all.
    options
        Options of all commands.
    guide
        The pages of the guide.

    Raises
    ------
    UsageError
        If nothing has this name.
    """

    name: str | None = None
    options: Sequence[Option] = ()
    guide: Mapping[str, str] = field(default_factory=dict)

    title = "What calcli knows"

    def tables(self) -> list[TextTable]:
        """Return a table for each thing with the name, or all metrics by tier, calibrators and figures."""
        if self.name is None:
            return _lists()
        entries = self._found(self.name)
        answers = [entry for entry in entries if entry.written["kind"] not in OF_COMMANDS] or entries[:1]
        briefs = [entry.brief for entry in entries if entry not in answers]
        return [answer.table(self._sections(answer.written["name"]), briefs) for answer in answers]

    def data(self) -> dict[str, Any]:
        """Return the first thing with the name, with the others inside, or all registries."""
        if self.name is not None:
            main, *further = (answer.written for answer in self._found(self.name))
            is_figure = bool(further) and further[0]["kind"] == "figure"
            figure = {"figure": further.pop(0)} if is_figure else {}
            return {**main, **figure, **({"others": further} if further else {})}
        return {
            kind: {key: _entry_object(entry) for key, entry in registry.items()}
            for kind, registry in REGISTRIES.items()
        }

    def _term(self, name: str) -> str:
        """Return the explanation of a term in the guide; "" if there is none."""
        rows = (line.strip("| ").split(" | ") for line in self.guide.get("terms", "").splitlines())
        meanings = {plain_word(term): cells[-1] for cells in rows for term in cells[0].split(", ")}
        return meanings.get(plain_word(name) or name, "").replace("`", "")

    def _sections(self, name: str) -> list[str]:
        """Return the sections of the guide that mention a name most often."""
        word = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])", re.IGNORECASE)
        counts = Counter[str]()
        for page, text in self.guide.items():
            for section in re.split("(?m)^(?=## )", text):
                counts[f"{page}: {section.splitlines()[0].lstrip('# ')}"] += len(word.findall(section))
        return [place for place, count in counts.most_common(MOST_SECTIONS) if count]

    def _found(self, name: str) -> Sequence[_Said]:
        """Return the entries with a name, then options, then arguments; only options if it has dashes."""
        every = [entry for registry in REGISTRIES.values() for entry in registry.values()]
        base = meant(meant(name, every).partition(":")[0], every).partition(":")[0]
        key = _key(name)
        options = [_option(option) for option in self.options if key in map(_key, option.names)]
        if name.startswith("-") and options:
            return options
        entries = [CHOICE] if base == CHOICE.name else [r[base] for r in REGISTRIES.values() if base in r]
        arguments = _arguments(every)
        answers = [_entry(entry, name) for entry in entries]
        if not answers and (text := other_thing(name) or self._term(name)):
            answers.append(_Said(name, {"says": text}, {"kind": "other", "name": name, "says": text}))
        answers += [_argument(*argument) for argument in arguments if argument[0] == key] + options
        if not answers:
            names = [_key(spelled) for option in self.options for spelled in option.names]
            candidates = [*(entry.name for entry in every), *names, *(called for called, *_ in arguments)]
            raise UsageError(
                f"no metric, calibrator, figure, argument or option is called {name!r}"
                f"{nearest_name(key, candidates)}; calcli explain lists the first three, calcli COMMAND "
                "--help the options"
            )
        return answers


def _key(name: str) -> str:
    """Return the name of an option or argument without dashes, as in Python."""
    return name.lower().lstrip("-").replace("-", "_")


def _arguments(entries: Sequence[Entry]) -> list[tuple[str, Argument, dict[str, Any]]]:
    """Return the arguments of expressions, each name and meaning once, with all defaults."""
    arguments: dict[tuple[str, str, str], tuple[str, Argument, dict[str, Any]]] = {}
    for entry in entries:
        for name, argument in entry.arguments.items():
            key = name, argument.says, argument.expected
            arguments.setdefault(key, (name, argument, {}))[2][entry.name] = argument.default
    return [*arguments.values()]


def _lists() -> list[TextTable]:
    tables = []
    for tier, title in METRICS_TITLES.items():
        rows = tuple((metric.name, metric.meaning) for metric in METRICS.values() if metric.tier == tier)
        tables.append(TextTable(title, (Column("metric", "left"), Column("what it says", "left")), rows))
    rows = tuple((method.name, f"{method.title}: {method.learns}") for method in METHODS.values())
    tables.append(
        TextTable("Calibrators", (Column("method", "left"), Column("what it learns", "left")), rows)
    )
    rows = tuple((figure.name, figure.meaning) for figure in FIGURES.values())
    return [
        *tables,
        TextTable("Figures", (Column("figure", "left"), Column("what it shows", "left")), rows, (MORE,)),
    ]


def _entry(entry: Entry, expression_text: str) -> _Said:
    """Return the explanation of an entry by this name."""
    expression = meant(expression_text.partition(":")[0], [entry])
    facts = {
        "asked for": f"{expression_text} is {expression}" if ":" in expression else "",
        "letters": entry.abbreviation_of,
        "also called": ", ".join(also_called(entry)),
    }
    of_kind: dict[str, Any] = {"metric": _of_metric, "method": _of_method, "figure": _of_figure}
    lines = of_kind[entry.kind](entry)
    notes = (ARGUMENTS.format(next(iter(entry.arguments))),) if entry.arguments else ()
    return _Said(f"{entry.title} ({entry.name})", facts | lines, _entry_object(entry), notes)


def _entry_object(entry: Entry) -> dict[str, Any]:
    document = {field.name: getattr(entry, field.name) for field in fields(entry) if field.name not in HIDDEN}
    if isinstance(entry, Metric):
        document["family"] = entry.family.name
    return {
        "kind": entry.kind,
        **document,
        **({"where": entry.where} if entry.where else {}),
        "letters": entry.abbreviation_of,
        "also_called": also_called(entry),
        "settings" if entry.kind == "method" else "arguments": entry.defaults,
    }


def _of_metric(metric: Metric) -> dict[str, str]:
    words = metric.of_class("the positive class")
    return {
        "says": metric.meaning,
        "two classes": words if metric.defaults.get("lens") == AUTO_LENS and words != metric.meaning else "",
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
    """Return why an entry does not apply to answers, right or wrong; nothing if it does."""
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


def _option(option: Option) -> _Said:
    name = option.names[0]
    lines = {
        "says": option.says,
        "takes": option.takes,
        "default": option.default,
        "in Python": option.python,
        "in a policy": option.policy,
        "commands": ", ".join(option.commands),
    }
    return _Said(f"The option {name}", lines, {"kind": "option", "name": name, **lines})


def _argument(name: str, argument: Argument, defaults: Mapping[str, Any]) -> _Said:
    example, default = min(defaults.items(), key=lambda of: len(of[0]))
    by_default: dict[str, list[str]] = {}
    for entry, usual in defaults.items():
        by_default.setdefault(REQUIRED if usual is None else written(usual), []).append(entry)
    lines = {
        "says": argument.says,
        "takes": argument.expected if argument.default is not None else "a method",
        "default": "; ".join(f"{usual} of {', '.join(names)}" for usual, names in by_default.items()),
        "written as": f"{example}:{name}={REQUIRED if default is None else written(default)}",
    }
    return _Said(f"The argument {name}", lines, {"kind": "argument", "name": name, **lines})


def _of_figure(figure: FigureKind) -> dict[str, str]:
    return {
        "shows": figure.meaning,
        "of answers": _of_answers(figure),
        "source": figure.source,
        "metrics": ", ".join(figure.metrics),
        "use": f"calcli plot FILE --figure {figure.name} -o DIR",
    }


def _defaults(entry: Entry) -> str:
    values = {key: REQUIRED if value is None else written(value) for key, value in entry.defaults.items()}
    return ", ".join(f"{key}={text}" for key, text in values.items())
