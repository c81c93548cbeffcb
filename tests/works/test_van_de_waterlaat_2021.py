"""Figures and tables of van de Waterlaat 2021."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import entropy

import calcli
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.settings import Settings
from calcli.core.recalibrating.benchmark import UNCALIBRATED, Trial, run, task_of
from calcli.io.read import read

SAMPLE = Path(__file__).resolve().parents[2] / "sample_data"
METHODS = (  # 15 bins, no smoothing, steps, every class against the rest
    "temperature",
    "platt:target_smoothing=false:input=raw",
    "isotonic:smoothing=0:interpolation=steps",
    "histogram:binning=equal-width:smoothing=0",
    "beta:constrained=false",
    "vector:input=raw",
    "matrix:input=raw",
)


def figures_4_2_to_4_7(calibrated: np.ndarray) -> dict[str, np.ndarray]:
    """Return divergences of the prediction 0.5, and refinement losses, by the frequency of a class."""
    with np.errstate(divide="ignore", invalid="ignore"):
        log_loss = -sum(np.where(p > 0, p * np.log(p), 0.0) for p in (calibrated, 1 - calibrated))
    return {
        "squared": 2 * (calibrated - 0.5) ** 2,
        "kl": np.log(2) - log_loss,
        "brier": 2 * calibrated * (1 - calibrated),
        "log_loss": log_loss,
    }


def table_7(calibration: Path, test: Path, methods: tuple[str, ...] = METHODS) -> dict[str, Trial]:
    """Return error and accuracy of every method on one network, as a row of tables 7.1 to 7.4 has them."""
    settings = Settings(("ece_l2", "cw_ece_l2", "accuracy"), draws=0)
    task = task_of(test.stem, read(str(calibration)), read(str(test)), settings=settings)
    return {trial.method: trial for trial in run([task], methods, settings, 1)}


def cell(values: dict[str, float], plain: dict[str, float], metric: str = "ece_l2") -> str:
    """Return what a table prints of a method: its error, and the change of accuracy in points."""
    return f"{values[metric]:.3f} ({100 * (values['accuracy'] - plain['accuracy']):+.2f})"


def figure_c_1(file: Path, bins: tuple[int, ...] = (5, 15, 30, 60)) -> calcli.figures.Drawing:
    """Draw the reliability of one network in several numbers of bins."""
    found = {f"{n} bins": evaluate(read(str(file)), Settings(("ece_l2",), bins=n, draws=0)) for n in bins}
    return calcli.figures.draw("reliability", found, calcli.figures.View("top-1", draws=0))


def test_example_4_3_2_and_scipy():
    at = np.array([0.1, 0.25, 0.5, 0.9])
    found = figures_4_2_to_4_7(at)
    assert found["brier"][0] == pytest.approx(0.18)  # one row of ten is of the first class
    ten = calcli.evaluate([[0.3, 0.7]] * 10, [0] + [1] * 9, metrics="binned_refinement_loss")
    assert 2 * ten["binned_refinement_loss"].value == pytest.approx(0.18)  # the thesis sums both classes
    for place, c in enumerate(at):
        both = np.array([c, 1 - c])
        assert found["log_loss"][place] == pytest.approx(entropy(both))
        assert found["kl"][place] == pytest.approx(entropy(both, [0.5, 0.5]))
        assert found["squared"][place] == pytest.approx(np.square(both - 0.5).sum())


def test_tables_7_have_the_error_and_the_change_of_accuracy():
    """Of uncalibrated scores by hand; temperature scaling keeps the accuracy."""
    files = (SAMPLE / f"digits_network_{part}.npy" for part in ("calibration", "test"))
    found = table_7(*files, ("temperature", "histogram:binning=equal-width:smoothing=0"))
    scores = np.load(SAMPLE / "digits_network_test.npy")
    labels = np.load(SAMPLE / "digits_network_test_labels.npy")
    plain = found[UNCALIBRATED].values
    assert plain["accuracy"] == pytest.approx((scores.argmax(1) == labels).mean())
    assert cell(found["temperature"].values, plain).endswith("(+0.00)")
    assert found["temperature"].values["ece_l2"] < plain["ece_l2"]


def test_figure_c_1_has_a_panel_for_each_number_of_bins():
    tables = figure_c_1(SAMPLE / "digits_network_test.npy", (4, 9)).tables
    assert [len(tables[f"{n} bins"]["rows"]) for n in (4, 9)] == [4, 9]
