"""Which accidents a first policy catches, by its limits alone and with a baseline beside them.

Results stand in `accidents.json` beside this file; `python -m tests.benchmarks.accidents` makes them,
`--page` writes the table of the guide.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from calcli.io.options import ReadOptions
from calcli.work.check import check_files
from calcli.work.policy import policy_for
from tests.benchmarks.keeping import GUIDE, Kept, between, table

RESULTS = Path(__file__).with_suffix(".json")
PAGE = GUIDE / "gates-and-ci.md"
KINDS = {"24% positive, 4,000 rows": (4_000, -1.5, 1.2), "1% positive, 30,000 rows": (30_000, -5.3, 1.1)}
OUTCOMES = {0: "passes", 1: "fails", 2: "is refused"}
Accident = Callable[[pd.DataFrame, np.random.Generator], pd.DataFrame]


def month(rows: int, mean: float, sd: float, rng: np.random.Generator) -> pd.DataFrame:
    """Return calibrated scores of a month, and those of an older model, which knows less."""
    true = rng.normal(mean, sd, rows)
    label = (rng.random(rows) < expit(true)).astype(int)
    old = expit(mean + 0.7 * (true + rng.normal(0, 0.6, rows) - mean))
    country = rng.choice(["de", "fr", "it", "us"], rows)
    return pd.DataFrame(
        {"id": np.arange(rows), "prob": expit(true), "label": label, "old": old, "country": country}
    )


def _shuffled(rows: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    prob, chosen = rows["prob"].to_numpy().copy(), rng.random(len(rows)) < 0.2
    prob[chosen] = rng.permutation(prob[chosen])
    return rows.assign(prob=prob)


ACCIDENTS: dict[str, Accident] = {
    "nothing happened": lambda rows, _: rows,
    "scores halved": lambda rows, _: rows.assign(prob=rows["prob"] / 2),
    "scores divided by 3": lambda rows, _: rows.assign(prob=rows["prob"] / 3),
    "20% of the scores shuffled": _shuffled,
    "scores of a country missing, filled with their mean": lambda rows, _: rows.assign(
        prob=rows["prob"].where(rows["country"] != "us", rows["prob"].mean())
    ),
    "10% of the rows missing": lambda rows, rng: rows[rng.random(len(rows)) < 0.9],
    "scores inverted": lambda rows, _: rows.assign(prob=1 - rows["prob"]),
    "log-odds 1 too high": lambda rows, _: rows.assign(prob=expit(logit(rows["prob"]) + 1)),
    "the old model": lambda rows, _: rows.assign(prob=rows["old"]),
}


def outcomes(kind: str) -> dict[str, list[str]]:
    """Return what becomes of each accident on a new month, by the limits alone and with a baseline."""
    rng, options, found = np.random.default_rng(0), ReadOptions(), dict[str, list[str]]()
    with tempfile.TemporaryDirectory() as folder:
        first, good, new = (str(Path(folder) / f"{name}.csv") for name in ("first", "good", "new"))
        columns = ["id", "prob", "label"]
        month(*KINDS[kind], rng)[columns].to_csv(first, index=False)
        rows = month(*KINDS[kind], rng)
        rows[columns].to_csv(good, index=False)
        policies = []
        for baseline in (None, first):
            policies.append(str(Path(folder) / f"{len(policies)}.toml"))
            Path(policies[-1]).write_text(policy_for(first, options, baseline)[0], encoding="utf-8")
        for name, accident in ACCIDENTS.items():
            accident(rows, rng)[columns].to_csv(new, index=False)
            both = zip(policies, (None, good), strict=True)
            found[name] = [
                OUTCOMES[check_files([new], policy, options, beside).exit_status] for policy, beside in both
            ]
    return found


def page(found: dict[str, dict[str, list[str]]]) -> str:
    """Return the table of the guide."""
    heads = ["what happened", *(f"{kind}, {how}" for kind in found for how in ("limits", "and a baseline"))]
    rows = [[name, *(cell for one in found.values() for cell in one[name])] for name in ACCIDENTS]
    return "\n".join([*table(heads, rows), ""])


def refreshed(text: str, found: dict[str, dict[str, list[str]]]) -> str:
    """Return the page of the guide with its table written anew."""
    return between(text, "accidents", page(found))


def main() -> None:
    """Run it, or write its table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--page", action="store_true", help="write the table of the guide")
    asked, _ = parser.parse_known_args()
    kept = Kept(RESULTS, *KINDS)
    if asked.page:
        PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8"), kept.found), encoding="utf-8")
        return
    for kind in KINDS:
        kept.found[kind] = outcomes(kind)
    kept.write()
    print(page(kept.found))


if __name__ == "__main__":
    main()
