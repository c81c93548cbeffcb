"""Which class a label in numbers is, where names of classes, metadata and options speak of it, too."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from calcli.core.language.errors import InputError, UsageError
from calcli.io.options import ReadOptions
from calcli.io.read import read
from tests.io.layouts.test_class_labels import saved as saved_with_names
from tests.io.layouts.trips import LABELS, NAMES, THREE, TWO, N
from tests.io.samples import of_true_classes, refused, saved, scores_of

BINARY = (LABELS > 0).astype(int)
PROB = TWO[:, 1]


TRUE = TWO[np.arange(N), BINARY]


@pytest.mark.parametrize(
    "pair", [("yes", "no"), ("pos", "neg"), ("Positive", "Negative"), ("malignant", "benign")]
)
@pytest.mark.parametrize("held", [int, bool])
def test_the_values_tell_the_order_of_columns_against_custom(pair, held, tmp_path):
    one, zero = pair
    path = saved(tmp_path, {f"prob_{one}": PROB, f"prob_{zero}": TWO[:, 0], "label": BINARY.astype(held)})
    for options in ({}, {"positive": one}, {"positive": zero}):
        np.testing.assert_allclose(of_true_classes(path, **options), TRUE)
    np.testing.assert_allclose(of_true_classes(path, classes=(zero, one)), TRUE)
    counted = BINARY if held is int else 1 - BINARY  # true is what it is by custom, whatever its place
    assert read(path, ReadOptions(classes=(one, zero))).labels.tolist() == counted.tolist()
    named = saved(
        tmp_path, {f"prob_{one}": PROB, f"prob_{zero}": TWO[:, 0], "label": np.array(pair)[1 - BINARY]}
    )
    np.testing.assert_allclose(of_true_classes(named), TRUE)


@pytest.mark.parametrize("name", ["neg", "Negative", "no", "benign", "ham"])
def test_the_score_of_the_negative_class_alone_is_that_of_0_or_1(name, tmp_path):
    path = saved(tmp_path, {f"prob_{name}": TWO[:, 0], "label": BINARY})
    np.testing.assert_allclose(of_true_classes(path), TRUE)
    for positive in (name, "0"):
        np.testing.assert_allclose(of_true_classes(path, positive=positive), TRUE)
    with pytest.raises(UsageError, match=f"say whose it is, with --positive {name} or --positive other"):
        read(path, ReadOptions(classes=(name, "other")))
    np.testing.assert_allclose(of_true_classes(path, classes=(name, "other"), positive=name), TRUE)
    np.testing.assert_allclose(of_true_classes(path, classes=("other", name)), 1 - TRUE)
    if name == "no":
        path = saved(tmp_path, {"prob_no": TWO[:, 0], "label": BINARY.astype(bool)})
        np.testing.assert_allclose(of_true_classes(path), TRUE)


@pytest.mark.parametrize("name", ["neg", "Negative", "no", "benign", "ham"])
def test_a_class_may_stand_before_the_word(name, tmp_path):
    path = saved(tmp_path, {f"{name}_prob": TWO[:, 0], "label": BINARY})
    np.testing.assert_allclose(of_true_classes(path), TRUE)
    np.testing.assert_allclose(of_true_classes(path, positive="0"), TRUE)


@pytest.mark.parametrize(
    ("column", "held"),
    [
        ("no_prob", BINARY > 0),
        ("False_prob", BINARY > 0),
        ("neg_prob", np.array(["neg", "pos"])[BINARY]),
        ("pear_prob", np.array(["pear", "apple"])[BINARY]),
        ("0_prob", BINARY),
    ],
)
def test_the_score_of_class_0_by_a_name_before_the_word(column, held, tmp_path):
    np.testing.assert_allclose(
        of_true_classes(saved(tmp_path, {column: TWO[:, 0], "label": held}, "t.parquet")), TRUE
    )


@pytest.mark.parametrize(
    "column", ["rf_prob", "model_proba", "default_proba", "y_prob", "pos_prob", "yes_prob"]
)
def test_other_names_before_the_word_are_of_class_1(column, tmp_path):
    path = saved(tmp_path, {column: PROB, "label": BINARY})
    np.testing.assert_allclose(of_true_classes(path), TRUE)


def test_capitals_do_not_turn_the_one_score_over(tmp_path):
    path = saved(tmp_path, {"prob_malignant": PROB, "label": np.array(["Benign", "Malignant"])[BINARY]})
    np.testing.assert_allclose(of_true_classes(path, classes=("Benign", "Malignant")), TRUE)
    with pytest.raises(
        UsageError, match="named after malignant; say whose it is, with --positive Malignant or"
    ):
        read(path, ReadOptions(classes=("Malignant", "Benign")))


def test_names_that_differ_in_capitals(tmp_path):
    held = np.char.upper(NAMES)
    path = saved(tmp_path, {f"prob_{NAMES[k]}": THREE[:, k] for k in (2, 0, 1)} | {"label": held[LABELS]})
    truth = THREE[np.arange(N), LABELS]
    np.testing.assert_allclose(of_true_classes(path), truth)
    np.testing.assert_allclose(of_true_classes(path, classes=tuple(held)), truth)
    order = np.argsort(-THREE, axis=1)
    ranked = {f"prob_{k}": THREE[np.arange(N), order[:, k]] for k in range(3)}
    path = saved(
        tmp_path, ranked | {f"name_{k}": NAMES[order[:, k]] for k in range(3)} | {"label": held[LABELS]}
    )
    np.testing.assert_allclose(of_true_classes(path, classes=tuple(held)), truth)
    for form, names in (
        ("csv", ("TRUE", "FALSE")),
        ("parquet", ("true", "false")),
        ("parquet", ("True", "False")),
    ):
        path = saved(
            tmp_path, {names[0]: PROB, names[1]: TWO[:, 0], "label": BINARY.astype(bool)}, f"t.{form}"
        )
        np.testing.assert_allclose(of_true_classes(path), TRUE)


@pytest.mark.parametrize("prefix", ["prob_", "prob_UPPER", ""])
def test_numbers_beside_columns_that_options_put_in_another_order(prefix, tmp_path):
    order = [2, 0, 1]
    shown = [name.upper() if "UPPER" in prefix else name for name in NAMES]
    columns = {prefix.removesuffix("UPPER") + shown[k]: THREE[:, k] for k in order}
    path = saved(tmp_path, columns | {"label": np.argsort(order)[LABELS]})
    truth = THREE[np.arange(N), LABELS]
    np.testing.assert_allclose(of_true_classes(path, classes=tuple(NAMES[order])), truth)
    with pytest.raises(InputError, match="give --classes in the order of the file, cat, ant, bee, or save"):
        read(path, ReadOptions(classes=tuple(NAMES)))
    named = saved(tmp_path, columns | {"label": np.array(shown)[LABELS]})
    held = tuple(shown)
    np.testing.assert_allclose(of_true_classes(named, classes=held), truth)


def test_numbers_beside_objects_that_options_put_in_another_order(tmp_path):
    path, order = tmp_path / "t.jsonl", [2, 0, 1]
    objects = [{str(NAMES[k]): float(row[k]) for k in order} for row in THREE]
    rows = zip(objects, np.argsort(order)[LABELS].tolist(), strict=True)
    path.write_text("\n".join(json.dumps({"probs": one, "label": label}) for one, label in rows))
    np.testing.assert_allclose(of_true_classes(path), THREE[np.arange(N), LABELS])
    with pytest.raises(InputError, match="give --classes in the order of the file, cat, ant, bee, or save"):
        read(path, ReadOptions(classes=tuple(NAMES)))


@pytest.mark.parametrize("label", ["label", "elsewhere"])
def test_one_hot_labels_beside_scores_that_options_put_in_order(label, tmp_path):
    path = saved(tmp_path, {f"prob_{NAMES[k]}": THREE[:, k] for k in range(3)})
    np.save(tmp_path / "one.npy", np.eye(3, dtype=int)[LABELS])
    options = {"labels": str(tmp_path / "one.npy")}
    np.testing.assert_allclose(of_true_classes(path, **options), THREE[np.arange(N), LABELS])
    with pytest.raises(
        InputError, match="the labels are one-hot, which may count the classes in the order of the"
    ):
        read(path, ReadOptions(classes=tuple(NAMES[[2, 0, 1]]), **options))


def test_numbers_in_names_that_do_not_count_from_0(tmp_path):
    few, some = np.where(LABELS == 2, 1, LABELS), ["a_1", "a_2", "a_3"]
    rows = np.arange(N)
    path = saved(tmp_path, {f"prob_{name}": THREE[:, k] for k, name in enumerate(some)} | {"label": few + 1})
    np.testing.assert_allclose(of_true_classes(path), THREE[rows, few])
    for start in (1, 0):
        classes = tuple(str(n + start) for n in range(3))
        np.testing.assert_allclose(of_true_classes(path, classes=classes), THREE[rows, few + 1 - start])
    whole = saved(tmp_path, {f"prob_{name}": THREE[:, k] for k, name in enumerate(some)} | {"label": LABELS})
    np.testing.assert_allclose(of_true_classes(whole), THREE[rows, LABELS])
    order = np.argsort(-THREE, axis=1)
    ranked = {f"prob_{k}": THREE[rows, order[:, k]] for k in range(3)}
    ranked |= {f"name_{k}": np.array(some)[order[:, k]] for k in range(3)}
    refused(saved(tmp_path, ranked | {"label": few + 1}), "name the class of each score|the values show")
    named = saved(tmp_path, ranked | {"label": np.array(some)[few]})
    np.testing.assert_allclose(of_true_classes(named), THREE[rows, few])


@pytest.mark.parametrize("offered", [True, False])
def test_two_classes_that_are_numbered_from_1(offered, tmp_path):
    columns = {"prob": TWO[:, 0], "label": BINARY + 1}
    if offered:  # what is predicted says whose score it is
        path = saved(tmp_path, columns | {"pred": 1 + (TWO[:, 0] < 0.5)})
        assert read(path).classes == ("2", "1")
        np.testing.assert_allclose(of_true_classes(path), TRUE)
    else:
        path = saved(tmp_path, columns)
        np.testing.assert_allclose(of_true_classes(path, positive="1"), TRUE)
        np.testing.assert_allclose(of_true_classes(path, positive="2"), 1 - TRUE)
        assert read(path).classes == ("1", "2")  # the report begins with the ranking


def with_names(folder, columns, labels=BINARY, names=("neg", "pos")):
    return saved_with_names(folder / "t.parquet", columns, names, labels=labels)


@pytest.mark.parametrize(
    ("column", "scores"),
    [
        ("prob", PROB),
        ("prob_1", PROB),
        ("prob_pos", PROB),
        ("prob_POS", PROB),
        ("prob_0", TWO[:, 0]),
        ("prob_neg", TWO[:, 0]),
        ("prob_Neg", TWO[:, 0]),
        ("neg_prob", TWO[:, 0]),
        ("Pos_prob", PROB),
        ("pos_prob", PROB),
        ("rf_prob", PROB),
    ],
)
def test_one_score_of_a_class_that_metadata_name(column, scores, tmp_path):
    path = with_names(tmp_path, {column: scores})
    np.testing.assert_allclose(of_true_classes(path), TRUE)
    assert set(read(path).classes) == {"neg", "pos"}
    both = ("neg", "pos") if scores is PROB else ("pos", "neg")
    if column == "prob_0":
        with pytest.raises(UsageError, match="is named after 0; say whose it is, with --positive pos or"):
            read(path, ReadOptions(classes=both))
    positive = "neg" if column == "prob_0" else None
    np.testing.assert_allclose(of_true_classes(path, classes=both, positive=positive), TRUE)


def test_one_score_beside_predictions_of_named_classes(tmp_path):
    columns = {"prob": TWO[:, 0], "pred": pa.array((TWO[:, 0] < 0.5).astype(int))}
    np.testing.assert_allclose(of_true_classes(with_names(tmp_path, columns)), TRUE)


def test_labels_that_mark_missing_ones_keep_the_names_of_others(tmp_path):
    order, marked = [2, 0, 1], np.where(np.arange(N) < 5, -1, LABELS)
    path = with_names(tmp_path, {f"prob_{NAMES[k]}": THREE[:, k] for k in order}, marked, NAMES)
    refused(path, r"has no label \(-1 marks a missing one\); leave such rows out with --ignore-label -1")
    truth = THREE[np.arange(N), LABELS][5:]
    np.testing.assert_allclose(of_true_classes(path, ignore_label=("-1",)), truth)
    path = with_names(tmp_path, {"probs": THREE.tolist()}, np.where(LABELS == 2, 7, LABELS), NAMES)
    refused(path, r'has the label "7", which is not one of the classes')
    refused(with_names(tmp_path, {"probs": TWO.tolist()}, BINARY + 1, ("2", "3")), 'label "the number 2"')


@pytest.mark.parametrize("change", [str, str.upper])
def test_metadata_say_which_class_a_label_is_whatever_the_order_of_scores(change, tmp_path):
    order = [2, 0, 1]
    path = with_names(tmp_path, {f"prob_{change(NAMES[k])}": THREE[:, k] for k in order}, LABELS, NAMES)
    truth = THREE[np.arange(N), LABELS]
    np.testing.assert_allclose(of_true_classes(path), truth)
    wanted = tuple(map(change, NAMES[[1, 2, 0]]))
    np.testing.assert_allclose(of_true_classes(path, classes=wanted), truth)
    lists = with_names(tmp_path, {"probs": THREE[:, order].tolist()}, LABELS, NAMES)
    with pytest.raises(UsageError, match=r"metadata of .* name the classes ant, bee, cat, in this order"):
        read(lists, ReadOptions(classes=tuple(NAMES[order])))


def test_one_score_of_other_classes_that_metadata_name(tmp_path):
    path = with_names(tmp_path, {"cat_prob": TWO[:, 0]}, names=("cat", "dog"))
    np.testing.assert_allclose(of_true_classes(path), TRUE)
    path = with_names(tmp_path, {"rf_prob": PROB}, names=("cat", "dog"))
    np.testing.assert_allclose(of_true_classes(path), TRUE)


def test_one_score_that_the_user_names(tmp_path):
    named = np.array(["neg", "pos"])[BINARY]
    path = saved(tmp_path, {"neg_prob": TWO[:, 0], "other_prob": PROB, "label": named})
    np.testing.assert_allclose(of_true_classes(path, scores="neg_prob"), TRUE)
    path = saved(tmp_path, {"prob_0": TWO[:, 0], "label": BINARY})
    np.testing.assert_allclose(of_true_classes(path, classes=("neg", "pos"), positive="neg"), TRUE)
    with pytest.raises(UsageError, match="is named after 0"):
        read(path, ReadOptions(classes=("neg", "pos")))


def test_numbers_of_a_label_encoder_beside_columns_in_another_order(tmp_path):
    """It numbers the names in their order, as the values show."""
    order = [2, 0, 1]
    columns = dict(zip(np.char.add("prob_", NAMES[order]), THREE.T[order], strict=True))
    encoded = np.argsort(np.argsort(NAMES))[LABELS]
    np.testing.assert_allclose(
        of_true_classes(saved(tmp_path, {**columns, "label": encoded})), THREE[np.arange(N), LABELS]
    )
    places = np.argsort(order)[LABELS]
    for labels, options in ((places, {}), (NAMES[LABELS], {})):
        found = read(saved(tmp_path, {**columns, "label": labels}), ReadOptions(**options))
        assert found.provenance.doubts == ()


def test_one_score_that_is_never_below_one_half(tmp_path):
    labels = np.arange(N) % 3 > 0
    columns = {"y_true": labels.astype(int), "prob": TWO.max(axis=1)}
    path = saved(tmp_path, columns)
    refused(path, r"(?s)never below one half, and y_true is not 1 in 20 rows: .*--positive 1")
    found = read(path, ReadOptions(positive="1"))
    assert found.provenance.doubts == ()
    np.testing.assert_allclose(scores_of(found)[:, 1], columns["prob"])


@pytest.mark.parametrize(
    "pair",
    [
        ("ok", "fraud"),
        ("stayed", "churned"),
        ("normal", "attack"),
        ("paid", "default"),
        ("good", "bad"),
        ("legit", "fraud"),
        ("survived", "died"),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_the_event_is_positive_in_any_order_of_columns(pair, turned, tmp_path):
    columns = {f"prob_{pair[k]}": TWO[:, k] for k in ((1, 0) if turned else (0, 1))}
    found = read(saved(tmp_path, columns | {"label": np.array(pair)[BINARY]}))
    assert found.classes == pair
    np.testing.assert_allclose(scores_of(found), TWO)
    np.testing.assert_array_equal(found.labels, BINARY)
    alone = read(saved(tmp_path, {f"prob_{pair[1]}": PROB, "label": np.array(pair)[BINARY]}))
    assert alone.classes == pair


def test_an_event_in_the_name_of_one_score_is_the_class_of_it(tmp_path):
    found = read(saved(tmp_path, {"fraud_prob": PROB, "label": BINARY}))
    np.testing.assert_allclose(scores_of(found)[:, 1], PROB)
