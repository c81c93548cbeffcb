"""Selective classification: every order of ties by hand, repeated rows, spreads by simulation, states."""

from __future__ import annotations

from itertools import chain, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calcli.core.estimators.influences import Influences
from calcli.core.estimators.ranking import row_influences
from calcli.core.estimators.selective import Augrc, Aurc, Coverage, SelectiveAccuracy
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.evaluating.gathering import state_of
from calcli.core.language.errors import UsageError
from calcli.core.language.settings import Settings
from calcli.core.problems.problem import ordered_problem
from calcli.core.state.state import left_of

MEASURES = {"aurc": Aurc(), "augrc": Augrc(), "accuracy": SelectiveAccuracy(0.7), "coverage": Coverage(0.3)}


def value(measure, score, outcome, weights=None):
    problem = ordered_problem(np.asarray(score, float), np.asarray(outcome, bool), weights)
    return measure.spread(problem).value


def of_order(wrong):
    """Return the measures of rows in an order, the most confident first; without coverage."""
    errors, k, n = np.cumsum(wrong), np.arange(1, len(wrong) + 1), len(wrong)
    kept = int(np.ceil(0.7 * n - 1e-9))
    return {
        "aurc": np.mean(errors / k),
        "augrc": np.mean(errors / n),
        "accuracy": 1 - errors[kept - 1] / kept,
    }


ROWS = st.lists(st.tuples(st.integers(1, 3), st.booleans()), min_size=1, max_size=7)


@given(ROWS)
def test_ties_are_in_random_order_in_expectation(rows):
    runs = [[not right for score, right in rows if score == own] for own in (3, 2, 1)]
    orders = [[*chain(*order)] for order in product(*(permutations(run) for run in runs))]
    found = [of_order(order) for order in orders]
    score, outcome = zip(*rows, strict=True)
    for name in ("aurc", "augrc", "accuracy"):
        expected = np.mean([one[name] for one in found])
        assert value(MEASURES[name], score, outcome) == pytest.approx(expected, abs=1e-12), name
    ends = np.cumsum([len(run) for run in runs])
    wrong = np.cumsum([sum(run) for run in runs])
    shares = [end / len(rows) for end, errors in zip(ends, wrong, strict=True) if end and errors <= 0.3 * end]
    assert value(MEASURES["coverage"], score, outcome) == pytest.approx(max(shares, default=0))


@pytest.mark.parametrize("name", ["aurc", "augrc", "accuracy"])
@pytest.mark.parametrize("weighted", [False, True])
def test_spreads_are_those_of_samples(name, weighted):
    rng, values, variances = np.random.default_rng(3), [], []
    for _ in range(400):
        score = np.round(rng.random(600), 2)
        outcome = rng.random(600) < 0.5 + score / 2
        weights = rng.gamma(2, size=600) if weighted else None
        spread = MEASURES[name].spread(ordered_problem(score, outcome, weights))
        values.append(spread.value)
        variances.append(spread.standard_error**2)
    assert np.sqrt(np.mean(variances)) == pytest.approx(np.std(values), rel=0.12)


def test_influences_are_the_spread():
    rng = np.random.default_rng(0)
    score, weights = np.round(rng.random(200), 1), rng.gamma(2, size=200)
    outcome = rng.random(200) < score
    for measure in (Aurc(), Augrc(), SelectiveAccuracy(0.5)):
        found, rows = row_influences(measure, score, outcome, weights)
        spread = measure.spread(ordered_problem(score, outcome, weights))
        assert found == pytest.approx(spread.value, abs=1e-12)
        assert rows.sum() == pytest.approx(0, abs=1e-12)
        assert Influences(found, rows, 200).spread.squares == pytest.approx(spread.squares)


def test_an_oracle_and_chance():
    rng = np.random.default_rng(1)
    score, outcome = rng.random(500), rng.random(500) < 0.8
    problem = ordered_problem(score, outcome)
    for name, measure in MEASURES.items():
        parts = measure.parts(problem)
        perfect = np.where(outcome, 2 + score, score)
        assert parts["oracle"] == pytest.approx(value(measure, perfect, outcome), abs=1e-12), name
        assert parts["chance"] == pytest.approx(value(measure, np.zeros(500), outcome), abs=1e-12), name


def test_reference_values(decide, dataset, predict):
    others = ("precision", "recall", "f1", "net_benefit", "rps")
    names = ("aurc", "augrc", "selective_accuracy", "coverage", *others)
    for data, own in decide.items():
        rows = predict(*(table[:60_000] for table in dataset(data)), kind="logits")
        asked = tuple(metric for metric in own if metric.partition(":")[0] in names)
        settings = Settings(asked, intervals=False, rows="all", precision="double")
        for found in evaluate(rows, settings, test_classes=False).estimates.values():
            assert found.value == pytest.approx(own[found.call.asked], abs=1e-9), (data, found.call.asked)


def test_a_state_tells_the_same(binary):
    rng = np.random.default_rng(2)
    score = rng.random(500)
    rows = binary(score, (rng.random(500) < score).astype(int))
    names = ("aurc", "augrc", "selective_accuracy:coverage=0.5", "coverage", "f1:threshold=0.3", "rps")
    settings = Settings((*names, "kuiper"), draws=0)
    whole = evaluate(rows, settings).estimates
    kept = evaluate(left_of(state_of(rows, settings)), settings).estimates
    for name, one in whole.items():
        assert kept[name].value == pytest.approx(one.value, abs=1e-12), name
        assert (kept[name].interval is None) == (one.interval is None)


def test_what_has_no_one_score_is_refused(predict):
    rows = predict(np.full((4, 3), 1 / 3), [0, 1, 2, 0])
    for name in ("aurc:lens=class-wise", "aurc:lens=predicted-1", "precision", "f1:lens=canonical"):
        with pytest.raises(UsageError, match="lens"):
            evaluate(rows, Settings((name,), draws=0))
