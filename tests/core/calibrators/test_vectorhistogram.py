"""Histogram regression on vectors: frequencies by hand, calibration in its own bins, damaged files."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import special

from calcli.core.calibrators.record import CalibratorRecord
from calcli.core.calibrators.vectorhistogram import VectorHistogram
from calcli.core.estimators.partitions import miscalibration, vector_bins
from calcli.core.language.errors import InputError
from calcli.core.problems.splits import recursive_partition
from calcli.io.calibrators import load_calibrator, save_calibrator
from tests.core.samples import drawn


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


def test_weights_count_rows_and_none_is_no_row():
    scores, labels = drawn(500, 3)
    weights = np.random.default_rng(1).integers(0, 2, 500)
    weighted = VectorHistogram(min_rows=20).fit(scores, labels, weights)
    chosen = VectorHistogram(min_rows=20).fit(scores[weights > 0], labels[weights > 0])
    for name, value in chosen.parameters.items():
        np.testing.assert_allclose(weighted.parameters[name], value)


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
