"""A pass of Dask's workers over parts of data, here or on other machines, that ends in a sum."""

from __future__ import annotations

import logging
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import Any, TypeVar

from calcli.core.language.errors import CalcliError, InputError, UsageError
from calcli.core.language.text import Watch

T = TypeVar("T")
P = TypeVar("P")

TOGETHER = 16  # results added up in one task
POLLED = 0.05  # seconds between looks at what is done
QUIET = "critical"


def total(
    parts: Sequence[P],
    of_part: Callable[[P], T],
    add: Callable[[Sequence[T]], T],
    watch: Watch,
    scheduler: str | None = None,
) -> T:
    """Return the sum of what is made of each part, added up in their order.

    What is added to what depends on their number alone: any number of workers gives the same bits.

    Parameters
    ----------
    parts
        What tells each of them.
    of_part, add
        Functions that run where the workers are.
    watch
        Called with the number of parts done.
    scheduler
        Its address; None for processes of this machine.
    """
    with _interrupts() as stopped, _client(scheduler, len(parts)) as client:
        level = [client.submit(of_part, part, pure=False) for part in parts]
        unmade = list(zip(parts, level, strict=True))
        while len(level) > 1:
            groups = [level[start : start + TOGETHER] for start in range(0, len(level), TOGETHER)]
            level = [client.submit(add, group, pure=False) for group in groups]
        (last,) = level
        del level
        while not last.done():
            if stopped.is_set():
                client.cancel(last, force=True)
                raise KeyboardInterrupt
            unmade = [one for one in unmade if one[1].status != "finished"]  # what is merged may go
            watch(len(parts) - len(unmade))
            stopped.wait(POLLED)
        with _faults_told(unmade):
            found: T = last.result()
            return found


@contextmanager
def _faults_told(unmade: Sequence[tuple[object, Any]]) -> Iterator[None]:
    from distributed import KilledWorker

    try:
        yield
    except CalcliError:
        raise
    except KilledWorker as fault:
        lost = [str(part) for part, one in unmade if one.status == "error"]  # all that the dead had in hand
        raise InputError(
            f"{' or '.join(lost) or 'the sum of parts'}: every process that worked on it died, "
            f"{fault.allowed_failures + 1} in all; perhaps for lack of memory; use smaller parts, or give "
            "the workers more"
        ) from None
    except ModuleNotFoundError as fault:
        raise InputError(f"the workers lack the package {fault.name}; install it where they run") from None


@contextmanager
def _client(scheduler: str | None, parts: int) -> Iterator[Any]:
    """Give what sends tasks to workers, and say nothing else."""
    os.environ.setdefault("DASK_LOGGING__DISTRIBUTED", QUIET)  # it is read when Dask is loaded
    os.environ.setdefault("DASK_LOGGING__ASYNCIO", QUIET)
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise UsageError(
            "--engine dask needs the package distributed, which is not installed; pip install "
            "'dask[distributed]'"
        ) from None
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    cluster = client = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if scheduler is None:
                with _not_interrupted():
                    cluster = LocalCluster(
                        n_workers=min(os.cpu_count() or 1, parts),
                        threads_per_worker=1,
                        host="127.0.0.1",
                        dashboard_address=None,
                        silence_logs=logging.CRITICAL + 1,  # cancelled work is told as that
                    )
            client = Client(cluster or scheduler, timeout=10, set_as_default=False)
        except (OSError, ValueError, RuntimeError) as fault:
            if scheduler is None:
                raise InputError(f"no local cluster could be started: {type(fault).__name__}") from None
            raise InputError(f"--engine {scheduler}: no Dask scheduler answers there") from None
        try:
            yield client
        finally:
            client.close()
            if cluster is not None:
                cluster.close()


@contextmanager
def _not_interrupted() -> Iterator[None]:
    """Let processes start that a terminal does not interrupt: they would tell of it in a page each."""
    resource_tracker.ensure_running()  # it would let interrupts in again
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


@contextmanager
def _interrupts() -> Iterator[threading.Event]:
    """Give what is set when the user interrupts: an exception in the midst of Dask leaves a page of logs."""
    stopped = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stopped
        return
    before = signal.signal(signal.SIGINT, lambda *_: stopped.set())
    try:
        yield stopped
    finally:
        signal.signal(signal.SIGINT, before)
    if stopped.is_set():
        raise KeyboardInterrupt
