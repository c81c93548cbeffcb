"""Rows without a cluster or a fold are refused by the first of them, whatever says so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calcli.core.comparing.baseline import Baseline
from calcli.core.comparing.checking import check
from calcli.core.comparing.comparison import Plan, compare
from calcli.core.comparing.policy import Bound, Policy, Rule
from calcli.core.data.arrays import missing
from calcli.core.data.units import column_folds
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.errors import InputError
from calcli.core.language.expressions import parse_metric
from calcli.core.language.settings import Settings
from calcli.core.recalibrating.benchmark import task_of

FAULT = r"arrays: row 5 has no value in column 'of', as have 1 more"


@pytest.fixture
def rows(predict):
    """Return predictions of ten clusters, two rows of which have none."""
    rng = np.random.default_rng(0)
    clusters = np.arange(60) % 10 / 2
    clusters[[5, 9]] = np.nan
    found = predict(rng.dirichlet(np.ones(3), 60), rng.integers(0, 3, 60))
    return replace(found, columns={"of": clusters})


@pytest.mark.parametrize(
    ("values", "gone"),
    [
        (np.array([1.0, np.nan]), [1]),
        (np.array(["", "nan"]), [0]),
        (np.array(["NaT", "2020-01-01"], "datetime64[D]"), [0]),
        (np.array([None, "", "a", 0, np.nan], object), [0, 1, 4]),
        (np.array([0, 1]), []),
        (np.array([False, True]), []),
    ],
)
def test_what_is_missing(values, gone):
    assert missing(values).tolist() == gone


def test_a_row_without_a_cluster_is_refused(rows):
    settings = Settings(metrics=("log_loss",), cluster="of", draws=99)
    with pytest.raises(InputError, match=FAULT):
        evaluate(rows, settings)
    for paired in (True, False):
        with pytest.raises(InputError, match=FAULT):
            compare([rows, rows], settings, Plan(paired=paired))
        policy = Policy((Rule(parse_metric("log_loss"), Bound(9.0, most=True)),), settings)
        with pytest.raises(InputError, match=FAULT):
            check(rows, policy, Baseline(rows, rows, paired))


def test_a_benchmark_deals_no_row_without_a_cluster(rows):
    with pytest.raises(InputError, match=FAULT):
        task_of("model", rows, None, 2, Settings(cluster="of"))


def test_rows_of_weight_0_need_no_cluster(rows):
    weights = np.ones(60)
    weights[[5, 9]] = 0
    found = evaluate(
        replace(rows, weights=weights), Settings(metrics=("log_loss",), cluster="of", intervals=False)
    )
    some = weights > 0
    expected = -np.log(rows.scores.array[some, rows.labels[some]]).mean()
    assert found.estimates["log_loss"].value == pytest.approx(expected)


def test_a_row_without_a_fold_is_refused(rows):
    with pytest.raises(InputError, match=rf"{FAULT}; expected the fold of every row"):
        column_folds(rows, "of")
    settings = Settings(metrics=("calibration_loss",), fold_column="of", draws=0)
    with pytest.raises(InputError, match=rf"{FAULT}; expected the fold of every row"):
        evaluate(rows, settings)
    with pytest.raises(InputError, match=rf"{FAULT}; expected the fold of every row"):
        compare([rows, rows], settings, Plan())
