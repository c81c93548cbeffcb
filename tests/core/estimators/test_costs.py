"""Costs: decisions of least expected cost, what they cost, and words and tables that define them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score

from calcli.core.data import blocks
from calcli.core.estimators.costs import CostTable, CostWord, find_costs, parse_cost_word, with_distinct_names
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.settings import Settings


def judged(predictions, *costs):
    kinds = ("bayes_risk", "normalized_bayes_risk")
    metrics = tuple(f"{kind}:costs={one.name}" for one in costs for kind in kinds)
    return evaluate(predictions, Settings(metrics=metrics, costs=costs, intervals=False, draws=0))


def table(cost, name="table"):
    rows = tuple(tuple(map(float, row)) for row in cost)
    decisions = tuple(f"d{j}" for j in range(len(rows[0])))
    return CostTable(name, tuple(map(str, range(len(rows)))), decisions, rows)


@pytest.mark.parametrize("k", [2, 3, 300])
@pytest.mark.parametrize("decisions", [2, 5])
def test_decisions_are_those_of_least_expected_cost(k, decisions, predict, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 40 * k * 8)
    rng = np.random.default_rng(k)
    q, labels = rng.dirichlet(np.ones(k), 100), rng.integers(0, k, 100)
    cost = rng.normal(size=(k, decisions))
    found = judged(predict(q, labels), table(cost))
    decided = (q @ cost).argmin(1)
    risk = cost[labels, decided].mean()
    constant = (np.bincount(labels, minlength=k) / 100 @ cost).min()
    assert found.estimates["bayes_risk:costs=table"].value == pytest.approx(risk, abs=1e-12)
    assert found.estimates["bayes_risk:costs=table"].parts["constant"] == pytest.approx(constant, abs=1e-12)
    assert [row.rows for row in found.summary.decisions["table"]] == np.bincount(
        decided, minlength=decisions
    ).tolist()


@pytest.mark.parametrize("k", [2, 5, 300])
def test_zero_one_costs_are_the_error_rate_ties_and_all(k, predict):
    rng = np.random.default_rng(0)
    q = rng.integers(0, 3, (200, k)) + 0.1
    predictions = predict(q / q.sum(1, keepdims=True), rng.integers(0, k, 200))
    names = ("bayes_risk", "error_rate", "normalized_bayes_risk", "normalized_error_rate")
    found = evaluate(predictions, Settings(metrics=names, draws=0)).estimates
    for risk, error in (names[:2], names[2:]):
        assert found[risk].value == pytest.approx(found[error].value, abs=1e-15)
        assert found[risk].no_interval == found[error].no_interval
        if not found[risk].no_interval:
            assert found[risk].interval.high == pytest.approx(found[error].interval.high, rel=1e-9)


def test_of_decisions_that_cost_the_same_the_first_is_taken(predict):
    found = judged(predict([[0.5, 0.5]], [0]), table([[1, 0, 2], [0, 1, 0]]))
    assert [row.rows for row in found.summary.decisions["table"]] == [1, 0, 0]


def test_abstention_is_one_more_decision(predict):
    q = [[0.95, 0.05], [0.6, 0.4], [0.2, 0.8], [0.03, 0.97]]
    found = judged(predict(q, [0, 1, 0, 1]), CostWord("abstain", "abstain", 0.1))
    assert found.estimates["bayes_risk:costs=abstain"].value == pytest.approx((0 + 0.1 + 0.1 + 0) / 4)
    # deciding always for one class costs 1/2, always abstaining 1/10
    assert found.estimates["normalized_bayes_risk:costs=abstain"].value == pytest.approx(0.05 / 0.1)
    taken = {row.name: (row.rows, row.share, row.mean_cost) for row in found.summary.decisions["abstain"]}
    assert taken == {"0": (1, 0.25, 0.0), "1": (1, 0.25, 0.0), "abstain": (2, 0.5, pytest.approx(0.1))}


def test_balanced_costs_measure_balanced_accuracy(predict):
    rng = np.random.default_rng(1)
    labels = rng.choice(3, 300, p=[0.7, 0.2, 0.1])
    sure = np.eye(3)[np.where(rng.random(300) < 0.7, labels, rng.integers(0, 3, 300))]
    found = judged(predict(sure, labels), CostWord("balanced", "balanced"))
    accuracy = balanced_accuracy_score(labels, sure.argmax(1))
    assert found.estimates["bayes_risk:costs=balanced"].value == pytest.approx(1 - accuracy, abs=1e-12)


def test_rows_of_a_table_are_found_by_name(predict):
    costs = CostTable("t", ("1", "0"), ("stay", "go"), ((7.0, 0.0), (0.0, 1.0)))
    found = judged(predict([[0.9, 0.1], [0.1, 0.9]], [0, 0]), costs)
    # expected costs of staying and going: 0.7 and 0.9, then 6.3 and 0.1
    assert [row.rows for row in found.summary.decisions["t"]] == [1, 1]
    assert found.estimates["bayes_risk:costs=t"].value == 0.5


@pytest.mark.parametrize(
    "text", ["abstain", "abstain:x", "abstain:-1", "zero-one:1", "imbalanced:cat", "abstain:inf"]
)
def test_words_with_a_wrong_number_are_refused(text):
    with pytest.raises(UsageError, match="expected one of zero-one"):
        parse_cost_word(text)


def test_what_is_no_word_may_be_a_file():
    assert parse_cost_word("costs.csv") is None


def test_a_class_name_may_hold_a_colon():
    assert parse_cost_word("imbalanced:a:b:3").class_name == "a:b"


def test_words_used_twice_are_told_apart():
    twice = [parse_cost_word(text) for text in ("abstain:0.1", "abstain:0.3", "balanced")]
    assert [one.name for one in with_distinct_names(twice)] == ["abstain-0.1", "abstain-0.3", "balanced"]
    with pytest.raises(UsageError, match="2 of the costs are called 'table'"):
        with_distinct_names([table([[0, 1]]), table([[1, 0]])])


def test_unknown_costs_are_refused_with_those_known():
    with pytest.raises(UsageError, match="known are: abstain, zero-one, balanced"):
        find_costs("nonsense", [parse_cost_word("abstain:0.1")])


@pytest.mark.parametrize(
    ("costs", "labels", "kind", "match"),
    [
        (CostWord("imbalanced", "imbalanced", 2.0, "cat"), [0, 1], UsageError, "'cat'; the classes are 0, 1"),
        (CostWord("balanced", "balanced"), [0, 0], InputError, "there are none of '1'"),
        (CostTable("t", ("0",), ("a",), ((1.0,),)), [0, 1], InputError, "no row for '1'"),
    ],
)
def test_costs_must_fit_the_classes(costs, labels, kind, match, predict):
    with pytest.raises(kind, match=match):
        judged(predict([[0.4, 0.6], [0.5, 0.5]], labels), costs)


def test_reference_risks(golden, dataset, predict):
    for name, expected in golden.items():
        scores, labels = dataset(name)
        last = str(scores.shape[1] - 1)
        costs = (CostWord("abstain", "abstain", 0.1), CostWord("imbalanced", "imbalanced", 10.0, last))
        found = judged(predict(scores, labels, "logits"), CostWord("zero-one", "zero-one"), *costs).estimates
        for costs_name, key in (("", "C01"), (":costs=abstain", "Cab"), (":costs=imbalanced", "Cimb")):
            value = found[f"normalized_bayes_risk{costs_name}"].value
            assert value == pytest.approx(expected[f"nrisk_{key}"], abs=1e-9), (name, key)
