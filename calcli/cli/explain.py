"""`calcli explain`: what the metrics, calibrators and figures are."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from calcli.cli.options import among
from calcli.cli.output import colored, emit
from calcli.cli.showing import NoColor
from calcli.core.language.figures import FIGURES
from calcli.core.language.methods import METHODS
from calcli.core.language.metrics import METRICS

NAMES = dict.fromkeys([*METRICS, *METHODS, *FIGURES])
Format = Literal["table", "json", "markdown"]


def explain(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[METRIC|METHOD|FIGURE|OPTION]",
            help="What to explain; all in one line each if left out.",
            autocompletion=among(NAMES),
        ),
    ] = None,
    format: Annotated[Format, typer.Option("--format", "-f", help="Form of the results.")] = "table",
    no_color: NoColor = False,
) -> None:
    """Explain a metric, calibrator, figure or option: formula, range, source, what it misses.

    \b
    calcli explain
    calcli explain ks
    calcli explain temperature
    calcli explain nll
    calcli explain preserve-top1
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.core.language.declaring import declared
    from calcli.io.options import ReadOptions
    from calcli.report.explain import Explanation
    from calcli.report.shown import render

    emit(render(Explanation(name, declared(ReadOptions)), format, color=colored(no_color)))
