"""Predictions to write and read again, shared by the tests of this folder."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calcli.core.data.predictions import Predictions
from calcli.core.language.declaring import declared
from calcli.core.language.errors import InputError, UsageError
from calcli.io.options import ReadOptions
from calcli.io.read import read, read_concat


class Sample(NamedTuple):
    """Arrays as a model would give them."""

    scores: np.ndarray
    labels: np.ndarray


def random_logits(rows: int = 57, classes: int = 12) -> Sample:
    """Return single-precision logits; by default numbers of one and two digits are among the classes."""
    rng = np.random.default_rng(5)
    scores = rng.normal(size=(rows, classes)).astype(np.float32) * 3
    return Sample(scores, rng.integers(classes, size=rows))


def random_probs(rows: int = 40, classes: int = 3) -> Sample:
    """Return double-precision probabilities."""
    rng = np.random.default_rng(6)
    return Sample(rng.dirichlet(np.ones(classes), size=rows), rng.integers(classes, size=rows))


def table_of(scores: np.ndarray, labels, names: list[str], **others) -> pa.Table:
    """Return a table with one column a class."""
    columns = {"id": np.arange(len(scores)), "label": labels}
    columns |= {name: np.ascontiguousarray(column) for name, column in zip(names, scores.T, strict=True)}
    return pa.table(columns | others)


def scores_of(predictions: Predictions, rows: int = 7) -> np.ndarray:
    """Return all scores, read in blocks of a few rows."""
    blocks = [block.copy() for block in predictions.scores.blocks(rows)]
    assert all(len(block) <= rows for block in blocks)
    return np.concatenate(blocks)


def refused(path, message: str, **options) -> str:
    """Read everything; return the sentence there must be, on one line, which matches; follow its offers."""
    with pytest.raises((InputError, UsageError), match=message) as caught:
        scores_of(read(path, ReadOptions(**options)))
    followed(caught.value)
    return str(caught.value)


def followed(refusal: object) -> list[Predictions]:
    """Return what the commands that a refusal offers read, each to its end."""
    found = []
    for files, options in map(options_of, offers_of(refusal)):
        if not {"FILES", "-"} & {*files}:
            found.append(read_concat(files, options))
            scores_of(found[-1])
    return found


def pair(folder: Path, scores, labels) -> Path:
    np.save(folder / "t.npy", scores)
    np.save(folder / "t_labels.npy", labels)
    return folder / "t.npy"


def saved(folder: Path, columns: Any, name: str = "t.csv") -> Path:
    """Write columns of values as the ending of a name says."""
    path, frame = folder / name, pd.DataFrame(columns)
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True, double_precision=15)
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return path


def lines(folder: Path, rows: Any) -> Path:
    """Write objects as JSON lines."""
    (folder / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "t.jsonl"


def of_true_classes(path: Path, **options: Any) -> Any:
    """Return (N,) the probability of what each label is."""
    found = read(path, ReadOptions(**options))
    return scores_of(found)[np.arange(len(found.labels)), found.labels]


def csv_file(folder: Path, text: str) -> Path:
    (folder / "t.csv").write_text(text)
    return folder / "t.csv"


def parquet_file(folder: Path, **columns) -> Path:
    pq.write_table(pa.table(columns), folder / "t.parquet")
    return folder / "t.parquet"


def to_parquet(table: pa.Table, path: Path) -> Path:
    """Write views, which pyarrow writes since 21, or gaps in lists of one length, since 25 or 26."""
    try:
        pq.write_table(table, path)
    except pa.ArrowNotImplementedError as error:
        if int(pa.__version__.partition(".")[0]) > 25:
            raise
        pytest.skip(f"pyarrow {pa.__version__}: {error}")
    return path


def offers_of(sentence: object) -> list[str]:
    """Return the commands that read a file, as they stand in a refusal."""
    parts = re.split(r"(?=calcli (?:evaluate|compare) )", str(sentence))[1:]
    ends = r"(; or compare .*?: |; and so on.*|; | or |\. .*)$"
    lines = (one.partition("\n")[0] for one in parts if one.startswith("calcli evaluate"))
    return [re.sub(ends, "", one) for one in lines]


def options_of(command: str) -> tuple[list[str], ReadOptions]:
    """Return what a shell and the command line make of a command that reads files."""
    words, found, files = shlex.split(command)[2:], dict[str, Any](), list[str]()
    settings = {setting.option: (name, setting) for name, setting in declared(ReadOptions).items()}
    while words:
        option, _, value = (
            words.pop(0).partition("=") if words[0].startswith("--") else ("", "", words.pop(0))
        )
        if not option:
            files.append(value)
            continue
        name, setting = settings[option]
        if setting.values.type is bool:
            found[name] = True
            continue
        value = value or words.pop(0)
        repeated = setting.values.several == "repeated"
        found[name] = (
            (*found.get(name, ()), value)
            if repeated
            else setting.checked(setting.values.type(value), "option")
        )
    return files, ReadOptions(**found)
