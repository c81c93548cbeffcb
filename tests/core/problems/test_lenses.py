"""Lenses against a stable sort, of few classes and of many, and how they are named."""

import numpy as np
import pytest

from calcli.core.data.blocks import CLASS_MAJOR_LIMIT, sweep
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.evaluating.metrics.cumulative import KolmogorovSmirnov
from calcli.core.language.errors import UsageError
from calcli.core.problems.lenses import find_lens, group_members
from calcli.core.problems.problem import ordered_problem
from calcli.core.state.needs import RowTable, VectorTable


def predictions_of(scores, labels, kind="probs"):
    return Predictions(ArrayScores(scores, kind), labels, tuple(map(str, range(scores.shape[1]))))


def induced(predictions, name, groups=None):
    """Return the scores and outcomes of a lens: one each, or the (N, d) probabilities and the labels."""
    lens = find_lens(name, predictions.n_classes, groups)
    if hasattr(lens, "size"):
        table = VectorTable(lens, predictions, np.dtype(np.float64))
        sweep(predictions, [table])
        return table.problem.probs, table.problem.labels
    table = RowTable(predictions.n_rows, lens.statistics)
    sweep(predictions, [table])
    return table[lens.score], table[lens.outcome]


def test_ks_of_real_predictions(golden, dataset):
    keys = {"top-2": "ks_top2_pct", "within-top-2": "ks_within2_pct", "within-top-3": "ks_within3_pct"}
    for name, values in golden.items():
        predictions = predictions_of(*dataset(name), kind="logits")
        for lens, key in keys.items():
            if values[key] is not None:  # there is no third of two classes
                error = KolmogorovSmirnov().value(ordered_problem(*induced(predictions, lens)))
                assert error == pytest.approx(values[key] / 100, abs=1e-9), (name, key)


@pytest.mark.parametrize("classes", [6, CLASS_MAJOR_LIMIT + 1])  # in both layouts of a block
def test_against_a_stable_sort(classes):
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 4, (200, classes)).astype(float)  # with many ties
    probs, labels = counts / counts.sum(1, keepdims=True), rng.integers(0, classes, 200)
    order = np.argsort(-probs, axis=1, kind="stable")
    ranked, hits = np.take_along_axis(probs, order, 1), order == labels[:, None]
    groups = {"kinds": [[3], [0, 4], [1, 2, *range(5, classes)]]}
    summed = np.column_stack([probs[:, group].sum(1) for group in groups["kinds"]])
    own = np.argmax([np.isin(labels, group) for group in groups["kinds"]], axis=0)
    expected = {"class-0": (probs[:, 0], labels == 0), "class-5": (probs[:, 5], labels == 5)}
    expected |= {f"top-{r}": (ranked[:, r - 1], hits[:, r - 1]) for r in (1, 2, 6)}
    expected |= {f"within-top-{r}": (ranked[:, :r].sum(1), hits[:, :r].any(1)) for r in (1, 2, 5)}
    for k in (2, 5):
        largest = np.column_stack([ranked[:, :k], ranked[:, k:].sum(1)])
        expected[f"largest-{k}"] = largest, np.minimum(hits.argmax(1), k)
    expected |= {"canonical": (probs, labels), "kinds": (summed, own)}
    for name, (score, outcome) in expected.items():
        found = induced(predictions_of(probs, labels), name, groups)
        assert found[0] == pytest.approx(score), name
        assert np.array_equal(found[1], outcome), name


@pytest.mark.parametrize(
    "name", ["top-4", "top-0", "within-top-4", "largest-3", "class-3", "class--1", "colors"]
)
def test_lenses_that_do_not_fit_are_refused(name):
    with pytest.raises(UsageError, match=name):
        find_lens(name, 3)


def test_groups_are_found_by_the_names_of_classes():
    kinds = {"cow": "farm", "cat": "pet", "dog": "pet"}
    assert group_members("kind", kinds, ("cat", "cow", "dog")) == [[0, 2], [1]]
    with pytest.raises(UsageError, match="kind: 'eel' is in no group; expected each of cat, eel once"):
        group_members("kind", {"cat": "pet"}, ("cat", "eel"))
    with pytest.raises(UsageError, match="--class-groups kind: 'dog' is not a class of these predictions"):
        group_members("kind", kinds, ("cat", "cow"))
