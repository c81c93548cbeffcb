"""What scores are, judged by their values: probabilities, log-probabilities or logits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Floats
from calcli.core.data.logspace import as_floats
from calcli.core.data.predictions import Kind
from calcli.core.language.errors import InputError
from calcli.io.options import ReadOptions
from calcli.io.source import Source

FIRST_LOOK = 1 << 18  # elements of the first block, by which the kind of scores is judged
TOLERANCE = 1e-3  # how far from one a row of probabilities may sum and still be rounded probabilities
ROUNDING = 1e-6  # of the sum itself: 0.999 is within the tolerance

REASONS: dict[Kind, str] = {
    "probs": "all values lie in [0, 1]",
    "log-probs": "no value is above 0 and the exponentials of each row sum to one",
    "logits": "they are neither probabilities nor log-probabilities",
}


def judge_kind(source: Source, options: ReadOptions) -> tuple[Kind, bool, str]:
    """Return the kind of scores, whether that is certain, and why it is so.

    Parameters
    ----------
    source
        Their first rows are read if nothing else tells.
    options
        What the user said.

    Raises
    ------
    InputError
        If the scores are percentages, or there are none.
    """
    if options.kind != "auto":
        return options.kind, True, "as given"
    if source.kind is not None:
        return source.kind, True, source.kind_reason
    scores, name = source.scores, source.place.name
    first = next(scores.blocks(max(1, FIRST_LOOK // scores.shape[1])), None)
    if first is None:
        raise InputError(f"{name} has no rows; expected at least one")
    block = as_floats(first)
    kind = kind_of(block)
    if kind == "logits" and percentages(block):
        raise InputError(
            f"{name}: the scores of a row sum to 100; expected probabilities, not percentages; say --kind "
            "probs --renormalize, or --kind logits if they are logits"
        )
    return kind, False, REASONS[kind]


def kind_of(block: Floats) -> Kind:
    """Judge (n, K) scores by their values; one column is the score of the second class.

    All in [0, 1] is probabilities, never logits; so are rows of which most sum to one, where a value outside
    is an error in the probabilities. All at most 0 with logsumexp 0 is log-probabilities.
    """
    with np.errstate(all="ignore"):
        if block.min() >= 0 and block.max() <= 1:
            return "probs"
        if block.shape[1] == 1:
            return "logits"
        if mostly_distributions(block) or nearly_distributions(block):
            return "probs"
        if block.max() <= 0 and sums_to_one(np.exp(block)).all():
            return "log-probs"
    return "logits"


def mostly_distributions(block: Floats) -> bool:
    """Return whether most rows of several scores sum to one, which logits do not."""
    return block.shape[1] > 1 and float(sums_to_one(block).mean()) > 0.5


def nearly_distributions(block: Floats) -> bool:
    """Return whether most rows of several scores, none negative, sum to one within a tenth; logits do not."""
    sums = block @ np.ones(block.shape[1], block.dtype)
    return block.shape[1] > 1 and bool(block.min() >= 0) and float((np.abs(sums - 1) <= 0.1).mean()) > 0.5


def percentages(block: Floats) -> bool:
    """Return whether most rows of several scores, none negative, sum to 100, give or take one."""
    sums = block @ np.ones(block.shape[1], block.dtype)
    return block.shape[1] > 1 and bool(block.min() >= 0) and float((np.abs(sums - 100) <= 1).mean()) > 0.5


def sums_to_one(block: Floats) -> NDArray[np.bool_]:
    """Return for each row whether it sums to one, up to rounding; never true for a row with nan."""
    sums = block @ np.ones(block.shape[1], block.dtype)
    return np.abs(sums - 1) <= TOLERANCE + ROUNDING
