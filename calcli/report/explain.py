"""The registries -> explanations of metrics, calibrators and figures; loads without numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from calcli.core.language.declaring import Setting, declared
from calcli.core.language.entries import Entry, FigureKind, Method, Metric, written
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import nearest_name
from calcli.core.language.families import METRIC_FAMILIES
from calcli.core.language.figures import FIGURES
from calcli.core.language.methods import CHOICE, METHODS
from calcli.core.language.metrics import METRICS
from calcli.core.language.settings import FitSettings, Settings
from calcli.core.language.synonyms import meant
from calcli.report.shown import Column, Shown, TextTable

METHODS_TITLE = "Calibrators"
FIGURES_TITLE = "Figures"
SAYS = Column("what it says", "left")
LEARNS = Column("what it learns", "left")
SHOWS = Column("what is to be seen", "left")
MORE = "calcli explain NAME says more, such as calcli explain ks."
HIDDEN = ("arguments", "count", "proper")  # of what JSON shows
REQUIRED = "METHOD"  # as the default of what has to be given
OPTIONS = declared(FitSettings) | declared(Settings)
REGISTRIES: dict[str, Mapping[str, Entry]] = {"metrics": METRICS, "methods": METHODS, "figures": FIGURES}


@dataclass(frozen=True)
class Explanation(Shown):
    """One entry of the registries, or all of them in a line each.

    Attributes
    ----------
    name
        Of a metric, calibrator, figure or option, in any spelling, or what else people call it; an expression
        stands for what it names. None for all.
    reading
        Options of reading files, which are explained as well.

    Raises
    ------
    UsageError
        If there is none of that name.
    """

    name: str | None = None
    reading: Mapping[str, Setting] = field(default_factory=dict)

    title = "What calcli knows"

    def tables(self) -> list[TextTable]:
        """Return the table of each entry of that name, or all metrics by family, calibrators and figures."""
        return _lists() if self.name is None else list(map(_table, self._found(self.name)))

    def content(self) -> dict[str, Any]:
        """Return the entry, with a figure of the same name, or all registries."""
        if self.name is not None:
            first, *figures = map(_object, self._found(self.name))
            return first | {"figure": figures[0]} if figures else first
        return {
            kind: {key: _object(entry) for key, entry in known.items()} for kind, known in REGISTRIES.items()
        }

    def _found(self, name: str) -> Sequence[Entry | Setting]:
        """Return the entries of a name, or else the option."""
        every = [entry for known in REGISTRIES.values() for entry in known.values()]
        base = meant(name.partition(":")[0], every)
        if base == CHOICE.name:
            return [CHOICE]
        found = [known[base] for known in REGISTRIES.values() if base in known]
        options = {**OPTIONS, **self.reading}
        if not found and (option := options.get(base.lower().lstrip("-").replace("-", "_"))):
            return [option]
        if not found:
            nearest = nearest_name(base, [*(entry.name for entry in every), *options])
            raise UsageError(
                f"no metric, calibrator or figure is called {name!r}{nearest}; calcli explain lists them "
                "all, calcli COMMAND --help the options"
            )
        return found


def _lists() -> list[TextTable]:
    tables = []
    for family in METRIC_FAMILIES:
        members = [metric for metric in METRICS.values() if metric.family == family]
        if members:
            rows = tuple((metric.name, metric.meaning) for metric in members)
            tables.append(TextTable(family.title, (Column("metric", "left"), SAYS), rows))
    rows = tuple((method.name, f"{method.title}: {method.learns}") for method in METHODS.values())
    tables.append(TextTable(METHODS_TITLE, (Column("method", "left"), LEARNS), rows))
    rows = tuple((figure.name, figure.meaning) for figure in FIGURES.values())
    return [*tables, TextTable(FIGURES_TITLE, (Column("figure", "left"), SHOWS), rows, (MORE,))]


def _table(entry: Entry | Setting) -> TextTable:
    if isinstance(entry, Setting):
        rows = tuple((key, text) for key, text in _of_setting(entry).items() if text)
        return TextTable(f"The option {entry.option}", (Column("", "left"), Column("", "left")), rows)
    rows = tuple((key, text) for key, text in _lines(entry).items() if text)
    return TextTable(f"{entry.title} ({entry.name})", (Column("", "left"), Column("", "left")), rows)


def _lines(entry: Entry) -> dict[str, str]:
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
        "comes with": metric.family.comes_with,
        "arguments": _defaults(metric),
    }


def _of_answers(entry: Entry) -> str:
    """Say why an entry is not for answers, right or wrong; nothing if it is."""
    return f"not there: it {entry.needs_classes}" if entry.needs_classes else ""


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


def _of_setting(setting: Setting) -> dict[str, str]:
    default = setting.default
    return {
        "says": setting.help,
        "takes": setting.values.expected,
        "default": written(default) if isinstance(default, bool | int | float | str) else "",
        "in Python": f"{setting.keyword}=",
        "in a policy": setting.key if setting.in_policies else "",
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


def _object(entry: Entry | Setting) -> dict[str, Any]:
    if isinstance(entry, Setting):
        return {"kind": "option", "name": entry.option, **_of_setting(entry)}
    found = {field.name: getattr(entry, field.name) for field in fields(entry) if field.name not in HIDDEN}
    if isinstance(entry, Metric):
        found["family"] = entry.family.name
    return {
        "kind": entry.kind,
        **found,
        "settings" if entry.kind == "method" else "arguments": entry.defaults,
    }
