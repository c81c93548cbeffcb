"""Table 2 of Ferrer & Ramos 2024, and the rows of its notebook, to the printed digit."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from calcli.core.calibrators.crossvalidation import held_out_folds, rows_of
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.estimators.costs import CostWord
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.evaluating.recalibrated import recalibrator
from calcli.core.language.settings import Settings

RECALIBRATED = {"calt": "temperature", "cal": "dp", "calp": "pav"}
UNCONVERGED = {  # cells whose fit in the paper had not converged
    ("fvcaus_plda", "cal", "RCL"),
    ("fvcaus_plda", "calp", "RCL"),
    ("cifar100_vgg19_bn", "cal", "ECEmc"),
}
PRINTED = {
    "C01": "normalized_bayes_risk",
    "Cab": "normalized_bayes_risk:costs=abstain",
    "Cimb": "normalized_bayes_risk:costs=imbalanced",
    "NCE": "normalized_log_loss",
    "RCL": "relative_calibration_loss",
    "ECEmc": "ece:lens=top-1",
    "ECEbin": "ece:lens=class-1",
}
PERCENT = ("RCL", "ECEmc", "ECEbin")


def scikit_learn_folds(labels):
    fold = np.empty(len(labels), np.intp)
    splits = StratifiedKFold(5, shuffle=True, random_state=0).split(labels, labels)
    for number, (_, held_out) in enumerate(splits):
        fold[held_out] = number
    return fold


@pytest.fixture(scope="module")
def systems(dataset):
    @cache
    def load(name, row):
        scores, labels = dataset(name)
        fold = scikit_learn_folds(labels)
        classes = tuple(map(str, range(scores.shape[1])))
        raw = Predictions(ArrayScores(scores, "logits"), labels, classes, columns={"fold": fold})
        if row == "raw":
            return raw
        method, rows = recalibrator(RECALIBRATED[row]), rows_of(raw)
        if row == "calp":  # fitted to the rows it is applied to
            log_probs = rows.fit(method).apply(rows.scores)
        else:
            log_probs = held_out_folds(method, rows, fold)
        log_probs = np.maximum(
            log_probs, np.log(1e-30)
        )  # as the paper's code clips what PAV calls impossible
        return Predictions(ArrayScores(log_probs, "log-probs"), labels, classes, columns=raw.columns)

    return load


def metrics_of(predictions, names):
    last = predictions.classes[-1]
    costs = (CostWord("abstain", "abstain", 0.1), CostWord("imbalanced", "imbalanced", 10.0, last))
    settings = Settings(
        metrics=tuple(PRINTED[name] for name in names),
        costs=costs,
        fold_column="fold",
        intervals=False,
        draws=0,
    )
    estimates = evaluate(predictions, settings).estimates
    return {name: estimates[PRINTED[name]].value * (100 if name in PERCENT else 1) for name in names}


@pytest.fixture(scope="module")
def computed(table2, systems):
    return [metrics_of(systems(row["dataset"], row["row"]), row["printed"]) for row in table2]


def test_every_row_of_table_2(table2, computed):
    assert len(table2) == 20
    for row, found in zip(table2, computed, strict=True):
        system = row["dataset"], row["row"]
        for name, printed in row["printed"].items():
            assert found[name] == pytest.approx(row["computed"][name], abs=1e-4), (*system, name)
            if (*system, name) not in UNCONVERGED:
                decimals = len(printed.partition(".")[2])
                assert float(f"{found[name]:.{decimals}f}") == float(printed), (*system, name)
