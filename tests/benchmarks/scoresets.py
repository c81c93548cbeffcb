"""Predictions to be recalibrated: sample data, published ones of others, simulated ones, and trained models.

None of the sets made here served to find candidates, features or strengths of `auto`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from tests.benchmarks.harness import ROOT

SAMPLES = ROOT / "sample_data"
TRAINED_SHARE = 0.3  # of the rows, that a model learns from

Rows = tuple[np.ndarray, np.ndarray]  # (N, K) log-probabilities, which may be -inf, and (N,) labels


@dataclass(frozen=True)
class ScoreSet:
    """Scores with labels.

    Attributes
    ----------
    name, kind
        What it is called, and where it comes from.
    made
        Returns the rows.
    """

    name: str
    kind: str
    made: Callable[[], Rows]


def normalized(scores: np.ndarray) -> np.ndarray:
    """Return log-probabilities in double precision."""
    shifted = scores.astype(np.float64) - scores.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def _logarithms(probs: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return normalized(np.log(probs.astype(np.float64)))


def sample(name: str) -> Rows:
    """Return the rows of a pair of sample files, or of one file."""
    import pandas as pd

    paths = sorted(SAMPLES.glob(f"{name}*.csv")) + sorted(SAMPLES.glob(f"{name}*.parquet"))
    if not paths:
        parts = [SAMPLES / f"{name}_{part}.npy" for part in ("calibration", "test")]
        scores = np.concatenate([np.load(path) for path in parts])
        labels = [np.load(path.with_name(f"{path.stem}_labels.npy")) for path in parts]
        return normalized(scores), np.concatenate(labels)
    table = pd.concat([pd.read_csv(p) if p.suffix == ".csv" else pd.read_parquet(p) for p in paths])
    columns = [name for name in table if name.startswith(("prob_", "logit_"))]
    classes = [name.partition("_")[2] for name in columns]
    values = table[columns].to_numpy(np.float64)
    labels = np.array([classes.index(str(label)) for label in table["label"]])
    return (_logarithms if columns[0].startswith("prob_") else normalized)(values), labels


def published(folder: Path) -> Rows:
    """Return the rows of a folder with scores.npy and targets.npy."""
    return normalized(np.load(folder / "scores.npy")), np.load(folder / "targets.npy").astype(np.intp)


Distortion = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def simulated(rows: int, classes: int, distortion: Distortion, seed: int) -> Rows:
    """Return labels drawn from a softmax, and what a system that distorts its logits says."""
    rng = np.random.default_rng([17, seed])
    truth = rng.normal(scale=2, size=(rows, classes))
    truth[np.arange(rows), rng.integers(0, classes, rows)] += np.log(classes) + 1
    labels = (truth + rng.gumbel(size=truth.shape)).argmax(axis=1)
    return normalized(distortion(truth, rng)), labels


def as_it_is(truth: np.ndarray, _: np.random.Generator) -> np.ndarray:
    """Calibrated: there is nothing to mend."""
    return truth


def over_confident(truth: np.ndarray, _: np.random.Generator) -> np.ndarray:
    """Logits that are 2.5 times too large."""
    return 2.5 * truth


def smoothed_labels(truth: np.ndarray, _: np.random.Generator) -> np.ndarray:
    """Learned from labels of which a tenth is spread over the classes, then over-confident."""
    return 1.6 * np.log(0.9 * np.exp(normalized(truth)) + 0.1 / truth.shape[1])


def shifted_priors(truth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Learned where classes were up to e^5 times as frequent as others, and over-confident."""
    return 1.5 * (truth + rng.permutation(np.linspace(-2.5, 2.5, truth.shape[1])))


