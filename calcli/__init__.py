"""Evaluate, recalibrate and guard the probabilities of classifiers, from saved prediction files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calcli.api import Report as Report
    from calcli.api import evaluate as evaluate
    from calcli.api import read as read

__version__ = "0.1.0"
__all__ = ["Report", "__version__", "evaluate", "read"]


def __getattr__(name: str) -> Any:
    """Import the Python interface when it is first used, so that the command line starts quickly."""
    if name not in __all__:
        raise AttributeError(f"module 'calcli' has no attribute {name!r}")
    from calcli import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return sorted(__all__)
