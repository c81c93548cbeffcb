"""One score in each row, beside a predicted class: is it the score of a class, or the confidence in that?

Some write the probability of the second class, others that of whichever class they predict. Where there are
more than two classes it can only be the latter. Of two, the score of a class decides which one is predicted,
and that of the predicted class is never below one half.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from calcli.core.data.arrays import Array
from calcli.core.language.errors import InputError
from calcli.io.labelnumbers import number_of
from calcli.io.labels import is_missing
from calcli.io.layouts import ALONE
from calcli.io.layouts.answers import PREDICTION, Answers, as_text, comparable, plain_name
from calcli.io.layouts.candidates import PAIRS, command
from calcli.io.layouts.names import LABELS, plain
from calcli.io.layouts.roles import Roles
from calcli.io.messages import listed
from calcli.io.options import ReadOptions

HALF = 0.4995  # rounded to three decimals, one half


def beside_prediction(
    roles: Roles,
    columns: Mapping[str, str],
    values: Callable[[str], Array],
    pair: Callable[[str, str], tuple[Array, Array]],
    options: ReadOptions,
    name: str,
) -> Answers | Roles:
    """Return what one score in each row is, if there is a column of predicted classes.

    Parameters
    ----------
    roles
        What the columns are by their names.
    columns
        What each column holds.
    values
        Reads a column.
    pair
        Reads two columns of classes, by the names of these if both have any.
    options
        What the user said.
    name
        Of the file, for messages.

    Returns
    -------
    Answers, if it is the confidence in the prediction; else the roles, with the class that it is the score
    of, where predictions show that, or with the doubt.
    """
    said_so = (options.scores, options.classes, options.positive, options.against_rest)
    if roles.layout is not ALONE or roles.label is None or any(one is not None for one in said_so):
        return roles
    score, label = roles.scores[0], roles.label
    for column, holds in columns.items():
        named = PREDICTION.fullmatch(plain_name(column)) or plain(column) in LABELS
        if not named or column in (score, label) or holds not in ("integer", "text", "float"):
            continue
        said, right = pair(column, label)
        _refuse_words(values(score), said, right, (name, score, column))
        found, classes = _judged(values(score), said, right)
        if found == "confidence":
            return Answers(score, (column, label))
        if found == "doubt":
            other = command(name, f"--confidence {score} --correct COLUMN")
            doubt = (
                f"{score} does not decide which class {column} names: if it is the confidence in that, write "
                f"a column of what is right, and say {other}"
            )
            return replace(roles, doubts=(*roles.doubts, doubt))
        if found == "score":
            known = roles.classes or classes in ((), ("1",), ("0", "1"))
            return roles if known else _of_class(roles, column, classes)
    return roles


def _refuse_words(scores: Array, said: Array, right: Array, names: tuple[str, str, str]) -> None:
    """Refuse predictions in words beside labels in numbers where the score may be that of any word, or of 0.

    Raises
    ------
    InputError
        If the score is a confidence, or that of the word which is 0 by custom.
    """
    file, score, column = names
    there = ~(is_missing(said) | is_missing(right) | is_missing(scores))
    scores, said, right = scores[there], said[there], right[there]
    words = np.unique(said) if said.dtype.kind == "U" else said[:0]
    if (
        scores.dtype.kind not in "fiu"
        or right.dtype.kind not in "iufb"
        or len(words) < 2
        or any(number_of(word) is not None for word in words.tolist())
    ):
        return
    if len(words) > 2 and right.min() >= 0 and 2 <= right.max() <= len(words):
        raise InputError(
            f"{file}: {score} is the score of the class that {column} names, and the labels are numbers: "
            f"nothing says which number each of {listed(words.tolist())} has; save the labels as these names"
        )
    if len(words) > 2 or not np.isin(right, (0, 1)).all():
        return
    one, other = (scores[said == word] for word in words)
    folded = [word.casefold() for word in words.tolist()]
    sure = scores.min() >= HALF * (100 if scores.max() > 1 else 1)
    if sure or (set(folded) in PAIRS and one.min() >= other.max()):
        which = f"the class that {column} names" if sure else words[0]
        raise InputError(
            f"{file}: {score} is the score of {which}, and the labels are 0 and 1: nothing says which of "
            f"{listed(words.tolist())} is 1; save the labels as these names, or, if {score} is the score of "
            f"1 in all rows, say {command(file, '--positive 1')}"
        )


def _of_class(roles: Roles, column: str, classes: tuple[str, ...]) -> Roles:
    said = f"{roles.scores[0]} is taken for the score of {classes[-1]}, which {column} names where it is high"
    return replace(roles, classes=classes, doubts=(*roles.doubts, said))


def _judged(scores: Array, said: Array, right: Array) -> tuple[str, tuple[str, ...]]:
    """Return "confidence", "score", "doubt" or "", if what was said is not a class; and the classes.

    The last of these is the one whose score it is; the other is there if it is among the labels.
    """
    there = ~(is_missing(said) | is_missing(right) | is_missing(scores))
    if scores.dtype.kind not in "fiu" or not there.any():
        return "", ()
    scores, named = scores[there], as_text(right[there])
    said, right = map(as_text, comparable(said[there], right[there]))
    top = 100 if scores.max() > 1 else 1
    if scores.min() < 0 or scores.max() > top:
        return "", ()
    classes, predictions = np.unique(right), np.unique(said)
    if not np.isin(said, classes).any() or len(predictions) > len(classes) + 2:
        return "", ()
    if len(np.union1d(classes, predictions)) > 2:
        return "confidence", ()
    sure = bool(scores.min() >= HALF * top)
    if len(predictions) == 1:
        return ("confidence" if sure else "score"), ()
    one, other = (scores[said == prediction] for prediction in predictions)
    if one.max() <= other.min() or other.max() <= one.min():
        high = predictions[int(one.max() <= other.min())]
        called = [named[right == name][0] for name in (*classes[classes != high], high) if name in right]
        return "score", tuple(map(str, called if high in right else [high]))
    return ("confidence" if sure else "doubt"), ()
