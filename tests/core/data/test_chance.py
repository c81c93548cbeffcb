"""Streams of chance draw labels from their probabilities, in batches that cover every draw."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calcli
from calcli.core.data.arrays import Stream, batches, draw_labels, generator


def test_a_stream_is_the_seed_and_its_number_and_begins_with_part_0() -> None:
    def drawn(rng: np.random.Generator) -> list[int]:
        return rng.integers(0, 2**60, 5).tolist()

    for stream in Stream:
        found = drawn(generator(7, stream))
        assert found == drawn(np.random.default_rng([7, stream.value])) == drawn(generator(7, stream, 0))
        assert found != drawn(generator(7, stream, 1))
    assert drawn(generator(7, Stream.SIMULATION)) == drawn(np.random.default_rng(7))


def test_all_chance_comes_from_streams() -> None:
    root = Path(calcli.__file__).parent
    drawing = [path.name for path in root.rglob("*.py") if "default_rng" in path.read_text()]
    assert drawing == ["arrays.py"]


def test_labels_occur_as_often_as_predicted():
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(40), 2000)  # several blocks of rows
    draws = 50
    labels = draw_labels(probs, draws, rng)
    drawn = np.bincount(labels.ravel(), minlength=40)
    expected = draws * probs.sum(0)
    deviation = (drawn - expected) / np.sqrt(draws * (probs * (1 - probs)).sum(0))
    assert np.abs(deviation).max() < 4


def test_rows_are_drawn_from_their_own_probabilities():
    labels = draw_labels(np.array([[0.2, 0.8], [0.7, 0.3]]), 40_000, np.random.default_rng(1))
    assert labels.mean(1) == pytest.approx([0.8, 0.3], abs=0.01)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_impossible_classes_are_never_drawn(dtype):
    probs = np.tile(np.array([[0, 0.5, 0, 0.5, 0], [0, 0, 1, 0, 0]], dtype), (500, 1))
    labels = draw_labels(probs, 100, np.random.default_rng(2))
    assert set(labels[::2].ravel()) == {1, 3}
    assert set(labels[1::2].ravel()) == {2}


@given(st.integers(0, 40), st.integers(1, 9), st.integers(1, 99))
def test_batches_cover_everything_once_in_order(number, size, most):
    found = [range(number)[one] for one in batches(number, size, most)]
    assert [i for one in found for i in one] == list(range(number))
    assert all(len(one) * size <= max(most, size) for one in found)
