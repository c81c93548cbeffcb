"""The words in names of columns: for scores, labels and predictions, and for other columns."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Container, Iterable, Sequence, Set
from functools import cache
from importlib.resources import files

from calcli.core.data.predictions import Kind

_TABLES = tomllib.loads(files("calcli.io").joinpath("words.toml").read_text("utf-8"))
ROLES = {role: frozenset(words.split()) for role, words in _TABLES["roles"].items()}
PATTERNS = {kind: re.compile(words) for kind, words in _TABLES["patterns"].items()}
NAMES: dict[str, str] = _TABLES["names"]
NULLS: list[str] = _TABLES["missing"]["numbers"]  # words for missing numbers
MISSING_NAMES = ("", "nan", "none", "null", "<na>")
NOT_AVAILABLE = ("na", "n/a", "#n/a")  # missing unless it names a class
MISSING_NUMBERS = (-1, -100, 255)  # mark of ignored rows in segmentation and language models


def _sides(pairs: str) -> dict[str, int]:
    return {word: place for pair in pairs.split(",") for place, word in enumerate(pair.split())}


TRUTH = _sides(_TABLES["sides"]["truth"])
BARE = TRUTH | _sides(_TABLES["sides"]["bare"])
CUSTOM = BARE | _sides(_TABLES["sides"]["custom"])
GRADES = frozenset(("i", "c", "incorrect", "correct", "wrong", "right"))  # words that only mean right
BETWEEN = re.compile(  # words of a name, not digits of a number
    r"(?<=[^\W\d_])[\s_.\-]+(?=[^\W_])|(?<=[^\W_])[\s_.\-]+(?=[^\W\d_])"
)
PARTS = {"train": "train", "test": "test"} | dict.fromkeys(
    ("val", "valid", "validation", "dev", "eval"), "val"
)
IDENTIFIER = re.compile(
    r"ids?|uids?|uuid|guid|key|question|prompt|item|example|instance|document|doc|article|image|img|sample|case|"
    r"patient|subject|user|customer|client|account|person|session|study|slide|specimen|household|family"
)
PLACE = re.compile(r"index|idx|number|no|nr")  # of a thing, as in row_index
STEMS: dict[str, Kind | None] = {stem: kind or None for stem, kind in _TABLES["stems"].items()}
STEM = "|".join(sorted(STEMS, key=len, reverse=True))
LEAD = (
    r"(?:(?:y|predictions?|predicted|predict|preds?|yhat|oof|class|scored|softmax|test|val|sagemakeroutput)"
    r"[_.\- ]*)*"
)
PREFIXED = re.compile(rf"(?is){LEAD}({STEM})s?[_.\-: ](.+)")
ALONE = re.compile(rf"(?i){LEAD}({STEM})s?")
RANKED = re.compile(r"(?i)((?:class_)?(?:index|indices|idx)|labels?|class(?:es)?|names?)(?:[_.\-: ](\d+))?")


@cache
def tokens(name: str) -> tuple[str, ...]:
    """Return the words and numbers of a name."""
    name = re.sub(r"(?i)log[_ -]odds", "logodds", name)
    name = re.sub(r"(?i)\bp[_ -]?(val(?:ue)?s?)\b", r"p\1", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name))
    return tuple(token.casefold() for token in re.findall(r"[^\W\d_]+|\d+", name))


def says(kind: str, name: str) -> bool:
    """Return whether some word of a name is of this kind."""
    return any(PATTERNS[kind].fullmatch(token) for token in tokens(name))


def named(kind: str, column: str) -> bool:
    """Return whether a column, or the last part of its path, has such a name, apart from words like test."""
    for words in (tokens(column), tokens(re.split(r"\.(?=\w+$)", column)[-1])):
        main = [word for word in words if word not in PARTS]
        if any(PATTERNS[kind].fullmatch("".join(joined)) for joined in (words, main) if joined):
            return True
    return False


def may_be_label(column: str) -> bool:
    """Return whether a column, or the last part of its path, has a name for labels or for the truth."""
    return named("label", column) or named("truth", column)


def is_called(kind: str, name: str) -> bool:
    """Return whether a whole name is one of these."""
    return re.fullmatch(NAMES[kind], plain_name(name)) is not None


def plain_name(name: str) -> str:
    """Return a name without regard to case, blanks, dots and dashes."""
    return re.sub(r"[\s.\-]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip())).lower()


def missing_words(classes: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the words, in lower case, for missing values, without names of classes."""
    class_names = {name.strip().lower() for name in classes}
    words = (*MISSING_NAMES, *NOT_AVAILABLE) if len(class_names) > 1 else MISSING_NAMES
    return tuple(word for word in words if word not in class_names)


