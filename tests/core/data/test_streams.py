"""Streams of chance: what each draws is fixed, and nothing draws from anything else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import calcli
from calcli.core.data.chance import Stream, generator


@pytest.mark.parametrize("stream", Stream)
def test_a_stream_is_the_seed_and_its_number(stream: Stream) -> None:
    expected = np.random.default_rng([7, stream.value]).integers(0, 2**60, 5)
    assert (generator(7, stream).integers(0, 2**60, 5) == expected).all()


def test_the_first_stream_is_the_seed_alone() -> None:
    expected = np.random.default_rng(7).integers(0, 2**60, 5)
    assert (generator(7, Stream.SIMULATION).integers(0, 2**60, 5) == expected).all()


def test_numbered_parts_begin_with_the_stream_itself() -> None:
    first, other = (generator(7, Stream.OUTCOMES, part).integers(0, 2**60, 5) for part in (0, 1))
    assert (generator(7, Stream.OUTCOMES).integers(0, 2**60, 5) == first).all()
    assert (first != other).any()


def test_all_chance_comes_from_streams() -> None:
    root = Path(calcli.__file__).parent
    drawing = [path.name for path in root.rglob("*.py") if "default_rng" in path.read_text()]
    assert drawing == ["chance.py"]
