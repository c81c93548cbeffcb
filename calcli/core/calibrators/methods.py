"""Method expressions: `histogram:bins=20` parses to a method with its settings, prints back, and is made.

The grammar is that of metric expressions. Nothing here loads numpy until a calibrator is made.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import nearest_name
from calcli.core.language.methods import METHODS, Method

if TYPE_CHECKING:
    from calcli.core.calibrators.base import Calibrator

TRUE_FALSE = {"true": True, "false": False}
EXPECTED = {bool: "true or false", int: "a whole number", float: "a number", tuple: "numbers, as in 1/0.1"}


@dataclass(frozen=True)
class MethodExpression:
    """A method with all its settings."""

    entry: Method
    arguments: Mapping[str, Any]

    def __str__(self) -> str:
        """Return the canonical expression: settings in the registry's order, defaults left out."""
        changed = [
            f"{name}={_text(self.arguments[name])}"
            for name, default in self.entry.settings.items()
            if self.arguments[name] != default
        ]
        return ":".join([self.entry.name, *changed])

    def parameters(self, classes: int) -> int | None:
        """Return how many numbers are learned for so many classes; None if there is no fixed number."""
        if self.entry.count is None:
            return None
        each = self.entry.count(classes, self.arguments)
        maps = classes if self.arguments.get("lens") == "class-wise" and classes > 2 else 1
        return each * maps


def make(call: MethodExpression) -> Calibrator:
    """Return the calibrator, not fitted.

    Raises
    ------
    UsageError
        If a setting is out of range.
    """
    return new_calibrator(call.entry, call.arguments)


def new_calibrator(method: Method, settings: Mapping[str, Any]) -> Calibrator:
    """Return a calibrator with these settings, not fitted."""
    return calibrator_class(method)(**settings)


def calibrator_class(method: Method) -> Any:
    """Return the class of a method."""
    module, name = method.where.split(":")
    return getattr(importlib.import_module(f"calcli.core.calibrators.{module}"), name)


def parse_method(text: str, common: Mapping[str, Any] | None = None) -> MethodExpression:
    """Parse one method expression.

    Parameters
    ----------
    text
        `name` or `name:setting=value:...`; values of a list are separated by slashes.
    common
        Settings for this method that replace the defaults; the expression overrules them.

    Raises
    ------
    UsageError
        If the method, a setting or a value is unknown; the nearest name is suggested.
    """
    name, *pairs = text.strip().split(":")
    if name not in METHODS:
        nearest = nearest_name(name, METHODS)
        raise UsageError(f"unknown method {name!r}{nearest}; there are: {', '.join(METHODS)}")
    method = METHODS[name]
    settings = {**method.settings, **(common or {})}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or key not in method.settings:
            known = ", ".join(method.settings) or "none"
            raise UsageError(f"method {name!r} has no setting {pair!r}; it has: {known}")
        settings[key] = _value(name, key, value, method.settings[key])
    return MethodExpression(method, settings)


def parse_methods(texts: Iterable[str], common: Mapping[str, Any] | None = None) -> list[MethodExpression]:
    """Parse several expressions, each once; common settings go to the methods that have them."""
    calls = []
    for text in texts:
        method = METHODS.get(text.strip().split(":")[0])
        known = method.settings if method else {}
        calls.append(parse_method(text, {key: v for key, v in (common or {}).items() if key in known}))
    return list({str(call): call for call in calls}.values())


def _value(method: str, key: str, text: str, default: Any) -> Any:
    try:
        if isinstance(default, bool):
            return TRUE_FALSE[text]
        if isinstance(default, tuple):
            return tuple(float(part) for part in text.split("/"))
        return type(default)(text)
    except (ValueError, KeyError):
        raise UsageError(f"{method}: {key} must be {EXPECTED[type(default)]}, not {text!r}") from None


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "/".join(map(_text, value))
    if isinstance(value, float) and float(f"{value:g}") == value:
        return f"{value:g}"
    return str(value)
