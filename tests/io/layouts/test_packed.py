"""Scores in structs, lists of structs and text, in files as the frameworks write them."""

from __future__ import annotations

import datetime
import json
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calcli.core.language.errors import CalcliError
from calcli.io.options import ReadOptions
from calcli.io.read import read
from tests.io.layouts.trips import LABELS, NAMES, RNG, THREE, TWO, N, trip
from tests.io.samples import refused, scores_of

ORDER = np.argsort(-THREE, axis=1)
VECTOR = pa.struct(
    [
        ("type", pa.int8()),
        ("size", pa.int32()),
        ("indices", pa.list_(pa.int32())),
        ("values", pa.list_(pa.float64())),
    ]
)


def lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def vector(row, sparse=False):
    if not sparse:
        return {"type": 1, "size": None, "indices": None, "values": row.tolist()}
    (indices,) = row.nonzero()
    return {"type": 0, "size": len(row), "indices": indices.tolist(), "values": row[indices].tolist()}


def struct_of(*fields):
    arrays = [pa.array(values) for _, values in fields]
    return pa.StructArray.from_arrays(
        arrays, fields=[pa.field(name, array.type) for (name, _), array in zip(fields, arrays, strict=True)]
    )


PAIRS = struct_of(("label", ["a", "b"] * 2), ("score", [0.3, 0.7] * 2), ("score", [0.3, 0.7] * 2))


@pytest.mark.parametrize(
    ("column", "values", "says"),
    [
        ("probs", struct_of(("a", [0.3, 0.4]), ("b", [0.7, 0.6]), ("b", [0.7, 0.6])), "named b"),
        ("pred", pa.ListArray.from_arrays([0, 2, 4], PAIRS), "named score"),
        ("pred", struct_of(("label", [["a", "b"]] * 2), ("label", [["a", "b"]] * 2)), "named label"),
        ("probability", struct_of(*[("type", [1, 1]), *[("values", [[1.0]] * 2)] * 2]), "named values"),
        ("note", struct_of(("x", [[{"deep": 1}]] * 2), ("x", [1, 2])), "named x"),
    ],
)  # fmt: skip
def test_fields_of_the_same_name_are_refused(column, values, says, tmp_path):
    table = pa.table({"label": ["a", "b"], column: values})
    with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as file:
        file.write_table(table)
    with pytest.raises(
        CalcliError, match=f"column {column} has more than one field .*{says}; rename all but"
    ):
        read(tmp_path / "t.arrow", ReadOptions())


def test_a_field_named_as_a_column_is_refused(tmp_path):
    probs = struct_of(("a", [0.3, 0.4]), ("b", [0.7, 0.6]))
    pq.write_table(pa.table({"label": ["a", "b"], "probs": probs, "probs.a": [1, 2]}), tmp_path / "t.parquet")
    with pytest.raises(CalcliError, match=r"more than one column named probs\.a; rename all but one"):
        read(tmp_path / "t.parquet", ReadOptions())


@pytest.mark.parametrize("sparse", [False, True])
def test_spark_vectors(sparse, tmp_path):
    probs = THREE.copy()
    if sparse:
        probs[::3] = np.eye(3)[LABELS[::3]]
    rows = [vector(row, sparse and n % 3 == 0) for n, row in enumerate(probs)]
    table = {
        "features": pa.array([vector(row) for row in RNG.normal(size=(N, 4))], VECTOR),
        "label": LABELS.astype(float),
        "rawPrediction": pa.array([vector(row) for row in np.log(THREE)], VECTOR),
        "probability": pa.array(rows, VECTOR),
        "prediction": probs.argmax(axis=1).astype(float),
    }
    path = tmp_path / "part-00000.parquet"
    pq.write_table(pa.table(table), path)
    trip(path, probs, LABELS, "Spark ML vectors", target="" if sparse else "out.parquet")


def test_spark_vectors_as_json(tmp_path):
    rows = [
        {"label": float(k), "probability": {"type": 1, "values": p.tolist()}}
        for k, p in zip(LABELS, THREE, strict=True)
    ]
    trip(lines(tmp_path / "t.jsonl", rows), THREE, LABELS, "Spark ML vectors")


def test_a_sparse_vector_must_fit_its_size(tmp_path):
    rows = [vector(row) for row in THREE]
    rows[7] = {"type": 0, "size": 3, "indices": [0, 3], "values": [0.5, 0.5]}
    pq.write_table(pa.table({"label": LABELS, "probability": pa.array(rows, VECTOR)}), tmp_path / "t.parquet")
    refused(tmp_path / "t.parquet", "row 7 has a sparse vector with other indices than its size allows")


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_lists_of_label_and_score(ending, tmp_path):
    rows = [
        {
            "text": f"text {n}",
            "label": NAMES[LABELS[n]],
            "predictions": [{"label": NAMES[k], "score": THREE[n, k]} for k in ORDER[n]],
        }
        for n in range(N)
    ]
    path = tmp_path / f"t.{ending}"
    lines(path, rows) if ending == "jsonl" else pd.DataFrame(rows).to_parquet(path)
    predictions = trip(path, THREE, LABELS, "classes with their scores")
    assert predictions.classes == ("ant", "bee", "cat")
    assert list(predictions.columns) == ["text"]


