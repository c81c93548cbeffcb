from __future__ import annotations

import math
import re

import numpy as np
import pytest

import calcli


def codes(result) -> list[str]:
    return [warning.code for warning in result.warnings]


def message(result, code: str) -> str:
    return next(warning.message for warning in result.warnings if warning.code == code)


@pytest.mark.parametrize(
    ("confidence", "right", "word"),
    [(0.9, 100, "over-confident"), (0.6, 180, "under-confident"), (0.8, 161, "consistent")],
)
def test_verdict(summarized, confidence, right, word):
    """Of more than two classes it is about the confidence."""
    labels = [0] * right + [2] * (200 - right)
    verdict = summarized([[confidence, 0, 1 - confidence]] * 200, labels).verdict
    assert verdict.word == word
    assert verdict.gap == pytest.approx(confidence - right / 200, abs=1e-12)
    assert verdict.sentence.startswith(word.capitalize())
    assert f"mean confidence {confidence:.1%}, accuracy {right / 200:.1%}" in verdict.sentence
    if word != "consistent":
        by, low, high = map(float, re.findall(r"(-?[\d.]+)(?: points| to |\))", verdict.sentence))
        assert by == round(100 * abs(verdict.gap), 1)
        assert 0 < low < by < high


def test_the_verdict_says_by_how_much(sure):
    assert sure.verdict.sentence.startswith("yes is under-predicted: 10.0% on average, 50.0% observed (95% i")


@pytest.mark.parametrize("level", ["99.99", "97.5"])
def test_sentences_say_the_level_that_was_asked_for(summarized, level):
    found = summarized([[0.9, 0.1]] * 100, [0, 1] * 50, level=float(level) / 100)
    assert f"({level}% interval" in found.verdict.sentence
    worse = message(found, "worse_than_constant")
    assert f"{level}% interval" in worse


def test_the_verdict_on_two_classes_says_what_the_second_gets(summarized):
    probs, labels = np.array([[0.95, 0.05], [0.7, 0.3]] * 100), np.array([0, 1, 0, 0] * 50)
    low, high, fine = (
        summarized(p, labels, ["no", "yes"]).verdict
        for p in (probs, 1 - probs, probs + np.array([-0.075, 0.075]))
    )
    gaps = probs[:, 1] - labels
    error = 1.97 * gaps.std(ddof=1) / math.sqrt(200)
    assert (low.word, high.word, fine.word) == ("under-predicted", "over-predicted", "consistent")
    assert low.gap == pytest.approx(gaps.mean())
    assert low.sentence.startswith(
        "yes is under-predicted: 17.5% on average, 25.0% observed (95% interval of the"
    )
    ends = [float(one) for one in re.findall(r"difference (-[\d.]+) to (-?[\d.]+) points", low.sentence)[0]]
    assert ends == pytest.approx([100 * (gaps.mean() - error), 100 * (gaps.mean() + error)], abs=0.5)
    assert "yes is predicted 25.0% on average, 25.0% observed: consistent (" in fine.sentence


def test_an_event_is_called_as_the_column_of_labels_is(tmp_path):
    rows = "".join(
        f"{y},{p}\n"
        for y, p in zip([0, 0, 0, 1] * 45 + [0, 0, 1, 0] * 15, [0.1, 0.2, 0.6, 0.5] * 60, strict=True)
    )
    for column, name in (("is_fraud", "fraud"), ("has_left_us", "left us"), ("label", "class 1")):
        (tmp_path / "t.csv").write_text(f"{column},prob\n{rows}")
        (found,) = calcli.evaluate(tmp_path / "t.csv", draws=0).results
        assert found.verdict.sentence.startswith(f"{name} is over-predicted: 35.0% on average, 25.0% obs")


def test_right_on_average_is_not_calibrated(summarized):
    """Of rows at .1 and at .9 a third are wrong: both are over-confident, the mean is right."""
    probs = [[0.9, 0.1], [0.1, 0.9]] * 200
    labels = ([0, 1] * 2 + [1, 0]) * 66 + [0, 1] * 2
    found = summarized(probs, labels, ["no", "yes"])
    assert abs(found.verdict.gap) < 0.01
    assert found.verdict.word == "miscalibrated"
    assert "observed: right on average, miscalibrated (95% interval of the" in found.verdict.sentence
    assert "; ks: p 0.00" in found.verdict.sentence or "; ks: p <0.001" in found.verdict.sentence
    untested = summarized(probs, labels, ["no", "yes"], metrics=("log_loss",))
    assert untested.verdict.word == "right on average"


def test_the_verdict_is_there_whatever_was_asked_for(summarized):
    assert summarized([[0.9, 0.1]] * 4, [0, 1, 0, 0], intervals=False).verdict.word == "untested"
    probs, labels = [[0.9, 0.1], [0.2, 0.8]] * 60, [0, 1, 0] * 40
    usual = summarized(probs, labels)
    for metrics in (("accuracy",), ("ece",), ("mean_gap",), ("auroc", "ks")):
        assert summarized(probs, labels, metrics=metrics).verdict == usual.verdict
    assert "over-predicted" in usual.verdict.sentence


