"""Options that change nothing in what is asked for."""

from __future__ import annotations

from collections.abc import Sequence

from calcli.core.comparing.policy import Rule
from calcli.core.evaluating.recalibrated import Companions
from calcli.core.language.expressions import parse_metrics
from calcli.core.language.settings import Settings


def idle_options(settings: Settings, companions: Companions, rules: Sequence[Rule]) -> list[str]:
    """Return a sentence for each option that none of the metrics asked for makes use of."""
    calls = [*parse_metrics(settings.metrics, settings.defaults), *(rule.call for rule in rules)]
    wholes = [call.whole if "score" in call.arguments else call for call in calls]
    used = {call.arguments.get("weights") for call in wholes}
    idle = [
        f"--threshold-weights {name} changes nothing: no metric asked for is weighted_risk:weights={name}"
        for name in settings.threshold_weights
        if name not in used
    ]
    if not settings.metrics:
        return idle
    if companions.calibration is not None and not any(
        call.arguments.get("training") == "held-out" for call in calls
    ):
        idle.append("--calibration-data trains nothing: no metric asked for recalibrates")
    if settings.costs and not any("costs" in call.arguments for call in wholes):
        idle.append("--costs change nothing: no metric asked for has costs, as bayes_risk and expected_cost")
    return idle
