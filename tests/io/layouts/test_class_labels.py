"""Names of classes in the metadata of Hugging Face's datasets."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calcli.core.language.errors import InputError
from calcli.io.handed import from_arrays
from calcli.io.options import ReadOptions
from calcli.io.read import read
from tests.io.layouts.trips import LABELS, NAMES, THREE, N, trip
from tests.io.samples import refused, scores_of


def saved(path, columns, names=NAMES, form="parquet", labels=LABELS):
    """Write a table with the features that `Dataset.to_parquet` and `save_to_disk` put into the schema."""
    features = {name: {"dtype": "float32", "_type": "Value"} for name in ("text", *columns)}
    features["label"] = {"names": list(names), "_type": "ClassLabel"}
    said = {"huggingface": json.dumps({"info": {"features": features}})}
    table = pa.table({"text": ["x"] * N, "label": pa.array(labels, pa.int64())} | columns)
    table = table.replace_schema_metadata(said)
    if form == "parquet":
        pq.write_table(table, path)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table)
    return path


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_lists_are_of_the_named_classes(form, tmp_path):
    path = saved(tmp_path / f"data-00000-of-00001.{form}", {"probs": THREE.tolist()}, form=form)
    predictions = trip(path, THREE, LABELS, "a list of scores in each row")
    assert predictions.classes == tuple(NAMES)


def test_numbers_are_positions_among_the_names_not_the_columns(tmp_path):
    order = [2, 0, 1]
    path = saved(tmp_path / "t.parquet", {f"prob_{NAMES[k]}": THREE[:, k] for k in order})
    predictions = read(path)
    assert predictions.classes == tuple(NAMES[order])
    np.testing.assert_array_equal(np.array(predictions.classes)[predictions.labels], NAMES[LABELS])
    numbered = saved(tmp_path / "n.parquet", {f"prob_{k}": THREE[:, k] for k in order})
    assert read(numbered).classes == tuple(NAMES)
    np.testing.assert_allclose(scores_of(read(numbered)), THREE)


def test_names_that_are_given_or_do_not_fit(tmp_path):
    path = saved(tmp_path / "t.parquet", {"probs": THREE.tolist()})
    assert read(path, ReadOptions(classes=("x", "y", "z"))).classes == ("x", "y", "z")
    path = saved(tmp_path / "t.parquet", {"probs": THREE.tolist()}, names=["a", "b", "c", "d"])
    assert read(path).classes == ("a", "b", "c")


def test_what_is_written_says_what_it_holds(tmp_path):
    path = saved(tmp_path / "t.parquet", {"probs": THREE.tolist()})
    trip(path, THREE, LABELS, "a list of scores in each row")
    written = pq.read_schema(tmp_path / "out.parquet")
    features = json.loads(written.metadata[b"huggingface"])["info"]["features"]
    assert set(features) == set(written.names)
    assert written.names[-1] == "probs"
    assert features["label"]["names"] == list(NAMES)


def test_metadata_of_endless_nesting_tell_nothing(tmp_path):
    path = saved(tmp_path / "t.parquet", {"probs": THREE.tolist()})
    table = pq.read_table(path)
    pq.write_table(table.replace_schema_metadata({"huggingface": "[" * 100_000}), path)
    assert read(path).classes == ("0", "1", "2")


def test_names_with_half_a_character(tmp_path):
    path = saved(tmp_path / "t.parquet", {"probs": THREE.tolist()}, names=["a", "b\ud800", "c"])
    assert read(path).classes == ("a", r"b\ud800", "c")
    with pytest.raises(InputError, match=r"the class '\\udfff' holds half a character"):
        from_arrays(THREE, LABELS, classes=("a", "\udfff", "c"))


TURNED = {f"prob_{NAMES[k]}": THREE[:, k] for k in (2, 0, 1)}


def shards(folder, *names):
    """Write the rows in shards as `Dataset.to_parquet` does; what names no classes has no metadata."""
    table = pq.read_table(saved(folder / "all.parquet", TURNED))
    (folder / "all.parquet").unlink()
    size = N // len(names)
    for n, said in enumerate(names):
        part = folder / f"test-{n:05d}-of-{len(names):05d}.parquet"
        saved(part, TURNED, NAMES if said is None else said)
        metadata = pq.read_schema(part).metadata if said is not None else None
        pq.write_table(table.slice(n * size, size).replace_schema_metadata(metadata), part)
    return folder


def test_numbers_are_positions_among_the_names_in_shards_and_folders_of_a_split(tmp_path):
    (tmp_path / "x" / "split=test").mkdir(parents=True)
    saved(tmp_path / "x" / "split=test" / "part-0.parquet", TURNED)
    for path, names in (("x", 0), ("two", [NAMES, NAMES]), ("one said", [None, NAMES])):
        if names:
            (tmp_path / path).mkdir()
            shards(tmp_path / path, *names)
        found = read(tmp_path / path, ReadOptions(concat=True))
        assert found.classes == tuple(NAMES[[2, 0, 1]])
        np.testing.assert_array_equal(np.array(found.classes)[found.labels], NAMES[LABELS])
        np.testing.assert_array_equal(scores_of(found), THREE[:, [2, 0, 1]])


def test_shards_that_name_the_classes_differently_are_refused(tmp_path):
    said = "name the classes of label differently, ant, bee, cat and cat, bee, ant"
    refused(shards(tmp_path, NAMES, NAMES[::-1]), said, concat=True)


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_numbers_are_positions_among_the_names_beside_objects_of_scores(form, tmp_path):
    order = [2, 0, 1]
    probs = pa.StructArray.from_arrays([pa.array(THREE[:, k]) for k in order], names=list(NAMES[order]))
    found = read(saved(tmp_path / f"t.{form}", {"probs": probs}, form=form))
    np.testing.assert_array_equal(np.array(found.classes)[found.labels], NAMES[LABELS])
    np.testing.assert_array_equal(scores_of(found), THREE[:, order])
    trip(tmp_path / f"t.{form}", THREE[:, order], np.argsort(order)[LABELS], "objects of scores")
