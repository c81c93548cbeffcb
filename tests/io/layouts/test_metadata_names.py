"""Names that metadata have for labels in numbers, beside scores by number, predictions and answers."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calcli.core.language.errors import InputError, UsageError
from calcli.io.options import ReadOptions
from calcli.io.read import read
from tests.io.layouts.test_order import BINARY, PROB, TRUE, of_true_classes, saved, with_names
from tests.io.layouts.trips import LABELS, NAMES, THREE, TWO, N
from tests.io.samples import refused, scores_of

ROWS = np.arange(N)
TEN = np.random.default_rng(3).dirichlet(np.ones(10), N)
RATED = np.random.default_rng(4).integers(0, 10, N)
SORTED = sorted(map(str, range(1, 11)))  # 1, 10, 2, ...


def several(path, columns, **names):
    """Write a table in which several columns have names for their numbers."""
    features = {one: {"names": list(said), "_type": "ClassLabel"} for one, said in names.items()}
    said = {"huggingface": json.dumps({"info": {"features": features}})}
    pq.write_table(pa.table(columns).replace_schema_metadata(said), path)
    return path


@pytest.mark.parametrize("layout", ["columns", "objects", "pairs"])
def test_names_that_are_numbers_in_another_order(layout, tmp_path):
    codes = [SORTED.index(str(rated + 1)) for rated in RATED]
    columns = {f"prob_{k + 1}": TEN[:, k] for k in range(10)}
    if layout == "objects":
        columns = {"probs": [{str(k + 1): row[k] for k in range(10)} for row in TEN.tolist()]}
    if layout == "pairs":
        order = np.argsort(-TEN, axis=1)
        columns = {
            "scores": [
                [{"label": str(k + 1), "score": row[k]} for k in best]
                for row, best in zip(TEN.tolist(), order.tolist(), strict=True)
            ]
        }
    path = with_names(tmp_path, columns, codes, SORTED)
    np.testing.assert_allclose(of_true_classes(path), TEN[ROWS, RATED])


def test_numbers_that_are_places_or_names(tmp_path):
    path = with_names(tmp_path, {"prob_0": PROB, "prob_1": TWO[:, 0]}, BINARY, ("1", "0"))
    refused(
        path, r"which may be positions or the names of the classes 1, 0 in the metadata\.(?s:.*)--classes 0,1"
    )
    np.testing.assert_allclose(of_true_classes(path, classes=("0", "1")), np.where(BINARY, PROB, TWO[:, 0]))
    path = with_names(tmp_path, {"prob_1": PROB}, BINARY, ("1", "2"))
    refused(path, "the name of prob_1 says that it is the score of 1")
    np.testing.assert_allclose(of_true_classes(path, positive="2"), TRUE)
    np.testing.assert_allclose(of_true_classes(path, positive="1"), 1 - TRUE)


def test_other_columns_with_names_tell_nothing(tmp_path):
    columns = {"lang": BINARY, "label": BINARY, "probs": TWO[:, ::-1].tolist()}
    labels = ("neg", "pos")[::-1]
    path = several(tmp_path / "t.parquet", columns, lang=("de", "en"), label=labels)
    np.testing.assert_allclose(of_true_classes(path), TWO[ROWS, 1 - BINARY])
    np.save(tmp_path / "l.npy", BINARY)
    alone = several(tmp_path / "u.parquet", {"lang": BINARY, "probs": TWO.tolist()}, lang=("de", "en"))
    assert read(alone, ReadOptions(labels=str(tmp_path / "l.npy"))).classes == ("0", "1")


def test_a_label_to_be_ignored_may_be_a_number(tmp_path):
    path = with_names(tmp_path, {"probs": THREE.tolist()}, LABELS, NAMES)
    for ignored in ("2", str(NAMES[2])):
        found = of_true_classes(path, ignore_label=(ignored,))
        np.testing.assert_allclose(found, THREE[ROWS, LABELS][LABELS != 2])


WORDS = np.array(["NEGATIVE", "POSITIVE"])


@pytest.mark.parametrize("score", ["score", "prob"])
@pytest.mark.parametrize("named", [False, True])
def test_the_confidence_in_one_of_two_words(score, named, tmp_path):
    best = TWO.argmax(axis=1)
    columns = {score: TWO.max(axis=1), "pred": WORDS[best]}
    if named:
        found = read(with_names(tmp_path, columns, BINARY, tuple(WORDS)))
        assert found.of_answers
        np.testing.assert_array_equal(found.labels, best == BINARY)
        return
    path = saved(tmp_path, columns | {"label": BINARY})
    refused(path, "never below one half, .*: it may be the confidence in what was predicted")
    assert read(path, ReadOptions(positive="1")).classes == ("0", "1")


@pytest.mark.parametrize("labels", [LABELS, LABELS + 1])
def test_the_confidence_in_one_of_three_words(labels, tmp_path):
    columns = {"score": THREE.max(axis=1), "pred": NAMES[THREE.argmax(axis=1)]}
    message = "target holds no labels for score: [01], "
    refused(saved(tmp_path, columns | {"target": labels}), message)
    assert read(saved(tmp_path, columns | {"target": NAMES[LABELS]})).of_answers


def test_the_score_of_the_word_that_is_0_by_custom(tmp_path):
    low = WORDS[(TWO[:, 0] < 0.5).astype(int)]
    path = saved(tmp_path, {"prob": TWO[:, 0], "pred": low, "label": BINARY})
    np.testing.assert_allclose(of_true_classes(path), TRUE)
    path = saved(tmp_path, {"prob": PROB, "pred": WORDS[(PROB > 0.5).astype(int)], "label": BINARY})
    np.testing.assert_allclose(of_true_classes(path), TRUE)
    path = with_names(tmp_path, {"prob": TWO[:, 0], "pred": low}, BINARY, tuple(WORDS))
    np.testing.assert_allclose(of_true_classes(path), TRUE)


def test_answers_are_compared_by_name(tmp_path):
    best = THREE.argmax(axis=1)
    columns = {"label": LABELS, "confidence": THREE.max(axis=1)}
    text = several(tmp_path / "t.parquet", columns | {"prediction": NAMES[best]}, label=NAMES)
    order = [2, 0, 1]
    codes = np.argsort(order)[best]
    both = several(
        tmp_path / "b.parquet", columns | {"prediction": codes}, label=NAMES, prediction=NAMES[order]
    )
    graded = several(
        tmp_path / "g.parquet",
        {"is_correct": (best != LABELS).astype(int), "confidence": THREE.max(axis=1)},
        is_correct=("correct", "incorrect"),
    )
    for path in (text, both, graded):
        found = read(path)
        assert found.of_answers
        np.testing.assert_array_equal(found.labels, best == LABELS)
        np.testing.assert_allclose(scores_of(found)[:, 1], THREE.max(axis=1))


@pytest.mark.parametrize(
    ("stored", "wanted"),
    [
        (("cat", "dog", "owl"), ("OWL", "CAT", "DOG")),
        (("02", "03", "01"), ("1", "2", "3")),
        (("2.0", "0.0", "1.0"), ("0", "1", "2")),
    ],
)
def test_arrays_are_put_in_the_order_of_names_that_are_the_same(stored, wanted, tmp_path):
    said = np.array([wanted[k] for k in LABELS])
    places = [next(k for k, one in enumerate(stored) if alike(one, name)) for name in wanted]
    held = np.empty_like(THREE)
    held[:, places] = THREE
    np.savez(tmp_path / "t.npz", probs=held, labels=said, classes=np.array(stored))
    found = read(tmp_path / "t.npz", ReadOptions(classes=wanted))
    np.testing.assert_allclose(scores_of(found), THREE)
    np.testing.assert_array_equal(found.labels, LABELS)


def alike(one, other):
    return one.casefold() == other.casefold() or (one[0].isdigit() and float(one) == float(other))


def test_one_score_in_an_archive_that_names_both_classes(tmp_path):
    for name, scores in (("neg", TWO[:, 0]), ("pos", PROB)):
        for held in (BINARY, BINARY.astype(bool), np.array(["neg", "pos"])[BINARY]):
            np.savez(tmp_path / "t.npz", probs=scores, labels=held, classes=["neg", "pos"])
            np.testing.assert_allclose(of_true_classes(tmp_path / "t.npz", positive=name), TRUE)
    with pytest.raises(UsageError, match="one score in each row, that of the last of neg, pos; name it last"):
        read(tmp_path / "t.npz", ReadOptions(classes=("POS", "NEG")))


def test_a_score_that_is_named_after_the_other_class(tmp_path):
    path = saved(tmp_path, {"prob_neg": TWO[:, 0], "label": np.array(["neg", "pos"])[BINARY]})
    with pytest.raises(UsageError, match="named after neg; leave it out, or save the scores of pos"):
        read(path, ReadOptions(positive="pos"))
    np.testing.assert_allclose(of_true_classes(path), TRUE)


def test_labels_from_1_beside_names_by_rank(tmp_path):
    order = np.argsort(-THREE, axis=1)
    some = np.array(["LABEL_0", "LABEL_1", "LABEL_2"])
    columns = {f"prob_{k}": THREE[ROWS, order[:, k]] for k in range(3)}
    columns |= {f"name_{k}": some[order[:, k]] for k in range(3)}
    path = saved(tmp_path, columns | {"label": LABELS + 1})
    refused(path, "cannot be read as predictions: .* may name the class of each score")
    np.testing.assert_allclose(
        of_true_classes(saved(tmp_path, columns | {"label": LABELS})), THREE[ROWS, LABELS]
    )


def test_parts_with_two_columns_of_one_name_are_refused(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    table = pa.Table.from_arrays(
        [pa.array(PROB), pa.array(BINARY), pa.array(PROB)], names=["prob", "label", "prob"]
    )
    for part in range(2):
        pq.write_table(table, folder / f"{part}.parquet")
    with pytest.raises(InputError, match="has more than one column named prob; rename all but one"):
        read(folder)


def test_lists_of_text_beside_lists_of_nothing(tmp_path):
    columns = {"classes": pa.nulls(N, pa.list_(pa.null())), "scores": pa.array([["a", "b"]] * N)}
    pq.write_table(pa.table(columns | {"label": BINARY}), tmp_path / "t.parquet")
    refused(tmp_path / "t.parquet", "the lists in column scores hold")
    assert pd.read_parquet(tmp_path / "t.parquet").shape == (N, 3)


def test_a_number_beside_a_word_is_a_class(tmp_path):
    best = TWO.argmax(axis=1)
    columns = {"prob": TWO.max(axis=1), "pred": np.array(["0", "other"])[best], "label": BINARY}
    path = saved(tmp_path, columns)
    refused(path, "prob is never below one half")
    found = read(path, ReadOptions(confidence="prob"))
    assert found.of_answers
    np.testing.assert_array_equal(found.labels, (best == 0) & (BINARY == 0))
