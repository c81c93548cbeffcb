"""More writers, as they name and shape things; each read without options, or refused with what mends it."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from calcli.io.read import read
from tests.io.layouts.trips import LABELS, NAMES, THREE, TWO, N, trip, trip_of_answers
from tests.io.samples import lines, refused, saved, scores_of

BINARY = (LABELS > 0).astype(int)
RIGHT = BINARY == 1
CONFIDENCE = TWO[:, 1]
NAMED = NAMES[LABELS]


def by_class(stem, probs=THREE, names=NAMES):
    return {f"{stem}{name}": probs[:, k] for k, name in enumerate(names)}


TABLES = {
    "CatBoost": {"SampleId": range(N)} | by_class("Probability:Class=") | {"Label": NAMED},
    "CatBoost, raw values": by_class("RawFormulaVal:Class=", np.log(THREE) + 1) | {"Label": NAMED},
    "DataRobot": {f"kind_{name}_PREDICTION": THREE[:, k] for k, name in enumerate(NAMES)}
    | {"kind_PREDICTION": NAMES[THREE.argmax(axis=1)], "THRESHOLD": 0.5, "kind": NAMED},
    "SAS": {"BAD": LABELS, "I_BAD": THREE.argmax(axis=1)} | by_class("P_BAD", names=range(3)),
    "a column for each class": {"id": range(N), "target": LABELS} | by_class("oof_", names=range(3)),
}
OWN_LABEL = {"DataRobot": {"label_column": "kind"}, "SAS": {"label_column": "BAD"}}


@pytest.mark.parametrize("layout", TABLES)
def test_tables(layout, tmp_path):
    path = saved(tmp_path, TABLES[layout], "t.tsv")
    assert read(path).provenance.read_as == layout
    trip(path, THREE, LABELS, layout, target="out.tsv", **OWN_LABEL.get(layout, {}))


def test_catboost_of_two_classes(tmp_path):
    columns = {"SampleId": range(N), "Probability": CONFIDENCE, "Class": TWO.argmax(axis=1), "Label": BINARY}
    trip(saved(tmp_path, columns, "t.tsv"), TWO, BINARY, "one score in each row")


@pytest.mark.parametrize("score", ["lgb_pred", "model-prediction", "xgb.oof"])
def test_one_model_by_name(score, tmp_path):
    trip(saved(tmp_path, {"label": BINARY, score: CONFIDENCE}), TWO, BINARY, "one score in each row")


def test_scores_of_systems_are_told(tmp_path):
    path = saved(tmp_path, {"score_rf": CONFIDENCE, "score_xgb": CONFIDENCE**2, "target": BINARY})
    refused(path, r"(?s)which columns are the scores\?.*calcli compare .* --system score_rf=score_rf")


@pytest.mark.parametrize("several", [False, True])
def test_batch_transform_of_sagemaker(several, tmp_path):
    probs, labels = (THREE, LABELS) if several else (TWO, BINARY)
    scores = probs.tolist() if several else probs[:, 1].tolist()
    rows = [
        {"label": int(y), "SageMakerOutput": {"predicted_label": 0, "score": s}}
        for y, s in zip(labels, scores, strict=True)
    ]
    trip(lines(tmp_path, rows), probs, labels, "objects of scores")


def test_categories_of_spacy(tmp_path):
    rows = [
        {"text": "x", "cats": dict(zip(NAMES, p, strict=True)), "label": y}
        for p, y in zip(THREE.tolist(), NAMED, strict=True)
    ]
    trip(lines(tmp_path, rows), THREE, LABELS, "objects of scores")


def logs(folder, form):
    """Write answers as some evaluation does, and return the file."""
    pairs = list(zip(CONFIDENCE.tolist(), RIGHT.tolist(), strict=True))
    if form == "every-eval-ever":
        shared = {"schema_version": "0.2", "evaluation_name": "gsm8k", "input": {"raw": "?", "choices": None}}
        objects = [
            {
                "sample_id": str(n),
                "evaluation": {"score": float(right), "is_correct": right},
                "metadata": {"confidence": str(c), "subject": "mathematics"},
            }
            for n, (c, right) in enumerate(pairs)
        ]
        return lines(folder, [shared | one for one in objects])
    if form == "every-eval-ever, score":
        return lines(
            folder, [{"sample_id": 1, "evaluation": {"score": c, "is_correct": r}} for c, r in pairs]
        )
    if form == "OpenAI Evals":
        events = [
            {"run_id": "1", "event_id": n, "sample_id": f"x.{n}", "type": "match"}
            | {"data": {"correct": r, "expected": "A", "options": ["A"], "confidence": c}}
            for n, (c, r) in enumerate(pairs)
        ]
        sampled = {"event_id": N, "sample_id": "x.0", "type": "sampling", "data": {"sampled": "A"}}
        return lines(folder, [{"spec": {}}, sampled, *events, {"final_report": {"accuracy": 1}}])
    judged = {
        f"id{n}": {"model": "m", "judge_response": {"correct": "yes" if r else "no", "confidence": 100 * c}}
        for n, (c, r) in enumerate(pairs)
    }
    (folder / "t.json").write_text(json.dumps(judged))
    return folder / "t.json"


@pytest.mark.parametrize(
    "form", ["every-eval-ever", "every-eval-ever, score", "OpenAI Evals", "Humanity's Last Exam"]
)
def test_answers_in_objects(form, tmp_path):
    trip_of_answers(logs(tmp_path, form), CONFIDENCE, RIGHT)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_samples_of_inspect(form, tmp_path):
    """As `samples_df` gives them: a column for each scorer, C or I in it, and the metadata of samples."""
    columns = {"sample_id": [f"s{n}" for n in range(N)], "epoch": 1, "input": "?", "target": "A"}
    columns |= {"metadata_confidence": CONFIDENCE, "score_choice": np.where(RIGHT, "C", "I")}
    table = pd.DataFrame(columns | {"model_usage": "{}", "error": ""})
    path = tmp_path / f"t.{form}"
    table.to_csv(path, index=False) if form == "csv" else table.to_parquet(path)
    found = trip_of_answers(path, CONFIDENCE, RIGHT)
    assert found.provenance.labels == 'column "score_choice"'


def test_a_confidence_as_text_that_is_no_number(tmp_path):
    rows = [{"evaluation": {"is_correct": True}, "metadata": {"confidence": "0.5"}}] * 300
    rows[280] = {"evaluation": {"is_correct": True}, "metadata": {"confidence": "high"}}
    refused(lines(tmp_path, rows), 'row 280 has "high" among the scores; expected a number')


def test_answers_that_were_generated(tmp_path):
    row = {"doc_id": 1, "target": "4", "resps": [["5"]], "filtered_resps": ["5"], "exact_match": 0.0}
    found = read(lines(tmp_path, [row] * 3))
    assert not found.has_probabilities
    assert not found.labels.any()


def test_minus_one_is_no_confidence(tmp_path):
    words = {"conf": [-1, *(100 * CONFIDENCE[1:])], "correct": RIGHT}
    refused(saved(tmp_path, words, "t.tsv"), "row 0: the confidence is -1; .* remove such rows")


@pytest.mark.parametrize(
    ("labels", "scores"), [("y_test", "y_proba"), ("y_true", "preds"), ("test_targets", "test_logits")]
)
def test_arrays_beside_each_other(labels, scores, tmp_path):
    np.save(tmp_path / f"{scores}.npy", np.log(THREE) if "logits" in scores else THREE)
    np.save(tmp_path / f"{labels}.npy", LABELS)
    trip(tmp_path / f"{scores}.npy", THREE, LABELS, "arrays")


def test_what_networks_return(tmp_path):
    """Outputs of one sigmoid have a last axis of one, and labels may be one-hot."""
    np.savez(tmp_path / "t.npz", y_true=BINARY, y_pred=TWO[:, 1:])
    trip(tmp_path / "t.npz", TWO, BINARY, "arrays")
    np.savez(tmp_path / "t.npz", y_true=np.eye(3, dtype=np.float32)[LABELS], y_pred=THREE)
    trip(tmp_path / "t.npz", THREE, LABELS, "arrays")
    np.savez(tmp_path / "t.npz", preds=THREE, targs=LABELS, metrics=np.array(0.5))
    trip(tmp_path / "t.npz", THREE, LABELS, "arrays")
    np.savez(tmp_path / "t.npz", logits=np.log(THREE).T.reshape(3, 4, 15), labels=LABELS.reshape(4, 15))
    np.testing.assert_allclose(np.exp(scores_of(read(tmp_path / "t.npz"))), THREE)
