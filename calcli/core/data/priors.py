"""Other class priors: rows are weighted to them, and posteriors are moved to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Floats
from calcli.core.data.predictions import DerivedScores, Kind, Predictions
from calcli.core.language.errors import InputError, UsageError, naming
from calcli.core.language.settings import ClassPriors, Settings

ROUNDING = 1e-6  # by which priors that were typed in may miss a sum of 1
SMALLEST = 1e-100  # weights are squared


@dataclass(frozen=True)
class Priors:
    """Class priors, as they were asked for.

    Attributes
    ----------
    values
        One a class; empty for the same prior for every class.
    classes
        Their classes; empty for the order of the scores.
    """

    values: tuple[float, ...] = ()
    classes: tuple[str, ...] = ()

    def of(self, classes: Sequence[str]) -> NDArray[np.float64]:
        """Return the (K,) priors of some classes; they sum to 1.

        Raises
        ------
        UsageError
            If they are not for those classes, or are not probabilities.
        """
        if not self.values:
            return np.full(len(classes), 1 / len(classes))
        if len(self.values) != len(classes):
            raise UsageError(f"{len(self.values)} priors for {len(classes)} classes; expected one per class")
        if self.classes and set(self.classes) != set(classes):
            missing = next(name for name in classes if name not in self.classes)
            raise UsageError(f"there is no prior for class {missing!r}; expected one for every class")
        named = dict(zip(self.classes or classes, self.values, strict=True))
        priors = np.array([named[name] for name in classes], np.float64)
        wrong = priors[~((priors == 0) | (priors >= SMALLEST) & (priors <= 1 + ROUNDING))]
        if len(wrong):
            raise UsageError(f"{wrong[0]:g} is not a prior; expected 0, or {SMALLEST:g} to 1")
        total = priors.sum()
        if abs(total - 1) > ROUNDING:
            raise UsageError(f"the priors sum to {total:.6g}; expected a sum of 1")
        return priors / total


@dataclass(frozen=True)
class ShiftedScores(DerivedScores):
    """Log-posteriors, up to a constant a row, with numbers added to each class.

    Attributes
    ----------
    shift
        (K,) what to add to the logarithms.
    """

    shift: NDArray[np.float64]

    @property
    def kind(self) -> Kind:
        """What has been shifted are logits."""
        return "logits"

    @property
    def kind_reason(self) -> str:
        """What they were."""
        return f"{self.source.kind} moved to these priors"

    def blocks(self, rows: int) -> Iterator[Floats]:
        """Yield blocks of shifted log-posteriors."""
        for block in self.source.blocks(rows):
            with np.errstate(divide="ignore"):
                logs = np.log(block) if self.source.kind == "probs" else block
            yield logs + self.shift.astype(logs.dtype)


def at_priors(predictions: Predictions, settings: Settings) -> Predictions:
    """Return predictions with rows weighted and posteriors moved to the class priors that settings name.

    A row of class k is weighted by prior_k / frequency_k, so that every mean over rows becomes what it would
    be under those priors (Ferrer & Ramos 2024, appendix A); posteriors are moved as by `prior_shift`.

    Raises
    ------
    InputError
        If a class that is to occur has no rows.
    UsageError
        If the priors do not fit the classes, or posteriors are to be moved to or from a prior of 0.
    """
    if settings.priors is None and settings.shift_to_priors is None:
        return predictions
    counts = np.bincount(predictions.labels, predictions.weights, predictions.n_classes)
    frequency = counts / counts.sum()
    moved = predictions if settings.priors is None else _weighted(predictions, settings.priors, frequency)
    if settings.shift_to_priors is None:
        return moved
    classes, trained = predictions.classes, settings.trained_at
    with naming("--trained-at"):
        old = frequency if trained is None else trained.of(classes)
    with naming("--shift-to-priors"):
        new = settings.shift_to_priors.of(classes)
        moved = replace(moved, scores=ShiftedScores(predictions.scores, prior_shift(classes, old, new)))
    return _noted(moved, f"the posteriors are moved from the class priors {_some(old)} to {_some(new)}")


def _weighted(predictions: Predictions, priors: ClassPriors, frequency: NDArray[np.float64]) -> Predictions:
    with naming("--priors"):
        wanted = priors.of(predictions.classes)
    absent = np.flatnonzero((frequency == 0) & (wanted > 0))
    if len(absent):
        name = predictions.classes[absent[0]]
        raise InputError(
            f"{predictions.provenance.path}: class {name!r} has no rows, so weights cannot give it the prior "
            f"{wanted[absent[0]]:g}; give it 0"
        )
    ratio = np.divide(wanted, frequency, out=np.zeros_like(wanted), where=frequency > 0)
    own = ratio[predictions.labels]
    weights = own if predictions.weights is None else own * predictions.weights
    weighted = replace(predictions, weights=weights, priors=wanted)
    return _noted(weighted, f"rows are weighted to the class priors {_some(wanted)}")


def prior_shift(classes: Sequence[str], old: Floats, new: Floats) -> NDArray[np.float64]:
    """Return the (K,) logarithms of new over old class priors (Saerens et al. 2002, equation 4).

    Posteriors times these factors, divided by their sum, are those of a system trained at the new priors.

    Parameters
    ----------
    classes
        Their names.
    old, new
        (K,) class priors.

    Raises
    ------
    UsageError
        If one is 0.
    """
    for priors, said in (
        (new, "is 0, which would leave some rows without any class"),
        (old, "was 0, so there is none to move from"),
    ):
        if not priors.all():
            raise UsageError(f"the prior of class {classes[int(priors.argmin())]!r} {said}")
    return np.log(new) - np.log(old)


def _noted(predictions: Predictions, note: str) -> Predictions:
    origin = predictions.provenance
    return replace(predictions, provenance=replace(origin, notes=(*origin.notes, note)))


def _some(priors: NDArray[np.float64], limit: int = 5) -> str:
    named = ", ".join(f"{prior:.4g}" for prior in priors[:limit])
    return named if len(priors) <= limit else f"{named} and {len(priors) - limit} more"
