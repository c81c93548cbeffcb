"""Calibrators made from what the registry says of them; nothing here loads numpy until one is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calcli.core.language.entries import Method, named_at
from calcli.core.language.expressions import MethodExpression

if TYPE_CHECKING:
    from calcli.core.calibrators.base import Calibrator


def make(call: MethodExpression) -> Calibrator:
    """Return the calibrator that an expression asks for, not fitted.

    Raises
    ------
    UsageError
        If the lens is not for that method.
    """
    settings = dict(call.arguments)
    if "calibrator" in settings:
        settings["calibrator"] = make(settings["calibrator"])
    made: Calibrator = calibrator_class(call.entry)(**settings)
    return made


def calibrator_class(method: Method) -> Any:
    """Return the class of a method."""
    return named_at(method.where, "calcli.core.calibrators")
