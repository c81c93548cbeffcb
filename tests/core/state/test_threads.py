"""Any number of threads brings home the same bits, and faults are raised where the rows are read."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from calcli.core.evaluating import gathering
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.settings import Settings
from calcli.core.state.threads import Threads
from calcli.io.read import from_arrays
from calcli.io.states import to_bytes

METRICS = ("log_loss", "brier", "accuracy", "ece", "ks", "ece:lens=class-1")


@pytest.fixture(params=[False, True], ids=["plain", "weighted"])
def predictions(request):
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(30_000, 2)).astype(np.float32)
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(1)
    return from_arrays(logits, labels, weights=rng.random(30_000) if request.param else None)


def test_threads_change_no_bit(predictions, monkeypatch):
    monkeypatch.setattr(gathering, "CHUNK", 1 << 10)
    made = [gathering.state_of(predictions, Settings(metrics=METRICS, workers=n)) for n in (1, 2, 5)]
    assert len({to_bytes(state) for state in made}) == 1


def test_runs_of_many_rows_say_the_same(predictions, monkeypatch):
    monkeypatch.setattr(gathering, "CHUNK", 1 << 10)
    monkeypatch.setattr(gathering, "MANY_ROWS", 10_000)
    found = [evaluate(predictions, Settings(metrics=METRICS, workers=n)).estimates for n in (1, 2, 5)]
    values = [[estimate.value for estimate in one.values()] for one in found]
    assert values[0] == values[1] == values[2]


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_faults_are_raised_and_end_the_threads(workers):
    def broken():
        raise ValueError("broken")

    def interrupted():
        raise KeyboardInterrupt

    def two():
        threads.all([lambda: done.append(2), lambda: done.append(2)])

    def run(*jobs):
        with threads:
            for job in jobs:
                threads.soon(job)

    done: list[int] = []
    for fault, kind in ((broken, ValueError), (interrupted, KeyboardInterrupt)):
        threads = Threads(workers)
        with pytest.raises(kind):
            run(two, fault)
    assert done == [2] * 4
    threads = Threads(workers)
    run(*(partial(done.append, n) for n in range(20)))
    assert done[-20:] == list(range(20))
