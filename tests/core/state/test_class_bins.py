"""Sums over the bins of every class do not depend on how many blocks are added up at once."""

from __future__ import annotations

from dataclasses import astuple
from unittest import mock

import numpy as np

from calcli.core.data import blocks as all_blocks
from calcli.core.data.blocks import blocks
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.state import collectors
from calcli.core.state.collectors import ClassBins


def test_blocks_of_single_precision_are_added_up_in_double(monkeypatch):
    monkeypatch.setattr(all_blocks, "BLOCK_BYTES", 1 << 12)
    monkeypatch.setattr(all_blocks, "DOUBLE_LIMIT", 1_000)
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([1, 1, 1], 20_000).astype(np.float32)
    rows = Predictions(ArrayScores(probs, "probs"), rng.integers(0, 3, 20_000), ("a", "b", "c"))

    def added(at_once):
        table = ClassBins(rows, 15)
        with mock.patch.object(collectors, "FLUSH_SIZE", at_once):
            for block in blocks(rows):
                assert block.exp.dtype == np.float32
                table.add(block)
            return table.bins()

    one, other = added(1), added(1 << 30)
    for first, second in zip(astuple(one), astuple(other), strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-12)
    np.testing.assert_allclose(one.score.sum(1), probs.sum(0, dtype=np.float64), rtol=1e-6)


def test_an_empty_first_bin_has_no_weight_whatever_the_rounding():
    rng = np.random.default_rng(3)
    probs = 0.4 + 0.2 * rng.random(200)  # of two classes: none in the first of five bins
    scores, labels = np.column_stack([1 - probs, probs]), rng.integers(0, 2, 200)
    for _ in range(50):
        weights = rng.exponential(size=200)
        rows = Predictions(ArrayScores(scores, "probs"), labels, ("a", "b"), weights)
        table = ClassBins(rows, 5)
        for block in blocks(rows):
            table.add(block)
        assert table.bins().weight[:, 0].tolist() == [0, 0]
