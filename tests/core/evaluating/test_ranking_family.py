"""How many rows the mean area under the curves of several classes rests on, and its interval."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.settings import Settings
from calcli.io.handed import from_arrays


@pytest.mark.parametrize("rows", [(6, 6, 4, 5), (12, 8, 5, 4), (20, 20, 20, 1), (3, 50)])
@pytest.mark.parametrize("more", [1, 3])
def test_without_a_fault_it_is_a_share_of_the_rows_of_a_class_in_the_harmonic_mean(rows, more):
    """Clusters of equal rows count once, and of two classes the rarer one."""
    labels = np.repeat(np.arange(len(rows)), rows)
    cluster = np.arange(len(labels))
    found = from_arrays(
        np.repeat(20.0 * np.eye(len(rows))[labels], more, axis=0),
        np.repeat(labels, more),
        weights=np.full(more * len(labels), 2.0),
        columns={"case": np.repeat(cluster, more)},
    )
    settings = Settings(("auroc",), cluster="case" if more > 1 else None)
    estimate = evaluate(found, settings).estimates["auroc"]
    carried = stats.hmean([min(own, sum(rows) - own) for own in rows])
    assert (estimate.value, estimate.interval.high) == (1, 1)
    assert estimate.interval.low == pytest.approx(0.025 ** (1 / carried))


@pytest.mark.parametrize("rows", [(40, 40, 40), (30, 9, 9), (60, 3, 3)])
def test_shown_intervals_of_the_mean_area_miss_rarely(rows):
    """Of three normal classes whose pairs are ranked alike, the mean area is told by simulation."""
    rng, labels = np.random.default_rng(0), np.repeat(np.arange(3), rows)

    def area(labels, **asked):
        scores = rng.normal(size=(len(labels), 3)) + 1.5 * np.eye(3)[labels]
        return evaluate(from_arrays(scores, labels), Settings(("auroc",), **asked)).estimates["auroc"]

    truth = area(np.repeat(labels, 2000), intervals=False).value
    missed = sum(not area(labels).interval.contains(truth) for _ in range(150))
    assert missed <= stats.binom.ppf(0.999, 150, 0.06)
