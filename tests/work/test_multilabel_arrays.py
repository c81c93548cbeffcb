"""Several labels in a row, handed over in Python."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score

import calcli
from calcli.core.language.errors import CalcliError

NAMES = ("edema", "hernia", "mass")


@pytest.fixture(scope="module")
def forest():
    """Return labels and what `predict_proba` of a forest gives: an array of two classes for each label."""
    x, y = make_multilabel_classification(400, n_classes=3, random_state=0)
    model = RandomForestClassifier(20, min_samples_leaf=5, random_state=0).fit(x[:200], y[:200])
    return y[200:], model.predict_proba(x[200:])


def test_what_scikit_learn_returns_is_taken(forest):
    labels, probs = forest
    report = calcli.evaluate(probs, labels, classes=NAMES, metrics="auroc")
    mean, *of_labels = report.results
    assert [result.input.label for result in of_labels] == [*NAMES]
    expected = [roc_auc_score(labels[:, n], probs[n][:, 1]) for n in range(3)]
    assert [result.metrics["auroc"].value for result in of_labels] == pytest.approx(expected)
    assert mean.metrics["auroc"] is report["auroc"]
    assert report["auroc"].value == pytest.approx(np.mean(expected))
    assert "auroc" in report
    assert list(report) == ["auroc"]
    assert repr(report).startswith("<Report on arrays: ")
    frame = report.to_frame()
    assert frame["slice"].tolist()[1:] == [f"label={name}" for name in NAMES]


def test_arrays_and_tables_are_the_same(forest):
    labels, probs = forest
    second = np.stack([of_label[:, 1] for of_label in probs], axis=1)
    weights = np.arange(200) % 3
    table = {f"true_{n}": labels[:, n] for n in range(3)} | {f"prob_{n}": second[:, n] for n in range(3)}
    first, *others = (
        calcli.evaluate(second, labels, metrics="brier"),
        calcli.evaluate(second, labels.astype(bool), metrics=["brier"], classes=NAMES),
        calcli.evaluate(pd.DataFrame(table), metrics=["brier"]),
    )
    for other in others:
        assert other["brier"].value == first["brier"].value
        assert other["brier"].interval == first["brier"].interval
    weighted = calcli.evaluate(second, labels, metrics="brier", weights=weights)
    expected = np.average((second - labels) ** 2, axis=0, weights=weights).mean()
    assert weighted["brier"].value == pytest.approx(expected)


def test_what_takes_one_label_names_them(forest):
    labels, probs = forest
    with pytest.raises(CalcliError, match="arrays has 3 labels in a row, edema, hernia, mass; name one"):
        calcli.fit(probs, labels, classes=NAMES)
    with pytest.raises(CalcliError, match="figures of Python show one label"):
        calcli.evaluate(probs, labels, metrics="brier").plot()
