"""The table of operating points, beside the same counts by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta
from sklearn.metrics import precision_score, recall_score

import calcli
from calcli.core.language.errors import UsageError
from calcli.core.language.figures import PlotSettings, standard_names
from calcli.core.language.settings import Settings
from calcli.figures import standard_drawings
from calcli.io.handed import from_arrays
from calcli.work.idle import idle_of_figures

THRESHOLDS = (0.1, 0.25, 0.6)
RNG = np.random.default_rng(8)
SCORE = RNG.beta(1.2, 3, 400)
LABEL = (RNG.random(400) < SCORE).astype(int)


@pytest.fixture(scope="module")
def report():
    return calcli.evaluate(np.stack([1 - SCORE, SCORE], axis=1), LABEL, thresholds=THRESHOLDS)


def test_the_rates_of_each_threshold_are_those_of_scikit_learn(report):
    for threshold in THRESHOLDS:
        alert = threshold <= SCORE
        expected = {
            "alert_rate": alert.mean(),
            "precision": precision_score(LABEL, alert),
            "recall": recall_score(LABEL, alert),
            "specificity": recall_score(1 - LABEL, ~alert),
        }
        for name, value in expected.items():
            assert report[f"{name}:threshold={threshold}"].value == pytest.approx(value, abs=1e-12)
        interval = report[f"alert_rate:threshold={threshold}"].interval
        hits = int(alert.sum())
        ends = beta.ppf(0.025, hits, 401 - hits), beta.ppf(0.975, hits + 1, 400 - hits)
        assert (interval.low, interval.high) == pytest.approx(ends, rel=1e-9)


def test_net_benefit_stands_beside_treating_all(report):
    """Vickers & Elkin 2006; Van Calster et al. 2018 (standardized), in their own formulas."""
    points = report.to_dict()["results"][0]["operating_points"]
    for point, threshold in zip(points, THRESHOLDS, strict=True):
        alert, odds, frequency = threshold <= SCORE, threshold / (1 - threshold), LABEL.mean()
        benefit = (alert & (LABEL == 1)).mean() - odds * (alert & (LABEL == 0)).mean()
        treat_all = frequency - odds * (1 - frequency)
        assert point == pytest.approx(
            {
                "threshold": threshold,
                "treat_all": treat_all,
                "standardized_net_benefit": benefit / frequency,
                "avoided": 100 * (benefit - treat_all) / odds,
            }
        )


def test_the_table_has_a_row_for_each_threshold_and_no_other_table_repeats_it(report):
    text = str(report)
    assert text.count("alert_rate") == 0
    alert = SCORE >= 0.25
    false_positives = (alert & (LABEL == 0)).sum() / (LABEL == 0).sum()
    assert f"{100 * recall_score(LABEL, alert):.1f}%" in text
    assert f"{100 * false_positives:.1f}%" in text


def test_costs_have_a_column_with_the_mean_cost_from_each_threshold_on():
    amount = np.random.default_rng(1).uniform(1, 20, 400)
    data = from_arrays(np.stack([1 - SCORE, SCORE], axis=1), LABEL, columns={"amount": amount})
    costs = ["imbalanced:0:3", "abstain:0.1", "zero-one"]
    report = calcli.evaluate(data, thresholds=[0.25], costs=costs, draws=0)
    alert = SCORE >= 0.25
    for name, alarm in (("imbalanced", 3), ("zero-one", 1)):
        cost = np.where(alert, alarm * (LABEL == 0), LABEL)
        found = report[f"threshold_cost:costs={name}:threshold=0.25"]
        assert found.value == pytest.approx(cost.mean(), abs=1e-12)
    assert "cost of imbalanced" in str(report)
    assert "cost of abstain" not in str(report)
    by_row = calcli.evaluate(data, thresholds=[0.25], cost_column="amount", draws=0)
    missed = np.where(alert, LABEL == 0, LABEL * amount).mean()
    assert by_row["threshold_cost:costs=zero-one:threshold=0.25"].value == pytest.approx(missed, abs=1e-12)


def test_ends_of_a_range_stand_for_thresholds_in_steps():
    scores = np.stack([1 - SCORE, SCORE], axis=1)
    points = calcli.evaluate(scores, LABEL, thresholds="0.05..0.4", draws=0).to_dict()["results"][0]
    found = [point["threshold"] for point in points["operating_points"]]
    assert found == pytest.approx([0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4])


@pytest.mark.parametrize("thresholds", ["0", "1", "x", "0.2..", [1.5], ""])
def test_what_is_no_threshold_is_refused(thresholds):
    with pytest.raises(UsageError, match=r"thresholds is .*; expected numbers between 0 and 1"):
        calcli.evaluate(np.stack([1 - SCORE, SCORE], axis=1), LABEL, thresholds=thresholds)


def test_more_classes_have_no_operating_points():
    with pytest.raises(UsageError, match="--thresholds is for probabilities of two classes"):
        calcli.evaluate(RNG.dirichlet([1, 1, 1], 50), RNG.integers(3, size=50), thresholds=[0.5])


def test_points_are_those_of_dcurves():
    """The example of dcurves: 105 of 750 rows have cancer, and so many lie at or above each threshold."""
    at, found, alarms = (0.05, 0.15, 0.25, 0.35), (96, 82, 72, 57), (320, 128, 72, 36)
    events, others = (-np.diff([*counts, 0]) for counts in ((105, *found), (645, *alarms)))
    score = np.repeat([0.01, *at], events + others)
    label = np.concatenate([np.repeat([1, 0], pair) for pair in zip(events, others, strict=True)])
    report = calcli.evaluate(np.stack([1 - score, score], axis=1), label, thresholds=at, draws=0)
    published = (0.10554385964912281, 0.07921568627450982, 0.064, 0.05015384615384615)
    for threshold, benefit in zip(at, published, strict=True):
        assert report[f"net_benefit:threshold={threshold}"].value == pytest.approx(benefit, abs=1e-10)
    quarter = report.to_dict()["results"][0]["operating_points"][2]
    assert quarter["treat_all"] == pytest.approx(-0.44 / 3, abs=1e-10)
    assert quarter["avoided"] == pytest.approx(63.2, abs=1e-10)


def test_a_threshold_of_many_digits_keeps_them():
    scores = np.stack([1 - SCORE, SCORE], axis=1)
    points = calcli.evaluate(scores, LABEL, thresholds=[0.123456789], draws=0).to_dict()["results"][0]
    assert [point["threshold"] for point in points["operating_points"]] == [0.123456789]


def test_figures_that_mark_thresholds_belong_to_a_report_with_thresholds(report):
    marking = {"net-benefit", "precision-recall", "roc", "gains"}
    assert marking <= {name for name, _ in standard_drawings(report.evaluation)}
    assert not marking & {*standard_names(2)}
    idle = idle_of_figures(PlotSettings({"ks": {}}), Settings(thresholds=(0.1,)))
    assert idle == ["--thresholds has no effect: no figure asked for shows thresholds"]
