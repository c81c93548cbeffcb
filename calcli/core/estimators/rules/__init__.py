"""Proper scoring rules, a file apiece, by the name of their metric."""

from __future__ import annotations

from importlib import import_module

from calcli.core.estimators.rules.base import Decomposable, ScoringRule


def scoring_rule(name: str) -> ScoringRule:
    """Return the rule that a proper score of the registry is."""
    rule: ScoringRule = import_module(f"{__name__}.{name}").RULE
    return rule


def decomposable_rule(name: str) -> Decomposable:
    """Return such a rule of which there are parts."""
    rule = scoring_rule(name)
    assert isinstance(rule, Decomposable)
    return rule
