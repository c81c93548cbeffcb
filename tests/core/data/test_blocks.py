"""What a block says of its rows, in both layouts, against plain numpy."""

from __future__ import annotations

import numpy as np
import pytest

from calcli.core.data.blocks import blocks, working_dtype
from calcli.core.problems.lenses import VectorLens, find_lens


def gather(predictions, statistic):
    return np.concatenate([statistic(block) for block in blocks(predictions)])


def test_probabilities_are_renormalized_and_zero_is_infinite(predict):
    predictions = predict([[0.5, 0.4995, 0.0], [0.2, 0.3, 0.5]], [2, 0])
    (block,) = blocks(predictions)
    assert block.log_prob[0] == -np.inf
    assert block.confidence[0] == pytest.approx(0.5 / 0.9995, abs=1e-15)
    assert np.exp(block.log_sums) == pytest.approx([0.9995, 1.0], abs=1e-15)


def test_working_type(predict):
    small = predict(np.zeros((10, 2), np.float32), np.zeros(10, int), "logits")
    assert working_dtype(small) == np.float64
    assert working_dtype(small, "single") == np.float32
    large = predict(np.zeros((2_500_001, 2), np.float32), np.zeros(2_500_001, int), "logits")
    assert working_dtype(large) == np.float32
    assert working_dtype(large, "double") == np.float64


@pytest.mark.parametrize("k", [3, 5, 10, 300])
def test_probabilities_that_sum_to_one_stay_as_they_are(k, predict):
    rng = np.random.default_rng(k)
    votes = rng.multinomial(20, rng.dirichlet(np.full(k, 0.3), 400))
    probs = votes / 20  # as of a forest of 20 trees
    predictions = predict(probs, rng.integers(0, k, 400), "probs")
    assert (probs.sum(1) != 1).any() or k == 300
    assert gather(predictions, lambda block: block.confidence).tolist() == probs.max(1).tolist()
    assert gather(predictions, lambda block: block.column(1)).tolist() == probs[:, 1].tolist()
    found = np.concatenate([block.probs.T for block in blocks(predictions)])
    assert found.tolist() == probs.tolist()


def test_probabilities_rounded_by_hand_are_divided_by_their_sum(predict):
    probs = np.array([[0.333, 0.333, 0.333], [0.1, 0.2, 0.7]])
    found = np.concatenate([block.probs.T for block in blocks(predict(probs, [0, 1], "probs"))])
    assert found == pytest.approx(probs / probs.sum(1, keepdims=True), abs=1e-15)
    assert found[1].tolist() == probs[1].tolist()


@pytest.mark.parametrize("kind", ["logits", "probs"])
@pytest.mark.parametrize("k", [3, 10, 50, 300])
def test_equal_rows_stay_equal_wherever_they_stand(k, kind, predict):
    """So that they are tied, and in one bin, in every block, and if only one row is left for the last."""
    rng = np.random.default_rng(k)
    few, owner = rng.dirichlet(np.ones(k), 7), rng.integers(0, 7, 601)
    scores = (np.log(few) if kind == "logits" else few * 1.0003)[owner]
    groups = {"g": [list(range(0, k, 2)), list(range(1, k, 2))]}
    for lens in ("canonical", "largest-2", "within-top-2", "g"):
        found = find_lens(lens, k, groups)
        see = found.table if isinstance(found, VectorLens) else found.statistics[found.score]
        for rows in (scores, *(scores[:n] for n in (1, 5, 16, 98))):
            predictions = predict(rows, np.zeros(len(rows), int), kind)
            seen = np.concatenate([np.atleast_2d(see(block)).T for block in blocks(predictions)])
            if len(rows) == len(scores):
                known = {number: seen[owner == number][0] for number in range(7)}
            np.testing.assert_array_equal(seen, [known[number] for number in owner[: len(rows)]], lens)
