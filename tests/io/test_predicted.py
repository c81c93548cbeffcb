"""Columns of predicted classes: told where they no longer fit recalibrated scores, renewed if asked."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calcli.core.calibrators.record import CalibratorRecord, recalibrate
from calcli.core.calibrators.softmax import DPAffine
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
