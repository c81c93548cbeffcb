from itertools import product

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist

from calcli.core.estimators.kernels import (
    TILE,
    LaplacianKernel,
    distances,
    median_kernel,
    skce,
    skce_blocks,
    skce_test,
)

METRICS = {"tv": ("cityblock", 0.5), "euclidean": ("euclidean", 1.0)}  # scipy's name, and a factor


def simulated(rows, classes, rng, mixed=0.0):
    """Return predictions and labels; a share of the labels is drawn evenly from all classes instead."""
    probs = rng.dirichlet(np.full(classes, 0.5), rows)
    truth = (1 - mixed) * probs + mixed / classes
    labels = (rng.random((rows, 1)) > np.cumsum(truth, axis=1)[:, :-1]).sum(1)
    return probs, labels


def naive_pairs(probs, labels, kernel):
    """Return the (N, N) terms of all pairs, as expectations of the kernel over labels that are drawn."""
    metric, factor = METRICS[kernel.distance]
    alike = np.exp(-factor * cdist(probs, probs, metric) / kernel.width)
    same = labels[:, None] == labels
    return alike * (same - probs[:, labels] - probs[:, labels].T + probs @ probs.T)


def naive_skce(probs, labels, kernel, weights=None):
    weights = np.ones(len(labels)) if weights is None else weights
    pairs = np.outer(weights, weights)[np.triu_indices(len(labels), 1)]
    return np.average(naive_pairs(probs, labels, kernel)[np.triu_indices(len(labels), 1)], weights=pairs)


@pytest.fixture(params=METRICS)
def kernel(request):
    return LaplacianKernel(request.param, 0.7)


@pytest.mark.parametrize("metric", METRICS)
def test_distances_against_scipy(metric):
    probs = np.random.default_rng(0).dirichlet(np.full(6, 0.3), 30)
    name, factor = METRICS[metric]
    expected = factor * cdist(probs[:12], probs[12:], name)
    assert distances(probs[:12], probs[12:], metric) == pytest.approx(expected)
    assert distances(probs[None, :5], probs[None], metric).shape == (1, 5, 30)


@pytest.mark.parametrize("rows", [2, 60, 2 * TILE + 3])
def test_against_the_plain_sum(kernel, rows):
    probs, labels = simulated(rows, 4, np.random.default_rng(rows), mixed=0.5)
    assert skce(probs, labels, kernel) == pytest.approx(naive_skce(probs, labels, kernel), abs=1e-12)
    weights = np.random.default_rng(1).exponential(size=rows)
    weighted = skce(probs, labels, kernel, weights)
    assert weighted == pytest.approx(naive_skce(probs, labels, kernel, weights), abs=1e-12)


@pytest.mark.parametrize(("labels", "expected"), [([0, 1], 0), ([0, 0], 0), ([1, 1], 0), ([1, 0], -2 / np.e)])
def test_two_sure_predictions(labels, expected):
    # only the residuals (-1, 1) and (1, -1) meet; the predictions are 1 apart in total variation
    assert skce(np.eye(2), np.array(labels), LaplacianKernel("tv", 1)) == pytest.approx(expected)


def test_zero_in_expectation_over_the_labels(kernel):
    probs = np.random.default_rng(2).dirichlet(np.ones(3), 4)
    total = 0.0
    for labels in product(range(3), repeat=4):
        total += probs[np.arange(4), labels].prod() * skce(probs, np.array(labels), kernel)
    assert total == pytest.approx(0, abs=1e-15)


def test_order_of_rows_and_names_of_classes_do_not_matter(kernel):
    rng = np.random.default_rng(3)
    probs, labels = simulated(50, 5, rng, mixed=0.5)
    expected = skce(probs, labels, kernel)
    rows, classes = rng.permutation(50), rng.permutation(5)
    assert skce(probs[rows], labels[rows], kernel) == pytest.approx(expected, abs=1e-14)
    assert skce(probs[:, classes], np.argsort(classes)[labels], kernel) == pytest.approx(expected, abs=1e-14)


def test_single_precision(kernel):
    probs, labels = simulated(300, 10, np.random.default_rng(4), mixed=0.5)
    expected = skce(probs, labels, kernel)
    assert skce(probs.astype(np.float32), labels, kernel) == pytest.approx(expected, rel=1e-4)


class TestMedianKernel:
    @pytest.mark.parametrize("metric", METRICS)
    def test_median_of_all_pairs(self, metric):
        probs = np.random.default_rng(5).dirichlet(np.ones(3), 99)
        name, factor = METRICS[metric]
        assert median_kernel(probs, metric).width == pytest.approx(factor * np.median(pdist(probs, name)))

    def test_many_rows_are_sampled_evenly(self):
        probs = np.random.default_rng(6).dirichlet(np.ones(3), 3000)
        expected = np.median(pdist(probs, "cityblock")) / 2
        assert median_kernel(probs, "tv").width == pytest.approx(expected, rel=0.05)

    def test_mostly_equal_predictions(self):
        probs = np.array([[0.5, 0.5]] * 9 + [[1, 0]])
        assert median_kernel(probs, "tv").width == pytest.approx(9 / 45 * 0.5)  # 9 of 45 pairs are 0.5 apart

    def test_equal_predictions(self):
        kernel = median_kernel(np.full((20, 2), 0.5), "euclidean")
        assert kernel.width == 1
        # residuals of +-0.5 in each class, 10 of each sign: like pairs give 1/2, unlike ones -1/2
        labels = np.repeat([0, 1], 10)
        assert skce(np.full((20, 2), 0.5), labels, kernel) == pytest.approx((90 - 100) / 190 / 2)


