"""State files: a stored zip of .npy arrays and a head in JSON; never a pickle."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from calcli.core.data.arrays import LARGEST, Array
from calcli.core.data.binning import Bins
from calcli.core.data.predictions import Kind
from calcli.core.data.units import DEALS, UNIT_LIMIT
from calcli.core.language.errors import CalcliError, InputError
from calcli.core.language.metrics import METRICS
from calcli.core.language.settings import LARGEST_ROW
from calcli.core.language.version import __version__
from calcli.core.state.cells import ScoreCells
from calcli.core.state.deals import RANKED_DEALS, Deals, RankCells, Statistic, rank_edges
from calcli.core.state.sample import ALL, Rows, Sample
from calcli.core.state.state import Body, Facts, Head, Part, State, numbers
from calcli.io.places.archives import ARCHIVE_DAMAGE, stored_content
from calcli.io.places.heads import held_array
from calcli.io.places.outputs import atomic_path
from calcli.io.places.paths import path_of

ENDING = ".calcli"
SCHEMA = "calcli.state/2"
HEAD = "state.json"
SLICES = "slices/"
MADE = (1980, 1, 1, 0, 0, 0)  # the same arrays make the same file
DAMAGE: tuple[type[Exception], ...] = (*ARCHIVE_DAMAGE, ArithmeticError, TypeError, AttributeError)
EXPECTED = "expected a state, as written by calcli evaluate --save-state"
BINS = tuple(one.name for one in fields(Bins))
WHOLE = re.compile(
    r"(bins|cells)/.*/(count|counts|keys|cells)|(rows|sample)/(labels|hashes|numbers)|deals/(count|digest|infinite/.*)"
)
ROUNDING = 1e-6  # by which a probability may be above 1
ANY_SIGN = re.compile(r"rows/columns/|deals/sums/|cells/.*/places|bins/.*/score|sample/scores")
MAY_BE_INFINITE = ("rows/columns/", "sample/scores")


def is_state(path: str | Path) -> bool:
    """Tell whether a file is to be read as a state, by its ending."""
    return str(path).endswith(ENDING)


def save_state(state: State, path: str | Path) -> None:
    """Write a state file, whole or not at all.

    Raises
    ------
    InputError
        If it cannot be written there, or its name ends otherwise.
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
        If there is none, it is of another version, or damaged.
    """
    file = path_of(path)
    if not file.is_file():
        raise InputError(f"{file}: no such file; {EXPECTED}")
    return from_bytes(file.read_bytes(), str(file))


def to_bytes(state: State) -> bytes:
    """Return a state as a file holds it."""
    head = {
        "schema": SCHEMA,
        "calcli": __version__,
        "head": asdict(state.head),
        "facts": asdict(state.facts),
        "parts": [asdict(part) for part in state.parts],
        "bins": list(state.bins),
        "deals": None if state.body.deals is None else _told(state.body.deals),
        "cells": {name: cells.limit for name, cells in state.body.cells.items()},
        "below": None if state.body.sample is None else state.body.sample.below,
        "slices": {column: [*own] for column, own in state.slices.items()},
    }
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as file:
        file.writestr(zipfile.ZipInfo(HEAD, MADE), json.dumps(head, ensure_ascii=False))
        for name, array in _arrays(state):
            content = io.BytesIO()
            np.save(content, _narrow(array), allow_pickle=False)
            file.writestr(zipfile.ZipInfo(f"{name}.npy", MADE), content.getvalue())
        for n, own in enumerate(state.slices.values()):
            for m, part in enumerate(own.values()):
                file.writestr(zipfile.ZipInfo(f"{SLICES}{n}/{m}{ENDING}", MADE), to_bytes(part))
    return target.getvalue()


def from_bytes(data: bytes | memoryview, name: str = "state") -> State:
    """Return the state that a file holds.

    Raises
    ------
    InputError
        If it is damaged, or of another version.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            head = json.loads(file.read(HEAD))
            _require_version(head, name)
            if any(one.compress_type != zipfile.ZIP_STORED for one in file.infolist()):
                raise ValueError("it is compressed")  # and may hold more than memory
            entries = [one for one in file.infolist() if one.filename != HEAD]
        stored = {one.filename: stored_content(data, one) for one in entries}
        arrays = {
            one.removesuffix(".npy"): held_array(content, f"{name}: the array {one.removesuffix('.npy')}")
            for one, content in stored.items()
            if not one.startswith(SLICES)
        }
        slices = {
            column: {
                value: from_bytes(stored[f"{SLICES}{n}/{m}{ENDING}"], f"{name}: {column}={value}")
                for m, value in enumerate(values)
            }
            for n, (column, values) in enumerate(head["slices"].items())
        }
        return replace(_state(head, arrays), slices=slices)
    except CalcliError:
        raise
    except DAMAGE as fault:
        raise InputError(f"{name} is damaged, or not a state ({fault}); {EXPECTED}") from fault


