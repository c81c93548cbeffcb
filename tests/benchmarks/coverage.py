"""How often paired intervals cover a known difference, and how often `check` raises a false alarm."""

from __future__ import annotations

import numpy as np

from calcli.core.comparing.baseline import Baseline
from calcli.core.comparing.checking import check
from calcli.core.comparing.comparison import Plan, compare
from calcli.core.comparing.policy import NoWorse, Policy, Rule, exit_status
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.estimators.evidence import Margin
from calcli.core.language.expressions import parse_metric
from calcli.core.language.settings import Settings
from tests.benchmarks.harness import table

CASES = 1_000
ROWS = 500
TRUTH_ROWS = 2_000_000
METRICS = ("log_loss", "brier", "accuracy", "auroc", "calibration_loss")
CLASSES = ("0", "1", "2")


def systems(rows: int, rng: np.random.Generator, scales: tuple[float, float]) -> list[Predictions]:
    """Return two systems that see the same truth through noise, the logits times a scale each."""
    truth = rng.dirichlet(np.full(3, 0.7), rows)
    labels = (rng.random((rows, 1)) > truth.cumsum(1)).sum(1)
    found = []
    for scale in scales:
        logits = scale * (np.log(truth + 1e-3) + rng.normal(0, 0.5, (rows, 3)))
        found.append(Predictions(ArrayScores(logits, "logits"), labels, CLASSES))
    return found


def coverage() -> dict[str, float]:
    """Return the share of 95% intervals that hold the true difference of an over-confident system."""
    rng = np.random.default_rng(0)
    scales = (1.0, 1.6)
    settings = Settings(metrics=METRICS, draws=0)
    plain = Settings(metrics=METRICS, resamples=0, draws=0)
    (known,) = compare(systems(TRUTH_ROWS, rng, scales), plain, Plan())
    covered = dict.fromkeys(METRICS, 0)
    for _ in range(CASES):
        (found,) = compare(systems(ROWS, rng, scales), settings, Plan())
        for metric, one in found.differences[0].items():
            assert one.interval is not None
            covered[metric] += one.interval.low <= known.differences[0][metric].value <= one.interval.high
    return {metric: count / CASES for metric, count in covered.items()}


def false_alarms() -> dict[str, float]:
    """Return how often a policy at level 0.95 fails one of two equally good systems."""
    rng = np.random.default_rng(1)
    alarms = {}
    for metrics in (
        ("log_loss",),
        ("log_loss", "brier", "accuracy"),
        ("calibration_loss",),
        ("ece",),
        ("ks",),
    ):
        rules = tuple(Rule(parse_metric(metric), NoWorse(Margin())) for metric in metrics)
        policy = Policy(rules, Settings(resamples=500, draws=199))
        count = 0
        for _ in range(CASES):
            old, new = systems(ROWS, rng, (2.0, 2.0))
            count += exit_status([check(new, policy, Baseline(old, new, paired=True))])
        alarms[", ".join(metrics)] = count / CASES
    return alarms


def main() -> None:
    """Print both tables."""
    rows = [[metric, f"{share:.1%}"] for metric, share in coverage().items()]
    table(
        f"Paired 95% intervals on {CASES:,} pairs of {ROWS} rows",
        ["metric", "cover the true difference"],
        rows,
    )
    rows = [[f"{metrics} no worse", f"{share:.1%}"] for metrics, share in false_alarms().items()]
    table(f"Policies at level 0.95 on {CASES:,} pairs of equal systems", ["rules", "false alarms"], rows)
