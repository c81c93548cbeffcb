"""Decisions under costs: how often each was taken, for which classes, at what cost."""

from __future__ import annotations

from collections.abc import Sequence

from calcli.core.evaluating.results import Decision
from calcli.core.language.text import number, percent
from calcli.report.estimates import NONE
from calcli.report.findings import Result
from calcli.report.shown import Column, TextTable

MOST_DECISIONS = 12
MOST_ABREAST = 6  # columns of several results side by side
FEW_CLASSES = 4  # of which a column fits for each


def decision_table(
    name: str, decisions: Sequence[Decision], classes: Sequence[str] = (), threshold: float | None = None
) -> TextTable:
    """Return the decisions taken under some costs, the most frequent first, and of few classes for which."""
    taken = sorted((row for row in decisions if row.rows), key=lambda row: -row.rows)
    named = classes if len(classes) <= FEW_CLASSES else ()
    rows = tuple(
        (row.name, f"{row.rows:,}", percent(row.share), number(row.mean_cost), *_of_classes(row, named))
        for row in taken[:MOST_DECISIONS]
    )
    notes = _left_out(len(taken) - len(rows))
    if named:
        notes.append("of a class: the share of its rows with this decision.")
    if threshold is not None:
        second = decisions[1].name
        notes.append(f"{second} is decided where the probability of {classes[1]} is above {threshold:.4g}.")
    heads = ["rows", "share", "mean cost", *(f"of {name}" for name in named)]
    return TextTable(_title(name), (Column("decision", "left"), *map(Column, heads)), rows, tuple(notes))


def decisions_side_by_side(results: Sequence[Result], names: Sequence[str]) -> list[TextTable]:
    """Return for each of the costs the share of every decision, a row for each result."""
    every = dict.fromkeys(costs for result in results for costs in result.decisions)
    return [_abreast(costs, results, names) for costs in every]


def _abreast(costs: str, results: Sequence[Result], names: Sequence[str]) -> TextTable:
    shares = [{one.name: one.share for one in result.decisions.get(costs, ())} for result in results]
    most = {name: max(own.get(name, 0.0) for own in shares) for own in shares for name in own}
    taken = sorted((name for name, share in most.items() if share), key=lambda name: -most[name])
    shown = taken[:MOST_ABREAST]
    rows = tuple(
        (name, *(percent(own[decision]) if decision in own else NONE for decision in shown))
        for name, own in zip(names, shares, strict=True)
    )
    notes = ("Share of the rows with each decision.", *_left_out(len(taken) - len(shown)))
    return TextTable(_title(costs), (Column("", "left"), *map(Column, shown)), rows, notes)


def _title(costs: str) -> str:
    return f"Decisions under {costs}"


def _left_out(rest: int) -> list[str]:
    return [f"{rest:,} more decisions were taken; JSON has them all."] if rest else []


def _of_classes(decision: Decision, classes: Sequence[str]) -> list[str]:
    shares = [decision.by_class[name].share if name in decision.by_class else 0.0 for name in classes]
    return [percent(share) for share in shares]
