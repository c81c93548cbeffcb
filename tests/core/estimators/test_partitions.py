import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import expit, softmax
from scipy.stats import norm

from calcli.core.data.binning import equal_width_cuts
from calcli.core.evaluating.metrics.miscalibration import ECE
from calcli.core.evaluating.metrics.partitions import Partition, miscalibration, vector_bins
from calcli.core.problems.lenses import recursive_partition
from calcli.core.problems.problem import ordered_problem
from calcli.works.simulation import gaussian_mixture, three_class_population

DISTANCES = {"tv": "tv", "euclidean": "eu", "squared-euclidean": "se"}


def expected_miscalibration(probs, labels, min_rows, distance="tv", norm="1"):
    return miscalibration(vector_bins(probs, labels, recursive_partition(probs, min_rows)), distance, norm)


def real_predictions(dataset, name):
    scores, labels = dataset(name)
    return softmax(scores.astype(np.float64), axis=1), labels


@pytest.fixture(scope="module")
def dirichlet():
    """Return calibrated predictions of four classes, some of them tied, with their labels."""
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.full(4, 0.5), 500)
    probs[:60] = probs[0]
    return probs, np.array([rng.choice(4, p=row) for row in probs])


class TestReferences:
    def test_canonical_errors_of_real_predictions(self, golden, dataset):
        for name, values in golden.items():
            probs, labels = real_predictions(dataset, name)
            bins = vector_bins(probs, labels, recursive_partition(probs, 1000))
            assert len(bins.count) == values["dd1000_canon_nbins"], name
            for distance, short in DISTANCES.items():
                expected = values[f"eta_{short}_canon_dd1000"]
                assert miscalibration(bins, distance, "1") == pytest.approx(expected, abs=1e-9), name

    def test_confidence_errors_of_real_predictions(self, golden, dataset):
        for name, values in golden.items():
            probs, labels = real_predictions(dataset, name)
            confidence, hit = probs.max(1), probs.argmax(1) == labels
            pairs = np.stack([confidence, 1 - confidence], axis=1)
            recursive = vector_bins(pairs, ~hit, recursive_partition(pairs, 1000))
            assert len(recursive.count) == values["dd1000_max_nbins"], name
            problem = ordered_problem(confidence, hit)
            vectors = problem.as_vectors()
            in_order = Partition(np.arange(len(hit)), equal_width_cuts(problem.score, 10))
            ten = vector_bins(vectors.probs, vectors.labels, in_order)
            for bins, key, known in [(recursive, "dd1000", ("tv", "se")), (ten, "ew10", ("tv", "se", "eu"))]:
                for distance, short in DISTANCES.items():
                    if short in known:
                        expected = values[f"eta_{short}_max_{key}"]
                        assert miscalibration(bins, distance, "1") == pytest.approx(expected, abs=1e-9), name


class TestPapers:
    def test_table_1(self):
        class_wise, apart = 0, 0.1
        population = three_class_population("table-1")
        probs, labels = population.scores, population.labels
        top = ordered_problem(probs.max(1), probs.argmax(1) == labels)
        assert ECE().value(top) == pytest.approx(0, abs=1e-12)
        for k in range(3):
            one = ordered_problem(probs[:, k], labels == k)
            assert ECE().value(one) == pytest.approx(class_wise, abs=1e-12)
        # every prediction is off by as much, in two of the three classes
        for norm_name in ("1", "2", "max"):
            for distance, expected in [
                ("tv", apart),
                ("euclidean", np.sqrt(2) * apart),
                ("squared-euclidean", 2 * apart**2),
            ]:
                found = expected_miscalibration(probs, labels, 11, distance, norm_name)
                assert found == pytest.approx(expected, abs=1e-12)

    @pytest.mark.parametrize(("probs", "bias"), [([1.0, 0.0], 0), ([0.5, 0.5], 1 / 2)])
    def test_bias_of_one_row_a_bin(self, probs, bias):
        # Vaicenavicius et al., example 5: of two calibrated models one looks miscalibrated on a single row
        for label in (0, 1):
            if probs[label]:
                assert expected_miscalibration(np.array([probs]), np.array([label]), 2) == bias

    @pytest.mark.parametrize(("intercept", "slope"), [(0, -2), (0, 0), (1, 1)])
    def test_gaussian_mixture(self, intercept, slope):
        simulation = gaussian_mixture(100_000, np.random.default_rng(1), intercept=intercept, slope=slope)

        def integrand(x):
            density = (norm.pdf(x, -1) + norm.pdf(x, 1)) / 2
            truth = expit(-2 * x) if slope else 0.5  # what is true given the prediction
            return density * abs(expit(intercept + slope * x) - truth)

        expected = quad(integrand, -10, 10, points=[-1 / 3], limit=200)[0]
        assert expected == pytest.approx(0.564 if slope == 1 else 0, abs=5e-4)
        found = expected_miscalibration(np.exp(simulation.scores), simulation.labels, 2000)
        # the bias of a bin of 1,000 rows is at most E|normal| sqrt(p (1 - p) / 1000)
        assert found == pytest.approx(expected, abs=0.013)


class TestPartition:
    @given(st.lists(st.tuples(*3 * [st.sampled_from([0, 0.25, 0.5, 1])]), min_size=1), st.integers(1, 20))
    def test_every_row_once_and_equal_rows_together(self, rows, min_rows):
        points = np.array(rows, float)
        order, cuts = recursive_partition(points, min_rows)
        assert np.sort(order).tolist() == list(range(len(points)))
        assert (np.diff(cuts) > 0).all()
        seen = [set(map(tuple, points[part])) for part in np.split(order, cuts[1:-1])]
        assert sum(map(len, seen)) == len(set(rows))
        assert all(len(part) < min_rows or len(values) == 1
                   for part, values in zip(np.split(order, cuts[1:-1]), seen, strict=True))  # fmt: skip

    def test_weight_two_equals_the_row_twice(self, dirichlet):
        probs, labels = dirichlet
        weights = np.repeat([1.0, 2.0], 250)
        twice = np.repeat(np.arange(500), weights.astype(int))
        # the threshold counts rows, so that only its own split is the same
        order, cuts = recursive_partition(probs, 400, weights)
        bins = vector_bins(probs, labels, Partition(order, cuts), weights)
        repeated = recursive_partition(probs[twice], 600)
        expected = vector_bins(probs[twice], labels[twice], repeated)
        assert len(cuts) == 3
        assert bins.score == pytest.approx(expected.score)
        assert np.array_equal(bins.outcome, expected.outcome)
