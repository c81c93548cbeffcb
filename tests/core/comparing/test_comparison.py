"""Differences of systems: against plain loops, scikit-learn and known truths."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import sem

from calcli.core.comparing.comparison import (
    Plan,
    compare,
    compared_metrics,
    difference,
    parse_margins,
    rank,
)
from calcli.core.comparing.contest import Contest
from calcli.core.estimators.consistency import holm
from calcli.core.estimators.evidence import Margin, Normal, Studentized
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import parse_metric
from calcli.core.language.metrics import METRICS
from calcli.core.language.settings import Settings

SETTINGS = Settings(metrics=("log_loss", "accuracy"), draws=99)


@pytest.fixture(scope="module")
def systems(predict):
    """Return a good system, the same with more noise, and one with much more, on the same rows."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 300)
    good = 3 * np.eye(3)[labels] + rng.normal(size=(300, 3))
    noisy = good + rng.normal(0, 0.1, (300, 3))
    bad = good + rng.normal(0, 4, (300, 3))
    return [predict(logits, labels, "logits") for logits in (good, noisy, bad)]


def test_paired_scores_have_the_spread_of_the_differences_of_rows(predict):
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 3, 40)
    tables = [rng.dirichlet(np.ones(3), 40) for _ in range(2)]
    contest = Contest([predict(table, labels) for table in tables], SETTINGS)
    found = contest.evidence(parse_metric("log_loss"), 0, 1)
    first, second = (-np.log(table[np.arange(40), labels]) for table in tables)
    assert isinstance(found, Studentized)
    assert found.difference.value == pytest.approx(np.mean(second - first), abs=1e-12)
    assert found.difference.spread.standard_error == pytest.approx(sem(second - first), rel=1e-12)


def test_paired_auroc_has_delongs_variance(binary):
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 2, 60)
    scores = [np.clip(np.round(0.3 * labels + rng.random(60) * 0.7, 1), 0, 1) for _ in range(2)]
    contest = Contest([binary(score, labels) for score in scores], replace(SETTINGS, metrics=("auroc",)))
    found = contest.evidence(parse_metric("auroc"), 0, 1)
    # DeLong et al. 1988: placements of every row among those of the other class, ties one half
    placements = []
    for score in scores:
        positive, negative = score[labels == 1, None], score[labels == 0][None]
        right = (positive > negative) + (positive == negative) / 2
        placements.append((right.mean(1), right.mean(0)))
    areas = [of_positive.mean() for of_positive, _ in placements]
    of_positive = placements[1][0] - placements[0][0]
    of_negative = placements[1][1] - placements[0][1]
    variance = of_positive.var() / len(of_positive) + of_negative.var() / len(of_negative)
    assert isinstance(found, Studentized)
    assert [found.baseline.value, found.candidate.value] == pytest.approx(areas, abs=1e-12)
    assert found.difference.spread.squares == pytest.approx(variance, rel=1e-9)


@pytest.mark.parametrize("positives", [4, 5])
def test_a_difference_of_areas_needs_five_rows_of_each_class_for_an_interval(binary, positives):
    rng = np.random.default_rng(3)
    labels = (np.arange(200) < positives).astype(int)
    systems = [binary(np.where(labels, 0.6, rng.random(200)), labels) for _ in range(2)]
    (found,) = compare(systems, replace(SETTINGS, metrics=("auroc",)), Plan())
    one = found.differences[0]["auroc"]
    assert 0 <= one.p_value <= 1
    if positives < 5:
        assert one.interval is None
        assert "effective sample size 4" in one.no_interval
    else:
        assert one.interval.low < one.value < one.interval.high


def test_equal_files_show_no_difference(systems):
    settings = Settings(draws=99)
    (found,) = compare([systems[0], systems[0]], settings, Plan())
    for one in found.differences[0].values():
        assert one.value == 0
        assert one.p_value == 1
    verdicts = {name: one.verdict for name, one in found.differences[0].items()}
    assert verdicts["log_loss"] == "equivalent"  # to the last bit, without any margin
    assert verdicts["accuracy"] == "undecided"  # other rows might still differ, as its exact interval says
    assert verdicts["ece"] == "no evidence"


def test_verdicts_follow_the_data(systems):
    plan = Plan(margins={"log_loss": Margin(0.1), "accuracy": Margin(0.1)})
    (found,) = compare(systems, SETTINGS, plan)
    near, far = found.differences
    assert near["log_loss"].verdict == "equivalent"
    assert far["log_loss"].verdict == far["accuracy"].verdict == "worse"
    (turned,) = compare(systems[::-1], SETTINGS, plan)
    assert turned.differences[1]["log_loss"].verdict == "better"
    assert turned.differences[1]["log_loss"].value == -far["log_loss"].value


