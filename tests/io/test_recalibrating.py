"""Files in, recalibrated files out: nothing else changes, in any format."""

from __future__ import annotations

import gc
import io
import json
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calcli.core.calibrators.histogram import Isotonic
from calcli.core.calibrators.record import CalibratorRecord, recalibrate
from calcli.core.calibrators.softmax import DPAffine
from calcli.core.calibrators.temperature import Temperature
from calcli.core.calibrators.wrappers import PreserveTop1
from calcli.core.data.derived import Priors
from calcli.core.language.errors import InputError, UsageError
from calcli.io.apply import apply
from calcli.io.apply.apply import Wanted, recalibrate_file, recalibrate_folder
from calcli.io.formats import spooled
from calcli.io.options import ReadOptions
from calcli.io.read import read
from tests.io.samples import random_logits, table_of

CLASSES = ("cat", "dog", "eel")
NEW = [f"prob_{name}" for name in CLASSES]
SINGLE, LABELS = random_logits(rows=50, classes=3)
LOGITS = SINGLE.astype(np.float64).round(3)  # few digits, the same in any format
RECORD = CalibratorRecord(DPAffine().fit(LOGITS, LABELS), CLASSES, False, (0.2, 0.3, 0.5), {})
EXPECTED = np.exp(recalibrate(RECORD, LOGITS, "logits"))
NUMBERED = CalibratorRecord(RECORD.calibrator, ("0", "1", "2"), False, RECORD.priors, {})


def table(logits=LOGITS, names=CLASSES) -> pa.Table:
    """Return scores amid other columns, some of them hard to keep."""
    notes = ['a "b", c', "two\nlines", "", "ü"] * 13
    made = table_of(logits, np.array(CLASSES)[LABELS], [f"logit_{name}" for name in names], note=notes[:50])
    return made.append_column("share", pa.array(np.linspace(0, 1, 50)))


def write(table: pa.Table, path):
    """Write a table as the ending says, by pandas where it can."""
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=17)
    elif path.suffix == ".arrow":
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=20)
    elif path.suffix == ".jsonl":
        table.to_pandas().to_json(path, orient="records", lines=True, double_precision=15)
    else:
        table.to_pandas().to_csv(path, index=False, sep="\t" if ".tsv" in path.suffixes else ",")
    return path


def load(path) -> pd.DataFrame:
    """Read a table, by pandas where it can."""
    if path.suffix == ".parquet":
        return pd.read_parquet(path)
    if path.suffix == ".arrow":
        return pa.ipc.open_file(path).read_pandas()
    if path.suffix == ".jsonl":
        return pd.read_json(path, lines=True)
    tabs = ".tsv" in path.suffixes
    return pd.read_csv(path, sep="\t" if tabs else ",", keep_default_na=False)


