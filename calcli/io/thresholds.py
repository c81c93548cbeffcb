"""Threshold files: versioned JSON beside that of calibrators, with a checksum of what is promised."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

from calcli.core.data.predictions import Kind
from calcli.core.estimators.thresholds import Found, Threshold
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.jsonvalues import json_value
from calcli.core.language.version import __version__
from calcli.io.atomic import atomic_path
from calcli.io.calibrators import DAMAGE, check_version, pretty, read_json, said
from calcli.io.remote import AnyPath, path_of

SCHEMA = "calcli.threshold/1"
WHAT = "threshold"
ENDINGS = ("", ".json")  # devices and pipes have none


def save_threshold(threshold: Threshold, path: str | Path) -> None:
    """Write a threshold file, whole or not at all.

    Raises
    ------
    InputError
        If it cannot be written there.
    UsageError
        If its name ends otherwise.
    """
    if (ending := Path(path).suffix.lower()) not in ENDINGS:
        raise UsageError(f"{path}: a threshold is written as JSON, not {ending}; end the name so")
    with atomic_path(path) as temporary:
        temporary.write_text(threshold_text(threshold), encoding="utf-8")


def threshold_text(threshold: Threshold) -> str:
    """Return a threshold as JSON text."""
    return pretty(_document(threshold)) + "\n"


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
        if document["crc32"] != _checksum(document):
            raise ValueError("it does not have its checksum")
        return _threshold(document)
    except DAMAGE as error:
        raise InputError(f"{file} is damaged ({said(error)}); make it again, or copy it again") from error


def _document(threshold: Threshold) -> dict[str, Any]:
    known = asdict(threshold)
    accepted = [one.accepted if one.threshold is not None else None for one in threshold.found]
    found = [
        own | {"accepted_share": None if ends is None else _share(own, ends.low, ends.high)}
        for own, ends in zip(known.pop("found"), accepted, strict=True)
    ]
    document = {"schema": SCHEMA, "calcli": __version__, "of": "confidence", **known, "thresholds": found}
    document = json_value(document)
    return document | {"crc32": _checksum(document)}


def _share(found: Mapping[str, Any], low: float, high: float) -> dict[str, float]:
    return {
        "value": found["accepted_rows"] / found["rows"],
        "low": low,
        "high": high,
        "level": found["level"],
    }


def _checksum(document: Mapping[str, Any]) -> int:
    held = {name: value for name, value in document.items() if name not in ("crc32", "calcli")}
    return zlib.crc32(json.dumps(held, sort_keys=True).encode())


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
