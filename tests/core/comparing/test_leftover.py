"""States are compared like the predictions they are of, and only what rows alone can tell is left out."""

from __future__ import annotations

import numpy as np
import pytest

from calcli.core.comparing.contest import Contest
from calcli.core.comparing.leftover import as_states, unlike_rows
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.estimators.evidence import Untested
from calcli.core.evaluating.gathering import state_of
from calcli.core.language.expressions import parse_metric
from calcli.core.language.settings import Settings
from calcli.core.state.merging import merge
from calcli.core.state.state import left_of

METRICS = ("log_loss", "brier", "accuracy", "mean_gap", "auroc", "ece", "ks", "ece:lens=class-1", "cw_ece")
SETTINGS = Settings(metrics=METRICS, draws=199)


def two_systems(n, worse=0.4, seed=0):
    rng = np.random.default_rng(seed)
    logit = 2 * rng.normal(size=n)
    labels = (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(np.intp)
    found = []
    for noise in (0.2, worse):
        prob = 1 / (1 + np.exp(-logit - noise * rng.normal(size=n)))
        scores = ArrayScores(np.stack([1 - prob, prob], axis=1), "probs")
        found.append(Predictions(scores, labels, ("no", "yes")))
    return found


def states_of(systems):
    return [left_of(state_of(system, SETTINGS)) for system in systems]


def evidence(systems, name, paired=True):
    contest = Contest(systems, SETTINGS, paired)
    return contest.evidence(parse_metric(name, SETTINGS.defaults), 0, 1)


@pytest.mark.parametrize("rows", [800, 24_000])
def test_scores_have_the_intervals_of_the_rows(rows):
    systems = two_systems(rows)
    for name in ("log_loss", "brier", "accuracy", "mean_gap"):
        expected, found = (evidence(own, name).interval(0.95) for own in (systems, states_of(systems)))
        assert found.low == pytest.approx(expected.low, abs=1e-8)
        assert found.high == pytest.approx(expected.high, abs=1e-8)


def test_areas_of_few_rows_have_the_interval_of_the_rows():
    systems = two_systems(800)
    expected, found = (evidence(own, "auroc").interval(0.95) for own in (systems, states_of(systems)))
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)


@pytest.mark.parametrize("worse", [0.2, 0.4, 1.5])
def test_areas_of_deals_are_as_uncertain_as_those_of_rows_or_a_little_more(worse):
    systems = two_systems(24_000, worse)
    expected, found = (evidence(own, "auroc") for own in (systems, states_of(systems)))
    width = [one.interval(0.95).high - one.interval(0.95).low for one in (expected, found)]
    assert 0.9 < width[1] / width[0] < 1.35  # 1,999 deals alone make it vary by 3%


def test_systems_that_differ_within_cells_alone_are_not_proven_to_differ():
    first, second = states_of(two_systems(24_000, 0.2000001))
    same = states_of(two_systems(24_000, 0.2))[0]
    assert evidence([first, same], "auroc").p_value() == pytest.approx(1)
    assert evidence([first, second], "auroc").p_value() > 0.001


@pytest.mark.parametrize("name", ["ece", "ks", "ece:lens=class-1"])
def test_errors_are_swapped_row_by_row(name):
    systems = two_systems(800, 1.5)
    expected, found = (evidence(own, name) for own in (systems, states_of(systems)))
    assert found.difference == pytest.approx(expected.difference, abs=1e-12)
    assert found.p_value() == pytest.approx(expected.p_value(), abs=0.02)


@pytest.mark.parametrize(("rows", "name"), [(800, "cw_ece"), (24_000, "cw_ece"), (24_000, "ece")])
def test_what_only_rows_can_tell_is_not_tested(rows, name):
    assert isinstance(evidence(states_of(two_systems(rows)), name), Untested)


def test_unpaired_states_of_other_sizes_are_compared_by_their_deals():
    first, second = states_of(two_systems(24_000))[0], states_of(two_systems(30_000, seed=1))[1]
    assert evidence([first, second], "log_loss", paired=False).p_value() > 0


def test_rows_are_matched_by_digests():
    for rows in (800, 24_000):
        first, second = two_systems(rows)
        assert unlike_rows(states_of([first, second])) == ""
        turned = Predictions(second.scores, second.labels[::-1], second.classes)
        assert "different labels" in unlike_rows(states_of([first, turned]))
        fewer = Predictions(
            ArrayScores(second.scores.array[:-1], "probs"), second.labels[:-1], second.classes
        )
        assert "799 rows" in unlike_rows(states_of([first, fewer])) or rows > 800


def test_merged_parts_match_the_whole():
    first, second = two_systems(30_000)
    scores, labels = second.scores.array, second.labels
    parts = [
        state_of(Predictions(ArrayScores(scores[own], "probs"), labels[own], second.classes), SETTINGS)
        for own in (slice(0, 9_000), slice(9_000, 30_000))
    ]
    assert unlike_rows([*states_of([first]), left_of(merge(parts))]) == ""
    assert "order" in unlike_rows([*states_of([first]), left_of(merge(parts[::-1]))])


def test_predictions_beside_a_state_become_one():
    first, second = two_systems(800)
    left = states_of([first])[0]
    found = as_states([left, second], SETTINGS)
    assert found[0] is left
    assert found[1].state.head.metrics == METRICS
    assert as_states([first, second], SETTINGS) == [first, second]
