"""The estimator that a metric expression asks for."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, cast, get_args

from calcli.core.estimators.calibrationerror import OfVectors, OneDimensional
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import MetricExpression, nearest_name
from calcli.core.problems.problem import Binning, NamedBinning, Recursive

RECURSIVE = "recursive"


def find_estimator(call: MetricExpression) -> OneDimensional | OfVectors:
    """Return the estimator that a metric expression asks for.

    Parameters
    ----------
    call
        A metric of the family "error".

    Raises
    ------
    UsageError
        If the binning is unknown, or the lens is not for that estimator.
    """
    given: dict[str, Any] = {**call.arguments, **call.entry.fixed}
    of_lens = {"lens", "region", "training"}
    arguments = {key: value for key, value in given.items() if key not in of_lens}
    make = call.entry.mathematics
    if "binning" in arguments:
        least = Recursive(arguments.pop("min_rows"))
        arguments["binning"] = _binning(call, arguments["binning"], least)
    if issubclass(make, OfVectors) and (call.is_class_wise or call.is_marginal):
        raise UsageError(
            f"{call}: the lens {call.lens} is a problem for each class, not one of vectors; expected one "
            "such as canonical or class-0"
        )
    if call.is_marginal and arguments.get("debiased"):
        raise UsageError(f"{call}: the probabilities of a row depend on each other; leave out debiased")
    if arguments.get("weights", "equal") != "equal" and not call.is_class_wise:
        raise UsageError(f"{call}: weights are those of classes; leave out the lens {call.lens}")
    found: OneDimensional | OfVectors = make(**arguments)
    return found


def _binning(call: MetricExpression, said: str, recursive: Recursive) -> Binning:
    """Return the binning that an argument says: a name, or edges."""
    if said == RECURSIVE:
        return recursive
    if said in get_args(NamedBinning):
        return cast(NamedBinning, said)
    known = [*get_args(NamedBinning), RECURSIVE]
    try:
        edges = tuple(map(float, said.split("/")))
    except ValueError:
        edges = ()
    if len(edges) < 2 or edges[0] != 0 or edges[-1] != 1 or not all(a < b for a, b in pairwise(edges)):
        nearest = nearest_name(said, known)
        raise UsageError(
            f"{call}: binning must be one of {', '.join(known)}, or edges that ascend from 0 to 1 such as "
            f"0/0.5/0.9/1, not {said!r}{nearest}"
        )
    return edges
