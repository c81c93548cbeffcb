"""Names that people give scores and labels: read right, or refused with a command for each reading."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calcli.io.options import ReadOptions
from calcli.io.read import read
from calcli.work.read import inspect_files
from tests.io.layouts.trips import trip
from tests.io.samples import refused, saved, scores_of

RNG = np.random.default_rng(11)
N = 60
P = RNG.uniform(0.01, 0.99, N)
Y = (RNG.uniform(size=N) < P).astype(int)
THREE = RNG.dirichlet(np.ones(3), N)
K = RNG.integers(3, size=N)


@pytest.mark.parametrize(
    "label", ["y_test", "y_true", "actual", "response", "obs", "outcome", "Y.Val", "Truth"]
)
@pytest.mark.parametrize(
    "score",
    [
        "y_pred_proba",
        "pred_proba",
        "proba",
        "Y Score",
        "prediction",
        "pred",
        "oof_pred",
        "y_hat",
        "churn_prob",
    ],
)
def test_one_score_a_row(score, label, tmp_path):
    predictions = read(saved(tmp_path, {"id": range(N), "age": P * 70, score: P, label: Y}))
    np.testing.assert_allclose(scores_of(predictions)[:, 1], P)
    assert predictions.labels.tolist() == Y.tolist()
    assert predictions.provenance.read_as == "one score in each row"
    assert predictions.provenance.taken == (score,)


@pytest.mark.parametrize(
    "stem", ["pred_proba_", "y_pred_proba_", "y_proba_", "proba.", "", "predicted probability "]
)
def test_a_column_for_each_class(stem, tmp_path):
    columns = {f"{stem}{k}": THREE[:, k] for k in range(3)}
    predictions = read(saved(tmp_path, {"y_test": K} | columns))
    np.testing.assert_allclose(scores_of(predictions), THREE)
    assert predictions.classes == ("0", "1", "2")
    assert predictions.provenance.taken == tuple(columns)


@pytest.mark.parametrize(
    ("scores", "labels"), [("y_proba", "y_test"), ("predictions", "label_ids"), ("logits", "Y")]
)
def test_arrays(scores, labels, tmp_path):
    np.savez(tmp_path / "t.npz", **{scores: THREE, labels: K})
    predictions = read(tmp_path / "t.npz")
    np.testing.assert_array_equal(scores_of(predictions), THREE)
    assert predictions.provenance.taken == (f"{scores} of shape (60, 3)",)


def test_a_probability_beats_a_feature(tmp_path):
    features = {"age": P * 50, "score": 300 + 550 * P, "default_proba": P, "target": Y}
    path = saved(tmp_path, features)
    np.testing.assert_allclose(scores_of(read(path))[:, 1], P)
    considered = inspect_files([str(path)], ReadOptions()).data()["files"][0]["considered"]
    assert any(
        "logits score" in one["scores"] and "nothing says that numbers from" in one["reason"]
        for one in considered
    )


def test_a_probability_beats_an_embedding(tmp_path):
    table = {"embedding": [row.tolist() for row in RNG.normal(size=(N, 16))], "prob": P, "label": Y}
    pd.DataFrame(table).to_parquet(tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet").provenance.taken == ("prob",)
    del table["prob"]
    pd.DataFrame(table).to_parquet(tmp_path / "t.parquet")
    refused(tmp_path / "t.parquet", "no score columns")


def test_two_readings_are_refused_with_the_command_for_each(tmp_path):
    path = saved(tmp_path, {"rf_proba": P, "xgb_proba": P**2, "target": Y})
    refused(
        path,
        r"(?s)which columns are the scores\?.*--scores rf_proba\n.*--scores xgb_proba\n",
    )
    path = saved(tmp_path, {"label": Y, "target_class": np.r_[1 - Y[:9], Y[9:]], "prob": P})
    refused(path, "label")


def test_systems_may_look_like_classes(tmp_path):
    path = saved(tmp_path, {"logit_rf": P * 5 - 2, "logit_xgb": P * 4 - 2, "target": Y})
    refused(path, f"calcli compare {path} --system logit_rf=logit_rf --system logit_xgb=logit_xgb")
    path = saved(tmp_path, {"logit_neg": P, "logit_pos": P * 4 - 2, "target": Y})
    refused(path, f"calcli evaluate {path} --scores logit_neg,logit_pos")


@pytest.mark.parametrize(
    ("name", "columns", "classes"),
    [
        ("NannyML", {"y_pred_proba_a": P, "y_pred_proba_b": 1 - P, "y_pred": "a"}, ("a", "b")),
        ("H2O", {"predict": Y, "p0": 1 - P, "p1": P, "cal_p0": P, "cal_p1": 1 - P}, ("0", "1")),
        ("caret", {"pred": "a", "a": P, "b": 1 - P, "rowIndex": range(N), "mtry": 2, "C": 0.5}, ("a", "b")),
        ("tidymodels", {".pred_a": P, ".pred_b": 1 - P, ".pred_class": "a", ".row": range(N)}, ("a", "b")),
        ("Azure ML", {"Scored Probabilities_a": P, "Scored Probabilities_b": 1 - P}, ("a", "b")),
        ("KNIME", {"P (kind=a)": P, "P (kind=b)": 1 - P, "Prediction (kind)": "a"}, ("a", "b")),
        ("RapidMiner", {"confidence(a)": P, "confidence(b)": 1 - P, "prediction(label)": "a"}, ("a", "b")),
    ],
)
def test_what_frameworks_write(name, columns, classes, tmp_path):
    label = {"NannyML": "y_true", "caret": "obs", "tidymodels": "truth", "KNIME": "kind"}.get(name, "label")
    values = Y if name == "H2O" else np.array(["b", "a"])[Y]
    predictions = read(saved(tmp_path, columns | {label: values}))
    assert predictions.classes == classes
    assert predictions.provenance.read_as == name
    second = 1 - P if classes == ("a", "b") else P
    np.testing.assert_allclose(scores_of(predictions)[:, 1], second)
    assert predictions.kind == "probs"
    places = np.array([classes.index(str(value)) for value in values])
    target = "" if name == "H2O" else "out.csv"  # beside which its calibrated columns are as good
    trip(tmp_path / "t.csv", np.stack([1 - second, second], axis=1), places, name, target=target)
