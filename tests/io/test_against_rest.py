"""What is recalibrated for one class against the rest can be read again so, or is refused before that."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calcli.core.language.settings import FitSettings
from calcli.io.options import ReadOptions
from calcli.io.read import read
from calcli.work.apply import apply_file
from calcli.work.fit import fit_file, save_fit
from tests.io.layouts.test_class_labels import saved as saved_with_names
from tests.io.layouts.trips import LABELS, NAMES, THREE
from tests.io.samples import scores_of

REST = ReadOptions(against_rest="bee")
SCORES = {f"prob_{name}": THREE[:, k] for k, name in enumerate(NAMES)}


def saved(folder, form, labels):
    path = folder / f"t.{form}"
    if form == "npz":
        np.savez(path, probs=THREE, labels=labels, classes=NAMES)
    elif form == "jsonl":
        pd.DataFrame(SCORES | {"label": labels}).to_json(path, orient="records", lines=True)
    elif form == "csv":
        pd.DataFrame(SCORES | {"label": labels}).to_csv(path, index=False)
    else:
        saved_with_names(path, SCORES, labels=labels)
    return path


def applied(path, form):
    """Fit to a file, apply to it; return what is written, as it is read again, and the temperature."""
    out, calibrator = path.with_name(f"out.{form}"), path.with_name("c.json")
    fit = fit_file(str(path), REST, "temperature", FitSettings(folds=0))
    save_fit(fit.fit, calibrator)
    notes = apply_file(str(calibrator), str(path), str(out), REST).notes
    assert "labels are kept as they are; read the result with --against-rest bee" in notes
    return read(out, REST), float(fit.fit.calibrator.parameters["temperature"])


@pytest.mark.parametrize(
    ("form", "target", "labels"),
    [
        ("csv", "csv", NAMES[LABELS]),
        ("csv", "parquet", NAMES[LABELS]),
        ("npz", "npz", NAMES[LABELS]),
        ("parquet", "parquet", LABELS),
        ("jsonl", "csv", NAMES[LABELS]),
    ],
)
def test_the_result_is_read_as_the_note_says(form, target, labels, tmp_path):
    found, temperature = applied(saved(tmp_path, form, labels), target)
    assert found.classes == ("rest", "bee")
    np.testing.assert_array_equal(found.labels, LABELS == 1)
    own = THREE[:, 1] ** (1 / temperature)
    rest = (1 - THREE[:, 1]) ** (1 / temperature)
    np.testing.assert_allclose(scores_of(found)[:, 1], own / (own + rest), rtol=1e-6)


def test_no_labels_are_needed(tmp_path):
    path = saved(tmp_path, "csv", NAMES[LABELS])
    applied(path, "csv")
    pd.DataFrame(SCORES).to_csv(path, index=False)
    apply_file(str(tmp_path / "c.json"), str(path), str(tmp_path / "out.csv"), REST)
    assert list(pd.read_csv(tmp_path / "out.csv")) == ["prob_rest", "prob_bee"]
