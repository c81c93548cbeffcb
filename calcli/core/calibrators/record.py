"""A fitted calibrator with the facts needed to use it elsewhere: its classes, its input, its origin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict

import numpy as np

from calcli.core.calibrators.base import Calibrator
from calcli.core.calibrators.temperature import Temperature
from calcli.core.data.arrays import Doubles, Floats
from calcli.core.data.predictions import Kind
from calcli.core.language.errors import InputError
from calcli.core.language.expressions import WRONG_RIGHT


class FitRows(TypedDict):
    """Facts about the rows of a fit."""

    kind: str
    percent: bool
    columns: list[str]
    turned: bool
    reordered: NotRequired[bool]


class FitOrigin(FitRows):
    """Facts about a fit from `calcli fit`."""

    path: str
    scores: str | None
    sha256: str | None
    rows: int
    weight: float
    per_character: bool
    dtype: str
    folds: int
    fold_column: str | None
    seed: int
    before: dict[str, float]
    after: dict[str, float]
    cross_validated: dict[str, float] | None
    changed_rows: int
    new_ties: int
    notes: list[str]


@dataclass(frozen=True)
class CalibratorRecord:
    """The content of a calibrator file.

    Attributes
    ----------
    calibrator
        The calibrator, fitted.
    classes
        Class names, in the order of the columns it takes.
    raw
        Whether it takes raw logits only, and not log-probabilities just as well.
    priors
        (K,) class frequencies of the rows it was fitted on; empty if not known.
    fitted_on
        Origin of the rows and facts about the fit: JSON values for the reader; `apply` uses the columns.
    made
        Words for its origin, up to the classes or scores, for sentences on mismatches.
    """

    calibrator: Calibrator
    classes: tuple[str, ...]
    raw: bool
    priors: tuple[float, ...]
    fitted_on: Mapping[str, Any]
    made: str = "the calibrator was fitted on"

    @property
    def of_answers(self) -> bool:
        """Whether it recalibrates the confidence in answers."""
        return self.classes == WRONG_RIGHT

    def refuse_kind(self, kind: Kind, path: str) -> None:
        """Raise `InputError` unless the calibrator takes scores of this kind."""
        if self.raw and kind != "logits":
            raise InputError(
                f"{path} has {kind}, but the calibrator was fitted on raw logits (--input raw), which cannot "
                "be computed from them; give logits, or fit without --input raw"
            )


def unfitted(classes: tuple[str, ...]) -> CalibratorRecord:
    """Return the record of a calibrator that changes nothing, for scores of these classes."""
    same = Temperature().fresh({"temperature": 1.0})
    return CalibratorRecord(same, classes, False, (), {})


def recalibrate(record: CalibratorRecord, scores: Floats, kind: Kind, shift: Floats | None = None) -> Doubles:
    """Return the recalibrated log-probabilities, (N, K), of scores, (N, K), of any kind.

    Parameters
    ----------
    record
        The calibrator.
    scores
        In the order of the record's classes.
    kind
        Their kind.
    shift
        (K,) logarithms of factors that multiply the probabilities, from `prior_shift`.

    Notes
    -----
    If scores are so large that the calibrator overflows, the row is nan.
    """
    scores = _logs(scores, kind)
    with np.errstate(over="ignore", invalid="ignore"):
        log_probs = record.calibrator.apply(scores)
        if shift is not None:
            log_probs = log_probs + shift
            log_probs -= np.logaddexp.reduce(log_probs, axis=1, keepdims=True)
    return log_probs


def _logs(scores: Floats, kind: Kind) -> Doubles:
    if kind == "probs":
        with np.errstate(divide="ignore"):
            return np.log(scores, dtype=np.float64)
    # a step of a histogram or of an isotonic map may lie between a score and its float32 neighbor
    return scores.astype(np.float64, copy=False)


def scores_as(kind: Kind, log_probs: Doubles) -> Doubles:
    """Return log-probabilities, (N, K), as scores of another kind; as logits, each row has the mean 0.

    Raises
    ------
    InputError
        If a probability is 0, which has no finite logit.
    """
    if kind == "probs":
        return np.exp(log_probs)
    if kind == "log-probs":
        return log_probs
    if log_probs.min(initial=0) == -np.inf:
        raise InputError(
            "some probabilities are exactly 0, which has no finite logit; write them as they are, or with "
            "--as log-probs"
        )
    return log_probs - log_probs.mean(axis=1, keepdims=True)
