"""Any number of threads brings home the same bits."""

from __future__ import annotations

import numpy as np
import pytest

from calcli.core.data import blocks
from calcli.core.data.threads import GAINS
from calcli.core.evaluating import gathering
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.settings import Settings
from calcli.io.handed import from_arrays
from calcli.io.states import to_bytes

METRICS = ("log_loss", "brier", "accuracy", "ece", "ks", "ece:lens=class-1")
WORKERS = (1, 3)


def sample(classes, weighted):
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(30_000, classes)).astype(np.float32)
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(1)
    return from_arrays(logits, labels, weights=rng.random(30_000) if weighted else None)


@pytest.fixture(params=[False, True], ids=["plain", "weighted"])
def predictions(request, monkeypatch):
    monkeypatch.setattr(gathering, "CHUNK", 1 << 10)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1 << 12)
    return sample(2, request.param)


def test_states_are_the_same(predictions):
    made = [gathering.state_of(predictions, Settings(metrics=METRICS, workers=n)) for n in WORKERS]
    assert len({to_bytes(state) for state in made}) == 1


def test_runs_of_many_rows_say_the_same(predictions, monkeypatch):
    monkeypatch.setattr(gathering, "MANY_ROWS", 10_000)
    found = [evaluate(predictions, Settings(metrics=METRICS, workers=n)).estimates for n in WORKERS]
    values = [[estimate.value for estimate in one.values()] for one in found]
    assert values[0] == values[1]


@pytest.mark.parametrize(("classes", "weighted"), [(2, False), (7, True)])
def test_runs_that_keep_the_rows_say_the_same(classes, weighted, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1 << 12)
    predictions = sample(classes, weighted)
    found = [evaluate(predictions, Settings(workers=n, draws=19)) for n in WORKERS]
    shown = [repr((one.estimates, one.summary.per_class, one.summary.gap)) for one in found]
    assert shown[0] == shown[1]
    assert "log_loss" in shown[0]


def test_large_inputs_are_told_how_many_threads_there_were(monkeypatch):
    from calcli.core.data import threads

    monkeypatch.setattr(threads, "cores", lambda: 3)
    logits = np.full((GAINS // 64, 64), -1, np.float32)
    notes = [
        evaluate(from_arrays(logits[:rows], [0] * rows), Settings(metrics=("accuracy",))).summary.input.notes
        for rows in (GAINS // 64, GAINS // 64 - 1)
    ]
    assert "3 threads were used" in notes[0][-1]
    assert not any("threads" in note for note in notes[1])
