"""What strikes a reading out, makes it doubtful, or is said beside it: each a rule that looks at the values.

A rule yields to the one option that answers its question, and to no other. A doubtful reading cannot be the
answer alone, but still contests others: a doubt must not promote a rival.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from calcli.core.data.inmemory import ROUNDING
from calcli.core.data.predictions import ASKED
from calcli.io.reading.candidates import (
    CALLED_LOGITS,
    SURELY,
    Candidate,
    best_order,
    cut,
    matches,
    ranks,
    says_right,
    spelled,
)
from calcli.io.reading.head import FEW
from calcli.io.tables.labels import number_of
from calcli.io.words import (
    CUSTOM,
    CUSTOMARY,
    PARTS,
    PATTERNS,
    RANKED,
    alike,
    are_custom,
    customary,
    differ_in_numbers,
    is_called,
    named,
    plain_text,
    says,
    tokens,
)

NUMBER = re.compile(r"[-+]?[0-9]*[.]?[0-9]+(e[-+]?[0-9]+)?")
OPTIONS = re.compile(r"(?i)(.*[_.])?(choices|options)")  # texts of the answers
HALF = 0.4995  # rounded to three decimals, one half
HUGE = 1e6  # beyond which sums are rounded
CLEARLY, MUCH = 3.0, 8.0  # differences of log-likelihoods, or standard errors
UNSURPRISING = 3  # errors that are expected, beside which none is no surprise


class Open(str):
    """A reason that is a question: it holds until the user says what is meant.

    Attributes
    ----------
    offers
        What may be said; none if it is that the candidate is meant.
    """

    offers: tuple[dict[str, Any], ...] = ()


def asks(said: str, *offers: dict[str, Any]) -> Open:
    """Return a question that some options answer."""
    question = Open(said)
    question.offers = offers
    return question


class Rule(NamedTuple):
    """A rule.

    Attributes
    ----------
    check
        Returns why a candidate cannot be meant, or is doubtful; None if there is nothing against it.
    option
        That answers its question, and that it yields to, or several; "" if it is a proof.
    labelled
        Whether it looks at labels.
    """

    check: Callable[[Candidate], str | None]
    option: str = ""
    labelled: bool = True


def fits_its_kind(c: Candidate) -> str | None:
    """Say so of numbers that cannot be of their kind."""
    values, many = c.source.values, c.source.many
    if np.isnan(values).all():
        return "it holds no numbers"
    if many and c.kind == "log-probs" and np.abs(np.exp(values).sum(axis=1) - 1).max() > 2e-3:
        return "as log-probabilities, the rows do not sum to 1"
    if c.kind == "logits" and not many and not np.isfinite(values).all():
        return "a score is infinite"
    return None


def a_score_is_outside(c: Candidate) -> str | None:
    """Say so if a few scores lie outside the range of all others."""
    low, high = c.source.span
    top = {"probs": 1 + 1e-3, "percent": 101}.get(c.kind)
    if c.source.many or top is None or (low >= 0 and high <= top):
        return None
    return f"{low:.4g} to {high:.4g} is not within 0 and {round(top)}"


def sums_are_one(c: Candidate) -> str | None:
    """Say so if most rows of probabilities do not sum to one."""
    off = _off(c)
    return off if off and not _mostly_one(c) else None


def a_sum_is_off(c: Candidate) -> str | None:
    """Say so if a few rows of probabilities do not sum to one."""
    off = _off(c)
    return off if off and _mostly_one(c) else None


def _off(c: Candidate) -> str:
    """Return why rows of probabilities do not sum to one."""
    return c.source.off if c.source.many and c.kind == "probs" else ""


def percents_sum(c: Candidate) -> str | None:
    """Say so if most rows of percentages do not sum to 100."""
    if not c.source.many or c.kind != "percent" or _mostly_one(c):
        return None
    with np.errstate(over="ignore"):  # a sum beyond all numbers is not 100
        sums = c.source.values.sum(axis=1)
    far = np.abs(sums[~np.isnan(sums)] - 100).max(initial=0) > 1 + c.source.values.shape[1] / 2
    return "as percentages, the rows do not sum to 100" if far else None


def _mostly_one(c: Candidate) -> bool:
    """Tell whether but a few rows sum to one, so that these are at fault, not the reading."""
    scaled = c.source.values / (100 if c.kind == "percent" else 1)
    with np.errstate(over="ignore"):
        sums = scaled.sum(axis=1)
    fine = (np.abs(sums - 1) <= 0.1) & (scaled >= 0).all(axis=1)
    return float(fine.mean()) > 0.5


def a_score_is_missing(c: Candidate) -> str | None:
    """Say in how many rows a score is missing."""
    rows = int(np.isnan(c.source.values).any(axis=1).sum())
    return f"a score is missing in {rows} rows" if rows else None


def logits_are_no_margins(c: Candidate) -> str | None:
    """Say so of margins, whose rows have one sum."""
    values = c.source.values
    if not c.source.many or c.kind != "logits" or not np.isfinite(values).all():
        return None
    if np.abs(values).max() > HUGE:
        return None
    sums = values.sum(axis=1)
    varied = 1e-3 * max(1, float(values.std(axis=0).max()))
    if (
        not np.ptp(values, axis=0).any()
        or np.ptp(sums) >= varied
        or (values.shape[1] > 2 and abs(sums[0]) <= 1e-3)
        or c.head.n < 2
    ):
        return None
    last = c.source.columns[-1] if len(c.source.columns) > 1 else f"the last of {c.source.columns[0]}"
    return (
        f"the rows sum to {sums[0]:.3g}: margins, such as [1 - m, m] or [-m, m], are neither "
        "probabilities nor logits "
        f"of a softmax; if {last} is the log-odds, save it alone"
    )


def some_class_is_possible(c: Candidate) -> str | None:
    """Say so if in some row every class is masked."""
    if c.source.many and c.kind in ("logits", "log-probs") and (c.source.values == -np.inf).all(axis=1).any():
        return "in a row all classes are masked, each with -inf"
    return None


def kind_is_named(c: Candidate) -> str | None:
    """Say so of logarithms and logits that nothing calls so."""
    (low, high), many, words = c.source.span, c.source.many, tokens(c.source.stem)
    logit = says("logit", c.source.stem)
    if not many and c.kind == "log-probs" and not logit and not says("logarithm", c.source.stem):
        return asks("nothing says that these numbers below 0 are logarithms")
    if c.kind == "probs" and not many and "margin" in words:
        return "its name says that it is a margin, which does not end at 0 and 1"
    if c.kind == "logits" and (CALLED_LOGITS & set(words) or c.source.of_options):
        return None
    if many and low >= 0 and high <= 1 + ROUNDING and c.kind == "logits":
        return asks(
            f"the rows do not sum to 1, and nothing says that numbers from {low:.4g} to {high:.4g} are logits"
        )
    known = many and (c.source.given or (low < 0 and not words and named_as_classes(c) and c.shown))
    if c.kind != "logits" or known:
        return None
    if not logit or (not many and (low >= 0 or (words[-1] in ("score", "scores") and not c.proved))):
        said = f"nothing says that numbers from {low:.4g} to {high:.4g} are logits"
        return said if low >= 0 and says("percent", c.source.stem) else asks(said)
    return None


def percent_is_one_scale(c: Candidate) -> str | None:
    """Say so of ratings, and of fractions beside percentages."""
    values = c.source.values[:, 0]
    written = bool(set(c.source.columns) & c.head.percent)
    if c.kind != "percent" or c.source.many or written:
        return None
    if (top := c.source.span[1]) <= 10:
        whole = bool((values == np.round(values)).all())
        offers = [{"scale": 5.0 if top <= 5 else 10.0}] if whole else []
        return asks(
            f"numbers from {values.min():g} to {top:g} may be ratings: they are on no scale of probabilities"
            + (f"; --scale {offers[0]['scale']:g} divides them" if offers else ""),
            *offers,
        )
    below, above, whole = (values > 0) & (values <= 1), values > 1, values == np.round(values)
    often = bool(c.label) and below.sum() >= 0.05 * len(values) and (c.y[below] == 1).mean() > 0.1
    if (below & ~whole).any() and (whole[above].all() or not (above & (values < 5)).any() or often):
        return (
            f"{int(below.sum())} values up to 1 beside {int(above.sum())} up to {values.max():g}: two "
            "scales in one column"
        )
    return None if says("percent", c.source.stem) else asks("nothing says that these are percentages")


def is_no_percent(c: Candidate) -> str | None:
    """Ask of probabilities that fit far better as percentages of a rare event."""
    if c.kind != "probs" or c.source.many or not c.label or (c.y < 0).any():
        return None
    base, mean = float((c.y == 1).mean()), float(c.s.mean())
    error = np.sqrt(base * (1 - base) / len(c.y))
    if not 0 < base < mean / 10 or abs(mean / 100 - base) > CLEARLY * error:
        return None
    as_percent = np.where(c.y == 1, c.s / 100, 1 - c.s / 100)
    better = float(np.log(np.maximum(as_percent, 1e-6)).sum())
    constant = len(c.y) * (base * np.log(base) + (1 - base) * np.log1p(-base))
    if better < max(constant - CLEARLY, c.likelihood + MUCH):
        return None
    return asks(
        f"100 times too large? Its mean is {mean:.3g}, {base:.2%} of the rows are 1, and as percentages they "
        "fit far better",
        {"kind": "percent"},
        {"kind": "probs"},
    )


def names_are_no_places(c: Candidate) -> str | None:
    """Ask of numbered scores whether their numbers are those of labels, or the names that these have."""
    names = c.head.ordered.get(c.label, ())
    places = tuple(map(str, range(len(names))))
    if c.how != "names" or tuple(c.source.plain) != places or {*names} != {*places} or names == places:
        return None
    return asks(
        f"the scores are those of {', '.join(places)}, which may number the classes or be their names in the "
        f"metadata, {', '.join(names)}; if they are no names, name the columns otherwise",
        {"classes": places},
    )


def names_are_told_apart(c: Candidate) -> str | None:
    """Say so of labels that are numbers or booleans, where two classes are the same one."""
    if c.what != "classes" or c.head.columns[c.label].dtype.kind == "O":
        return None
    known = [one if (number := number_of(one)) is None else str(number) for one in c.source.plain]
    same = [one for one, name in zip(c.source.classes, known, strict=True) if known.count(name) > 1]
    return (
        f"{c.label} is read as numbers or truth, which do not tell the classes {' and '.join(same)} apart; "
        "save the labels as text, not in CSV, or give these classes other names"
        if len({*same}) > 1
        else None
    )


def labels_are_two(c: Candidate) -> str | None:
    """Say so of more than two labels beside the score of one class."""
    if c.what != "class" or len(c.own) < 3:
        return None
    return f"{c.label} has {len(c.own)} values, and one score is that of one of two classes"


def is_not_one_hot(c: Candidate) -> str | None:
    """Say so of zeros and ones."""
    values = c.source.values
    if (
        not c.source.many
        or c.head.n < FEW
        or not np.isin(values, (0, 1)).all()
        or (values.sum(axis=1) != 1).any()
        or c.source.form == "ranked"
    ):
        return None
    return "all are 0 or 1, as labels or predictions are"


def labels_are_there(c: Candidate) -> str | None:
    """Say how many labels are missing, or are those of other classes."""
    if not (c.y < 0).any():
        return None
    texts = c.head.text[c.label][c.y < 0]
    unknown = sorted({str(one) for one in texts if one})
    if unknown:
        rows = int((texts != "").sum())
        return (
            f"{c.label} is {', '.join(unknown[:3])} in {rows} rows, which is none of the classes of the "
            "scores"
        )
    return f"{c.label} is missing in {int((c.y < 0).sum())} rows"


def is_not_sorted(c: Candidate) -> str | None:
    """Say so of scores by rank."""
    values, form = c.source.values, c.source.form
    if form == "ranked" or not differ_in_numbers(c.source.classes):
        return None
    if (
        c.source.many
        and form == "columns"
        and {"top", "rank"} & {*tokens(c.source.stem)}
        and not named_as_classes(c)
    ):
        return "its name says that it is of a rank"
    if values.shape[1] < 3 or c.head.n < FEW:
        return None
    return "the scores descend in every row, as if they were sorted by rank" if c.source.descends else None


def is_no_part_of_a_family(c: Candidate) -> str | None:
    """Say so of a part of a family of columns that has the classes of the label."""
    if c.kind == "percent" or (c.label and not c.source.many and len(c.own) < 2):
        return None
    columns = set(c.source.columns)
    for other in c.head.rivals:
        family = other.form == "columns" and other.many and other.named and other.stem
        if not family or not columns < set(other.columns) or (c.source.many and other.stem != c.source.stem):
            continue
        classes = set(map(plain_text, other.classes))
        if not c.label and c.kind == "probs" and not other.mostly_one:
            continue  # perhaps of several systems
        same = c.own <= classes or (are_custom(list(classes)) and customary(c.own))
        if same and not any(map(is_derived, classes - c.own)):
            return f"it is one of {', '.join(other.columns[:3])}"
    return None


def is_derived(name: str) -> bool:
    """Tell whether a name says that something was made from a score, or says something of it."""
    return says("derived", name) or says("made", name)


def is_no_part_of_others(c: Candidate) -> str | None:
    """Say of what a score is a part, the largest, or the share of the truth."""
    if c.source.many:
        return None
    values, name = c.source.values[:, 0], c.source.columns[0]
    for other in c.head.distributions:
        of = ", ".join(other.columns[:3])
        if not other.stem and not other.numbered and not set(map(plain_text, other.classes)) & c.own:
            continue  # whatever numbers happen to sum to one
        if c.what == "answer" and other.descends:
            continue  # the first of several ranks
        if name in other.columns:
            return f"it is one of {of}, which sum to 1"
        if np.abs(values - other.top).max() < (1e-3 if says("confidence", name) else 1e-6):
            return f"it is the largest of {of} in every row"
    return None


def its_family_is_of_numbers(c: Candidate) -> str | None:
    """Say which column of the same family holds what is no number."""
    words = () if c.source.form == "lists" else tokens(c.source.columns[0])
    for name, values in c.head.columns.items() if len(words) > 1 else ():
        sibling = values.dtype.kind == "O" and tokens(name)[:-1] == words[:-1]
        if not sibling or name in (c.label, *c.head.predictions):
            continue
        text = sorted(one for one in c.head.values[name] if not NUMBER.fullmatch(one))
        if 0 < len(text) < len(c.head.values[name]):
            return f'{name} beside it holds text among numbers, such as "{text[0]}"'
    return None


def is_not_computed(c: Candidate) -> str | None:
    """Say from which other column a score was computed."""
    if c.source.many:
        return None
    values, name = c.source.values[:, 0], c.source.columns[0]
    said = set(tokens(name)) & {*tokens(c.label), "label", "true", "truth", "gold", "target", "correct"}
    for column, theirs in c.head.fractions.items():
        if column == name or not (theirs.min() >= 0 and theirs.max() <= 1):
            continue
        if theirs.min() < HALF and np.abs(values - np.maximum(theirs, 1 - theirs)).max() < 1e-3:
            return f"it is the larger of {column} and 1 - {column} in every row"
        off = np.abs(values - np.where(c.y == 1, theirs, 1 - theirs)).max()
        if c.what == "class" and said and off < 1e-6 < np.abs(values - theirs).max():
            return f"it is the probability that {column} gives to {c.label}"
    return None


def is_named_as_a_score(c: Candidate) -> str | None:
    """Say so of a name that says something of a score, or of classes named so."""
    words = set(tokens(c.source.stem))
    names = (
        one for one in words if PATTERNS["derived"].fullmatch(one) and not (one == "error" and "p" in words)
    )
    if of := next(names, None):
        return f'"{of}" in its name says that it is no score'
    if not c.source.many or c.source.form != "columns":
        return None
    odd = next((one for one in c.source.classes if plain_text(one) not in c.own and is_derived(one)), None)
    return f'"{odd}" in the name of {c.source.columns[0]} is hardly a class' if odd else None


def parts_are_one(c: Candidate) -> str | None:
    """Say so of scores and labels that are named after different parts of the data."""
    theirs = [{PARTS[one] for one in tokens(name) if one in PARTS} for name in (c.source.stem, c.label)]
    if all(len(one) == 1 for one in theirs) and theirs[0] != theirs[1]:
        return f"{c.source.columns[0]} is of {min(theirs[0])} and {c.label} of {min(theirs[1])}"
    return None


def is_no_copy(c: Candidate) -> str | None:
    """Say which name of its own this one begins with, unless a class follows."""
    words = () if c.source.many else tokens(c.source.stem)
    for other in c.head.rivals:
        theirs = tokens(other.stem)
        if other.many or other.columns[0] not in c.head.fractions or not is_bare(other.stem):
            continue
        rest = words[len(theirs) :]
        if not rest or words[: len(theirs)] != theirs:
            continue
        a_class = len(rest) == 1 and (rest[0] in CUSTOM or rest[0] in c.own)
        if not a_class or re.search(r"[.]\d+$", c.source.stem):  # as pandas names copies
            return f"its name begins with that of {other.columns[0]}, which has a name of its own"
    return None


def is_not_made_of_another(c: Candidate) -> str | None:
    """Say so of a name that is made from that of a score."""
    words = set(tokens(c.source.stem))
    for other in c.head.rivals:
        base = set(tokens(other.stem))
        if other.many != c.source.many or not base or not other.named:
            continue
        if "raw" in words - base and other.many and other.values.shape == c.source.values.shape:
            return f"its name says that it is raw, beside {other.columns[0]}"
        made = base < words and all(PATTERNS["made"].fullmatch(one) for one in words - base)
        if made and (not other.many or not other.off or other.classes == c.source.classes):
            return f"its name is made from that of {other.columns[0]}"
    return None


def label_is_no_prediction(c: Candidate) -> str | None:
    """Say so of labels that are named as predictions, or as what is right."""
    if c.label in c.head.predictions and c.what != "answer":
        return f"{c.label} is named as a prediction"
    by_name = c.how == "names" and c.what == "classes" and len(c.own) > 2  # ordinal grades beside prob_0, ...
    if c.what in ("classes", "class") and not by_name and says_right(c.label, c.own):
        return f"{c.label} says what is right, not of which class it is"
    return None


def label_is_nothing_else(c: Candidate) -> str | None:
    """Say so of labels that are named as folds, weights or the like."""
    if c.what in ("answer", "right") or named("truth", c.label) or named("label", c.label):
        return None
    words = tokens(c.label)
    if any(PATTERNS["derived"].fullmatch(one) or PATTERNS["system"].fullmatch(one) for one in words):
        return f"its name says that {c.label} is no label"
    return None


def label_does_not_follow(c: Candidate) -> str | None:
    """Say so of labels that the scores decide in every row, unless that is what they are called."""
    if named("truth", c.label) or (named("label", c.label) and not _another_truth(c)):
        return None
    return _labels_follow_scores(c)


def label_follows(c: Candidate) -> str | None:
    """Remark so of what is called the truth."""
    return _labels_follow_scores(c) if named("truth", c.label) or named("label", c.label) else None


def _another_truth(c: Candidate) -> str | None:
    """Return a column of which the scores say much, and which is not what this label is."""
    labels = c.head.text[c.label]
    for name in c.head.labels:
        if name in (c.label, *c.source.columns) or (c.head.text[name] == labels).all():
            continue
        called = named("label", name) or named("truth", name)
        for one in matches(c.head, name, c.source) if c.source.many else ():
            if (one.y >= 0).all() and (called or replace(c, label=name, y=one.y, how=one.how).shown):
                return name
        values = sorted(c.head.values[name])
        two = not c.source.many and len(values) == 2
        if two and (called or abs(ranks(c.s, c.head.text[name] == values[1])) > SURELY):
            return name
    return None


def _labels_follow_scores(c: Candidate) -> str | None:
    """Say so if the labels are what the scores predict in every row, and that is a surprise."""
    if c.what == "answer" or len(np.unique(c.y)) < 2 or c.head.n < 5:
        return None
    likeliest = c.p.max(axis=1)
    tied = (c.p >= likeliest[:, None] - 1e-9).sum(axis=1) > 1  # of which nothing follows
    errors, high = float((1 - likeliest)[~tied].sum()), c.s > 0.5
    exact = bool((c.q >= likeliest - 1e-9).all())
    if c.p.shape[1] == 2 and not exact:
        exact = c.head.n >= FEW and cut(c.s, c.y.astype(str).astype(object)) is not None
    if exact and errors < UNSURPRISING:
        return None  # so few errors are expected that none is no surprise
    if c.what != "classes" and not exact:
        exact = bool((c.y[high] == 1).all() and (1 - c.s[high]).sum() > (3 if c.what == "right" else 10))
    if not exact:
        return None
    return asks(
        f"{c.label} follows from the scores in every row, as a prediction does, or what is above a threshold"
    )


def label_is_not_whether_right(c: Candidate) -> str | None:
    """Say so of labels that tell where the scores are right of another column."""
    if len(c.own) != 2 or c.what == "answer" or not customary(c.own):
        return None
    head = c.head
    said = np.array([CUSTOM.get(one, -1) for one in head.text[c.label]])
    for name in head.labels:
        if name == c.label or says("right", name) or len(head.values[name]) < 2:
            continue
        for source in [c.source] if c.what == "classes" else head.distributions:
            matched = matches(head, name, source)
            if any(((source.values.argmax(axis=1) == one.y) == said).all() for one in matched):
                return f"{c.label} tells in which rows the most probable class is {name}"
        if c.what != "classes" and customary(head.values[name]) and c.s.min() < HALF:
            truth = np.array([CUSTOM.get(one, -1) for one in head.text[name]])
            if (((c.s >= 0.5) == truth) == said).all():
                return f"{c.label} tells in which rows {c.source.columns[0]}, at one half, agrees with {name}"
    return None


def places_show_in_the_values(c: Candidate) -> str | None:
    """Say so of labels whose places or offsets the values do not show."""
    if c.what != "classes":
        return None
    if c.how == "letters" and not (c.source.of_options or any(map(OPTIONS.fullmatch, c.head.lists))):
        return None if c.shown else _which(c, "and the values do not show it")
    if c.how == "sorted" and not c.shown:
        return _which(c, "and the values do not show it")
    if c.how == "assigned":
        return _which(c, "by name")
    if c.how in ("places", "custom", "encoder", "numbers"):
        return _order_is_known(c)
    if c.how == "names" and c.p.shape[1] > 2 and c.source.numbered and c.source.form != "ranked":
        likeliest, last = c.p.argmax(axis=1), c.p.shape[1] - 1
        hits = (likeliest == c.y).mean()
        for step in [-1] * bool(c.y.min() > 0) + [1] * bool(c.y.max() < last):
            moved = (likeliest == c.y + step).mean()
            if (moved - hits) * np.sqrt(c.head.n) > 2:
                return (
                    f"{c.label} agrees more often with the class one {'below' if step < 0 else 'above'}: "
                    "it may count from another number"
                )
    return None


def _which(c: Candidate, why: str) -> Open:
    """Ask which class each score is of; the order that the values fit best is filled in."""
    order, called = best_order(c), spelled(c.head, c.label)
    named_so = {} if c.named else {"label_column": c.label}
    names = ", ".join(
        c.source.columns[:4] if c.source.form == "columns" else [f"scores of {c.source.columns[0]}"]
    )
    return asks(
        f"nothing says which of {names} is that of {called[min(c.own)]} in {c.label}, {why}",
        {**named_so, "classes": tuple(called.get(one, one) for one in order)},
    )


def _order_is_known(c: Candidate) -> str | None:
    """Say so if the values do not tell in which order labels count the classes, or tell another one."""
    others = [one.y for one in matches(c.head, c.label, c.source) if not np.array_equal(one.y, c.y)]
    gains = [c.likelihood - _likelihood(c, y) for y in others]
    if c.how == "encoder" and not others and c.gain <= MUCH:
        return f"nothing says the order of the classes {', '.join(c.source.classes[:4])}"
    if min(gains, default=np.inf) > CLEARLY and not c.contradicted:
        return None
    if min(gains, default=0) < -CLEARLY or c.contradicted:
        return f"the values show that {c.label} does not count the classes in this order"
    names = ", ".join(c.source.classes[:4])
    return (
        f"nothing says whether {c.label} counts the classes {names} in this order or in that of their "
        "names, and the "
        "values do not show it"
    )


def _likelihood(c: Candidate, y: np.ndarray) -> float:
    """Return the logarithm of the likelihood of labels, none of them less than one in a thousand."""
    true = np.take_along_axis(c.p, np.maximum(y, 0)[:, None], 1)[:, 0]
    return float(np.log(np.maximum(np.where(y < 0, 0, true), 1e-3)).sum())


def is_bare(stem: str) -> bool:
    """Tell whether a name says that it is a score and nothing else."""
    words = tokens(stem)
    return bool(words) and all(PATTERNS["score"].fullmatch(one) or one in ("y", "class") for one in words)


def _ranks_beside(c: Candidate) -> list[str]:
    """Return columns that may name the class of each score, by their names and numbers."""
    same = (one for one in c.head.sources if one.numbered and set(one.columns) == set(c.source.columns))
    numbers = {number for one in same for number in one.classes}
    matches_of_rank = (RANKED.fullmatch(one) for one in c.head.columns)
    named_so = [one for one in matches_of_rank if one and one[2] in numbers]
    sure = [one[0] for one in named_so if not one[1].casefold().startswith(("label", "class", "name"))]
    two = len(c.source.classes) == 2 and c.source.descends
    return sure or ([one[0] for one in named_so] if two else [])


def is_stored_by_class(c: Candidate) -> str | None:
    """Say so of scores whose classes other columns name row by row."""
    if c.source.form == "ranked" or not c.source.many:
        return None
    for one in c.head.sources:
        if one.form == "ranked" and one.columns == c.source.columns and c.how != "letters":
            return f"{', '.join(one.ranks[:2])} names the class of each score"
    names = _ranks_beside(c)
    return (
        f"{', '.join(names[:2])} may name the class of each score, and rows do not have every class once"
        if names
        else None
    )


def a_row_is_a_case(c: Candidate) -> str | None:
    """Say so of rows for each class, or for each system."""
    head = c.head
    for name, text in head.text.items():
        if name in (c.label, c.said) or len(head.values[name]) < FEW or 2 * len(head.values[name]) > head.n:
            continue
        _, which, counts = np.unique(text.astype(str), return_inverse=True, return_counts=True)
        if counts.min() < 2 or counts.min() != counts.max():
            continue
        if not c.source.many and np.abs(np.bincount(which, c.s) - 1).max() < 1e-3:
            return (
                f"it sums to 1 over the rows of each {name}: a row for each class, where a row for each "
                "case is expected"
            )
        for other in head.labels:
            if says("system", other) and len(head.values[other]) == counts[0]:
                return f"each {name} has a row for each {other}: several systems, one below the other"
    return None


def predictions_agree(c: Candidate) -> str | None:
    """Say what was predicted where the score is high, if that is another class than this, or than named."""
    if c.what != "class":
        return None
    predicted = cut(c.s, c.head.text[c.label]) if c.head.n >= FEW else None
    if predicted not in (None, c.positive):
        return f"{c.label} is {predicted} where it is high"
    for name, label in c.decided.items():
        if name not in c.head.predictions and named("truth", name):
            continue
        if label not in c.own:
            label = next((one for one in c.own if CUSTOM.get(one) == CUSTOM.get(label)), label)
        if label != c.positive:
            return f"{name} is {label} where it is high"
        hint = c.class_in_name
        return f"its name says {hint}" if hint not in (None, label) else None
    return None


def score_is_of_this_class(c: Candidate) -> str | None:
    """Say so if a name or custom speaks for the other class, or nothing, not even the ranking, for this."""
    if c.what != "class" or c.decided:  # a column of predictions says it
        return None
    if c.class_in_name is not None:
        if c.class_in_name != c.positive:
            return f"its name says that it is of {c.class_in_name}"
        numbered = c.label in c.head.ordered and c.positive.isdigit()  # a name, or the number of a class
        turned = numbered and ranks(c.s, c.y == 1) < -2
        return asks(f"it is lower where {c.label} is {c.positive}") if turned else None
    if c.side == 0 and (c.head.n < FEW or cut(c.s, c.head.text[c.label]) != c.positive):
        return "by custom one score is that of the class that is 1"
    if c.ranked and ranks(c.s, c.y == 1) < SURELY:
        return asks(f"nothing says whether it is of {c.positive}, and it is not clearly higher there")
    return None


def right_is_no_class(c: Candidate) -> str | None:
    """Say so of a confidence in being right that is the score of a class."""
    if c.what != "right":
        return None
    if any(cut(c.s, c.head.text[one]) for one in c.head.predictions):
        return "a prediction is a threshold of it: it is the score of a class, not of what is right"
    low = c.s < HALF
    if c.label and low.sum() >= FEW and ranks(c.s[low], c.y[low] == 1) < -3:
        return asks("below one half it is right the more often the lower it is: the score of a class")
    return None


def confidence_is_one(c: Candidate) -> str | None:
    """Say so of a confidence in what was predicted that is the score of a class, or of another rank."""
    if c.what != "answer":
        return None
    name, both = c.source.columns[0], c.own | c.head.values[c.said]
    if c.y.min() == c.y.max():
        return f"{c.label} and {c.said} are equal in {'every' if c.y.all() else 'no'} row"
    spoken = named("text", c.said) or {*tokens(name)} & {"conf", "confidence", "certainty"}
    if c.s.min() < HALF * 2 / len(both) and not spoken and c.head.n >= FEW:
        return f"{c.s.min():.3g} is no confidence in the most probable of {len(both)} classes"
    if len(both) == 2 and any(cut(c.s, c.head.text[one]) for one in (c.label, c.said)):
        return f"{c.said} is a threshold of it: it is the score of a class"
    numbers = [[one for one in tokens(x) if one.isdigit()] for x in (name, c.said)]
    if all(numbers) and numbers[0] != numbers[1]:
        return f"{c.said} is of another rank"
    for one in c.head.rivals:
        family = one.many and one.form == "columns" and one.numbered and name in one.columns
        if (
            family
            and {*one.columns} <= c.head.fractions.keys()
            and (c.source.values[:, 0] < one.top - 1e-9).any()
        ):
            return f"it is not the largest of {', '.join(one.columns[:3])}"
    return "its name says of which class it is" if c.class_in_name and not numbers[1] else None


def is_confident(stem: str) -> bool:
    """Tell whether a name says that a score is a confidence, or that of being right."""
    return says("confidence", stem) or is_called("confidence", stem)


def is_called_a_confidence(c: Candidate) -> str | None:
    """Say so of the score of a class that is named as a confidence."""
    words = {"conf", "confidence", "confidences", "certainty"} & {*tokens(c.source.stem)}
    return (
        f"its name says that it is a confidence, perhaps not that in {c.positive}"
        if c.what == "class" and words
        else None
    )


def right_is_of_a_confidence(c: Candidate) -> str | None:
    """Say so of a score beside what is right, unless its name or the values say that it is the confidence."""
    if c.what != "right" or not c.label or not (c.s < HALF).any() or is_confident(c.source.stem):
        return None
    of_class = np.where(c.y == 1, np.maximum(c.s, 1 - c.s), np.minimum(c.s, 1 - c.s))
    clear = c.likelihood - np.log(np.maximum(of_class, 1e-3)).sum() > CLEARLY
    if clear and c.calibrated and c.expected:
        return None
    return f"it may be the score of a class, not the confidence that {c.label} is about"


def is_not_a_confidence(c: Candidate) -> str | None:
    """Say so of the score of a class that may be the confidence in what was predicted."""
    if c.what != "class" or c.proved:
        return None
    if c.head.n >= FEW and c.s.min() >= HALF and len(np.unique(c.y)) == 2:
        rows = int((c.y == 0).sum())
        return (
            f"it is never below one half, and {c.label} is not {c.positive} in {rows} rows: it may be the "
            "confidence in what was predicted"
        )
    if c.decided:
        return None
    for one in c.head.predictions:
        if one != c.label and c.head.values[one] & c.own and not c.head.values[one] <= c.own:
            return f"it may be the confidence in what {one} names"
    odd = next((one for one in c.others if _is_undecided(c, one)), None)
    return f"it does not decide which class {odd} names: it may be the confidence in that" if odd else None


def _is_undecided(c: Candidate, name: str) -> bool:
    """Tell whether a column of the same classes may be what a score is the confidence in."""
    text = c.head.text[name]
    if np.array_equal(text, c.head.text[c.label]):
        return False
    rest = text != c.positive  # a confidence in this column would be lower where it is wrong
    related = abs(ranks((text == max(c.head.values[name])).astype(float), c.y == 1)) > 3
    called = name in c.head.predictions or named("label", name) or named("truth", name)
    return (related or called) and (c.s.min() >= HALF or ranks(c.s[rest], c.y[rest] == 1) < 3)


def named_as_classes(c: Candidate) -> bool:
    """Tell whether the columns are named as the labels are."""
    words = {plain_text(one) for one in c.source.classes if not one.isdigit()}
    return c.what == "classes" and c.how == "names" and bool(words & c.own) and (c.named or c.gain > 0)


def label_is_named_or_proved(c: Candidate) -> str | None:
    """Say so of a label of an unknown name, unless it stands alone or is proved."""
    words = not all(re.fullmatch(r"-?\d+|true|false", one) for one in c.own)
    said = any(one != c.label and c.head.values[one] == c.own for one in c.head.predictions)  # the same words
    truth = c.named or c.what == "right" or named_as_classes(c) or (words and said and c.gain > 0)
    if c.what == "answer":
        truth = truth and (
            c.said in c.head.predictions
            or says("prediction", c.said)
            or named("text", c.said)
            or (named("truth", c.label) and named("label", c.said))
            or (says("confidence", c.source.stem) and named("label", c.said))
        )
    if truth or c.proved or (c.what in ("classes", "class") and _stands_alone(c)):
        return None
    return f"{c.label} is not named as a label, and the scores are not proved to be calibrated for it"


def _stands_alone(c: Candidate) -> bool:
    """Tell whether no other column could be the truth, and the scores say much of this one."""
    if (c.y < 0).any():
        return False
    for name in c.head.columns:
        if name in (c.label, *c.source.columns, *c.head.predictions) or says("score", name):
            continue
        words = tokens(name)
        if any(PATTERNS["derived"].fullmatch(one) or PATTERNS["system"].fullmatch(one) for one in words):
            continue
        if name in c.head.text and len(c.head.values[name]) in (0, 1, c.head.n):
            continue  # nothing, or an identifier
        likeliest = c.source.values.argmax(axis=1)
        if c.source.many and name in c.head.labels:
            if not any((likeliest == one.y).all() for one in matches(c.head, name, c.source)):
                return False
        elif c.source.many or name not in c.decided:
            return False
    is_question = not {*tokens(c.label)[:1]}.isdisjoint(ASKED)
    return c.gain > MUCH or (is_question and c.what == "class" and ranks(c.s, c.y == 1) > CLEARLY)


def scores_are_named(c: Candidate) -> str | None:
    """Say so of scores of an unknown name, unless they are named as the labels."""
    theirs = {one for x in (c.label, *c.own) for one in tokens(x)}
    words = tokens(c.source.stem)
    names = {
        one
        for one in words
        if one != "p" and not one.isdigit() and not any(alike(one, other) for other in theirs)
    }
    of_what = (
        not c.source.many and bool(names) and not any(PATTERNS["score"].fullmatch(one) for one in names)
    )  # p_width
    many = c.p.shape[1] > 2 and c.kind != "logits" and c.how == "names" and c.named
    customs = (
        c.source.many
        and all(plain_text(one) in CUSTOMARY for one in c.source.classes)
        and not c.source.numbered
    )
    classes = c.source.given and set(c.source.classes) >= set(c.source.columns)
    if c.what in ("answer", "right") and is_confident(c.source.stem):
        return None
    if (c.source.named and not of_what) or classes or named_as_classes(c) or ((many or customs) and c.shown):
        return None
    return f"{c.source.columns[0]} is not named as a score"


def scores_are_named_alone(c: Candidate) -> str | None:
    """Say so if scores without labels have no name of scores."""
    if c.label or c.source.named or c.source.given:
        return None
    return f"{c.source.columns[0]} is not named as a score"


FAULT = (  # of rows, not of the reading: whoever reads them all names the row
    Rule(a_score_is_missing, labelled=False),
    Rule(a_score_is_outside, labelled=False),
    Rule(a_sum_is_off, "renormalize", labelled=False),
    Rule(labels_are_there),
    Rule(labels_are_two),
)
STRIKE = (
    Rule(fits_its_kind, labelled=False),
    Rule(sums_are_one, "renormalize", labelled=False),
    Rule(percents_sum, labelled=False),
    Rule(some_class_is_possible, labelled=False),
    Rule(logits_are_no_margins, labelled=False),
    Rule(kind_is_named, "kind", labelled=False),
    Rule(percent_is_one_scale, "kind", labelled=False),
    Rule(is_no_percent, "kind"),
    Rule(names_are_no_places, "classes"),
    Rule(names_are_told_apart),
    Rule(is_stored_by_class, labelled=False),
    Rule(is_not_sorted, "classes scores", labelled=False),
    Rule(is_not_one_hot, "scores", labelled=False),
    Rule(is_no_part_of_a_family, "scores", labelled=False),
    Rule(is_no_part_of_others, "scores", labelled=False),
    Rule(its_family_is_of_numbers, "scores", labelled=False),
    Rule(is_not_computed, "scores", labelled=False),
    Rule(is_named_as_a_score, "scores", labelled=False),
    Rule(is_no_copy, "scores", labelled=False),
    Rule(is_not_made_of_another, "scores", labelled=False),
    Rule(parts_are_one, "label_column scores"),
    Rule(label_is_no_prediction, "label_column"),
    Rule(label_is_nothing_else, "label_column"),
    Rule(label_does_not_follow, "label_column"),
    Rule(label_is_not_whether_right, "label_column"),
    Rule(places_show_in_the_values, "classes"),
    Rule(a_row_is_a_case),
    Rule(predictions_agree),
    Rule(score_is_of_this_class, "positive"),
    Rule(right_is_no_class, "confidence"),
    Rule(confidence_is_one),
)
DOUBT = (
    Rule(is_called_a_confidence, "positive scores"),
    Rule(right_is_of_a_confidence, "positive"),
    Rule(is_not_a_confidence, "positive"),
    Rule(label_is_named_or_proved, "label_column"),
    Rule(scores_are_named, "scores"),
    Rule(scores_are_named_alone, "scores", labelled=False),
)


REMARK = (Rule(label_follows),)
EVERYWHERE = (  # what must hold in all rows of the one score that was chosen
    Rule(percent_is_one_scale, "kind", labelled=False),
    Rule(right_is_no_class, "confidence"),
    Rule(confidence_is_one),
    Rule(a_row_is_a_case),
)
