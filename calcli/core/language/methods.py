"""The registry of calibrators: each is declared where its mathematics is."""

from __future__ import annotations

from calcli.core.language.entries import Method, Registry, declared_in

HOMES = ("temperature", "softmax", "structured", "logistic", "spline", "histogram", "pool", "wrappers")
JOINED = "+"  # between the members of a pool


def _declared() -> list[Method]:
    """Return the methods; among equally good ones `auto` takes the first."""
    return sorted(declared_in("calcli.core.calibrators", *HOMES), key=lambda entry: entry.freedom)


METHODS = Registry("calcli.calibrators", Method, _declared)
CHOICE = Method(
    name="auto", title="The choice among methods", family="pool",
    learns="the simplest candidate within one standard error of the best single one by cross-validation, or "
    "the pool of the best of each kind if it gains more than one and 1%",
    parameters="those of its choice", keeps="what its choice keeps",
    source="Breiman et al. 1984, section 3.4.3",
    misses="what is chosen among many looks better than it is; the report estimates by how much",
)  # fmt: skip
