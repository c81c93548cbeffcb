"""Settings that a report was made with and a policy has otherwise, where values depend on them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from calcli.core.comparing.policy import NoWorse, Policy
from calcli.core.data.priors import Priors
from calcli.core.language.declaring import declared
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import MetricExpression
from calcli.core.language.settings import Settings
from calcli.core.language.text import json_value

NAMED = ("costs", "groups", "threshold_weights")  # of which metrics name those that they use
SEPARATORS = re.compile(r"[:=,;+()\[\]]")  # of a metric expression


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
