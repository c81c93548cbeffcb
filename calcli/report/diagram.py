"""A reliability diagram in characters, for terminals far from anything that shows pictures."""

from __future__ import annotations

import numpy as np

from calcli.core.curves.reliability import BAND, Reliability
from calcli.core.estimators.calibrationerror import Null
from calcli.core.language.text import apart, number, percent, plus_minus
from calcli.report.shown import Column, Mark, TextTable

PLACES = 28  # characters from 0 to 1
CHANCE, SCORE, OBSERVED, BOTH = "░", "|", "●", "◆"
AXIS = "0" + "observed".center(PLACES - 2) + "1"
WITH_BAND = f"{OBSERVED} observed; {CHANCE} where {BAND:.0%} of such bins would be if calibrated"
WITHOUT_BAND = f"{OBSERVED} observed; {SCORE} mean score; {BOTH} both"
GAP = "gap: mean score minus observed."


def diagram_table(result: Reliability, title: str) -> TextTable:
    """Return a line for each bin: where it lies, its share of the rows, what was observed, and its gap.

    Parameters
    ----------
    result
        The bins, with their values if calibrated where those were drawn.
    title
        Of the table.
    """
    banded = bool(np.isfinite(result.low).any())
    share = result.bins.weight / result.bins.weight.sum()
    rows: list[tuple[str, ...]] = []
    marks: dict[tuple[int, int], Mark] = {}
    digits = max(2, (apart(*np.diff(result.edges).tolist()) or 0) - 1)  # one of the narrowest bin
    for m, rows_of_bin in enumerate(result.bins.count):
        where = " to ".join(f"{edge:.{digits}f}" for edge in result.edges[m : m + 2])
        if not rows_of_bin:
            rows.append((where, "", "", ""))
            continue
        gap = result.gap[m]
        if not result.thin[m]:
            marks[len(rows), 3] = "over" if gap > 0 else "under"
        rows.append((where, percent(share[m]), _line(result, m), number(gap, sign=True)))
    score = "confidence" if result.lens == "top-1" else result.lens
    columns = (Column(score, "left"), Column("rows"), Column(AXIS, "left"), Column("gap"))
    notes = (f"{WITH_BAND if banded else WITHOUT_BAND}; {GAP}", _errors(result))
    return TextTable(title, columns, tuple(rows), notes, marks)


def _line(result: Reliability, m: int) -> str:
    """Return the axis of one bin: the band behind, and before it what was observed."""
    signs = [" "] * PLACES
    low, high = result.low[m], result.high[m]
    observed, score = _place(result.frequency[m]), _place(result.mean_score[m])
    if np.isfinite(low):
        for place in range(_place(low), _place(high) + 1):
            signs[place] = CHANCE
    else:
        signs[score] = SCORE
    signs[observed] = BOTH if signs[observed] == SCORE else OBSERVED
    return "".join(signs).rstrip()


def _place(value: float) -> int:
    return min(int(value * PLACES), PLACES - 1)


def _errors(result: Reliability) -> str:
    errors = {"ece": result.binned, "ks": result.ks}
    said = [f"{name} {_with_null(error.value, error.if_calibrated)}" for name, error in errors.items()]
    return f"{result.bins.count.sum():,} rows; {'; '.join(said)}."


def _with_null(value: float, null: Null | None) -> str:
    if null is None:
        return number(value)
    return f"{number(value, digits=apart(null.sd))} (if calibrated {plus_minus(null.mean, null.sd)})"
