"""Builders of small predictions."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from calcli.core.data.predictions import ArrayScores, Kind, Predictions
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.evaluating.results import Evaluation
from calcli.core.language.settings import Settings


@pytest.fixture(scope="session")
def predict():
    """Return a builder: scores, labels -> Predictions."""

    def build(scores, labels, kind: Kind = "probs", weights=None) -> Predictions:
        scores = np.asarray(scores)
        scores = scores if scores.dtype.kind == "f" else scores.astype(np.float64)
        classes = tuple(str(k) for k in range(scores.shape[1]))
        weights = None if weights is None else np.asarray(weights, np.float64)
        return Predictions(ArrayScores(scores, kind), np.asarray(labels), classes, weights)

    return build


@pytest.fixture(scope="session")
def binary(predict):
    """Return a builder of two-class predictions from the probability of the second class."""

    def build(prob, labels, weights=None) -> Predictions:
        prob = np.asarray(prob, np.float64)
        return predict(np.stack([1 - prob, prob], axis=1), labels, weights=weights)

    return build


@pytest.fixture(scope="session")
def reference_predictions(dataset, predict):
    """Return a loader of real predictions: name -> Predictions."""
    return lambda name: predict(*dataset(name), kind="logits")


@pytest.fixture(scope="session")
def evaluated(reference_predictions):
    """Return an evaluator of real predictions without intervals: name, draws of tests -> Evaluation."""

    @cache
    def evaluate_data(name: str, draws: int = 0) -> Evaluation:
        return evaluate(reference_predictions(name), Settings(draws=draws, intervals=False))

    return evaluate_data
