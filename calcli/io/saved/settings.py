"""Settings from what was given for them: values, text, and names of files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from calcli.core.data.derived import Priors
from calcli.core.estimators.costs import Definition, with_distinct_names
from calcli.core.language.declaring import Spelling, checked, declared
from calcli.core.language.errors import UsageError, naming
from calcli.core.language.settings import Settings
from calcli.io.saved.costs import read_costs, read_priors
from calcli.io.saved.groups import files_of_weights, read_class_groups, read_weights

PRIORS = ("priors", "shift_to_priors", "trained_at")
BY_NAME = ("groups", "threshold_weights")  # may be mappings


def settings_of(
    given: Mapping[str, Any], spelling: Spelling = "keyword", defaults: Settings | None = None
) -> Settings:
    """Return settings from values by keyword.

    Parameters
    ----------
    given
        Costs, priors, groups and weights may be text, or what text stands for.
    spelling
        Where the values were written, for messages.
    defaults
        What holds where nothing is given.

    Raises
    ------
    UsageError
        If a setting is unknown, or its value makes no sense.
    InputError
        If a file of class groups, costs, priors or weights is damaged.
    """
    given, ready, named = dict(given), {}, {}
    if spelling == "keyword":
        ready = _ready(given)
        named = {name: given.pop(name) for name in BY_NAME if isinstance(given.get(name), Mapping)}
    found = checked(Settings, given, spelling) | named
    called = {name: one.spelled(spelling) for name, one in declared(Settings).items()}
    if "costs" in found:
        with naming(called["costs"]):
            found["costs"] = read_costs(found["costs"])
    for name in PRIORS:
        if found.get(name) is not None:
            with naming(called[name]):
                found[name] = read_priors(found[name])
    if "groups" in found:
        found["groups"] = read_class_groups(found["groups"], called["groups"])
    if "threshold_weights" in found:
        found["threshold_weights"] = read_weights(found["threshold_weights"], called["threshold_weights"])
    files = files_of_weights(found.get("metrics", ()), found.get("threshold_weights", {}))
    if files:
        found["threshold_weights"] = {**found.get("threshold_weights", {}), **files}
    settings = replace(defaults or Settings(), **found, **ready)
    refuse_half_a_shift(settings, called)
    return settings


def refuse_half_a_shift(settings: Settings, called: Mapping[str, str]) -> None:
    """Raise a UsageError if it is open what probabilities are moved from, or how often classes occur."""
    shift, trained, priors = called["shift_to_priors"], called["trained_at"], called["priors"]
    if settings.trained_at is not None and settings.shift_to_priors is None:
        raise UsageError(f"{trained} says what {shift} moves from; give that as well")
    if settings.shift_to_priors is not None and settings.priors is None and settings.trained_at is None:
        raise UsageError(
            f"{shift} moves the probabilities alone; if the rows are to have these priors too, give "
            f"{priors} as well; if they have them, but those of the training had others, {trained}"
        )


def _ready(given: dict[str, Any]) -> dict[str, Any]:
    """Take out the values that are what text would be read as."""
    ready = {name: given.pop(name) for name, value in [*given.items()] if _is_ready(name, value)}
    if "costs" in ready:
        ready["costs"] = with_distinct_names(ready["costs"])
    return ready


def _is_ready(name: str, value: Any) -> bool:
    """Whether a value is what text would be read as."""
    if name == "costs":
        return isinstance(value, list | tuple) and all(isinstance(one, Definition) for one in value)
    return name in PRIORS and isinstance(value, Priors)