def test_an_infinite_loss_is_worse_than_any_finite_one(predict):
    labels = np.arange(200) % 2
    right = np.where(labels[:, None] == [0, 1], 0.8, 0.2)
    once_impossible = right.copy()
    once_impossible[0] = [0, 1]
    pair = [predict(right, labels), predict(once_impossible, labels)]
    (found,) = compare(pair, SETTINGS, Plan())
    assert found.differences[0]["log_loss"].verdict == "worse"
    assert found.differences[0]["log_loss"].value == math.inf
    (both,) = compare([pair[1], pair[1]], SETTINGS, Plan())
    assert math.isnan(both.differences[0]["log_loss"].value)
    assert both.differences[0]["log_loss"].verdict == "untested"


def test_the_ranking_names_those_not_told_from_the_best(systems):
    (found,) = compare([systems[2], systems[1], systems[0]], SETTINGS, Plan())
    losses = [summary.estimates["log_loss"].value for summary in found.summaries]
    assert [ranked.system for ranked in found.ranking] == np.argsort(losses).tolist()
    assert [ranked.among_best for ranked in found.ranking] == [True, True, False]
    corrected = [ranked.to_best.corrected_p for ranked in found.ranking[1:]]
    assert corrected == holm([ranked.to_best.p_value for ranked in found.ranking[1:]]).tolist()


def test_many_systems_can_still_be_told_from_the_best(systems):
    many = [systems[0]] + [systems[2]] * 30
    (found,) = compare(many, replace(SETTINGS, metrics=("log_loss",)), Plan())
    assert [ranked.among_best for ranked in found.ranking] == [True] + [False] * 30


def test_the_best_by_log_loss_may_cost_accuracy(predict):
    labels = np.zeros(100, int)
    modest = np.full((100, 2), 0.5)
    modest[:, 0] = np.where(np.arange(100) < 80, 0.7, 0.4)
    sure = np.where(np.arange(100) < 90, 0.99, 1e-6)
    systems = [predict(np.stack([p, 1 - p], 1), labels) for p in (modest[:, 0], sure)]
    (found,) = compare(systems, SETTINGS, Plan())
    assert found.ranking[0].system == 0
    assert found.most_accurate == 1
    assert found.accuracy_cost.value == pytest.approx(-0.1)


def test_slices_are_corrected_for_their_number(systems):
    column = np.array(["a", "b", "c"] * 100)
    marked = [replace(system, columns={"site": column}) for system in systems[::2]]
    whole, *parts = compare(marked, SETTINGS, Plan(by="site"))
    assert whole.part is None
    assert [str(part.part) for part in parts] == ["site=a", "site=b", "site=c"]
    found = [part.differences[0]["accuracy"] for part in parts]
    assert [one.corrected_p for one in found] == holm([one.p_value for one in found]).tolist()
    rows = column == "b"
    own = np.mean([s.scores.array[rows].argmax(1) == s.labels[rows] for s in marked], axis=1)
    assert [found[1].baseline, found[1].candidate] == pytest.approx(own)


def test_unpaired_files_may_differ_in_length_and_prove_less(predict, systems):
    first, second = systems[0], systems[1]
    shorter = predict(second.scores.array[:200], second.labels[:200], "logits")
    (unpaired,) = compare([first, shorter], SETTINGS, Plan(paired=False))
    (paired,) = compare([first, second], SETTINGS, Plan())
    widths = [
        found.differences[0]["log_loss"].interval.high - found.differences[0]["log_loss"].interval.low
        for found in (paired, unpaired)
    ]
    assert widths[1] > 3 * widths[0]


@pytest.mark.parametrize(
    "metric", ["log_loss", "auroc", "ece", "cw_ece", "skce", "smooth_ece", "calibration_loss"]
)
def test_rows_that_are_repeated_as_a_cluster_prove_no_more(predict, systems, metric):
    settings = replace(SETTINGS, metrics=(metric,), cluster="video", draws=49)
    once = [replace(system, columns={"video": np.arange(300)}) for system in systems[:2]]
    often = [
        replace(predict(np.repeat(s.scores.array, 4, 0), np.repeat(s.labels, 4), "logits"), columns=columns)
        for s, columns in zip(systems, ({"video": np.repeat(np.arange(300), 4)}, {}), strict=False)
    ]
    plan = Plan(ranked_by="log_loss")
    first, again, blind = (
        compare(pair, one, plan)[0].differences[0][metric]
        for pair, one in ((once, settings), (often, settings), (often, replace(settings, cluster=None)))
    )
    if metric in ("skce", "calibration_loss"):  # other pairs of rows, and other folds
        assert again.value == pytest.approx(first.value, abs=0.02)
        return
    assert (again.value, again.p_value) == pytest.approx((first.value, first.p_value), abs=1e-9)
    if first.interval is not None:
        assert again.power.detectable == pytest.approx(first.power.detectable, abs=1e-9)
        assert [again.interval.low, again.interval.high] == pytest.approx(
            [first.interval.low, first.interval.high], abs=1e-9
        )
        assert blind.interval.high - blind.interval.low < 0.7 * (again.interval.high - again.interval.low)


