"""States in Python are made of arrays, sent as bytes, merged, and taken for predictions."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import calcli
from calcli.core.language.errors import InputError, UsageError

METRICS = "log_loss,accuracy,ece,ks"


@pytest.fixture
def arrays():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(1000, 3))
    return logits, (logits + rng.gumbel(size=logits.shape)).argmax(1)


def test_parts_say_what_the_whole_says(arrays):
    logits, labels = arrays
    parts = [
        calcli.State.of(logits[own], labels[own], metrics=METRICS) for own in np.split(np.arange(1000), 4)
    ]
    sent = [calcli.State.from_bytes(part.to_bytes()) for part in parts]
    whole = sent[0].merge(*sent[1:])
    assert (whole.n_rows, repr(whole)) == (1000, "<State of 1,000 rows of 3 classes>")
    expected = calcli.evaluate(logits, labels, metrics=METRICS).results[0].metrics
    for name, found in calcli.evaluate(whole).results[0].metrics.items():
        assert found.value == pytest.approx(expected[name].value, abs=1e-12)
        assert found.if_calibrated == expected[name].if_calibrated


def test_states_are_pickled_by_their_bytes(arrays):
    state = calcli.State.of(*arrays)
    again = pickle.loads(pickle.dumps(state))
    assert again.to_bytes() == state.to_bytes()


def test_files_are_those_of_the_command_line(arrays, tmp_path):
    state = calcli.State.of(*arrays, metrics=METRICS)
    (tmp_path / "own.calcli").write_bytes(state.to_bytes())
    read = calcli.read(tmp_path / "own.calcli")
    assert calcli.evaluate(read).results[0].metrics == calcli.evaluate(state).results[0].metrics
    assert state.merge(calcli.State.of(arrays[0][:5], arrays[1][:5], metrics=METRICS)).n_rows == 1005


def test_states_are_compared_and_checked(arrays):
    logits, labels = arrays
    old, new = (calcli.State.of(logits * scale, labels, metrics=METRICS) for scale in (1, 4))
    found = calcli.compare(old, new)
    assert found.paired
    assert found.comparisons[0].differences[0]["log_loss"].verdict == "worse"
    rules = {"rules": [{"metric": "log_loss", "max_increase": 0.01}]}
    assert calcli.check(new, rules, baseline=old).exit_status == 1


def test_what_makes_no_sense_is_refused(arrays):
    state = calcli.State.of(*arrays)
    with pytest.raises(UsageError, match="a state already"):
        calcli.State.of(state)
    with pytest.raises(UsageError, match="not bytes"):
        state.merge(state.to_bytes())
    with pytest.raises(InputError, match="the same 1,000 rows"):
        state.merge(state)
    with pytest.raises(InputError, match="damaged"):
        calcli.State.from_bytes(b"PK")
