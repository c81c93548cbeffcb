"""Calibration losses against reference fits, on simulated systems, and by their exact properties."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import special, stats
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from calcli.core.calibrators.softmax import DPAffine
from calcli.core.calibrators.temperature import Temperature
from calcli.core.comparing.comparison import Plan, compare
from calcli.core.data.arrays import Stream, generator, log_softmax
from calcli.core.data.units import random_folds
from calcli.core.estimators.costs import CostWord
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.errors import UsageError
from calcli.core.language.settings import Settings
from calcli.works.simulation import gaussian_classes

PLAIN = Settings(intervals=False, draws=0)
LOSS = "relative_calibration_loss"


def estimate(predictions, name=LOSS, calibration=None, **settings):
    found = evaluate(predictions, replace(PLAIN, metrics=(name,), **settings), calibration=calibration)
    (only,) = found.estimates.values()
    return only


def simulated(system, predict, rows=4000, seed=0, **problem):
    made = gaussian_classes(system, rows, np.random.default_rng(seed), **problem)
    return predict(made.scores, made.labels, made.kind), made


@pytest.mark.parametrize(("key", "method"), [("dp", "dp"), ("ts", "temperature")])
def test_reference_losses_with_the_folds_of_scikit_learn(key, method, golden, dataset, predict):
    for name, expected in golden.items():
        scores, labels = dataset(name)
        fold = np.empty(len(labels), int)
        splits = StratifiedKFold(5, shuffle=True, random_state=0).split(scores, labels)
        for number, (_, held_out) in enumerate(splits):
            fold[held_out] = number
        predictions = replace(predict(scores, labels, "logits"), columns={"fold": fold})
        found = estimate(predictions, fold_column="fold", name=expression(method))
        assert 100 * found.value == pytest.approx(expected[f"rcl_xv_{key}_rcl_pct_seed0"], abs=1e-4), name
        assert found.parts["before"] == pytest.approx(expected["ce_nats"], abs=1e-9)
        assert found.parts["after"] == pytest.approx(expected[f"rcl_xv_{key}_ce_seed0"], rel=1e-6)
        found = estimate(predictions, expression(method, "test"))
        assert 100 * found.value == pytest.approx(expected[f"rcl_tot_{key}_rcl_pct"], abs=1e-4), name


def expression(method="dp", training="cross-validation", score="log_loss", name=LOSS):
    arguments = {"score": score, "recalibrator": method, "training": training}
    usual = {"score": "log_loss", "recalibrator": "affine", "training": "cross-validation"}
    return ":".join([name, *(f"{key}={value}" for key, value in arguments.items() if usual[key] != value)])


def test_wrong_priors_are_found_by_dp_and_missed_by_temperature_and_wrong_scales_found_by_both(predict):
    for system, methods in (("mcp", ["dp"]), ("mcs", ["dp", "temperature"])):
        predictions, made = simulated(system, predict)
        truth = log_loss(made.labels, made.posteriors)
        for method in methods:
            assert estimate(predictions, expression(method)).parts["after"] == pytest.approx(truth, abs=0.003)
        won = estimate(predictions, expression("temperature")).value / estimate(predictions).value
        assert (won < 0.3) == (system == "mcp")


def test_the_loss_is_what_the_score_loses(predict):
    predictions, _ = simulated("mcs", predict, 500, n_classes=3)
    for score in ("log_loss", "brier"):
        absolute = estimate(predictions, expression(score=score, name="calibration_loss"))
        relative = estimate(predictions, expression(score=score))
        assert relative.parts == absolute.parts
        assert absolute.parts["before"] == pytest.approx(estimate(predictions, score).value, abs=1e-12)
        assert absolute.value == absolute.parts["before"] - absolute.parts["after"]
        assert relative.value == absolute.value / absolute.parts["before"]


def test_the_isotonic_fit_is_the_bound_for_two_classes(predict):
    predictions, made = simulated("mcps", predict, 600)
    odds = made.scores[:, 1] - made.scores[:, 0]
    fitted = IsotonicRegression().fit_transform(odds, made.labels)
    found = estimate(predictions, expression("pav", "test"))
    assert found.parts["after"] == pytest.approx(log_loss(made.labels, fitted), abs=1e-9)
    assert found.value >= estimate(predictions, expression(training="test")).value


def test_files_that_metrics_need(predict):
    predictions, _ = simulated("mcs", predict, 60)
    with pytest.raises(UsageError, match="--calibration-data FILE"):
        estimate(predictions, expression(training="held-out"))


def test_copies_of_a_row_win_nothing_when_they_are_a_cluster(predict):
    """Thirty copies of few rows can be learned by heart unless they stay together."""
    rng = np.random.default_rng(1)
    scores, labels = np.repeat(rng.normal(size=(30, 2)), 30, axis=0), np.repeat(rng.integers(0, 2, 30), 30)
    predictions = replace(predict(scores, labels, "logits"), columns={"row": np.repeat(np.arange(30), 30)})
    heart = estimate(predictions, expression("histogram")).value
    assert estimate(predictions, expression("histogram"), cluster="row").value < heart - 0.1


def test_a_weight_is_a_row_repeated_in_the_same_fold(predict):
    predictions, made = simulated("mcps", predict, 200, n_classes=3)
    times = np.random.default_rng(0).integers(0, 4, 200)
    fold = np.arange(200) % 4
    weighted = replace(predictions, weights=times.astype(float), columns={"fold": fold})
    again = predict(np.repeat(made.scores, times, axis=0), np.repeat(made.labels, times), "log-probs")
    again = replace(again, columns={"fold": np.repeat(fold, times)})
    for score in ("log_loss", "brier"):
        both = (estimate(one, expression(score=score), fold_column="fold").value for one in (weighted, again))
        assert next(both) == pytest.approx(next(both), abs=1e-7)


@pytest.mark.parametrize("labels", [[0], [0, 0], [0, 1, 0]])
def test_few_rows_and_one_class_are_no_reason_to_fail(labels, predict):
    predictions = predict(np.tile([0.7, 0.2, 0.1], (len(labels), 1)), labels)
    value = estimate(predictions).value
    assert np.isnan(value) == (len(labels) == 1)


def test_an_infinite_score_has_no_relative_loss(predict):
    predictions = predict([[1.0, 0.0], [0.4, 0.6], [0.7, 0.3], [0.2, 0.8]], [1, 1, 0, 1])
    assert np.isnan(estimate(predictions).value)
    clipped = estimate(predictions, clip=1e-3)
    assert clipped.parts["before"] == pytest.approx(-np.log([1e-3, 0.6, 0.7, 0.8]).mean())
    assert np.isfinite(clipped.value)


@pytest.mark.parametrize("training", ["cross-validation", "test"])
def test_a_loss_of_a_transform_of_the_same_rows_has_no_interval(training, predict):
    predictions, _ = simulated("mcps", predict, 200)
    found = estimate(predictions, f"calibration_loss:training={training}", intervals=True)
    assert found.interval is None
    assert found.no_interval == (
        "the recalibration is fitted to these rows; --calibration-data fits it to other rows"
    )


def test_the_standard_error_is_the_spread_over_data_sets(predict):
    every = [estimate(simulated("mcs", predict, 200, seed)[0], "calibration_loss") for seed in range(40)]
    errors = [one.parts["standard_error"] for one in every]
    assert np.mean(errors) == pytest.approx(np.std([one.value for one in every], ddof=1), rel=0.3)


def test_the_standard_error_of_copies_in_clusters(predict):
    predictions, made = simulated("mcs", predict, 300)
    row = np.repeat(np.arange(300), 3)
    copies = predict(made.scores[row], made.labels[row], "logits")
    copies = replace(copies, columns={"row": row, "fold": row % 5})
    alone = replace(predictions, columns={"fold": np.arange(300) % 5})
    first, clustered, apart = (
        estimate(one, expression("dp"), fold_column="fold", cluster=by).parts
        for one, by in ((alone, None), (copies, "row"), (copies, None))
    )
    for name in ("standard_error", "relative_standard_error"):
        assert clustered[name] == pytest.approx(first[name], rel=1e-6)
        rounding = 1e-6 if name == "standard_error" else 0.1  # a ratio bends, the more so of few rows
        assert apart[name] == pytest.approx(first[name] / np.sqrt(3), rel=rounding)


def divergence_of(score):
    return expression(training="held-out", score=score, name="score_divergence")


def frozen(predict, probs):
    """Return other rows of as many classes, and what a map that is fitted to them makes of probabilities."""
    rng, classes = np.random.default_rng(9), probs.shape[1]
    logits = rng.normal(size=(400, classes))
    labels = (0.4 * logits + rng.gumbel(size=logits.shape)).argmax(1)
    calibration = predict(special.softmax(logits, axis=1), labels)
    fitted = DPAffine().fit(np.log(calibration.scores.array), labels)
    return calibration, np.exp(fitted.apply(np.log(probs)))


@pytest.mark.parametrize("score", ["log_loss", "brier"])
def test_an_expected_score_is_entropy_plus_divergence(score, predict):
    rng = np.random.default_rng(0)
    q = rng.dirichlet(np.ones(4), 50)
    calibration, p = frozen(predict, q)
    if score == "log_loss":
        entropy, divergence = special.entr(p).sum(1), special.rel_entr(p, q).sum(1)
    else:
        entropy, divergence = 1 - np.square(p).sum(1), np.square(p - q).sum(1)
    labels = rng.integers(0, 4, 50)
    found = estimate(predict(q, labels), divergence_of(score), calibration)
    assert found.value == pytest.approx(divergence.mean(), abs=1e-12)
    assert found.parts == {
        "expected_score": pytest.approx((entropy + divergence).mean()),
        "entropy": pytest.approx(entropy.mean()),
    }


def test_at_the_optimum_over_a_scale_the_score_is_expected(predict):
    """The derivative in a scale of the scores is the score minus the expected score."""
    for system in ("cal", "mcs", "mcp", "mcps"):
        predictions, _ = simulated(system, predict)
        for method in ("dp", "temperature"):
            found = estimate(predictions, expression(method, "test", name="expected_score"))
            assert found.value == pytest.approx(found.parts["score"], rel=1e-6)


# Ferrer & Ramos 2024, table 1, 20,000 rows: unexplained percent of the normalized log-loss under posteriors
# recalibrated on the test data or in cross-validation, as the notebook behind it prints them
TABLE_1 = {
    "cal": {"dp": 0, "temperature": 0, "histogram": -9},
    "mcs": {"dp": 0, "temperature": 0, "histogram": -132},
    "mcp": {"dp": 0, "temperature": 28, "histogram": -17},
    "mcps": {"dp": 0, "temperature": 28, "histogram": -82},
}


HISTOGRAM = "histogram/bins=15/binning=equal-width/smoothing=0"


@pytest.mark.parametrize("training", ["test", "cross-validation"])
@pytest.mark.parametrize("system", TABLE_1)
def test_table_1_of_ferrer_and_ramos(system, training, predict):
    predictions, _ = simulated(system, predict, 20_000, prior=0.8)
    for method, printed in TABLE_1[system].items():
        used = HISTOGRAM if method == "histogram" else method
        found, whole = (
            estimate(predictions, expression(used, training, name=name))
            for name in ("unexplained", "expected_score")
        )
        assert 100 * found.value == pytest.approx(printed, abs=1.5, rel=0.06), method
        assert whole.parts["unexplained"] == found.value


def test_by_pav_on_its_own_rows_costs_are_actual_minus_minimum(predict):
    """The least over all thresholds of the score (Ferrer & Ramos 2024, eq. 30; section 2.4.2)."""
    predictions, made = simulated("mcps", predict, 500)
    second, labels = made.scores[:, 1], made.labels
    for amount, name in ((1, "zero-one"), (10, "imbalanced")):
        costs = (CostWord("imbalanced", "imbalanced", 10, predictions.classes[0]),)
        cost = np.where(labels == 0, amount, 1)
        risks = [cost[(second >= at) != labels].sum() / 500 for at in [*second, np.inf]]
        score = f"bayes_risk/costs={name}"
        found = estimate(predictions, expression("pav", "test", score, "calibration_loss"), costs=costs)
        (actual,) = evaluate(
            predictions, replace(PLAIN, metrics=(f"bayes_risk:costs={name}",), costs=costs)
        ).estimates.values()
        assert found.parts["before"] == pytest.approx(actual.value, abs=1e-12)
        assert found.parts["after"] == pytest.approx(min(risks), abs=1e-12)
        assert found.value == pytest.approx(actual.value - min(risks), abs=1e-12)


def test_parts_of_beta_scores_are_those_of_the_rules_they_are(predict):
    predictions, _ = simulated("mcps", predict, 500)
    for rule, (a, b), factor in (("log_loss", (1, 1), 1), ("brier", (2, 2), 3)):
        for name in ("calibration_loss", "expected_score", "score_divergence"):
            one = estimate(predictions, expression(score=rule, name=name))
            beta = estimate(predictions, expression(score=f"beta_score/a={a}/b={b}", name=name))
            assert beta.value == pytest.approx(factor * one.value, abs=1e-6), (rule, name)


def test_the_divergence_of_costs_is_what_other_decisions_cost_more(predict):
    """d(s, q) = C*(s, q) - C*(s, s) (Ferrer & Ramos 2024, eq. 26), by hand."""
    rng = np.random.default_rng(1)
    q = rng.dirichlet(np.ones(4), 50)
    labels, rows = rng.integers(0, 4, 50), np.arange(50)
    calibration, p = frozen(predict, q)
    cost = np.column_stack([1 - np.eye(4), np.full(4, 0.3)])
    risk = p @ cost
    paid, least = risk[rows, (q @ cost).argmin(1)], risk.min(1)
    costs = (CostWord("abstain", "abstain", 0.3),)
    predictions = predict(q, labels)
    found = estimate(predictions, divergence_of("bayes_risk"), calibration, costs=costs)
    assert "costs=abstain" in str(found.metric)  # the only costs there are
    assert found.value == pytest.approx((paid - least).mean(), abs=1e-12)
    wrong = 1 - p[rows, q.argmax(1)]
    found = estimate(
        predictions, expression(training="held-out", score="error_rate", name="expected_score"), calibration
    )
    assert found.value == pytest.approx(wrong.mean(), abs=1e-12)


def test_the_absolute_distance_by_hand(predict):
    rng = np.random.default_rng(0)
    q = rng.dirichlet(np.ones(3), 50)
    labels = rng.integers(0, 3, 50)
    calibration, p = frozen(predict, q)
    name = "score_divergence:training=held-out:distance=l1"
    found = estimate(predict(q, labels), name, calibration, intervals=True)
    assert found.value == pytest.approx(np.abs(p - q).sum(1).mean(), abs=1e-12)
    assert found.metric.unit == "ratio"
    assert (
        found.parts["score_divergence"]
        == estimate(predict(q, labels), divergence_of("log_loss"), calibration).value
    )
    assert found.interval.low < found.value < found.interval.high


def test_normalized_beta_scores_are_the_normalized_scores_they_are(predict):
    predictions, _ = simulated("mcps", predict, 1000)
    for (a, b), name in (((1, 1), "normalized_log_loss"), ((2, 2), "normalized_brier")):
        beta = estimate(predictions, f"normalized_beta_score:a={a}:b={b}", intervals=True)
        other = estimate(predictions, name, intervals=True)
        assert beta.value == pytest.approx(other.value, abs=1e-6)
        assert beta.interval.low == pytest.approx(other.interval.low, abs=1e-6)


def near_perfect(predict, rows, seed=0, classes=10):
    """About one row in thirty is wrong, as of handwritten digits."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, rows)
    return predict(
        2.5 * (4 * np.eye(classes)[labels] + 1.1 * rng.normal(size=(rows, classes))), labels, "logits"
    )


