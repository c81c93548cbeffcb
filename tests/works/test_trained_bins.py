"""ECE with bins trained on other rows, against plain loops and the ECE whose bins are trained on the same."""

from __future__ import annotations

import numpy as np
import pytest

from calcli.core.data.arrays import Stream, generator
from calcli.core.data.units import random_folds
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.errors import UsageError
from calcli.core.language.settings import Settings
from calcli.works.trained_bins import trained_error


@pytest.fixture
def drawn(binary):
    def make(seed, rows=400, weights=False):
        rng = np.random.default_rng(seed)
        score = rng.beta(1.5, 2, rows)
        labels = (rng.random(rows) < score**1.5).astype(int)
        return binary(score, labels, rng.integers(0, 3, rows) if weights else None)

    return make


@pytest.mark.parametrize("norm", ["ece", "ece_l2"])
@pytest.mark.parametrize("lens", ["class-1", "top-1", "predicted-1"])
@pytest.mark.parametrize("weights", [False, True])
def test_trained_on_the_same_rows_it_is_the_plain_error(drawn, norm, lens, weights):
    rows, metric = drawn(0, weights=weights), f"{norm}:lens={lens}"
    (plain,) = evaluate(rows, Settings((metric,), intervals=False, draws=0)).estimates.values()
    found = trained_error(rows, rows, norm=norm, lens=lens)
    assert found.value == pytest.approx(plain.value, abs=1e-12)
    assert found.untrained == 0


@pytest.mark.parametrize("norm", ["ece", "ece_l2"])
def test_cross_validation_by_a_plain_loop(drawn, norm):
    rows = drawn(1, 300)
    fold = random_folds(300, 4, generator(0, Stream.FOLDS))
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
    expected = {"ece": shares @ gaps, "ece_l2": np.sqrt(shares @ gaps**2)}[norm]
    found = trained_error(rows, norm=norm, lens="class-1", bins=10, folds=4)
    assert found.value == pytest.approx(expected, abs=1e-12)
    assert found.untrained == pytest.approx(untrained, abs=1e-12)


def test_frequencies_of_other_data(drawn):
    rows, others = drawn(2, 200), drawn(3, 900)
    score = rows.scores.array[:, 1]
    bins, known = ((one.scores.array[:, 1] * 5).astype(int) for one in (rows, others))
    expected = sum(
        (bins == b).mean() * abs(score[bins == b].mean() - (others.labels[known == b] == 1).mean())
        for b in np.unique(bins)
    )
    assert trained_error(rows, others, lens="class-1", bins=5).value == pytest.approx(expected)


def test_what_cannot_be_trained_is_refused(predict):
    rows = predict(np.full((30, 3), 1 / 3), np.arange(30) % 3)
    with pytest.raises(UsageError, match="ks: its bins are not trained; expected ece or ece_l2"):
        trained_error(rows, norm="ks")
    with pytest.raises(UsageError, match="several outcomes"):
        trained_error(rows, lens="canonical")
