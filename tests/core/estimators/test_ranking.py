"""The area under the ROC curve, average precision, selective classification, and their standard errors."""

from __future__ import annotations

import math
from itertools import chain, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import average_precision_score, roc_auc_score

from calcli.core.estimators.intervals import Influences, Interval
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.evaluating.metrics.ranking import (
    AREA,
    PRECISION,
    Augrc,
    Aurc,
    Coverage,
    SelectiveAccuracy,
    is_backwards,
    ranking_influences,
    row_influences,
)
from calcli.core.evaluating.states import state_of
from calcli.core.language.errors import UsageError
from calcli.core.language.settings import Settings
from calcli.core.problems.problem import ordered_problem
from calcli.core.state.state import predictions_of
from tests.core.samples import newcombe_low


def ranked(n, rng):
    outcome = rng.random(n) < 0.4
    return np.round(rng.normal(size=n) + outcome, 1).clip(-5, 5) / 10 + 0.5, outcome


MEASURES = pytest.mark.parametrize(
    ("measure", "oracle"), [(AREA, roc_auc_score), (PRECISION, average_precision_score)]
)


@MEASURES
@pytest.mark.parametrize("weighted", [False, True])
def test_scikit_learn_agrees_ties_included(weighted, measure, oracle):
    rng = np.random.default_rng(0)
    score, outcome = ranked(500, rng)
    weights = rng.exponential(size=500) * (rng.random(500) < 0.9) if weighted else None
    found = measure.spread(ordered_problem(score, outcome, weights))
    assert found.value == pytest.approx(oracle(outcome, score, sample_weight=weights), abs=1e-13)


@MEASURES
def test_standard_error_is_the_jackknife(measure, oracle):
    rng = np.random.default_rng(1)
    score, outcome = ranked(150, rng)
    found = measure.spread(ordered_problem(score, outcome))
    left = np.array([oracle(np.delete(outcome, i), np.delete(score, i)) for i in range(150)])
    jackknife = math.sqrt(149 / 150 * np.square(left - left.mean()).sum())
    assert found.standard_error == pytest.approx(jackknife, rel=0.05)


@MEASURES
def test_influences_are_what_a_little_more_weight_of_a_row_changes(measure, oracle):
    rng = np.random.default_rng(5)
    score, outcome = ranked(60, rng)
    _, found = ranking_influences(measure, np.stack([1 - score, score]), outcome.astype(int))

    def mean(weights):
        second = oracle(outcome, score, sample_weight=weights)
        return (second + oracle(~outcome, 1 - score, sample_weight=weights)) / 2

    expected = [(mean(1 + 1e-6 * one) - mean(np.ones(60))) / 1e-6 for one in np.eye(60)]
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("separation", [0.75, 2.33, 5.0])
@pytest.mark.parametrize(("positives", "like_others"), [(3, 0.0), (10, 0.2), (30, 0.1)])
def test_few_intervals_miss_where_one_class_is_rare(positives, like_others, separation):
    """All are shown, so that none is by luck; some of the rare class may be scored like the others."""
    rng, trials, negatives = np.random.default_rng(positives), 200, 300
    apart = 0.5 * (1 + math.erf(separation / 2))
    truth = (1 - like_others) * apart + like_others / 2
    outcome = np.arange(positives + negatives) < positives
    missed = 0
    for _ in range(trials):
        own = separation * (rng.random(positives) >= like_others)
        score = stats.norm.cdf(
            rng.normal(size=len(outcome)) + np.where(outcome, np.resize(own, len(outcome)), 0)
        )
        interval, _ = AREA.interval(AREA.spread(ordered_problem(score, outcome)), 0.95, "row")
        missed += not interval.contains(truth)
    assert missed <= stats.binom.ppf(0.999, trials, 0.06)


