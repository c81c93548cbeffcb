"""Segments with differences beyond chance, as shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from calcli.core.estimators.intervals import level_percent
from calcli.core.estimators.power import POWER
from calcli.core.estimators.segments import LOOKS, Search, Segment
from calcli.core.language.settings import SegmentSettings
from calcli.core.language.text import counted, number, p_value, percent, some, span
from calcli.report.reading import reading_sentences
from calcli.report.shown import Column, Headline, Number, Shown, TextTable, table_of

if TYPE_CHECKING:
    from calcli.report.page import Picture


class SegmentsObject(TypedDict):
    """A report of `calcli segments`."""

    path: str
    rows: int
    settings: Annotated[Any, SegmentSettings]
    found: list[Annotated[Any, Segment]]
    p_value_left: float
    segments: list[Annotated[Any, Segment]]


@dataclass(frozen=True, repr=False, eq=False)
class SegmentsReport(Shown):
    """Segments with differences beyond chance; printed, it shows the tables of the command line.

    Attributes
    ----------
    path, rows
        What was read.
    search
        The result of the search.
    settings
        The settings of the search.
    reading
        How it was read, sentences.
    adjective
        The word after over and under: "predicted" for the probability of a class, "confident" for the
        confidence.
    details
        Whether all segments are shown.
    """

    path: str
    rows: int
    search: Search
    settings: SegmentSettings
    reading: Sequence[str] = ()
    adjective: str = "predicted"
    details: bool = False

    title = "Segments"
    schema = "calcli.segments/1"

    def tables(self) -> list[TextTable]:
        """Return the verdict and the search, the segments beyond chance, and with details all segments."""
        read = reading_sentences([(self.path, self.reading)])
        tables = [TextTable(self._verdict(), notes=(*self._notes(), *read))]
        if self.search.found:
            tables.append(self._table("Beyond chance", self.search.found))
        if self.details:
            tables.append(self._table("All segments", self.search.segments, details=True))
        return tables

    def headline(self) -> Headline:
        """Return the number of segments beyond chance, and the first one."""
        numbers = [Number(s.name, self._value(s.value), self._span(s)) for s in self.search.found[:3]]
        read = f"{self.path}: {counted(self.rows, 'row')}"
        return Headline(read, f"{self._verdict()}.", "bad" if numbers else "good", numbers)

    def pictures(self) -> Sequence[Picture]:
        """Return the segments with their intervals."""
        from calcli.report.pictures import segment_pictures

        return segment_pictures(self.search, self.settings.metric)

    def data(self) -> SegmentsObject:
        """Return the same as nested values."""
        return {
            "path": self.path,
            "rows": self.rows,
            "settings": vars(self.settings),
            "found": [vars(s) for s in self.search.found],
            "p_value_left": self.search.left,
            "segments": [vars(segment) for segment in self.search.segments],
        }

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield a record for every segment."""
        names = {s.name for s in self.search.found}
        for segment in self.search.segments:
            yield {**vars(segment), "found": segment.name in names}

    def _verdict(self) -> str:
        looked_at, beyond = counted(len(self.search.segments), "segment"), len(self.search.found)
        if not beyond:
            return f"Nothing beyond chance in {looked_at}"
        return f"{beyond} of {looked_at} {'is' if beyond == 1 else 'are'} off beyond chance"

    def _notes(self) -> Iterator[str]:
        settings, search = self.settings, self.search
        pairs = ", and pairs of them" if settings.depth > 1 and len(settings.columns) > 1 else ""
        fewest = settings.fewest(self.rows)
        yield f"Values of {some(settings.columns)}{pairs}, with at least {fewest:,} rows each."
        p_left = p_value(search.left)
        if len(search.found) >= LOOKS:
            yield f"{LOOKS} are shown at most; the next one has p = {p_left}."
        elif search.found:
            them = "it" if len(search.found) == 1 else "them"
            yield f"With {them} corrected, nothing else is off beyond chance (p = {p_left})."
        else:
            top = search.segments[0]
            yield f"Furthest off: {top.name}, {self._words(top)} (p = {p_left})."
        by_size = sorted(search.segments, key=lambda segment: segment.rows)
        chosen = {s.rows: s for s in (by_size[0], by_size[len(by_size) // 2], by_size[-1])}
        sizes = "; ".join(
            f"{self._value(s.detectable, sign=False)} in {rows:,} rows" for rows, s in chosen.items()
        )
        raw = "raw " * (settings.metric == "gap")
        yield f"Smallest {raw}difference found in {POWER:.0%} of cases: {sizes}."
        if settings.after == "affine":
            yield "All rows were recalibrated first; segments are judged after that."

    def _table(self, title: str, segments: Sequence[Segment], *, details: bool = False) -> TextTable:
        metric = "gap" if self.settings.metric == "gap" else "log-loss"
        cells: dict[Column, Callable[[Segment], str]] = {
            Column("rows"): lambda s: f"{s.rows:,}",
            Column("predicted"): lambda s: percent(s.predicted),
            Column("observed"): lambda s: percent(s.observed),
            Column(metric): lambda s: self._value(s.value, unit=False),
            Column("interval"): self._span,
            Column("p"): lambda s: p_value(s.p_value),
        }
        if details:
            cells[Column("detectable")] = lambda s: self._value(s.detectable, sign=False, unit=False)
        return table_of(title, [(segment.name, segment) for segment in segments], cells, [self._level()])

    def _level(self) -> str:
        note = "Gaps are in points: predicted minus observed."
        if self.settings.metric == "log_loss":
            note = "The log-loss is that beyond what the predictions expect."
        return f"{note} Intervals ({level_percent(self.settings.level)}) and p hold for all segments at once."

    def _words(self, segment: Segment) -> str:
        if self.settings.metric == "log_loss":
            return f"by {self._value(segment.value)}"
        way = "over" if segment.value > 0 else "under"
        return f"{way}-{self.adjective} by {self._value(abs(segment.value), sign=False)}"

    def _value(self, value: float, *, sign: bool = True, unit: bool = True) -> str:
        if self.settings.metric == "log_loss":
            return number(value, sign=sign)
        return f"{100 * value:{'+' * sign}.1f}{' points' * unit}"

    def _span(self, segment: Segment) -> str:
        if self.settings.metric == "log_loss":
            return span(segment.low, segment.high, sign=True)
        return f"{100 * segment.low:+.1f} to {100 * segment.high:+.1f}"
