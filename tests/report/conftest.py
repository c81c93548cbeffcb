"""Evaluations of small data whose numbers can be told by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from calcli.core.evaluating.evaluate import evaluate
from calcli.core.evaluating.results import Evaluation
from calcli.core.language.settings import Settings
from calcli.io.handed import from_arrays
from calcli.report.evaluation import Report
from calcli.report.findings import Result, summarize
from calcli.report.shown import TextTable


def tables_of(results) -> list[TextTable]:
    return Report(results, Settings(), details=True).tables()


@pytest.fixture(scope="session")
def evaluated() -> Callable[..., Evaluation]:
    """Return a function of scores, labels and settings."""

    def run(scores, labels, classes=None, **settings) -> Evaluation:
        return evaluate(from_arrays(scores, labels, classes=classes), Settings(**settings))

    return run


@pytest.fixture(scope="session")
def summarized(evaluated) -> Callable[..., Result]:
    """Return a function of scores, labels and settings."""
    return lambda *arguments, **settings: summarize(evaluated(*arguments, **settings))


@pytest.fixture(scope="session")
def sure(summarized) -> Result:
    """Return 200 rows of confidence 0.9, of which half are right: over-confident by 40 points."""
    return summarized([[0.9, 0.1]] * 200, [0, 1] * 100, ["no", "yes"])


@pytest.fixture(scope="session")
def impossible(summarized) -> Result:
    """Return rows of which two give their label probability 0, with a class that never occurs."""
    probs = [[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.2, 0.8, 0.0], [1.0, 0.0, 0.0]]
    return summarized(probs, [0, 0, 1, 1], ["cat", "dog", "eel"])
