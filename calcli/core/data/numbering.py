"""Files in a series: the numbers in their names, and the folders that part them."""

from __future__ import annotations

import os.path
import re
from collections.abc import Sequence

from calcli.core.language.errors import UsageError


def numbers_in_names(paths: Sequence[str]) -> list[int] | None:
    """Return the number of each file in a series, such as its epoch; None where a name has no number.

    Of several numbers in a name it is the last in which the files differ.

    Raises
    ------
    UsageError
        If two files have the same one.
    """
    found = [re.findall("[0-9]+", os.path.basename(path).partition(".")[0]) for path in paths]
    if not all(found):
        return None
    place = -1
    if len({len(numbers) for numbers in found}) == 1:
        differing = [n for n, column in enumerate(zip(*found, strict=True)) if len(set(column)) > 1]
        place = differing[-1] if differing else -1
    numbers = [int(each[place]) for each in found]
    for path, number in zip(paths, numbers, strict=True):
        first = paths[numbers.index(number)]
        if first != path:
            raise UsageError(
                f"{first} and {path} have the same number {number}; expected another one in the name of each "
                "file of a folder, as in epoch_1.npy and epoch_2.npy"
            )
    return numbers


def by_folder(paths: Sequence[str]) -> dict[str, list[int]]:
    """Return which files lie in each folder, by what tells the folders apart."""
    folders = [os.path.dirname(os.path.abspath(path)) for path in paths]
    shared = os.path.commonpath([os.path.dirname(folder) for folder in folders])
    found: dict[str, list[int]] = {}
    for n, folder in enumerate(folders):
        found.setdefault(os.path.relpath(folder, shared), []).append(n)
    return found
