"""Names of classes that Hugging Face's datasets keep in the metadata of a schema, for labels in numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from calcli.core.language.errors import InputError
from calcli.io.messages import listed

KEY = b"huggingface"


def class_labels(schema: Any) -> dict[str, tuple[str, ...]]:
    """Return the names of the classes of each column whose numbers are positions in a list of names."""
    features = _features(_said(schema.metadata))
    found = {}
    for column, said in features.items():
        names = said.get("names") if isinstance(said, dict) and said.get("_type") == "ClassLabel" else None
        if isinstance(names, list) and column in schema.names:
            found[column] = tuple(map(str, names))
    return found


def names_for(schema: Any, label: str | None, classes: int) -> tuple[str, ...] | None:
    """Return the names of so many classes: those of the labels, or where there are none, the only ones."""
    found = [names for column, names in class_labels(schema).items() if label in (None, column)]
    return found[0] if len(found) == 1 and len(found[0]) == classes else None


def with_names(
    classes: tuple[str, ...] | None,
    schema: Any,
    label: str | None,
    columns: int,
    wanted: Sequence[str] | None,
) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Return the classes of scores by the names that metadata have for them, and what they call each label.

    Parameters
    ----------
    classes
        Of the scores, where the file has names for them; of one score in a row, that of its class.
    schema, label
        With the metadata, and the column of the labels.
    columns
        Scores in a row.
    wanted
        The names in `--classes`.

    Returns
    -------
    The classes, and the names of the labels 0, 1, ...; none if these are places of the scores.
    """
    fitting = names_for(schema, label, max(2, columns))
    said = fitting or class_labels(schema).get(label or "", ())
    if wanted is not None:
        return classes, _spelled(said, wanted)
    numbered = classes is None or all(name.isdigit() for name in classes)
    if fitting and columns == 1:
        return _of_one_score(classes, fitting)
    if fitting and numbered:
        return fitting, fitting
    return classes, _spelled(said, classes or ())


def _of_one_score(
    classes: tuple[str, ...] | None, said: tuple[str, ...]
) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    own = classes[-1] if classes else "1"
    names = ("0", "1") if own in ("0", "1") else _spelled(said, (own,))
    if own not in names:
        return classes, _spelled(said, classes or ())
    at = names.index(own)
    return (said[1 - at], said[at]), said


def _spelled(said: Sequence[str], classes: Sequence[str]) -> tuple[str, ...]:
    """Return names as classes have them, which may differ in capitals; none if no class has such a name."""
    found = []
    for name in said:
        alike = [one for one in classes if one.casefold() == name.casefold()]
        found.append(alike[0] if len(alike) == 1 and name not in classes else name)
    names = tuple(found) if len({*found}) == len(said) else tuple(said)
    return names if {*names} & {*classes} else ()


def metadata_with(metadata: Any, names: Sequence[str], new: Sequence[str]) -> Any:
    """Return metadata of a schema for other columns: new ones hold numbers, and those that went are not told.

    Parameters
    ----------
    metadata
        As it was.
    names, new
        The columns there are, and which of them are new.
    """
    said = _said(metadata)
    features = _features(said)
    if not features:
        return metadata
    number = {"dtype": "float64", "_type": "Value"}
    said["info"]["features"] = {
        name: number if name in new else features[name] for name in names if name in new or name in features
    }
    return {**metadata, KEY: json.dumps(said).encode()}


def joined_metadata(parts: Sequence[tuple[str, Any]]) -> Any:
    """Return the metadata of parts, each a name and a schema: of those that name classes the first.

    Raises
    ------
    InputError
        If two of them name the classes of a column differently.
    """
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    fullest, said = -1, None
    for part, schema in parts:
        labels = class_labels(schema)
        for column, names in labels.items():
            first, known = found.setdefault(column, (part, names))
            if known != names:
                raise InputError(
                    f"{first} and {part} name the classes of {column} differently, {listed(known)} and "
                    f"{listed(names)}; parts of one data set must be alike; without --concat files are "
                    "evaluated one by one"
                )
        if len(labels) > fullest:
            fullest, said = len(labels), names_alone(schema.metadata)
    return said


def names_alone(metadata: Mapping[bytes, bytes] | None) -> dict[bytes, bytes] | None:
    """Return what metadata of a schema say of the classes, without what they say of its rows and columns."""
    return {KEY: metadata[KEY]} if metadata and KEY in metadata else None


def _said(metadata: Mapping[bytes, bytes] | None) -> dict[str, Any]:
    try:
        found = json.loads((metadata or {}).get(KEY, b"{}"))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _features(said: Mapping[str, Any]) -> dict[str, Any]:
    info = said.get("info")
    features = info.get("features") if isinstance(info, dict) else None
    return features if isinstance(features, dict) else {}
