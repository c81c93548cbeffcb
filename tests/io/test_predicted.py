"""Columns of predicted classes: told where they no longer fit recalibrated scores, renewed if asked."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calcli.core.calibrators.record import CalibratorRecord, recalibrate
from calcli.core.calibrators.softmax import BiasOnly, DPAffine
from calcli.io.apply import Wanted, recalibrate_file
from tests.io.samples import random_logits

NAMES = np.array(["ant", "bee", "cat"])
SINGLE, LABELS = random_logits(rows=60, classes=3)
LOGITS = SINGLE.astype(np.float64)
RECORD = CalibratorRecord(DPAffine().fit(LOGITS, LABELS), tuple(NAMES), False, (), {})
BEFORE = LOGITS.argmax(axis=1)
AFTER = recalibrate(RECORD, LOGITS, "logits").argmax(axis=1)
CHANGED = int((BEFORE != AFTER).sum())
SCORES = {f"logit_{name}": LOGITS[:, k] for k, name in enumerate(NAMES)}


def written(folder, columns, form="csv", record=RECORD):
    path, out = folder / f"t.{form}", folder / f"out.{form}"
    table = pd.DataFrame(columns)
    table.to_csv(path, index=False) if form == "csv" else table.to_parquet(path)
    notes = recalibrate_file(record, str(path), str(out), wanted=Wanted("logits")).notes
    return pd.read_csv(out) if form == "csv" else pd.read_parquet(out), notes


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize(
    "held",
    [NAMES, pd.Categorical(NAMES), np.arange(3), np.arange(3.0)],
    ids=["names", "categories", "positions", "floats"],
)
def test_what_no_longer_fits_is_told(held, form, tmp_path):
    assert CHANGED
    columns = SCORES | {"prediction": held[BEFORE], "label": NAMES[LABELS]}
    found, notes = written(tmp_path, columns, form)
    assert list(found["prediction"]) == list(held[BEFORE])
    assert f"prediction no longer fits the scores: in {CHANGED} of 60 rows" in notes[-1]
    assert list(found["label"]) == list(NAMES[LABELS])


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
    assert f"prediction no longer fits the scores: in {changed} of 60 rows" in notes[-1]


TURNED = {f"logit_{NAMES[k]}": LOGITS[:, k] for k in (2, 0, 1)}


def with_codes(folder, columns):
    """Write a table whose predictions have names in its metadata, as `Dataset.to_parquet` does."""
    features = {"prediction": {"names": list(NAMES), "_type": "ClassLabel"}}
    said = {"huggingface": json.dumps({"info": {"features": features}})}
    pq.write_table(pa.table(columns).replace_schema_metadata(said), folder / "t.parquet")
    return folder / "t.parquet"


def test_numbers_have_the_names_that_metadata_have(tmp_path):
    path, out = with_codes(tmp_path, TURNED | {"prediction": BEFORE}), tmp_path / "out.parquet"
    notes = recalibrate_file(RECORD, str(path), str(out), wanted=Wanted("logits")).notes
    assert f"prediction no longer fits the scores: in {CHANGED} of 60 rows" in notes[-1]


def test_columns_that_never_fitted_are_left_alone(tmp_path):
    threshold = SCORES | {
        "predict": NAMES[(BEFORE + 1) % 3],
        "predicted_at": "monday",
        "label": NAMES[LABELS],
    }
    assert written(tmp_path, threshold)[1] == ()
