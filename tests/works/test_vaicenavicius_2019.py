"""Figures and tables of Vaicenavicius et al. 2019."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import calcli
from calcli.core.language.errors import UsageError
from calcli.figures import View

SAMPLE = Path(__file__).resolve().parents[2] / "sample_data"


def figure_3(folder: Path, draws: int = 99) -> calcli.figures.Drawing:
    """Draw metrics over the epochs of several runs, with p-values and what the validation sets choose."""
    chosen = {}
    for run in sorted(folder.glob("run-*")):
        losses = {
            int(file.stem): calcli.evaluate(file, metrics="log_loss")["log_loss"].value
            for file in (run / "val").iterdir()
        }
        chosen[run.name] = min(losses, key=losses.__getitem__)
    view = View(p_values=True, seeds=True, selected=("lowest loss on val", chosen))
    tests = {str(file): file for file in sorted(folder.glob("run-*/test/*"))}
    return calcli.plot(tests, figure="epochs", metrics="log_loss,ece", draws=draws, view=view)


@pytest.fixture
def runs(tmp_path):
    """Return two runs of three epochs, whose validation sets are best at other numbers."""
    for run, order in (("run-1", (4, 10, 1)), ("run-2", (1, 4, 10))):
        for part in ("test", "val"):
            (tmp_path / run / part).mkdir(parents=True)
            for number, source in enumerate(order if part == "val" else (1, 4, 10), 1):
                shutil.copy(
                    SAMPLE / "epochs" / f"epoch_{source:02}.parquet",
                    tmp_path / run / part / f"{number}.parquet",
                )
    return tmp_path


def test_figure_3_has_p_values_of_runs_and_what_their_validation_sets_choose(runs):
    rows = list(figure_3(runs, draws=19).records())
    chosen = {row["name"]: int(row["number"]) for row in rows if row["chosen"] == 1}
    assert len(chosen) == 6
    assert {number for name, number in chosen.items() if "run-1" in name} == {1}
    assert {number for name, number in chosen.items() if "run-2" in name} == {2}
    p = [row["value"] for row in rows if row["name"].startswith("p of ece") and "run-1" in row["name"]]
    files = sorted(runs.glob("run-1/test/*"))
    found = [calcli.evaluate(file, metrics="ece", draws=19)["ece"].if_calibrated.p_value for file in files]
    np.testing.assert_array_equal(p, found)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"metrics": "log_loss"}, "p_values are those of calibration"),
        ({"metrics": "ece", "draws": 0}, "from --draws"),
    ],
)
def test_p_values_need_tests_of_errors(runs, settings, message):
    files = {str(file): file for file in runs.glob("run-1/test/*")}
    with pytest.raises(UsageError, match=message):
        calcli.plot(files, figure="epochs", p_values=True, **settings)
