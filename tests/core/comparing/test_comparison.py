"""Differences of systems: against plain loops, scikit-learn and known truths."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict, replace

import numpy as np
import pytest
from scipy.special import expit, log_softmax
from scipy.stats import binomtest, sem, t
from sklearn.metrics import roc_auc_score

from calcli.core.comparing.comparison import Plan, compare, compared_metrics, parse_margins
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.estimators.evidence import Margin
from calcli.core.evaluating import usual
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.errors import UsageError
from calcli.core.language.metrics import METRICS
from calcli.core.language.settings import Settings
from calcli.core.state import sample

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


def test_paired_scores_have_the_spread_of_the_differences_of_rows(systems):
    first, second = systems[:2]
    (paired,), (unpaired,) = (compare([first, second], SETTINGS, Plan(paired=one)) for one in (True, False))
    losses = [log_softmax(one.scores.array, axis=1)[np.arange(300), one.labels] for one in (second, first)]
    found, apart = (one.differences[0]["log_loss"] for one in (paired, unpaired))
    rows = losses[1] - losses[0]
    assert (found.value, apart.value) == pytest.approx((rows.mean(), rows.mean()), abs=1e-12)
    assert found.power.standard_error == pytest.approx(sem(rows), rel=1e-12)
    assert apart.power.standard_error == pytest.approx(np.hypot(*map(sem, losses)), rel=1e-3)
    width = found.interval.high - found.interval.low
    freedom = np.square(np.square(rows - rows.mean()).sum()) / (np.square(rows - rows.mean()) ** 2).sum()
    wrong = min((one.scores.array.argmax(axis=1) != one.labels).sum() for one in (first, second))
    assert width == pytest.approx(2 * t.ppf(0.975, min(freedom, wrong) - 1) * sem(rows), rel=0.01)


def test_unpaired_files_may_differ_in_length_and_have_weights_of_their_own(systems, binary):
    rng = np.random.default_rng(5)
    whole, light = binary(rng.random(80), [0, 1] * 40), binary(rng.random(60), [1, 0] * 30, rng.random(60))
    settings = replace(SETTINGS, metrics=("log_loss", "mean_gap"))
    (found,) = compare([whole, light], settings, Plan(paired=False))
    gaps = [system.scores.array[:, 1] - system.labels for system in (whole, light)]
    expected = np.average(gaps[1], weights=light.weights) - gaps[0].mean()
    assert found.differences[0]["mean_gap"].value == pytest.approx(expected)
    assert 0 < found.differences[0]["mean_gap"].p_value <= 1


def test_paired_auroc_has_delongs_variance(binary):
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 2, 60)
    scores = [np.clip(np.round(0.3 * labels + rng.random(60) * 0.7, 1), 0, 1) for _ in range(2)]
    pair = [binary(score, labels) for score in scores]
    (compared,) = compare(pair, replace(SETTINGS, metrics=("auroc",)), Plan())
    found = compared.differences[0]["auroc"]
    # DeLong et al. 1988: placements of every row among those of the other class, ties one half
    placements = []
    for score in scores:
        positive, negative = score[labels == 1, None], score[labels == 0][None]
        right = (positive > negative) + (positive == negative) / 2
        placements.append((right.mean(1), right.mean(0)))
    areas = [of_positive.mean() for of_positive, _ in placements]
    of_positive, of_negative = (after - before for before, after in zip(*placements, strict=True))
    variance = of_positive.var() / len(of_positive) + of_negative.var() / len(of_negative)
    assert [found.baseline, found.candidate] == pytest.approx(areas, abs=1e-12)
    assert found.power.standard_error**2 == pytest.approx(variance * 60 / 59, rel=1e-9)


@pytest.mark.parametrize("metric", ["ece", "cw_ece", "smooth_ece", "ace", "corp_miscalibration"])
def test_calibration_errors_are_not_tested_against_each_other(systems, metric):
    (found,) = compare(systems[::2], replace(SETTINGS, metrics=(metric,)), Plan())
    one = found.differences[0][metric]
    assert (one.verdict, one.interval, math.isnan(one.p_value)) == ("untested", None, True)
    if metric != "corp_miscalibration":
        alone = [evaluate(system, Settings((metric,), test=True, draws=99)) for system in systems[::2]]
        for summary, own in zip(found.summaries, alone, strict=True):
            assert summary.estimates[metric].if_calibrated == own.estimates[metric].if_calibrated


def test_class_wise_errors_of_many_rows_stand_without_draws(systems, monkeypatch):
    settings = replace(SETTINGS, metrics=("cw_ece",))
    (few,) = compare(systems[::2], settings, Plan())
    monkeypatch.setattr(usual, "MANY", 10)
    monkeypatch.setattr(usual, "TESTED", 10)
    (many,) = compare(systems[::2], settings, Plan())
    for drawn, own in zip(few.summaries, many.summaries, strict=True):
        assert own.estimates["cw_ece"].value == pytest.approx(drawn.estimates["cw_ece"].value, abs=1e-12)
        assert drawn.estimates["cw_ece"].if_calibrated is not None
        assert own.estimates["cw_ece"].if_calibrated is None


@pytest.mark.parametrize("positives", [4, 5])
def test_a_difference_of_areas_needs_five_rows_of_each_class_for_an_interval(binary, positives):
    rng = np.random.default_rng(3)
    labels = (np.arange(200) < positives).astype(int)
    systems = [binary(np.where(labels, 0.6, rng.random(200)), labels) for _ in range(2)]
    (found,) = compare(systems, replace(SETTINGS, metrics=("auroc",)), Plan())
    one = found.differences[0]["auroc"]
    assert math.isnan(one.p_value) == (positives < 5)
    if positives < 5:
        assert one.interval is None
        assert one.no_interval == "4 rows carry nearly all of it; an interval needs 5"
    else:
        assert one.interval.low < one.value < one.interval.high


def test_equal_files_show_no_difference(systems):
    settings = Settings(draws=99)
    (found,) = compare([systems[0], systems[0]], settings, Plan())
    accuracy = found.differences[0].pop("accuracy")
    assert (accuracy.value, accuracy.p_value, accuracy.verdict) == (0, 1, "undecided")  # others might differ
    tested = [one for one in found.differences[0].values() if not one.metric.entry.family.has_null]
    assert [(one.value, one.verdict, one.interval) for one in tested] == [(0, "equal", None)] * len(tested)
    assert all(math.isnan(one.p_value) for one in tested)
    assert len(tested) >= 3


def test_differences_of_rounding_noise_are_equal(systems, predict):
    noise = 1e-13 * np.random.default_rng(0).normal(size=(300, 3))
    pair = [systems[0], predict(systems[0].scores.array + noise, systems[0].labels, "logits")]
    (found,) = compare(pair, replace(SETTINGS, metrics=("log_loss", "brier", "mean_gap")), Plan())
    for one in found.differences[0].values():
        assert 0 < abs(one.value) < 1e-13
        assert (one.verdict, one.interval) == ("equal", None)


def fields_of(difference):
    """Return the fields as text, in which nan is like nan."""
    return repr(asdict(difference))


@pytest.mark.parametrize(("rows", "lost"), [(12, 6), (30, 4), (60, 5), (200, 24)])
def test_few_discordant_rows_have_one_test_and_its_interval(binary, rows, lost):
    """McNemar's exact test by scipy; the interval excludes 0 if and only if p is at most 5%."""
    right = np.ones(rows, int)
    pair = [binary(np.full(rows, 0.9), right), binary(np.where(np.arange(rows) < lost, 0.1, 0.9), right)]
    (found,) = compare(pair, replace(SETTINGS, metrics=("accuracy",)), Plan(ranked_by="accuracy"))
    one = found.differences[0]["accuracy"]
    assert one.p_value == pytest.approx(binomtest(lost, lost).pvalue, rel=1e-9)
    assert one.interval.contains(0) == (one.p_value > 0.05) == (one.verdict == "undecided")
    assert fields_of(found.ranking[1].to_best) == fields_of(replace(one, p_over_metrics=math.nan))


