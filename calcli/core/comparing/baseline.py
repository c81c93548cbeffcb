"""What a candidate is compared with: predictions of the same cases, of others, or a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from calcli.core.comparing.leftover import as_states, unlike_rows
from calcli.core.comparing.pairing import pair
from calcli.core.comparing.policy import Policy
from calcli.core.comparing.unlikesettings import unlike_setting
from calcli.core.data.predictions import Predictions, require_classes
from calcli.core.data.slices import PREDICTED
from calcli.core.estimators.intervals import Interval
from calcli.core.language.errors import InputError
from calcli.core.language.settings import PairSettings


@dataclass(frozen=True)
class StoredValue:
    """A metric of a report: its value, and its interval if it has one."""

    value: float
    interval: Interval | None


@dataclass(frozen=True)
class StoredReport:
    """A report as baseline: values without the rows behind them, so that nothing can be paired.

    Attributes
    ----------
    path
        The file.
    classes
        Names of the classes.
    metrics
        By slice ("" for all rows) and metric expression.
    settings
        What it was made with, as JSON has it.
    weighted
        Whether its rows had weights; None if it does not say.
    """

    path: str
    classes: tuple[str, ...]
    metrics: Mapping[str, Mapping[str, StoredValue]]
    settings: Mapping[str, Any] = field(default_factory=dict)
    weighted: bool | None = None


@dataclass(frozen=True)
class Baseline:
    """What a candidate is compared with.

    Attributes
    ----------
    reference
        Predictions, or a report of them.
    candidate
        The candidate; if paired, the rows that the reference has too, in its order.
    paired
        Whether row i is the same case in both.
    unlike
        Why states are not paired, if they were to be.
    unmatched
        Rows of reference and candidate that the other one does not have; they were left out.
    """

    reference: Predictions | StoredReport
    candidate: Predictions
    paired: bool
    unlike: str = ""
    unmatched: tuple[int, ...] = (0, 0)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be said of the comparison, in sentences."""
        if isinstance(self.reference, StoredReport):
            return (
                f"The baseline {self.reference.path} is a report: it holds no rows to pair, so only "
                "large differences can be proven.",
            )
        if not self.paired:
            other = f", as {self.unlike}:" if self.unlike else ": the baseline holds other cases, so"
            return (f"Unpaired{other} only large differences can be proven.",)
        paths = (one.provenance.path for one in (self.reference, self.candidate))
        return tuple(
            f"{path}: rows without a counterpart, left out of comparisons: {count:,}."
            for path, count in zip(paths, self.unmatched, strict=True)
            if count
        )


@dataclass(frozen=True)
class Against:
    """How predictions are compared with a baseline.

    Attributes
    ----------
    reference
        Predictions or a report.
    pairing
        How their rows are paired.
    """

    reference: Predictions | StoredReport
    pairing: PairSettings

    def baseline(self, predictions: Predictions, policy: Policy) -> Baseline:
        """Return the baseline for some predictions, their rows paired if they may be.

        Raises
        ------
        InputError
            If classes or rows differ and that is not allowed, or a report was made with other settings.
        UsageError
            If the key is not a column.
        """
        reference, how = self.reference, self.pairing
        if not how.allow_other_classes:
            owner = reference.path if isinstance(reference, StoredReport) else reference.provenance.path
            mend = "; --allow-other-classes compares them anyway"
            require_classes(predictions, reference.classes, owner, mend)
        if isinstance(reference, StoredReport):
            if unlike := unlike_setting(reference.settings, reference.classes, policy, reference.path):
                raise InputError(unlike)
            if policy.compares:
                _require_same_use_of_weights(reference, predictions)
        else:
            both = reference, predictions
            by = [name for name in policy.columns if all(not one.has_rows or _has(one, name) for one in both)]
            reference, predictions = as_states(both, policy.asked, how.key, by)
            states = how.pairs and not how.paired and not reference.has_rows
            if states and (unlike := unlike_rows([reference, predictions])):
                return Baseline(reference, predictions, paired=False, unlike=unlike)
        if isinstance(reference, StoredReport) or not how.pairs:
            return Baseline(reference, predictions, paired=False)
        columns = {*policy.columns, *([policy.settings.cluster] if policy.settings.cluster else [])}
        found = pair([reference, predictions], how, keep=sorted(columns))
        first, second = found.systems
        return Baseline(first, second, paired=True, unmatched=found.unmatched)


def _require_same_use_of_weights(report: StoredReport, predictions: Predictions) -> None:
    weighted = predictions.weights is not None
    if report.weighted is not None and report.weighted != weighted:
        use, path = ("without weights", "with weights"), predictions.provenance.path
        raise InputError(
            f"{report.path} is a report of rows {use[report.weighted]}, and {path} was read {use[weighted]}: "
            "their results are not comparable; use --weights for both or for neither"
        )


def _has(predictions: Predictions, column: str) -> bool:
    """Tell whether there is such a column, or classes are predicted, to slice by."""
    return column in predictions.columns or (column == PREDICTED and not predictions.of_answers)
