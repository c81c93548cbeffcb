"""The scale with the least log-loss, against scipy, and the folds that it tells without a fit to each."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, special

from calcli.core.calibrators.crossvalidation import LabeledScores, Rescored
from calcli.core.calibrators.fit.scale import derivatives, solve_folds
from calcli.core.calibrators.fit.training import prepare
from calcli.core.calibrators.temperature import Temperature
from calcli.core.data.predictions import ArrayScores
from calcli.core.data.units import stratified_folds


def drawn(rows, classes, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.normal(scale=2, size=(rows, classes))
    return 1.7 * truth, (truth + rng.gumbel(size=truth.shape)).argmax(axis=1)


def log_losses(scores, labels, alpha):
    return -special.log_softmax(alpha * scores, axis=1)[np.arange(len(labels)), labels]


def test_derivatives_are_those_of_the_log_loss():
    scores, labels = drawn(300, 5)
    weights = np.random.default_rng(1).uniform(0.5, 2, 300)
    part = np.arange(300) % 3
    rows = prepare(scores, labels, weights, normalize=False, keep_zeros=True)
    found = derivatives(rows, 0.6, part, 3).sums

    def by_part(alpha):
        return np.bincount(part, weights / weights.sum() * log_losses(scores, labels, alpha))

    step = 1e-3  # of central differences, whose error is its square
    below, at, above = (by_part(0.6 + d * step) for d in (-1, 0, 1))
    far_below, far_above = by_part(0.6 - 2 * step), by_part(0.6 + 2 * step)
    np.testing.assert_allclose(found[:, 0], at, rtol=1e-12)
    np.testing.assert_allclose(found[:, 1], (above - below) / (2 * step), atol=1e-6)
    np.testing.assert_allclose(found[:, 2], (above - 2 * at + below) / step**2, atol=1e-5)
    third = (far_above - 2 * above + 2 * below - far_below) / (2 * step**3)
    np.testing.assert_allclose(found[:, 3], third, atol=1e-4)


@pytest.mark.parametrize("rows", [400, 20_000])
def test_folds_are_solved_or_left_to_a_fit(rows):
    scores, labels = drawn(rows, 4)
    fold = stratified_folds(labels, 5, np.random.default_rng(0))
    fitted = Temperature().fit(scores, labels)
    prepared = prepare(scores, labels, None, normalize=False, keep_zeros=True)
    alpha = 1 / fitted.parameters["temperature"]
    found = dict(solve_folds(prepared, fold, alpha, 1e-6))
    assert len(found) == (5 if rows > 1000 else len(found))
    for number, own in found.items():
        outside = fold != number
        oracle = optimize.minimize_scalar(
            lambda a, o=outside: log_losses(scores[o], labels[o], a).mean(),
            bounds=(0.1, 2), method="bounded", options={"xatol": 1e-10},
        )  # fmt: skip
        assert own == pytest.approx(oracle.x, rel=2e-5)
        assert log_losses(scores[outside], labels[outside], own).mean() <= oracle.fun * (1 + 1e-10)


def test_few_rows_are_too_far_for_a_strict_tolerance():
    scores, labels = drawn(60, 4)
    fold = stratified_folds(labels, 5, np.random.default_rng(0))
    fitted = Temperature().fit(scores, labels)
    rows = prepare(scores, labels, None, normalize=False, keep_zeros=True)
    assert dict(solve_folds(rows, fold, 1 / fitted.parameters["temperature"], 1e-12)) == {}


@pytest.mark.parametrize("rows", [60, 5_000])
def test_held_out_fits_do_not_depend_on_the_fit_to_all_rows(rows):
    scores, labels = drawn(rows, 4, seed=3)
    data = LabeledScores(scores, labels)
    fold = stratified_folds(labels, 5, np.random.default_rng(0))
    told = data.left_out(Temperature().fit(scores, labels), fold)
    alone = data.left_out(Temperature(), fold)
    assert sorted(told) == sorted(alone) == list(range(5))
    for number, fitted in alone.items():
        expected = fitted.parameters["temperature"]
        assert told[number].parameters["temperature"] == pytest.approx(expected, rel=1e-6)


def test_rescored_is_what_each_fold_gets():
    scores, labels = drawn(500, 3)
    data = LabeledScores(scores, labels)
    fold = np.random.default_rng(0).integers(0, 3, 500)
    fits = data.left_out(Temperature(), fold)
    rescored = Rescored(ArrayScores(scores, "logits"), fits, fold)
    found = np.concatenate(list(rescored.blocks(37)))
    assert rescored.kind == "logits"
    for number, fitted in fits.items():
        own = fold == number
        np.testing.assert_allclose(
            special.log_softmax(found[own], axis=1), fitted.apply(scores[own]), atol=1e-12
        )
