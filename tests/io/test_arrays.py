"""Arrays handed over in Python go through the same checks as files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calcli.core.language.errors import InputError, UsageError
from calcli.io.read import from_arrays
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


def test_segmentation_masks():
    scores = np.random.default_rng(0).normal(size=(2, 4, 5, 3))
    labels = np.random.default_rng(1).integers(3, size=(2, 4, 5))
    predictions = from_arrays(scores, labels)
    assert predictions.scores.shape == (40, 3)
    np.testing.assert_array_equal(predictions.labels, labels.ravel())


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
        (["ham", "spam"], {}, "labels ham, spam; say with --positive which"),
        (["a", "b"], {"positive": "c"}, 'that of class "c", but 2 other labels .a, b.; expected one other'),
        (["a", "a"], {"positive": "a"}, 'all labels are "a"; name both classes with --classes OTHER,a'),
        (
            [0, 1],
            {"classes": ("a", "b", "c")},
            "--classes names 3 classes .a, b, c., but arrays has scores for 2",
        ),
        ([0, 1], {"classes": ("a", "a")}, "--classes names a more than once"),
        (
            [0, 1],
            {"classes": ("a", "b"), "positive": "c"},
            "--positive c: expected one of the classes a and b",
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
        (0.5, [0], {}, "a single number; expected an array"),
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
