"""Recalibrations that are repeated for every swap: what they choose by cross-validation is chosen once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calcli.core.calibrators.crossvalidation import rows_of
from calcli.core.calibrators.methods import make
from calcli.core.data.predictions import Predictions
from calcli.core.language.errors import InputError
from calcli.core.language.expressions import MethodExpression, MetricExpression, parse_metric
from calcli.core.language.settings import Settings

CHOSEN = "penalties"  # how arguments end of which one value is chosen, and is the parameter of that name


def is_repeatable(call: MetricExpression) -> bool:
    """Tell whether a metric can be computed hundreds of times; a pool fits all its members many times."""
    method = call.fitted
    if method is None:
        return True
    wrapped = method.chain[1:]
    return all(one.entry.family != "pool" for one in method.chain) and not any(map(_choices, wrapped))


def settled(call: MetricExpression, pooled: Predictions, settings: Settings) -> MetricExpression:
    """Return a metric whose recalibrator has the penalties that it chooses for the rows of all systems.

    These rows are the same whichever predictions are swapped, and so is what is chosen: the test stays exact.

    Parameters
    ----------
    call
        The metric.
    pooled
        The rows of both systems.
    settings
        What metrics take from them where they say nothing.
    """
    method = call.fitted
    if method is None or not (names := _choices(method)):
        return call
    rows = rows_of(pooled)
    order = np.lexsort([*rows.scores.T, rows.labels])  # the same whichever rows change places
    weights = None if rows.weights is None else rows.weights[order]
    try:
        fitted = make(method).fit(rows.scores[order], rows.labels[order], weights)
    except InputError:
        return call
    known = {name: fitted.parameters.get(f"{name.removesuffix('ies')}y") for name in names}
    found = {name: (float(value),) for name, value in known.items() if value is not None}
    chosen = replace(method, arguments={**method.arguments, **found})
    asked = [part for part in call.asked.split(":") if not part.startswith("recalibrator=")]
    return parse_metric(":".join([*asked, f"recalibrator={chosen.nested}"]), settings.defaults)


def _choices(method: MethodExpression) -> list[str]:
    return [name for name, value in method.arguments.items() if name.endswith(CHOSEN) and len(value) > 1]
