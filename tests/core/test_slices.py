"""Slices say what their rows say alone, and are read block by block."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calcli.core import blocks
from calcli.core.errors import InputError
from calcli.core.evaluate import evaluate
from calcli.core.results import Settings
from calcli.core.slices import slices


@pytest.mark.parametrize("weighted", [False, True])
def test_a_slice_is_its_rows(weighted, predict, monkeypatch):
    rng = np.random.default_rng(0)
    logits, labels = rng.normal(size=(300, 4)), rng.integers(0, 4, 300)
    weights = rng.exponential(size=300) if weighted else None
    place = np.where(rng.random(300) < 0.3, "north", "south")
    whole = replace(predict(logits, labels, "logits", weights), columns={"place": place})
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 64 * 4 * 8)
    found = dict(slices(whole, "place"))
    assert [str(name) for name in found] == ["place=north", "place=south"]
    for name, part in found.items():
        chosen = place == name.value
        own = None if weights is None else weights[chosen]
        alone = predict(logits[chosen], labels[chosen], "logits", own)
        settings = Settings(resamples=20, draws=20)
        expected, got = evaluate(alone, settings), evaluate(part, settings)
        assert got.estimates.keys() == expected.estimates.keys()
        for metric, estimate in expected.estimates.items():
            assert got.estimates[metric].value == pytest.approx(estimate.value, abs=1e-13), metric
            if estimate.interval:
                assert got.estimates[metric].interval.low == pytest.approx(estimate.interval.low, abs=1e-12)
        assert part.n_rows == chosen.sum()


def test_numbers_are_in_the_order_of_numbers(predict):
    predictions = replace(
        predict(np.full((4, 2), 0.5), [0, 1, 0, 1]), columns={"fold": np.array([10, 2, 2, 1])}
    )
    assert [name.value for name, _ in slices(predictions, "fold")] == ["1", "2", "10"]


def test_a_column_that_is_not_there_or_no_grouping_is_refused(predict):
    predictions = replace(
        predict(np.full((2000, 2), 0.5), [0, 1] * 1000), columns={"id": np.arange(2000)}
    )
    with pytest.raises(InputError, match=r"no column 'country'.*the columns are: id"):
        list(slices(predictions, "country"))
    with pytest.raises(InputError, match="2,000 values"):
        list(slices(predictions, "id"))
