"""The options that subcommands share, each defined once, in bundles."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

from typer import Option

if TYPE_CHECKING:
    from calcli.core.results import Settings
    from calcli.io.options import ReadOptions

Quiet = Annotated[bool, Option("--quiet", "-q", help="No progress bar and no remarks.")]


@dataclass(frozen=True)
class ReadingScores:
    """How the scores in files are to be understood."""

    scores: Annotated[
        str | None, Option(metavar="PATTERN", help="Score columns, such as 'p_*'; in .npz, the array.")
    ] = None
    kind: Annotated[
        Literal["auto", "logits", "log-probs", "probs"], Option(help="What the scores are.")
    ] = "auto"
    classes: Annotated[
        str | None, Option(metavar="NAMES", help="Classes in the order of the scores, separated by commas.")
    ] = None
    positive: Annotated[
        str | None,
        Option(metavar="NAME", help="Of two classes, the second one: that which a single score is for."),
    ] = None
    renormalize: Annotated[
        bool, Option("--renormalize", help="Divide rows of probabilities by their sum, however far from 1.")
    ] = False

    def read_options(self) -> ReadOptions:
        """Return them as the reader wants them."""
        from calcli.io.options import ReadOptions

        return ReadOptions(**vars(self) | {"classes": split(self.classes) or None})


@dataclass(frozen=True)
class Reading(ReadingScores):
    """How files of predictions are to be understood."""

    labels: Annotated[
        str | None, Option(metavar="FILE", help="File of labels for .npy scores; in .npz, the array.")
    ] = None
    label_column: Annotated[str | None, Option(metavar="NAME", help="Column of the labels.")] = None
    weights: Annotated[str | None, Option(metavar="NAME", help="Column of row weights.")] = None
    limit: Annotated[int | None, Option(metavar="N", min=1, help="Read only the first N rows.")] = None


@dataclass(frozen=True)
class Computing:
    """What is to be computed, and how."""

    metrics: Annotated[
        str | None,
        Option(metavar="LIST", help="Metrics in place of the usual ones, such as log_loss,ece:bins=20,ks."),
    ] = None
    bins: Annotated[int, Option(metavar="N", min=1, max=100_000, help="Bins of the calibration errors.")] = 15
    level: Annotated[float, Option(metavar="P", help="Coverage of the intervals.")] = 0.95
    resamples: Annotated[
        int, Option(metavar="N", min=0, help="Bootstrap resamples behind each interval; 0 for none.")
    ] = 1000
    draws: Annotated[
        int, Option(metavar="N", min=0, help="Simulated data sets behind each p-value; 0 for none.")
    ] = 999
    test: Annotated[
        bool, Option("--test", help="Test every calibration error, also class-wise and of classes.")
    ] = False
    seed: Annotated[int, Option(metavar="N", min=0, help="Seed of intervals and tests.")] = 0
    precision: Annotated[
        Literal["auto", "single", "double"], Option(help="auto: double up to 5 million scores.")
    ] = "auto"
    class_groups: Annotated[
        list[str] | None,
        Option(metavar="NAME=GROUPS", help="Classes as a+b,c+d, or a file, for lens=NAME. Repeatable."),
    ] = None
    edges: Annotated[
        list[str] | None,
        Option(metavar="NAME=EDGES", help="Such as mine=0,0.5,0.9,1, for binning=NAME. Repeatable."),
    ] = None

    def settings(self) -> Settings:
        """Return them as the core wants them.

        Raises
        ------
        UsageError
            If a metric is unknown, the level does not lie between 0 and 1, or something named makes no sense.
        InputError
            If a file of class groups is damaged.
        """
        from calcli.core.errors import UsageError
        from calcli.core.expressions import parse_metrics
        from calcli.core.results import Settings

        if not 0 < self.level < 1:
            raise UsageError(f"--level is {self.level:g}; expected a number between 0 and 1, such as 0.95")
        metrics = parse_metrics(split(self.metrics), {"bins": self.bins})
        given = vars(self) | {"metrics": tuple(map(str, metrics))}
        groups, edges = given.pop("class_groups"), given.pop("edges")
        if groups or edges:
            from calcli.io.named import parse_edges, read_class_groups

            given |= {"groups": read_class_groups(tuple(groups or ()))}
            given |= {"edges": parse_edges(tuple(edges or ()))}
        return Settings(**given)


@dataclass(frozen=True)
class Talking:
    """How much is said beside the results, and how."""

    quiet: Quiet = False
    no_color: Annotated[bool, Option("--no-color", help="No bold text; also if NO_COLOR is set.")] = False


@dataclass(frozen=True)
class Showing(Talking):
    """How results are shown."""

    format: Annotated[
        Literal["table", "json", "markdown", "csv"],
        Option("--format", "-f", help="Form of the results on standard output."),
    ] = "table"
    output: Annotated[
        Path | None,
        Option("--output", "-o", metavar="DIR", help="Also write report.json, report.md and figures there."),
    ] = None
    per_class: Annotated[bool, Option("--per-class", help="Add a table of the classes.")] = False


def split(text: str | None) -> tuple[str, ...]:
    """Return the items of a list separated by commas."""
    return tuple(item.strip() for item in (text or "").split(",") if item.strip())


def bundled(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take bundles of options: each field of a bundle becomes an option of its own."""
    parameters: list[inspect.Parameter] = []
    bundles: dict[str, type[Any]] = {}
    hints = get_type_hints(command, include_extras=True)
    for name, parameter in inspect.signature(command).parameters.items():
        if not is_dataclass(hints[name]):
            parameters.append(parameter.replace(annotation=hints[name], kind=parameter.KEYWORD_ONLY))
            continue
        bundles[name] = hints[name]
        types = get_type_hints(hints[name], include_extras=True)
        parameters += [
            inspect.Parameter(
                field.name, parameter.KEYWORD_ONLY, default=field.default, annotation=types[field.name]
            )
            for field in fields(hints[name])
        ]

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