def test_every_metric_is_tested(systems, binary):
    several = [name for name, metric in METRICS.items() if metric.family.name != "classical"]
    integrals = [name for name in METRICS if name.endswith(("beta_score", "weighted_risk"))]
    of_two = (*integrals, "cllr", "min_cllr", "precision", "recall", "f1", "net_benefit")
    several = [name for name in several if name not in of_two]
    settings = replace(SETTINGS, metrics=tuple(several), draws=9, decision_column="by")
    decided = [replace(one, columns={"by": np.resize(one.classes, one.n_rows)}) for one in systems[::2]]
    decided[1] = replace(decided[1], columns={"by": decided[1].columns["by"][::-1]})
    (found,) = compare(decided, settings, Plan())
    untested = {name for name, one in found.differences[0].items() if one.verdict == "untested"}
    assert untested <= {"skce", *(name for name, metric in METRICS.items() if metric.family.fits)}
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 2, 80)
    pair = [binary(rng.beta(1 + 2 * labels, 2), labels) for _ in range(2)]
    classical = [name for name, metric in METRICS.items() if metric.family.name == "classical"]
    settings = replace(settings, metrics=(*classical, *of_two))
    for paired in (True, False):
        (found,) = compare(pair, settings, Plan(paired))
        assert not [name for name, one in found.differences[0].items() if math.isnan(one.p_value)]


def test_a_metric_without_direction_differs_but_is_not_worse():
    evidence = Normal(0.0, 0.15, (0.0, 0.0004), 0.0, "z")
    found = difference(parse_metric("mean_confidence"), 0.0, 0.15, evidence, Settings())
    assert found.verdict == "different"


def test_an_infinite_slope_is_neither_better_nor_worse(binary):
    labels = np.arange(200) % 2
    separated = 0.1 + 0.8 * labels
    pair = [binary(separated, labels), binary(1 - separated, labels)]
    (found,) = compare(pair, replace(SETTINGS, metrics=("calibration_slope",)), Plan())
    slope = found.differences[0]["calibration_slope"]
    assert (slope.baseline, slope.candidate) == (math.inf, -math.inf)
    assert slope.verdict == "untested"


def test_a_ranking_needs_a_direction(systems):
    with pytest.raises(UsageError, match="rank by log_loss"):
        compare(systems, SETTINGS, Plan(ranked_by="mean_confidence"))


def test_margins_are_metrics_with_positive_numbers():
    found = parse_margins(["log_loss=0.01", "ece:bins=20=0.1", "brier=5%"])
    assert found == {"log_loss": Margin(0.01), "ece:bins=20": Margin(0.1), "brier": Margin(relative=0.05)}
    for text in (
        "log_loss",
        "log_loss=x",
        "log_loss=0%",
        "log_loss=%",
        "log_loss=-1%",
        "log_loss=nan%",
        "log_loss=0",
        "log_loss=-1",
        "log_loss=nan",
        "log_loss=inf",
    ):
        with pytest.raises(UsageError, match="is not a margin"):
            parse_margins([text])
    with pytest.raises(UsageError, match="did you mean 'log_loss'"):
        parse_margins(["log_los=1"])


def test_paired_intervals_cover_the_true_difference(predict):
    """Two systems with known log-losses: 95% intervals cover in 93 to 97% of many cases; here of 400."""
    truth, wrong = np.array([0.7, 0.3]), np.array([0.55, 0.45])
    expected = float(truth @ np.log(truth) - truth @ np.log(wrong))
    rng = np.random.default_rng(3)
    settings = Settings(metrics=("log_loss",), draws=0)
    covered = 0
    for _ in range(400):
        labels = (rng.random(200) < 0.3).astype(int)
        systems = [predict(np.tile(table, (200, 1)), labels) for table in (truth, wrong)]
        (found,) = compare(systems, settings, Plan())
        ends = found.differences[0]["log_loss"].interval
        covered += ends.low <= expected <= ends.high
    assert 0.92 <= covered / 400 <= 0.98


def test_an_undefined_value_is_never_among_the_best(systems):
    settings = replace(SETTINGS, metrics=("log_loss",))
    contest = Contest(systems, settings)
    call = parse_metric("log_loss")
    for missing in (0, 1, 2):
        values = [math.nan if n == missing else value for n, value in enumerate(contest.values(call))]
        contest.values = lambda _, values=values: values
        ranked = rank(contest, call, 0.95)
        assert [one.system for one in ranked if not one.among_best][-1] == missing
        assert ranked[-1].system == missing
        assert values[ranked[0].system] == np.nanmin(values)
        del contest.values


@pytest.mark.parametrize(("classes", "compared"), [(20, True), (21, False)])
def test_class_wise_errors_of_many_classes_are_compared_if_asked_for(predict, classes, compared):
    rows = predict(np.random.default_rng(0).normal(size=(60, classes)), np.arange(60) % classes, "logits")
    assert ("cw_ece" in compared_metrics(rows, Settings(), Plan())) == compared
    assert "cw_ece" in compared_metrics(rows, Settings(metrics=("cw_ece",)), Plan())
