"""Beta-weighted scores, risks with weights of one's own, and Cllr, against integrals and definitions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, special, stats
from scipy.special import expit, logit
from scipy.stats import norm
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import log_loss

from calcli.core.data.derived import Priors
from calcli.core.estimators.expected import BetaScore, WeightedRisk
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.errors import UsageError
from calcli.core.language.settings import Settings

ODDS = np.concatenate([np.linspace(-45, 45, 1801), [-700.0, 700.0]])


def own_probability(labels):
    return 1 / (1 + np.exp(np.where(labels == 1, -ODDS, ODDS)))


@pytest.mark.parametrize("label", [0, 1])
def test_named_members_of_the_family(label):
    labels = np.full(len(ODDS), label)
    with np.errstate(over="ignore"):
        own = own_probability(labels)
    log_loss = np.logaddexp(0, np.where(labels == 1, -ODDS, ODDS))
    np.testing.assert_allclose(BetaScore(1, 1).losses(ODDS, labels), log_loss, atol=1e-8, rtol=1e-12)
    np.testing.assert_allclose(BetaScore(2, 2).losses(ODDS, labels), 3 * (1 - own) ** 2, atol=1e-8)


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.5), (1, 3), (3, 1), (5, 2), (1e-6, 1e-6), (1e-6, 3)])
@pytest.mark.parametrize("q", [0.03, 0.5, 0.9])
def test_losses_are_integrals_over_the_threshold(a, b, q):
    missed = integrate.quad(lambda t: t ** (b - 2), q, 1, weight="alg", wvar=(0, a - 1))[0]
    alarmed = integrate.quad(lambda t: (1 - t) ** (a - 2), 0, q, weight="alg", wvar=(b - 1, 0))[0]
    log_odds = np.full(2, np.log(q) - np.log1p(-q))
    losses = BetaScore(a, b).losses(log_odds, np.array([1, 0]))
    np.testing.assert_allclose(losses, np.array([missed, alarmed]) / special.beta(a, b), atol=1e-6)


@pytest.mark.parametrize(("a", "b"), [(1.1, 1.05), (2, 700), (700, 2), (300, 200), (1000, 1000)])
def test_losses_are_incomplete_beta_functions(a, b):
    q = np.array([0.001, 0.2, 0.5, 0.6, 0.99])
    missed = (a + b - 1) / (b - 1) * special.betaincc(b - 1, a, q)
    alarmed = (a + b - 1) / (a - 1) * special.betainc(b, a - 1, q)
    score, log_odds = BetaScore(a, b), np.log(q) - np.log1p(-q)
    np.testing.assert_allclose(score.losses(log_odds, np.ones(5)), missed, atol=1e-6)
    np.testing.assert_allclose(score.losses(log_odds, np.zeros(5)), alarmed, atol=1e-6)


def integral(prob, labels, a, b):
    """Return the integral of eq. 12 with the decisions and costs of eq. 1 and 34, numerically."""
    a_1 = stats.beta(a, b).ppf((np.arange(20_000) + 0.5) / 20_000)  # each weighs the same
    first = labels[:, None] == 0
    expected = (1 - prob)[:, None] / a_1, prob[:, None] / (1 - a_1)  # costs of deciding for class 1, and 0
    wrong = np.where(first, expected[0] <= expected[1], expected[0] > expected[1])
    return np.mean(wrong / np.where(first, a_1, 1 - a_1))


@pytest.mark.parametrize(("a", "b"), [(1, 1), (2, 2), (0.5, 3), (3, 1), (20, 4)])
def test_it_is_the_integral_of_bayes_risks(a, b, binary):
    rng = np.random.default_rng(0)
    prob, labels = rng.beta(2, 2, 40), rng.integers(0, 2, 40)
    (found,) = evaluate(binary(prob, labels), only(a, b)).estimates.values()
    assert found.value == pytest.approx(integral(prob, labels, a, b), rel=1e-3)


@pytest.mark.parametrize(("a", "b"), [(1, 1), (0.5, 3), (3, 1), (20, 4)])
def test_weights_of_thresholds_are_the_density_of_a_1(a, b):
    threshold = np.linspace(0.01, 0.99, 99)
    np.testing.assert_allclose(BetaScore(a, b).weight(threshold), stats.beta(a, b).pdf(1 - threshold))


def only(a, b):
    return Settings(metrics=(f"beta_score:a={a}:b={b}",), intervals=False, draws=0)


def test_scores_and_constants_of_real_predictions(golden, dataset, predict):
    names = ("beta_score", "beta_score:a=2:b=2", "log_loss", "brier")
    for name in ("sst2_gpt2", "fvcaus_plda"):
        found = evaluate(
            predict(*dataset(name), "logits"), Settings(metrics=names, intervals=False, draws=0)
        ).estimates
        assert found[names[0]].value == pytest.approx(golden[name]["ce_nats"], abs=1e-6)
        assert found[names[1]].value == pytest.approx(1.5 * golden[name]["brier_sum"], abs=1e-6)
        for beta, plain, factor in ((names[0], "log_loss", 1), (names[1], "brier", 3)):
            constant = factor * found[plain].parts["constant"]
            assert found[beta].parts["constant"] == pytest.approx(constant, abs=1e-6)


def test_sure_and_wrong_costs_without_bound_only_up_to_one():
    never, always = np.array([-np.inf]), np.array([np.inf])
    second = np.array([1])
    assert BetaScore(1, 1).losses(never, second)[0] == np.inf
    assert BetaScore(2, 0.5).losses(never, second)[0] == np.inf
    assert BetaScore(2, 2).losses(never, second)[0] == pytest.approx(3, abs=1e-8)
    assert BetaScore(1, 1).losses(always, second)[0] == 0


@pytest.mark.parametrize(
    "text", ["beta_score:a=0", "beta_score:b=x", "beta_score:a=-1", "beta_score:a=1e9", "beta_score:b=5e-324"]
)
def test_parameters_must_be_positive_numbers(text, binary):
    with pytest.raises(UsageError, match="number from 1e-06 to 1000"):
        evaluate(binary([0.5], [0]), Settings(metrics=(text,)))


def test_it_is_for_two_classes(predict):
    with pytest.raises(UsageError, match="beta_score is for two classes, and there are 3"):
        evaluate(predict(np.full((2, 3), 1 / 3), [0, 1]), Settings(metrics=("beta_score",)))


TABLES = [
    ((0.0, 1.0), (1.0, 1.0)),
    ((0.0, 0.0), (0.3, 2.0), (0.7, 0.5), (1.0, 0.0)),
    ((0.2, 1.0), (0.4, 3.0), (0.5, 0.0)),
    ((0.6, 0.0), (1.0, 4.0)),
]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("q", [0.01, 0.2, 0.3, 0.45, 0.55, 0.999])
def test_losses_by_a_table_are_integrals_over_the_threshold(table, q):
    points, weights = np.array(table).T

    def weight(t):
        return np.interp(t, points, weights, left=0, right=0)

    inner = [point for point in points if 0 < point < 1]
    above, below = [p for p in inner if p > q], [p for p in inner if p < q]
    missed = integrate.quad(lambda t: weight(t) / t, q, 1, points=above or None)[0]
    alarmed = integrate.quad(lambda t: weight(t) / (1 - t), 0, q, points=below or None)[0]
    log_odds = np.full(2, np.log(q) - np.log1p(-q))
    losses = WeightedRisk(table).losses(log_odds, np.array([1, 0]))
    np.testing.assert_allclose(losses, [missed, alarmed], atol=1e-9)


@pytest.mark.parametrize("label", [0, 1])
def test_a_weight_of_one_is_the_log_loss_in_the_farthest_tails(label):
    odds = np.concatenate([np.linspace(-45, 45, 181), [-700.0, 700.0]])
    labels = np.full(len(odds), label)
    log_loss = np.logaddexp(0, np.where(labels == 1, -odds, odds))
    losses = WeightedRisk(TABLES[0]).losses(odds, labels)
    np.testing.assert_allclose(losses, log_loss, atol=1e-15, rtol=1e-12)


def test_a_fine_table_of_a_density_is_the_beta_score():
    points = np.linspace(0, 1, 2001)
    density = stats.beta(2, 3).pdf(1 - points)  # of a_1, where points are thresholds on the second class
    table = tuple(zip(points.tolist(), density.tolist(), strict=True))
    odds = np.linspace(-9, 9, 37)
    for label in (0, 1):
        labels = np.full(len(odds), label)
        expected = BetaScore(2, 3).losses(odds, labels)
        np.testing.assert_allclose(WeightedRisk(table).losses(odds, labels), expected, atol=1e-5)
    np.testing.assert_allclose(
        WeightedRisk(table).constant(np.array([0.3, 0.7])),
        BetaScore(2, 3).constant(np.array([0.3, 0.7])),
        atol=1e-5,
    )


def test_sure_and_wrong_costs_without_bound_if_thresholds_near_zero_weigh():
    never = np.array([-np.inf])
    assert WeightedRisk(TABLES[0]).losses(never, np.array([1]))[0] == np.inf
    assert WeightedRisk(TABLES[0]).losses(never, np.array([0]))[0] == 0
    bounded = integrate.quad(lambda t: np.interp(t, *np.array(TABLES[1]).T) / t, 0, 1, points=[0.3, 0.7])[0]
    assert WeightedRisk(TABLES[1]).losses(never, np.array([1]))[0] == pytest.approx(bounded)


def asked(*metrics, **tables):
    return Settings(metrics=metrics, intervals=False, draws=0, threshold_weights=tables)


def test_it_is_a_score_with_its_normalized_form_and_its_calibration_loss(binary):
    rng = np.random.default_rng(0)
    predictions = binary(rng.beta(1, 2, 300), rng.integers(0, 2, 300))
    pairs = [("weighted_risk", "log_loss"), ("normalized_weighted_risk", "normalized_log_loss")]
    pairs += [("calibration_loss:score=weighted_risk", "calibration_loss"),
              ("expected_score:score=weighted_risk", "expected_score")]  # fmt: skip
    found = evaluate(predictions, asked(*sum(pairs, ()))).estimates
    for own, known in pairs:
        assert found[own].value == pytest.approx(found[known].value, rel=1e-9)
    twice = ((0.0, 2.0), (1.0, 2.0))
    other = "weighted_risk:weights=twice"
    doubled = evaluate(predictions, asked(other, twice=twice)).estimates[other].value
    assert doubled == pytest.approx(2 * found["log_loss"].value, rel=1e-9)


def test_wrong_names_and_classes(binary, predict):
    with pytest.raises(UsageError, match="no weights are called 'his'; expected a CSV file"):
        evaluate(binary([0.5], [0]), asked("weighted_risk:weights=his", mine=TABLES[1]))
    with pytest.raises(UsageError, match="weighted_risk is for two classes, and there are 3"):
        evaluate(predict(np.full((2, 3), 1 / 3), [0, 1]), asked("weighted_risk"))


PLAIN = Settings(intervals=False, draws=0)
RNG = np.random.default_rng(0)
LABELS = (RNG.random(400) < 0.2).astype(int)
SECOND = expit(1.5 * (2 * LABELS - 1 + RNG.normal(size=400)) - 1)


def cllr(predictions, name="cllr", **settings):
    (found,) = evaluate(predictions, replace(PLAIN, metrics=(name,), **settings)).estimates.values()
    return found


def test_the_definition(binary):
    ratio = SECOND / (1 - SECOND) / (LABELS.mean() / (1 - LABELS.mean()))
    first, second = np.log2(1 + ratio)[LABELS == 0].mean(), np.log2(1 + 1 / ratio)[LABELS == 1].mean()
    found = cllr(binary(SECOND, LABELS))
    assert found.value == pytest.approx((first + second) / 2, rel=1e-12)
    assert found.parts["prior_odds"] == pytest.approx(LABELS.mean() / (1 - LABELS.mean()))


def test_always_answering_with_the_frequencies_costs_one_bit(binary):
    assert cllr(binary(np.full(400, LABELS.mean()), LABELS)).value == pytest.approx(1, abs=1e-12)
    assert cllr(binary(np.full(400, 0.5), LABELS), "min_cllr").value == pytest.approx(1, abs=1e-12)


def test_the_least_is_that_of_the_isotonic_fit(binary):
    weights = 1 / np.bincount(LABELS)[LABELS]
    fit = IsotonicRegression().fit(SECOND, LABELS, sample_weight=weights).predict(SECOND)
    least = log_loss(LABELS, fit, sample_weight=weights) / np.log(2)
    found = cllr(binary(SECOND, LABELS), "min_cllr")
    assert found.value == pytest.approx(least, abs=1e-9)
    assert found.parts["cllr"] == pytest.approx(cllr(binary(SECOND, LABELS)).value)
    assert found.parts["calibration"] > 0
    best = (cllr(binary(expit(a * logit(SECOND) + b), LABELS)).value for a in (0.5, 1, 2) for b in (-1, 0, 1))
    assert found.value < min(best)


def test_other_priors_change_nothing_once_the_posteriors_are_moved(binary):
    predictions, moved = (
        binary(SECOND, LABELS),
        {"priors": Priors((0.9, 0.1)), "shift_to_priors": Priors((0.9, 0.1))},
    )
    for name in ("cllr", "min_cllr"):
        there = cllr(predictions, name, **moved)
        assert there.value == pytest.approx(cllr(predictions, name).value, rel=1e-9)
        assert there.parts["prior_odds"] == pytest.approx(1 / 9)
    with pytest.raises(UsageError, match="leave out --priors, or move"):
        cllr(predictions, priors=Priors((0.9, 0.1)))


@pytest.mark.parametrize("shift", [-2.0, 0.0, 2.0])
def test_the_spread_is_that_of_other_prior_odds_too(binary, shift):
    """As by the jackknife of the definition, also where all ratios are too high or too low."""
    log_odds, n = logit(SECOND) + shift, len(LABELS)

    def defined(kept):
        log_ratio, labels = log_odds[kept], LABELS[kept]
        log_ratio = log_ratio - logit(labels.mean())
        return (np.logaddexp(0, np.where(labels, -log_ratio, log_ratio)) / np.log(2)) @ (
            0.5 / np.bincount(labels)[labels]
        )

    without = np.array([defined(np.arange(n) != row) for row in range(n)])
    error = np.sqrt((n - 1) / n * np.square(without - without.mean()).sum())
    found = cllr(binary(expit(log_odds), LABELS), intervals=True).interval
    of_normal = (found.high - found.low) / (2 * norm.ppf(0.975) * error)
    assert 0.98 < of_normal < 1.25  # of Student's t where few rows carry it


def test_two_classes_that_both_occur(binary, predict):
    for name in ("cllr", "min_cllr"):
        with pytest.raises(UsageError, match="is for two classes, and there are 3"):
            cllr(predict(np.full((2, 3), 1 / 3), [0, 1]), name)
        with pytest.raises(UsageError, match="needs rows of both classes"):
            cllr(binary([0.5, 0.6], [1, 1]), name)
