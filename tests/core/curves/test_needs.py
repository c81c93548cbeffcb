"""What figures need of an evaluation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calcli.core.curves.needs import (
    extra_lenses_of,
    lenses_of,
    metrics_of,
    problem_of,
    some_rows,
    usual_lens,
    vectors_of,
)
from calcli.core.data.derived import gathered
from calcli.core.data.predictions import ArrayScores, Held, Predictions
from calcli.core.estimators.costs import parse_cost_word
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.evaluating.states import state_of
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import AUTO_LENS, WRONG_RIGHT
from calcli.core.language.figures import FIGURES, find_figures, standard_names
from calcli.core.language.settings import Settings
from calcli.core.state.state import predictions_of


def some_predictions(n: int = 300, k: int = 4) -> Predictions:
    rng = np.random.default_rng(1)
    probs = rng.dirichlet(np.ones(k), n)
    return Predictions(ArrayScores(probs, "probs"), rng.integers(0, k, n), tuple(map(str, range(k))))


@pytest.mark.parametrize(
    ("lens", "score"),
    [
        ("top-1", lambda probs: probs.max(1)),
        ("class-2", lambda probs: probs[:, 2]),
        ("top-2", lambda probs: np.sort(probs, axis=1)[:, -2]),
    ],
)
def test_regions_of_any_lens(lens, score):
    predictions = some_predictions()
    evaluation = evaluate(predictions, Settings(("accuracy",), draws=0, intervals=False))
    values = np.sort(score(predictions.scores.array))
    np.testing.assert_allclose(problem_of(evaluation, lens).score, values)
    inside = problem_of(evaluation, lens, "0.25..0.4").score
    np.testing.assert_allclose(inside, values[(values >= 0.25) & (values < 0.4)])
    with pytest.raises(UsageError, match="region with arrays: no row has a score"):
        problem_of(evaluation, lens, "0.9999..1")


def test_two_classes_are_looked_at_by_the_second_one():
    two, three = some_predictions(k=2), some_predictions(k=3)
    assert usual_lens([two]) == usual_lens([two, two]) == "class-1"
    assert usual_lens([three]) == usual_lens([two, three]) == "top-1"
    assert usual_lens([two, replace(two, classes=("cat", "dog"))]) == "top-1"
    assert usual_lens([replace(two, classes=WRONG_RIGHT)]) == "top-1"


def test_one_pass_brings_all_that_figures_look_at(monkeypatch):
    predictions, settings = some_predictions(), Settings(("accuracy",), draws=0, intervals=False)
    figures = find_figures(["simplex", "temperature", "calibration-map", "ks"])
    evaluation = evaluate(
        predictions, settings, extra_lenses=extra_lenses_of(figures, predictions, AUTO_LENS, settings)
    )
    later = evaluate(predictions, settings)
    for _ in range(2):  # of an evaluation that did not know of it, the rows are read again and kept
        expected = problem_of(later, "top-1"), vectors_of(later, "canonical")
        monkeypatch.delattr(Held, "blocks", raising=False)
    found = problem_of(evaluation, "top-1"), vectors_of(evaluation, "canonical")
    np.testing.assert_array_equal(found[0].score, expected[0].score)
    np.testing.assert_array_equal(found[1].probs, expected[1].probs)


def test_figures_of_rows_look_at_evenly_spaced_ones_of_many():
    few, many = (evaluate(some_predictions(n), Settings(("accuracy",), draws=0)) for n in (300, 25_000))
    kind = FIGURES["calibration-map"]
    assert some_rows(few, kind) is few.predictions
    rows, every = some_rows(many, kind), np.linspace(0, 24_999, 20_000).astype(int)
    np.testing.assert_array_equal(gathered(rows.scores).array, many.predictions.scores.array[every])
    np.testing.assert_array_equal(rows.labels, many.predictions.labels[every])
    assert rows.provenance.sampled_from == 25_000


def test_figures_of_rows_look_at_those_of_a_state():
    rows = some_predictions()
    found = some_rows(evaluate(predictions_of(state_of(rows))), FIGURES["temperature"])
    assert sorted(found.scores.array[:, 0]) == sorted(rows.scores.array[:, 0])


def test_figures_look_through_the_lenses_that_the_classes_have():
    figures = [FIGURES[name] for name in ("reliability", "risk", "rejection")]
    assert lenses_of(figures, some_predictions(k=2), "top-1", Settings()) == ("top-1", "class-1")
    assert lenses_of(figures, some_predictions(k=2), AUTO_LENS, Settings()) == ("class-1",)
    assert lenses_of(figures, some_predictions(k=4), AUTO_LENS, Settings()) == ("top-1",)
    assert lenses_of(figures, some_predictions(k=4), "class-3", Settings()) == ("class-3",)
    assert lenses_of(figures, some_predictions(k=4), "class-wise", Settings()) == ()
    assert lenses_of(figures[2:], some_predictions(k=4), "class-3", Settings()) == ()


def test_lenses_of_several_outcomes_have_no_problem():
    groups = {
        "three": {"0": "a", "1": "a", "2": "b", "3": "c"},
        "two": {"0": "a", "1": "b", "2": "a", "3": "b"},
    }
    evaluation = evaluate(
        some_predictions(), Settings(("accuracy",), draws=0, intervals=False, groups=groups)
    )
    for lens in ("canonical", "three"):
        with pytest.raises(UsageError, match=f"the lens {lens} has several outcomes"):
            problem_of(evaluation, lens)
    first = evaluation.predictions.scores.array[:, [0, 2]].sum(1)
    problem = problem_of(evaluation, "two")
    np.testing.assert_allclose(problem.score, np.sort(first), rtol=1e-15)
    hits = np.isin(evaluation.predictions.labels, [0, 2])
    np.testing.assert_array_equal(problem.outcome, hits[np.argsort(first)])
    assert lenses_of(find_figures(["ks"]), evaluation.predictions, "two", evaluation.settings) == ("two",)


def test_metrics_are_those_of_the_figures_unless_asked_for():
    """Fits are left out of large data."""
    predictions = some_predictions()
    assert metrics_of(find_figures(["ks", "slices"]), predictions, Settings()) == ("log_loss",)
    assert metrics_of(find_figures(["ks"]), predictions, Settings()) == ("accuracy",)
    asked = Settings(("brier",))
    assert metrics_of(find_figures(["scores"]), predictions, asked) == ("brier",)
    costs = Settings(costs=(parse_cost_word("balanced"),))
    found = metrics_of(find_figures(["scores"]), predictions, costs)
    assert found[-1] == "normalized_bayes_risk:costs=balanced"
    assert "relative_calibration_loss" in found
    rows = np.broadcast_to(predictions.scores.array[:1], (3_000_000, 4))
    large = replace(predictions, scores=ArrayScores(rows, "probs"))
    found = metrics_of(find_figures(["scores"]), large, Settings())
    assert "relative_calibration_loss" not in found
    assert "normalized_log_loss" in found


def test_standard_figures_look_through_the_lens():
    assert standard_names(2) == ["reliability", "deviation", "ks", "risk"]
    assert standard_names(3)[-2:] == ["class-wise", "simplex"]
    assert standard_names(10, "class-3") == ["reliability", "deviation", "ks"]
    assert standard_names(10, "class-wise") == ["class-wise"]
    assert standard_names(3, region="0.5..1") == ["reliability", "deviation", "ks"]


@pytest.mark.parametrize("lens", ["class-1", "top-2"])
def test_rows_without_weight_show_nothing(lens):
    weights = np.where(np.arange(300) % 3 == 0, 0.0, 2.0)
    weighted = replace(some_predictions(), weights=weights)
    own = weights > 0
    probs, labels = weighted.scores.array[own], weighted.labels[own]
    alone = replace(weighted, scores=ArrayScores(probs, "probs"), labels=labels, weights=weights[own])
    asked = Settings(("accuracy",), draws=0, intervals=False)
    found, expected = (problem_of(evaluate(rows, asked), lens) for rows in (weighted, alone))
    np.testing.assert_array_equal(found.score, expected.score)
    np.testing.assert_array_equal(found.outcome, expected.outcome)
    never = replace(weighted, weights=np.where(np.arange(300) == 0, 1.0, 0.0))
    unseen = int(np.argsort(never.scores.array[0])[0])
    with pytest.raises(UsageError, match=f"--lens predicted-{unseen}: no row of arrays has such a score"):
        problem_of(evaluate(never, asked), f"predicted-{unseen}")
