"""Scores of the confusion matrix against scikit-learn, and their influences against leaving rows out."""

import numpy as np
import pytest
from scipy import stats
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


def test_shares_of_few_errors_have_exact_intervals():
    """Clopper and Pearson's, by scipy: of F1 that of TP / (TP + FP + FN), of the mean of recalls both."""
    labels = np.repeat([0, 1], [150, 50])
    said = labels.copy()
    said[0] = 1

    def exact(hits, rows):
        found = stats.binomtest(hits, rows).proportion_ci(0.95, method="exact")
        return np.array([found.low, found.high])

    names = ("precision", "recall", "specificity", "f1", "balanced_accuracy")
    found = evaluate(predicted(labels, said, ("no", "yes")), Settings(metrics=names)).estimates
    ends = {name: np.array([one.interval.low, one.interval.high]) for name, one in found.items()}
    jaccard, recalls = exact(50, 51), np.array([exact(149, 150), exact(50, 50)])
    apart = np.hypot(*(np.array([[149 / 150], [1]]) - recalls)) / 2
    expected = {
        "precision": exact(50, 51),
        "recall": recalls[1],
        "specificity": recalls[0],
        "f1": 2 * jaccard / (1 + jaccard),
        "balanced_accuracy": (149 / 150 + 1) / 2 + np.array([-1, 1]) * apart,
    }
    for name in names:
        np.testing.assert_allclose(ends[name], expected[name], rtol=1e-9)


@pytest.mark.parametrize(("frequency", "errors"), [(0.5, 0.01), (0.1, 0.02), (0.5, 0.3)])
@pytest.mark.parametrize("weighted", [False, True])
def test_intervals_of_few_errors_miss_rarely(frequency, errors, weighted):
    """All are shown but where a class has too few rows; without an error no interval is a point."""
    rng, names = np.random.default_rng(0), ("f1", "balanced_accuracy", "kappa", "mcc")
    recall, precision = (
        1 - errors,
        frequency * (1 - errors) / (frequency * (1 - errors) + (1 - frequency) * errors),
    )
    share = frequency * (1 - errors) + (1 - frequency) * errors
    apart = frequency * (1 - share) + share * (1 - frequency)
    spread = np.sqrt(frequency * (1 - frequency) * share * (1 - share))
    covariance = frequency * (1 - errors) - frequency * share
    truth = (2 / (1 / recall + 1 / precision), recall, 1 - errors / apart, covariance / spread)
    missed, shown, sets = np.zeros(4), np.zeros(4), 100
    for _ in range(sets):
        labels = (rng.random(200) < frequency).astype(int)
        said = np.where(rng.random(200) < errors, 1 - labels, labels)
        weights = rng.exponential(size=200) if weighted else None
        found = evaluate(predicted(labels, said, ("no", "yes"), weights), Settings(metrics=names)).estimates
        for place, (name, value) in enumerate(zip(names, truth, strict=True)):
            interval = found[name].interval
            shown[place] += interval is not None
            missed[place] += interval is not None and not interval.contains(value)
            assert interval is None or interval.low < interval.high
    assert missed.max() <= stats.binom.ppf(0.999, sets, 0.06)
    assert shown[:2].min() == sets
    assert shown.min() >= 0.7 * sets  # of weighted rows often fewer than five tell of the rarer class


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