def test_what_is_won_of_few_rows_hangs_little_on_the_seed(predict):
    """713 rows of 10 classes showed from -11% to +5% as the seed dealt them."""
    predictions = near_perfect(predict, 713)
    every = [estimate(predictions, seed=seed) for seed in range(5)]
    values = [one.value for one in every]
    errors = [one.parts["relative_standard_error"] for one in every]
    assert np.std(values) < 0.2 * min(errors)
    assert {one.recalibrator for one in every} == {"temperature"}
    assert np.ptp([estimate(predictions, expression("dp"), seed=s).value for s in range(5)]) > np.ptp(values)


def test_the_rows_are_dealt_until_the_mean_is_steady(predict):
    """By hand: the mean over deals, its variance beside that of the rows, and where they end."""
    predictions = near_perfect(predict, 60, seed=4, classes=3)
    labels, logits = predictions.labels, predictions.scores.array
    rng, rows = generator(0, Stream.FOLDS), np.arange(60)
    before = -log_softmax(logits)[rows, labels]
    won, moved = [], []
    whole = Temperature().fit(logits, labels).apply(logits)[rows, labels]
    for number in range(20):
        fold, after = random_folds(len(labels), 5, rng), np.empty(60)
        for k in range(5):
            fitted = Temperature().fit(logits[fold != k], labels[fold != k])
            after[fold == k] = -fitted.apply(logits)[rows, labels][fold == k]
        won.append(before - after)
        moved.append(np.square(after + whole).sum() / 60**2)  # how far a row's loss is from that of all rows
        mean = np.mean(won, axis=0)
        dealing = stats.sem(np.mean(won, axis=1)) if number else np.inf
        if number >= 4 and dealing <= 0.1 * mean.std() / np.sqrt(60):
            break
    found = estimate(predictions, expression("temperature", name="calibration_loss"))
    assert len(won) == 7
    assert f"|folds:5|deals:{len(won)}|" in found.signature
    assert found.value == pytest.approx(mean.mean(), abs=1e-9)
    error = np.sqrt(mean.var() / 60 + 4 * np.mean(moved) + dealing**2)  # 5 folds less one: the jackknife
    assert found.parts["standard_error"] == pytest.approx(error, rel=1e-6)


