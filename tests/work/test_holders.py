"""Whatever holds the scores, labels and weights in Python, the numbers are those of plain arrays."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import calcli
from calcli.core.language.errors import InputError

ROWS = 40
PROBS = np.random.default_rng(0).dirichlet([1, 1, 1], ROWS)
LABELS = np.arange(ROWS) % 3
WEIGHTS = 1.0 + np.arange(ROWS) % 4
NAMES = np.array(["ant", "bee", "cat"])


class ByDLPack:
    """A tensor without the interface of numpy."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **asked):
        return self.values.__dlpack__(**asked)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


def read_only(values):
    found = values.copy()
    found.flags.writeable = False
    return found


def objects(values):
    return np.array(values.tolist(), object)


NUMBERS = {
    "list": lambda values: values.tolist(),
    "tuple": lambda values: tuple(values.tolist()),
    "of columns": np.asfortranarray,
    "swapped bytes": lambda values: values.astype(values.dtype.newbyteorder(">")),
    "every second": lambda values: np.repeat(values, 2, axis=0)[::2],
    "read-only": read_only,
    "objects": objects,
    "no mask": np.ma.masked_array,
    "list of masked": lambda values: list(np.ma.masked_array(values)),
    "DLPack": ByDLPack,
}
SCORES = NUMBERS | {
    "long double": lambda values: values.astype(np.longdouble),
    "three axes": lambda values: values.reshape(8, 5, 3),
    "series of lists": lambda values: pd.Series(values.tolist()),
}
VECTORS = NUMBERS | {
    "series": pd.Series,
    "other index": lambda values: pd.Series(values, index=range(ROWS, 0, -1)),
    "column": lambda values: values[:, None],
    "row": lambda values: values[None],
    "nullable": lambda values: pd.Series(values).convert_dtypes(),
    "of arrow": lambda values: pd.Series(values).convert_dtypes(dtype_backend="pyarrow"),
    "index": pd.Index,
    **{kind: lambda values, kind=kind: values.astype(kind) for kind in ("i1", "u8", "f2", "f4", "f8")},
}
TEXT = {
    "list": lambda values: values.tolist(),
    "objects": objects,
    "any length": lambda values: values.astype(np.dtypes.StringDType()),
    "series": pd.Series,
    "categories": lambda values: pd.Series(pd.Categorical(values, categories=NAMES[[2, 0, 1]])),
    "nullable": lambda values: pd.Series(values, dtype="string"),
    "bytes of numpy": lambda values: values.astype("U9"),
    "one-hot": lambda values: pd.get_dummies(values)[list(NAMES[[1, 2, 0]])],
}


def told(scores=PROBS, labels=LABELS, weights=WEIGHTS, **given):
    found = calcli.evaluate(scores, labels, weights=weights, metrics="log_loss,ece,auroc", draws=0, **given)
    return {name: one.value for name, one in found.results[0].metrics.items()}


@pytest.mark.parametrize("holder", SCORES)
def test_scores(holder):
    assert told(SCORES[holder](PROBS)) == pytest.approx(told(), rel=1e-12)


@pytest.mark.parametrize("holder", VECTORS)
def test_labels_and_weights(holder):
    held = VECTORS[holder]
    assert told(labels=held(LABELS)) == told()
    assert told(weights=held(WEIGHTS)) == told()


@pytest.mark.parametrize("holder", TEXT)
def test_labels_by_name(holder):
    assert told(labels=TEXT[holder](NAMES[LABELS]), classes=NAMES) == told()


@pytest.mark.parametrize("holder", {**SCORES, **VECTORS})
def test_fits(holder):
    expected = calcli.fit(PROBS, LABELS, method="vector", weights=WEIGHTS, folds=0).apply(PROBS)
    scores = SCORES.get(holder, np.asarray)(PROBS)
    labels, weights = (VECTORS.get(holder, np.asarray)(values) for values in (LABELS, WEIGHTS))
    found = calcli.fit(scores, labels, method="vector", weights=weights, folds=0)
    np.testing.assert_allclose(found.apply(scores).reshape(ROWS, 3), expected, rtol=1e-9)


@pytest.mark.parametrize(
    "holder", sorted({*NUMBERS, *VECTORS, *TEXT} - {"f2", "f4", "f8", "column", "row", "one-hot"})
)
def test_calibrators(holder):
    expected = calcli.VectorScaling(scores_are="probs").fit(PROBS, LABELS, WEIGHTS).predict_proba(PROBS)
    scores = NUMBERS.get(holder, np.asarray)(PROBS)
    weights = VECTORS.get(holder, np.asarray)(WEIGHTS)
    labels = TEXT[holder](NAMES[LABELS]) if holder in TEXT else VECTORS[holder](LABELS)
    found = calcli.VectorScaling(scores_are="probs").fit(scores, labels, weights)
    np.testing.assert_allclose(found.predict_proba(scores), expected, rtol=1e-9)


HIDDEN = {
    "masked": lambda values, gone: np.ma.masked_array(values, gone),
    "nan": lambda values, gone: np.where(gone, np.nan, values),
    "none": lambda values, gone: np.where(gone, None, values.astype(object)),
    "list of masked": lambda values, gone: list(np.ma.masked_array(values, gone)),
    "nullable": lambda values, gone: pd.Series(values).astype("Float64").mask(gone.astype(bool)),
}


@pytest.mark.parametrize("holder", HIDDEN)
def test_what_is_hidden_or_missing_is_refused_or_left_out(holder):
    gone = np.arange(ROWS) % 10 == 3
    labels = HIDDEN[holder](LABELS, gone)
    with pytest.raises(InputError, match="row 3 has no label"):
        told(labels=labels)
    left = told(labels=labels, drop_missing=True)
    assert left == pytest.approx(told(PROBS[~gone], LABELS[~gone], WEIGHTS[~gone]), rel=1e-12)
