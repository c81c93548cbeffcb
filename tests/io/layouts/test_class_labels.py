"""Names of classes in the metadata of Hugging Face's datasets."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calcli.core.language.errors import InputError
from calcli.io.options import ReadOptions
from calcli.io.read import from_arrays, read
from tests.io.layouts.trips import LABELS, NAMES, THREE, N, trip
from tests.io.samples import refused, scores_of


def saved(path, columns, names=NAMES, form="parquet"):
    """Write a table with the features that `Dataset.to_parquet` and `save_to_disk` put into the schema."""
    features = {name: {"dtype": "float32", "_type": "Value"} for name in ("text", *columns)}
    features["label"] = {"names": list(names), "_type": "ClassLabel"}
    said = {"huggingface": json.dumps({"info": {"features": features}})}
    table = pa.table({"text": ["x"] * N, "label": pa.array(LABELS, pa.int64())} | columns)
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
    assert read(path).classes == ("0", "1", "2")


def test_what_is_written_says_what_it_holds(tmp_path):
    path = saved(tmp_path / "t.parquet", {"probs": THREE.tolist()})
    trip(path, THREE, LABELS, "a list of scores in each row")
    written = pq.read_schema(tmp_path / "out.parquet")
    features = json.loads(written.metadata[b"huggingface"])["info"]["features"]
    assert set(features) == set(written.names)
    assert features["prob_ant"] == {"dtype": "float64", "_type": "Value"}
    assert features["label"]["names"] == list(NAMES)


def test_metadata_of_endless_nesting_tell_nothing(tmp_path):
    path = saved(tmp_path / "t.parquet", {"probs": THREE.tolist()})
    table = pq.read_table(path)
    pq.write_table(table.replace_schema_metadata({"huggingface": "[" * 100_000}), path)
    assert read(path).classes == ("0", "1", "2")


def test_names_with_half_a_character_are_refused(tmp_path):
    path = saved(tmp_path / "t.parquet", {"probs": THREE.tolist()}, names=["a", "b\ud800", "c"])
    refused(path, r"the class 'b\\ud800' holds half a character")
    with pytest.raises(InputError, match=r"the class '\\udfff' holds half a character"):
        from_arrays(THREE, LABELS, classes=("a", "\udfff", "c"))
