"""Beta-weighted scores against the log-loss, the Brier score, and numerical integration of Bayes risks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, special, stats

from calcli.core.estimators.beta_scores import BetaScore
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


def test_a_and_b_are_those_of_the_paper(dataset, predict):
    """The two classes of SST-2 are alike in number, not in their errors: a and b do not commute."""
    logits, labels = dataset("sst2_gpt2")
    prob = special.softmax(np.asarray(logits, float), axis=1)[:, 1]
    own = predict(logits, labels, "logits")
    (found,), (mirrored,) = (evaluate(own, only(*ab)).estimates.values() for ab in ((3, 1), (1, 3)))
    assert found.value == pytest.approx(integral(prob, labels, 3, 1), rel=2e-3)
    assert mirrored.value == pytest.approx(integral(prob, labels, 1, 3), rel=2e-3)
    assert found.value > 1.1 * mirrored.value


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
        for beta, plain, factor in ((names[0], "log_loss", 1), (names[1], "brier", 1.5)):
            constant = factor * found[plain].parts["constant"]
            assert found[beta].parts["constant"] == pytest.approx(constant, abs=1e-6)


def test_sure_and_wrong_costs_without_bound_only_up_to_one():
    never, always = np.array([-np.inf]), np.array([np.inf])
    second = np.array([1])
    assert BetaScore(1, 1).losses(never, second)[0] == np.inf
    assert BetaScore(2, 0.5).losses(never, second)[0] == np.inf
    assert BetaScore(2, 2).losses(never, second)[0] == pytest.approx(3, abs=1e-8)
    assert BetaScore(1, 1).losses(always, second)[0] == 0


@pytest.mark.parametrize("prior", [0.0, 1.0])
def test_one_class_alone_has_a_constant_of_zero(prior):
    assert BetaScore(1, 1).constant(np.array([1 - prior, prior])) == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize(
    "text", ["beta_score:a=0", "beta_score:b=x", "beta_score:a=-1", "beta_score:a=1e9", "beta_score:b=5e-324"]
)
def test_parameters_must_be_positive_numbers(text, binary):
    with pytest.raises(UsageError, match="number from 1e-06 to 1000"):
        evaluate(binary([0.5], [0]), Settings(metrics=(text,)))


def test_it_is_for_two_classes(predict):
    with pytest.raises(UsageError, match="beta_score is for two classes, and there are 3"):
        evaluate(predict(np.full((2, 3), 1 / 3), [0, 1]), Settings(metrics=("beta_score",)))
