"""Samples of lm-evaluation-harness, and logs of OpenAI Evals.

The samples have a log-likelihood for each option of a question, and one option is the target. Questions may
have different numbers of options. A row's scores are the log-softmax of the log-likelihoods, or of the
log-likelihoods divided by the characters of the options (what acc_norm compares); missing options of a
question get the probability 0. The logs have a line for each event, and some events grade an answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from calcli.core.language.errors import InputError
from calcli.core.language.expressions import option_names
from calcli.io.layouts.logs import is_plain, plain_fields
from calcli.io.layouts.unpack import Head, Unpacked
from calcli.io.options import ReadOptions
from calcli.io.places.faults import column_of
from calcli.io.tables.table import Derived, Row

EVENT = ("event_id", "sample_id", "type")  # fields of each event of a log
FIRST_EVENT = "spec"  # fields of the first line of such a log only
SEVERAL = -1  # options have the same text
MARKS = ("filtered_resps", "resps")  # fields of these samples only
FIELDS = ("log_likelihoods", "characters", "most", "least")
TYPES = pa.list_(pa.float64()), pa.list_(pa.int64()), pa.int64(), pa.int64()
OPTIONS = pa.struct([*zip(FIELDS, TYPES, strict=True)])


def harness_table(records: Sequence[Mapping[str, Any]], name: str) -> Any:
    """Return questions, their options and targets, a pyarrow.Table; None if these are no such samples.

    Raises
    ------
    InputError
        If a target is none of the options, or may be the number or the text of one.
    """
    if not any(mark in records[0] for mark in MARKS):
        return None
    likelihoods = [_likelihoods(record) for record in records]
    if any(len(likelihood) < 2 for likelihood in likelihoods):
        return None
    largest, least = max(map(len, likelihoods)), min(map(len, likelihoods))
    options = [
        {"log_likelihoods": ll, "characters": _characters(record, len(ll)), "most": largest, "least": least}
        for record, ll in zip(records, likelihoods, strict=True)
    ]
    targets = _targets(records, likelihoods, name)
    records = [{**plain_fields(record, "doc"), **record} for record in records]
    plain = [head for head, value in records[0].items() if is_plain(value) and head not in ("target", *MARKS)]
    columns: dict[str, Any] = {"options": pa.array(options, OPTIONS), "target": pa.array(targets)}
    columns |= {head: column_of([record.get(head) for record in records]) for head in plain}
    return pa.table(columns)


def unpack(field: Any, head: Head, options: ReadOptions) -> Unpacked | None:
    """Return the log-probabilities of the options."""
    if not pa.types.is_struct(field.type) or tuple(part.name for part in field.type) != FIELDS:
        return None
    derived = Derived(
        "log_probs", pa.list_(pa.float64()), partial(_log_probs, per_character=options.per_character)
    )
    how = "as they are (--per-character divides them)"
    if options.per_character:
        how = "divided by their characters"
    note = f"the scores are the log-softmax of the log-likelihoods of the options, {how}"
    head_values = head()
    counts = head_values[0].as_py() if len(head_values) else {"most": 0, "least": 0}
    names = option_names(counts["most"]) if counts["least"] < counts["most"] else None
    return Unpacked((derived,), note=note, classes=names)


def _log_probs(options: Any, row: Row, *, per_character: bool) -> Any:
    rows = []
    columns = (options.field(part).to_pylist() for part in FIELDS)
    for n, (likelihoods, characters, width, _) in enumerate(zip(*columns, strict=True)):
        scores = np.array(likelihoods, np.float64)
        if per_character:
            if characters is None or len(characters) != len(likelihoods) or 0 in characters:
                raise InputError(f"{row(n)} does not have the text of its options; leave out --per-character")
            scores = scores / characters
        scores = scores - np.logaddexp.reduce(scores)
        rows.append([*scores.tolist(), *[-np.inf] * (width - len(scores))])
    return pa.array(rows, pa.list_(pa.float64()))


def _likelihoods(record: Mapping[str, Any]) -> list[float]:
    """Return the log-likelihood of each option; none if these are other answers."""
    likelihoods = []
    stored = record.get("filtered_resps") or record.get("resps")
    for response in stored if isinstance(stored, list) else ():
        while isinstance(response, list) and len(response) == 1:
            response = response[0]
        if not isinstance(response, list) or len(response) != 2:
            return []
        try:
            likelihoods.append(float(response[0]))
        except (TypeError, ValueError, OverflowError):
            return []
    return likelihoods


def _texts(record: Mapping[str, Any], count: int) -> list[str]:
    """Return the texts of the options; none if not logged for all options."""
    stored = record.get("arguments")
    values = list(stored.values()) if isinstance(stored, dict) else stored
    if not isinstance(values, list):
        return []
    lists = [list(value.values()) if isinstance(value, dict) else value for value in values]
    texts = [v[1] for v in lists if isinstance(v, list) and len(v) > 1 and isinstance(v[1], str)]
    return texts if len(texts) == count else []


def _characters(record: Mapping[str, Any], count: int) -> list[int]:
    """Return the length of each option, without the blank before it."""
    return [len(text.removeprefix(" ")) for text in _texts(record, count)]


def _targets(
    records: Sequence[Mapping[str, Any]], likelihoods: Sequence[Sequence[float]], name: str
) -> list[int]:
    """Return the right option in each row: in all rows by number, or by text.

    If neither fits all rows, each row gets the one that fits. If that is open, `acc` tells whether the
    likeliest option is the right one.
    """
    pairs = [(record, len(likelihood)) for record, likelihood in zip(records, likelihoods, strict=True)]
    numbers, texts = [_by_number(*pair) for pair in pairs], [_by_text(*pair) for pair in pairs]
    by_number = [text if number is None else number for number, text in zip(numbers, texts, strict=True)]
    by_text = [
        number if text in (None, SEVERAL) else text for number, text in zip(numbers, texts, strict=True)
    ]
    if None in texts and None not in numbers:
        by_text = by_number
    elif None in numbers and None not in texts:
        by_number = by_text
    targets = [[_known(t, *pairs[n], n, name) for n, t in enumerate(by)] for by in (by_number, by_text)]
    if targets[0] == targets[1]:
        return targets[0]
    likeliest = [max(range(len(likelihood)), key=likelihood.__getitem__) for likelihood in likelihoods]
    right = [[t == best for t, best in zip(target, likeliest, strict=True)] for target in targets]
    acc = [record.get("acc") for record in records]
    fitting = [target for target, is_right in zip(targets, right, strict=True) if is_right == acc]
    if len(fitting) == 1:
        return fitting[0]
    n = next(n for n, (a, b) in enumerate(zip(*targets, strict=True)) if a != b)
    raise InputError(
        f"{name}: the targets may be the numbers of options or their text, as {_target(records[n])!r} in row "
        f"{n}, and acc does not say which; write them as JSON numbers, if that is what they are, or as words"
    )


def _known(target: int | None, record: Mapping[str, Any], count: int, n: int, name: str) -> int:
    if target is None or target == SEVERAL:
        raise InputError(
            f"{name}: row {n} has the target {_target(record)!r}; expected one of its {count} options"
        )
    return target


def _target(record: Mapping[str, Any]) -> Any:
    target = record.get("target")
    return target[0] if isinstance(target, list) and len(target) == 1 else target


def _by_text(record: Mapping[str, Any], count: int) -> int | None:
    """Return the option with the text of the target; None if there is none."""
    target = _target(record)
    if not isinstance(target, str):
        return None
    texts = [text.strip() for text in _texts(record, count)]
    places = [place for place, text in enumerate(texts) if text == target.strip()]
    return None if not places else places[0] if len(places) == 1 else SEVERAL


def _by_number(record: Mapping[str, Any], count: int) -> int | None:
    """Return the target as the number of an option; None if it is none."""
    try:
        number = int(str(_target(record)))
    except ValueError:
        return None
    return number if 0 <= number < count else None


def events_table(records: Sequence[Mapping[str, Any]]) -> Any:
    """Return the events that grade an answer, a pyarrow.Table; None if there are none."""
    if FIRST_EVENT not in records[0]:
        return None
    events = [
        {field: record.get(field) for field in EVENT}
        | {k: v for k, v in record["data"].items() if is_plain(v)}
        for record in records
        if isinstance(record.get("data"), dict) and "correct" in record["data"]
    ]
    if not events:
        return None
    names = list(dict.fromkeys(name for event in events for name in event))
    return pa.table({name: column_of([event.get(name) for event in events]) for name in names})
