"""Choose the one reading of some rows; if there are several or none, ask, with the likeliest readings."""

from __future__ import annotations

import json
import re
import shlex
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
from calcli.io.reading.head import FEW, Head, ScoreColumns
from calcli.io.reading.names import label_evidence, score_evidence
from calcli.io.reading.readings import SCORE_NAMES, enumerated, unlabelled
from calcli.io.reading.weights import QUESTIONS, WEIGHTS
from calcli.io.tables.labels import SHARE, SHARES
from calcli.io.words import differ_in_numbers, is_called, may_be_label, plain_text, says

MOST_OFFERS = 3
MOST_TRIED = 6  # readings to look for options for
NEVER_OFFERED = {"broken beside", "ranks beside", "rows of a case", "margins", "two scales"}
SCORED = {"probability word", "score word"}
READERS = {  # of pandas, by the ending of a file
    **dict.fromkeys(("csv", "tsv"), 'read_csv({}, sep=None, engine="python")'),
    **dict.fromkeys(("parquet", "pq"), "read_parquet({})"),
    "jsonl": "read_json({}, lines=True)",
}
OF_ARRAYS = {"label_column": "labels"}  # names of options for arrays


class Choice(NamedTuple):
    """The reading, notes on it for the user, and the next likeliest readings with a reason against each."""

    chosen: Candidate
    notes: tuple[str, ...]
    struck: tuple[tuple[str, str], ...]


class NoReading(Question):
    """Data that cannot be read as predictions.

    Attributes
    ----------
    without
        Whether nothing in the data looks like probabilities.
    sure
        The number of offers to list before outcomes; None if the data cannot be outcomes.
    """

    without = False
    sure: int | None = None


class NoOutcomes(UsageError):
    """No column holds grades, or predictions and a truth."""


def choose(
    head: Head,
    sources: Sequence[ScoreColumns],
    options: ReadOptions,
    *,
    labelled: bool,
    classes: Sequence[str] = (),
) -> Choice:
    """Return the one reading of some rows.

    Parameters
    ----------
    head
        The rows.
    sources
        The columns that may be scores.
    options
        The options of the user.
    labelled
        Whether to look for labels.
    classes
        Names of the classes, if a calibrator knows them.

    Raises
    ------
    InputError
        If there are several readings, or none.
    """
    if not head.n and (head.columns or head.lists):
        raise InputError(f"{head.name} has no rows; expected at least one")
    sources, names = with_classes(head, sources, options), sorted(map(plain_text, classes))
    if not labelled and classes:
        sources = [source for source in sources if source.many and sorted(source.plain) == names] or sources
    if options.classes and any(source.many and source.given for source in sources):
        sources = [source for source in sources if source.many]
    single = [source for source in sources if not source.many and source.columns[0] in head.columns]
    facts = Facts(head, single)
    if labelled:
        candidates = enumerated(facts, sources, options)
    else:
        candidates = unlabelled(facts, sources, options, classes)
    verdict = decided(candidates, options, head)
    if verdict.asks:
        raise _question(facts, candidates, verdict, options, labelled=labelled)
    return Choice(verdict.readings[0].candidate, tuple(verdict.notes), tuple(_runners_up(verdict)))


def _runners_up(verdict: Verdict) -> Iterator[tuple[str, str]]:
    """Yield the next likeliest readings, each with the strongest reason against it."""
    best = verdict.readings[0].candidate
    offered = {(best.source.columns, best.label)}
    for reading in verdict.readings[1:]:
        c = reading.candidate
        if (c.source.columns, c.label) in offered or len(offered) > MOST_OFFERS:
            continue
        offered.add((c.source.columns, c.label))
        against = min(reading.parts, key=reading.parts.__getitem__)
        settled = {*WEIGHTS[against].option.split()}
        doubts = [doubt for doubt in reading.doubts if doubt.asks]
        doubts.sort(key=lambda doubt: not settled & {*doubt.option.split()})
        meaning = WEIGHTS[against].meaning if reading.parts[against] < 0 else "less speaks for it"
        yield described(c), doubts[0].said if doubts else meaning


