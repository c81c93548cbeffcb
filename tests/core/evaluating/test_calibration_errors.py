"""Calibration errors at their ends: regions up to one or without rows, too few rows for pairs, signs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.settings import Settings


def errors(predictions, *names, **settings):
    asked = Settings(metrics=names, intervals=False, **{"draws": 0, **settings})
    return evaluate(predictions, asked).estimates


def test_a_region_reaches_up_to_one(binary):
    names = ("ece:lens=class-1:region=0.9..1", "ece:lens=class-1:region=0.5..0.9")
    found = errors(binary([1.0, 1.0, 0.9, 0.5], [0, 0, 0, 0]), *names)
    assert [found[name].value for name in names] == pytest.approx([2.9 / 3, 0.5])


def test_a_region_without_rows_has_no_error(binary):
    found = errors(binary([0.4, 0.6], [0, 1]), "ks:region=0.9..1", "ks", draws=9, sd=True)
    assert math.isnan(found["ks:region=0.9..1"].value)
    assert found["ks:region=0.9..1"].if_calibrated is None
    assert found["ks"].value == pytest.approx(0.4)


def test_pairs_need_two_rows(predict):
    names = ("skce", "skce:estimator=block")
    for rows, defined in [(1, [False, False]), (2, [True, True])]:
        found = errors(predict([[0.6, 0.4]] * rows, [0] * rows), *names, draws=9)
        assert [not math.isnan(found[name].value) for name in names] == defined
        assert [found[name].if_calibrated is not None for name in names] == defined


def test_gaps_of_one_sign_add_up_to_the_mean_gap(binary):
    rng = np.random.default_rng(1)
    score = np.repeat([0.6, 0.7, 0.8, 0.9], 200)
    outcome = np.concatenate([rng.permutation(200) < rate * 200 for rate in (0.5, 0.65, 0.7, 0.9)])
    for hits, sign in [(outcome, 1), (np.ones(800), -1)]:
        found = errors(binary(score, hits.astype(int)), "ks", "mean_gap")
        # Gupta et al. 2021, equation 8
        assert found["ks"].value == pytest.approx(abs(found["mean_gap"].value), abs=1e-12)
        assert found["ks"].parts["signed"] == pytest.approx(found["mean_gap"].value, abs=1e-12)
        assert found["ks"].parts["signed"] * sign > 0
