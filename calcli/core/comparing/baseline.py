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
from calcli.core.estimators.interval import Interval
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
    """

    path: str
    classes: tuple[str, ...]
    metrics: Mapping[str, Mapping[str, StoredValue]]
    settings: Mapping[str, Any] = field(default_factory=dict)


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
    """

    reference: Predictions | StoredReport
    candidate: Predictions
    paired: bool
    unlike: str = ""


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
            mend = "; compare them all the same with --allow-other-classes"
            require_classes(predictions, reference.classes, owner, mend)
        if isinstance(reference, StoredReport):
            if unlike := unlike_setting(reference.settings, reference.classes, policy, reference.path):
                raise InputError(unlike)
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
        first, second = pair([reference, predictions], how, keep=sorted(columns)).systems
        return Baseline(first, second, paired=True)


def _has(predictions: Predictions, column: str) -> bool:
    """Tell whether there is such a column, or classes are predicted, to slice by."""
    return column in predictions.columns or (column == PREDICTED and not predictions.of_answers)