def _require_version(head: Any, name: str) -> None:
    schema = head["schema"]
    if schema == SCHEMA:
        return
    kind, _, version = str(schema).rpartition("/")
    if kind == SCHEMA.rpartition("/")[0] and version.isdigit():
        raise InputError(
            f"{name} is written in version {version} of the format by calcli {head.get('calcli')}; this is "
            f"calcli {__version__}, which reads version {SCHEMA.rpartition('/')[2]}; make it again from the "
            "predictions"
        )
    raise ValueError(f"schema {schema!r}")


def _narrow(array: Array) -> Array:
    """Return integers of 0 or more in the smallest type that holds them."""
    if array.dtype.kind not in "iu" or array.dtype == np.uint64 or not array.size or array.min() < 0:
        return array
    return array.astype(np.min_scalar_type(array.max()), copy=False)


def _told(deals: Deals) -> dict[str, Any]:
    return {
        "rows": deals.rows,
        "statistics": {
            name: {"scale": own.scale, "infinite_weight": own.infinite_weight, "first": own.first}
            for name, own in deals.statistics.items()
        },
    }


def _arrays(state: State) -> Iterator[tuple[str, Array]]:
    body = state.body
    for m, bins in state.bins.items():
        yield from ((f"bins/{m}/{name}", getattr(bins, name)) for name in BINS)
    if body.sample is not None:
        rows = body.sample.rows._asdict().items()
        yield from ((f"sample/{name}", values) for name, values in rows if values is not None)
    yield from _of_rows(body, state.parts) if body.deals is None else _of_deals(body, body.deals)


def _of_rows(body: Body, parts: Sequence[Part]) -> Iterator[tuple[str, Array]]:
    yield "rows/labels", body.labels
    if body.weights is not None:
        yield "rows/weights", body.weights
    if body.hashes is not None:
        yield "rows/hashes", body.hashes
    elif not np.array_equal(body.numbers, numbers(parts)):
        yield "rows/numbers", body.numbers
    yield from ((f"rows/columns/{name}", values) for name, values in body.columns.items())


def _of_deals(body: Body, deals: Deals) -> Iterator[tuple[str, Array]]:
    for name in ("count", "digest", "weight", "squares", "classes", "by_class"):
        if getattr(deals, name) is not None:
            yield f"deals/{name}", getattr(deals, name)
    for name, own in deals.statistics.items():
        yield f"deals/sums/{name}", own.sums
        if own.infinite.any():
            yield f"deals/infinite/{name}", own.infinite
    for lens, cells in body.cells.items():
        yield from ((f"cells/{lens}/{name}", values) for name, values in cells.arrays().items())
        ranks = body.ranks[lens].arrays() if lens in body.ranks else {}
        yield from ((f"ranks/{lens}/{name}", values) for name, values in ranks.items())


