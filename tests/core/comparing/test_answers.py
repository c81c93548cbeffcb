"""Answers of two systems to the same questions: each is right or wrong by itself, and they stay paired."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

from calcli.core.comparing.comparison import Plan, compare, usually_compared
from calcli.core.comparing.pairing import pair
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.language.errors import InputError
from calcli.core.language.expressions import WRONG_RIGHT
from calcli.core.language.settings import PairSettings, Settings


def answers(confidence, right):
    scores = ArrayScores(np.column_stack([1 - confidence, confidence]), "probs")
    return Predictions(scores, right.astype(np.int32), WRONG_RIGHT)


@pytest.fixture
def two():
    """Return two systems that mostly answer the same questions right; the second is 3 points better."""
    rng = np.random.default_rng(8)
    confidence = rng.uniform(0.2, 1, 1500)
    right = rng.random(1500) < confidence
    better = right | (rng.random(1500) < 0.06)
    return answers(confidence, right), answers(np.clip(confidence + 0.02, 0, 1), better)


def differences(systems, *names, **settings):
    asked = Settings(metrics=names, draws=199, **settings)
    return compare(systems, asked, Plan(ranked_by=names[0]))[0].differences[0]


def test_what_is_right_may_differ_but_not_the_questions(two):
    assert pair(two).systems == two
    first, second = (replace(system, columns={"id": np.arange(1500)}) for system in two)
    assert pair([first, replace(second, labels=1 - second.labels)]).unmatched == (0, 0)
    turned = replace(second, columns={"id": np.arange(1500)[::-1]})
    with pytest.raises(InputError, match="--key id"):
        pair([first, turned])
    assert pair([first, turned], PairSettings(key="id")).unmatched == (0, 0)


def test_intervals_are_those_of_paired_differences(two):
    """Each question brings what it does to both systems, though other ones are right."""
    found = differences(two, "accuracy", "brier")
    first, second = (next(system.scores.blocks(9999))[:, 1] for system in two)
    right = [system.labels for system in two]
    for name, each in {
        "accuracy": right[1] - right[0],
        "brier": (second - right[1]) ** 2 - (first - right[0]) ** 2,
    }.items():
        interval = found[name].interval
        paired = stats.norm.ppf(0.975) * each.std() / np.sqrt(len(each))
        assert (interval.high - interval.low) / 2 == pytest.approx(paired, rel=0.06)
        assert interval.contains(each.mean())


def test_areas_are_compared_with_their_own_outcomes(two):
    found = differences(two, "auroc")["auroc"]
    scores = [next(system.scores.blocks(9999))[:, 1].copy() for system in two]
    areas = [metrics.roc_auc_score(system.labels, own) for system, own in zip(two, scores, strict=True)]
    assert (found.baseline, found.candidate) == pytest.approx(tuple(areas))
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(150):
        rows = rng.integers(0, 1500, 1500)
        pairs = zip(two, scores, strict=True)
        once, twice = (metrics.roc_auc_score(system.labels[rows], own[rows]) for system, own in pairs)
        drawn.append(twice - once)
    half = stats.norm.ppf(0.975) * np.std(drawn)
    assert (found.interval.high - found.interval.low) / 2 == pytest.approx(half, rel=0.15)


def test_errors_alike_are_not_told_apart(two):
    """Errors of a system against itself are equal, and not tested."""
    usual = usually_compared(two[0])
    assert "cw_ece" not in usual
    found = differences((two[0], two[0]), "ece", "ks", "corp_miscalibration")
    assert all(one.value == 0 and one.verdict == "untested" for one in found.values())
