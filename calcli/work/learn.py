"""Fitting in Python: learn a recalibration from what is in memory, and apply it to more."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from calcli.core.calibrators.arguments import column_names
from calcli.core.calibrators.base import Calibrator
from calcli.core.calibrators.record import recalibrate
from calcli.core.data.arrays import Doubles
from calcli.core.data.inmemory import as_array
from calcli.core.data.predictions import Predictions, require_classes
from calcli.core.language.declaring import PATH, TEXT, Setting, documented, texts
from calcli.core.language.errors import InputError
from calcli.core.language.settings import FitSettings
from calcli.io.layouts import HARNESS
from calcli.io.options import ReadOptions
from calcli.report.fit import FitReport
from calcli.work.fit import fit_to, record_of_fit, save_fit
from calcli.work.idle import warn
from calcli.work.read import OF_TABLES, is_file_or_table, predictions_of, split_reading

ROWS = 1 << 14  # recalibrated at once
METHOD = replace(TEXT, expected='a method by its name, such as "temperature"')
CANDIDATES = Setting(texts("temperature", commas=True), "Methods for auto.", keyword="candidates")


class Fitted(FitReport):
    """What was learned; printed, it shows the tables of the command line."""

    @property
    def calibrator(self) -> Calibrator:
        """The fitted calibrator."""
        return self.fit.calibrator

    def __repr__(self) -> str:
        return f"<Fitted {self.fit.call} on {self.fit.predictions.provenance.path}>"

    def apply(self, data: Any) -> Doubles:
        """Return recalibrated probabilities.

        Parameters
        ----------
        data : array-like (N, K), (..., K) or (N,), path, table or Predictions
            Scores of the kind that was fitted to, as for `predict_proba` of the calibrator: an array, or a
            table of their columns alone. Or what `read` takes, with its labels.

        Returns
        -------
        (N, K) or (..., K) probabilities in the order of the classes of the fit.

        Raises
        ------
        InputError
            If these are not scores of the same classes.
        """
        fitted = self.fit.predictions
        is_predictions = isinstance(data, Predictions)
        if not (is_predictions or is_file_or_table(data)):
            scores = as_array(data, "scores")
            axes = scores.shape[:-1] or scores.shape
            rows = scores.reshape(-1, scores.shape[-1]) if scores.ndim > 2 else scores
            found = self.calibrator.predict_proba(rows)
            return found.reshape(*axes, found.shape[1])
        if not is_predictions and sorted(column_names(data)) == sorted(fitted.provenance.taken):
            return self.calibrator.predict_proba(data)
        predictions = predictions_of(data, None, {})
        _require_characters(predictions, fitted)
        if not fitted.of_answers:
            require_classes(predictions, fitted.classes, fitted.provenance.path)
        record = record_of_fit(self.fit)
        record.refuse_kind(predictions.kind, predictions.provenance.path)
        parts = predictions.scores.blocks(ROWS)
        return np.exp(np.concatenate([recalibrate(record, part, predictions.kind) for part in parts]))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the calibrator's file, which `calcli apply` takes: JSON, or .npz by its ending.

        Raises
        ------
        InputError
            If it cannot be written.
        """
        save_fit(self.fit, PATH.checked("path", path))


def _require_characters(predictions: Predictions, fitted: Predictions) -> None:
    """Raise an InputError for log-likelihoods as they are where those of the fit were divided."""
    found = predictions.provenance
    if fitted.provenance.per_character and found.read_as == HARNESS.name and not found.per_character:
        raise InputError(
            f"{found.path} has log-likelihoods as they are, but those of the fit were divided by the "
            "characters of their options; give read(..., --per-character)"
        )


@documented(FitSettings)
@documented(ReadOptions, *OF_TABLES)
def fit(
    data: Any = None,
    labels: Any = None,
    *,
    method: str = "auto",
    candidates: str | Sequence[str] | None = None,
    lens: str | None = None,
    **settings: Any,
) -> Fitted:
    """Fit a recalibration.

    Parameters
    ----------
    data, labels
        Predictions, as `evaluate` takes them.
    method : str
        A method expression, or `auto`, which chooses by cross-validation.
    candidates : str or sequence of str, optional
        Methods for `auto` to choose from; text has commas between them.
    lens : str, optional
        What methods of one score act on, or `reduced`.
    {ReadOptions}
    {FitSettings}

    Returns
    -------
    Fitted
        What was learned and what it does, with `apply` and `save`.

    Raises
    ------
    InputError
        If these cannot be predictions, or are unsuitable for the method.
    UsageError
        If a method or setting is unknown, or does not fit.
    """
    method = METHOD.checked("method", method)
    lens = None if lens is None else TEXT.checked("lens", lens)
    judged = {"score": settings.pop("score")} if "score" in settings else {}  # not the scorer of a log
    predictions, settings = split_reading(data, labels, settings)
    settings |= judged
    candidates = CANDIDATES.checked(candidates, "keyword")
    given = {"workers": 1, **settings, "remark": warn}  # others would import the script that called anew
    return Fitted(fit_to(lambda: predictions, method, "keyword", candidates=candidates, lens=lens, **given))