def _question(
    facts: Facts, candidates: Sequence[Candidate], verdict: Verdict, options: ReadOptions, *, labelled: bool
) -> InputError:
    """Return the question which reading is meant, with offers of the likeliest."""
    head = facts.head
    if mend := _shares(head) or _folds(head):
        return InputError(f"{head.name}: {mend}")
    offered = list(_offered(candidates, verdict, options, head))
    heading = _heading(facts, verdict, bool(offered), options, labelled=labelled)

    def sentence_with(offers: Sequence[Offer], command_for: Commands) -> str:
        offers = offers[:MOST_OFFERS]
        choices = [(offer, next((c for choice, c in offered if choice == offer), None)) for offer in offers]
        if not choices:
            return heading
        opening = "Likely readings" if len(choices) > 1 else "If this is meant"
        lines = [f"{heading}{'' if heading[-1] == '?' else '.'} {opening}:"]
        for n, (offer, c) in enumerate(choices, 1):
            lines += [f"  {n}. {_with_fit(c) if c else 'outcomes, no scores'}", f"     {command_for(offer)}"]
        systems = {c.source.columns[0] for _, c in choices if c and not c.source.many}
        comparable = verdict.asks == "several" and len(systems) == len(choices) > 1
        if comparable and head.name != STDIN and not head.of_arrays:
            command = command_for({"system": tuple(f"{system}={system}" for system in sorted(systems))})
            lines += ["  or compare them as systems:", f"     {command.replace('evaluate', 'compare', 1)}"]
        return "\n".join(lines)

    question = NoReading([offer for offer, _ in offered], sentence_with)
    stated = options.scores or options.confidence or options.positive or options.kind != "auto"
    has_confidence = any(is_called("confidence", name) for name in head.columns)
    scored = stated or has_confidence or any(map(_is_score, head.sources))
    question.without = verdict.asks == "none" and not scored
    graded = bool(verdict.readings) and verdict.readings[0].candidate.what == "right"
    if verdict.asks == "none" or graded:
        question.sure = len(offered) if verdict.asks == "several" else 1
    return question


def _offered(
    candidates: Sequence[Candidate], verdict: Verdict, options: ReadOptions, head: Head
) -> Iterator[tuple[dict[str, Any], Candidate]]:
    """Yield the fewest options that choose each of the likeliest readings and leave no doubt about it."""
    renamed = OF_ARRAYS if head.of_arrays else {}
    tried: list[Candidate] = []
    for reading in verdict.readings:
        c, open_doubts = reading.candidate, [doubt for doubt in reading.doubts if doubt.asks]
        if len(tried) >= MOST_TRIED or _not_worth_an_offer(reading, tried, verdict):
            continue
        tried.append(c)
        if offers := [offer for doubt in open_doubts for offer in doubt.offers]:
            yield from ((offer, c) for offer in offers)
            if len(tried) == 1:
                return
            continue
        all_options = c.options()
        for names in [*([name] for name in all_options), list(all_options)]:
            offer = {name: all_options[name] for name in names}
            new_verdict = decided(candidates, replace(options, **offer), head)
            if not new_verdict.asks and same(new_verdict.readings[0].candidate, c):
                yield {renamed.get(name, name): value for name, value in offer.items()}, c
                break


def _not_worth_an_offer(reading: Weighed, tried: Sequence[Candidate], verdict: Verdict) -> bool:
    """Tell whether facts or names speak against a reading, or an earlier offer covers it."""
    c, sure = reading.candidate, not verdict.asked and tried and "positive by custom" in tried[0].parts
    opposite = any(
        (c.what, c.label, c.source.columns) == (old.what, old.label, old.source.columns) for old in tried
    )
    unfit = reading.of(SCORE_NAMES) < -4 or reading.parts.keys() & NEVER_OFFERED
    return bool(
        unfit or (tried and c.what == "hard") or (opposite and sure) or any(same(c, old) for old in tried)
    )


def _with_fit(c: Candidate) -> str:
    """Describe a candidate in words, and how well its scores fit its label."""
    true_probs = c.q[np.isfinite(c.q)] if c.label else np.zeros(0)
    if not len(true_probs) or c.what == "hard":
        return described(c) + (f"   {true_probs.mean():.0%} equal" if len(true_probs) else "")
    fit = f"log-loss {-np.log(np.clip(true_probs, 1e-15, 1)).mean():.2f}"
    if c.p.shape[1] == 2 and {0, 1} <= {*c.y.tolist()}:
        positives, negatives = c.s[c.y == 1], np.sort(c.s[c.y == 0])
        below = np.searchsorted(negatives, positives, "left") + np.searchsorted(negatives, positives, "right")
        fit = f"AUROC {below.mean() / 2 / len(negatives):.2f}, {fit}"
    return f"{described(c)}   {fit.replace(' 0.', ' .')}"


