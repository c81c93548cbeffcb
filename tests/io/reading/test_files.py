"""Plain files of many kinds, written here with the log-loss that is right for each; None must be refused."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from calcli.core.language.errors import CalcliError
from calcli.io.options import ReadOptions
from calcli.io.read import read
from tests.io.samples import followed, scores_of

ROWS = 700
NAMES = np.array(["lark", "owl", "wren"])
WORDS = np.array(["no", "yes"])


def loss(probs: np.ndarray, labels: np.ndarray) -> float:
    with np.errstate(divide="ignore"):
        return float(-np.log(np.take_along_axis(probs, labels[:, None], 1)).mean())


def loss_of_one(score: np.ndarray, right: np.ndarray) -> float:
    return loss(np.stack([1 - score, score], axis=1), right.astype(int))


def by_class(form: str, values: np.ndarray, names: Any = NAMES) -> dict[str, np.ndarray]:
    return {form.format(name): column for name, column in zip(names, values.T, strict=True)}


@cache
def files(seed: int) -> dict[str, tuple[dict[str, Any], float | None]]:
    """Return the columns of each file, and the log-loss that is right."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(scale=2, size=(ROWS, 3))
    true = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y = np.array([rng.choice(3, p=row) for row in true])
    logits = 1.4 * logits  # too sure of themselves
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    best, named = p.argmax(axis=1), NAMES[y]
    half = np.exp(logits / 2) / np.exp(logits / 2).sum(axis=1, keepdims=True)
    z = rng.normal(scale=1.8, size=ROWS)
    b = (rng.random(ROWS) < 1 / (1 + np.exp(-z))).astype(int)
    s = 1 / (1 + np.exp(-1.5 * z))
    top, hit = np.maximum(s, 1 - s), (s > 0.5) == b
    sure, right = p.max(axis=1), best == y
    noise, group = rng.random(ROWS), rng.integers(0, 2, ROWS)
    many, one, answers = loss(p, y), loss_of_one(s, b), loss_of_one(sure, right)
    percent = np.round(100 * p, 2)
    return {
        # a column for each class
        "brackets": ({"truth": named} | by_class("P[{}]", p), many),
        "spaces": ({"Actual": named} | by_class("Probability of {}", p) | {"Predicted": NAMES[best]}, many),
        "behind": ({"target": named} | by_class("{}_prob", p), many),
        "bare": ({"bird": named, "guess": NAMES[best], "weight": noise} | by_class("{}", p), many),
        "mean": ({"label": y, "p_mean": p.mean(axis=1)} | by_class("p_{}", p, range(3)), many),
        "largest": ({"label": y, "p_max": sure} | by_class("p_{}", p, range(3)), many),
        "from one": ({"y": y + 1} | by_class("p{}", p, (1, 2, 3)), many),
        "counted from one": ({"label": y + 1} | by_class("prob_{}", p, range(3)), many),
        "names in any order": ({"label": named} | by_class("prob_{}", p[:, ::-1], NAMES[::-1]), many),
        "numbers in that of the names": ({"label": y} | by_class("prob_{}", p[:, ::-1], NAMES[::-1]), many),
        "places": ({"label": y} | by_class("prob_{}", p, ["wren", "lark", "owl"]), many),
        "logits": ({"label": y} | by_class("logit_{}", logits, range(3)), many),
        "log-probs": ({"label": named} | by_class("log_prob_{}", np.log(p)), many),
        "percents": (
            {"label": named} | by_class("{} (%)", percent),
            loss(percent / percent.sum(1)[:, None], y),
        ),
        "both": ({"label": y} | by_class("logit_{}", logits) | by_class("prob_{}", p), many),
        "calibrated beside": ({"label": y} | by_class("prob_{}", p) | by_class("prob_cal_{}", half), many),
        "annotated": ({"label": best, "annotation": y} | by_class("prob_{}", p, range(3)), many),
        "folds": ({"label": y, "fold": group} | by_class("prob_{}", p, range(3)), many),
        "unknown name": ({"species": named} | by_class("score.{}", p), many),
        "only prediction": ({"id": range(ROWS), "pred": best} | by_class("prob_{}", p, range(3)), None),
        "all right": ({"id": range(ROWS), "label": best} | by_class("prob_{}", p, range(3)), loss(p, best)),
        "only fold": ({"fold": np.arange(ROWS) % 3} | by_class("prob_{}", p, range(3)), None),
        "two systems": (
            {"label": y} | by_class("rf_{}", p, range(3)) | by_class("lr_{}", half, range(3)),
            None,
        ),
        "two raters": (
            {"rater_1": y, "rater_2": np.r_[y[:99], y[:-99]]} | by_class("prob_{}", p, range(3)),
            None,
        ),
        "sorted": ({"label": y} | by_class("prob_{}", -np.sort(-p, axis=1), range(3)), None),
        "sigmoids": ({"label": y} | by_class("prob_{}", 1 / (1 + np.exp(-logits)), range(3)), None),
        "cumulative": ({"label": y} | by_class("prob_{}", p.cumsum(axis=1), range(3)), None),
        "features": (
            {"label": y} | by_class("feature_{}", logits + rng.normal(size=(ROWS, 3)), range(3)),
            None,
        ),
        "codes": ({"label": np.array([2, 0, 1])[y]} | by_class("prob_{}", p), None),
        "other classes": ({"label": np.where(noise < 0.05, "gull", named)} | by_class("prob_{}", p), None),
        "odds": ({"result": named} | by_class("{}", 1 / p), None),
        # one score
        "one": ({"label": b, "prob": s, "weight": noise}, one),
        "bounds": ({"label": b, "prob": s, "prob_lower": s * 0.8, "prob_se": s * 0.1}, one),
        "its own name": ({"label": b, "score": s, "score_rank": pd.Series(s).rank(pct=True)}, one),
        "words": ({"outcome": WORDS[b], "probability": s}, one),
        "text": ({"outcome": WORDS[b], "probability": [f"{100 * v:.4f}%" for v in s]}, one),
        "commas": ({"outcome": b, "probability": [f"{v:.9f}".replace(".", ",") for v in s]}, one),
        "signed": ({"y": 2 * b - 1, "prob": s}, one),
        "one and two": ({"label": b + 1, "prob": s}, one),
        "of class 0": ({"label": b, "p_0": 1 - s}, one),
        "of no": ({"churn": WORDS[b], "prob_no": 1 - s}, one),
        "not so": ({"spam": b, "prob_not_spam": 1 - s}, one),
        "named by the score": ({"churned": b, "member": group, "churn_prob": s}, one),
        "named otherwise": ({"readmitted": b, "sex": group, "readmission_probability": s}, one),
        "margin": ({"is_fraud": b, "margin": 1.5 * z}, one),
        "predicted": ({"gold": WORDS[b], "pred": WORDS[(s > 0.5).astype(int)], "score": s}, one),
        "no and yes": (
            {
                "target": WORDS[b],
                "Prob[no]": 1 - s,
                "Prob[yes]": s,
                "Most Likely target": WORDS[(s > 0.5) * 1],
            },
            one,
        ),
        "pairs": ({"default": WORDS[b], "p_yes": s, "p_no": 1 - s}, one),
        "threshold": ({"score": s, "success": s >= 0.6}, None),
        "threshold and truth": ({"score": s, "success": s >= 0.6, "human_label": b}, one),
        "never below half": ({"label": b, "score": top}, None),
        "two systems alone": ({"label": b, "rf_prob": s, "lr_prob": 1 / (1 + np.exp(-z / 3))}, None),
        "old and new": ({"label": b, "prob_old": s * 0.9, "prob_new": s}, None),
        "feature": ({"label": b, "humidity": np.clip(s + rng.normal(size=ROWS) * 0.2, 0, 1)}, None),
        "p-value": ({"label": b, "p_value": noise}, None),
        "credit": ({"default": b, "score": (300 + 550 * (1 - s)).astype(int)}, None),
        "distances": ({"y": 2 * b - 1, "decision_function": z / 2}, None),
        # answers
        "answer": ({"prediction": NAMES[best], "label": named, "confidence": sure}, answers),
        "of two": (
            {"text": "x", "true_label": b, "predicted_label": (s > 0.5) * 1, "score": top},
            loss_of_one(top, hit),
        ),
        "right": ({"confidence": sure, "is_correct": right}, answers),
        "grades": ({"certainty": sure, "grade": np.where(right, "C", "I")}, answers),
        "in percent": (
            {"conf": np.round(100 * sure, 6), "verdict": np.where(right, "correct", "incorrect")},
            answers,
        ),
        "index": ({"index": best, "prob": sure, "label": y}, answers),
        "best of many": (
            {"label": y}
            | {f"index_{k}": np.argsort(-p, axis=1)[:, k] for k in range(2)}
            | {f"prob_{k}": -np.sort(-p, axis=1)[:, k] for k in range(2)},
            answers,
        ),
        "by rank": (
            {"label": y}
            | {f"index_{k}": np.argsort(-p, axis=1)[:, k] for k in range(3)}
            | {f"prob_{k}": -np.sort(-p, axis=1)[:, k] for k in range(3)},
            many,
        ),
        "stars": ({"confidence": np.clip((5 * s).astype(int) + 1, 1, 5), "correct": b}, None),
        "one to ten": ({"confidence": (s * 10.99).astype(int), "is_correct": b}, None),
        "two scales": (
            {"confidence": np.where(noise < 0.4, sure, np.round(100 * sure)), "correct": right},
            None,
        ),
        "spoken": ({"confidence": np.where(noise < 0.5, "high", "low"), "correct": right}, None),
        "exam": ({"test_score": s, "passed": s + rng.normal(size=ROWS) * 0.1 > 0.5}, None),
        # several rows of a case
        "a row for each class": (
            {
                "id": np.repeat(range(ROWS), 3),
                "class": np.tile(NAMES, ROWS),
                "prob": p.ravel(),
                "is_true": np.eye(3, dtype=int)[y].ravel(),
            },
            None,
        ),
        "a row for each system": (
            {
                "id": np.tile(range(ROWS), 2),
                "model": np.repeat(["rf", "lr"], ROWS),
                "prob": np.r_[s, s * 0.9],
                "label": np.tile(b, 2),
            },
            None,
        ),
    }


