"""Threshold files: versioned JSON beside that of calibrators, with a checksum of what is promised."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from calcli.core.data.predictions import Kind
from calcli.core.estimators.thresholds import Found, Threshold, checksum
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.version import __version__
from calcli.io.places.outputs import atomic_path
from calcli.io.places.paths import AnyPath, path_of
from calcli.io.saved.calibrators import DAMAGE, check_version, pretty, read_json, said

SCHEMA = "calcli.threshold/1"
WHAT = "threshold"
ENDINGS = ("", ".json")  # devices and pipes have none


def refuse_ending(path: str | Path) -> None:
    """Raise a UsageError for the name of a file with another ending than a threshold has."""
    if (ending := Path(path).suffix.lower()) not in ENDINGS:
        raise UsageError(f"{path}: a threshold is written as JSON, not {ending}; end the name so")


def save_threshold(threshold: Threshold, path: str | Path) -> None:
    """Write a threshold file, whole or not at all.

    Raises
    ------
    InputError
        If it cannot be written there.
    UsageError
        If its name ends otherwise.
    """
    refuse_ending(path)
    with atomic_path(path) as temporary:
        temporary.write_text(threshold_text(threshold), encoding="utf-8")


def threshold_text(threshold: Threshold) -> str:
    """Return a threshold as JSON text."""
    return pretty({"schema": SCHEMA, "calcli": __version__, **threshold.content()}) + "\n"


def is_threshold(path: AnyPath) -> bool:
    """Tell whether a file says that it is a threshold."""
    try:
        return path.is_file() and f'"{SCHEMA.split("/")[0]}/'.encode() in path.read_bytes()[:200]
    except OSError:
        return False


def load_threshold(path: str | Path) -> Threshold:
    """Read a threshold file.

    Raises
    ------
    InputError
        If there is none, it is of an unknown version, or damaged.
    """
    file = path_of(path)
    if not file.is_file():
        raise InputError(f"{file}: no such file; expected a threshold, as written by calcli threshold -o")
    document = read_json(file.read_bytes(), file, WHAT)
    check_version(document, file, WHAT, SCHEMA)
    try:
        held = {name: one for name, one in document.items() if name not in ("schema", "calcli", "crc32")}
        if document["crc32"] != checksum(held):
            raise ValueError("it does not have its checksum")
        return _threshold(document)
    except DAMAGE as error:
        raise InputError(f"{file} is damaged ({said(error)}); make it again, or copy it again") from error


def _threshold(document: Mapping[str, Any]) -> Threshold:
    if document["of"] != "confidence":
        raise ValueError(f"a threshold of {document['of']}, not of the confidence")
    if document["kind"] not in get_args(Kind):
        raise ValueError("the scores are of no known kind")
    found = []
    for one in document["thresholds"]:
        own = {name: value for name, value in one.items() if name != "accepted_share"}
        if own["threshold"] is not None and not math.isfinite(own["threshold"]):
            raise ValueError("a threshold that is no number")
        found.append(Found(**own))
    if not found or (document["by"] is None and len(found) > 1):
        raise ValueError("its slices and thresholds do not agree")
    names = ("kind", "target", "max_error", "level", "by", "cluster", "seed", "made_of")
    classes = tuple(map(str, document["classes"]))
    return Threshold(classes=classes, found=tuple(found), **{name: document[name] for name in names})
