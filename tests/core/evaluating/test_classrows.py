"""The table of the classes, tested and not."""

from __future__ import annotations

import numpy as np

from calcli.core.evaluating import classwise
from calcli.core.evaluating.classwise import ENOUGH_OF_CLASS, rows_needed
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.settings import Settings


def rows_of(predict, probs, labels, **settings):
    return evaluate(predict(probs, labels), Settings(metrics=("accuracy",), **settings)).summary.per_class


def test_a_class_that_is_off_is_found_and_a_rare_one_is_not_judged(predict):
    rng = np.random.default_rng(0)
    probs = np.concatenate([rng.dirichlet([4, 2, 2], 1000) * 0.99, np.full((1000, 1), 0.01)], 1)
    labels = (rng.random((1000, 1)) > np.cumsum(probs, 1)[:, :-1]).sum(1)
    moved = probs @ np.array([[0.7, 0.3, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    plain = rows_of(predict, moved, labels)
    assert [row.if_calibrated for row in plain] == [None] * 4
    tested = rows_of(predict, moved, labels, test=True, draws=199)
    first, second, third, rare = (row.if_calibrated for row in tested)
    assert (first.p_value, second.p_value) == (0.005, 0.005)
    assert (first.corrected_p, second.corrected_p) == (0.015, 0.015), "of three classes with rows enough"
    assert third.p_value == third.corrected_p > 0.05
    assert rare.corrected_p is None
    assert rare.p_value <= 1
    share = max(tested[3].frequency, tested[3].mean_prob)
    needed = rows_needed(tested)
    assert share * needed >= ENOUGH_OF_CLASS > share * (needed - 1)


def test_a_class_that_is_expected_but_never_occurs_is_judged(predict):
    probs = np.full((200, 3), [0.5, 0.3, 0.2])
    row = rows_of(predict, probs, [0, 1] * 100, test=True, draws=199)[2]
    assert row.rows == 0
    assert row.if_calibrated.corrected_p == 0.015


def many_classes_off(n=3000, classes=60):
    rng = np.random.default_rng(1)
    logits = rng.normal(scale=2, size=(n, classes))
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(1)
    sharp = np.exp(3 * logits)
    return sharp / sharp.sum(1, keepdims=True), labels


def test_many_classes_take_more_draws_so_that_they_can_be_found(predict):
    rows = rows_of(predict, *many_classes_off(), test=True, draws=9)
    corrected = [row.if_calibrated.corrected_p for row in rows]
    assert {row.if_calibrated.draws for row in rows} == {2399}
    assert sum(p <= 0.05 for p in corrected if p is not None) > 30


def test_classes_without_rows_enough_take_no_more_draws(predict):
    probs, labels = many_classes_off(n=20, classes=400)
    assert {row.if_calibrated.draws for row in rows_of(predict, probs, labels, test=True, draws=9)} == {9}


def test_so_many_only_as_can_be_afforded(predict, monkeypatch):
    monkeypatch.setattr(classwise, "MOST_DRAWN", 3000 * 20)
    rows = rows_of(predict, *many_classes_off(), test=True, draws=9)
    assert {row.if_calibrated.draws for row in rows} == {20}