def found(path: Path, **options: Any) -> float:
    predictions = read(path, ReadOptions(**options))
    scores = scores_of(predictions, 1000)
    if predictions.kind == "probs":
        return loss(scores, np.asarray(predictions.labels))
    scores = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
    return float(-np.take_along_axis(scores, np.asarray(predictions.labels)[:, None], 1).mean())


@pytest.mark.parametrize("name", files(0))
@pytest.mark.parametrize("seed", [1, 2])
def test_what_is_read_is_right_or_refused(name, seed, tmp_path):
    columns, right = files(seed)[name]
    path = tmp_path / "t.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    if right is None and name == "feature":  # the only fractions beside the only label
        try:
            assert read(path).provenance.doubts
        except CalcliError as told:
            followed(told)
    elif right is None:
        with pytest.raises(CalcliError) as told:
            found(path)
        followed(told.value)
    else:
        assert found(path) == pytest.approx(right, rel=1e-5)


def test_commands_choose_each_reading(tmp_path):
    """Those that a refusal prints work, whatever columns are called, and keep what was said."""
    renamed = {"rf_prob": "rf 'old' prob", "rater_1": "rater $1"}
    for name in ("two systems alone", "two raters", "two systems", "old and new"):
        path = tmp_path / "a t.csv"
        pd.DataFrame(files(1)[name][0]).rename(columns=renamed).to_csv(path, index=False)
        with pytest.raises(CalcliError) as told:
            read(path, ReadOptions(limit=600))
        read_so = followed(told.value)
        values = {round(loss(scores_of(one), np.asarray(one.labels)), 6) for one in read_so}
        assert len(values) == len(read_so) > 1
        assert {one.n_rows for one in read_so} == {600}


