"""What tells files apart in reports: their names, their hashes, and whether they are the same."""

from __future__ import annotations

import filecmp
import hashlib
import os.path
from collections.abc import Sequence
from itertools import takewhile

from calcli.core.data.predictions import Provenance
from calcli.io.places.paths import name_and_path


def short_names(paths: Sequence[str]) -> list[str]:
    """Return what tells files apart, for tables: their names as in `rf=x.csv`, or `a/.../x.csv` and so on."""
    names_given = [name_and_path(path)[0] for path in paths]
    if any(names_given):
        plain = [
            path
            for path, name in zip(paths, names_given, strict=True)
            if names_given.count(name) > 1 or not name
        ]
        files = iter(short_names([name_and_path(path)[1] for path in plain]))
        return [
            name if names_given.count(name) == 1 and name else "/".join(filter(None, (name, next(files))))
            for name in names_given
        ]
    names = relative_names(paths)
    if any(os.path.abspath(path) == os.sep + name for path, name in zip(paths, names, strict=True)):
        names = list(paths)  # which share the root alone
    split = [path.split(os.sep) for path in names]
    ends = zip(*(reversed(folders[1:]) for folders in split), strict=False)
    shared = sum(1 for _ in takewhile(lambda names: len(set(names)) == 1, ends))
    if shared > 2:
        split = [[*folders[:-shared], "...", folders[-1]] for folders in split]
    return ["standard input" if folders == ["-"] else os.sep.join(folders) for folders in split]


def system_names(inputs: Sequence[Provenance]) -> list[str]:
    """Return what tables call systems: the names that the user gave, or what tells their files apart."""
    return short_names([f"{origin.name}={origin.path}" if origin.name else origin.path for origin in inputs])


def relative_names(paths: Sequence[str]) -> list[str]:
    """Return paths from the folder shared by all; `-` stays what it is."""
    absolute = [path if path == "-" else os.path.abspath(path) for path in paths]
    shared = os.path.commonpath([os.path.dirname(path) for path in absolute if path != "-"] or ["/"])
    return [path if path == "-" else os.path.relpath(path, shared) for path in absolute]


def sha256(files: Sequence[str]) -> str | None:
    """Return the SHA-256 of the contents of files, one after the other, in hexadecimal; None of none.

    None too if some are elsewhere: they are not read whole for that.
    """
    if not files or any("://" in name for name in files):
        return None
    digest = hashlib.sha256()
    for name in files:
        with open(name, "rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
    return digest.hexdigest()


def same_files(paths: Sequence[str], other_paths: Sequence[str]) -> bool:
    """Tell whether all files of one data set are among the files of the other, or copies of them.

    Parameters
    ----------
    paths, other_paths
        The files read for each; none for arrays from Python, whose files are unknown.
    """
    few, many = sorted((paths, other_paths), key=len)
    return bool(few) and all(any(_same(path, candidate) for candidate in many) for path in few)


def _same(path: str, other_path: str) -> bool:
    if os.path.realpath(path) == os.path.realpath(other_path):
        return True
    try:
        same_size = os.path.getsize(path) == os.path.getsize(other_path)
        return same_size and filecmp.cmp(path, other_path, shallow=False)
    except OSError:  # not here, but at an address
        return False
