"""Proper scoring rules, a file apiece, by the name of their metric."""

from __future__ import annotations

from importlib import import_module

from calcli.core.estimators.rules.base import Decomposable, ScoringRule


def scoring_rule(name: str, *, of_answers: bool = False) -> ScoringRule:
    """Return the rule that a proper score of the registry is, of classes or of answers, right or wrong."""
    rule: ScoringRule = import_module(f"{__name__}.{name}").RULE
    return rule.of_answers if of_answers else rule


def decomposable_rule(name: str, *, of_answers: bool = False) -> Decomposable:
    """Return such a rule of which there are parts."""
    rule = scoring_rule(name, of_answers=of_answers)
    assert isinstance(rule, Decomposable)
    return rule
