"""Other class priors: every metric as if the classes had occurred with them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as sk

from calcli.core.data.derived import Priors, at_priors
from calcli.core.estimators.costs import CostWord
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.settings import Settings
from calcli.works.simulation import gaussian_classes

PLAIN = Settings(
    metrics=("log_loss", "normalized_brier", "error_rate", "ece", "ks"), intervals=False, draws=0
)


def values(predictions, **settings):
    found = evaluate(predictions, replace(PLAIN, **settings)).estimates
    return {name: estimate.value for name, estimate in found.items()}


def sample(predict, n=600, seed=0):
    made = gaussian_classes("mcs", n, np.random.default_rng(seed), n_classes=3, prior=0.5, logit_scale=2)
    return predict(made.scores, made.labels, made.kind), made


def test_uniform_priors_balance_the_accuracy(predict):
    predictions, made = sample(predict)
    found = values(predictions, priors=Priors())
    balanced = sk.balanced_accuracy_score(made.labels, made.scores.argmax(1))
    assert found["error_rate"] == pytest.approx(1 - balanced)


def test_the_priors_that_the_rows_have_change_nothing(predict):
    predictions, made = sample(predict)
    same = Priors(tuple(np.bincount(made.labels) / 600))
    for shift in (None, same):
        assert values(predictions, priors=same, shift_to_priors=shift) == pytest.approx(values(predictions))


def test_rows_repeated_to_the_priors_give_the_same_values(predict):
    predictions, made = sample(predict, 300)
    times = np.array([1, 2, 3])[made.labels]
    repeated = predict(np.repeat(made.scores, times, axis=0), np.repeat(made.labels, times), "log-probs")
    priors = np.bincount(repeated.labels) / len(repeated.labels)
    assert values(predictions, priors=Priors(tuple(priors))) == pytest.approx(values(repeated))
    copies = np.random.default_rng(1).integers(1, 4, 300)  # a weight is a row repeated here as well
    again = predict(np.repeat(made.scores, copies, axis=0), np.repeat(made.labels, copies), "log-probs")
    weighted = replace(predictions, weights=copies.astype(float))
    assert values(weighted, priors=Priors()) == pytest.approx(values(again, priors=Priors()))


def test_names_say_which_prior_is_whose(predict):
    predictions, _ = sample(predict)
    named = Priors((0.5, 0.2, 0.3), ("2", "0", "1"))
    assert values(predictions, priors=named) == values(predictions, priors=Priors((0.2, 0.3, 0.5)))


@pytest.mark.parametrize("kind", ["logits", "log-probs", "probs"])
def test_shifted_posteriors_are_those_of_the_other_priors(kind, predict):
    """The posteriors of a calibrated system with prior 1/2, moved to 0.9, are those it would have had."""
    rng = np.random.default_rng(1)
    made = gaussian_classes("cal", 400, rng, prior=0.5)
    scores = {"probs": made.posteriors, "log-probs": made.scores, "logits": made.scores + 3.0}[kind]
    asked = Settings(priors=Priors((0.9, 0.1)), shift_to_priors=Priors((0.9, 0.1)))
    moved = at_priors(predict(scores, made.labels, kind), asked)
    odds = made.scores[:, 0] - made.scores[:, 1] + np.log(9)
    expected = np.where(made.labels == 0, np.logaddexp(0, -odds), np.logaddexp(0, odds))
    weights = np.where(made.labels == 0, 0.9, 0.1) / 0.5
    loss = values(replace(moved, priors=None))["log_loss"]
    assert loss == pytest.approx(np.average(expected, weights=weights), abs=1e-12)


def test_intervals_know_that_the_priors_are_fixed(predict):
    """The variance is that of stratified sampling: sum of prior_k^2 var_k / n_k."""
    predictions, made = sample(predict, 900)
    priors = np.array([0.1, 0.2, 0.7])
    found = evaluate(predictions, Settings(metrics=("log_loss",), priors=Priors(tuple(priors))))
    interval = found.estimates["log_loss"].interval
    losses = -made.scores[np.arange(900), made.labels]
    counts = np.bincount(made.labels)
    variances = np.array([losses[made.labels == k].var() for k in range(3)])
    sd = np.sqrt(np.sum(priors**2 * variances / counts))
    means = np.array([losses[made.labels == k].mean() for k in range(3)])
    influence_values = np.square((priors / counts * 1.0)[made.labels] * (losses - means[made.labels]))
    freedom = influence_values.sum() ** 2 / np.square(influence_values).sum() - 1
    assert interval.high - interval.low == pytest.approx(2 * stats.t.ppf(0.975, freedom) * sd, rel=0.08)


def test_the_constant_system_scores_one_at_its_own_priors(predict):
    labels = np.array([0] * 50 + [1] * 30 + [2] * 20)
    predictions = predict(np.tile([0.2, 0.3, 0.5], (100, 1)), labels)
    names = ("normalized_log_loss", "normalized_brier", "normalized_bayes_risk:costs=abstain")
    settings = Settings(
        metrics=names, priors=Priors((0.2, 0.3, 0.5)), costs=(CostWord("abstain", "abstain", 0.4),)
    )
    for estimate in evaluate(predictions, settings).estimates.values():
        assert estimate.value == pytest.approx(1, abs=1e-12)
        assert estimate.no_interval == "no row tells how much it varies; an interval needs 5"


def test_a_class_that_may_not_occur_takes_no_part(predict):
    predictions, made = sample(predict)
    found = values(predictions, priors=Priors((0.5, 0.5, 0.0)))["log_loss"]
    losses = -made.scores[np.arange(600), made.labels]
    assert found == pytest.approx(np.mean([losses[made.labels == k].mean() for k in (0, 1)]))


def test_a_shift_from_known_priors_leaves_the_rows_as_they_are(predict):
    """Posteriors of a training with prior 1/2, at the prior of the rows: Bayes' rule by hand."""
    made = gaussian_classes("cal", 5_000, np.random.default_rng(3), prior=0.9)
    new, old = np.bincount(made.labels) / 5_000, np.array([0.5, 0.5])
    products = np.exp(made.scores) * old / new
    trained = predict(products / products.sum(1, keepdims=True), made.labels)
    shift = {"shift_to_priors": Priors(tuple(new)), "trained_at": Priors()}
    plain = predict(made.scores, made.labels, made.kind)
    assert values(trained, **shift) == pytest.approx(values(plain), rel=1e-9)


