"""Every method of calcli and of other libraries, fitted to one half of the same rows, judged on the other.

Results stand in `recalibration.json` beside this file and are written as they come, so that a run goes on
where the last one ended. `python -m tests.benchmarks.recalibration` does what is missing, `--data FOLDER`
adds published sets (folders with scores.npy and targets.npy), `--again NAME,...` does contestants once more,
and `--page` writes the page of the guide and the tables anew.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import signal
import time
import warnings
from collections.abc import Iterator, Sequence
from datetime import date
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from tests.benchmarks.keeping import GUIDE, Kept
from tests.benchmarks.recalibrators import CONTESTANTS, Fitted
from tests.benchmarks.scoresets import ScoreSet, every_set
from tests.benchmarks.verdicts import refreshed, tables

RESULTS = Path(__file__).with_suffix(".json")
PAGE = GUIDE / "recalibration.md"
TABLES = Path(__file__).with_suffix(".md")
PACKAGES = ("probmetrics", "netcal", "betacal", "psrcal", "scikit-learn", "torch")
MODULES = {"scikit-learn": "sklearn"}  # whose name is not that of the package
HALVES, HALVES_OF_MANY = 5, 3
MANY = 500_000  # scores of a set, from which there are fewer halves
MOST_ROWS = 10_000  # drawn from larger sets, for each half and its counterpart together
LEAST = 2.0**-52  # probabilities of the true class count as no less, or one row would decide all
PATIENCE = 60  # processor seconds after which a fit and its application are given up
DIGITS = 7


class Results(Kept):
    """What was found, by set and contestant."""

    def __init__(self, path: Path = RESULTS) -> None:
        super().__init__(path, "versions", "sets")

    @property
    def sets(self) -> dict[str, Any]:
        """What is known of each set, by its name."""
        return self.found["sets"]

    def run(self, data: ScoreSet, contestants: Sequence[str], again: Sequence[str] = ()) -> None:
        """Do the contestants that a set lacks, and those named once more."""
        own = self.sets.get(data.name, {}).get("contestants", {})
        wanted = [name for name in contestants if name not in own or name in again]
        if not wanted:
            return
        from threadpoolctl import threadpool_limits

        scores, labels = data.made()
        rows, classes = scores.shape
        entry = self.sets.setdefault(
            data.name, {"kind": data.kind, "rows": rows, "classes": classes, "contestants": {}}
        )
        for name in wanted:
            with threadpool_limits(1):
                entry["contestants"][name] = outcome(CONTESTANTS[name], scores, labels)
            entry["date"] = date.today().isoformat()
            there = [one for one in PACKAGES if find_spec(MODULES.get(one, one))]
            self.found["versions"] |= {package: version(package) for package in there}
            self.write()


def halves(scores: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the rows of random halves, to fit to and to judge on."""
    rows = len(scores)
    used = min(rows, MOST_ROWS)
    for number in range(HALVES if scores.size < MANY else HALVES_OF_MANY):
        order = np.random.default_rng([23, number]).permutation(rows)[:used]
        yield order[: used // 2], order[used // 2 :]


def outcome(contestant: Fitted, scores: np.ndarray, labels: np.ndarray) -> dict[str, Any]:
    """Return log-losses of the halves and seconds of a fit and of its application, or why there are none."""
    losses, fits, applications = [], [], []
    try:
        for kept, out in halves(scores):
            with _quietly(), _patiently():
                start = time.process_time()
                apply = contestant(scores[kept], labels[kept])
                middle = time.process_time()
                log_probs = apply(scores[out])
                applications.append(time.process_time() - middle)
            fits.append(middle - start)
            losses.append(log_loss(log_probs, labels[out]))
    except Exception as fault:  # of any kind: other libraries'
        return {"fault": f"{type(fault).__name__}: {fault}".partition("\n")[0][:100]}
    return {"losses": losses, "fit": round(median(fits), 4), "apply": round(median(applications), 4)}


def log_loss(log_probs: np.ndarray, labels: np.ndarray) -> float:
    """Return the mean log-loss, with the smallest of probabilities.

    Raises
    ------
    ValueError
        If they are no probabilities.
    """
    sums = np.exp(log_probs).sum(axis=1)
    if not np.abs(sums - 1).max() < 1e-4:
        raise ValueError("rows do not sum to 1")
    own = np.maximum(log_probs[np.arange(len(labels)), labels], np.log(LEAST))
    return round(-float(own.mean()), DIGITS)


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        with contextlib.redirect_stderr(io.StringIO()), np.errstate(all="ignore"):
            yield


@contextlib.contextmanager
def _patiently() -> Iterator[None]:
    def give_up(*_: object) -> None:
        raise TimeoutError(f"not done after {PATIENCE} s")

    before = signal.signal(signal.SIGPROF, give_up)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def main() -> None:
    """Do what is missing, or write the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, help="a folder of published sets")
    parser.add_argument("--only", default="", help="sets whose name has this in it")
    parser.add_argument("--contestants", default="", help="these alone, separated by commas")
    parser.add_argument("--again", default="", help="contestants to be done once more")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--page", action="store_true", help="write the page of the guide and the tables")
    asked, _ = parser.parse_known_args()
    results = Results(asked.results)
    if asked.page:
        PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8"), results.found), encoding="utf-8")
        TABLES.write_text(tables(results.found), encoding="utf-8")
        return
    names = asked.contestants.split(",") if asked.contestants else list(CONTESTANTS)
    again = asked.again.split(",") if asked.again else []
    for data in every_set(asked.data):
        if asked.only in data.name:
            results.run(data, again or names, again)
            print(data.name, flush=True)


if __name__ == "__main__":
    main()