def _state(told: Mapping[str, Any], arrays: Mapping[str, Array]) -> State:
    check_arrays(arrays)
    head = {**told["head"], **{name: tuple(told["head"][name]) for name in ("classes", "metrics")}}
    head["lenses"] = {name: tuple(pair) for name, pair in head["lenses"].items()}
    known, facts = Head(**head), Facts(**told["facts"])
    parts = tuple(Part(**part) for part in told["parts"])
    check_told(known, facts, parts)
    k = len(known.classes)
    body = Body(known)
    body.sample = None if told["below"] is None else _sample(told["below"], arrays, known)
    if told["deals"] is None:
        body.labels = _shaped(arrays["rows/labels"], -1)
        if known.weighted:
            body.weights = _shaped(arrays["rows/weights"], len(body.labels))
        if known.key:
            body.hashes = _shaped(arrays["rows/hashes"], len(body.labels))
        columns = _under("rows/columns/", arrays)
        body.columns = {name: _shaped(values, len(body.labels)) for name, values in columns.items()}
        if len(body.labels) > UNIT_LIMIT or (body.labels >= k).any():
            raise ValueError("labels out of range")
        stored = arrays.get("rows/numbers")
        body.numbers = numbers(parts) if stored is None else stored.astype(np.int64)
        check_rows(known, parts, body)
    else:
        body.deals = _deals(told["deals"], arrays, k)
        for lens, limit in told["cells"].items():
            body.cells[lens] = ScoreCells.of_arrays(int(limit), _under(f"cells/{lens}/", arrays))
            ranks = _under(f"ranks/{lens}/", arrays)
            if body.sample is None:
                continue
            shape = RANKED_DEALS, len(rank_edges()) - 1
            body.ranks[lens] = RankCells.of_arrays(
                {name: _wide(_shaped(own, *shape)) for name, own in ranks.items()}
            )
    bins = {}
    for m in told["bins"]:
        count, *sums = (_shaped(arrays[f"bins/{m}/{name}"], k, m) for name in BINS)
        bins[m] = Bins(count.astype(np.int64), *(values.astype(np.float64) for values in sums))
        check_bins(bins[m])
    return State(known, parts, facts, bins, body)


def _sample(below: Any, arrays: Mapping[str, Array], head: Head) -> Sample:
    own = _under("sample/", arrays)
    hashes = _shaped(own["hashes"], -1).astype(np.uint64, casting="safe")
    n, k = len(hashes), len(head.classes)
    labels = _wide(_shaped(own["labels"], n))
    if (labels >= k).any():
        raise ValueError("labels out of range")
    if not (n and int(hashes.max()) < below <= ALL):
        raise ValueError("a sample of other rows than it says")
    weights = _shaped(own["weights"], n).astype(np.float64) if head.weighted else None
    scores = _shaped(own["scores"], n, k)
    check_sample(head.kind, scores)
    return Sample.of_rows(Rows(hashes, labels, weights, scores), int(below))


def _deals(told: Mapping[str, Any], arrays: Mapping[str, Array], k: int) -> Deals:
    sums, infinite = _under("deals/sums/", arrays), _under("deals/infinite/", arrays)
    none = np.zeros(DEALS, np.int64)
    statistics = {
        name: Statistic(
            _wide(_shaped(sums[name], DEALS)),
            float(own["scale"]),
            _wide(_shaped(infinite.get(name, none), DEALS)),
            float(own["infinite_weight"]),
            tuple(own["first"]),
        )
        for name, own in told["statistics"].items()
    }
    weight, squares = (arrays.get(f"deals/{name}") for name in ("weight", "squares"))
    return Deals(
        int(told["rows"]),
        _wide(_shaped(arrays["deals/count"], DEALS)),
        _shaped(arrays["deals/digest"], DEALS),
        weight,
        squares,
        _wide(_shaped(arrays["deals/classes"], DEALS, k)),
        _wide(_shaped(arrays["deals/by_class"], 2, k)),
        statistics,
    )


