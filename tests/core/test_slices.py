"""Slices say what their rows say alone, and are read block by block."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calcli.core import blocks
from calcli.core.errors import InputError
from calcli.core.evaluate import evaluate
from calcli.core.results import Settings
from calcli.core.sliced import evaluate_slices, with_corrected_p
from calcli.core.slices import select, slice_rows


@pytest.mark.parametrize("weighted", [False, True])
def test_a_slice_is_its_rows(weighted, predict, monkeypatch):
    rng = np.random.default_rng(0)
    logits, labels = rng.normal(size=(300, 4)), rng.integers(0, 4, 300)
    weights = rng.exponential(size=300) if weighted else None
    place = np.where(rng.random(300) < 0.3, "north", "south")
    whole = replace(predict(logits, labels, "logits", weights), columns={"place": place})
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 64 * 4 * 8)
    found = {part: select(whole, chosen) for part, chosen in slice_rows(whole, "place")}
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
    assert [name.value for name, _ in slice_rows(predictions, "fold")] == ["1", "2", "10"]


def test_a_column_that_is_not_there_or_no_grouping_is_refused(predict):
    predictions = replace(
        predict(np.full((2000, 2), 0.5), [0, 1] * 1000), columns={"id": np.arange(2000)}
    )
    with pytest.raises(InputError, match=r"no column 'country'.*the columns are: id"):
        list(slice_rows(predictions, "country"))
    with pytest.raises(InputError, match="2,000 values"):
        list(slice_rows(predictions, "id"))


def test_columns_are_those_of_the_chosen_rows(predict):
    columns = {"id": np.arange(4), "name": np.array(list("abcd"))}
    part = select(replace(predict(np.full((4, 2), 0.5), [0, 1, 0, 1]), columns=columns), np.arange(4) > 1)
    assert list(part.columns) == ["id", "name"]
    assert part.columns["id"].tolist() == [2, 3]


def test_slices_are_understood_and_computed_like_the_whole(predict):
    # the second half alone would pass for probabilities
    logits = np.concatenate([np.full((150, 2), [3.0, -3.0]), np.full((150, 2), [0.25, 0.75])])
    place = np.repeat(["a", "b"], 150)
    predictions = replace(predict(logits, [0, 1] * 150, "logits"), columns={"place": place})
    whole = evaluate(predictions, Settings(bins=7, resamples=9, draws=9))
    found = dict(evaluate_slices(predictions, "place", whole))
    assert [evaluation.predictions.kind for evaluation in found.values()] == ["logits", "logits"]
    for evaluation in found.values():
        usual = [name for name in whole.estimates if not name.startswith("relative_calibration_loss")]
        assert list(evaluation.estimates) == usual
    log_losses = [evaluation.estimates["log_loss"].value for evaluation in found.values()]
    assert np.mean(log_losses) == pytest.approx(whole.estimates["log_loss"].value, abs=1e-12)


def test_p_values_of_slices_with_rows_enough_are_corrected(predict):
    rng = np.random.default_rng(1)
    score = rng.beta(5, 2, 900)
    probs = np.stack([score, 1 - score], 1)
    off = np.repeat([0, 0.05, 0.2], 300)
    labels = (rng.random(900) > score - off).astype(int)
    parts = [
        evaluate(predict(probs[rows], labels[rows]), Settings(metrics=("ks", "brier"), resamples=0))
        for rows in np.arange(900).reshape(3, 300)
    ]
    before = [part.estimates["ks"].if_calibrated.p_value for part in parts]
    corrected = with_corrected_p([part.estimates for part in parts], [True, False, True])
    after = [part["ks"].if_calibrated.corrected_p for part in corrected]
    smaller, larger = sorted([before[0], before[2]])
    assert sorted([after[0], after[2]]) == pytest.approx([2 * smaller, max(2 * smaller, larger)])
    assert after[1] is None
    assert [part["ks"].if_calibrated.p_value for part in corrected] == before
    assert all(part["brier"].if_calibrated is None for part in corrected)
