"""How often streams without a fault alarm, how soon those with one do, and whether they are dated rightly.

Streams of periods are simulated with scores of few values, so that the evidence of a period is a product of
counts and of what one row brings. Results stand in `streams.json` beside this file;
`python -m tests.benchmarks.streams` makes those that are missing, `--page` writes the tables of the guide.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from calcli.core.comparing.monitoring import Calendar, periods_of, watched
from calcli.core.data.arrays import Doubles, from_log_odds
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.data.units import Units
from calcli.core.estimators.sequential import (
    Hypothesis,
    Reference,
    change,
    first_alarm,
    log_e_values,
)
from calcli.core.language.settings import MonitorSettings
from tests.benchmarks.keeping import GUIDE, Kept, between, table

RESULTS = Path(__file__).with_suffix(".json")
PAGE = GUIDE / "monitoring.md"
STREAMS, LEVEL = 1_000, 0.95
RETURNING = 200  # streams of users who return
DAYS, ROWS, AFTER = 200, 500, 60  # periods, rows in each, and those before a change
VALUES = 64  # of the score
BATCH = 50  # streams at once
PARTS = (np.arange(VALUES) + 0.5) / VALUES
LOG_ODDS = -0.5 + 1.5 * np.array([NormalDist().inv_cdf(part) for part in PARTS])
RARE = -4 + 1.2 * np.array([NormalDist().inv_cdf(part) for part in PARTS])

Truth = Callable[[Doubles], Doubles]  # of log-odds: the true probabilities


def factors(hypothesis: Hypothesis) -> Doubles:
    """Return (2, values, bets) logarithms of the factors of a row without and with the outcome."""
    count = len(hypothesis.log_odds)
    return np.stack([hypothesis.log_factors(np.full(count, float(y))) for y in (0, 1)])


def off_by(points: float) -> Truth:
    return lambda z: np.clip(from_log_odds(z) - points, 1e-6, 1 - 1e-6)


def scaled(slope: float) -> Truth:
    return lambda z: from_log_odds(slope * z)


CALIBRATED = off_by(0)


def counts(
    rng: np.random.Generator,
    z: Doubles,
    before: Truth,
    after: Truth | None,
    streams: int,
    shocks: float = 0,
    start: int = AFTER,
) -> tuple[Doubles, Doubles]:
    """Return (days, streams, values) numbers of rows, and how many of them have the outcome."""
    rows = rng.multinomial(ROWS, np.full(len(z), 1 / len(z)), (DAYS, streams))
    truth = np.broadcast_to(before(z), rows.shape).copy()
    if after is not None:
        truth[start:] = after(z)
    if shocks:
        truth = from_log_odds(np.log(truth / (1 - truth)) + rng.normal(0, shocks, (DAYS, streams, 1)))
    return rows.astype(float), rng.binomial(rows, truth).astype(float)


def of_counts(rows: Doubles, hits: Doubles, own: Doubles) -> Doubles:
    """Return (days, streams, bets) evidence; factors are (2, values, bets), or those for each stream."""
    if own.ndim == 3:
        return (rows - hits) @ own[0] + hits @ own[1]
    misses = rows - hits
    return np.einsum("dsv,svb->dsb", misses, own[:, 0]) + np.einsum("dsv,svb->dsb", hits, own[:, 1])


def streams(
    seed: int,
    *,
    before: Truth = CALIBRATED,
    after: Truth | None = None,
    tolerance: float = 0.0,
    shocks: float = 0.0,
    reference: int = 0,
    rare: bool = False,
    start: int = AFTER,
) -> dict[str, Any]:
    """Return what comes of streams."""
    rng, z = np.random.default_rng([seed, 58]), RARE if rare else LOG_ODDS
    level = 1 - (1 - LEVEL) / 2 if reference else LEVEL
    found: list[Doubles] = []
    for _ in range(STREAMS // BATCH):
        rows, hits = counts(rng, z, before, after, BATCH, shocks, start)
        own = factors(Hypothesis.within(from_log_odds(z), tolerance))
        if reference:
            own = np.stack([_of_reference(rng, z, before, reference, tolerance) for _ in range(BATCH)])
        found.extend(of_counts(rows, hits, own).swapaxes(0, 1))
    return summary(found, level, after is not None, start)


def _of_reference(rng: np.random.Generator, z: Doubles, truth: Truth, rows: int, tolerance: float) -> Doubles:
    """Return the factors against a reference of so many rows."""
    own = rng.choice(z, rows)
    outcome = (rng.random(rows) < truth(own)).astype(float)
    reference = Reference.of(from_log_odds(own), outcome, Units.of(rows))
    return factors(Hypothesis.against(from_log_odds(z), reference, 1 - (1 - LEVEL) / 2).widened(tolerance))


def summary(found: list[Doubles], level: float, changed: bool, start: int = AFTER) -> dict[str, Any]:
    """Return how many streams alarm, when, and how well the change is dated."""
    values = log_e_values(np.stack(found, axis=1))
    alarms = [first_alarm(own, level) for own in values.T]
    if not changed:
        return {"streams": len(found), "alarms": sum(one is not None for one in alarms)}
    early = sum(one is not None and one < start for one in alarms)
    right = [(n, one) for n, one in enumerate(alarms) if one is not None and one >= start]
    dates = [change(found[n][: one + 1]).start - start for n, one in right]
    return {
        "streams": len(found),
        "early": early,
        "found": len(right),
        "delay": float(np.median([one - start + 1 for _, one in right])) if right else None,
        "slow": float(np.quantile([one - start + 1 for _, one in right], 0.9)) if right else None,
        "near": sum(abs(one) <= 3 for one in dates),
        "distance": float(np.mean(np.abs(dates))) if dates else None,
    }


def clusters(seed: int, *, likeness: float, together: bool, points: float = 0.0) -> dict[str, Any]:
    """Return what comes of streams of 100 clusters of 5 rows a day, of a latent normal with that likeness."""
    days, number, size, start = 120, 100, 5, 40
    rng, own, found = (
        np.random.default_rng([seed, 59]),
        factors(Hypothesis.within(from_log_odds(LOG_ODDS), 0)),
        [],
    )
    bounds = {0: _normal_bounds(CALIBRATED(LOG_ODDS)), 1: _normal_bounds(off_by(points)(LOG_ODDS))}
    for _ in range(STREAMS):
        value = rng.integers(0, VALUES, (days, number, size))
        latent = np.sqrt(likeness) * rng.normal(size=(days, number, 1))
        latent = latent + np.sqrt(1 - likeness) * rng.normal(size=value.shape)
        limit = np.concatenate([bounds[0][value[:start]], bounds[1][value[start:]]])
        rows = own[(latent < limit).astype(int), value]
        rows = np.log(np.exp(rows).mean(axis=2)) if together else rows.sum(axis=2)
        found.append(rows.sum(axis=1))
    return summary(found, LEVEL, bool(points), start)


def returning(seed: int, users: int, each: int, sd: float) -> dict[str, Any]:
    """Return what comes of 60 days on which all users come, each with an effect of its own."""
    rng, count = np.random.default_rng([seed, 62]), RETURNING
    effects, shares = np.polynomial.hermite_e.hermegauss(60)
    grid = np.linspace(-9, 9, 400)
    known = (from_log_odds(grid[:, None] + sd * effects) * shares).sum(axis=1) / shares.sum()
    alarms = 0
    for _ in range(count):
        day, user = np.repeat(np.arange(60), users * each), np.tile(np.repeat(np.arange(users), each), 60)
        z = rng.normal(-1, 1, len(day))
        label = (rng.random(len(z)) < from_log_odds(z + sd * rng.normal(size=users)[user])).astype(int)
        prob = np.interp(z, grid, known)  # right on average over users
        scores = ArrayScores(np.stack([1 - prob, prob], axis=1), "probs")
        rows = Predictions(scores, label, ("0", "1"), columns={"user": user})
        when = Calendar([f"day {n}" for n in range(60)], day)
        own = periods_of(rows, watched(rows, 0.0, LEVEL), when, MonitorSettings(cluster="user"))[None]
        alarms += first_alarm(log_e_values(np.array([one.evidence for one in own])), LEVEL) is not None
    return {"streams": count, "alarms": alarms}


def _normal_bounds(probs: Doubles) -> Doubles:
    return np.array([NormalDist().inv_cdf(p) for p in probs.tolist()])


def late_labels(seed: int, *, mature: bool) -> dict[str, Any]:
    """Return what comes of labels known after about 5 days if positive, after 30 if negative."""
    rng, own = np.random.default_rng([seed, 60]), factors(Hypothesis.within(from_log_odds(LOG_ODDS), 0))
    days, wait, found = 150, 30, []
    for _ in range(STREAMS):
        value = rng.integers(0, VALUES, (days, ROWS))
        hit = rng.random(value.shape) < CALIBRATED(LOG_ODDS)[value]
        after = np.where(hit, np.minimum(rng.geometric(1 / 5, hit.shape), wait), wait)
        arrival = np.arange(days)[:, None] + np.where(mature, wait, after)
        known = arrival < days
        cell = (arrival * 2 + hit) * VALUES + value
        number = np.bincount(cell[known], minlength=days * 2 * VALUES).reshape(days, 2, VALUES)
        found.append(np.einsum("dyv,yvb->db", number, own))
    return summary(found, LEVEL, changed=False)


def promises(
    seed: int, *, before: float, after: float | None = None, promise: float = 0.05
) -> dict[str, Any]:
    """Return what comes of a promised error rate among 100 rows a day."""
    rng, days, rows, start = np.random.default_rng([seed, 61]), 365, 100, 100
    never = Hypothesis.of(np.array([promise]), np.zeros(1), np.array([promise]))
    rate = np.where(np.arange(days) < start, before, before if after is None else after)
    wrong = rng.binomial(rows, rate[:, None, None], (days, STREAMS, 1)).astype(float)
    found = of_counts(np.full_like(wrong, rows), wrong, factors(never))
    return summary(list(found.swapaxes(0, 1)), LEVEL, after is not None, start)


Cell = Callable[[int], dict[str, Any]]
QUIET: dict[str, tuple[str, Cell]] = {  # by name: words of the guide, and what is simulated
    "calibrated": ("calibrated", lambda s: streams(s)),
    "rare": ("calibrated, 3% of the rows positive", lambda s: streams(s, rare=True)),
    "off": ("always 1.5 points too high", lambda s: streams(s, before=off_by(0.015))),
    "off tolerated": (
        "the same, `--tolerance 0.02`",
        lambda s: streams(s, before=off_by(0.015), tolerance=0.02),
    ),
    "shocks": ("days that differ by chance by 1.6 points", lambda s: streams(s, shocks=0.1)),
    "shocks tolerated": ("the same, `--tolerance 0.01`", lambda s: streams(s, shocks=0.1, tolerance=0.01)),
    "reference 2000": (
        "over-confident, `--reference` of 2,000 rows",
        lambda s: streams(s, before=scaled(0.7), reference=2_000),
    ),
    "reference 20000": (
        "over-confident, `--reference` of 20,000 rows",
        lambda s: streams(s, before=scaled(0.7), reference=20_000),
    ),
    "clusters": ("clusters of 5, taken for rows", lambda s: clusters(s, likeness=0.3, together=False)),
    "clusters together": ("the same, `--cluster`", lambda s: clusters(s, likeness=0.3, together=True)),
    "like clusters together": (
        "clusters of 5 that hardly differ, `--cluster`",
        lambda s: clusters(s, likeness=0.8, together=True),
    ),
    "late": ("labels that arrive by outcome", lambda s: late_labels(s, mature=False)),
    "late mature": ("the same, `--mature 30d`", lambda s: late_labels(s, mature=True)),
    "promise kept": ("a promised error rate of 5% that is 5%", lambda s: promises(s, before=0.05)),
    "promise surpassed": ("a promised error rate of 5% that is 4%", lambda s: promises(s, before=0.04)),
    "100 users": (
        "100 users who come every day, 5 rows each, `--cluster`",
        lambda s: returning(s, 100, 5, 1.0),
    ),
    "500 users": (
        "500 users who come every day, `--cluster`",
        lambda s: returning(s, 500, 1, 0.5),
    ),
}
FAULTS: dict[str, tuple[str, Cell]] = {
    "1 point": ("1 point too high", lambda s: streams(s, after=off_by(0.01))),
    "3 points": ("3 points too high", lambda s: streams(s, after=off_by(0.03))),
    "5 points": ("5 points too high", lambda s: streams(s, after=off_by(0.05))),
    "3 points at first": (
        "3 points too high from the first day on",
        lambda s: streams(s, after=off_by(0.03), start=0),
    ),
    "10 points": ("10 points too high", lambda s: streams(s, after=off_by(0.1))),
    "slope 0.8": ("over-confident: log-odds times 0.8", lambda s: streams(s, after=scaled(0.8))),
    "slope 1.3": ("under-confident: log-odds times 1.3", lambda s: streams(s, after=scaled(1.3))),
    "5 points tolerated": (
        "5 points too high, `--tolerance 0.02`",
        lambda s: streams(s, after=off_by(0.05), tolerance=0.02),
    ),
    "5 points reference 2000": (
        "5 points too high, `--reference` of 2,000 rows",
        lambda s: streams(s, after=off_by(0.05), reference=2_000),
    ),
    "5 points reference 20000": (
        "5 points too high, `--reference` of 20,000 rows",
        lambda s: streams(s, after=off_by(0.05), reference=20_000),
    ),
    "5 points clusters": (
        "5 points too high, clusters of 5, `--cluster`",
        lambda s: clusters(s, likeness=0.3, together=True, points=0.05),
    ),
    "promise broken": (
        "a promised error rate of 5% that goes from 4% to 8%, 100 rows a day",
        lambda s: promises(s, before=0.04, after=0.08),
    ),
    "2 points": ("2 points too high", lambda s: streams(s, after=off_by(0.02))),
}


class Results(Kept):
    """The results of all cells."""

    def __init__(self, path: Path = RESULTS) -> None:
        super().__init__(path, "quiet", "faults")

    def run(self, part: str, number: int, name: str, cell: Cell) -> None:
        """Simulate the streams of a cell, unless it is done."""
        if name not in self.found[part]:
            self.found[part][name] = cell(number)
            self.write()
            print(name, self.found[part][name], flush=True)


def page(results: Results) -> str:
    """Return the tables of the guide."""
    quiet = [
        [words, f"{results.found['quiet'][name]['alarms'] / results.found['quiet'][name]['streams']:.1%}"]
        for name, (words, _) in QUIET.items()
    ]
    rows = []
    for name, (words, _) in FAULTS.items():
        own = results.found["faults"][name]
        share = [own[key] / own["streams"] for key in ("early", "found")]
        near = own["near"] / own["found"] if own["found"] else 0
        slow = f"{own['delay']:g} ({own['slow']:.0f})"
        far = "-" if own["distance"] is None else f"{own['distance']:.1f}"
        rows.append([words, *(f"{one:.1%}" for one in share), slow, f"{near:.0%}", far])
    heads = [
        "change", "alarm before it", "found", "after days: median (90%)", "dated within 3 days",
        "days off, mean",
    ]  # fmt: skip
    return "\n".join([*table(["streams without a change", "alarm"], quiet), "", *table(heads, rows), ""])


def refreshed(text: str, results: Results) -> str:
    """Return the page of the guide with its tables written anew."""
    return between(text, "streams", page(results))


def main() -> None:
    """Run the study, or write its tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--page", action="store_true", help="write the tables of the guide")
    asked, _ = parser.parse_known_args()
    results = Results()
    if asked.page:
        PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")
        return
    for part, cells in (("quiet", QUIET), ("faults", FAULTS)):
        for number, (name, (_, cell)) in enumerate(cells.items()):
            results.run(part, number, name, cell)


if __name__ == "__main__":
    main()
