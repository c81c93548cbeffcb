"""What stands beside figures on a page of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calcli.core.language.text import plain
from calcli.report.shown import Headline, Shown, TextTable

if TYPE_CHECKING:
    from calcli.report.page import Picture


@dataclass(frozen=True)
class Figures(Shown):
    """Figures of systems, without tables.

    Attributes
    ----------
    systems
        Their names.
    written
        The files they are in.
    drawn
        Those of a page.
    """

    systems: Sequence[str]
    written: Sequence[str] = ()
    drawn: Sequence[Picture] = ()

    title = "Figures"

    def tables(self) -> list[TextTable]:
        """Return none."""
        return []

    def headline(self) -> Headline:
        """Return whose figures these are."""
        return Headline(", ".join(self.systems))

    def pictures(self) -> Sequence[Picture]:
        """Return the figures of a page."""
        return self.drawn

    def __str__(self) -> str:
        return "".join(f"{plain(file)}\n" for file in self.written)

    def content(self) -> dict[str, Any]:
        """Return the systems."""
        return {"systems": list(self.systems)}
