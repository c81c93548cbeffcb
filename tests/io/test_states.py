"""State files give back the same bits, and say what is wrong with them."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
import pytest

from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.evaluating.evaluate import state_of
from calcli.core.language.errors import InputError
from calcli.core.language.settings import Settings
from calcli.core.state import state as states
from calcli.core.state.merging import merge
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


def test_states_on_the_grid_come_back(monkeypatch):
    monkeypatch.setattr(states, "CELLS", 100)
    for weighted in (False, True):
        own = state(21_000, weighted)
        assert not own.body.cells["top-1"].exact
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
    with pytest.raises(InputError, match=r"day\.calcli(: the array| is damaged, or not a state)"):
        from_bytes(data, "day.calcli")


def array(name, make):
    return lambda head, members: members.update({f"{name}.npy": npy(make(np.zeros(300)))})


CHANGES = {  # found by tests/hostile
    "labels that are no integers": array("rows/labels", lambda zeros: zeros),
    "negative labels": array("rows/labels", lambda zeros: zeros.astype(int) - 1),
    "hits that are no flags": array("rows/columns/hit", lambda zeros: zeros),
    "confidences of 2": array("rows/columns/confidence", lambda zeros: zeros + 2),
    "losses that are no numbers": array("rows/columns/log_loss", lambda zeros: zeros + np.nan),
    "losses below 0": array("rows/columns/log_loss", lambda zeros: zeros - 2.21),
    "confidences that are flags": array("rows/columns/confidence", lambda zeros: zeros > 0),
    "complex losses": array("rows/columns/brier", lambda zeros: zeros + 1j),
    "text": array("rows/columns/brier", lambda zeros: zeros.astype("U8")),
    "fewer rows than its parts": lambda head, members: head["parts"][0].update(rows=299),
    "rows that are no number": lambda head, members: head["parts"][0].update(rows=300.0),
    "a first row below 0": lambda head, members: head["parts"][0].update(first=-1),
    "a first row that no integer holds": lambda head, members: head["parts"][0].update(first=10**30),
    "a run that is no text": lambda head, members: head["parts"][0].update(run=3),
    "a class twice": lambda head, members: head["head"].update(classes=["a", "b", "a"]),
    "classes that are no text": lambda head, members: head["head"].update(classes=[1, 2, 3]),
    "an unknown kind": lambda head, members: head["head"].update(kind="percent"),
    "an unknown type": lambda head, members: head["head"].update(computed_in="float16"),
    "a type of scores that is none": lambda head, members: head["head"].update(dtype="p_*"),
    "a type of scores that is text": lambda head, members: head["head"].update(dtype="U8"),
    "confidences in half precision": array("rows/columns/confidence", lambda zeros: zeros.astype("f2")),
    "clip above 1": lambda head, members: head["head"].update(clip=1e308),
    "a sum of rows below 0": lambda head, members: head["facts"].update(worst_row_sum=-1),
    "bins that hold more than their rows": lambda head, members: members.update(
        {"bins/15/score.npy": npy(np.full((3, 15), 1e290))}
    ),
    "rows without scores in the sample": lambda head, members: members.update(
        {"sample/scores.npy": npy(np.full((300, 3), -np.inf, np.float32))}
    ),
    "scores in the sample whose sum overflows": lambda head, members: members.update(
        {"sample/scores.npy": npy(np.full((300, 3), 1e308))}
    ),
    "a sample without rows": lambda head, members: head.update(below=0),
    "a head of an array that goes on": lambda head, members: members.update(
        {"rows/labels.npy": npy(np.zeros(300, int)).replace(b"}", b"(", 1)}
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_numbers_that_no_state_has_are_refused(change):
    with pytest.raises(InputError, match=r"day\.calcli"):
        from_bytes(changed(to_bytes(state(300)), change), "day.calcli")


@pytest.mark.parametrize("rows", [300, 21_000])
def test_cut_and_flipped_bytes_are_refused(rows):
    data = to_bytes(state(rows))
    for broken in (b"", data[: len(data) // 2], data[:5000] + bytes([data[5000] ^ 255]) + data[5001:]):
        with pytest.raises(InputError, match="damaged"):
            from_bytes(broken)


@pytest.mark.parametrize("version", ["1", "3"])
def test_states_of_other_versions_are_refused_by_version(version):
    data = changed(to_bytes(state(300)), lambda head, members: head.update(schema=f"calcli.state/{version}"))
    with pytest.raises(InputError, match=f"version {version} of the format .* make it again"):
        from_bytes(data)


def test_names_of_states_end_as_they_should(tmp_path):
    with pytest.raises(InputError, match=r"end in \.calcli"):
        save_state(state(300), tmp_path / "x.npz")
    with pytest.raises(InputError, match="no such file"):
        load_state(tmp_path / "none.calcli")