def test_verdicts_follow_the_data(systems):
    plan = Plan(margins={"log_loss": Margin(0.1), "accuracy": Margin(0.1)})
    (found,) = compare(systems, SETTINGS, plan)
    near, far = found.differences
    assert near["log_loss"].verdict == "equivalent"
    assert far["log_loss"].verdict == far["accuracy"].verdict == "worse"
    (turned,) = compare(systems[::-1], SETTINGS, plan)
    assert turned.differences[1]["log_loss"].verdict == "better"
    assert turned.differences[1]["log_loss"].value == -far["log_loss"].value
    (found,) = compare(systems[::2], replace(SETTINGS, metrics=("mean_confidence",)), plan)
    assert found.differences[0]["mean_confidence"].verdict == "different"  # and neither is better


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
    alone = [ranked.to_best.p_value for ranked in found.ranking[1:]]
    # three pairs: max-T takes at least the p-value itself, and at most Bonferroni's
    assert all(p <= q <= 3 * p for p, q in zip(alone, corrected, strict=True))


def test_a_pair_has_one_verdict_in_the_ranking_and_in_the_differences(systems):
    (found,) = compare([systems[0], systems[2], systems[1]], SETTINGS, Plan())
    assert found.ranking[0].system == 0
    for ranked in found.ranking[1:]:
        one = replace(found.differences[ranked.system - 1]["log_loss"], p_over_metrics=math.nan)
        assert fields_of(ranked.to_best) == fields_of(one)
        assert one.interval.contains(0) == (one.corrected_p > 0.05)
        (alone,) = compare(
            [systems[0], [*systems[:1], systems[2], systems[1]][ranked.system]], SETTINGS, Plan()
        )
        width = alone.differences[0]["log_loss"].interval
        assert one.interval.high - one.interval.low > width.high - width.low


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
    low, middle, high = np.argsort([one.p_value for one in found])
    assert found[low].corrected_p == 3 * found[low].p_value
    assert found[middle].corrected_p == max(3 * found[low].p_value, 2 * found[middle].p_value)
    assert found[high].corrected_p == max(2 * found[middle].p_value, found[high].p_value)
    rows = column == "b"
    own = np.mean([s.scores.array[rows].argmax(1) == s.labels[rows] for s in marked], axis=1)
    assert [found[1].baseline, found[1].candidate] == pytest.approx(own)


