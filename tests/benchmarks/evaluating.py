"""Speed of `evaluate`: ratios to one read, softmax and maximum of the same file, in one run."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.harness import Figures, contest, run, table, whole_process

Job = Callable[[], Any]
SIZES = ((10_000, 100), (50_000, 1_000), (5_000_000, 10))
GROWTH = (10_000, 100_000, 1_000_000, 10_000_000)
BLOCK = 512 * 1024
MODULE = "tests.benchmarks.evaluating"


def write_sample(folder: Path, rows: int, classes: int) -> Path:
    """Write logits and labels, a part at a time, and return the path of the logits."""
    rng = np.random.default_rng(0)
    path = folder / f"{rows}x{classes}.npy"
    scores = np.lib.format.open_memmap(path, "w+", np.float32, (rows, classes))
    labels = rng.integers(0, classes, rows)
    for start in range(0, rows, 100_000):
        part = slice(start, min(start + 100_000, rows))
        logits = rng.standard_normal((part.stop - part.start, classes), dtype=np.float32) * 1.5
        logits[np.arange(len(logits)), labels[part]] += 1.5 if classes == 2 else 6
        scores[part] = logits
    scores.flush()
    np.save(path.with_name(f"{path.stem}_labels.npy"), labels)
    return path


def write_binary_parquet(folder: Path, rows: int) -> Path:
    """Write one probability and a label a row."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    prob = rng.beta(0.5, 0.5, rows).astype(np.float32)
    label = (rng.random(rows) < prob).astype(np.int8)
    path = folder / f"binary{rows}.parquet"
    pq.write_table(pa.table({"prob": prob, "label": label}), path, row_group_size=1_000_000)
    return path


