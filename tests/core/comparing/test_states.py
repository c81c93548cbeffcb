"""States are compared like the predictions they are of, and only what rows alone can tell is left out."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from functools import cache

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from calcli.core.comparing.comparison import Plan, compare
from calcli.core.comparing.pairing import as_states, pair
from calcli.core.data.derived import select
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.evaluating.states import merge, state_of
from calcli.core.language.settings import Settings
from calcli.core.state.state import predictions_of

SCORES = ("log_loss", "brier", "accuracy", "mean_gap")
METRICS = (*SCORES, "auroc", "ece", "ks", "ece:lens=class-1", "cw_ece")
SETTINGS = Settings(metrics=METRICS, draws=199)


@cache
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
    return [predictions_of(state_of(system, SETTINGS)) for system in systems]


def differences(systems, paired=True, metrics=METRICS):
    (found,) = compare(systems, replace(SETTINGS, metrics=metrics), Plan(paired, ranked_by=metrics[0]))
    return found.differences[0]


@pytest.mark.parametrize(("rows", "worse"), [(800, 1.5), (24_000, 0.4)])
def test_states_tell_what_the_rows_tell(rows, worse):
    systems = two_systems(rows, worse)
    expected, found = (differences(own) for own in (systems, states_of(systems)))
    for name in METRICS:
        assert found[name].value == pytest.approx(
            expected[name].value, abs=1e-4 if name in ("auroc", "ks") else 1e-9
        )
    for name in (*SCORES, *(["auroc"] if rows == 800 else [])):
        own, ends = found[name].interval, expected[name].interval
        near = 1e-8 if rows == 800 else 0.1 * (ends.high - ends.low)  # in other deals
        assert (own.low, own.high) == pytest.approx((ends.low, ends.high), abs=near), name
    untested = {name for name in METRICS if math.isnan(found[name].p_value)}
    if rows == 800:  # errors are swapped row by row
        for name in METRICS:  # as text, in which nan is like nan
            assert repr(asdict(found[name])) == repr(asdict(expected[name]))
    else:
        assert {"ece", "cw_ece"} <= untested


@pytest.mark.parametrize("metric", ["auroc", "average_precision"])
@pytest.mark.parametrize("worse", [0.2, 0.4, 1.5])
def test_areas_of_states_are_as_uncertain_as_those_of_rows(worse, metric):
    systems = two_systems(24_000, worse)
    of_rows, of_states = (
        differences(own, metrics=(metric,))[metric] for own in (systems, states_of(systems))
    )
    width = [one.interval.high - one.interval.low for one in (of_rows, of_states)]
    assert width[1] == pytest.approx(width[0], rel=0.1)
    assert of_states.value == pytest.approx(of_rows.value, abs=1e-4)
    assert of_states.p_value == pytest.approx(of_rows.p_value, abs=0.1)


def test_influences_on_average_precision_are_those_of_the_second_class():
    """Their variance is that of redrawn rows, which is another one for the first class."""
    first, second = two_systems(2_000, 1.0)
    rng, found = np.random.default_rng(0), []
    for _ in range(200):
        rows = rng.integers(0, 2_000, 2_000)
        old, new = (
            average_precision_score(one.labels[rows], one.scores.array[rows, 1]) for one in (first, second)
        )
        found.append(new - old)
    interval = differences([first, second], metrics=("average_precision",))["average_precision"].interval
    assert (interval.high - interval.low) / 3.92 == pytest.approx(np.std(found), rel=0.15)


def test_systems_that_differ_within_cells_alone_are_not_proven_to_differ():
    first, second = states_of(two_systems(24_000, 0.2000001))
    same = states_of(two_systems(24_000, 0.2))[0]
    assert differences([first, same], metrics=("auroc",))["auroc"].verdict in ("equal", "undecided")
    assert differences([first, second], metrics=("auroc",))["auroc"].p_value > 0.001


def test_unpaired_states_of_other_sizes_are_compared_by_their_deals():
    first, second = states_of(two_systems(24_000))[0], states_of(two_systems(30_000, seed=1))[1]
    assert differences([first, second], paired=False, metrics=SCORES)["log_loss"].p_value > 0


def unlike(systems):
    return pair(systems).unlike


@pytest.mark.parametrize("rows", [800, 24_000])
def test_rows_are_matched_by_digests(rows):
    first, second = two_systems(rows)
    assert unlike(states_of([first, second])) == ""
    turned = replace(second, labels=second.labels[::-1])
    assert "different labels" in unlike(states_of([first, turned]))

    def part(own):
        return Predictions(ArrayScores(second.scores.array[own], "probs"), second.labels[own], second.classes)

    assert f"{rows - 1:,} rows" in unlike(states_of([first, part(slice(-1))]))
    parts = [state_of(part(own), SETTINGS) for own in (slice(0, rows // 3), slice(rows // 3, rows))]
    whole, merged, turned = (
        *states_of([first]),
        predictions_of(merge(parts)),
        predictions_of(merge(parts[::-1])),
    )
    few = rows == 800  # which stand in the order of their parts
    assert (unlike([whole, merged]) == "", unlike([merged, turned]) == "") == (few, not few)
    assert "different labels" in unlike([whole, turned])


def test_areas_of_merged_states_are_as_uncertain_as_those_of_the_whole():
    systems = two_systems(45_000)
    ends = slice(0, 21_000), slice(21_000, 45_000)
    parts = [
        [state_of(select(one, np.isin(np.arange(45_000), np.arange(45_000)[own])), SETTINGS) for own in ends]
        for one in systems
    ]
    merged = [predictions_of(merge(own)) for own in parts]
    found, expected = (differences(own, metrics=("auroc",))["auroc"] for own in (merged, states_of(systems)))
    assert found.value == pytest.approx(expected.value, rel=1e-9)
    width, other = (one.interval.high - one.interval.low for one in (found, expected))
    assert width == pytest.approx(other, rel=0.15)


def test_predictions_beside_a_state_become_one():
    first, second = two_systems(800)
    left = states_of([first])[0]
    found = as_states([left, second], SETTINGS)
    assert found[0] is left
    assert found[1].state.head.metrics == METRICS
    assert as_states([first, second], SETTINGS) == [first, second]
