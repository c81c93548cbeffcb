"""Other class priors: rows are weighted to them, and posteriors are moved to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Floats
from calcli.core.data.predictions import DerivedScores, Kind, Predictions
from calcli.core.language.errors import InputError, UsageError, naming
from calcli.core.language.settings import ClassPriors

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
        (K,) what to add to the logarithms; -inf for a class that becomes impossible.
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


def at_priors(predictions: Predictions, priors: ClassPriors, *, shift: bool) -> Predictions:
    """Return predictions as if their classes occurred with other priors.

    A row of class k is weighted by prior_k / frequency_k, so that every mean over rows becomes what it would
    be under those priors (Ferrer & Ramos 2024, appendix A).

    Parameters
    ----------
    predictions
        Any.
    priors
        The priors.
    shift
        Whether the posteriors are moved to these priors as well, from the frequencies of the classes:
        q_k prior_k / frequency_k, divided by its sum.

    Raises
    ------
    InputError
        If a class that is to occur has no rows.
    UsageError
        If the priors do not fit the classes.
    """
    with naming("--priors"):
        wanted = priors.of(predictions.classes)
    counts = np.bincount(predictions.labels, predictions.weights, predictions.n_classes)
    frequency = counts / counts.sum()
    absent = np.flatnonzero((frequency == 0) & (wanted > 0))
    if len(absent):
        name = predictions.classes[absent[0]]
        raise InputError(
            f"{predictions.provenance.path}: class {name!r} has no rows, so no weights give it the "
            f"prior {wanted[absent[0]]:g}; give it 0"
        )
    ratio = np.divide(wanted, frequency, out=np.zeros_like(wanted), where=frequency > 0)
    own = ratio[predictions.labels]
    weights = own if predictions.weights is None else own * predictions.weights
    note = f"rows are weighted to the class priors {_some(wanted)}"
    moved = replace(predictions, weights=weights, priors=wanted)
    if shift:
        with np.errstate(divide="ignore"):
            moved = replace(moved, scores=ShiftedScores(predictions.scores, np.log(ratio)))
        note += ", and the posteriors moved to them"
    provenance = moved.provenance
    return replace(moved, provenance=replace(provenance, notes=(*provenance.notes, note)))


def _some(priors: NDArray[np.float64], limit: int = 5) -> str:
    named = ", ".join(f"{prior:.4g}" for prior in priors[:limit])
    return named if len(priors) <= limit else f"{named} and {len(priors) - limit} more"
