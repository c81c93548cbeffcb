"""Scores of the confusion matrix against scikit-learn, and their influences against leaving rows out."""

import numpy as np
import pytest
from sklearn import metrics

from calcli.core.data.predictions import ArrayScores, Predictions, Provenance
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.errors import UsageError
from calcli.core.language.settings import Settings

NAMES = ("kappa", "kappa:weights=linear", "kappa:weights=quadratic", "mcc", "balanced_accuracy", "accuracy")


def predicted(labels, said, classes, weights=None, outcomes="predictions"):
    k = len(classes)
    scores = ArrayScores(np.eye(k)[said], "probs")
    origin = Provenance("t", "t", outcomes=outcomes)
    return Predictions(scores, labels.astype(np.int32), classes, weights, provenance=origin)


def draw(classes, rows=300, seed=1):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, rows)
    said = np.where(rng.random(rows) < 0.6, labels, rng.integers(0, classes, rows))
    return labels, said, rng.random(rows) + 0.5


def of_sklearn(labels, said, weights=None):
    return {
        "kappa": metrics.cohen_kappa_score(labels, said, sample_weight=weights),
        "kappa:weights=linear": metrics.cohen_kappa_score(
            labels, said, weights="linear", sample_weight=weights
        ),
        "kappa:weights=quadratic": metrics.cohen_kappa_score(
            labels, said, weights="quadratic", sample_weight=weights
        ),
        "mcc": metrics.matthews_corrcoef(labels, said, sample_weight=weights),
        "balanced_accuracy": metrics.balanced_accuracy_score(labels, said, sample_weight=weights),
        "accuracy": metrics.accuracy_score(labels, said, sample_weight=weights),
    }


@pytest.mark.parametrize("classes", [2, 3, 7])
@pytest.mark.parametrize("weighted", [False, True])
def test_they_are_those_of_scikit_learn(classes, weighted):
    labels, said, weights = draw(classes)
    own = weights if weighted else None
    rows = predicted(labels, said, tuple("abcdefg"[:classes]), own)
    found = evaluate(rows, Settings(metrics=NAMES)).estimates
    for name, value in of_sklearn(labels, said, own).items():
        assert found[name].value == pytest.approx(value, rel=1e-12), name


def test_probabilities_are_judged_by_their_most_probable_class():
    labels, _, _ = draw(4)
    probs = np.random.default_rng(3).dirichlet(np.ones(4), len(labels))
    rows = Predictions(ArrayScores(probs, "probs"), labels.astype(np.int32), tuple("abcd"))
    found = evaluate(rows, Settings(metrics=NAMES)).estimates
    for name, value in of_sklearn(labels, probs.argmax(1)).items():
        assert found[name].value == pytest.approx(value, rel=1e-12), name


@pytest.mark.parametrize("name", ["kappa", "mcc", "balanced_accuracy"])
def test_intervals_are_those_of_the_bootstrap(name):
    labels, said, _ = draw(3, 1000)
    found = evaluate(predicted(labels, said, ("a", "b", "c")), Settings(metrics=(name,))).estimates[name]
    rng = np.random.default_rng(2)
    resampled = (rng.integers(0, len(labels), len(labels)) for _ in range(500))
    spread = np.std([of_sklearn(labels[rows], said[rows])[name] for rows in resampled])
    assert (found.interval.high - found.interval.low) / 2 == pytest.approx(1.96 * spread, rel=0.1)


def test_what_two_classes_have():
    labels, said, _ = draw(2)
    names = ("precision", "recall", "specificity", "f1")
    found = evaluate(predicted(labels, said, ("no", "yes")), Settings(metrics=names)).estimates
    precision, recall, f1, _ = metrics.precision_recall_fscore_support(labels, said, average="binary")
    specificity = metrics.recall_score(labels, said, pos_label=0)
    values = (precision, recall, specificity, f1)
    for name, value in zip(names, values, strict=True):
        assert found[name].value == pytest.approx(value, rel=1e-12)
    assert found["specificity"].parts["constant"] == 1
    assert found["recall"].parts["constant"] == 1


def test_they_are_undefined_where_one_class_is_all_there_is():
    labels, said = np.zeros(20, int), np.zeros(20, int)
    found = evaluate(predicted(labels, said, ("a", "b")), Settings(metrics=("kappa", "mcc"))).estimates
    assert np.isnan(found["kappa"].value)
    assert np.isnan(found["mcc"].value)
    assert found["mcc"].interval is None


def test_what_needs_probabilities_says_so():
    rows = predicted(*draw(2)[:2], ("no", "yes"))
    for name in ("log_loss", "brier", "ece", "auroc", "mean_gap"):
        with pytest.raises(
            UsageError, match=f"{name}: it needs probabilities, and these are predicted classes"
        ):
            evaluate(rows, Settings(metrics=(name,)))
    assert list(evaluate(rows).estimates)[:2] == ["accuracy", "kappa"]
