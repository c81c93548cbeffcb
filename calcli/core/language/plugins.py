"""Entries of other packages, which are looked for when a name is asked for that calcli does not know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from calcli.core.language.errors import UsageError

E = TypeVar("E")


class Registry(dict[str, E]):
    """Entries by name; those of plugins come to them as they are asked for.

    Parameters
    ----------
    group
        The entry points of plugins: each is called as its entry, and leads to it.
    kind
        What entries are.
    known
        Those of calcli.
    """

    def __init__(self, group: str, kind: type[E], known: Mapping[str, E]) -> None:
        super().__init__(known)
        self._group, self._kind = group, kind

    def __missing__(self, name: str) -> E:
        """Return the entry of a plugin.

        Raises
        ------
        UsageError
            If there is such a plugin, but it is broken.
        """
        from importlib.metadata import entry_points

        for point in entry_points(group=self._group, name=name):
            plugin = f"the plugin {point.value} ({self._group}: {name})"
            try:
                found = point.load()
            except Exception as fault:  # whatever the code of others raises
                raise UsageError(
                    f"{plugin} cannot be loaded: {type(fault).__name__}: {fault}; mend or uninstall it"
                ) from fault
            if not isinstance(found, self._kind) or getattr(found, "name", None) != name:
                raise UsageError(
                    f"{plugin} is not a {self._kind.__name__} called {name}; mend or uninstall it"
                )
            self[name] = found
            return found
        raise KeyError(name)