@pytest.mark.parametrize("metric", ["log_loss", "auroc", "calibration_loss"])
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
    if metric == "calibration_loss":  # other folds
        assert again.value == pytest.approx(first.value, abs=0.02)
        return
    assert (again.value, again.p_value) == pytest.approx((first.value, first.p_value), abs=1e-9)
    if first.interval is not None:
        assert again.power.detectable == pytest.approx(first.power.detectable, abs=1e-9)
        assert [again.interval.low, again.interval.high] == pytest.approx(
            [first.interval.low, first.interval.high], abs=1e-9
        )
        assert blind.interval.high - blind.interval.low < 0.7 * (again.interval.high - again.interval.low)


def test_every_metric_with_influences_is_tested(systems, binary):
    of_two = {name for name in METRICS if name.endswith(("beta_score", "weighted_risk"))}
    of_two |= {"cllr", "min_cllr", "precision", "recall", "specificity", "f1", "net_benefit"}
    of_two |= {"alert_rate", "prevalence", "threshold_cost"}
    of_two |= {name for name, metric in METRICS.items() if metric.family.name == "classical"}
    never = {name for name, metric in METRICS.items() if not metric.family.has_interval_of_difference}
    never |= {"coverage", *(name for name, metric in METRICS.items() if metric.family.fits)}
    settings = replace(SETTINGS, draws=9, decision_column="by")
    decided = [
        replace(one, columns={"by": np.resize(one.classes, 300)[::step]})
        for one, step in zip(systems[::2], (1, -1), strict=True)
    ]
    (found,) = compare(decided, replace(settings, metrics=tuple(METRICS.keys() - of_two)), Plan())
    assert {name for name, one in found.differences[0].items() if one.verdict == "untested"} <= never
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 2, 200)
    pair = [binary(rng.beta(1 + 2 * labels, 2), labels) for _ in range(2)]
    for paired in (True, False):
        (found,) = compare(pair, replace(settings, metrics=tuple(of_two - never)), Plan(paired))
        assert not [name for name, one in found.differences[0].items() if math.isnan(one.p_value)]


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


