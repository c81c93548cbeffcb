"""One score in each row, to be recalibrated: of which class it is, by its name or by what was predicted."""

from __future__ import annotations

import shlex
from dataclasses import replace

import numpy as np

from calcli.core.calibrators.record import CalibratorRecord
from calcli.core.data.arrays import Array
from calcli.core.language.answers import WRONG_RIGHT
from calcli.core.language.errors import CalcliError, InputError
from calcli.io.labels import is_missing
from calcli.io.layouts import ALONE
from calcli.io.layouts.answers import PREDICTION, Answers, as_text, plain_name
from calcli.io.layouts.beside import beside_prediction
from calcli.io.layouts.classlabels import class_labels
from calcli.io.layouts.names import LABELS, PREFIXED, plain, stem_before
from calcli.io.layouts.roles import Roles
from calcli.io.options import ReadOptions
from calcli.io.reading import find
from calcli.io.source import BLOCK_ROWS, Contents, Source


def of_whose_score(
    record: CalibratorRecord, contents: Contents, found: Source, options: ReadOptions
) -> Source:
    """Return one score in each row with its class, where a column beside it says that, as for `evaluate`.

    Parameters
    ----------
    record
        The calibrator, of two classes.
    contents, found
        The file, and what was found in it: a score whose name has no class, or one before the word.
    options
        What the user said, nothing of classes.

    Raises
    ------
    InputError
        If the score is the confidence in the predicted class, and that is not always the second one.
    """
    name = found.taken[0]
    if found.layout != ALONE.name or (found.classes and (PREFIXED.fullmatch(name) or stem_before(name))):
        return found
    if stem_before(name) in record.classes:
        return replace(found, classes=(stem_before(name),))
    predicted = [one for one in found.columns if PREDICTION.fullmatch(plain_name(one))]
    labels = [one for one in found.columns if plain(one) in LABELS and one not in predicted]
    if not predicted and len(labels) < 2:
        return found
    try:
        known = find([contents], options)
    except CalcliError:  # there are no labels: what was predicted may tell alone
        told = (_by_prediction(record, found, column) for column in predicted)
        return next(filter(None, told), found)
    if known.classes == WRONG_RIGHT:
        _refuse_confidence(record, found, predicted or labels)
        return found
    return replace(found, classes=known.classes, doubts=known.doubts) if known.classes else found


def _by_prediction(record: CalibratorRecord, found: Source, column: str) -> Source | None:
    said = _named(found, column)
    if not any({*as_text(said[~is_missing(said)])} <= {*some} for some in (record.classes, ("0", "1"))):
        return None
    roles, held = Roles("label", ("score",), None, layout=ALONE), {"prediction": "text"}
    read, pair = (lambda _: _scores(found)), (lambda *_: (said, said))
    judged = beside_prediction(roles, held, read, pair, ReadOptions(), found.place.name)
    if isinstance(judged, Answers):
        _refuse_confidence(record, found, [column])
    elif judged.classes:
        told = (
            f"{found.taken[0]} is taken for the score of {judged.classes[-1]}, which {column} names where it"
        )
        return replace(found, classes=judged.classes, doubts=(f"{told} is high",))
    return None


def _refuse_confidence(record: CalibratorRecord, found: Source, columns: list[str]) -> None:
    """Raise an InputError unless all that is predicted is the class whose score it is anyway."""
    second = record.classes[1]
    for column in columns:
        said = _named(found, column)
        if not np.isin(as_text(said[~is_missing(said)]), (second, "1")).all():
            raise InputError(
                f"{found.place.name}: {found.taken[0]} may be the confidence in what {column} names, and the "
                f"calibrator was fitted on scores of a class; save those of {second}, or, if these are, say "
                f"--positive {shlex.quote(second)}"
            )


def _named(found: Source, column: str) -> Array:
    """Return a column, numbers by the names that metadata have for them."""
    said = found.columns[column]
    names = dict(enumerate(class_labels(found.others([column])[0]).get(column, ())))
    return np.array([names.get(one, one) for one in said.tolist()]) if names else said


def _scores(found: Source) -> Array:
    """Return (N,) the scores."""
    return np.concatenate([block[:, 0].copy() for block in found.scores.blocks(BLOCK_ROWS)])
