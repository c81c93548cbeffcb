"""Threads for what a pass sums: the main one reads, others add what was read, in its order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType

WAITING = 2  # chunks that are read ahead


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Threads:
    """A thread that does jobs in their order while the caller goes on, and others that share one job's parts.

    What each job does to its own numbers does not depend on the threads, so that any number of them gives the
    same bits. With one worker the caller does it all.

    Attributes
    ----------
    workers
        How many threads there are in all.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._queue = ThreadPoolExecutor(1) if workers > 1 else None
        self._shared = ThreadPoolExecutor(workers - 1) if workers > 2 else None
        self._waiting: deque[Future[None]] = deque()

    def __enter__(self) -> Threads:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            while kind is None and self._waiting:
                self._waiting.popleft().result()
        finally:
            for pool in (self._queue, self._shared):
                if pool is not None:
                    pool.shutdown(cancel_futures=True)

    def soon(self, job: Callable[[], None]) -> None:
        """Do a job behind those that are waiting; faults of earlier ones are raised here."""
        if self._queue is None:
            job()
            return
        while len(self._waiting) >= WAITING:
            self._waiting.popleft().result()
        self._waiting.append(self._queue.submit(job))

    def all(self, jobs: Iterable[Callable[[], None]]) -> None:
        """Do the parts of one job, which do not touch each other's numbers."""
        if self._shared is None:
            for job in jobs:
                job()
            return
        for done in [self._shared.submit(job) for job in jobs]:
            done.result()
