"""JSON Schemas from the types of documents."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from inspect import getdoc
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

DIALECT = "https://json-schema.org/draft/2020-12/schema"
NUMBER = "number"  # the definition of floating-point numbers
PLAIN = {str: "string", bool: "boolean", int: "integer", NoneType: "null", dict: "object"}
ATTRIBUTE = re.compile(r"^(\w+(?:, \w+)*)\n((?:    .*\n?)+)", re.MULTILINE)


@dataclass(frozen=True)
class Fields:
    """What `dataclasses.asdict` makes of a dataclass, changed.

    Attributes
    ----------
    of
        The dataclass.
    without
        Fields to leave out.
    beside
        Typed dictionaries with keys to add or to give another type; the keys of one that is not total are
        all there or all missing.
    """

    of: type[Any]
    without: tuple[str, ...] = ()
    beside: tuple[type[Any], ...] = ()


@dataclass
class Schemas:
    """Makes schemas of types; objects have exactly the keys of their type.

    Attributes
    ----------
    written
        The type to write in place of a less informative type, such as a protocol.
    definitions
        The objects so far, by name.
    """

    written: Mapping[Any, Any] = field(default_factory=dict)
    definitions: dict[str, Any] = field(default_factory=dict)

    def document(self, title: str, head: Mapping[str, Any], content: Any) -> dict[str, Any]:
        """Return the schema of a whole document, with the keys of a head and of a typed dictionary."""
        body = self._keys(content)
        keys = {**head, **body.pop("properties")}
        required = [*head, *body.pop("required")]
        document = {
            "$schema": DIALECT,
            "title": title,
            "type": "object",
            "properties": keys,
            "required": required,
        }
        return document | body | {"$defs": dict(sorted(self.definitions.items()))}

    def of(self, kind: Any) -> dict[str, Any]:
        """Return the schema of a type: a dataclass, typed dictionary, union, literal, list or mapping."""
        kind = self.written.get(kind, kind)
        origin, arguments = get_origin(kind), get_args(kind)
        if kind is Any:
            return {}
        if kind is float:
            special = {"enum": ["inf", "-inf", "nan"], "description": "What JSON has no number for."}
            self.definitions[NUMBER] = {"anyOf": [{"type": "number"}, special]}
            return {"$ref": f"#/$defs/{NUMBER}"}
        if kind in PLAIN or kind is None:
            return {"type": PLAIN[kind or NoneType]}
        if origin is Annotated:  # written by `asdict`: the classes stand beside
            return self._any(arguments[1:])
        if origin in (Union, UnionType, NotRequired):
            return self._any(arguments)
        if origin is Literal:
            return {"enum": list(arguments)}
        if origin is tuple and arguments[-1] is not Ellipsis:
            places = [self.of(argument) for argument in arguments]
            return {"type": "array", "prefixItems": places, "items": False, "minItems": len(places)}
        if origin in (list, tuple, Sequence):
            return {"type": "array", "items": self.of(arguments[0])}
        if origin in (dict, Mapping):
            return {"type": "object", "additionalProperties": self.of(arguments[1])}
        return self._named(kind)

    def _any(self, kinds: Sequence[Any]) -> dict[str, Any]:
        return self.of(kinds[0]) if len(kinds) == 1 else {"anyOf": [self.of(kind) for kind in kinds]}

    def _named(self, kind: Any) -> dict[str, Any]:
        name = (kind.of if isinstance(kind, Fields) else kind).__name__
        if name not in self.definitions:
            self.definitions[name] = {}  # it may hold itself
            self.definitions[name] = {"type": "object"} | self._keys(kind)
        return {"$ref": f"#/$defs/{name}"}

    def _keys(self, kind: Any, without: Sequence[str] = ()) -> dict[str, Any]:
        """Return the keys of an object, the required ones, and the groups that occur together."""
        if isinstance(kind, Fields):
            dicts = [self._keys(kind.of, kind.without), *map(self._keys, kind.beside)]
            together = {name: keys for part in dicts for name, keys in part["dependentRequired"].items()}
            return {
                "properties": {name: schema for part in dicts for name, schema in part["properties"].items()},
                "required": [*dict.fromkeys(name for part in dicts for name in part["required"])],
                "additionalProperties": False,
                "dependentRequired": together,
            }
        if not (is_dataclass(kind) or is_typeddict(kind)):
            raise TypeError(f"no schema for {kind}")
        types = get_type_hints(kind, include_extras=True)
        names = [field.name for field in fields(kind)] if is_dataclass(kind) else list(types)
        optional = {name for name in names if get_origin(types[name]) is NotRequired}
        optional |= getattr(kind, "__optional_keys__", set())
        texts = _descriptions(kind)
        keys = {name: self.of(types[name]) | texts.get(name, {}) for name in names if name not in without}
        group = [] if is_dataclass(kind) or kind.__total__ else names
        return {
            "properties": keys,
            "required": [name for name in keys if name not in optional],
            "additionalProperties": False,
            "dependentRequired": {name: [sibling for sibling in group if sibling != name] for name in group},
        }


def _descriptions(kind: Any) -> dict[str, dict[str, str]]:
    """Return the descriptions of attributes in docstrings, parent classes included."""
    descriptions: dict[str, dict[str, str]] = {}
    for parent in reversed(kind.__mro__):
        doc = getdoc(parent) if "__doc__" in vars(parent) else None
        for names, text in ATTRIBUTE.findall((doc or "").partition("----------\n")[2]):
            descriptions |= {name: {"description": " ".join(text.split())} for name in names.split(", ")}
    return descriptions
