"""Choose the reading with the most evidence, if it leads all readings with other numbers by a margin."""

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
from calcli.io.reading.weights import MARGIN, REMARK, SETTLES, WEIGHTS, Doubt
from calcli.io.words import CUSTOM, plain_text, tokens

ENOUGH = 50  # from this many rows on, the values of predictions speak for themselves
ANSWERED = ("scores", "label_column", "positive", "kind", "confidence", "correct")
VALUES = {"ranked", "calibrated", "share", *CLASS_SAID}  # these do not tell systems apart


class Weighed(NamedTuple):
    """A candidate with the evidence and the doubts that remain once options are given."""

    candidate: Candidate
    parts: dict[str, float]
    doubts: list[Doubt]

    @property
    def total(self) -> float:
        """The sum of the evidence, in log-odds."""
        return sum(self.parts.values())

    def of(self, weights: set[str]) -> float:
        """Return the sum of the evidence of these weights, in log-odds."""
        return sum(value for weight, value in self.parts.items() if weight in weights)


class Verdict(NamedTuple):
    """The readings, likeliest first, and whether to read the first one or to ask."""

    readings: list[Weighed]
    notes: list[str]
    asks: str = ""

    @property
    def asked(self) -> list[Doubt]:
        """The doubts about the likeliest reading that the user must resolve before it is read."""
        return [doubt for doubt in self.readings[0].doubts if doubt.asks] if self.readings else []


def decided(candidates: Sequence[Candidate], options: ReadOptions, head: Head) -> Verdict:
    """Return the readings that the options allow, likeliest first, and whether to read the first."""
    explicit = {name for name in options.given if options.given[name] not in (None, "auto")}
    settled = explicit | {implied for name in explicit for implied in SETTLES.get(name, "").split()}
    weighed = sorted((_weighed(c, settled) for c in candidates if is_asked(c, options)), key=_standing)
    if not weighed:
        return Verdict([], [], "none")
    best = _fullest(weighed)
    rivals = [reading for reading in weighed if not same(reading.candidate, best.candidate)]
    rivals.sort(key=lambda reading: _lead(best, reading))
    lead, notes = _lead(best, rivals[0]) if rivals else MARGIN, [doubt.said for doubt in best.doubts]
    nothing = WEIGHTS["nothing"].worth * (1 + min(1.0, head.n / ENOUGH)) / 2 if best.candidate.label else 1.0
    asks = "doubt" if any(doubt.asks for doubt in best.doubts) else "several" if lead < REMARK else ""
    if best.total - nothing + MARGIN * len(settled & {*ANSWERED}) < REMARK:
        asks = "none"
    if not asks and lead < MARGIN:
        notes.append(f"less likely: {described(rivals[0].candidate)}")
    return Verdict([best, *(rivals if asks == "several" else sorted(rivals, key=_standing))], notes, asks)


def _weighed(candidate: Candidate, settled: set[str]) -> Weighed:
    """Return the candidate without the doubts and the evidence against it that the options settle."""
    muted = {weight for weight in candidate.parts if settled & {*WEIGHTS[weight].option.split()}}
    evidence = {name: max(value, 0.0) if name in muted else value for name, value in candidate.parts.items()}
    doubts = [doubt for doubt in candidate.doubts if not settled & {*doubt.option.split()}]
    return Weighed(candidate, evidence, doubts)


def _standing(reading: Weighed) -> tuple[float, int, int]:
    """Return the key to sort readings by: most evidence, then most classes, then the shortest names."""
    classes = reading.candidate.source.classes
    return -round(reading.total, 6), -len(classes), sum(map(len, classes))


def _fullest(weighed: Sequence[Weighed]) -> Weighed:
    """Return the likeliest reading, or one with the same numbers that takes the columns of all classes."""
    best = weighed[0].candidate
    for reading in weighed[1:] if best.what == "class" else ():
        c = reading.candidate
        if c.source.many and c.label == best.label and same(c, best):
            return reading
    return weighed[0]


def _lead(best: Weighed, rival: Weighed) -> float:
    """Return the lead of the best reading over a rival, in log-odds.

    Only names can choose between two systems or two raters: the better of them need not be the one meant.
    """
    leader, second, lead = best.candidate, rival.candidate, best.total - rival.total
    same_label, by_class = leader.label == second.label, leader.what == second.what == "class"
    apart = not {*leader.source.columns} & {*second.source.columns}
    if same_label and (second.what == "hard" or (by_class and not apart)):
        return MARGIN  # evidence against the other class becomes a doubt instead
    if _is_another_truth(best, rival):
        return min(lead, REMARK / 2)
    raters = not same_label and _words_without_numbers(leader.label) == _words_without_numbers(second.label)
    systems = same_label and apart and rival.of(SCORE_NAMES) > 0 and rival.of({"ranked"}) > -1.5
    named_lead = lead - best.of(VALUES) + rival.of(VALUES)
    if systems and by_class and _differ_in_a_word(leader, second) and "made of another" not in rival.parts:
        named_lead = min(named_lead, 0.0 if rival.of({"ranked"}) > -1 else MARGIN)
    return min(lead, named_lead) if raters or systems else lead


