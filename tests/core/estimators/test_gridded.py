"""No true error exceeds its bound, and the worst order of rows reaches it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calcli.core.estimators.gridded import area_on_grid, average_precision_on_grid
from calcli.core.evaluating.metrics.cumulative import KolmogorovSmirnov, Kuiper
from calcli.core.evaluating.metrics.miscalibration import ECE
from calcli.core.evaluating.metrics.ranking import AREA, PRECISION, Augrc, Aurc, Coverage, SelectiveAccuracy
from calcli.core.problems.problem import ordered_problem
from calcli.core.state.cells import ScoreCells, grid_edges

ESTIMATORS = {
    "ks": KolmogorovSmirnov(),
    "kuiper": Kuiper(),
    "equal-mass": ECE(binning="equal-mass"),
    "bins between edges": ECE(bins=7),
    "edges between edges": ECE(binning="0/0.12345/0.5001/1"),
    "whole cells": ECE(),
    "whole cells, norm 2": ECE(bins=20, norm="2"),
}
SELECTIVE = {
    "aurc": Aurc(), "augrc": Augrc(),
    "accuracy": SelectiveAccuracy(coverage=0.7), "coverage": Coverage(max_error=0.3),
}  # fmt: skip


def on_grid(score, outcome, weights=None):
    cells = ScoreCells(1, weights is not None, score.dtype)
    cells.add(score, outcome, weights)
    return cells


def errors(score, outcome, weights=None):
    """Return by name the true error of each estimator, and what is said of it."""
    cells, truth = on_grid(score, outcome, weights), ordered_problem(score, outcome, weights)
    table, problem = cells.table(), cells.problem()
    found = {
        name: (abs(one.value(problem) - one.value(truth)), one.on_grid(table, problem))
        for name, one in ESTIMATORS.items()
    }
    whole = None if weights is None else np.ceil(weights)  # which count as rows
    counted, of_rows = on_grid(score, outcome, whole), ordered_problem(score, outcome, whole)
    for name, one in SELECTIVE.items():
        apart = abs(one.spread(counted.problem()).value - one.spread(of_rows).value)
        found[name] = apart, one.on_grid(counted.table())
    area = abs(AREA.spread(problem).value - AREA.spread(truth).value), area_on_grid(table)
    precision = abs(PRECISION.spread(problem).value - PRECISION.spread(truth).value)
    return found | {"auroc": area, "average_precision": (precision, average_precision_on_grid(table))}


def rows(n, seed):
    """Return scores of which many or few share a cell, with outcomes and weights."""
    rng = np.random.default_rng(seed)
    centre, width = rng.random(), 10.0 ** rng.integers(-5, 1)
    score = np.clip(np.where(rng.random(n) < 0.8, centre + width * rng.normal(size=n), rng.random(n)), 0, 1)
    score = np.round(score, 6) if seed % 3 == 0 else score
    outcome = rng.random(n) < score ** rng.uniform(0.7, 1.5)
    outcome[:2] = False, True
    return score, outcome, rng.gamma(1, size=n) if seed % 2 else None


@settings(max_examples=60, deadline=None)
@given(st.integers(50, 3000), st.integers(0, 10_000))
def test_no_error_exceeds_its_bound(n, seed):
    for name, (true, said) in errors(*rows(n, seed)).items():
        assert true <= said.bound + 1e-9, name


def test_errors_of_whole_cells_are_zero():
    for seed in range(5):
        found = errors(*rows(2000, seed))
        for name in ("whole cells", "whole cells, norm 2"):
            assert found[name][1].bound == 0
            assert found[name][0] < 1e-9


def test_the_worst_order_of_rows_reaches_the_bounds():
    edges = grid_edges()
    cell = int(np.searchsorted(edges, 0.3456))
    low, high = edges[cell], edges[cell + 1]
    score = np.linspace(low, high, 200, endpoint=False)
    for first in (False, True):  # all of one outcome before all of the other
        outcome = (np.arange(200) >= 100) != first
        found = errors(score, outcome)
        assert found["auroc"][0] == found["auroc"][1].bound == 0.5
        true, said = found["ks"]
        assert true <= said.bound
    true, said = errors(score, np.arange(200) < 69)["ks"]
    assert true == pytest.approx(said.bound, rel=1e-2)


def test_the_cells_of_the_other_class_are_its_own():
    score, outcome, _ = rows(3000, 4)
    found = on_grid(score, outcome).table().of_other_class()
    expected = on_grid(1 - score, ~outcome).table()
    np.testing.assert_allclose(found.weight.sum(1), expected.weight.sum(1))
    np.testing.assert_allclose(found.score.sum(1), expected.score.sum(1), rtol=1e-9)
