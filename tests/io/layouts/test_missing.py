"""Rows of arrays in which a score or a label is missing: refused, or left out and counted."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import calcli
from calcli.io.options import ReadOptions
from calcli.io.read import read, read_concat
from calcli.report.files import sha256
from tests.io.layouts.trips import LABELS, NAMES, THREE, N
from tests.io.samples import refused, scores_of, to_parquet

GONE = [3, 17, 40]
KEPT = np.delete(np.arange(N), GONE)
SCORES = THREE.copy()
SCORES[[3, 17], [0, 2]] = np.nan
DROP = ReadOptions(drop_missing=True)
NOTE = f"3 of {N} rows, in which something is missing, were left out, as asked"


def with_missing(values):
    """Return labels of which that of row 40 is missing."""
    if values.dtype.kind == "U":
        return np.where(np.arange(N) == 40, "", values)
    return np.where(np.arange(N) == 40, np.nan, values)


def saved(folder, scores, labels, form):
    path = folder / f"t.{form}"
    if form == "npz":
        np.savez(path, probs=scores, labels=labels, id=np.arange(N))
    else:
        np.save(path, scores)
        np.save(folder / "t_labels.npy", labels)
    return path


@pytest.mark.parametrize("form", ["npz", "npy"])
def test_arrays_without_the_rows_in_which_something_is_missing(form, tmp_path):
    path = saved(tmp_path, SCORES, with_missing(LABELS), form)
    found = read(path, DROP)
    np.testing.assert_array_equal(scores_of(found), THREE[KEPT])
    np.testing.assert_array_equal(found.labels, LABELS[KEPT])
    assert NOTE in found.provenance.notes
    if form == "npz":
        np.testing.assert_array_equal(found.columns["id"], KEPT)
    refused(path, "row 40 has no label .*--drop-missing")
    refused(saved(tmp_path, SCORES, LABELS, form), "row 3: .* is missing .*--drop-missing")


def test_labels_as_text_or_elsewhere(tmp_path):
    np.savez(tmp_path / "t.npz", probs=SCORES, labels=with_missing(NAMES[LABELS]), classes=NAMES)
    np.testing.assert_array_equal(read(tmp_path / "t.npz", DROP).labels, LABELS[KEPT])
    np.save(tmp_path / "t.npy", SCORES)
    np.save(tmp_path / "mine.npy", with_missing(LABELS))
    options = ReadOptions(drop_missing=True, labels=str(tmp_path / "mine.npy"))
    np.testing.assert_array_equal(read(tmp_path / "t.npy", options).labels, LABELS[KEPT])


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("named", [False, True])
def test_labels_beside_a_table(named, packed, tmp_path):
    columns = {"probs": SCORES.tolist()} if packed else {f"prob_{k}": SCORES[:, k] for k in range(3)}
    pd.DataFrame(columns | {"id": np.arange(N)}).to_parquet(tmp_path / "t.parquet")
    np.save(tmp_path / "y.npy", with_missing(NAMES[LABELS] if named else LABELS))
    options = ReadOptions(
        drop_missing=True, labels=str(tmp_path / "y.npy"), classes=tuple(NAMES) if named else None
    )
    found = read(tmp_path / "t.parquet", options)
    np.testing.assert_array_equal(scores_of(found), THREE[KEPT])
    np.testing.assert_array_equal(found.labels, LABELS[KEPT])
    np.testing.assert_array_equal(found.columns["id"], KEPT)
    assert NOTE in found.provenance.notes


@pytest.mark.parametrize("missing", [None, [], [0.1, None, 0.2], [0.1, float("nan"), 0.2]])
@pytest.mark.parametrize("kind", [pa.list_(pa.float64()), pa.large_list(pa.float64())])
def test_lists_of_scores(missing, kind, tmp_path):
    lists = [missing if row == 7 else values for row, values in enumerate(THREE.tolist())]
    pq.write_table(pa.table({"probs": pa.array(lists, kind), "label": LABELS}), tmp_path / "t.parquet")
    kept = np.delete(np.arange(N), 7)
    found = read(tmp_path / "t.parquet", DROP)
    np.testing.assert_array_equal(scores_of(found), THREE[kept])
    np.testing.assert_array_equal(found.labels, LABELS[kept])


def test_missing_lists_with_values_below_them(tmp_path):
    offsets = pa.array(np.arange(0, THREE.size + 1, 3, dtype=np.int32))
    scores = THREE.copy()
    scores[11, 1] = np.nan
    lists = pa.ListArray.from_arrays(offsets, pa.array(scores.ravel()), mask=pa.array(np.arange(N) == 7))
    table = pa.table({"probs": lists, "label": LABELS})
    with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as file:
        file.write_table(table)
    kept = np.delete(np.arange(N), [7, 11])
    found = read(tmp_path / "t.arrow", DROP)
    np.testing.assert_array_equal(scores_of(found), THREE[kept])
    np.testing.assert_array_equal(found.labels, LABELS[kept])


def test_missing_lists_of_one_length_and_of_any(tmp_path):
    lists = [None if row == 7 else values for row, values in enumerate(THREE.tolist())]
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for path, kind in zip(paths, (pa.list_(pa.float64(), 3), pa.list_(pa.float64())), strict=True):
        to_parquet(pa.table({"probs": pa.array(lists, kind), "label": LABELS}), path)
    kept = np.delete(np.arange(N), 7)
    for given in (paths, paths[::-1]):
        found = read_concat(given, DROP)
        np.testing.assert_array_equal(scores_of(found), THREE[[*kept, *kept]])
        np.testing.assert_array_equal(found.labels, LABELS[[*kept, *kept]])


def test_files_that_are_joined(tmp_path):
    paths = [tmp_path / "a.npz", tmp_path / "b.npz"]
    np.savez(paths[0], probs=THREE, labels=LABELS)
    np.savez(paths[1], probs=SCORES, labels=with_missing(LABELS))
    np.testing.assert_array_equal(read_concat(paths, DROP).labels, [*LABELS, *LABELS[KEPT]])


def test_rows_to_be_ignored_besides(tmp_path):
    labels = with_missing(LABELS)
    labels[5] = -100
    path = saved(tmp_path, SCORES, labels, "npz")
    found = read(path, ReadOptions(drop_missing=True, ignore_label=("-100",)))
    assert found.columns["id"].tolist() == [n for n in KEPT if n != 5]


def test_nothing_is_left(tmp_path):
    empty = saved(tmp_path, THREE * np.nan, LABELS, "npz")
    refused(empty, "holds no labels for|cannot be read as predictions", drop_missing=True)
    refused(saved(tmp_path, THREE, LABELS * np.nan, "npz"), "holds no labels for|no label", drop_missing=True)


def test_answers_in_arrays(tmp_path):
    confidence, right = SCORES[:, 0].copy(), with_missing((LABELS == 0).astype(float))
    np.savez(tmp_path / "t.npz", confidence=confidence, correct=right, id=np.arange(N))
    refused(tmp_path / "t.npz", "missing in 1 of 60 rows, .* leave them out with --drop-missing")
    found = read(tmp_path / "t.npz", DROP)
    kept = np.flatnonzero(~np.isnan(confidence) & ~np.isnan(right))
    np.testing.assert_array_equal(found.columns["id"], kept)
    np.testing.assert_array_equal(found.labels, LABELS[kept] == 0)
    np.testing.assert_array_equal(scores_of(found)[:, 1], confidence[kept])


ODD = np.array(["none", "nan", "null"])


@pytest.mark.parametrize("form", ["csv", "parquet", "npz", "npy", "objects"])
def test_classes_with_names_that_look_missing_are_not(form, tmp_path):
    rows = np.arange(N) != 40
    labels, path = with_missing(ODD[LABELS]), tmp_path / f"t.{form.replace('objects', 'jsonl')}"
    columns = {f"prob_{name}": np.ascontiguousarray(one) for name, one in zip(ODD, THREE.T, strict=True)}
    table, options = pa.table({"label": labels, **columns}), DROP
    if form == "csv":
        table.to_pandas().to_csv(path, index=False)
    elif form == "parquet":
        pq.write_table(table, path)
    elif form == "npz":
        np.savez(path, probs=THREE, labels=labels, classes=ODD)
    elif form == "npy":
        np.save(path, THREE)
        np.save(tmp_path / "y.npy", labels)
        options = ReadOptions(drop_missing=True, classes=tuple(ODD), labels=str(tmp_path / "y.npy"))
    else:
        lines = [
            json.dumps({"label": label, "probs": dict(zip(ODD.tolist(), row, strict=True))})
            for label, row in zip(labels.tolist(), THREE.tolist(), strict=True)
        ]
        path.write_text("\n".join(lines))
    found = read(path, options)
    assert found.classes == tuple(ODD)
    np.testing.assert_array_equal(found.labels, LABELS[rows])
    np.testing.assert_array_equal(scores_of(found), THREE[rows])


@pytest.mark.parametrize("options", [{"positive": "none"}, {"classes": ("some", "none")}])
def test_a_single_score_of_a_class_that_looks_missing(options, tmp_path):
    labels = with_missing(np.where(LABELS == 0, "none", "some"))
    pq.write_table(pa.table({"label": labels, "prob": THREE[:, 0]}), tmp_path / "t.parquet")
    found = read(tmp_path / "t.parquet", ReadOptions(drop_missing=True, **options))
    np.testing.assert_array_equal(found.labels, LABELS[np.arange(N) != 40] == 0)


def test_ranked_scores_of_classes_that_look_missing(tmp_path):
    labels, order = with_missing(ODD[LABELS]), np.argsort(-THREE, axis=1)
    sorted_scores = np.take_along_axis(THREE, order, axis=1)
    columns = {f"prob_{k}": np.ascontiguousarray(sorted_scores[:, k]) for k in range(3)}
    columns |= {f"label_{k}": ODD[order[:, k]] for k in range(3)}
    pq.write_table(pa.table({"label": labels, **columns}), tmp_path / "t.parquet")
    found = read(tmp_path / "t.parquet", DROP)
    rows = np.arange(N) != 40
    assert [found.classes[k] for k in found.labels] == ODD[LABELS[rows]].tolist()
    np.testing.assert_array_equal(
        scores_of(found)[:, np.argsort(found.classes)], THREE[rows][:, np.argsort(ODD)]
    )


@pytest.mark.parametrize("limit", [None, 10])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_rows_left_out_for_two_reasons(form, limit, tmp_path):
    labels = np.where(np.arange(N) == 5, -100.0, np.where(np.arange(N) == 3, np.nan, LABELS))
    table = pd.DataFrame({f"prob_{name}": THREE[:, k] for k, name in enumerate(NAMES[:3])})
    path = tmp_path / f"t.{form}"
    table.to_csv(path, index=False) if form == "csv" else table.to_parquet(path, row_group_size=20)
    np.save(tmp_path / "l.npy", labels)
    found = read(
        path,
        ReadOptions(labels=str(tmp_path / "l.npy"), drop_missing=True, ignore_label=("-100",), limit=limit),
    )
    kept = np.delete(np.arange(N), [3, 5])[:limit]
    np.testing.assert_allclose(scores_of(found), THREE[kept], atol=1e-15)
    np.testing.assert_array_equal(found.labels, LABELS[kept])


def test_a_row_without_scores_is_told(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"label": 0, "probs": [0.5, 0.5]}\n{"label": 1, "probs": null}\n')
    refused(path, "row 1 has 0 scores in probs; expected 2, .* leave such rows out with --drop-missing")
    assert len(scores_of(read(path, DROP))) == 1


def test_small_scores_left_out_of_objects_are_not_to_be_dropped(tmp_path):
    path = tmp_path / "t.jsonl"
    rows = ['{"cat": 0.5, "dog": 0.3, "emu": 0.2}', '{"cat": 0.9, "dog": 0.1}', "null"]
    path.write_text("".join(f'{{"label": "cat", "probs": {row}}}\n' for row in rows))
    said = refused(path, 'row 1: .* "emu" is missing .* only the largest .* save the scores of all classes')
    assert "--drop-missing" not in said
    path.write_text("".join(f'{{"label": "cat", "probs": {row}}}\n' for row in rows[::2]))
    refused(path, "row 1: .* is missing .* leave such rows out with --drop-missing")


@pytest.mark.parametrize("form", ["csv", "parquet", "npz"])
def test_parts_of_which_rows_are_left_out_are_still_files(form, tmp_path):
    (tmp_path / "parts").mkdir()
    for part in range(3):
        rows = slice(20 * part, 20 * part + 20)
        if form == "npz":
            path = tmp_path / f"parts/{part}.npz"
            np.savez(path, probs=SCORES[rows], labels=with_missing(LABELS)[rows])
            continue
        table = pd.DataFrame(SCORES[rows], columns=[f"prob_{k}" for k in range(3)])
        table["label"] = with_missing(LABELS)[rows]
        path = tmp_path / f"parts/{part}.{form}"
        table.to_csv(path, index=False) if form == "csv" else table.to_parquet(path)
    files = [str(tmp_path / f"parts/{part}.{form}") for part in range(3)]
    found = read_concat(files, DROP)
    assert list(found.provenance.files) == files
    kept = np.delete(np.arange(60), GONE)
    np.testing.assert_allclose(scores_of(found), THREE[kept], atol=1e-15)
    report = calcli.evaluate(tmp_path / "parts", metrics=["brier"], draws=0, drop_missing=True).to_dict()
    assert report["results"][0]["input"]["sha256"] == sha256(files)
    assert report["results"][0]["input"]["rows"] == 57


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_without_a_vector_of_spark_are_left_out(tmp_path, sparse):
    kind = pa.struct(
        [
            ("type", pa.int8()),
            ("size", pa.int32()),
            ("indices", pa.list_(pa.int32())),
            ("values", pa.list_(pa.float64())),
        ]
    )
    dense = [{"type": 1, "size": None, "indices": None, "values": row} for row in THREE.tolist()]
    if sparse:
        dense[5] = {"type": 0, "size": 3, "indices": [1], "values": [1.0]}
    expected = np.where((np.arange(N) == 5)[:, None] & sparse, [0.0, 1.0, 0.0], THREE)
    vectors = [None if n in GONE else one for n, one in enumerate(dense)]
    table = pa.table({"label": LABELS, "probability": pa.array(vectors, kind), "id": np.arange(N)})
    pq.write_table(table, tmp_path / "spark.parquet", row_group_size=11)
    refused(tmp_path / "spark.parquet", "row 3 ")
    found = read(tmp_path / "spark.parquet", DROP)
    np.testing.assert_array_equal(scores_of(found), expected[KEPT])
    np.testing.assert_array_equal(found.labels[:], LABELS[KEPT])
    assert NOTE in found.provenance.notes


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("values", [LABELS.astype(float), NAMES[LABELS].astype(object)])
def test_labels_missing_behind_the_rows_that_are_read_are_no_matter(tmp_path, values, ending):
    path, values = tmp_path / f"x.{ending}", values.copy()
    values[[30, N - 1]] = None
    frame = pd.DataFrame({"label": values} | {f"prob_{name}": THREE[:, k] for k, name in enumerate(NAMES)})
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path, index=False)
    found = read(path, ReadOptions(limit=30))
    np.testing.assert_array_equal(found.labels[:], LABELS[:30])
    np.testing.assert_array_equal(scores_of(found), THREE[:30])
    assert "behind the first 30 rows 2 without a label were passed over" in found.provenance.notes
    refused(path, "row 30 ", limit=31)
    refused(path, "row 30 ")


def test_a_class_called_none_is_no_missing_label(tmp_path):
    path = tmp_path / "x.csv"
    lines = [f"{label},0.25,0.75" for label in ("none", "a", "a", "none", "")]
    path.write_text("\n".join(["label,prob_a,prob_none", *lines]) + "\n")
    found = read(path, ReadOptions(limit=2))
    assert found.labels[:].tolist() == [1, 0]
    assert "only the first 2 of 4 rows were read, as asked" in found.provenance.notes


@pytest.mark.parametrize("word", ["NA", "n/a", "#N/A"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_words_for_what_is_not_available_are_missing_labels_beside_classes(word, ending, tmp_path):
    path = tmp_path / f"x.{ending}"
    said = pd.Series(np.where(np.arange(N) == 3, word, NAMES[LABELS]))
    frame = pd.DataFrame({"label": said} | {f"prob_{name}": THREE[:, k] for k, name in enumerate(NAMES)})
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path, index=False)
    quoted = f"'{word}'" if "#" in word else word
    refused(
        path, rf'row 3 has the label "{word}", .* looks like a missing one; .* --ignore-label {quoted} or'
    )
    for options in (DROP, ReadOptions(ignore_label=(word,))):
        found = read(path, options)
        np.testing.assert_array_equal(found.labels[:], np.delete(LABELS, 3))
        np.testing.assert_array_equal(scores_of(found), np.delete(THREE, 3, axis=0))


def test_a_class_called_na_is_no_missing_label(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("label,prob_EU,prob_NA\nNA,0.25,0.75\nEU,0.5,0.5\nN/A,0.5,0.5\n")
    assert read(path, DROP).labels[:].tolist() == [1, 0]
    path.write_text("label,prob_EU\nNA,0.25\nEU,0.5\n")
    assert read(path, DROP).classes == ("NA", "EU")
    path.write_text("label,prob_EU\nNA,0.25\nEU,0.5\nUS,0.5\n")
    refused(path, r"2 other labels \(NA, US\); .* NA looks like a missing label: .* --ignore-label NA$")
    assert read(path, ReadOptions(ignore_label=("NA",))).classes == ("US", "EU")


def test_answers_behind_the_rows_that_are_read_may_be_missing(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("confidence,correct\n0.5,1\n0.7,0\n0.25,1\n0.5,\n")
    assert read(path, ReadOptions(limit=3)).labels[:].tolist() == [1, 0, 1]
    refused(path, "missing in 1 of 4 rows", limit=4)