def _under(prefix: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    return {name.removeprefix(prefix): own for name, own in arrays.items() if name.startswith(prefix)}


def _shaped(array: Array, *shape: int) -> Array:
    if array.ndim != len(shape) or any(n not in (-1, own) for n, own in zip(shape, array.shape, strict=True)):
        raise ValueError(f"an array of shape {array.shape}")
    return array


def _wide(array: Array) -> Array:
    return array.astype(np.int64) if array.dtype.kind in "iu" else array


def check_arrays(arrays: Mapping[str, Array]) -> None:
    """Raise a ValueError unless all arrays hold numbers, those of rows counts."""
    for name, array in arrays.items():
        kinds, kind = "iu" if WHOLE.fullmatch(name) else "biuf", array.dtype.kind
        if kind in kinds and (kind in "bu" or not array.size):
            continue
        ends = (array.min(), array.max()) if kind in kinds else (np.nan,)  # nan if there is one
        if np.isnan(ends[0]):
            raise ValueError(f"{name} holds something other than {'counts' if kinds == 'iu' else 'numbers'}")
        if not ANY_SIGN.match(name) and ends[0] < 0:
            raise ValueError(f"{name} holds negative numbers")
        if not name.startswith(MAY_BE_INFINITE) and np.isinf(ends).any():
            raise ValueError(f"{name} holds infinite numbers")


def check_told(head: Head, facts: Facts, parts: tuple[Part, ...]) -> None:
    """Raise a ValueError unless the head holds text and numbers where they belong."""
    texts = (*head.classes, head.kind_reason, head.dtype, head.labels, *head.metrics)
    texts = (*texts, *(text for part in parts for text in (part.name, part.digest, part.run)))
    texts = (*texts, *(text for group in head.groups.values() for pair in group.items() for text in pair))
    counts = (
        facts.zeros,
        facts.ones,
        facts.tied_rows,
        *(n for part in parts for n in (part.rows, part.first, part.left)),
    )
    sound = (
        all(isinstance(text, str) for text in texts)
        and len(head.classes) == len(set(head.classes)) >= 2
        and head.kind in get_args(Kind)
        and np.dtype(head.dtype).kind in "biuf"
        and head.computed_in in ("float32", "float64")
        and isinstance(head.weighted, bool)
        and isinstance(head.percent, bool)
        and _is_number(head.clip) and 0 <= head.clip < 1
        and all(len(names) == 3 for names in head.lenses.values())
        and all(type(count) is int and count >= 0 for count in counts)
        and _is_number(facts.worst_row_sum) and facts.worst_row_sum > 0
        and bool(parts) and all(part.first <= LARGEST_ROW for part in parts)
    )  # fmt: skip
    if not sound:
        raise ValueError("its head is not that of a state")


def check_rows(head: Head, parts: tuple[Part, ...], body: Body) -> None:
    """Raise a ValueError unless the columns of rows are there, of their types and within their range."""
    columns, n = body.columns, sum(part.rows for part in parts)
    if len(body.labels) != n:
        raise ValueError(f"{len(body.labels)} rows, of {n} in its parts")
    if body.numbers.shape != (n,) or (np.diff(body.numbers) < 1).any():
        raise ValueError("rows are not in the order of their numbers")
    flags = {"hit", "clipped", *(name for lens in head.lenses.values() for name in lens[1:] if name)}
    scores = {lens[0] for lens in head.lenses.values()}
    if not (flags | scores) - {"clipped"} <= columns.keys():
        raise ValueError("a statistic is missing")
    for name, values in columns.items():
        floats = values.dtype in (np.float32, np.float64)  # scores are sorted by their bits
        if not (values.dtype == bool and name not in scores) and (name in flags or not floats):
            raise ValueError(f"rows/columns/{name} is of type {values.dtype}")
        if name in METRICS and _is_below(values, METRICS[name].range):
            raise ValueError(f"rows/columns/{name} holds values that no row has")
        if name in scores and len(values) and not (values.min() >= 0 and values.max() <= 1 + ROUNDING):
            raise ValueError(f"rows/columns/{name} holds no probabilities")


def check_bins(bins: Bins) -> None:
    """Raise a ValueError unless sums of probabilities and of outcomes fit to the weight of each bin."""
    most = bins.weight * (1 + ROUNDING) + ROUNDING * max(1, bins.weight.sum(-1).max())  # a bin may be a rest
    if not ((np.abs(bins.score) <= most) & (bins.outcome <= most)).all():
        raise ValueError("bins hold more than their rows")


def check_sample(kind: Kind, scores: Array) -> None:
    """Raise a ValueError unless the scores of each row can be those of some classes."""
    least = 0.0 if kind == "probs" else -np.inf
    if scores.min() > least and scores.max() <= LARGEST:  # most often, and the largest of each row takes long
        return
    best = scores.max(axis=1)
    if not (np.abs(best) <= LARGEST).all() or (
        kind == "probs" and not (scores.min() >= 0 and best.min() > 0)
    ):
        raise ValueError("the sample holds rows that are no scores")


def _is_below(values: Array, told: str) -> bool:
    """Tell whether a value is below a range such as "0 to inf"; never if that begins with words."""
    try:
        least = float(told.partition(" to ")[0])
    except ValueError:
        return False
    return bool(len(values) and values.min() < least - ROUNDING)


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and bool(np.isfinite(np.float64(value)))  # type: ignore[arg-type]
