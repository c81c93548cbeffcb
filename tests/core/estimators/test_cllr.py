"""The cost of log-likelihood ratios, against its definition and against scikit-learn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import norm
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import log_loss

from calcli.core.data.priors import Priors
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.errors import UsageError
from calcli.core.language.settings import Settings

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


def test_an_interval_and_weights(binary):
    found = cllr(binary(SECOND, LABELS), intervals=True)
    assert found.interval.low < found.value < found.interval.high
    twice = binary(np.tile(SECOND, 2), np.tile(LABELS, 2), np.tile([0.0, 3.0], (400, 1)).T.ravel())
    assert cllr(twice).value == pytest.approx(found.value)
    assert cllr(twice, "min_cllr").value == pytest.approx(cllr(binary(SECOND, LABELS), "min_cllr").value)


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
