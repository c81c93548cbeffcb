"""What scores are, judged by their values: probabilities, log-probabilities or logits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calcli.core.data.arrays import Floats, as_floats
from calcli.core.data.inmemory import (
    FIRST_LOOK,
    HARDLY_LOGITS,
    ROUNDING,
    TOLERANCE,
    percentages,
    rounding_of,
    sums_to_one,
    without_rounding,
)
from calcli.core.data.predictions import Called, Kind, called
from calcli.core.language.errors import InputError
from calcli.io.messages import Place, in_first
from calcli.io.options import ReadOptions
from calcli.io.tables.source import Source

FEW, MOST = 20, 0.9  # rows, and the share of them, that look like no logits
NEAR = 30  # logits below another one, at which it is still seen in the sum of the exponentials


@dataclass(frozen=True)
class Judged:
    """What scores are taken for.

    Attributes
    ----------
    kind
        What they are; percentages are probabilities.
    sure
        Whether that is certain: not only judged by the first values.
    reason
        Why they are taken for that.
    percent
        Whether they are to be divided by 100.
    tolerance
        How far from one rows of probabilities may sum, as rounding explains it.
    doubts
        How they might be meant otherwise, sentences for the user.
    unclear
        A sentence to refuse one score a row by, where nothing but its values says that it is a logit.
    """

    kind: Kind
    sure: bool
    reason: str
    percent: bool = False
    tolerance: float = TOLERANCE
    doubts: tuple[str, ...] = ()
    unclear: str = ""

    @property
    def called(self) -> Called:
        """What `--kind` calls them."""
        return called(self.kind, self.percent)


def judge_kind(source: Source, options: ReadOptions) -> Judged:
    """Return what scores are, by the options, their names or their first values.

    Raises
    ------
    InputError
        If there are none, or they may be percentages or logits.
    """
    scores, name = source.scores, source.place.name
    head = scores.head(max(1, FIRST_LOOK // scores.shape[1]))
    if not len(head):
        raise InputError(f"{name} has no rows; expected at least one")
    block, first = as_floats(head), in_first(len(head), scores.shape[0])
    least, block = float(block.min()), without_rounding(block)
    if block.shape[1] == 1 and (block == 1).all() and source.classes is None and options.positive is None:
        raise InputError(
            f"{name} has scores for one class only: {first}each of them is 1, as the softmax of one score "
            "is; expected two or more, or one of the second of two classes: if these are, say --positive "
            "CLASS"
        )
    if options.kind == "percent" or (options.kind == "auto" and source.percent):
        given = options.kind == "percent" or not source.kind_reason
        reason = "percentages, as given" if given else source.kind_reason
        return Judged("probs", True, reason, True, rounding_of(block / 100)[0])
    if options.kind != "auto":
        tolerance = rounding_of(block)[0] if options.kind == "probs" else TOLERANCE
        return Judged(options.kind, True, "as given", tolerance=tolerance)
    if source.kind == "probs" and percentages(block):
        seen = "all lie in [0, 100], most above 1" if block.shape[1] == 1 else "most rows sum to 100"
        reason = f"percentages: {source.kind_reason}, and {first}{seen}"
        return Judged("probs", True, reason, True, rounding_of(block / 100)[0])
    kind = source.kind or kind_of(block)
    if kind == "logits" and not source.decided and kind_of(block) == "probs" and sums_to_one(block).all():
        kind = "probs"  # whatever they are called
    if source.kind is None and kind == "logits" and block.shape[1] > 1 and percentages(block):
        raise InputError(
            f"{name}: {first}the scores of a row sum to 100; expected probabilities, not percentages; say "
            "--kind percent, or --kind logits if they are logits"
        )
    reason = (source.kind_reason if kind == source.kind else "") or _reason(kind, block, first)
    tolerance, rounding = rounding_of(block) if kind == "probs" else (TOLERANCE, "")
    if kind == "probs" and -ROUNDING <= least < 0:
        rounding += f"; {least:.2g} is taken for 0, as rounding makes it"
    doubts = _saturated(block) if kind == "logits" else ()
    unclear = _unclear(block, source.place, first) if source.kind is None and kind == "logits" else ""
    return Judged(kind, source.kind is not None, reason + rounding, False, tolerance, doubts, unclear)


def _reason(kind: Kind, block: Floats, first: str) -> str:
    """Return what was seen of values that tells their kind; `first` says of which rows."""
    if kind == "log-probs":
        return f"{first}no value is above 0 and the exponentials of each row sum to one"
    if kind == "logits":
        if block.shape[1] == 1:
            return "not all values lie in [0, 1]"
        return "they are neither probabilities nor log-probabilities"
    low, high = block.min(), block.max()
    if low >= 0 and high <= 1:
        return f"{first}all values lie in [0, 1]"
    near = "" if mostly_distributions(block) else ", give or take a tenth"
    which = "all" if not near and sums_to_one(block).all() else "most"
    return f"{first}{which} rows sum to one{near}, though values lie from {low:.4g} to {high:.4g}"


def _unclear(block: Floats, place: Place, first: str) -> str:
    """Return a sentence on one score a row that is hardly a logit; "" if it may be one."""
    if block.shape[1] == 1 and block.max() > HARDLY_LOGITS and percentages(block):
        return (
            f"{place.name}: {first}the scores lie between 0 and 100, as percentages do; say --kind percent "
            "if they are some, or --kind logits if they are logits"
        )
    return outside_unit(block, place)


def outside_unit(block: Floats, place: Place, start: int = 0) -> str:
    """Return a sentence on one score a row of which nearly all lie in [0, 1]; "" of all others.

    So do some within the tolerance around it, however many they are.
    """
    if block.shape[1] > 1 or not np.isfinite(block).all():
        return ""
    outside = (block[:, 0] < 0) | (block[:, 0] > 1)
    near = block.min() >= -TOLERANCE and block.max() <= 1 + TOLERANCE
    if not outside.any() or not (near or (len(block) >= FEW and outside.mean() <= 1 - MOST)):
        return ""
    row = int(outside.argmax())
    return (
        f"{place.row(start + row)} has the score {block[row, 0]}, but nearly all around it lie in [0, 1]; if "
        "they are probabilities say --kind probs and correct such rows, if they are logits say --kind logits"
    )


def _saturated(block: Floats) -> tuple[str, ...]:
    """Return the doubt that almost all confidences are exactly 1, if they are."""
    with np.errstate(all="ignore"):
        logits = np.ascontiguousarray(block.T)  # class by class, which numpy reduces over far faster
        if len(logits) == 1:
            logits = np.vstack([np.zeros_like(logits), logits])
        # more classes so near to the first one than a tenth of the rows can have: no need for exponentials
        others = np.count_nonzero(logits >= logits.max(axis=0) - NEAR) - len(block)
        if others > (1 - MOST) * len(block) * (len(logits) - 1):
            return ()
        logits = logits.astype(np.float64)
        rest = np.exp(logits - logits.max(axis=0)).sum(axis=0)
        share = float((rest == 1).mean())
    if len(block) < FEW or share < MOST:
        return ()
    return (
        f"read as logits, {share:.0%} of the first confidences are exactly 1: these look like no logits; "
        "choose other columns with --scores, or say --kind percent if they are percentages",
    )


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
