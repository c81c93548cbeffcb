"""Studies of estimators against those of Vaicenavicius et al. 2019, and true values against integrals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, special, stats

from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import parse_metric
from calcli.core.language.settings import Settings
from calcli.works import study as studies
from calcli.works.simulation import simulate
from calcli.works.study import study
from calcli.works.truth import true_error

TEN = "expected_miscalibration:binning=equal-width:bins=10"


def truth(metric, system, parameters=None, rows=200_000, **others):
    simulation = simulate(system, parameters or {}, rows, **others)
    classes = tuple(map(str, range(simulation.scores.shape[1])))
    predictions = Predictions(ArrayScores(simulation.scores, simulation.kind), simulation.labels, classes)
    groups = {"two": {"0": "a", "1": "b", "2": "b"}} if len(classes) == 3 else {}
    return true_error(parse_metric(metric), predictions, simulation.posteriors, Settings(groups=groups))


def integral(function):
    """Return the expectation over the feature of the mixture."""

    def integrand(x):
        return function(x) * (stats.norm.pdf(x, 1) + stats.norm.pdf(x, -1)) / 2

    return integrate.quad(integrand, -9, 9, limit=200)[0]


def of_population(metric, system, **parameters):
    """Return the true value that a study takes, which says that it is no estimate."""
    (found,) = study(system, parameters, [metric], [10], 2)
    assert (found.truth_by, found.truth_error) == ("quadrature", 0)
    return found.truth


def test_the_true_miscalibration_of_the_mixture_is_the_integral():
    wrong = {"intercept": 1.0, "slope": 1.0}

    def gap(x):
        return np.abs(special.expit(-2 * x) - special.expit(1 + x))

    tv = integral(gap)
    assert tv == pytest.approx(0.56, abs=0.005)  # as printed in section 5.1
    for metric in ("expected_miscalibration", "ece:lens=class-1", "cw_ece"):
        assert of_population(metric, "mixture", **wrong) == pytest.approx(tv, abs=1e-8)
        assert truth(metric, "mixture", wrong) == pytest.approx(tv, abs=0.002)
    euclidean = of_population("expected_miscalibration:distance=euclidean", "mixture", **wrong)
    assert euclidean == pytest.approx(2**0.5 * tv, abs=1e-8)
    square = integral(lambda x: gap(x) ** 2)
    assert of_population("ece_l2:lens=class-0", "mixture", **wrong) ** 2 == pytest.approx(square, abs=1e-8)
    kl = integral(
        lambda x: (
            special.rel_entr(special.expit(-2 * x), special.expit(1 + x))
            + special.rel_entr(special.expit(2 * x), special.expit(-1 - x))
        )
    )
    assert of_population("expected_miscalibration:distance=kl", "mixture", **wrong) == pytest.approx(kl)


@pytest.mark.parametrize(("intercept", "slope"), [(1.0, 1.0), (0.5, -1.5), (1.0, -2.0), (0.0, -4.0)])
def test_true_errors_of_the_most_probable_class_are_integrals_over_both_sides(intercept, slope):
    """A confidence is that of two features, one on either side of the boundary; their gaps may cancel."""

    def density(x):
        return (stats.norm.pdf(x, 1) + stats.norm.pdf(x, -1)) / 2 / abs(slope)

    def gap(log_odds):
        first, second = (log_odds - intercept) / slope, (-log_odds - intercept) / slope
        sure = special.expit(log_odds)
        return density(first) * (special.expit(-2 * first) - sure) + density(second) * (
            special.expit(2 * second) - sure
        )

    expected = integrate.quad(lambda z: abs(gap(z)), 0, 40, limit=2000)[0]
    found = of_population("ece:lens=top-1", "mixture", intercept=intercept, slope=slope)
    assert found == pytest.approx(expected, abs=1e-5)


def test_true_errors_of_answers_and_of_two_gaussian_classes_are_integrals():
    def stated(z):
        return np.abs(special.expit(0.5 + 1.5 * z) - special.expit(z)) * stats.norm.pdf(z, 0.7, 1.2)

    expected = integrate.quad(stated, -12, 12, limit=500)[0]
    assert of_population("ece", "answers") == pytest.approx(expected, abs=1e-5)

    def over_confident(x):  # by the difference of the features
        log_odds = 0.5**0.5 / 0.15 * x + np.log(0.8 / 0.2)
        density = 0.8 * stats.norm.pdf(x, 0.5**0.5, 0.3**0.5) + 0.2 * stats.norm.pdf(x, -(0.5**0.5), 0.3**0.5)
        return np.abs(special.expit(5 * log_odds) - special.expit(log_odds)) * density

    expected = integrate.quad(over_confident, -7, 7, limit=500)[0]
    assert of_population("ece:lens=class-0", "mcs") == pytest.approx(expected, abs=1e-8)
    for metric in ("ece", "ks", "cw_ece", "expected_miscalibration:distance=hellinger"):
        assert of_population(metric, "cal") == of_population(metric, "mixture", slope=0.0) == 0


def test_the_error_of_a_simulated_truth_is_its_spread(monkeypatch):
    """Over other seeds, of three classes of which 20,000 rows are drawn."""
    monkeypatch.setattr(studies, "TRUTH_ROWS", 20_000)
    found = [study("mcs", {"n_classes": 3}, ["cw_ece", "ks"], [10], 2, seed) for seed in range(20)]
    truths, errors = (
        np.array([[getattr(one, of) for one in own] for own in found]) for of in ("truth", "truth_error")
    )
    assert truths.std(0, ddof=1) == pytest.approx(errors.mean(0), rel=0.4)


def test_the_error_of_a_simulated_truth_is_the_standard_error_of_its_parts(monkeypatch):
    values = []

    def recorded(*of):
        values.append(true_error(*of))
        return values[-1]

    monkeypatch.setattr(studies, "TRUTH_ROWS", 2_000)
    monkeypatch.setattr(studies, "true_error", recorded)
    (found,) = study("mcs", {"n_classes": 3}, ["cw_ece"], [10], 2)
    *parts, whole = values
    assert len(parts) == 20
    assert (found.truth, found.truth_error) == pytest.approx((whole, stats.sem(parts)))


def test_true_values_of_table_1():
    """Every class and the most probable one are calibrated, the vectors are not: rows of table 1 by hand."""
    found = {
        metric: truth(metric, "table-1", exact=True, rows=None)
        for metric in (
            "ece",
            "cw_ece",
            "ks",
            "expected_miscalibration",
            "worst_miscalibration",
            "ece:lens=two",
        )
    }
    vectors = {"expected_miscalibration": 0.1, "worst_miscalibration": 0.1}
    expected = {"ece": 0, "cw_ece": 0, "ks": 0, "ece:lens=two": 0, **vectors}
    assert found == pytest.approx(expected, abs=1e-12)
    largest = truth("expected_miscalibration:lens=largest-2", "table-1", exact=True, rows=None)
    assert largest == pytest.approx(0, abs=1e-12)  # the three largest are .6, .3 and .1 in every row


def test_estimates_of_few_rows_are_too_large_for_the_calibrated_mixture():
    found = study("mixture", {}, [TEN], [100, 1000, 10_000], 20)
    expected = {100: 0.084, 1000: 0.026, 10_000: 0.0085}
    for one in found:
        assert one.truth == pytest.approx(0, abs=1e-12)
        assert one.mean == pytest.approx(expected[one.rows], rel=0.15)
        assert one.low < one.mean < one.high


def test_fixed_bins_of_many_rows_show_at_most_the_truth():
    """Theorem 2, where gaps of opposite sign share a bin."""
    wrong = {"intercept": 0.0, "slope": -4.0}
    (one,) = study("mixture", wrong, ["ece:lens=class-1:bins=1"], [20_000], 10)
    assert one.truth > 0.05
    assert one.high < 0


def test_what_has_no_true_value_is_refused_before_rows_are_drawn():
    for metric in ("smooth_ece", "cw_ece:weights=inverse-frequency"):
        with pytest.raises(UsageError, match="its true value is not computed"):
            truth(metric, "table-1")
    with pytest.raises(UsageError, match="auroc: its true value is not computed"):
        study("mcps", {"n_classes": 20}, ["ece", "auroc"], [10**12], 2)


def test_any_number_of_processes_gives_the_same_bits(monkeypatch):
    monkeypatch.setattr(studies, "TRUTH_ROWS", 20_000)
    seen: list[int] = []
    call = "cal", {"n_classes": 3}, ["ece", "ks"], [30, 60, 30], 12
    one, two = (study(*call, watch=seen.append, workers=workers) for workers in (1, 2))
    assert one == two
    assert seen[-1] == 3 * 12
    assert one[0] == one[2]  # of the same size
