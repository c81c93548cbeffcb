"""Streams of predictions, watched period by period, and their evidence."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from typing import Any, Literal
from zlib import crc32

import numpy as np

from calcli.core.data.arrays import Array, Bools, Doubles, Positions, from_log_odds
from calcli.core.data.derived import slice_numbers
from calcli.core.data.predictions import Predictions
from calcli.core.data.units import Units, require_clusters, require_values
from calcli.core.estimators.sequential import (
    Change,
    Hypothesis,
    Reference,
    change,
    evidence,
    first_alarm,
    log_e_values,
)
from calcli.core.estimators.thresholds import Threshold, confidences
from calcli.core.evaluating.measurements import Measurements
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.settings import MonitorSettings, Settings
from calcli.core.state.state import StatePredictions

Watches = Literal["probability", "confidence", "rate", "promise"]
ZONE = re.compile(r"(Z|UTC|[+-]\d\d(:?\d\d)?)\s*$")
DATES = 19_000_101, 21_001_231  # numbers that are dates


@dataclass(frozen=True)
class Period:
    """The record of a period.

    Attributes
    ----------
    name
        Its day, week or month, its rows, or its file.
    rows
        Number of its rows.
    predicted, observed
        Mean expected outcome, and mean outcome.
    error
        Standard error of their difference if the expectations are right.
    log_loss
        Mean log-loss; None if no probability is watched.
    evidence
        Evidence of each bet.
    returned
        Number of rows from earlier clusters, which add no evidence.
    clusters
        Checksums of the names of the clusters that first occur in it.
    sha256
        Hash of its file, if periods are files.
    seen, above, right
        Number of all rows, of rows at or above a threshold, and of rows among them that are right, or of the
        class; 0 without a threshold.
    """

    name: str
    rows: int
    predicted: float
    observed: float
    error: float
    log_loss: float | None
    evidence: tuple[float, ...]
    returned: int = 0
    clusters: tuple[int, ...] = ()
    sha256: str | None = None
    seen: int = 0
    above: int = 0
    right: int = 0

    @property
    def gap(self) -> float:
        """Predicted minus observed."""
        return self.predicted - self.observed


def _range(start: str, last: str) -> str:
    """Return a range of dates, with the year once if it is the same."""
    year, day = last[:5], last[5:]
    return f"{start} to {day if year.endswith('-') and start.startswith(year) else last}"


def joined(periods: Sequence[Period]) -> Period:
    """Return several periods as one."""
    start, last, rows = periods[0], periods[-1], [period.rows for period in periods]
    losses = [period.log_loss for period in periods if period.log_loss is not None]
    return Period(
        start.name if start is last else _range(start.name, last.name),
        sum(rows),
        float(np.average([period.predicted for period in periods], weights=rows)),
        float(np.average([period.observed for period in periods], weights=rows)),
        float(np.sqrt(np.sum([(period.rows * period.error) ** 2 for period in periods])) / sum(rows)),
        float(np.average(losses, weights=rows)) if losses else None,
        tuple(np.sum([period.evidence for period in periods], axis=0).tolist()),
        **{name: sum(getattr(p, name) for p in periods) for name in ("seen", "above", "right")},
    )


@dataclass(frozen=True)
class Stream:
    """The periods of all rows or of one slice, and their evidence.

    Attributes
    ----------
    value
        Value of the column of slices; None for all rows.
    level
        One minus the probability of any false alarm.
    periods
        In order, at least one.
    """

    value: str | None
    level: float
    periods: Sequence[Period]

    @cached_property
    def _evidence(self) -> Doubles:
        return np.array([period.evidence for period in self.periods])

    @cached_property
    def log_values(self) -> Doubles:
        """(periods,) logarithm of the e-value after each."""
        return log_e_values(self._evidence)

    @cached_property
    def alarm(self) -> int | None:
        """Number of the period that raised the alarm; None without one."""
        return first_alarm(self.log_values, self.level)

    @cached_property
    def change(self) -> Change | None:
        """The change that best explains the alarm; None without one."""
        return None if self.alarm is None else change(self._evidence[: self.alarm + 1])

    @property
    def since(self) -> Period | None:
        """All periods from the change to the alarm; None without one."""
        if self.change is None or self.alarm is None:
            return None
        return joined(self.periods[self.change.start : self.alarm + 1])


def streams(by_value: Mapping[str | None, Sequence[Period]], level: float) -> list[Stream]:
    """Return streams that share a level: the m-th gets 1 / (m (m + 1)) of it, for any number of streams."""
    shares = [1.0] if len(by_value) == 1 else [1 / (m * (m + 1)) for m in range(1, len(by_value) + 1)]
    pairs = zip(by_value.items(), shares, strict=True)
    return [Stream(value, 1 - (1 - level) * share, periods) for (value, periods), share in pairs]


@dataclass(frozen=True)
class Watched:
    """Rows to watch.

    Attributes
    ----------
    what
        The kind of stream.
    score, outcome
        (n,) expected and observed outcomes.
    hypothesis
        The hypothesis that expectations are right, within a tolerance.
    chosen
        (N,) mask of the chosen rows of the predictions; None for all.
    counts
        (n,) number of rows that each stands for; None for one.
    above
        (N,) masks of the rows at or above a threshold, and of the right rows among them; None without one.
    """

    what: Watches
    score: Doubles
    outcome: Doubles
    hypothesis: Hypothesis
    chosen: Bools | None = None
    counts: Array | None = None
    above: tuple[Array, Array] | None = None


def watched(
    predictions: Predictions,
    tolerance: float,
    level: float,
    reference: Reference | None = None,
    threshold: Threshold | float | None = None,
) -> Watched:
    """Return the watched rows of predictions, with a level for the uncertainty of a reference.

    For a threshold with a promise, the promise is watched; for a number, rows at or above it are counted.

    Raises
    ------
    InputError
        If there are no probabilities, and no reference.
    UsageError
        If rows have weights.
    """
    if threshold is not None:
        predictions.require_probabilities()
    if isinstance(threshold, Threshold):
        threshold.require_same(predictions.kind, predictions.classes, predictions.provenance.path)
        above, (_, hit) = threshold.answers(predictions), confidences(predictions, threshold.target)
        rows, wrong = threshold.tallied(hit, above)
        promise = np.full(int(np.count_nonzero(rows)), threshold.max_error)
        hypothesis = Hypothesis.of(promise, np.zeros(len(promise)), promise + tolerance)
        of_rows = promise, wrong[rows].astype(np.float64), hypothesis, rows
        return Watched("promise", *of_rows, above=(above, above & (hit > 0)))
    score, outcome, counts = looked_at(predictions)
    counted = None if threshold is None else (score >= threshold, (score >= threshold) & (outcome > 0))
    has_scores = predictions.has_probabilities
    if reference is not None:
        hypothesis = Hypothesis.against(score, reference, level).widened(tolerance)
        score = from_log_odds(hypothesis.log_odds)
    elif has_scores:
        hypothesis = Hypothesis.within(score, tolerance)
    else:
        raise InputError(
            f"{predictions.provenance.path} has no probabilities; say with --reference FILE which rows show "
            "what is expected"
        )
    of_two = predictions.n_classes == 2 and not predictions.of_answers
    watches: Watches = "rate" if not has_scores else "probability" if of_two else "confidence"
    return Watched(watches, score, outcome, hypothesis, None, counts, counted)


def looked_at(predictions: Predictions) -> tuple[Doubles, Doubles, Array | None]:
    """Return (n,) scores and outcomes, and the number of rows that each stands for in a state.

    The score is the probability of the second of two classes, else the confidence; 1/2 without either.
    """
    predictions.require_named_class()
    of_two = predictions.n_classes == 2 and not predictions.of_answers
    if isinstance(predictions, StatePredictions) and not predictions.has_rows:
        if predictions.state.head.weighted:
            raise UsageError(f"{predictions.provenance.path} has row weights; expected rows that count alike")
        state = Measurements(predictions, predictions.state, Settings())
        problem = state.problem("class-1" if of_two else "top-1")
        return problem.score.astype(np.float64), problem.outcome.astype(np.float64), problem.counts
    target = f"precision:{predictions.classes[1]}" if of_two and predictions.has_probabilities else None
    score, outcome = confidences(predictions, target)
    score = score if predictions.has_probabilities else np.full(len(score), 0.5)
    return score, outcome.astype(np.float64), None


def reference_of(predictions: Predictions, cluster: str | None) -> Reference:
    """Return the reference from the outcomes of some rows, with or without predictions.

    Raises
    ------
    InputError
        If all outcomes are alike.
    """
    score, outcome, counts = looked_at(predictions)
    path = predictions.provenance.path
    if counts is not None:
        score, outcome = np.repeat(score, counts), np.repeat(outcome, counts)
    if outcome.min() == outcome.max():
        raise InputError(f"{path}: all outcomes are alike; expected some of each in a reference")
    require_clusters(predictions, cluster)
    clusters = predictions.column_if(cluster)
    return Reference.of(
        score, outcome, Units.of(len(score), clusters), flat=not predictions.has_probabilities
    )


@dataclass(frozen=True)
class Calendar:
    """The periods of rows.

    Attributes
    ----------
    names
        Names of the periods, in order.
    codes
        (n,) number of the period of each row; -1 for rows left out.
    """

    names: Sequence[str]
    codes: Positions


def calendar(predictions: Predictions, settings: MonitorSettings, before: int = 0) -> Calendar:
    """Return the periods of rows, by time or by number of rows.

    Parameters
    ----------
    predictions
        All rows.
    settings
        The column with times, and the length of a period.
    before
        Number of earlier rows.

    Raises
    ------
    InputError
        If a row has no readable time.
    """
    rows, every = predictions.n_rows, settings.every or "day"
    times = np.zeros(rows, "datetime64[s]") if settings.time is None else _times(predictions, settings.time)
    codes = np.full(rows, -1, np.intp)
    included = (
        np.ones(rows, np.bool_)
        if settings.since is None
        else times >= np.datetime64(_utc(settings.since), "s")
    )
    if every.isdecimal():
        size, order = int(every), np.argsort(times[included], kind="stable")
        number = np.empty(len(order), np.intp)
        number[order] = np.arange(len(order))
        codes[included] = number // size
        starts = range(before, before + len(order), size)
        return Calendar([f"rows {n + 1:,} to {min(n + size, before + len(order)):,}" for n in starts], codes)
    if settings.mature is not None and rows:
        latest = times.max() - np.timedelta64(settings.mature, "D")
        included &= _starts(times, every, 1) <= latest
    names, codes[included] = np.unique(_starts(times[included], every), return_inverse=True)
    return Calendar(np.datetime_as_string(names, unit="M" if every == "month" else "D").tolist(), codes)


def _starts(times: Array, every: str, later: int = 0) -> Array:
    """Return the first days of the periods of times, or of the periods `later` periods afterwards."""
    if every == "month":
        return (times.astype("datetime64[M]") + np.timedelta64(later, "M")).astype("datetime64[D]")
    days = times.astype("datetime64[D]")
    if every == "week":  # which begins on Monday; day 0 is a Thursday
        return days - ((days.astype(np.int64) + 3) % 7 - 7 * later).astype("timedelta64[D]")
    return days + np.timedelta64(later, "D")


def _times(predictions: Predictions, column: str) -> Array:
    """Return (n,) times of a column, in UTC if they have zones."""
    values, path = predictions.column(column), predictions.provenance.path
    require_values(predictions, column, "expected the time of every row")
    if values.dtype.kind == "M":
        return values.astype("datetime64[s]")
    texts, codes = np.unique(values.astype(str), return_inverse=True)
    numbers = values.dtype.kind in "iufb"
    times, zoned = [], set()
    for n, text in enumerate(texts.tolist()):
        try:
            if numbers and not DATES[0] <= float(text) <= DATES[1]:
                raise ValueError
            times.append(_utc(text))
        except ValueError:
            row = predictions.stored_row(int((codes == n).argmax()))
            raise InputError(
                f"{path}: row {row} has {text!r} in column {column!r}; expected a date or a time such as "
                "2026-11-27 or 2026-11-27T08:00:00Z"
            ) from None
        zoned.add(ZONE.search(text) is not None)
    if len(zoned) > 1:
        raise InputError(f"{path}: some times in column {column!r} have a time zone, and some none")
    return np.array(times, "datetime64[s]")[codes]


def _utc(text: str) -> datetime:
    """Return an ISO 8601 time without its zone, in UTC if it has one."""
    time = datetime.fromisoformat(text.strip().replace(" UTC", "Z"))
    return time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time


def periods_of(
    predictions: Predictions,
    watch: Watched,
    when: Calendar,
    settings: MonitorSettings,
    before: Sequence[Period] = (),
) -> dict[str | None, list[Period]]:
    """Return the periods with rows, in order: first for all rows, then for each slice.

    Rows of a cluster that occurred in an earlier period, or in `before`, add no evidence: evidence adds up
    only if each period is fair given the past, and the common part of such rows is unknown.

    Raises
    ------
    InputError
        If a column is missing, or has a missing value.
    """
    rows = np.ones(len(when.codes), np.bool_) if watch.chosen is None else watch.chosen
    code, n_periods = when.codes[rows], len(when.names)
    require_clusters(predictions, settings.cluster)
    clusters, new, firsts = None, np.ones(len(code), np.bool_), [()] * n_periods
    if settings.cluster is not None:
        names, clusters = np.unique(predictions.column(settings.cluster)[rows], return_inverse=True)
        sums = np.array([crc32(str(name).encode()) for name in names.tolist()], np.int64)
        start = np.full(len(names), n_periods)
        np.minimum.at(start, clusters, np.where(code < 0, n_periods, code))
        start[np.isin(sums, [cluster for period in before for cluster in period.clusters])] = -1
        new, firsts = code == start[clusters], [tuple(sums[start == n].tolist()) for n in range(n_periods)]
    pairs = zip(_periods(watch, when.codes, clusters, new, when.names), firsts, strict=True)
    by_value: dict[str | None, list[Period]] = {
        None: [replace(p, clusters=firsts) for p, firsts in pairs if p.rows]
    }
    if settings.by is not None:
        slices, numbers = slice_numbers(predictions, settings.by)
        joint = np.where(when.codes < 0, -1, numbers * n_periods + when.codes)
        every = iter(_periods(watch, joint, clusters, new, [*when.names] * len(slices)))
        by_slice = {part.value: [p for p in islice(every, n_periods) if p.rows] for part in slices}
        starts = sorted(
            (when.names.index(periods[0].name), value) for value, periods in by_slice.items() if periods
        )
        by_value |= {value: by_slice[value] for _, value in starts}
    return by_value


def _periods(
    watch: Watched, codes: Positions, clusters: Positions | None, new: Bools, names: Sequence[str]
) -> list[Period]:
    tally = np.zeros((len(names), 3))
    for column, kind in enumerate([codes >= -1, *watch.above] if watch.above else []):
        of_kind = kind & (codes >= 0)
        stand_for = None if watch.counts is None else watch.counts[of_kind]
        tally[:, column] = np.bincount(codes[of_kind], stand_for, len(names))
    codes = codes if watch.chosen is None else codes[watch.chosen]
    inside = codes >= 0
    code, score, outcome, new = codes[inside], watch.score[inside], watch.outcome[inside], new[inside]
    counts = None if watch.counts is None else watch.counts[inside]
    test = Hypothesis(*(values[inside][new] for values in vars(watch.hypothesis).values()))
    units = None if clusters is None else Units.of(len(code), clusters[inside] * len(names) + code)

    def sums(values: Any) -> Doubles:
        weighted = values if counts is None else values * counts
        return np.bincount(code, weighted, len(names)).astype(np.float64)

    e_values = evidence(test, outcome[new], code[new], len(names), units and units.among(new), counts)
    rows, returned = sums(np.ones(len(code))), sums(~new).astype(np.int64)
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = np.where(outcome > 0, -outcome * np.log(score), 0.0)
        loss += np.where(outcome < 1, (outcome - 1) * np.log1p(-score), 0.0)
        means = [sums(values) / rows for values in (score, outcome, loss)]
        variance = sums(score * (1 - score))
        if units is not None:
            assert units.names is not None
            squares = np.square(units.sums(outcome - score))
            variance = np.bincount(units.names % len(names), squares, len(names)).astype(np.float64)
        errors = np.sqrt(variance) / rows
    of_loss = watch.what in ("probability", "confidence")
    columns = [values.tolist() for values in (rows.astype(np.int64), *means, errors, e_values, returned)]
    columns.append(tally.astype(np.int64).tolist())
    return [
        Period(
            name, n, predicted, observed, error, loss if of_loss else None, tuple(bets), back, (), None, *of
        )
        for name, n, predicted, observed, loss, error, bets, back, of in zip(names, *columns, strict=True)
    ]
