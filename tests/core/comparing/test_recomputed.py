"""Any metric of swapped predictions, against loops over arrays."""

from __future__ import annotations

import numpy as np
import pytest

from calcli.core.comparing.contest import in_memory, recomputed_differences
from calcli.core.data.units import Units
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.expressions import parse_metric
from calcli.core.language.settings import Settings

SETTINGS = Settings(draws=6)


def swaps_of(seed: int, units: int):
    rng = np.random.default_rng(seed)
    return [rng.integers(0, 2, size=(1, units))[0] > 0 for _ in range(6)]


def found_and_looped(systems, metric, value, units):
    held = in_memory(systems), (units, units)
    found = recomputed_differences(*held, parse_metric(metric), SETTINGS, 6, np.random.default_rng(1))
    first, second = (system.scores.array for system in systems)
    looped = []
    for kept in [*swaps_of(1, units.number), np.ones(units.number, bool)]:
        rows = kept[units.of_row][:, None]
        looped.append(value(np.where(rows, second, first)) - value(np.where(rows, first, second)))
    return [*found.draws, found.observed], looped


@pytest.mark.parametrize("clusters", [None, np.arange(50) // 3])
def test_a_difference_of_means_agrees_with_a_loop(binary, clusters):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 50)
    systems = [binary(rng.random(50), labels) for _ in range(2)]
    found, looped = found_and_looped(
        systems,
        "calibration_in_the_large",
        lambda probs: (probs[:, 1] - labels).mean(),
        Units.of(50, clusters),
    )
    assert found == pytest.approx(looped, abs=1e-12)


@pytest.mark.parametrize(
    "metric", ["smooth_ece", "ace", "corp_miscalibration", "expected_miscalibration:min_rows=9"]
)
def test_metrics_agree_with_evaluations_of_swapped_rows(predict, metric):
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 3, 60)
    systems = [predict(rng.dirichlet([1, 1, 1], 60), labels) for _ in range(2)]

    def value(probs):
        settings = Settings(metrics=(metric,), intervals=False, draws=0)
        return evaluate(predict(probs, labels), settings).estimates[metric].value

    found, looped = found_and_looped(systems, metric, value, Units.of(60, None))
    assert found == pytest.approx(looped, abs=1e-12)


def test_logits_and_probabilities_can_change_sides(predict):
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 3, 40)
    logits = rng.normal(size=(40, 3))
    probs = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    systems = [predict(logits, labels, "logits"), predict(probs, labels)]
    held = in_memory(systems), (Units.of(40),) * 2
    found = recomputed_differences(*held, parse_metric("smooth_ece"), SETTINGS, 6, np.random.default_rng(4))
    assert [*found.draws, found.observed] == pytest.approx([0] * 7, abs=1e-9)


def test_unpaired_systems_keep_their_rows_and_weights(binary):
    rng = np.random.default_rng(5)
    labels = np.ones(30, int)
    whole, light = binary(rng.random(30), labels), binary(rng.random(20), labels[:20], rng.random(20))
    held = in_memory([whole, light]), (Units.of(30), Units.of(20))
    call = parse_metric("calibration_in_the_large")
    found = recomputed_differences(*held, call, SETTINGS, 6, np.random.default_rng(6), paired=False)
    gaps = [system.scores.array[:, 1] - 1 for system in (whole, light)]
    assert found.observed == pytest.approx(np.average(gaps[1], weights=light.weights) - gaps[0].mean())
    assert len(found.draws) == 6


def test_permutations_without_a_value_do_not_count(binary):
    labels = np.array([0, 1])
    systems = [binary([0.2, 0.8], labels), binary([0.5, 0.5], labels)]
    held = in_memory(systems), (Units.of(2),) * 2
    call = parse_metric("calibration_slope")  # undefined where all scores are equal
    found = recomputed_differences(*held, call, SETTINGS, 40, np.random.default_rng(7))
    assert len(found.draws) < 40
