"""Thresholds with a promise: the band beside its definition, and what it accepts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import betaln
from scipy.stats import beta, binom

from calcli.core.estimators import thresholds
from calcli.core.estimators.thresholds import (
    find_recall_threshold,
    find_threshold,
    last_accepted,
    make_threshold,
    one_of_each,
)
from calcli.core.language.errors import InputError, UsageError


def fixed_rows():
    """Return the confidences and errors of a fixed check."""
    rng = np.random.default_rng(7)
    z = rng.normal(0, 1.5, 2000)
    p = np.round(1 / (1 + np.exp(-z)), 6)
    y = rng.random(2000) < 1 / (1 + np.exp(-0.8 * z))
    return np.maximum(p, 1 - p), (p >= 0.5) != y


def test_the_fixed_check():
    """Against numbers of another program."""
    found = find_threshold(*fixed_rows(), 0.1, 0.95)
    assert (found.threshold, found.accepted_rows, found.errors) == (0.929631, 169, 7)
    none = find_threshold(*fixed_rows(), 0.05, 0.95)
    assert (none.threshold, none.accepted_rows, none.least_rows) == (None, 0, 59)
    assert find_threshold(*fixed_rows(), none.least_error, 0.95).threshold is not None
    assert find_threshold(*fixed_rows(), none.least_error - 0.001, 0.95).threshold is None
    assert none.least_error == pytest.approx(0.079)


def critical(level, rows, rate):
    """Return c[m] for m = 1..rows: the most errors with P(Bin(m, rate) <= k) <= level, else -1."""
    counts = np.arange(rows + 1)
    return [int(np.sum(binom.cdf(counts[: m + 1], m, rate) <= level)) - 1 for m in range(1, rows + 1)]


def crossing(level, rows, rate):
    """Return the probability that independent rows pass anywhere, one row after the other."""
    alive, dead = np.array([1.0] + [0.0] * rows), 0.0
    for most in critical(level, rows, rate):
        alive = (1 - rate) * alive + rate * np.append(0, alive[:-1])
        dead += alive[: most + 1].sum()
        alive[: most + 1] = 0
    return dead


@pytest.mark.parametrize(("rate", "rows", "level"), [(0.1, 300, 0.95), (0.3, 60, 0.8), (0.02, 250, 0.9)])
def test_the_band_is_that_of_its_definition(rate, rows, level):
    """The sizes are critical at one level of each, and a greater one would not keep all of them."""
    own = thresholds._level_of_each(rate, rows, 1 - level)
    sizes = thresholds._sizes(rate, rows, own)
    found = np.searchsorted(sizes, np.arange(1, rows + 1), side="right") - 1
    assert found.tolist() == critical(own, rows, rate)
    assert thresholds._crossing(rate, sizes) == pytest.approx(crossing(own, rows, rate), abs=1e-12)
    assert crossing(own, rows, rate) <= 1 - level < crossing(own * 1.2, rows, rate)


@pytest.mark.parametrize("seed", range(5))
def test_above_many_rows_it_is_a_martingale(monkeypatch, seed):
    """The mixture of rates below r over r itself, by its definition, for few rows."""
    monkeypatch.setattr(thresholds, "BAND_ROWS", 100)
    rng, r = np.random.default_rng(seed), 0.1
    m = np.arange(1, 302)
    k = np.cumsum(rng.random(301) < np.linspace(0, 0.2, 301))
    log_ratio = betaln(k + 1, m - k + 1) - (k + 1) * np.log(r) - (m - k) * np.log1p(-r)
    mixture = beta.cdf(r, k + 1, m - k + 1) * np.exp(log_ratio)
    places = np.flatnonzero(mixture >= 20)
    assert last_accepted(r, m, k, 0.95) == (places[-1] if len(places) else None)


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("digits", [1, 3])
def test_a_search_that_fails_names_the_least_rate_that_is_accepted(monkeypatch, many, digits):
    """One crossing a rate decides as the band of that rate does, which takes twenty."""
    monkeypatch.setattr(thresholds, "BAND_ROWS", 100 if many else 50_000)
    rng = np.random.default_rng(digits)
    for _ in range(20):
        scores = rng.random(300).round(digits)
        wrong = rng.random(300) < rng.random() * (1.2 - scores)
        found = find_threshold(scores, wrong, 0.01, 0.9)
        assert found.threshold is None
        sizes, errors = thresholds.ends_of_ties(scores, wrong)
        for rate, accepts in ((found.least_error - 0.001, False), (found.least_error, True)):
            assert (last_accepted(rate, sizes, errors, 0.9) is not None) == accepts
            if not many:
                needed = np.append(
                    thresholds._sizes(rate, 300, thresholds._level_of_each(rate, 300, 1 - 0.9)), 301
                )
                assert (sizes >= needed[np.minimum(errors, len(needed) - 1)]).any() == accepts


def by_definition(scores, wrong, rate, level):
    """Return the threshold, row after row, with the critical counts of scipy."""
    rows = len(scores)
    c = critical(thresholds._level_of_each(rate, rows, 1 - level), rows, rate)
    order, least = np.argsort(-scores), None
    for m in range(1, rows + 1):
        tied = m < rows and scores[order[m]] == scores[order[m - 1]]
        if not tied and wrong[order[:m]].sum() <= c[m - 1]:
            least = scores[order[m - 1]]
    return least


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("digits", [1, 2, 9])
def test_ties_are_accepted_together(seed, digits):
    rng = np.random.default_rng(seed)
    scores = np.round(rng.uniform(0.5, 1, 150), digits)
    wrong = rng.random(150) < (1 - scores) / 2
    assert find_threshold(scores, wrong, 0.2, 0.9).threshold == by_definition(scores, wrong, 0.2, 0.9)


def test_extremes():
    right, ones = np.zeros(100, bool), np.full(100, 0.7)
    assert find_threshold(np.linspace(0.5, 1, 100), right, 0.05, 0.95).threshold == 0.5
    assert find_threshold(ones, right, 0.05, 0.95).threshold == 0.7
    wrong = find_threshold(ones, ~right, 0.05, 0.95)
    assert (wrong.threshold, wrong.least_error) == (None, 1.0)
    one = find_threshold(ones[:1], right[:1], 0.05, 0.95)
    assert one.threshold is None
    assert one.least_error == pytest.approx(0.95)  # Clopper and Pearson's bound of 0 of 1


@pytest.fixture
def rows(predict):
    """Return predictions of the fixed check, with a column of slices and one of clusters."""
    confidence, wrong = fixed_rows()
    columns = {"place": np.arange(2000) % 2, "patient": np.arange(2000) // 4}
    predictions = predict(np.column_stack([1 - confidence, confidence]), np.where(wrong, 0, 1))
    return replace(predictions, columns=columns)


def test_answers_are_the_rows_that_were_accepted(rows):
    made = make_threshold(rows, 0.1)
    assert made.answers(rows).sum() == made.found[0].accepted_rows == 169
    assert made.found[0].accepted.contains(0.0845)


def test_slices_share_the_level(rows):
    made = make_threshold(rows, 0.2, by="place")
    confidence, wrong = fixed_rows()
    for number, found in enumerate(made.found):
        assert found == find_threshold(confidence[number::2], wrong[number::2], 0.2, 0.975, str(number))
    with pytest.raises(InputError, match="no threshold was made for place = '7'; those that it was"):
        made.answers(replace(rows, columns={"place": np.full(2000, 7)}))


def test_one_row_of_each_cluster_is_drawn(rows):
    made = make_threshold(rows, 0.2, cluster="patient", seed=3)
    assert made.found[0].rows == 500
    assert made.found == make_threshold(rows, 0.2, cluster="patient", seed=3).found
    units = np.repeat([0, 1, 2], [1, 10, 100])
    drawn = np.array([one_of_each(units, np.random.default_rng(seed)) for seed in range(300)])
    assert (units[drawn] == [0, 1, 2]).all()
    assert drawn[:, 1].mean() == pytest.approx(5.5, abs=4 * 2.9 / 300**0.5)


def test_a_target_has_a_threshold_on_its_probability_also_below_one_half(predict):
    rng = np.random.default_rng(5)
    probs = rng.random(3000)
    labels = (rng.random(3000) < 0.7 + 0.3 * probs).astype(int)  # far more often than the scores say
    rows = predict(np.column_stack([1 - probs, probs]), labels)
    made = make_threshold(rows, 0.2, target="precision:1")
    (found,) = made.found
    expected = find_threshold(probs, labels == 0, 0.2, 0.95)
    assert replace(found, recall=None, precision=None, alerts=None) == expected
    assert found.threshold < 0.5
    assert found.errors == np.count_nonzero(labels[probs >= found.threshold] == 0)
    np.testing.assert_array_equal(made.answers(rows), probs >= found.threshold)


@pytest.mark.parametrize("max_error", [0.05, 0.1])
@pytest.mark.parametrize("digits", [1, 9])  # with ties, and without
def test_rows_of_a_class_are_found_as_often_as_promised(max_error, digits):
    rng = np.random.default_rng(7)
    missed = []
    for _ in range(1000):
        scores = rng.random(120).round(digits)
        found = find_recall_threshold(scores, max_error, 0.9)
        assert found.errors == np.count_nonzero(scores < found.threshold)
        missed.append(max(0.0, found.threshold - 0.05) if digits == 1 else found.threshold)
    assert np.mean(np.array(missed) <= max_error + 1e-9) >= 0.9 - 3 * (0.09 / 1000) ** 0.5
    if digits > 1:
        below = int(binom.ppf(0.1, 120, max_error))  # the most of which P(so few) <= 1 - level, or one more
        below -= binom.cdf(below, 120, max_error) > 0.1
        assert found.errors == below
        exact = beta.cdf(max_error, below + 1, 120 - below)  # the law of such an order statistic
        assert np.mean(np.array(missed) <= max_error) == pytest.approx(exact, abs=4 * (0.09 / 1000) ** 0.5)


def test_a_recall_needs_rows_of_its_class(predict):
    labels = np.repeat([0, 1], [3000, 58])
    rows = predict(np.tile([0.6, 0.4], (3058, 1)), labels)
    (found,) = make_threshold(rows, 0.05, target="recall:1").found
    assert (found.threshold, found.rows, found.least_rows) == (None, 58, 59)
    assert found.least_error == pytest.approx(1 - 0.05 ** (1 / 58), abs=1e-3)
    (other,) = make_threshold(rows, 0.05, target="recall:0").found
    assert (other.threshold, other.errors, other.rows) == (0.6, 0, 3000)
    with pytest.raises(InputError, match="no row drawn is 1; expected some"):
        make_threshold(replace(rows, labels=np.zeros(3058, int)), 0.05, target="recall:1")


@pytest.mark.parametrize(
    ("change", "asked", "message"),
    [
        ({"weights": np.ones(2000)}, {}, "has row weights"),
        ({}, {"target": "precision:dog"}, "has no such class; it has 0, 1"),
        ({}, {"by": "town"}, "no column 'town'"),
    ],
)
def test_what_cannot_be_promised_about_is_refused(rows, change, asked, message):
    with pytest.raises((UsageError, InputError), match=message):
        make_threshold(replace(rows, **change), 0.1, **asked)


def test_an_alert_budget_is_kept_in_new_data_with_the_promised_probability(predict):
    """The share above is exact by an order statistic: at most 5% of the sets exceed it."""
    rng, exceeded = np.random.default_rng(4), 0
    for _ in range(400):
        score = rng.random(300)
        rows = predict(np.stack([1 - score, score], axis=1), (rng.random(300) < score).astype(int))
        (cut,) = make_threshold(rows, 0.1, target="alerts:").found
        exceeded += 1 - cut.threshold > 0.1  # of uniform scores
        assert cut.errors == np.count_nonzero(score >= cut.threshold)
        assert beta.ppf(0.95, cut.errors + 1, 300 - cut.errors) <= 0.1
        assert beta.ppf(0.95, cut.errors + 2, 299 - cut.errors) > 0.1
    assert binom.sf(exceeded - 1, 400, 0.05) > 0.01
    assert exceeded >= 5


def test_equal_scores_above_an_alert_budget_stay_out_together(predict):
    score = np.repeat([0.9, 0.8, 0.2], [40, 60, 900])
    rows = predict(np.stack([1 - score, score], axis=1), (np.arange(1000) % 3 == 0).astype(int))
    (cut,) = make_threshold(rows, 0.08, target="alerts:1").found
    assert (cut.threshold > 0.8, cut.threshold <= 0.9, cut.alerts, cut.errors) == (True, True, 0.04, 40)
    (none,) = make_threshold(rows, 0.001, target="alerts:1").found
    assert (none.threshold, none.least_rows) == (None, 2995)
    with pytest.raises(UsageError, match="--max-alerts: name a class"):
        make_threshold(predict(np.full((30, 3), 1 / 3), np.arange(30) % 3), 0.1, target="alerts:")
