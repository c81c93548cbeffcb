"""Classes that are named beside their scores, in every row in another order, while labels are numbers."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calcli.io.options import ReadOptions
from calcli.io.read import read
from calcli.io.words import natural_order
from tests.io.samples import refused, scores_of

RNG = np.random.default_rng(31)
ELEVEN = RNG.dirichlet(np.ones(11), 50)
LABELS = np.array([RNG.choice(11, p=row) for row in ELEVEN])


def pairs(path, names, scores, labels):
    """Write what pipelines of Hugging Face return, the largest score first."""
    rows = [
        {"label": label, "predictions": [{"label": names[k], "score": row[k]} for k in np.argsort(-row)]}
        for label, row in zip(labels.tolist(), scores, strict=True)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("name", ["LABEL_{}", "{}", "class_{}", "c{}"])
def test_names_that_end_in_numbers_go_by_number(name, tmp_path):
    names = [name.format(k) for k in range(11)]
    found = read(pairs(tmp_path / "t.jsonl", names, ELEVEN, LABELS))
    assert found.classes == tuple(names)
    np.testing.assert_array_equal(scores_of(found), ELEVEN)
    np.testing.assert_array_equal(found.labels, LABELS)


def test_numbers_in_names_may_be_longer_than_python_converts():
    names = ["p1" + "0" * 6000, "p" + "9" * 6000, "p007", "p8"]
    assert natural_order(names) == [2, 3, 1, 0]


EMOTIONS = ("sadness", "joy", "love")
THREE = RNG.dirichlet(np.ones(3), 50)
OF_THREE = np.array([RNG.choice(3, p=row) for row in THREE])


def test_names_without_an_order_need_one_where_labels_are_numbers(tmp_path):
    path = pairs(tmp_path / "t.jsonl", EMOTIONS, THREE, OF_THREE)
    refused(path, "the values show that label does not count|nothing says the order of the classes")
    refused(path, "nothing says the order of the classes|the values show", limit=5)
    found = read(path, ReadOptions(classes=EMOTIONS))
    np.testing.assert_array_equal(scores_of(found), THREE)
    np.testing.assert_array_equal(found.labels, OF_THREE)
    named = read(pairs(tmp_path / "u.jsonl", EMOTIONS, THREE, np.array(EMOTIONS)[OF_THREE]))
    assert named.classes == ("joy", "love", "sadness")
    np.testing.assert_array_equal(np.array(named.classes)[named.labels], np.array(EMOTIONS)[OF_THREE])
    np.testing.assert_array_equal(scores_of(named), THREE[:, [1, 2, 0]])


def test_names_without_an_order_need_one_where_labels_are_elsewhere(tmp_path):
    path = pairs(tmp_path / "t.jsonl", EMOTIONS, THREE, OF_THREE)
    np.save(tmp_path / "numbers.npy", OF_THREE)
    np.save(tmp_path / "names.npy", np.array(EMOTIONS)[OF_THREE])
    refused(path, "nothing says the order", labels=str(tmp_path / "numbers.npy"))
    found = read(path, ReadOptions(labels=str(tmp_path / "names.npy")))
    np.testing.assert_array_equal(np.array(found.classes)[found.labels], np.array(EMOTIONS)[OF_THREE])


def test_names_in_columns_by_rank_need_an_order_too(tmp_path):
    order = np.argsort(-THREE, axis=1)
    by_rank = np.take_along_axis(THREE, order, axis=1)
    columns = {f"label_{j}": np.array(EMOTIONS)[order[:, j]] for j in range(3)}
    columns |= {f"prob_{j}": by_rank[:, j] for j in range(3)} | {"target": OF_THREE}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    refused(tmp_path / "t.parquet", "may name the class of each score|nothing says the order of the classes")
    said = {"label_0": {}, "target": {"names": EMOTIONS, "_type": "ClassLabel"}}
    said = {"huggingface": json.dumps({"info": {"features": said}})}
    pq.write_table(pa.table(columns).replace_schema_metadata(said), tmp_path / "t.parquet")
    found = read(tmp_path / "t.parquet")
    np.testing.assert_array_equal(np.array(found.classes)[found.labels], np.array(EMOTIONS)[OF_THREE])
    np.testing.assert_array_equal(scores_of(found), THREE[:, [1, 2, 0]])


def test_of_two_classes_the_negative_one_is_the_first(tmp_path):
    two = RNG.dirichlet(np.ones(2), 50)
    found = read(pairs(tmp_path / "t.jsonl", ("NEGATIVE", "POSITIVE"), two, OF_THREE % 2))
    np.testing.assert_array_equal(scores_of(found), two)
    np.testing.assert_array_equal(found.labels, OF_THREE % 2)


def test_objects_in_text_keep_their_one_order_as_those_of_json_lines_do(tmp_path):
    objects = [dict(zip(EMOTIONS, row, strict=True)) for row in THREE.tolist()]
    rows = [{"label": k, "probs": one} for k, one in zip(OF_THREE.tolist(), objects, strict=True)]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    cells = [json.dumps(one) for one in objects]
    pd.DataFrame({"label": OF_THREE, "probs": cells}).to_csv(tmp_path / "t.csv", index=False)
    for name in ("t.jsonl", "t.csv"):
        found = read(tmp_path / name)
        assert found.classes == EMOTIONS
        np.testing.assert_allclose(scores_of(found), THREE, rtol=1e-12)
        np.testing.assert_array_equal(found.labels, OF_THREE)
