"""When the mean area under the curves of several classes has an interval."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import hmean

from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.settings import Settings
from calcli.io.handed import from_arrays


@pytest.mark.parametrize("rows", [(6, 6, 4, 5), (12, 8, 5, 4), (20, 20, 20, 1), (5, 5, 5, 4)])
@pytest.mark.parametrize("more", [1, 3])
def test_it_needs_five_units_a_class_in_the_harmonic_mean(rows, more):
    """Clusters of equal rows count once."""
    labels = np.repeat(np.arange(4), rows)
    scores = np.random.default_rng(0).normal(size=(len(labels), 4)) + np.eye(4)[labels]
    cluster = np.arange(len(labels))
    found = from_arrays(
        np.repeat(scores, more, axis=0),
        np.repeat(labels, more),
        weights=np.full(more * len(labels), 2.0),
        columns={"case": np.repeat(cluster, more)},
    )
    settings = Settings(("auroc",), cluster="case" if more > 1 else None)
    estimate = evaluate(found, settings).estimates["auroc"]
    enough = hmean(rows) >= 5
    assert (estimate.interval is not None) == enough
    unit = "row" if more == 1 else "cluster"
    assert estimate.no_interval == ("" if enough else f"{int(hmean(rows))} {unit}s carry this figure")
