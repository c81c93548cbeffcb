"""A column of scores with a name of its own, beside others whose names begin with that."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import calcli
from calcli.io.read import read
from tests.conftest import REFERENCE
from tests.io.samples import refused, scores_of

RNG = np.random.default_rng(41)
N = 80
PROBS = RNG.uniform(size=N)
LABELS = RNG.integers(2, size=N)
OTHER = RNG.uniform(0.01, 0.1, size=N)
OWN = ("prob", "Probability", "y_prob", "y_pred_proba", "score", "p", "y_score", "prob_pred")
AFTER = ("_std", "_cal", "_threshold", ".raw", "-scaled", " calibrated", "_2.5%", "_ratio")


def csv(folder, columns, labels=LABELS):
    pd.DataFrame({"label": labels} | columns).to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


def taken(path):
    """Return the scores of class 1."""
    return scores_of(read(path))[:, 1]


@pytest.mark.parametrize("after", AFTER)
@pytest.mark.parametrize("own", OWN)
def test_the_name_of_its_own_wins_in_any_order(own, after, tmp_path):
    for columns in ({own: PROBS, own + after: OTHER}, {own + after: OTHER, own: PROBS}):
        np.testing.assert_allclose(taken(csv(tmp_path, columns)), PROBS)


@pytest.mark.parametrize("own", OWN)
def test_bounds_and_copies_beside_it_are_no_classes(own, tmp_path):
    for one, other in (("_low", "_high"), (".1", ".2"), ("_raw", "_std")):
        columns = {own + one: OTHER, own: PROBS, own + other: OTHER * 2}
        np.testing.assert_allclose(taken(csv(tmp_path, columns)), PROBS)


@pytest.mark.parametrize("own", ["logit", "log_odds", "margin"])
def test_log_odds(own, tmp_path):
    logits = np.log(PROBS / (1 - PROBS))
    path = csv(tmp_path, {own + "_scaled": logits / 2, own: logits, own + "_std": OTHER})
    assert calcli.evaluate(path).results[0].metrics["log_loss"].value == pytest.approx(
        np.mean(np.logaddexp(0, np.where(LABELS, -logits, logits)))
    )


def test_frameworks(tmp_path):
    columns = {"y_pred": (PROBS > 0.4).astype(int), "y_pred_proba": PROBS, "y_pred_proba_std": OTHER}
    np.testing.assert_allclose(taken(csv(tmp_path, columns)), PROBS)


def test_columns_that_name_the_classes_win(tmp_path):
    top = np.maximum(PROBS, 1 - PROBS)
    for names, labels in ((("0", "1"), LABELS), (("neg", "pos"), np.where(LABELS, "pos", "neg"))):
        both = dict(zip(("prob_" + name for name in names), (1 - PROBS, PROBS), strict=True))
        np.testing.assert_allclose(taken(csv(tmp_path, {"prob": top} | both, labels)), PROBS)


@pytest.mark.parametrize("name", ["1", "pos"])
def test_what_may_be_a_class_is_asked(name, tmp_path):
    path = csv(tmp_path, {"prob": OTHER, f"prob_{name}": PROBS})
    refused(path, rf"(?s)which columns are the scores\?.*--scores prob_{name}")


@pytest.mark.parametrize("name", ["prob_std.csv", "prob_cal.csv"])
def test_reference_cases(name):
    folder = REFERENCE / "cases"
    if not folder.exists():
        pytest.skip("reference cases are not beside this checkout")
    right = json.loads((folder / "values.json").read_text())[name]
    log_loss = calcli.evaluate(folder / name).results[0].metrics["log_loss"].value
    assert log_loss == pytest.approx(right, abs=1e-6)
