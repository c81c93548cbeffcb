"""A pass in threads: any number of them gives the same bytes, and the fault of the first row at fault."""

from __future__ import annotations

import json
import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calcli.core.data import blocks, processes
from calcli.core.data.arrays import batches
from calcli.core.data.processes import in_order, threads_for
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.evaluating.states import state_of
from calcli.core.language.errors import InputError
from calcli.core.language.settings import Settings
from calcli.io.options import ReadOptions
from calcli.io.read import read
from calcli.io.saved.states import to_bytes
from calcli.report.evaluation import Report
from calcli.report.findings import summarize
from calcli.report.shown import render
from calcli.work.evaluate import evaluate as evaluate_in_python

ROWS = 150_000
WORKERS = (1, 2, 3, 8)
RNG = np.random.default_rng(11)
LABELS = RNG.integers(0, 4, ROWS)
LOGITS = (2 * np.eye(4)[LABELS] + RNG.normal(size=(ROWS, 4))).astype(np.float32)
WEIGHTS = RNG.gamma(2, size=ROWS)


@pytest.fixture(autouse=True)
def _short_blocks(monkeypatch):
    """Have so many blocks that threads overtake each other, and no rows kept."""
    monkeypatch.setattr(blocks, "MOST_ROWS", 1_000)
    monkeypatch.setattr("calcli.core.evaluating.usual.MANY", ROWS)
    monkeypatch.setattr("calcli.core.data.arrays.MANY", 10_000)
    monkeypatch.setattr("calcli.io.tables.labels.MANY", 10_000)


def files(folder) -> dict[str, tuple[str, ReadOptions]]:
    np.save(folder / "k.npy", LOGITS)
    np.save(folder / "k_labels.npy", LABELS)
    probs = 1 / (1 + np.exp(LOGITS[:, 0] - LOGITS[:, 1]))
    table = pa.table({"label": (LABELS % 2).astype(np.int8), "p": probs, "w": WEIGHTS})
    pq.write_table(table, folder / "two.parquet", row_group_size=7_000)
    two = str(folder / "two.parquet")
    return {
        "classes": (str(folder / "k.npy"), ReadOptions()),
        "two": (two, ReadOptions()),
        "weights": (two, ReadOptions(weights="w")),
    }


def told(path: str, options: ReadOptions, workers: int) -> tuple[str, bytes]:
    settings = Settings(draws=19, workers=workers)
    evaluation = evaluate(read(path, options), settings)
    report = json.loads(render(Report([summarize(evaluation)], settings), "json"))
    saved = to_bytes(state_of(read(path, options), settings))
    return json.dumps(report["results"]), saved


@pytest.mark.parametrize("kind", ["classes", "two", "weights"])
def test_any_number_of_threads_gives_the_same_bytes(kind, tmp_path):
    path, options = files(tmp_path)[kind]
    one, *others = (told(path, options, workers) for workers in WORKERS)
    assert all(other == one for other in others)


def test_rows_that_are_kept_are_the_same_in_threads(tmp_path):
    path, _ = files(tmp_path)["classes"]
    metrics = "log_loss,auroc,cw_ece,ece:lens=top-2,kappa"
    one, *others = (
        evaluate_in_python(path, metrics=metrics, rows="all", draws=9, workers=workers) for workers in WORKERS
    )
    for other in others:
        assert [other[name].value for name in other] == [one[name].value for name in one]


@pytest.mark.parametrize("workers", WORKERS)
def test_the_first_row_at_fault_is_named(workers, tmp_path):
    wrong = LOGITS.copy()
    wrong[[90_001, 120_000], 1] = np.nan
    np.save(tmp_path / "k.npy", wrong)
    np.save(tmp_path / "k_labels.npy", LABELS)
    before = threading.active_count()
    with pytest.raises(InputError, match="row 90001"):
        evaluate(read(tmp_path / "k.npy"), Settings(workers=workers))
    assert threading.active_count() == before


def test_results_come_in_order_and_few_wait():
    waiting, most = set(), [0]

    def job(number):
        time.sleep(0.002 * (number % 3 == 0))
        return number

    def items():
        for number in range(50):
            waiting.add(number)
            most[0] = max(most[0], len(waiting))
            yield number

    found = []
    for number in in_order(job, items(), 4):
        waiting.remove(number)
        found.append(number)
    assert found == [*range(50)]
    assert most[0] <= 6


def test_short_passes_have_one_thread(monkeypatch):
    monkeypatch.setattr(processes, "cores", lambda: 16)
    assert threads_for(processes.LONG - 1, None) == 1
    assert threads_for(processes.LONG, None) == 16
    assert threads_for(processes.LONG, 1) == threads_for(1, 1) == 1
    assert threads_for(1, 3) == 3


def test_sums_at_places_do_not_depend_on_blocks():
    place, values = RNG.integers(0, 7, 10_000).astype(np.int32), RNG.normal(size=10_000)
    tables = np.zeros((3, 7))
    for table, size in zip(tables, (10_000, 999, 64), strict=True):
        for rows in batches(len(place), 1, size):
            blocks.add_at(table, place[rows], values[rows])
    np.testing.assert_array_equal(tables[0], np.bincount(place, values, 7))
    assert (tables == tables[0]).all()