def test_bigquery(tmp_path):
    probs = [[{"label": NAMES[k], "prob": THREE[n, k]} for k in ORDER[n]] for n in range(N)]
    predicted = NAMES[ORDER[:, 0]]
    table = {"predicted_species": predicted, "predicted_species_probs": probs, "species": NAMES[LABELS]}
    pq.write_table(pa.table(table), tmp_path / "t.parquet")
    trip(tmp_path / "t.parquet", THREE, LABELS, "classes with their scores")
    table["predicted_species_probs"] = [{"list": [{"element": one} for one in row]} for row in probs]
    pq.write_table(pa.table(table), tmp_path / "u.parquet")
    trip(tmp_path / "u.parquet", THREE, LABELS, "classes with their scores", target="")


def test_vertex(tmp_path):
    rows = [
        {
            "instance": {"width": 1.5, "species": NAMES[LABELS[n]], "label": NAMES[LABELS[n]]},
            "prediction": {"classes": NAMES.tolist(), "scores": THREE[n].tolist()},
        }
        for n in range(N)
    ]
    trip(lines(tmp_path / "t.jsonl", rows), THREE, LABELS, "classes with their scores")


def test_objects_of_scores(tmp_path):
    rows = [
        {"label": NAMES[k], "probs": dict(zip(NAMES.tolist(), p.tolist(), strict=True))}
        for k, p in zip(LABELS, THREE, strict=True)
    ]
    trip(lines(tmp_path / "t.jsonl", rows), THREE, LABELS, "objects of scores")


TEXTS = {
    "a list": lambda row: str(row.tolist()),
    "commas": lambda row: ",".join(map(str, row)),
    "blanks": lambda row: " ".join(map(str, row)),
    "an array": lambda row: str(row),
    "numbers of numpy": lambda row: str(list(row)),
    "a tensor": lambda row: f"tensor({row.tolist()})",
    "an object": lambda row: json.dumps(dict(zip("012", row.tolist(), strict=True))),
    "pairs": lambda row: str([{"label": str(k), "score": row[k]} for k in np.argsort(-row)]),
}


@pytest.mark.parametrize("form", TEXTS)
def test_text_in_cells(form, tmp_path):
    cells = [TEXTS[form](row) for row in THREE]
    pd.DataFrame({"id": range(N), "y_true": LABELS, "y_proba": cells}).to_csv(tmp_path / "t.csv", index=False)
    found = trip(tmp_path / "t.csv", THREE, LABELS, "text in cells", target="out.csv")
    assert "y_proba holds" in found.provenance.notes[0]


def test_a_cell_that_is_not_like_the_others(tmp_path):
    cells = [str(row.tolist()) for row in THREE]
    cells[20] = "[0.1, oops, 0.9]"
    pd.DataFrame({"label": LABELS, "probs": cells}).to_csv(tmp_path / "t.csv", index=False)
    refused(tmp_path / "t.csv", 't.csv: row 20 has "oops" among the scores; expected numbers')
    cells[20] = "[0.1 ... 0.9]"
    pd.DataFrame({"label": LABELS, "probs": cells}).to_csv(tmp_path / "t.csv", index=False)
    refused(tmp_path / "t.csv", "row 20 has scores of which some were left out as they were printed")


def test_ranks_as_text(tmp_path):
    table = {
        "filename": "x.png",
        "index": [str(row) for row in ORDER],
        "prob": [str(THREE[n, ORDER[n]]) for n in range(N)],
        "target": LABELS,
    }
    pd.DataFrame(table).to_csv(tmp_path / "t.csv", index=False)
    np.testing.assert_allclose(scores_of(read(tmp_path / "t.csv")), THREE, atol=1e-7)


def test_one_of_two_classes_as_percent_text(tmp_path):
    cells = [f"{100 * p:.4f}%" for p in TWO[:, 1]]
    labels = (LABELS > 0).astype(int)
    pd.DataFrame({"label": labels, "probability": cells}).to_csv(tmp_path / "t.csv", index=False)
    trip(tmp_path / "t.csv", TWO, labels, "text in cells", target="out.csv")


BIG = "1" + "0" * 400
GOOD = "[{'label': 'a', 'score': 0.4}, {'label': 'b', 'score': 0.6}]"


