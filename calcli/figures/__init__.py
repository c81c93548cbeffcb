"""Results to figures."""

from __future__ import annotations

from calcli.figures.output import save
from calcli.figures.reliability import reliability
from calcli.figures.sets import standard_set

__all__ = ["reliability", "save", "standard_set"]
