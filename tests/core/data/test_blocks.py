"""What a block says of its rows, in both layouts, against plain numpy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from calcli.core.data import blocks as module
from calcli.core.data.blocks import blocks, working_dtype
from calcli.core.problems.lenses import find_lens
from calcli.core.problems.vectors import VectorLens


@pytest.fixture(params=[3, 7, 300])
def case(request, predict):
    k = request.param
    rng = np.random.default_rng(k)
    logits = np.round(rng.normal(size=(500, k)), 1) * 3  # rounded, so that ties occur
    labels = rng.integers(0, k, 500)
    return logits, labels, predict(logits, labels, "logits")


def gather(predictions, statistic):
    return np.concatenate([statistic(block) for block in blocks(predictions)])


def test_against_plain_numpy(case):
    logits, labels, predictions = case
    q = softmax(logits, axis=1)
    rows = np.arange(len(labels))
    onehot = np.eye(q.shape[1])[labels]
    expected = {
        "log_prob": log_softmax(logits, axis=1)[rows, labels],
        "label_prob": q[rows, labels],
        "confidence": q.max(1),
        "hit": logits.argmax(1) == labels,
        "brier": np.square(q - onehot).sum(1),
    }
    for name, values in expected.items():
        assert gather(predictions, lambda block, name=name: getattr(block, name)) == pytest.approx(
            values, abs=1e-13
        ), name
    assert gather(predictions, lambda block: block.column(1)) == pytest.approx(q[:, 1], abs=1e-15)
    assert gather(predictions, lambda block: block.predicted).tolist() == logits.argmax(1).tolist()
    tied = (logits == logits.max(1, keepdims=True)).sum(1) > 1
    assert gather(predictions, lambda block: block.tied).tolist() == tied.tolist()
    assert sum(block.tied_rows for block in blocks(predictions)) == tied.sum() > 0


@pytest.mark.parametrize("rank", [0, 1])
def test_the_likeliest_class_and_the_next_as_labels(case, rank):
    logits, _, predictions = case
    q = softmax(logits, axis=1)
    labels = np.argsort(-logits, axis=1, kind="stable")[:, rank]
    own = q[np.arange(len(q)), labels]
    expected = {
        "label_prob": own,
        "log_prob": np.log(own),
        "brier": np.square(q - np.eye(q.shape[1])[labels]).sum(1),
        "hit": np.full(len(q), rank == 0),
        "labels": labels,
    }
    for name, values in expected.items():
        found = gather(predictions, lambda block, name=name: getattr(block.likeliest[rank], name))
        assert found == pytest.approx(values, abs=1e-13), name


@pytest.mark.parametrize("r", [1, 2, 3, 5])
def test_label_within_breaks_ties_by_the_lower_class(case, r):
    logits, labels, predictions = case
    order = np.argsort(-logits, axis=1, kind="stable")[:, :r]
    expected = (order == labels[:, None]).any(1)
    assert gather(predictions, lambda block: block.label_within(r)).tolist() == expected.tolist()


def test_blocks_of_any_size_say_the_same(case, monkeypatch):
    logits, _, predictions = case
    whole = gather(predictions, lambda block: block.log_prob)
    monkeypatch.setattr(module, "BLOCK_BYTES", 7 * logits.shape[1] * 8)
    assert gather(predictions, lambda block: block.log_prob) == pytest.approx(whole, abs=1e-14)


def test_probabilities_are_renormalized_and_zero_is_infinite(predict):
    predictions = predict([[0.5, 0.4995, 0.0], [0.2, 0.3, 0.5]], [2, 0])
    (block,) = blocks(predictions)
    assert block.log_prob[0] == -np.inf
    assert block.confidence[0] == pytest.approx(0.5 / 0.9995, abs=1e-15)
    assert np.exp(block.log_sum) == pytest.approx([0.9995, 1.0], abs=1e-15)


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
