"""The one reading of some rows; where there are several or none, a question with the likeliest readings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from calcli.core.language.errors import InputError, UsageError
from calcli.io.messages import STDIN, Commands, Offer, Question, listed
from calcli.io.options import ReadOptions
from calcli.io.reading.candidate import Candidate
from calcli.io.reading.chosen import with_classes
from calcli.io.reading.decision import Verdict, Weighed, decided, described, same
from calcli.io.reading.facts import Facts
from calcli.io.reading.head import Head, ScoreColumns
from calcli.io.reading.names import label_evidence, score_evidence
from calcli.io.reading.readings import SCORE_NAMES, enumerated, unlabelled
from calcli.io.reading.weights import QUESTIONS, WEIGHTS
from calcli.io.tables.labels import SHARE, SHARES
from calcli.io.words import is_called, named, plain_text, says

MOST_OFFERS = 3
MOST_TRIED = 6  # readings for which options are looked for
NEVER_OFFERED = {"broken beside", "ranks beside", "rows of a case", "margins", "two scales"}
SCORED = {"probability word", "score word"}
OF_ARRAYS = {"label_column": "labels"}  # as options are called for arrays


class Choice(NamedTuple):
    """The reading, what the user should know of it, and the likeliest others with what is against each."""

    chosen: Candidate
    notes: tuple[str, ...]
    struck: tuple[tuple[str, str], ...]


class NoReading(Question):
    """Data that cannot be read as predictions.

    Attributes
    ----------
    without
        Whether nothing in them looks like probabilities.
    sure
        How many offers stand before outcomes, which may be meant; None if they are not.
    """

    without = False
    sure: int | None = None


class NoOutcomes(UsageError):
    """Nothing says what is right, graded or predicted."""


def choose(
    head: Head,
    sources: Sequence[ScoreColumns],
    options: ReadOptions,
    *,
    labelled: bool,
    known: Sequence[str] = (),
) -> Choice:
    """Return the one reading of some rows.

    Parameters
    ----------
    head
        The rows.
    sources
        What may be scores in them.
    options
        What the user said.
    labelled
        Whether labels are looked for.
    known
        Names of the classes, where a calibrator knows them.

    Raises
    ------
    InputError
        If there are several readings, or none.
    """
    if not head.n and (head.columns or head.lists):
        raise InputError(f"{head.name} has no rows; expected at least one")
    sources, names = with_classes(head, sources, options), sorted(map(plain_text, known))
    if not labelled and known:
        sources = [one for one in sources if one.many and sorted(one.plain) == names] or sources
    if options.classes and any(one.many and one.given for one in sources):
        sources = [one for one in sources if one.many]
    facts = Facts(head, [one for one in sources if not one.many and one.columns[0] in head.columns])
    every = enumerated(facts, sources, options) if labelled else unlabelled(facts, sources, options, known)
    verdict = decided(every, options, head)
    if verdict.asks:
        raise _question(facts, every, verdict, options, labelled=labelled)
    return Choice(verdict.readings[0].candidate, tuple(verdict.notes), tuple(_others(verdict)))


def _others(verdict: Verdict) -> Iterator[tuple[str, str]]:
    """Yield the likeliest other readings, and what speaks most against each."""
    best = verdict.readings[0].candidate
    seen = {(best.source.columns, best.label)}
    for one in verdict.readings[1:]:
        c = one.candidate
        if (c.source.columns, c.label) in seen or len(seen) > MOST_OFFERS:
            continue
        seen.add((c.source.columns, c.label))
        against = min(one.parts, key=one.parts.__getitem__)
        settled = {*WEIGHTS[against].option.split()}
        doubts = [each for each in one.doubts if each.asks]
        doubts.sort(key=lambda each: not settled & {*each.option.split()})
        meaning = WEIGHTS[against].meaning if one.parts[against] < 0 else "less speaks for it"
        yield described(c), doubts[0].said if doubts else meaning


def _question(
    facts: Facts, every: Sequence[Candidate], verdict: Verdict, options: ReadOptions, *, labelled: bool
) -> InputError:
    """Return the question what is meant, with the likeliest readings."""
    head = facts.head
    if shares := _shares(head):
        return InputError(f"{head.name}: {shares}")
    offered = list(_offered(every, verdict, options, head))
    first = _heading(facts, verdict, bool(offered), options, labelled=labelled)

    def sentence_with(offers: Sequence[Offer], shown: Commands) -> str:
        kept = [
            (offer, next((c for each, c in offered if each == offer), None)) for offer in offers[:MOST_OFFERS]
        ]
        if not kept:
            return first
        opening = "Likely readings" if len(kept) > 1 else "If this is meant"
        lines = [f"{first}{'' if first[-1] == '?' else '.'} {opening}:"]
        for n, (offer, c) in enumerate(kept, 1):
            lines += [f"  {n}. {_shown(c) if c else 'outcomes, no scores'}", f"     {shown(offer)}"]
        systems = {c.source.columns[0] for _, c in kept if c and not c.source.many}
        apart = verdict.asks == "several" and len(systems) == len(kept) > 1
        if apart and head.name != STDIN and not head.of_arrays:
            command = shown({"system": tuple(f"{one}={one}" for one in sorted(systems))})
            lines += ["  or compare them as systems:", f"     {command.replace('evaluate', 'compare', 1)}"]
        return "\n".join(lines)

    question = NoReading([offer for offer, _ in offered], sentence_with)
    said = options.scores or options.confidence or options.positive or options.kind != "auto"
    scored = (
        said or any(is_called("confidence", one) for one in head.columns) or any(map(_is_score, head.sources))
    )
    question.without = verdict.asks == "none" and not scored
    graded = bool(verdict.readings) and verdict.readings[0].candidate.what == "right"
    if verdict.asks == "none" or graded:
        question.sure = len(offered) if verdict.asks == "several" else 1
    return question


def _offered(
    every: Sequence[Candidate], verdict: Verdict, options: ReadOptions, head: Head
) -> Iterator[tuple[dict[str, Any], Candidate]]:
    """Yield the fewest options that choose each of the likeliest readings, so that nothing is doubted."""
    seen: list[Candidate] = []
    for one in verdict.readings:
        c, asked = one.candidate, [each for each in one.doubts if each.asks]
        if len(seen) >= MOST_TRIED or _is_out(one, seen, verdict):
            continue
        seen.append(c)
        if offers := [offer for each in asked for offer in each.offers]:
            yield from ((offer, c) for offer in offers)
            if len(seen) == 1:
                return
            continue
        all_options = c.options()
        for names in [*([name] for name in all_options), list(all_options)]:
            offer = {name: all_options[name] for name in names}
            told = decided(every, replace(options, **offer), head)
            if not told.asks and same(told.readings[0].candidate, c):
                yield (
                    {
                        OF_ARRAYS.get(name, name) if head.of_arrays else name: said
                        for name, said in offer.items()
                    },
                    c,
                )
                break


def _is_out(one: Weighed, seen: Sequence[Candidate], verdict: Verdict) -> bool:
    """Tell whether a reading is not worth an offer: by a fact, by its names, or as one that was offered."""
    c, sure = one.candidate, not verdict.asked and seen and "positive by custom" in seen[0].parts
    turned = any(
        (c.what, c.label, c.source.columns) == (two.what, two.label, two.source.columns) for two in seen
    )
    hopeless = one.of(SCORE_NAMES) < -4 or one.parts.keys() & NEVER_OFFERED or (seen and c.what == "hard")
    return bool(hopeless or (turned and sure) or any(same(c, two) for two in seen))


def _shown(c: Candidate) -> str:
    """Return what a reading takes for what, and how well that fits."""
    hits = c.q[np.isfinite(c.q)] if c.label else np.zeros(0)
    if not len(hits) or c.what == "hard":
        return described(c) + (f"   {hits.mean():.0%} equal" if len(hits) else "")
    fit = f"log-loss {-np.log(np.clip(hits, 1e-15, 1)).mean():.2f}"
    if c.p.shape[1] == 2 and {0, 1} <= {*c.y.tolist()}:
        ones, zeros = c.s[c.y == 1], np.sort(c.s[c.y == 0])
        below = np.searchsorted(zeros, ones, "left") + np.searchsorted(zeros, ones, "right")
        fit = f"AUROC {below.mean() / 2 / len(zeros):.2f}, {fit}"
    return f"{described(c)}   {fit.replace(' 0.', ' .')}"


def _heading(
    facts: Facts, verdict: Verdict, is_offered: bool, options: ReadOptions, *, labelled: bool
) -> str:
    """Return what is asked, and why."""
    head, names = facts.head, [*facts.head.columns, *facts.head.lists]
    if names and all(re.fullmatch(r"[-+.\deE]+", one) for one in names):
        expected = "expected a header line with the names of the columns"
        return f"{head.name}: the first line, {listed(names)}, looks like numbers; {expected}"
    doubts = [one.said for one in verdict.asked]
    if facts.by_rank and labelled:
        ranks = ", ".join(sorted(facts.rank_names)[:2])
        doubts = [f"{ranks} may name the class of each score, and rows do not have every class once"]
    if verdict.asks != "none" and is_offered:
        return f"{head.name}: {_what_is_open(verdict)} {''.join(doubts[:1])}".rstrip()
    broken = [beside for one in head.sources if (beside := facts.broken_beside(one))]
    reasons = [*broken[:1], *_no_numbers(head), *doubts][:2]
    why = f": {'; '.join(reasons)}" if reasons else ""
    scored = [one for one in head.sources if SCORED & {*score_evidence(one.stem)} and one.form != "ranked"]
    truths = [one for one in head.labels if WEIGHTS[label_evidence(one)].worth > 0]
    if not scored and not is_offered:
        return (
            f"{head.name} has no score columns: found {listed(names)}, expected names such as prob_cat or "
            "logit_cat, the names of the classes, or one list column; name them with --scores, and the "
            f"classes with --classes{why}"
        )
    if labelled and not truths:
        predicted = f"{facts.predictions[0]} is a prediction; " if facts.predictions else ""
        return (
            f"{head.name} has no label column: found {listed(names)}; {predicted}name the column of the "
            f"truth with --label-column, or join labels with --labels FILE --key COLUMN{why}"
        )
    if labelled and not verdict.readings:
        label = options.label_column or truths[0]
        values = listed(sorted(head.values.get(label, ()))[:4])
        return f"{head.name}: {label} holds no labels for {listed(scored[0].columns[:3])}: {values}{why}"
    why = why or ": nothing says which columns are label and scores"
    return f"{head.name} cannot be read as predictions{why}"


def _what_is_open(verdict: Verdict) -> str:
    """Return the question that tells the likeliest readings apart, or ends the doubt."""
    first, *others = [one.candidate for one in verdict.readings]
    ours, theirs = first.options(), (others or [first])[0].options()
    differ = [one for one in QUESTIONS if ours.get(one) != theirs.get(one)]
    name = [*(verdict.asked[0].option.split() if verdict.asks == "doubt" else ()), *differ, "scores"][0]
    return QUESTIONS[OF_ARRAYS.get(name, name) if first.head.of_arrays else name]


def _is_score(source: ScoreColumns) -> bool:
    """Tell whether numbers are named as scores, and are not 0 and 1 alone or classes, as outcomes are."""
    return bool(SCORED & {*score_evidence(source.stem)}) and bool((source.values % 1 != 0).any())


def _shares(head: Head) -> str:
    """Return what to do about labels that are shares of classes; "" if there are no such."""
    for name, values in head.lists.items():
        shares = values.dtype.kind == "f" and len(values) and values.min() >= 0
        called = named("label", name) or named("truth", name)
        if called and shares and np.allclose(values.sum(axis=1), 1, atol=SHARE):
            return f"{name} holds shares of the classes in each row, no labels: {SHARES}"
    return ""


def _no_numbers(head: Head) -> list[str]:
    """Return which columns are named as scores or labels and cannot be."""
    reasons = [
        f"numbers stand in lists within {one}: write them as a column of their own" for one in head.within
    ]
    words = [one for one in head.values if head.columns[one].dtype.kind == "O" and head.values[one]]
    scored = [one for one in words if says("score", one) and not says("prediction", one)]
    reasons += [f"{one} holds words, no numbers: {listed(sorted(head.values[one])[:4])}" for one in scored]
    for name, values in head.fractions.items():
        if label_evidence(name) in ("grade", "truth word", "label word"):
            reasons.append(f"{name} holds fractions, such as {values[values % 1 != 0][0]:g}, and no classes")
    reasons += [
        f"{name} holds {what}, no numbers" for name, what in head.others.items() if says("score", name)
    ]
    lists = [name for name, one in head.lists.items() if one.dtype.kind == "O" and says("score", name)]
    return [*reasons, *(f"the lists in column {name} hold text" for name in lists)]
