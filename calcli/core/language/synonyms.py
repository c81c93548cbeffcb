"""What else people call metrics, methods and figures: in the literature, in other libraries, in speech."""

from __future__ import annotations

import re
from collections.abc import Iterable

from calcli.core.language.entries import Entry

CALLED = {  # what else an expression is called, with commas between
    "accuracy": "acc, accuracy score, exact match, pass rate",
    "auroc": "area under the curve, auc, roc auc, roc auc score, c-statistic, cstat, c-index, "
    "concordance, concordance index, roc",
    "average_precision": "ap, area under the precision-recall curve, auprc, average precision score, pr auc",
    "balanced_accuracy": "balanced accuracy score",
    "bias": "recalibration in the large, intercept recalibration",
    "binned_calibration_loss": "cl",
    "binned_refinement_loss": "rl",
    "brier": "brier loss, quadratic score, brier score loss, mean squared error, mse",
    "calibration_intercept": "calibration in the large, citl",
    "calibration_loss": "calloss",
    "corp": "isotonic calibration curve",
    "cw_ece": "class-wise calibration error, sce, static calibration error",
    "cw_ece_l2": "cw-ece2",
    "ece": "conf-ece, ecebin, ecemc",
    "ece:binning=equal-mass": "adaece, adaptive ece, equal-mass ece",
    "ece_l2": "conf-ece2",
    "error_rate": "zero-one loss",
    "expected_miscalibration:distance=euclidean": "esce",
    "expected_miscalibration:norm=2:distance=euclidean": "mc-ce2",
    "f1": "f score",
    "histogram": "histogram regression",
    "isotonic": "isotonic calibration",
    "isotonic:smoothing=0:interpolation=steps": "pav",
    "kappa": "cohen kappa, cohen kappa score",
    "kappa:weights=quadratic": "quadratic weighted kappa, qwk",
    "ks": "kolmogorov, kolmogorov-smirnov, ecce-mad",
    "kuiper": "ecce-r",
    "log_loss": "bce, binary cross entropy, cross entropy, cross entropy loss, log score, logarithmic score, "
    "negative log likelihood, nll",
    "mcc": "matthews corrcoef, phi coefficient",
    "net-benefit": "decision curve, decision curve analysis, dca",
    "normalized_bayes_risk": "nrisk",
    "normalized_brier": "nbs",
    "normalized_log_loss": "nce, ne, normalized cross entropy, normalized entropy",
    "oe_ratio": "o/e, o:e, o:e ratio, oe ratio, observed/expected, observed/predicted",
    "over_confidence": "over confidence",
    "platt": "logistic calibration, platt calibration, sigmoid, sigmoid calibration",
    "precision": "positive predictive value, ppv",
    "precision-recall": "pr curve",
    "precision:lens=class-0": "npv, negative predictive value",
    "recall": "hit rate, sensitivity, tpr, true positive rate",
    "rejection": "risk coverage, risk-coverage curve",
    "relative_calibration_loss": "rcl",
    "reliability": "calibration curve, calibration plot, reliability curve",
    "risk": "murphy diagram, cost curve",
    "skce": "kernel calibration error",
    "smooth_ece": "smece, smooth calibration error",
    "specificity": "tnr, true negative rate",
    "spiegelhalter_z": "spiegelhalter, spiegelhalter test",
    "temperature": "softmax temperature",
    "top5_accuracy": "top-5",
}
SYNONYMS = {word: name for name, words in CALLED.items() for word in words.split(", ")}
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
    meanings = {
        plain_word(word): called for word, called in SYNONYMS.items() if called.partition(":")[0] in names
    }
    for entry in reversed(entries):
        meanings |= {plain_word(words): entry.name for words in (entry.abbreviation_of, entry.title) if words}
    meanings |= {plain_word(entry.name): entry.name for entry in entries}
    return meanings.get(plain_word(name), name)


def also_called(entry: Entry) -> list[str]:
    """Return the synonyms of an entry with its usual arguments."""
    return [word for word, called in SYNONYMS.items() if called == entry.name]


def other_thing(name: str) -> str:
    """Return what a word means that is not the name of one thing here; "" if it is not known."""
    return {plain_word(word): says for word, says in OTHERS.items()}.get(plain_word(name), "")


def plain_word(name: str) -> str:
    """Return the letters and digits of a name, in lower case."""
    return re.sub(r"[^a-z0-9]", "", name.lower())
