"""Errors under known posteriors: exact values, tests against them, true curves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, special, stats

from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.expressions import parse_metric
from calcli.core.language.settings import Settings
from calcli.works.resampling import consistency_resampling
from calcli.works.rows import posteriors_of
from calcli.works.simulation import simulate
from calcli.works.truth import require_truth, true_curve, true_error

METRICS = (
    "ece:lens=class-0:bins=10",
    "ks:lens=class-1",
    "expected_miscalibration:distance=hellinger:min_rows=50",
)


def mixture(predict, rows, seed=0, **parameters):
    """Return predictions of the mixture, and their true posteriors."""
    drawn = simulate("mixture", parameters, rows, seed)
    return predict(drawn.scores, drawn.labels, drawn.kind), predict(drawn.posteriors, drawn.labels)


def predictions_of(predictions):
    return special.softmax(predictions.scores.array, axis=1)


def test_true_errors_of_regions_ranks_and_pairs(predict):
    """Of predictions that two rows share the calibration function is their own posterior."""
    rng = np.random.default_rng(1)
    probs, truth = (np.repeat(rng.dirichlet(np.ones(4), 150), 2, axis=0) for _ in range(2))
    predictions, rows = predict(probs, np.zeros(300, int)), np.arange(300)

    def true(metric):
        groups = {"pairs": {"0": "a", "1": "b", "2": "a", "3": "b"}}
        return true_error(parse_metric(metric), predictions, truth, Settings(groups=groups))

    top, second = probs.argsort(1)[:, ::-1].T[:2]
    gap = np.abs(probs - truth)
    assert true("ece") == pytest.approx(gap[rows, top].mean())
    own = top == 2
    assert true("ece:lens=predicted-2") == pytest.approx(gap[own, 2].mean())
    assert true("ece:lens=top-2") == pytest.approx(gap[rows, second].mean())
    within = (probs - truth)[rows, top] + (probs - truth)[rows, second]
    assert true("ece:lens=within-top-2") == pytest.approx(np.abs(within).mean())
    assert true("cw_ece") == pytest.approx(gap.mean())
    assert true("mce:lens=class-2") == pytest.approx(gap[:, 2].max())
    pairs = np.abs((probs - truth)[:, [0, 2]].sum(1))
    assert true("ece:lens=pairs") == pytest.approx(pairs.mean())
    inside = (probs[:, 1] >= 0.2) & (probs[:, 1] < 0.6)
    assert true("ece:lens=class-1:region=0.2..0.6") == pytest.approx(gap[inside, 1].mean())
    tv = gap.sum(1) / 2
    vectors = "expected_miscalibration:region=class-1@0.2..0.6"
    assert true(vectors) == pytest.approx(tv[inside].mean())
    assert true("worst_miscalibration:distance=max") == pytest.approx(gap.max())
    assert true("ece_given_vector") == pytest.approx(gap[rows, top].mean())
    assert np.isnan(true("ece:lens=class-1:region=0.99999..1"))


def test_a_lens_averages_what_it_does_not_show(predict):
    """By quadrature: a confidence has two features, on either side of where the prediction changes."""
    rows = 200_000
    drawn = simulate("mixture", {"intercept": 1.0, "slope": 1.0}, rows, 0)
    predictions = predict(drawn.scores, drawn.labels, drawn.kind)

    def missed(t, norm):
        features = np.array([t, -t]) - 1
        density = (stats.norm.pdf(features - 1) + stats.norm.pdf(features + 1)) / 2
        hit = special.expit(np.array([-2, 2]) * features)
        mean = density @ hit / density.sum()
        return density.sum() * np.abs(mean - special.expit(t)) ** norm

    for norm in (1, 2):
        expected = integrate.quad(missed, 0, 12, args=(norm,), points=[1, 2, 3], limit=200)[0] ** (1 / norm)
        for lens in ("top-1",):
            call = parse_metric(f"ece:lens={lens}:norm={norm}")
            found = true_error(call, predictions, drawn.posteriors, Settings())
            assert found == pytest.approx(expected, abs=0.003), call
    call = parse_metric("ece:lens=class-1")  # shows all of two classes
    gap = np.abs(drawn.posteriors - predictions_of(predictions))
    assert true_error(call, predictions, drawn.posteriors, Settings()) == pytest.approx(gap[:, 1].mean())


VECTORS = "expected_miscalibration:lens="


@pytest.mark.parametrize("kind", ["probs", "logits"])
def test_rows_whose_largest_probabilities_are_equal_share_a_mean(predict, kind):
    """Of rows that are permutations of a few, though their sums differ in the last bits."""
    rng = np.random.default_rng(5)
    few = np.round(rng.dirichlet(np.ones(4), 30), 3) + 0.001
    probs = rng.permuted(np.repeat(few, 20, axis=0), axis=1)
    truth = rng.dirichlet(np.ones(4), 600)
    scores = np.log(probs) + 1 if kind == "logits" else probs / probs.sum(1, keepdims=True)
    predictions, owner = predict(scores, np.zeros(600, int), kind), np.repeat(np.arange(30), 20)
    for k in (1, 2, 3):
        top = probs.argsort(1)[:, ::-1][:, :k]
        shown, expected = (
            np.take_along_axis(table, top, axis=1) for table in (probs / probs.sum(1)[:, None], truth)
        )
        gap = np.stack([np.bincount(owner, column) / 20 for column in (shown - expected).T], axis=1)
        own = (np.abs(gap).sum(1) + np.abs(gap.sum(1))).mean() / 2
        found = true_error(parse_metric(f"{VECTORS}largest-{k}"), predictions, truth, Settings())
        assert found == pytest.approx(own, abs=1e-9), k


def test_vector_lenses_average_what_they_do_not_show(predict):
    """Calibrated but for which of two classes is meant: ranks and groups are right in the mean."""
    rng = np.random.default_rng(6)
    probs = rng.dirichlet(np.ones(4), 100_000)
    moved = rng.permuted(np.tile([1.0, -1.0, 0.0, 0.0], (100_000, 1)), axis=1)
    truth = probs + moved * probs.min(1, keepdims=True) * 0.9  # by the features, whatever the probabilities
    predictions = predict(probs, np.zeros(100_000, int))
    groups = {"three": {"0": "a", "1": "a", "2": "b", "3": "c"}}
    for lens in ("largest-1", "largest-2", "largest-3", "three", "class-1"):
        call = parse_metric(VECTORS + lens)
        assert true_error(call, predictions, truth, Settings(groups=groups)) < 0.006, lens
    tv = (np.abs(truth - probs).sum(1) / 2).mean()
    assert tv > 0.04
    whole = parse_metric("expected_miscalibration")
    assert true_error(whole, predictions, truth, Settings()) == pytest.approx(tv)
    each = Settings(groups={"each": {str(k): str(k) for k in range(4)}})
    assert true_error(parse_metric(VECTORS + "each"), predictions, truth, each) == pytest.approx(tv)


def test_true_errors_count_rows_by_their_weights(predict):
    """Rows in twos, of which one has all the weight, are the rows alone; without weight there is no error."""
    rng = np.random.default_rng(2)
    probs, truth = rng.dirichlet(np.ones(3), 120), rng.dirichlet(np.ones(3), 120)
    weights = np.where(probs[:, 1] < 0.5, rng.integers(0, 3, 120), 0)
    repeated = predict(np.repeat(probs, weights, axis=0), np.zeros(weights.sum(), int))
    weighted = predict(probs, np.zeros(120, int), weights=weights.astype(float))
    names = "ece", "ks", "cw_ece", "ks:lens=class-wise", "expected_miscalibration", "ece:lens=class-1:norm=2"
    for name in names:
        call = parse_metric(name)
        expected = true_error(call, repeated, np.repeat(truth, weights, axis=0), Settings())
        assert true_error(call, weighted, truth, Settings()) == pytest.approx(expected), name
    beyond = parse_metric("ece:lens=class-1:region=0.5..1")
    assert np.isnan(true_error(beyond, weighted, truth, Settings()))


def test_kl_is_infinite_where_what_happens_was_predicted_with_0(predict):
    predictions = predict([[1.0, 0.0], [0.5, 0.5]], [0, 1])
    call = parse_metric("expected_miscalibration:distance=kl")
    assert true_error(call, predictions, np.array([[0.9, 0.1], [0.5, 0.5]]), Settings()) == np.inf
    value = true_error(call, predictions, np.array([[1.0, 0.0], [0.9, 0.1]]), Settings())
    assert value == pytest.approx(special.rel_entr([0.9, 0.1], 0.5).sum() / 2)


def test_labels_that_are_certain_have_one_error(predict):
    """Posteriors of 0 and 1 leave nothing to chance: every draw has the error of these labels."""
    rng = np.random.default_rng(0)
    probs, certain = rng.dirichlet(np.ones(3), 200), np.eye(3)[rng.integers(0, 3, 200)]
    metrics = ("ece", "skce", "expected_miscalibration:min_rows=20", "cw_ece")
    found = consistency_resampling(
        predict(probs, rng.integers(0, 3, 200)), metrics, 5, posteriors=certain, rows=False
    )
    own = evaluate(predict(probs, certain.argmax(1)), Settings(metrics=metrics, draws=0, intervals=False))
    for name, null in found.items():
        assert null.mean == pytest.approx(own.estimates[name].value)
        assert null.sd == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("rows", [False, True])
def test_true_posteriors_are_rejected_as_often_as_chance_says(predict, rows):
    """While calibration, which is false, is always rejected (Vaicenavicius et al. 2019, section 4.2)."""
    p_values, calibrated = [], []
    for seed in range(40):
        predictions, posteriors = mixture(predict, 150, seed, intercept=1.0, slope=1.0)
        known = posteriors.scores.array
        nulls = consistency_resampling(predictions, METRICS[:2], 19, seed, known, rows=rows)
        p_values += [one.p_value for one in nulls.values()]
        if seed < 10:
            nulls = consistency_resampling(predictions, METRICS[:2], 19, seed, rows=rows)
            calibrated += [one.p_value for one in nulls.values()]
    assert max(calibrated) < 0.051
    rejected = sum(p <= 0.2 for p in p_values)
    assert stats.binomtest(rejected // 2, 40, 0.2).pvalue > 0.001  # two metrics of the same data are one test


def test_posteriors_of_other_rows_are_refused(predict):
    predictions, posteriors = mixture(predict, 50)
    fewer = predict(posteriors.scores.array[:40], np.zeros(40, int))
    with pytest.raises(InputError, match="has 40 rows; expected the 50"):
        posteriors_of(fewer, predictions)
    labels, probs = predictions.labels, posteriors.scores.array
    order = np.argsort(labels, kind="stable")
    different = np.count_nonzero(labels[order] != labels)
    with pytest.raises(InputError, match=f"different labels in {different} of 50 rows"):
        posteriors_of(predict(probs[order], labels[order]), predictions)
    for metric in ("log_loss", "smooth_ece", "cw_ece:weights=inverse-frequency"):
        with pytest.raises(UsageError, match="its true value is not computed"):
            require_truth(parse_metric(metric))


def test_the_true_curve_of_the_mixture_is_the_posterior(predict):
    predictions, posteriors = mixture(predict, 5000, intercept=1.0, slope=1.0)
    known = posteriors.scores.array
    score, frequency = true_curve(predictions, known, "class-0", "all", Settings())
    np.testing.assert_allclose(frequency, special.expit(-2 * (special.logit(score) - 1)), atol=0.01)
    score, _ = true_curve(predictions, known, "class-0", "0.2..0.4", Settings())
    assert 0.2 <= score.min() < score.max() < 0.4
