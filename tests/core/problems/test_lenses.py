import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calcli.core.data.blocks import CLASS_MAJOR_LIMIT, sweep
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.estimators.cumulative import KolmogorovSmirnov
from calcli.core.language.errors import UsageError
from calcli.core.problems.lenses import find_lens
from calcli.core.problems.problem import ordered_problem
from calcli.core.problems.vectors import group_members
from calcli.core.state.collectors import RowTable, VectorTable


def predictions_of(scores, labels, kind="probs"):
    return Predictions(ArrayScores(scores, kind), labels, tuple(map(str, range(scores.shape[1]))))


def induced(predictions, name):
    """Return the scores and outcomes of a one-dimensional lens."""
    lens = find_lens(name, predictions.n_classes)
    table = RowTable(predictions.n_rows, lens.statistics)
    sweep(predictions, [table])
    return table[lens.score], table[lens.outcome]


def induced_vectors(predictions, name, groups=None):
    """Return the (N, d) probabilities and the labels of a vector lens."""
    lens = find_lens(name, predictions.n_classes, groups)
    table = VectorTable(lens, predictions, np.dtype(np.float64))
    sweep(predictions, [table])
    problem = table.problem
    assert problem.probs.shape == (predictions.n_rows, lens.size)
    assert problem.probs.sum(1) == pytest.approx(1)
    return problem.probs, problem.labels


def test_ks_of_real_predictions(golden, dataset):
    keys = {"top-2": "ks_top2_pct", "within-top-2": "ks_within2_pct", "within-top-3": "ks_within3_pct"}
    for name, values in golden.items():
        predictions = predictions_of(*dataset(name), kind="logits")
        for lens, key in keys.items():
            if values[key] is not None:  # there is no third of two classes
                error = KolmogorovSmirnov().value(ordered_problem(*induced(predictions, lens)))
                assert error == pytest.approx(values[key] / 100, abs=1e-9), (name, key)


@pytest.fixture(params=[6, CLASS_MAJOR_LIMIT + 1])
def tied(request):
    """Return predictions with many ties, in both layouts of a block."""
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 4, (200, request.param)).astype(float)
    return predictions_of(counts / counts.sum(1, keepdims=True), rng.integers(0, request.param, 200))


def ranked(predictions):
    """Return the classes of each row by falling probability, the lower ones first, and the probabilities."""
    order = np.argsort(-predictions.scores.array, axis=1, kind="stable")
    return order, np.take_along_axis(predictions.scores.array, order, 1)


@pytest.mark.parametrize("r", [1, 2, 6])
def test_ranks_against_a_stable_sort(tied, r):
    order, probs = ranked(tied)
    score, hit = induced(tied, f"top-{r}")
    assert score == pytest.approx(probs[:, r - 1])
    assert np.array_equal(hit, order[:, r - 1] == tied.labels)
    score, hit = induced(tied, f"within-top-{r}")
    assert score == pytest.approx(probs[:, :r].sum(1))
    assert score.max() <= 1
    assert np.array_equal(hit, (order[:, :r] == tied.labels[:, None]).any(1))


@pytest.mark.parametrize("k", [2, 5])
def test_largest_against_a_stable_sort(tied, k):
    order, expected = ranked(tied)
    probs, labels = induced_vectors(tied, f"largest-{k}")
    assert probs[:, :k] == pytest.approx(expected[:, :k])
    assert probs[:, k] == pytest.approx(expected[:, k:].sum(1))
    assert np.array_equal(labels, np.minimum((order == tied.labels[:, None]).argmax(1), k))


def test_canonical_changes_nothing(tied):
    probs, labels = induced_vectors(tied, "canonical")
    assert probs == pytest.approx(tied.scores.array)
    assert np.array_equal(labels, tied.labels)


def test_groups_add_their_classes_up(tied):
    groups = [[3], [0, 4], [1, 2, *range(5, tied.n_classes)]]
    probs, labels = induced_vectors(tied, "kinds", {"kinds": groups})
    for number, group in enumerate(groups):
        assert probs[:, number] == pytest.approx(tied.scores.array[:, group].sum(1))
        assert np.array_equal(labels == number, np.isin(tied.labels, group))


@pytest.mark.parametrize("k", [0, 5])
def test_one_class(tied, k):
    score, hit = induced(tied, f"class-{k}")
    assert score == pytest.approx(tied.scores.array[:, k])
    assert np.array_equal(hit, tied.labels == k)


@pytest.mark.parametrize(
    "name", ["top-4", "top-0", "within-top-4", "largest-3", "class-3", "class--1", "colors"]
)
def test_lenses_that_do_not_fit_are_refused(name):
    with pytest.raises(UsageError, match=name):
        find_lens(name, 3)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_ks_is_the_mean_gap_where_all_gaps_have_one_sign(scores):
    # Gupta et al. 2021, equation 8; outcomes that never happen leave no gap of the other sign
    score = np.array(scores)
    error = KolmogorovSmirnov().value(ordered_problem(score, np.zeros(len(score), bool)))
    assert error == pytest.approx(abs(score.mean() - 0), abs=1e-12)


def test_groups_are_found_by_the_names_of_classes():
    kinds = {"cow": "farm", "cat": "pet", "dog": "pet"}
    assert group_members("kind", kinds, ("cat", "cow", "dog")) == [[0, 2], [1]]
    with pytest.raises(UsageError, match="kind: 'eel' is in no group; expected each of cat, eel once"):
        group_members("kind", {"cat": "pet"}, ("cat", "eel"))
    with pytest.raises(UsageError, match="--class-groups kind: 'dog' is not a class of these predictions"):
        group_members("kind", kinds, ("cat", "cow"))
