import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import multivariate_normal, norm

from calcli import simulate
from calcli.core.language.errors import UsageError
from calcli.works.simulation import (
    gaussian_classes,
    gaussian_mixture,
    three_class_population,
    three_classes,
)


def normalized_scores(simulation):
    """Return normalized log-loss and normalized Brier score."""
    probs, labels = np.exp(simulation.scores), simulation.labels
    n, k = probs.shape
    priors = np.bincount(labels, minlength=k) / n
    log_loss = -simulation.scores[np.arange(n), labels].mean()
    brier = np.square(probs - np.eye(k)[labels]).sum(1).mean()
    return log_loss / -(priors @ np.log(priors)), brier / (1 - priors @ priors)


@pytest.mark.parametrize(
    ("system", "variance", "scale", "log_loss", "brier"),
    [
        ("cal", 0.15, 1, 0.34, 0.29),
        ("mcs", 0.15, 0.48, 0.42, 0.34),
        ("mcs", 0.15, 2, 0.42, 0.31),
        ("cal", 0.19, 1, 0.42, 0.36),
    ],
)
def test_figure_1_of_ferrer_and_ramos(system, variance, scale, log_loss, brier):
    simulation = gaussian_classes(
        system, 100_000, np.random.default_rng(0), prior=0.6, variance=variance, logit_scale=scale
    )
    # 0.005 for the printed digit, and 2 to 3 standard errors of the sample
    assert normalized_scores(simulation) == pytest.approx((log_loss, brier), abs=0.01)


@pytest.mark.parametrize(
    ("system", "brier"), [("cal", 0.3182), ("mcp", 1.5029), ("mcs", 0.3993), ("mcps", 1.9362)]
)
def test_ten_classes_of_ferrer_and_ramos(system, brier):
    # the authors' notebook of their sections 3.2 and 3.3 prints these for one sample of 2,000 rows
    rng = np.random.default_rng(0)
    samples = [gaussian_classes(system, 2000, rng, n_classes=10, variance=0.08) for _ in range(20)]
    values = [normalized_scores(sample)[1] for sample in samples]
    assert np.mean(values) == pytest.approx(brier, abs=3 * np.std(values))


def test_gaussian_classes_know_their_posteriors():
    simulation = gaussian_classes("cal", 1000, np.random.default_rng(1), n_classes=3, prior=0.5, variance=0.3)
    counts = np.bincount(simulation.labels)
    assert counts.tolist() == [500, 250, 250]
    assert np.array_equal(np.exp(simulation.scores), simulation.posteriors)

    # the densities themselves, at features that the log-posteriors give back up to a constant a row
    features = simulation.scores - np.log([0.5, 0.25, 0.25])
    features *= 0.3 / np.sqrt(0.5)
    densities = [multivariate_normal(np.sqrt(0.5) * vertex, 0.3).logpdf(features) for vertex in np.eye(3)]
    posteriors = softmax(np.transpose(densities) + np.log([0.5, 0.25, 0.25]), axis=1)
    assert posteriors == pytest.approx(simulation.posteriors, abs=1e-12)


def test_class_counts_add_up():
    simulation = gaussian_classes("cal", 1001, np.random.default_rng(3), n_classes=7, prior=0.35)
    counts = np.bincount(simulation.labels)
    assert counts.sum() == 1001
    assert np.abs(counts - 1001 * np.array([0.35] + 6 * [0.65 / 6])).max() < 1


def test_gaussian_mixture_against_its_densities():
    simulation = gaussian_mixture(20_000, np.random.default_rng(4), intercept=1, slope=1)
    feature = simulation.scores[:, 0] - simulation.scores[:, 1] - 1
    for label, mean in [(0, -1), (1, 1)]:
        own = feature[simulation.labels == label]
        assert own.mean() == pytest.approx(mean, abs=4 / np.sqrt(len(own)))
        assert own.std() == pytest.approx(1, abs=4 / np.sqrt(2 * len(own)))
    density = norm.pdf(feature[:, None], [-1, 1])
    assert simulation.posteriors == pytest.approx(density / density.sum(1, keepdims=True), abs=1e-12)
    perfect = gaussian_mixture(100, np.random.default_rng(5))
    assert np.array_equal(np.exp(perfect.scores), perfect.posteriors)


WORKED = {
    "table-1": "thesis_example_2_3_3_table_2_2",
    "table-2": "vaicenavicius_example_3_table_2",
    "thesis-2.3": "thesis_example_2_3_5_table_2_3",
}


@pytest.mark.parametrize("table", WORKED)
def test_populations_are_those_of_the_works(table, worked_examples):
    expected, population = worked_examples[WORKED[table]], three_class_population(table)
    assert len(population.labels) == {"table-1": 60, "table-2": 20, "thesis-2.3": 80}[table]
    for number, (score, share) in enumerate(zip(expected["score"], expected["probability"], strict=True)):
        own = np.isclose(population.scores, score).all(1)
        assert own.mean() == pytest.approx(share)
        frequencies = np.bincount(population.labels[own], minlength=3) / own.sum()
        assert population.posteriors[own] == pytest.approx(np.tile(frequencies, (own.sum(), 1)))
        if "truth" in expected:
            assert frequencies == pytest.approx(expected["truth"][number])
        else:
            of_predicted = expected["probability_of_the_predicted_class"][number]
            assert frequencies[np.argmax(score)] == pytest.approx(of_predicted)


def test_drawn_tables_follow_their_posteriors():
    simulation = three_classes("table-1", 30_000, np.random.default_rng(7))
    own = simulation.posteriors[np.arange(30_000), simulation.labels]
    assert own.min() > 0  # a class of frequency 0 is never drawn
    surprise = np.eye(3)[simulation.labels] - simulation.posteriors
    assert np.abs(surprise.mean(0)).max() < 4 * 0.5 / np.sqrt(30_000)
    unequal = three_classes("thesis-2.3", 40_000, np.random.default_rng(0)).scores
    assert (unequal[:, 0] == 0.6).mean() == pytest.approx(0.5, abs=0.01)


def test_mislabeled_rows():
    """Where a fifth of the labels is wrong, p is right with 0.8 p + 0.1 (1 - p) of three classes."""
    plain = simulate("cal", n_classes=3, rows=200_000)
    noisy = simulate("cal", n_classes=3, rows=200_000, label_noise=0.2)
    np.testing.assert_array_equal(noisy.scores, plain.scores)
    changed = noisy.labels != plain.labels
    assert changed.mean() == pytest.approx(0.2, abs=0.005)
    away = np.bincount((noisy.labels - plain.labels)[changed] % 3)
    assert away[1] == pytest.approx(away[2], rel=0.03)
    np.testing.assert_allclose(noisy.posteriors, 0.8 * plain.posteriors + 0.1 * (1 - plain.posteriors))
    np.testing.assert_allclose(noisy.posteriors.sum(1), 1)
    sure = noisy.posteriors[:, 0] > 0.75
    assert (noisy.labels[sure] == 0).mean() == pytest.approx(noisy.posteriors[sure, 0].mean(), abs=0.005)
    with pytest.raises(UsageError, match=r"^label_noise is 2"):
        simulate("cal", label_noise=2)
    with pytest.raises(UsageError, match=r"^exact has .* leave out label_noise"):
        simulate("table-1", exact=True, label_noise=0.1)
