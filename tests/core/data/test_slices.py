"""Slices say what their rows say alone, and are read block by block."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calcli.core.data import blocks
from calcli.core.data import derived as slices
from calcli.core.data.derived import Priors, select, select_each, slice_names, slice_numbers
from calcli.core.data.predictions import ArrayScores
from calcli.core.evaluating.evaluate import evaluate, evaluate_slices, with_corrected_p
from calcli.core.language.errors import InputError
from calcli.core.language.settings import Settings
from calcli.works.simulation import simulate


@pytest.mark.parametrize("weighted", [False, True])
def test_a_slice_is_its_rows(weighted, predict, monkeypatch):
    rng = np.random.default_rng(0)
    logits, labels = rng.normal(size=(300, 4)), rng.integers(0, 4, 300)
    weights = rng.exponential(size=300) if weighted else None
    place = np.where(rng.random(300) < 0.3, "north", "south")
    whole = replace(predict(logits, labels, "logits", weights), columns={"place": place})
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 64 * 4 * 8)
    slices, numbers = slice_numbers(whole, "place")
    found = {part: select(whole, numbers == n) for n, part in enumerate(slices)}
    assert [str(name) for name in found] == ["place=north", "place=south"]
    for name, part in found.items():
        chosen = place == name.value
        own = None if weights is None else weights[chosen]
        alone = predict(logits[chosen], labels[chosen], "logits", own)
        settings = Settings(draws=20)
        expected, got = evaluate(alone, settings), evaluate(part, settings)
        assert got.estimates.keys() == expected.estimates.keys()
        for metric, estimate in expected.estimates.items():
            assert got.estimates[metric].value == pytest.approx(estimate.value, abs=1e-13), metric
            if estimate.interval:
                assert got.estimates[metric].interval.low == pytest.approx(estimate.interval.low, abs=1e-12)
        assert part.n_rows == chosen.sum()


class Counted(ArrayScores):
    """Scores that count how often they are read."""

    readings = 0

    def blocks(self, rows):
        type(self).readings += 1
        return super().blocks(rows)


@pytest.mark.parametrize(("held", "readings"), [(1 << 20, 1), (100 * 3 * 4, 2), (30 * 3 * 4, 4), (0, 4)])
def test_slices_are_read_together_as_far_as_memory_allows(predict, monkeypatch, held, readings):
    rng = np.random.default_rng(3)
    logits, labels = rng.normal(size=(170, 3)).astype(np.float32), rng.integers(0, 3, 170)
    numbers = rng.permutation(np.repeat([0, 1, 2, 3], [40, 30, 20, 80]))
    rows = replace(
        predict(logits, labels, "logits"), scores=Counted(logits, "logits"), columns={"id": np.arange(170)}
    )
    monkeypatch.setattr(slices, "HELD_BYTES", held)
    monkeypatch.setattr(Counted, "readings", 0)
    monkeypatch.setattr(slices, "BLOCK_BYTES", 7 * 3 * 8)
    for number, part in enumerate(select_each(rows, numbers)):
        chosen = np.flatnonzero(numbers == number)
        assert np.array_equal(np.concatenate(list(part.scores.blocks(11))), logits[chosen])
        assert np.array_equal(part.labels, labels[chosen])
        assert np.array_equal(part.columns["id"], chosen)
        assert part.scores.dtype == np.float32
    assert number == 3
    assert Counted.readings == readings


@given(st.lists(st.sampled_from(["b", "a", "10", "9", ""]), min_size=1, max_size=20))
def test_every_row_has_the_number_of_its_slice(predict, values):
    rows = replace(predict([[0.5, 0.5]] * len(values), [0] * len(values)), columns={"c": np.array(values)})
    found, numbers = slice_numbers(rows, "c")
    assert [found[number].value for number in numbers] == values
    assert [part.value for part in found] == [v for v in ("9", "10", "", "a", "b") if v in values]


def test_slices_of_shifted_posteriors_are_shifted_from_what_was_read(predict):
    rng = np.random.default_rng(4)
    probs, labels = rng.dirichlet(np.ones(3), 120), np.arange(120) % 3
    place = np.repeat(["a", "b"], 60)
    rows = replace(predict(probs, labels), columns={"place": place})
    priors = Priors((0.2, 0.3, 0.5))
    asked = Settings(("log_loss",), intervals=False, priors=priors, shift_to_priors=priors)
    found = evaluate_slices(rows, "place", evaluate(rows, asked).summary)
    for (part, evaluation), half in zip(found, (slice(60), slice(60, 120)), strict=True):
        alone = evaluate(predict(probs[half], labels[half]), asked).estimates["log_loss"].value
        assert evaluation.estimates["log_loss"].value == pytest.approx(alone, abs=1e-12), part


def test_a_column_that_is_not_there_or_no_grouping_is_refused(predict):
    predictions = replace(predict(np.full((2000, 2), 0.5), [0, 1] * 1000), columns={"id": np.arange(2000)})
    with pytest.raises(InputError, match=r"no column 'country'.*the columns are: id, besides labels and"):
        slice_numbers(predictions, "country")
    with pytest.raises(InputError, match="2,000 values"):
        slice_numbers(predictions, "id")
    predictions = replace(predict(np.full((101, 2), 0.5), [0] * 101), columns={"id": np.arange(101)})
    with pytest.raises(InputError, match="column 'id' has 101 values in 101 rows; expected a column of at"):
        slice_numbers(predictions, "id")


def test_slices_are_understood_and_computed_like_the_whole(predict):
    # the second half alone would pass for probabilities
    logits = np.concatenate([np.full((150, 2), [3.0, -3.0]), np.full((150, 2), [0.25, 0.75])])
    place = np.repeat(["a", "b"], 150)
    predictions = replace(predict(logits, [0, 1] * 150, "logits"), columns={"place": place})
    whole = evaluate(predictions, Settings(bins=7, draws=9))
    found = dict(evaluate_slices(predictions, "place", whole.summary))
    assert [evaluation.predictions.kind for evaluation in found.values()] == ["logits", "logits"]
    for evaluation in found.values():
        usual = [name for name in whole.estimates if not name.startswith("relative_calibration_loss")]
        assert list(evaluation.estimates) == usual
    log_losses = [evaluation.estimates["log_loss"].value for evaluation in found.values()]
    assert np.mean(log_losses) == pytest.approx(whole.estimates["log_loss"].value, abs=1e-12)


def test_p_values_of_slices_with_rows_enough_are_corrected(predict):
    rng = np.random.default_rng(1)
    score = rng.beta(5, 2, 900)
    probs = np.stack([score, 1 - score], 1)
    off = np.repeat([0, 0.05, 0.2], 300)
    labels = (rng.random(900) > score - off).astype(int)
    parts = [
        evaluate(predict(probs[rows], labels[rows]), Settings(metrics=("ks", "brier"), intervals=False))
        for rows in np.arange(900).reshape(3, 300)
    ]
    before = [part.estimates["ks"].if_calibrated.p_value for part in parts]
    corrected = with_corrected_p([part.estimates for part in parts], [True, False, True])
    after = [part["ks"].if_calibrated.corrected_p for part in corrected]
    smaller, larger = sorted([before[0], before[2]])
    assert sorted([after[0], after[2]]) == pytest.approx([2 * smaller, max(2 * smaller, larger)])
    assert after[1] is None
    assert [part["ks"].if_calibrated.p_value for part in corrected] == before
    assert all(part["brier"].if_calibrated is None for part in corrected)


def test_many_slices_take_more_draws_so_that_they_can_be_found(predict):
    labels = np.arange(6000) % 2
    rows = replace(predict(np.full((6000, 2), [0.2, 0.8]), labels), columns={"day": np.arange(6000) // 100})
    whole = evaluate(rows, Settings(("ece",), intervals=False, draws=99))
    parts = [evaluation.estimates for _, evaluation in evaluate_slices(rows, "day", whole.summary)]
    corrected = with_corrected_p(parts, [True] * 60)
    assert [part["ece"].if_calibrated.corrected_p for part in corrected] == pytest.approx([60 / 2400] * 60)
    assert "|draws:2399|" in parts[0]["ece"].signature
    plain = replace(whole.summary, settings=replace(whole.settings, draws=0))
    assert next(iter(evaluate_slices(rows, "day", plain)))[1].estimates["ece"].if_calibrated is None


def test_a_fault_names_the_slice_that_has_it(predict):
    rows = predict([[0.6, 0.4]] * 4, [0, 1, 1, 1])
    rows = replace(rows, columns={"place": np.array(["a", "a", "b", "b"])})
    whole = evaluate(rows, Settings(("log_loss",), intervals=False, priors=Priors()))
    with pytest.raises(InputError, match=r"slice place=b: .*class '0' has no rows"):
        list(evaluate_slices(rows, "place", whole.summary))


def test_slices_by_predicted_class(predict):
    """Example 2.3.5 of van de Waterlaat 2021: right with .3, .9 and .9 where .6 is promised."""
    found = simulate("thesis-2.3", {}, exact=True)
    rows = predict(found.scores, found.labels)
    whole = evaluate(rows, Settings(("accuracy", "mean_confidence"), intervals=False))
    assert whole.estimates["accuracy"].value == pytest.approx(0.6)
    parts = [part.estimates for _, part in evaluate_slices(rows, "predicted-class", whole.summary)]
    assert [part["accuracy"].value for part in parts] == pytest.approx([0.3, 0.9, 0.9])
    assert [part["mean_confidence"].value for part in parts] == pytest.approx([0.6] * 3)
    named = replace(rows, columns={"predicted-class": np.array(["x"] * 40 + ["y"] * 40)})
    assert [part.value for part in slice_numbers(named, "predicted-class")[0]] == ["x", "y"]


@pytest.mark.parametrize(
    ("column", "names"),
    [
        (
            np.array(["2024-01-01", "2024-01-02T12:00", "NaT"], "M8[ns]"),
            ["2024-01-01", "2024-01-02T12:00:00", ""],
        ),
        (
            np.array(["2024-01-10T00:00:00.500", "2024-01-10"], "M8[us]"),
            ["2024-01-10T00:00:00.5", "2024-01-10"],
        ),
        (np.array([10.0, 0.1, np.nan], np.float32), ["10", "0.1", ""]),
        (np.array(["1.0", "2024-01-01T00:00:00"]), ["1.0", "2024-01-01T00:00:00"]),
        (np.array([2.0, np.nan, 1.5, np.nan]), ["2", "", "1.5", ""]),
        (np.array([True, None, False, None]), ["True", "", "False", ""]),
        (np.array(["x", "", "y", ""]), ["x", "", "y", ""]),
        *((np.array([0.0, -0.0, -0.5, 1.0], f"f{size}"), ["0", "0", "-0.5", "1"]) for size in (2, 4, 8)),
    ],
)
def test_a_value_has_one_name_whatever_its_type(predict, column, names):
    assert slice_names(column).tolist() == names
    n = len(column)
    predictions = replace(predict([[0.5, 0.5]] * n, [0] * n), columns={"c": column})
    parts, numbers = slice_numbers(predictions, "c")
    assert len(parts) == len(set(names))
    assert [parts[number].value for number in numbers] == names
    assert [part.shown for part in parts] == [part.value or "(empty)" for part in parts]