@pytest.mark.parametrize(("rows", "deals"), [(5_000, 4), (9_000, 2), (21_000, 1)])
def test_many_rows_are_dealt_less_often(rows, deals, predict):
    predictions, _ = simulated("mcps", predict, rows)
    assert f"|deals:{deals}|" in estimate(predictions).signature
    given = replace(predictions, columns={"fold": np.arange(rows) % 5})
    assert "|folds:fold|" in estimate(given, fold_column="fold").signature


@pytest.mark.parametrize(
    ("counts", "carried"),
    [((100, 100), "dp"), ((99, 5_000), "temperature"), ((100, 5_000), "dp"), ((71,) * 10, "temperature"),
     ((50, 50, 300, 100), "temperature"), ((50, 150, 300, 100), "dp"), ((300, 0), "temperature")],
)  # fmt: skip
def test_the_affine_map_is_one_that_the_rows_can_carry(counts, carried, predict):
    labels = np.repeat(np.arange(len(counts)), counts)
    scores = np.eye(len(counts))[(labels + (np.arange(len(labels)) % 2)) % len(counts)]
    rows = predict(scores, labels, "logits")
    assert estimate(rows).recalibrator == carried
    assert estimate(replace(rows, weights=np.full(len(labels), 7.0))).recalibrator == carried