@pytest.mark.parametrize(("classes", "compared"), [(20, True), (21, False)])
def test_class_wise_errors_of_many_classes_are_compared_if_asked_for(predict, classes, compared):
    rows = predict(np.random.default_rng(0).normal(size=(60, classes)), np.arange(60) % classes, "logits")
    assert ("cw_ece" in compared_metrics(rows, Settings(), Plan())) == compared
    assert "cw_ece" in compared_metrics(rows, Settings(metrics=("cw_ece",)), Plan())


def test_paired_intervals_cover_the_true_difference(predict):
    """Two systems with known log-losses; of 200 cases 190 are expected."""
    truth, wrong = np.array([0.7, 0.3]), np.array([0.55, 0.45])
    expected = float(truth @ np.log(truth) - truth @ np.log(wrong))
    rng, covered = np.random.default_rng(3), 0
    for _ in range(200):
        labels = (rng.random(200) < 0.3).astype(int)
        pair = [predict(np.tile(table, (200, 1)), labels) for table in (truth, wrong)]
        (found,) = compare(pair, Settings(metrics=("log_loss",), draws=0), Plan())
        covered += found.differences[0]["log_loss"].interval.contains(expected)
    assert 182 <= covered <= 197


def test_an_undefined_value_is_never_among_the_best(binary):
    """Of three systems one, wherever it stands, has no row in the region."""
    rng = np.random.default_rng(0)
    labels, metric = rng.integers(0, 2, 100), "ece:region=0.9..1"
    for missing in (0, 1, 2):
        files = [binary(0.5 + 0.35 * rng.random(100) + 0.15 * (n != missing), labels) for n in range(3)]
        (found,) = compare(files, replace(SETTINGS, metrics=(metric,)), Plan(ranked_by=metric))
        assert found.ranking[-1].system == missing
        assert not found.ranking[-1].among_best
        best = [one.estimates[metric].value for one in found.summaries]
        assert best[found.ranking[0].system] == np.nanmin(best)


def test_the_sample_of_one_system_is_compared_with_all_rows_of_another(predict, monkeypatch):
    """The area of two classes is told by all rows, that of three by a sample where scores are many."""
    monkeypatch.setattr(usual, "MANY", 1_000)
    monkeypatch.setattr(sample, "MOST", 300)
    rng = np.random.default_rng(0)
    tables = [rng.normal(size=(900, classes)) for classes in (2, 3)]
    labels = [(table + rng.gumbel(size=table.shape)).argmax(1) for table in tables]
    systems = [predict(*rows, "logits") for rows in zip(tables, labels, strict=True)]
    (found,) = compare(systems, replace(SETTINGS, metrics=("log_loss", "auroc")), Plan(paired=False))
    area = found.differences[0]["auroc"]
    assert area.rows == (900, 300)
    assert area.baseline == pytest.approx(roc_auc_score(labels[0], tables[0][:, 1] - tables[0][:, 0]))
    assert area.interval.low < area.value < area.interval.high
    assert found.differences[0]["log_loss"].rows == ()


