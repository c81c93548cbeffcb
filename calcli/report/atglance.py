"""Many data sets at a glance: a line each, those that failed first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan

from calcli.core.language.errors import UsageError
from calcli.core.language.text import counted, number
from calcli.report.recalibration import share_won
from calcli.report.shown import Column, TextTable
from calcli.report.summary import Result
from calcli.report.wording import NONE

MANY = 20  # data sets, from which on details are left out unless asked for
LEADING = ("log_loss", "accuracy")
LEADING_OF_TWO = ("log_loss", "auroc")  # who answers the commoner class throughout is accurate, too
MOST_METRICS = 2  # so that a line stays one
TITLE = "At a glance"
WON = "gain: the share of the log-loss that recalibration removes on unseen rows, ± se."
FAILED, NOT_READ = "FAILED", "not read"


@dataclass(frozen=True)
class Unread:
    """A file that could not be read.

    Attributes
    ----------
    path
        Its name.
    reason
        Why, a sentence.
    """

    path: str
    reason: str


def in_order(results: Sequence[Result], names: Sequence[str], metric: str) -> list[int]:
    """Return the places of results, the best by a metric first and those without it last.

    Raises
    ------
    UsageError
        If none of them has the metric.
    """
    if not any(metric in result.metrics for result in results):
        raise UsageError(f"--sort {metric}: this metric was not computed; add it to --metrics")

    def badness(place: int) -> tuple[bool, float, str]:
        found = results[place].metrics.get(metric)
        value = found.call.entry.cost(found.value) if found else float("nan")
        return isnan(value), 0.0 if isnan(value) else value, names[place]

    return sorted(range(len(results)), key=badness)


def glance_table(
    results: Sequence[Result],
    names: Sequence[str],
    unread: Sequence[Unread],
    broken: Mapping[str, Sequence[str]],
    sort: str | None,
    hidden: int = 0,
) -> TextTable:
    """Return a line for each data set, unread ones and those that break a rule first.

    Parameters
    ----------
    results, names
        What was found, and what to call each.
    unread
        Files that could not be read.
    broken
        The rules that a data set breaks, by path.
    sort
        The metric that orders the others; None for the order given.
    hidden
        Data sets without details below.
    """
    leading = LEADING_OF_TWO if all(result.of_two for result in results) else LEADING
    order = in_order(results, names, sort) if sort else list(range(len(results)))
    order.sort(key=lambda place: results[place].input.path not in broken)
    every = list(dict.fromkeys(metric for result in results for metric in result.metrics))
    chosen = [*([sort] if sort else []), *(name for name in leading if name in every and name != sort)]
    metrics = chosen[:MOST_METRICS] or every[:1]
    failing = any(broken.values()) or bool(unread)
    heads = [Column("", "left"), *([Column("", "left")] * failing), Column("rows"), Column("verdict", "left")]
    won = any(share_won(result.metrics) != NONE for result in results)
    column = {name: [one.metrics[name].value for one in results if name in one.metrics] for name in metrics}
    rows = [(one.path, NOT_READ, *[NONE] * (2 + len(metrics) + won)) for one in unread]
    for place in order:
        result = results[place]
        failed = [FAILED if broken.get(result.input.path) else ""] * failing
        own = result.metrics
        values = [number(own[name].value, *column[name]) if name in own else NONE for name in metrics]
        words = result.verdict.word if result.verdict else NONE
        values += [share_won(own)] * won
        rows.append((names[place], *failed, f"{result.input.rows:,}", words, *values))
    notes = [*_notes(results, unread, broken), *([WON] * won), *hidden_note(hidden)]
    notes += [
        f"{name}: {one}." for name, result in zip(names, results, strict=True) for one in result.input.doubts
    ]
    columns = (*heads, *map(Column, metrics), *([Column("gain")] * won))
    return TextTable(TITLE, columns, tuple(rows), tuple(notes))


def hidden_note(hidden: int) -> list[str]:
    """Return what stands below a glance whose details are left out."""
    return [f"{counted(hidden, 'file')} without details here; --details shows all."] if hidden else []


def _notes(
    results: Sequence[Result], unread: Sequence[Unread], broken: Mapping[str, Sequence[str]]
) -> list[str]:
    failing = [result.input.path for result in results if broken.get(result.input.path)]
    every = len(results) + len(unread)
    notes = [one.reason for one in unread]
    if failing or unread:
        parts = [f"{len(failing)} broke a rule"] * bool(failing) + [f"{len(unread)} not read"] * bool(unread)
        notes.insert(0, f"{len(failing) + len(unread)} of {every} files failed: {', '.join(parts)}.")
    return notes
