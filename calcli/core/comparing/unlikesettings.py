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
        return next(_differences(then, policy.settings, calls, classes, path), "")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return f"{path} is a damaged report ({type(error).__name__}: {error})"


def _differences(
    then: Mapping[str, Any], now: Settings, calls: list[MetricExpression], classes: tuple[str, ...], path: str
) -> Iterator[str]:
    keys = {name: f"--{one.key.replace('_', '-')}" for name, one in declared(Settings).items()}
    own = json_value(asdict(now))
    for name in ("priors", "shift_to_priors", "trained_at"):
        if not _same_priors(then[name], own[name], classes):
            yield _sentence(keys[name], path, _priors_text(then[name]), _priors_text(own[name]))
    if any(call.is_clipped for call in calls) and then["clip"] != own["clip"]:
        yield _sentence(keys["clip"], path, f"{then['clip']:g}", f"{own['clip']:g}")
    for name in ["cluster"] + ["decision_column"] * any("expected_cost" in call.entry.name for call in calls):
        if then[name] != own[name]:
            yield _sentence(keys[name], path, then[name] or "none", own[name] or "none")
    for name in NAMED:
        known, wanted = _by_name(then[name]), _by_name(own[name])
        for one in sorted(set(known) & set(wanted) & _names(calls)):
            if known[one] != wanted[one]:
                yield (
                    f"{keys[name]} of the report {path} has another {one!r} than the policy: their results "
                    "are not comparable; evaluate the baseline with that of the policy"
                )


def _sentence(option: str, path: str, then: str, now: str) -> str:
    return (
        f"{option} of the report {path} was {then}, and the policy has {now}: their results are not "
        "comparable; evaluate the baseline with that of the policy"
    )


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


def _priors_text(stored: Any) -> str:
    return "none" if stored is None else ",".join(f"{value:g}" for value in stored["values"]) or "uniform"
