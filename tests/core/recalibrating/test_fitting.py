"""A fit from end to end, against reference numbers, scikit-learn and what must hold exactly."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import accuracy_score, log_loss

from calcli.core.calibrators.record import recalibrate
from calcli.core.calibrators.wrappers import PerPredictedClass, PreserveTop1
from calcli.core.data import blocks
from calcli.core.data.predictions import ArrayScores
from calcli.core.evaluating.evaluate import values
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import parse_method, parse_methods
from calcli.core.language.settings import FitSettings
from calcli.core.recalibrating.choosing import candidates_for
from calcli.core.recalibrating.fitting import ASKED, cross_validated, fit, fits, record_of

TEMPERATURE = parse_methods(["temperature"])
DP = parse_methods(["dp"])


@pytest.mark.parametrize(("method", "key"), [("temperature", "temperature"), ("dp", "dp_affine")])
def test_reference_numbers(golden, dataset, predict, method, key):
    scores, labels = dataset("agnews_gpt2")
    half = len(labels) // 2
    rows = predict(scores[:half], labels[:half], kind="logits")
    fitted = fit(rows, parse_methods([method]), FitSettings(folds=0))
    probs = fitted.calibrator.predict_proba(scores[half:])
    names = ("logloss", "acc", "train_logloss")
    reference = {name: golden["agnews_gpt2"][f"split_{key}_{name}"] for name in names}
    assert log_loss(labels[half:], probs) == pytest.approx(reference["logloss"], rel=1e-6)
    assert accuracy_score(labels[half:], probs.argmax(1)) == pytest.approx(reference["acc"])
    assert fitted.after["log_loss"] == pytest.approx(reference["train_logloss"], rel=1e-6)
    assert (fitted.cross_validated, fitted.gain) == (None, None)


class Counted(ArrayScores):
    """Scores that count how often they are read."""

    readings = 0

    def blocks(self, rows):
        type(self).readings += 1
        return super().blocks(rows)


@pytest.mark.parametrize("names", [["temperature"], ["temperature", "bias"]])
@pytest.mark.parametrize("classes", [2, 3])
def test_rows_are_read_once(names, classes, predict, monkeypatch):
    rng = np.random.default_rng(classes)
    weights = rng.integers(0, 3, 90).astype(float)
    rows = predict(np.eye(classes)[:1].repeat(90, 0), rng.integers(0, classes, 90), weights=weights)
    rows = replace(rows, scores=Counted(rng.dirichlet(np.ones(classes), 90), "probs"))
    monkeypatch.setattr(Counted, "readings", 0)
    fit(rows, parse_methods(names), FitSettings(folds=3))
    assert Counted.readings == 1


@pytest.mark.parametrize("score", ["log_loss", "brier"])
@pytest.mark.parametrize("method", ["histogram", "temperature", "bias"])
def test_what_changes_and_what_is_gained(method, score, predict):
    rng = np.random.default_rng(3)
    probs, labels = rng.dirichlet(np.ones(3), 399), np.arange(399) % 3
    probs[:20] = [0.4, 0.4, 0.2]
    found = fit(predict(probs, labels), parse_methods([method]), FitSettings(score=score))
    after = found.calibrator.predict_proba(probs)
    tied, was_tied = ((table == table.max(1, keepdims=True)).sum(1) > 1 for table in (after, probs))
    assert found.changed_rows == np.count_nonzero(after.argmax(1) != probs.argmax(1))
    assert found.new_ties == np.count_nonzero(tied & ~was_tied)
    assert (found.new_ties > 0) == method.startswith("histogram")
    own = np.eye(3)[labels]
    first, second = (
        -np.log((table * own).sum(1)) if score == "log_loss" else np.square(table - own).sum(1)
        for table in (probs, np.exp(cross_validated(found)))
    )
    assert found.gain.mean == pytest.approx(np.mean(first - second), abs=1e-9)
    shared = np.sqrt(
        1 + 5 / 4
    )  # Nadeau & Bengio 2003: rows held out over rows of a fit are 1 to 4, five times
    assert found.gain.standard_error == pytest.approx(
        shared * np.std(first - second) / np.sqrt(399), abs=1e-9
    )


def test_many_float32_probabilities_keep_their_steps(predict, monkeypatch):
    """Their logarithms are in double precision, as they are where the calibrator is applied."""
    monkeypatch.setattr("calcli.core.data.blocks.DOUBLE_LIMIT", 1000)
    rng = np.random.default_rng(0)
    level = rng.integers(0, 20, 4000)
    prob = ((level + 0.5) / 20).astype(np.float32)
    labels = (rng.random(4000) < 0.02 + 0.9 * (level / 19) ** 3).astype(int)
    probs = np.column_stack([1 - prob, prob])
    calls = parse_methods(["isotonic:interpolation=steps:smoothing=0"])
    fitted = fit(predict(probs, labels), calls, FitSettings(folds=0))
    found = np.exp(recalibrate(record_of(fitted, None), probs, "probs"))[:, 1]
    expected = IsotonicRegression().fit_transform(level, labels)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert log_loss(labels, found) == pytest.approx(fitted.after["log_loss"], rel=1e-5)


def test_auto_takes_the_true_model(predict):
    """Labels drawn from a flattened softmax: temperature is true, the others only learn noise besides."""
    rng = np.random.default_rng(5)
    logits = rng.normal(size=(2000, 4)) * 3
    true = np.exp(logits / 2.5)
    labels = (rng.random((2000, 1)) > (true / true.sum(1, keepdims=True)).cumsum(1)).sum(1)
    names = candidates_for(4, 1000, quick=True)
    found = fit(predict(logits, labels, kind="logits"), parse_methods(names))
    assert str(found.method) == "temperature"
    assert found.candidates[0].method is None
    assert found.candidates[0].difference.mean > 5 * found.candidates[0].difference.standard_error
    assert [str(one.method) for one in found.candidates[1:]] == names
    tried = {str(one.method): one.values for one in found.candidates}
    assert tried["temperature"] == found.cross_validated


def test_auto_shows_what_cannot_be_fitted(predict):
    rng = np.random.default_rng(2)
    predictions = predict(rng.normal(size=(60, 2)), rng.integers(2, size=60), kind="logits")
    found = fit(predictions, parse_methods(["spline:lens=within-top-2", "bias"]))
    assert found.unchanged
    assert str(found.calibrator.learned("temperature")) == "1.0"
    assert "needs more than the 2 classes" in found.candidates[-1].failed
    with pytest.raises(UsageError, match="none of the candidates can be fitted: lens"):
        fit(predictions, parse_methods(["spline:lens=within-top-2", "spline:lens=within-top-3"]))


def test_to_choose_takes_folds(predict):
    predictions = predict([[0.5, 0.5]] * 4, [0, 1, 0, 1])
    with pytest.raises(UsageError, match="--folds 2 or more"):
        fit(predictions, parse_methods(["temperature", "bias"]), FitSettings(folds=0))


def test_raw_logits_are_told_from_probabilities(predict):
    probs = predict([[0.4, 0.6]] * 10, [0, 1] * 5)
    with pytest.raises(UsageError, match="arrays has probs, --input raw needs logits"):
        fit(probs, TEMPERATURE, FitSettings(raw=True))
    logits = predict([[4.0, 6.0]] * 10, [0, 1] * 5, kind="logits")
    with pytest.raises(UsageError, match="beta acts on probabilities"):
        fit(logits, parse_methods(["beta"]), FitSettings(raw=True))
    with pytest.raises(UsageError, match="a confidence has no raw logits"):
        fit(logits, TEMPERATURE, FitSettings(raw=True, reduced=True))
    assert "beta" not in candidates_for(3, 1000, raw=True)


def test_wrappers_in_their_order(predict):
    rng = np.random.default_rng(1)
    predictions = predict(rng.normal(size=(90, 3)), rng.integers(3, size=90), kind="logits")
    settings = FitSettings(folds=2, per_predicted_class=True, min_rows=7, preserve_top1=True)
    found = fit(predictions, parse_methods(["isotonic"]), settings)
    assert isinstance(found.calibrator, PreserveTop1)
    assert isinstance(found.calibrator.calibrator, PerPredictedClass)
    assert found.calibrator.calibrator.min_rows == 7
    assert found.changed_rows == 0
    assert found.after["accuracy"] == found.before["accuracy"] == found.cross_validated["accuracy"]


def test_weights_count_as_repeated_rows_and_those_of_weight_0_as_none(predict):
    rng = np.random.default_rng(4)
    scores, weights = rng.normal(size=(60, 3)), rng.integers(0, 4, size=60)
    labels = (scores + rng.normal(size=(60, 3))).argmax(1)
    weights[labels == 2] = 0
    repeated = np.repeat(np.arange(60), weights)
    settings = FitSettings(folds=0)
    once = fit(predict(scores, labels, kind="logits", weights=weights), DP, settings)
    often = fit(predict(scores[repeated], labels[repeated], kind="logits"), DP, settings)
    np.testing.assert_allclose(once.calibrator.apply(scores), often.calibrator.apply(scores), rtol=1e-5)
    assert once.after == pytest.approx(often.after)
    np.testing.assert_allclose(once.priors, often.priors)
    kept = fit(predict(scores[weights > 0], labels[weights > 0], kind="logits"), DP, settings)
    assert once.class_rows.tolist() == kept.class_rows.tolist()
    assert once.class_rows.tolist() == np.bincount(labels[weights > 0], minlength=3).tolist()
    assert 0 < once.changed_rows < np.count_nonzero(weights)


def test_every_fit_is_counted(predict):
    rng = np.random.default_rng(1)
    predictions = predict(rng.normal(size=(50, 3)), rng.integers(3, size=50), kind="logits")
    calls, settings, done = parse_methods(["temperature", "bias"]), FitSettings(folds=3), []
    fit(predictions, calls, settings, done.append)
    assert done == list(range(1, fits(calls, settings, predictions) + 1))


def test_the_record_tells_the_origin(predict):
    predictions = predict([[2.0, 0.0], [0.0, 1.0], [3.0, 1.0], [0.0, 1.0]], [0, 1, 1, 1], kind="logits")
    found = fit(predictions, TEMPERATURE, FitSettings(folds=2, seed=3))
    record = record_of(found, "abc")
    assert record.priors == (0.25, 0.75)
    assert record.classes == ("0", "1")
    expected = {"path": "arrays", "sha256": "abc", "rows": 4, "kind": "logits", "folds": 2, "seed": 3}
    assert expected.items() <= record.fitted_on.items()
    assert record.fitted_on["after"] == found.after


@pytest.mark.parametrize("name", ["dp", "isotonic", "beta", "temperature"])
def test_folds_of_a_method_give_the_same_bits_in_any_number_of_processes(predict, name):
    rng = np.random.default_rng(8)
    labels = rng.integers(3, size=300)
    predictions = predict(rng.normal(size=(300, 3)) + np.eye(3)[labels], labels, kind="logits")
    seen: list[int] = []
    one, two = (fit(predictions, parse_methods([name]), FitSettings(workers=n), seen.append) for n in (1, 2))
    assert seen == 2 * list(range(1, 7))
    assert (one.workers, two.workers) == (1, 1 if name == "temperature" else 2)
    assert (one.before, one.after, one.gain) == (two.before, two.after, two.gain)
    assert one.cross_validated == two.cross_validated
    for key, value in one.calibrator.parameters.items():
        np.testing.assert_array_equal(two.calibrator.parameters[key], value)
    assert (one.calibrator.notes, type(one.calibrator)) == (two.calibrator.notes, type(two.calibrator))


@pytest.mark.parametrize("workers", [1, 2])
def test_the_fault_of_a_method_is_told_by_any_number_of_processes(predict, workers):
    rng = np.random.default_rng(2)
    predictions = predict(rng.normal(size=(60, 2)), rng.integers(2, size=60), kind="logits")
    with pytest.raises(UsageError, match="needs more than the 2 classes"):
        fit(predictions, parse_methods(["spline:lens=within-top-2"]), FitSettings(workers=workers))


STEPPED = (
    "isotonic:interpolation=steps",
    "histogram",
    "bbq",
    "scaling-binning",
    "spline",
    "vector-histogram:min_rows=10",
)


def permuted(kind: str, classes: int) -> np.ndarray:
    """Return single-precision scores, permutations of few rows."""
    rng = np.random.default_rng(classes)
    few = rng.dirichlet(np.ones(classes), 40)
    probs = rng.permuted(few[rng.integers(0, 40, 301)], axis=1)
    return (probs if kind == "probs" else np.log(probs) + rng.integers(0, 2, (301, 1))).astype(np.float32)


@pytest.mark.parametrize("limit", [1, blocks.DOUBLE_LIMIT])
@pytest.mark.parametrize("kind", ["probs", "logits"])
@pytest.mark.parametrize("reduced", [False, True])
def test_the_metrics_after_a_fit_are_those_of_its_application(predict, monkeypatch, reduced, kind, limit):
    """Also of as many scores as are read in single precision, and of rows that are applied in parts."""
    monkeypatch.setattr(blocks, "DOUBLE_LIMIT", limit)
    for classes in (3, 10):
        scores = permuted(kind, classes)
        rows = predict(scores, np.random.default_rng(0).integers(0, classes, len(scores)), kind)
        for method in STEPPED:
            found = fit(rows, [parse_method(method)], FitSettings(folds=0, reduced=reduced))
            record = record_of(found, None)
            parts = [recalibrate(record, part, kind) for part in np.split(scores, [1, 8, 130])]
            done = predict(np.concatenate(parts), rows.labels, "log-probs")
            applied = values(done, ASKED)
            for score in ("log_loss", "brier"):  # others see the last digit of single precision
                assert found.after[score] == pytest.approx(applied[score], abs=2e-6), method


def test_calibrated_rows_are_left_as_they_are(predict):
    """A gain by chance is more than one standard error in one of six sets."""
    unchanged = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        prob = rng.random(200)
        labels = (rng.random(200) < prob).astype(int)
        rows = predict(np.stack([1 - prob, prob], axis=1), labels)
        found = fit(rows, parse_methods(["temperature", "isotonic"]))
        unchanged.append(found.unchanged)
        if found.unchanged:
            assert found.cross_validated == found.before
            applied = np.exp(found.calibrator.apply(np.log(rows.scores.array)))
            np.testing.assert_allclose(applied[:, 1], prob)
        sharp = np.stack([0 * prob, 4 * np.log(prob / (1 - prob))], axis=1)
        assert not fit(predict(sharp, labels, "logits"), parse_methods(["temperature", "dp"])).unchanged
    assert sum(unchanged) >= 3


@pytest.mark.parametrize("seed", [10, 31])
def test_scores_are_changed_where_only_a_freer_method_gains_beyond_noise(seed, predict):
    """Two rules of one standard error must not add up: the simpler method is taken, not none."""
    rng = np.random.default_rng(seed)
    logit = 2.2 * rng.normal(size=200)
    true = 1 / (1 + np.exp(-np.where(logit < 0, logit / 2.2, 1.2 * logit)))
    labels = (rng.random(200) < true).astype(int)
    rows = predict(np.stack([0 * logit, logit], axis=1), labels, "logits")
    found = fit(rows, parse_methods(["temperature", "beta"]))
    as_is = found.candidates[0].difference
    assert as_is.mean > as_is.standard_error
    assert (str(found.method), found.unchanged) == ("temperature", False)
