"""Metrics that are best at a value between others: which of two systems is nearer to it, beyond chance."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy.special import expit

from calcli.core.comparing.comparison import Plan, compare
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.language.metrics import METRICS
from calcli.core.language.settings import Settings

TARGETED = tuple(name for name, metric in METRICS.items() if metric.target is not None)


def verdicts(metric, old, new, rows, sets):
    """Count the verdicts on a system that turns true log-odds to `new` after one that turns them to `old`."""
    rng, found = np.random.default_rng(0), Counter()
    for _ in range(sets):
        true = rng.normal(0, 2, rows)
        labels = (rng.random(rows) < expit(true)).astype(int)
        pair = [
            Predictions(ArrayScores(np.stack([0 * true, turn(true)], 1), "logits"), labels, ("no", "yes"))
            for turn in (old, new)
        ]
        (compared,) = compare(pair, Settings((metric,), draws=39), Plan(ranked_by=metric))
        found[compared.differences[0][metric].verdict] += 1
    return found


@pytest.mark.parametrize(
    ("metric", "old", "new"),
    [
        ("calibration_slope", lambda z: z / 1.2, lambda z: z / 0.8),
        ("calibration_in_the_large", lambda z: z + 0.4, lambda z: z - 0.4),
    ],
)
def test_errors_of_opposite_signs_and_the_same_size_are_alike(metric, old, new):
    """The binomial 99.9% quantile of 50 verdicts at 5% is 8."""
    found = verdicts(metric, old, new, 400, 50)
    assert found["better"] + found["worse"] <= 8


def test_a_mean_gap_that_shrinks_is_better_and_one_that_grows_is_worse():
    """A factor of 1.2 on the log-odds makes a gap of 0.022, one of 1.02 a gap of 0.003."""
    found = verdicts("mean_gap", lambda z: 1.2 * z, lambda z: 1.02 * z, 10_000, 20)
    assert found["better"] >= 17
    assert found["worse"] == 0
    found = verdicts("mean_gap", lambda z: 0.98 * z, lambda z: 1.2 * z, 10_000, 20)
    assert found["worse"] >= 17


@pytest.mark.parametrize("metric", TARGETED)
def test_nearer_to_the_target_is_better(metric):
    """An over-confident system that predicts too much, and the calibrated one."""
    for first, second, verdict in (
        (lambda z: 2 * z + 1, lambda z: z, "better"),
        (lambda z: z, lambda z: 2 * z + 1, "worse"),
    ):
        assert verdicts(metric, first, second, 4_000, 3) == {verdict: 3}
