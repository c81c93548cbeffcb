"""States of parts, computed in many processes or on other machines by Dask, and merged in order."""

from __future__ import annotations

import logging
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing import resource_tracker
from typing import Any, TypeVar

from calcli.core.data.predictions import Predictions
from calcli.core.evaluating.evaluate import require_mergeable
from calcli.core.evaluating.states import merge, state_of
from calcli.core.language.errors import CalcliError, InputError, UsageError
from calcli.core.language.settings import Settings
from calcli.core.language.text import Watch, Watcher, unwatched
from calcli.core.state.state import predictions_of
from calcli.io.dataset import of_system
from calcli.io.options import ReadOptions
from calcli.io.places.paths import kept, name_and_path, parts_of_pattern, recall
from calcli.io.read import Piece, in_pieces, read_concat, read_piece
from calcli.io.saved.states import from_bytes, is_state, to_bytes

T = TypeVar("T")
P = TypeVar("P")

TOGETHER = 16  # results summed in one task
POLLED = 0.05  # seconds between checks of progress
QUIET = "critical"


def total(
    items: Sequence[P],
    of_part: Callable[[P], T],
    add: Callable[[Sequence[T]], T],
    watch: Watch,
    scheduler: str | None = None,
) -> T:
    """Return the sum of the results of all parts, added in order.

    The order depends only on the number of parts: any number of workers gives the same bits.

    Parameters
    ----------
    items
        The identity of each part.
    of_part, add
        Functions that run in the workers.
    watch
        Called with the number of parts done.
    scheduler
        Its address; None for processes of this machine.
    """
    with _interrupts() as stopped, _client(scheduler, len(items)) as client:
        level = [client.submit(of_part, part, pure=False) for part in items]
        unmade = list(zip(items, level, strict=True))
        while len(level) > 1:
            groups = [level[start : start + TOGETHER] for start in range(0, len(level), TOGETHER)]
            level = [client.submit(add, group, pure=False) for group in groups]
        (last,) = level
        del level
        while not last.done():
            if stopped.is_set():
                client.cancel(last, force=True)
                raise KeyboardInterrupt
            unmade = [pair for pair in unmade if pair[1].status != "finished"]  # merged results may be freed
            watch(len(items) - len(unmade))
            stopped.wait(POLLED)
        with _naming_faults(unmade):
            result: T = last.result()
            return result


@contextmanager
def _naming_faults(unmade: Sequence[tuple[object, Any]]) -> Iterator[None]:
    from distributed import KilledWorker

    try:
        yield
    except CalcliError:
        raise
    except KilledWorker as fault:
        lost = [str(part) for part, task in unmade if task.status == "error"]  # all tasks of dead workers
        raise InputError(
            f"{' or '.join(lost) or 'the sum of parts'}: every process that worked on it died, "
            f"{fault.allowed_failures + 1} in all; perhaps for lack of memory; use smaller parts, or give "
            "the workers more"
        ) from None
    except ModuleNotFoundError as fault:
        raise InputError(f"the workers lack the package {fault.name}; install it where they run") from None


@contextmanager
def _client(scheduler: str | None, n_parts: int) -> Iterator[Any]:
    """Yield a client that sends tasks to workers, without log output."""
    os.environ.setdefault("DASK_LOGGING__DISTRIBUTED", QUIET)  # Dask reads it on import
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
                        n_workers=min(os.cpu_count() or 1, n_parts),
                        threads_per_worker=1,
                        host="127.0.0.1",
                        dashboard_address=None,
                        silence_logs=logging.CRITICAL + 1,  # cancelled work is reported as such
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
    """Start processes that ignore interrupts from a terminal: each would print a traceback."""
    resource_tracker.ensure_running()  # it would allow interrupts again
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


@contextmanager
def _interrupts() -> Iterator[threading.Event]:
    """Set an event when the user interrupts: an exception inside Dask prints pages of logs."""
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


