"""What else people call metrics, methods and figures: in the literature, in other libraries, in speech."""

from __future__ import annotations

import re
from collections.abc import Iterable

from calcli.core.language.entries import Entry

SYNONYMS = {  # each is one expression and no other
    "acc": "accuracy",
    "accuracy score": "accuracy",
    "adaptive calibration error": "ace",
    "ap": "average_precision",
    "area under the curve": "auroc",
    "area under the precision-recall curve": "average_precision",
    "auc": "auroc",
    "auprc": "average_precision",
    "average precision score": "average_precision",
    "balanced accuracy score": "balanced_accuracy",
    "bce": "log_loss",
    "binary cross entropy": "log_loss",
    "brier loss": "brier",
    "calibration curve": "reliability",
    "calibration plot": "reliability",
    "calloss": "calibration_loss",
    "cl": "binned_calibration_loss",
    "class-wise calibration error": "cw_ece",
    "cohen kappa": "kappa",
    "cohen kappa score": "kappa",
    "conf-ece": "ece",
    "conf-ece2": "ece_l2",
    "cross entropy": "log_loss",
    "cross entropy loss": "log_loss",
    "cw-ece2": "cw_ece_l2",
    "decision curve": "net-benefit",
    "decision curve analysis": "net-benefit",
    "ecebin": "ece",
    "ecemc": "ece",
    "esce": "expected_miscalibration:distance=euclidean",
    "exact match": "accuracy",
    "f score": "f1",
    "histogram regression": "histogram",
    "hit rate": "recall",
    "isotonic calibration": "isotonic",
    "kernel calibration error": "skce",
    "log score": "log_loss",
    "logarithmic score": "log_loss",
    "logistic calibration": "platt",
    "matthews corrcoef": "mcc",
    "mc-ce2": "expected_miscalibration:norm=2:distance=euclidean",
    "nbs": "normalized_brier",
    "nce": "normalized_log_loss",
    "ne": "normalized_log_loss",
    "negative log likelihood": "log_loss",
    "nll": "log_loss",
    "normalized cross entropy": "normalized_log_loss",
    "normalized entropy": "normalized_log_loss",
    "nrisk": "normalized_bayes_risk",
    "over confidence": "over_confidence",
    "pass rate": "accuracy",
    "pav": "isotonic:smoothing=0:interpolation=steps",
    "phi coefficient": "mcc",
    "platt calibration": "platt",
    "positive predictive value": "precision",
    "ppv": "precision",
    "pr auc": "average_precision",
    "pr curve": "precision-recall",
    "quadratic score": "brier",
    "quadratic weighted kappa": "kappa:weights=quadratic",
    "qwk": "kappa:weights=quadratic",
    "rcl": "relative_calibration_loss",
    "reliability curve": "reliability",
    "risk coverage": "rejection",
    "rl": "binned_refinement_loss",
    "roc auc": "auroc",
    "roc auc score": "auroc",
    "sce": "cw_ece",
    "sensitivity": "recall",
    "brier score loss": "brier",
    "calibration in the large": "calibration_intercept",
    "citl": "calibration_intercept",
    "mean squared error": "brier",
    "mse": "brier",
    "o/e": "oe_ratio",
    "sigmoid": "platt",
    "sigmoid calibration": "platt",
    "softmax temperature": "temperature",
    "static calibration error": "cw_ece",
    "tnr": "specificity",
    "top-5": "top5_accuracy",
    "tpr": "recall",
    "true negative rate": "specificity",
    "true positive rate": "recall",
    "zero-one loss": "error_rate",
}
OTHERS = {  # words for what has no name here, or several
    "bs": "brier over the number of classes in Ferrer & Ramos (2024)",
    "calibration ratio": "mean probability over the share of the class; oe_ratio is the share over the mean "
    "probability, and mean_gap their difference",
    "ce": "cross-entropy in Ferrer & Ramos (2024), which is log_loss; calibration error elsewhere",
    "calibration error": "what is measured in many ways; ece is the best known, and ks has no bins",
    "ks statistic": "the largest distance between the distributions of the scores of two classes: it "
    "measures ranking, as auroc does, and is not here; ks is another thing, a calibration error",
    "neg brier score": "minus brier",
    "neg log loss": "minus log_loss",
}


def meant(name: str, entries: Iterable[Entry]) -> str:
    """Return the expression that is meant by a name.

    Parameters
    ----------
    name
        The name of an entry, its title or what its letters stand for in any spelling, or a synonym.
    entries
        What there is.

    Returns
    -------
    The expression of an entry; `name` itself if none is meant.
    """
    entries = list(entries)
    if any(entry.name == name for entry in entries):
        return name
    names = {entry.name for entry in entries}
    known = {_plain(word): called for word, called in SYNONYMS.items() if called.partition(":")[0] in names}
    for entry in reversed(entries):
        known |= {_plain(words): entry.name for words in (entry.abbreviation_of, entry.title) if words}
    known |= {_plain(entry.name): entry.name for entry in entries}
    return known.get(_plain(name), name)


def synonym(word: str) -> str:
    """Return the name of the entry that a word is a synonym of, in any spelling; "" if of none."""
    return {_plain(one): called for one, called in SYNONYMS.items()}.get(_plain(word), "").partition(":")[0]


def also_called(entry: Entry) -> list[str]:
    """Return the synonyms of an entry with its usual arguments."""
    return [word for word, called in SYNONYMS.items() if called == entry.name]


def other_thing(name: str) -> str:
    """Return what a word means that is not the name of one thing here; "" if it is not known."""
    return {_plain(word): says for word, says in OTHERS.items()}.get(_plain(name), "")


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
