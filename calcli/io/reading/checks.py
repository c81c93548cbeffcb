"""What scores are, judged by their values, and checked block by block as they are read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from calcli.core.data.arrays import LARGEST, Array, Floats, as_floats
from calcli.core.data.inmemory import (
    FIRST_LOOK,
    HARDLY_LOGITS,
    ROUNDING,
    TOLERANCE,
    percentages,
    rounding_of,
    sums_to_one,
    two_columns,
    without_rounding,
)
from calcli.core.data.predictions import Called, Kind, called
from calcli.core.language.errors import InputError
from calcli.core.language.expressions import WRONG_RIGHT
from calcli.io.messages import Place, in_first
from calcli.io.options import ReadOptions
from calcli.io.tables.source import Source, StoredScores

NEARLY = 0.1  # rows with sums off by more may be of classes that are true at once
FEW, MOST = 20, 0.9  # rows, and the share of them, that look like no logits
NEAR = 30  # logits below another one, at which it is still seen in the sum of the exponentials
FEW_ERRORS = 10  # so many wrong rows at the end of a block of distributions are errors


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
        A sentence to refuse scores by, where nothing but their values says that they are logits.
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


def first_of(source: Source) -> Floats:
    """Return the first (n, K) scores, by which they are judged."""
    return as_floats(source.scores.head(max(1, FIRST_LOOK // source.scores.shape[1])))


def judge_kind(source: Source, options: ReadOptions) -> Judged:
    """Return what scores are, by the options, their names or their first values.

    Raises
    ------
    InputError
        If all of one class are 1.
    """
    name, block = source.place.name, first_of(source)
    which_rows = in_first(len(block), source.scores.shape[0])
    least, block = float(block.min()), without_rounding(block)
    if block.shape[1] == 1 and (block == 1).all() and source.classes is None and options.positive is None:
        raise InputError(
            f"{name} has scores for one class only: {which_rows}each of them is 1, as the softmax of one "
            "score is; expected two or more, or one of the second of two classes: if these are, say "
            "--positive CLASS"
        )
    is_given = options.kind != "auto"
    kind = source.kind or kind_of(block) if options.kind == "auto" else options.kind
    reason = "as given" if is_given else source.kind_reason or _reason(kind, block, which_rows)
    sure, percent = is_given or source.kind is not None, kind == "percent"
    if is_given and percent:
        reason = "percentages, as given"
    doubts = _saturated(block) if kind == "logits" and not is_given else ()
    unclear = "" if sure or kind != "logits" else _unclear(block, source.place, which_rows)
    if kind != "probs" and kind != "percent":
        return Judged(kind, sure, reason, doubts=doubts, unclear=unclear)
    tolerance, rounding = rounding_of(block / 100 if percent else block)
    if kind == "probs" and -ROUNDING <= least < 0:
        rounding += f"; {least:.2g} is taken for 0, as rounding makes it"
    if is_given or percent:
        rounding = ""
    return Judged("probs", sure, reason + rounding, percent, tolerance)


def _reason(kind: Called, block: Floats, which_rows: str) -> str:
    """Return what was seen of values that tells their kind; `which_rows` says of which."""
    if kind == "log-probs":
        return f"{which_rows}no value is above 0 and the exponentials of each row sum to one"
    if kind == "logits":
        if block.shape[1] == 1:
            return "not all values lie in [0, 1]"
        return "they are neither probabilities nor log-probabilities"
    low, high = block.min(), block.max()
    if low >= 0 and high <= 1:
        return f"{which_rows}all values lie in [0, 1]"
    near = "" if mostly_distributions(block) else ", give or take a tenth"
    which = "all" if not near and sums_to_one(block).all() else "most"
    return f"{which_rows}{which} rows sum to one{near}, though values lie from {low:.4g} to {high:.4g}"


def _unclear(block: Floats, place: Place, which_rows: str) -> str:
    """Return a sentence on scores that are hardly logits; "" if they may be some."""
    several = block.shape[1] > 1
    if (several or block.max() > HARDLY_LOGITS) and percentages(block):
        return (
            f"{place.name}: {which_rows}the scores {'of a row sum to' if several else 'lie between 0 and'} "
            "100, as percentages do; say --kind percent if they are some, or --kind logits if they are logits"
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
        near_largest = np.count_nonzero(logits >= logits.max(axis=0) - NEAR) - len(block)
        if near_largest > (1 - MOST) * len(block) * (len(logits) - 1):
            return ()
        logits = logits.astype(np.float64)
        odds_to_largest = np.exp(logits - logits.max(axis=0)).sum(axis=0)
        share = float((odds_to_largest == 1).mean())
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


@dataclass
class CheckedScores:
    """Scores of a known kind; a block that cannot be of that kind raises as it is read.

    Attributes
    ----------
    raw
        (N, K) scores of any numeric type, or (N, 1) of the second class of two.
    verdict
        What they are, and why they are taken for that.
    classes
        Class names.
    place
        Files, for messages.
    renormalize
        Accept rows of probabilities that do not sum to one.
    swapped
        The two columns of `raw` are in the other order than `classes`.
    without
        What to do about missing scores, for messages.
    incomplete
        Whether scores that are missing beside others may be small ones that were not saved.
    """

    raw: StoredScores
    verdict: Judged
    classes: tuple[str, ...]
    place: Place
    renormalize: bool = False
    swapped: bool = False
    without: str = "leave such rows out with --drop-missing"
    incomplete: bool = False

    @property
    def kind(self) -> Kind:
        """What they are."""
        return self.verdict.kind

    @property
    def kind_reason(self) -> str:
        """Why they are taken for that."""
        return self.verdict.reason

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and classes."""
        return self.raw.shape[0], len(self.classes)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the scores as they were stored."""
        return self.raw.dtype

    def blocks(self, rows: int) -> Iterator[Floats]:
        """Yield checked (n, K) blocks, float32 for half and single precision input and float64 otherwise.

        Raises
        ------
        InputError
            If a score is missing or infinite, negative where it is a probability, or a row of
            probabilities does not sum to one.
        """
        start = 0
        for stored in self.raw.blocks(rows):
            yield self.checked(stored, start)
            start += len(stored)

    def checked(self, stored: Array, start: int) -> Floats:
        """Return a block that begins at row `start`, checked."""
        block = as_floats(stored)
        if self.verdict.percent:
            block = block / 100
        with np.errstate(all="ignore"):  # what overflows is found, and said, by the checks
            if self.kind == "probs" and (block.min() < 0 or (block.shape[1] == 1 and block.max() > 1)):
                block = without_rounding(block)
            self._check(block, start)
        if self.raw.shape[1] == 1:
            block = two_columns(block[:, 0], self.kind, np.empty((2, len(block)), block.dtype))
        return block[:, ::-1] if self.swapped else block

    def _check(self, block: Floats, start: int) -> None:
        if self.kind == "logits":
            sums = block @ np.ones(block.shape[1], block.dtype)
            if not np.isfinite(sums).all():  # a sum may also overflow
                masked = np.isneginf(block) if block.shape[1] > 1 else np.zeros(block.shape, np.bool_)
                self._refuse_non_finite(~(np.isfinite(block) | masked), block, start)
                self._refuse_impossible(np.all(masked, axis=1), start, "logit")
            if block.max() > LARGEST:  # the smallest numbers there are may mask classes
                row, k = _first(block > LARGEST)
                raise InputError(
                    f"{self._score(start + row, k)} is {block[row, k]:g}; expected logits of at most "
                    f"{LARGEST:g}"
                )
        elif self.kind == "log-probs":
            self._check_log_probs(block, start)
        elif block.shape[1] == 1:
            if not (block.min() >= 0 and block.max() <= 1):
                self._refuse_probs(block, start)
        elif not (block.min() >= 0 and sums_to_one(block, self.verdict.tolerance).all()):
            self._refuse_probs(block, start)

    def _check_log_probs(self, block: Floats, start: int) -> None:
        if not block.max() <= 0:
            self._refuse_non_finite(~(block < np.inf), block, start)
            row, k = _first(block > TOLERANCE)
            if row >= 0:
                self._contradict(f"{self.place.row(start + row)} has a value above 0")
                raise InputError(
                    f"{self._score(start + row, k)} is {block[row, k]:g}; the logarithm of a probability is "
                    "at most 0; if the scores are logits say --kind logits"
                )
        elif block.shape[1] > 1 and not np.isfinite(block.min()):
            self._refuse_impossible(np.all(np.isneginf(block), axis=1), start, "log-probability")

    def _refuse_impossible(self, rows: Any, start: int, kind: str) -> None:
        if rows.any():
            raise InputError(
                f"{self.place.row(start + int(rows.argmax()))} gives every class the {kind} -inf; "
                "expected at least one finite value; repair or remove such rows"
            )

    def _refuse_probs(self, block: Floats, start: int) -> None:
        """Say what is wrong with these probabilities; return if only their sums are, and may be."""
        self._refuse_non_finite(~np.isfinite(block), block, start)
        off = (block[:, 0] > 1) if block.shape[1] == 1 else ~sums_to_one(block, self.verdict.tolerance)
        outside = ((block < 0) | (block > 1)).any(1) & (off | (block.shape[1] == 1))
        worst_row = int(outside.argmax())
        if not self.verdict.sure and (unclear := outside_unit(block, self.place, start)):
            raise InputError(unclear)
        if outside.any() and (block.shape[1] == 1 or off.mean() > 0.5 or _is_turn(off[worst_row:])):
            self._contradict(f"{self.place.row(start + worst_row)} has a value outside [0, 1]")
        row, k = _first(block < 0)
        if row >= 0:
            why = ", a negative probability; if they are none say --kind logits or --kind log-probs"
            if self.classes == WRONG_RIGHT:
                why = "; expected 0 to 1, or percentages; -1 often marks what has none: remove such rows"
            value = block[row, k] * (100 if self.verdict.percent else 1)
            raise InputError(f"{self._score(start + row, k)} is {value:g}{why}")
        sums = block.sum(1, dtype=np.float64)
        if block.shape[1] > 1 and self.renormalize:
            off = sums <= 0
        if off.any():
            self._refuse_sum(start, off, sums, block)

    def _refuse_sum(self, start: int, off: Array, sums: Array, block: Floats) -> NoReturn:
        worst_row = int(off.argmax())
        row = self.place.row(start + worst_row)
        within = self.verdict.tolerance
        message = f"{row} has probabilities that sum to {sums[worst_row]:.6g}; expected 1 within {within:g}"
        often = off.mean() > 0.5
        extra = self._without_which_all_sum_to_one(block, sums) if often else None
        why = "; divide each row by its sum with --renormalize, or say --kind logits if they are logits"
        if self.raw.shape[1] == 1:
            message = f"{row} has the probability {block[worst_row, 0]}; expected at most 1"
            why = "; if the scores are percentages say --kind percent, if they are logits --kind logits"
        elif not self.verdict.percent and abs(sums[worst_row] - 100) <= 1:
            why = "; if all rows are percentages say --kind percent, else save them alike"
        elif extra is not None:
            why = (
                f', which this row and those around it do without the score of "{self.classes[extra]}"; if '
                "that is no class, leave it out: of a table choose the other columns with --scores"
            )
        elif often and block.max() <= 1 and np.median(sums[off]) > 1 + NEARLY:
            why = (
                ", but most rows are off: these look like multi-label sigmoid outputs, where several classes "
                "may be true at once; evaluate each class by itself as a two-class file, or, if one class "
                "only is true, divide each row by its sum with --renormalize"
            )
        elif often and sums.max() < 1:
            why = (
                ", but most rows are off: these look like the largest scores of more classes (a sparse top-k "
                "dump); save the scores of all classes, or divide each row by its sum with --renormalize"
            )
        raise InputError(f"{message}{why}")

    def _without_which_all_sum_to_one(self, block: Floats, sums: Array) -> int | None:
        """Return the place of the one score without which all rows sum to one; None if there is none."""
        if block.shape[1] < 3:
            return None
        sound = (np.abs(sums[:, None] - block - 1) <= self.verdict.tolerance).all(axis=0)
        return int(sound.argmax()) if np.count_nonzero(sound) == 1 else None

    def _refuse_non_finite(self, wrong: Array, block: Floats, start: int) -> None:
        row, k = _first(wrong)
        if row < 0:
            return
        value = block[row, k]
        mend = self.without if np.isnan(value) else "repair or remove such rows"
        if np.isnan(value) and self.incomplete and not np.isnan(block[row]).all():
            mend = "if only the largest scores of a row were saved, save the scores of all classes"
        if np.isneginf(value):
            mend = "say --kind log-probs if it is the logarithm of probability 0"
        text = "missing (nan)" if np.isnan(value) else f"{value:g}"
        raise InputError(f"{self._score(start + row, k)} is {text}; expected a finite number; {mend}")

    def _contradict(self, reason: str) -> None:
        if not self.verdict.sure:
            raise InputError(
                f"{reason}, but the first rows look like {self.kind}; say which they are, with --kind logits "
                f"or --kind {self.kind}"
            )

    def _score(self, row: int, k: int) -> str:
        if self.classes == WRONG_RIGHT:
            return f"{self.place.row(row)}: the confidence"
        if self.raw.shape[1] == 1 or self.swapped:
            k = 1 - k
        return f'{self.place.row(row)}: the score of class "{self.classes[k]}"'


def _is_turn(off: Array) -> bool:
    """Return whether most rows from here on are not distributions: not a few errors among those that are."""
    return int(np.count_nonzero(off)) > max(FEW_ERRORS, len(off) / 2)


def _first(wrong: Array) -> tuple[int, int]:
    """Return row and column of the first True, or (-1, -1)."""
    if not wrong.any():
        return -1, -1
    row = int(wrong.any(1).argmax())
    return row, int(wrong[row].argmax())
