from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.calibration import _sigmoid_calibration

from calcli.core.calibrators.histogram import Histogram, ScalingBinning
from calcli.core.data.binning import equal_mass_cuts
from calcli.core.language.errors import UsageError

SPLIT_SETS = ["cifar10_resnet-20", "cifar10_vgg19_bn", "cifar100_vgg19_bn", "agnews_gpt2", "fvcaus_plda"]


def log_columns(q):
    with np.errstate(divide="ignore"):
        return np.log(np.column_stack([1 - q, q]))


@pytest.mark.parametrize("name", SPLIT_SETS)
@pytest.mark.parametrize(("binning", "key"), [("equal-width", "ew15"), ("equal-mass", "em15")])
def test_plain_form_on_real_splits(golden, dataset, name, binning, key):
    scores, labels = dataset(name)
    half = len(labels) // 2
    plain = Histogram(lens="top-1", keep_top=False, binning=binning, smoothing=0).fit(
        scores[:half].astype(float), labels[:half]
    )
    log_probs = plain.apply(scores[half:].astype(float))
    of_label = log_probs[np.arange(len(labels) - half), labels[half:]]
    reference = {
        k: golden[name][f"split_hist_top_{key}_{k}"]
        for k in ("n_zero_prob_true", "logloss_clip_2em52", "acc")
    }
    assert np.isneginf(of_label).sum() == reference["n_zero_prob_true"]
    assert -np.maximum(of_label, -52 * np.log(2)).mean() == pytest.approx(
        reference["logloss_clip_2em52"], rel=1e-9
    )
    assert (log_probs.argmax(1) == labels[half:]).mean() == reference["acc"]


@pytest.mark.parametrize("make", [Histogram, lambda: Histogram(binning="equal-width"), ScalingBinning])
@pytest.mark.parametrize("name", SPLIT_SETS)
def test_default_form_gives_no_class_the_probability_0(dataset, name, make):
    scores, labels = dataset(name)
    half = len(labels) // 2
    assert np.isfinite(make().fit(scores[:half], labels[:half]).apply(scores[half:])).all()


def test_frequencies_by_hand():
    q = np.array([0.05, 0.15, 0.30, 0.35, 0.62, 0.64, 0.9])
    labels = np.array([0, 0, 1, 0, 1, 1, 1])
    overall = (4 + 0.5) / (7 + 1)
    fitted = Histogram(bins=4, binning="equal-width").fit(log_columns(q), labels)
    got = fitted.predict_proba(log_columns(np.array([0.1, 0.3, 0.6, 0.8])))[:, 1]
    np.testing.assert_allclose(
        got, np.array([0 + overall, 1 + overall, 2 + overall, 1 + overall]) / [3, 3, 3, 2]
    )


def test_scores_of_an_empty_bin_stay():
    fitted = Histogram(bins=10, binning="equal-width").fit(
        log_columns(np.array([0.1, 0.9])), np.array([0, 1])
    )
    np.testing.assert_allclose(fitted.predict_proba(log_columns(np.array([0.42])))[0, 1], 0.42)


@pytest.mark.parametrize("labels", [np.zeros(5, int), np.ones(5, int)])
def test_an_outcome_never_seen_keeps_a_probability(labels):
    scores = log_columns(np.array([0.1, 0.2, 0.3, 0.4, 0.5]))
    assert np.isfinite(Histogram(bins=2).fit(scores, labels).apply(scores)).all()


def test_equal_scores_share_a_bin():
    q = np.repeat([0.2, 0.4, 0.8], [10, 30, 20])
    labels = np.tile([0, 1], 30)
    fitted = Histogram(bins=6, smoothing=0).fit(log_columns(q), labels)
    np.testing.assert_allclose(fitted.predict_proba(log_columns(q))[:, 1], 0.5)
    assert list(fitted.parameters["sizes"]) == [3]


@pytest.mark.parametrize("bins", [3, 15])
def test_whole_weights_cut_as_repeated_rows_do(bins):
    rng = np.random.default_rng(0)
    ordered, weights = np.sort(rng.random(70)), rng.integers(1, 4, 70)
    repeated = np.repeat(ordered, weights)
    cuts, repeated_cuts = (
        equal_mass_cuts(ordered, bins, weights.astype(float)),
        equal_mass_cuts(repeated, bins),
    )
    np.testing.assert_array_equal(ordered[cuts[1:] - 1], repeated[repeated_cuts[1:] - 1])


def test_scaling_binning_gives_bin_means_of_the_curve():
    rng = np.random.default_rng(1)
    q = rng.random(600)
    labels = (rng.random(600) < q**2).astype(int)
    slope, intercept = _sigmoid_calibration(logit(q), labels)
    curve = np.sort(expit(-slope * logit(q) - intercept))
    expected = np.concatenate([np.full(len(part), part.mean()) for part in np.array_split(curve, 7)])
    got = ScalingBinning(bins=7).fit(log_columns(q), labels).predict_proba(log_columns(np.sort(q)))
    np.testing.assert_allclose(got[:, 1], expected, atol=1e-4)
    np.testing.assert_allclose(got.sum(1), 1)
    assert len(np.unique(got[:, 1])) == 7


@pytest.mark.parametrize(
    "settings", [{"bins": 0}, {"bins": 2.5}, {"binning": "recursive"}, {"smoothing": np.nan}]
)
def test_settings_it_does_not_have_are_refused(settings):
    with pytest.raises(UsageError, match=next(iter(settings))):
        Histogram(**settings)
