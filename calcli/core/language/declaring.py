"""Declarations of settings: the meaning, the values and the default of each.

Options of the command line, keys of policies and keywords in Python are made from these
declarations, which also check the values.
"""

from __future__ import annotations

import math
import operator
import os
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from numbers import Real
from typing import Any, Literal, TypeAlias, TypeGuard, TypeVar, get_args

from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import nearest_name

Spelling: TypeAlias = Literal["option", "key", "keyword"]

F = TypeVar("F", bound=Any)

LARGEST = 2**63 - 1
LONGEST = 9  # digits of a number in a name
LONG = 100  # characters of a value other than text that is no longer shown


def as_option(name: str) -> str:
    """Return the command-line option of an argument."""
    return "--" + name.replace("_", "-")


@dataclass(frozen=True)
class Values:
    """The values that a setting accepts.

    Attributes
    ----------
    type
        Type to which the command line converts text: bool, int, float or str.
    name
        Name of the type in the documentation of keywords.
    expected
        The expected values, to end a sentence on a wrong value.
    taken
        Converts a value for the setting; raises TypeError, ValueError or OverflowError if the value is wrong.
    limits
        Limits of whole numbers, as help shows them.
    choices
        The allowed values, if there are few.
    several
        For lists: whether one text holds all items, separated by commas, or the option is repeated.
    """

    type: type
    name: str
    expected: str
    taken: Callable[[Any], Any]
    limits: str = ""
    choices: tuple[str, ...] = ()
    several: Literal["", "commas", "repeated"] = ""

    def checked(self, called: str, value: Any) -> Any:
        """Return a value as the setting holds it.

        Raises
        ------
        UsageError
            If the value is wrong; `called` is the setting as the user wrote it.
        """
        if self.several == "commas":
            refuse_set(called, value)
        try:
            return self.taken(value)
        except (TypeError, ValueError, OverflowError):
            text = f"{value:g}" if isinstance(value, float) else repr(value)
            text = ",".join(value) if self.name == "list of int" and isinstance(value, tuple) else text
            if (len(text) > LONG or "\n" in text) and not isinstance(value, str):
                text = f"of type {type(value).__name__}"
            nearest = nearest_name(str(value), self.choices)
            raise UsageError(f"{called} is {text}; expected {self.expected}{nearest}") from None


@dataclass(frozen=True)
class Setting:
    """The declaration of a setting.

    Attributes
    ----------
    values
        The accepted values.
    help
        Its meaning in one line; it names other settings by their options.
    metavar
        Placeholder for the value in help.
    key
        Its name in a policy and, with dashes, on the command line.
    keyword
        Its name in Python.
    in_policies
        Whether a policy may hold it.
    default
        Its default.
    """

    values: Values
    help: str
    metavar: str | None = None
    key: str = ""
    keyword: str = ""
    in_policies: bool = False
    default: Any = None

    @property
    def option(self) -> str:
        """Its name on the command line."""
        return as_option(self.key)

    def described(self) -> list[str]:
        """Return the lines of a docstring."""
        meaning = re.sub("--[a-z-]+", lambda name: name[0][2:].replace("-", "_"), self.help)
        text = textwrap.wrap(meaning, 100, initial_indent="    ", subsequent_indent="    ")
        return [f"{self.keyword} : {self.values.name}, default {self.default!r}", *text]

    def spelled(self, spelling: Spelling) -> str:
        """Return its name as the user wrote it."""
        return str(getattr(self, spelling))

    def checked(self, value: Any, spelling: Spelling) -> Any:
        """Return the converted value; text is split into a list, except in policies.

        Raises
        ------
        UsageError
            If it is wrong.
        """
        called = self.spelled(spelling)
        if value is None and self.default is None:
            return None
        if isinstance(value, os.PathLike) and self.values.several:
            value = (value,)
        if isinstance(value, str) and self.values.several and spelling != "key":
            value = some_items(called, value) if self.values.several == "commas" else (value,)
        return self.values.checked(called, value)


def whole(low: int = 0, high: int | None = None) -> Values:
    """Return the values of a whole number in a range; the default end is the largest that arrays hold."""

    def taken(value: Any) -> int:
        number = operator.index(value)
        if isinstance(value, bool) or not low <= number <= (LARGEST if high is None else high):
            raise ValueError
        return number

    if high is None:
        return Values(int, "int", f"a whole number of at least {low}, below 2^63", taken, f"x>={low}")
    return Values(int, "int", f"a whole number from {low} to {high}", taken, f"{low}<=x<={high}")


def whole_numbers(example: str) -> Values:
    """Return the values of a list of whole numbers, each at least 1."""

    def taken(value: Any) -> tuple[int, ...]:
        numbers = tuple(map(int, value))
        if not numbers or min(numbers) < 1:
            raise ValueError
        return numbers

    expected = f"whole numbers of at least 1, such as {example}"
    return Values(str, "list of int", expected, taken, several="commas")


def numbers(expected: str, holds: Callable[[float], bool]) -> Values:
    """Return the values of a finite number that satisfies a condition."""

    def taken(value: Any) -> float:
        number = _number(value)
        if not holds(number):
            raise ValueError
        return number

    return Values(float, "float", expected, taken)


def choice(of: Any) -> Values:
    """Return the values of a Literal type."""
    choices: tuple[str, ...] = get_args(of)

    def taken(value: Any) -> str:
        return choices[choices.index(value)]

    listed = ", ".join(f'"{name}"' for name in choices)
    return Values(str, f"{{{listed}}}", f"one of {listed}", taken, choices=choices)