class TestSignedSum:
    def test_value(self, kernel):
        probs, labels = simulated(40, 3, np.random.default_rng(7), mixed=0.5)
        value, _ = skce_test(probs, labels, kernel, 10, np.random.default_rng(0))
        assert value == pytest.approx(skce(probs, labels, kernel), abs=1e-14)

    @pytest.mark.parametrize("weighted", [False, True])
    def test_moments(self, kernel, weighted):
        rng = np.random.default_rng(8)
        probs, labels = simulated(TILE + 40, 3, rng)
        weights = rng.exponential(size=len(labels)) if weighted else None
        null = skce_test(probs, labels, kernel, 2000, rng, weights)[1]
        # products of random signs are uncorrelated: the variance is the sum of the squared terms
        above = np.triu_indices(len(labels), 1)
        pairs = np.ones(len(above[0])) if weights is None else np.outer(weights, weights)[above]
        sd = np.sqrt(np.sum((pairs * naive_pairs(probs, labels, kernel)[above]) ** 2)) / pairs.sum()
        assert null.sd == pytest.approx(sd, rel=0.15)
        assert null.mean == pytest.approx(0, abs=4 * sd / np.sqrt(2000))

    def test_sd_is_that_of_labels_drawn_from_the_predictions(self, kernel):
        rng = np.random.default_rng(9)
        probs, labels = simulated(200, 3, rng)
        draws = []
        for _ in range(300):
            drawn = (rng.random((200, 1)) > np.cumsum(probs, axis=1)[:, :-1]).sum(1)
            draws.append(skce(probs, drawn, kernel))
        assert skce_test(probs, labels, kernel, 1000, rng)[1].sd == pytest.approx(np.std(draws), rel=0.2)

    def test_calibrated_predictions_are_rejected_as_often_as_promised(self, kernel):
        rng = np.random.default_rng(10)
        tests = [skce_test(*simulated(100, 3, rng), kernel, 99, rng)[1] for _ in range(200)]
        rejected = sum(null.p_value <= 0.05 for null in tests)
        assert 2 <= rejected <= 20  # Binomial(200, 0.05) lies outside once in four hundred

    def test_miscalibrated_predictions_are_found(self, kernel):
        rng = np.random.default_rng(11)
        assert skce_test(*simulated(300, 3, rng, mixed=0.5), kernel, 199, rng)[1].p_value == 1 / 200


class TestBlocks:
    @pytest.mark.parametrize(("rows", "weighted"), [(2, False), (7, False), (2, True)])
    def test_average_over_shuffles_is_the_estimate_from_all_pairs(self, kernel, rows, weighted):
        rng = np.random.default_rng(12)
        probs, labels = simulated(100, 3, rng, mixed=0.7)
        weights = rng.uniform(0.5, 1.5, 100) if weighted else None
        found = [skce_blocks(probs, labels, kernel, rng, rows, weights)[0] for _ in range(600)]
        expected = naive_skce(probs, labels, kernel, weights)
        assert np.mean(found) == pytest.approx(expected, abs=4 * np.std(found) / np.sqrt(600))

    def test_two_blocks(self, kernel):
        # equal rows: any shuffle leaves the same two blocks
        probs, labels = np.tile([0.3, 0.7], (4, 1)), np.zeros(4, int)
        value, null = skce_blocks(probs, labels, kernel, np.random.default_rng(0))
        assert value == pytest.approx(2 * 0.7**2)
        assert null.sd == pytest.approx(0, abs=1e-12)

    @pytest.mark.parametrize("rows", [2, 10])
    def test_standard_error_and_level(self, kernel, rows):
        rng = np.random.default_rng(13)
        tests = [skce_blocks(*simulated(600, 3, rng), kernel, rng, rows) for _ in range(200)]
        values = [value for value, _ in tests]
        assert np.mean([null.sd for _, null in tests]) == pytest.approx(np.std(values), rel=0.15)
        assert sum(null.p_value <= 0.05 for _, null in tests) <= 20

    def test_larger_blocks_see_more(self, kernel):
        rng = np.random.default_rng(14)
        probs, labels = simulated(2000, 3, rng, mixed=0.8)
        pairs, tens = (skce_blocks(probs, labels, kernel, rng, rows)[1] for rows in (2, 10))
        assert tens.sd < pairs.sd / 2
        assert tens.p_value < 0.001

    def test_rows_sorted_by_label_are_shuffled(self, kernel):
        rng = np.random.default_rng(15)
        probs, labels = simulated(4000, 2, rng)
        order = np.argsort(labels)
        value, null = skce_blocks(probs[order], labels[order], kernel, rng)
        assert abs(value) < 4 * null.sd