ENDINGS = [".parquet", ".arrow", ".csv", ".tsv", ".csv.gz", ".jsonl"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_scores_are_replaced_and_all_else_is_kept(tmp_path, ending):
    source, target = write(table(), tmp_path / f"in{ending}"), tmp_path / f"out{ending}"
    written = recalibrate_file(RECORD, str(source), str(target))
    found, before = load(target), load(source)
    assert list(found) == ["id", "label", *NEW, "note", "share"]
    np.testing.assert_allclose(found[NEW], EXPECTED, rtol=1e-12)
    for name in ("id", "label", "note", "share"):
        pd.testing.assert_series_equal(found[name], before[name])
    changed = (EXPECTED.argmax(1) != LOGITS.argmax(1)).sum()
    told = f"{source}: logits in logit_cat, logit_dog, logit_eel became prob_cat, prob_dog, prob_eel"
    assert (written.rows, written.changed_rows, written.notes) == (50, changed, (told,))


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("stored", [".parquet", ".csv", ".jsonl"])
def test_any_format_becomes_any_other(tmp_path, stored, ending):
    target = tmp_path / f"out{ending}"
    recalibrate_file(RECORD, str(write(table(), tmp_path / f"in{stored}")), str(target))
    found = load(target)
    np.testing.assert_allclose(found[NEW], EXPECTED, rtol=1e-12)
    assert found["id"].tolist() == list(range(50))
    assert found["note"].tolist() == table()["note"].to_pylist()


def test_csv_keeps_what_it_does_not_understand(tmp_path):
    """Codes with zeros in front, large numbers, dates, empty fields: all stay the text they were."""
    lines = ["when,code,prob_cat,prob_dog,prob_eel,big", "2024-01-01,007,0.2,0.3,0.5,12345678901234567890"]
    lines += ["NA,1e3,1,0,0,", "true,,0.25,0.25,0.5,1.50"]
    (tmp_path / "in.csv").write_text("\n".join(lines) + "\n")
    recalibrate_file(RECORD, str(tmp_path / "in.csv"), str(tmp_path / "out.csv"))
    out = (tmp_path / "out.csv").read_text().splitlines()
    assert out[0] == "when,code,prob_cat,prob_dog,prob_eel,big"
    for line, old in zip(out[1:], lines[1:], strict=True):
        fields, before = line.split(","), old.split(",")
        assert (fields[:2], fields[5:]) == (before[:2], before[5:])


def test_categories_and_metadata_of_pandas_survive_parquet(tmp_path):
    frame = table().to_pandas().astype({"note": "category"}).set_index("id")
    frame.to_parquet(tmp_path / "in.parquet")
    recalibrate_file(RECORD, str(tmp_path / "in.parquet"), str(tmp_path / "out.parquet"))
    found = pd.read_parquet(tmp_path / "out.parquet")
    pd.testing.assert_index_equal(found.index, frame.index)
    pd.testing.assert_series_equal(found["note"], frame["note"])
    recalibrate_file(RECORD, str(tmp_path / "in.parquet"), str(tmp_path / "out.csv"))
    assert load(tmp_path / "out.csv")["note"].tolist() == frame["note"].tolist()


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl"])
def test_in_parts_as_at_once(tmp_path, monkeypatch, ending):
    source = str(write(table(), tmp_path / f"in{ending}"))
    recalibrate_file(RECORD, source, str(tmp_path / f"whole{ending}"))
    monkeypatch.setattr(apply, "PART_BYTES", 8 * 3 * 7)
    monkeypatch.setattr(spooled, "PART_BYTES", 500)
    done: list[int] = []
    recalibrate_file(RECORD, source, str(tmp_path / f"parts{ending}"), watcher=lambda what, rows: done.append)
    pd.testing.assert_frame_equal(load(tmp_path / f"parts{ending}"), load(tmp_path / f"whole{ending}"))
    assert len(done) >= 7
    assert done[-1] == 50


def test_classes_are_matched_by_name(tmp_path):
    turned = table(LOGITS[:, [2, 0, 1]], ("eel", "cat", "dog"))
    recalibrate_file(RECORD, str(write(turned, tmp_path / "in.csv")), str(tmp_path / "out.csv"))
    np.testing.assert_allclose(load(tmp_path / "out.csv")[NEW], EXPECTED, rtol=1e-12)


def test_columns_named_as_the_classes(tmp_path):
    named = table().rename_columns(["id", "label", *CLASSES, "note", "share"])
    recalibrate_file(RECORD, str(write(named, tmp_path / "in.csv")), str(tmp_path / "out.csv"))
    np.testing.assert_allclose(load(tmp_path / "out.csv")[NEW], EXPECTED, rtol=1e-12)


def test_no_labels_are_needed(tmp_path):
    recalibrate_file(
        RECORD, str(write(table().drop(["label"]), tmp_path / "in.csv")), str(tmp_path / "out.csv")
    )
    assert list(load(tmp_path / "out.csv")) == ["id", *NEW, "note", "share"]


def test_a_list_column_is_replaced_where_it_stood(tmp_path):
    lists = pa.table({"label": LABELS, "logits": list(LOGITS), "id": range(50)})
    pq.write_table(lists, tmp_path / "in.parquet")
    written = recalibrate_file(RECORD, str(tmp_path / "in.parquet"), str(tmp_path / "out.parquet"))
    found = load(tmp_path / "out.parquet")
    assert list(found) == ["label", *NEW, "id"]
    np.testing.assert_allclose(found[NEW], EXPECTED, rtol=1e-12)
    assert "taken in the order of the fit, cat, dog, eel" in written.notes[0]


def test_arrays_to_arrays(tmp_path):
    np.save(tmp_path / "in.npy", LOGITS)
    np.save(tmp_path / "in_labels.npy", LABELS)
    written = recalibrate_file(NUMBERED, str(tmp_path / "in.npy"), str(tmp_path / "out.npy"))
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), EXPECTED, rtol=1e-12)
    assert written.notes == ("the labels were written to out_labels.npy beside out.npy",)
    np.testing.assert_array_equal(read(tmp_path / "out.npy").labels, LABELS)
    recalibrate_file(NUMBERED, str(tmp_path / "in.npy"), str(tmp_path / "out.npz"))
    archive = np.load(tmp_path / "out.npz")
    np.testing.assert_allclose(archive["probs"], EXPECTED, rtol=1e-12)
    np.testing.assert_array_equal(archive["label"], LABELS)
    assert archive["classes"].tolist() == ["0", "1", "2"]


