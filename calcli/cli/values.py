"""Values of the command line that are of their type as they are, told without a library that checks types."""

from __future__ import annotations

import re
from functools import partial
from typing import Any, get_args

from typer.core import TyperCommand, TyperGroup

WHOLE = re.compile("[0-9]{1,18}")


class PlainCommand(TyperCommand):
    """A command that takes text for text."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters."""
        return plainly(super().get_params(ctx))


class PlainGroup(TyperGroup):
    """Commands, and options before them."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters."""
        return plainly(super().get_params(ctx))


def plainly(params: list[Any]) -> list[Any]:
    """Return parameters that leave it to typer to convert only what is not of their type.

    For anything else, what is absent as well, typer loads pydantic, which takes as long as numpy. Versions
    that do not load it are left alone.
    """
    for param in params:
        if hasattr(param, "type_descriptor"):
            setattr(param, "process_value", partial(_value, param))  # noqa: B010 (a method of one object)
    return params


def _value(param: Any, ctx: Any, value: Any) -> Any:
    said = param.type_descriptor
    kind = said.annotation
    if kind is int and not said.is_ranged and isinstance(value, str) and WHOLE.fullmatch(value):
        value = int(value)
    absent = value is None and not param.required
    texts = kind == list[str] and isinstance(value, list | tuple) and len(value) > 0
    if absent or texts or type(value) is kind or (isinstance(value, str) and value in get_args(kind)):
        return value if param.callback is None else param.callback(ctx, param, value)
    return type(param).process_value(param, ctx, value)
