"""Which column is what: names alone decide, so no file is needed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calcli.core.language.errors import InputError, UsageError
from calcli.io.layouts.names import natural_order
from calcli.io.layouts.roles import find_roles
from calcli.io.options import ReadOptions
from calcli.io.tables.table import refuse_duplicates


def layout(columns: str, **options):
    """Find the layout of columns written as `name` (float) or `name:what it holds`."""
    holds = dict(entry.split(":") if ":" in entry else (entry, "float") for entry in columns.split())
    return find_roles(holds, lambda column: ("cat", "dog"), ReadOptions(**options), "t.csv")


@pytest.mark.parametrize(
    ("columns", "scores", "classes", "kind"),
    [
        ("label prob_cat prob_dog", "prob_cat prob_dog", "cat dog", "probs"),
        ("label probs.cat probs.dog", "probs.cat probs.dog", "cat dog", "probs"),
        ("label Logit_cat Logit_dog", "Logit_cat Logit_dog", "cat dog", "logits"),
        ("label logits-0 logits-1", "logits-0 logits-1", "0 1", "logits"),
        ("label log_prob_0 log_prob_1", "log_prob_0 log_prob_1", "0 1", "log-probs"),
        ("label logprobs_0 logprobs_1", "logprobs_0 logprobs_1", "0 1", "log-probs"),
        ("label score_0 score_1", "score_0 score_1", "0 1", None),
        ("label p_cat p_dog", "p_cat p_dog", "cat dog", None),
        ("label prob_cat prob_dog p_cat score_cat", "prob_cat prob_dog", "cat dog", "probs"),
        ("label prob_10 prob_9 prob_100", "prob_9 prob_10 prob_100", "9 10 100", "probs"),
        ("label prob_c10 prob_c9", "prob_c9 prob_c10", "c9 c10", "probs"),
        ("label prob_b10 prob_a9", "prob_b10 prob_a9", "b10 a9", "probs"),
        ("label cat dog", "cat dog", "cat dog", None),
        ("id:integer dog cat label", "dog cat", "dog cat", None),
        ("label 10 2 1", "1 2 10", "1 2 10", None),
        ("label prob_malignant", "prob_malignant", "malignant", "probs"),
        ("label probs:list", "probs", None, "probs"),
        ("label embedding:list logits:list", "logits", None, "logits"),
        ("label whatever:list", "whatever", None, None),
        ("label y_score", "y_score", None, None),
        ("label probability p_value", "probability", None, "probs"),
        ("label y_prob weight", "y_prob", None, "probs"),
    ],
)
def test_scores_are_found_by_name(columns, scores, classes, kind):
    found = layout(columns)
    assert found.label == "label"
    assert found.scores == tuple(scores.split())
    assert found.classes == (None if classes is None else tuple(classes.split()))
    assert found.kind == kind


def test_names_of_several_lines():
    names = ("prob_cat", "prob_dog\nor wolf")
    found = find_roles(dict.fromkeys(("label", *names), "float"), lambda column: (), ReadOptions(), "t.csv")
    assert (found.scores, found.classes) == (names, ("cat", "dog\nor wolf"))


@pytest.mark.parametrize(
    "name",
    ["label", "labels", "Target", "targets", "y", "y_true", "true_label", "class", "ground_truth", "gt"],
)
def test_usual_label_names(name):
    assert layout(f"{name}:text prob_a prob_b").label == name


def test_options_choose():
    columns = "id:integer label:text gold:text prob_a prob_b q_b q_a w"
    found = layout(columns, label_column="gold", scores="q_*", weights="w")
    assert (found.label, found.scores, found.classes, found.kind) == (
        "gold",
        ("q_b", "q_a"),
        ("b", "a"),
        None,
    )
    found = layout(columns, label_column="gold", scores="prob_b")
    assert (found.scores, found.classes) == (("prob_b",), ("b",))
    assert layout(columns, labels="truth.npy").label is None
    assert layout("y x_2_end x_10_end", scores="x_*_end").classes == ("2", "10")


def test_classes_give_names_and_order():
    assert layout("y prob_a prob_b", classes=("b", "a")).scores == ("prob_b", "prob_a")
    assert layout("y a b weight", classes=("b", "a")).scores == ("b", "a")
    found = layout("y prob_1 prob_0", classes=("cat", "dog"))
    assert (found.scores, found.classes) == (("prob_0", "prob_1"), ("cat", "dog"))
    found = layout("y 0 1 2", classes=("1", "2", "3"))
    assert (found.scores, found.classes) == (("0", "1", "2"), ("1", "2", "3"))
    found = layout("y prob_b prob_a", classes=("cat", "dog"))
    assert (found.scores, found.classes) == (("prob_b", "prob_a"), ("cat", "dog"))
    found = layout("y prob_a prob_b", classes=("B", "a"))
    assert (found.scores, found.classes) == (("prob_b", "prob_a"), ("B", "a"))
    for wanted in (("B", "c"), ("A", "a")):
        with pytest.raises(UsageError, match=r"--classes names .*, but the score columns of t.csv belong to"):
            layout("y prob_a prob_b", classes=wanted)


def test_other_names_of_numbered_columns_go_with_their_numbers():
    columns, names = "y prob_c1 prob_c10 prob_c2", ("a", "b", "c")
    with pytest.raises(UsageError, match=r"which is which is open; .* --scores prob_c1,prob_c2,prob_c10"):
        layout(columns, classes=names)
    found = layout(columns, classes=names, scores="prob_c1,prob_c2,prob_c10")
    assert (found.scores, found.classes) == (("prob_c1", "prob_c2", "prob_c10"), names)


def test_a_negative_number_is_a_class():
    found = layout("y -1 0 1")
    assert (found.scores, found.classes) == (("-1", "0", "1"), ("-1", "0", "1"))


def test_scores_may_be_listed():
    found = layout("y s_2 s_1 s_0", scores="s_2, s_0")
    assert (found.scores, found.classes) == (("s_2", "s_0"), ("s_2", "s_0"))
    found = layout("y s_2 s_1 s_0", scores="s_2,s_0", classes=("cat", "dog"))
    assert (found.scores, found.classes) == (("s_2", "s_0"), ("cat", "dog"))
    assert layout("y prob_b prob_a", scores="prob_b,prob_a").classes == ("b", "a")
    assert layout("y s_2 s_1 s_0", scores="s_*").classes == ("0", "1", "2")
    assert layout("y s10 s9", scores="s1*[0,1]").scores == ("s10",)
    found = layout("y prob_2 prob_1 prob_0", scores="prob_1,prob_2,prob_0")
    assert (found.scores, found.classes) == (("prob_0", "prob_1", "prob_2"), ("0", "1", "2"))
    with pytest.raises(UsageError, match="order 0, 1, and names in the same"):
        layout("y prob_1 prob_0", scores="prob_1,prob_0", classes=("cat", "dog"))
    with pytest.raises(UsageError, match=r'--scores: t.csv has no column "s_3"; did you mean'):
        layout("y s_2 s_1 s_0", scores="s_2,s_3")


def test_blanks_around_what_a_pattern_leaves_are_no_part_of_a_class():
    holds = {"y": "text", "neg (%)": "float", "pos (%)": "float"}
    found = find_roles(holds, lambda column: ("neg", "pos"), ReadOptions(scores="*(%)"), "t.csv")
    assert (found.scores, found.classes) == (("neg (%)", "pos (%)"), ("neg", "pos"))


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ("prob_a prob_b", {}, "t.csv has no label column: found prob_a, prob_b, expected .* --label-column"),
        (
            "label y prob_a prob_b",
            {},
            "2 columns that may be the labels: label, y; choose one with --label-column",
        ),
        ("0.1 0.9 1e-3", {}, "first line, 0.1, 0.9, 1e-3, looks like numbers; expected a header line"),
        ("label prob_a prob_b logit_a logit_b", {}, "columns of logits and of probs .* choose with --scores"),
        ("label x y_hat", {}, "has no score columns: found label, x, y_hat"),
        ("label p_value", {}, "has no score columns"),
        (
            "label top1_class top1 top2",
            {},
            "only the largest scores of each row .* expected the scores of all classes",
        ),
        ("label a:list b:list", {}, "2 list columns, a, b; choose the scores with --scores"),
        ("label cat dog bird", {}, "cat, dog, but bird may be .* --classes cat,dog,bird, if not .* cat,dog"),
        ("label prob_a probs_a", {}, "two columns for class a"),
        (
            "label probs_a",
            {"label_column": "lable"},
            '--label-column: t.csv has no column "lable"; did you mean label',
        ),
        ("label probs_a", {"weights": "w"}, '--weights: t.csv has no column "w"'),
        ("label probs_a", {"scores": "q_*"}, '--scores: t.csv has no column like "q_\\*"; it has probs_a'),
        (
            "label probs_a",
            {"labels": "a.npy", "label_column": "label"},
            "--label-column .* --labels .* leave one out",
        ),
        ("label q_a q_b:list", {"scores": "q_*"}, "matches the list column q_b and others"),
    ],
)
def test_what_cannot_be_decided(columns, options, message):
    with pytest.raises((InputError, UsageError), match=message):
        layout(columns, **options)


def test_a_label_without_a_column():
    holds = dict.fromkeys(["label", "cat", "dog"], "float")
    with pytest.raises(InputError, match="labels name the columns cat, dog, but there are others, horse, "):
        find_roles(holds, lambda column: ("cat", "dog", "horse"), ReadOptions(), "t.csv")
    found = find_roles(holds, lambda column: ("cat", "dog", "", "NaN"), ReadOptions(), "t.csv")
    assert found.classes == ("cat", "dog"), "missing labels are refused with their row, when all are matched"


def test_duplicated_names():
    with pytest.raises(InputError, match="more than one column named prob_a; rename"):
        refuse_duplicates(["label", "prob_a", "prob_a"], "t.csv")


@given(st.sets(st.integers(0, 10**6), min_size=1), st.sampled_from(["", "class_", "c"]), st.randoms())
def test_numbers_in_names_sort_as_numbers(numbers, stem, random):
    shuffled = sorted(numbers)
    random.shuffle(shuffled)
    order = natural_order([f"{stem}{number}" for number in shuffled])
    assert [shuffled[i] for i in order] == sorted(numbers)


def test_numbers_in_names_may_be_longer_than_python_converts():
    names = ["p1" + "0" * 6000, "p" + "9" * 6000, "p007", "p8"]
    assert natural_order(names) == [2, 3, 1, 0]


@given(st.lists(st.text("abc", min_size=1), unique=True, min_size=1))
def test_names_without_numbers_keep_their_order(names):
    assert natural_order(names) == list(range(len(names)))
