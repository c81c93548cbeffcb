"""Names of classes that Hugging Face's datasets keep in the metadata of a schema, for labels in numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from calcli.core.language.errors import InputError
from calcli.io.messages import ALIKE, listed
from calcli.io.options import ReadOptions
from calcli.io.words import label_names

KEY = b"huggingface"


def class_labels(schema: Any) -> dict[str, tuple[str, ...]]:
    """Return the class names of each column with positions in a list of names."""
    features = _features(_said(schema.metadata))
    by_column = {}
    for column, f in features.items():
        names = f.get("names") if isinstance(f, dict) and f.get("_type") == "ClassLabel" else None
        if isinstance(names, list) and column in schema.names:
            by_column[column] = tuple(str(name).encode(errors="backslashreplace").decode() for name in names)
    return by_column


def named_classes(
    classes: tuple[str, ...] | None, columns: int, schema: Any, options: ReadOptions
) -> tuple[str, ...] | None:
    """Return the classes of scores without labels, if they are numbered at most by the names in metadata.

    Parameters
    ----------
    classes
        Names of the scores in the file; for one score in a row, the name of its class, or of both.
    columns
        Scores in a row.
    schema
        With the names that metadata have for the labels 0, 1, ...
    options
        `classes` overrules them, and `labels` says that they are elsewhere.
    """
    labels = class_labels(schema)
    columns_of_labels = label_names([*labels]) or ([] if options.labels else [*labels])
    names = labels[columns_of_labels[0]] if len(columns_of_labels) == 1 else ()
    if len(names) != max(2, columns) or options.classes is not None:
        return classes
    if columns == 1:
        return names if classes in (None, ("1",)) else names[::-1] if classes == ("0",) else classes
    numbered = classes is None or (all(map(str.isdigit, classes)) and {*classes} != {*names})
    return names if numbered else classes


def metadata_with(metadata: Any, names: Sequence[str], new: Sequence[str]) -> Any:
    """Return metadata of a schema for other columns: new ones hold numbers, and dropped ones are left out.

    Parameters
    ----------
    metadata
        As it was.
    names, new
        The columns there are, and the new ones among them.
    """
    info = _said(metadata)
    features = _features(info)
    if not features:
        return metadata
    number = {"dtype": "float64", "_type": "Value"}
    info["info"]["features"] = {
        name: number if name in new else features[name] for name in names if name in new or name in features
    }
    return {**metadata, KEY: json.dumps(info).encode()}


def joined_metadata(schemas: Sequence[tuple[str, Any]]) -> Any:
    """Return the metadata of parts, each a name and a schema: from the first part with class names.

    Raises
    ------
    InputError
        If two parts name the classes of a column differently.
    """
    by_column: dict[str, tuple[str, tuple[str, ...]]] = {}
    fullest, metadata = -1, None
    for part, schema in schemas:
        labels = class_labels(schema)
        for column, names in labels.items():
            first_part, known_names = by_column.setdefault(column, (part, names))
            if known_names != names:
                raise InputError(
                    f"{first_part} and {part} name the classes of {column} differently, "
                    f"{listed(known_names)} and {listed(names)}; {ALIKE}"
                )
        if len(labels) > fullest:
            fullest, metadata = len(labels), names_alone(schema.metadata)
    return metadata


def names_alone(metadata: Mapping[bytes, bytes] | None) -> dict[bytes, bytes] | None:
    """Return what metadata of a schema say of the classes, without what they say of its rows and columns."""
    return {KEY: metadata[KEY]} if metadata and KEY in metadata else None


def _said(metadata: Mapping[bytes, bytes] | None) -> dict[str, Any]:
    try:
        metadata_of_file = json.loads((metadata or {}).get(KEY, b"{}"))
    except (ValueError, RecursionError):
        return {}
    return metadata_of_file if isinstance(metadata_of_file, dict) else {}


def _features(document: Mapping[str, Any]) -> dict[str, Any]:
    info = document.get("info")
    features = info.get("features") if isinstance(info, dict) else None
    return features if isinstance(features, dict) else {}
