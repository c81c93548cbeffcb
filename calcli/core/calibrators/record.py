"""A fitted calibrator with what must be known to use it elsewhere: its classes, its input, its origin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calcli.core.calibrators.base import Calibrator
from calcli.core.errors import InputError, UsageError
from calcli.core.predictions import Floats, Kind

UNIFORM: Literal["uniform"] = "uniform"


@dataclass(frozen=True)
class CalibratorRecord:
    """What a calibrator file holds.

    Attributes
    ----------
    calibrator
        The calibrator, fitted.
    classes
        Class names, in the order of the columns it takes.
    raw
        Whether it takes raw logits only, and not log-probabilities just as well.
    priors
        (K,) class frequencies of the rows it was fitted on.
    fitted_on
        Where these came from and what the fit did: JSON values for the reader, not used by `apply`.
    """

    calibrator: Calibrator
    classes: tuple[str, ...]
    raw: bool
    priors: tuple[float, ...]
    fitted_on: Mapping[str, Any]

    def refuse_kind(self, kind: Kind, path: str) -> None:
        """Raise `InputError` unless scores of that kind are what the calibrator takes."""
        if self.raw and kind != "logits":
            raise InputError(
                f"{path} has {kind}, but the calibrator was fitted on raw logits (--input raw), which cannot "
                "be had from them; give logits, or fit without --input raw"
            )


def recalibrate(
    record: CalibratorRecord, scores: Floats, kind: Kind, shift: Floats | None = None
) -> NDArray[np.float64]:
    """Return the recalibrated log-probabilities, (N, K), of scores, (N, K), of any kind.

    Parameters
    ----------
    record
        The calibrator.
    scores
        In the order of the record's classes.
    kind
        What they are.
    shift
        (K,) logarithms of factors that multiply the probabilities, from `prior_shift`.
    """
    if kind == "probs":
        with np.errstate(divide="ignore"):
            scores = np.log(scores, dtype=np.float64)
    log_probs = record.calibrator.apply(scores)
    if shift is None:
        return log_probs
    shifted = log_probs + shift
    return shifted - np.logaddexp.reduce(shifted, axis=1, keepdims=True)


def prior_shift(record: CalibratorRecord, priors: Mapping[str, float] | Literal["uniform"]) -> Floats:
    """Return the (K,) logarithms of new over old class priors (Saerens et al. 2002, equation 4).

    Parameters
    ----------
    record
        The calibrator; its priors are the class frequencies of the rows it was fitted on.
    priors
        The new frequency of each class, of any sum; or "uniform".

    Raises
    ------
    UsageError
        If they are not a number above 0 for each class, or a class had no row in the fit.
    """
    if priors == UNIFORM:
        priors = dict.fromkeys(record.classes, 1.0)
    unknown, missing = set(priors) - set(record.classes), set(record.classes) - set(priors)
    if unknown or missing:
        what = f"{sorted(unknown)[0]!r} is none of them" if unknown else f"{sorted(missing)[0]!r} is missing"
        raise UsageError(f"--shift-to-priors needs the prior of each class of the calibrator; {what}")
    new = np.array([priors[name] for name in record.classes], np.float64)
    if not (np.isfinite(new).all() and (new > 0).all()):
        raise UsageError("--shift-to-priors needs a prior above 0 for each class, such as cat=0.2,dog=0.8")
    old = np.asarray(record.priors)
    if not old.all():
        raise UsageError(
            f"--shift-to-priors: class {record.classes[int(old.argmin())]!r} had no row in the fit, so that "
            "there is no prior to move from; fit on rows of every class"
        )
    shift: Floats = np.log(new / new.sum()) - np.log(old)
    return shift


def scores_as(kind: Kind, log_probs: NDArray[np.float64]) -> NDArray[np.float64]:
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