def test_labels_as_text_go_beside_arrays_and_those_of_a_table_are_told_to_be_lost(tmp_path):
    np.save(tmp_path / "in.npy", LOGITS)
    np.save(tmp_path / "in_labels.npy", np.array(CLASSES)[LABELS])
    recalibrate_file(RECORD, str(tmp_path / "in.npy"), str(tmp_path / "out.npy"))
    np.testing.assert_array_equal(np.load(tmp_path / "out_labels.npy"), np.array(CLASSES)[LABELS])
    columns = ["label", *(f"logit_{name}" for name in CLASSES)]
    path = write(table().select(columns), tmp_path / "in.csv")
    written = recalibrate_file(RECORD, str(path), str(tmp_path / "alone.npy"))
    assert "label could not be passed on to npy" in written.notes[0]
    assert not (tmp_path / "alone_labels.npy").exists()


def test_arrays_to_a_table_with_their_labels(tmp_path):
    np.save(tmp_path / "in.npy", LOGITS)
    names = np.array(CLASSES)[LABELS]
    np.save(tmp_path / "in_labels.npy", names)
    recalibrate_file(RECORD, str(tmp_path / "in.npy"), str(tmp_path / "out.csv"))
    found = load(tmp_path / "out.csv")
    assert list(found) == [*NEW, "label"]
    assert found["label"].tolist() == names.tolist()


def test_archives_keep_what_has_a_value_a_row(tmp_path):
    np.savez(
        tmp_path / "in.npz", logits=LOGITS, y=LABELS, id=np.arange(50), classes=CLASSES[::-1], mean=[0.5, 1]
    )
    written = recalibrate_file(RECORD, str(tmp_path / "in.npz"), str(tmp_path / "out.npz"))
    archive = np.load(tmp_path / "out.npz")
    turned = np.exp(recalibrate(RECORD, LOGITS[:, ::-1], "logits"))
    np.testing.assert_allclose(archive["probs"], turned[:, ::-1], rtol=1e-12)
    np.testing.assert_array_equal(archive["y"], LABELS)
    assert archive["classes"].tolist() == [*CLASSES[::-1]]
    assert "mean could not be passed on" in written.notes[0]


def test_a_table_to_an_array_says_what_is_lost(tmp_path):
    target = tmp_path / "out.npy"
    written = recalibrate_file(RECORD, str(write(table(), tmp_path / "in.csv")), str(target))
    np.testing.assert_allclose(np.load(target), EXPECTED, rtol=1e-12)
    assert "id, label, note, share could not be passed on to npy" in written.notes[0]