def _is_another_truth(best: Weighed, rival: Weighed) -> bool:
    """Tell whether a rival's label may be the truth as well: it has such a name, or nearly equal values."""
    a, b = best.candidate, rival.candidate
    same_scores = a.label != b.label and a.what == b.what and a.source.columns == b.source.columns
    follows = rival.parts.keys() & (FOLLOWS | {"prediction label"}) or b.how == "assigned"
    if not same_scores or follows or rival.of({"ranked"}) < 0.5 * WEIGHTS["ranked"].worth:
        return False
    agreement = float((a.head.text[a.label] == a.head.text[b.label]).mean())
    return all(reading.parts.keys() & {*NAMED} for reading in (best, rival)) or 0.9 < agreement < 1


def _words_without_numbers(name: str) -> list[str]:
    return [word for word in tokens(name) if not word.isdigit()]


def _differ_in_a_word(a: Candidate, b: Candidate) -> bool:
    """Tell whether the names of two scores differ in exactly one word, such as xgb_prob and lr_prob."""
    words, second = (tokens(c.source.stem) for c in (a, b))
    return len(words) == len(second) > 1 and sum(x != y for x, y in zip(words, second, strict=True)) == 1


def same(a: Candidate, b: Candidate) -> bool:
    """Tell whether two readings give the true class of every row the same probability."""
    return a.q.shape == b.q.shape and np.allclose(a.q, b.q, rtol=1e-4, atol=1e-7, equal_nan=True)


def is_asked(c: Candidate, options: ReadOptions) -> bool:
    """Tell whether a candidate agrees with the options."""
    settings, hard, of_answers = options.given, c.what == "hard", c.what in ("answer", "right")
    names = [name.strip() for name in (options.correct or "").split(",")]
    exact = options.scores in {*c.head.columns, *c.head.lists}
    scores = [options.scores] if exact else [name.strip() for name in (options.scores or "").split(",")]
    against = (
        hard and settings.keys() & {"scores", "confidence", "positive", "kind", "correct"},
        not hard and (options.kind not in ("auto", c.kind) or options.score is not None),
        hard and options.score not in (None, c.said),
        of_answers and settings.keys() & {"scores", "classes", "positive", "against_rest"},
        options.confidence is not None and not (of_answers and c.source.columns == (options.confidence,)),
        options.correct is not None
        and c.label
        and not (of_answers and names == [c.said, c.label][not c.said :]),
        c.label and options.label_column not in (None, c.label),
        (exact or len(scores) > 1) and {*c.source.columns} != {*scores},
    )
    return not any(against) and (c.what != "class" or not c.label or _is_positive(c, options))


def _is_positive(c: Candidate, options: ReadOptions) -> bool:
    """Tell whether a single score is of the class that the options name."""
    second = options.positive or (options.classes[-1] if options.classes else None) or options.against_rest
    if second is None or plain_text(second) in c.own:
        return second is None or c.positive == plain_text(second)
    if options.classes and second in options.classes and len(options.classes) == 2:
        return CUSTOM.get(c.positive) == options.classes.index(second)
    return CUSTOM.get(c.positive) == CUSTOM.get(plain_text(second), 1)


def in_all_rows(c: Candidate, head: Head, options: ReadOptions) -> str | None:
    """Return why all rows together contradict a reading of some of them; None if they do not."""
    if c.source.columns[0] not in head.columns:
        return None
    source: ScoreColumns = head.single(c.source.columns[0])
    narrowed = replace(
        options, **{name: value for name, value in c.options().items() if name not in ("kind", "positive")}
    )
    verdict = decided(enumerated(Facts(head, [source]), [source], narrowed), narrowed, head)
    matches = [
        (top.candidate.kind, top.candidate.positive) == (c.kind, c.positive) for top in verdict.readings[:1]
    ]
    if matches == [True] and not verdict.asks:
        return None
    doubt = f": {verdict.asked[0].said}" if verdict.asked else ""
    return f"{head.name}: {described(c)} fits {c.head.n:,} of the rows, but not all{doubt}"


def described(c: Candidate) -> str:
    """Describe a candidate in words, by its label and its scores."""
    scores = ", ".join(c.source.columns[:3]) + (", ..." if len(c.source.columns) > 3 else "")
    description = {
        "classes": f"{c.kind} {scores}",
        "class": f"{c.kind} {scores} (of {c.positive or 'one class'})",
        "answer": f"{scores} as the confidence in {c.said}",
        "right": f"{scores} as the confidence in being right",
        "hard": f"predictions {c.said}, no scores",
    }[c.what]
    return f"label {c.label}, {description}" if c.label else description
