"""Files in reports: short names, hashes, and whether files are the same."""

from __future__ import annotations

import filecmp
import hashlib
import os.path
from collections.abc import Sequence
from itertools import takewhile

from calcli.core.data.predictions import Provenance
from calcli.io.places.paths import name_and_path


def short_names(paths: Sequence[str]) -> list[str]:
    """Return short distinct names of files for tables: names as in `rf=x.csv`, or paths as `a/.../x.csv`."""
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
        names = list(paths)  # which share only the root
    split = [path.split(os.sep) for path in names]
    ends = zip(*(reversed(folders[1:]) for folders in split), strict=False)
    shared = sum(1 for _ in takewhile(lambda names: len(set(names)) == 1, ends))
    if shared > 2:
        split = [[*folders[:-shared], "...", folders[-1]] for folders in split]
    return ["standard input" if folders == ["-"] else os.sep.join(folders) for folders in split]


def system_names(inputs: Sequence[Provenance]) -> list[str]:
    """Return the names of systems in tables: given names, or short names of files."""
    return short_names([f"{origin.name}={origin.path}" if origin.name else origin.path for origin in inputs])


def relative_names(paths: Sequence[str]) -> list[str]:
    """Return paths relative to the folder shared by all; `-` stays unchanged."""
    absolute = [path if path == "-" else os.path.abspath(path) for path in paths]
    shared = os.path.commonpath([os.path.dirname(path) for path in absolute if path != "-"] or ["/"])
    return [path if path == "-" else os.path.relpath(path, shared) for path in absolute]


def sha256(files: Sequence[str]) -> str | None:
    """Return the SHA-256 of the concatenated contents of files, in hexadecimal; None without files.

    Also None if some files are remote, to avoid reading them.
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
    """Return whether all files of one data set are among the files of the other, or copies of them.

    Parameters
    ----------
    paths, other_paths
        The files read for each; empty for arrays from Python.
    """
    few, many = sorted((paths, other_paths), key=len)
    return bool(few) and all(any(_same(path, candidate) for candidate in many) for path in few)


def _same(path: str, other_path: str) -> bool:
    if os.path.realpath(path) == os.path.realpath(other_path):
        return True
    try:
        same_size = os.path.getsize(path) == os.path.getsize(other_path)
        return same_size and filecmp.cmp(path, other_path, shallow=False)
    except OSError:  # remote
        return False
