"""The options that subcommands share, each defined once, in bundles."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from typer import Option

from calcli.core.language.declaring import Setting, declared
from calcli.core.language.metrics import METRICS
from calcli.core.language.settings import FitSettings, PairSettings, Settings
from calcli.io.options import ReadOptions, read_options

if TYPE_CHECKING:
    from calcli.core.data.predictions import Predictions


WHOLE = re.compile("-?[0-9]{1,30}")
N_OR_COLUMN = "N|COLUMN"


def among(*registries: Iterable[str]) -> Callable[[str], list[str]]:
    """Return what completes a name, also the last one of a list."""

    def completed(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        names = dict.fromkeys(chain.from_iterable(registries))
        return [before + comma + name for name in names if name.startswith(last)]

    return completed


def option(
    name: str,
    owner: type[Any] = Settings,
    help: str = "",
    completion: Callable[[str], list[str]] | None = None,
    spelled: str = "",
    metavar: str = "",
) -> Any:
    """Return the field of a bundle that is the option of a setting.

    Its meaning and its names are those of the setting, unless others are given; with a metavar of its own it
    is text that `Chosen.given` understands.
    """
    said = declared(owner)[name]
    shown = said.default if isinstance(said.default, bool | int | float | str) else None
    kind = _type(said)
    if metavar:
        shown, kind = (None, str | None) if shown is None else (str(shown), str)
    words = [help or said.help, *(["Repeatable."] if said.values.several == "repeated" else [])]
    text = " ".join(words) + ("" if shown is None or isinstance(shown, bool) else f"  [default: {shown}]")
    form = Option(
        spelled or said.option,
        metavar=metavar or said.metavar,
        help=text,
        show_default=False,
        autocompletion=completion,
    )
    return field(default=shown, metadata={"setting": said, "option": Annotated[kind, form]})


def _type(said: Setting) -> Any:
    """Return the type that typer makes of the text of an option."""
    values = said.values
    if values.choices:
        return Literal[values.choices]
    if values.several == "repeated":
        return list[str] | None
    return values.type if isinstance(said.default, values.type) else values.type | None


@dataclass(frozen=True)
class Chosen:
    """A bundle with options of settings; help has them below its heading."""

    heading: ClassVar[str] = ""

    def given(self) -> dict[str, Any]:
        """Return the values of settings, by keyword, of those that have one."""
        settings = [one.metadata["setting"] for one in fields(self) if "setting" in one.metadata]
        values = {said.keyword: getattr(self, said.key) for said in settings}
        if isinstance(folds := values.pop("folds", None), str):  # how many, or their column
            values |= {"folds": int(folds)} if WHOLE.fullmatch(folds) else {"fold_column": folds}
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True)
class ReadingScores(Chosen):
    """How the scores in files are to be understood."""

    heading = "Reading"

    scores: Any = option("scores", ReadOptions)
    kind: Any = option("kind", ReadOptions)
    scale: Any = option("scale", ReadOptions)
    classes: Any = option("classes", ReadOptions)
    positive: Any = option("positive", ReadOptions)
    renormalize: Any = option("renormalize", ReadOptions)
    per_character: Any = option("per_character", ReadOptions)
    class_axis: Any = option("class_axis", ReadOptions)
    confidence: Any = option("confidence", ReadOptions)
    against_rest: Any = option("against_rest", ReadOptions)

    def read_options(self) -> ReadOptions:
        """Return them as the reader wants them.

        Raises
        ------
        UsageError
            If a value is wrong.
        """
        return read_options(self.given(), "option")


@dataclass(frozen=True)
class Reading(ReadingScores):
    """How files of predictions are to be understood."""

    labels: Any = option("labels", ReadOptions)
    key: Any = option("key", ReadOptions)
    allow_unmatched: Any = option("allow_unmatched", ReadOptions)
    label_column: Any = option("label_column", ReadOptions)
    correct: Any = option("correct", ReadOptions)
    weights: Any = option("weights", ReadOptions)
    ignore_label: Any = option("ignore_label", ReadOptions)
    drop_missing: Any = option("drop_missing", ReadOptions)
    concat: Any = option("concat", ReadOptions)


@dataclass(frozen=True)
class ReadingSystems(Reading):
    """How files of predictions are to be understood, each perhaps of several systems."""

    score: Any = option("score", ReadOptions)
    unscored: Any = option("unscored", ReadOptions)
    system: Any = option("system", ReadOptions)

    def concatenated(self, files: Sequence[str]) -> list[list[str]]:
        """Return all files as one data set, of each system one."""
        own = len(self.system or [""])
        found = self.files(files)
        return [found[n::own] for n in range(own)]

    def files(self, files: Iterable[str]) -> list[str]:
        """Return a path for each system in each file, or the files.

        Raises
        ------
        UsageError
            If other options choose the scores.
        """
        from calcli.io.dataset import files_of_systems

        return files_of_systems(files, self.read_options())


@dataclass(frozen=True)
class Computing(Chosen):
    """What is to be computed, and how."""

    heading = "What is computed"

    metrics: Any = option("metrics", completion=among(METRICS))
    bins: Any = option("bins")
    level: Any = option("level")
    draws: Any = option("draws")
    seed: Any = option("seed")
    class_groups: Any = option("groups")
    costs: Any = option("costs")
    clip: Any = option("clip")
    priors: Any = option("priors")


@dataclass(frozen=True)
class ComputingMore(Computing):
    """What is to be computed of systems by themselves."""

    intervals: Any = option("intervals", spelled="--intervals/--no-intervals")
    decision_column: Any = option("decision_column")
    shift_to_priors: Any = option("shift_to_priors")
    trained_at: Any = option("trained_at")


@dataclass(frozen=True)
class Clustering(Chosen):
    """Which rows depend on each other."""

    heading = "What is computed"

    cluster: Any = option("cluster")


@dataclass(frozen=True)
class Planning(Clustering):
    """What a plan is for."""

    level: Any = option("level")


@dataclass(frozen=True)
class Recalibrating(Chosen):
    """How to find out what a recalibration would win back."""

    heading = "What recalibration would gain"

    calibration_data: Annotated[
        str | None,
        Option(
            metavar="FILE",
            help="Fit it to these predictions, not by cross-validation; fixed in intervals.",
        ),
    ] = None
    cluster: Any = option("cluster")

    def given(self) -> dict[str, Any]:
        """Return the values of settings, by keyword; calibration data are what is trained on."""
        given = super().given()
        return given if self.calibration_data is None else {"training": "held-out", **given}

    def read(self, options: ReadOptions) -> Predictions | None:
        """Read the calibration data, if there are some.

        Raises
        ------
        InputError
            If they cannot be read.
        """
        from calcli.work.evaluate import read_calibration_data

        return read_calibration_data(self.calibration_data, options)


@dataclass(frozen=True)
class Fitting(Chosen):
    """How a recalibration is fitted."""

    heading = "Fitting"

    score: Any = option("score", FitSettings)
    quick: Any = option("quick", FitSettings)
    per_predicted_class: Any = option("per_predicted_class", FitSettings)
    min_rows: Any = option("min_rows", FitSettings)
    preserve_top1: Any = option("preserve_top1", FitSettings)
    folds: Any = option(
        "folds",
        FitSettings,
        "Folds of the cross-validation: how many, 0 for none, or the column that has them.",
        metavar=N_OR_COLUMN,
    )
    cluster: Any = option("cluster", FitSettings)
    seed: Any = option("seed", FitSettings)
    workers: Any = option("workers", FitSettings)


@dataclass(frozen=True)
class Pairing(Chosen):
    """Which rows of several files are the same cases."""

    heading = "Pairing rows"

    paired: Any = option("paired", PairSettings, spelled="--paired/--unpaired")
    allow_other_classes: Any = option("allow_other_classes", PairSettings)

    def settings(self, reading: Reading) -> PairSettings:
        """Return them as settings, with how rows are known."""
        return PairSettings(reading.key, reading.allow_unmatched, **self.given())


def settings_of(*bundles: Chosen) -> Settings:
    """Return the settings that bundles of options hold.

    Raises
    ------
    UsageError
        If a metric is unknown, a number is out of its range, or something named makes no sense.
    InputError
        If a file of class groups, costs or priors is damaged.
    """
    from calcli.io.saved import settings

    given = {name: value for bundle in bundles for name, value in bundle.given().items()}
    return settings.settings_of(given, "option")
