"""Speed of reading Parquet into arrays beside polars, and logs with columns of ids beside pandas."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.benchmarks.harness import Contest, Job, hold
from tests.benchmarks.samples import arrays, write_binary_parquet, write_sample

MODULE = "tests.benchmarks.reading"
ROWS = 10_000  # of a row group, and of a block that is handed over


def write_columns(source: Path) -> Path:
    """Write logits and labels of a .npy pair as a table with a column for each class."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    logits, labels = arrays(str(source))
    columns = {f"logit_{k}": np.ascontiguousarray(column) for k, column in enumerate(logits.T)}
    path = source.with_name("columns.parquet")
    pq.write_table(pa.table(columns | {"label": labels}), path, row_group_size=ROWS)
    return path


def write_list(source: Path) -> Path:
    """Write the same with all logits of a row in one column."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    logits, labels = arrays(str(source))
    lists = pa.FixedSizeListArray.from_arrays(logits.ravel(), logits.shape[1])
    path = source.with_name("list.parquet")
    pq.write_table(pa.table({"logits": lists, "label": labels}), path, row_group_size=ROWS)
    return path


def write_log(folder: Path, rows: int) -> Path:
    """Write probabilities and labels beside eight columns of ids, most of which occur more than once."""
    import pandas as pd

    rng = np.random.default_rng(0)
    prob = rng.random(rows)
    log = pd.DataFrame({"prob": prob, "label": (rng.random(rows) < prob).astype(int)})
    for k in range(8):
        log[f"id_{k}"] = [f"user-{number}" for number in rng.integers(0, rows, rows)]
    path = folder / "log.csv"
    log.to_csv(path, index=False)
    return path


def calcli(path: str) -> Job:
    """All blocks of scores as the core gets them, checked, and the labels."""
    from calcli.io.read import read

    def job() -> str:
        predictions = read(path)
        rows = sum(len(block) for block in predictions.scores.blocks(ROWS))
        return f"{rows:,} x {predictions.n_classes:,}; {predictions.labels.sum():,}"

    return job


def polars(lists: bool) -> Callable[[str], Job]:
    """One array of all columns but the labels, or of the column of lists, and the labels."""

    def contestant(path: str) -> Job:
        from polars import read_parquet

        def job() -> str:
            frame = read_parquet(path)
            table = frame["logits"] if lists else frame.drop("label")
            rows, columns = table.to_numpy().shape
            return f"{rows:,} x {columns:,}; {frame['label'].to_numpy().sum():,}"

        return job

    return contestant


def pandas(path: str) -> Job:
    """The table."""
    from pandas import read_csv

    def job() -> str:
        frame = read_csv(path)
        return f"{len(frame):,} x 2; {frame['label'].sum():,}"

    return job


FOUND = "read; sum of the labels"
CONTESTS = {
    "columns": Contest("Parquet to arrays", {"polars": polars(lists=False), "calcli": calcli}, FOUND),
    "log": Contest("CSV with ids to arrays", {"pandas": pandas, "calcli": calcli}, FOUND),
    "list": Contest("Parquet to arrays", {"polars": polars(lists=True), "calcli": calcli}, FOUND),
}


def main() -> None:
    """Print the tables."""
    with tempfile.TemporaryDirectory() as name:
        sample = write_sample(Path(name), 50_000, 1_000)
        hold(MODULE, "columns", "50,000 x 1,000, a column a class", write_columns(sample))
        hold(MODULE, "list", "50,000 x 1,000, one column of lists", write_list(sample))
        hold(MODULE, "columns", "20,000,000 binary rows", write_binary_parquet(Path(name), 20_000_000))
        hold(MODULE, "log", "20,000 binary rows beside eight columns of ids", write_log(Path(name), 20_000))
