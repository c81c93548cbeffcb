"""Simplex bins against counting, and what they refuse."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from calcli.core.curves.simplex import group_probabilities, simplexes, triangle_partition
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.language.errors import InputError, UsageError


def some_predictions(n: int = 400, k: int = 3, seed: int = 0, weighted: bool = False) -> Predictions:
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(k), n)
    labels = (probs.cumsum(1) < rng.random((n, 1))).sum(1)
    weights = rng.random(n) if weighted else None
    names = tuple("abcdefghij"[:k])
    return Predictions(ArrayScores(probs, "probs"), labels, names, weights)


def test_triangles_are_small_and_hold_every_row_once():
    probs = np.random.default_rng(0).dirichlet(np.ones(3) * 0.7, 5000)
    order, cuts = triangle_partition(probs, 8)
    assert sorted(order) == list(range(5000))
    assert len(cuts) - 1 == 64
    for start, stop in itertools.pairwise(cuts):
        inside = probs[order[start:stop]]
        assert np.ptp(inside, axis=0).max() <= 1 / 8 + 1e-12


def test_corners_have_a_bin():
    order, cuts = triangle_partition(np.eye(3).repeat(2, axis=0), 8)
    assert np.diff(cuts).tolist() == [2, 2, 2]
    assert {frozenset(order[a:b]) for a, b in itertools.pairwise(cuts)} == {
        frozenset({0, 1}), frozenset({2, 3}), frozenset({4, 5})
    }  # fmt: skip


@pytest.mark.parametrize("binning", ["equal-size", "recursive"])
@pytest.mark.parametrize("weighted", [False, True])
def test_bins_average_to_the_whole(binning, weighted):
    predictions = some_predictions(weighted=weighted)
    (result,) = simplexes(predictions, binning=binning).values()
    weights = predictions.weights
    probs = predictions.scores.array
    np.testing.assert_allclose(result.share @ result.mean, np.average(probs, axis=0, weights=weights))
    observed = np.bincount(predictions.labels, weights, 3) / (400 if weights is None else weights.sum())
    np.testing.assert_allclose(result.share @ result.frequency, observed)
    np.testing.assert_allclose(result.mean.sum(1), 1)
    assert result.count.sum() == 400
    assert (result.count > 0).all()


def test_faces_are_the_rows_of_the_other_classes():
    predictions = some_predictions(k=4)
    faces = simplexes(predictions)
    assert list(faces) == ["without a", "without b", "without c", "without d"]
    probs, labels = predictions.scores.array, predictions.labels
    face = faces["without b"]
    assert face.names == ("a", "c", "d")
    kept = labels != 1
    rest = probs[kept][:, [0, 2, 3]]
    np.testing.assert_allclose(face.share @ face.mean, (rest / rest.sum(1, keepdims=True)).mean(0))
    np.testing.assert_allclose(face.share @ face.frequency, [np.mean(labels[kept] == k) for k in (0, 2, 3)])


def test_groups_add_up_their_classes():
    predictions = some_predictions(k=10)
    probs, labels = group_probabilities(predictions, [[0, 9], [1, 2, 3], [4, 5, 6, 7, 8]])
    table = predictions.scores.array
    np.testing.assert_allclose(probs[:, 0], table[:, 0] + table[:, 9])
    np.testing.assert_allclose(probs.sum(1), 1)
    assert np.array_equal(labels == 0, np.isin(predictions.labels, [0, 9]))


def test_wrong_numbers_of_classes_and_groups_are_refused():
    with pytest.raises(UsageError, match="needs 3 or 4 classes, and arrays has 10"):
        simplexes(some_predictions(k=10))
    with pytest.raises(UsageError, match="needs 3 groups of classes, not 2"):
        simplexes(some_predictions(k=10), {"low": range(5), "high": range(5, 10)})
    with pytest.raises(UsageError, match="every class once"):
        simplexes(some_predictions(k=10), {"low": [0, 1], "middle": [1, 2], "high": range(3, 10)})


def test_an_empty_face_is_refused():
    predictions = Predictions(
        ArrayScores(np.full((5, 4), 0.25), "probs"), np.zeros(5, np.int64), ("a", "b", "c", "d")
    )
    with pytest.raises(InputError, match="every row is of class 'a'"):
        simplexes(predictions)
