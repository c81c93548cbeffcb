"""Few labels and a proxy of all rows, against scipy, hand formulas and a reference script."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from calcli.core.estimators.fewlabels import FewLabels, fisher_p, kolmogorov_p, post_stratified, rank_sum_p
from calcli.core.estimators.intervals import Interval, jeffreys
from tests.benchmarks.labelled import numbers, verdicts

REFERENCE = Path(__file__).parents[4] / "shared" / "next" / "few_labels_reference.py"


@pytest.mark.skipif(not REFERENCE.exists(), reason="the reference is not there")
def test_six_hundred_random_sets_agree_with_the_reference():
    spec = importlib.util.spec_from_file_location("reference", REFERENCE)
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    rng, used = np.random.default_rng(0), set()
    for number in range(600):
        labels, kind = int(rng.choice([20, 50, 200])), ("", "grades", "difference", "questions")[number % 4]
        if kind:
            few, _ = numbers(rng, labels, kind)
        else:
            share, agreement = rng.choice([0.5, 0.75, 0.93, 0.99]), rng.choice([0.6, 0.8, 0.95, 0.99])
            y, f = verdicts(rng, labels + 500, share, agreement, rng.choice(["even", "lenient"]))
            few = FewLabels(y[:labels], f[:labels], f[labels:])
        n, of = len(few.outcome), {"ends": few.ends}
        if few.units is not None:
            of |= {"units": few.units[:n], "units_rest": few.units[n:]}
        expected = reference.estimate(few.outcome, few.proxy, few.unlabelled, **of)
        found = few.corrected(0.95)
        used.add(expected["by"])
        assert (found is None) == (expected["by"] == "labels")
        if found is None:
            continue
        assert found.how.replace(" and ", "+") == expected["by"]
        values = found.value, found.interval.low, found.interval.high
        np.testing.assert_allclose(values, [expected[key] for key in ("value", "low", "high")], 0, 1e-12)
        assert found.worth(n, Interval(*expected["alone"], 0.95)) == reference.worth(expected)
        if few.of_verdicts:
            needed = reference.more_labels(few.outcome, few.proxy, few.unlabelled, 0.05)
            assert few.labels_needed(0.05, 0.95) == needed
    assert used == {"labels", "verdicts", "proxy", "proxy+unseen"}


def test_verdicts_are_post_stratified_with_limits_of_jeffreys_and_mover():
    rows, passes, hits, of = 1000, 700, np.array([4.0, 45.0]), np.array([20.0, 50.0])
    found = post_stratified(passes, rows, hits, of, 0.95)
    assert found.value == pytest.approx(0.7 * 0.9 + 0.3 * 0.2)
    low = [stats.beta.ppf(0.025, x + 0.5, n - x + 0.5) for x, n in ((45, 50), (4, 20), (700, 1000))]
    reach = math.hypot(0.7 * (0.9 - low[0]), 0.3 * (0.2 - low[1]), (0.9 - 0.2) * (0.7 - low[2]))
    assert found.interval.low == pytest.approx(found.value - reach, abs=1e-12)


def test_a_verdict_without_a_label_is_open():
    found = post_stratified(500, 1000, np.array([0.0, 30.0]), np.array([0.0, 30.0]), 0.95)
    assert found.value == pytest.approx(0.75)  # 0 for the low end, 1 for the high end
    assert found.interval.low < 0.5
    assert found.interval.high == 1


@pytest.mark.parametrize(("hits", "rows"), [(0, 9), (9, 9), (3, 40), (2.5, 7.5)])
def test_limits_of_jeffreys(hits, rows):
    low, high = stats.beta.ppf([0.025, 0.975], hits + 0.5, rows - hits + 0.5)
    expected = low if hits else 0.0, high if hits < rows else 1.0
    assert jeffreys(hits, rows, 0.95) == pytest.approx(expected, abs=1e-13)


def test_samples_are_compared_as_scipy_does():
    rng = np.random.default_rng(4)
    assert fisher_p(12, 50, 300, 900) == pytest.approx(stats.fisher_exact([[12, 38], [300, 600]]).pvalue)
    for values, others in (
        (rng.random(60), rng.random(500) ** 1.3),
        (rng.integers(0, 5, 40), rng.integers(0, 6, 90)),
    ):
        p = stats.mannwhitneyu(values, others, method="asymptotic").pvalue
        assert rank_sum_p(values, others) == pytest.approx(p, abs=1e-12)
        distance = stats.ks_2samp(values, others).statistic
        root = math.sqrt(len(values) * len(others) / (len(values) + len(others)))
        assert kolmogorov_p(values, others) == pytest.approx(stats.kstwobign.sf(root * distance), abs=1e-6)


def test_a_proxy_that_does_not_help_is_left_out():
    rng = np.random.default_rng(5)
    y, f = (rng.random(50) < 0.7) * 1.0, (rng.random(550) < 0.5) * 1.0
    assert FewLabels(y, f[:50], f[50:]).corrected(0.95) is None
    assert FewLabels(y, 1 - y, f[50:]).corrected(0.95) is None  # the wrong way round
    assert FewLabels(y, np.ones(50), f[50:]).correlation == 0


def test_labelled_questions_are_compared_as_wholes():
    rng, p_values = np.random.default_rng(6), []
    for _ in range(300):
        said = np.repeat(rng.random(300) < 0.7, 5) * 1.0  # five equal answers to a question
        p_values.append(
            FewLabels(said[:200], said[:200], said[200:], np.repeat(np.arange(300), 5)).drawn_alike()
        )
    assert np.mean(np.array(p_values) < 0.05) < 0.09
