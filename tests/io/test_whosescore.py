"""A lone score that is recalibrated is that of the class which its name or a predicted class says."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calcli.core.language.errors import InputError
from calcli.core.language.settings import FitSettings
from calcli.io.options import ReadOptions
from calcli.io.read import read
from calcli.work.apply import apply_file
from calcli.work.fit import fit_file, save_fit
from tests.io.layouts.trips import LABELS, TWO, N

NAMES = np.array(["neg", "pos"])
Y = (LABELS > 0).astype(int)
NEGATIVE = NAMES[(TWO[:, 0] < 0.5).astype(int)]


@pytest.fixture
def calibrator(tmp_path):
    """A temperature for neg and pos, and what it makes of the probabilities."""
    table = {"label": NAMES[Y], "prob_neg": TWO[:, 0], "prob_pos": TWO[:, 1]}
    pd.DataFrame(table).to_csv(tmp_path / "fit.csv", index=False)
    fit = fit_file(str(tmp_path / "fit.csv"), ReadOptions(), "temperature", FitSettings(folds=0))
    save_fit(fit.fit, tmp_path / "c.json")
    scaled = TWO ** (1 / float(fit.fit.calibrator.parameters["temperature"]))
    return tmp_path / "c.json", scaled / scaled.sum(axis=1, keepdims=True)


def applied(calibrator, columns, **options):
    """Return what is written for a table in the column of its score, the first, and the notes."""
    path, out = calibrator[0].with_name("t.csv"), calibrator[0].with_name("o.csv")
    pd.DataFrame(columns).to_csv(path, index=False)
    notes = apply_file(str(calibrator[0]), str(path), str(out), ReadOptions(**options)).notes
    return pd.read_csv(out)[next(iter(columns))].to_numpy(), notes


@pytest.mark.parametrize("beside", [{"label": NAMES[Y]}, {}], ids=["labels", "none"])
@pytest.mark.parametrize("own", [0, 1])
def test_what_is_predicted_where_it_is_high(own, beside, calibrator):
    columns = {"prob": TWO[:, own], "prediction": NEGATIVE} | beside
    written, notes = applied(calibrator, columns)
    np.testing.assert_allclose(written, calibrator[1][:, own])
    assert not any("doubt" in note for note in notes)
    if beside:
        assert read(calibrator[0].with_name("t.csv")).classes[1] == NAMES[own]
    wrong, _ = applied(calibrator, columns, positive=str(NAMES[1 - own]))
    np.testing.assert_allclose(wrong, calibrator[1][:, own])


@pytest.mark.parametrize("beside", [{"label": Y}, {}], ids=["labels", "none"])
def test_numbers_of_what_is_predicted(beside, calibrator):
    columns = {"prob": TWO[:, 0], "prediction": (TWO[:, 0] < 0.5).astype(int)} | beside
    with pytest.raises(InputError, match=r"that of class 0, .* with --positive neg or --positive pos"):
        applied(calibrator, columns)
    np.testing.assert_allclose(applied(calibrator, columns, positive="neg")[0], calibrator[1][:, 0])
    path, out = (calibrator[0].with_name(f"{name}.parquet") for name in ("t", "o"))
    features = {name: {"_type": "ClassLabel", "names": list(NAMES)} for name in ("prediction", *beside)}
    said = {"huggingface": json.dumps({"info": {"features": features}})}
    pq.write_table(pa.table(columns).replace_schema_metadata(said), path)
    apply_file(str(calibrator[0]), str(path), str(out), ReadOptions())
    np.testing.assert_allclose(pd.read_parquet(out)["prob"], calibrator[1][:, 0])


@pytest.mark.parametrize("beside", [{"label": NAMES[Y]}, {}], ids=["labels", "none"])
def test_the_confidence_in_what_is_predicted_is_refused(beside, calibrator):
    columns = {"prob": TWO.max(axis=1), "prediction": NEGATIVE} | beside
    with pytest.raises(InputError, match=r"prob may be the confidence in .* say --positive pos"):
        applied(calibrator, columns)
    written, _ = applied(calibrator, columns, positive="pos")
    assert (written >= 0.5).all()
    high = TWO[:, 1] >= 0.5
    columns = {name: values[high] for name, values in columns.items()}
    np.testing.assert_allclose(applied(calibrator, columns)[0], calibrator[1][high, 1])


@pytest.mark.parametrize("prediction", [[], ["a", "b"] * (N // 2), Y])
def test_what_does_not_tell_leaves_the_second_class(prediction, calibrator):
    columns = {"prob": TWO[:, 1], "n": range(N)} | ({"prediction": prediction} if len(prediction) else {})
    written, notes = applied(calibrator, columns)
    np.testing.assert_allclose(written, calibrator[1][:, 1])
    assert notes == ()


@pytest.mark.parametrize("own", [0, 1])
def test_a_number_is_no_class_of_the_fit(own, calibrator):
    columns, message = {f"prob_{own}": TWO[:, own]}, "with --positive neg or --positive pos"
    with pytest.raises(InputError, match=rf"one score in each row, that of class {own}, .* {message}"):
        applied(calibrator, columns)
    expected = calibrator[1][:, own]
    np.testing.assert_allclose(applied(calibrator, columns, positive=str(NAMES[own]))[0], expected)
    if own:
        np.testing.assert_allclose(applied(calibrator, columns, classes=("neg", "pos"))[0], expected)
    else:  # by its number it is neg, by custom pos
        with pytest.raises(InputError, match=message):
            applied(calibrator, columns, classes=("neg", "pos"))
    with pytest.raises(InputError, match="of the classes 2, but the calibrator was fitted on"):
        applied(calibrator, {"prob_2": TWO[:, 0]}, classes=("neg", "pos"))


@pytest.mark.parametrize(("column", "own"), [("neg_prob", 0), ("pos_prob", 1), ("rf_prob", 1)])
def test_a_class_before_the_word(column, own, calibrator):
    np.testing.assert_allclose(applied(calibrator, {column: TWO[:, own]})[0], calibrator[1][:, own])
