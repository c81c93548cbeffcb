"""The bootstrap of means against a plain loop over resampled rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from calcli.core.data.units import DEALS, Units
from calcli.core.estimators import scoring
from calcli.core.estimators.bootstrap import Sums
from calcli.core.estimators.costs import parse_cost_word
from calcli.core.estimators.interval import Interval
from calcli.core.estimators.rules import scoring_rule
from calcli.core.estimators.scores import proper_score

normalized_log_loss = proper_score("log_loss", normalized=True).value


def rows(n, k=3, seed=0):
    rng = np.random.default_rng(seed)
    columns = {"log_loss": rng.exponential(size=n), "hit": rng.random(n) < 0.7}
    return columns, rng.integers(0, k, n), rng.exponential(size=n)


def entropy(weights):
    return -sum(p * np.log(p) for p in weights / weights.sum() if p > 0)


@pytest.mark.parametrize("weighted", [False, True])
def test_means_are_weighted_averages(weighted):
    columns, labels, weights = rows(500)
    weights = weights if weighted else None
    means = Sums(columns, labels, 3, weights).means()
    for name, column in columns.items():
        assert float(means[name]) == pytest.approx(np.average(column, weights=weights), abs=1e-13)
    shares = np.bincount(labels, weights, 3) / (500 if weights is None else weights.sum())
    assert means.priors == pytest.approx(shares, abs=1e-13)


@pytest.mark.parametrize("weighted", [False, True])
def test_resamples_are_a_plain_loop(weighted, predict):
    columns, labels, weights = rows(60)
    weights = weights if weighted else None
    order = np.argsort(labels, kind="stable")
    drawn = np.random.default_rng(7).integers(0, 60, size=(5, 60))
    means = Sums(columns, labels, 3, weights).resampled(5, np.random.default_rng(7))
    w = np.ones(60) if weights is None else weights
    entropies = [entropy(np.bincount(labels[units], w[units])) for units in order[drawn]]
    excess = np.mean(entropies) - entropy(np.bincount(labels, w))
    for b, units in enumerate(order[drawn]):
        loss = np.average(columns["log_loss"][units], weights=w[units])
        assert means["log_loss"][b] == pytest.approx(loss, abs=1e-12)
        normalized = loss / (entropies[b] - 2 * excess)
        assert normalized_log_loss(means)[b] == pytest.approx(normalized, abs=1e-12)


def favourites(rows, classes, sure, rng):
    """Return labels and losses of calibrated predictions that favour a class, by how much `sure` says.

    All classes are as frequent: the entropy of the labels is ln(classes).
    """
    right = rng.random(rows) < sure + (1 - sure) / classes
    labels = rng.integers(0, classes, rows)
    q = np.where(right, sure, 0) + (1 - sure) / classes
    return labels, -np.log(q)


@pytest.mark.parametrize(("rows", "classes", "sure"), [(200, 50, 0.3), (1000, 100, 0.3), (200, 2, 0.3)])
def test_intervals_of_a_normalized_loss_hold_the_truth(rows, classes, sure):
    rng, trials, held = np.random.default_rng(rows), 200, 0
    hit, miss = sure + (1 - sure) / classes, (1 - sure) / classes
    truth = -(hit * np.log(hit) + (1 - hit) * np.log(miss)) / np.log(classes)
    for _ in range(trials):
        labels, losses = favourites(rows, classes, sure, rng)
        sums = Sums({"log_loss": losses}, labels, classes)
        value = float(normalized_log_loss(sums.means()))
        interval = Interval.of_draws(normalized_log_loss(sums.resampled(200, rng)), 0.95)
        assert interval.contains(value)
        held += interval.low <= truth <= interval.high
    assert held >= binom.ppf(0.001, trials, 0.93)


def test_the_entropy_of_resamples_is_moved_by_the_bias_that_is_known():
    """(K - 1) / 2N, for the sample and once more for its resamples (Miller 1955)."""
    labels = np.repeat(np.arange(100), 50)
    means = Sums({"log_loss": np.ones(5000)}, labels, 100).resampled(1000, np.random.default_rng(0))
    moved = scoring.without_bias(scoring_rule("log_loss").constant(means.priors), np.log(100))
    assert moved.mean() - np.log(100) == pytest.approx(99 / 10_000, rel=0.05)
    normalized = normalized_log_loss(means)
    assert normalized == pytest.approx(1 / moved, abs=1e-12)


def test_given_priors_have_no_bias():
    columns, labels, weights = rows(300)
    priors = np.bincount(labels, weights) / weights.sum()
    means = Sums({"log_loss": columns["log_loss"]}, labels, 3, weights, priors).resampled(
        50, np.random.default_rng(0)
    )
    entropy_of_priors = entropy(priors)
    expected = means["log_loss"] / entropy_of_priors
    assert normalized_log_loss(means) == pytest.approx(expected, abs=1e-12)


def test_resamples_are_divided_by_the_decision_that_is_best_in_the_sample():
    hit, labels = np.arange(60) % 3 > 0, np.repeat([0, 1, 2], [21, 20, 19])
    costs = parse_cost_word("zero-one").matrix(("a", "b", "c"), np.full(3, 1 / 3))
    drawn = np.random.default_rng(7).integers(0, 60, size=(30, 60))
    means = Sums({"hit": hit, costs.column: ~hit}, labels, 3).resampled(30, np.random.default_rng(7))
    most = [np.bincount(labels[units], minlength=3).argmax() for units in drawn]
    assert set(most) == {0, 1, 2}  # each resample by itself would decide otherwise
    expected = [1 - hit[units].mean() for units in drawn] / np.mean(labels[drawn] != 0, axis=1)
    assert scoring.normalized_error_rate(means) == pytest.approx(expected, abs=1e-12)
    assert scoring.normalized_risk(means, costs) == pytest.approx(expected, abs=1e-12)


def test_deals_keep_the_mean_and_its_spread(monkeypatch):
    columns, labels, _ = rows(15_000)
    exact = Sums(columns, labels, 3).resampled(2000, np.random.default_rng(1))
    monkeypatch.setattr("calcli.core.data.units.UNIT_LIMIT", 10_000)
    dealt = Sums(columns, labels, 3)
    assert float(dealt.means()["log_loss"]) == pytest.approx(columns["log_loss"].mean(), abs=1e-12)
    assert dealt.means().priors == pytest.approx(np.bincount(labels) / 15_000, abs=1e-7)
    resampled = dealt.resampled(2000, np.random.default_rng(1))
    for name in columns:
        assert resampled[name].std() == pytest.approx(exact[name].std(), rel=0.1)
    entropies = tuple(scoring_rule("log_loss").constant(one.priors).std() for one in (resampled, exact))
    assert entropies[0] == pytest.approx(entropies[1], rel=0.15)


def test_every_row_is_dealt_once():
    values = np.arange(30_000.0)
    dealt = Units.of(30_000).resampled()
    sums = dealt.sums(values)
    assert sums.sum() == values.sum()
    assert sums[5] == sum(range(5, 30_000, DEALS))
    assert dealt.sums(values, np.full(30_000, 2.0)) == pytest.approx(2 * sums)


def test_infinite_rows_make_a_resample_infinite_only_where_they_are_drawn():
    loss = np.array([np.inf, 1.0, 2.0, 3.0])
    means = Sums({"log_loss": loss}, np.zeros(4, int), 1).resampled(400, np.random.default_rng(0))
    infinite = np.isinf(means["log_loss"])
    assert 0.2 < 1 - infinite.mean() < 0.45  # (3/4)^4 = 0.316
    assert (means["log_loss"][~infinite] <= 3).all()


def test_a_cluster_of_copies_is_one_row():
    columns, labels, weights = rows(60)
    labels = np.sort(labels)  # units of single rows stand in the order of the classes
    plain = Sums(columns, labels, 3, weights).resampled(20, np.random.default_rng(2))
    order = np.random.default_rng(3).permutation(180)
    copies = np.repeat(np.arange(60), 3)[order]
    tripled = {name: values[copies] for name, values in columns.items()}
    names = np.array([f"patient {number:02}" for number in copies])
    sums = Sums(tripled, labels[copies], 3, weights[copies], units=Units.of(180, names))
    assert sums.units.number == 60
    clustered = sums.resampled(20, np.random.default_rng(2))
    for name in columns:
        assert clustered[name] == pytest.approx(plain[name], abs=1e-12)
    assert clustered.priors == pytest.approx(plain.priors, abs=1e-12)


def test_deals_of_clusters_keep_the_spread_between_clusters(monkeypatch):
    rng = np.random.default_rng(4)
    clusters = rng.integers(0, 12_000, 30_000)
    columns = {"log_loss": rng.normal(size=12_000)[clusters] + rng.normal(size=30_000) / 4}
    labels = rng.integers(0, 3, 30_000)
    apart = Sums(columns, labels, 3, units=Units.of(30_000, clusters))
    monkeypatch.setattr("calcli.core.data.units.UNIT_LIMIT", 10_000)
    dealt = Sums(columns, labels, 3, units=Units.of(30_000, clusters))
    assert (len(np.unique(clusters)), dealt.units.number) == (apart.units.number, DEALS)
    assert float(dealt.means()["log_loss"]) == pytest.approx(columns["log_loss"].mean(), abs=1e-12)
    spreads = [sums.resampled(1000, np.random.default_rng(5))["log_loss"].std() for sums in (apart, dealt)]
    assert spreads[0] == pytest.approx(spreads[1], rel=0.1)
    rows_alone = Sums(columns, labels, 3).resampled(1000, np.random.default_rng(5))
    assert rows_alone["log_loss"].std() < 0.8 * spreads[0]


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("share", [0, 1])
def test_a_share_of_all_or_no_rows_has_wilsons_interval(share, level):
    hit = np.full(40, bool(share))
    draws = Sums({"hit": hit}, np.arange(40) % 2, 2).resampled(100_000, np.random.default_rng(0))["hit"]
    ends = binomtest(40 * share, 40).proportion_ci(level, method="wilson")
    found = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    assert found == pytest.approx([ends.low, ends.high], abs=0.002)


def test_rows_that_count_for_a_share_of_all_rows():
    """Copies of a row, or of a cluster, tell no more than one; rows without weight tell nothing."""

    def lowest(rows, weights=None, clusters=None, hit=True):
        columns = {"hit": np.full(rows, hit)}
        columns["hit"][:5] = True
        sums = Sums(columns, np.zeros(rows, int), 2, weights, units=Units.of(rows, clusters))
        return np.quantile(sums.resampled(50_000, np.random.default_rng(0))["hit"], 0.025)

    alone = pytest.approx(lowest(50), abs=0.002)
    assert lowest(50, np.full(50, 3.0)) == alone
    assert lowest(150, clusters=np.repeat(np.arange(50), 3)) == alone
    assert lowest(90, np.repeat([1.0, 0.0], [50, 40])) == alone
    assert lowest(50, np.repeat([1.0, 0.0], [5, 45]), hit=False) == pytest.approx(lowest(5), abs=0.01)
    assert lowest(50, np.repeat([9.0, 1.0], [25, 25])) < lowest(40)


def test_certain_hits_leave_a_gap_between_confidence_and_accuracy_open():
    """Thirty hits in a row are no proof against a confidence of 0.97: that happens in 40% of the cases."""
    rng = np.random.default_rng(0)
    columns = {"hit": np.ones(30, bool), "confidence": rng.uniform(0.96, 0.98, 30)}
    means = Sums(columns, np.arange(30) % 3, 3).resampled(2000, rng)
    low, high = np.quantile(scoring.mean_gap(means), [0.025, 0.975])
    assert low < -0.02
    assert high > 0
