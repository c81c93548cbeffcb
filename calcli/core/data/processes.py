"""Threads for passes over rows, and processes for many small fits or data sets."""

from __future__ import annotations

import os
import signal
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextvars import copy_context
from multiprocessing import active_children, get_all_start_methods, get_context, parent_process
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from calcli.core.language.errors import UsageError

if TYPE_CHECKING:  # these modules take as long to load as a small file, and few runs need them
    from concurrent.futures import Future, ProcessPoolExecutor

S = TypeVar("S")
K = TypeVar("K")
R = TypeVar("R")
# scores in a fit from which processes gain more than the half second that each takes to start
GAINS = 1_000_000
# scores from which a pass takes half a second, and threads gain
LONG = 1 << 24
# scores that all processes may hold by default, 4 GB in double precision
HELD = 1 << 29


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def processes_for(scores: int, jobs: int, workers: int | None, stored: int = 0, gains: int = GAINS) -> int:
    """Return the number of processes for some jobs: the number given, or one per core if that is faster.

    Parameters
    ----------
    scores
        Number of scores that all jobs process.
    jobs
        Number of jobs, the largest number of processes.
    workers
        The number given; None if it was not given.
    stored
        Scores that each process copies.
    gains
        Scores from which processes gain.
    """
    if parent_process() is not None:  # one of many already
        return 1
    limit = min(cores(), max(1, HELD // max(1, stored)))
    return min(workers or (limit if scores >= gains else 1), jobs)


def threads_for(scores: int, workers: int | None) -> int:
    """Return the number of threads of a pass: the number given, or one per core if that is faster."""
    return workers or (cores() if scores >= LONG and parent_process() is None else 1)


def in_order(job: Callable[[S], R], items: Iterable[S], threads: int) -> Iterator[R]:
    """Yield the result of a job for each item, in the order of the items, computed in threads."""
    if threads == 1:
        yield from map(job, items)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[R]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(copy_context().run, job, item))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


class Processes(Generic[S]):
    """Processes that run many jobs on shared data; a single worker runs in this process.

    Parameters
    ----------
    shared
        The data of the jobs, sent to each process once.
    workers
        Number of processes.
    """

    def __init__(self, shared: S, workers: int) -> None:
        self.workers, self._shared = workers, shared
        self._pool: ProcessPoolExecutor | None = None
        if workers > 1:
            from concurrent.futures import ProcessPoolExecutor

            self._before = set(active_children())
            # processes that begin anew: forks of one with threads may wait forever
            method = "forkserver" if "forkserver" in get_all_start_methods() else "spawn"
            beginning: Any = (shared, list(warnings.filters))
            self._pool = ProcessPoolExecutor(
                workers, get_context(method), initializer=_begin, initargs=beginning
            )

    def __enter__(self) -> Processes[S]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            if kind is not None:  # Ctrl-C, or nobody waits for more
                for process in set(active_children()) - self._before:
                    process.terminate()
            self._pool.shutdown(cancel_futures=True)

    def each(self, job: Callable[[S, K], R], keys: Iterable[K]) -> Iterator[tuple[K, R]]:
        """Yield each key with the result of `job`, in the order of completion.

        Parameters
        ----------
        job
            A module-level function.
        keys
            Small.

        Raises
        ------
        UsageError
            If a process dies.
        """
        if self._pool is None:
            for key in keys:
                yield key, job(self._shared, key)
            return
        from concurrent.futures import as_completed
        from concurrent.futures.process import BrokenProcessPool

        try:
            futures = {self._pool.submit(_done, job, key): key for key in keys}
            for future in as_completed(list(futures)):
                yield futures.pop(future), future.result()
        except BrokenProcessPool as fault:
            raise UsageError(
                "one of the processes ended before its work was done, perhaps for lack of memory; try fewer "
                "with --workers"
            ) from fault


_shared: Any = None  # of a process of the pool


def _begin(*beginning: Any) -> None:
    global _shared
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one that started it ends it
    _shared, filters = beginning
    warnings.filters[:] = filters  # type: ignore[index]


def _done(job: Callable[[Any, Any], R], key: Any) -> R:
    return job(_shared, key)