@pytest.mark.parametrize(
    ("priors", "match"),
    [
        (Priors((0.5, 0.5)), "2 priors for 3 classes"),
        (Priors((0.5, 0.4, 0.2)), "the priors sum to 1.1; expected a sum of 1"),
        (Priors((-0.1, 0.6, 0.5)), "-0.1 is not a prior; expected 0, or 1e-100 to 1"),
        (Priors((1e308, 1e308, 1e308)), "1e[+]308 is not a prior"),
        (Priors((0.5, 0.5, 1e-320)), "9.99989e-321 is not a prior"),
        (Priors((float("nan"), 0.5, 0.5)), "nan is not a prior"),
        (Priors((0.5, 0.4, 0.1), ("0", "1", "cat")), "there is no prior for class '2'"),
    ],
)
def test_priors_that_are_none_are_refused(priors, match):
    with pytest.raises(UsageError, match=match):
        priors.of(("0", "1", "2"))


def test_weights_cannot_make_rows_of_a_class_without_any(predict):
    with pytest.raises(InputError, match=r"class '1' has no rows.*give it 0"):
        values(predict([[0.4, 0.6], [0.5, 0.5]], [0, 0]), priors=Priors())


def test_recalls_are_those_of_the_rows_whatever_is_fitted_before(predict):
    predictions, made = sample(predict)
    settings = replace(PLAIN, metrics=("relative_calibration_loss",), priors=Priors())
    found = evaluate(predictions, settings).summary.per_class
    expected = sk.recall_score(made.labels, made.scores.argmax(1), average=None)
    assert [one.recall for one in found] == pytest.approx(expected)
