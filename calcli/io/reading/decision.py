"""The reading that the evidence is for, by a margin over all that give other numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from calcli.io.options import ReadOptions
from calcli.io.reading.candidate import CLASS_SAID, Candidate
from calcli.io.reading.facts import Facts
from calcli.io.reading.head import Head, ScoreColumns
from calcli.io.reading.readings import FOLLOWS, NAMED, SCORE_NAMES, enumerated
from calcli.io.reading.weights import MARGIN, REMARK, WEIGHTS, Doubt
from calcli.io.words import CUSTOM, plain_text, tokens

ENOUGH = 50  # rows, from which the values of predictions speak for themselves
ANSWERED = ("scores", "label_column", "positive", "kind", "confidence", "correct")
AS_WELL = {
    "classes": "positive",
    "against_rest": "positive",
    "confidence": "positive scores",
    "correct": "label_column",
}
VALUES = {"ranked", "calibrated", "share", *CLASS_SAID}  # which tell no systems apart


class Weighed(NamedTuple):
    """A reading with the evidence and the doubts that the options leave."""

    candidate: Candidate
    parts: dict[str, float]
    doubts: list[Doubt]

    @property
    def total(self) -> float:
        """The log-odds of all evidence."""
        return sum(self.parts.values())

    def of(self, weights: set[str]) -> float:
        """Return the log-odds of some of the evidence."""
        return sum(value for weight, value in self.parts.items() if weight in weights)


class Verdict(NamedTuple):
    """The readings in their order, and what is to be done: read the first one, or ask."""

    readings: list[Weighed]
    notes: list[str]
    asks: str = ""

    @property
    def asked(self) -> list[Doubt]:
        """The doubts without an answer to which the likeliest reading is not read."""
        return [one for one in self.readings[0].doubts if one.asks] if self.readings else []


def decided(every: Sequence[Candidate], options: ReadOptions, head: Head) -> Verdict:
    """Return the order of the readings that some options leave, and whether the first of them is read."""
    said = {name for name in options.given if options.given[name] not in (None, "auto")}
    given = said | {one for name in said for one in AS_WELL.get(name, "").split()}
    weighed = sorted((_weighed(one, given) for one in every if is_asked(one, options)), key=_standing)
    if not weighed:
        return Verdict([], [], "none")
    best = _fullest(weighed)
    rivals = [one for one in weighed if one is not best and not same(one.candidate, best.candidate)]
    rivals.sort(key=lambda one: _lead(best, one))
    lead, notes = _lead(best, rivals[0]) if rivals else MARGIN, [one.said for one in best.doubts]
    nothing = WEIGHTS["nothing"].worth * (1 + min(1.0, head.n / ENOUGH)) / 2 if best.candidate.label else 1.0
    asks = "doubt" if any(one.asks for one in best.doubts) else "several" if lead < REMARK else ""
    if best.total - nothing + MARGIN * len(given & {*ANSWERED}) < REMARK:
        asks = "none"
    if not asks and lead < MARGIN:
        notes.append(f"less likely: {described(rivals[0].candidate)}")
    return Verdict([best, *(rivals if asks == "several" else sorted(rivals, key=_standing))], notes, asks)


def _weighed(candidate: Candidate, given: set[str]) -> Weighed:
    """Return the evidence that is not settled by options, and the doubts that these do not end."""
    settled = {weight for weight in candidate.parts if given & {*WEIGHTS[weight].option.split()}}
    parts = {
        weight: max(value, 0.0) if weight in settled else value for weight, value in candidate.parts.items()
    }
    return Weighed(candidate, parts, [one for one in candidate.doubts if not given & {*one.option.split()}])


def _standing(one: Weighed) -> tuple[float, int, int]:
    """Return what readings are sorted by: the evidence, then most classes, then the shortest names."""
    classes = one.candidate.source.classes
    return -round(one.total, 6), -len(classes), sum(map(len, classes))


def _fullest(weighed: Sequence[Weighed]) -> Weighed:
    """Return the likeliest reading; of those with its numbers, the one of all columns."""
    best = weighed[0].candidate
    fuller = (
        one
        for one in weighed[1:]
        if best.what == "class" and one.candidate.source.many and one.candidate.label == best.label
    )
    return next((one for one in fuller if same(one.candidate, best)), weighed[0])


def _lead(best: Weighed, other: Weighed) -> float:
    """Return by how much a reading is likelier than another.

    That one of two systems or raters is better is no evidence that it is meant: names alone tell them apart.
    """
    one, two, lead = best.candidate, other.candidate, best.total - other.total
    one_label, both_of_class = one.label == two.label, one.what == two.what == "class"
    apart = not {*one.source.columns} & {*two.source.columns}
    if one_label and (two.what == "hard" or (both_of_class and not apart)):
        return MARGIN  # what is against the other class is a doubt
    if _is_another_truth(best, other):
        return min(lead, REMARK / 2)
    raters = not one_label and _but_for_numbers(one.label) == _but_for_numbers(two.label)
    systems = one_label and apart and other.of(SCORE_NAMES) > 0 and other.of({"ranked"}) > -1.5
    named_so = lead - best.of(VALUES) + other.of(VALUES)
    if systems and both_of_class and _differ_in_a_word(one, two) and "made of another" not in other.parts:
        named_so = min(named_so, 0.0 if other.of({"ranked"}) > -1 else MARGIN)
    return min(lead, named_so) if raters or systems else lead


def _is_another_truth(best: Weighed, other: Weighed) -> bool:
    """Tell whether another column is the truth as likely: named so, too, or equal in nearly all rows."""
    one, two = best.candidate, other.candidate
    alike = one.label != two.label and one.what == two.what and one.source.columns == two.source.columns
    follows = other.parts.keys() & (FOLLOWS | {"prediction label"}) or two.how == "assigned"
    if not alike or follows or other.of({"ranked"}) < 0.5 * WEIGHTS["ranked"].worth:
        return False
    agree = float((one.head.text[one.label] == one.head.text[two.label]).mean())
    return all(each.parts.keys() & {*NAMED} for each in (best, other)) or 0.9 < agree < 1


def _but_for_numbers(name: str) -> list[str]:
    return [one for one in tokens(name) if not one.isdigit()]


def _differ_in_a_word(one: Candidate, two: Candidate) -> bool:
    """Tell whether two scores are named alike but for one word, as xgb_prob and lr_prob."""
    a, b = (tokens(each.source.stem) for each in (one, two))
    return len(a) == len(b) > 1 and sum(x != y for x, y in zip(a, b, strict=True)) == 1


def same(one: Candidate, other: Candidate) -> bool:
    """Tell whether two readings give every row the same probability of what was true."""
    return one.q.shape == other.q.shape and np.allclose(one.q, other.q, rtol=1e-4, atol=1e-7, equal_nan=True)


def is_asked(c: Candidate, options: ReadOptions) -> bool:
    """Tell whether a candidate is what the options say."""
    given, hard, of_answers = options.given, c.what == "hard", c.what in ("answer", "right")
    parts = [one.strip() for one in (options.correct or "").split(",")]
    exact = options.scores in {*c.head.columns, *c.head.lists}
    columns = [options.scores] if exact else [one.strip() for one in (options.scores or "").split(",")]
    against = (
        hard and given.keys() & {"scores", "confidence", "positive", "kind", "correct"},
        not hard and (options.kind not in ("auto", c.kind) or options.score is not None),
        hard and options.score not in (None, c.said),
        of_answers and given.keys() & {"scores", "classes", "positive", "against_rest"},
        options.confidence is not None and not (of_answers and c.source.columns == (options.confidence,)),
        options.correct is not None
        and c.label
        and not (of_answers and parts == [c.said, c.label][not c.said :]),
        c.label and options.label_column not in (None, c.label),
        (exact or len(columns) > 1) and {*c.source.columns} != {*columns},
    )
    return not any(against) and (c.what != "class" or not c.label or _is_positive(c, options))


def _is_positive(c: Candidate, options: ReadOptions) -> bool:
    """Tell whether the one score is of the class that the options say."""
    second = options.positive or (options.classes[-1] if options.classes else None) or options.against_rest
    if second is None or plain_text(second) in c.own:
        return second is None or c.positive == plain_text(second)
    if options.classes and second in options.classes and len(options.classes) == 2:
        return CUSTOM.get(c.positive) == options.classes.index(second)
    return CUSTOM.get(c.positive) == CUSTOM.get(plain_text(second), 1)


def in_all_rows(c: Candidate, head: Head, options: ReadOptions) -> str | None:
    """Return what all rows say against one score that some rows are for; None if nothing does."""
    if c.source.columns[0] not in head.columns:
        return None
    source: ScoreColumns = head.single(c.source.columns[0])
    told = replace(
        options, **{name: said for name, said in c.options().items() if name not in ("kind", "positive")}
    )
    verdict = decided(enumerated(Facts(head, [source]), [source], told), told, head)
    alike = [
        (one.candidate.kind, one.candidate.positive) == (c.kind, c.positive) for one in verdict.readings[:1]
    ]
    if alike == [True] and not verdict.asks:
        return None
    doubt = f": {verdict.asked[0].said}" if verdict.asked else ""
    return f"{head.name}: {described(c)} fits {c.head.n:,} of the rows, but not all{doubt}"


def described(c: Candidate) -> str:
    """Return what a candidate reads, in words."""
    scores = ", ".join(c.source.columns[:3]) + (", ..." if len(c.source.columns) > 3 else "")
    what = {
        "classes": f"{c.kind} {scores}",
        "class": f"{c.kind} {scores} (of {c.positive or 'one class'})",
        "answer": f"{scores} as the confidence in {c.said}",
        "right": f"{scores} as the confidence in being right",
        "hard": f"predictions {c.said}, no scores",
    }[c.what]
    return f"label {c.label}, {what}" if c.label else what