def texts(example: str, *, commas: bool = False, checked: Callable[[tuple[str, ...]], Any] = tuple) -> Values:
    """Return the values of a list of text, with a further check."""

    def taken(value: Any) -> tuple[str, ...]:
        if isinstance(value, (str, Mapping)) or not isinstance(value, Iterable):
            raise TypeError
        several = tuple(map(_text, value))
        checked(several)
        return several

    expected = f'a list of text, such as ["{example}"]'
    return Values(str, "list of str", expected, taken, several="commas" if commas else "repeated")


def marks(example: str) -> Values:
    """Return lists of text or whole numbers, these as they are written; one number stands for a list, too."""

    def taken(value: Any) -> tuple[str, ...]:
        several = isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))
        return tuple(map(_written, value if several else (value,)))

    expected = f'text or whole numbers, such as {example} or ["{example}"]'
    return replace(texts(example), name="int or list of str", expected=expected, taken=taken)


def mapping(expected: str) -> Values:
    """Return the values of a mapping of text to other values."""

    def taken(value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            raise TypeError
        return dict(value)

    return Values(str, "dict", expected, taken)


def names(example: str) -> Values:
    """Return the values of a list of names: text, or numbers and booleans of Python or numpy, as text."""

    def taken(value: Any) -> tuple[str, ...]:
        if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
            raise TypeError
        listed = value.to_pylist() if hasattr(value, "to_pylist") else value
        plain = [item.item() if hasattr(item, "item") else item for item in listed]
        if not all(isinstance(item, (str, int, float)) for item in plain):
            raise TypeError
        return tuple(map(str, plain))

    return replace(texts(example, commas=True), taken=taken)


def refuse_set(called: str, value: Any) -> None:
    """Raise a UsageError for a set, which two runs may order differently."""
    if isinstance(value, (set, frozenset)):
        raise UsageError(f"{called} is a set, which has no order; give a list")


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise TypeError
    return float(value)


def _written(value: Any) -> str:
    """Return text, or a whole number as text."""
    if isinstance(value, bool):
        raise TypeError
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, str) else str(operator.index(value))


def _text(value: Any) -> str:
    text = os.fspath(value)
    if not isinstance(text, str):
        raise TypeError
    return text


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


FLAG = Values(bool, "bool", "true or false", _flag)
NUMBER = Values(float, "float", "a finite number", _number)
TEXT = Values(str, "str", "text", _text)
PATH = replace(TEXT, expected="a path")
COLUMN = replace(TEXT, expected="the name of a column")


def is_path(value: object) -> TypeGuard[str | os.PathLike[str]]:
    """Tell whether a value is text or another path."""
    return isinstance(value, str | os.PathLike)


def setting(default: Any, values: Values, help: str, metavar: str | None = None, **facts: Any) -> Any:
    """Return the field of a setting; a type as default is called for each new instance."""
    metadata = {"setting": Setting(values, help, metavar, **facts)}
    if isinstance(default, type):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, metadata=metadata)


def declared(owner: type[Any]) -> dict[str, Setting]:
    """Return the declarations of the settings of a class, by keyword."""
    by_name = {}
    for f in fields(owner):
        declaration: Setting = f.metadata["setting"]
        default = f.default if f.default_factory is MISSING else f.default_factory()
        by_name[f.name] = replace(declaration, keyword=f.name, key=declaration.key or f.name, default=default)
    return by_name


def checked(owner: type[Any], values: Mapping[str, Any], spelling: Spelling) -> dict[str, Any]:
    """Return the converted values of settings, by keyword.

    Parameters
    ----------
    owner
        The class.
    values
        Values by keyword; a list may be text, as on the command line.
    spelling
        Where they were written, for messages.

    Raises
    ------
    UsageError
        If a setting is unknown, or its value is wrong.
    """
    settings = declared(owner)
    unknown = [name for name in values if name not in settings]
    if unknown:
        kind = "argument" if spelling == "keyword" else spelling
        turned = [word.removeprefix("no_") for word in unknown if word.removeprefix("no_") in settings]
        mend = f"write {turned[0]}=False" if turned else f"expected some of {', '.join(settings)}"
        raise UsageError(f"unknown {kind} {', '.join(unknown)}; {mend}")
    return {name: settings[name].checked(value, spelling) for name, value in values.items()}


def documented(owner: type[Any] | None = None, *names: str) -> Callable[[F], F]:
    """Put descriptions of settings into a docstring, in place of the line `{Settings}` or `{ClassName}`.

    Parameters
    ----------
    owner
        The class; None for the one that has the docstring.
    names
        Some of its settings; all if there are none.
    """

    def described(it: F) -> F:
        of = owner or it
        settings = declared(of)
        before, _, after = (it.__doc__ or "").partition(f"{{{of.__name__}}}")
        indent = before.rpartition("\n")[2]
        lines = [line for name in names or settings for line in settings[name].described()]
        it.__doc__ = before + f"\n{indent}".join(lines) + after
        return it

    return described


def number_in(digits: str) -> int:
    """Return the number that digits stand for; -1 for other text and for too many digits."""
    return int(digits) if digits.isdecimal() and len(digits) <= LONGEST else -1


def items(text: str | None) -> tuple[str, ...]:
    """Return the items of a list separated by commas."""
    return tuple(item.strip() for item in (text or "").split(",") if item.strip())


def some_items(called: str, text: str | None) -> tuple[str, ...] | None:
    """Return the items of a list of that name; None if it was not given.

    Raises
    ------
    UsageError
        If it is empty.
    """
    if text is not None and not items(text):
        raise UsageError(f"{called} is empty; leave it out")
    return None if text is None else items(text)
