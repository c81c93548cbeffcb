"""State files: a stored zip of .npy arrays and a head in JSON; never a pickle."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from calcli.core.data.arrays import Array
from calcli.core.data.binning import Bins
from calcli.core.data.units import GROUPS
from calcli.core.language.errors import InputError
from calcli.core.language.version import __version__
from calcli.core.state.cells import ScoreCells
from calcli.core.state.random_groups import RandomGroups, Statistic
from calcli.core.state.sample import ALL, Rows, Sample
from calcli.core.state.state import Body, Facts, Head, Part, State
from calcli.io.places.archives import SAID, naming_faults, stored_content
from calcli.io.places.heads import held_array
from calcli.io.places.outputs import atomic_path
from calcli.io.places.paths import path_of
from calcli.io.saved.calibrators import check_version

ENDING = ".calcli"
SCHEMA = "calcli.state/2"
HEAD = "state.json"
SLICES = "slices/"
MADE = (1980, 1, 1, 0, 0, 0)  # equal arrays give equal files
EXPECTED = "expected a state, as written by calcli evaluate --save-state"
BINS = tuple(field.name for field in fields(Bins))


def is_state(path: str | Path) -> bool:
    """Return whether a file is a state, by its ending."""
    return str(path).endswith(ENDING)


def save_state(state: State, path: str | Path) -> None:
    """Write a state file, whole or not at all.

    Raises
    ------
    InputError
        If it cannot be written there, or its name has another ending.
    """
    if not is_state(path):
        raise InputError(f"{path}: expected the name of a state to end in {ENDING}")
    with atomic_path(path) as temporary:
        temporary.write_bytes(to_bytes(state))


def load_state(path: str | Path) -> State:
    """Read a state file.

    Raises
    ------
    InputError
        If it is missing, of another version, or damaged.
    """
    file = path_of(path)
    if not file.is_file():
        raise InputError(f"{file}: no such file; {EXPECTED}")
    return from_bytes(file.read_bytes(), str(file))


def to_bytes(state: State) -> bytes:
    """Return a state as the bytes of a file."""
    groups = state.body.sums
    head = {
        "schema": SCHEMA,
        "calcli": __version__,
        "head": asdict(state.head),
        "facts": asdict(state.facts),
        "parts": [asdict(part) | {"name": _without_root(part.name)} for part in state.parts],
        "bins": list(state.bins),
        "deals": groups
        and {
            "rows": groups.rows,
            "statistics": {
                name: {"infinite_weight": statistic.infinite_weight, "first": statistic.first}
                for name, statistic in groups.statistics.items()
            },
        },
        "cells": [*state.body.cells],
        "below": None if state.body.sample is None else state.body.sample.below,
        "slices": {column: [*states] for column, states in state.slices.items()},
    }
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as file:
        checksum = hashlib.blake2b(digest_size=16)
        for name, content in _members(state, head):
            file.writestr(zipfile.ZipInfo(name, MADE), content)
            checksum.update(name.encode() + content)
        file.comment = checksum.hexdigest().encode()
    return target.getvalue()


def _members(state: State, head: Mapping[str, Any]) -> Iterator[tuple[str, bytes]]:
    """Return the names and contents of the inner files."""
    yield HEAD, json.dumps(head, ensure_ascii=False).encode()
    for name, array in _arrays(state):
        content = io.BytesIO()
        np.save(content, _narrow(array), allow_pickle=False)
        yield f"{name}.npy", content.getvalue()
    for n, states in enumerate(state.slices.values()):
        for m, part in enumerate(states.values()):
            yield f"{SLICES}{n}/{m}{ENDING}", to_bytes(part)


def _without_root(name: str) -> str:
    """Return the name of a file; for an absolute path its last two parts, which do not reveal the machine."""
    return str(Path(*Path(name).parts[-2:])) if Path(name).is_absolute() else name


def from_bytes(data: bytes | memoryview, name: str = "state") -> State:
    """Return the state from the bytes of a file.

    Raises
    ------
    InputError
        If it is damaged, changed, or of another version.
    """
    checksum = hashlib.blake2b(digest_size=16)
    with naming_faults(f"{name} is damaged, or not a state ({SAID}); {EXPECTED}"):
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            head = json.loads(file.read(HEAD))
            check_version(head, name, "state", SCHEMA)
            if any(info.compress_type != zipfile.ZIP_STORED for info in file.infolist()):
                raise ValueError("it is compressed")  # and may exceed memory
            stored = {info.filename: stored_content(data, info) for info in file.infolist()}
            for filename, content in stored.items():
                checksum.update(filename.encode())
                checksum.update(content)
            if file.comment != checksum.hexdigest().encode():
                raise ValueError("it does not have its checksum")
        arrays = {
            key.removesuffix(".npy"): held_array(content, f"{name}: the array {key.removesuffix('.npy')}")
            for key, content in stored.items()
            if key != HEAD and not key.startswith(SLICES)
        }
        slices = {
            column: {
                value: from_bytes(stored[f"{SLICES}{n}/{m}{ENDING}"], f"{name}: {column}={value}")
                for m, value in enumerate(values)
            }
            for n, (column, values) in enumerate(head["slices"].items())
        }
        return replace(_state(head, arrays), slices=slices)


def _narrow(array: Array) -> Array:
    """Return non-negative integers in the smallest type that holds them."""
    if array.dtype.kind not in "iu" or array.dtype == np.uint64 or not array.size or array.min() < 0:
        return array
    return array.astype(np.min_scalar_type(array.max()), copy=False)


def _arrays(state: State) -> Iterator[tuple[str, Array]]:
    body = state.body
    for m, bins in state.bins.items():
        yield from ((f"bins/{m}/{name}", getattr(bins, name)) for name in BINS)
    if body.sample is not None:
        yield from _of_rows("sample/", body.sample.rows)
    if state.rows is not None:
        yield from _of_rows("rows/", state.rows)
    if body.sums is not None:
        yield from _of_groups(body, body.sums)


def _of_rows(place: str, rows: Rows) -> Iterator[tuple[str, Array]]:
    arrays = {"ids": rows.ids, "labels": rows.labels, "weights": rows.weights, "scores": rows.scores}
    yield from ((place + name, values) for name, values in arrays.items() if values is not None)
    for n, texts in enumerate(rows.columns.values()):
        names, codes = np.unique(texts, return_inverse=True)
        yield from (
            (f"{place}columns/{n}/{name}", values) for name, values in (("names", names), ("codes", codes))
        )


def _of_groups(body: Body, groups: RandomGroups) -> Iterator[tuple[str, Array]]:
    for name in ("count", "digest", "weight", "squares", "classes", "by_class"):
        if getattr(groups, name) is not None:
            yield f"deals/{name}", getattr(groups, name)
    for name, statistic in groups.statistics.items():
        yield f"deals/sums/{name}", statistic.sums
        if statistic.infinite.any():
            yield f"deals/infinite/{name}", statistic.infinite
    for lens, cells in body.cells.items():
        yield from ((f"cells/{lens}/{name}", values) for name, values in cells.arrays().items())


def _state(record: Mapping[str, Any], arrays: Mapping[str, Array]) -> State:
    head = {**record["head"], **{name: tuple(record["head"][name]) for name in ("classes", "metrics", "by")}}
    head["lenses"] = {name: tuple(pair) for name, pair in head["lenses"].items()}
    state_head, facts = Head(**head), Facts(**record["facts"])
    files = tuple(Part(**part) for part in record["parts"])
    k = len(state_head.classes)
    if record["deals"] is None:
        rows = _rows("rows/", arrays, state_head)
        ids = rows.ids if state_head.key else rows.ids.astype(np.int64)
        return State.of_rows(state_head, files, rows._replace(ids=ids))
    body = Body(state_head)
    body.sample = None if record["below"] is None else _sample(record["below"], arrays, state_head)
    body.sums = _groups(record["deals"], arrays, k)
    for lens in record["cells"]:
        body.cells[lens] = ScoreCells.of_arrays(_under(f"cells/{lens}/", arrays))
    bins = {}
    for m in record["bins"]:
        count, *sums = (_shaped(arrays[f"bins/{m}/{name}"], k, m) for name in BINS)
        bins[m] = Bins(count.astype(np.int64), *(values.astype(np.float64) for values in sums))
    return State(state_head, files, facts, bins, body)


def _rows(place: str, arrays: Mapping[str, Array], head: Head) -> Rows:
    members = _under(place, arrays)
    ids = _shaped(members["ids"], -1)
    n, k = len(ids), len(head.classes)
    labels = _wide(_shaped(members["labels"], n))
    if (labels >= k).any():
        raise ValueError("labels out of range")
    weights = _shaped(members["weights"], n) if head.weighted else None
    columns = {}
    for number, name in enumerate(head.by if "columns/0/names" in members else ()):
        names, codes = (members[f"columns/{number}/{name}"] for name in ("names", "codes"))
        columns[name] = names[_shaped(codes, n)]
    return Rows(ids, labels, weights, _shaped(members["scores"], n, k), columns)


def _sample(below: Any, arrays: Mapping[str, Array], head: Head) -> Sample:
    rows = _rows("sample/", arrays, head)
    if not (len(rows.ids) and int(rows.ids.max()) < below <= ALL):
        raise ValueError("a sample of other rows than it says")
    return Sample.of_rows(rows, int(below))


def _groups(document: Mapping[str, Any], arrays: Mapping[str, Array], k: int) -> RandomGroups:
    sums, infinite = _under("deals/sums/", arrays), _under("deals/infinite/", arrays)
    none = np.zeros(GROUPS, np.int64)
    statistics = {
        name: Statistic(
            _wide(_shaped(sums[name], GROUPS)),
            _wide(_shaped(infinite.get(name, none), GROUPS)),
            float(statistic["infinite_weight"]),
            tuple(statistic["first"]),
        )
        for name, statistic in document["statistics"].items()
    }
    weight, squares = (arrays.get(f"deals/{name}") for name in ("weight", "squares"))
    return RandomGroups(
        int(document["rows"]),
        _wide(_shaped(arrays["deals/count"], GROUPS)),
        _shaped(arrays["deals/digest"], GROUPS),
        weight,
        squares,
        _wide(_shaped(arrays["deals/classes"], GROUPS, k)),
        _wide(_shaped(arrays["deals/by_class"], 2, k)),
        statistics,
    )


def _under(prefix: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _shaped(array: Array, *shape: int) -> Array:
    if array.ndim != len(shape) or any(
        n not in (-1, size) for n, size in zip(shape, array.shape, strict=True)
    ):
        raise ValueError(f"an array of shape {array.shape}")
    return array


def _wide(array: Array) -> Array:
    return array.astype(np.int64) if array.dtype.kind in "iu" else array
