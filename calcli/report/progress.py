"""Messages during computation: remarks, and a progress bar if standard error is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from calcli.core.language.text import Watch, Watcher, unwatched

Remark = Callable[[str], None]  # is called with a sentence for the user


def unsaid(sentence: str) -> None:
    """Say nothing."""


@contextmanager
def progress(wanted: bool) -> Iterator[Watcher]:
    """Return a function that starts a bar: (name, number of rows if known) -> a function of the rows done.

    Parameters
    ----------
    wanted
        Whether a bar is wanted; none is shown if standard error is not a terminal.
    """
    if not wanted or not sys.stderr.isatty():
        yield unwatched
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    share = TextColumn("{task.percentage:3.0f}%")
    columns = (TextColumn("{task.description}"), BarColumn(), share, TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("", total=None)

        def start(task_name: str, rows: int | None) -> Watch:
            bars.reset(task, description=task_name, total=rows)
            return lambda rows_done: bars.update(task, completed=rows_done)

        yield start
