"""Which kinds of scores numbers may be: probabilities, percentages, logits or logarithms."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from calcli.core.data.arrays import Doubles
from calcli.core.data.inmemory import ROUNDING
from calcli.core.data.predictions import Called
from calcli.io.options import ReadOptions
from calcli.io.reading.head import Head, ScoreColumns
from calcli.io.words import ROLES, tokens

MOST = 0.95  # share of the rows
FEW_CLASSES = 12  # up to this many distinct values may be codes of classes, not scores
Kinds = list[tuple[Called, str]]


def kinds_of_one(source: ScoreColumns, head: Head, options: ReadOptions) -> Kinds:
    """Return the kinds of scores that one column may hold, each with the name of its weight."""
    (low, high), words = source.span, {*tokens(source.stem)}
    if not low <= high:
        return []
    if options.kind != "auto":
        return [(options.kind, "fractions")]
    if {*source.columns} & head.percent:
        return [("percent", "percent by name")]
    if low >= 0 and high <= 1 + ROUNDING:
        margin = words & (ROLES["always_logit"] | {"margin"})
        return [("logits", "logits by name")] if margin else [("probs", "fractions")]
    by_name = words & ROLES["logit"] and (low < 0 or words & ROLES["always_logit"])
    kinds = dict(_scales(source.values[:, 0], words))
    if high <= 0:
        has_word = words & (ROLES["logarithm"] | ROLES["logit"])
        kinds["log-probs"] = "logarithms by name" if has_word else "logarithms"
    if not np.isinf(source.values).any():
        kinds["logits"] = "logits by name" if by_name else "logits"
    return list(kinds.items())


def _scales(values: Doubles, words: set[str]) -> Iterator[tuple[Called, str]]:
    """Yield the scales that fit the values, apart from a few faulty rows."""
    values = values[~np.isnan(values)]
    high = values.max()
    by_name = words & (ROLES["percent"] | ROLES["probability"] | ROLES["confidence"])
    percent = "percent by name" if by_name and high > 10 else "percent"
    scales: tuple[tuple[Called, float, str], ...] = (("probs", 1, "fractions"), ("percent", 101, percent))
    for kind, top, weight in scales:
        outside = int(((values < 0) | (values > top)).sum())
        few = not words & ROLES["logit"] and (kind == "probs" or high > 10) and outside < len(values)
        if outside <= (max(1, (1 - MOST) * len(values)) if few else 0):
            yield kind, "two scales" if kind == "percent" and _mixes_scales(values) else weight


def _mixes_scales(values: Doubles) -> bool:
    """Tell whether the values mix fractions and percentages."""
    below, above, integer = (values > 0) & (values <= 1), values > 1, values == np.round(values)
    return bool((below & ~integer).any() and (integer[above].all() or not (above & (values < 5)).any()))


def kinds_of_many(source: ScoreColumns, options: ReadOptions) -> Kinds:
    """Return the kinds that several scores of a row may have, each with the name of its weight."""
    low, high = source.span
    if not low <= high:
        return []
    if options.kind != "auto":
        return [(options.kind, "simplex")]
    if low >= 0 and source.share_of_sums(1, 0.05) > 0.5:
        return [("probs", "simplex")]
    if options.renormalize and low >= 0:
        return [("probs", "no simplex")]
    if low >= 0 and high > 1 and source.share_of_sums(100) > 0.5:
        return [("percent", "simplex")]
    return list(_kinds_without_sums(source, {*tokens(source.stem)}))


def _kinds_without_sums(source: ScoreColumns, words: set[str]) -> Iterator[tuple[Called, str]]:
    """Yield the kinds that scores may have if their rows do not sum to one."""
    low, high = source.span
    with np.errstate(all="ignore"):
        sums = np.exp(source.values).sum(axis=1)
    sums = sums[~np.isnan(sums)]
    if high <= 0 and np.abs(sums - 1).max(initial=0) < 2e-3:
        yield "log-probs", "simplex"
        return
    if low >= 0 and high <= 1 + ROUNDING and not words & ROLES["always_logit"]:
        yield "probs", "no simplex"
    scored = low < 0 and words & (ROLES["logit"] | ROLES["score"] | ROLES["prediction"])
    by_name = words & ROLES["always_logit"] or source.of_options or scored
    if by_name or low < 0 or source.form != "columns":
        yield "logits", "logits by name" if by_name or (source.given and low < 0) else "logits"


def may_be_scores(source: ScoreColumns, head: Head, options: ReadOptions) -> bool:
    """Tell whether one column may hold scores, rather than zeros and ones or codes of classes."""
    name, values = source.columns[0], source.values[:, 0]
    if name in (options.scores, options.confidence) or name in head.percent or name in head.fractions:
        return True
    words = {*tokens(name)}
    scored = words & (ROLES["score"] | ROLES["probability"]) and not words & ROLES["prediction"]
    distinct = len(np.unique(values[~np.isnan(values)]))
    return source.span[1] > 1 and (distinct > FEW_CLASSES or bool(scored and distinct > 2))
