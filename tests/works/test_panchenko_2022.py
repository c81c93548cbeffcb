"""What Panchenko et al. (2022) mention beside their own: other weights, other conditions."""

from __future__ import annotations

import numpy as np
import pytest

from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.errors import UsageError
from calcli.core.language.settings import Settings
from calcli.works.simulation import three_class_population

INVERSE = "cw_ece:weights=inverse-frequency"


def estimates(predictions, *metrics, **settings):
    asked = Settings(metrics=metrics, **{"intervals": False, "draws": 0, **settings})
    return evaluate(predictions, asked).estimates


def drawn(n=2000, k=4, seed=0, power=2.0):
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(k, 0.7), n)
    truth = probs**power / (probs**power).sum(1, keepdims=True)
    return probs, (rng.random((n, 1)) > truth.cumsum(1)[:, :-1]).sum(1)


@pytest.mark.parametrize("binning", ["equal-width", "equal-mass"])
def test_inverse_frequencies_weigh_the_error_of_each_class(predict, binning):
    probs, labels = drawn()
    names = [f"ece:binning={binning}:lens=class-{k}" for k in range(4)]
    found = estimates(predict(probs, labels), f"{INVERSE}:binning={binning}", *names)
    value, *errors = (estimate.value for estimate in found.values())
    assert value == pytest.approx(np.sum(errors / (np.bincount(labels) / len(labels))))


def test_classes_without_rows_are_left_out_and_counted(predict):
    probs, labels = drawn()
    labels = np.where(labels == 3, 2, labels)
    found = estimates(predict(probs, labels), INVERSE, *(f"ece:lens=class-{k}" for k in range(3)))
    value, *errors = (estimate.value for estimate in found.values())
    assert value == pytest.approx(np.sum(errors / (np.bincount(labels) / len(labels))))
    assert next(iter(found.values())).parts == {"absent_classes": 1}


def test_frequencies_are_those_of_the_drawn_labels(predict):
    probs, labels = drawn(n=60, k=3, power=1.0)
    (found,) = estimates(predict(probs, labels), INVERSE, draws=2000, test=True).values()
    rng = np.random.default_rng(5)
    values = []
    for _ in range(400):
        own = (rng.random((60, 1)) > probs.cumsum(1)[:, :-1]).sum(1)
        (one,) = estimates(predict(probs, own), INVERSE).values()
        values.append(one.value)
    assert found.if_calibrated.mean == pytest.approx(np.mean(values), rel=0.03)


def test_weights_of_classes_need_all_classes(predict):
    with pytest.raises(UsageError, match="weights are those of classes"):
        estimates(predict(*drawn()), f"{INVERSE}:lens=class-0")


def test_errors_given_the_whole_vector_by_hand(predict):
    """Every vector of table 1 is a bin: the top class is right, and two classes are off by 0.1 in each."""
    population = three_class_population("table-1")
    names = [f"{name}:min_rows=11" for name in ("ece_given_vector", "cw_ece_given_vector")]
    found = estimates(predict(population.scores, population.labels), *names, "ece", "cw_ece")
    by_top = [0, 0.1, 0, 0.1, 0.1, 0.1]  # of each of the six vectors
    expected = [np.mean(by_top), 0.2 / 3, 0, 0]
    assert [estimate.value for estimate in found.values()] == pytest.approx(expected, abs=1e-12)


def test_errors_given_the_whole_vector_are_tested(predict):
    probs, labels = drawn()
    names = ["ece_given_vector", "expected_miscalibration", "cw_ece_given_vector"]
    found = estimates(predict(probs, labels), *(f"{name}:min_rows=200" for name in names), draws=99)
    top, vector, classes = (estimate.value for estimate in found.values())
    assert top > 0
    assert classes == pytest.approx(vector * 2 / 4)
    for estimate in found.values():
        assert estimate.if_calibrated.mean < estimate.value
        assert estimate.if_calibrated.p_value == pytest.approx(0.01)