@pytest.mark.parametrize(("rare", "others"), [(1, 40), (7, 7), (12, 300)])
def test_ranked_without_a_fault_the_interval_is_the_narrower_of_two(rare, others):
    """That of a share without a miss, as no area varies more, and Newcombe's with 1.2 times its variance."""
    outcome = np.repeat([False, True], [others, rare])
    perfect = AREA.spread(ordered_problem(np.linspace(0, 1, rare + others), outcome))
    found = AREA.interval(perfect, 0.95, "row")[0]
    assert (perfect.value, perfect.fewest, found.high) == (1, rare, 1)
    of_share = stats.binomtest(rare, rare).proportion_ci(0.95, method="exact").low
    assert found.low == pytest.approx(of_share if rare == 1 else max(of_share, newcombe_low(rare, others)))


@pytest.mark.parametrize("weighted", [False, True])
def test_two_classes_are_one_ranking(weighted):
    rng = np.random.default_rng(3)
    score, outcome = ranked(300, rng)
    weights = rng.exponential(size=300) if weighted else None
    single = AREA.spread(ordered_problem(score, outcome, weights))
    area, influences = ranking_influences(AREA, np.stack([1 - score, score]), outcome.astype(int), weights)
    both = Influences(area, influences, 300).spread
    assert [both.value, both.standard_error, both.skewness, both.effective_size] == pytest.approx(
        [single.value, single.standard_error, single.skewness, single.effective_size], rel=1e-9
    )


def test_the_standard_error_is_that_of_delong():
    """The variances of the placements of each class, over its size (DeLong et al. 1988)."""
    rng = np.random.default_rng(4)
    score, outcome = ranked(90, rng)
    above = (score[outcome][:, None] > score[~outcome]) + 0.5 * (score[outcome][:, None] == score[~outcome])
    variance = sum(above.mean(axis).var() / above.shape[1 - axis] for axis in (0, 1))
    found = AREA.spread(ordered_problem(score, outcome))
    assert found.standard_error == pytest.approx(math.sqrt(variance * 90 / 89), rel=1e-12)


def test_a_missing_outcome_has_no_area():
    assert math.isnan(AREA.spread(ordered_problem(np.array([0.2, 0.4]), np.array([True, True]))).value)
    assert math.isnan(ranking_influences(AREA, np.ones((2, 3)) / 2, np.array([0, 0, 0]))[0])


@given(st.integers(0, 10**6), st.integers(4, 60), st.integers(4, 60), st.floats(-2, 1))
def test_an_area_below_one_half_is_judged_by_the_test_of_mann_and_whitney(seed, ones, others, shift):
    rng = np.random.default_rng(seed)
    high, low = rng.normal(shift, size=ones), rng.normal(size=others)
    found = stats.mannwhitneyu(high, low, alternative="less", method="asymptotic", use_continuity=False)
    sizes = np.array([others, ones], np.float64)
    assert is_backwards(found.statistic / (ones * others), sizes) == (found.pvalue < 0.005)


def test_useless_scores_of_more_classes_are_seldom_said_to_rank_the_wrong_way_round():
    rng = np.random.default_rng(0)
    said = 0
    for _ in range(1000):
        labels = np.append(np.arange(4), rng.integers(0, 4, 60))
        area, _ = ranking_influences(AREA, rng.dirichlet(np.ones(4), len(labels)).T, labels)
        said += is_backwards(area, np.bincount(labels).astype(float))
    assert stats.binomtest(said, 1000, 0.005, alternative="greater").pvalue > 0.01


@pytest.mark.parametrize("positives", [1, 19, 200])
def test_average_precision_of_few_positives_has_an_interval_that_is_no_wider_than_that_of_their_share(
    positives,
):
    rng = np.random.default_rng(6)
    outcome = np.arange(2_000) < positives
    score = stats.norm.cdf(rng.normal(size=2_000) + 0.3 * outcome)
    found = PRECISION.spread(ordered_problem(score, outcome))
    interval, reason = PRECISION.interval(found, 0.95, "row")
    assert found.fewest == positives / 4
    widest = Interval.of_share((found.value - found.bias) * positives, positives, 0.95)
    assert not reason
    assert (
        widest.low - 1e-9 <= interval.low <= found.value - found.bias <= interval.high <= widest.high + 0.02
    )


