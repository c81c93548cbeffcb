"""Make the sample predictions: real models on the data sets that ship inside scikit-learn.

    python sample_data/make.py

rewrites every file of this folder but the README and itself. Needs scikit-learn, which brings threadpoolctl.
All seeds are fixed and the linear algebra runs on one thread, so that two runs write the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

FOLDER = Path(__file__).resolve().parent
DIGITS = [str(digit) for digit in range(10)]
BRIGHTEST = 16  # pixels of load_digits go from 0 to 16
EPOCHS = 10
PASSES_PER_EPOCH = 4


class Part(NamedTuple):
    """Some rows of a data set; `rows` are their numbers in the whole of it."""

    rows: np.ndarray
    features: np.ndarray
    labels: np.ndarray


class Split(NamedTuple):
    """The three parts of a data set: models learn from the first, recalibrations from the second."""

    train: Part
    calibration: Part
    test: Part

    def saved(self) -> list[tuple[str, Part]]:
        """Return the parts whose predictions are written, with their names."""
        return [("calibration", self.calibration), ("test", self.test)]


def split(features: np.ndarray, labels: np.ndarray, n_train: int, n_calibration: int) -> Split:
    """Deal the rows into three parts, each with every class in its share; the rest is the test part."""
    rows = np.arange(len(labels))
    train, rest = train_test_split(rows, train_size=n_train, stratify=labels, random_state=0)
    calibration, test = train_test_split(
        rest, train_size=n_calibration, stratify=labels[rest], random_state=0
    )
    return Split(*(Part(r, features[r], labels[r]) for r in map(np.sort, (train, calibration, test))))


def network(layers: tuple[int, ...], penalty: float, seed: int) -> MLPClassifier:
    return MLPClassifier(layers, alpha=penalty, learning_rate_init=0.01, random_state=seed)


def train_network(model: MLPClassifier, part: Part, passes: int) -> MLPClassifier:
    """Go on training for some passes over the part; unlike `fit`, never stops early."""
    for _ in range(passes):
        model.partial_fit(part.features, part.labels, classes=range(len(DIGITS)))
    return model


def logits(model: MLPClassifier, features: np.ndarray) -> np.ndarray:
    """Return what goes into the softmax, which scikit-learn keeps to itself."""
    *hidden, (weights, bias) = zip(model.coefs_, model.intercepts_, strict=True)
    values = features
    for hidden_weights, hidden_bias in hidden:
        values = np.maximum(values @ hidden_weights + hidden_bias, 0)
    return values @ weights + bias


def ink(features: np.ndarray) -> np.ndarray:
    """Name how much of the image is written on: thirds of all digits by their mean brightness."""
    thirds = np.quantile(load_digits().data.mean(axis=1) / BRIGHTEST, [1 / 3, 2 / 3])
    return np.array(["light", "medium", "heavy"])[np.searchsorted(thirds, features.mean(axis=1))]


def write_npy(stem: Path, part: Part, scores: np.ndarray) -> None:
    np.save(f"{stem}.npy", scores.astype(np.float32))
    np.save(f"{stem}_labels.npy", part.labels)


def write_parquet(path: Path, part: Part, scores: np.ndarray, prefix: str) -> None:
    """Write digits predictions, float32, with the row number in load_digits and the ink to slice by."""
    columns: dict[str, np.ndarray] = {"id": part.rows, "ink": ink(part.features), "label": part.labels}
    for name, column in zip(DIGITS, scores.T.astype(np.float32), strict=True):
        columns[prefix + name] = column
    pq.write_table(pa.table(columns), path, compression="zstd")


def write_csv(path: Path, part: Part, probabilities: np.ndarray, names: Sequence[str]) -> None:
    """Write probabilities and labels by class name, the classes in alphabetical order."""
    table = pd.DataFrame({"id": part.rows, "label": np.asarray(names)[part.labels]})
    for k in np.argsort(names):
        table[f"prob_{names[k]}"] = probabilities[:, k]
    table.to_csv(path, index=False, float_format="%.6g", lineterminator="\n")


def make_digits_network(folder: Path, digits: Split) -> None:
    """Over-confident: trained long after its few training rows are all right."""
    model = train_network(network((64,), 0.0, seed=0), digits.train, passes=1000)
    for name, part in digits.saved():
        write_npy(folder / f"digits_network_{name}", part, logits(model, part.features))


def make_digits_forest(folder: Path, digits: Split) -> None:
    """Under-confident: an average over trees that disagree is far from 0 and 1."""
    model = RandomForestClassifier(200, min_samples_leaf=2, random_state=0)
    model.fit(digits.train.features, digits.train.labels)
    for name, part in digits.saved():
        path = folder / f"digits_forest_{name}.parquet"
        write_parquet(path, part, model.predict_proba(part.features), prefix="prob_")


def make_releases(folder: Path, digits: Split) -> None:
    """Release 2 lowers the penalty on large weights: as accurate, but far too sure of its errors."""
    for number, penalty in enumerate((0.5, 0.03), start=1):
        model = train_network(network((64, 64), penalty, seed=1), digits.train, passes=200)
        path = folder / f"release_{number}.parquet"
        write_parquet(path, digits.test, logits(model, digits.test.features), prefix="logit_")


def make_epochs(folder: Path, digits: Split) -> None:
    """The calibration part, as epochs are chosen on it and the test part must not take part in choices."""
    folder.mkdir(exist_ok=True)
    model = network((64, 64), 0.0, seed=0)
    part = digits.calibration
    for epoch in range(1, EPOCHS + 1):
        train_network(model, digits.train, PASSES_PER_EPOCH)
        path = folder / f"epoch_{epoch:02d}.parquet"
        write_parquet(path, part, logits(model, part.features), prefix="logit_")


def make_cancer_bayes(folder: Path) -> None:
    """Over-confident: naive Bayes counts correlated measurements as independent evidence."""
    data = load_breast_cancer()
    means = data.data[:, :10]
    cancer = split(means, data.target, n_train=100, n_calibration=200)
    model = GaussianNB().fit(cancer.train.features, cancer.train.labels)
    for name, part in cancer.saved():
        path = folder / f"cancer_bayes_{name}.csv"
        write_csv(path, part, model.predict_proba(part.features), data.target_names)


def make_iris_logistic(folder: Path) -> None:
    """Neither: a model with few parameters, on the sepals only, so that two species overlap."""
    data = load_iris()
    sepals = data.data[:, :2]
    iris = split(sepals, data.target, n_train=45, n_calibration=45)
    model = LogisticRegression(C=10.0).fit(iris.train.features, iris.train.labels)
    for name, part in iris.saved():
        path = folder / f"iris_logistic_{name}.csv"
        write_csv(path, part, model.predict_proba(part.features), data.target_names)


def make_all(folder: Path) -> None:
    data = load_digits()
    digits = split(data.data / BRIGHTEST, data.target, n_train=150, n_calibration=650)
    with threadpool_limits(1):
        make_digits_network(folder, digits)
        make_digits_forest(folder, digits)
        make_releases(folder, digits)
        make_epochs(folder / "epochs", digits)
        make_cancer_bayes(folder)
        make_iris_logistic(folder)


if __name__ == "__main__":
    make_all(FOLDER)
