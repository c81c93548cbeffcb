"""One class against the rest."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.metrics import log_loss, roc_auc_score

from calcli.core.data.derived import against_rest
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.errors import UsageError
from calcli.core.language.settings import Settings

METRICS = ("log_loss", "auroc", "brier")


def named(scores, labels, kind, names):
    return Predictions(ArrayScores(np.asarray(scores), kind), np.asarray(labels), tuple(names))


def values(predictions: Predictions) -> dict[str, float]:
    found = evaluate(predictions, Settings(metrics=METRICS, intervals=False, draws=0)).estimates
    return {name: one.value for name, one in found.items()}


@pytest.mark.parametrize("kind", ["logits", "log-probs", "probs"])
def test_a_class_against_the_rest_is_a_data_set(kind):
    rng = np.random.default_rng(0)
    logits, labels = rng.normal(size=(300, 4)), rng.integers(0, 4, 300)
    log_probs = log_softmax(logits, axis=1)
    scores = {"logits": logits, "log-probs": log_probs, "probs": np.exp(log_probs)}[kind]
    merged = against_rest(named(scores, labels, kind, ["a", "b", "c", "rest"]), "c")
    assert merged.classes == ("rest", "c")
    assert "class c against the rest of 4 classes" in merged.provenance.notes[-1]
    own, hit = np.exp(log_probs[:, 2]), labels == 2
    found = values(merged)
    assert found["log_loss"] == pytest.approx(log_loss(hit, own))
    assert found["auroc"] == pytest.approx(roc_auc_score(hit, own))
    assert found["brier"] == pytest.approx(np.square(own - hit).mean())


def test_tiny_probabilities_of_the_rest_are_kept():
    logits = np.array([[800.0, 0, 1], [800.0, 0, 1]])
    found = values(against_rest(named(logits, [1, 2], "logits", ["a", "b", "c"]), "a"))
    assert found["log_loss"] == pytest.approx(800 - np.log(1 + np.e))


def test_names_that_make_no_sense(predict):
    three = named(np.full((2, 3), 1 / 3), [0, 1], "probs", ["cat", "dog", "rest"])
    assert against_rest(three, "rest").classes == ("others", "rest")
    with pytest.raises(UsageError, match="no such class, did you mean 'dog'; it has cat, dog, rest"):
        against_rest(three, "dgo")
    with pytest.raises(UsageError, match="two classes already"):
        against_rest(predict([[0.5, 0.5]], [0]), "0")