@pytest.mark.parametrize(("errors", "carried"), [(8, "temperature"), (14, "temperature"), (15, "dp")])
def test_nearly_perfect_rows_carry_a_temperature_alone(errors, carried, predict):
    labels = np.arange(3_000) % 3
    scores = np.eye(3)[np.where(np.arange(3_000) < errors, (labels + 1) % 3, labels)]
    assert estimate(predict(scores, labels, "logits")).recalibrator == carried


def test_rows_of_other_files_and_clusters_count_as_they_teach(predict):
    many, few = simulated("mcps", predict, 900)[0], simulated("mcps", predict, 90, seed=1)[0]
    assert estimate(many).recalibrator == "dp"
    held_out = f"{LOSS}:training=held-out"
    assert estimate(many, held_out, few).recalibrator == "temperature"
    assert estimate(few, held_out, many).recalibrator == "dp"
    clusters = replace(many, columns={"of": np.arange(900) % 60})
    assert estimate(clusters, cluster="of").recalibrator == "temperature"
    assert "|recalibrator:temperature|" in estimate(few).signature


def test_intervals_cover_the_true_difference_of_systems(predict):
    """A calibrated system and the same with doubled logits, whose calibration loss is known by simulation."""
    rng = np.random.default_rng(1)

    def draw(rows):
        logits = rng.normal(0, 1.5, size=(rows, 2))
        chance = special.expit(logits[:, 1] - logits[:, 0])
        return logits, (rng.random(rows) < chance).astype(int)

    def loss(logits, labels):
        return -log_softmax(logits)[np.arange(len(labels)), labels]

    logits, labels = draw(400_000)
    expected = (loss(2 * logits, labels) - loss(logits, labels)).mean()
    name, covered = "calibration_loss:recalibrator=temperature", 0
    for _ in range(25):
        logits, labels = draw(300)
        systems = [predict(table, labels, "logits") for table in (logits, 2 * logits)]
        (found,) = compare(systems, Settings(metrics=(name,), draws=0), Plan(ranked_by=name))
        covered += found.differences[0][name].interval.contains(expected)
    assert covered >= 21  # 24 are expected; 20 or fewer happen once in 140 times


def test_a_transform_of_other_rows_is_frozen_in_intervals(predict):
    """Appendix E of Ferrer & Ramos 2024: the spread is that of the rows under one fit."""
    predictions, made = simulated("mcps", predict, 400)
    few, other = simulated("mcps", predict, 40, seed=1)
    beside, name = few, expression(training="held-out", name="calibration_loss")
    frozen = estimate(predictions, name, beside, intervals=True)
    before, after = made.scores, DPAffine().fit(other.scores, other.labels).apply(made.scores)
    rows = np.arange(400), made.labels
    won = after[rows] - before[rows]
    drawn = np.random.default_rng(0).choice(won, (2000, 400)).mean(axis=1)
    expected = np.quantile(drawn, [0.025, 0.975])
    width = np.ptp(expected)
    found = [frozen.interval.low, frozen.interval.high]
    np.testing.assert_allclose(found, expected, atol=0.15 * width)
    assert frozen.value == pytest.approx(won.mean(), abs=1e-9)
    assert "interval:jackknife" in frozen.signature
