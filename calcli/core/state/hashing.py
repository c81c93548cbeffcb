"""Hashes of row numbers and keys: the same on every machine, and mixed so well that they can choose rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, missing
from calcli.core.language.errors import InputError

Hashes = NDArray[np.uint64]

FIRST, SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)  # odd


def of_numbers(start: int, stop: int) -> Hashes:
    """Return the hashes of consecutive row numbers; see `hashed`."""
    return hashed(np.arange(start, stop))


def hashed(numbers: Array) -> Hashes:
    """Return the hashes of (n,) row numbers, no two alike; the quickest that leaves no pattern."""
    found = numbers.astype(np.uint64)
    found *= FIRST
    found ^= found >> np.uint64(32)
    found *= SECOND
    return found


def dealt(start: int, rows: int, hands: int) -> NDArray[np.uint32]:
    """Deal rows of consecutive numbers out at random, by short hashes of these (Appleby's MurmurHash3)."""
    found = np.arange(rows, dtype=np.uint32)
    found += np.uint32(start & 0xFFFFFFFF)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        found ^= found >> np.uint32(shift)
        found *= np.uint32(factor)
    found >>= np.uint32(16)  # the upper half is mixed well enough
    return found * np.uint32(hands) >> np.uint32(16)


def mixed(values: Array) -> Hashes:
    """Return a hash of each integer, of which every bit depends on all of its bits (Steele et al. 2014)."""
    found = values.astype(np.uint64) + np.uint64(0x632BE59BD9B4E019)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        found = (found ^ (found >> np.uint64(shift))) * np.uint64(factor)
    return found ^ (found >> np.uint64(31))


def of_keys(keys: Array, called: str, first: int = 0) -> Hashes:
    """Return the hashes of keys, of their text whatever their type: 17 and "17" are the same key.

    Parameters
    ----------
    keys
        (n,) values of a column.
    called, first
        Where they are, and the number of the first of them, for messages.

    Raises
    ------
    InputError
        If one is missing.
    """
    if len(gone := missing(keys)):
        raise InputError(f"{called}: row {first + int(gone[0])} has none; expected a key in every row")
    text = keys.astype(str)
    codes = text.view(np.uint32).reshape(len(text), text.itemsize // 4).T
    found = np.zeros(len(text), np.uint64)
    for code in codes:
        step = (found + code + np.uint64(1)) * FIRST
        step ^= step >> np.uint64(32)
        found = np.where(code, step, found)  # shorter texts are filled up with zeros
    return mixed(found)
