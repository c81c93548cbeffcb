"""What errors are if the posteriors that were given are true."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from calcli.core.evaluating.results import Estimate
from calcli.core.language.text import number, p_value
from calcli.report.estimates import (
    if_calibrated,
    tested_p,
    value,
)
from calcli.report.shown import Column, TextTable, table_of
from calcli.report.summary import Result
from calcli.report.wording import NONE

TITLE = "Errors if --posteriors are true"
CHANCE = "how often one is at least as large as the estimate. A large p does not prove the posteriors."


def under_given(metrics: Mapping[str, Estimate]) -> TextTable:
    """Return what errors are, and how large chance makes them, if the given posteriors are true."""
    found = _known(metrics)
    cells: dict[Column, Callable[[Estimate], str]] = {
        Column("estimate"): value,
        Column("true"): _true,
    }
    notes = []
    if any(one.if_given for one in found.values()):
        cells |= {
            Column("if given"): lambda one: if_calibrated(replace(one, if_calibrated=one.if_given)),
            Column("p"): lambda one: tested_p(replace(one, if_calibrated=one.if_given)),
        }
        notes.append(f"if given: mean ± sd of estimates from labels drawn from --posteriors; p: {CHANCE}")
    return table_of(TITLE, found.items(), cells, notes)


def given_side_by_side(results: Sequence[Result], names: Sequence[str]) -> TextTable:
    """Return the true errors of several results, a row each, and the p-values if posteriors were tested."""
    known = [_known(result.metrics) for result in results]
    metrics = list(dict.fromkeys(metric for found in known for metric in found))
    rows = [
        (name, *(_cell(found[metric]) if metric in found else NONE for metric in metrics))
        for name, found in zip(names, known, strict=True)
    ]
    tested = any(one.if_given for found in known for one in found.values())
    notes = [f"p, of estimates from labels drawn from --posteriors: {CHANCE}"] * tested
    return TextTable(TITLE, (Column("", "left"), *map(Column, metrics)), tuple(rows), tuple(notes))


def flat_given(estimate: Estimate) -> dict[str, float | None]:
    """Return the same as columns of a record; none of what is not known."""
    found = {"true": estimate.parts["true"]} if "true" in estimate.parts else {}
    given = estimate.if_given
    if given is None:
        return {**found}
    return {
        **found,
        "if_given_mean": given.mean,
        "if_given_sd": given.sd,
        "if_given_p_value": given.p_value,
    }


def _known(metrics: Mapping[str, Estimate]) -> dict[str, Estimate]:
    return {name: one for name, one in metrics.items() if one.if_given or "true" in one.parts}


def _true(one: Estimate) -> str:
    return number(one.parts["true"]) if "true" in one.parts else NONE


def _cell(one: Estimate) -> str:
    return _true(one) + (f" p {p_value(one.if_given.p_value)}" if one.if_given else "")
