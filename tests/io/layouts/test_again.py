"""A calibrator finds the columns it was fitted on."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calcli.core.language.errors import InputError
from calcli.core.language.settings import FitSettings
from calcli.io.options import ReadOptions
from calcli.work.apply import apply_file
from calcli.work.fit import fit_file, save_fit
from tests.io.layouts.trips import LABELS, THREE

Y = (LABELS == 0).astype(int)


def applied(folder, fitted, table, **options):
    """Fit to one table, apply to another without options, and return what is written."""
    pd.DataFrame(fitted).to_csv(folder / "fit.csv", index=False)
    pd.DataFrame(table).to_csv(folder / "t.csv", index=False)
    fit = fit_file(str(folder / "fit.csv"), ReadOptions(**options), "temperature", FitSettings(folds=0))
    save_fit(fit.fit, folder / "c.json")
    apply_file(str(folder / "c.json"), str(folder / "t.csv"), str(folder / "o.csv"), ReadOptions())
    return pd.read_csv(folder / "o.csv"), float(fit.fit.calibrator.parameters["temperature"])


def test_columns_that_were_named_are_found(tmp_path):
    table = {"y": LABELS} | {f"q_{k}": np.log(THREE[:, k]) for k in range(3)}
    written, temperature = applied(tmp_path, table, table, scores="q_*")
    scaled = THREE ** (1 / temperature)
    np.testing.assert_allclose(
        written[[f"prob_{k}" for k in range(3)]], scaled / scaled.sum(axis=1, keepdims=True)
    )
    assert "q_0" not in written


def test_columns_that_were_found_win_over_others_that_fit(tmp_path):
    fitted = {"y": Y, "rf_proba": THREE[:, 0]}
    written, _ = applied(tmp_path, fitted, {"rf_proba": THREE[:, 0], "xgb_proba": THREE[:, 1]})
    assert list(written.columns) == ["rf_proba", "xgb_proba"]


def test_other_columns_are_looked_for_as_ever(tmp_path):
    with pytest.raises(InputError, match=r"which columns are the scores\?"):
        applied(tmp_path, {"y": Y, "prob": THREE[:, 0]}, {"rf_proba": THREE[:, 0], "xgb_proba": THREE[:, 1]})
