"""Rows of predictions as arrays."""

from __future__ import annotations

import numpy as np

from calcli.core.calibrators.crossvalidation import rows_of
from calcli.core.data.arrays import Array, Doubles, Floats, log_softmax
from calcli.core.data.predictions import Predictions, require_classes
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.errors import InputError
from calcli.core.language.settings import Settings


def log_probabilities(predictions: Predictions) -> Doubles:
    """Return (N, K) log-probabilities in double precision."""
    return np.asarray(log_softmax(rows_of(predictions, exact=True).scores.astype(np.float64)))


def posteriors_of(truth: Predictions, predictions: Predictions) -> Doubles:
    """Return the (N, K) true probabilities of the rows of predictions.

    Raises
    ------
    InputError
        If they belong to other rows or classes.
    """
    path, truth_path = predictions.provenance.path, truth.provenance.path
    if truth.n_rows != predictions.n_rows:
        raise InputError(
            f"{truth_path} has {truth.n_rows:,} rows; expected the {predictions.n_rows:,} of {path}"
        )
    require_classes(truth, predictions.classes, path)
    different = int(np.count_nonzero(truth.labels != predictions.labels))
    if different and not predictions.of_answers:
        raise InputError(
            f"{truth_path} and {path} have different labels in {different:,} of {truth.n_rows:,} rows; "
            "expected posteriors of the same rows, in the same order"
        )
    return np.exp(log_probabilities(truth))


def seen_through(predictions: Predictions, lens: str) -> tuple[Floats, Array, Doubles]:
    """Return the (n,) scores, ascending, with outcomes and weights, through a lens on one score.

    Raises
    ------
    UsageError
        If there is no such lens.
    """
    settings = Settings(metrics=(f"ece:lens={lens}",), intervals=False, draws=0)
    problem = evaluate(predictions, settings, extra_lenses=[lens], sections=()).problems[lens]
    weights = np.ones(len(problem.score)) if problem.weights is None else problem.weights
    return problem.score, problem.outcome, np.asarray(weights, np.float64)
