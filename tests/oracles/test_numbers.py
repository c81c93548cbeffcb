"""The main numbers of the sample data are those that other libraries computed; see make.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import calcli

HERE = Path(__file__).resolve().parent
NUMBERS = json.loads((HERE / "numbers.json").read_text(encoding="utf-8"))
SAMPLES = HERE.parents[1] / "sample_data"
CASES = [(name, metric) for name, found in NUMBERS["metrics"].items() for metric in found]
TOLERANCE = {"calibration_slope": 1e-6}  # of an optimizer


@pytest.fixture(scope="module")
def estimates() -> dict[str, dict[str, float]]:
    return {
        name: {
            metric: estimate.value
            for metric, estimate in calcli.evaluate(
                SAMPLES / name, metrics=list(found), intervals=False, draws=0
            ).results[0].metrics.items()
        }
        for name, found in NUMBERS["metrics"].items()
    }  # fmt: skip


@pytest.mark.parametrize(("name", "metric"), CASES)
def test_a_metric_is_what_others_find(estimates: dict[str, dict[str, float]], name: str, metric: str) -> None:
    expected = NUMBERS["metrics"][name][metric]
    assert estimates[name][metric] == pytest.approx(expected, abs=TOLERANCE.get(metric, 1e-9))


@pytest.mark.parametrize("name", NUMBERS["temperature"])
def test_a_temperature_is_what_scipy_finds(name: str) -> None:
    fitted = calcli.fit(SAMPLES / name, method="temperature", folds=0)
    found = float(fitted.calibrator.parameters["temperature"])
    assert found == pytest.approx(NUMBERS["temperature"][name], rel=1e-5)
