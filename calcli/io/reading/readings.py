"""All ways to read some rows, layout by layout, each with the evidence for it: names, values, kinds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, product

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Doubles
from calcli.core.data.derived import rest_of
from calcli.core.data.predictions import Called
from calcli.io.options import ReadOptions
from calcli.io.reading.candidate import SHOWN, Candidate, What, worth
from calcli.io.reading.facts import HALF, ROUNDING, Facts, deviations, gain, ranks
from calcli.io.reading.head import FEW, ScoreColumns
from calcli.io.reading.matching import Matched, matches
from calcli.io.reading.names import class_evidence, label_evidence, score_evidence
from calcli.io.reading.scales import FEW_CLASSES, Kinds, kinds_of_many, kinds_of_one, may_be_scores
from calcli.io.reading.weights import ORDERS, WEIGHTS
from calcli.io.tables.labels import number_of
from calcli.io.words import (
    CUSTOM,
    GRADES,
    ROLES,
    customary,
    differ_in_numbers,
    event,
    is_called,
    is_identifier,
    natural_key,
    overlap,
    part_of_data,
    plain_text,
    scored_event,
    tokens,
)

Parts = dict[str, float]
Every = list[Candidate]
Pair = tuple[str, str, NDArray[np.intp]]
LOOKED_AT = 60  # readings whose numbers are compared
LEAST = -8.0  # that names and labels may say against a reading whose values are looked at
CLEARLY, MUCH = 3.0, 8.0  # differences of log-likelihoods, or standard errors
NEAR_HALF = 0.1
UNSURPRISING = -3.0  # log-likelihood of labels that follow, which so few rows may have
HARDLY = 0.6  # of the most that a ranking is worth
CALLED_SURE = {"conf", "confidence", "confidences", "certainty"}
NAMED = ("truth word", "label word")
FOLLOWS = {"label follows", "named label follows"}
LABEL_SAID = {
    weight_name for weight_name, weight in WEIGHTS.items() if weight.about == "label" and weight.worth > 0
}
SCORE_NAMES = {weight_name for weight_name, weight in WEIGHTS.items() if weight.about == "scores"}


def enumerated(facts: Facts, sources: Sequence[ScoreColumns], options: ReadOptions) -> Every:
    """Return the likeliest ways to read some rows in which there are labels, with all evidence."""
    singles = [source for source in sources if not source.many and may_be_scores(source, facts.head, options)]
    many = [source for source in sources if source.many]
    of_classes = chain(_of_one_score(facts, singles, options), _of_families(facts, many, options))
    every = sorted(chain(of_classes, _of_answers(facts, singles, options)), key=lambda c: -c.total)
    for c in every[:LOOKED_AT]:
        if c.what != "hard":
            _look_at_numbers(c)
    for c in every[:LOOKED_AT]:
        follows = c.parts.get("named label follows", 0) < UNSURPRISING
        if follows and any(_is_shown(rival, c) for rival in every):
            c.doubt("truth besides")
    return every[:LOOKED_AT]


def unlabelled(
    facts: Facts, sources: Sequence[ScoreColumns], options: ReadOptions, class_names: Sequence[str]
) -> Every:
    """Return all ways to read some rows without labels."""
    head, names = facts.head, sorted(map(plain_text, class_names))
    unknown = np.full(head.n, -1, np.intp)
    every = []
    for source in sources:
        if not source.many and not may_be_scores(source, head, options):
            continue
        evidence = _of_score_names(facts, source, "") | (_of_form(facts, source) if source.many else {})
        if source.many and sorted(source.plain) == names:
            evidence |= worth("classes by name")
        if source.columns[0] in facts.by_rank and not source.many:
            evidence |= worth("ranks beside")
        kinds = kinds_of_many(source, options) if source.many else kinds_of_one(source, head, options)
        for kind, weight in kinds:
            whats: tuple[What, ...] = ("classes",) if source.many else ("class", "right")
            of_kind = evidence | worth(weight)
            every += [Candidate(head, source, kind, role, "", unknown, parts=of_kind) for role in whats]
    return sorted(every, key=lambda candidate: -candidate.total)


def _is_shown(rival: Candidate, candidate: Candidate) -> bool:
    """Tell whether the same scores rank another column that does not follow from them."""
    apart = rival.label != candidate.label and rival.source.columns == candidate.source.columns
    return apart and not rival.parts.keys() & FOLLOWS and rival.ranked >= HARDLY


# what the names say


def _of_score_names(facts: Facts, source: ScoreColumns, label: str) -> Parts:
    """Return what the names of scores say, in the mean of some of them."""
    bare = source.form == "columns" and not source.stem
    names = source.columns[: FEW_CLASSES if source.many else 1] if bare or not source.many else [source.stem]
    beyond = not source.many and 0.5 < source.span[1] <= 1
    evidence: dict[str, float] = {}
    for name in names:
        for weight in score_evidence(name, label, beyond):
            evidence[weight] = evidence.get(weight, 0.0) + WEIGHTS[weight].worth / len(names)
    values = facts.head.values.get(label, frozenset())
    odd = ROLES["derived"] | ROLES["made"] | (ROLES["system"] if label else frozenset())
    classes = source.plain if source.form == "columns" and source.share_of_sums(1) <= 0.5 else ()
    if any({*tokens(name)} & odd and name not in values for name in classes):
        evidence |= worth("other scores")  # p_mean, logit_std
    if facts.broken_beside(source):
        evidence |= worth("broken beside")
    if facts.made_of_another(source, values):
        evidence |= worth("made of another")
    return evidence


def _of_names(facts: Facts, source: ScoreColumns, label: str) -> Parts:
    """Return what the names of a label and of its scores say."""
    role = "prediction label" if label in facts.rank_names else label_evidence(label)
    evidence = _of_score_names(facts, source, label) | worth(role)
    label_event, name = event(label), source.stem if source.many else source.columns[0]
    theirs = [word for word in scored_event(name) if not word.isdigit()]
    values = [word for text in sorted(facts.head.values[label])[:FEW_CLASSES] for word in tokens(text)]
    plain = not label_event and role in NAMED and all(overlap([word], values) for word in theirs)
    if plain or overlap(label_event, theirs):
        evidence |= worth("same event")
        if role == "other label" and "".join(label_event) == "".join(theirs):
            evidence[role] = 0.0  # is_error, error_prob
    elif label_event and theirs and not overlap(theirs, values) and WEIGHTS[role].worth < 2:
        evidence |= worth("other event")
    if facts.truths - {label} and role != "truth word":
        evidence |= worth("truth beside")
    if facts.twins(label):
        evidence |= worth("twin")
        evidence[role] = max(evidence[role], 0.0)
    splits = {part_of_data(source.columns[0]), part_of_data(label)}
    return evidence | (worth("other part") if len(splits) == 2 and "" not in splits else {})


def _doubt_names(candidate: Candidate) -> None:
    """Doubt a label or scores that nothing but their values says, and a kind that nothing names."""
    evidence, high = candidate.parts, candidate.source.span[1]
    if not evidence.keys() & LABEL_SAID:
        candidate.doubt("label by values", asks=candidate.head.n < FEW)
    if sum(evidence.get(weight_name, 0) for weight_name in SCORE_NAMES) < 1 and candidate.what != "answer":
        candidate.doubt("scores by values")
    if "percent" in evidence and high <= 10 and not (candidate.source.values % 1).any():
        scale = 5.0 if high <= 5 else 10.0
        candidate.doubt("ratings", scale=scale, offers=({"scale": scale},))
    elif "percent" in evidence:
        candidate.doubt("percent")
    for weight in evidence.keys() & {"two scales", "logits", "logarithms"}:
        candidate.doubt(weight)


# one score of one of two classes


def _of_one_score(facts: Facts, sources: Sequence[ScoreColumns], options: ReadOptions) -> Iterator[Candidate]:
    """Yield the readings of one column as the scores of a class, or as the confidence in what is right."""
    head = facts.head
    for source in sources:
        kinds = kinds_of_one(source, head, options)
        for label in head.labels:
            values = head.values[label]
            if label == source.columns[0]:
                continue
            if is_grade(label, values) or (label == options.correct and customary(values)):
                yield from _of_right(facts, source, label, kinds)
                continue
            positives = _positives(values, source, options)
            shared = _of_names(facts, source, label) | _of_label(facts, source, label)
            if len(values) > 2 and options.positive is None and options.against_rest is None:
                shared |= worth("unknown labels", 0.5)
            if sum(shared.values()) >= LEAST or options.given:
                for (kind, weight), positive in product(kinds, positives):
                    yield _of_class(facts, source, (label, positive), kind, shared | worth(weight))


def _positives(values: frozenset[str], source: ScoreColumns, options: ReadOptions) -> list[str]:
    """Return which of the labels one score may be of."""
    if len(values) < 3:
        return sorted(values | ({"1"} if values == {"0"} else set()))
    positive = options.against_rest or options.positive
    in_its_name = values & {*tokens(source.stem)} if len(values) <= FEW_CLASSES else ()
    return sorted(in_its_name if positive is None else {plain_text(positive)} & values)


def _of_label(facts: Facts, source: ScoreColumns, label: str) -> Parts:
    """Return what the values say of a label of two values and one score, whichever class it is of."""
    name, evidence = source.columns[0], dict[str, float]()
    is_score, unnamed = name in facts.scores, WEIGHTS[label_evidence(label)].worth <= 0
    two = [name for name in facts.predictions if name in facts.pairs and name != label]
    follows = [column for column, score in facts.follows if score == name]
    differs = is_score and two and max(abs(facts.correlation(column, name)) for column in two) < 0.45
    if is_score and label not in follows:
        evidence["share"] = WEIGHTS["share"].worth * facts.share(label, name)
    seen = {
        "one of several": name in facts.several,
        "part of several": facts.is_part(source, label),
        "ranks beside": name in facts.by_rank,
        "rows of a case": bool(facts.is_long or (is_score and facts.sums_over_cases(name))),
        "prediction beside": bool(unnamed and follows and not facts.twins(label)),
        "prediction follows": bool({*two} & {*follows}),
        "prediction differs": bool(differs and not {*two} & {*follows}),
    }
    return evidence | {weight: WEIGHTS[weight].worth for weight, holds in seen.items() if holds}


def _of_class(
    facts: Facts, source: ScoreColumns, of: tuple[str, str], kind: Called, shared: Parts
) -> Candidate:
    """Return the reading of one column as the scores of a class, the positive one of a label."""
    label, positive = of
    head, name, values, text = facts.head, source.columns[0], facts.head.values[label], facts.head.text[label]
    y = np.where(text == "", -1, text == positive).astype(np.intp)
    number = {value: int(value == positive) for value in {*values, positive}}
    c = Candidate(head, source, kind, "class", label, y, positive=positive, number=number, parts=shared)
    custom = facts.pairs[label][1] if label in facts.pairs else CUSTOM.get(positive) == 1
    high = positive == facts.pairs[label][0][1] if label in facts.pairs else CUSTOM.get(positive, 1) == 1
    class_said, weight = _class_said(facts, source, label)
    above = facts.said_above(name, values)
    if class_said == positive:
        c.add(weight)
    if high and class_said in ("", positive):
        c.add("positive by custom" if custom else "positive by order")
    z = deviations(facts.correlation(label, name) * (1 if high else -1), head.n)
    against = custom and not high and class_said != positive and not above
    c.rank(z - 3 * (against and z > 0))
    if against:
        c.add("against custom")
    if above:
        c.parts["prediction follows"] = WEIGHTS["prediction follows"].worth + (6 if above == positive else -6)
    if head.n >= FEW and np.nanmin(c.s) >= HALF and len(values) == 2:
        c.add("never below half")
        c.doubt("never below half", rows=int((y == 0).sum()))
    if {*tokens(name)} & CALLED_SURE and class_said != positive:
        c.add("confidence of a class")
        if not above:
            c.doubt("confidence of a class", asks=c.ranked < SHOWN)
    _doubt_class(facts, c, class_said, above, z, against=against)
    _doubt_names(c)
    return c


def _class_said(facts: Facts, source: ScoreColumns, label: str) -> tuple[str, str]:
    """Return the class that the name of one score says, and by which weight; "" and "" if none."""
    class_said, weight = class_evidence(source.stem, facts.head.values[label], label)
    ordered, last = facts.head.ordered.get(label, ()), tokens(source.stem)[-1:]
    if not class_said and len(ordered) == 2 and last in (("0",), ("1",)):
        return plain_text(ordered[int(last[0])]), "class in the name"
    several = source.columns[0] in facts.several and weight == "class in the name" and class_said.isdigit()
    return ("", "") if several else (class_said, weight)


def _doubt_class(facts: Facts, c: Candidate, class_said: str, above: str, z: float, *, against: bool) -> None:
    """Doubt the class that one score is taken for."""
    if above and above != c.positive:
        c.doubt("prediction of another", other=above)
    elif class_said and class_said != c.positive:
        c.doubt("name of another", other=class_said)
    elif against:
        c.doubt("against custom")
    if z < -CLEARLY:
        c.doubt("wrong way")
    elif c.ranked_by_values and z < 5:
        c.doubt("no class")
    if "prediction differs" in c.parts:
        prediction = next(name for name in facts.predictions if name in facts.pairs and name != c.label)
        c.doubt("prediction differs", other=prediction, asks=c.ranked < HARDLY)
    if "ranks beside" in c.parts:
        c.doubt("ranks beside", ranks=", ".join(sorted(facts.rank_names)[:2]))
    if "rows of a case" in c.parts:
        c.doubt("rows of a case", rows=facts.is_long or facts.sums_over_cases(c.source.columns[0]))


# confidence in answers, and answers alone


def is_grade(label: str, values: frozenset[str]) -> bool:
    """Tell whether a column says what is right, by its name or its words."""
    called = label_evidence(label) == "grade" and any(value in CUSTOM for value in values)
    return called or (bool(values) and values <= GRADES)


def _of_right(facts: Facts, source: ScoreColumns, label: str, kinds: Kinds) -> Iterator[Candidate]:
    """Yield the readings of one column as the confidence in what is right."""
    head, name = facts.head, source.columns[0]
    y = np.array([CUSTOM.get(value, -1) for value in head.text[label]], np.intp)
    confident = {*tokens(name)} & (ROLES["confidence"] | {"correct", "right", "true"})
    scored = worth("confidence word") if confident else _of_score_names(facts, source, label)
    scored |= worth("grade") | worth("same event")
    for kind, weight in kinds:
        c = Candidate(head, source, kind, "right", label, y, parts=scored | worth(weight))
        z, low = ranks(c.s, y == 1), c.s < HALF
        c.rank(z)
        if facts.of_systems:
            c.add("rows of a case")
        if low.any() and not confident and not _is_expected(c):
            c.add("score of a grade")
            c.doubt("score of a grade")
        if low.sum() >= FEW and ranks(c.s[low], y[low] == 1) < -CLEARLY:
            c.add("out of range")
            c.doubt("out of range")
        elif z < -CLEARLY:
            c.doubt("wrong")
        if any((column, name) in facts.follows for column in facts.predictions):
            c.add("prediction differs", 2.0)
        _doubt_names(c)
        yield c


def _is_expected(c: Candidate) -> bool:
    """Tell whether a confidence is right as often as it says, a; better than its complement below half."""
    s, right = np.clip(c.s, 1e-9, 1 - 1e-9), c.y == 1
    logs = np.log(np.where(right, s, 1 - s))
    entropy = s * np.log(s) + (1 - s) * np.log(1 - s)
    spread = np.sqrt((s * (1 - s) * np.log(s / (1 - s)) ** 2).sum())
    turned = np.log(np.where(right, np.maximum(s, 1 - s), np.minimum(s, 1 - s)))
    return bool(abs((logs - entropy).sum()) < 3 * spread and (logs - turned).sum() > CLEARLY)


def _pairs(facts: Facts, options: ReadOptions) -> Iterator[tuple[str, str, Parts]]:
    """Yield labels and answers that may belong to them, with what their names say."""
    head, spoken = facts.head, ROLES["answer"] | ROLES["prediction"] | {"truth", "target"}
    spoken_names = [name for name in head.text if name not in head.labels and {*tokens(name)} & spoken]
    every = [*head.labels, *spoken_names]
    answers = [name for name in every if is_called("judge", name) or not is_grade(name, head.values[name])]
    index = ROLES["prediction"] | {"index"}
    answers = [name for name in answers if not is_identifier(name) or {*tokens(name)} & index]
    for label in every:
        role, twins = label_evidence(label), facts.twins(label)
        for answer in answers:
            of_people = is_called("human", label) and is_called("judge", answer)
            is_asked_for, twin = of_people or options.correct == f"{answer},{label}", answer in twins
            word = _answer_word(answer, role)
            generic = not event(answer) and word == "prediction word"
            unnamed = word == "no prediction word" or (WEIGHTS[role].worth < 2 and not twin and not generic)
            if answer == label or (not is_asked_for and (unnamed or WEIGHTS[role].worth < -3)):
                continue
            evidence = worth(role, float(not twin or WEIGHTS[role].worth > 0)) | worth(word)
            pair = worth("judge of people") if of_people else worth("twin answer") if twin else {}
            yield label, answer, evidence | pair


def _answer_word(answer: str, role: str) -> str:
    """Return what the name of an answer says, beside a label of some role, by its weight."""
    words, evidence = {*tokens(answer)}, label_evidence(answer)
    if evidence != "truth word" and words & ROLES["prediction"]:
        return "prediction word"
    spoken = (words & ROLES["answer"] and role in NAMED) or (evidence, role) == ("label word", "truth word")
    return "answer word" if evidence != "truth word" and spoken else "no prediction word"


def _of_answers(facts: Facts, sources: Sequence[ScoreColumns], options: ReadOptions) -> Iterator[Candidate]:
    """Yield the readings of a confidence that an answer is right, and of answers alone."""
    head = facts.head
    for label, answer, names in _pairs(facts, options):
        together, texts = head.values[label] | head.values[answer], (head.text[answer], head.text[label])
        boolean = together <= {"0", "1", "true", "false"}
        if not (head.values[label] & head.values[answer] or boolean) or len(together) < 2:
            continue
        missing = (texts[0] == "") | (texts[1] == "")
        if boolean:
            texts = tuple(np.array([str(CUSTOM.get(value, -1)) for value in text]) for text in texts)  # type: ignore[assignment]
        y = np.where(missing, -1, texts[0] == texts[1]).astype(np.intp)
        hits = y[y >= 0]
        twin = bool(hits.any()) and "twin answer" in names
        if len(np.unique(hits)) < 2 and not twin and not options.correct:
            continue  # a copy, or of other classes
        for source in sources:
            yield from _of_confidence(facts, source, (label, answer, y), names, options)
        alone = ScoreColumns((answer,), np.zeros((head.n, 1)), answer)  # in the place of scores
        c = Candidate(head, alone, "probs", "hard", label, y, said=answer, parts=dict(names))
        c.add("hard")
        c.rank(_agreement(texts, hits))
        if any(_is_named(source, label, facts) for source in sources):
            c.add("score left out")
        yield c


def _is_named(source: ScoreColumns, label: str, facts: Facts) -> bool:
    """Tell whether fractions are named as scores."""
    called = {*tokens(source.stem)} & {"decision", "margin"}
    named = WEIGHTS[score_evidence(source.stem, label)[0]].worth > 2
    return bool(called) or (named and source.columns[0] in facts.head.fractions)


def _agreement(texts: Sequence[Array], hits: NDArray[np.intp]) -> float:
    """Return by how many standard errors two columns are equal more often than by chance."""
    shares = [dict(zip(*np.unique(text.astype(str), return_counts=True), strict=True)) for text in texts]
    equal = sum(count * shares[1].get(value, 0) for value, count in shares[0].items())
    chance = equal / max(1, len(texts[0])) ** 2
    error = np.sqrt(max(chance * (1 - chance), 1e-9) / max(1, len(hits)))
    return float((hits.mean() - chance) / error) if len(hits) else 0.0


def _of_confidence(
    facts: Facts, source: ScoreColumns, pair: Pair, names: Parts, options: ReadOptions
) -> Iterator[Candidate]:
    """Yield the readings of one column as the confidence in an answer."""
    head, name, (label, answer, y) = facts.head, source.columns[0], pair
    numbers = [[word for word in tokens(x) if word.isdigit()] for x in (name, answer)]
    larger = name in facts.scores and facts.larger_of(name) and options.confidence is None
    if name in (label, answer) or larger or (all(numbers) and numbers[0] != numbers[1]):
        return  # the probabilities of the classes themselves are there, or of another rank
    classes, confident = len(head.values[label] | head.values[answer]), {*tokens(name)} & ROLES["confidence"]
    evidence = dict(names) | (
        worth("confidence word") if confident else _of_score_names(facts, source, label)
    )
    shared_values = head.values[label] & head.values[answer] if classes < FEW_CLASSES else frozenset[str]()
    alike = [column for column in facts.by_rank if differ_in_numbers([column, name])]
    seen = {
        "same event": not event(label),
        "part of several": facts.is_part(source, label),
        "ranks beside": name in alike and name != min(alike, key=natural_key),
        "rows of a case": bool(facts.of_systems),
    }
    evidence |= {weight: WEIGHTS[weight].worth for weight, holds in seen.items() if holds}
    of_class = bool(class_evidence(source.stem, shared_values, label)[0]) and not numbers[1]
    for kind, weight in kinds_of_one(source, head, options):
        c = Candidate(head, source, kind, "answer", label, y, said=answer, parts=evidence | worth(weight))
        low = head.n >= FEW and float(np.nanmin(c.s)) < 1 / classes - ROUNDING
        degree = 1.0 if classes == 2 or of_class else 0.2 if confident else 0.8
        c.parts.update(worth("out of range", degree) if low or of_class else worth("in range"))
        c.rank(ranks(c.s, y == 1))
        _doubt_names(c)
        yield c


# several scores in a row


def _of_families(facts: Facts, sources: Sequence[ScoreColumns], options: ReadOptions) -> Iterator[Candidate]:
    """Yield the readings of several columns, or of lists, as the scores of the classes."""
    complement = "" if options.against_rest is None else rest_of(options.against_rest)
    for source in sources:
        kinds = kinds_of_many(source, options)
        labels = [name for name in facts.head.labels if kinds and _may_label(facts, name, source, options)]
        form = _of_form(facts, source) if labels else {}
        seen: list[tuple[Candidate, float]] = []
        for label in labels:
            orders = matches(facts.head, label, source, complement)
            shared = _of_names(facts, source, label) | form
            for match, (kind, weight) in product(orders, kinds):
                evidence = shared | worth(weight) | _of_match(facts, source, label, match, kind)
                c = Candidate(facts.head, source, kind, "classes", label, **match._asdict(), parts=evidence)
                if c.total >= LEAST or options.given:
                    seen.append((c, _rank_classes(c)))
                    _doubt_order(c, orders)
        yield from _shared(seen)


def _may_label(facts: Facts, label: str, source: ScoreColumns, options: ReadOptions) -> bool:
    """Tell whether a column may hold the classes of several scores; grades need a score of each."""
    values = facts.head.values[label]
    of_each = label == options.label_column or (len(values) > 2 and values <= {*source.plain})
    few = options.against_rest is not None or len(values) <= len(source.classes) + 2
    return few and label not in (*source.columns, *source.ranks) and (of_each or not is_grade(label, values))


def _shared(seen: Sequence[tuple[Candidate, float]]) -> Iterator[Candidate]:
    """Yield readings with the share of each label in what the scores say of the best one."""
    best = max((gained for c, gained in seen if _may_be_truth(c)), default=0.0)
    for c, _ in seen:
        if best > 0.005 and "label follows" not in c.parts:
            largest = max(gained for rival, gained in seen if rival.label == c.label)
            c.parts["share"] = WEIGHTS["share"].worth * max(float(np.log(max(largest, 1e-9) / best)), -4.0)
        _doubt_form(c)
        _doubt_names(c)
        yield c


def _may_be_truth(c: Candidate) -> bool:
    return WEIGHTS[label_evidence(c.label)].worth > -3 and not c.parts.keys() & FOLLOWS


def _of_form(facts: Facts, source: ScoreColumns) -> Parts:
    """Return what speaks against scores of classes in their form."""
    many, values = facts.head.n >= FEW and source.form != "ranked", source.values
    seen = {
        "one-hot": many and np.isin(values, (0, 1)).all() and (values.sum(axis=1) == 1).all(),
        "sorted": many and values.shape[1] > 2 and differ_in_numbers(source.classes) and source.descends,
        "ranks beside": facts.head.ranks_beside(source) or source.may_be_indicators,
        "rows of a case": facts.is_long,
        "margins": source.are_margins,
        "part of several": facts.is_part_of_sums(source),
    }
    return {weight: WEIGHTS[weight].worth for weight, holds in seen.items() if holds}


def _of_match(facts: Facts, source: ScoreColumns, label: str, match: Matched, kind: str) -> Parts:
    """Return what says which class each score is of."""
    numbered = source.form == "lists" or all(name.isdigit() for name in source.plain)
    degree = 2.0 if numbered and match.how in ("places", "sorted") else 1.0
    evidence = worth(ORDERS.get(match.how, "classes in order"), degree)
    if match.how == "names":
        evidence = worth("classes by number" if numbered else "classes by name")
        scored = {"probability word", "score word"} & {*score_evidence(source.stem)}
        if source.form == "columns" and not numbered and not scored:
            evidence |= worth("class names", 2.5)
    if kind == "logits" and facts.is_part(source, label):
        evidence |= worth("part of several")
    unknown = float((match.y < 0).mean()) - float((facts.head.text[label] == "").mean())
    if match.how == "letters" and facts.head.ranks_beside(source):
        evidence["ranks beside"] = 0.0  # texts of the options
    return evidence | (worth("unknown labels", unknown) if unknown > 0 else {})


def _rank_classes(c: Candidate) -> float:
    """Add what the values say of classes and their order; return the gain in likelihood."""
    there = (c.y >= 0) & np.isfinite(c.p).all(axis=1)
    p, y = c.p[there], c.y[there]
    if not len(y):
        c.rank(0.0)
        return 0.0
    hot = np.zeros_like(p)
    hot[np.arange(len(y)), y] = 1
    off, hot = p - p.mean(axis=0), hot - hot.mean(axis=0)
    norm = float(np.sqrt((off**2).sum() * (hot**2).sum()))
    correlation = float((off * hot).sum()) / norm if norm > 0 else 0.0
    c.rank(deviations(correlation, len(y)))
    if len(y) >= 5 and len(np.unique(y)) > 1 and float((p.argmax(axis=1) == y).mean()) > 0.999:
        c.parts.update(_follows(c.label, float(np.log(np.clip(p.max(axis=1), 1e-9, 1)).sum())))
    return float(gain(np.array(max(correlation, 0.0))))


def _follows(label: str, likelihood: float) -> Parts:
    """Return the evidence that a label is a prediction, by how unlikely it is that a truth follows so."""
    weight = "named label follows" if label_evidence(label) in NAMED else "label follows"
    return {weight: max(WEIGHTS[weight].worth, likelihood)} if likelihood < 0 else {}


def _doubt_order(c: Candidate, orders: Sequence[Matched]) -> None:
    """Doubt the order of the classes where neither names nor values say it."""
    by_size = ("sorted",) if c.source.form == "columns" and not c.source.numbered else ()
    ways = ("places", "encoder", "numbers", *by_size)
    rival_labels = [order.y for order in orders if order.how in ways and not np.array_equal(order.y, c.y)]
    likelihood = _likelihood(c.p, c.y)
    least = max((_likelihood(c.p, y) + CLEARLY for y in rival_labels), default=_of_frequencies(c.y) + MUCH)
    if likelihood <= least and (c.how in ("encoder", *by_size) or (rival_labels and c.how in ways)):
        c.doubt("open order", classes=", ".join(c.source.classes[:4]))
    if c.how == "assigned":
        c.doubt("classes by values", asks=not (c.p.shape[1] == 2 and c.ranked >= SHOWN))
    if c.ranked < -HARDLY and c.how not in ("names", "ordered", "letters"):
        c.doubt("wrong order")


def _likelihood(p: Doubles, y: NDArray[np.intp]) -> float:
    """Return the logarithm of the likelihood of labels, none of them less than one in a thousand."""
    true = np.take_along_axis(p, np.maximum(y, 0)[:, None], 1)[:, 0]
    return float(np.log(np.clip(np.where(y < 0, 0, np.nan_to_num(true)), 1e-3, 1)).sum())


def _of_frequencies(y: NDArray[np.intp]) -> float:
    """Return the logarithm of the likelihood of labels whose frequencies alone are known."""
    there = y[y >= 0]
    return float(np.log((np.bincount(there) / max(1, len(there)))[there]).sum())


def _doubt_form(c: Candidate) -> None:
    """Doubt the names of classes and the form of their scores."""
    evidence, source = c.parts, c.source
    places, ordered = tuple(map(str, range(c.p.shape[1]))), c.head.ordered.get(c.label, ())
    if c.how == "names" and source.plain == places and {*ordered} == {*places} and ordered != places:
        c.doubt(
            "names or places",
            places=", ".join(places),
            ordered=", ".join(ordered),
            offers=({"classes": places},),
        )
    if c.head.columns[c.label].dtype.kind != "O":
        numbers = [name if (number := number_of(name)) is None else str(number) for name in source.plain]
        same = [name for k, name in enumerate(source.classes) if numbers.count(numbers[k]) > 1]
        if len({*same}) > 1:
            c.doubt("names of one number", same=" and ".join(same))
    sums = np.nan_to_num(source.values.sum(axis=1), nan=1.0)
    furthest = float(sums[np.abs(sums - 1).argmax()]) if len(sums) else 1.0
    if "no simplex" in evidence:
        c.doubt("no simplex", sum=furthest)
    if "sorted" in evidence:
        c.doubt("sorted", offers=({"classes": tuple(source.classes)},))
    if evidence.get("ranks beside"):
        c.doubt("ranks beside", ranks=", ".join((c.head.ranks_beside(source) or list(source.ranks))[:2]))
    if "margins" in evidence and c.kind == "logits":
        c.doubt("margins", sum=furthest)
    if "one-hot" in evidence:
        c.doubt("one-hot")


# what the numbers say


def _look_at_numbers(c: Candidate) -> None:
    """Add the evidence of probabilities beside what is true."""
    there = (c.y >= 0) & np.isfinite(c.p).all(axis=1)
    p, y = c.p[there], c.y[there]
    if len(np.unique(y)) > 1:
        likelihood = _likelihood(p, y)
        c.add("calibrated", float(np.clip((likelihood - _of_frequencies(y)) / MUCH, -1, 1)))
        if c.what in ("class", "right") and len(y) >= FEW:
            c.parts.update(_follows(c.label, _without_exception(p[:, -1], y)))
        if c.what == "class" and c.kind == "probs":
            _doubt_rare(c, p[:, 1], y, likelihood)
    for weight in c.parts.keys() & FOLLOWS:
        if c.parts[weight] < UNSURPRISING:
            c.doubt(weight)


def _doubt_rare(c: Candidate, p: Doubles, y: NDArray[np.intp], likelihood: float) -> None:
    """Doubt probabilities that fit far better as percentages of a rare event."""
    share, mean = float((y == 1).mean()), float(p.mean())
    error = np.sqrt(share * (1 - share) / len(y))
    if not 0 < share < mean / 10 or abs(mean / 100 - share) > 2 * error:
        return
    better = float(np.log(np.maximum(np.where(y == 1, p / 100, 1 - p / 100), 1e-6)).sum())
    if better >= max(_of_frequencies(y) - CLEARLY, likelihood + MUCH):
        c.doubt("rare percent", mean=mean, share=share, offers=({"kind": "percent"}, {"kind": "probs"}))


def _without_exception(p: Doubles, y: NDArray[np.intp]) -> float:
    """Return how unlikely it is, as a logarithm, that a truth has no exception on a side of a threshold."""
    scores_of_hits, zeros, sure = p[y == 1], p[y == 0], np.log(np.clip(np.maximum(p, 1 - p), 1e-9, 1))
    worst, gap, spread = 0.0, scores_of_hits.min() - zeros.max(), np.ptp(p)
    if spread > 0 and 0 <= gap < NEAR_HALF * spread + 1e-9:
        worst = float(sure.sum())
    for side in (p > 0.5, p < 0.5):
        near = side & (np.abs(p - 0.5) < NEAR_HALF)
        if near.sum() > 5 and len(np.unique(y[side])) == 1:
            worst = min(worst, float(sure[side].sum()))
    return worst
