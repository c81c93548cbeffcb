"""What columns and arrays are usually called, without regard to case, blanks, dots and underscores."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from calcli.core.data.predictions import Kind
from calcli.io.words import named, plain_text, says

STEMS: dict[str, Kind | None] = {
    "logit": "logits",
    "log_prob": "log-probs",
    "logprob": "log-probs",
    "log_probabilitie": "log-probs",
    "log_probability": "log-probs",
    "prob": "probs",
    "proba": "probs",
    "probabilitie": "probs",
    "probability": "probs",
    "score": None,
    "decision_function": None,
    "p": None,
}
STEM = "|".join(sorted(STEMS, key=len, reverse=True))
SURE_STEM = "|".join(sorted((stem for stem, kind in STEMS.items() if kind), key=len, reverse=True))
LEAD = (
    r"(?:(?:y|predictions?|predicted|predict|preds?|yhat|oof|class|scored|softmax|test|val|sagemakeroutput)"
    r"[_.\- ]*)*"
)
PREFIXED = re.compile(rf"(?is){LEAD}({STEM})s?[_.\-: ](.+)")
SUFFIXED = re.compile(rf"(?is)(.+?)[_.\-: ](?:preds?[_.\-: ])?({SURE_STEM})s?")
ALONE = re.compile(rf"(?i){LEAD}({STEM})s?")
NO_SCORES = re.compile(  # lists that are something else
    r"(?i).*(embedding|embeddings|embed|features?|vector|hidden|hidden_states?|input_ids|tokens?|token_ids|"
    r"token_type_ids|attention_mask|pixel_values|bbox|boxes|choices|references|(filtered_)?resps)"
)
RANKED = re.compile(r"(?i)((?:class_)?(?:index|indices|idx)|labels?|class(?:es)?|names?)(?:[_.\-: ](\d+))?")
TOP = r"top[_\- ]?(\d+)"
TOPPED = re.compile(rf"(?i)(?:.*[_.\-: ])?{TOP}(?:[_.\-: ].*)?")


def plain(name: str) -> str:
    """Return a name in small letters without blanks, dots, dashes and underscores."""
    return re.sub(r"[\s._\-]+", "", name).casefold()


def label_names(names: Iterable[str]) -> list[str]:
    """Return which of the names are those of labels; weak ones only where there is no other."""
    names = list(names)
    return [one for one in names if named("truth", one)] or [one for one in names if named("label", one)]


def score_names(names: Iterable[str]) -> list[str]:
    """Return which of the names are those of scores, or of arrays of them."""
    return [one for one in names if says("score", one)]


def kind_by_name(names: Sequence[str]) -> tuple[Kind | None, str]:
    """Return the kind of scores that the names of their columns tell, and how they are named."""
    kinds = {_kind(name) for name in names}
    kind = kinds.pop() if len(kinds) == 1 else None
    if kind is None:
        return None, ""
    prefixed = PREFIXED.fullmatch(names[0])
    shown = names[0] if len(names) == 1 else ", ".join(names[:2]) + ", ..."
    if prefixed and len(names) > 1:
        shown = names[0][: prefixed.start(2)] + "*"
    return kind, f"the scores are named {shown}"


def _kind(name: str) -> Kind | None:
    alone, prefixed, suffixed = (one.fullmatch(name) for one in (ALONE, PREFIXED, SUFFIXED))
    stem = alone[1] if alone else prefixed[1] if prefixed else suffixed[2] if suffixed else ""
    return STEMS.get(stem.lower())


def stem_before(name: str) -> str:
    """Return what stands before the word for a score alone, as in `neg_prob`; "" where nothing does."""
    suffixed = SUFFIXED.fullmatch(name)
    return suffixed[1] if suffixed and not (ALONE.fullmatch(name) or PREFIXED.fullmatch(name)) else ""


def natural_key(text: str) -> list[tuple[int, str]]:
    """Return a key that sorts numbers in names as numbers: part-2 before part-10."""
    pieces = re.split("([0-9]+)", text)
    # the longer of two is the larger: none need be converted, which Python refuses of thousands of digits
    numbers = (piece.lstrip("0") for piece in pieces)
    return [
        (len(number), number) if i % 2 else (-1, piece)
        for i, (piece, number) in enumerate(zip(pieces, numbers, strict=True))
    ]


def several_orders(rows: Iterable[Iterable[str]]) -> bool:
    """Tell whether the same names stand in several orders, as where each row is sorted by its scores."""
    orders = {tuple(names) for names in rows}
    return len(orders) > len({frozenset(names) for names in orders})


def but_for_capitals(wanted: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Return names in the order of those wanted, from which they differ in capitals or blanks; else none."""
    folded = {plain_text(name): name for name in names}
    found = tuple(folded[plain_text(name)] for name in wanted if plain_text(name) in folded)
    return found if len(found) == len(wanted) == len(names) == len(set(found)) else ()


def differ_in_numbers(names: Sequence[str]) -> bool:
    """Tell whether names are alike but for the numbers in them."""
    return len({re.sub(r"\d+", "0", name) for name in names}) <= 1


def natural_order(names: Sequence[str]) -> list[int]:
    """Return the order of class names: by number where they differ in numbers only, else as they are."""
    if not differ_in_numbers(names):
        return list(range(len(names)))
    return sorted(range(len(names)), key=lambda i: natural_key(names[i]))
