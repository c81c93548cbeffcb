"""Reading predictions: one file, a folder of parts, several files joined, or standard input."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from calcli.core.data.predictions import Predictions
from calcli.core.language.errors import InputError, UsageError
from calcli.io.assemble import Found, assemble, join
from calcli.io.files import format_of, known_format, natural_key
from calcli.io.npy import open_npy, read_labels
from calcli.io.options import ReadOptions
from calcli.io.places import Place, listed

__all__ = ["ReadOptions", "read", "read_concat"]

LABEL_ENDINGS = ("labels", "targets", "label", "target")
SCORES_ENDING = re.compile(r"(?i)(^|[_.-])(scores|logits|log_probs|probs|probabilities|predictions|preds)$")
LABEL_FILE = re.compile(rf"(?i)(.*[_.-])?({'|'.join(LABEL_ENDINGS)})\.npy")


def read(path: str | Path, options: ReadOptions | None = None) -> Predictions:
    """Read predictions from a file, a folder of parts that are one data set, or standard input.

    Parameters
    ----------
    path
        A .npy, .npz, .csv, .tsv, .parquet, Arrow or JSON lines file; a folder of such files, which are
        read in the order of the numbers in their names; or "-" for standard input.
    options
        What the file does not say itself.

    Raises
    ------
    InputError
        If it is missing, damaged, not understood or not predictions.
    UsageError
        If an option does not fit it.
    """
    return _read([path], str(path), options or ReadOptions())


def read_concat(paths: Sequence[str | Path], options: ReadOptions | None = None) -> Predictions:
    """Read several files as one data set, in the order given; otherwise as `read`."""
    if len(paths) > 1 and "-" in map(str, paths):
        raise UsageError("- (standard input) cannot be joined with files; give files only, or - alone")
    name = str(paths[0]) if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
    return _read(paths, name, options or ReadOptions())


def _read(paths: Sequence[str | Path], name: str, options: ReadOptions) -> Predictions:
    if [str(path) for path in paths] == ["-"]:
        from calcli.io.from_tables import found_in_table
        from calcli.io.text import open_stdin

        found = found_in_table(open_stdin(), options)
    else:
        files = [file for path in paths for file in parts_of(Path(path), options)]
        formats = {file: known_format(file) for file in files}
        arrays = [file for file in files if formats[file] in ("npy", "npz")]
        if arrays and len(arrays) < len(files):
            other = next(file for file in files if file not in arrays)
            raise InputError(
                f"{arrays[0]} holds arrays and {other} a table; parts of one data set must be alike"
            )
        found = _found_in_arrays(files, options) if arrays else _found_in_tables(files, formats, options)
    if found.labels is None:
        found = _with_labels(found, options)
    return assemble(found, name, options)


def parts_of(path: Path, options: ReadOptions) -> list[Path]:
    """Return the file, or the parts of a data set that a folder holds, in the order of their numbers."""
    if not path.is_dir():
        return [path]
    files = [file for file in path.iterdir() if format_of(file) and not file.name.startswith((".", "_"))]
    files = [file for file in files if not LABEL_FILE.fullmatch(file.name) and str(file) != options.labels]
    if not files:
        raise InputError(
            f"{path} is a folder without files of predictions; expected parts such as part-0.parquet"
        )
    formats = sorted({str(format_of(file)) for file in files})
    if len(formats) > 1:
        raise InputError(
            f"{path} is a folder with files of several formats ({listed(formats)}); expected the parts of "
            "one data set, all of one format"
        )
    return sorted(files, key=lambda file: natural_key(file.name))


def _found_in_tables(files: Sequence[Path], formats: dict[Path, str], options: ReadOptions) -> Found:
    from calcli.io import tables, text
    from calcli.io.from_tables import found_in_table

    openers = {
        "csv": text.open_csv,
        "jsonl": text.open_jsonl,
        "parquet": tables.open_parquet,
        "arrow": tables.open_arrow,
    }
    table = tables.join_tables([openers[formats[file]](file) for file in files])
    return replace(found_in_table(table, options), files=tuple(map(str, files)))


def _found_in_arrays(files: Sequence[Path], options: ReadOptions) -> Found:
    from calcli.io.npz import found_in_npz

    if options.label_column is not None:
        raise UsageError(
            f"--label-column {options.label_column}: {files[0]} has no columns; name the labels with --labels"
        )
    readers = {"npy": _found_in_npy, "npz": found_in_npz}
    return join([readers[str(format_of(file))](file, options) for file in files])


def _found_in_npy(path: Path, options: ReadOptions) -> Found:
    for value, option in ((options.scores, "--scores"), (options.weights, "--weights")):
        if value is not None:
            raise UsageError(
                f"{option} {value}: {path} has no columns; leave it out, or save all arrays in one .npz"
            )
    scores = open_npy(path, options.positive)
    place = Place(((str(path), scores.shape[0]),))
    labels = None if options.labels is not None else labels_of_same_stem(path)
    if labels is None:
        return Found(place, scores, None, files=(str(path),))
    return Found(
        place, scores, read_labels(labels, scores.shape), str(labels), files=(str(path), str(labels))
    )


def labels_of_same_stem(path: Path) -> Path | None:
    """Return the file of labels beside a .npy file of scores that is named after it, or None."""
    plain = SCORES_ENDING.sub("", path.stem)
    for stem in dict.fromkeys((path.stem, plain)):
        for ending in LABEL_ENDINGS if stem else ():
            beside = path.with_name(f"{stem}_{ending}.npy")
            if beside.is_file():
                return beside
    return None


def _with_labels(found: Found, options: ReadOptions) -> Found:
    """Add labels from the file that --labels names, or from the only one beside the scores."""
    path = Path(options.labels) if options.labels is not None else _only_labels_beside(Path(found.files[0]))
    labels = read_labels(path, found.scores.shape)
    return replace(found, labels=labels, labels_from=str(path), files=(*found.files, str(path)))


def _only_labels_beside(path: Path) -> Path:
    beside = sorted(
        file for file in path.parent.iterdir() if LABEL_FILE.fullmatch(file.name) and file != path
    )
    if not beside:
        raise InputError(
            f"{path} has no labels: expected {path.stem}_labels.npy or a labels.npy beside it; name the file "
            "with --labels"
        )
    if len(beside) > 1:
        names = listed([file.name for file in beside])
        raise InputError(f"{path} has several files of labels beside it, {names}; choose one with --labels")
    return beside[0]
