"""ECE with bins trained on other rows, against plain loops and the ECE whose bins are trained on the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calcli.core.evaluating.evaluate import evaluate
from calcli.core.evaluating.recalibrated import Companions
from calcli.core.language.errors import UsageError
from calcli.core.language.settings import Settings

MINE = "0/0.2/0.6/1"


@pytest.fixture
def drawn(predict):
    def make(seed, rows=400, weights=False, columns=None):
        rng = np.random.default_rng(seed)
        score = rng.beta(1.5, 2, rows)
        labels = (rng.random(rows) < score**1.5).astype(int)
        weight = rng.integers(0, 3, rows).astype(float) if weights else None
        found = predict(np.stack([1 - score, score], axis=1), labels, weights=weight)
        return replace(found, columns=columns or {})

    return make


def value(predictions, metric, calibration=None, **settings):
    asked = Settings((metric,), intervals=False, draws=9, **settings)
    (found,) = evaluate(predictions, asked, companions=Companions(calibration)).estimates.values()
    return found


@pytest.mark.parametrize("binning", ["equal-width", "equal-mass", "recursive:min_rows=40", MINE])
@pytest.mark.parametrize("lens", ["class-1", "top-1", "predicted-1"])
@pytest.mark.parametrize("weights", [False, True])
def test_trained_on_the_same_rows_it_is_the_plain_error(drawn, binning, lens, weights):
    rows, metric = drawn(0, weights=weights), f"ece:lens={lens}:binning={binning}"
    plain = value(rows, metric)
    found = value(rows, f"{metric}:training=held-out", rows)
    assert found.value == pytest.approx(plain.value, abs=1e-12)
    assert ("training" in plain.signature, "training:held-out" in found.signature) == (False, True)
    assert found.if_calibrated is None
    assert found.parts["untrained"] == 0


@pytest.mark.parametrize("norm", ["1", "2", "max"])
def test_cross_validation_by_a_plain_loop(drawn, norm):
    fold = np.arange(300) % 4
    rows = drawn(1, 300, columns={"part": fold})
    score, outcome = rows.scores.array[:, 1], rows.labels == 1
    bins = np.minimum((score * 10).astype(int), 9)
    gaps, shares, untrained = [], [], 0
    for own in range(4):
        for b in range(10):
            here, there = (fold == own) & (bins == b), (fold != own) & (bins == b)
            if here.any() and there.any():
                gaps.append(abs(score[bins == b].mean() - outcome[there].mean()))
                shares.append(here.mean())
            untrained += here.mean() * (not there.any())
    gaps, shares = np.array(gaps), np.array(shares)
    expected = {"1": shares @ gaps, "2": np.sqrt(shares @ gaps**2), "max": gaps.max()}[norm]
    metric = f"ece:lens=class-1:bins=10:training=cross-validation:norm={norm}"
    found = value(rows, metric, fold_column="part")
    assert found.value == pytest.approx(expected, abs=1e-12)
    assert found.parts["untrained"] == pytest.approx(untrained, abs=1e-12)
    alone = replace(rows, columns={"part": np.zeros(300)})
    assert np.isnan(value(alone, metric, fold_column="part").value)


def test_frequencies_of_other_data_in_a_region(drawn):
    rows, others = drawn(2, 200), drawn(3, 900)
    score, bins = rows.scores.array[:, 1], (rows.scores.array[:, 1] * 5).astype(int)
    known = (others.scores.array[:, 1] * 5).astype(int)
    inside = (score >= 0.2) & (score < 0.8)
    expected = sum(
        (inside & (bins == b)).sum() * abs(score[bins == b].mean() - (others.labels[known == b] == 1).mean())
        for b in (1, 2, 3)
    )
    metric = "ece:lens=class-1:bins=5:training=held-out:region=0.2..0.8"
    assert value(rows, metric, others).value == pytest.approx(expected / inside.sum())


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("ece:training=held-out", "give it with --calibration-data"),
        ("ece:lens=class-wise:training=cross-validation", "trained bins need one score"),
        ("ece:lens=marginal:training=cross-validation", "trained bins need one score"),
        ("ece:lens=canonical:training=cross-validation", "several outcomes"),
        ("ece:training=never", "training must be one of cross-validation, held-out, test"),
    ],
)
def test_what_cannot_be_trained_is_refused(predict, metric, message):
    rng = np.random.default_rng(0)
    rows = predict(rng.dirichlet([1, 1, 1], 30), rng.integers(0, 3, 30))
    with pytest.raises(UsageError, match=message):
        value(rows, metric)
