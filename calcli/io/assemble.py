"""What was found in a file or in memory, put together to Predictions: the last step of every reader."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from calcli.core.data.arrays import Array, Floats
from calcli.core.data.logspace import as_floats
from calcli.core.data.predictions import Kind, Predictions, Provenance
from calcli.core.language.errors import InputError, UsageError
from calcli.io.checks import CheckedScores
from calcli.io.kinds import REASONS, kind_of, percentages
from calcli.io.labels import Labels, join_labels, match
from calcli.io.names import class_names
from calcli.io.options import ReadOptions
from calcli.io.places import Place
from calcli.io.rawscores import JoinedScores, RawScores

FIRST_LOOK = 1 << 18  # elements of the first block, by which the kind of scores is judged


@dataclass(frozen=True)
class LazyColumns(Mapping[str, Array]):
    """Columns of a file, read whenever they are asked for.

    Attributes
    ----------
    readers
        For each column what reads it.
    limit
        Only so many rows of them.
    """

    readers: Mapping[str, Callable[[], Array]] = field(default_factory=dict)
    limit: int | None = None

    def __getitem__(self, name: str) -> Array:
        return self.readers[name]()[: self.limit]

    def __iter__(self) -> Iterator[str]:
        return iter(self.readers)

    def __len__(self) -> int:
        return len(self.readers)


@dataclass(frozen=True)
class Found:
    """The contents of one or several files, not yet understood.

    Attributes
    ----------
    place
        The files, for messages.
    scores
        (N, K), or (N, 1) scores of the second class of two.
    labels
        (N,), or None if they are in a file of their own.
    labels_from
        Where the labels came from.
    classes
        Class names that the columns of scores have in the file; for one column perhaps one name.
    kind, kind_reason
        What the names of the columns say about the scores.
    weights
        (N,) row weights as stored.
    columns
        Other columns.
    files
        The files themselves, for their hash.
    notes
        How they are read, sentences for the user.
    """

    place: Place
    scores: RawScores
    labels: Labels | None
    labels_from: str = ""
    classes: tuple[str, ...] | None = None
    kind: Kind | None = None
    kind_reason: str = ""
    weights: Array | None = None
    columns: LazyColumns = field(default_factory=LazyColumns)
    files: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def join(parts: Sequence[Found]) -> Found:
    """Put several files of arrays one after the other.

    Raises
    ------
    InputError
        If they differ in the number of scores, in their classes, or in what they hold beside the scores.
    """
    first = parts[0]
    for part in parts[1:]:
        for what, ours, theirs in (
            ("scores in a row", first.scores.shape[1], part.scores.shape[1]),
            ("classes", first.classes, part.classes),
            ("labels beside the scores", first.labels is not None, part.labels is not None),
            ("row weights", first.weights is not None, part.weights is not None),
        ):
            if ours != theirs:
                raise InputError(
                    f"{part.place.name} and {first.place.name} differ in their {what}: {theirs} and {ours}; "
                    "parts of one data set must be alike; without --concat files are evaluated one by one"
                )
    labels = [part.labels for part in parts if part.labels is not None]
    weights = [part.weights for part in parts if part.weights is not None]
    common = [name for name in first.columns if all(name in part.columns for part in parts)]
    return Found(
        Place(tuple(entry for part in parts for entry in part.place.parts)),
        JoinedScores(tuple(part.scores for part in parts)),
        join_labels(labels) if labels else None,
        first.labels_from if len(parts) == 1 else f"{first.labels_from} and {len(parts) - 1} more",
        first.classes,
        first.kind,
        first.kind_reason,
        np.concatenate(weights) if weights else None,
        LazyColumns({name: _joined_column(parts, name) for name in common}),
        tuple(file for part in parts for file in part.files),
    )


def _joined_column(parts: Sequence[Found], name: str) -> Callable[[], Array]:
    return lambda: np.concatenate([part.columns[name] for part in parts])


def assemble(found: Found, path: str, options: ReadOptions) -> Predictions:
    """Understand what was found: match labels and classes, judge the kind of scores, arrange their checks.

    Raises
    ------
    InputError
        If the contents cannot be predictions.
    UsageError
        If an option does not fit them.
    """
    place, labels = found.place, found.labels
    assert labels is not None
    rows, columns = found.scores.shape
    if rows == 0:
        raise InputError(f"{place.name} has no rows; expected at least one")
    if len(labels) != rows:
        mend = "name the right labels with --labels"
        scores_a_label, rest = divmod(rows * columns, len(labels))
        if scores_a_label > 1 and not rest:
            mend = (
                f"if there are {scores_a_label} classes, they must be the last axis, as "
                f"np.moveaxis(scores, 1, -1) makes them; else {mend}"
            )
        raise InputError(
            f"{place.name} has {rows} rows of {columns} scores, but {found.labels_from} has {len(labels)} "
            f"labels; expected one label per row; {mend}"
        )
    classes = class_names(found.classes, columns, labels, options, place)
    matched = match(labels, classes, place)
    swapped = columns == 2 and options.positive == classes[0]
    if swapped:
        classes, matched = classes[::-1], 1 - matched
    weights = None if found.weights is None else check_weights(found.weights, rows, place)
    scores, notes = found.scores, [*found.notes]
    if options.limit is not None and options.limit < rows:
        if options.limit < 1:
            raise UsageError(f"--limit {options.limit}: expected at least 1 row")
        scores = JoinedScores((scores,), options.limit)
        notes.append(f"only the first {options.limit:,} of {rows:,} rows were read, as asked")
    if options.renormalize:
        notes.append("rows that do not sum to one were divided by their sum, as asked")
    kind, sure, reason = judge_kind(scores, found.kind, found.kind_reason, options, place.name)
    return Predictions(
        CheckedScores(scores, kind, reason, sure, classes, place, options.renormalize, swapped),
        matched[: options.limit],
        classes,
        None if weights is None else weights[: options.limit],
        LazyColumns(found.columns.readers, options.limit),
        Provenance(path, found.labels_from, found.files, tuple(notes)),
    )


def judge_kind(
    scores: RawScores, named: Kind | None, named_reason: str, options: ReadOptions, name: str
) -> tuple[Kind, bool, str]:
    """Return the kind of the scores, whether that is certain, and why it is so.

    Parameters
    ----------
    scores
        Their first rows are read if nothing else tells.
    named, named_reason
        What the names of the columns say.
    options
        What the user said.
    name
        Of the file, for messages.

    Raises
    ------
    InputError
        If the scores are percentages.
    """
    if options.kind != "auto":
        return options.kind, True, "as given"
    if named is not None:
        return named, True, named_reason
    first = next(scores.blocks(max(1, FIRST_LOOK // scores.shape[1])))
    block = as_floats(first)
    kind = kind_of(block)
    if kind == "logits" and percentages(block):
        raise InputError(
            f"{name}: the scores of a row sum to 100; expected probabilities, not percentages; say --kind "
            "probs --renormalize, or --kind logits if they are logits"
        )
    return kind, False, REASONS[kind]


def check_weights(weights: Array, rows: int, place: Place) -> Floats:
    """Return row weights as float64.

    Raises
    ------
    InputError
        If there is not one for each row, or one is negative, missing or infinite, or all are 0.
    """
    if weights.dtype.kind not in "iufb":
        raise InputError(f"{place.name}: the weights are of type {weights.dtype}; expected numbers")
    if weights.shape != (rows,):
        raise InputError(
            f"{place.name} has {rows} rows, but weights of shape {weights.shape}; expected one per row"
        )
    weights = weights.astype(np.float64)
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        row = int(wrong.argmax())
        raise InputError(
            f"{place.row(row)} has the weight {weights[row]:g}; expected a finite number of at least 0"
        )
    if not weights.any():
        raise InputError(f"{place.name}: all weights are 0; expected some rows to count")
    return weights
