"""What recalibration wins, in tables and in words."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from calcli.core.estimators.costs import CostWord
from calcli.core.estimators.intervals import Interval
from calcli.core.evaluating.results import Estimate
from calcli.core.language.expressions import parse_metric
from calcli.core.language.metrics import CARRIED
from calcli.core.language.settings import Settings
from calcli.report.estimates import PARTS
from calcli.report.evaluation import Report
from calcli.report.recalibration import loss_table, parts_table, recalibration_gains
from calcli.works.simulation import gaussian_classes
from tests.report.conftest import tables_of


def loss(before, after, expression="relative_calibration_loss", standard_error=0.001, method="dp"):
    parts = {"before": before, "after": after, "calibration_loss": before - after}
    parts |= {"standard_error": standard_error, "relative_standard_error": standard_error / before}
    call = parse_metric(expression)
    known = call.arguments["recalibrator"]
    method = method if known == "affine" else known
    return {str(call): Estimate(call, (before - after) / before, "", parts=parts, recalibrator=method)}


@pytest.fixture(scope="module")
def scaled(summarized):
    made = gaussian_classes("mcs", 400, np.random.default_rng(0))
    return summarized(made.scores, made.labels, ["yes", "no"], costs=(CostWord("abstain", "abstain", 0.1),))


def sentence(*arguments):
    (found,) = recalibration_gains(loss(*arguments))
    return str(found)


def test_a_loss_in_words():
    assert sentence(0.2816, 0.2331) == (
        "17.2% ± 0.4% of the log-loss (0.2816 -> 0.2331) is miscalibration that an affine recalibration "
        "removes. Fit it to validation data, `calcli fit VALIDATION -m dp -o calibrator.json`, not to the "
        "rows that judge it; without such data use the cross-validated results of the fit."
    )
    assert sentence(1.0, 0.98).startswith("2.0% ± 0.1% of the log-loss")
    assert sentence(1.0, 0.004).startswith("99.6% ± 0.1% of the log-loss")
    assert "Brier score" in sentence(0.5, 0.3, "relative_calibration_loss:score=brier")
    assert "-m temperature" in sentence(0.5, 0.3, "calibration_loss:recalibrator=temperature")
    assert "`calcli fit VALIDATION -m dp" in sentence(0.5, 0.3, "calibration_loss:training=held-out")


def test_nothing_to_win_and_harm_in_words():
    assert sentence(0.2, 0.201) == (
        "An affine recalibration gains nothing of the log-loss (0.2000 -> 0.2010); "
        "a share slightly below zero is normal on unseen rows."
    )
    worse = "An affine recalibration makes the log-loss worse (0.2000 -> 0.2500)"
    assert sentence(0.2, 0.25).startswith(worse)


def test_a_change_that_may_be_chance():
    """Within two standard errors nothing is said to be won, nor to be harmed."""
    assert sentence(0.2, 0.19, "calibration_loss", 0.006) == (
        "An affine recalibration gains 5.0% ± 3.0% of the log-loss (0.2000 -> 0.1900), which may be chance."
    )
    assert sentence(0.2, 0.25, "calibration_loss", 0.026) == (
        "No gain can be shown with so few rows: an affine recalibration (0.2000 -> 0.2500)."
    )
    assert "worse" in sentence(0.2, 0.25, "calibration_loss", 0.024)
    assert "removes" in sentence(0.2, 0.19, "calibration_loss", 0.004)


def test_a_gain_where_no_row_is_wrong(summarized):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 40)
    second = np.where(labels, 0.97, 0.03) + rng.uniform(-0.02, 0.02, 40)
    said = summarized(np.column_stack([1 - second, second]), labels).gain.sentence
    assert said.startswith("Temperature scaling gains")
    assert said.endswith("which may be chance: no prediction is wrong, and a single error could undo it.")


def test_rows_of_one_class_recommend_no_fit(summarized):
    second = np.random.default_rng(0).uniform(size=200)
    said = summarized(np.column_stack([1 - second, second]), np.ones(200, int), ["no", "yes"]).recalibration
    assert said[0].sentence.endswith(": all rows have the same label, which it learns to predict.")
    assert not any(gain.advice for gain in said)


def test_infinite_losses_in_words():
    inf = float("inf")
    assert sentence(inf, inf) == (
        "An affine recalibration leaves the log-loss infinite; --clip makes it finite."
    )
    assert sentence(inf, 0.5, "calibration_loss:recalibrator=pav:training=test") == (
        "The isotonic fit makes the infinite log-loss finite (inf -> 0.5000), so there is no share."
    )
    assert sentence(0.5, inf, "calibration_loss:recalibrator=pav") == (
        "The isotonic fit gives labels probability 0, which makes the log-loss infinite (0.5000 -> inf)."
    )
    both = loss(inf, inf) | loss(0.5, 0.3, "relative_calibration_loss:score=brier")
    first, second = map(str, recalibration_gains(both))
    assert first.endswith("--clip makes it finite.")
    assert second.startswith("40.0% ± 0.2% of the Brier score")
    assert loss_table(both, []).rows[0] == ("log_loss", "dp", "inf", "inf", "undefined", "-")


def test_nothing_infinite_is_called_a_share(summarized):
    rows = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.4], [0.3, 0.7]] * 20
    found = summarized(rows, [1, 1, 0, 1] * 20)
    said = " ".join(map(str, found.recalibration))
    assert "nan" not in said
    assert "infinite" in said


def test_the_bound_in_words():
    assert sentence(0.6, 0.3, "calibration_loss:recalibrator=pav:training=test") == (
        "On its own rows, the isotonic fit gains 50.0% of the log-loss (0.6000 -> 0.3000), the most that an "
        "increasing map can gain: optimistic."
    )


def test_what_leads_is_judged_on_rows_that_the_fit_has_not_seen(summarized):
    second = np.random.default_rng(0).uniform(size=500)
    own, held = (f"calibration_loss:recalibrator={by}" for by in ("pav:training=test", "dp"))
    made = np.column_stack([1 - second, second]), np.arange(500) % 2
    found = summarized(*made, metrics=(own, held))
    assert found.gain == found.recalibration[1]
    assert not found.recalibration[0].on_unseen
    alone = summarized(*made, metrics=(own,))
    assert alone.gain is None
    assert "optimistic" not in Report([alone], Settings()).headline().verdict


def test_no_bound_is_claimed_of_several_classes():
    (said,) = recalibration_gains(loss(0.6, 0.3, "calibration_loss:recalibrator=pav:training=test"), 3)
    wins = "the isotonic fit gains 50.0% of the log-loss (0.6000 -> 0.3000)"
    assert str(said) == f"On its own rows, {wins}: optimistic."


def test_scores_and_recalibrators_with_settings_in_words():
    risk = sentence(0.6, 0.3, "calibration_loss:score=bayes_risk/costs=abstain")
    assert risk.startswith("50.0% ± 0.2% of the Bayes risk of costs abstain (0.6000 -> 0.3000)")
    said = sentence(0.6, 0.3, "calibration_loss:recalibrator=histogram/bins=20/smoothing=0")
    assert "-m histogram:bins=20:smoothing=0 -o" in said


def test_each_way_to_recalibrate_is_said_once():
    both = loss(0.5, 0.4) | loss(0.3, 0.2, "relative_calibration_loss:score=brier")
    assert len(recalibration_gains(both)) == 1
    assert len(recalibration_gains(both | loss(0.5, 0.4, "calibration_loss:recalibrator=vector"))) == 2


def test_the_table_of_losses():
    both = (
        loss(0.5, 0.4) | loss(0.5, 0.4, "calibration_loss") | loss(0.3, 0.33, "calibration_loss:score=brier")
    )
    table = loss_table(both, ["Sentence."])
    assert table.rows == (
        ("log_loss", "dp", "0.5000", "0.4000", "0.1000", "20.0% ± 0.2%"),
        ("brier", "dp", "0.3000", "0.3300", "-0.0300", "-10.0% ± 0.3%"),
    )
    assert table.notes == (
        "Sentence.",
        "± se: the standard error, over rows and over folds.",
    )
    assert [column.head for column in table.columns][1:] == [
        "by",
        "before",
        "after",
        "gain",
        "share ± se",
    ]


def test_the_map_that_few_rows_can_carry_is_named():
    table = loss_table(loss(0.5, 0.4, method="temperature"), [])
    assert table.rows == (("log_loss", "temperature", "0.5000", "0.4000", "0.1000", "20.0% ± 0.2%"),)
    assert table.notes[-1] == f"{CARRIED}; recalibrator=dp uses it anyway."
    asked = loss(0.5, 0.4, "calibration_loss:recalibrator=temperature")
    assert len(loss_table(asked, []).notes) == 1


def test_what_is_won_of_the_rows_of_the_fit_has_no_error():
    table = loss_table(loss(0.5, 0.4, "calibration_loss:training=test"), [])
    assert (table.rows[0][-1], table.notes) == ("20.0%", ())


def test_intervals_are_those_of_what_was_asked_for():
    both = loss(0.5, 0.4) | loss(0.5, 0.4, "calibration_loss")
    ends = [Interval(0.1, 0.3, 0.9), Interval(0.05, 0.15, 0.9)]
    found = [replace(one, interval=interval) for one, interval in zip(both.values(), ends, strict=True)]
    table = loss_table(dict(zip(both, found, strict=True)), [])
    assert table.columns[-1].head == "90% interval"
    assert [row[-1] for row in table.rows] == ["10.0% to 30.0%", "0.0500 to 0.1500"]


def test_an_undefined_loss_has_no_numbers():
    call = parse_metric("relative_calibration_loss")
    undefined = {str(call): Estimate(call, float("nan"), "")}
    assert loss_table(undefined, []).rows == (("log_loss", "affine", "-", "-", "-", "-"),)
    assert recalibration_gains(undefined) == ()


def test_parts_are_read_with_what_they_are_made_of():
    call = parse_metric("corp_miscalibration")
    table = parts_table(
        {"corp_miscalibration": Estimate(call, 0.1, "", parts={"score": 0.4, "uncertainty": 0.5})}
    )
    assert table.rows == (("corp_miscalibration", "0.1000", "score 0.4000, uncertainty 0.5000"),)


def test_parts_with_and_without_an_interval(summarized):
    names = ("corp_miscalibration", "corp_uncertainty")
    found = summarized([[0.9, 0.1]] * 60, [0, 0, 1] * 20, metrics=names)
    table = parts_table(found.metrics)
    assert [column.head for column in table.columns] == ["", "value", "95% interval", "read with"]
    ends = found.metrics["corp_uncertainty"].interval
    assert [row[2] for row in table.rows] == ["-", f"{ends.low:.4f} to {ends.high:.4f}"]
    written = Report([found], Settings()).to_dict()["results"][0]["metrics"]
    assert written["corp_uncertainty"]["low"] == ends.low
    assert "low" not in written["corp_miscalibration"]


def test_parts_have_their_standard_deviation_in_the_tables(summarized):
    found = summarized([[0.9, 0.1]] * 60, [0, 0, 1] * 20, metrics=("corp_miscalibration",))
    (table,) = (table for table in tables_of([found]) if table.title == PARTS)
    assert [column.head for column in table.columns] == ["", "value", "read with"]


def test_a_report_in_order_and_in_json(scaled):
    titles = [table.title for table in tables_of([scaled])]
    assert titles[1:5] == [
        "Scores of no",
        "Decisions under abstain",
        "What recalibration would gain",
        "Calibration errors of no",
    ]
    found = json.loads(json.dumps(Report([scaled], Settings()).to_dict()))["results"][0]
    assert found["recalibration"] == [str(gain) for gain in scaled.recalibration]
    assert [row["name"] for row in found["decisions"]["abstain"]] == ["yes", "no", "abstain"]
    log_loss, relative = found["metrics"]["log_loss"], found["metrics"]["relative_calibration_loss"]
    assert log_loss["parts"]["constant"] == scaled.metrics["log_loss"].parts["constant"]
    assert relative["value"] * log_loss["value"] == pytest.approx(relative["parts"]["calibration_loss"])