def plain_text(value: object, missing: Container[str] = ()) -> str:
    """Return a value as text that is equal for the same class; "" for missing values and words for them."""
    text = str(value).strip().casefold()
    if value is None or text in missing:
        return ""
    text = BETWEEN.sub(" ", text if text.isascii() else unicodedata.normalize("NFC", text))
    return re.sub(r"^(-?\d+)\.0+$", r"\1", text) if text.endswith("0") else text


def customary(values: Iterable[str]) -> bool:
    """Return whether all values are 0 or 1 by custom."""
    return all(value in CUSTOM for value in values)


def are_custom(classes: Sequence[str]) -> bool:
    """Return whether two classes are by custom 0 and 1, in any order."""
    return sorted(CUSTOM.get(plain_text(class_name), 2) for class_name in classes) == [0, 1]


def is_identifier(name: str) -> bool:
    """Return whether a column names cases, such as patient_id or row_index."""
    words = tokens(name)
    if not words or says("system", name) or says("class", name) or says("derived", name):
        return False
    if PLACE.fullmatch(words[-1]):
        words = words[:-1]
        return bool(words) and (words[-1] == "row" or bool(IDENTIFIER.fullmatch(words[-1])))
    return bool(IDENTIFIER.fullmatch(words[-1])) and not says("prediction", " ".join(words[:-1]))


SURE_STEM = "|".join(sorted((stem for stem, kind in STEMS.items() if kind), key=len, reverse=True))
SUFFIXED = re.compile(rf"(?is)(.+?)[_.\-: ](?:preds?[_.\-: ])?({SURE_STEM})s?")


def plain(name: str) -> str:
    """Return a name in small letters without blanks, dots, dashes and underscores."""
    return re.sub(r"[\s._\-]+", "", name).casefold()


def label_names(names: Iterable[str]) -> list[str]:
    """Return the names of labels among names; weak names only if there are no others."""
    names = list(names)
    return [n for n in names if named("truth", n)] or [n for n in names if named("label", n)]


def kind_by_name(names: Sequence[str]) -> tuple[Kind | None, str]:
    """Return the kind of scores from the names of their columns, and the reason."""
    kinds = {_kind(name) for name in names}
    kind = kinds.pop() if len(kinds) == 1 else None
    if kind is None:
        return None, ""
    prefixed = PREFIXED.fullmatch(names[0])
    text = names[0] if len(names) == 1 else ", ".join(names[:2]) + ", ..."
    if prefixed and len(names) > 1:
        text = names[0][: prefixed.start(2)] + "*"
    return kind, f"the scores are named {text}"


def _kind(name: str) -> Kind | None:
    alone, prefixed, suffixed = (pattern.fullmatch(name) for pattern in (ALONE, PREFIXED, SUFFIXED))
    stem = alone[1] if alone else prefixed[1] if prefixed else suffixed[2] if suffixed else ""
    return STEMS.get(stem.lower())


def stem_before(name: str) -> str:
    """Return the words before the word for a score, as in `neg_prob`; "" without any."""
    suffixed = SUFFIXED.fullmatch(name)
    return suffixed[1] if suffixed and not (ALONE.fullmatch(name) or PREFIXED.fullmatch(name)) else ""


