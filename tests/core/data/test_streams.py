"""Streams of chance: what each draws is fixed, and nothing draws from anything else."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import calcli
from calcli.core.data.chance import Stream, generator


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
    assert drawing == ["chance.py"]
