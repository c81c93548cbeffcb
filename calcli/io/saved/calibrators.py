"""Calibrator files: versioned JSON, or .npz by its ending; never a pickle.

Scalars and small arrays are readable numbers; an array of more than `READABLE` numbers is the base64
of its little-endian bytes, with their checksum. In .npz each parameter is an array, and the rest is JSON in
one more array.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zipfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict, get_args

import numpy as np

from calcli.core.calibrators.base import Calibrator
from calcli.core.calibrators.fit.training import Parameter
from calcli.core.calibrators.record import CalibratorRecord, FitOrigin, FitRows
from calcli.core.data.arrays import Array
from calcli.core.data.predictions import Kind, called
from calcli.core.language.errors import CalcliError, InputError, UsageError
from calcli.core.language.methods import METHODS
from calcli.core.language.text import json_value, plain_json
from calcli.core.language.version import __version__
from calcli.io.messages import listed
from calcli.io.places.archives import DAMAGE, SAID, naming_faults, refuse_bomb
from calcli.io.places.heads import held_array
from calcli.io.places.outputs import atomic_path
from calcli.io.places.paths import AnyPath, path_of

SCHEMA: Literal["calcli.calibrator/1"] = "calcli.calibrator/1"
OF_LABELS: Literal["calcli.calibrators/1"] = "calcli.calibrators/1"
HEADER = "calibrator"  # the array of an .npz file that holds the JSON
READABLE = 256
ENDINGS = ("", ".json", ".npz")  # devices and pipes have none
PROBES = 50
ROUNDING = 1e-6  # tolerance for the sum of the priors


class MethodObject(TypedDict):
    """A method and its settings, by name; for a wrapper the inner calibrator is one of the settings."""

    method: str
    settings: dict[str, Any]


class ArrayObject(TypedDict):
    """Many numbers: their little-endian bytes."""

    dtype: str
    shape: list[int]
    crc32: int
    base64: str


class CalibratorHead(MethodObject):
    """The facts about a calibrator in its file, besides parameters."""

    schema: Literal["calcli.calibrator/1"]
    calcli: str
    input: Literal["raw", "log-probs"]
    classes: list[str]
    priors: list[float]
    fitted_on: Annotated[Any, FitOrigin, FitRows]


class CalibratorFile(CalibratorHead):
    """A calibrator in JSON."""

    parameters: dict[str, Annotated[Any, ArrayObject, float, list[Any]]]


class LabelsFile(TypedDict):
    """The calibrators of several labels in a row, by label."""

    schema: Literal["calcli.calibrators/1"]
    calcli: str
    labels: dict[str, CalibratorFile]


def refuse_ending(path: str | Path) -> None:
    """Raise a UsageError for a file name without an ending of calibrators."""
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise UsageError(f"{path}: a calibrator is written as JSON or .npz, not {ending}; end the name so")


def save_calibrator(record: CalibratorRecord, path: str | Path) -> None:
    """Write a calibrator file, whole or not at all.

    Raises
    ------
    InputError
        If it cannot be written there.
    UsageError
        If its name has another ending.
    """
    refuse_ending(path)
    parameters = record.calibrator.parameters
    with atomic_path(path) as temporary:
        if temporary.suffix.lower() == ".npz":
            arrays: dict[str, Any] = {HEADER: np.array(json.dumps(_document(record))), **_arrays(parameters)}
            np.savez(temporary, **arrays)
        else:
            temporary.write_text(calibrator_text(record), encoding="utf-8")


def calibrator_text(record: CalibratorRecord) -> str:
    """Return a calibrator as JSON text."""
    arrays = _arrays(record.calibrator.parameters)
    document = _document(record) | {"parameters": {name: _encoded(array) for name, array in arrays.items()}}
    return pretty(document) + "\n"


def fingerprint(record: CalibratorRecord) -> str:
    """Return an identifier of a calibrator, 16 hexadecimal digits."""
    return hashlib.sha256(calibrator_text(record).encode()).hexdigest()[:16]


def labels_text(records: Mapping[str, CalibratorRecord]) -> str:
    """Return the calibrators of several labels in a row as JSON text."""
    labels = {label: json.loads(calibrator_text(record)) for label, record in records.items()}
    return pretty({"schema": OF_LABELS, "calcli": __version__, "labels": labels}) + "\n"


def load_labels(path: str | Path) -> dict[str, CalibratorRecord]:
    """Read the calibrators of several labels in a row; none from a file of anything else.

    Raises
    ------
    InputError
        If one is damaged.
    """
    file = path_of(path)
    if not file.is_file() or f'"{OF_LABELS}"'.encode() not in (data := file.read_bytes())[:200]:
        return {}
    return {name: load_calibrator(f"{path}/{name}") for name in read_json(data, file)["labels"]}


def load_calibrator(path: str | Path) -> CalibratorRecord:
    """Read a calibrator file, or the calibrator of a label, as `cal.json/edema`.

    Raises
    ------
    InputError
        If there is none, it is of an unknown version, damaged, or of several labels.
    """
    file, label = path_of(path), ""
    if not file.exists() and file.parent.is_file():
        file, label = file.parent, file.name
    if not file.is_file():
        raise InputError(f"{file}: no such file; expected a calibrator, as written by calcli fit -o")
    data = file.read_bytes()
    if data.startswith(b"PK"):
        document, arrays = _read_npz(file)
    else:
        document, arrays = read_json(data, file), None
    if isinstance(document, dict) and document.get("schema") == OF_LABELS:
        labels = document["labels"]
        if label not in labels:
            mend = f"name one, as in {file}/{next(iter(labels))}"
            raise InputError(f"{file} has a calibrator for each of {listed([*labels])}; {mend}")
        document = labels[label]
    check_version(document, file)
    with naming_faults(f"{file} is damaged ({SAID}); fit it again, or copy it again"):
        try:
            if arrays is None:
                parameters = {name: _decoded(value) for name, value in document["parameters"].items()}
            else:
                parameters = {name: _parameter(array) for name, array in arrays.items()}
            return _record(document, parameters)
        except CalcliError as error:
            raise InputError(f"{file} is not a valid calibrator: {error}") from error


def _document(record: CalibratorRecord) -> CalibratorHead:
    return {
        "schema": SCHEMA,
        "calcli": __version__,
        **_method(record.calibrator),
        "input": "raw" if record.raw else "log-probs",
        "classes": list(record.classes),
        "priors": list(record.priors),
        "fitted_on": json_value(record.fitted_on),
    }


def _method(calibrator: Calibrator) -> MethodObject:
    settings = calibrator.get_params()
    del settings["scores_are"]  # the kind of the fit follows from the rows of the fit
    if "calibrator" in settings:
        settings["calibrator"] = _method(settings["calibrator"])
    return {"method": calibrator.name, "settings": settings}


def _made(document: Mapping[str, Any]) -> Calibrator:
    method = METHODS[document["method"]]
    settings: dict[str, Any] = {}
    for name, value in document["settings"].items():
        if name == "calibrator":
            settings[name] = _made(value)
        else:
            settings[name] = tuple(value) if isinstance(value, list) else value
    calibrator: Calibrator = method.made(**settings)
    return calibrator


def _record(document: Mapping[str, Any], parameters: dict[str, Parameter]) -> CalibratorRecord:
    calibrator = _made(document)
    calibrator.parameters = parameters
    classes = tuple(map(str, document["classes"]))
    "".join(classes).encode()  # a ValueError of halves of characters
    priors = tuple(map(float, document["priors"]))
    wrong = wrong_priors(priors) if priors else ""
    if len(priors) not in (0, len(classes)) or len(set(classes)) < len(classes) or len(classes) < 2:
        wrong = "its classes and priors do not agree"
    if wrong:
        raise ValueError(wrong)
    raw = {"raw": True, "log-probs": False}[document["input"]]
    calibrator.check()
    _probe(calibrator, len(classes))
    _note_rows(calibrator, classes, document["fitted_on"])
    return CalibratorRecord(calibrator, classes, raw, priors, document["fitted_on"])


def _note_rows(calibrator: Calibrator, classes: tuple[str, ...], fitted_on: Mapping[str, Any]) -> None:
    """Record the rows of the fit in a calibrator; files without this fact usually have logits."""
    columns, turned = fitted_on.get("columns") or [], fitted_on.get("turned") is True
    kind, are_names = fitted_on.get("kind", "logits"), isinstance(columns, list)
    if not are_names or not all(isinstance(name, str) for name in columns) or kind not in get_args(Kind):
        raise ValueError("the columns of its fit are not names, or its scores of no known kind")
    calibrator.fitted_to(
        called(kind, fitted_on.get("percent") is True) if "kind" in fitted_on else calibrator.scores_are,
        classes,
        columns[:: -1 if turned else 1] if len(columns) == len(classes) else (),
        reordered=fitted_on.get("reordered") is True,
        turned=turned,
    )


def wrong_priors(priors: tuple[float, ...]) -> str:
    """Return the fault of priors; "" if they are probabilities that sum to 1."""
    if min(priors) >= 0 and abs(sum(priors) - 1) <= ROUNDING:
        return ""
    return (
        f"priors of {min(priors):g} to {max(priors):g} that sum to {sum(priors):g}; expected "
        "numbers of 0 or more that sum to 1"
    )


def takes(calibrator: Calibrator, classes: int) -> bool:
    """Return whether a fitted calibrator returns probabilities for scores of this many classes."""
    with suppress(CalcliError, *DAMAGE):
        _probe(calibrator, classes)
        return classes > 1
    return False


def _probe(calibrator: Calibrator, classes: int) -> None:
    """Raise `ValueError` unless a few rows become distributions, to detect damage early.

    Parameters of a wrong shape may fit equal numbers of rows and classes, hence two tables of different
    lengths.
    """
    certain = np.eye(classes)[:PROBES]
    with np.errstate(all="ignore"):
        for probs in (certain + 0.5 / classes, np.vstack([certain, np.full(classes, 1 / classes)])):
            sums = np.exp(calibrator.apply(np.log(probs))).sum(axis=1)
            if sums.shape != (len(probs),) or not np.allclose(sums, 1):
                raise ValueError("its parameters do not give probabilities")


def _arrays(parameters: Mapping[str, Parameter]) -> dict[str, Any]:
    return {name: np.asarray(value) for name, value in parameters.items()}


def _encoded(array: Array) -> Any:
    if array.size <= READABLE:
        return json_value(array.tolist())
    plain = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    data = plain.tobytes()
    return {
        "dtype": plain.dtype.str,
        "shape": list(plain.shape),
        "crc32": zlib.crc32(data),
        "base64": base64.b64encode(data).decode("ascii"),
    }


def _decoded(value: Any) -> Parameter:
    if isinstance(value, dict):
        dtype = np.dtype(value["dtype"])
        data = base64.b64decode(value["base64"], validate=True)
        if zlib.crc32(data) != value["crc32"]:
            raise ValueError("an array that does not have its checksum")
        flat = np.frombuffer(data, dtype)
        return _parameter(flat.reshape(value["shape"]).astype(dtype.newbyteorder("=")))
    return _parameter(np.array(_numbers(value)))


def _parameter(array: Array) -> Parameter:
    """Return an array, or a number for an array of a single number; no complex or other types."""
    if array.dtype.kind not in "if":
        raise ValueError(f"an array of type {array.dtype}")
    return array if array.ndim else array.item()


def _numbers(value: Any) -> Any:
    """Return nested lists of numbers, with inf and nan read from text."""
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    if isinstance(value, str):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{value!r} where a number is expected")
    return value


def pretty(document: Mapping[str, Any]) -> str:
    """Return JSON with a line for each entry, and for each entry of objects."""
    lines = []
    for key, value in document.items():
        if isinstance(value, dict) and value:
            inner = ",\n".join(f"    {json.dumps(name)}: {_compact(item)}" for name, item in value.items())
            lines.append(f"  {json.dumps(key)}: {{\n{inner}\n  }}")
        else:
            lines.append(f"  {json.dumps(key)}: {_compact(value)}")
    return plain_json("{\n" + ",\n".join(lines) + "\n}")


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def read_json(data: bytes, path: AnyPath | str, kind: str = "calibrator") -> Any:
    """Return the content of a JSON file, a calibrator or another `kind`; errors tell how to make it again."""
    mend = "make it again, or copy it again"
    with naming_faults(f"{path} is not a {kind}: it is not complete and valid JSON ({SAID}); {mend}"):
        return json.loads(data)


def _read_npz(path: AnyPath) -> tuple[Any, dict[str, Array]]:
    mend = "fit it again, or copy it again"
    with (
        naming_faults(f"{path} is not a calibrator, or it is damaged ({SAID}); {mend}"),
        path.open("rb") as file,
        zipfile.ZipFile(file) as archive,
    ):
        for member in archive.infolist():
            refuse_bomb(f"{path}: {member.filename}", member.file_size, member.compress_size)
        stored = {name.removesuffix(".npy"): archive.read(name) for name in archive.namelist()}
        arrays = {name: held_array(data, f"{path}: the array {name}") for name, data in stored.items()}
        return json.loads(str(arrays.pop(HEADER))), arrays


def check_version(
    document: Any, path: AnyPath | str, kind: str = "calibrator", expected: str = SCHEMA
) -> None:
    """Raise an InputError unless a document has the schema of a calibrator or another `kind`."""
    schema = document.get("schema") if isinstance(document, dict) else None
    name, version = expected.split("/")
    if not isinstance(schema, str) or not schema.startswith(f"{name}/"):
        raise InputError(f'{path} is not a {kind}: expected JSON with "schema": "{expected}"')
    if schema != expected:
        raise InputError(
            f"{path} has version {schema.removeprefix(f'{name}/')} of the {kind} format; this calcli, "
            f"{__version__}, reads version {version}; make it again, or use the calcli that wrote it"
        )