def test_one_score_a_row_is_that_of_the_second_class(tmp_path):
    prob = np.random.default_rng(1).random(30)
    calibrator = DPAffine().fit(np.log(np.stack([1 - prob, prob], 1)), (prob > 0.6).astype(int))
    record = CalibratorRecord(calibrator, ("ham", "spam"), False, (), {})
    expected = calibrator.predict_proba(np.log(np.stack([1 - prob, prob], 1)))
    for name, score, options in (
        ("prob", prob, ReadOptions()),
        ("prob_spam", prob, ReadOptions()),
        ("prob_ham", 1 - prob, ReadOptions()),
        ("prob", 1 - prob, ReadOptions(positive="ham")),
    ):
        pd.DataFrame({"id": range(30), name: score}).to_csv(tmp_path / "in.csv", index=False)
        recalibrate_file(record, str(tmp_path / "in.csv"), str(tmp_path / "out.csv"), options)
        found = load(tmp_path / "out.csv")
        assert [*found] == ["id", name]
        own = "prob_ham" not in (name, f"prob_{options.positive}")
        np.testing.assert_allclose(found[name], expected[:, int(own)], rtol=1e-9)
    np.save(tmp_path / "in.npy", prob)
    recalibrate_file(record, str(tmp_path / "in.npy"), str(tmp_path / "out.npy"))
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), expected[:, 1], rtol=1e-9)


COLUMNS = ("p_1", "id", "p_0", "p_2")  # of scores, amid others, in an order of their own


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_names_order_and_types_of_columns_stay(tmp_path, ending, kind):
    probs = np.exp(LOGITS) / np.exp(LOGITS).sum(1, keepdims=True)
    columns = {f"p_{k}": pa.array(probs[:, k].astype(kind)) for k in range(3)} | {"id": pa.array(range(50))}
    made = pa.table({name: columns[name] for name in COLUMNS} | {"label": LABELS})
    recalibrate_file(NUMBERED, str(write(made, tmp_path / f"in{ending}")), str(tmp_path / f"out{ending}"))
    opened = pq.read_table if ending == ".parquet" else lambda path: pa.ipc.open_file(path).read_all()
    found = opened(tmp_path / f"out{ending}")
    assert found.schema.equals(made.schema)
    for k in range(3):
        np.testing.assert_allclose(found[f"p_{k}"], EXPECTED[:, k], rtol=1e-5 if kind == "float32" else 1e-12)
    for name in ("id", "label"):
        assert found[name].equals(made[name])


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.float64()), pa.list_(pa.float32(), 3), pa.large_list(pa.float64())], ids=str
)
def test_lists_stay_lists(tmp_path, kind):
    probs = np.exp(LOGITS) / np.exp(LOGITS).sum(1, keepdims=True)
    made = pa.table({"id": range(50), "probs": pa.array(probs.tolist(), kind), "label": LABELS})
    recalibrate_file(NUMBERED, str(write(made, tmp_path / "in.parquet")), str(tmp_path / "out.parquet"))
    found = pq.read_table(tmp_path / "out.parquet")
    assert found.schema.names == made.schema.names
    assert found.schema.field("probs").type == pq.read_schema(tmp_path / "in.parquet").field("probs").type
    np.testing.assert_allclose(np.array(found["probs"].to_pylist()), EXPECTED, rtol=1e-6)


def test_percentages_stay_percentages(tmp_path):
    prob = np.random.default_rng(1).random(30)
    calibrator = DPAffine().fit(np.log(np.stack([1 - prob, prob], 1)), (prob > 0.6).astype(int))
    record = CalibratorRecord(calibrator, ("0", "1"), False, (), {})
    pd.DataFrame({"id": range(30), "fraud_prob": 100 * prob}).to_csv(tmp_path / "in.csv", index=False)
    recalibrate_file(record, str(tmp_path / "in.csv"), str(tmp_path / "out.csv"), ReadOptions(kind="percent"))
    expected = 100 * calibrator.predict_proba(np.log(np.stack([1 - prob, prob], 1)))[:, 1]
    np.testing.assert_allclose(load(tmp_path / "out.csv")["fraud_prob"], expected, rtol=1e-9)


def test_csv_that_cannot_be_read_is_refused_in_the_words_of_evaluate(tmp_path):
    (tmp_path / "in.csv").write_text("prob_a;prob_b\n0.2;0.8;0.5\n")
    with pytest.raises(InputError, match=r"in.csv: the fields are separated by semicolons"):
        recalibrate_file(RECORD, str(tmp_path / "in.csv"), str(tmp_path / "out.csv"))


