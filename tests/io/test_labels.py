"""Labels as stored, matched with class names: every label meets its own class, or is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calcli.core.language.errors import InputError
from calcli.io.messages import Place
from calcli.io.reading.classes import Classes, numbers_of
from calcli.io.tables.labels import join_labels, labels_from_array

PLACE = Place((("t.csv", 1000),))


def match(labels, classes):
    number, counted = numbers_of(classes, labels.meaning, PLACE)
    return Classes(tuple(classes), number, counted=counted).places(labels, PLACE)


def matched(values, classes) -> list[int]:
    return match(labels_from_array(np.asarray(values), PLACE), classes).tolist()


@given(st.data())
def test_text_meets_the_class_of_its_name(data):
    classes = data.draw(
        st.lists(st.text(min_size=1).filter(lambda s: "\0" not in s), min_size=2, unique=True)
    )
    truth = data.draw(st.lists(st.integers(0, len(classes) - 1), min_size=1))
    assert matched([classes[k] for k in truth], classes) == truth


@given(st.data())
def test_integers_meet_the_class_of_their_number(data):
    numbers = data.draw(st.lists(st.integers(-(2**31), 2**31), min_size=2, unique=True))
    truth = data.draw(st.lists(st.integers(0, len(numbers) - 1), min_size=1))
    assert matched([numbers[k] for k in truth], [str(number) for number in numbers]) == truth


@given(st.lists(st.integers(0, 4), min_size=1))
def test_integers_are_positions_among_other_names(truth):
    assert matched(truth, ["a", "b", "c", "d", "e"]) == truth
    assert matched(np.array(truth, np.uint8), ["a", "b", "c", "d", "e"]) == truth
    assert matched(np.array(truth, float), ["a", "b", "c", "d", "e"]) == truth


def test_booleans():
    assert matched([True, False], ["0", "1"]) == [1, 0]
    assert matched([True, False], ["True", "False"]) == [0, 1]
    assert matched([True, False], ["no", "yes"]) == [1, 0]


def test_objects_of_text():
    assert matched(np.array(["b", "a"], object), ["a", "b"]) == [1, 0]


def joined_labels(parts):
    return join_labels(lambda: parts, sum(map(len, parts)))


@given(st.lists(st.lists(st.sampled_from("abc"), min_size=1), min_size=1))
def test_joined_labels_are_those_of_one_file(parts):
    joined = joined_labels([labels_from_array(np.array(part), PLACE) for part in parts])
    whole = labels_from_array(np.concatenate(parts), PLACE)
    np.testing.assert_array_equal(match(joined, "abc"), match(whole, "abc"))


def test_numbers_and_text_join_as_text():
    joined = joined_labels(
        [labels_from_array(np.array([3, 10]), PLACE), labels_from_array(np.array(["10", "x"]), PLACE)]
    )
    assert match(joined, ["x", "3", "10"]).tolist() == [1, 2, 2, 0]


@pytest.mark.parametrize(
    ("values", "classes", "message"),
    [
        (
            [0, 2, 1],
            ["0", "1"],
            "t.csv: row 1 has the label 2, which is not one of .* 0, 1; .*--classes",
        ),
        ([0, 7], ["a", "b", "c"], "row 1 has the label 7, .* top-k dump.* save the scores of all"),
        ([5, 4], ["5", "6"], "row 1 has the label 4, which is not one of the classes 5, 6"),
        ([1, 2, 3], ["0", "1", "2"], "run from 1 to 3, .* 0 to 2: subtract 1 .*, or .* --classes 1,2,3$"),
        ([1, 2, 3], ["a", "b", "c"], "labels run from 1 to 3"),
        ([-1, 1], ["0", "1"], "has the label -1, .* --classes=-1,1"),
        (
            [0, -1],
            ["0", "1"],
            "row 1 has no label .-1 marks a missing one.; leave such rows out with --ignore-label -1",
        ),
        ([0, -100], ["a", "b"], "row 1 has no label .-100 marks"),
        ([0, 255], ["a", "b"], "row 1 has no label .255 marks"),
        ([0.0, np.nan], ["a", "b"], "row 1 has no label .nan marks"),
        ([0.0, 0.5], ["a", "b"], "row 1 has the label 0.5; expected a class, as an integer or as text"),
        (
            ["a", "x", "y"],
            ["a", "b"],
            'row 1 has the label "x", which is not one of .* a, b .unknown in all: "x", "y".*--classes',
        ),
        (["a", ""], ["a", "b"], "row 1 has no label"),
        (["a", "NaN"], ["a", "b"], "row 1 has no label"),
        (np.array(["a", None], object), ["a", "b"], "row 1 has no label .null marks"),
        ([0j, 1j], ["a", "b"], "the labels are complex numbers; expected integers or text"),
    ],
)
def test_labels_that_are_refused(values, classes, message):
    with pytest.raises(InputError, match=message):
        matched(values, classes)


WITHIN = np.array([2, 0, 1, 1])  # positions among three classes


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        (("1.0", "2.0", "3.0"), [1.0, 2.0, 3.0]),
        (("3", "01", "2.0"), [3, 1, 2]),
        (("1", "2", "3+"), [1, 2]),
        (("0", "0.5", "1.0"), [0, None, 1]),
        (("unknown", "2", "1"), [None, 2, 1]),
        (("0", "1", "other"), [0, 1, 2]),
        (("+1", "-1", "0"), [1, -1, 0]),
        (("true", "false", "mixture"), [True, False]),
        (("mixture", "False", "TRUE"), [None, False, True]),
        (("maybe", "no", "yes"), [None, False, True]),
        (("yes", "no"), [True, False]),
        (("true", "other"), [True, False]),
        (("1", "0", "2"), [True, False]),
    ],
)
def test_numbers_and_booleans_are_looked_up_among_names(names, labels):
    """However few of the classes are there: every part of a file is read as the whole."""
    there = [k for k, label in enumerate(labels) if label is not None]
    for part in [there, *([k] for k in there)]:
        values = np.array([labels[k] for k in part])
        np.testing.assert_array_equal(matched(values, names), part)
        if values.dtype.kind == "f":
            np.testing.assert_array_equal(matched(values.astype(np.int16), names), part)


@pytest.mark.parametrize(
    ("values", "classes", "message"),
    [
        ([1], ["1", "01"], "numbers, which do not tell the classes 1, 01 apart; save the labels as text"),
        ([2.0], ["1.0", "1", "2", "x"], "the classes 1.0, 1 apart"),
        ([1, 3], ["1", "2", "3+"], "row 1 has the label 3, .*--classes, each as its labels are"),
        ([0, 1, 2], ["1", "2", "3+"], "row 0 has the label 0, .*--classes"),
        ([1, 2, 3], ["1", "2", "unk"], "row 2 has the label 3, .*--classes"),
        ([0, 1], ["0", "0.5", "other"], "row 1 has the label 1, "),
        ([True, False], ["true", "mixture", "lie"], "row 1 has the label false, .*each as its labels are"),
        ([True], ["true", "True", "false"], "do not tell the classes false, true, True apart"),
    ],
)
def test_names_that_leave_a_label_open_are_refused(values, classes, message):
    with pytest.raises(InputError, match=message) as caught:
        matched(values, classes)
    assert "\n" not in str(caught.value)


def test_one_hot_labels_are_positions_whatever_the_names():
    labels = replace(labels_from_array(WITHIN, PLACE), meaning="positions")
    assert match(labels, ["1", "2", "0"]).tolist() == WITHIN.tolist()


def test_parts_of_booleans_and_of_numbers_are_joined_where_they_agree():
    parts = [labels_from_array(np.array(part), PLACE) for part in ([True, False], [0, 2, 1])]
    assert match(joined_labels(parts), ["0", "1", "2"]).tolist() == [1, 0, 0, 2, 1]
    with pytest.raises(InputError, match="numbers in some parts, but booleans"):
        match(joined_labels(parts), ["true", "false", "mixture"])
    alike = joined_labels([parts[0], parts[0]])
    assert match(alike, ["true", "false", "mixture"]).tolist() == [0, 1, 0, 1]


def test_names_that_only_look_missing_are_classes():
    assert matched(["none", "some"], ["none", "some"]) == [0, 1]


def test_rows_of_several_files_are_counted_file_by_file():
    place = Place((("a.npy", 3), ("b.npy", 0), ("c.npy", 2)))
    assert [place.row(i) for i in (0, 2, 3, 4)] == [
        "a.npy: row 0",
        "a.npy: row 2",
        "c.npy: row 0",
        "c.npy: row 1",
    ]


@pytest.mark.parametrize("names", [("1", "0"), ("yes", "no"), ("True", "False")])
def test_two_classes_by_custom_are_found_among_names_of_the_same_custom(names):
    classes = Classes(("false", "true"), {"false": 0, "true": 1})
    assert classes.among(names).number == {"false": 1, "true": 0}
