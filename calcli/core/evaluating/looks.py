"""What figures look at."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Looks:
    """What figures look at, which the pass for the metrics keeps as well.

    Attributes
    ----------
    lenses
        One-dimensional ones whose problems are kept, beside top-1.
    vectors
        Those of several outcomes.
    thinned
        Numbers of evenly spaced rows.
    """

    lenses: tuple[str, ...] = ()
    vectors: tuple[str, ...] = ()
    thinned: tuple[int, ...] = ()


NOTHING = Looks()
