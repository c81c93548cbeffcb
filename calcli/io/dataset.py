"""Data sets of several files: folders of parts, as Spark writes, `split=test`, and files of systems."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from calcli.core.language.errors import InputError, UsageError
from calcli.io.formats import format_of, named_format
from calcli.io.formats.npy import LABEL_FILE
from calcli.io.messages import listed
from calcli.io.options import OfLabel, ReadOptions
from calcli.io.places.paths import AnyPath, name_and_path, parts_of_pattern, path_of
from calcli.io.saved.settings import by_name
from calcli.io.words import natural_key

PARTITION = re.compile(r"([^=]+)=(.*)")
SHARD = re.compile(r"(.+?)[-.]\d{3,5}-of-\d{3,5}.*")
PACKED = (".bz2", ".xz", ".zst", ".lz4", ".br", ".z")  # unreadable parts
BESIDE = ("dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json", "_metadata.json")
NAME = re.compile(r"[^/=\s]+")


def parts_of(path: AnyPath, options: ReadOptions) -> list[AnyPath]:
    """Return the file, or the parts of a data set that a folder holds, in the order of their numbers.

    Raises
    ------
    InputError
        If a folder has no parts, or parts of several data sets.
    """
    if not path.is_dir():
        return [path]
    within: list[AnyPath] = []
    files = [file for file in _files(path, within) if not _is_beside(file, options)]
    if not files:
        data = path / "data"  # from a repository of data sets
        if split := data if data.is_dir() else _only_split(path):
            return parts_of(split, options)
        raise InputError(
            f"{path} is a folder without files of predictions; expected parts such as part-0.parquet"
        )
    formats = sorted({named_format(file).name for file in files})
    if len(formats) > 1:
        raise InputError(
            f"{path} is a folder with files of several formats ({listed(formats)}); expected the parts of "
            "one data set, all of one format"
        )
    for folder in within:
        inner = [file for file in _files(folder, []) if not _is_beside(file, options)]
        if any(format_of(file) is named_format(files[0]) for file in inner):
            every = shlex.quote(f"{path}/**/*{files[0].suffix}")
            raise InputError(
                f"{path} holds parts and the folder {folder.name}, which holds files of their format; "
                "expected the parts of one data set in one folder, or in folders named as day=1; if these "
                f"are parts too, calcli evaluate {every} --concat, else move the folder elsewhere"
            )
    shards = {match[1]: file for file in files if (match := SHARD.fullmatch(file.name))}
    if len(shards) > 1:
        commands = "; ".join(
            f"calcli evaluate {shlex.quote(str(path))}/{stem}-* --concat" for stem in sorted(shards)
        )
        raise InputError(f"{path} holds several splits, {listed(sorted(shards))}; evaluate one: {commands}")
    return sorted(files, key=lambda file: natural_key(file.relative_to(str(path)).as_posix()))


def partition_of(file: AnyPath, folder: AnyPath) -> dict[str, str]:
    """Return the values in names of folders above a file, such as `split=test`."""
    if not folder.is_dir():
        return {}
    names = file.relative_to(str(folder)).parts[:-1]
    return {match[1]: match[2] for name in names if (match := PARTITION.fullmatch(name))}


def without_labels(files: Sequence[str], options: ReadOptions) -> list[str]:
    """Return files without the files of labels that a pattern such as *.npy also matches."""
    paths = [(file, path_of(file)) for file in files]
    folders = {path.parent for _, path in paths if not _is_beside(path, options)}
    return [file for file, path in paths if path.parent not in folders or not _is_beside(path, options)]


def same_place(part: AnyPath, folder: str, filled: Path) -> Path:
    """Return the path of a part in another folder, within folders of the same names."""
    target = filled / part.relative_to(folder)
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


def _files(folder: AnyPath, within: list[AnyPath]) -> Iterator[AnyPath]:
    """Yield the files in a folder and its partitions, and collect other folders in a list."""
    entries: list[AnyPath] = list(folder.iterdir())
    for entry in sorted(entries, key=str):
        if entry.name.startswith((".", "_")):
            continue
        if entry.is_dir():
            if PARTITION.fullmatch(entry.name):
                yield from _files(entry, within)
            else:
                within.append(entry)
        elif format_of(entry):
            yield entry
        elif entry.suffix.lower() in PACKED and format_of(entry.with_name(entry.stem)):
            raise InputError(f"{entry} is packed as {entry.suffix}; expected .gz, or none; unpack it")


def _is_beside(file: AnyPath, options: ReadOptions) -> bool:
    """Return whether a file is no part: it holds labels, or describes the parts."""
    return bool(LABEL_FILE.fullmatch(file.name)) or str(file) == options.labels or file.name in BESIDE


def _only_split(path: AnyPath) -> AnyPath | None:
    """Return the one data set in a folder of folders, as `save_to_disk` writes splits.

    Raises
    ------
    InputError
        If there are several.
    """
    splits = sorted(f for f in path.iterdir() if f.is_dir() and any(map(format_of, f.iterdir())))
    if len(splits) > 1:
        commands = "; ".join(f"calcli evaluate {shlex.quote(str(f))}" for f in splits)
        raise InputError(
            f"{path} is a folder of data sets, {listed([f.name for f in splits])}; evaluate one: {commands}"
        )
    return splits[0] if splits else None


def parse_systems(texts: Sequence[str]) -> dict[str, str]:
    """Return names and columns from texts such as `rf=score_rf`.

    Raises
    ------
    UsageError
        If a text has another form, or a name is given twice.
    """
    return dict(by_name("--system", tuple(texts), "rf=score_rf or rf='rf_*'", names=NAME))


def files_of_systems(files: Iterable[str], options: ReadOptions) -> list[str]:
    """Return a path for each system in each file, as `preds.csv/rf`; the files if there are no systems.

    Raises
    ------
    UsageError
        If other options choose the scores, or standard input would be read several times.
    """
    files = without_labels([path for file in files for path in parts_of_pattern(file)], options)
    systems = parse_systems(options.system)
    if not systems:
        return files
    if options.scores is not None:
        raise UsageError(f"--system and --scores {options.scores} both choose the scores; leave one out")
    if "-" in files:
        raise UsageError("--system reads a file once for each system; expected files, not - (standard input)")
    return [f"{file}/{name}" for file in files for name in systems]


def data_sets(files: Sequence[str], options: ReadOptions) -> list[list[str]]:
    """Return the files of each data set: a file, or all files as one, or one for each system or label."""
    every = files_of_systems(files, options)
    if not options.concat:
        return [[file] for file in every]
    together: dict[str, list[str]] = {}
    for file in every:
        together.setdefault(Path(file).name if options.system else label_of(file), []).append(file)
    return [*together.values()]


def label_of(path: str) -> str:
    """Return the label that a path such as `preds.npz/edema` names; "" for the path of a file or a folder."""
    place = path_of(name_and_path(path)[1])
    file = place.parent
    if path == "-" or format_of(place) is not None or file in (place, Path()) or place.exists():
        return ""
    return place.name if format_of(file) or (file.is_dir() and any(map(format_of, file.iterdir()))) else ""


def of_system(paths: Sequence[str], options: ReadOptions) -> tuple[list[str], ReadOptions]:
    """Return the files and options that paths such as `preds.csv/rf` stand for, of a system or a label.

    Raises
    ------
    UsageError
        If one names no system.
    """
    systems = parse_systems(options.system)
    if not systems:
        labels = {label_of(path) for path in paths}
        if len(labels) > 1 or not (label := labels.pop()):
            return list(paths), options
        return [str(path_of(path).parent) for path in paths], OfLabel(**vars(options), label=label)
    names = {Path(path).name for path in paths}
    if not names <= set(systems) or len(names) > 1:
        raise UsageError(
            f"{paths[0]} names none of the systems {listed(list(systems))}; say which one of them, as in "
            f"{paths[0]}/{next(iter(systems))}"
        )
    return [str(path_of(path).parent) for path in paths], replace(options, scores=systems[names.pop()])
