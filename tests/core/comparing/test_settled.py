"""What a recalibration chooses does not depend on which predictions are swapped."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calcli.core.calibrators.odir import Dirichlet
from calcli.core.calibrators.structured import StructuredScaling
from calcli.core.comparing.contest import Contest
from calcli.core.comparing.settled import is_repeatable, settled
from calcli.core.data.predictions import ArrayScores
from calcli.core.language.expressions import nested_method, parse_metric
from calcli.core.language.settings import Settings

NONE = Settings()


@pytest.fixture
def drawn(predict):
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(3), 120)
    labels = (probs**2 * rng.gamma(1, size=probs.shape)).argmax(1)
    return predict(probs, labels)


@pytest.mark.parametrize("method", [Dirichlet, StructuredScaling])
def test_penalties_are_those_that_the_rows_of_both_systems_choose(method, drawn):
    asked = parse_metric(f"unexplained:recalibrator={method.name}/seed=5:score=brier")
    found = settled(asked, drawn, NONE)
    assert (found.arguments["score"], found.entry.name) == ("brier", "unexplained")
    chosen = nested_method(found.arguments["recalibrator"]).arguments
    order = np.lexsort([*np.log(drawn.scores.array).T, drawn.labels])
    fitted = method(seed=5).fit(np.log(drawn.scores.array)[order], drawn.labels[order])
    for name in ("penalty", "off_diagonal_penalty", "intercept_penalty"):
        assert chosen.get(f"{name[:-1]}ies", (None,)) == (fitted.parameters.get(name),)
    assert chosen["seed"] == 5


def test_they_are_the_same_whichever_rows_change_places(drawn):
    asked, order = (
        parse_metric("unexplained:recalibrator=dirichlet"),
        np.random.default_rng(1).permutation(120),
    )
    moved = replace(drawn, scores=ArrayScores(drawn.scores.array[order], "probs"), labels=drawn.labels[order])
    assert settled(asked, moved, NONE) == settled(asked, drawn, NONE) != asked


@pytest.mark.parametrize("name", ["dp", "matrix-odir", "pav", "dirichlet/off_diagonal_penalties=1/folds=2"])
def test_what_chooses_no_penalty_stays(name, drawn):
    asked = parse_metric(f"unexplained:recalibrator={name}")
    found = settled(asked, drawn, NONE)
    assert (found == asked) == ("folds" not in name)


def test_one_pair_of_penalties_is_not_chosen(drawn):
    scores = np.log(drawn.scores.array)
    alone = Dirichlet(off_diagonal_penalties=(10.0,), intercept_penalties=(0.01,), folds=500).fit(
        scores, drawn.labels
    )
    assert alone.parameters["off_diagonal_penalty"] == 10


@pytest.mark.parametrize(
    "name", ["pool", "reduced/calibrator=dirichlet", "per-predicted-class/calibrator=pool"]
)
def test_what_takes_too_long_is_not_tested_by_swaps(name, drawn):
    asked = f"unexplained:recalibrator={name}"
    assert not is_repeatable(parse_metric(asked))
    contest = Contest([drawn, drawn], Settings(metrics=("log_loss",), draws=9))
    assert contest._recomputed(0, 1, parse_metric(asked), 9) is None
