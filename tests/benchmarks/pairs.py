"""How often intervals of differences of two large states hold the truth, and how wide they are."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
from scipy.special import expit
from scipy.stats import norm

import calcli
from tests.benchmarks.harness import table

ROWS, SETS = 30_000, 400  # above 20,000 a state keeps sums over random groups, and cells of scores
METRICS = ("auroc", "brier", "log_loss")
OF_TRUTH = 4_000_000  # rows


def systems(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (n,) labels, and probabilities of two systems; the second sees the log-odds less well."""
    rng = np.random.default_rng(seed)
    log_odds = rng.normal(-1, 1.5, rows)
    labels = (rng.random(rows) < expit(log_odds)).astype(np.int8)
    return labels, expit(log_odds + rng.normal(0, 0.5, rows)), expit(log_odds + rng.normal(0, 0.6, rows))


def auroc(labels: np.ndarray, score: np.ndarray) -> float:
    """Return the share of pairs that are ranked the right way round, where no scores are tied."""
    place = np.empty(len(score))
    place[np.argsort(score)] = np.arange(1, len(score) + 1)
    positive = int(labels.sum())
    return (place[labels == 1].sum() - positive * (positive + 1) / 2) / (positive * (len(labels) - positive))


def truths() -> dict[str, float]:
    """Return the differences of very many rows, by formulas of their own."""
    labels, *scores = systems(OF_TRUTH, SETS)
    of = {
        "auroc": auroc,
        "brier": lambda y, p: 2 * np.mean((p - y) ** 2),
        "log_loss": lambda y, p: -np.mean(np.log(np.where(y == 1, p, 1 - p))),
    }
    return {name: of[name](labels, scores[1]) - of[name](labels, scores[0]) for name in METRICS}


def main() -> None:
    """Print the table."""
    sets, true = int(sys.argv[1]) if sys.argv[1:2] and sys.argv[1].isdigit() else SETS, truths()
    held, widths = dict.fromkeys(METRICS, 0), {name: [] for name in METRICS}
    for seed in range(sets):
        labels, *scores = systems(ROWS, seed)
        states = [calcli.State.of(one, labels, metrics=",".join(METRICS)) for one in scores]
        rows = [pd.DataFrame({"p_1": one, "label": labels}) for one in scores]
        both = (calcli.compare(*two, metrics=",".join(METRICS), draws=0) for two in (states, rows))
        found, of_rows = (one.comparisons[0].differences[0] for one in both)
        for name in METRICS:
            one, other = found[name].interval, of_rows[name].interval
            held[name] += one.low <= true[name] <= one.high
            widths[name].append((one.high - one.low) / (other.high - other.low))
    lines = [[name, f"{held[name] / sets:.3f}", f"{np.mean(widths[name]):.3f}"] for name in METRICS]
    spread = 100 * norm.ppf(0.975) * np.sqrt(0.05 * 0.95 / sets)
    title = (
        f"Differences of two states of {ROWS:,} rows, {sets:,} sets; 95% within {spread:.1f} points by chance"
    )
    table(title, ["metric", "interval holds", "width / that of rows"], lines)


if __name__ == "__main__":
    main()