@pytest.mark.parametrize(
    "cells",
    [
        ["[{'type': 1, 'size': BIG}, {'type': 0, 'size': 2}]"] * 4,
        ["[{'label': 'a', 'score': BIG}, {'label': 'b', 'score': 0.6}]"] * 4,
        ["[{'label': 'a', 'score': 0.4}, {'label': 'b', 'score': 'x'}]"] * 4,
        ["[{'label': 'a', 'score': 0.4}, 3]"] * 4,
        [GOOD] * 3 + [GOOD.replace("0.6", "BIG")],
        ["{'a': 0.4, 'b': BIG}"] * 4,
        ["{'a': 0.4, 'b': 0.6}"] * 3 + ["{'a': 0.4, 'b': BIG}"],
        ['{"a": 0.4, "b\\ud800": 0.6}'] * 4,
        ["{'a': 0.4, 'b': 0.6}"] * 3 + ["{'a': 0.4, 'b\\ud800': 0.6}"],
        [GOOD.replace("'b'", "'\\udfff'")] * 4,
    ],
)
def test_objects_of_no_type_or_with_endless_numbers_are_refused(cells, tmp_path):
    table = pa.table({"label": ["a", "b"] * 2, "probs": [cell.replace("BIG", BIG) for cell in cells]})
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(CalcliError):
        scores_of(read(tmp_path / "t.parquet"))


def test_a_row_without_its_object_has_no_scores(tmp_path):
    """The values below an object that is missing are there all the same."""
    missing = np.arange(N) == 7
    objects = pa.StructArray.from_arrays(list(THREE.T), names=["a", "b", "c"], mask=pa.array(missing))
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"label": [NAMES[k][0] for k in LABELS], "probs": objects}), path)
    refused(path, 'row 7: the score of class "a" is missing')
    np.testing.assert_array_equal(scores_of(read(path, ReadOptions(drop_missing=True))), THREE[~missing])


