import numpy as np
import pytest

from calcli.core.blocks import CLASS_MAJOR_LIMIT, sweep
from calcli.core.predictions import ArrayScores, Predictions
from calcli.core.vector_lenses import VectorTable, canonical_lens, group_lens, largest_lens


@pytest.fixture(params=[5, CLASS_MAJOR_LIMIT + 1])
def predictions(request):
    """Return predictions with ties and weights, in both layouts of a block."""
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 5, (300, request.param)).astype(float)
    probs = counts / counts.sum(1, keepdims=True)
    labels = rng.integers(0, request.param, 300)
    names = tuple(map(str, range(request.param)))
    return Predictions(ArrayScores(probs), "probs", labels, names, weights=rng.exponential(size=300))


def induced(predictions, lens):
    table = VectorTable(predictions, lens, np.dtype(np.float64))
    sweep(predictions, [table])
    assert table.problem.probs.sum(1) == pytest.approx(1)
    assert table.problem.weights is predictions.weights
    return table.problem


def test_canonical(predictions):
    problem = induced(predictions, canonical_lens(predictions.n_classes))
    assert problem.probs == pytest.approx(predictions.scores.array)
    assert np.array_equal(problem.labels, predictions.labels)


@pytest.mark.parametrize("k", [1, 2, 4])
def test_largest_against_a_stable_sort(predictions, k):
    problem = induced(predictions, largest_lens(k))
    order = np.argsort(-predictions.scores.array, axis=1, kind="stable")
    ranked = np.take_along_axis(predictions.scores.array, order, 1)
    rank = (order == predictions.labels[:, None]).argmax(1)
    assert problem.probs[:, :k] == pytest.approx(ranked[:, :k])
    assert problem.probs[:, k] == pytest.approx(ranked[:, k:].sum(1))
    assert np.array_equal(problem.labels, np.minimum(rank, k))


def test_groups(predictions):
    k = predictions.n_classes
    groups = [[3], [0, 4], [1, 2, *range(5, k)]]
    problem = induced(predictions, group_lens(groups))
    for number, group in enumerate(groups):
        assert problem.probs[:, number] == pytest.approx(predictions.scores.array[:, group].sum(1))
        assert np.array_equal(problem.labels == number, np.isin(predictions.labels, group))


def test_the_top_one_and_the_rest_are_confidence_and_miss(predictions):
    problem = induced(predictions, largest_lens(1))
    assert problem.probs[:, 0] == pytest.approx(predictions.scores.array.max(1))
    assert np.array_equal(problem.labels == 0, predictions.scores.array.argmax(1) == predictions.labels)


def test_single_precision_of_the_pass(predictions):
    table = VectorTable(predictions, canonical_lens(predictions.n_classes), np.dtype(np.float32))
    sweep(predictions, [table], "single")
    assert table.problem.probs.dtype == np.float32
    assert table.problem.probs == pytest.approx(predictions.scores.array, abs=1e-6)