@pytest.mark.parametrize(
    ("kind", "prefix", "expected"),
    [
        ("probs", "prob_", EXPECTED),
        ("log-probs", "log_prob_", np.log(EXPECTED)),
        ("logits", "logit_", np.log(EXPECTED) - np.log(EXPECTED).mean(1, keepdims=True)),
    ],
)
def test_written_as_asked(tmp_path, kind, prefix, expected):
    source = str(write(table(), tmp_path / "in.csv"))
    recalibrate_file(RECORD, source, str(tmp_path / "out.parquet"), wanted=Wanted(kind))
    found = load(tmp_path / "out.parquet")
    np.testing.assert_allclose(found[[prefix + name for name in CLASSES]], expected, atol=1e-12)


def test_shifted_to_other_priors(tmp_path):
    wanted = Wanted("probs", Priors((0.1 / 0.9, 0.3 / 0.9, 0.5 / 0.9)))  # the fit had .2, .3 and .5
    source = str(write(table(), tmp_path / "in.csv"))
    recalibrate_file(RECORD, source, str(tmp_path / "out.csv"), wanted=wanted)
    shifted = EXPECTED * [0.5, 1, 1]
    np.testing.assert_allclose(
        load(tmp_path / "out.csv")[NEW], shifted / shifted.sum(1, keepdims=True), rtol=1e-12
    )


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".npy"])
def test_the_kept_class_stays_on_top_in_the_file(tmp_path, ending):
    logits = np.random.default_rng(3).normal(size=(400, 3)).astype(np.float32)
    labels = np.random.default_rng(4).integers(3, size=400)
    calibrator = PreserveTop1(calibrator=Isotonic()).fit(logits, labels)
    assert Isotonic().fit(logits, labels).apply(logits).argmax(1).tolist() != logits.argmax(1).tolist()
    record = CalibratorRecord(calibrator, CLASSES, False, (), {})
    pd.DataFrame(logits, columns=[f"logit_{name}" for name in CLASSES]).to_parquet(tmp_path / "in.parquet")
    target = tmp_path / f"out{ending}"
    written = recalibrate_file(record, str(tmp_path / "in.parquet"), str(target))
    found = np.load(target) if ending == ".npy" else load(target)[NEW].to_numpy()
    np.testing.assert_array_equal(found.argmax(1), logits.argmax(1))
    assert written.changed_rows == 0


def test_a_later_row_may_show_that_they_are_logits(tmp_path):
    scores = np.log(np.full((30_000, 3), [0.25, 0.25, 0.5]))
    scores[1502] = [5, -3, 2]  # which is not among those that are looked at first
    frame = pd.DataFrame(scores, columns=[f"score_{name}" for name in CLASSES])
    frame.to_csv(tmp_path / "in.csv", index=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("calcli.io.reading.checks.FIRST_LOOK", 30)
        with pytest.raises(InputError, match=r"row 1502: the score of class .cat. is 5; .* --kind logits"):
            recalibrate_file(RECORD, str(tmp_path / "in.csv"), str(tmp_path / "out.csv"))
    options = ReadOptions(kind="logits")
    recalibrate_file(RECORD, str(tmp_path / "in.csv"), str(tmp_path / "out.csv"), options)
    np.testing.assert_allclose(
        load(tmp_path / "out.csv")[NEW], np.exp(recalibrate(RECORD, scores, "logits")), rtol=1e-9
    )


def piped(monkeypatch, data: bytes) -> None:
    class Stream:
        buffer = io.BufferedReader(io.BytesIO(data))

    monkeypatch.setattr(sys, "stdin", Stream())


def test_standard_input(tmp_path, monkeypatch):
    for ending in (".csv", ".tsv", ".jsonl", ".arrow"):
        piped(monkeypatch, write(table(), tmp_path / f"in{ending}").read_bytes())
        recalibrate_file(RECORD, "-", str(tmp_path / "out.parquet"))
        np.testing.assert_allclose(load(tmp_path / "out.parquet")[NEW], EXPECTED, rtol=1e-12)


def refused(
    tmp_path, message: str, text: str = "", record=RECORD, source="in.csv", target="out.csv", **options
):
    """Apply to a file of this text; there must be one sentence, and nothing written."""
    (tmp_path / source).parent.mkdir(exist_ok=True)
    if text:
        (tmp_path / source).write_text(text)
    (tmp_path / "out.csv").write_text("old")
    before = sorted(file.name for file in tmp_path.iterdir())
    with pytest.raises((InputError, UsageError), match=message) as caught:
        recalibrate_file(record, str(tmp_path / source), str(tmp_path / target), ReadOptions(**options))
    assert "\n" not in str(caught.value)
    assert (tmp_path / "out.csv").read_text() == "old"
    assert sorted(file.name for file in tmp_path.iterdir()) == before


HEAD = "prob_cat,prob_dog,prob_eel\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "prob_cat,prob_dog\n0.5,0.5\n",
            "scores of 2 classes, but the calibrator was fitted on 3: cat, dog, eel",
        ),
        ("prob_cat,prob_dog,prob_fox\n1,0,0\n", "scores of the classes cat, dog, fox, but .* cat, dog, eel"),
        ("prob_0,prob_1,prob_2\n1,0,0\n", "scores of the classes 0, 1, 2"),
        (HEAD, "has no rows"),
        (HEAD + "1,0,0\n0.5,,0.5\n", 'row 1: the score of class "dog" is missing'),
        (HEAD + "1,0,0\n" * 9 + "0.9,0.9,0.9\n", "row 9 has probabilities that sum to 2.7"),
        (HEAD + "1,0,0\n0.5,0.5\n", "line 3 has 2 fields; expected 3, as in the header"),
        (HEAD + "1,0,0\n0.5,x,0.5\n", 'prob_dog beside it holds text among numbers, such as "x"'),
        ("a,b\n1,2\n", "no score columns"),
        ("prob_cat,prob_dog,prob_eel,prob_eel\n1,0,0,0\n", "more than one column named prob_eel"),
    ],
)
def test_bad_tables(tmp_path, text, message):
    refused(tmp_path, message, text)