def test_objects_and_lists_in_lines_of_json(tmp_path):
    columns, right = files(1)["brackets"]
    p = np.stack([columns[f"P[{name}]"] for name in NAMES], axis=1)
    labels = np.asarray(columns["truth"]).tolist()
    rows = [
        {"meta": {"gold": label}, "output": {"probs": dict(zip(NAMES.tolist(), row, strict=True))}}
        for label, row in zip(labels, p.tolist(), strict=True)
    ]
    lists = [
        {"input": "x", "label": [NAMES.tolist().index(label)], "output": {"logits": np.log(row).tolist()}}
        for label, row in zip(labels, p, strict=True)
    ]
    for data in (rows, lists):
        path = tmp_path / "t.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in data))
        assert found(path) == pytest.approx(right, rel=1e-5)


def test_arrays_are_read_as_columns_are(tmp_path):
    columns, right = files(1)["brackets"]
    p = np.stack([columns[f"P[{name}]"] for name in NAMES], axis=1)
    labels, path = np.asarray(columns["truth"], str), tmp_path / "t.npz"
    rng = np.random.default_rng(0)
    for arrays in (
        {"y": labels, "y_proba": p},
        {"X": rng.normal(size=(ROWS, 8)), "target": labels, "softmax": p, "pred": NAMES[p.argmax(axis=1)]},
    ):
        np.savez(path, **arrays)
        assert found(path) == pytest.approx(right, rel=1e-9)
    best = p.argmax(axis=1)
    np.savez(path, preds=best, probs=p.max(axis=1), targets=np.searchsorted(NAMES, labels))
    assert found(path) == pytest.approx(loss_of_one(p.max(axis=1), NAMES[best] == labels), rel=1e-9)
    m = np.log(p[:, 0] / (1 - p[:, 0]))
    np.savez(path, scores=np.stack([1 - m, m], axis=1), labels=labels == NAMES[0])
    with pytest.raises(CalcliError, match=r"margins, .* neither probabilities nor logits of a softmax"):
        read(path)


