"""What hostile cases found, each mended where it began."""

from __future__ import annotations

import io
import json
import math
import zipfile

import numpy as np
import pyarrow as pa
import pytest

from calcli.core.calibrators.record import CalibratorRecord
from calcli.core.calibrators.temperature import Temperature
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.settings import Settings
from calcli.io.handed import from_arrays
from calcli.io.options import ReadOptions
from calcli.io.places.heads import held_array
from calcli.io.read import read
from calcli.io.saved.calibrators import load_calibrator, save_calibrator
from calcli.io.saved.settings import read_costs, read_priors, weights_of
from tests.io.samples import parquet_file, refused, scores_of

HARNESS = {
    "target": 0,
    "resps": [[["-1.5", "False"]], [["-0.5", "False"]]],
    "arguments": [["q", " a"], ["q", " b"]],
}


def npy(array) -> bytes:
    with io.BytesIO() as file:
        np.save(file, array)
        return file.getvalue()


@pytest.mark.parametrize(
    "change", [(b"}", b"("), (b"'shape'", b"'chape'"), (b"(3, 4)", b"(3*3,)"), (b"4)", b"9)")]
)
def test_arrays_whose_heads_promise_something_else(change):
    whole = npy(np.zeros((3, 4)))
    np.testing.assert_array_equal(held_array(whole, "x"), np.zeros((3, 4)))
    with pytest.raises(InputError, match=r"x(: the head of this .npy file| is truncated or damaged)"):
        held_array(whole.replace(*change, 1), "x")


def test_a_calibrator_with_the_head_of_an_array_that_goes_on(tmp_path):
    calibrator = Temperature()
    calibrator.parameters = {"temperature": 2.0}
    save_calibrator(CalibratorRecord(calibrator, ("0", "1"), False, (), {}), tmp_path / "c.npz")
    with zipfile.ZipFile(tmp_path / "c.npz") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(tmp_path / "d.npz", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content.replace(b"}", b"(", 1) if name == "temperature.npy" else content)
    with pytest.raises(
        InputError, match=r"d.npz: the array temperature: the head of this .npy file is damaged"
    ):
        load_calibrator(tmp_path / "d.npz")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"resps": [[', "line 2 is not complete and valid JSON"),
        ("[3]", "line 2 is no JSON object"),
    ],
)
def test_samples_of_the_harness_on_broken_lines(line, message, tmp_path):
    (tmp_path / "t.jsonl").write_text(f"{json.dumps(HARNESS)}\n{line}\n")
    refused(tmp_path / "t.jsonl", message)


@pytest.mark.parametrize("change", [{"arguments": 5}, {"arguments": {"a": 3}}, {"id": 10**400}, {"id": True}])
def test_samples_of_the_harness_with_odd_fields(change, tmp_path):
    lines = [json.dumps({"id": 1, **HARNESS}), json.dumps(HARNESS | change)]
    (tmp_path / "t.jsonl").write_text("\n".join(lines) + "\n")
    scores = scores_of(read(tmp_path / "t.jsonl"))
    np.testing.assert_allclose(np.exp(scores), [[1 / (1 + np.e), np.e / (1 + np.e)]] * 2)


def test_samples_without_log_likelihoods(tmp_path):
    (tmp_path / "t.jsonl").write_text(json.dumps(HARNESS | {"resps": 5}) + "\n")
    refused(tmp_path / "t.jsonl", "t.jsonl")


def test_text_that_no_encoding_has_in_json(tmp_path):
    (tmp_path / "t.json").write_text('[{"label": "\\ud800", "prob_a": 0.5, "prob_b": 0.5}]')
    refused(tmp_path / "t.json", "t.json is not a complete and valid JSON file: .*surrogates")


@pytest.mark.parametrize("names", [(".x", ".", "a.b"), ("[0]", "*", "prob")])
def test_objects_of_scores_with_names_that_are_paths(names, tmp_path):
    probs = np.random.default_rng(3).dirichlet(np.ones(3), size=8)
    rows = [dict(zip(names, row.tolist(), strict=True)) for row in probs]
    kind = pa.struct([(name, pa.float64()) for name in names])
    labels = [names[n] for n in probs.argmax(axis=1)]
    found = read(parquet_file(tmp_path, label=labels, probs=pa.array(rows, kind)))
    np.testing.assert_array_equal(scores_of(found), probs)
    np.testing.assert_array_equal(found.labels, probs.argmax(axis=1))


