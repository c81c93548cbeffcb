"""The options of what is read and computed in many processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from typer import Option

from calcli.core.language.errors import UsageError
from calcli.core.language.text import Watcher

if TYPE_CHECKING:
    from calcli.work.cluster import Engine


@dataclass(frozen=True)
class Distributing:
    """Where parts of the data are read."""

    heading: ClassVar[str] = "Many machines"

    engine: Annotated[
        str | None,
        Option(
            metavar="dask|ADDRESS",
            help="Compute from states of the parts of a folder, made in many processes: dask (this machine) "
            "or a Dask scheduler at tcp://HOST:PORT.",
        ),
    ] = None

    def found(self, watcher: Watcher, key: str | None = None, by: Sequence[str] = ()) -> Engine | None:
        """Return what reads parts elsewhere, whose rows have a key and may be sliced, if it is asked for.

        Raises
        ------
        UsageError
            If it is neither Dask nor an address.
        """
        if self.engine is None:
            return None
        if self.engine != "dask" and "://" not in self.engine:
            raise UsageError(
                f"--engine is {self.engine!r}; expected dask, or a Dask scheduler such as tcp://10.0.0.5:8786"
            )
        from calcli.work.cluster import Engine

        return Engine(None if self.engine == "dask" else self.engine, watcher, key, tuple(by))
