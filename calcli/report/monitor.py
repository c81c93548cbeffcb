"""A watched stream as shown: an alarm, its date, the change, and a line for each period."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, NotRequired, TypedDict, cast

from calcli.core.comparing.monitoring import Period, Stream, Watches, joined
from calcli.core.estimators.intervals import level_percent
from calcli.core.language.settings import MonitorSettings
from calcli.core.language.text import counted, number, percent
from calcli.report.estimates import NONE
from calcli.report.reading import reading_sentences
from calcli.report.shown import Column, Headline, Number, Shown, TextTable, table_of

if TYPE_CHECKING:
    from calcli.report.page import Picture

LINES = 7  # most lines of periods; older periods are joined
LATEST = 4  # most recent periods with a line each
MOST = 690.0  # logarithm of the largest e-value shown as a number


class ChangeObject(TypedDict):
    """The change, and the outcomes from then until the alarm."""

    since: str
    words: str
    slope: float
    intercept: float
    predicted: float
    observed: float


class PeriodObject(TypedDict):
    """A period, with the evidence after it, and the precision so far at or above a threshold."""

    name: str
    rows: int
    log_loss: float | None
    predicted: float
    observed: float
    gap: float
    error: float
    evidence: float
    seen: NotRequired[int]
    above: NotRequired[int]
    precision_so_far: NotRequired[float]


class StreamObject(TypedDict):
    """All rows, or a slice."""

    value: str | None
    level: float
    alarm_at: float
    alarm: str | None
    change: ChangeObject | None
    periods: list[PeriodObject]


class MonitorObject(TypedDict):
    """A report of `calcli monitor`."""

    path: str
    watched: Watches
    of: str
    settings: Annotated[Any, MonitorSettings]
    reference_rows: int | None
    promise: float | None
    left_open: float
    left_out: int
    alarm: bool
    streams: list[StreamObject]


@dataclass(frozen=True, repr=False, eq=False)
class MonitorReport(Shown):
    """The state of a watched stream; printed, the report shows the tables of the command line.

    Attributes
    ----------
    path
        The path of the stream.
    streams
        All rows, then each slice.
    watched, of
        The kind of stream, and its class.
    settings
        How.
    reading
        Sentences on how it was read.
    reference_rows
        Number of rows of the reference; None without one.
    promise
        The promised error rate; None without one.
    left_open
        Allowed deviation of probabilities; with a reference, the tolerance for the median row.
    left_out
        Numbers of rows outside the periods: too old, or too new.
    details
        Whether every period has a line.
    """

    path: str
    streams: Sequence[Stream]
    watched: Watches
    of: str
    settings: MonitorSettings
    reading: Sequence[str] = ()
    reference_rows: int | None = None
    promise: float | None = None
    left_open: float = 0.0
    left_out: int = 0
    details: bool = False

    title = "Monitoring"
    schema = "calcli.monitor/1"

    @property
    def alarmed(self) -> list[Stream]:
        """Streams with an alarm."""
        return [stream for stream in self.streams if stream.alarm is not None]

    @property
    def exit_status(self) -> int:
        """The exit status of `calcli monitor`: 1 on an alarm."""
        return 1 if self.alarmed else 0

    def tables(self) -> list[TextTable]:
        """Return the verdict with its assumptions, the slices, and the periods of all rows or of an alarm."""
        read = reading_sentences([(self.path, self.reading)])
        verdict = TextTable(self._verdict(), notes=(*self._changes(), *self._assumed(), *read))
        stream = [*self.alarmed, self.streams[0]][0]
        slices = [self._slices()] if len(self.streams) > 1 else []
        return [verdict, *slices, self._periods(stream)]

    def headline(self) -> Headline:
        """Return whether there is an alarm, and the last period."""
        last, stream = self.streams[0].periods[-1], self.streams[0]
        numbers = [
            Number("predicted", percent(last.predicted), last.name),
            Number("observed", percent(last.observed), last.name),
            Number("evidence", _evidence(stream.log_values[-1]), f"alarm at {_evidence(_limit(stream))}"),
        ]
        words = " ".join([f"{self._verdict()}.", *self._changes()])
        return Headline(self.path, words, "bad" if self.alarmed else "good", numbers)

    def pictures(self) -> Sequence[Picture]:
        """Return the gap and the evidence over time."""
        from calcli.report.pictures import stream_pictures

        return stream_pictures([*self.alarmed, self.streams[0]][0])

    def data(self) -> MonitorObject:
        """Return the same as nested values."""
        return {
            "path": self.path,
            "watched": self.watched,
            "of": self.of,
            "settings": vars(self.settings),
            "reference_rows": self.reference_rows,
            "promise": self.promise,
            "left_open": self.left_open,
            "left_out": self.left_out,
            "alarm": bool(self.alarmed),
            "streams": [self._stream(stream) for stream in self.streams],
        }

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield a record for every period of every stream."""
        for stream in self.data()["streams"]:
            for period in stream["periods"]:
                yield {"value": stream["value"], **period, "alarm": stream["alarm"] == period["name"]}

    def _stream(self, stream: Stream) -> StreamObject:
        change, since, alarm = stream.change, stream.since, stream.alarm
        changed: ChangeObject | None = None
        if change is not None and since is not None:
            changed = {
                "since": stream.periods[change.start].name,
                "words": self._words(stream),
                "slope": change.slope,
                "intercept": change.intercept,
                "predicted": since.predicted,
                "observed": since.observed,
            }
        return {
            "value": stream.value,
            "level": stream.level,
            "alarm_at": 1 / (1 - stream.level),
            "alarm": None if alarm is None else stream.periods[alarm].name,
            "change": changed,
            "periods": [self._period(stream, n) for n in range(len(stream.periods))],
        }

    def _period(self, stream: Stream, n: int) -> PeriodObject:
        names = ("name", "rows", "log_loss", "predicted", "observed", "gap", "error")
        period = {name: getattr(stream.periods[n], name) for name in names}
        evidence = math.exp(min(float(stream.log_values[n]), MOST))
        return cast(PeriodObject, {**period, "evidence": evidence, **_above(stream.periods[: n + 1])})

    def _verdict(self) -> str:
        if not self.alarmed:
            return f"No alarm in {counted(len(self.streams[0].periods), 'period')}"
        when = [period.name for period in self.streams[0].periods]
        stream = min(self.alarmed, key=lambda s: when.index(s.periods[s.alarm or 0].name))
        where = "" if stream.value is None else f" of {self.settings.by}={stream.value}"
        week = "week of " if self.settings.every == "week" else ""
        return f"ALARM{where}: {week}{stream.periods[stream.alarm or 0].name}"

    def _changes(self) -> Iterator[str]:
        for stream in self.alarmed[:3]:
            where = "" if stream.value is None else f"Of {self.settings.by}={stream.value}: "
            if stream.change is not None:
                began = stream.periods[stream.change.start].name
                yield f"{where}{self._words(stream)}. It began about {began}."

    def _words(self, stream: Stream) -> str:
        """Return the change, in words."""
        change, since = stream.change, stream.since
        assert change is not None
        assert since is not None
        seen = f"{percent(since.observed)} observed"
        if self.watched == "promise":
            limit = percent(self.promise or 0)
            return f"Errors are more frequent than promised: {seen}, at most {limit} promised"
        way = "over" if since.gap > 0 else "under"
        words = {
            "probability": f"{self.of} {way}-predicted",
            "confidence": f"{way}-confident",
            "rate": f"right answers {'less' if since.gap > 0 else 'more'} frequent than expected",
        }[self.watched]
        slope = f"; probabilities are too {'extreme' if change.slope < 1 else 'timid'}"
        seen += "" if change.slope == 1 or self.watched == "rate" else slope
        return f"{words[0].upper()}{words[1:]}: {percent(since.predicted)} {self._expected()}, {seen}"

    def _expected(self) -> str:
        return "predicted" if self.reference_rows is None else "expected"

    def _assumed(self) -> Iterator[str]:
        """Yield the kind of the stream, and the hypothesis under test."""
        quantity = {
            "probability": f"the probability of {self.of}",
            "confidence": "the confidence",
            "rate": "the share of right answers",
            "promise": f"an error rate of at most {percent(self.promise or 0)} above the threshold",
        }[self.watched]
        assumption = "" if self.watched == "promise" else " is right"
        if self.reference_rows is not None:
            assumption = f" is as in the {self.reference_rows:,} rows of the reference, which tell the "
            assumption += f"frequency at the usual prediction to ±{100 * self.left_open:.1f} points"
        elif self.left_open:
            assumption += f", up to {100 * self.left_open:.1f} points"
        cluster = self.settings.cluster
        rows = f"rows are independent{'' if cluster is None else f', except within a {cluster}'}"
        yield f"Assumed: {quantity}{assumption}; given their predictions, {rows}."
        if returned := sum(period.returned for period in self.streams[0].periods):
            yield f"{returned:,} rows add no evidence: their {cluster} came in an earlier period."
        rate = level_percent(1 - self.settings.level)
        yield f"However often one looks, at most {rate} of streams ever raise a false alarm."
        if self.left_out:
            yield f"{counted(self.left_out, 'row')} left out: before --since, or not yet mature."

    def _slices(self) -> TextTable:
        cells = {
            Column("rows"): lambda s: f"{joined(s.periods).rows:,}",
            Column("gap"): lambda s: f"{100 * joined(s.periods).gap:+.1f}",
            Column("evidence"): lambda s: _evidence(s.log_values[-1]),
            Column("alarm at"): lambda s: _evidence(_limit(s)),
            Column("alarm"): lambda s: NONE if s.alarm is None else s.periods[s.alarm].name,
        }
        rows = [(ALL if s.value is None else f"{self.settings.by}={s.value}", s) for s in self.streams]
        return table_of("Slices", rows, cells)

    def _periods(self, stream: Stream) -> TextTable:
        """Return a line for each period, or for several older ones."""
        number_of, alone = len(stream.periods), LATEST
        cuts = [*range(number_of)]
        if number_of > LINES and not self.details:
            old, groups = number_of - alone, LINES - alone
            cuts = [*(round(n * old / groups) for n in range(groups)), *range(old, number_of)]
        ranges = list(zip(cuts, [*cuts[1:], number_of], strict=True))

        def seen(part: tuple[int, int]) -> Period:
            return joined(stream.periods[part[0] : part[1]])

        def loss(part: tuple[int, int]) -> str:
            log_loss = seen(part).log_loss
            return NONE if log_loss is None else number(log_loss)

        def precision(part: tuple[int, int]) -> str:
            so_far = joined(stream.periods[: part[1]])
            return percent(so_far.right / so_far.above) if so_far.above else NONE

        counted = any(period.seen for period in stream.periods)
        cells: dict[Column, Any] = {Column("rows"): lambda part: f"{seen(part).seen or seen(part).rows:,}"}
        if counted:
            cells |= {Column("at or above"): lambda part: f"{seen(part).above:,}"}
        cells |= {
            **({Column("precision"): precision} if counted else {Column("log-loss"): loss}),
            Column(self._expected()): lambda part: percent(seen(part).predicted),
            Column("observed"): lambda part: percent(seen(part).observed),
            Column("gap"): lambda part: f"{100 * seen(part).gap:+.1f}",
            Column("evidence"): lambda part: _evidence(stream.log_values[part[1] - 1]),
        }
        of = "" if stream.value is None else f" of {self.settings.by}={stream.value}"
        gaps = f"Gaps are in points: {self._expected()} minus observed."
        summed = "Evidence and precision are" if counted else "Evidence is"
        notes = [f"{gaps} {summed} cumulative; the alarm is at {_evidence(_limit(stream))}."]
        return table_of(f"Periods{of}", [(seen(part).name, part) for part in ranges], cells, notes)


def _above(periods: Sequence[Period]) -> dict[str, Any]:
    """Return the counts of the last period at a threshold, and the precision there so far; {} without one."""
    so_far, last = joined(periods), periods[-1]
    if not so_far.seen:
        return {}
    precision = so_far.right / so_far.above if so_far.above else math.nan
    return {"seen": last.seen, "above": last.above, "precision_so_far": precision}


ALL = "all rows"


def _limit(stream: Stream) -> float:
    return -math.log1p(-stream.level)


def _evidence(log_value: float) -> str:
    """Return an e-value, or its power of ten if large."""
    if log_value > math.log(10_000):
        return f"1e+{int(log_value / math.log(10))}"
    return f"{math.exp(log_value):.{2 if log_value < math.log(10) else 0}f}"
