"""Fixtures shared by all tests: the reference numbers and the data they were computed on."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

# the same examples in every run: what failed once fails again, and what passed does not stop a release
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT.parent / "shared"
DATASETS = (
    "cifar10_resnet-20",
    "cifar10_vgg19_bn",
    "cifar100_vgg19_bn",
    "sst2_gpt2",
    "agnews_gpt2",
    "fvcaus_plda",
)


def _reference_json(name: str) -> dict:
    path = REFERENCE / "golden" / name
    if not path.exists():
        pytest.skip(f"reference numbers not found: {name} is not beside this checkout")
    return json.loads(path.read_text())


@pytest.fixture(scope="session")
def golden() -> dict:
    """Return the reference values, one dictionary a data set."""
    return _reference_json("golden.json")


@pytest.fixture(scope="session")
def decide() -> dict:
    """Return reference values of Kuiper's error, selective and decision metrics, of up to 60,000 rows."""
    return _reference_json("decide.json")


@pytest.fixture(scope="session")
def toys() -> dict:
    """Return cases small enough to check by hand."""
    return _reference_json("toys.json")


@pytest.fixture(scope="session")
def worked_examples() -> dict:
    """Return the finite populations of the works, exact."""
    return _reference_json("worked_examples.json")


@pytest.fixture(scope="session")
def table2() -> list[dict]:
    """Return Table 2 of Ferrer & Ramos 2024, printed and computed."""
    return _reference_json("table2.json")["rows"]


@pytest.fixture(scope="session")
def dataset():
    """Return a loader of real predictions: name -> (float32 scores, integer labels)."""

    def load(name: str) -> tuple[np.ndarray, np.ndarray]:
        folder = REFERENCE / "data" / name
        if not folder.exists():
            pytest.skip(f"reference data not found: {name} is not beside this checkout")
        return np.load(folder / "scores.npy"), np.load(folder / "targets.npy").astype(np.int64)

    return load
