"""Comparisons and checks from Python: what `calcli compare` and `calcli check` find out, as typed objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calcli.api import settings_of
from calcli.core.comparing.baseline import Against, StoredReport
from calcli.core.comparing.checking import check as check_predictions
from calcli.core.comparing.comparison import Comparison, Plan
from calcli.core.comparing.comparison import compare as compare_systems
from calcli.core.comparing.pairing import pair, require_same_classes
from calcli.core.comparing.policy import Checked, Policy, exit_status
from calcli.core.data.predictions import Predictions
from calcli.core.language.errors import UsageError
from calcli.core.language.settings import Settings
from calcli.io.hashing import sha256
from calcli.io.policy import parse_policy, read_policy
from calcli.io.reports import read_report
from calcli.report.check import ShownChecks
from calcli.report.comparison import ShownComparison
from calcli.report.shown import render


@dataclass(frozen=True, repr=False)
class ComparisonReport:
    """How systems differ; printed, it shows the tables of the command line.

    Attributes
    ----------
    comparisons
        On all rows, then on each slice.
    settings
        How they were compared.
    paired
        Whether row i is the same case in all of them.
    unmatched
        Rows of each system that were left out.
    """

    comparisons: tuple[Comparison, ...]
    settings: Settings
    paired: bool
    unmatched: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as the JSON object of `calcli compare --format json`."""
        return self._shown().to_dict()

    def __repr__(self) -> str:
        verdicts = [
            ", ".join(f"{name} {found.verdict}" for name, found in differences.items())
            for differences in self.comparisons[0].differences
        ]
        return f"<ComparisonReport: {'; '.join(verdicts)}>"

    def __str__(self) -> str:
        return render(self._shown(), "table").rstrip("\n")

    def _repr_markdown_(self) -> str:
        return render(self._shown(), "markdown")

    def _shown(self) -> ShownComparison:
        return ShownComparison(self.comparisons, self.settings, self.paired, self.unmatched, digest=sha256)


def compare(
    baseline: Predictions,
    *candidates: Predictions,
    key: str | None = None,
    allow_unmatched: bool = False,
    paired: bool = True,
    allow_other_classes: bool = False,
    margins: Mapping[str, float] | None = None,
    rank_by: str = "log_loss",
    by: str | None = None,
    **settings: Any,
) -> ComparisonReport:
    """Say whether systems differ, beyond chance.

    Parameters
    ----------
    baseline, *candidates
        Predictions, as `read` returns them.
    key
        Column that pairs the rows; None for their order.
    allow_unmatched
        Whether rows that not all systems have may be left out.
    paired
        Whether the systems have the same cases.
    allow_other_classes
        Whether the systems may have other classes; they are unpaired then.
    margins
        Differences that do not matter, by metric expression.
    rank_by
        Metric that ranks the systems.
    by
        Column whose values are compared one by one as well.
    **settings
        As for `evaluate`.

    Raises
    ------
    InputError
        If rows or classes do not fit together.
    UsageError
        If there is no candidate, or an option is unknown or does not fit.
    """
    if not candidates:
        raise UsageError("compare takes a baseline and at least one candidate")
    chosen = settings_of(settings)
    systems: Sequence[Predictions] = (baseline, *candidates)
    unmatched = (0,) * len(systems)
    if not allow_other_classes:
        require_same_classes(systems)
    paired = paired and not allow_other_classes
    if paired:
        keep = [name for name in (by, chosen.cluster) if name]
        pairing = pair(systems, key, allow_unmatched=allow_unmatched, keep=keep)
        systems, unmatched = pairing.systems, pairing.unmatched
    found = compare_systems(systems, chosen, Plan(paired, margins, rank_by, by))
    return ComparisonReport(tuple(found), chosen, paired, unmatched)


@dataclass(frozen=True, repr=False)
class CheckReport:
    """Predictions judged by a policy; printed, it shows the table of the command line.

    Attributes
    ----------
    checked
        What became of each rule.
    policy
        The rules.
    """

    checked: Checked
    policy: Policy

    @property
    def exit_status(self) -> int:
        """That of `calcli check`: 1 if a rule is broken, 2 if one could not be judged, 0 otherwise."""
        return exit_status([self.checked])

    def to_dict(self) -> dict[str, Any]:
        """Return the check as the JSON object of `calcli check --format json`."""
        return self._shown().to_dict()

    def __repr__(self) -> str:
        results = ", ".join(f"{outcome.rule.title}: {outcome.result}" for outcome in self.checked.outcomes)
        return f"<CheckReport on {self.checked.path}: {results}>"

    def __str__(self) -> str:
        return render(self._shown(), "table").rstrip("\n")

    def _repr_markdown_(self) -> str:
        return render(self._shown(), "markdown")

    def _shown(self) -> ShownChecks:
        return ShownChecks([self.checked], self.policy, "python")


def check(
    predictions: Predictions,
    policy: str | Path | Mapping[str, Any],
    baseline: Predictions | str | Path | None = None,
    *,
    key: str | None = None,
    allow_unmatched: bool = False,
    paired: bool = True,
    allow_other_classes: bool = False,
) -> CheckReport:
    """Judge predictions by the rules of a policy.

    Parameters
    ----------
    predictions
        As `read` returns them.
    policy
        A TOML file, or what is in one: `{"rules": [{"metric": "log_loss", "max": 0.5}]}`.
    baseline
        What may not get worse: predictions, or the path of a JSON report of them.
    key, allow_unmatched, paired, allow_other_classes
        As for `compare`.

    Raises
    ------
    InputError
        If the policy is not valid, or baseline and predictions do not fit together.
    """
    rules = parse_policy(policy, "policy") if isinstance(policy, Mapping) else read_policy(policy)
    against = None
    if baseline is not None:
        reference: Predictions | StoredReport
        reference = baseline if isinstance(baseline, Predictions) else read_report(baseline)
        pairing = Against(reference, key, allow_unmatched, not paired, allow_other_classes)
        against = pairing.baseline(predictions, rules)
    return CheckReport(check_predictions(predictions, rules, against), rules)
