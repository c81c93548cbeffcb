"""How often intervals of resamples to which a recalibration is trained again hold the truth.

They are about the value that a calibration loss has on data sets of the kind (Ferrer & Ramos 2024, appendix
E): the truth is its mean over these. Results stand in `retraining.json` beside this file and are written as
they come; `python -m tests.benchmarks.retraining` goes on where the last run ended. The report says what was
found.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path

import numpy as np

from calcli.core.evaluating.evaluate import evaluate
from calcli.core.evaluating.recalibrated import Companions
from calcli.core.language.settings import Settings
from tests.benchmarks.cells import LEVEL, Cell, drawn
from tests.benchmarks.keeping import Kept

RESULTS = Path(__file__).with_suffix(".json")
CELLS = [Cell("balanced", classes, rows) for classes in (2, 10) for rows in (200, 500)]
SYSTEMS = ("over-confident", "calibrated")
RESAMPLES, SETS = 100, 100
TRAININGS = ("cross-validation", "test", "held-out")


class Results(Kept):
    """The results of all cells."""

    def __init__(self, path: Path = RESULTS) -> None:
        super().__init__(path, "cells")

    def run(self, cell: Cell, system: str) -> None:
        """Train the recalibrations of the data sets of a cell again, unless it is done."""
        if (name := f"{cell}, {system}") in self.found["cells"]:
            return
        every = [retrained(cell, system, seed) for seed in range(SETS)]
        held = {}
        for training in TRAININGS:
            truth = np.mean([one[training][0] for one in every])
            held[training] = sum(bool(one[training][1] <= truth <= one[training][2]) for one in every)
        known = {"classes": cell.classes, "rows": cell.rows, "system": system, "sets": SETS, "held": held}
        self.found["cells"][name] = {**known, "date": date.today().isoformat()}
        self.write()

    def held(self) -> list[float]:
        """Return the shares of the data sets whose interval holds the truth, of all cells and trainings."""
        cells = self.found["cells"].values()
        return [one["held"][training] / one["sets"] for one in cells for training in TRAININGS]


def retrained(cell: Cell, system: str, seed: int) -> dict[str, tuple[float, float, float]]:
    """Return value and ends of the retrained interval of the loss of a data set, by what trained it."""
    rng = np.random.default_rng([seed, 8, cell.classes, cell.rows])
    rows, others = (drawn(cell, rng)[SYSTEMS.index(system)] for _ in range(2))
    names = tuple(f"calibration_loss:training={training}" for training in TRAININGS)
    asked = Settings(names, draws=0, retrain=RESAMPLES, level=LEVEL, seed=seed)
    found = {}
    for estimate in evaluate(rows, asked, companions=Companions(others)).estimates.values():
        ends = estimate.retrained
        assert ends is not None
        found[estimate.call.arguments["training"]] = (estimate.value, ends.low, ends.high)
    return found


def main() -> None:
    """Run the study."""
    results = Results()
    for cell in CELLS:
        for system in SYSTEMS:
            results.run(cell, system)
            print(cell, system, flush=True)


if __name__ == "__main__":
    main()
