"""The metrics of the default report."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calcli.core.data.predictions import Predictions
from calcli.core.estimators.costs import find_costs
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import Measure, parse_metric
from calcli.core.language.settings import Settings

RECALIBRATION_LIMIT = 10_000_000  # elements up to which the default report has calibration losses
MANY = 5_000_000  # elements above which what needs rows looks at a sample of them
TESTED = 20_000  # elements up to which class-wise errors are tested by default
OPERATING = ("alert_rate", "precision", "recall", "specificity", "net_benefit")  # at each threshold
COST = "threshold_cost"  # there, where decisions have costs
CLASSICAL_OF_TWO = ("oe_ratio", "calibration_slope", "calibration_intercept")
AUROC_LIMIT = 10_000_000  # elements up to which the default report ranks every class


def is_sampled(predictions: Predictions, settings: Settings) -> bool:
    """Return whether metrics that need rows use a sample although all rows are available."""
    rows, classes = predictions.scores.shape
    columns = settings.cluster, settings.decision_column, settings.cost_column, settings.fold_column
    needs = settings.priors, settings.costs, *columns
    return rows * classes > MANY and settings.rows != "all" and not any(needs)


def tests_classes(predictions: Predictions, settings: Settings) -> bool:
    """Return whether class-wise errors are tested: on request, or if it takes little time."""
    rows, classes = predictions.scores.shape
    return settings.draws > 0 and (settings.test or (settings.draws_outcomes and rows * classes <= TESTED))


def operating_points(predictions: Predictions, settings: Settings) -> dict[float, list[Measure]]:
    """Return the metrics of each requested threshold.

    Raises
    ------
    UsageError
        If there are more than two classes, or no probabilities.
    """
    if not settings.thresholds:
        return {}
    if predictions.n_classes != 2 or not predictions.has_probabilities:
        raise UsageError("--thresholds is for probabilities of two classes; leave it out")
    halves = np.full(2, 0.5)
    matrices = [
        find_costs(name, settings.costs).matrix(predictions.classes, halves) for name in costs_of(settings)
    ]
    costs = [f"{COST}:costs={matrix.name}" for matrix in matrices if len(matrix.decisions) == 2]
    return {
        threshold: [
            parse_metric(f"{name}:threshold={threshold!r}", settings.defaults)
            for name in (*OPERATING, *costs)
        ]
        for threshold in settings.thresholds
    }


def costs_of(settings: Settings) -> list[str]:
    """Return the names of the costs in the settings."""
    return [cost.name for cost in settings.costs] or ["zero-one"] * (settings.cost_column is not None)


def gap_of(settings: Settings) -> Measure:
    """Return the metric behind the verdict, which every report has."""
    return parse_metric("mean_gap", settings.defaults)


def area_of(settings: Settings) -> Measure:
    """Return the metric that shows whether scores rank the wrong way round, as every report does."""
    return parse_metric("auroc", settings.defaults)


def default_metrics(
    predictions: Predictions, settings: Settings | None = None
) -> tuple[list[str], list[str]]:
    """Return the expressions of the default report, and a sentence for each metric left out."""
    if predictions.has_probabilities:
        return _of_probabilities(predictions, settings)
    return _of_outcomes(predictions, settings), []


def are_grades(classes: Sequence[str]) -> bool:
    """Return whether the names of more than two classes are numbers, as for a judge's grades."""
    return len(classes) > 2 and all(name.isdigit() for name in classes)


def _of_probabilities(predictions: Predictions, settings: Settings | None) -> tuple[list[str], list[str]]:
    rows, classes = predictions.scores.shape
    sampled = not predictions.has_rows or is_sampled(predictions, settings or Settings())
    names = ["log_loss", "normalized_log_loss", "brier", "normalized_brier"]
    names += ["accuracy", *([] if predictions.of_answers else ["normalized_error_rate"])]
    for called in costs_of(settings) if settings else ():
        names += [f"bayes_risk:costs={called}", f"normalized_bayes_risk:costs={called}"]
    if settings and settings.decision_column is not None:
        for called in costs_of(settings) or ["zero-one"]:
            names += [f"expected_cost:costs={called}", f"normalized_expected_cost:costs={called}"]
    if settings and settings.cost_column is not None:
        names = [name for name in names if ":costs=" not in name or not name.startswith("normalized")]
    skipped = []
    if classes > 5:
        names.append("top5_accuracy")
    if sampled or classes == 2 or rows * classes <= AUROC_LIMIT:
        names.append("auroc")
        names += ["average_precision"] if classes == 2 and not predictions.of_answers else []
    else:
        skipped.append("auroc sorts every class in memory and is left out; ask for it with --metrics auroc")
    of_two = classes == 2 and not predictions.of_answers
    names += ["mean_gap", *CLASSICAL_OF_TWO] if of_two else ["mean_confidence", "mean_gap"]
    names += ["ece", "ece_l2", "mce", "ece:binning=equal-mass", "ks", "kuiper"]
    if sampled or rows * classes <= RECALIBRATION_LIMIT:
        names += ["relative_calibration_loss", "relative_calibration_loss:score=brier"]
        if classes == 2:
            names.append("relative_calibration_loss:recalibrator=pav:training=test")
    else:
        skipped.append(
            "relative_calibration_loss fits recalibrations to all rows and is left out; ask for it with "
            "--metrics relative_calibration_loss"
        )
    return names + ([] if classes == 2 else ["cw_ece", "cw_ece_l2"]), skipped


def _of_outcomes(predictions: Predictions, settings: Settings | None) -> list[str]:
    """Return the metrics of outcomes, grades or predicted classes."""
    if predictions.of_answers:
        return ["mean_score" if predictions.provenance.outcomes == "grades" else "accuracy"]
    names = ["accuracy", "kappa", "mcc", "balanced_accuracy"]
    if predictions.provenance.judge and are_grades(predictions.classes):
        names = ["accuracy", "kappa:weights=quadratic", "mean_difference", *names[1:]]
    if predictions.n_classes == 2:
        names += ["precision", "recall", "specificity", "f1"]
    for cost in settings.costs if settings and settings.decision_column else ():
        names += [f"expected_cost:costs={cost.name}", f"normalized_expected_cost:costs={cost.name}"]
    return names