def test_a_column_of_the_fit_that_is_gone_is_named(tmp_path):
    record = replace(RECORD, fitted_on={"columns": NEW})
    text = "label,prob_cat,prob_dog\ncat,0.2,0.3\n"
    refused(tmp_path, "missing of the columns of the fit: prob_eel; .*in.csv", text, record)


def test_bad_calls(tmp_path):
    good = HEAD + "1,0,0\n"
    refused(tmp_path, "no such file", source="none.csv")
    refused(tmp_path, 'ending ".xls" is not known', good, target="out.xls")
    refused(tmp_path, "is a folder; expected the name of a file", good, target=".")
    refused(tmp_path, "cannot be written", good, target="no/such/folder.csv")
    refused(tmp_path, "has its labels inside", good, labels="x.npy")
    refused(tmp_path, 'no column like "q_', good, scores="q_*")
    raw = CalibratorRecord(RECORD.calibrator, CLASSES, True, (), {})
    refused(tmp_path, "has probs, but the calibrator was fitted on raw logits", good, record=raw)
    taken = "logit_cat,logit_dog,logit_eel,prob_dog\n1,2,3,0.5\n"
    refused(tmp_path, "has a column prob_dog besides the scores", taken, scores="logit_*")
    (tmp_path / "parts").mkdir()
    refused(tmp_path, "is not a file", source="parts")


def test_an_infinite_logarithm_is_not_json(tmp_path):
    (tmp_path / "in.csv").write_text(HEAD + "1,0,0\n")
    record = CalibratorRecord(Temperature().fit(LOGITS, LABELS), CLASSES, False, (), {})
    said = r"o.jsonl: the column log_prob_dog holds -inf, and JSON has no infinity; as.*write probabilities"
    with pytest.raises(InputError, match=said):
        recalibrate_file(
            record, str(tmp_path / "in.csv"), str(tmp_path / "o.jsonl"), wanted=Wanted("log-probs")
        )
    recalibrate_file(record, str(tmp_path / "in.csv"), str(tmp_path / "o.jsonl"))
    assert json.loads((tmp_path / "o.jsonl").read_text()) == dict(zip(NEW, (1.0, 0.0, 0.0), strict=True))


