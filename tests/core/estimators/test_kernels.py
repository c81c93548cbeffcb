from itertools import product

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist
from scipy.stats import binom, norm

from calcli.core.data.arrays import draw_labels
from calcli.core.evaluating.metrics import kernels as kerneldraws
from calcli.core.evaluating.metrics.kernels import (
    TILE,
    DisjointPairs,
    LaplacianKernel,
    distances,
    median_kernel,
    skce,
    skce_blocks,
    skce_blocks_test,
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


def drawn_errors(probs, kernel, draws, seed, weights=None):
    """Return the errors of labels drawn from the predictions, computed one by one."""
    labels = draw_labels(probs, draws, np.random.default_rng(seed))
    return [skce(probs, drawn, kernel, weights) for drawn in labels.T]


def rejected(tests):
    return sum(null.p_value <= 0.05 for _, null in tests)


def rare(rows, rng, prevalence=0.02):
    """Return calibrated predictions of two classes, one of which is rare."""
    positive = rng.beta(1, 1 / prevalence - 1, rows)
    return np.stack([1 - positive, positive], axis=1), (rng.random(rows) < positive).astype(np.intp)


MOST_OF_300 = binom.isf(0.001, 300, 0.05)  # rejections that an exact test exceeds once in a thousand


class TestDrawnLabels:
    @pytest.mark.parametrize(
        ("concentration", "weighted"), [([30, 1], True), ([5, 3, 0.3], False), ([20, *[0.2] * 40], True)]
    )
    def test_every_draw_is_the_error_of_its_labels(self, kernel, concentration, weighted):
        rng = np.random.default_rng(8)
        probs = rng.dirichlet(concentration, TILE + 40)
        labels = draw_labels(probs, 1, rng)[:, 0]
        weights = rng.exponential(size=len(labels)) if weighted else None
        value, null = skce_test(probs, labels, kernel, 40, np.random.default_rng(1), weights)
        assert value == pytest.approx(skce(probs, labels, kernel, weights), abs=1e-14)
        drawn = drawn_errors(probs, kernel, 40, 1, weights)
        assert null.mean == pytest.approx(np.mean(drawn), abs=1e-4 * np.std(drawn))
        assert null.sd == pytest.approx(np.std(drawn, ddof=1), rel=1e-4)
        assert null.p_value == (1 + np.sum(np.array(drawn) >= value)) / 41

    def test_equal_predictions_tie(self, kernel):
        """The error is a function of a count, and as large as another if that is."""
        probs, labels = np.tile([0.7, 0.3], (60, 1)), np.repeat([0, 1], [35, 25])
        null = skce_test(probs, labels, kernel, 999, np.random.default_rng(2))[1]
        counts = draw_labels(probs, 999, np.random.default_rng(2)).sum(0)
        # sum over pairs of residuals: the square of count - 18, and a part that is linear in the count
        squares = (counts - 18) ** 2 - counts * 0.4
        assert null.p_value == (1 + np.sum(squares >= 7**2 - 25 * 0.4 - 1e-9)) / 1000

    def test_sure_predictions(self, kernel):
        assert skce_test(np.eye(2), np.array([0, 1]), kernel, 99, np.random.default_rng(0))[1].p_value == 1
        wrong = skce_test(
            np.tile(np.eye(2), (2, 1)), np.array([1, 0, 1, 0]), kernel, 99, np.random.default_rng(0)
        )
        assert wrong[1].p_value == 1 / 100


class TestBlocks:
    @pytest.mark.parametrize("weighted", [False, True])
    def test_average_over_shuffles_is_the_estimate_from_all_pairs(self, kernel, weighted):
        rng = np.random.default_rng(12)
        probs, labels = simulated(100, 3, rng, mixed=0.7)
        weights = rng.uniform(0.5, 1.5, 100) if weighted else None
        found = [skce_blocks(probs, labels, kernel, rng, weights) for _ in range(600)]
        expected = naive_skce(probs, labels, kernel, weights)
        assert np.mean(found) == pytest.approx(expected, abs=4 * np.std(found) / np.sqrt(600))

    def test_many_pairs_have_the_standard_deviation_of_every_pair_of_labels(self, kernel, monkeypatch):
        rng = np.random.default_rng(14)
        probs, weights = rng.dirichlet([1, 2, 0.2], 6), rng.exponential(size=6)
        pairs = DisjointPairs.shuffled(probs, kernel, np.random.default_rng(1), weights)
        assert pairs.normal_sd(probs) is None
        monkeypatch.setattr(kerneldraws, "NORMAL_FROM", 0)
        square = 0.0
        for labels in product(range(3), repeat=6):
            chance = probs[np.arange(6), labels].prod()
            square += chance * pairs.error(probs, np.array(labels)) ** 2
        assert pairs.normal_sd(probs) == pytest.approx(np.sqrt(square))
        sd, labels = pairs.normal_sd(probs), np.zeros(6, int)
        value, null = skce_blocks_test(probs, labels, kernel, 9, (np.random.default_rng(1), rng), weights)
        assert (null.mean, null.sd) == (0, sd)
        assert null.p_value == pytest.approx(norm.sf(value / sd))

    def test_calibrated_predictions_of_a_rare_class_are_rejected_as_often_as_promised(self):
        rng = np.random.default_rng(15)
        sets = (rare(500, rng) for _ in range(300))
        tests = [skce_blocks_test(*data, median_kernel(data[0], "tv"), 99, (rng, rng)) for data in sets]
        assert rejected(tests) <= MOST_OF_300


def test_sure_predictions_that_hold_are_no_larger_than_draws_that_hold():
    """All but few draws have the same labels, and so the same error."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        rest = np.exp(rng.normal(-18, 2, (50, 3))).clip(1e-12, 1e-4)
        labels = rng.integers(0, 4, 50)
        probs = np.zeros((50, 4))
        probs[np.arange(4) != labels[:, None]] = rest.ravel()
        probs[np.arange(50), labels] = 1 - rest.sum(1)
        value, null = skce_test(probs, labels, median_kernel(probs, "tv"), 39, rng)
        assert value == pytest.approx(skce(probs, labels, median_kernel(probs, "tv")))
        assert null.p_value >= 0.5


@pytest.mark.parametrize("least", [1.0, 1e-20, 1e-50])
def test_a_pair_is_its_own_mean_whatever_it_weighs(least):
    probs, labels = np.array([[0.9, 0.1], [0.3, 0.7]]), np.array([1, 1])
    kernel = LaplacianKernel("tv", 1.0)
    found = skce(probs, labels, kernel, np.array([1.0, least]))
    assert found == pytest.approx(skce(probs, labels, kernel), rel=1e-12)
