"""Some dozens of the random files, and whether a wrong value would be seen."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from calcli.core.language.errors import CalcliError
from tests.differential import comparing, untangling
from tests.differential.files import draw
from tests.differential.tangled import tangled


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


def right_or_refused(seed, folder):
    try:
        return list(untangling.differences(tangled(seed, folder)))
    except CalcliError:
        return ["refused"]


def test_tangled_files_are_read_right_or_refused(tmp_path):
    found = [right_or_refused(seed, tmp_path) for seed in range(48)]
    assert [one for one in found if one not in ([], ["refused"])] == []
    assert found.count([]) > 0.6 * len(found)  # others have labels such as 0.5, or ranks of other numbers


def test_a_wrong_value_of_a_tangled_file_is_seen(tmp_path):
    drawn = tangled(2, tmp_path)
    other = dataclasses.replace(drawn, labels=np.roll(drawn.labels, 1))
    assert any("log_loss is" in one for one in untangling.differences(other))
