"""Histograms of a score, their means over binnings, and of vectors."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import special
from scipy.special import beta, expit, logit
from sklearn.calibration import _sigmoid_calibration

from calcli.core.calibrators.histogram import BBQ, Histogram, ScalingBinning, VectorHistogram
from calcli.core.calibrators.record import CalibratorRecord
from calcli.core.evaluating.metrics.partitions import miscalibration, vector_bins
from calcli.core.language.errors import InputError
from calcli.core.problems.lenses import recursive_partition
from calcli.io.saved.calibrators import load_calibrator, save_calibrator
from tests.core.samples import columns, drawn


def test_frequencies_by_hand():
    q = np.array([0.05, 0.15, 0.30, 0.35, 0.62, 0.64, 0.9])
    labels = np.array([0, 0, 1, 0, 1, 1, 1])
    overall = (4 + 0.5) / (7 + 1)
    fitted = Histogram(bins=4, binning="equal-width").fit(columns(q), labels)
    got = fitted.predict_proba(columns(np.array([0.1, 0.3, 0.6, 0.8])))[:, 1]
    np.testing.assert_allclose(
        got, np.array([0 + overall, 1 + overall, 2 + overall, 1 + overall]) / [3, 3, 3, 2]
    )


def test_scores_of_an_empty_bin_stay():
    fitted = Histogram(bins=10, binning="equal-width").fit(columns(np.array([0.1, 0.9])), np.array([0, 1]))
    np.testing.assert_allclose(fitted.predict_proba(columns(np.array([0.42])))[0, 1], 0.42)


def test_equal_scores_share_a_bin():
    q = np.repeat([0.2, 0.4, 0.8], [10, 30, 20])
    labels = np.tile([0, 1], 30)
    fitted = Histogram(bins=6, smoothing=0).fit(columns(q), labels)
    np.testing.assert_allclose(fitted.predict_proba(columns(q))[:, 1], 0.5)
    assert list(fitted.parameters["sizes"]) == [3]


def test_scaling_binning_gives_bin_means_of_the_curve():
    rng = np.random.default_rng(1)
    q = rng.random(600)
    labels = (rng.random(600) < q**2).astype(int)
    slope, intercept = _sigmoid_calibration(logit(q), labels)
    curve = np.sort(expit(-slope * logit(q) - intercept))
    expected = np.concatenate([np.full(len(part), part.mean()) for part in np.array_split(curve, 7)])
    got = ScalingBinning(bins=7).fit(columns(q), labels).predict_proba(columns(np.sort(q)))
    np.testing.assert_allclose(got[:, 1], expected, atol=1e-4)
    np.testing.assert_allclose(got.sum(1), 1)
    assert len(np.unique(got[:, 1])) == 7


def test_the_mean_of_binnings_by_hand():
    q = np.array([0.1, 0.2, 0.4, 0.5, 0.6, 0.9])
    labels = np.array([0, 0, 1, 0, 1, 1])
    edges = {1: [0, 1], 2: [0, 0.45, 1], 3: [0, 0.3, 0.55, 1], 6: [0, 0.15, 0.3, 0.45, 0.55, 0.75, 1]}
    edges[4] = [0, 0.3, 0.45 + 0.1, 0.75, 1]  # sizes 2, 2, 1, 1
    edges[5] = [0, 0.3, 0.45, 0.55, 0.75, 1]
    evidence, values = [], []
    for bins in range(1, 7):
        ends = np.array(edges[bins])
        place = np.searchsorted(ends, q, side="right") - 1
        middle = (ends[:-1] + ends[1:]) / 2
        count, hits = np.bincount(place, minlength=bins), np.bincount(place, labels, bins)
        a, c = 2 / bins * middle, 2 / bins * (1 - middle)
        evidence.append(np.prod(beta(hits + a, count - hits + c) / beta(a, c)))
        values.append(((hits + a) / (count + 2 / bins))[place])
    expected = np.average(values, axis=0, weights=evidence)
    got = BBQ().fit(columns(q), labels).predict_proba(columns(q))[:, 1]
    np.testing.assert_allclose(got, expected, rtol=1e-9)


def test_scores_all_alike_become_their_frequency():
    q, labels = np.full(50, 0.3), np.repeat([0, 1], [20, 30])
    got = BBQ().fit(columns(q), labels).predict_proba(columns(q))[:, 1]
    np.testing.assert_allclose(got, (30 + 1) / 52)
    assert BBQ().fit(columns(q), labels).predict_proba(columns(np.array([0.99])))[0, 1] == pytest.approx(
        31 / 52
    )


def test_the_bins_of_a_small_example():
    """Four rows are split at the mean .5 of the first class, and each half has its frequencies."""
    probs = np.array([[0.2, 0.8], [0.3, 0.7], [0.6, 0.4], [0.9, 0.1]])
    plain = VectorHistogram(min_rows=3, smoothing=0).fit(np.log(probs), [1, 0, 0, 0])
    np.testing.assert_allclose(plain.predict_proba(np.log(probs)), [[0.5, 0.5]] * 2 + [[1, 0]] * 2)
    smooth = VectorHistogram(min_rows=3, smoothing=1).fit(np.log(probs), [1, 0, 0, 0])
    overall = np.array([3.5, 1.5]) / 5
    expected = [(np.array([1, 1]) + overall) / 3, (np.array([2, 0]) + overall) / 3]
    np.testing.assert_allclose(smooth.predict_proba(np.log(probs))[[0, 3]], expected)


def test_it_leaves_no_miscalibration_in_its_own_bins():
    """The estimate of the calibration function is calibrated where it was estimated (eq. 6 is 0)."""
    scores, labels = drawn(3000, 4)
    fitted = VectorHistogram(smoothing=0).fit(scores, labels)
    partition = recursive_partition(special.softmax(scores, axis=1), 100)
    bins = vector_bins(fitted.predict_proba(scores), labels, partition)
    assert len(partition.cuts) > 30
    assert miscalibration(bins, "tv", "max") == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("rows", [50, 2000])
@pytest.mark.parametrize("ending", ["json", "npz"])
def test_files_give_the_same_to_the_last_bit(tmp_path, rows, ending):
    """Of few rows there is one bin, and no split."""
    scores, labels = drawn(rows, 3)
    fitted = VectorHistogram().fit(scores, labels)
    file = tmp_path / f"cal.{ending}"
    save_calibrator(CalibratorRecord(fitted, ("a", "b", "c"), raw=False, priors=(), fitted_on={}), file)
    np.testing.assert_array_equal(load_calibrator(file).calibrator.apply(scores), fitted.apply(scores))
    assert bool(fitted.notes) == (rows == 50)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("below", lambda old: [0, *old[1:]]),  # a split below itself, for ever
        ("above", lambda old: old[::-1]),
        ("dimension", lambda old: [7, *old[1:]]),
        ("threshold", lambda old: old[1:]),
        ("values", lambda old: [[0.5, 0.5, 0.5], *old[1:]]),
    ],
)
def test_damaged_trees_are_refused(tmp_path, name, change):
    scores, labels = drawn(400, 3)
    file = tmp_path / "cal.json"
    fitted = VectorHistogram().fit(scores, labels)
    save_calibrator(CalibratorRecord(fitted, ("a", "b", "c"), raw=False, priors=(), fitted_on={}), file)
    document = json.loads(file.read_text())
    document["parameters"][name] = change(document["parameters"][name])
    file.write_text(json.dumps(document))
    with pytest.raises(InputError, match="damaged"):
        load_calibrator(file)
