"""The settings of every command, declared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from os import PathLike
from typing import Any, Literal, Protocol

from calcli.core.language.declaring import (
    FLAG,
    TEXT,
    choice,
    documented,
    numbers,
    setting,
    texts,
    whole,
)
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import MethodExpression, parse_metrics
from calcli.core.language.metrics import MOST_BINS, ScoreName
from calcli.core.language.text import brief

Precision = Literal["auto", "single", "double"]
Rows = Literal["auto", "all"]
Training = Literal["cross-validation", "held-out", "test"]

MOST_DRAWN = 10**6  # resamples and simulated data sets
MOST_AT_ONCE = 1024  # threads or processes


class Costs(Protocol):
    """Costs of decisions that metrics name."""

    @property
    def name(self) -> str:
        """Their name in metric expressions."""

    def matrix(self, classes: Sequence[str], frequencies: Any) -> Any:
        """Return the cost of each decision under each class, given (K,) frequencies."""


class ClassPriors(Protocol):
    """Priors of the classes, whatever their number and order."""

    def of(self, classes: Sequence[str]) -> Any:
        """Return the (K,) priors of the classes."""


def _priors(value: Any) -> str:
    if isinstance(value, str | PathLike):
        return str(TEXT.taken(value))
    if isinstance(value, Mapping | Set):
        raise TypeError
    return ",".join(repr(float(prior)) for prior in value)


def _class_share(value: Any) -> tuple[str, float]:
    name, share = next(iter(value.items())) if isinstance(value, Mapping) else value.rsplit("=", 1)
    if not (name or isinstance(value, Mapping)) or not 0 < float(share) < 1:
        raise ValueError
    return str(name), float(share)


def _thresholds(value: Any) -> tuple[float, ...]:
    """Return thresholds from numbers or from text: numbers with commas, or a range such as 0.1..0.5."""
    if isinstance(value, str):
        low, dots, high = value.partition("..")
        if dots:
            count = round((float(high) - float(low)) / STEP)
            return _thresholds([round(float(low) + STEP * place, 10) for place in range(count + 1)])
        return _thresholds(value.split(","))
    thresholds = tuple(map(float, value))
    if not all(0 < threshold < 1 for threshold in thresholds):
        raise ValueError
    return thresholds


STEP = 0.05  # between thresholds of which the ends are given
THRESHOLDS = replace(
    TEXT, name="str or list of float", expected='numbers between 0 and 1, as "0.1,0.5" or "0.05..0.4"',
    taken=_thresholds,
)  # fmt: skip
CLASS_SHARE = replace(
    TEXT, name="str or dict", expected="a class and a share, as fraud=0.9", taken=_class_share
)


def _alert_share(value: Any) -> tuple[str, float]:
    """Return the class, "" for the positive one, and the share of rows: 2%, 0.02 or 200/10000."""
    if isinstance(value, Mapping):
        return _class_share(value)
    name, _, share = str(value).rpartition("=")
    rows, _, total = share.partition("/")
    return _class_share({name: float(rows.rstrip("%")) / (100 if rows.endswith("%") else float(total or 1))})


ALERTS = replace(
    TEXT, name="str or dict", expected="a share of the rows, as 2% or fraud=0.02", taken=_alert_share
)
LEVEL = numbers("a number between 0 and 1, such as 0.95", lambda value: 0 < value < 1)
PRIORS = replace(TEXT, expected="text, or a number for each class", taken=_priors)


@documented()
@dataclass(frozen=True, repr=False)
class Settings:
    """What to compute, and how.

    Attributes
    ----------
    {Settings}
    """

    metrics: tuple[str, ...] = setting(
        (),
        texts("log_loss", commas=True, checked=parse_metrics),
        "Metrics instead of the usual ones, such as log_loss,ece:bins=20,ks.",
        "LIST",
    )
    bins: int = setting(15, whole(1, MOST_BINS), "Bins of the calibration errors.", "N")
    level: float = setting(0.95, LEVEL, "Coverage of the intervals.", "P", in_policies=True)
    intervals: bool = setting(True, FLAG, "Intervals, and tests of differences.")
    draws: int = setting(
        999,
        whole(0, MOST_DRAWN),
        "Simulated data sets per p-value, more for many slices; 0 for none.",
        "N",
        in_policies=True,
    )
    seed: int = setting(0, whole(), "Seed of tests.", "N", in_policies=True)
    precision: Precision = setting("auto", choice(Precision), "auto: double up to 5 million scores.")
    workers: int | None = setting(
        None,
        whole(1, MOST_AT_ONCE),
        "Threads of a pass; one per core where that is faster; the result is the same.",
        "N",
    )
    rows: Rows = setting("auto", choice(Rows), "all: keep all rows in memory, also more than 5 million.")
    costs: tuple[Costs, ...] = setting(
        (),
        texts("abstain:0.1", commas=True),
        "Costs of decisions: zero-one, balanced, abstain:0.1, imbalanced:CLASS:10, or files.",
        "LIST",
        in_policies=True,
    )
    decision_column: str | None = setting(
        None,
        TEXT,
        "Column with decisions, for expected_cost.",
        "COLUMN",
        in_policies=True,
    )
    cost_column: str | None = setting(
        None, TEXT, "Two classes: column of amounts; a missed row costs so many times as much.", "COLUMN"
    )
    thresholds: tuple[float, ...] = setting(
        (),
        THRESHOLDS,
        "Two classes: operating points, such as 0.1,0.5 or 0.05..0.4 in steps of 0.05.",
        "LIST",
    )
    clip: float = setting(
        0.0,
        numbers("a small probability, such as 1e-12", lambda value: 0 <= value < 1),
        "Smallest probability of a label in the log-loss.",
        "P",
        in_policies=True,
    )
    training: Training = setting(
        "cross-validation", choice(Training), "What the recalibration of the calibration loss is fitted to."
    )
    cluster: str | None = setting(
        None, TEXT, "Rows that share a value of this column depend on each other.", "COLUMN", in_policies=True
    )
    fold_column: str | None = setting(
        None, TEXT, "Which fold of the cross-validation a row is in.", "COLUMN", key="folds"
    )
    folds: int = setting(5, whole(2), "Folds of the cross-validation of a calibration loss.", "N")
    priors: ClassPriors | None = setting(
        None,
        PRIORS,
        "Weight rows to these class priors: uniform, 0.9,0.1 or a file.",
        "PRIORS",
        in_policies=True,
    )
    shift_to_priors: ClassPriors | None = setting(
        None,
        PRIORS,
        "Move the probabilities to these class priors, usually those of --priors.",
        "PRIORS",
        in_policies=True,
    )
    trained_at: ClassPriors | None = setting(
        None,
        PRIORS,
        "The class priors in training, from which --shift-to-priors moves, if not those of the rows.",
        "PRIORS",
        in_policies=True,
    )
    test: bool = setting(
        False, FLAG, "Test every calibration error, including class-wise ones and those of classes."
    )
    groups: Mapping[str, Mapping[str, str]] = setting(
        dict,
        texts("kind=cat+dog,cow+horse"),
        "Groups of classes such as a+b,c+d, or a file, for lens=NAME.",
        "NAME=GROUPS",
        key="class_groups",
        in_policies=True,
    )
    threshold_weights: Mapping[str, tuple[tuple[float, float], ...]] = setting(
        dict,
        texts("mine=weights.csv"),
        "CSV of threshold,weight: thresholds of P(class 1), linear between them and 0 outside, for "
        "weighted_risk:weights=NAME.",
        "NAME=FILE",
        in_policies=True,
    )

    def __repr__(self) -> str:
        return brief(self)

    @property
    def recorded(self) -> dict[str, Any]:
        """The settings that a report records; threads are left out since they change no result."""
        return {name: value for name, value in asdict(self).items() if name != "workers"}

    @property
    def draws_outcomes(self) -> bool:
        """Whether outcomes can be drawn from the predictions, row by row.

        This fails for dependent rows and for weights that come from labels, as with priors.
        """
        return self.cluster is None and self.priors is None

    @property
    def defaults(self) -> dict[str, str | int]:
        """Defaults of metric arguments that expressions leave out; of several costs, none is the default."""
        costs: dict[str, str | int] = {"costs": self.costs[0].name} if len(self.costs) == 1 else {}
        return {"bins": self.bins, "training": self.training, **costs}


@documented()
@dataclass(frozen=True)
class PairSettings:
    """How rows of several systems are paired, and how margins are proven.

    Attributes
    ----------
    {PairSettings}
    """

    key: str | None = setting(None, TEXT, "Pair rows by this column, not by their order.", "COLUMN")
    allow_unmatched: bool = setting(False, FLAG, "Leave out rows that are not in all files.")
    paired: bool | None = setting(
        None,
        FLAG,
        "Unpaired: the files hold different cases; a weaker comparison. Paired: refuse states of different "
        "rows.",
    )
    tost: bool = setting(False, FLAG, "Prove margins by two one-sided tests at 5% each (TOST), not 2.5%.")

    @property
    def in_order(self) -> bool:
        """Whether rows are paired by their order, which needs all rows."""
        return self.paired is not False and self.key is None


IN_ORDER = PairSettings()


@documented()
@dataclass(frozen=True)
class ThresholdSettings:
    """The promise of a threshold, and the rows it covers.

    Attributes
    ----------
    {ThresholdSettings}
    """

    max_error: float | None = setting(
        None,
        numbers("a number between 0 and 1, such as 0.05", lambda value: 0 < value < 1),
        "Greatest error rate of answers whose confidence is at least the threshold.",
        "R",
    )
    min_precision: tuple[str, float] | None = setting(
        None,
        CLASS_SHARE,
        "Least precision of a class, at or above a threshold on its probability.",
        "CLASS=P",
    )
    min_recall: tuple[str, float] | None = setting(None, CLASS_SHARE, "Least recall of a class.", "CLASS=R")
    max_alerts: tuple[str, float] | None = setting(
        None,
        ALERTS,
        "Greatest share of rows at or above a threshold on the probability of a class: 2%, 200/10000.",
        "[CLASS=]SHARE",
    )
    level: float = setting(0.95, LEVEL, "Probability that the promise is true.", "P")
    by: str | None = setting(
        None, TEXT, "A threshold for every value of this column; they share --level.", "COLUMN"
    )
    cluster: str | None = setting(
        None, TEXT, "Rows that share a value depend on each other: one of them is drawn.", "COLUMN"
    )
    seed: int = setting(0, whole(), "Seed of these draws.", "N")


def _every(value: Any) -> str:
    every = str(value)
    if every not in ("day", "week", "month") and not (every.isdecimal() and 0 < int(every) < 10**12):
        raise ValueError
    return every


def _days(value: Any) -> int:
    return whole(0, 36_500).taken(int(value.removesuffix("d")) if isinstance(value, str) else value)


def _date(value: Any) -> str:
    datetime.fromisoformat(str(value))
    return str(value)


@documented()
@dataclass(frozen=True)
class MonitorSettings:
    """How a stream is watched.

    Attributes
    ----------
    {MonitorSettings}

    Raises
    ------
    UsageError
        If these do not go together.
    """

    time: str | None = setting(
        None, TEXT, "Dates or times of the rows; without, a file is a period.", "COLUMN"
    )
    every: str | None = setting(
        None,
        replace(TEXT, expected="day, week, month, or a number of rows", taken=_every),
        "A period: day, week, month, or a number of rows.",
        "PERIOD",
    )
    tolerance: float = setting(
        0.0,
        numbers("a number of at least 0 and below 0.5, such as 0.02", lambda value: 0 <= value < 0.5),
        "How far probabilities may be off before it counts.",
        "X",
    )
    by: str | None = setting(
        None, TEXT, "Also watch every value of this column; they share --level.", "COLUMN"
    )
    cluster: str | None = setting(
        None, TEXT, "Rows of a period that share a value of this column depend on each other.", "COLUMN"
    )
    mature: int | None = setting(
        None,
        replace(TEXT, expected="a number of days, such as 30d", taken=_days),
        "Until all labels are known, such as 30d; later rows wait.",
        "DAYS",
    )
    since: str | None = setting(
        None,
        replace(TEXT, expected="a date such as 2026-11-27", taken=_date),
        "Leave out rows before this time.",
        "DATE",
    )
    level: float = setting(0.95, LEVEL, "One minus the share of streams that ever raise a false alarm.", "P")

    def __post_init__(self) -> None:
        if self.time is not None:
            return
        for name in ("mature", "since"):
            if getattr(self, name) is not None:
                raise UsageError(f"--{name} is about times; say with --time COLUMN where they are")
        if self.every in ("day", "week", "month"):
            raise UsageError(f"--every {self.every} is about times; say with --time COLUMN where they are")


@documented()
@dataclass(frozen=True)
class SegmentSettings:
    """Which segments are searched, and how.

    Attributes
    ----------
    {SegmentSettings}
    """

    columns: tuple[str, ...] = setting(
        (), texts("country", commas=True), "Columns whose values are segments, such as country,age.", "LIST"
    )
    parts: int = setting(
        5, whole(2, 100), "Numbers of more different values are cut into so many parts.", "N"
    )
    depth: int = setting(2, whole(1, 2), "2: pairs of values, too.", "N")
    min_rows: int | None = setting(
        None, whole(1), "Fewest rows of a segment: 100, or a 50th of less than 5,000 rows.", "N"
    )
    after: Literal["affine", "none"] = setting(
        "affine",
        choice(Literal["affine", "none"]),
        "Whether all rows are recalibrated first, by a line through the log-odds.",
    )
    metric: Literal["gap", "log_loss"] = setting(
        "gap", choice(Literal["gap", "log_loss"]), "gap of the mean, or log-loss beyond what is expected."
    )
    level: float = setting(
        0.95, LEVEL, "One minus the share of calibrated data sets with any segment found.", "P"
    )
    draws: int = setting(499, whole(19, MOST_DRAWN), "How often outcomes are drawn.", "N")
    seed: int = setting(0, whole(), "Seed of the draws.", "N")
    cluster: str | None = setting(
        None,
        TEXT,
        "Rows that share a value of this column depend on each other; they are drawn whole.",
        "COLUMN",
    )

    def fewest(self, rows: int) -> int:
        """Return the fewest rows a segment needs, given the number of all rows."""
        return self.min_rows or max(1, min(100, rows // 50))


@documented()
@dataclass(frozen=True)
class BenchmarkSettings:
    """How a benchmark of calibrators is run.

    Attributes
    ----------
    {BenchmarkSettings}
    """

    fold_column: str | None = setting(
        None, TEXT, "Which fold of the cross-validation a row is in.", "COLUMN", key="folds"
    )
    folds: int = setting(0, whole(), "Without --test: folds of a cross-validation.", "N")
    methods: tuple[str, ...] = setting(
        (), texts("dp", commas=True), "Methods, such as temperature,histogram:bins=20,auto.", "LIST"
    )
    seeds: int = setting(
        1, whole(1), "With --folds: seeds of the folds; values are means, with ± their deviation.", "N"
    )
    workers: int | None = setting(
        None,
        whole(1, MOST_AT_ONCE),
        "Processes; one per core where that is faster; the result is the same.",
        "N",
    )


@documented()
@dataclass(frozen=True)
class FitSettings:
    """How a recalibration is fitted.

    Attributes
    ----------
    {FitSettings}
    """

    fold_column: str | None = setting(
        None, TEXT, "Which fold of the cross-validation a row is in.", "COLUMN", key="folds"
    )
    folds: int = setting(5, whole(), "Folds of the cross-validation; 0 for none.", "N")
    cluster: str | None = setting(
        None, TEXT, "Rows that share a value of this column depend on each other: folds do not part them.",
        "COLUMN",
    )  # fmt: skip
    seed: int = setting(0, whole(), "Seed of the folds.", "N")
    score: ScoreName = setting("log_loss", choice(ScoreName), "Score by which auto chooses.")
    quick: bool = setting(False, FLAG, "auto tries only quick methods, and no pool.")
    raw: bool = setting(False, FLAG, "Fit to raw logits.")
    reduced: bool = setting(False, FLAG, "Fit to the confidence alone, as two classes, right and wrong.")
    per_predicted_class: bool = setting(False, FLAG, "One calibrator for each predicted class.")
    min_rows: int = setting(100, whole(1), "Rows a predicted class needs for a calibrator of its own.", "N")
    preserve_top1: bool = setting(False, FLAG, "Never change the predicted class.")
    workers: int | None = setting(
        None,
        whole(1, MOST_AT_ONCE),
        "Processes that fit; one per core where that is faster, one in Python; the result is the same.",
        "N",
    )

    @property
    def wraps(self) -> bool:
        """Whether a wrapper is asked for."""
        return self.reduced or self.per_predicted_class or self.preserve_top1

    def wrapped(self, call: MethodExpression) -> MethodExpression:
        """Return a method inside the requested wrappers."""
        if self.reduced:
            call = call.within("reduced")
        if self.per_predicted_class:
            call = call.within("per-predicted-class", min_rows=self.min_rows)
        return call.within("preserve-top1") if self.preserve_top1 else call
