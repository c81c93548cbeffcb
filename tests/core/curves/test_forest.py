"""Forest plots: every slice is what an evaluation of its rows alone says."""

from __future__ import annotations

import numpy as np
import pytest

from calcli.core.curves.series import forest
from calcli.core.data.predictions import ArrayScores, Held, Predictions
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.settings import Settings


@pytest.fixture
def sliced():
    """Return an evaluation with a column, and the scores, labels and values of that column."""
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=(900, 3)), rng.integers(0, 3, 900)
    part = np.where(np.arange(900) < 50, "few", np.where(np.arange(900) % 3, "odd", "even"))
    predictions = Predictions(ArrayScores(scores, "logits"), labels, tuple("abc"), columns={"part": part})
    settings = Settings(("log_loss", "accuracy", "ece"), draws=9)
    return evaluate(predictions, settings), scores, labels, part


def test_slices_are_evaluated_alone(sliced):
    evaluation, scores, labels, part = sliced
    found = forest(evaluation, ["part"], ["log_loss", "accuracy"])
    assert list(found.slices) == ["part=even", "part=few", "part=odd"]
    for name, estimates in found.slices.items():
        rows = part == name.partition("=")[2]
        assert found.rows[name] == rows.sum()
        log_sum = np.log(np.exp(scores[rows]).sum(1))
        loss = np.mean(log_sum - scores[rows, labels[rows]])
        assert estimates["log_loss"].value == pytest.approx(loss)
        assert estimates["accuracy"].value == pytest.approx(np.mean(scores[rows].argmax(1) == labels[rows]))
    assert found.overall["log_loss"] is evaluation.estimates["log_loss"]


@pytest.mark.parametrize(("metric", "sign"), [("log_loss", -1), ("accuracy", 1)])
def test_the_worst_comes_first_and_slices_of_few_rows_last(sliced, metric, sign):
    found = forest(sliced[0], ["part"], [metric])
    *compared, last = found.worst_first
    assert last == "part=few"
    values = [sign * found.slices[name][metric].value for name in compared]
    assert values == sorted(values)
    assert [found.thin(name) for name in found.worst_first] == [False, False, True]


def test_the_table_has_a_row_a_slice_and_metric(sliced):
    table = forest(sliced[0], ["part"], ["log_loss", "ece"]).tables()[""]
    assert table["metric"].tolist() == ["log_loss", "ece"] * 3
    assert table["slice"].tolist() == [f"part={p}" for p in ("even", "even", "few", "few", "odd", "odd")]
    assert np.isnan(table["low"]).tolist() == [False, True] * 3


def test_slices_that_are_kept_are_not_evaluated_again(sliced, monkeypatch):
    evaluation = sliced[0]
    first = forest(evaluation, ["part"], ["log_loss"])
    monkeypatch.delattr(Held, "blocks")
    assert forest(evaluation, ["part"], ["log_loss"]) == first
    with pytest.raises(AttributeError, match="blocks"):  # of a metric that is not there
        forest(evaluation, ["part"], ["accuracy"])


def test_errors_of_slices_are_tested_against_calibration_and_corrected_for_their_number():
    rng = np.random.default_rng(0)
    probs, part = rng.dirichlet(np.ones(3), 3000), np.repeat(["fine", "off"], 1500)
    labels = np.array([rng.choice(3, p=row) for row in probs])
    labels[1500:] = rng.integers(0, 3, 1500)  # says nothing
    predictions = Predictions(ArrayScores(probs, "probs"), labels, tuple("abc"), columns={"part": part})
    evaluation = evaluate(predictions, Settings(("ece",), draws=99))
    found = forest(evaluation, ["part"], ["ece"])
    p_values = {name: estimates["ece"].if_calibrated.p_value for name, estimates in found.slices.items()}
    assert found.tested == {  # Holm: the lesser of the two counts twice
        ("part=fine", "ece"): p_values["part=fine"],
        ("part=off", "ece"): 2 * p_values["part=off"],
    }
    assert [found.is_miscalibrated(f"part={p}", "ece") for p in ("fine", "off")] == [False, True]
    assert found.shown(1) == ["part=off"]
    table = found.tables()[""]
    assert table["corrected_p"].tolist() == list(found.tested.values())
    assert (table["value"] - table["if_calibrated_mean"] > 3 * table["if_calibrated_sd"]).tolist() == [
        False,
        True,
    ]