def test_infinite_rows_are_counted_named_and_left_out(impossible):
    without = (-math.log(0.5) - math.log(0.8)) / 2
    assert impossible.infinite_log_loss.rows == 2
    assert impossible.infinite_log_loss.first == (1, 3)
    assert impossible.infinite_log_loss.value_without == pytest.approx(without, abs=1e-12)
    assert message(impossible, "infinite_log_loss") == (
        "2 rows give their label probability 0, which makes the log-loss infinite; "
        f"without them it is {without:.4f}. Counted from 0: 1, 3. --clip 1e-6 makes it finite."
    )


def test_only_the_first_of_many_infinite_rows_are_named(summarized):
    result = summarized([[1.0, 0.0]] * 20, [1] * 20)
    assert "Counted from 0: 0, 1, 2, 3, 4 and 15 more." in message(result, "infinite_log_loss")
    assert "without them" not in message(result, "infinite_log_loss")


def test_absent_classes_are_named(impossible):
    assert message(impossible, "absent_classes") == "1 class of 3 never occurs as label: eel."


def test_one_class_only(summarized):
    result = summarized([[0.9, 0.1]] * 200, [0] * 200)
    assert codes(result) == ["one_class", "recalibration"]  # of what nobody asked for nothing is undefined
    assert message(result, "one_class").startswith("Every row has the label 0;")
    assert "auroc" in message(summarized([[0.9, 0.1]] * 200, [0] * 200, metrics=("auroc",)), "undefined")


def test_what_one_row_leaves_undefined_has_a_reason(summarized):
    metrics = ("normalized_brier", "auroc", "skce", "relative_calibration_loss", "accuracy")
    result = summarized([[0.9, 0.1]], [0], metrics=metrics)
    assert [name for name, found in result.metrics.items() if math.isnan(found.value)] == list(metrics[:4])
    assert message(result, "undefined") == (
        "Not defined on these rows and labels: "
        "normalized_brier (the best constant answer, by which it is divided, has a loss of 0); "
        "auroc (all rows have the same label); "
        "skce (there are fewer than two rows); "
        "relative_calibration_loss (there are too few rows for cross-validation with two folds)."
    )


@pytest.mark.parametrize(
    ("probs", "labels", "metric", "why"),
    [
        (
            [[1.0, 0.0], [0.0, 1.0]] * 3,
            [0, 1] * 3,
            "relative_calibration_loss",
            "a score of 0 has no shares",
        ),
        ([[1.0, 0.0], [0.0, 1.0]] * 3, [1, 1] * 3, "relative_calibration_loss", "a score is infinite"),
        (
            [[0.5, 0.5]] * 6,
            [0, 1] * 3,
            "calibration_slope",
            "these probabilities and labels",
        ),
        ([[1.0, 0.0]] * 6, [0] * 6, "spiegelhalter_z", "these probabilities and labels"),
        (
            [[0.5, 0.5]] * 6,
            [0] * 6,
            "normalized_bayes_risk",
            "the best constant answer, by which it is divided",
        ),
    ],
)
def test_what_is_undefined_has_a_reason(summarized, probs, labels, metric, why):
    result = summarized(probs, labels, metrics=(metric,))
    assert math.isnan(result.metrics[metric].value)
    assert f"{metric} (" in message(result, "undefined")
    assert why in message(result, "undefined")


def test_few_rows_for_calibration_errors(summarized, sure):
    assert "few_rows" not in codes(sure)
    few = [[0.9, 0.1]] * 149, [0, 1] * 74 + [0]
    assert "few_rows" in codes(summarized(*few))
    assert "few_rows" not in codes(summarized(*few, bins=14))
    assert "few_rows" not in codes(summarized(*few, metrics=("log_loss",)))


def test_a_region_without_rows_is_said_to_be_empty(summarized):
    metrics = ("ece:region=0.2..0.3", "ks", "skce:region=0.2..0.3")
    result = summarized([[0.9, 0.1]] * 200, [0] * 200, metrics=metrics)
    assert codes(result) == ["one_class", "empty_region"]
    assert message(result, "empty_region").endswith("there: ece:region=0.2..0.3, skce:region=0.2..0.3.")


def test_scores_worse_than_one_answer_are_said(summarized):
    rows, labels = [[0.01, 0.99], [0.98, 0.02], [0.03, 0.97], [0.96, 0.04]] * 25, [0, 1] * 50
    found = message(summarized(rows, labels), "worse_than_constant")
    assert found.startswith("Worse than always answering with the class frequencies")
    assert "normalized_log_loss 5.49" in found
    assert "normalized_error_rate 2.0000, 95% interval" in found
    near = summarized(
        [[0.4, 0.6], [0.6, 0.4]] * 5, [0, 1, 0, 1, 1, 0, 1, 0, 0, 1], metrics=("normalized_brier",)
    )
    assert near.metrics["normalized_brier"].value > 1
    assert "worse_than_constant" not in codes(near)