def test_average_precision_is_too_high_by_its_bias():
    rng, values, biases = np.random.default_rng(7), [], []
    for _ in range(1000):
        outcome = rng.random(1000) < 0.02
        score = stats.norm.cdf(rng.normal(size=1000) + outcome)
        found = PRECISION.spread(ordered_problem(score, outcome))
        values.append(found.value)
        biases.append(found.bias)
    outcome = rng.random(1_000_000) < 0.02
    truth = average_precision_score(outcome, rng.normal(size=1_000_000) + outcome)
    off = np.mean(values) - truth
    assert off > 0.01
    assert abs(off - np.mean(biases)) < 0.5 * off  # to first order


SELECTIVE = {
    "aurc": Aurc(), "augrc": Augrc(),
    "accuracy": SelectiveAccuracy(coverage=0.7), "coverage": Coverage(max_error=0.3),
}  # fmt: skip


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
        assert value(SELECTIVE[name], score, outcome) == pytest.approx(expected, abs=1e-12), name
    ends = np.cumsum([len(run) for run in runs])
    wrong = np.cumsum([sum(run) for run in runs])
    shares = [end / len(rows) for end, errors in zip(ends, wrong, strict=True) if end and errors <= 0.3 * end]
    assert value(SELECTIVE["coverage"], score, outcome) == pytest.approx(max(shares, default=0))


@pytest.mark.parametrize("name", ["aurc", "augrc", "accuracy"])
@pytest.mark.parametrize("weighted", [False, True])
def test_spreads_are_those_of_samples(name, weighted):
    rng, values, variances = np.random.default_rng(3), [], []
    for _ in range(400):
        score = np.round(rng.random(600), 2)
        outcome = rng.random(600) < 0.5 + score / 2
        weights = rng.gamma(2, size=600) if weighted else None
        spread = SELECTIVE[name].spread(ordered_problem(score, outcome, weights))
        values.append(spread.value)
        variances.append(spread.standard_error**2)
    assert np.sqrt(np.mean(variances)) == pytest.approx(np.std(values), rel=0.12)


def test_influences_are_the_spread():
    rng = np.random.default_rng(0)
    score, weights = np.round(rng.random(200), 1), rng.gamma(2, size=200)
    outcome = rng.random(200) < score
    for measure in (Aurc(), Augrc(), SelectiveAccuracy(coverage=0.5)):
        found, rows = row_influences(measure, score, outcome, weights)
        spread = measure.spread(ordered_problem(score, outcome, weights))
        assert found == pytest.approx(spread.value, abs=1e-12)
        assert rows.sum() == pytest.approx(0, abs=1e-12)
        assert Influences(found, rows, 200).spread.squares == pytest.approx(spread.squares)


def test_an_oracle_and_chance():
    rng = np.random.default_rng(1)
    score, outcome = rng.random(500), rng.random(500) < 0.8
    problem = ordered_problem(score, outcome)
    for name, measure in SELECTIVE.items():
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
        for found in evaluate(rows, settings, sections=()).estimates.values():
            assert found.value == pytest.approx(own[found.metric.text], abs=1e-9), (data, found.metric.text)


def test_a_state_tells_the_same(binary):
    rng = np.random.default_rng(2)
    score = rng.random(500)
    rows = binary(score, (rng.random(500) < score).astype(int))
    names = ("aurc", "augrc", "selective_accuracy:coverage=0.5", "coverage", "f1:threshold=0.3", "rps")
    settings = Settings((*names, "kuiper"), draws=0)
    whole = evaluate(rows, settings).estimates
    kept = evaluate(predictions_of(state_of(rows, settings)), settings).estimates
    for name, one in whole.items():
        assert kept[name].value == pytest.approx(one.value, abs=1e-12), name
        assert (kept[name].interval is None) == (one.interval is None)


def test_what_has_no_one_score_is_refused(predict):
    rows = predict(np.full((4, 3), 1 / 3), [0, 1, 2, 0])
    for name in ("aurc:lens=class-wise", "aurc:lens=predicted-1", "precision", "f1:lens=canonical"):
        with pytest.raises(UsageError, match="lens"):
            evaluate(rows, Settings((name,), draws=0))
