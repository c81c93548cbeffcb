"""What names of columns say: words with roles, and of what a name is when these words are taken out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Set
from functools import cache
from itertools import pairwise

from calcli.io.words import CUSTOM, ROLES, customary, event, overlap, scored_event, sides, similar, tokens

EXACT, OF_WORD, OF_EVENT = "class in the name", "word of the class", "event in the name"


def _roles(words: Iterable[str]) -> set[str]:
    """Return the roles that some words have."""
    return {role for role, known in ROLES.items() if not known.isdisjoint(words)}


@cache
def label_evidence(name: str) -> str:
    """Return what a name says of its being the label, by its weight."""
    words, last_part = tokens(name), name.rsplit(".", 1)[-1]
    some, main = {*words}, {*words} - ROLES["hint"] or {*words}
    if tokens(last_part) != words and label_evidence(last_part) in ("truth word", "label word"):
        return label_evidence(last_part)
    roles, last, ends = _roles(some), _roles(words[-1:]), _roles(words[:1]) | _roles(words[-1:])
    of_answers = some & {"answer", "label", "class", "category"} and "prediction" not in roles
    graded = "grade" in roles and not some & (ROLES["truth"] | ROLES["label"] - {"answer"})
    predicted = "prediction" in roles or ("probability" in roles and "truth" not in roles)
    said = (
        ("event", not words),
        ("truth word", "".join(words) in ROLES["truth"] or words in (("y", "test"), ("y", "val"))),
        ("label word", "grade" in roles and of_answers),
        ("grade", "grade" in last and "judge" in some),
        ("prediction label", predicted),
        ("truth word", main <= ROLES["truth"] | ROLES["label"] and main & ROLES["truth"]),
        ("label word", main <= ROLES["label"] and not some <= ROLES["identifier"]),
        ("grade", graded),
        ("other label", "no_label" in roles),
        ("identifier label", "identifier" in last and not roles & {"truth", "label"}),
        ("truth and event", "truth" in ends),
        ("feature label", "feature" in roles),
        ("label and event", ends & {"label", "hint"}),
    )
    return next((weight for weight, holds in said if holds), "event")


@cache
def score_evidence(name: str, label: str = "", beyond_half: bool = False) -> tuple[str, ...]:
    """Return what a name says of its being a score, by weights; the label's own words are no hint."""
    words, bare = tokens(name), {"class", "x", "y", "c", "label", *ROLES["positive"], *ROLES["negative"]}
    own = {*event(label)} or {*tokens(label)} - ROLES["label"] - ROLES["truth"]
    others = [one for one in words if not any(similar(one, word) for word in own)]
    some, roles = {*others}, _roles(words)
    derived = some & ROLES["derived"] - ({"std", "sd", "se", "error"} if beyond_half else set())
    of_truth = some & ROLES["truth"] - {"true", "observed", "gt", "human"}
    identifies = "identifier" in _roles(others[-1:]) and not roles & {"score", "probability"}
    if derived or of_truth or identifies:
        return ("other scores",)
    scored = [f"{role} word" for role in ("probability", "score") if role in roles]
    said = (*scored, *["system word"] * ("system" in _roles(some)), "no word")[0]
    if "p" in (*words[:1], *words[-1:]) and said != "probability word":
        tail = [one for one in words if one != "p"]
        full = all(one.isdigit() or one in own | bare | ROLES["filler"] for one in tail) or overlap(tail, own)
        said = "probability word" if full else said if said != "no word" else "system word"
    elif said == "no word" and words and {*words} <= bare:
        said = "system word"  # a class as the whole name: 1, positive
    units = {unit for number, unit in pairwise(words) if number.isdigit()}  # 24m
    features = some & ROLES["feature"] - units and "probability" not in roles
    return (said, "feature scores") if features else (said,)


def class_evidence(name: str, values: Set[str], label: str) -> tuple[str, str]:
    """Return the value that the name of one score is of, and by which weight; "" and "" if of none."""
    words, own = tokens(re.sub(r"(\d)\.0+(?!\d)", r"\1", name)), event(label)
    tail = [one for one in scored_event(name) if not one.isdigit()]
    folded = {"".join(tokens(one)) or one: one for one in sorted(values)}
    if len(folded) < len(values):  # which differ in signs: <=50k, >50k
        folded = {one: one for one in values}
    whole, either = name.casefold(), range(len(words) + 1)
    glued = {"".join(words[n:]) for n in either} | {"".join(words[:n]) for n in either} | {"".join(tail)}
    glued |= {one for one in folded if not one.isalnum() and (whole.endswith(one) or whole.startswith(one))}
    exact = [one for one in folded if one in glued and one not in ("p", "y", "t", "n", *own)]
    if len(exact) == 1:
        return folded[exact[0]], EXACT
    if len(values) != 2:
        return "", ""
    (low, high), custom = sides(values)
    others = [one for one in tail if one not in ROLES["negation"]]
    negated, last = len(others) < len(tail), words[-1:]
    signs = (ROLES["positive"] | ROLES["negative"]) - {"not", "non", *own}
    alone = [one for one in [one for one in words if one in signs][-1:] if len(one) > 1]
    customs = {CUSTOM[one] for one in words if one in CUSTOM and len(one) > 1 and one not in own}
    near = [one for one in values if overlap([word for word in tokens(one) if not word.isdigit()], others)]
    short = [one for one in folded if len(one) <= 2 and any(word.startswith(one) for word in others)]
    of_event = overlap(others, [one for one in own if one not in ROLES["negation"]])
    apart = len({one[:1] for one in folded}) == 2
    only_sides = alone and custom and not {*others} - ROLES["positive"] - ROLES["negative"]
    said = (
        (last in (("0",), ("1",)) and customary(values) and not tail, high if last == ("1",) else low, EXACT),
        (own and "".join(tail) == "".join(own), high, OF_EVENT),
        (negated and of_event, high if {*own} & ROLES["negation"] else low, OF_WORD),
        (negated and others, "", ""),  # a word of the event: no_show
        (only_sides, high if {*alone} & ROLES["positive"] else low, OF_WORD),
        (len(near) == 1, "".join(near[:1]), OF_WORD),
        (custom and len(customs) == 1 and customary(values), high if 1 in customs else low, OF_WORD),
        (of_event, high, OF_EVENT),
        (len(short) == 1 and apart, "".join(folded[one] for one in short[:1]), OF_EVENT),
    )
    return next(((value, weight) for holds, value, weight in said if holds), ("", ""))
