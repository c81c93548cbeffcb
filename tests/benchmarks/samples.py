"""The data that contestants work on, and the plain softmax pass that others are measured by."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.benchmarks.harness import Job

PART = 100_000  # rows made at once
ROW_GROUP = 1_000_000
BLOCK = 512 * 1024  # bytes of a block that stays in the cache


def write_sample(folder: Path, rows: int, classes: int) -> Path:
    """Write logits and labels, a part at a time, and return the path of the logits."""
    rng = np.random.default_rng(0)
    path = folder / f"{rows}x{classes}.npy"
    scores = np.lib.format.open_memmap(path, "w+", np.float32, (rows, classes))
    labels = rng.integers(0, classes, rows)
    for start in range(0, rows, PART):
        part = slice(start, min(start + PART, rows))
        logits = rng.standard_normal((part.stop - part.start, classes), dtype=np.float32) * 1.5
        logits[np.arange(len(logits)), labels[part]] += 1.5 if classes == 2 else 6
        scores[part] = logits
    scores.flush()
    np.save(path.with_name(f"{path.stem}_labels.npy"), labels)
    return path


def write_distorted(folder: Path, rows: int, classes: int) -> Path:
    """Write logits that vector scaling could mend: over-confident, each class with its own scale and offset.

    The labels are drawn from the softmax of the logits as they were before. As many rows again, to judge a
    fit on, are beside them; see `held_out`.
    """
    rng = np.random.default_rng(0)
    scale = 1.8 * rng.normal(1, 0.1, classes).astype(np.float32)
    offset = rng.normal(0, 0.5, classes).astype(np.float32)
    path = folder / f"distorted{rows}x{classes}.npy"
    for name in (str(path), held_out(str(path))):
        logits = rng.standard_normal((rows, classes), dtype=np.float32) * 2
        logits[np.arange(rows), rng.integers(0, classes, rows)] += np.log(classes) + 3
        labels = (logits + rng.gumbel(size=logits.shape).astype(np.float32)).argmax(1)
        np.save(name, logits * scale + offset)
        np.save(name.replace(".npy", "_labels.npy"), labels)
    return path


def held_out(path: str) -> str:
    """Return where the other rows are."""
    return path.replace(".npy", "_other.npy")


def write_binary_parquet(folder: Path, rows: int) -> Path:
    """Write one probability and a label a row, a row group at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    path = folder / f"binary{rows}.parquet"
    with pq.ParquetWriter(path, pa.schema({"prob": pa.float32(), "label": pa.int8()})) as file:
        for start in range(0, rows, ROW_GROUP):
            size = min(ROW_GROUP, rows - start)
            prob = rng.beta(0.5, 0.5, size).astype(np.float32)
            label = (rng.random(size) < prob).astype(np.int8)
            file.write_table(pa.table({"prob": prob, "label": label}), ROW_GROUP)
    return path


def arrays(path: str) -> tuple[np.ndarray, np.ndarray]:
    """Return logits and labels of a .npy pair."""
    return np.load(path), np.load(path.replace(".npy", "_labels.npy"))


def softmax_pass(path: str) -> Job:
    """Read a .npy file and do softmax and maximum, in blocks, in the layout that suits."""
    rows, classes = np.load(path, mmap_mode="r").shape

    def job() -> None:
        step = max(1, BLOCK // (4 * classes))
        block = np.empty((step, classes), np.float32)
        ones = np.ones(classes, np.float32)
        with open(path, "rb") as file:
            np.lib.format.read_magic(file)
            np.lib.format.read_array_header_1_0(file)
            for start in range(0, rows, step):
                part = block[: min(step, rows - start)]
                file.readinto(part)
                if classes <= 256:
                    exp = np.ascontiguousarray(part.T)
                    exp -= exp.max(0)
                    np.exp(exp, out=exp)
                    np.divide(1, ones @ exp)
                else:
                    part -= part.max(1)[:, None]
                    np.exp(part, out=part)
                    np.divide(1, part @ ones)

    return job
