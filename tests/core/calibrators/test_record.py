"""Applying a record: kinds of scores in and out, other priors."""

from __future__ import annotations

import numpy as np
import pytest

from calcli.core.calibrators.histogram import Isotonic
from calcli.core.calibrators.record import CalibratorRecord, recalibrate, scores_as
from calcli.core.calibrators.temperature import Temperature
from calcli.core.data.derived import prior_shift
from calcli.core.language.errors import InputError

LOGITS = np.random.default_rng(0).normal(size=(20, 3)) * 2
PROBS = np.exp(LOGITS) / np.exp(LOGITS).sum(1, keepdims=True)


def record(temperature: float = 1.0, priors=(0.5, 0.25, 0.25), raw: bool = False) -> CalibratorRecord:
    calibrator = Temperature()
    calibrator.parameters = {"temperature": temperature}
    return CalibratorRecord(calibrator, ("a", "b", "c"), raw, priors, {})


def test_any_kind_of_scores_gives_the_same():
    expected = recalibrate(record(2.0), LOGITS, "logits")
    np.testing.assert_allclose(recalibrate(record(2.0), PROBS, "probs"), expected)
    np.testing.assert_allclose(recalibrate(record(2.0), np.log(PROBS), "log-probs"), expected)
    np.testing.assert_allclose(np.exp(expected).sum(1), 1)


def test_shift_is_bayes_rule():
    new = np.array([0.1, 0.2, 0.7])
    shift = prior_shift("abc", np.array([0.5, 0.25, 0.25]), new)
    shifted = np.exp(recalibrate(record(), LOGITS, "logits", shift))
    ratio = PROBS * new / np.array([0.5, 0.25, 0.25])
    np.testing.assert_allclose(shifted, ratio / ratio.sum(1, keepdims=True))


def test_written_as_any_kind_they_are_the_same_distribution():
    log_probs = np.log(PROBS)
    np.testing.assert_allclose(scores_as("probs", log_probs), PROBS)
    np.testing.assert_array_equal(scores_as("log-probs", log_probs), log_probs)
    logits = scores_as("logits", log_probs)
    np.testing.assert_allclose(logits.mean(1), 0, atol=1e-12)
    np.testing.assert_allclose(np.exp(logits) / np.exp(logits).sum(1, keepdims=True), PROBS)


def test_a_probability_of_0_has_no_logit():
    log_probs = np.array([[0.0, -np.inf]])
    np.testing.assert_array_equal(scores_as("probs", log_probs), [[1, 0]])
    with pytest.raises(InputError, match="no finite logit"):
        scores_as("logits", log_probs)


def test_raw_logits_cannot_be_had_from_probabilities():
    record(raw=True).refuse_kind("logits", "x.csv")
    record().refuse_kind("probs", "x.csv")
    with pytest.raises(InputError, match=r"x\.csv has probs, but the calibrator was fitted on raw logits"):
        record(raw=True).refuse_kind("probs", "x.csv")


def test_single_precision_is_recalibrated_in_double():
    """Steps of an isotonic map lie where rows of the fit are, and these are computed in double."""
    single = LOGITS.astype(np.float32)
    calibrator = Isotonic().fit(single.astype(np.float64), np.arange(20) % 3)
    found = recalibrate(CalibratorRecord(calibrator, ("a", "b", "c"), False, (), {}), single, "logits")
    np.testing.assert_array_equal(found, calibrator.apply(single.astype(np.float64)))
