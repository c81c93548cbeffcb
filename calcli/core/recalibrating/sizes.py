"""Methods fitted to random subsets of the calibration rows: how many rows does each need?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from calcli.core.data.arrays import Doubles
from calcli.core.data.streams import Stream, generator
from calcli.core.language.errors import UsageError
from calcli.core.language.settings import Settings
from calcli.core.recalibrating.benchmark import Task, run


@dataclass(frozen=True)
class SizeTrial:
    """A method fitted to several subsets of one size.

    Attributes
    ----------
    rows
        How many rows it was fitted to.
    method
        As its expression; the scores as they are need no rows.
    values
        (R,) of each metric on the test rows, by expression; nan where the fit failed.
    faults
        Why fits failed, each once.
    """

    rows: int
    method: str
    values: dict[str, Doubles]
    faults: tuple[str, ...]


def try_sizes(
    task: Task,
    methods: Sequence[str],
    sizes: Sequence[int],
    repeats: int,
    settings: Settings,
    workers: int | None = None,
    watch: Callable[[int], None] = lambda done: None,
) -> list[SizeTrial]:
    """Fit methods to random subsets of the calibration rows, and judge each on all test rows.

    The subsets of one repeat are drawn without replacement, each within the next larger one.

    Parameters
    ----------
    task
        Rows to fit to, and others to judge on.
    methods
        Method expressions.
    sizes, repeats
        Rows of the subsets, and how many there are of each size.
    settings, workers, watch
        As for `run`; nothing is resampled.

    Raises
    ------
    UsageError
        If a size is larger than the rows.
    """
    known = len(task.calibration.labels)
    if wrong := [size for size in sizes if not 0 < size <= known]:
        raise UsageError(f"--sizes {wrong[0]}: expected sizes from 1 to the {known} calibration rows")
    tasks = []
    for repeat in range(repeats):
        order = generator(settings.seed, Stream.SUBSETS, repeat).permutation(known)
        tasks += [replace(task, calibration=task.calibration.take(np.sort(order[:size]))) for size in sizes]
    trials = run(tasks, methods, replace(settings, intervals=False), workers, watch)
    by_task = np.array(trials, object).reshape(repeats, len(sizes), len(methods) + 1)
    return [
        SizeTrial(
            size,
            own[0].method,
            {name: np.array([one.values.get(name, np.nan) for one in own]) for name in settings.metrics},
            tuple(dict.fromkeys(one.fault for one in own if one.fault)),
        )
        for place, size in enumerate(sizes)
        for own in by_task[:, place].T
    ]