def test_types_of_kept_columns_of_csv_are_those_of_all_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(spooled, "PART_BYTES", 600)
    source = table().drop_columns(["note"])
    late = {
        "share": ["3"] * 49 + ["2.5"],
        "word": ["3"] * 49 + ["x"],
        "flag": ["true"] * 49 + ["7"],
        "none": [""] * 49 + ["4"],
        "count": [str(n) for n in range(50)],
    }
    for name, values in late.items():
        source = source.drop_columns([name] if name == "share" else []).append_column(name, pa.array(values))
    write(source, tmp_path / "in.csv")
    assert (tmp_path / "in.csv").stat().st_size > 2 * 600
    recalibrate_file(RECORD, str(tmp_path / "in.csv"), str(tmp_path / "o.parquet"))
    found = pq.read_table(tmp_path / "o.parquet")
    assert found["share"].to_pylist() == [3.0] * 49 + [2.5]
    assert found["word"].to_pylist() == late["word"]
    assert found["flag"].to_pylist() == late["flag"]
    assert found["none"].to_pylist() == [None] * 49 + [4]
    assert found["count"].to_pylist() == [*range(50)]
    np.testing.assert_allclose(found.select(NEW).to_pandas(), EXPECTED, rtol=1e-12)
    (tmp_path / "in.csv").write_bytes((tmp_path / "in.csv").read_bytes().replace(b",7,", b",\xff,"))
    with pytest.raises(InputError, match=r"in.csv: the column flag is not text in UTF-8"):
        recalibrate_file(RECORD, str(tmp_path / "in.csv"), str(tmp_path / "o.parquet"))


def test_views_of_text_are_kept_as_text(tmp_path):
    source = table()
    views = source.set_column(1, "label", source.column("label").cast(pa.string_view()))
    write(views, tmp_path / "in.arrow")
    recalibrate_file(RECORD, str(tmp_path / "in.arrow"), str(tmp_path / "o.csv"))
    assert load(tmp_path / "o.csv")["label"].tolist() == source.column("label").to_pylist()


@pytest.mark.parametrize("form", ["jsonl", "json"])
def test_numbers_deep_in_kept_columns_as_json(form, tmp_path):
    deep = [{"x": [1.5, float("nan")], "y": None}, {"x": [], "y": float("nan")}] * 25
    write(table().append_column("deep", pa.array(deep)), tmp_path / "in.parquet")
    recalibrate_file(RECORD, str(tmp_path / "in.parquet"), str(tmp_path / f"o.{form}"))
    text = (tmp_path / f"o.{form}").read_text()
    rows = json.loads(text) if form == "json" else [*map(json.loads, text.splitlines())]
    assert [row["deep"] for row in rows] == [{"x": [1.5, None], "y": None}, {"x": [], "y": None}] * 25
    np.testing.assert_allclose([[row[name] for name in NEW] for row in rows], EXPECTED, rtol=1e-12)
    for value in (-np.inf, [0.5, np.inf]):
        write(table().append_column("far", pa.array([value] * 50)), tmp_path / "in.parquet")
        with pytest.raises(InputError, match=rf"o.{form}: the column far holds -?inf, .*; choose another"):
            recalibrate_file(RECORD, str(tmp_path / "in.parquet"), str(tmp_path / f"o.{form}"))


def test_a_file_can_be_replaced_by_itself(tmp_path):
    source = write(table(), tmp_path / "in.csv")
    recalibrate_file(RECORD, str(source), str(source))
    np.testing.assert_allclose(load(source)[NEW], EXPECTED, rtol=1e-12)


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_an_error_half_way_leaves_nothing_open_and_no_file(tmp_path, ending):
    plain = CalibratorRecord(Isotonic(smoothing=0).fit(LOGITS, LABELS), CLASSES, False, (), {})
    source = write(table(), tmp_path / "in.parquet")
    with pytest.raises(InputError, match="exactly 0, which has no finite logit"):
        recalibrate_file(plain, str(source), str(tmp_path / f"out{ending}"), wanted=Wanted("logits"))
    gc.collect()
    assert [file.name for file in tmp_path.iterdir()] == ["in.parquet"]


