"""Resampled calibration losses, against scikit-learn on the drawn rows, and their coverage."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import log_loss

from calcli.core.comparing.comparison import Plan, compare
from calcli.core.evaluating.evaluate import measure
from calcli.core.evaluating.families import FAMILIES
from calcli.core.evaluating.families.base import Entrant
from calcli.core.evaluating.recalibrated import Companions, Recalibrations
from calcli.core.language.expressions import parse_metric
from calcli.core.language.families import RECALIBRATION
from calcli.core.language.settings import Settings

METRICS = ("calibration_loss", "relative_calibration_loss")


def test_draws_agree_with_a_loop_over_the_resampled_rows(predict):
    rng = np.random.default_rng(0)
    labels = np.sort(rng.integers(0, 3, 90))  # the order in which rows are resampled
    logits = 3 * (np.eye(3)[labels] + rng.normal(size=(90, 3)))
    settings = Settings(metrics=METRICS)
    measured = measure(predict(logits, labels, "logits"), settings)
    calls = [parse_metric(metric) for metric in METRICS]
    found = FAMILIES[RECALIBRATION].draws(calls, Entrant(measured, settings, 0, True))
    after = np.exp(Recalibrations(measured.predictions, Companions(), settings.seed).of(calls[0]).log_probs)
    before = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    drawn = np.random.default_rng([0, 1]).integers(0, 90, size=(20, 90))
    losses = np.array(
        [
            [log_loss(labels[rows], table[rows], labels=[0, 1, 2]) for table in (before, after)]
            for rows in drawn
        ]
    )
    assert found["calibration_loss"] == pytest.approx(losses[:, 0] - losses[:, 1], abs=1e-9)
    assert found["relative_calibration_loss"] == pytest.approx(1 - losses[:, 1] / losses[:, 0], abs=1e-9)


def test_intervals_cover_the_true_difference(predict):
    """A calibrated system and the same with doubled logits, whose calibration loss is known by simulation."""
    rng = np.random.default_rng(1)

    def draw(rows):
        logits = rng.normal(0, 1.5, size=(rows, 2))
        chance = 1 / (1 + np.exp(logits[:, 0] - logits[:, 1]))
        return logits, (rng.random(rows) < chance).astype(int)

    def loss(logits, labels):
        return np.logaddexp.reduce(logits, axis=1) - logits[np.arange(len(labels)), labels]

    logits, labels = draw(400_000)
    expected = (loss(2 * logits, labels) - loss(logits, labels)).mean()
    settings = Settings(metrics=("calibration_loss",), draws=0)
    covered = 0
    for _ in range(100):
        logits, labels = draw(400)
        systems = [predict(table, labels, "logits") for table in (logits, 2 * logits)]
        (found,) = compare(systems, settings, Plan())
        ends = found.differences[0]["calibration_loss"].interval
        covered += ends.low <= expected <= ends.high
    # 95 of 100 are expected; 89 or fewer happen once in 90 times
    assert covered >= 90


def test_what_is_no_loss_is_not_resampled(predict):
    settings = Settings(metrics=("score_divergence",))
    measured = measure(predict(np.eye(2), [0, 1]), settings)
    calls = [parse_metric(metric) for metric in settings.metrics]
    entrant = Entrant(measured, settings, 0, True)
    assert FAMILIES[RECALIBRATION].draws(calls, entrant) == {}
