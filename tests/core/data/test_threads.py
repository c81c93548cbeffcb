"""Any number of threads does the same as one, and ends cleanly."""

from __future__ import annotations

import threading
import time
from random import Random

import pytest

from calcli.core.data.threads import in_turns

MANY = [1, 2, 5]


@pytest.mark.parametrize("workers", MANY)
def test_every_step_takes_the_items_in_their_order(workers):
    steps: dict[str, list[int]] = {"first": [], "odd": [], "last": []}

    def work(item, turn):
        for step, taken in steps.items():
            time.sleep(Random(f"{item}{step}").random() / 2000)
            if step != "odd" or item % 2:
                with turn(step):
                    taken.append(item)

    in_turns(range(200), work, workers)
    assert steps == {"first": [*range(200)], "odd": [*range(1, 200, 2)], "last": [*range(200)]}


def test_items_are_in_work_side_by_side():
    both = threading.Barrier(2, timeout=20)
    in_turns(range(2), lambda item, turn: both.wait(), 2)
    assert not both.broken


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("workers", MANY)
def test_the_first_fault_is_raised_and_what_was_before_it_is_done(workers, kind):
    done = []

    def work(item, turn):
        if item in (7, 8):
            time.sleep(0.02 if item == 7 else 0)
            raise kind(item)
        with turn("step"):
            done.append(item)

    before = threading.active_count()
    with pytest.raises(kind) as found:
        in_turns(range(100), work, workers)
    assert found.value.args == (7,)
    assert done == [*range(7)]
    assert threading.active_count() == before


@pytest.mark.parametrize("workers", MANY)
def test_a_fault_of_what_gives_the_items_is_raised_behind_those_it_gave(workers):
    def items():
        yield from range(5)
        raise OSError("lost")

    done = []
    with pytest.raises(OSError, match="lost"):
        in_turns(items(), lambda item, turn: done.append(item), workers)
    assert sorted(done) == [*range(5)]


def test_an_interrupted_caller_ends_the_threads_that_wait_for_it():
    caller, entered = threading.get_ident(), threading.Event()

    def work(item, turn):
        with turn("step"):
            if threading.get_ident() == caller:
                assert entered.wait(20)
                raise KeyboardInterrupt
            entered.set()
            time.sleep(0.01)

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        in_turns(iter(int, 1), work, 3)
    assert threading.active_count() == before