def natural_key(text: str) -> list[tuple[int, str]]:
    """Return a key that sorts numbers in names as numbers: part-2 before part-10."""
    runs = re.split("([0-9]+)", text)
    # longer numbers are larger: no conversion, which Python refuses for thousands of digits
    numbers = (piece.lstrip("0") for piece in runs)
    return [
        (len(number), number) if i % 2 else (-1, piece)
        for i, (piece, number) in enumerate(zip(runs, numbers, strict=True))
    ]


def several_orders(rows: Iterable[Iterable[str]]) -> bool:
    """Return whether the same names occur in several orders, as if each row were sorted by its scores."""
    orders = {tuple(names) for names in rows}
    return len(orders) > len({frozenset(names) for names in orders})


def but_for_capitals(wanted: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Return names in the wanted order if they differ only in capitals or blanks; else none."""
    folded = {plain_text(name): name for name in names}
    names_found = tuple(folded[plain_text(name)] for name in wanted if plain_text(name) in folded)
    return names_found if len(names_found) == len(wanted) == len(names) == len(set(names_found)) else ()


def differ_in_numbers(names: Sequence[str]) -> bool:
    """Return whether names differ only in their numbers."""
    return len({re.sub(r"\d+", "0", name) for name in names}) <= 1


def natural_order(names: Sequence[str]) -> list[int]:
    """Return the order of class names: by number if they differ only in numbers, else unchanged."""
    if not differ_in_numbers(names):
        return list(range(len(names)))
    return sorted(range(len(names)), key=lambda i: natural_key(names[i]))


@cache
def event(name: str) -> tuple[str, ...]:
    """Return the words of a label's name except words for labels."""
    role_words = ROLES["truth"] | ROLES["label"] | ROLES["hint"] | ROLES["prediction"]
    return tuple(word for word in tokens(name) if word not in role_words)


@cache
def scored_event(name: str) -> tuple[str, ...]:
    """Return the words of a score's name except words for scores."""
    roles = ("probability", "score", "system", "filler", "logit", "logarithm", "prediction")
    role_words = (ROLES["truth"] - {"true"}).union(*(ROLES[role] for role in roles))
    return tuple(word for word in tokens(name) if word not in role_words)


def similar(word: str, wanted: str) -> bool:
    """Return whether two words differ only in their endings: churn, churned; bankrupt, bankruptcy."""
    short = min(len(word), len(wanted))
    common = next((n for n, (a, b) in enumerate(zip(word, wanted, strict=False)) if a != b), short)
    return word == wanted or (common >= 3 and common >= 0.6 * short and (common >= 4 or common == short))


def overlap(words: Iterable[str], second_words: Iterable[str]) -> bool:
    """Return whether a word of one name is similar to a word of another, or both names are one word."""
    words, second_words = tuple(words), tuple(second_words)
    alike = any(similar(a, b) for a in words for b in second_words)
    return alike or bool(words and second_words and "".join(words) == "".join(second_words))


def part_of_data(name: str) -> str:
    """Return the part of the data in a name, such as train or val; "" if none or several."""
    splits = {PARTS[word] for word in tokens(name) if word in PARTS}
    return splits.pop() if len(splits) == 1 else ""


def sides(values: Set[str], names: Sequence[str] = ()) -> tuple[list[str], bool]:
    """Return two values, the positive one last, and whether custom or metadata tell."""
    ordered = [plain_text(name) for name in names]
    ordered_values = sorted(values, key=str)
    if len(ordered) == 2 and values <= {*ordered}:
        return ordered, True
    if customary(values):
        return sorted(ordered_values, key=CUSTOM.__getitem__), True
    for value, rival in ((a, b) for a in ordered_values for b in ordered_values if a != b):
        words = tokens(rival)
        if words and words[0] in ROLES["negation"] and words[1:] == tokens(value):
            return [rival, value], True
        if value in ("no", "0", "none", "n"):
            return [value, rival], True
    try:
        return sorted(ordered_values, key=float), True
    except ValueError:
        return ordered_values, False
