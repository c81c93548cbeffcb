"""Arrays handed over in Python go through the same checks as files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calcli.core.language.errors import InputError, UsageError
from calcli.io.handed import from_answers, from_arrays
from tests.io.samples import random_logits, random_probs, scores_of


def test_arrays_are_passed_on_as_they_are():
    sample = random_logits()
    weights = np.arange(1, 58)
    predictions = from_arrays(
        sample.scores, sample.labels, weights=weights, columns={"site": list("ab") * 28 + ["a"]}
    )
    result = next(predictions.scores.blocks(57))
    assert np.shares_memory(result, sample.scores)
    np.testing.assert_array_equal(predictions.labels, sample.labels)
    np.testing.assert_array_equal(predictions.weights, weights)
    assert predictions.columns["site"][:3].tolist() == ["a", "b", "a"]
    assert predictions.provenance.path == predictions.provenance.labels == "arrays"


def test_lists_frames_and_series():
    sample = random_probs()
    names = np.array(["red", "green", "blue"])
    frame, series = pd.DataFrame(sample.scores), pd.Series(names[sample.labels])
    predictions = from_arrays(frame, series, classes=["red", "green", "blue"])
    np.testing.assert_array_equal(scores_of(predictions), sample.scores)
    np.testing.assert_array_equal(predictions.labels, sample.labels)
    np.testing.assert_array_equal(
        scores_of(from_arrays(sample.scores.tolist(), sample.labels.tolist())), sample.scores
    )


def test_labels_in_half_precision():
    predictions = from_arrays(np.linspace(-1, 1, 8).reshape(4, 2), np.float16([0, 1, 1, 0]))
    np.testing.assert_array_equal(predictions.labels, [0, 1, 1, 0])


def test_rows_without_a_label_can_be_left_out():
    scores, labels = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 3
    weights, kept = np.arange(1.0, 21), np.arange(20) % 5 > 0
    expected = from_arrays(scores[kept], labels[kept], weights=weights[kept])
    for given in (
        {"labels": np.where(kept, labels, 255), "ignore_label": ["255"]},
        {"labels": np.where(kept, labels, np.nan), "drop_missing": True},
        {"labels": np.ma.masked_array(labels, ~kept), "drop_missing": True},
    ):
        found = from_arrays(scores, weights=weights, **given)
        np.testing.assert_array_equal(scores_of(found), scores_of(expected))
        assert (found.labels.tolist(), found.weights.tolist()) == (
            expected.labels.tolist(),
            expected.weights.tolist(),
        )
        with pytest.raises(
            InputError, match=r"has 20 rows, but weights of shape \(4,\); expected one per row"
        ):
            from_arrays(scores, weights=weights[:4], **given)


def test_segmentation_masks():
    scores = np.random.default_rng(0).normal(size=(2, 4, 5, 3))
    labels = np.random.default_rng(1).integers(3, size=(2, 4, 5))
    predictions = from_arrays(scores, labels)
    assert predictions.scores.shape == (40, 3)
    np.testing.assert_array_equal(predictions.labels, labels.ravel())


@pytest.mark.parametrize("shape", [(20,), (20, 1), (1, 20), (4, 5), (4, 5, 1)])
def test_labels_and_weights_have_the_axes_of_the_rows_or_one(shape):
    scores, labels = np.random.default_rng(0).normal(size=(4, 5, 3)), np.arange(20) % 3
    found = from_arrays(scores, labels.reshape(shape), weights=np.arange(20).reshape(shape))
    assert found.labels.tolist() == labels.tolist()
    assert found.weights.tolist() == list(range(20))


@pytest.mark.parametrize(
    ("scores", "labels", "said"),
    [
        ((2, 200, 2), (200, 2), r"; if axis 0 has the classes, .* give np.moveaxis\(scores, 0, -1\)"),
        ((5, 3, 4, 3), (5, 4, 3), r"; if axis 1 has the classes, .* give np.moveaxis\(scores, 1, -1\)"),
        ((5, 3, 4, 4), (5, 4, 4), r"; if axis 1 has the classes, .* give np.moveaxis\(scores, 1, -1\)"),
        (
            (10, 40, 3),
            (40, 10),
            r"\(40, 10\), .* shape \(10, 40\); expected the same, or \(400,\) in the order",
        ),
        ((40, 3), (4, 10), r"\(4, 10\), but the rows of the scores have the shape \(40,\)"),
        ((4, 10, 1), (10, 4), r"\(10, 4\), but the rows of the scores have the shape \(4, 10\)"),
    ],
)
def test_labels_in_other_axes_than_the_rows_are_refused(scores, labels, said):
    with pytest.raises(InputError, match="has labels of shape .*" + said):
        from_arrays(np.random.default_rng(0).normal(size=scores), np.ones(labels, int))


def test_weights_and_outcomes_in_other_axes_are_refused():
    scores, labels = np.random.default_rng(0).normal(size=(10, 40, 3)), np.ones((10, 40), int)
    with pytest.raises(InputError, match=r"has weights of shape \(40, 10\), but the rows"):
        from_arrays(scores, labels, weights=np.ones((40, 10)))
    sure, right = np.full((10, 1), 0.5), np.arange(10) % 2
    assert from_answers(sure, right.reshape(1, 10)).labels.tolist() == right.tolist()
    with pytest.raises(InputError, match=r"correct has values of shape \(5, 2\), but the rows"):
        from_answers(sure, right.reshape(5, 2))
    with pytest.raises(InputError, match=r"has weights of shape \(5, 2\), but the rows"):
        from_answers(sure, right, weights=np.ones((5, 2)))


def with_nan_at(places):
    labels = np.eye(3)[COUNTED]
    labels[places] = np.nan
    return labels


def masked(values, row=3):
    return np.ma.array(values, mask=np.indices(np.shape(values))[0] == row)


SCORES, COUNTED = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 3
NAMED = np.array(list("abc"))[COUNTED]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: from_arrays(masked(SCORES), COUNTED), 'row 3: the score of class "0" is missing'),
        (lambda: from_arrays(list(masked(SCORES)), COUNTED), 'row 3: the score of class "0" is missing'),
        (
            lambda: from_arrays(masked(SCORES.astype(int)), COUNTED),
            'row 3: the score of class "0" is missing',
        ),
        (lambda: from_arrays(SCORES, masked(COUNTED)), "row 3 has no label"),
        (lambda: from_arrays(SCORES, masked(NAMED), classes=list("abc")), "row 3 has no label"),
        (lambda: from_arrays(SCORES[:, 0], masked(COUNTED == 1)), "row 3 has no label"),
        (
            lambda: from_arrays(SCORES, masked(np.eye(3)[COUNTED])),
            "row 3 has no label .nan .* --drop-missing",
        ),
        (lambda: from_arrays(SCORES, np.full((20, 3), np.nan)), "row 0 has no label"),
        (
            lambda: from_arrays(SCORES, np.full((20, 3), np.nan), drop_missing=True),
            "in all 20 rows something is missing",
        ),
        (lambda: from_arrays(SCORES, with_nan_at((3, 1)), drop_missing=True), "one-hot or multi-label"),
        (lambda: from_arrays(SCORES, COUNTED, weights=masked(np.ones(20, int))), "row 3 has the weight nan"),
        (lambda: from_answers(masked(np.full(20, 0.5)), COUNTED == 1), "the confidence, .*, is missing in 1"),
        (lambda: from_answers(np.full(20, 0.5), masked(COUNTED == 1)), "correct is missing in 1 of 20"),
    ],
)
def test_what_a_mask_hides_is_missing(call, said):
    with pytest.raises(InputError, match=said):
        for _ in call().scores.blocks(20):
            pass


@pytest.mark.parametrize("axes", [(), (4, 5)])
@pytest.mark.parametrize(
    "labels", [with_nan_at(3), masked(np.eye(3)[COUNTED]), masked(np.eye(3, dtype=int)[COUNTED])]
)
def test_rows_of_one_hot_labels_that_are_missing_are_left_out(labels, axes):
    axes = axes or (20,)
    found = from_arrays(SCORES.reshape(*axes, 3), labels.reshape(*axes, 3), drop_missing=True)
    expected = from_arrays(np.delete(SCORES, 3, axis=0), np.delete(COUNTED, 3))
    np.testing.assert_array_equal(scores_of(found), scores_of(expected))
    assert found.labels.tolist() == expected.labels.tolist()


def test_a_mask_that_hides_nothing_is_no_matter():
    found = from_arrays(
        masked(SCORES, -1), masked(NAMED, -1), classes=list("abc"), weights=masked(COUNTED, -1)
    )
    np.testing.assert_array_equal(scores_of(found), SCORES)
    assert found.labels.tolist() == found.weights.tolist() == COUNTED.tolist()


CLASSES = ["c", "a", "b"]
ONE_HOT = pd.get_dummies(np.array(CLASSES)[COUNTED])  # in the order of the alphabet


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (ONE_HOT, CLASSES),
        (ONE_HOT.add_prefix("label_"), CLASSES),
        (pd.get_dummies(COUNTED), None),
        (pd.get_dummies(COUNTED), CLASSES),
        (pd.get_dummies(COUNTED)[[2, 0, 1]], None),
        (pd.get_dummies(COUNTED)[[2, 0, 1]], CLASSES),
        (pd.get_dummies(COUNTED).to_numpy(), CLASSES),
        (pd.get_dummies(COUNTED * 1.0), None),
        (pd.get_dummies(COUNTED * 1.0).iloc[:, [2, 0, 1]], CLASSES),
        (pd.get_dummies(COUNTED * 1.0).add_prefix("label_"), ["1", "2", "3"]),
        (pd.get_dummies(COUNTED + 1.0).iloc[:, [2, 0, 1]], ["1", "2", "3"]),
        (pd.concat({"y": ONE_HOT}, axis=1), CLASSES),
        (pd.concat({"y": pd.get_dummies(COUNTED)}, axis=1), None),
    ],
)
def test_columns_of_one_hot_labels_are_told_by_their_names(labels, classes):
    found = from_arrays(SCORES, labels, classes=classes)
    assert found.labels.tolist() == COUNTED.tolist()


@pytest.mark.parametrize("change", [lambda held: held, lambda held: held.iloc[:, ::-1]])
@pytest.mark.parametrize("prefix", ["", "label_"])
@pytest.mark.parametrize(
    ("classes", "true"), [(None, 1), ("ab", 1), (["no", "yes"], 1), (["yes", "no"], 0), (["1", "0"], 0)]
)
def test_one_hot_labels_in_columns_of_false_and_true(classes, true, prefix, change):
    """They stand for the classes that a column of booleans stands for."""
    held = COUNTED == 1
    labels = change(pd.get_dummies(held).add_prefix(prefix) if prefix else pd.get_dummies(held))
    found = from_arrays(SCORES[:, :2], labels, classes=classes)
    assert found.labels.tolist() == np.where(held, true, 1 - true).tolist()
    assert found.labels.tolist() == from_arrays(SCORES[:, :2], held, classes=classes).labels.tolist()


def test_false_and_true_are_refused_where_no_class_is_one_of_them():
    with pytest.raises(InputError, match="have the columns False, True, but the classes are 1, 2; expected"):
        from_arrays(SCORES[:, :2], pd.get_dummies(COUNTED == 1), classes="12")


@pytest.mark.parametrize(
    ("classes", "said"),
    [
        (None, "labels have the columns a, b, c, but the scores have no class names; name the classes in"),
        (["c", "a", "d"], "labels have the columns a, b, c, but the classes are c, a, d; expected the same"),
    ],
)
def test_one_hot_labels_of_other_names_are_refused(classes, said):
    with pytest.raises(InputError, match=said):
        from_arrays(SCORES, ONE_HOT, classes=classes)


def test_positive_allows_a_last_axis_of_one():
    scores = np.array([[0.25], [0.75]])
    predictions = from_arrays(scores, [0, 1], positive="1")
    np.testing.assert_array_equal(scores_of(predictions), [[0.75, 0.25], [0.25, 0.75]])


@pytest.mark.parametrize(
    ("labels", "options", "classes", "expected"),
    [
        ([0, 1], {}, ("0", "1"), [0, 1]),
        ([0, 1], {"positive": "0"}, ("1", "0"), [1, 0]),
        ([0, 0], {}, ("0", "1"), [0, 0]),
        ([1, 2], {"positive": "2"}, ("1", "2"), [0, 1]),
        ([-1, 1], {"classes": ("-1", "1")}, ("-1", "1"), [0, 1]),
        ([0, 1], {"positive": "spam"}, ("not spam", "spam"), [0, 1]),
        (["ham", "spam"], {"positive": "spam"}, ("ham", "spam"), [0, 1]),
        (["ham", "ham"], {"positive": "spam"}, ("ham", "spam"), [0, 0]),
        (["ham", "spam"], {"classes": ("ham", "spam")}, ("ham", "spam"), [0, 1]),
        (["ham", "spam"], {"classes": ("ham", "spam"), "positive": "ham"}, ("spam", "ham"), [1, 0]),
    ],
)
def test_names_of_two_classes_with_one_score(labels, options, classes, expected):
    predictions = from_arrays([0.25, 0.75], labels, **options)
    assert predictions.classes == classes
    assert predictions.labels.tolist() == expected


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        (["cat", "dog"], {}, "labels cat, dog; say with --positive which"),
        (["a", "b"], {"positive": "c"}, 'that of class "c", but 2 other labels .a, b.; expected one other'),
        (
            ["a", "a"],
            {"positive": "a"},
            "no other labels; expected one other; name both classes with --classes OTHER,a",
        ),
        (
            [0, 1],
            {"classes": ("a", "b", "c")},
            "--classes names 3 classes .a, b, c., but arrays has scores for 2",
        ),
        ([0, 1], {"classes": ("a", "a")}, "a, a., a more than once, but arrays has"),
        (
            [0, 1],
            {"classes": ("a", "b"), "positive": "c"},
            "--positive c: expected one of the classes a, b",
        ),
    ],
)
def test_two_classes_that_cannot_be_named(labels, options, message):
    with pytest.raises((InputError, UsageError), match=message):
        from_arrays([0.25, 0.75], labels, **options)


@pytest.mark.parametrize(
    ("scores", "labels", "options", "message"),
    [
        ([["a", "b"]], [0], {}, "scores are text; expected numbers"),
        (0.5, [0], {}, "a single number; expected rows"),
        ([[0.5, 0.5]], [[1, 1]], {}, "one-hot or multi-label indicators"),
        (
            [[0.5, 0.5]],
            [0],
            {"weights": [-1]},
            "row 0 has the weight -1; expected a finite number of at least 0",
        ),
        ([[0.5, 0.5]], [0], {"weights": [np.nan]}, "row 0 has the weight nan"),
        ([[0.5, 0.5]], [0], {"weights": [0]}, "all weights are 0"),
        ([[0.5, 0.5]], [0], {"weights": [1, 1]}, "1 rows, but weights of shape .2,."),
        ([[0.5, 0.5]], [0], {"weights": ["x"]}, "the weights are text; expected numbers"),
        ([[0.5, 0.2, 0.3]], [0], {"positive": "1"}, "--positive is for two classes, but arrays has 3"),
        ([[0.5, 0.5]], [0], {"positive": "x"}, "--positive x: expected one of the classes 0, 1"),
        (
            [[0.5, 0.5]],
            ["cat"],
            {},
            "the labels are text .cat., but the scores have no class names; .* --classes",
        ),
    ],
)
def test_arrays_that_are_refused(scores, labels, options, message):
    with pytest.raises((InputError, UsageError), match=message):
        from_arrays(scores, labels, **options)
