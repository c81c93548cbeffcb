"""Columns of predicted classes: told where they no longer fit recalibrated scores, renewed if asked."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calcli.core.calibrators.record import CalibratorRecord, recalibrate
from calcli.core.calibrators.softmax import BiasOnly, DPAffine
from calcli.core.calibrators.temperature import Temperature
from calcli.core.language.answers import WRONG_RIGHT
from calcli.core.language.errors import InputError, UsageError
from calcli.io.recalibrating import recalibrate_file
from calcli.io.wanted import Wanted
from tests.io.samples import random_logits

NAMES = np.array(["ant", "bee", "cat"])
SINGLE, LABELS = random_logits(rows=60, classes=3)
LOGITS = SINGLE.astype(np.float64)
RECORD = CalibratorRecord(DPAffine().fit(LOGITS, LABELS), tuple(NAMES), False, (), {})
BEFORE = LOGITS.argmax(axis=1)
AFTER = recalibrate(RECORD, LOGITS, "logits").argmax(axis=1)
CHANGED = int((BEFORE != AFTER).sum())
SCORES = {f"logit_{name}": LOGITS[:, k] for k, name in enumerate(NAMES)}


def written(folder, columns, form="csv", renewed=None, record=RECORD):
    path, out = folder / f"t.{form}", folder / f"out.{form}"
    table = pd.DataFrame(columns)
    table.to_csv(path, index=False) if form == "csv" else table.to_parquet(path)
    notes = recalibrate_file(record, str(path), str(out), wanted=Wanted(rewrite_prediction=renewed)).notes
    return pd.read_csv(out) if form == "csv" else pd.read_parquet(out), notes


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize(
    "held",
    [NAMES, pd.Categorical(NAMES), np.arange(3), np.arange(3.0)],
    ids=["names", "categories", "positions", "floats"],
)
def test_what_no_longer_fits_is_told_and_renewed(held, form, tmp_path):
    assert CHANGED
    columns = SCORES | {"prediction": held[BEFORE], "label": NAMES[LABELS]}
    found, notes = written(tmp_path, columns, form)
    assert list(found["prediction"]) == list(held[BEFORE])
    assert f"prediction no longer fits the scores: in {CHANGED} of 60 rows" in notes[0]
    assert "--rewrite-prediction prediction" in notes[0]
    found, notes = written(tmp_path, columns, form, renewed="prediction")
    assert list(found["prediction"]) == list(held[AFTER])
    assert notes == (f"the column prediction was written anew; it changed in {CHANGED} rows",)
    assert list(found["label"]) == list(NAMES[LABELS])


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_a_boolean_column_of_one_value_is_renewed(form, tmp_path):
    """That no row has the other value does not hide it."""
    prob = np.array([0.9, 0.8, 0.3, 0.7, 0.2])
    table = pd.DataFrame({"prob_false": 1 - prob, "prob_true": prob, "prediction": True})
    path, out = tmp_path / f"t.{form}", tmp_path / f"out.{form}"
    write, read = {
        "parquet": (table.to_parquet, pd.read_parquet),
        "jsonl": (
            lambda file: table.to_json(file, orient="records", lines=True),
            partial(pd.read_json, lines=True),
        ),
    }[form]
    write(path)
    same = Temperature()
    same.parameters = {"temperature": np.array(1.0)}
    record = CalibratorRecord(same, ("false", "true"), False, (), {})
    notes = recalibrate_file(
        record, str(path), str(out), wanted=Wanted(rewrite_prediction="prediction")
    ).notes
    assert read(out)["prediction"].tolist() == (prob > 0.5).tolist()
    assert notes == ("the column prediction was written anew; it changed in 2 rows",)


@pytest.mark.parametrize("words", [["False", "True"], ["false", "true"], ["FALSE", "TRUE"]])
@pytest.mark.parametrize("classes", [("no", "yes"), ("yes", "no")])
def test_words_for_false_and_true_are_places_of_two_classes(words, classes, tmp_path):
    odds = np.random.default_rng(0).normal(size=60)
    prob = 1 / (1 + np.exp(-odds))
    columns = {f"prob_{classes[0]}": 1 - prob, f"prob_{classes[1]}": prob}
    columns["prediction"] = np.array(words)[(odds > 0).astype(int)]
    moved = BiasOnly()
    moved.parameters = {"beta": np.array([0.5, -0.5])}
    record = CalibratorRecord(moved, classes, False, (), {})
    changed = int(((odds > 0) != (odds > 1)).sum())
    _, notes = written(tmp_path, columns, record=record)
    assert f"prediction no longer fits the scores: in {changed} of 60 rows" in notes[0]
    found, notes = written(tmp_path, columns, renewed="prediction", record=record)
    assert [str(value).lower() for value in found["prediction"]] == [str(one).lower() for one in odds > 1]
    assert words[0] in (tmp_path / "out.csv").read_text()
    assert notes == (f"the column prediction was written anew; it changed in {changed} rows",)


TURNED = {f"logit_{NAMES[k]}": LOGITS[:, k] for k in (2, 0, 1)}


def with_codes(folder, columns):
    """Write a table whose predictions have names in its metadata, as `Dataset.to_parquet` does."""
    features = {"prediction": {"names": list(NAMES), "_type": "ClassLabel"}}
    said = {"huggingface": json.dumps({"info": {"features": features}})}
    pq.write_table(pa.table(columns).replace_schema_metadata(said), folder / "t.parquet")
    return folder / "t.parquet"


def test_numbers_are_renewed_by_the_names_that_metadata_have(tmp_path):
    path, out = with_codes(tmp_path, TURNED | {"prediction": BEFORE}), tmp_path / "out.parquet"
    notes = recalibrate_file(
        RECORD, str(path), str(out), wanted=Wanted(rewrite_prediction="prediction")
    ).notes
    assert pd.read_parquet(out)["prediction"].tolist() == AFTER.tolist()
    assert notes == (f"the column prediction was written anew; it changed in {CHANGED} rows",)
    notes = recalibrate_file(RECORD, str(path), str(out)).notes
    assert f"prediction no longer fits the scores: in {CHANGED} of 60 rows" in notes[0]


@pytest.mark.parametrize("rows", [60, 10])
def test_numbers_that_are_no_places_of_the_classes_are_not_renewed(rows, tmp_path):
    columns = {name: values[:rows] for name, values in (TURNED | {"prediction": BEFORE}).items()}
    message = f"as places of the classes cat, ant, bee its values .* in {rows} of {rows} rows; save it"
    with pytest.raises(InputError, match=message):
        written(tmp_path, columns, renewed="prediction")
    assert not (tmp_path / "out.csv").exists()
    assert written(tmp_path, columns)[1] == ()
    named = columns | {"prediction": NAMES[BEFORE[:rows]]}
    assert list(written(tmp_path, named, renewed="prediction")[0]["prediction"]) == list(NAMES[AFTER[:rows]])
    placed = columns | {"prediction": np.argsort([2, 0, 1])[BEFORE[:rows]]}
    found, _ = written(tmp_path, placed, renewed="prediction")
    assert list(found["prediction"]) == list(np.argsort([2, 0, 1])[AFTER[:rows]])


def test_columns_that_never_fitted_are_left_alone(tmp_path):
    threshold = SCORES | {
        "predict": NAMES[(BEFORE + 1) % 3],
        "predicted_at": "monday",
        "label": NAMES[LABELS],
    }
    assert written(tmp_path, threshold)[1] == ()


def test_a_column_may_be_called_anything(tmp_path):
    found, _ = written(tmp_path, SCORES | {"best": NAMES[BEFORE]}, renewed="best")
    assert list(found["best"]) == list(NAMES[AFTER])


def test_what_cannot_be_renewed(tmp_path):
    with pytest.raises(InputError, match="the column note holds a, not only the classes ant, bee, cat"):
        written(tmp_path, SCORES | {"note": "a"}, renewed="note")
    assert not (tmp_path / "out.csv").exists()
    with pytest.raises(UsageError, match='has no column "prediktion"; did you mean prediction'):
        written(tmp_path, SCORES | {"prediction": "ant"}, renewed="prediktion")
    answers = CalibratorRecord(DPAffine().fit(LOGITS[:, :2], LABELS % 2), WRONG_RIGHT, False, (), {})
    with pytest.raises(UsageError, match="answers, right or wrong, have no predicted class; leave it out"):
        written(tmp_path, {"confidence": 0.5, "prediction": ["a"]}, renewed="prediction", record=answers)
