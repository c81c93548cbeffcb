"""Normalized scores of so many classes that their frequencies are uncertain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calcli.core.comparing.comparison import Plan, compare
from calcli.core.data.predictions import ArrayScores
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.settings import Settings
from calcli.report.wording import without_interval

METRICS = Settings(metrics=("log_loss", "normalized_log_loss", "normalized_brier"), draws=0)


@pytest.fixture
def favouring(predict):
    """Return calibrated predictions: a favourite with probability `sure`, and the rest shared by all."""

    def make(rows, classes, sure, seed=0):
        rng = np.random.default_rng(seed)
        favourite, labels = rng.integers(0, classes, (2, rows))
        labels = np.where(rng.random(rows) < sure, favourite, labels)
        probs = np.full((rows, classes), (1 - sure) / classes)
        probs[np.arange(rows), favourite] += sure
        return predict(probs, labels)

    return make


def test_five_rows_a_class_leave_the_value_in_its_interval(favouring):
    found = evaluate(favouring(5000, 1000, 0.6), METRICS).estimates
    for name in METRICS.metrics:
        one = found[name]
        assert one.interval.low < one.value < one.interval.high
    normalized = found["normalized_log_loss"]
    # the entropy of the frequencies is too low: the truth is rather in the lower part
    assert normalized.value > (normalized.interval.low + normalized.interval.high) / 2
    assert without_interval(found.values()) == []


def test_frequencies_of_classes_with_hardly_a_row_give_no_interval(favouring):
    found = evaluate(favouring(400, 4000, 0.1), METRICS).estimates
    assert found["normalized_log_loss"].interval is None
    assert found["log_loss"].interval is not None
    (said,) = without_interval([found["log_loss"], found["normalized_log_loss"]])
    assert said.startswith("No interval of normalized_log_loss: its bias is more than half")


def test_differences_of_normalized_scores_have_the_same_interval_or_none(favouring):
    sure = favouring(400, 2000, 0.9)
    guessing = replace(sure, scores=ArrayScores(np.full((400, 2000), 1 / 2000), sure.kind))
    (found,) = compare([sure, guessing], METRICS, Plan())
    plain, normalized = (found.differences[0][name] for name in ("log_loss", "normalized_log_loss"))
    assert plain.verdict == normalized.verdict == "worse"
    assert plain.interval.contains(plain.value)
    assert normalized.interval is None
    (found,) = compare([sure, favouring(400, 2000, 0.9)], METRICS, Plan())
    assert found.differences[0]["normalized_log_loss"].verdict == "equivalent"
