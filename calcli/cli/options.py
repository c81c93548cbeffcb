"""The options that subcommands share, each defined once, in bundles."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

if TYPE_CHECKING:
    from calcli.core.results import Settings
    from calcli.io.options import ReadOptions

READING, COMPUTING, SHOWING = "Reading", "Computing", "Showing"


@dataclass(frozen=True)
class Reading:
    """How files are to be understood."""

    labels: Annotated[
        str | None,
        typer.Option(help="File of labels for .npy scores; in .npz, the array.", rich_help_panel=READING),
    ] = None
    label_column: Annotated[str | None, typer.Option(help="Column of the labels.", rich_help_panel=READING)] = None
    scores: Annotated[
        str | None,
        typer.Option(help="Score columns, as a pattern such as 'p_*'; in .npz, the array.", rich_help_panel=READING),
    ] = None
    kind: Annotated[
        Literal["auto", "logits", "log-probs", "probs"],
        typer.Option(help="What the scores are.", rich_help_panel=READING),
    ] = "auto"
    classes: Annotated[
        str | None,
        typer.Option(help="Names of the classes in the order of the scores, separated by commas.", rich_help_panel=READING),
    ] = None
    positive: Annotated[
        str | None,
        typer.Option(help="Of two classes, the one counted as the second; the one a single score is for.", rich_help_panel=READING),
    ] = None
    weights: Annotated[str | None, typer.Option(help="Column of row weights.", rich_help_panel=READING)] = None
    limit: Annotated[int | None, typer.Option(min=1, help="Read only that many rows.", rich_help_panel=READING)] = None
    renormalize: Annotated[
        bool,
        typer.Option("--renormalize", help="Divide rows of probabilities by their sum, however far from 1.", rich_help_panel=READING),
    ] = False

    def read_options(self) -> ReadOptions:
        """Return them as the reader wants them."""
        from calcli.io.options import ReadOptions

        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return ReadOptions(**values | {"classes": split(self.classes) or None})


@dataclass(frozen=True)
class Computing:
    """What is to be computed, and how."""

    metrics: Annotated[
        str | None,
        typer.Option(help="Metrics in place of the usual ones, separated by commas: log_loss,ece:bins=20.", rich_help_panel=COMPUTING),
    ] = None
    bins: Annotated[int, typer.Option(min=1, max=100_000, help="Bins of the calibration errors.", rich_help_panel=COMPUTING)] = 15
    level: Annotated[float, typer.Option(help="Coverage of the intervals.", rich_help_panel=COMPUTING)] = 0.95
    resamples: Annotated[
        int, typer.Option(min=0, help="Bootstrap resamples behind each interval; 0 for none.", rich_help_panel=COMPUTING)
    ] = 1000
    draws: Annotated[
        int, typer.Option(min=0, help="Simulated data sets behind each p-value; 0 for none.", rich_help_panel=COMPUTING)
    ] = 999
    seed: Annotated[int, typer.Option(min=0, help="Seed of both: the same figures on every run.", rich_help_panel=COMPUTING)] = 0
    precision: Annotated[
        Literal["auto", "single", "double"],
        typer.Option(help="auto: double up to 5 million scores.", rich_help_panel=COMPUTING),
    ] = "auto"

    def settings(self) -> Settings:
        """Return them as the core wants them.

        Raises
        ------
        UsageError
            If the level is no probability strictly between 0 and 1.
        """
        from calcli.core.errors import UsageError
        from calcli.core.results import Settings

        if not 0 < self.level < 1:
            raise UsageError(f"--level must lie between 0 and 1, such as 0.95, not {self.level:g}")
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return Settings(**values | {"metrics": split(self.metrics)})


@dataclass(frozen=True)
class Showing:
    """How results are shown."""

    format: Annotated[
        Literal["table", "json", "markdown", "csv"],
        typer.Option("--format", "-f", help="Form of the results on standard output.", rich_help_panel=SHOWING),
    ] = "table"
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Also write report.json, report.md and figures there.", rich_help_panel=SHOWING),
    ] = None
    per_class: Annotated[bool, typer.Option("--per-class", help="Add a table of the classes.", rich_help_panel=SHOWING)] = False
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar and no remarks.", rich_help_panel=SHOWING)] = False
    no_color: Annotated[bool, typer.Option("--no-color", help="No bold and no colors.", rich_help_panel=SHOWING)] = False


def split(text: str | None) -> tuple[str, ...]:
    """Return the items of a list separated by commas."""
    return tuple(item.strip() for item in (text or "").split(",") if item.strip())


def bundled(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take bundles of options: each field of a bundle becomes an option of its own."""
    parameters: list[inspect.Parameter] = []
    bundles: dict[str, type[Any]] = {}
    hints = get_type_hints(command, include_extras=True)
    for name, parameter in inspect.signature(command).parameters.items():
        if hints[name] not in (Reading, Computing, Showing):
            parameters.append(parameter.replace(annotation=hints[name], kind=parameter.KEYWORD_ONLY))
            continue
        bundles[name] = hints[name]
        types = get_type_hints(hints[name], include_extras=True)
        for field in fields(hints[name]):
            default = inspect.Parameter.empty if field.default is MISSING else field.default
            parameters.append(
                inspect.Parameter(field.name, parameter.KEYWORD_ONLY, default=default, annotation=types[field.name])
            )

    @functools.wraps(command)
    def with_options(**values: Any) -> None:
        gathered = {
            name: bundle(**{field.name: values.pop(field.name) for field in fields(bundle)})
            for name, bundle in bundles.items()
        }
        command(**values, **gathered)

    with_options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    with_options.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return with_options
