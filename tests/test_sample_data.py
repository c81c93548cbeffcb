"""The sample predictions are what their README says, and what the committed script makes."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.metrics import accuracy_score, log_loss

FOLDER = Path(__file__).resolve().parents[1] / "sample_data"
README = (FOLDER / "README.md").read_text()
EPOCHS = [f"epochs/epoch_{epoch:02d}.parquet" for epoch in range(1, 11)]
ROW = re.compile(r"\| (\S+\.(?:npy|parquet|csv)) \| (\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| (\S+) \|")
CLAIMS = {name: claim for name, *claim in ROW.findall(README)}


class Sample(NamedTuple):
    """A file, read without calcli: probabilities, integer labels, and the columns that are neither."""

    probabilities: np.ndarray
    labels: np.ndarray
    other: pd.DataFrame


def read(name: str, folder: Path = FOLDER) -> Sample:
    path = folder / name
    if path.suffix == ".npy":
        labels = np.load(path.with_name(f"{path.stem}_labels.npy"))
        return Sample(softmax(np.load(path).astype(float), axis=1), labels, pd.DataFrame())
    table = pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)
    scores = table.filter(regex="^(prob|logit)_")
    classes = [column.split("_", 1)[1] for column in scores]
    labels = np.array([classes.index(str(label)) for label in table["label"]])
    values = scores.to_numpy(float)
    if scores.columns[0].startswith("logit_"):
        values = softmax(values, axis=1)
    return Sample(values, labels, table.drop(columns=scores.columns))


def files(folder: Path) -> set[str]:
    data = (path for path in folder.rglob("*") if path.suffix in {".npy", ".parquet", ".csv"})
    return {path.relative_to(folder).as_posix() for path in data}


def losses(sample: Sample) -> np.ndarray:
    return -np.log(sample.probabilities[np.arange(len(sample.labels)), sample.labels])


def accuracy(sample: Sample) -> float:
    return accuracy_score(sample.labels, sample.probabilities.argmax(axis=1))


def excess_confidence(sample: Sample) -> float:
    """Return mean confidence minus accuracy, in standard errors under perfect calibration."""
    confidence = sample.probabilities.max(axis=1)
    hits = sample.probabilities.argmax(axis=1) == sample.labels
    return (confidence - hits).sum() / np.sqrt((confidence * (1 - confidence)).sum())


@pytest.fixture(scope="module")
def remade(tmp_path_factory) -> Path:
    """Return a folder into which the script has written everything anew."""
    spec = importlib.util.spec_from_file_location("make_sample_data", FOLDER / "make.py")
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    folder = tmp_path_factory.mktemp("sample_data")
    make.make_all(folder)
    return folder


def test_the_readme_lists_every_file():
    labels = {name.replace(".npy", "_labels.npy") for name in CLAIMS if name.endswith(".npy")}
    assert files(FOLDER) == set(CLAIMS) | labels
    assert set(EPOCHS) <= set(CLAIMS)


def test_under_three_megabytes():
    assert sum((FOLDER / name).stat().st_size for name in files(FOLDER)) < 3_000_000


@pytest.mark.parametrize("name", CLAIMS)
def test_probabilities_and_labels_are_valid(name):
    probabilities, labels, _ = read(name)
    n, k = probabilities.shape
    assert labels.shape == (n,)
    assert set(labels) == set(range(k))
    assert np.isfinite(probabilities).all()
    assert (probabilities >= 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("name", CLAIMS)
def test_the_numbers_of_the_readme(name):
    sample = read(name)
    confidence = sample.probabilities.max(axis=1).mean()
    numbers = [f"{value:.4f}" for value in (accuracy(sample), confidence, losses(sample).mean())]
    assert CLAIMS[name][:-1] == [str(len(sample.labels)), *numbers]


@pytest.mark.parametrize("name", CLAIMS)
def test_the_verdicts_of_the_readme(name):
    excess = excess_confidence(read(name))
    match CLAIMS[name][-1]:
        case "over-confident":
            assert excess > 4
        case "under-confident":
            assert excess < -4
        case verdict:
            assert verdict == "consistent"
            assert abs(excess) < 2


def test_bayes_is_so_sure_that_a_clipped_log_loss_is_too_small():
    sample = read("cancer_bayes_test.csv")
    assert (sample.probabilities == 1).any(axis=1).sum() > 50
    normalized = sample.probabilities / sample.probabilities.sum(axis=1, keepdims=True)
    assert log_loss(sample.labels, normalized) < losses(sample).mean() - 0.05


def test_the_second_release_is_as_accurate_and_has_worse_probabilities():
    old, new = read("release_1.parquet"), read("release_2.parquet")
    pd.testing.assert_frame_equal(old.other, new.other)
    assert old.other["id"].is_unique
    assert abs(accuracy(new) - accuracy(old)) < 0.005
    change = losses(new) - losses(old)
    assert change.mean() > 4 * change.std(ddof=1) / np.sqrt(len(change))


def test_the_best_epoch_depends_on_the_score():
    samples = [read(name) for name in EPOCHS]
    for sample in samples:
        pd.testing.assert_frame_equal(sample.other, samples[0].other)
    assert 1 + np.argmin([losses(sample).mean() for sample in samples]) == 4
    assert 1 + np.argmax([accuracy(sample) for sample in samples]) == 10


@pytest.mark.parametrize("stem", ["digits_forest_{}.parquet", "cancer_bayes_{}.csv", "iris_logistic_{}.csv"])
def test_calibration_and_test_parts_share_no_row(stem):
    calibration, test = (set(read(stem.format(part)).other["id"]) for part in ("calibration", "test"))
    assert calibration.isdisjoint(test)


def test_every_slice_has_rows():
    assert set(read("digits_forest_test.parquet").other["ink"]) == {"light", "medium", "heavy"}


def test_the_script_makes_these_files(remade):
    assert files(remade) == files(FOLDER)
    for name in CLAIMS:
        committed, made = read(name), read(name, remade)
        np.testing.assert_array_equal(made.labels, committed.labels)
        pd.testing.assert_frame_equal(made.other, committed.other)
        np.testing.assert_allclose(made.probabilities, committed.probabilities, atol=1e-3)
