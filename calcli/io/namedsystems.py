"""Several systems in one file: the columns of each have a name, and the file with it is read as a path."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from calcli.core.language.errors import UsageError
from calcli.io.dataset import without_labels
from calcli.io.messages import listed
from calcli.io.options import ReadOptions
from calcli.io.places.paths import parts_of_pattern, path_of

NAME = re.compile(r"[^/=\s]+")


def parse_systems(texts: Sequence[str]) -> dict[str, str]:
    """Return names and columns from texts such as `rf=score_rf`.

    Raises
    ------
    UsageError
        If one is not so, or a name is given twice.
    """
    found: dict[str, str] = {}
    for text in texts:
        name, equals, columns = (part.strip() for part in text.partition("="))
        if not equals or not columns or not NAME.fullmatch(name):
            raise UsageError(
                f"--system {text}: expected a name and its columns, as in rf=score_rf or rf='rf_*'"
            )
        if name in found:
            raise UsageError(f"--system {text}: {name} has been given before; choose another name")
        found[name] = columns
    return found


def files_of_systems(files: Iterable[str], options: ReadOptions) -> list[str]:
    """Return a path for each system in each file, as `preds.csv/rf`; the files if there are no systems.

    Raises
    ------
    UsageError
        If other options choose the scores, or standard input would be read several times.
    """
    files = without_labels([one for file in files for one in parts_of_pattern(file)], options)
    systems = parse_systems(options.system)
    if not systems:
        return files
    if options.scores is not None:
        raise UsageError(f"--system and --scores {options.scores} both choose the scores; leave one out")
    if "-" in files:
        raise UsageError("--system reads a file once for each system; expected files, not - (standard input)")
    return [f"{file}/{name}" for file in files for name in systems]


def of_system(paths: Sequence[str], options: ReadOptions) -> tuple[list[str], ReadOptions]:
    """Return the files and options that paths such as `preds.csv/rf` stand for.

    Raises
    ------
    UsageError
        If one names no system.
    """
    systems = parse_systems(options.system)
    if not systems:
        return list(paths), options
    names = {Path(path).name for path in paths}
    if not names <= set(systems) or len(names) > 1:
        raise UsageError(
            f"{paths[0]} names none of the systems {listed(list(systems))}; say which one of them, as in "
            f"{paths[0]}/{next(iter(systems))}"
        )
    return [str(path_of(path).parent) for path in paths], replace(options, scores=systems[names.pop()])
