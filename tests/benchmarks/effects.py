"""What every calibrator does to real predictions it was not fitted on, as tables of methods and data sets.

The sample data, and the reference data where they are beside the checkout: fitted to the calibration part,
or to the first half of the rows, and judged on the others.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import calcli
from calcli.core.calibrators.crossvalidation import LabeledScores
from calcli.core.language.settings import Settings
from calcli.core.recalibrating.benchmark import DEFAULT_METHODS, Task, run, task_of
from calcli.report.benchmark import BenchmarkReport
from calcli.report.shown import render
from tests.benchmarks.harness import ROOT

SAMPLES = {
    "digits network": "digits_network_{}.npy",
    "digits forest": "digits_forest_{}.parquet",
    "cancer bayes": "cancer_bayes_{}.csv",
    "iris logistic": "iris_logistic_{}.csv",
}
REFERENCE = ROOT.parent / "shared" / "data"
METRICS = ("log_loss", "ece_l2", "cw_ece_l2")


def tasks() -> Iterator[Task]:
    """Yield every data set with its calibration and its test rows."""
    for name, pattern in SAMPLES.items():
        parts = [calcli.read(ROOT / "sample_data" / pattern.format(part)) for part in ("calibration", "test")]
        yield task_of(name, *parts)
    for folder in sorted(REFERENCE.glob("*/")):
        scores, labels = np.load(folder / "scores.npy"), np.load(folder / "targets.npy")
        half = len(labels) // 2
        calibration, test = (
            LabeledScores(scores[part], labels[part]) for part in (slice(half), slice(half, None))
        )
        yield Task(folder.name, calibration, test, tuple(map(str, range(scores.shape[1]))))


def main() -> None:
    """Print the tables."""
    settings = Settings(metrics=METRICS, intervals=False, draws=0)
    trials = run(list(tasks()), DEFAULT_METHODS, settings)
    print(render(BenchmarkReport(trials, settings), "markdown"))
