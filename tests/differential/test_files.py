"""Some dozens of the random files, and whether a wrong value would be seen."""

from __future__ import annotations

import dataclasses

import pytest

from tests.differential import comparing
from tests.differential.files import draw


@pytest.mark.parametrize("seed", range(48))
def test_values_are_those_of_others(seed, tmp_path):
    assert list(comparing.differences(seed, tmp_path)) == []


def test_a_wrong_value_is_seen(tmp_path, monkeypatch):
    def other(seed, folder):
        drawn = draw(seed, folder)
        probs = drawn.probs.copy()
        probs[0] = probs[0][::-1]
        return dataclasses.replace(drawn, probs=probs)

    monkeypatch.setattr(comparing, "draw", other)
    assert any("brier is" in one for one in comparing.differences(1, tmp_path))


def test_a_seed_gives_a_file_again(tmp_path):
    for name in ("once", "again"):
        (tmp_path / name).mkdir()
    once, again, other = (
        draw(seed, tmp_path / name) for seed, name in ((3, "once"), (3, "again"), (4, "again"))
    )
    assert once.path.read_bytes() == again.path.read_bytes()
    assert once.told == again.told != other.told
