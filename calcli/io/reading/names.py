"""What the names of columns say: the roles of their words, and what the remaining words name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Set
from functools import cache
from itertools import pairwise

from calcli.io.words import CUSTOM, ROLES, customary, event, overlap, scored_event, sides, similar, tokens

EXACT, OF_WORD, OF_EVENT = "class in the name", "word of the class", "event in the name"


def _roles(words: Iterable[str]) -> set[str]:
    """Return the roles that some words have."""
    return {role for role, vocabulary in ROLES.items() if not vocabulary.isdisjoint(words)}


@cache
def label_evidence(name: str) -> str:
    """Return the weight of the evidence in a column's name that the column is the label."""
    words, last_part = tokens(name), name.rsplit(".", 1)[-1]
    distinct, main = {*words}, {*words} - ROLES["hint"] or {*words}
    if tokens(last_part) != words and label_evidence(last_part) in ("truth word", "label word"):
        return label_evidence(last_part)
    roles, last, ends = _roles(distinct), _roles(words[-1:]), _roles(words[:1]) | _roles(words[-1:])
    of_answers = distinct & {"answer", "label", "class", "category"} and "prediction" not in roles
    graded = "grade" in roles and not distinct & (ROLES["truth"] | ROLES["label"] - {"answer"})
    predicted = "prediction" in roles or ("probability" in roles and "truth" not in roles)
    rules = (
        ("event", not words),
        ("truth word", "".join(words) in ROLES["truth"] or words in (("y", "test"), ("y", "val"))),
        ("label word", "grade" in roles and of_answers),
        ("grade", "grade" in last and "judge" in distinct),
        ("prediction label", predicted),
        ("truth word", main <= ROLES["truth"] | ROLES["label"] and main & ROLES["truth"]),
        ("label word", main <= ROLES["label"] and not distinct <= ROLES["identifier"]),
        ("grade", graded),
        ("other label", "no_label" in roles),
        ("identifier label", "identifier" in last and not roles & {"truth", "label"}),
        ("truth and event", "truth" in ends),
        ("feature label", "feature" in roles),
        ("label and event", ends & {"label", "hint"}),
    )
    return next((weight for weight, holds in rules if holds), "event")


@cache
def score_evidence(name: str, label: str = "", beyond_half: bool = False) -> tuple[str, ...]:
    """Return the weights of the evidence in a name that it names a score; words of the label do not count."""
    words, bare = tokens(name), {"class", "x", "y", "c", "label", *ROLES["positive"], *ROLES["negative"]}
    label_words = {*event(label)} or {*tokens(label)} - ROLES["label"] - ROLES["truth"]
    remaining = [word for word in words if not any(similar(word, label_word) for label_word in label_words)]
    distinct, roles = {*remaining}, _roles(words)
    derived = distinct & ROLES["derived"] - ({"std", "sd", "se", "error"} if beyond_half else set())
    of_truth = distinct & ROLES["truth"] - {"true", "observed", "gt", "human"}
    identifies = "identifier" in _roles(remaining[-1:]) and not roles & {"score", "probability"}
    if derived or of_truth or identifies:
        return ("other scores",)
    scored = [f"{role} word" for role in ("probability", "score") if role in roles]
    evidence = (*scored, *["system word"] * ("system" in _roles(distinct)), "no word")[0]
    if "p" in (*words[:1], *words[-1:]) and evidence != "probability word":
        tail, fillers = [word for word in words if word != "p"], label_words | bare | ROLES["filler"]
        full = all(word.isdigit() or word in fillers for word in tail) or overlap(tail, label_words)
        evidence = "probability word" if full else evidence if evidence != "no word" else "system word"
    elif evidence == "no word" and words and {*words} <= bare:
        evidence = "system word"  # a class as the whole name: 1, positive
    units = {unit for number, unit in pairwise(words) if number.isdigit()}  # 24m
    features = distinct & ROLES["feature"] - units and "probability" not in roles
    return (evidence, "feature scores") if features else (evidence,)


def class_evidence(name: str, values: Set[str], label: str) -> tuple[str, str]:
    """Return the label value that the name of a score refers to, and the weight; "" and "" if none."""
    words, event_words = tokens(re.sub(r"(\d)\.0+(?!\d)", r"\1", name)), event(label)
    tail = [word for word in scored_event(name) if not word.isdigit()]
    folded = {"".join(tokens(value)) or value: value for value in sorted(values)}
    if len(folded) < len(values):  # the values differ only in signs: <=50k, >50k
        folded = {value: value for value in values}
    lower, cuts = name.casefold(), range(len(words) + 1)
    joined = {"".join(words[n:]) for n in cuts} | {"".join(words[:n]) for n in cuts} | {"".join(tail)}
    joined |= {key for key in folded if not key.isalnum() and (lower.endswith(key) or lower.startswith(key))}
    exact = [key for key in folded if key in joined and key not in ("p", "y", "t", "n", *event_words)]
    if len(exact) == 1:
        return folded[exact[0]], EXACT
    if len(values) != 2:
        return "", ""
    (low, high), custom = sides(values)
    bare = [word for word in tail if word not in ROLES["negation"]]
    negated, last = len(bare) < len(tail), words[-1:]
    signs = (ROLES["positive"] | ROLES["negative"]) - {"not", "non", *event_words}
    alone = [word for word in [word for word in words if word in signs][-1:] if len(word) > 1]
    customs = {CUSTOM[word] for word in words if word in CUSTOM and len(word) > 1 and word not in event_words}
    near = [text for text in values if overlap([word for word in tokens(text) if not word.isdigit()], bare)]
    short = [key for key in folded if len(key) <= 2 and any(word.startswith(key) for word in bare)]
    of_event = overlap(bare, [word for word in event_words if word not in ROLES["negation"]])
    initials_differ = len({key[:1] for key in folded}) == 2
    only_sides = alone and custom and not {*bare} - ROLES["positive"] - ROLES["negative"]
    rules = (
        (last in (("0",), ("1",)) and customary(values) and not tail, high if last == ("1",) else low, EXACT),
        (event_words and "".join(tail) == "".join(event_words), high, OF_EVENT),
        (negated and of_event, high if {*event_words} & ROLES["negation"] else low, OF_WORD),
        (negated and bare, "", ""),  # a word of the event: no_show
        (only_sides, high if {*alone} & ROLES["positive"] else low, OF_WORD),
        (len(near) == 1, "".join(near[:1]), OF_WORD),
        (custom and len(customs) == 1 and customary(values), high if 1 in customs else low, OF_WORD),
        (of_event, high, OF_EVENT),
        (len(short) == 1 and initials_differ, "".join(folded[key] for key in short[:1]), OF_EVENT),
    )
    return next(((value, weight) for holds, value, weight in rules if holds), ("", ""))
