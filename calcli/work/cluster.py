"""States of parts made by many processes, here or on other machines, and merged; Dask does it.

Another engine is another `Gather`.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from multiprocessing import resource_tracker
from typing import Any

import numpy as np

from calcli.core.data.predictions import Predictions
from calcli.core.evaluating.gathering import state_of
from calcli.core.evaluating.stored import require_mergeable
from calcli.core.language.errors import CalcliError, InputError, UsageError
from calcli.core.language.progress import Watch, Watcher, unwatched
from calcli.core.language.settings import Settings
from calcli.core.state.remains import left_of
from calcli.core.state.state import merge
from calcli.io.folders import parts_of
from calcli.io.namedsystems import of_system
from calcli.io.options import ReadOptions
from calcli.io.read import read, read_concat
from calcli.io.remote import parts_of_pattern, path_of
from calcli.io.secrets import kept, recall
from calcli.io.states import from_bytes, is_state, to_bytes
from calcli.io.systems import FEWEST, refuse_same_labels

TOGETHER = 16  # states merged in one task
POLLED = 0.05  # seconds between looks at what is done
QUIET = "critical"


@dataclass(frozen=True)
class PartState:
    """A state on its way.

    Attributes
    ----------
    state
        As a file holds it.
    rows, labels
        How many rows each of its parts has, and the digest of their labels, where all have the same; 0 and ""
        where they differ.
    """

    state: bytes
    rows: int
    labels: str


Gather = Callable[[Sequence[str], Callable[[str], PartState], Watch], PartState]


@dataclass(frozen=True)
class Engine:
    """What makes states of parts and merges them.

    Attributes
    ----------
    scheduler
        The address of a Dask scheduler; None for processes of this machine.
    watcher
        Starts a progress bar.
    key
        The column that rows are known by; None if it is their number.
    """

    scheduler: str | None = None
    watcher: Watcher = field(default=unwatched, repr=False)
    key: str | None = None

    def read(
        self, paths: Sequence[str], options: ReadOptions, asked: Callable[[Predictions], Settings]
    ) -> Predictions:
        """Return what is left of the files and folders of one data set; of a state itself.

        Parameters
        ----------
        paths, options
            As for `read_concat`.
        asked
            What is to be computed, by the predictions of the first part.

        Raises
        ------
        InputError
            If a part cannot be read, they do not go together, or the scheduler cannot be reached.
        UsageError
            If something is asked for that states cannot hold, or Dask is not installed.
        """
        given = [one for path in paths for one in parts_of_pattern(path)]
        if any(map(is_state, given)):
            return read_concat(given, options)
        if "-" in given:
            raise UsageError(
                "--engine reads files in other processes; expected files, not - (standard input)"
            )
        if options.limit is not None:
            raise UsageError("--limit counts rows of all parts; leave out --engine, or --limit")
        files, options = of_system(given, options)
        parts = [str(part) for file in files for part in parts_of(path_of(file), options)]
        settings = asked(read(parts[0], options))
        require_mergeable(settings)
        make = partial(made_of, options=options, settings=settings, hidden=kept(), key=self.key)
        name = given[0] if len(given) == 1 else f"{given[0]} and {len(given) - 1} more"
        found = gather(parts, make, self.watcher(name, len(parts)), self.scheduler)
        if len(given) == 1 and len(parts) > 1 and found.rows >= FEWEST and not options.concat:
            refuse_same_labels(given[0], parts, found.rows)
        return left_of(from_bytes(found.state, name), name)


def predictions_in(
    paths: Sequence[str],
    options: ReadOptions,
    engine: Engine | None,
    asked: Callable[[Predictions], Settings],
) -> Predictions:
    """Return the files of one data set, or what an engine leaves of them; see `Engine.read`."""
    return read_concat(paths, options) if engine is None else engine.read(paths, options, asked)


def made_of(
    part: str, *, options: ReadOptions, settings: Settings, hidden: Any, key: str | None = None
) -> PartState:
    """Return the state of one part; this runs where the workers are."""
    recall(hidden)
    predictions = read(part, options)
    labels = np.ascontiguousarray(predictions.labels)
    digest = sha256(labels.astype(np.int64).tobytes()).hexdigest() if np.ptp(labels) else ""
    return PartState(to_bytes(state_of(predictions, settings, key=key)), predictions.n_rows, digest)


def merged(states: Sequence[PartState]) -> PartState:
    """Return the state of all rows, numbered on in this order."""
    whole = to_bytes(merge(from_bytes(one.state) for one in states))
    alike = len({(one.rows, one.labels) for one in states}) == 1 and states[0].labels
    return PartState(whole, states[0].rows if alike else 0, states[0].labels if alike else "")


def gather(
    parts: Sequence[str], make: Callable[[str], PartState], watch: Watch, scheduler: str | None = None
) -> PartState:
    """Make the state of each part, and merge them in their order.

    Which are merged with which depends on their number alone: any number of workers gives the same bits.
    """
    with _interrupts() as stopped, _client(scheduler, len(parts)) as client:
        names: dict[str, str] = {}
        waiting = []
        for number, part in enumerate(parts):
            key = f"calcli-part-{number}-{time.time_ns()}"
            names[key] = part
            waiting.append(client.submit(make, part, key=key, pure=False))
        level = list(waiting)
        while len(level) > 1:
            groups = [level[start : start + TOGETHER] for start in range(0, len(level), TOGETHER)]
            level = [client.submit(merged, group, pure=False) for group in groups]
        (last,) = level
        del level
        while not last.done():
            if stopped.is_set():
                client.cancel(last, force=True)
                raise KeyboardInterrupt
            waiting = [one for one in waiting if not one.done()]  # what is merged may go
            watch(len(parts) - len(waiting))
            stopped.wait(POLLED)
        with _faults_told(names):
            found: PartState = last.result()
            return found


@contextmanager
def _faults_told(names: dict[str, str]) -> Iterator[None]:
    from distributed import KilledWorker

    try:
        yield
    except CalcliError:
        raise
    except KilledWorker as fault:
        part = names.get(str(fault.task), "a part")
        raise InputError(
            f"{part}: every process that worked on it died, {fault.allowed_failures + 1} in all; perhaps it "
            "is too large for their memory; cut it into smaller parts, or give the workers more"
        ) from None
    except ModuleNotFoundError as fault:
        raise InputError(
            f"the workers have no package {fault.name}; it has to be installed where they run"
        ) from None


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
                        silence_logs=logging.CRITICAL,
                    )
            client = Client(cluster or scheduler, timeout=10, set_as_default=False)
        except (OSError, ValueError, RuntimeError) as fault:
            if scheduler is None:
                raise InputError(f"no local cluster could be started: {type(fault).__name__}") from None
            raise InputError(f"--scheduler {scheduler}: no Dask scheduler answers there") from None
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