@pytest.mark.parametrize("ending", [".npz", ".parquet"])
def test_longer_floats_are_passed_on_in_double_precision(ending, tmp_path):
    """Structs are not, and the report says so."""
    dose, pair = np.arange(50, dtype=np.longdouble) / 3, np.zeros(50, [("a", "f8"), ("b", "f8")])
    np.savez(tmp_path / "in.npz", logits=LOGITS, y=LABELS, classes=CLASSES, dose=dose, pair=pair)
    written = recalibrate_file(RECORD, str(tmp_path / "in.npz"), str(tmp_path / f"out{ending}"))
    assert any("pair could not be passed on" in note for note in written.notes)
    kept = np.load(tmp_path / "out.npz") if ending == ".npz" else pq.read_table(tmp_path / "out.parquet")
    np.testing.assert_array_equal(np.asarray(kept["dose"]), np.arange(50) / 3)


@pytest.mark.parametrize("ending", [*ENDINGS, ".npy", ".npz"])
def test_a_folder_of_parts(tmp_path, ending):
    parts, out = tmp_path / "parts", tmp_path / "out"
    parts.mkdir()
    for i, rows in enumerate((slice(0, 20), slice(20, 21), slice(21, 50))):
        path = parts / f"part-{i}{ending}"
        if ending == ".npy":
            np.save(path, LOGITS[rows])
        elif ending == ".npz":
            np.savez(path, logits=LOGITS[rows], labels=LABELS[rows])
        else:
            write(table().slice(rows.start, rows.stop - rows.start), path)
    (parts / "notes.txt").write_text("nothing to recalibrate")
    record = NUMBERED if ending in (".npy", ".npz") else RECORD
    written = recalibrate_folder(record, str(parts), str(out))
    assert (written.rows, written.changed_rows) == (50, (EXPECTED.argmax(1) != LOGITS.argmax(1)).sum())
    assert sorted(file.name for file in out.iterdir()) == [f"part-{i}{ending}" for i in range(3)]
    np.save(tmp_path / "labels.npy", LABELS)
    labels = str(tmp_path / "labels.npy") if ending == ".npy" else None
    found = read(out, ReadOptions(labels=labels))
    np.testing.assert_allclose(
        np.concatenate([block.copy() for block in found.scores.blocks(7)]), EXPECTED, atol=1e-12
    )


def test_a_folder_is_written_whole_or_not_at_all(tmp_path):
    parts = tmp_path / "parts"
    parts.mkdir()
    write(table(), parts / "part-0.csv")
    (parts / "part-1.csv").write_text("logit_cat,logit_dog,logit_eel\n1,x,3\n")
    with pytest.raises(InputError, match=r"part-1\.csv"):
        recalibrate_folder(RECORD, str(parts), str(tmp_path / "out"))
    with pytest.raises(InputError, match=r"is a folder, but .*out\.csv is a file"):
        recalibrate_folder(RECORD, str(parts), str(tmp_path / "out.csv"))
    with pytest.raises(UsageError, match=r"--labels y\.npy"):
        recalibrate_folder(RECORD, str(parts), str(tmp_path / "out"), ReadOptions(labels="y.npy"))
    assert [file.name for file in tmp_path.iterdir()] == ["parts"]


def test_a_fault_in_the_first_rows_leaves_standard_output_empty(tmp_path, capfdbinary):
    pd.DataFrame({"prob_cat": [7.0, 0.2], "prob_dog": [0.1, 0.3], "prob_eel": [0.2, 0.5]}).to_csv(
        tmp_path / "in.csv", index=False
    )
    with pytest.raises(InputError, match=r"row 0|cannot be read as predictions"):
        recalibrate_file(RECORD, str(tmp_path / "in.csv"), "-")
    assert capfdbinary.readouterr().out == b""


def test_lists_become_columns_where_there_are_no_lists(tmp_path):
    probs = np.exp(LOGITS) / np.exp(LOGITS).sum(1, keepdims=True)
    write(pa.table({"probs": pa.array(probs.tolist()), "id": range(50)}), tmp_path / "in.parquet")
    notes = recalibrate_file(NUMBERED, str(tmp_path / "in.parquet"), str(tmp_path / "out.csv")).notes
    assert list(load(tmp_path / "out.csv")) == ["prob_0", "prob_1", "prob_2", "id"]
    assert notes == (f"{tmp_path}/in.parquet: probs in probs became prob_0, prob_1, prob_2",)