def _heading(
    facts: Facts, verdict: Verdict, is_offered: bool, options: ReadOptions, *, labelled: bool
) -> str:
    """Return the first line of the question: what is missing or open, and why."""
    head, names = facts.head, [*facts.head.columns, *facts.head.lists]
    if names and all(re.fullmatch(r"[-+.\deE]+", name) for name in names):
        expected = "expected a header line with the names of the columns"
        return f"{head.name}: the first line, {listed(names)}, looks like numbers; {expected}"
    doubts = [doubt.said for doubt in verdict.asked]
    if facts.by_rank and labelled:
        ranks = ", ".join(sorted(facts.rank_names)[:2])
        doubts = [f"{ranks} may name the class of each score, but not every row has each class once"]
    if verdict.asks != "none" and is_offered:
        return f"{head.name}: {_what_is_open(verdict)} {''.join(doubts[:1])}".rstrip()
    broken = [fault for source in head.sources if (fault := facts.broken_beside(source))]
    reasons = [*broken[:1], *_unfit_columns(head), *doubts][:2]
    why = f": {'; '.join(reasons)}" if reasons else ""
    unranked = [source for source in head.sources if source.form != "ranked"]
    scored = [source for source in unranked if SCORED & {*score_evidence(source.stem)}]
    truths = [name for name in head.labels if WEIGHTS[label_evidence(name)].worth > 0]
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
    """Return the question that resolves the doubt, or tells the two likeliest readings apart."""
    best, *rivals = [reading.candidate for reading in verdict.readings]
    options, rival_options = best.options(), (rivals or [best])[0].options()
    differing = [option for option in QUESTIONS if options.get(option) != rival_options.get(option)]
    name = [*(verdict.asked[0].option.split() if verdict.asks == "doubt" else ()), *differing, "scores"][0]
    return QUESTIONS[OF_ARRAYS.get(name, name) if best.head.of_arrays else name]


def _is_score(source: ScoreColumns) -> bool:
    """Tell whether columns have a name for scores, and some values that are not whole numbers."""
    return bool(SCORED & {*score_evidence(source.stem)}) and bool((source.values % 1 != 0).any())


def _shares(head: Head) -> str:
    """Return what to do about labels that are shares of classes; "" if there are none."""
    for name, values in head.lists.items():
        shares = values.dtype.kind == "f" and len(values) and values.min() >= 0
        if may_be_label(name) and shares and np.allclose(values.sum(axis=1), 1, atol=SHARE):
            return f"{name} holds shares of the classes in each row, no labels: {SHARES}"
    return ""


def _folds(head: Head) -> str:
    """Return how to join scores that have a column for each fold; "" if there are none."""
    for source in head.sources if head.n >= FEW else ():
        values = np.nan_to_num(source.values)
        is_filled = values != 0
        numbered = source.form == "columns" and source.many and differ_in_numbers(source.classes)
        is_one_hot = bool((values % 1 == 0).all())
        if not numbered or is_one_hot or (is_filled.sum(axis=1) != 1).any():
            continue
        stem, _, ending = head.name.rpartition(".")
        file, target, columns = map(json.dumps, (head.name, f"{stem}_joined.csv", source.columns))
        code = (
            f"import pandas as pd; d = pd.{READERS.get(ending, '').format(file)}; columns = {columns}; "
            f'd["prob"] = d[columns].sum(axis=1); d.drop(columns=columns).to_csv({target}, index=False)'
        )
        command = f": python -c {shlex.quote(code)}" if ending in READERS else ""
        return (
            f"each row has a score in one of {listed(source.columns)} and zeros in the others; if these are "
            f"folds, add them up to one column{command}"
        )
    return ""


def _unfit_columns(head: Head) -> list[str]:
    """Return why columns with names for scores or labels cannot be either."""
    reasons = [
        f"numbers stand in lists within {path}: write them as a column of their own" for path in head.within
    ]
    words = [name for name in head.values if head.columns[name].dtype.kind == "O" and head.values[name]]
    scored = [name for name in words if says("score", name) and not says("prediction", name)]
    reasons += [f"{name} holds words, no numbers: {listed(sorted(head.values[name])[:4])}" for name in scored]
    for name, values in head.fractions.items():
        if label_evidence(name) in ("grade", "truth word", "label word"):
            reasons.append(f"{name} holds fractions, such as {values[values % 1 != 0][0]:g}, and no classes")
    reasons += [
        f"{name} holds {content}, no numbers" for name, content in head.others.items() if says("score", name)
    ]
    lists = [name for name, values in head.lists.items() if values.dtype.kind == "O" and says("score", name)]
    return [*reasons, *(f"the lists in column {name} hold text" for name in lists)]
