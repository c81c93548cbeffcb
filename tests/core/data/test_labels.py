"""Labels that are read anew stand for an array."""

from __future__ import annotations

import numpy as np
import pytest

from calcli.core.data.labels import StreamedLabels, in_order

LABELS = np.random.default_rng(0).integers(0, 5, 100).astype(np.int32)


@pytest.fixture
def streamed():
    read = []

    def parts():
        read.append(len(read))
        return iter(np.split(LABELS, [3, 3, 50]))

    found = StreamedLabels(len(LABELS), parts)
    found.__dict__["times"] = read
    return found


@pytest.mark.parametrize("step", [1, 7, 50, 100])
def test_slices_in_order(streamed, step):
    for labels in (streamed, LABELS):
        take = in_order(labels)
        found = [take(slice(start, min(start + step, 100))) for start in range(0, 100, step)]
        np.testing.assert_array_equal(np.concatenate(found), LABELS)
    assert len(streamed.times) == 1


def test_it_is_an_array_to_others(streamed):
    np.testing.assert_array_equal(streamed[:9], LABELS[:9])
    assert streamed[:100] is streamed[:] is streamed
    streamed.times.clear()
    chosen = np.array([True, False] * 50)
    for found, expected in (
        (streamed == 3, LABELS == 3),
        (1 - streamed, 1 - LABELS),
        (np.arange(500).reshape(100, 5)[np.arange(100), streamed], np.arange(0, 500, 5) + LABELS),
        (np.bincount(streamed), np.bincount(LABELS)),
        (streamed[chosen], LABELS[chosen]),
        (streamed[4:9], LABELS[4:9]),
        (streamed.astype(np.uint8), LABELS.astype(np.uint8)),
        (streamed.max(), LABELS.max()),
        (np.array(list(streamed)), LABELS),
    ):
        np.testing.assert_array_equal(found, expected)
    assert len(streamed) == 100
    assert streamed.shape == (100,)
    assert len(streamed.times) == 1, "it is read once"
