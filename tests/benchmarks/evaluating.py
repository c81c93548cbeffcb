"""Speed of `evaluate`: ratios to one read, softmax and maximum of the same file, in one run."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.benchmarks import byhand
from tests.benchmarks.harness import Contest, Job, hold, table, whole_process
from tests.benchmarks.samples import BLOCK, arrays, softmax_pass, write_binary_parquet, write_sample

SIZES = ((10_000, 100), (50_000, 1_000), (5_000_000, 10))
MODULE = "tests.benchmarks.evaluating"
METRICS = (
    "log_loss", "normalized_log_loss", "brier", "normalized_brier", "accuracy", "mean_confidence", "mean_gap",
    "ece", "ece_l2", "mce", "ece:binning=equal-mass", "ks", "cw_ece", "cw_ece_l2",
)  # fmt: skip


def binary_pass(path: str) -> Job:
    """Read, softmax and maximum of a parquet file with the probability of the second of two classes."""
    import pyarrow.parquet as pq

    def job() -> None:
        for batch in pq.ParquetFile(path).iter_batches(batch_size=1_000_000, columns=["prob", "label"]):
            second = batch.column("prob").to_numpy()
            for start in range(0, len(second), BLOCK // 8):
                part = second[start : start + BLOCK // 8]
                exp = np.stack([1 - part, part])
                exp -= exp.max(0)
                np.exp(exp, out=exp)
                np.divide(1, exp.sum(0))

    return job


def calcli(metrics: tuple[str, ...] = (), **settings: int) -> Callable[[str], Job]:
    """An evaluation from the file on: these metrics, or the default report."""

    def contestant(path: str) -> Job:
        from calcli.core.evaluating.evaluate import evaluate
        from calcli.core.language.settings import Settings
        from calcli.io.read import read

        chosen = Settings(metrics, **settings)
        return lambda: evaluate(read(path), chosen).estimates["log_loss"].value

    return contestant


def scikit_learn(path: str) -> Job:
    """Log-loss, Brier score and accuracy by scikit-learn, ECE by numpy."""
    from scipy.special import softmax
    from sklearn.metrics import accuracy_score, brier_score_loss, log_loss

    def job() -> float:
        scores, labels = arrays(path)
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
        scores, labels = (torch.from_numpy(array) for array in arrays(path))
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
        scores, labels = arrays(path)
        probs = softmax(scores, axis=1)
        MCE(15).measure(probs, labels)
        return float(ECE(15).measure(probs, labels))

    return job


CALCLI = {
    "calcli, metric set": calcli(METRICS, intervals=False, draws=0),
    "calcli, metric set with intervals": calcli(METRICS, draws=0),
    "calcli, metric set with intervals and tests": calcli(METRICS),
    "calcli, default report": calcli(),
}
PEERS = {"scikit-learn + numpy": scikit_learn, "torchmetrics": torchmetrics, "netcal": netcal}
CONTESTS = {
    "arrays": Contest("Evaluation", {"softmax pass": softmax_pass, **CALCLI, **PEERS}),
    "binary": Contest("Evaluation", {"softmax pass": binary_pass, **CALCLI}),
}


def main() -> None:
    """Print the tables."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for rows, classes in SIZES:
            path = write_sample(folder, rows, classes)
            hold(MODULE, "arrays", f"{rows:,} x {classes:,}", path)
        binary = write_binary_parquet(folder, 20_000_000)
        hold(MODULE, "binary", "20,000,000 binary rows of parquet", binary)
        _processes(folder / "10000x100.npy", binary)
        _runs(folder, binary)


LOSSES = "relative_calibration_loss,relative_calibration_loss:score=brier"
LOSSES += ",relative_calibration_loss:recalibrator=pav:training=test"


def _runs(folder: Path, binary: Path) -> None:
    """Print what some whole processes take."""
    few, two = write_sample(folder, 100_000, 10), write_sample(folder, 1_000_000, 2)
    many, fitted = write_binary_parquet(folder, 100_000_000), folder / "50000x1000.npy"
    commands = {
        "log-loss, Brier score and ECE of 10^8 binary rows": [many, "--metrics", "log_loss,brier,ece"],
        "default report of 20,000,000 binary rows": [binary],
        "ECE of 100,000 x 10": [few, "--metrics", "ece"],
        "three calibration losses of 1,000,000 x 2": [two, "--metrics", LOSSES],
        "temperature, 50,000 x 1,000": [fitted, "-m", "temperature", "-o", folder / "fit.json"],
    }
    rows = []
    for name, (path, *options) in commands.items():
        command = "fit" if "-m" in options else "evaluate"
        call = [sys.executable, "-m", "calcli", command, str(path), *map(str, options), "--quiet"]
        rows.append([name, f"{whole_process(call):.2f}"])
    table("Whole processes of calcli", ["process", "cpu s"], rows)


def _processes(few: Path, many: Path) -> None:
    def by_hand(path: Path) -> list[str]:
        return [sys.executable, "-m", "tests.benchmarks.byhand", str(path)]

    def evaluate(path: Path) -> list[str]:
        return [sys.executable, "-m", "calcli", "evaluate", str(path), "--format", "json"]

    chosen = ["--metrics", ",".join(byhand.METRICS)]
    rows = []
    for data, path, hand in (("10,000 x 100", few, "numpy"), ("20,000,000 rows", many, "polars")):
        unit = whole_process(by_hand(path))
        for name, options in (("metrics", chosen), ("default report", [])):
            needed = whole_process([*evaluate(path), *options])
            name = f"{name} of {data} / metrics by {hand} by hand"
            rows.append([name, f"{needed / unit:.2f}", f"{needed:.3f}"])
    unit, needed = (
        whole_process([sys.executable, *call])
        for call in (["-c", "import typer, rich"], ["-m", "calcli", "--help"])
    )
    rows.append(["calcli --help / import typer, rich", f"{needed / unit:.2f}", f"{needed:.3f}"])
    table("Whole processes", ["process", "ratio", "cpu s"], rows)
