"""The table of weights: each is used, and moving one, all, or the words never misreads in silence."""

from __future__ import annotations

import copy
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

from calcli.io.options import ReadOptions
from calcli.io.reading import choose, decision, readings
from calcli.io.reading.facts import Facts
from calcli.io.reading.tablehead import head_of_table
from calcli.io.reading.weights import DOUBTS, MARGIN, REMARK, WEIGHTS
from calcli.io.tables.table import in_memory
from calcli.io.words import ROLES
from tests.io.reading.shapes import shapes

NOTHING = ReadOptions()


@cache
def enumerated(seed):
    """Return all readings of each shape, with its head."""
    found = {}
    for name, shape in shapes(seed).items():
        head = head_of_table(in_memory(name, pa.table(shape.columns)), NOTHING)
        single = [one for one in head.sources if not one.many]
        found[name] = head, readings.enumerated(Facts(head, single), head.sources, NOTHING)
    return found


def judged(seed, factors):
    """Return how many shapes are right, asked, and misread in silence, where weights are moved."""
    counts = {"right": 0, "asked": 0, "wrong": 0}
    for name, (head, every) in enumerated(seed).items():
        moved = [copy.copy(one) for one in every]
        for one in moved:
            one.__dict__["parts"] = {
                weight: value * factors.get(weight, 1.0) for weight, value in one.parts.items()
            }
        verdict, shape = decision.decided(moved, NOTHING, head), shapes(seed)[name]
        if verdict.asks:
            counts["asked"] += 1
            continue
        best = verdict.readings[0].candidate
        right = bool(shape.label) and best.label == shape.label
        right = right and np.isclose(-np.log(best.q).mean(), -np.log(shape.true).mean(), atol=1e-4)
        counts["right" if right else "asked" if verdict.notes else "wrong"] += 1
    return counts


def test_each_weight_has_a_line_that_says_what_it_means():
    for name, weight in WEIGHTS.items():
        assert np.isfinite(weight.worth)
        assert len(weight.meaning.split()) > 3, name
        assert {*weight.option.split()} <= {*ReadOptions.__dataclass_fields__}, name
    assert {option for doubt in DOUBTS.values() for option in doubt.option.split()} <= {
        *ReadOptions.__dataclass_fields__
    }
    assert 0 < REMARK < MARGIN < WEIGHTS["nothing"].worth


@pytest.mark.parametrize("factor", [0.75, 1.25])
@pytest.mark.parametrize("weight", WEIGHTS)
def test_a_weight_that_is_moved_misreads_nothing_in_silence(weight, factor):
    counts = judged(1, {weight: factor})
    assert counts["wrong"] == 0
    assert counts["right"] >= 0.9 * judged(1, {})["right"]


@pytest.mark.parametrize("seed", range(8))
def test_noise_on_all_weights_misreads_nothing_in_silence(seed):
    rng = np.random.default_rng(seed)
    factors = dict(zip(WEIGHTS, np.exp(rng.normal(0, 0.15, len(WEIGHTS))), strict=True))
    counts = judged(1 + seed % 2, factors)
    assert counts["wrong"] == 0
    assert counts["right"] >= 0.85 * judged(1 + seed % 2, {})["right"]


@pytest.mark.parametrize("part", ["ranked", "calibrated", "share", "same event", "probability word"])
def test_evidence_of_one_kind_is_no_veto(part):
    """Without it nearly all is read or asked about: the parts of the sum stand in for one another."""
    counts = judged(1, {part: 0.0})
    assert counts["wrong"] == 0
    assert counts["right"] >= 0.6 * judged(1, {})["right"]


@pytest.mark.parametrize("seed", range(4))
def test_forgotten_words_misread_nothing_in_silence(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    for role, words in ROLES.items():
        monkeypatch.setitem(ROLES, role, frozenset(word for word in sorted(words) if rng.random() > 0.2))
    wrong = []
    for name, shape in shapes(1).items():
        head = head_of_table(in_memory(name, pa.table(shape.columns)), NOTHING)
        single = [one for one in head.sources if not one.many]
        for function in (choose.label_evidence, choose.score_evidence, readings.event, readings.scored_event):
            function.cache_clear()
        verdict = decision.decided(
            readings.enumerated(Facts(head, single), head.sources, NOTHING), NOTHING, head
        )
        best = verdict.readings[0].candidate if verdict.readings else None
        if name in ("two systems", "standard and augmented", "two measures"):
            continue  # only words tell systems from a score and its like, and measures from probabilities
        if best is not None and not verdict.asks and not verdict.notes and best.label != shape.label:
            wrong.append(name)
    for function in (choose.label_evidence, choose.score_evidence, readings.event, readings.scored_event):
        function.cache_clear()
    assert wrong == []
