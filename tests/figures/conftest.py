"""Evaluations to draw: usual ones, and those that break a layout."""

from __future__ import annotations

import numpy as np
import pytest

from calcli.core.calibrators.record import CalibratorRecord
from calcli.core.calibrators.temperature import Temperature
from calcli.core.data.predictions import ArrayScores, Predictions, Provenance
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.evaluating.results import Evaluation
from calcli.core.language.settings import Settings
from calcli.figures import View

LONG = "a_file_name_that_is_far_too_long_to_stand_above_a_panel_of_a_column.parquet"


def make(n: int, k: int, sharpness: float, name: str, seed: int = 0) -> Evaluation:
    """Return an evaluation: over-confident for a sharpness above 1, under-confident below."""
    rng = np.random.default_rng(seed)
    log_probs = np.log(rng.dirichlet(np.full(k, 0.3), n) + 1e-12)
    labels = (np.exp(log_probs).cumsum(1) < rng.random((n, 1))).sum(1).clip(max=k - 1)
    classes = tuple(f"class number {j}" for j in range(k))
    scores = ArrayScores(sharpness * log_probs, "logits")
    columns = {"part": np.arange(n) % 3}
    origin = Provenance(name, "")
    return finish(Predictions(scores, labels, classes, columns=columns, provenance=origin))


def finish(predictions: Predictions) -> Evaluation:
    return evaluate(predictions, Settings(draws=49))


def constant(probs: list[float], name: str) -> Evaluation:
    """Return an evaluation of 100 equal rows."""
    labels = (np.arange(100) % 10 > 7).astype(np.int64)
    table = np.tile(probs, (100, 1))
    classes = tuple(map(str, range(len(probs))))
    columns = {"part": np.arange(100) % 3}
    origin = Provenance(name, "")
    return finish(
        Predictions(ArrayScores(table, "probs"), labels, classes, columns=columns, provenance=origin)
    )


def right(name: str) -> Evaluation:
    """Return an evaluation of rows that are right and nearly certain: only the edges show a risk."""
    labels = np.arange(100) % 2
    columns = {"part": np.arange(100) % 3}
    table = np.where(labels[:, None] == [0, 1], 0.996, 0.004)
    origin = Provenance(name, "")
    return finish(
        Predictions(ArrayScores(table, "probs"), labels, ("no", "yes"), columns=columns, provenance=origin)
    )


def everything(evaluation: Evaluation) -> View:
    """Return a view with all that some figure needs beside evaluations."""
    calibrator = Temperature()
    calibrator.parameters = {"temperature": 2.0}
    record = CalibratorRecord(calibrator, evaluation.predictions.classes, False, (), {})
    return View(by=("part",), calibrators={"cal.json": record})


def systems(figure: str, evaluation: Evaluation, name: str = "a") -> dict[str, Evaluation]:
    """Return an evaluation by a name, and for a course from file to file by two."""
    return dict.fromkeys([name, f"{name}_2"] if figure == "epochs" else [name], evaluation)


CASES = {
    "two classes": lambda: make(800, 2, 2.0, "two.csv"),
    "three classes": lambda: make(800, 3, 0.5, "three.csv"),
    "four classes": lambda: make(800, 4, 1.0, LONG),
    "ten classes": lambda: make(800, 10, 2.0, "ten.npy"),
    "hundred classes": lambda: make(600, 100, 2.0, "hundred.npy"),
    "fifty rows": lambda: make(50, 3, 2.0, "fifty.csv"),
    "one bin filled": lambda: constant([0.62, 0.38], "one.csv"),
    "sure of everything": lambda: constant([1.0, 0.0, 0.0], "sure.csv"),
    "right and nearly certain": lambda: right("right.csv"),
}


@pytest.fixture(scope="session")
def evaluations() -> dict[str, Evaluation]:
    """Return evaluations by what is special about them."""
    return {name: build() for name, build in CASES.items()}


@pytest.fixture(params=CASES)
def evaluation(request, evaluations) -> Evaluation:
    """Return each of the evaluations in turn."""
    return evaluations[request.param]


@pytest.fixture(scope="session")
def two(evaluations) -> Evaluation:
    """Return an over-confident evaluation of two classes."""
    return evaluations["two classes"]


@pytest.fixture(scope="session")
def three(evaluations) -> Evaluation:
    """Return an under-confident evaluation of three classes."""
    return evaluations["three classes"]
