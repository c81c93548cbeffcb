"""Limits on metrics, such as `log_loss>0.5`: what makes a build fail."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass

from calcli.core.evaluating.results import Estimate
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.expressions import MetricExpression, parse_metric

COMPARISONS = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}
EXAMPLE = "'log_loss>0.5'"
FORM = re.compile(r"\s*(?P<metric>[^<>]+?)\s*(?P<sign>[<>]=?)\s*(?P<bound>[^<>=\s]+)\s*")


@dataclass(frozen=True)
class Limit:
    """A condition on a metric that must not hold.

    Attributes
    ----------
    call
        The metric.
    sign
        One of `COMPARISONS`.
    bound
        What the value is compared with.
    """

    call: MetricExpression
    sign: str
    bound: float

    def __str__(self) -> str:
        return f"{self.call.asked}{self.sign}{self.bound:g}"

    def value(self, estimates: Mapping[str, Estimate]) -> float:
        """Return the value of the metric, which is one of the estimates."""
        return next(estimate.value for estimate in estimates.values() if estimate.call == self.call)

    def broken_by(self, estimates: Mapping[str, Estimate], name: str) -> bool:
        """Return whether the condition holds.

        Parameters
        ----------
        estimates
            As for `value`.
        name
            Of the data, for the message.

        Raises
        ------
        InputError
            If the value is undefined, so that nothing can be said.
        """
        value = self.value(estimates)
        if math.isnan(value):
            raise InputError(
                f"{name}: {self.call.asked} is undefined on these labels, so {self} cannot be judged"
            )
        return bool(COMPARISONS[self.sign](value, self.bound))


def parse_limit(text: str, defaults: Mapping[str, str | int] | None = None) -> Limit:
    """Parse a condition such as `log_loss>0.5` or `ece:bins=20>=0.05`.

    Parameters
    ----------
    text
        A metric expression, one of > >= < <=, and a number.
    defaults
        As for `parse_metric`.

    Raises
    ------
    UsageError
        If it is not such a condition.
    """
    found = FORM.fullmatch(text)
    if not found:
        raise UsageError(f"{text!r} is not a limit; expected metric, comparison and number, as in {EXAMPLE}")
    try:
        bound = float(found["bound"])
    except ValueError:
        bound = math.nan
    if math.isnan(bound):
        raise UsageError(f"{text!r} compares with {found['bound']!r}; expected a number, as in {EXAMPLE}")
    return Limit(parse_metric(found["metric"], defaults), found["sign"], bound)
