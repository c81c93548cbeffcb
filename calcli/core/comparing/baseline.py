"""What a candidate is compared with: predictions of the same cases, of others, or a report."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from calcli.core.comparing.pairing import as_states, pair
from calcli.core.comparing.policy import NoWorse, Policy
from calcli.core.comparing.slices import may_slice
from calcli.core.data.predictions import Predictions, require_classes
from calcli.core.data.priors import Priors
from calcli.core.estimators.intervals import Interval
from calcli.core.language.declaring import declared
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.expressions import MetricExpression
from calcli.core.language.settings import PairSettings, Settings
from calcli.core.language.text import json_value

NAMED = ("costs", "groups", "threshold_weights")  # of which metrics name those that they use
SEPARATORS = re.compile(r"[:=,;+()\[\]]")  # of a metric expression


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
            return Baseline(reference, predictions, paired=False)
        both = reference, predictions
        by = [name for name in policy.columns if all(may_slice(one, name) for one in both)]
        columns = {*policy.columns, *([policy.settings.cluster] if policy.settings.cluster else [])}
        found = pair(as_states(both, policy.asked, how.key, by), how, keep=sorted(columns))
        first, second = found.systems
        return Baseline(first, second, found.paired, found.unlike, found.unmatched)


def _require_same_use_of_weights(report: StoredReport, predictions: Predictions) -> None:
    weighted = predictions.weights is not None
    if report.weighted is not None and report.weighted != weighted:
        use, path = ("without weights", "with weights"), predictions.provenance.path
        raise InputError(
            f"{report.path} is a report of rows {use[report.weighted]}, and {path} was read {use[weighted]}: "
            "their results are not comparable; use --weights for both or for neither"
        )


def unlike_setting(stored: Mapping[str, Any], classes: tuple[str, ...], policy: Policy, path: str) -> str:
    """Return which setting of a report differs from that of a policy, in one sentence; "" if none does.

    Parameters
    ----------
    stored
        Settings of the report, as JSON has them; those that it does not name have their usual values.
    classes
        Those of the report.
    policy
        Only what its rules on a baseline depend on is compared.
    path
        The report, for the sentence.
    """
    calls = [rule.call for rule in policy.rules if isinstance(rule.condition, NoWorse)]
    if not calls:
        return ""
    then = json_value(asdict(Settings())) | stored
    try:
        unlike = list(_differences(then, policy.settings, calls, classes))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return f"{path} is a damaged report ({type(error).__name__}: {error})"
    if not unlike:
        return ""
    return (
        f"the report {path} was made with another {', '.join(unlike)} than the policy has: their results are "
        "not comparable; evaluate the baseline with the settings of the policy"
    )


def _differences(
    then: Mapping[str, Any], now: Settings, calls: list[MetricExpression], classes: tuple[str, ...]
) -> Iterator[str]:
    """Yield the options that differ."""
    own, unlike = json_value(asdict(now)), list[str]()
    for name in ("priors", "shift_to_priors", "trained_at"):
        unlike += [name] * (not _same_priors(then[name], own[name], classes))
    for name, used in (
        ("clip", any(call.is_clipped for call in calls)),
        ("cluster", True),
        ("decision_column", any("expected_cost" in call.entry.name for call in calls)),
    ):
        unlike += [name] * (used and then[name] != own[name])
    for name in NAMED:
        known, wanted = _by_name(then[name]), _by_name(own[name])
        both = set(known) & set(wanted) & _names(calls)
        unlike += [name] * any(known[one] != wanted[one] for one in both)
    settings = declared(Settings)
    yield from (f"--{settings[name].key.replace('_', '-')}" for name in unlike)


def _names(calls: list[MetricExpression]) -> set[str]:
    """Return all words of metric expressions, among them the names of what is defined elsewhere."""
    texts = [text for call in calls for text in (str(call), *map(str, call.arguments.values()))]
    return {word for text in texts for word in SEPARATORS.split(text)}


def _by_name(defined: Any) -> Mapping[str, Any]:
    """Return definitions by their names; costs are a list."""
    return defined if isinstance(defined, Mapping) else {one["name"]: one for one in defined}


def _same_priors(then: Any, now: Any, classes: tuple[str, ...]) -> bool:
    if then == now or then is None or now is None:
        return bool(then == now)
    try:
        return bool(np.allclose(_priors(then).of(classes), _priors(now).of(classes), rtol=0, atol=1e-9))
    except UsageError:  # one of them is for other classes
        return False


def _priors(stored: Mapping[str, Any]) -> Priors:
    return Priors(tuple(map(float, stored["values"])), tuple(stored["classes"]))
