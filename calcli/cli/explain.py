"""`calcli explain`: what the metrics, calibrators and figures are."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_type_hints

import typer

from calcli.cli.options import among
from calcli.cli.output import colored, emit
from calcli.core.language.entries import written
from calcli.core.language.figures import FIGURES
from calcli.core.language.methods import METHODS
from calcli.core.language.metrics import METRICS

if TYPE_CHECKING:
    from calcli.core.language.declaring import Setting
    from calcli.report.explain import Option

Format = Literal["table", "json", "markdown"]


def explain(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TERM",
            help="A metric, method, figure, argument, option or term; by default everything.",
            autocompletion=among(METRICS, METHODS, FIGURES),
        ),
    ] = None,
    format: Annotated[Format, typer.Option("--format", "-f", help="Format of the results.")] = "table",
) -> None:
    """Explain a metric, calibrator, figure, argument or option.

    Shows the formula, range and source, and what it misses.

    \b
    calcli explain
    calcli explain ks
    calcli explain temperature
    calcli explain decision curve
    calcli explain preserve-top1
    calcli explain --folds
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.guide import PAGES, page_text
    from calcli.report.explain import Explanation
    from calcli.report.shown import render

    name, guide = " ".join(words or ()), {page: page_text(page) for page in PAGES}
    explanation = Explanation(name or None, _options() if name else [], guide)
    emit(render(explanation, format, color=colored()))


def _options() -> list[Option]:
    """Return the options of all commands, as these declare them; equal ones once."""
    from typer.main import get_command

    from calcli.cli.main import app_of

    commands_of: dict[Option, list[str]] = {}
    for command, declaration in get_command(app_of()).commands.items():  # type: ignore[attr-defined]
        settings = getattr(declaration.callback, "settings", {})
        types = get_type_hints(declaration.callback)
        for param in declaration.params:
            if param.param_type_name == "option" and not param.hidden:
                entry = _said(param, types[param.name], settings.get(param.name))
                commands_of.setdefault(entry, []).append(command)
    return [replace(option, commands=tuple(commands)) for option, commands in commands_of.items()]


def _said(param: Any, type_: Any, setting: Setting | None) -> Option:
    """Return the explanation of an option, by its setting if it has one, else by the command."""
    from calcli.report.explain import Option

    names = tuple(sorted((*param.opts, *param.secondary_opts), key=lambda name: not name.startswith("--")))
    if setting is None:
        literals = [get_arg for part in (type_, *get_args(type_)) for get_arg in get_args(part)]
        takes = param.metavar or ", ".join(literal for literal in literals if isinstance(literal, str))
        default = str(param.default) if takes and isinstance(param.default, int | float | str) else ""
        return Option(names, (), param.help or "", takes or "true or false", default)
    default = setting.default
    return Option(
        names,
        (),
        setting.help,
        setting.values.expected,
        written(default) if isinstance(default, bool | int | float | str) else "",
        f"{setting.keyword}=",
        setting.key if setting.in_policies else "",
    )
