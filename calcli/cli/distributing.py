"""The options of what is read and computed in many processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from typer import Option

from calcli.core.language.errors import UsageError
from calcli.core.language.progress import Watcher
from calcli.core.language.settings import NUMBERED, StateSettings

if TYPE_CHECKING:
    from calcli.work.cluster import Engine


@dataclass(frozen=True)
class Distributing:
    """Where parts of the data are read."""

    heading: ClassVar[str] = "Many machines"

    engine: Annotated[
        Literal["dask"] | None,
        Option(help="Make states of the parts of a folder in many processes, and compute from these."),
    ] = None
    scheduler: Annotated[
        str | None,
        Option(metavar="tcp://HOST:PORT", help="Those of this Dask scheduler, not of this machine."),
    ] = None

    def found(
        self, watcher: Watcher, known: StateSettings = NUMBERED, by: Sequence[str] = ()
    ) -> Engine | None:
        """Return what reads parts elsewhere, whose rows are known so and may be sliced, if it is asked for.

        Raises
        ------
        UsageError
            If there is a scheduler and no engine.
        """
        if self.engine is None:
            if self.scheduler is not None:
                raise UsageError(f"--scheduler {self.scheduler} goes with --engine dask; give both")
            return None
        from calcli.work.cluster import Engine

        return Engine(self.scheduler, watcher, known, tuple(by))
