"""How many permutations are affordable: few of slow metrics, never so few that no test can be significant."""

from __future__ import annotations

import numpy as np
import pytest

from calcli.core.comparing.systems import evidence, measured_systems
from calcli.core.estimators.effort import (
    BEARABLE,
    ENOUGH,
    FEWEST,
    RESAMPLES,
    SPREADS,
    affordable_draws,
    affordable_resamples,
)
from calcli.core.evaluating.families.base import Pair
from calcli.core.language.expressions import parse_metric
from calcli.core.language.methods import METHODS
from calcli.core.language.settings import Settings


@pytest.mark.parametrize("draws", [1, 5, 999, 4000])
@pytest.mark.parametrize("tests", [1, 3, 50])
def test_the_work_of_all_tests_is_bounded(draws, tests):
    for effort in np.geomspace(1, 1e12, 200):
        found = affordable_draws(draws, effort, 600, tests)
        assert 0 <= found <= draws
        each = found * effort
        assert each * tests <= ENOUGH or each * min(tests, 3) <= BEARABLE
        assert not 0 < found < draws // 8


def test_there_are_resamples_enough_for_a_deviation():
    found = [affordable_resamples(effort, 600) for effort in np.geomspace(1, 1e12, 200)]
    assert found == sorted(found, reverse=True)
    assert (found[0], found[-1]) == (RESAMPLES, FEWEST)
    assert affordable_resamples(SPREADS / 100, 600) == 100
    assert affordable_resamples(1e8, 10_000_000) == RESAMPLES


def permutations(systems, metric):
    settings = Settings(metrics=(metric,))
    first, second, *others = measured_systems(systems, settings)
    return evidence(parse_metric(metric), Pair(first, second, settings, tests=1 + len(others))).method


@pytest.mark.parametrize("method", ["temperature", "bbq"])
def test_metrics_that_fit_are_not_tested(predict, method):
    two = [predict([[0.3, 0.7], [0.6, 0.4], [0.2, 0.8]] * 4, [1, 0, 0] * 4)] * 2
    assert permutations(two, f"expected_score:recalibrator={method}:training=test") == "untested"


@pytest.mark.parametrize("name", sorted(METHODS))
def test_a_fit_costs_more_of_more_rows_and_by_other_scores(name):
    inner = "/calibrator=histogram" if METHODS[name].family == "wrapper" else ""
    method = parse_metric(f"expected_score:recalibrator={name}{inner}").fitted
    assert 0 < method.effort(100, 5) < method.effort(200, 5)
    if "score" in METHODS[name].arguments:
        by_brier = parse_metric(f"expected_score:recalibrator={name}/score=brier").fitted
        assert by_brier.effort(100, 5) == 4 * method.effort(100, 5)
