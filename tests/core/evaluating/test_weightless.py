"""Rows of weight 0 might as well not be there: everything is as if they had been left out of the file."""

from __future__ import annotations

from dataclasses import astuple, replace

import numpy as np
import pytest

from calcli.core.comparing.checking import Baseline, check
from calcli.core.comparing.comparison import Plan, compare
from calcli.core.comparing.policy import Bound, NoWorse, Policy, Rule
from calcli.core.data.derived import counted, select
from calcli.core.estimators.evidence import Margin
from calcli.core.evaluating.evaluate import evaluate, evaluate_slices, values
from calcli.core.evaluating.states import state_of
from calcli.core.language.expressions import parse_metric
from calcli.core.language.settings import Settings
from calcli.core.state.state import predictions_of

METRICS = (
    "log_loss", "accuracy", "ece", "ece:binning=equal-mass", "binned_refinement_loss", "calibration_loss",
)  # fmt: skip
FEW = Settings(metrics=("log_loss", "ece"), draws=99)


@pytest.fixture
def systems(predict):
    """Return two systems of 400 rows, a third of weight 0; one slice has none but these."""

    def drawn(seed):
        rng, labels = np.random.default_rng(seed), np.random.default_rng(9).integers(0, 3, 400)
        site = np.random.default_rng(8).choice(["a", "b", "c"], 400)
        weights = np.where(site == "c", 0, np.random.default_rng(7).integers(1, 4, 400)).astype(float)
        weights[::7] = 0
        rows = predict(2 * np.eye(3)[labels] + rng.normal(size=(400, 3)), labels, "logits", weights)
        return replace(rows, columns={"site": site, "of": np.arange(400) // 4})

    return [drawn(0), drawn(1)]


def without(rows):
    return select(rows, rows.weights != 0)


@pytest.mark.parametrize(
    "more",
    [
        {"draws": 99},
        {"draws": 99, "cluster": "of"},
        {"draws": 99, "test": True, "metrics": ("ece",)},
    ],
)
def test_an_evaluation_is_that_of_the_other_rows(systems, more):
    rows, settings = systems[0], Settings(**{"metrics": METRICS, **more})
    found, expected = evaluate(rows, settings).summary, evaluate(without(rows), settings).summary
    assert found.estimates == expected.estimates
    assert found.input.rows == np.count_nonzero(rows.weights)
    assert (found.per_class, found.reliability) == (expected.per_class, expected.reliability)
    left = np.count_nonzero(rows.weights == 0)
    assert found.input.notes == (f"{left} of 400 rows have weight 0 and are left out",)
    assert values(rows, settings) == values(without(rows), settings)
    full = replace(rows, weights=np.ones(400))
    assert counted(full) is full


def test_slices_and_states_are_those_of_the_other_rows(systems):
    rows = systems[0]
    found, expected = (
        [
            evaluate(predictions_of(state_of(one, FEW, by=["site"])), FEW).estimates,
            [
                (part.value, own.summary.input.rows, own.estimates)
                for part, own in evaluate_slices(one, "site", evaluate(one, FEW).summary)
            ],
        ]
        for one in (rows, without(rows))
    )
    assert found == expected
    assert [value for value, *_ in found[-1]] == ["a", "b"]


@pytest.mark.parametrize("cluster", [None, "of"])
@pytest.mark.parametrize("paired", [True, False])
def test_a_comparison_is_that_of_the_other_rows(systems, paired, cluster):
    settings, plan = replace(FEW, cluster=cluster), Plan(paired=paired, by="site")
    found, expected = (
        [
            [
                one.part,
                *(list(map(astuple, of.values())) for of in one.differences),
                *map(astuple, one.ranking),
            ]
            for one in compare(own, settings, plan)
        ]
        for own in (systems, list(map(without, systems)))
    )
    np.testing.assert_equal(found, expected)  # of nan, too


@pytest.mark.parametrize("paired", [True, False])
def test_a_check_is_that_of_the_other_rows(systems, paired):
    rules = (
        Rule(parse_metric("log_loss"), Bound(9.0, most=True), min_rows=300),
        Rule(parse_metric("ece"), Bound(0.9, most=True), part="site=a"),
        Rule(parse_metric("log_loss"), Bound(9.0, most=True), part="site=c"),
        Rule(parse_metric("log_loss"), NoWorse(Margin())),
    )
    policy = Policy(rules, Settings(draws=99))
    found, expected = (
        check(own, policy, Baseline(first, own, paired))
        for own, first in (systems, list(map(without, systems)))
    )
    assert list(map(vars, found.outcomes)) == list(map(vars, expected.outcomes))
    assert found.rows == expected.rows < 300
    assert [one.status for one in found.outcomes] == ["not judged", "passed", "not judged", "undecided"]
    assert "rows have weight 0 and are left out" in found.notes[0]
