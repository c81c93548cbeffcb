"""The options that subcommands share, each defined once, in bundles."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

from typer import Option

if TYPE_CHECKING:
    from calcli.core.evaluating.recalibrated import Companions
    from calcli.core.language.settings import Settings, Training
    from calcli.io.options import ReadOptions

LOSS_RESAMPLES = 200  # of which each trains every fold again

Quiet = Annotated[bool, Option("--quiet", "-q", help="No progress bar and no remarks.")]


@dataclass(frozen=True)
class ReadingScores:
    """How the scores in files are to be understood."""

    scores: Annotated[
        str | None, Option(metavar="PATTERN", help="Score columns, 'p_*' or a,b,c; in .npz, the array.")
    ] = None
    kind: Annotated[
        Literal["auto", "logits", "log-probs", "probs"],
        Option(help="What the scores are."),
    ] = "auto"
    classes: Annotated[
        str | None, Option(metavar="NAMES", help="Classes in the order of the scores, separated by commas.")
    ] = None
    positive: Annotated[
        str | None,
        Option(metavar="NAME", help="Of two classes, the one that a single score is for."),
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
        int,
        Option(metavar="N", min=0, help="Simulated data sets per p-value, more for many slices; 0 for none."),
    ] = 999
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

    costs: Annotated[
        str | None,
        Option(
            metavar="LIST",
            help="Costs of decisions: zero-one, balanced, abstain:0.1, imbalanced:CLASS:10, or files.",
        ),
    ] = None
    clip: Annotated[float, Option(metavar="P", help="Smallest probability of a label in the log-loss.")] = 0.0
    priors: Annotated[
        str | None,
        Option(metavar="PRIORS", help="Weight rows to these class priors: uniform, 0.9,0.1 or a file."),
    ] = None
    shift_to_priors: Annotated[
        bool, Option("--shift-to-priors", help="Move the probabilities to --priors as well.")
    ] = False

    def settings(self) -> Settings:
        """Return them as the core wants them.

        Raises
        ------
        UsageError
            If a metric is unknown, a number is out of its range, or something named makes no sense.
        InputError
            If a file of class groups, costs or priors is damaged.
        """
        from calcli.core.language.errors import UsageError
        from calcli.core.language.expressions import parse_metrics
        from calcli.core.language.settings import Settings

        if not 0 < self.level < 1:
            raise UsageError(f"--level is {self.level:g}; expected a number between 0 and 1, such as 0.95")
        if not 0 <= self.clip < 1:
            raise UsageError(f"--clip is {self.clip:g}; expected a small probability, such as 1e-12")
        if self.shift_to_priors and self.priors is None:
            raise UsageError("--shift-to-priors moves to the priors of --priors; give them as well")
        metrics = split(self.metrics)
        if self.metrics is not None and not metrics:
            raise UsageError("--metrics is empty; leave it out for the usual ones")
        parse_metrics(metrics)  # refuses what is wrong before anything is read
        given = vars(self) | {"metrics": metrics, "costs": (), "priors": None}
        if self.costs or self.priors:
            from calcli.io.costs import read_costs, read_priors

            given["costs"] = read_costs(split(self.costs))
            given["priors"] = read_priors(self.priors) if self.priors else None
        groups, edges = given.pop("class_groups"), given.pop("edges")
        if groups or edges:
            from calcli.io.named import parse_edges, read_class_groups

            given |= {"groups": read_class_groups(tuple(groups or ()))}
            given |= {"edges": parse_edges(tuple(edges or ()))}
        return Settings(**given)


@dataclass(frozen=True)
class Testing:
    """What is tested, and found out about the spread."""

    test: Annotated[
        bool, Option("--test", help="Test every calibration error, also class-wise and of classes.")
    ] = False
    resample_predictions: Annotated[
        bool,
        Option("--resample-predictions", help="Tests draw rows anew, not their outcomes alone; slow."),
    ] = False
    sd: Annotated[
        bool, Option("--sd", help="Bootstrap standard deviation of every metric, also of errors; slow.")
    ] = False

    def applied(self, settings: Settings) -> Settings:
        """Return settings that test in this way."""
        return replace(settings, **vars(self))


@dataclass(frozen=True)
class Recalibrating:
    """How to find out what a recalibration would win back."""

    recalibrator: Annotated[
        str,
        Option(metavar="METHOD", help="How the calibration loss recalibrates: as in calcli fit, or pav."),
    ] = "dp"
    calibration_data: Annotated[
        str | None,
        Option(metavar="FILE", help="Train it on these predictions, not by cross-validation."),
    ] = None
    calibration_labels: Annotated[
        str | None,
        Option(metavar="FILE", help="File of labels of .npy --calibration-data, if not beside it."),
    ] = None
    train_on_test: Annotated[
        bool, Option("--train-on-test", help="Train it on the rows it is judged on: optimistic.")
    ] = False
    calibration_loss_interval: Annotated[
        bool, Option("--calibration-loss-interval", help="Bootstrap it, training again each time; slow.")
    ] = False
    cluster: Annotated[
        str | None, Option(metavar="COLUMN", help="Rows that share a value depend on each other.")
    ] = None
    fold_column: Annotated[
        str | None, Option(metavar="COLUMN", help="Which fold of the cross-validation a row is in.")
    ] = None
    posteriors: Annotated[
        str | None,
        Option(metavar="FILE", help="Calibrated posteriors of the same rows, for recalibrator=given."),
    ] = None

    def applied(self, settings: Settings) -> Settings:
        """Return settings that recalibrate in this way.

        Raises
        ------
        UsageError
            If there is no such method, or two ways to train it are asked for.
        """
        from calcli.core.language.errors import UsageError
        from calcli.core.language.expressions import parse_metric

        if self.calibration_data is not None and self.train_on_test:
            raise UsageError("--calibration-data and --train-on-test exclude each other; choose one")
        parse_metric(f"calibration_loss:recalibrator={self.recalibrator}")
        training: Training = "test" if self.train_on_test else "cross-validation"
        if self.calibration_data is not None:
            training = "held-out"
        return replace(
            settings,
            recalibrator=self.recalibrator,
            training=training,
            loss_resamples=LOSS_RESAMPLES if self.calibration_loss_interval else 0,
            cluster=self.cluster,
            fold_column=self.fold_column,
        )

    def companions(self, options: ReadOptions) -> Companions:
        """Read the files that are needed beside those that are evaluated.

        Raises
        ------
        InputError
            If one cannot be read.
        """
        from calcli.core.evaluating.recalibrated import Companions
        from calcli.io.read import read

        calibration = posteriors = None
        if self.calibration_data is not None:
            # other rows, other labels: a file of labels is that of the evaluated rows
            named = None if (options.labels or "").endswith(".npy") else options.labels
            others = replace(options, labels=self.calibration_labels or named, limit=None)
            calibration = read(self.calibration_data, others)
        if self.posteriors is not None:
            posteriors = read(self.posteriors, options)
        return Companions(calibration, posteriors)


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
