"""Answers, right or wrong, in files: the column of the confidence, and the columns that tell which are right.

Logs of language models, judges and agents have no score for each class, but the confidence of one answer,
and whether it is right; or the answer and the label, right where they are equal.
"""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from calcli.core.data.arrays import Array
from calcli.core.language.errors import InputError, UsageError
from calcli.io.messages import Place, listed
from calcli.io.tables.labels import Labels, is_missing, number_of
from calcli.io.words import TRUTH, plain_text

LEAVE_OUT, REMOVE = "leave them out with --drop-missing", "remove such rows"


def require_column(
    column: str, columns: Collection[str], name: str, option: str, kind: str = "column"
) -> None:
    """Raise a UsageError for a missing column, and name similar ones."""
    if column not in columns:
        near = difflib.get_close_matches(column, columns, n=3)
        offer = f"did you mean {listed(near)}?" if near else f"it has {listed(tuple(columns))}"
        raise UsageError(f'{option}: {name} has no {kind} "{column}"; {offer}')


def outcomes_of(values: Sequence[Array], ignored: Collection[str] = ()) -> Labels:
    """Return the outcomes of answers, as text.

    Parameters
    ----------
    values
        (N,) outcomes, in numbers or text, or both the answer and the right answer.
    ignored
        Labels to leave out; they stay if two columns are compared.
    """
    gone = np.logical_or.reduce([is_missing(value) for value in values])
    last = values[-1].astype(str) if values[-1].dtype.kind == "O" else values[-1]
    if len(values) == 2:
        answered, right = comparable(*values)
        texts_of_last = as_text(last) if ignored else last
        last = np.where(answered == right, "1", "0")
        last = np.where(np.isin(texts_of_last, [*ignored]), texts_of_last, last) if ignored else last
    distinct, codes = np.unique(last, return_inverse=True)
    codes = np.where(gone, len(distinct), codes)
    labels = Labels((*as_text(distinct).tolist(), None), codes)
    return labels.kept(np.ones(len(codes), np.bool_))


def rights_of(labels: Labels, owner: str, place: Place, mend: str) -> Labels:
    """Return the outcomes of answers, 1 right and 0 wrong, from text.

    Parameters
    ----------
    labels
        From `outcomes_of`.
    owner, place
        The column, and where it is, for messages.
    mend
        What to do about missing values; "" if rows cannot be left out by an option.

    Raises
    ------
    InputError
        If some value is missing, or neither right nor wrong.
    """
    refuse_gone(labels.missing(), owner, place, mend)
    outcomes = [TRUTH.get(plain_text(text), -1) for text in labels.values]
    right = np.array(outcomes, np.int8)[labels.codes]
    if (wrong := right < 0).any():
        row = int(wrong.argmax())
        value = labels.values[labels.codes[row]]
        leave = f"leave such rows out with --ignore-label {shlex.quote(str(value))}"
        raise InputError(
            f"{place.row(row)} has the value {value!r} in {owner}; expected right or wrong, as 1 and 0, true "
            f"and false, or correct and incorrect; {leave if mend else REMOVE}"
        )
    return Labels((0, 1), right, "numbers")


def refuse_gone(gone: Array, subject: str, place: Place, mend: str) -> None:
    """Raise an InputError with the number of (N,) rows with a missing value, and a remedy."""
    if gone.any():
        raise InputError(
            f"{place.name}: {subject} is missing in {np.count_nonzero(gone):,} of {len(gone):,} rows, the "
            f"first of them {place.row(int(gone.argmax()))}; {mend or REMOVE}"
        )


def _is_numeric(values: Array) -> bool:
    return values.dtype.kind in "fiub"


def as_text(values: Array) -> Array:
    """Return values as text, with numbers of any type in one form."""
    if _is_numeric(values):
        return np.array([f"{value:.15g}" for value in values.astype(np.float64).tolist()])
    return np.char.strip(values.astype(str))


def comparable(answers: Array, right: Array) -> tuple[Array, Array]:
    """Return two columns, with equal text for equal meanings.

    Text is compared letter by letter; but beside numbers, a type inferred column by
    column, 01 is 1, and true and false are 1 and 0, if there are no other numbers.
    """
    numeric = _is_numeric(answers), _is_numeric(right)
    if all(numeric):
        return answers, right
    if not any(numeric):
        return as_text(answers), as_text(right)
    numbers = answers if numeric[0] else right
    words = {"true": "1", "false": "0"} if np.isin(numbers[~is_missing(numbers)], (0, 1)).all() else {}
    answers, right = (_in_numbers(values, words) for values in (answers, right))
    return answers, right


def _in_numbers(values: Array, words: Mapping[str, str]) -> Array:
    """Return values as text, with every number in one form, and whole numbers in full."""
    distinct, which = np.unique(values if _is_numeric(values) else as_text(values), return_inverse=True)
    if values.dtype.kind in "iu":
        texts = distinct.astype(str)
    else:
        texts = as_text(distinct)
        plain = [words.get(text.casefold(), text) for text in texts.tolist()]
        texts = np.array([_in_one_form(text) for text in plain])
    column: Array = texts[which]
    return column


def _in_one_form(text: str) -> str:
    number = number_of(text)
    if number is None:
        return text
    return str(number) if number.denominator == 1 else f"{float(number):.15g}"
