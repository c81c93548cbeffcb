"""One result, light enough to keep by the thousand: what reports show and JSON holds."""

from __future__ import annotations

import os.path
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from calcli.core.data.binning import equal_width_edges
from calcli.core.data.slices import Slice
from calcli.core.evaluating.results import ClassRow, Decision, Estimate, Evaluation
from calcli.report.findings import Verdict, Warning, verdict, warnings
from calcli.report.numbers import FIRST
from calcli.report.recalibration import recalibration_sentences


@dataclass(frozen=True)
class Input:
    """What was read.

    Attributes
    ----------
    path
        The file, folder, `-`, or "arrays".
    rows, classes
        Their number.
    class_names
        In the order of the columns.
    weighted
        Whether rows carry weights.
    kind, kind_reason
        What the scores were taken for, and why.
    dtype, computed_in
        Type of the stored scores, and of the computation.
    labels
        Where the labels came from.
    worst_row_sum
        The sum of probabilities farthest from one, as given.
    zeros, ones
        Probabilities that are exactly 0, rows with one that is exactly 1.
    tied_rows
        Rows whose largest probability is shared.
    absent_classes
        Classes without a row.
    notes
        What else was noticed while reading.
    files
        The files read.
    """

    path: str
    rows: int
    classes: int
    class_names: tuple[str, ...]
    weighted: bool
    kind: str
    kind_reason: str
    dtype: str
    computed_in: str
    labels: str
    worst_row_sum: float
    zeros: int
    ones: int
    tied_rows: int
    absent_classes: tuple[str, ...]
    notes: tuple[str, ...]
    files: tuple[str, ...]


@dataclass(frozen=True)
class InfiniteLogLoss:
    """Rows whose label has probability 0.

    Attributes
    ----------
    rows
        How many.
    first
        The first of them, counted from 0.
    value_without
        The log-loss of the others.
    """

    rows: int
    first: tuple[int, ...]
    value_without: float


@dataclass(frozen=True)
class ReliabilityBin:
    """One bin of the confidence that holds rows.

    Attributes
    ----------
    low, high
        Its edges.
    rows
        Rows in it.
    confidence, accuracy
        Weighted means over them.
    """

    low: float
    high: float
    rows: int
    confidence: float
    accuracy: float


@dataclass(frozen=True)
class Result:
    """What is reported of one evaluation.

    Attributes
    ----------
    input
        What was read.
    metrics
        Estimates by metric expression.
    verdict
        Whether the confidence keeps what it promises; None where mean_gap was not asked for.
    infinite_log_loss
        None if there is no such row.
    per_class
        One entry a class, in the order of the columns.
    reliability
        Top-1 reliability, in the bins that hold rows.
    warnings
        What stands in the way of trusting a number.
    recalibration
        What recalibration would win, in words.
    decisions
        For each of the costs in use, how often each decision was taken and what it cost.
    slice
        The value of a column that all rows share; None for all rows of the data.
    """

    input: Input
    metrics: dict[str, Estimate]
    verdict: Verdict | None
    infinite_log_loss: InfiniteLogLoss | None
    per_class: tuple[ClassRow, ...]
    reliability: tuple[ReliabilityBin, ...]
    warnings: tuple[Warning, ...]
    recalibration: tuple[str, ...]
    decisions: Mapping[str, tuple[Decision, ...]]
    slice: Slice | None = None


def summarize(evaluation: Evaluation) -> Result:
    """Return what is reported of an evaluation, without its rows."""
    infinite = None
    if len(evaluation.infinite_rows):
        first = tuple(evaluation.infinite_rows[:FIRST].tolist())
        infinite = InfiniteLogLoss(len(evaluation.infinite_rows), first, evaluation.finite_log_loss)
    return Result(
        _input(evaluation),
        {estimate.call.asked: estimate for estimate in evaluation.estimates.values()},
        verdict(evaluation),
        infinite,
        tuple(evaluation.per_class),
        tuple(_reliability(evaluation)),
        tuple(warnings(evaluation)),
        recalibration_sentences(evaluation.estimates),
        evaluation.decisions,
    )


def _input(evaluation: Evaluation) -> Input:
    predictions, facts = evaluation.predictions, evaluation.facts
    origin = predictions.provenance
    return Input(
        path=origin.path,
        rows=predictions.n_rows,
        classes=predictions.n_classes,
        class_names=predictions.classes,
        weighted=predictions.weights is not None,
        kind=predictions.kind,
        kind_reason=predictions.scores.kind_reason,
        dtype=str(predictions.scores.dtype),
        computed_in=str(evaluation.dtype),
        labels=origin.labels,
        worst_row_sum=facts.worst_row_sum,
        zeros=facts.zeros,
        ones=facts.ones,
        tied_rows=facts.tied_rows,
        absent_classes=tuple(row.name for row in evaluation.per_class if not row.rows),
        notes=origin.notes,
        files=origin.files,
    )


def _reliability(evaluation: Evaluation) -> list[ReliabilityBin]:
    bins = evaluation.reliability
    edges = equal_width_edges(len(bins.count)).tolist()
    columns = zip(edges, edges[1:], bins.count, bins.weight, bins.score, bins.outcome, strict=False)
    return [
        ReliabilityBin(low, high, int(count), float(score / weight), float(outcome / weight))
        for low, high, count, weight, score, outcome in columns
        if weight > 0
    ]


def short_names(paths: Sequence[str]) -> list[str]:
    """Return what tells files apart, for tables: `a/.../x.csv` and `b/.../x.csv`."""
    split = [path.split(os.sep) for path in relative_names(paths)]
    ends = zip(*(reversed(parts[1:]) for parts in split), strict=False)
    shared = sum(1 for _ in takewhile(lambda names: len(set(names)) == 1, ends))
    if shared > 2:
        split = [[*parts[:-shared], "...", parts[-1]] for parts in split]
    return ["standard input" if parts == ["-"] else os.sep.join(parts) for parts in split]


def relative_names(paths: Sequence[str]) -> list[str]:
    """Return paths from the folder that all of them share; `-` stays what it is."""
    whole = [path if path == "-" else os.path.abspath(path) for path in paths]
    shared = os.path.commonpath([os.path.dirname(path) for path in whole if path != "-"] or ["/"])
    return [path if path == "-" else os.path.relpath(path, shared) for path in whole]
