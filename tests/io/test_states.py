"""State files give back the same bits, and say what is wrong with them."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
import pytest

from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.evaluating.states import merge, state_of
from calcli.core.language.errors import InputError
from calcli.core.language.settings import Settings
from calcli.io.saved.states import HEAD, from_bytes, load_state, save_state, to_bytes


def state(n, weighted=False, classes=3):
    rng = np.random.default_rng(n)
    logits = rng.normal(size=(n, classes)).astype(np.float32)
    weights = rng.gamma(1, size=n) if weighted else None
    names = tuple("abcdefghij"[:classes])
    rows = Predictions(ArrayScores(logits, "logits"), rng.integers(0, classes, n), names, weights)
    return state_of(rows, Settings(clip=1e-9, groups={"kind": {"a": "x", "b": "x", "c": "y"}}))


STATES = [(300, False), (300, True), (21_000, False), (21_000, True)]


@pytest.mark.parametrize(("rows", "weighted"), STATES)
def test_states_come_back(rows, weighted):
    own = state(rows, weighted)
    again = from_bytes(to_bytes(own))
    assert (again.head, again.parts, again.facts) == (own.head, own.parts, own.facts)
    assert to_bytes(again) == to_bytes(own)


@pytest.mark.parametrize("weighted", [False, True])
def test_states_of_sums_and_cells_come_back(weighted):
    own = state(21_000, weighted)
    assert own.body.cells["top-1"].count.sum() == 21_000
    assert to_bytes(from_bytes(to_bytes(own))) == to_bytes(own)


def test_merged_bits_are_those_of_stored_parts(tmp_path):
    first, second = state(21_000), state(300)
    save_state(first, tmp_path / "a.calcli")
    save_state(second, tmp_path / "b.calcli")
    stored = merge(load_state(tmp_path / name) for name in ("a.calcli", "b.calcli"))
    assert to_bytes(stored) == to_bytes(merge([first, second]))


def changed(data, change):
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        members = {name: file.read(name) for name in file.namelist()}
    head = json.loads(members[HEAD])
    change(head, members)
    members[HEAD] = json.dumps(head).encode()
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    return target.getvalue()


def npy(array):
    target = io.BytesIO()
    np.save(target, array, allow_pickle=True)
    return target.getvalue()


DAMAGES = {
    "no labels": lambda head, members: members.pop("rows/labels.npy"),
    "another class": lambda head, members: head["head"]["classes"].pop(),
    "a pickle": lambda head, members: members.update({"rows/labels.npy": npy(np.array([{}], object))}),
    "a short column": lambda head, members: members.update({"rows/columns/hit.npy": npy(np.zeros(3))}),
    "an unknown field": lambda head, members: head["head"].update(color="red"),
    "another thing": lambda head, members: head.update(schema="calcli.calibrator/1"),
    "no head": lambda head, members: head.clear(),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_states_are_refused_in_a_sentence(damage):
    data = changed(to_bytes(state(300)), damage)
    with pytest.raises(InputError, match=r"day\.calcli(: the array| is damaged| is not a state)"):
        from_bytes(data, "day.calcli")


@pytest.mark.parametrize("change", [{"facts": "worst_row_sum"}, {"head": "clip"}])
def test_numbers_changed_by_hand_are_refused(change):
    def larger(head, members):
        for part, name in change.items():
            head[part][name] += 1

    with pytest.raises(InputError, match=r"day\.calcli is damaged.*checksum"):
        from_bytes(changed(to_bytes(state(300)), larger), "day.calcli")


@pytest.mark.parametrize("rows", [300, 21_000])
def test_cut_and_flipped_bytes_are_refused(rows):
    data = to_bytes(state(rows))
    for broken in (b"", data[: len(data) // 2], data[:5000] + bytes([data[5000] ^ 255]) + data[5001:]):
        with pytest.raises(InputError, match="damaged"):
            from_bytes(broken)


@pytest.mark.parametrize("version", ["1", "3"])
def test_states_of_other_versions_are_refused_by_version(version):
    data = changed(to_bytes(state(300)), lambda head, members: head.update(schema=f"calcli.state/{version}"))
    with pytest.raises(InputError, match=f"version {version} of the state format; .* make it again"):
        from_bytes(data)


def test_names_of_states_end_as_they_should(tmp_path):
    with pytest.raises(InputError, match=r"end in \.calcli"):
        save_state(state(300), tmp_path / "x.npz")
    with pytest.raises(InputError, match="no such file"):
        load_state(tmp_path / "none.calcli")
