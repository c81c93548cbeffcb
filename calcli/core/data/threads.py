"""Threads that put items through the same steps: each step takes them one by one, in their order."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import copy_context
from threading import Condition, Lock, Thread
from typing import Generic, TypeVar

T = TypeVar("T")
GAINS = 1 << 21  # scores from which threads gain
Turn = Callable[[Hashable], AbstractContextManager[None]]


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def threads_for(scores: int, workers: int | None) -> int:
    """Return how many threads look through so many scores: as many as said, or a core each if they gain."""
    return workers or (cores() if scores >= GAINS else 1)


def in_turns(items: Iterable[T], work: Callable[[T, Turn], None], workers: int = 1) -> None:
    """Do some work for every item, several items at a time.

    Items are taken one by one. What is done within a step is done for one item at a time, in the order of
    the items, so that any number of workers gives the same bits. A fault ends the work: that of the first
    item that has one is raised, as if they had been done one after the other.

    Parameters
    ----------
    items
        Each of its own: they are not touched by two threads at once, unless they share something.
    work
        What is done for an item. Whatever it does for several items to the same numbers is within
        `with turn(step):`, a step being any name; an item comes to a step at most once, and all items come to
        the steps in one order.
    workers
        How many threads there are, the caller's among them.
    """
    if workers == 1:
        for item in items:
            work(item, alone)
        return
    crew = _Crew(items, work)
    # what numpy is to say of overflows is a matter of the context
    others = [Thread(target=copy_context().run, args=(crew.run,)) for _ in range(workers - 1)]
    try:
        for thread in others:
            thread.start()
        crew.run()
        _join(others)
    except BaseException as fault:  # Ctrl-C, wherever it came
        crew.fail(-1, fault)
    finally:
        _join(others)
    if crew.fault is not None:
        raise crew.fault


def alone(step: Hashable) -> AbstractContextManager[None]:
    """Let what has no others beside it come to any step."""
    return nullcontext()


def _join(threads: Iterable[Thread]) -> None:
    for thread in threads:
        if thread.ident is not None:
            thread.join()


class _Overtaken(Exception):
    """An item before this one has failed."""


class _Crew(Generic[T]):
    """The threads that work on some items.

    Attributes
    ----------
    fault
        That of the first item that has one.
    """

    fault: BaseException | None = None

    def __init__(self, items: Iterable[T], work: Callable[[T, Turn], None]) -> None:
        self._items, self._work = iter(items), work
        self._taking, self._changed = Lock(), Condition()
        self._taken = 0
        self._left: dict[int, set[Hashable]] = {}  # the steps that the items in work have behind them
        self._failed: float = float("inf")  # the first item that did

    def run(self) -> None:
        """Work on items while there are any."""
        while True:
            with self._taking:
                if self.fault is not None:
                    return
                number, self._taken = self._taken, self._taken + 1
                try:
                    item = next(self._items)
                except StopIteration:
                    return
                except BaseException as fault:
                    self.fail(number, fault)
                    return
                with self._changed:
                    self._left[number] = set()
            try:
                self._work(item, lambda step, number=number: self._step(number, step))  # type: ignore[misc]
            except _Overtaken:
                pass
            except BaseException as fault:
                self.fail(number, fault)
            with self._changed:
                del self._left[number]
                self._changed.notify_all()

    def fail(self, number: int, fault: BaseException) -> None:
        """End the work on all items behind one; -1 for all of them."""
        with self._changed:
            if number < self._failed:
                self._failed, self.fault = number, fault
            self._changed.notify_all()

    @contextmanager
    def _step(self, number: int, step: Hashable) -> Iterator[None]:
        with self._changed:
            while any(step not in left for other, left in self._left.items() if other < number):
                if self._failed < number:
                    break
                self._changed.wait()
            if self._failed < number:
                raise _Overtaken
        yield
        with self._changed:
            self._left[number].add(step)
            self._changed.notify_all()