def test_margins_are_metrics_with_positive_numbers():
    found = parse_margins(["log_loss=0.01", "ece:bins=20=0.1", "brier=5%"])
    assert found == {"log_loss": Margin(0.01), "ece:bins=20": Margin(0.1), "brier": Margin(relative=0.05)}
    for amount in ("", "=x", "=0%", "=%", "=-1%", "=nan%", "=0", "=-1", "=nan", "=inf"):
        with pytest.raises(UsageError, match="is not a margin"):
            parse_margins([f"log_loss{amount}"])
    with pytest.raises(UsageError, match="did you mean 'log_loss'"):
        parse_margins(["log_los=1"])


TARGETED = tuple(name for name, metric in METRICS.items() if metric.target is not None)


def verdicts(metric, old, new, rows, sets):
    """Count the verdicts on a system that turns true log-odds to `new` after one that turns them to `old`."""
    rng, found = np.random.default_rng(0), Counter()
    for _ in range(sets):
        true = rng.normal(0, 2, rows)
        labels = (rng.random(rows) < expit(true)).astype(int)
        pair = [
            Predictions(ArrayScores(np.stack([0 * true, turn(true)], 1), "logits"), labels, ("no", "yes"))
            for turn in (old, new)
        ]
        (compared,) = compare(pair, Settings((metric,), draws=39), Plan(ranked_by=metric))
        found[compared.differences[0][metric].verdict] += 1
    return found


@pytest.mark.parametrize(
    ("metric", "old", "new"),
    [
        ("calibration_slope", lambda z: z / 1.2, lambda z: z / 0.8),
        ("mean_gap", lambda z: z + 0.4, lambda z: z - 0.4),
    ],
)
def test_errors_of_opposite_signs_and_the_same_size_are_alike(metric, old, new):
    """The binomial 99.9% quantile of 50 verdicts at 5% is 8."""
    found = verdicts(metric, old, new, 400, 50)
    assert found["better"] + found["worse"] <= 8


def test_a_mean_gap_that_shrinks_is_better_and_one_that_grows_is_worse():
    """A factor of 1.2 on the log-odds makes a gap of 0.022, one of 1.02 a gap of 0.003."""
    found = verdicts("mean_gap:lens=top-1", lambda z: 1.2 * z, lambda z: 1.02 * z, 10_000, 20)
    assert found["better"] >= 17
    assert found["worse"] == 0
    found = verdicts("mean_gap:lens=top-1", lambda z: 0.98 * z, lambda z: 1.2 * z, 10_000, 20)
    assert found["worse"] >= 17


@pytest.mark.parametrize("metric", TARGETED)
def test_nearer_to_the_target_is_better(metric):
    """An over-confident system that predicts too much, and the calibrated one."""
    for first, second, verdict in (
        (lambda z: 2 * z + 1, lambda z: z, "better"),
        (lambda z: z, lambda z: 2 * z + 1, "worse"),
    ):
        assert verdicts(metric, first, second, 4_000, 3) == {verdict: 3}


def test_tost_proves_equivalence_by_the_inner_interval(systems):
    """The 90% interval lies within the margin, the 95% one does not."""
    (found,) = compare(systems[:2], SETTINGS, Plan())
    (inner,) = compare(systems[:2], replace(SETTINGS, level=0.9), Plan())
    ends = [
        max(-one.low, one.high) for one in (one.differences[0]["log_loss"].interval for one in (found, inner))
    ]
    plan = Plan(margins={"log_loss": Margin(sum(ends) / 2)})
    verdicts = [
        compare(systems[:2], SETTINGS, replace(plan, tost=tost))[0].differences[0]["log_loss"].verdict
        for tost in (False, True)
    ]
    assert verdicts == ["undecided", "equivalent"]