def confused_classes(truth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Each class takes from the evidence of one other."""
    other = rng.permutation(truth.shape[1])
    return 1.5 * (truth + 0.5 * truth[:, other])


def own_scales(truth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Each class has a scale and an offset of its own."""
    classes = truth.shape[1]
    return 2 * rng.normal(1, 0.2, classes) * truth + rng.normal(0, 0.7, classes)


def one_sided(truth: np.ndarray, _: np.random.Generator) -> np.ndarray:
    """Of two classes: over-confident of the second, not sure enough of the first."""
    odds = truth[:, 1] - truth[:, 0]
    return np.column_stack([np.zeros(len(odds)), np.where(odds > 0, 2.5, 0.6) * odds])


def rare_class(truth: np.ndarray, _: np.random.Generator) -> np.ndarray:
    """Of two classes: learned where both were as frequent; here the second is rare."""
    odds = truth[:, 1] - truth[:, 0]
    return np.column_stack([np.zeros(len(odds)), 1.5 * (odds + 4)])


def _of_rare_class(rows: int, seed: int) -> Rows:
    rng = np.random.default_rng([17, seed])
    truth = np.column_stack([np.zeros(rows), rng.normal(-4, 2, rows)])
    labels = (truth + rng.gumbel(size=truth.shape)).argmax(axis=1)
    return normalized(rare_class(truth, rng)), labels


def of_two_minds(truth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Half of the rows, which nothing tells apart, are over-confident and half are too careful."""
    return np.where(rng.random((len(truth), 1)) < 0.5, 2.0, 0.6) * truth


SIMULATED: dict[str, Callable[[], Rows]] = {
    "calibrated": partial(simulated, 2_000, 4, as_it_is, 1),
    "over-confident, few rows": partial(simulated, 200, 5, over_confident, 3),
    "smoothed labels": partial(simulated, 6_000, 10, smoothed_labels, 4),
    "shifted priors": partial(simulated, 2_000, 6, shifted_priors, 5),
    "confused classes": partial(simulated, 6_000, 10, confused_classes, 6),
    "own scales": partial(simulated, 4_000, 10, own_scales, 7),
    "own scales, 100 classes": partial(simulated, 8_000, 100, own_scales, 8),
    "of two minds": partial(simulated, 4_000, 10, of_two_minds, 9),
    "one-sided": partial(simulated, 2_000, 2, one_sided, 10),
    "rare class": partial(_of_rare_class, 6_000, 11),
}


def _models() -> dict[str, Callable[[], object]]:
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier

    return {
        "naive Bayes": lambda: GaussianNB(var_smoothing=1e-3),
        "forest": lambda: RandomForestClassifier(100, random_state=0),
        "boosting": lambda: HistGradientBoostingClassifier(random_state=0),
        "network": lambda: MLPClassifier((64,), max_iter=400, random_state=0),
        "neighbors": lambda: KNeighborsClassifier(15),
    }


def _data(name: str) -> Rows:
    from sklearn.datasets import load_digits, make_classification

    if name == "digits":
        return load_digits(return_X_y=True)
    if name == "two classes":
        return make_classification(6_000, 20, n_informative=6, flip_y=0.05, weights=[0.7], random_state=1)
    return make_classification(
        7_000, 20, n_informative=10, n_redundant=4, n_classes=8, flip_y=0.05, class_sep=1.5, random_state=2
    )


def trained(data: str, model: str) -> Rows:
    """Return what a model of scikit-learn says of the rows that it did not learn from."""
    from sklearn.model_selection import train_test_split

    features, labels = _data(data)
    learned, others, known, truth = train_test_split(
        features, labels, train_size=TRAINED_SHARE, random_state=0, stratify=labels
    )
    fitted = _models()[model]().fit(learned, known)
    return _logarithms(fitted.predict_proba(others)), truth


TRAINED = (
    ("digits", ("naive Bayes", "forest", "boosting", "network", "neighbors")),
    ("eight classes", ("naive Bayes", "forest", "boosting", "neighbors")),
    ("two classes", ("naive Bayes", "forest", "network")),
)
SAMPLE_SETS = (
    "digits_network", "digits_forest", "cancer_bayes", "iris_logistic", "release_2", "epochs/epoch_02",
)  # fmt: skip


def every_set(data: Path | None = None) -> Iterator[ScoreSet]:
    """Yield all sets; published ones are the folders within `data`."""
    for name in SAMPLE_SETS:
        yield ScoreSet(name, "sample data", partial(sample, name))
    for folder in sorted(data.iterdir()) if data else ():
        if (folder / "scores.npy").exists():
            yield ScoreSet(folder.name, "published", partial(published, folder))
    for name, made in SIMULATED.items():
        yield ScoreSet(name, "simulated", made)
    for of, models in TRAINED:
        for model in models:
            yield ScoreSet(f"{of}, {model}", "trained", partial(trained, of, model))
