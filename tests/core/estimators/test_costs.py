"""Decisions of least expected cost, what they cost, words and tables of costs; decisions at a threshold."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import balanced_accuracy_score, f1_score, precision_score, recall_score

import calcli
from calcli.core.data import blocks
from calcli.core.estimators.costs import CostTable, CostWord, find_costs, parse_cost_word, with_distinct_names
from calcli.core.estimators.rules import scoring_rule
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.evaluating.states import state_of
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.settings import Settings
from calcli.io.handed import from_arrays


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


def found(rows, *names, **more):
    return [*evaluate(rows, Settings(names, draws=0, **more)).estimates.values()]


@pytest.mark.parametrize("threshold", [0.0, 0.2, 0.5, 0.9])
@pytest.mark.parametrize("weighted", [False, True])
def test_against_scikit_learn(predict, threshold, weighted):
    rng = np.random.default_rng(0)
    probs = np.floor(10 * rng.dirichlet(np.ones(3), 300)) / 10
    probs[:, 0] = 1 - probs[:, 1] - probs[:, 2]
    labels, weights = rng.integers(0, 3, 300), rng.integers(1, 4, 300) if weighted else None
    rows = predict(probs, labels, weights=weights)
    taken, own = probs[:, 2] >= threshold, labels == 2
    each = ("precision", "recall", "f1", "net_benefit")
    names = [f"{name}:threshold={threshold}:lens=class-2" for name in each]
    estimates = found(rows, *names)
    of = {"sample_weight": weights}
    expected = [score(own, taken, **of) for score in (precision_score, recall_score, f1_score)]
    benefit = np.where(own, 1, -threshold / (1 - threshold)) * taken
    expected.append(np.average(benefit, weights=weights))
    assert [one.value for one in estimates] == pytest.approx(expected, abs=1e-12)
    repeated = predict(np.repeat(probs, weights, axis=0), np.repeat(labels, weights)) if weighted else rows
    assert [one.value for one in found(repeated, *names)] == pytest.approx(expected, abs=1e-12)


def test_shares_of_some_rows_have_exact_intervals(binary):
    rng = np.random.default_rng(1)
    score = rng.random(120)
    labels = (rng.random(120) < score).astype(int)
    precision, recall = found(binary(score, labels), "precision:threshold=0.7", "recall:threshold=0.7")
    hits = int((labels * (score >= 0.7)).sum())
    for one, rows in ((precision, int((score >= 0.7).sum())), (recall, int(labels.sum()))):
        exact = stats.binomtest(hits, rows).proportion_ci(0.95, "exact")
        assert (one.interval.low, one.interval.high) == pytest.approx((exact.low, exact.high), abs=1e-9)


def test_what_is_not_there_is_undefined(binary):
    nobody = binary(np.array([0.1, 0.2]), [0, 0])
    values = [one.value for one in found(nobody, "precision", "recall", "f1", "net_benefit")]
    assert [math.isnan(value) for value in values] == [True, True, True, False]
    assert values[3] == 0


def test_net_benefit_of_treating_all_or_none(binary):
    rows = binary(np.array([0.1, 0.9, 0.8, 0.3]), [0, 1, 0, 1])
    low, high = found(rows, "net_benefit:threshold=0.2", "net_benefit:threshold=0.6")
    assert low.parts["constant"] == pytest.approx(0.5 - 0.5 * 0.25)
    assert high.parts["constant"] == 0


def test_rps_by_hand(predict):
    rng = np.random.default_rng(2)
    probs, labels = rng.dirichlet(np.ones(4), 30), rng.integers(0, 4, 30)
    by_hand = [
        sum((row[: k + 1].sum() - (label <= k)) ** 2 for k in range(3)) / 3
        for row, label in zip(probs, labels, strict=True)
    ]
    (rps,) = found(predict(probs, labels), "rps")
    assert rps.value == pytest.approx(np.mean(by_hand), abs=1e-12)
    rule, posteriors = scoring_rule("rps", 4), rng.dirichlet(np.ones(4), 30)
    each = np.stack([rule.losses(np.log(probs), np.full(30, k)) for k in range(4)], axis=1)
    expected = (posteriors * each).sum(1)
    assert rule.expected(np.log(probs), np.log(posteriors)) == pytest.approx(expected, abs=1e-12)
    priors = np.bincount(labels, minlength=4) / 30
    constant = np.mean([rule.losses(np.log(priors)[None], labels[i : i + 1])[0] for i in range(30)])
    assert rps.parts["constant"] == pytest.approx(constant, abs=1e-12)


ALARM, MISS = 5.0, 0.5
OF_ROWS = CostTable("desk", ("0", "1"), ("leave", "look"), ((0.0, ALARM), (MISS, 0.0)))


def desk(rng, rows, spread=1.0):
    """Return probabilities, labels, amounts, and these as predictions."""
    score = 1 / (1 + np.exp(1.5 - 1.3 * rng.normal(size=rows)))
    labels, amounts = (rng.random(rows) < score).astype(int), np.exp(rng.normal(2, spread, rows))
    columns = {"amount": amounts, "said": np.where(score > 0.4, "look", "leave")}
    return score, labels, amounts, from_arrays(np.stack([1 - score, score], 1), labels, columns=columns)


def test_a_missed_row_costs_its_amount():
    score, labels, amounts, rows = desk(np.random.default_rng(0), 400)
    names = ("bayes_risk:costs=desk", "expected_cost:costs=desk", "threshold_cost:costs=desk:threshold=0.3")
    settings = Settings(names, costs=(OF_ROWS,), cost_column="amount", decision_column="said", draws=0)
    estimates = evaluate(rows, settings).estimates
    # the least expected cost of each row, with its own amount: Elkan 2001, section 2
    looked = {
        names[0]: score * MISS * amounts > (1 - score) * ALARM,
        names[1]: score > 0.4,
        names[2]: score >= 0.3,
    }
    for name, look in looked.items():
        cost = np.where(look, ALARM * (labels == 0), MISS * amounts * (labels == 1))
        assert estimates[name].value == pytest.approx(cost.mean(), abs=1e-12)
        never, always = (MISS * amounts * labels).mean(), ALARM * (labels == 0).mean()
        assert estimates[name].parts["constant"] == pytest.approx(min(never, always))
        bootstrap = np.random.default_rng(1).choice(cost, (2000, 400)).mean(1)
        interval = estimates[name].interval
        low, high = np.quantile(bootstrap, [0.025, 0.975])
        assert interval.low < low + 0.2 * (high - low)
        assert high - 0.2 * (high - low) < interval.high < high + 3 * (high - low)
        assert "threshold" not in estimates[name].parts or name == names[2]


@pytest.mark.parametrize("spread", [1.0, 2.0])
def test_intervals_see_the_large_amounts_that_were_not_missed(spread):
    """At most 7% of 200 data sets may miss, beyond chance (two standard errors); at a spread of 2 the largest
    1% of the amounts are 40% of their sum."""
    rng = np.random.default_rng(2)
    settings = Settings(
        ("threshold_cost:costs=desk:threshold=0.3",), costs=(OF_ROWS,), cost_column="amount", draws=0
    )
    score, labels, *_ = desk(rng, 2_000_000)
    mean = np.exp(2 + spread**2 / 2)
    truth = (ALARM * (labels == 0) * (score >= 0.3) + MISS * mean * labels * (score < 0.3)).mean()
    misses, widths, values = 0, [], []
    for _ in range(200):
        (estimate,) = evaluate(desk(rng, 500, spread)[3], settings, sections=()).estimates.values()
        misses += not estimate.interval.low <= truth <= estimate.interval.high
        widths.append(estimate.interval.high - estimate.interval.low)
        values.append(estimate.value)
    assert misses / 200 < 0.07 + 2 * math.sqrt(0.07 * 0.93 / 200)
    assert np.median(widths) < 5 * 3.92 * np.std(values)


@pytest.mark.parametrize(
    ("change", "fault", "words"),
    [
        ({"cost_column": "none"}, InputError, "no column 'none'"),
        ({"cost_column": "said"}, InputError, "column 'said' is 'le"),
        ({"cost_column": "loss"}, InputError, "is '-1.0'; expected an amount of 0 or more"),
        (
            {"costs": (CostWord("abstain", "abstain", 0.1),)},
            UsageError,
            "the costs abstain have no such cost",
        ),
        ({"metrics": ("normalized_bayes_risk",)}, UsageError, "the same costs for all rows"),
        ({"metrics": ("calibration_loss:score=bayes_risk",)}, UsageError, "the same costs for all rows"),
    ],
)
def test_what_is_no_amount_or_has_no_use_for_it_is_refused(change, fault, words):
    *_, rows = desk(np.random.default_rng(0), 60)
    rows = replace(rows, columns={**rows.columns, "loss": np.where(np.arange(60) == 7, -1.0, 1.0)})
    usual = {"cost_column": "amount", "draws": 0, "metrics": ()}
    with pytest.raises(fault, match=words):
        evaluate(rows, Settings(**{**usual, **change}))


def test_states_and_comparisons_take_no_amounts():
    *_, rows = desk(np.random.default_rng(0), 60)
    with pytest.raises(UsageError, match="--cost-column does not go into a state"):
        state_of(rows, Settings(cost_column="amount"))
    with pytest.raises(UsageError, match="sees the few large amounts"):
        calcli.compare(rows, rows, cost_column="amount")