def test_side_files_with_numbers_beyond_all_doubles(tmp_path):
    (tmp_path / "p.json").write_text(json.dumps({"a": 10**400, "b": 0.5}))
    (tmp_path / "c.json").write_text(json.dumps({"a": {"a": 0, "b": 10**400}, "b": {"a": 1, "b": 0}}))
    with pytest.raises(InputError, match=r"p.json: a is 10+; expected a finite number"):
        read_priors(str(tmp_path / "p.json"))
    with pytest.raises(InputError, match=r"c.json: a / b is 10+; expected a finite number"):
        read_costs((str(tmp_path / "c.json"),))
    with pytest.raises(InputError, match="mine: entry 1 is"):
        weights_of([(0, 10**400)], "mine")


@pytest.mark.parametrize("order", "<>")
def test_text_with_numbers_that_are_no_letters(order, tmp_path):
    names = np.array(["cat", "dog"] * 4, f"{order}U3")
    names.view(f"{order}u4")[4] = 0x110000
    probs = np.full((8, 2), 0.5)
    np.save(tmp_path / "t.npy", probs)
    np.save(tmp_path / "t_labels.npy", names)
    refused(tmp_path / "t.npy", r"t_labels.npy is truncated or damaged; copy it again")
    np.savez(tmp_path / "t.npz", scores=probs, labels=names)
    refused(tmp_path / "t.npz", r"t.npz is truncated or damaged; copy it again")
    with pytest.raises(InputError, match="x: its text is damaged"):
        held_array(npy(names), "x")


def test_answers_without_rows(tmp_path):
    refused(
        parquet_file(tmp_path, confidence=pa.array([], pa.float64()), correct=pa.array([], pa.bool_())),
        "has no rows",
    )
    (tmp_path / "t.csv").write_text("confidence,grade\n")
    refused(tmp_path / "t.csv", "t.csv")


def test_ranks_without_scores(tmp_path):
    (tmp_path / "t.jsonl").write_text(
        '{"label": 1, "indices": [1, 0, 2]}\n{"label": 0, "indices": [2, 1, 0]}\n'
    )
    refused(tmp_path / "t.jsonl", "t.jsonl has no score columns")


def test_text_of_numbers_with_blanks_among_them(tmp_path):
    texts = [f"[{p:g}, {1 - p:g}]" for p in np.linspace(0, 1, 17)]
    refused(
        parquet_file(tmp_path, label=[0] * 18, probs=[*texts, "[0.5,, \x7f]"]),
        'row 17 has "\x7f" among the scores',
    )
    found = read(parquet_file(tmp_path, label=[0] * 18, probs=[*texts, "[0.5,, 0.5]"]))
    np.testing.assert_array_equal(scores_of(found)[-2:], [[1, 0], [0.5, 0.5]])


@pytest.mark.parametrize("other", ["0.5", "[0.5, 0.5]", '{"a": "x", "b": 1}'])
def test_objects_of_scores_beside_text_of_another_kind(other, tmp_path):
    texts = [*['{"a": 0.4, "b": 0.6}'] * 20, other]
    refused(parquet_file(tmp_path, scores=texts, label=["a", "b", "a"] * 7), "row 20 has")


def test_logits_of_masked_classes_that_are_right_have_losses_without_interval(tmp_path):
    logits = np.random.default_rng(0).normal(size=(60, 3))
    logits[:4, 1] = -1e210
    predictions = from_arrays(logits, np.where(np.arange(60) < 2, 1, 0))
    with np.errstate(all="ignore"):  # as on the command line
        loss = evaluate(predictions, Settings(("log_loss",))).estimates["log_loss"]
    assert loss.value == pytest.approx(2e210 / 60)
    assert (loss.interval, loss.no_interval) == (None, "no row tells how much it varies; an interval needs 5")


@pytest.mark.parametrize("scores", [b'{"p\xb0": 0.5, "b": 0.5}', b'[{"label\xb0": "a", "score": 0.5}]'])
def test_names_within_fields_of_json_lines_that_are_not_utf_8(scores, tmp_path):
    (tmp_path / "t.jsonl").write_bytes(b'{"label": "b", "scores": ' + scores + b"}\n")
    refused(tmp_path / "t.jsonl", "t.jsonl is not a complete and valid file of JSON lines: 'utf-8' codec")


@pytest.mark.parametrize(
    "prediction",
    [
        {"classes": ["0", "1"], "scores": [[0.5], [0.5]]},
        [{"label": "0", "score": [0.5]}, {"label": "1", "score": [0.5]}],
    ],
)
def test_pairs_of_classes_and_lists(prediction, tmp_path):
    (tmp_path / "t.json").write_text(json.dumps([{"label": "0", "prediction": prediction}] * 3))
    refused(tmp_path / "t.json", "t.json")