def floor(path: str) -> Job:
    """One read, softmax and maximum, in blocks, in the layout that suits the number of classes."""
    if path.endswith(".parquet"):
        return _floor_parquet(path)
    shape = np.load(path, mmap_mode="r").shape

    def job() -> float:
        rows, classes = shape
        step = max(1, BLOCK // (4 * classes))
        block = np.empty((step, classes), np.float32)
        ones = np.ones(classes, np.float32)
        total = 0.0
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
                    total += float((1 / (ones @ exp)).sum())
                else:
                    part -= part.max(1)[:, None]
                    np.exp(part, out=part)
                    total += float((1 / (part @ ones)).sum())
        return total / rows

    return job


def _floor_parquet(path: str) -> Job:
    import pyarrow.parquet as pq

    def job() -> float:
        total = 0.0
        for batch in pq.ParquetFile(path).iter_batches(batch_size=1_000_000, columns=["prob", "label"]):
            second = batch.column("prob").to_numpy()
            for start in range(0, len(second), BLOCK // 8):
                part = second[start : start + BLOCK // 8]
                exp = np.stack([1 - part, part])
                exp -= exp.max(0)
                np.exp(exp, out=exp)
                total += float((1 / exp.sum(0)).sum())
        return total

    return job


def calcli(resamples: int, draws: int) -> Callable[[str], Job]:
    """The default report from the file on, with that many resamples and draws."""

    def contestant(path: str) -> Job:
        from calcli.core.evaluate import evaluate
        from calcli.core.results import Settings
        from calcli.io.read import read

        settings = Settings(resamples=resamples, draws=draws)
        return lambda: evaluate(read(path), settings).estimates["log_loss"].value

    return contestant


def _arrays(path: str) -> tuple[np.ndarray, np.ndarray]:
    return np.load(path), np.load(path.replace(".npy", "_labels.npy"))


def scikit_learn(path: str) -> Job:
    """Log-loss, Brier score and accuracy by scikit-learn, ECE by numpy."""
    from scipy.special import softmax
    from sklearn.metrics import accuracy_score, brier_score_loss, log_loss

    def job() -> float:
        scores, labels = _arrays(path)
        probs = softmax(scores, axis=1)
        confidence, predicted = probs.max(1), probs.argmax(1)
        accuracy_score(labels, predicted)
        brier_score_loss(labels, probs)
        cell = np.minimum((confidence * 15).astype(int), 14)
        gap = np.bincount(cell, confidence - (predicted == labels), 15)
        np.abs(gap).sum()
        return float(log_loss(labels, probs))

    return job


def torchmetrics(path: str) -> Job:
    """Accuracy, ECE, and log-loss by torch and torchmetrics."""
    import torch
    from torchmetrics.functional.classification import multiclass_accuracy, multiclass_calibration_error

    torch.set_num_threads(1)

    def job() -> float:
        scores, labels = (torch.from_numpy(array) for array in _arrays(path))
        classes = scores.shape[1]
        probs = scores.softmax(1)
        multiclass_accuracy(probs, labels, classes)
        for norm in ("l1", "l2", "max"):
            multiclass_calibration_error(probs, labels, classes, n_bins=15, norm=norm)
        return float(torch.nn.functional.cross_entropy(scores, labels))

    return job


def netcal(path: str) -> Job:
    """ECE and MCE by netcal."""
    from netcal.metrics import ECE, MCE
    from scipy.special import softmax

    def job() -> float:
        scores, labels = _arrays(path)
        probs = softmax(scores, axis=1)
        MCE(15).measure(probs, labels)
        return float(ECE(15).measure(probs, labels))

    return job


CONTESTANTS = {
    "floor": floor,
    "calcli, values": calcli(0, 0),
    "calcli, with intervals": calcli(1000, 0),
    "calcli, with intervals and tests": calcli(1000, 999),
    "scikit-learn + numpy": scikit_learn,
    "torchmetrics": torchmetrics,
    "netcal": netcal,
}


def main() -> None:
    """Print the tables."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = [write_sample(folder, *size) for size in SIZES] + [write_binary_parquet(folder, 20_000_000)]
        rows = []
        for path in paths:
            base = run(MODULE, "floor", [path])
            assert isinstance(base, Figures), base
            for contestant in CONTESTANTS:
                if path.suffix == ".parquet" and not contestant.startswith(("floor", "calcli")):
                    continue
                found = run(MODULE, contestant, [path], repeats=2)
                if isinstance(found, str):
                    rows.append([path.stem, contestant, found, "", ""])
                else:
                    ratio = f"{found.cpu / base.cpu:.1f}"
                    rows.append([path.stem, contestant, ratio, f"{found.cpu:.3f}", f"{found.peak:.0f}"])
        heads = ["data", "contestant", "x floor", "cpu s", "peak MB"]
        table("Evaluation, ratio to one read + softmax + maximum", heads, rows)
        rows = []
        for size in GROWTH:
            found = run(MODULE, "calcli, with intervals", [write_sample(folder, size, 10)], repeats=1)
            assert isinstance(found, Figures), found
            rows.append([f"{size:,} x 10", f"{found.cpu:.3f}", f"{found.cpu / size * 1e6:.3f}"])
        table("Growth", ["rows", "cpu s", "cpu s a million rows"], rows)
        _processes(paths[0])


def _processes(path: Path) -> None:
    load = (
        "import numpy as np\n"
        f"s = np.load({str(path)!r}); y = np.load({str(path).replace('.npy', '_labels.npy')!r})\n"
        "e = np.exp(s - s.max(1, keepdims=True)); p = e / e.sum(1, keepdims=True)\n"
        "print(-np.log(p[np.arange(len(y)), y]).mean(), p.max(1).mean())\n"
    )
    plain = whole_process([sys.executable, "-c", load])
    evaluating = whole_process([sys.executable, "-m", "calcli", "evaluate", str(path), "--format", "json"])
    imports = whole_process([sys.executable, "-c", "import typer, rich"])
    helping = whole_process([sys.executable, "-m", "calcli", "--help"])
    rows = [
        ["calcli evaluate 10,000 x 100 / plain numpy", f"{evaluating / plain:.2f}", f"{evaluating:.3f}"],
        ["calcli --help / import typer, rich", f"{helping / imports:.2f}", f"{helping:.3f}"],
    ]
    table("Whole processes", ["process", "ratio", "cpu s"], rows)


if __name__ == "__main__":
    contest(CONTESTANTS) if len(sys.argv) > 1 else main()
