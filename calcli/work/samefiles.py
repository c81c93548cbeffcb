"""Whether what is fitted or chosen, and what judges it, are the same files."""

from __future__ import annotations

import filecmp
import os.path
from collections.abc import Sequence


def same_files(first: Sequence[str], second: Sequence[str]) -> bool:
    """Tell whether all files of one data set are among those of the other, or copies of them.

    Parameters
    ----------
    first, second
        The files read for each; none of arrays handed over in Python, of which nothing is known.
    """
    few, many = sorted((first, second), key=len)
    return bool(few) and all(any(_same(one, other) for other in many) for one in few)


def _same(first: str, second: str) -> bool:
    if os.path.realpath(first) == os.path.realpath(second):
        return True
    try:
        same_size = os.path.getsize(first) == os.path.getsize(second)
        return same_size and filecmp.cmp(first, second, shallow=False)
    except OSError:  # not here, but at an address
        return False
