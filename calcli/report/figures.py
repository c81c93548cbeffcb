"""What stands beside figures on a page of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from calcli.report.shown import Headline, Shown, TextTable


@dataclass(frozen=True)
class Figures(Shown):
    """Figures of systems, without tables.

    Attributes
    ----------
    systems
        Their names.
    """

    systems: Sequence[str]

    title = "Figures"

    def tables(self) -> list[TextTable]:
        """Return none."""
        return []

    def headline(self) -> Headline:
        """Return whose figures these are."""
        return Headline(", ".join(self.systems))

    def content(self) -> dict[str, Any]:
        """Return the systems."""
        return {"systems": list(self.systems)}
