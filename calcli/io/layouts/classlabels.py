"""Names of classes that Hugging Face's datasets keep in the metadata of a schema, for labels in numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calcli.core.language.errors import InputError, UsageError
from calcli.io.messages import listed
from calcli.io.options import ReadOptions
from calcli.io.words import label_names, stem_before

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


@dataclass(frozen=True)
class ScoreNames:
    """Scores, of which metadata may name the classes.

    Attributes
    ----------
    classes
        Names that the file has for them; of one score in a row, that of its class, or of both.
    by_name
        Whether these are names, even if they are numbers.
    columns
        Scores in a row.
    first
        The column of the first of them, or its array.
    file
        For messages.
    """

    classes: tuple[str, ...] | None
    by_name: bool
    columns: int
    first: str
    file: str

    @property
    def numbered(self) -> bool:
        """Whether they are numbers at most, which may be places."""
        return not self.by_name and all(name.isdigit() for name in self.classes or ())


def with_names(
    scores: ScoreNames, schema: Any, label: str | None, options: ReadOptions
) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Return the classes of scores by the names that metadata have for them, and what they call each label.

    Parameters
    ----------
    scores
        Without such names.
    schema, label
        With the metadata, and the column of the labels.
    options
        `classes` and `positive`.

    Returns
    -------
    The classes, and the names of the labels 0, 1, ...; none if these are places of the scores.

    Raises
    ------
    InputError
        If scores may be named by place or by class.
    UsageError
        If `--classes` has the names in another order, of scores that are known by their place.
    """
    classes, found = scores.classes, _names_of_labels(schema, label, options)
    fitting = found if found and len(found) == max(2, scores.columns) else None
    said = fitting or class_labels(schema).get(label or "", ())
    if options.classes is not None:
        by_place = fitting and scores.numbered and scores.columns > 1 and set(classes or ()) != set(said)
        if by_place and options.classes != fitting and set(options.classes) == set(said):
            _refuse_other_order(scores.file, said, options.classes)
        return classes, _spelled(said, options.classes)
    if fitting and scores.columns == 1:
        return _of_one_score(scores, fitting, options)
    if fitting and scores.numbered and (classes is None or set(classes) != set(said)):
        return fitting, fitting
    places = tuple(map(str, range(len(said))))
    if classes is not None and scores.numbered and fitting != classes == places == tuple(sorted(said)):
        raise InputError(
            f"{scores.file}: the scores are those of {listed(classes)}, which may number the classes or be "
            f"their names in the metadata, {listed(said)}; if they are names say --classes "
            f"{','.join(classes)}, else name the columns otherwise"
        )
    return classes, _spelled(said, classes or ())


def _names_of_labels(schema: Any, label: str | None, options: ReadOptions) -> tuple[str, ...] | None:
    """Return the names of labels; where these are elsewhere, or not wanted, the only ones there are."""
    known = class_labels(schema)
    if label is not None:
        return known.get(label)
    columns = label_names(list(known)) or ([] if options.labels else list(known))
    return known[columns[0]] if len(columns) == 1 else None


def _refuse_other_order(file: str, said: Sequence[str], wanted: Sequence[str]) -> None:
    raise UsageError(
        f"--classes names {listed(wanted)}, but the metadata of {file} name the classes {listed(said)}, in "
        f"this order: if the scores are in it, say --classes {','.join(said)} or nothing; if not, save them "
        "in columns that are named after the classes"
    )


def _of_one_score(
    scores: ScoreNames, said: tuple[str, ...], options: ReadOptions
) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    classes = scores.classes
    stem = _spelled(said, (stem_before(scores.first),))
    own = classes[-1] if classes else stem_before(scores.first) if stem else "1"
    names = ("0", "1") if own in ("0", "1") else _spelled(said, (own,))
    if own not in names:
        return classes, _spelled(said, classes or ())
    at = names.index(own)
    if classes and len(classes) == 1 and own in said and said[at] != own and options.positive is None:
        raise InputError(
            f"{scores.file}: the one score of a row is that of {own}, which may be the number of a class or "
            f"its name in the metadata, {listed(said)}; say with --positive whose score it is"
        )
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
