"""Runs from many rows keep sums, and tell what the rows tell."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calcli.core.comparing.comparison import Plan, compare
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.evaluating import gathering
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.evaluating.stored import StoredMeasurements
from calcli.core.language.settings import Settings
from calcli.core.state import sample
from calcli.core.state import state as states
from calcli.core.state.hashing import of_numbers
from calcli.core.state.state import left_of
from calcli.io.states import from_bytes, to_bytes

SETTINGS = Settings(draws=99)


@pytest.fixture(autouse=True)
def _many_are_few(monkeypatch):
    monkeypatch.setattr(gathering, "MANY_ROWS", 20_000)
    monkeypatch.setattr("calcli.core.evaluating.usual.MANY", 40_000)


@pytest.fixture
def summed(monkeypatch):
    made = []

    class Watched(StoredMeasurements):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr(gathering, "StoredMeasurements", Watched)
    return made


def drawn(classes, dtype=np.float32):
    rng = np.random.default_rng(0)
    logits = (2 * rng.normal(size=(25_000, classes))).astype(dtype)
    labels = (0.7 * logits + rng.gumbel(size=logits.shape)).argmax(1)
    return Predictions(ArrayScores(logits, "logits"), labels, tuple(map(str, range(classes))))


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("precision", ["single", "double"])
def test_the_default_report_is_that_of_the_rows(classes, precision, summed):
    rows, settings = drawn(classes), replace(SETTINGS, precision=precision)
    found = evaluate(rows, settings)
    assert len(summed) == 1
    expected = evaluate(rows, replace(settings, rows="all"))
    assert len(summed) == 1
    assert found.estimates.keys() == expected.estimates.keys()
    for name, estimate in expected.estimates.items():
        own = found.estimates[name]
        if own.rows:
            assert f"n:25000|rows:{own.rows}|" in own.signature
            assert own.value == pytest.approx(estimate.value, abs=5 / own.rows**0.5), name
            continue
        if "|cells:log-odds|" in own.signature:  # in other folds
            assert own.value == pytest.approx(estimate.value, abs=estimate.parts["standard_error"]), name
            continue
        assert own.value == pytest.approx(estimate.value, abs=1e-7), name
        if estimate.interval is not None:
            assert own.interval.low == pytest.approx(estimate.interval.low, abs=1e-5), name
        if estimate.if_calibrated is not None:
            assert own.if_calibrated.p_value == pytest.approx(estimate.if_calibrated.p_value, abs=0.02), name
        assert own.signature == estimate.signature
    assert found.summary.per_class[0].rows == expected.summary.per_class[0].rows
    counts = [[own.rows for own in one.summary.reliability] for one in (found, expected)]
    assert counts[0] == counts[1]
    assert found.predictions is rows


def test_exact_scores_become_the_grid_beyond_their_limit(monkeypatch, summed):
    monkeypatch.setattr(states, "CELLS_IN_RUN", 1_000)
    rows = drawn(2)
    found, expected = evaluate(rows, SETTINGS), evaluate(rows, replace(SETTINGS, rows="all"))
    assert "cells:grid" in found.estimates["ks"].signature
    for name, estimate in expected.estimates.items():
        if found.estimates[name].rows is None and estimate.call.entry.name != "relative_calibration_loss":
            assert found.estimates[name].value == pytest.approx(estimate.value, abs=2e-4), name
    assert found.estimates["ece"].value == pytest.approx(expected.estimates["ece"].value, abs=1e-8)


SAMPLED = (
    "skce:estimator=block",
    "calibration_slope",
    "corp_miscalibration",
    "relative_calibration_loss:recalibrator=vector",
)


@pytest.mark.parametrize("many_rows", [20_000, 30_000])
@pytest.mark.parametrize("metrics", [*SAMPLED, "ks:lens=class-1"])
def test_what_needs_rows_has_a_sample(metrics, many_rows, monkeypatch):
    monkeypatch.setattr(gathering, "MANY_ROWS", many_rows)
    monkeypatch.setattr(sample, "MOST", 5_000)
    rows = drawn(2)
    settings = replace(SETTINGS, metrics=("log_loss", metrics), draws=0)
    found = evaluate(rows, settings).estimates
    assert found["log_loss"].rows is None
    chosen = np.sort(np.argsort(of_numbers(0, rows.n_rows))[:5_000])
    few = Predictions(ArrayScores(rows.scores.array[chosen], "logits"), rows.labels[chosen], rows.classes)
    own = next(one for name, one in found.items() if name != "log_loss")
    expected = evaluate(few if metrics in SAMPLED else rows, replace(settings, rows="all")).estimates
    assert own.rows == (5_000 if metrics in SAMPLED else None)
    shuffled = "relative" in metrics or "skce" in metrics  # which depend on the order of the rows
    assert own.value == pytest.approx(expected[str(own.call)].value, abs=3e-3 if shuffled else 1e-7)


def test_states_of_many_rows_tell_what_the_run_tells(summed):
    rows = drawn(2)
    found = evaluate(rows, SETTINGS).estimates
    state = left_of(from_bytes(to_bytes(gathering.state_of(rows, SETTINGS))))
    told = evaluate(state, SETTINGS).estimates
    assert told.keys() == found.keys()
    for name, estimate in found.items():
        if "|cells:log-odds|" in estimate.signature:  # states have a sample
            assert told[name].value == pytest.approx(estimate.value, abs=0.01)
            continue
        assert (told[name].rows, told[name].value) == (estimate.rows, pytest.approx(estimate.value, abs=1e-7))


def test_all_rows_are_kept_if_asked_for_or_settings_need_them(summed):
    rows = drawn(2)
    for more, size in (({"rows": "all"}, None), ({"sd": True}, 20_000), ({"test": True}, 20_000)):
        found = evaluate(rows, replace(SETTINGS, metrics=("calibration_slope",), **more))
        assert next(iter(found.estimates.values())).rows == size
    assert not summed


@pytest.mark.parametrize("option", ["test", "sd", "resample_predictions"])
def test_what_redraws_rows_redraws_those_of_the_sample(option, monkeypatch):
    monkeypatch.setattr(sample, "MOST", 1_000)
    rows = drawn(2)
    settings = replace(SETTINGS, metrics=("mce", "skce:estimator=block"), draws=30, **{option: True})
    found = evaluate(rows, settings).estimates
    chosen = np.argsort(of_numbers(0, rows.n_rows))[:1_000]
    few = Predictions(ArrayScores(rows.scores.array[chosen], "logits"), rows.labels[chosen], rows.classes)
    expected = evaluate(few, replace(settings, rows="all")).estimates["skce:estimator=block"]
    assert (found["skce:estimator=block"].rows, found["mce"].rows) == (1_000, None)
    assert found["skce:estimator=block"].value == pytest.approx(expected.value, abs=1e-6)
    if option == "sd":
        assert found["skce:estimator=block"].sd == pytest.approx(expected.sd, rel=0.5)
        assert found["mce"].sd > 0
    else:
        null, other = found["skce:estimator=block"].if_calibrated, expected.if_calibrated
        assert null.mean == pytest.approx(other.mean, abs=other.sd)
        assert null.sd == pytest.approx(other.sd, rel=0.5)


@pytest.mark.parametrize("paired", [True, False])
def test_systems_are_compared_on_samples_of_their_rows(paired, monkeypatch):
    monkeypatch.setattr(sample, "MOST", 2_000)
    first = drawn(2)
    second = replace(first, scores=replace(first.scores, array=first.scores.array * np.float32(2)))
    settings = replace(SETTINGS, metrics=("log_loss", "calibration_loss", "ece"))
    (found,) = compare([first, second], settings, Plan(paired=paired))
    own = found.differences[0]
    assert [own[name].rows for name in settings.metrics] == [(), (2_000, 2_000), ()]
    assert "|rows:2000|" in own["calibration_loss"].signature
    chosen = np.argsort(of_numbers(0, 25_000))[:2_000]
    systems = [
        Predictions(ArrayScores(one.scores.array[chosen], "logits"), one.labels[chosen], one.classes)
        for one in (first, second)
    ]
    (few,) = compare(systems, replace(settings, rows="all"), Plan(paired=paired))
    (whole,) = compare([first, second], replace(settings, rows="all"), Plan(paired=paired))
    for name, expected in (("calibration_loss", few), ("log_loss", whole), ("ece", whole)):
        other = expected.differences[0][name]
        assert own[name].value == pytest.approx(other.value, abs=1e-6)
        assert own[name].verdict == other.verdict
        assert own[name].p_value == pytest.approx(other.p_value, abs=0.02)
        if other.interval is not None:
            assert own[name].interval.low == pytest.approx(other.interval.low, abs=1e-5)
    assert not found.apart