def test_ranks_of_text_beside_numbers(tmp_path):
    (tmp_path / "t.csv").write_text("y,prob_0,prob_1,index_0,index_1\n0,0.7,0.3,0,1\n1,0.6,0.4,1,x\n")
    refused(tmp_path / "t.csv", "index_0, index_1 may name the class of each score")


@pytest.mark.parametrize("ranks", ["a,b"])
def test_ranks_of_one_score(ranks, tmp_path):
    lines = [f"{rank},0.9,{rank}" for rank in ranks.split(",")]
    (tmp_path / "t.csv").write_text("\n".join(["y,prob_0,index_0", *lines]) + "\n")
    refused(tmp_path / "t.csv", "nothing says whether prob_0 is of b")


def test_addresses_with_nul():
    refused("file:///tmp/%00", "file:///tmp/%00: no file has a NUL in its name")


def test_headings_of_several_lines_in_other_encodings(tmp_path):
    (tmp_path / "t.csv").write_bytes(b'label,"prob\n_a","prob_\xe9"\na,0.5,0.5\n')
    refused(tmp_path / "t.csv", "the line of headings is not text in UTF-8")


@pytest.mark.parametrize("indices", [[0.5], [None], None, [2], [math.nan]])
def test_sparse_vectors_with_indices_that_are_none(indices, tmp_path):
    rows = [{"type": 0, "size": 2, "indices": one, "values": [1.0]} for one in ([1], indices)]
    whole = {"type": 1, "size": None, "indices": None, "values": [0.25, 0.75]}
    found = read(vectors_file(tmp_path, [rows[0], whole]))
    np.testing.assert_array_equal(scores_of(found), [[0, 1], [0.25, 0.75]])
    refused(vectors_file(tmp_path, rows), "row 1 has a sparse vector with other indices than its size allows")


def vectors_file(folder, rows):
    fields = {
        "type": pa.int8(),
        "size": pa.int32(),
        "indices": pa.list_(pa.float64()),
        "values": pa.list_(pa.float64()),
    }
    return parquet_file(folder, label=[0, 1], probability=pa.array(rows, pa.struct(list(fields.items()))))


def test_confidences_that_are_text(tmp_path):
    rows = [{"certainty": "1.0", "is_correct": right} for right in ("correct", "incorrect")]
    (tmp_path / "t.json").write_text(json.dumps(rows))
    refused(tmp_path / "t.json", "holds no labels for certainty", confidence="is_correct")


def test_shapes_that_are_flags(tmp_path):
    head = b"{'descr': '<U3', 'fortran_order': True, 'shape': (True, 3), }"
    with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
        archive.writestr("scores.npy", npy(np.full((3, 2), 0.5)))
        archive.writestr(
            "labels.npy", b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + bytes(36)
        )
    refused(tmp_path / "t.npz", "the array labels: the head of this .npy file is damaged")


def test_text_for_scores_in_a_file_without_rows(tmp_path):
    path = parquet_file(tmp_path, label=pa.array([], pa.string()), prob=pa.array([], pa.string()))
    refused(path, "t.parquet", scores="prob", drop_missing=True)


@pytest.mark.parametrize("score", ["9223372036854775807", '"high"', "[0.5]"])
def test_objects_in_text_that_are_unlike_the_first(score, tmp_path):
    cells = [f'[{{"label": "a", "score": {one}}}, {{"label": "b", "score": 0.5}}]' for one in ("0.5", score)]
    lines = ["target\tpredictions", *(f"a\t{json.dumps(cell)[1:-1]}" for cell in cells)]
    path = tmp_path / "t.tsv"
    path.write_text("\n".join(lines).replace('\\"', '"'))
    refused(path, "row 1")


def test_digits_of_other_scripts_are_no_numbers(tmp_path):
    lines = ["label,probs", '0,"[0.5, 0.5]"', '1,"[0.5, ١]"', ""]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    with pytest.raises(InputError, match='row 1 has "١" among the scores; expected numbers'):
        read(tmp_path / "t.csv", ReadOptions())


def test_classes_that_are_named_twice_beside_ranks(tmp_path):
    names = ("truth", "prob_0", "prob_1", "index_0", "index_1")
    columns = dict(zip(names, ([0, 1], [0.9, 0.8], [0.1, 0.2], [0, 1], [1, 0]), strict=True))
    path = parquet_file(tmp_path, **columns)
    with pytest.raises(UsageError, match=r"classes .0, 1, 1., 1 more than once, but .* has scores for 2"):
        read(path, ReadOptions(classes=("0", "1", "1")))
