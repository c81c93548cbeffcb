"""Calibrators are classifiers to scikit-learn: cloned, in pipelines, cross-validated, searched."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from calcli.core.calibrators.histogram import Histogram
from calcli.core.calibrators.softmax import DPAffine, VectorScaling
from calcli.core.calibrators.temperature import Temperature
from calcli.core.calibrators.wrappers import PreserveTop1
from calcli.core.language.errors import InputError, UsageError
from tests.core.samples import SMALL, made

NAMES = np.array(["setosa", "versicolor", "virginica"])


@pytest.fixture(scope="module")
def iris() -> tuple[np.ndarray, np.ndarray]:
    """Sharpened probabilities of three classes, and the names of the labels."""
    data, labels = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=500)
    scores = cross_val_predict(model, data[:, :2], labels, cv=5, method="decision_function") * 2
    probs = np.exp(scores - scores.max(1, keepdims=True))
    return probs / probs.sum(1, keepdims=True), NAMES[labels]


@pytest.mark.parametrize("text", SMALL.values())
def test_every_calibrator_takes_probabilities_and_names(iris, text):
    probs, names = iris
    fitted = clone(made(text).set_params(scores_are="probs")).fit(probs, names)
    assert is_classifier(fitted)
    assert fitted.classes_.tolist() == NAMES.tolist()
    found = fitted.predict_proba(probs)
    expected = made(text).fit(np.log(probs), np.searchsorted(NAMES, names)).predict_proba(np.log(probs))
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(fitted.predict(probs), NAMES[found.argmax(1)])
    copied = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copied.predict_proba(probs), found)


def test_settings_are_searched(iris):
    probs, names = iris
    wrapped = PreserveTop1(calibrator=Histogram(), scores_are="probs")
    search = GridSearchCV(wrapped, {"calibrator__bins": [2, 5, 40]}, scoring="neg_log_loss", cv=3)
    search.fit(probs, names)
    losses = [
        -cross_val_score(
            wrapped.set_params(calibrator__bins=bins), probs, names, scoring="neg_log_loss", cv=3
        )
        for bins in (2, 5, 40)
    ]
    np.testing.assert_allclose(-search.cv_results_["mean_test_score"], np.mean(losses, 1), rtol=1e-12)
    assert search.best_estimator_.calibrator.bins == (2, 5, 40)[np.argmin(np.mean(losses, 1))]


def test_in_a_pipeline_weights_reach_it(iris):
    probs, names = iris
    weights = np.arange(len(names)) % 3
    pipeline = make_pipeline(FunctionTransformer(np.log), Temperature())
    pipeline.fit(probs, names, temperature__sample_weight=weights)
    alone = Temperature(scores_are="probs").fit(np.repeat(probs, weights, axis=0), np.repeat(names, weights))
    np.testing.assert_allclose(pipeline.predict_proba(probs), alone.predict_proba(probs), atol=1e-7)
    assert pipeline.classes_.tolist() == NAMES.tolist()
    assert set(pipeline.predict(probs)) <= set(NAMES)
    assert "Temperature" in pipeline._repr_html_()


@pytest.mark.parametrize("shape", [(-1,), (-1, 1)])
def test_one_score_a_row_is_that_of_the_second_class(shape):
    odds = np.random.default_rng(0).normal(size=200) * 3
    labels = np.random.default_rng(1).random(200) < 1 / (1 + np.exp(-odds / 2))
    expected = DPAffine().fit(np.column_stack([np.zeros(200), odds]), labels)
    single = DPAffine().fit(odds.reshape(shape), labels)
    proba = expected.predict_proba(np.column_stack([np.zeros(200), odds]))
    np.testing.assert_array_equal(single.predict_proba(odds.reshape(shape)), proba)
    assert single.classes_.tolist() == [False, True]
    np.testing.assert_array_equal(single.predict(odds), proba[:, 1] > 0.5)
    prob = 1 / (1 + np.exp(-odds))
    of_probs = DPAffine(scores_are="probs").fit(prob.reshape(shape), labels)
    np.testing.assert_allclose(of_probs.predict_proba(prob.reshape(shape)), proba, atol=1e-6)
    single.predict_proba([0.3])  # a few log-odds may lie there


def test_labels_are_columns_or_names_in_ascending_order(iris):
    probs, names = iris
    plain = Temperature(scores_are="probs").fit(probs, np.searchsorted(NAMES, names))
    assert plain.classes_.tolist() == [0, 1, 2]
    from_one = Temperature(scores_are="probs").fit(probs, np.searchsorted(NAMES, names) + 1)
    assert from_one.classes_.tolist() == [1, 2, 3]
    order = [2, 0, 1]
    named = Temperature(scores_are="probs").fit(probs[:, order], names, classes=NAMES[order])
    assert named.classes_.tolist() == NAMES[order].tolist()
    few = Temperature(scores_are="probs").fit(probs, np.array(["setosa"] * len(probs), object), classes=NAMES)
    assert set(few.predict(probs)) <= set(NAMES)
    for other in (from_one, named):
        assert other.parameters["temperature"] == pytest.approx(plain.parameters["temperature"], rel=1e-9)


def test_the_names_of_before_are_accepted(iris):
    probs, names = iris
    weights = np.arange(len(names)) % 2
    before = Temperature(scores_are="probs").fit(scores=probs, labels=names, weights=weights)
    now = Temperature(scores_are="probs").fit(probs, y=names, sample_weight=weights)
    assert before.parameters == now.parameters
    with pytest.raises(UsageError, match="y and labels are the same argument"):
        Temperature(scores_are="probs").fit(probs, names, labels=names)
    with pytest.raises(UsageError, match=r"labels are missing; expected fit\(scores, y\)"):
        Temperature().fit(probs)


def probabilities() -> Temperature:
    return Temperature(scores_are="probs")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: Temperature(scores_are="x"), "one of 'logits', 'log-probs', 'probs', 'percent'; got 'x'"),
        (lambda p: probabilities().fit(p * 2, p.argmax(1)), "expected probabilities, from 0 to 1"),
        (lambda p: probabilities().fit(p / 2, p.argmax(1)), "row 0 sums to 0.5"),
        (lambda p: probabilities().fit(p, p.argmax(1)).predict(np.log(p)), "score of class 0 in"),
        (lambda p: probabilities().fit(p, p.argmax(1)).predict([0.2]), "2 columns; expected 3"),
        (lambda p: VectorScaling(scores_are="probs", input="raw"), "input='raw' takes raw logits"),
        (lambda p: PreserveTop1(calibrator=probabilities()), "scores_are is for PreserveTop1"),
        (lambda p: probabilities().fit(p, p.argmax(1), classes=["ab"]), "has 1 names; expected 3"),
        (lambda p: probabilities().fit(p, ["d"] * len(p), classes=list("abc")), "label 'd'"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told(iris, call, message):
    with pytest.raises((InputError, UsageError), match=message):
        call(iris[0])


def test_scikit_learn_is_not_loaded():
    script = (
        "import sys, calcli; scores = [[.6, .4], [.2, .8], [.3, .7]]; "
        "calcli.Temperature(scores_are='probs').fit(scores, [0, 1, 0]).predict(scores); "
        "assert 'sklearn' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


@pytest.mark.parametrize(
    ("names", "scoring"),
    [
        (["cat", "dog", "ant"], "neg_log_loss"),
        (["cat", "dog", "ant"], "roc_auc_ovr"),
        (["yes", "no"], "roc_auc"),
    ],
)
def test_scores_do_not_hang_on_the_order_of_columns(iris, names, scoring):
    probs = iris[0][:, : len(names)]
    probs = pd.DataFrame(probs / probs.sum(1, keepdims=True), columns=names)
    labels = np.array(names)[
        probs.to_numpy().argmax(1) ^ (np.arange(len(probs)) % 7 == 0) * (len(names) == 2)
    ]
    sorted_columns = probs[sorted(names)]
    found, expected = (
        cross_val_score(probabilities(), each, labels, scoring=scoring, cv=3, error_score="raise")
        for each in (probs, sorted_columns)
    )
    np.testing.assert_array_equal(found, expected)
    by_array = cross_val_score(probabilities(), sorted_columns.to_numpy(), labels, scoring=scoring, cv=3)
    np.testing.assert_array_equal(found, by_array)


def test_labels_that_scikit_learn_numbers_are_refused_beside_columns_that_do_not_ascend(iris):
    probs, names = iris
    frame = pd.DataFrame(probs, columns=NAMES)
    expected = cross_val_predict(probabilities(), probs, names, cv=3, method="predict_proba")
    found = cross_val_predict(probabilities(), frame, names, cv=3, method="predict_proba")
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(InputError, match="do not ascend"):
        cross_val_predict(probabilities(), frame[NAMES[::-1]], names, cv=3, method="predict_proba")