def test_masked_classes_have_the_probability_0(tmp_path):
    columns, _ = files(1)["logits"]
    logits = np.stack([columns[f"logit_{k}"] for k in range(3)], axis=1)
    labels = np.asarray(columns["label"])
    logits[::2][np.arange(ROWS // 2), (labels[::2] + 1) % 3] = -np.inf
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    np.savez(tmp_path / "t.npz", logits=logits, labels=labels)
    assert found(tmp_path / "t.npz") == pytest.approx(loss(p / p.sum(axis=1, keepdims=True), labels))
    logits[7] = -np.inf
    np.savez(tmp_path / "t.npz", logits=logits, labels=labels)
    with pytest.raises(CalcliError, match=r"all classes are masked|gives every class the logit -inf"):
        found(tmp_path / "t.npz")


def test_passes_are_told_by_their_axis(tmp_path):
    rng = np.random.default_rng(3)
    np.savez(tmp_path / "t.npz", probs=rng.dirichlet(np.ones(4), (20, 50)), labels=rng.integers(0, 4, 50))
    with pytest.raises(
        CalcliError, match=r"axis 0, of 20, may be that of passes, .* the mean of their probab"
    ):
        read(tmp_path / "t.npz")


@pytest.mark.parametrize("columns", [("y", "p"), ("lark", "owl", "wren", "name")])
def test_a_missing_line_of_headings_is_seen_where_the_first_line_is_a_row(columns, tmp_path):
    rng = np.random.default_rng(5)
    p = rng.dirichlet([1, 1, 1], 200)
    y = np.array([rng.choice(3, p=row) for row in p])
    one = (rng.random(200) < p[:, 0]).astype(int)
    values = {"y": one, "p": p[:, 0], "name": NAMES[y]} | dict(zip(NAMES, p.T, strict=True))
    path = tmp_path / "t.csv"
    pd.DataFrame({name: values[name] for name in columns}).to_csv(path, header=False, index=False)
    found = read(path, ReadOptions() if "p" in columns else ReadOptions(classes=tuple(NAMES)))
    assert found.n_rows == 200
    expected = p if "name" in columns else np.stack([1 - p[:, 0], p[:, 0]], axis=1)
    labels = y if "name" in columns else one
    np.testing.assert_allclose(loss(scores_of(found), np.asarray(found.labels)), loss(expected, labels))
    assert "no line of headings" in " ".join(found.provenance.notes)


@pytest.mark.parametrize("header", ["0,1,y", "0.5,0.9,y", "id,0.5,y"])
def test_names_of_columns_that_look_like_numbers_stay_headings(header, tmp_path):
    rng = np.random.default_rng(5)
    p, y = rng.dirichlet([1, 1], 60), rng.integers(0, 2, 60)
    rows = [f"{a:.4f},{b:.4f},{label}" for (a, b), label in zip(p, y, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join([header, *rows]))
    found = read(tmp_path / "t.csv", ReadOptions(label_column="y", scores=header.split(",")[1], positive="1"))
    assert found.n_rows == 60


def test_scores_in_a_column_for_each_fold_are_refused_with_a_command_that_joins_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    p = rng.random(200)
    y = (rng.random(200) < p).astype(int)
    folds = {f"prob_fold{k}": np.where(np.arange(200) % 4 == k, p, 0) for k in range(4)}
    pd.DataFrame({"y": y} | folds).to_csv("t.csv", index=False)
    with pytest.raises(CalcliError, match="each row has a score in one of prob_fold0") as caught:
        read("t.csv")
    command = str(caught.value).partition("python ")[2].partition("; else name")[0]
    subprocess.run([sys.executable, *shlex.split(command)], check=True)
    np.testing.assert_allclose(scores_of(read("t_joined.csv"))[:, 1], p)


def test_an_object_of_scores_within_an_object_as_text_is_read(tmp_path):
    rng = np.random.default_rng(5)
    p = rng.dirichlet([1, 1, 1], 200)
    y = np.array([rng.choice(3, p=row) for row in p])
    cells = [
        json.dumps(
            {"class": NAMES[row.argmax()], "logs": None, "probability": dict(zip(NAMES, row, strict=True))}
        )
        for row in p
    ]
    pd.DataFrame({"ID": range(200), "LABEL": NAMES[y], "PREDICTION": cells}).to_csv(
        tmp_path / "t.csv", index=False
    )
    found = read(tmp_path / "t.csv")
    assert found.classes == tuple(NAMES)
    np.testing.assert_allclose(loss(scores_of(found), np.asarray(found.labels)), loss(p, y))


@pytest.mark.parametrize("form", ["{}", "f_{}", "{}_mean"])
@pytest.mark.parametrize("numbered", [False, True])
def test_a_label_and_a_score_are_found_beside_many_features(numbered, form, tmp_path):
    rng = np.random.default_rng(6)
    score = rng.random(300)
    words = [a + b for a in ("age", "bmi", "dose", "income", "zone") for b in "abcdefghijklmn"]
    names = [form.format(place if numbered else word) for place, word in enumerate(words)]
    features = {
        name: rng.integers(0, 2, 300) if n % 3 else rng.normal(size=300) for n, name in enumerate(names)
    }
    outcome = {"Actual_Churn": (rng.random(300) < score).astype(int), "Churn_Probability": score}
    pd.DataFrame(features | outcome).to_csv(tmp_path / "t.csv", index=False)
    found = read(tmp_path / "t.csv")
    assert found.provenance.labels == 'column "Actual_Churn"'
    np.testing.assert_allclose(scores_of(found)[:, 1], score)