@dataclass(frozen=True)
class Engine:
    """An engine that makes states of parts and merges them.

    Attributes
    ----------
    scheduler
        The address of a Dask scheduler; None for processes of this machine.
    watcher
        Starts a progress bar.
    key
        The column that identifies rows; None for row numbers.
    by
        Columns; each value gets a state as well.
    """

    scheduler: str | None = None
    watcher: Watcher = field(default=unwatched, repr=False)
    key: str | None = None
    by: tuple[str, ...] = ()

    def read(
        self, paths: Sequence[str], options: ReadOptions, settings_for: Callable[[Predictions], Settings]
    ) -> Predictions:
        """Return the state of the files and folders of one data set; a state is returned unchanged.

        Parameters
        ----------
        paths, options
            As for `read_concat`.
        settings_for
            Returns the settings for the predictions of the first part.

        Raises
        ------
        InputError
            If a part cannot be read, parts do not fit together, or the scheduler cannot be reached.
        UsageError
            If the settings ask for something that states cannot hold, or Dask is not installed.
        """
        named_paths = [name_and_path(file) for path in paths for file in parts_of_pattern(path)]
        files = [file for _, file in named_paths]
        if any(map(is_state, files)):
            return read_concat(files, options)
        chunks, options = parts_to_read(files, options)
        settings = settings_for(read_piece(chunks[0], options))
        require_mergeable(settings)
        make = partial(made_of, options=options, settings=settings, hidden=kept(), key=self.key, by=self.by)
        name = files[0] if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
        state = gather(chunks, make, self.watcher(name, len(chunks)), self.scheduler)
        predictions = predictions_of(from_bytes(state, name), name)
        return replace(predictions, provenance=replace(predictions.provenance, name=named_paths[0][0]))


def engine_of(
    text: str | None, watcher: Watcher, key: str | None = None, by: Sequence[str] = ()
) -> Engine | None:
    """Return the engine of a name, for rows with a key and slices; None without a name.

    Raises
    ------
    UsageError
        If it is neither Dask nor an address.
    """
    if text is None:
        return None
    if text != "dask" and "://" not in text:
        raise UsageError(
            f"--engine is {text!r}; expected dask, or a Dask scheduler such as tcp://10.0.0.5:8786"
        )
    return Engine(None if text == "dask" else text, watcher, key, tuple(by))


def parts_to_read(paths: Sequence[str], options: ReadOptions) -> tuple[list[Piece], ReadOptions]:
    """Return the files, or pieces of files, for workers to read, and how.

    Raises
    ------
    UsageError
        If they cannot be read in parts.
    """
    if "-" in paths:
        raise UsageError("--engine reads files in other processes; expected files, not - (standard input)")
    files, options = of_system(paths, options)
    return in_pieces(files, options), options


def predictions_in(
    paths: Sequence[str],
    options: ReadOptions,
    engine: Engine | None,
    settings_for: Callable[[Predictions], Settings],
) -> Predictions:
    """Return the files of one data set, or an engine's state of them; see `Engine.read`."""
    return read_concat(paths, options) if engine is None else engine.read(paths, options, settings_for)


def made_of(
    part: Piece,
    *,
    options: ReadOptions,
    settings: Settings,
    hidden: Any,
    key: str | None = None,
    by: tuple[str, ...] = (),
) -> bytes:
    """Return the state of one part, as bytes of a file; this runs in a worker."""
    recall(hidden)
    return to_bytes(state_of(read_piece(part, options), settings, key=key, by=by))


def merged(states: Sequence[bytes]) -> bytes:
    """Return the state of all rows."""
    return to_bytes(merge(map(from_bytes, states)))


def gather(
    chunks: Sequence[Piece], make: Callable[[Piece], bytes], watch: Watch, scheduler: str | None = None
) -> bytes:
    """Make the state of each part, and merge the states in order."""
    return total(chunks, make, merged, watch, scheduler)
