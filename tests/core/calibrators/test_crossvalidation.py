"""Cross-validation that has not seen what it predicts, and the choice of the simplest."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from calcli.core.calibrators import crossvalidation
from calcli.core.calibrators.crossvalidation import (
    LabeledScores,
    Rescored,
    checked_folds,
    held_out_folds,
    paired_difference,
    rows_of,
    simplest,
    with_left_out,
)
from calcli.core.calibrators.histogram import Isotonic
from calcli.core.calibrators.softmax import DPAffine
from calcli.core.calibrators.temperature import Temperature
from calcli.core.data.predictions import ArrayScores
from calcli.core.data.units import random_folds
from calcli.core.estimators.rules import scoring_rule
from calcli.core.language.errors import InputError


def held_out(calibrator, rows, folds, seed):
    count = checked_folds(folds, len(rows.labels))
    return held_out_folds(
        calibrator, rows, random_folds(len(rows.labels), count, np.random.default_rng(seed))
    )


@pytest.mark.parametrize(("short", "calibrator"), [("ts", Temperature()), ("dp", DPAffine())])
@pytest.mark.parametrize("name", ["cifar10_resnet-20", "sst2_gpt2", "agnews_gpt2"])
def test_held_out_gain_is_that_of_other_foldings(golden, dataset, name, short, calibrator):
    """The reference has the gain over 20 random foldings: mean, spread, least and most."""
    scores, labels = dataset(name)
    reference = golden[name]
    log_probs = held_out(calibrator, LabeledScores(scores.astype(np.float64), labels), folds=5, seed=0)
    loss = scoring_rule("log_loss", 3).losses(log_probs, labels).mean()
    gain = 100 * (reference["ce_nats"] - loss) / reference["ce_nats"]
    spread = reference[f"rcl_xv_{short}_rcl_pct_sd"]
    assert gain == pytest.approx(reference[f"rcl_xv_{short}_rcl_pct_mean"], abs=4 * spread)


def test_log_probabilities_have_the_precision_of_the_rows(monkeypatch):
    monkeypatch.setattr(crossvalidation, "APPLIED_BYTES", 8 * 3 * 7)  # seven rows at once
    rng = np.random.default_rng(0)
    scores, labels = 3 * rng.normal(size=(60, 3)), rng.integers(3, size=60)
    double = held_out(DPAffine(), LabeledScores(scores, labels), folds=4, seed=1)
    single = held_out(DPAffine(), LabeledScores(scores.astype(np.float32), labels), folds=4, seed=1)
    assert (double.dtype, single.dtype) == (np.float64, np.float32)
    np.testing.assert_allclose(single, double, rtol=1e-5)
    np.testing.assert_allclose(np.logaddexp.reduce(single, axis=1), 0, atol=1e-6)


def test_no_row_is_predicted_from_itself():
    rng = np.random.default_rng(0)
    rows = LabeledScores(rng.normal(size=(60, 3)), rng.integers(3, size=60))
    fold = random_folds(len(rows.labels), 4, np.random.default_rng(7))
    found = held_out(Isotonic(), rows, folds=4, seed=7)
    for i in range(4):
        alone = Isotonic().fit(rows.scores[fold != i], rows.labels[fold != i])
        np.testing.assert_array_equal(found[fold == i], alone.apply(rows.scores[fold == i]))


def test_fewer_rows_than_folds():
    with pytest.raises(InputError, match=r"5 folds needs at least 5 rows, there are 3; .*--folds 0"):
        held_out(Temperature(), LabeledScores(np.eye(3), np.arange(3)), folds=5, seed=0)


def test_losses_of_a_row():
    probs = np.array([[0.5, 0.3, 0.2], [0.0, 0.4, 0.6]])
    with np.errstate(divide="ignore"):
        log_probs = np.log(probs)
    labels = np.array([1, 0])
    np.testing.assert_allclose(scoring_rule("log_loss", 3).losses(log_probs, labels), [-np.log(0.3), np.inf])
    expected = ((probs - np.eye(3)[labels]) ** 2).sum(axis=1)
    np.testing.assert_allclose(scoring_rule("brier", 3).losses(log_probs, labels), expected)


def test_infinite_losses_decide():
    finite, infinite = np.array([1.0, 2.0]), np.array([1.0, np.inf])
    assert paired_difference(infinite, finite, None).mean == np.inf
    assert paired_difference(finite, infinite, None).mean == -np.inf
    assert paired_difference(infinite, infinite, None).mean == 0
    assert paired_difference(infinite, finite, np.array([1.0, 0.0])).mean == 0


def test_the_simplest_within_one_standard_error():
    best = np.array([1.0, 2.0, 3.0, 4.0])
    noise = np.array([0.3, -0.2, 0.3, -0.2])  # mean 0.05, standard error 0.125
    losses = [best + 1, best + noise, best]
    chosen, differences = simplest(losses, None)
    assert chosen == 1
    assert [one.mean for one in differences] == pytest.approx([1, 0.05, 0])
    assert [one.standard_error for one in differences] == pytest.approx([0, 0.125, 0])
    assert differences[1].of_new_fits(5).standard_error == pytest.approx(1.5 * 0.125)  # of 1 + 5/4 the root
    assert simplest([best + 0.01, best], None)[0] == 1  # small, but the same in every row


def test_rows_become_logarithms(predict):
    probs = np.array([[0.25, 0.75], [1.0, 0.0]], np.float32)
    rows = rows_of(predict(probs, [0, 1]))
    assert rows.scores.dtype == np.float64
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(rows.scores, np.log(probs.astype(np.float64)))
    np.testing.assert_array_equal(rows_of(predict(probs, [0, 1], kind="logits")).scores, probs)


def test_a_few_logits_that_resemble_probabilities_are_fitted_as_logits():
    few = LabeledScores(np.array([[0.1, 0.9], [0.3, 0.7]]), np.array([1, 0]))
    many = LabeledScores(np.array([[0.1, 0.9], [0.3, 0.7], [5.0, -5.0]]), np.array([1, 0, 1]))
    expected = few.fit(Temperature()).parameters
    assert many.take(np.array([True, True, False])).fit(Temperature()).parameters == expected
    with pytest.raises(InputError, match="not all 0"):
        LabeledScores(few.scores, few.labels, np.zeros(2)).fit(Temperature())


def drawn(rows, classes, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.normal(scale=2, size=(rows, classes))
    return 1.7 * truth, (truth + rng.gumbel(size=truth.shape)).argmax(axis=1)


@pytest.mark.parametrize("rows", [60, 20_000])
def test_held_out_fits_do_not_depend_on_the_fit_to_all_rows(rows):
    """Of many rows it tells some of them without a fit."""
    scores, labels = drawn(rows, 4, seed=2)
    data = LabeledScores(scores, labels)
    fold = random_folds(len(labels), 5, np.random.default_rng(0))
    assert bool(Temperature().learn_by_fold(scores, labels, None, fold)) == (rows > 60)
    whole, told = with_left_out(Temperature(), data, fold)
    assert whole.parameters == pytest.approx(Temperature().fit(scores, labels).parameters, rel=1e-12)
    alone = {number: data.take(fold != number).fit(Temperature()) for number in range(5)}
    assert sorted(told) == sorted(alone) == list(range(5))
    for number, fitted in alone.items():
        expected = fitted.parameters["temperature"]
        assert told[number].parameters["temperature"] == pytest.approx(expected, rel=1e-7)


def test_rescored_is_what_each_fold_gets():
    scores, labels = drawn(500, 3)
    data = LabeledScores(scores, labels)
    fold = np.random.default_rng(0).integers(0, 3, 500)
    _, fits = with_left_out(Temperature(), data, fold)
    rescored = Rescored(ArrayScores(scores, "logits"), fits, fold)
    found = np.concatenate(list(rescored.blocks(37)))
    assert rescored.kind == "logits"
    for number, fitted in fits.items():
        own = fold == number
        np.testing.assert_allclose(
            special.log_softmax(found[own], axis=1), fitted.apply(scores[own]), atol=1e-12
        )
