"""A fit of a state is one to the sample of rows that it keeps."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import calcli
from calcli.core.language.errors import NeedsRows


def drawn(rows):
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(rows, 3)).astype(np.float32)
    labels = (0.6 * logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    return calcli.read(pd.DataFrame({f"logit_{k}": logits[:, k] for k in range(3)} | {"label": labels}))


def test_few_rows_are_all_in_it():
    rows = drawn(500)
    found, expected = (calcli.fit(one, method="dp") for one in (calcli.State.of(rows), rows))
    assert found.fit.after == pytest.approx(expected.fit.after, rel=1e-6)
    assert "sampled" not in str(found)


def test_many_are_sampled_and_it_says_so():
    rows = drawn(25_000)
    found = calcli.fit(calcli.State.of(rows), method="temperature")
    assert "20,000 rows sampled from 25,000" in str(found)
    assert found.fit.predictions.n_rows == 20_000
    everything = calcli.fit(rows, method="temperature").calibrator.parameters["temperature"]
    assert found.calibrator.parameters["temperature"] == pytest.approx(everything, rel=0.02)


def test_columns_are_not_there():
    with pytest.raises((NeedsRows, calcli.core.language.errors.InputError), match="no column 'day'"):
        calcli.fit(calcli.State.of(drawn(100)), method="dp", fold_column="day")