def test_escapes_of_whole_characters_are_names(tmp_path):
    cells = [r'{"a": 0.4, "\ud83d\ude00": 0.6}', r'{"a": 0.8, "\ud83d\ude00": 0.2}']
    pq.write_table(pa.table({"label": ["a", "\U0001f600"], "probs": cells}), tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet").classes == ("a", "\U0001f600")


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize(
    ("labels", "scores", "told"),
    [
        ([["a", "b"]] * 4, [["0.4", "0.6"], ["0.4", ""], ["?", "0.6"], ["0.4", "x"]], "string in p.score"),
        ([["a", "b"]] * 4, [[datetime.date(2024, 1, 1)] * 2] * 4, "date32[day] in p.score"),
        ([[b"a", b"b"]] * 3 + [[b"a", b"\xff"]], [[0.4, 0.6]] * 4, "binary in p.label"),
    ],
)
def test_pairs_of_what_is_no_number_or_no_text_are_refused(labels, scores, told, beside, tmp_path):
    pairs = [
        {"label": names, "score": values}
        if beside
        else [{"label": name, "score": value} for name, value in zip(names, values, strict=True)]
        for names, values in zip(labels, scores, strict=True)
    ]
    pq.write_table(pa.table({"label": ["a", "b"] * 2, "p": pairs}), tmp_path / "t.parquet")
    refused(tmp_path / "t.parquet", rf"row \d has {re.escape(told)} that is not (a number|text)")


@pytest.mark.parametrize("hidden", [["9", "x"], [9.0, 8.0]])
def test_what_stands_below_a_missing_list_of_pairs_does_not_count(hidden, tmp_path):
    """Neither for the rows after it, nor for what is said of it."""
    seen = [type(hidden[0])(value) for value in (0.4, 0.6)]
    flat = pa.array(seen * 2 + hidden + seen)
    missing = pa.array([False, False, True, False])
    scores = pa.ListArray.from_arrays(pa.array([0, 2, 4, 6, 8], pa.int32()), flat, mask=missing)
    names = pa.array([["a", "b"]] * 4)
    pairs = pa.StructArray.from_arrays([names, scores], ["labels", "scores"])
    table = pa.table({"label": ["a", "b"] * 2, "p": pairs})
    with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as file:
        file.write_table(table)
    refused(tmp_path / "t.arrow", "row 2 has 0 scores in p.scores; expected 2")


def test_scores_of_pairs_may_be_any_number(tmp_path):
    """Those that no double holds exactly are rounded."""
    pairs = [[{"label": "a", "score": 2**60 + 1}, {"label": "b", "score": 3}]] * 4
    pq.write_table(pa.table({"label": ["a", "b"] * 2, "p": pairs}), tmp_path / "t.parquet")
    scores = scores_of(read(tmp_path / "t.parquet", ReadOptions(kind="logits")))
    np.testing.assert_array_equal(scores, [[2.0**60, 3]] * 4)


@pytest.mark.parametrize(
    ("part", "values", "message"),
    [
        ("values", [["0.5", "b"]] * 4, "no score columns"),
        ("values", [[datetime.date(2024, 1, 1)] * 2] * 4, "no score columns"),
        ("indices", [["0", "1"]] * 4, "no score columns"),
        ("size", ["2"] * 4, "no score columns"),
        ("size", [2_000_000_000] * 4, "a sparse vector of 2,000,000,000 values; expected 1,000,000 at most"),
        ("size", [None] * 4, "other indices than its size allows"),
        ("indices", [None] * 4, "other indices than its size allows"),
        ("values", [[0.5, None]] * 4, "missing"),
    ],
)
def test_sparse_vectors_of_other_types_or_sizes_are_refused(part, values, message, tmp_path):
    stored = {"type": [0] * 4, "size": [2] * 4, "indices": [[0, 1]] * 4, "values": [[0.5, 0.5]] * 4}
    rows = [
        dict(zip(stored, row, strict=True)) for row in zip(*(stored | {part: values}).values(), strict=True)
    ]
    pq.write_table(pa.table({"label": [0, 1] * 2, "probability": rows}), tmp_path / "t.parquet")
    refused(tmp_path / "t.parquet", message)


def test_a_sparse_vector_needs_its_parts(tmp_path):
    rows = [{"label": 0, "probability": {"type": 0, "values": [0.5, 0.5]}}] * 4
    refused(lines(tmp_path / "t.jsonl", rows), "other indices than its size allows")


PART = [{"label": "a", "probs": {"a": 0.9, "b": 0.1}}, {"label": "b", "probs": {"a": 0.2, "b": 0.8}}]


def as_pairs(row):
    return {"label": row["label"], "probs": [{"label": k, "score": p} for k, p in row["probs"].items()]}


def turned(value):
    """Return the same with the fields of every object in the other order."""
    if isinstance(value, list):
        return [turned(one) for one in value]
    return {k: turned(value[k]) for k in reversed(value)} if isinstance(value, dict) else value


@pytest.mark.parametrize("form", ["parquet", "large lists", "jsonl"])
@pytest.mark.parametrize("rows", [PART, [as_pairs(row) for row in PART]])
def test_fields_of_parts_are_found_by_name(rows, form, tmp_path):
    for name, part in (("0", rows), ("1", [turned(row) | {"note": {"x": 1}} for row in rows])):
        part = [{"note": None} | row for row in part]
        table = pa.Table.from_pylist(part)
        if form == "jsonl":
            lines(tmp_path / f"{name}.jsonl", part)
            continue
        kind = table.schema.field("probs").type
        if form == "large lists" and pa.types.is_list(kind):
            kind = pa.large_list(kind.value_type)
        column = table.schema.get_field_index("probs")
        table = table.set_column(column, "probs", table["probs"].cast(kind))
        pq.write_table(table, tmp_path / f"{name}.parquet")
    found = read(tmp_path, ReadOptions(concat=True))
    np.testing.assert_allclose(scores_of(found), [[0.9, 0.1], [0.2, 0.8]] * 2)
    assert found.classes == ("a", "b")


def test_objects_that_differ_from_part_to_part_are_read_as_in_one_file(tmp_path):
    first, second = tmp_path / "parts" / "0.jsonl", tmp_path / "parts" / "1.jsonl"
    first.parent.mkdir()
    rows = [{"label": "a", "probs": {"a": 0.9}}, {"label": "b", "probs": {"a": 0.2, "b": 0.8}}]
    lines(first, rows[:1])
    lines(second, rows[1:])
    said = []
    for path in (lines(tmp_path / "one.jsonl", rows), first.parent):
        with pytest.raises(CalcliError) as caught:
            scores_of(read(path, ReadOptions(concat=True)))
        said.append(str(caught.value))
    assert all('row 0: the score of class "b" is missing' in text for text in said), said


@pytest.mark.parametrize("form", ["pairs", "lists"])
def test_what_stands_below_a_missing_struct_is_missing(form, tmp_path):
    labels, scores = pa.array(["a", "b"] * 3), pa.array([0.2, 0.8] * 3)
    gone = pa.array([False, False, False, True, False, False])
    offsets = pa.array([0, 2, 4, 6], pa.int32())
    if form == "pairs":
        structs = pa.StructArray.from_arrays([labels, scores], ["label", "score"], mask=gone)
        values = pa.ListArray.from_arrays(offsets, structs)
    else:
        lists = [pa.ListArray.from_arrays(offsets, part) for part in (labels, scores)]
        values = pa.StructArray.from_arrays(lists, ["labels", "scores"], mask=pa.array([False, True, False]))
    assert values.null_count + (form == "pairs")
    table = pa.table({"label": ["a", "b", "b"], "predictions": values})
    with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as file:
        file.write_table(table)
    refused(tmp_path / "t.arrow", "row 1\\b|cannot be read as predictions")
