"""The one reading of some rows that nothing speaks against; where there are several or none, a sentence."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

import numpy as np

from calcli.core.data.arrays import Array
from calcli.core.language.declaring import as_option
from calcli.core.language.errors import CalcliError, InputError, UsageError
from calcli.io.messages import MOST_COMMANDS, STDIN, Commands, Offer, Question, listed
from calcli.io.options import ReadOptions
from calcli.io.reading.candidates import SURELY, Candidate, candidates, ranks, unlabelled
from calcli.io.reading.classes import in_order
from calcli.io.reading.head import FEW, Head, ScoreColumns
from calcli.io.reading.rules import DOUBT, EVERYWHERE, FAULT, MUCH, REMARK, STRIKE, Open
from calcli.io.tables.labels import SHARE, SHARES
from calcli.io.words import (
    CUSTOM,
    PREFIXED,
    but_for_capitals,
    is_called,
    named,
    plain_text,
    says,
)

MOST_REASONS = 3
MOST_READINGS = 20  # that are compared
MOST_CASES = 4  # columns that may say which rows belong together


@dataclass(frozen=True)
class Choice:
    """What was chosen.

    Attributes
    ----------
    chosen
        The reading.
    notes
        What was found against it, or beside it, that the user has answered.
    struck
        Other readings and what speaks against each.
    """

    chosen: Candidate
    notes: tuple[str, ...]
    struck: tuple[tuple[str, str], ...]


class NoReading(Question):
    """Data that cannot be read as predictions.

    Attributes
    ----------
    without
        Whether nothing in them looks like probabilities.
    """

    without = False


class NoOutcomes(UsageError):
    """Nothing says what is right, graded or predicted."""


@dataclass(frozen=True, eq=False)
class _Judged:
    """A candidate, and what speaks against it: a proof, a doubt, or a fault in some rows; or nothing."""

    candidate: Candidate
    reason: str = ""
    doubtful: bool = False
    fault: bool = False
    notes: tuple[str, ...] = ()


def choose(
    head: Head,
    sources: Sequence[ScoreColumns],
    options: ReadOptions,
    *,
    labelled: bool = True,
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
    if not labelled and known:
        sources = _of_known(sources, known)
    every = list(_enumerated(head, with_classes(head, sources, options), options, labelled=labelled))
    judged = [_judge(one, options) for one in every if _asked(one, options)]
    groups = _groups([one.candidate for one in judged if not one.reason])
    groups = groups or _faulty(judged)
    if not groups:
        raise _none(head, every, judged, options)
    doubtful = (one.candidate for one in judged if one.doubtful)
    others = list(islice((one for one in doubtful if _contests(one, groups[0])), MOST_READINGS))
    if len(groups) > 1 or others:
        raise _several(head, every, [*groups, *([one] for one in others)], options)
    names = sorted(map(plain_text, known))
    chosen = max(
        groups[0], key=lambda one: (sorted(map(plain_text, one.source.classes)) == names, *_clearness(one))
    )
    (notes,) = (one.notes for one in judged if one.candidate is chosen)
    remarks = [f"{_described(chosen)}: {said}" for said in notes]
    return Choice(chosen, tuple(remarks), tuple(_struck(judged, chosen)))


def _struck(judged: Sequence[_Judged], chosen: Candidate) -> list[tuple[str, str]]:
    """Return other readings that somebody may ask of, each once, by what is called scores and labels."""
    reasons: dict[tuple[tuple[str, ...], str], tuple[str, str]] = {}
    for one in sorted(judged, key=lambda one: one.candidate.side == 0):
        c = one.candidate
        parts = c.label == chosen.label and {*c.source.columns} <= {*chosen.source.columns}
        if one.reason and not parts and c.source.named and (c.named or c.label == chosen.label):
            reasons.setdefault((c.source.columns, c.label), (_described(c), one.reason))
    return list(reasons.values())


def refuse_elsewhere(choice: Choice, head: Head, options: ReadOptions) -> None:
    """Refuse what fits the rows that were looked at, and not others.

    Parameters
    ----------
    choice
        One score in each row.
    head
        All rows of its columns, and of those that may say which rows belong together.
    options
        What the user said.

    Raises
    ------
    InputError
        If that is so.
    """
    few = choice.chosen
    if few.source.columns[0] not in head.columns:
        return
    source = head.single(few.source.columns[0])
    text = head.text.get(few.label)
    if few.what == "answer" and text is not None and few.said in head.text:
        y = text == head.text[few.said]
    else:
        truth = plain_text(few.positive) if few.what == "class" else "1"
        y = np.zeros(head.n, np.bool_) if text is None else text == truth
    c = replace(few, head=head, source=source, y=y.astype(np.intp))
    for rule in EVERYWHERE:
        if (c.label or not rule.labelled) and rule.option not in _given(options) and (said := rule.check(c)):
            raise InputError(
                f"{head.name}: {_described(few)} fits {few.head.n:,} of the rows, but not all: {said}"
            )


def columns_of(choice: Choice) -> set[str]:
    """Return the columns that may speak against one score in rows that were not looked at."""
    c = choice.chosen
    cases = [
        one for one, values in c.head.values.items() if len(values) >= FEW and 2 * len(values) > c.head.n
    ]
    systems = [one for one in c.head.labels if says("system", one)]
    return {*c.source.columns, *(one for one in (c.label, c.said) if one), *cases[:MOST_CASES], *systems}


def _of_known(sources: Sequence[ScoreColumns], known: Sequence[str]) -> Sequence[ScoreColumns]:
    """Return the scores of the classes that a calibrator knows, if there are any."""
    names = sorted(map(plain_text, known))
    return [one for one in sources if one.many and sorted(map(plain_text, one.classes)) == names] or sources


def _clearness(c: Candidate) -> tuple[bool | int, ...]:
    """Return what tells which of several names of the same reading is best."""
    source = c.source
    return (
        source.many,
        c.what == "class",
        source.named,
        c.how == "names",
        source.form != "ranked",
        -sum(map(len, source.classes)),
    )


def _enumerated(
    head: Head, sources: Sequence[ScoreColumns], options: ReadOptions, *, labelled: bool
) -> Iterator[Candidate]:
    if not labelled:
        for one in unlabelled(head, sources, options):
            kept = np.asarray(~np.isnan(one.source.values).any(axis=1))
            if options.drop_missing and kept.any() and not kept.all():
                one = replace(one, head=head.only(kept), source=one.source.only(kept), y=one.y[kept])
            yield one
        return
    for one in candidates(head, sources, options):
        rows = _rows_of(one, options)
        if rows.all() or not rows.any():
            yield one
        else:
            part = head.only(rows)
            yield replace(one, head=part, source=one.source.only(rows), y=one.y[rows])


def _rows_of(c: Candidate, options: ReadOptions) -> Array:
    """Return (n,) which rows are to be read: no labels to be ignored, complete if asked."""
    text = c.head.text[c.label]
    kept = ~np.isin(text.astype(str), [plain_text(one) for one in options.ignore_label])
    if options.drop_missing:
        kept &= (text != "") & ~np.isnan(c.source.values).any(axis=1)
        if c.said:
            kept &= c.head.text[c.said] != ""
    return np.asarray(kept)


def _asked(c: Candidate, options: ReadOptions) -> bool:
    """Tell whether a candidate is what the options say."""
    of_answers = c.what in ("answer", "right")
    if of_answers and any(
        one is not None for one in (options.scores, options.classes, options.positive, options.against_rest)
    ):
        return False
    if options.confidence is not None and not (of_answers and c.source.columns == (options.confidence,)):
        return False
    if options.correct is not None and c.label:
        parts = tuple(one.strip() for one in options.correct.split(","))
        if not of_answers or parts != ((c.said, c.label) if c.said else (c.label,)):
            return False
    if options.label_column is not None and c.label and c.label != options.label_column:
        return False
    return c.what != "class" or not c.label or _is_positive(c, options)


def _is_positive(c: Candidate, options: ReadOptions) -> bool:
    """Tell whether the one score is of the class that the options say."""
    second = options.positive or (options.classes[-1] if options.classes else None) or options.against_rest
    if second is None:
        return True
    wanted = plain_text(second)
    if wanted in c.own:
        return c.positive == wanted
    if options.classes and second in options.classes and len(options.classes) == 2:
        return CUSTOM.get(c.positive) == options.classes.index(second)
    return CUSTOM.get(c.positive) == CUSTOM.get(wanted, 1)


def _given(options: ReadOptions) -> set[str]:
    """Return the questions that the user has answered."""
    said = {
        "scores": options.scores or options.confidence,
        "label_column": options.label_column or options.correct,
        "positive": options.positive or options.classes or options.against_rest or options.confidence,
        "kind": options.kind != "auto",
        "classes": options.classes,
        "confidence": options.confidence,
        "renormalize": options.renormalize,
    }
    return {name for name, value in said.items() if value}


def _judge(c: Candidate, options: ReadOptions) -> _Judged:
    given, fault = _given(options), ""
    for rules in (FAULT, STRIKE, DOUBT):
        for rule in rules:
            answered = given & set(rule.option.split())
            if not answered and (c.label or not rule.labelled) and (reason := rule.check(c)):
                if rules is FAULT:
                    fault = fault or reason
                else:
                    return _Judged(c, reason, rules is DOUBT and not fault)
    remarks = (rule.check(c) for rule in REMARK if c.label or not rule.labelled)
    return _Judged(c, fault, fault=bool(fault), notes=tuple(remark for remark in remarks if remark))


def _faulty(judged: Sequence[_Judged]) -> list[list[Candidate]]:
    """Return the one reading of which rows are at fault, as reading them all will say; none if several."""
    faulty = [one.candidate for one in judged if one.fault]
    best = max(map(_standing, faulty), default=None)
    faulty = [one for one in faulty if _standing(one) == best]
    parts = {(one.source.columns, one.label, one.what) for one in faulty}
    return [faulty] if len(parts) == 1 else []


def _standing(c: Candidate) -> tuple[bool, ...]:
    return c.source.many, c.source.named, c.named


def _same(one: Candidate, other: Candidate) -> bool:
    """Tell whether two readings give every row the same probability of what was true."""
    return one.q.shape == other.q.shape and np.allclose(one.q, other.q, rtol=1e-4, atol=1e-7)


def _groups(candidates: Sequence[Candidate]) -> list[list[Candidate]]:
    """Return readings, those together that give the same numbers.

    A truth that is unmistakably named is above others of the same scores that are not named at all.
    """
    groups: list[list[Candidate]] = []
    named_so = {
        (one.source.columns, one.label): one
        for one in candidates
        if one.how == "names" and one.what == "classes"
    }
    for one in candidates:
        by_name = named_so.get((one.source.columns, one.label))
        if by_name is not None and one.how != "names" and one.likelihood - by_name.likelihood < MUCH:
            continue  # labels that are names of classes are no places
        same = next((group for group in groups if _same(group[0], one)), None)
        if same is None and len(groups) > MOST_READINGS:
            continue
        if same is None:
            groups.append([one])
        else:
            same.append(one)
    if groups and groups[0][0].head.n < FEW:  # too few to tell one from another
        clear = [group for group in groups if any(one.named for one in group)]
        groups = clear or groups
    sure = [group for group in groups if any(named("truth", one.label) for one in group)]
    others = [one for group in groups for one in group if group not in sure]
    if len(sure) == 1 and len({one.source.columns for one in [*others, *sure[0]] if one.source.named}) == 1:
        return groups if any(named("label", one.label) for one in others) else sure
    return groups


def _contests(c: Candidate, chosen: Sequence[Candidate]) -> bool:
    """Tell whether a doubtful candidate may be what is meant, where others are chosen."""
    scores, labels = {one.source.columns for one in chosen}, {one.label for one in chosen}
    if _same(c, chosen[0]) or (c.source.columns in scores and c.label in labels):
        return False
    if c.source.columns not in scores:  # other scores, for the same truth or one named as surely
        named_so = c.source.named or not any(one.source.named for one in chosen)
        return named_so and (c.named or c.label in labels) and (c.source.many or c.source.named)
    related = c.shown if c.source.many else abs(ranks(c.s, c.y == 1)) > SURELY
    return related and not any(one.named for one in chosen)


def _described(c: Candidate) -> str:
    """Return what a candidate reads, in words."""
    scores = ", ".join(c.source.columns[:3]) + (", ..." if len(c.source.columns) > 3 else "")
    what = {
        "classes": f"{scores} as {c.kind} of the classes",
        "class": f"{scores} as {c.kind} of {c.positive or 'one class'}",
        "answer": f"{scores} as the confidence in {c.said}",
        "right": f"{scores} as the confidence in being right",
    }[c.what]
    return f"{what}, labels in {c.label}" if c.label else what


def _several(
    head: Head, every: Sequence[Candidate], groups: Sequence[Sequence[Candidate]], options: ReadOptions
) -> Question:
    """Return the question which of some readings is meant."""
    readings = [max(group, key=_clearness) for group in groups[: MOST_COMMANDS + 1]]
    each = [one.options() for one in readings]
    names = list(dict.fromkeys(name for one in each for name in one))
    differ = [name for name in names if len({one.get(name) for one in each}) > 1]
    offers: list[dict[str, str]] = []
    for one, given in zip(readings, each, strict=True):
        for keys in ([name for name in differ if name in given], list(given)):
            chosen = {name: given[name] for name in keys}
            if _chooses(every, one, replace(options, **chosen)):  # type: ignore[arg-type]
                offers += [chosen] if chosen not in offers else []
                break
    return Question(offers, partial(_several_readings, head, len(readings)))


def _several_readings(head: Head, readings: int, offers: Sequence[Offer], shown: Commands) -> str:
    """Return a sentence with the command for each of some readings."""
    if not offers:
        return (
            f"{head.name} can be read in {readings} ways that give different numbers, and no option "
            "tells them apart: rename the columns"
        )
    first = offers[:MOST_COMMANDS]
    ways = "; ".join([*map(shown, first)] + ["and so on"] * (len(offers) > len(first)))
    what, options = ("array", {*offers[0]}) if head.of_arrays else ("column", {*offers[0]})
    alike = len(options) == 1 and all(one.keys() == options for one in offers)
    values = [str(one[name]) for one in offers for name in one] if alike else []
    if alike and options <= {"label_column", "labels"}:
        (option,) = map(as_option, options)
        return (
            f"{head.name} has {len(offers)} {what}s that may be the labels: {listed(values)}; choose one "
            f"with {option}: {ways}"
        )
    if alike and options == {"scores"}:
        single = not any("," in one for one in values)
        what = f"{what}s" if single else f"groups of {what}s"
        if single and len(offers) > 1 and head.name != STDIN and not head.of_arrays:
            systems = shown({"system": tuple(f"{one}={one}" for one in values[:MOST_COMMANDS])})
            ways += f"; or compare them as systems: {systems.replace('evaluate', 'compare', 1)}"
        return (
            f"{head.name} has {len(offers)} {what} that may be the scores, {listed(values)}; choose one "
            f"with --scores: {ways}"
        )
    return f"{head.name} can be read in {len(offers)} ways that give different numbers; choose one: {ways}"


def _chooses(every: Sequence[Candidate], wanted: Candidate, options: ReadOptions) -> bool:
    """Tell whether with some options a reading is the only one."""
    possible = [one for one in every if _asked(one, options) and _has_scores(one, options)]
    judged = [_judge(one, options) for one in possible]
    groups = _groups([one.candidate for one in judged if not one.reason])
    return (
        len(groups) == 1
        and _same(groups[0][0], wanted)
        and not any(one.doubtful and _contests(one.candidate, groups[0]) for one in judged)
    )


def _has_scores(c: Candidate, options: ReadOptions) -> bool:
    kinds = options.kind in ("auto", c.kind)
    if options.scores is None:
        return kinds
    return kinds and ",".join(c.source.columns) == options.scores


def _none(
    head: Head, every: Sequence[Candidate], judged: Sequence[_Judged], options: ReadOptions
) -> InputError:
    """Return the question what is meant, with what each reading fails."""
    names = [*head.columns, *head.lists]
    seen = listed(names)
    if names and all(re.fullmatch(r"[-+.\deE]+", one) for one in names):
        return InputError(
            f"{head.name}: the first line, {seen}, looks like numbers; expected a header line with the "
            "names of the columns"
        )
    order = sorted(
        judged,
        key=lambda one: (
            one.doubtful,
            *_standing(one.candidate),
            one.candidate.likelihood if one.candidate.label else 0.0,
        ),
        reverse=True,
    )  # the likeliest first
    reasons = dict.fromkeys(f"{_described(one.candidate)}: {one.reason}" for one in order)
    why = "; ".join([*_no_numbers(head), *reasons][:MOST_REASONS])
    if shares := _shares(head):
        return InputError(f"{head.name}: {shares}")
    scored = next((one for one in head.sources if one.named), None)
    labels = [one for one in head.labels if named("label", one) or named("truth", one)]
    if scored is None:
        sentence = (
            f"{head.name} has no score columns: found {seen}, expected names such as prob_cat or "
            "logit_cat, the names "
            "of the classes, or one list column; name them with --scores, and the classes with --classes"
        )
    elif not judged and not labels:
        sentence = (
            f"{head.name} has no label column: found {seen}, expected a name such as label, target or "
            "y_true; name it "
            "with --label-column, or give an array of labels (.npy) with --labels"
        )
    elif not judged:
        values = listed(sorted(head.values[labels[0]])[:4])
        sentence = f"{head.name}: {labels[0]} holds no labels for {listed(scored.columns[:3])}: {values}"
    else:
        sentence = f"{head.name} cannot be read as predictions"
    sentence = f"{sentence}{f': {why}' if why else ''}"

    def sentence_with(offers: Sequence[Offer], shown: Commands) -> str:
        commands = " or ".join(map(shown, offers[:MOST_REASONS]))
        return f"{sentence}; if that is meant, say {commands}" if commands else sentence

    question = NoReading(_offers(every, order, options), sentence_with)
    says_scores = options.scores or options.confidence or options.positive or options.kind != "auto"
    says_scores = says_scores or any(is_called("confidence", one) for one in head.columns)
    sources = [one.candidate.source for one in judged] + (head.sources if head.predictions else [])
    question.without = not (says_scores or head.distributions or any(map(_is_score, sources)))
    return question


def _is_score(source: ScoreColumns) -> bool:
    """Tell whether numbers are named as scores, and are not 0 and 1 alone or classes, as outcomes are."""
    return source.named and (source.many or bool((source.values % 1 != 0).any()))


def _shares(head: Head) -> str:
    """Return what to do about labels that are shares of classes; "" if there are no such."""
    named_so = (one for one in head.lists if named("label", one) or named("truth", one))
    for name in named_so:
        values = head.lists[name]
        shares = values.dtype.kind == "f" and len(values) and values.min() >= 0
        if shares and np.allclose(values.sum(axis=1), 1, atol=SHARE):
            return f"{name} holds shares of the classes in each row, no labels: {SHARES}"
    return ""


def _no_numbers(head: Head) -> list[str]:
    """Return which columns are named as scores and cannot be."""
    reasons = [
        f"numbers stand in lists within {one}: write them as a column of their own" for one in head.within
    ]
    for name, distinct in head.values.items():
        if says("score", name) and name not in head.predictions and distinct:
            if head.columns[name].dtype.kind == "O":
                reasons.append(f"{name} holds words, no numbers: {listed(sorted(distinct)[:4])}")
            elif distinct <= {"0", "1"} and name in head.numeric and head.n >= FEW:
                reasons.append(f"{name} holds 0 and 1 alone, as grades or predictions do")
    for name, values in head.fractions.items():
        if says("right", name) or named("label", name) or named("truth", name):
            reasons.append(f"{name} holds fractions, such as {values[values % 1 != 0][0]:g}, and no classes")
    reasons += [
        f"{name} holds {what}, no numbers" for name, what in head.others.items() if says("score", name)
    ]
    lists = [name for name, one in head.lists.items() if one.dtype.kind == "O" and says("score", name)]
    return [*reasons, *(f"the lists in column {name} hold text" for name in lists)]


def _offers(every: Sequence[Candidate], judged: Sequence[_Judged], options: ReadOptions) -> list[Offer]:
    """Return the options that choose the readings which are doubtful or open; none that proof struck out."""
    offers: list[Offer] = []
    for one in [one for one in judged if one.doubtful or isinstance(one.reason, Open)][:MOST_READINGS]:
        c, given = one.candidate, one.candidate.options()
        if isinstance(one.reason, Open) and one.reason.offers:
            offers += one.reason.offers
            continue
        if _is_disproved(c, options) or (
            c.what == "class" and c.class_in_name not in (None, c.positive)
        ):  # which no option turns over
            continue
        for keys in (["label_column"], ["scores"], ["positive"], ["kind"], ["confidence"], list(given)):
            chosen = {name: given[name] for name in keys if name in given}
            if chosen and _chooses(every, c, replace(options, **chosen)):  # type: ignore[arg-type]
                offers.append(chosen)
                break
    return [one for n, one in enumerate(offers) if one not in offers[:n]]


def _is_disproved(c: Candidate, options: ReadOptions) -> bool:
    """Tell whether something speaks against a candidate that is no open question."""
    rules = (rule for rule in STRIKE if not _given(options) & set(rule.option.split()))
    reasons = (rule.check(c) for rule in rules if c.label or not rule.labelled)
    return any(reason and not isinstance(reason, Open) for reason in reasons)


def by_pattern(head: Head, pattern: str) -> list[ScoreColumns]:
    """Return the columns that the user names as scores; none if there are no such columns."""
    names = [*head.columns, *head.lists]
    numbers = {*head.numeric, *(name for name, one in head.lists.items() if one.dtype.kind != "O")}
    matching = [name for name in names if fnmatch.fnmatchcase(name, pattern)]
    if pattern in names:
        matching = [pattern]
    listing = not matching and "," in pattern
    if listing:
        matching = [one.strip() for one in pattern.split(",")]
    if not matching or not set(matching) <= numbers:
        return []
    ranked = [one for one in head.sources if one.form == "ranked" and set(one.columns) == set(matching)]
    if len(matching) == 1:
        return [*ranked, head.single(matching[0])]
    if listing:
        prefixed = [PREFIXED.fullmatch(one) for one in matching]
        listed_so = [
            match[2] if match and all(prefixed) else one
            for match, one in zip(prefixed, matching, strict=True)
        ]
        stem = prefixed[0][1] if prefixed[0] and all(prefixed) else ""
        return [
            *ranked,
            replace(head.family(matching, listed_so, stem), given=not all(map(str.isdigit, listed_so))),
        ]
    before, after = re.split(r"[*?\[]", pattern)[0], re.split(r"[*?\]]", pattern)[-1]
    classes = {one: one[len(before) : len(one) - len(after)].strip() or one for one in matching}
    return [*ranked, head.family(matching, list(classes.values()), f"{before} {after}".strip())]


def with_classes(head: Head, sources: Sequence[ScoreColumns], options: ReadOptions) -> list[ScoreColumns]:
    """Return scores with the classes that the user names, in this order.

    Raises
    ------
    UsageError
        If no scores can be of these.
    """
    wanted, sources_of_classes, fault = options.classes, [], None
    if wanted is None:
        return list(sources)
    _refuse_other_order(head, sources, wanted)
    called = {
        one.columns for one in sources if one.form == "columns" and but_for_capitals(wanted, one.classes)
    }
    for one in sources:
        if one.form == "ranked" and sorted(map(plain_text, wanted)) == sorted(one.plain):
            order = [one.places[plain_text(name)] for name in wanted]
            sources_of_classes.append(replace(one, values=one.values[:, order], classes=wanted, given=True))
        elif not one.many or one.form == "ranked":
            sources_of_classes.append(one)
        elif one.columns in called and not but_for_capitals(wanted, one.classes):
            continue  # the same columns by other names
        elif one.form == "lists":
            if len(wanted) == one.values.shape[1]:
                sources_of_classes.append(replace(one, classes=wanted, given=True))
        else:
            try:
                order, classes, before = in_order(one.classes, one.columns, options, head.name)
            except CalcliError as error:
                fault = fault or (error if one.named else None)
                continue
            sources_of_classes.append(
                replace(
                    one,
                    columns=tuple(one.columns[k] for k in order),
                    values=one.values[:, order],
                    classes=classes,
                    given=True,
                    before=before,
                )
            )
    if fault is not None and not any(one.many for one in sources_of_classes):
        raise fault
    return sources_of_classes


def _refuse_other_order(head: Head, sources: Sequence[ScoreColumns], wanted: tuple[str, ...]) -> None:
    """Refuse names in another order than metadata have them, of scores that are known by their place."""
    plain = [{*one.plain} for one in sources if one.many and one.form == "columns"]
    by_place = any(one.many and (one.form == "lists" or one.numbered) for one in sources)
    for said in head.ordered.values() if by_place else ():
        if {*said} == {*wanted} and said != wanted and {*map(plain_text, said)} not in plain:
            raise UsageError(
                f"--classes names {listed(wanted)}, but the metadata of {head.name} name the classes "
                f"{listed(said)}, in this order: if the scores are in it, say --classes {','.join(said)} or "
                "nothing; if not, save them in columns that are named after the classes"
            )
