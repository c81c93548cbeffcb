"""What else people call metrics, calibrators and figures."""

from __future__ import annotations

import re
from collections.abc import Iterable

from calcli.core.language.entries import Entry

SYNONYMS = {
    "acc": "accuracy",
    "adaptive calibration error": "ace",
    "area under the curve": "auroc",
    "auc": "auroc",
    "bbq calibration": "bbq",
    "binary cross entropy": "log_loss",
    "brier loss": "brier",
    "calibration curve": "reliability",
    "calibration error": "ece",
    "calibration plot": "reliability",
    "class-wise calibration error": "cw_ece",
    "classwise ece": "cw_ece",
    "cross entropy": "log_loss",
    "expected calibration error": "ece",
    "histogram regression": "histogram",
    "isotonic calibration": "isotonic",
    "kernel calibration error": "skce",
    "kolmogorov smirnov": "ks",
    "log score": "log_loss",
    "logarithmic score": "log_loss",
    "logistic calibration": "platt",
    "maximum calibration error": "mce",
    "maximum mean calibration error": "mmce",
    "mean squared error": "brier",
    "mse": "brier",
    "negative log likelihood": "log_loss",
    "nll": "log_loss",
    "over confidence": "over_confidence",
    "pav": "isotonic",
    "platt calibration": "platt",
    "quadratic score": "brier",
    "reliability curve": "reliability",
    "risk coverage": "rejection",
    "roc auc": "auroc",
    "sce": "cw_ece",
    "sigmoid calibration": "platt",
    "softmax temperature": "temperature",
    "static calibration error": "cw_ece",
    "top-5": "top5_accuracy",
    "zero-one loss": "error_rate",
}


def meant(name: str, entries: Iterable[Entry]) -> str:
    """Return the name of the entry that is meant: by its name or title in any spelling, or a synonym.

    Parameters
    ----------
    name
        What was written.
    entries
        What there is.

    Returns
    -------
    The name of an entry; `name` itself if none is meant.
    """
    entries, wanted = list(entries), _plain(name)
    known = {_plain(synonym): called for synonym, called in SYNONYMS.items()}
    known |= {_plain(entry.title): entry.name for entry in reversed(entries)}
    known |= {_plain(entry.name): entry.name for entry in entries}
    return name if any(entry.name == name for entry in entries) else known.get(wanted, name)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
