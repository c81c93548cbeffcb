"""Rows without a cluster or a fold are refused by the first of them, whatever says so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calcli.core.comparing.checking import Baseline, check
from calcli.core.comparing.comparison import Plan, compare
from calcli.core.comparing.policy import Bound, Policy, Rule
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.errors import InputError
from calcli.core.language.expressions import parse_metric
from calcli.core.language.settings import Settings
from calcli.core.recalibrating.benchmark import task_of

FAULT = r"arrays: row 5 has no value in column 'of', as have 1 more"
CLUSTERED = Settings(metrics=("log_loss",), cluster="of", draws=99)
FOLDED = Settings(metrics=("calibration_loss",), fold_column="of", draws=0)


@pytest.fixture
def rows(predict):
    """Return predictions of ten clusters, two rows of which have none."""
    rng = np.random.default_rng(0)
    clusters = np.arange(60) % 10 / 2
    clusters[[5, 9]] = np.nan
    found = predict(rng.dirichlet(np.ones(3), 60), rng.integers(0, 3, 60))
    return replace(found, columns={"of": clusters})


@pytest.mark.parametrize(
    ("gone", "kind"), [(np.nan, float), ("", str), (None, object), (np.nan, object), ("NaT", "M8[D]")]
)
def test_a_row_without_a_cluster_or_fold_is_refused(rows, gone, kind):
    column = (np.arange(60) % 10).astype(kind)
    column[[5, 9]] = gone
    rows = replace(rows, columns={"of": column})
    for settings, fault in ((CLUSTERED, FAULT), (FOLDED, f"{FAULT}; expected the fold of every row")):
        with pytest.raises(InputError, match=fault):
            evaluate(rows, settings)
        with pytest.raises(InputError, match=fault):
            compare([rows, rows], settings, Plan())
    policy = Policy((Rule(parse_metric("log_loss"), Bound(9.0, most=True)),), CLUSTERED)
    for paired in (True, False):
        with pytest.raises(InputError, match=FAULT):
            check(rows, policy, Baseline(rows, rows, paired))
    with pytest.raises(InputError, match=FAULT):
        compare([rows, rows], CLUSTERED, Plan(paired=False))
    with pytest.raises(InputError, match=FAULT):
        task_of("model", rows, None, 2, Settings(cluster="of"))


def test_rows_of_weight_0_need_no_cluster(rows):
    weights = np.ones(60)
    weights[[5, 9]] = 0
    asked = replace(CLUSTERED, intervals=False)
    found = evaluate(replace(rows, weights=weights), asked).estimates["log_loss"]
    some = weights > 0
    assert found.value == pytest.approx(-np.log(rows.scores.array[some, rows.labels[some]]).mean())
