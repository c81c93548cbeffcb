"""Work in several processes, and its end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from multiprocessing import active_children

import pytest

from calcli.core.data.processes import GAINS, HELD, Processes, processes_for
from calcli.core.language.errors import UsageError


def product(shared, key):
    return shared * key


def dies(shared, key):
    if key == shared:
        os.kill(os.getpid(), signal.SIGKILL)
    return key


def fails(shared, key):
    raise UsageError(f"{key} of {shared}")


def sleeps(shared, key):
    time.sleep(shared if key else 0)
    return key


def each(job, shared, keys, workers):
    """Yield each key with what a job makes of it, by processes of their own."""
    with Processes(shared, workers) as processes:
        yield from processes.each(job, keys)


def pid(shared, key):
    return os.getpid()


@pytest.mark.parametrize("workers", [1, 2])
def test_every_key_is_done_by_processes_that_stay_for_what_is_asked_later(workers):
    with Processes(7, workers) as processes:
        found = {one for _ in range(3) for _, one in processes.each(pid, range(6))}
        assert sorted(processes.each(product, range(5))) == [(key, 7 * key) for key in range(5)]
    assert len(found) <= workers
    assert (os.getpid() in found) == (workers == 1)


@pytest.mark.parametrize("workers", [1, 2])
def test_the_sentence_of_a_fault_comes_through(workers):
    with pytest.raises(UsageError, match="3 of 7"):
        list(each(fails, 7, [3], workers))


def test_a_process_that_dies_is_told_of():
    before = active_children()
    with pytest.raises(UsageError, match=r"ended before its work was done.* fewer with --workers"):
        list(each(dies, 1, range(5), 2))
    assert active_children() == before


def test_nobody_waits_for_what_is_not_wanted():
    start, found = time.monotonic(), each(sleeps, 600, range(2), 2)
    assert next(found) == (0, 0)
    found.close()
    assert time.monotonic() - start < 300


def test_an_interrupt_of_all_is_silent():
    code = (
        "from tests.core.data.test_processes import each, sleeps\n"
        "try:\n    for found in each(sleeps, 600, range(4), 2):\n        print(found, flush=True)\n"
        "except KeyboardInterrupt:\n    raise SystemExit(130)\n"
    )
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    signal.signal(signal.SIGINT, handler)
    assert process.stdout.readline() == "(0, 0)\n"
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    assert process.communicate(timeout=300) == ("", "")
    assert process.returncode == 130


def test_processes_are_for_much_work_as_memory_allows_or_if_asked_for(monkeypatch):
    monkeypatch.setattr("calcli.core.data.processes.cores", lambda: 16)
    for given, held, number in (
        ((GAINS, 99, None), 0, 16),
        ((GAINS - 1, 99, None), 0, 1),
        ((0, 9, 3), 0, 3),
        ((GAINS, 2, None), 0, 2),
        ((GAINS, 99, None), HELD // 8, 8),
        ((GAINS, 99, None), 2 * HELD, 1),
        ((GAINS, 99, 16), HELD // 8, 16),
    ):
        assert processes_for(*given, stored=held) == number
    assert processes_for(GAINS, 99, None, gains=GAINS + 1) == 1


def wants(shared, key):
    return processes_for(GAINS, 9, key)


def test_processes_start_no_others():
    assert dict(each(wants, None, [None, 8], 2)) == {None: 1, 8: 1}
