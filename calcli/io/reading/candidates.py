"""All ways to read some rows: columns as scores of some kind, of classes or answers, beside labels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from string import ascii_uppercase
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Doubles
from calcli.core.data.derived import rest_of
from calcli.core.data.inmemory import ROUNDING
from calcli.core.data.predictions import ASKED, Called
from calcli.io.options import ReadOptions
from calcli.io.reading.head import Head, ScoreColumns, distinct_texts
from calcli.io.words import (
    CUSTOM,
    GRADES,
    PATTERNS,
    alike,
    are_custom,
    customary,
    differ_in_numbers,
    is_identifier,
    named,
    natural_order,
    plain_text,
    says,
    tokens,
)

SURELY = 5.0  # standard errors
MOST = 0.95  # of the rows
ROUNDED = 0.02  # of the rows may lie at a threshold
CALLED_LOGITS = {"logit", "logits", "logodds", "llr", "llrs"}  # whatever their range
FEW_CLASSES = 12  # labels beside one score, of which but one has it
What = Literal["classes", "class", "answer", "right"]
How = Literal["names", "custom", "places", "encoder", "numbers", "sorted", "ordered", "letters", "assigned"]


class Matched(NamedTuple):
    """Labels as classes.

    Attributes
    ----------
    y
        (n,) number of the class of each row, -1 where it is none.
    how
        By which labels are those of classes.
    names
        What labels call the classes, in the order of the scores; none where the columns say it.
    number, rest
        The number of the class of each label, and that of all others; -1 for none.
    """

    y: NDArray[np.intp]
    how: How = "names"
    names: tuple[str, ...] = ()
    number: Mapping[str, int] = {}
    rest: int = -1


@dataclass(frozen=True, eq=False)
class Candidate:
    """One way to read the rows.

    Attributes
    ----------
    head, source
        The rows, and which columns are the scores.
    kind
        What kind of scores they are.
    what
        "classes", a score of each; "class", one score of `positive`; "answer", the confidence that `said`
        equals the label; or "right", that in what the label calls right.
    label
        The column of the truth; "" where none is asked for.
    y
        (n,) number of the true class, -1 where it is none.
    how
        By which labels are those of classes: their names, custom, or their places.
    names
        What labels call the classes, in the order of the scores; none where the columns say it.
    positive, said
        See `what`.
    number, rest
        The number of the class of each label, and that of all others; -1 for none.
    """

    head: Head
    source: ScoreColumns
    kind: Called
    what: What
    label: str
    y: NDArray[np.intp]
    how: How = "names"
    names: tuple[str, ...] = ()
    positive: str = ""
    said: str = ""
    number: Mapping[str, int] = field(default_factory=dict)
    rest: int = -1

    @cached_property
    def p(self) -> Doubles:
        """(n, K) probabilities."""
        values = self.source.values / (100 if self.kind == "percent" else 1)
        with np.errstate(all="ignore"):
            if not self.source.many:
                if self.kind == "logits":
                    values = 1 / (1 + np.exp(-values))
                elif self.kind == "log-probs":
                    values = np.exp(values)
                return np.hstack([1 - values, values])
            if self.kind in ("logits", "log-probs"):
                values = np.exp(values - values.max(axis=1, keepdims=True))
            probs: Doubles = values / values.sum(axis=1, keepdims=True)
            return probs

    @property
    def s(self) -> Doubles:
        """(n,) the one score of a row, as a probability."""
        scores: Doubles = self.p[:, -1]
        return scores

    @cached_property
    def q(self) -> Doubles:
        """(n,) probability of what was true, by which readings are compared; all if that is not asked."""
        if not self.label:
            return self.p.ravel()
        true = np.take_along_axis(self.p, np.maximum(self.y, 0)[:, None], 1)[:, 0]
        return np.where(self.y < 0, np.nan, true)

    @property
    def own(self) -> frozenset[str]:
        """The distinct labels."""
        return self.head.values.get(self.label, frozenset())

    @cached_property
    def likelihood(self) -> float:
        """The logarithm of the likelihood of the labels, none of them less than one in a thousand."""
        return float(np.log(np.maximum(np.where(self.y < 0, 0, self.q), 1e-3)).sum())

    @cached_property
    def gain(self) -> float:
        """By how much this is more than that of knowing how frequent each class is."""
        there = self.y[self.y >= 0]
        share = np.bincount(there, minlength=self.p.shape[1]) / max(1, len(there))
        return self.likelihood - float(np.log(np.maximum(share, 1e-3))[there].sum())

    @cached_property
    def named(self) -> bool:
        """Whether the label is named as one, or by the scores: as in churned, churn_prob."""
        words = {*tokens(self.label)}.difference(ASKED, ("flag", "label"))
        theirs = " ".join((self.source.stem, *self.source.classes[:1]))
        stems = {one for one in tokens(theirs) if not PATTERNS["score"].fullmatch(one) and not one.isdigit()}
        is_named = bool(words) and all(any(alike(one, other) for other in stems) for one in words)
        return is_named or named("truth", self.label) or named("label", self.label)

    @cached_property
    def shown(self) -> bool:
        """Whether rows of each class have higher scores for it than others, and than for other classes."""
        present = [k for k in range(self.p.shape[1]) if (self.y == k).any()]
        if len(present) < 2:
            return False
        lifts = np.array([self.p[self.y == k].mean(axis=0) - self.p.mean(axis=0) for k in present])
        errors = [self.p[:, k].std() / np.sqrt((self.y == k).sum()) + 1e-9 for k in present]
        far = 3 if len(present) > 2 else SURELY
        largest = bool((lifts.argmax(axis=1) == present).all())
        return largest and all(lifts[n, k] > far * errors[n] for n, k in enumerate(present))

    @cached_property
    def contradicted(self) -> bool:
        """Whether in the rows of some class the scores of another one are clearly those that are raised."""
        lifted = self.p - self.p.mean(axis=0)
        far = 3 + np.sqrt(2 * np.log(self.p.shape[1]))  # which none of as many is by chance
        for k in np.unique(self.y[self.y >= 0]):
            gains = lifted[self.y == k] - lifted[self.y == k][:, [k]]
            other = int(gains.mean(axis=0).argmax())
            error = gains[:, other].std() / np.sqrt(len(gains)) + 1e-9
            if other != k and len(gains) > 4 and gains[:, other].mean() > far * error:
                return True
        return False

    @cached_property
    def proved(self) -> bool:
        """Whether the scores are calibrated and say much of the truth, in rows enough for a proof."""
        if not self.label or (self.y < 0).any() or not (self.p.min() >= 0 and self.p.max() <= 1):
            return False
        base = np.log((np.bincount(self.y) / len(self.y))[self.y])
        surprise, error = self._surprise
        gain = float((np.log(np.maximum(self.q, 1e-300)) - base).sum())
        return abs(surprise) < error < gain / 3 and self.calibrated

    @property
    def expected(self) -> bool:
        """Whether what is true is as likely as the scores expect, within three standard deviations."""
        surprise, error = self._surprise
        return abs(surprise) < error

    @cached_property
    def _surprise(self) -> tuple[float, float]:
        """By how much more likely what is true was expected to be, and three standard deviations of that."""
        with np.errstate(all="ignore"):
            logs, of_label = np.where(self.p > 0, np.log(self.p), 0), np.log(np.maximum(self.q, 1e-300))
        mean = (self.p * logs).sum(axis=1)
        error = 3 * np.sqrt(((self.p * logs**2).sum(axis=1) - mean**2).sum())
        return float((mean - of_label).sum()), float(error)

    @cached_property
    def calibrated(self) -> bool:
        """Whether in no tenth of the rows another class is true more often than the scores can explain."""
        bins = []
        for k in range(self.p.shape[1]):
            for rows in np.array_split(np.argsort(self.p[:, k], kind="stable"), 10):
                p = self.p[rows, k]
                bins.append(abs((self.y[rows] == k).sum() - p.sum()) / np.sqrt((p * (1 - p)).sum() + 0.25))
        return max(bins) < 3.5

    @cached_property
    def class_in_name(self) -> str | None:
        """The value of the label that a single score is named after."""
        words, values = tokens(self.source.stem), self.own
        system = any(PATTERNS["system"].fullmatch(one) for one in words)
        whole = f"_{'_'.join(words)}_"
        named = {
            one
            for one in values
            if f"_{'_'.join(tokens(one)) or one}_" in whole and not (system and one.isdigit())
        } or {one for one in values if any(alike(one, word) for word in words)}
        if named and {"not", "non", "no"} & set(words) - named:
            named = set(values - named) or {"?"}
        elif not named and customary(values) and not system and {"no", "yes"} & self._sides:
            side = 0 if "no" in self._sides else 1
            named = {one for one in values if CUSTOM[one] == side} or {str(side)}
        return named.pop() if len(named) == 1 else None

    @cached_property
    def _sides(self) -> set[str]:
        stem = self.source.stem
        words = {one for one in tokens(stem) if one in CUSTOM}
        no = says("not", stem) or any(CUSTOM[one] == 0 for one in words if len(one) > 1)
        yes = says("yes", stem) or any(CUSTOM[one] == 1 for one in words if len(one) > 1)
        return {"no"} if no else {"yes"} if yes else set()

    @cached_property
    def side(self) -> int | None:
        """Whether the class of the one score is 0 or 1, by custom or by metadata; None if neither says it."""
        called = [plain_text(one) for one in self.head.ordered.get(self.label, ())]
        if len(called) == 2 and self.positive in called:
            return called.index(self.positive)
        return CUSTOM[self.positive] if customary(self.own | {self.positive}) else None

    @property
    def ranked(self) -> bool:
        """Whether nothing but the ranking says of which class the one score is."""
        unsaid = self.class_in_name is None and self.side is None and not self.decided
        return self.what == "class" and bool(self.label) and unsaid

    @cached_property
    def decided(self) -> dict[str, str]:
        """What other columns say where the score is high, if a threshold of it decides them."""
        cuts = {one: cut(self.s, self.head.text[one]) for one in self.others}
        return {one: said for one, said in cuts.items() if said is not None}

    @cached_property
    def others(self) -> list[str]:
        """The columns that hold the same two values as the label, the predictions first."""
        values, known = self.head.values, self.own
        same = [
            one
            for one in self.head.labels
            if one != self.label
            and len(values[one]) == 2
            and (values[one] <= known or customary(values[one] | known))
        ]
        return sorted(same, key=lambda one: one not in self.head.predictions)

    def options(self) -> dict[str, str]:
        """Return the options that say that this is meant."""
        scores = ",".join(self.source.columns)
        if self.what in ("answer", "right"):
            correct = f"{self.said},{self.label}" if self.what == "answer" else self.label
            return {"confidence": scores, **({"correct": correct} if self.label else {}), "kind": self.kind}
        labels = {"label_column": self.label} if self.label else {}
        positive = {"positive": self.positive} if self.positive and self.label else {}
        return {"scores": scores, **labels, **positive, "kind": self.kind}


def ranks(scores: Doubles, outcomes: NDArray[np.bool_]) -> float:
    """Return by how many standard errors the scores rank the outcomes the right way round."""
    ones = int(outcomes.sum())
    zeros = len(outcomes) - ones
    if not ones or not zeros:
        return 0.0
    _, which, counts = np.unique(scores, return_inverse=True, return_counts=True)
    places = (np.cumsum(counts) - (counts - 1) / 2)[which]
    spread = np.sqrt(ones * zeros * (len(scores) + 1) / 12)
    return float((places[outcomes].sum() - ones * (len(scores) + 1) / 2) / spread)


def cut(scores: Doubles, said: NDArray[np.object_]) -> str | None:
    """Return which of two values is said just where scores are above some threshold; None if neither is."""
    values = [one for one in np.unique(said) if one]
    if len(values) != 2 or scores.min() == scores.max():
        return None
    first, second = (scores[said == one] for one in values)
    if _is_below(first, second):
        return str(values[1])
    return str(values[0]) if _is_below(second, first) else None


def _is_below(first: Doubles, second: Doubles) -> bool:
    """Tell whether no score is above others, and so few are equal to them as rounding makes."""
    edge = first.max()
    at = np.count_nonzero(first == edge) + np.count_nonzero(second == edge)
    few = at <= ROUNDED * (len(first) + len(second))
    return bool(edge < second.min() or (edge == second.min() and few))


def kinds(source: ScoreColumns, head: Head, requested: str) -> list[Called]:
    """Return what kinds of scores the numbers may be at a glance, or the one that is said."""
    low, high = source.span
    if not low <= high:
        return []
    if requested != "auto":
        return [requested]  # type: ignore[list-item]
    if set(source.columns) & head.percent:
        return ["percent"]
    if low >= 0 and high <= 1 + ROUNDING:
        if not source.off if source.many else not CALLED_LOGITS & set(tokens(source.stem)):
            return ["probs"]
        return ["logits"] if CALLED_LOGITS & set(tokens(source.stem)) else ["probs", "logits"]
    possible: list[Called] = ["percent"] if low >= 0 and high <= 101 else []
    if not source.many and not says("logit", source.stem):  # but for a few rows at fault
        values = source.values[:, 0]
        scales: tuple[tuple[Called, int], ...] = (("probs", 1), ("percent", 100))
        for kind, top in scales:
            outside = int((~((values >= 0) & (values <= top)) & ~np.isnan(values)).sum())
            if outside <= max(1, (1 - MOST) * len(values)) and outside < len(values) and kind not in possible:
                possible.append(kind)
    if high <= 0:
        possible.append("log-probs")
    return [*possible, "logits", *(["probs"] if source.many else [])]  # type: ignore[list-item]


def matches(head: Head, label: str, source: ScoreColumns, rest: str = "") -> list[Matched]:
    """Return the number of the class that each label is, and how that is known; all that may be.

    Parameters
    ----------
    head, label, source
        The rows, the column of the labels, and the scores.
    rest
        The class of all other labels; "" for none.
    """
    classes, place, values = source.plain, source.places, head.values[label]
    others = place.get(plain_text(rest), -1)
    if values <= place.keys() or others >= 0:
        return [_matched(head, label, place, rest=others)]
    unnamed = source.form == "lists" and not source.given
    number = {plain_text(one): n for n, one in enumerate(head.ordered.get(label, ()))}
    known = [number[one] for one in values if one in number]
    within = 2 * len(known) >= len(values) > 0 and all(place < len(classes) for place in known)
    if (unnamed or source.numbered) and within and len(number) >= len(classes):
        names = head.ordered[label][: len(classes)]
        number = {one: n for one, n in number.items() if n < len(classes)}
        return [_matched(head, label, number, "ordered", names)]
    matched = [
        _matched(head, label, {str(n): at for n, at in enumerate(order)}, how)
        for how, order in orders(head, source).items()
        if values <= set(map(str, range(len(classes)))) and not (source.numbered or within)
    ]
    if not matched and len(classes) == 2 and customary(values) and are_custom(classes):
        sides = [CUSTOM[one] for one in classes]
        matched = [_matched(head, label, {one: sides.index(CUSTOM[one]) for one in values}, "custom")]
    if matched:
        return matched
    letters = ascii_uppercase[: len(classes)]
    number = {plain_text(one): n for n, one in enumerate(letters)}
    if unnamed and len(number) == len(classes) and values <= number.keys():
        return [_matched(head, label, number, "letters", tuple(letters))]
    as_many = len(values) == len(classes)
    whole = as_many and all(re.fullmatch(r"-?\d{1,9}", one) for one in values)
    if source.form != "ranked" and as_many and (source.form == "lists" or whole or source.numbered):
        names = tuple(sorted(values, key=int) if whole else sorted(values))
        return [_matched(head, label, {one: n for n, one in enumerate(names)}, "sorted", names)]
    there = sum(one in place for one in values)
    few = as_many and 2 * len(values) <= head.n
    if source.form == "columns" and few and not there and not whole:
        names = tuple(sorted(values))
        return [_matched(head, label, {one: n for n, one in enumerate(names)}, "assigned", names)]
    return [_matched(head, label, place)] if there and 2 * there >= len(values) else []


def best_order(c: Candidate) -> list[str]:
    """Return the labels in the order of the scores that fits best: each goes where it raises them most."""
    labels, text = sorted(c.own), c.head.text[c.label]
    raised = np.array([c.p[text == one].mean(axis=0) - c.p.mean(axis=0) for one in labels])
    order = [""] * raised.shape[1]
    for _ in labels:
        row, column = np.unravel_index(np.argmax(raised), raised.shape)
        order[column] = labels[row]
        raised[row], raised[:, column] = -np.inf, -np.inf
    unseen = iter(sorted({*c.number} - c.own))
    return [one or next(unseen) for one in order]


def orders(head: Head, source: ScoreColumns) -> dict[How, list[int]]:
    """Return the orders in which labels may count the classes: the places of those that are 0, 1, ..."""
    classes = source.plain
    if source.form == "lists" or source.given:
        return {"places": list(range(len(classes)))}
    by_way: dict[How, list[int]] = {}
    natural = natural_order(classes)
    if (
        (source.form != "ranked" and not set(source.columns) & head.unordered)
        or natural != list(range(len(classes)))
        or differ_in_numbers(classes)
    ):
        by_way["places"] = natural
    if len(classes) == 2 and are_custom(classes):
        by_way["custom"] = sorted(range(2), key=lambda n: CUSTOM[classes[n]])
    elif not differ_in_numbers(classes):
        by_way["encoder"] = sorted(range(len(classes)), key=source.classes.__getitem__)
    numbers_in_names = [re.findall(r"\d+", one) for one in classes]
    if differ_in_numbers(classes) and all(len(one) == 1 and len(one[0]) < 10 for one in numbers_in_names):
        numbers = [int(one[0]) for one in numbers_in_names]
        if numbers != list(range(len(classes))) and max(numbers) < 4 * len(classes) + 4:
            by_way["numbers"] = [numbers.index(n) if n in numbers else -1 for n in range(max(numbers) + 1)]
    return by_way


def _matched(
    head: Head,
    label: str,
    number: Mapping[str, int],
    how: How = "names",
    names: tuple[str, ...] = (),
    rest: int = -1,
) -> Matched:
    known, which = distinct_texts(head.text[label])
    y = np.array([number.get(one, rest if one else -1) for one in known.tolist()], np.intp)[which]
    return Matched(y, how, names, number, rest)


def candidates(head: Head, sources: Sequence[ScoreColumns], options: ReadOptions) -> Iterator[Candidate]:
    """Yield all ways to read some rows in which there are labels."""
    rest = "" if options.against_rest is None else rest_of(options.against_rest)
    for source in sources:
        used = {*source.columns, *source.ranks}
        others = [one for one in head.labels if one not in used]
        for kind in kinds(source, head, options.kind):
            if source.many:
                for one in others:
                    for match in matches(head, one, source, rest):
                        yield Candidate(head, source, kind, "classes", one, **match._asdict())
            elif _may_be_scores(source, kind, head, options):
                yield from _of_class(head, source, kind, others, options.correct)
                yield from _of_answers(head, source, kind, others)


def unlabelled(head: Head, sources: Sequence[ScoreColumns], options: ReadOptions) -> Iterator[Candidate]:
    """Yield all ways to read some rows without labels."""
    unknown = np.full(head.n, -1, np.intp)
    for source in sources:
        for kind in kinds(source, head, options.kind):
            if source.many:
                yield Candidate(head, source, kind, "classes", "", unknown)
            elif _may_be_scores(source, kind, head, options):
                for what in ("class", "right"):
                    yield Candidate(head, source, kind, what, "", unknown)


def _may_be_scores(source: ScoreColumns, kind: Called, head: Head, options: ReadOptions) -> bool:
    """Tell whether one column may hold scores: not zeros and ones, nor numbers that nothing calls so."""
    name = source.columns[0]
    requested = name in (options.scores, options.confidence)
    flags = name not in head.fractions and source.span[1] <= 1
    return requested or not (flags or (kind != "probs" and not source.named and name not in head.percent))


def _of_class(
    head: Head, source: ScoreColumns, kind: Called, labels: Sequence[str], correct: str | None
) -> Iterator[Candidate]:
    for label in labels:
        values, text = head.values[label], head.text[label]
        either = values | ({"1"} if values == {"0"} else set())
        in_its_name = either.intersection(tokens(source.stem)) if len(values) <= FEW_CLASSES else ()
        for positive in sorted(either if len(values) < 3 else in_its_name):
            y = np.where(text == "", -1, text == positive)
            number = {one: int(one == positive) for one in {*values, positive}}
            yield Candidate(head, source, kind, "class", label, y, positive=positive, number=number)
        if says_right(label, values) or (label == correct and customary(values)):
            y = np.array([CUSTOM.get(one, -1) for one in text], np.intp)
            yield Candidate(head, source, kind, "right", label, y)


def _of_answers(head: Head, source: ScoreColumns, kind: Called, labels: Sequence[str]) -> Iterator[Candidate]:
    free = [
        one for one in head.text if one not in labels and (_is_said(one) or named("truth", one))
    ]  # such as words
    for one, other in combinations([*labels, *free], 2):
        said = [_is_said(name) for name in (one, other)]
        true = [named("label", name) or named("truth", name) for name in (one, other)]
        if not any(said + true):
            continue
        together = head.values[one] | head.values[other]
        truth = [named("truth", name) for name in (one, other)]
        surely = (said[0] and true[1]) or (said[1] and true[0]) or (all(true) and truth[0] != truth[1])
        boolean = together <= {"0", "1", "true", "false"}
        if not (head.values[one] & head.values[other] or boolean) or not (
            1 < len(together) < max(3, head.n / 2) or surely
        ):
            continue
        label, answer = (other, one) if said[0] or named("truth", other) else (one, other)
        texts = head.text[one], head.text[other]
        missing = (texts[0] == "") | (texts[1] == "")
        if boolean:
            texts = tuple(np.array([CUSTOM.get(value, -1) for value in text]) for text in texts)  # type: ignore[assignment]
        y = np.where(missing, -1, texts[0] == texts[1])
        yield Candidate(head, source, kind, "answer", label, y, said=answer)


def says_right(label: str, values: Set[str]) -> bool:
    """Tell whether a column says what is right, by its name or its words."""
    return (says("right", label) and any(one in CUSTOM for one in values)) or (
        bool(values) and values <= GRADES
    )


def _is_said(column: str) -> bool:
    """Tell whether a column is named as what was predicted, answered or recognized."""
    said = says("prediction", column) and not is_identifier(column)
    return (said or named("text", column)) and not named("truth", column)


def spelled(head: Head, label: str) -> Mapping[str, str]:
    """Return how each of the labels is written, by what it means."""
    values, ordered = head.columns[label], {plain_text(one): one for one in head.ordered.get(label, ())}
    if values.dtype.kind != "O":
        return {one: one for one in sorted(head.values[label])}
    return ordered | {text: str(value) for text, value in zip(head.text[label], values, strict=True) if text}
