"""Write numbers.json: metrics and fits of the sample data, computed by other libraries.

Run in an environment with numpy, pandas, pyarrow, scipy, scikit-learn and mapie:

    python tests/oracles/make.py
"""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
from mapie.metrics.calibration import cumulative_differences, spiegelhalter_statistic
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, logit, softmax
from sklearn.calibration import calibration_curve
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss, roc_auc_score, top_k_accuracy_score

HERE = Path(__file__).resolve().parent
SAMPLES = HERE.parents[1] / "sample_data"
BINS = 15


def read(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return log-probabilities, probabilities and integer labels."""
    if path.suffix == ".npy":
        labels = np.load(path.with_name(f"{path.stem}_labels.npy"))
        values = np.load(path).astype(float)
        return log_softmax(values, axis=1), softmax(values, axis=1), labels
    table = pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)
    scores = table.filter(regex="^(prob|logit)_")
    classes = [column.split("_", 1)[1] for column in scores]
    labels = np.array([classes.index(str(label)) for label in table["label"]])
    values = scores.to_numpy(float)
    if scores.columns[0].startswith("prob_"):
        sums = values.sum(axis=1, keepdims=True)
        sums[np.abs(sums - 1) < 2e-15] = 1  # up to rounding, which would part ties
        probs = values / sums
        with np.errstate(divide="ignore"):
            return np.log(probs), probs, labels
    return log_softmax(values, axis=1), softmax(values, axis=1), labels


def ece(outcome: np.ndarray, score: np.ndarray) -> float:
    """Return the expected calibration error in the bins of scikit-learn."""
    frequency, mean = calibration_curve(outcome, score, n_bins=BINS, strategy="uniform")
    count = np.histogram(score, BINS, (0, 1))[0]
    return float((count[count > 0] * np.abs(frequency - mean)).sum() / len(score))


def on_edges(score: np.ndarray) -> bool:
    """Tell whether a score lies where bins meet, which libraries put into different bins."""
    scaled = score[(score > 0) & (score < 1)] * BINS
    return bool((np.abs(scaled - scaled.round()) < 1e-9).any())


def metrics(probs: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    rows = np.arange(len(labels))
    classes = probs.shape[1]
    hit, confidence = (probs.argmax(1) == labels).astype(int), probs.max(1)
    score, outcome = (probs[:, 1], labels) if classes == 2 else (confidence, hit)
    onehot = np.eye(classes)[labels]
    found = {
        "accuracy": accuracy_score(labels, probs.argmax(1)),
        "brier": brier_score_loss(labels, score if classes == 2 else probs),
        "ks": float(np.abs(cumulative_differences(outcome, score)).max()),
        "mean_confidence": float(confidence.mean()),
    }
    if classes == 2 or not on_edges(score):
        found["ece"] = ece(outcome, score)
    if probs[rows, labels].min() > 1e-15:  # where scikit-learn clips
        found["log_loss"] = log_loss(labels, probs, labels=range(classes))
    if classes == 2:
        found["auroc"] = roc_auc_score(labels, probs[:, 1])
        found["spiegelhalter_z"] = spiegelhalter_statistic(labels, probs[:, 1])
        if not on_edges(confidence):
            found["ece:lens=top-1"] = ece(hit, confidence)
        found["mean_gap"] = float(np.mean(score - outcome))
        found["oe_ratio"] = float(outcome.mean() / score.mean())
        inside = (probs[:, 1] > 0) & (probs[:, 1] < 1)
        if inside.all():
            line = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000)
            line.fit(logit(probs[:, 1:]), labels)
            found["calibration_slope"] = float(line.coef_[0, 0])
    else:
        found["auroc"] = roc_auc_score(labels, probs, multi_class="ovr")
        if not on_edges(probs):
            found["cw_ece"] = float(np.mean([ece(onehot[:, k], probs[:, k]) for k in range(classes)]))
    if classes > 5:
        found["top5_accuracy"] = top_k_accuracy_score(labels, probs, k=5)
    return found


def temperature(log_probs: np.ndarray, labels: np.ndarray) -> float:
    """Return the temperature of least log-loss."""

    def loss(log_temperature: float) -> float:
        scaled = log_softmax(log_probs / np.exp(log_temperature), axis=1)
        return -scaled[np.arange(len(labels)), labels].mean()

    return float(np.exp(minimize_scalar(loss, bounds=(-4, 4), method="bounded", options={"xatol": 1e-10}).x))


def main() -> None:
    numbers: dict[str, object] = {
        "made_by": {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "mapie")},
        "metrics": {}, "temperature": {},
    }  # fmt: skip
    for path in sorted([*SAMPLES.glob("*_test.*"), *SAMPLES.glob("release_*.parquet")]):
        _, probs, labels = read(path)
        numbers["metrics"][path.name] = metrics(probs, labels)
    for path in sorted(SAMPLES.glob("*_calibration.*")):
        log_probs, _, labels = read(path)
        if np.isfinite(log_probs).all():
            numbers["temperature"][path.name] = temperature(log_probs, labels)
    (HERE / "numbers.json").write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
