"""Scores as text: "[0.1, 0.9]", "0.1,0.9", "0,9", lists of {label, score}, objects of scores, "87%"."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from functools import partial, reduce
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.compute as pc

from calcli.core.language.errors import InputError
from calcli.io.layouts import pairs
from calcli.io.layouts.unpack import Head, Unpacked
from calcli.io.layouts.vectors import MOST, one_of
from calcli.io.options import ReadOptions
from calcli.io.tables.table import Derived, Row
from calcli.io.words import RANKED, may_be_label, says, several_orders

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf(?:inity)?)"
BETWEEN = r"\s*[,;|]\s*|\s+"
NUMBERS = re.compile(rf"(?i)\s*[\[(]?\s*(?:{NUMBER})(?:(?:{BETWEEN})(?:{NUMBER}))+\s*[\])]?\s*")
ONE_HOT = re.compile(r"\s*[\[(](\s*[01](\.0*)?\s*[,;\s]?){2,}[\])]\s*")
ONE = re.compile(rf"(?i)\s*[\[(]+\s*(?:{NUMBER})\s*,?\s*[\])]+\s*")
SPARSE = re.compile(
    r"\s*\(\s*(\d{1,7})\s*,\s*\[([\d,\s]*)\]\s*,\s*\[([^\[\]]*)\]\s*\)\s*"
)  # as Spark shows it
WORDS = re.compile(r"\s*\[[^{}]*\]\s*", re.DOTALL)
OBJECTS = re.compile(r"\s*\[?\s*\{.*\}\s*\]?\s*", re.DOTALL)
SEPARATORS = (",", ";", r"\|", r"[^\s,;|]\s+[^\s,;|]")
ALONE = re.compile(rf"(?i)\s*(?:{NUMBER})\s*")
DECIMAL = re.compile(r"(?i)\s*[-+]?\d*(?:,\d+)?(?:e[-+]?\d+)?\s*")
PERCENT = re.compile(r"\s*\d+(?:\.\d+)?\s*%\s*")
WRAPPED = re.compile(
    r"(?:np\.|numpy\.)?(?:float\d*|array|tensor)\(([^()]*?)(?:,\s*(?:dtype|device|grad_fn)=[^()]*)?\)"
)
LOOKED_AT = 16  # values that reveal the form
HALVES = re.compile(r"\\[uU]\w*[dD][89a-fA-F]")  # escapes of surrogates; a single one is no character
UNLIKE = (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError)  # of objects that have no type, or another one


def unpack(field: Any, head: Head, options: ReadOptions) -> Unpacked | None:
    """Return lists of numbers, lists of classes with their scores, or numbers from percentages."""
    kind, name = field.type, field.name
    label = may_be_label(name) and not says("prediction", name)
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return None
    in_options = name in (options.scores, options.confidence)
    if not (label or in_options or says("score", name) or RANKED.fullmatch(name)):
        return None
    values = [value for value in head().to_pylist() if value and value.strip()]
    if not values:
        return None
    plainly = [_unwrapped(value) for value in values[:LOOKED_AT]]
    if label:
        hot = all(map(ONE_HOT.fullmatch, plainly))
        return Unpacked((Derived(name, pa.int64(), _places),)) if hot else None
    if unpacked := _of_numbers(name, values, plainly):
        return unpacked
    if RANKED.fullmatch(name):
        if all(map(WORDS.fullmatch, plainly)) and any("," in value or "'" in value for value in plainly):
            return Unpacked((Derived(name, pa.list_(pa.string()), _words),))
        return None
    if all(map(OBJECTS.fullmatch, plainly)):
        return _of_objects(field, list(map(_unwrapped, values)), options)
    return None


def _of_numbers(name: str, values: list[str], plainly: list[str]) -> Unpacked | None:
    """Return numbers, or lists of numbers, if text holds such."""
    if all(map(PERCENT.fullmatch, plainly)):
        return Unpacked((Derived(name, pa.float64(), _percentages),), percent=True)
    if all(map(ALONE.fullmatch, plainly)) and any("." in value for value in plainly):
        return Unpacked((Derived(name, pa.float64(), _single),))
    if all(map(DECIMAL.fullmatch, values)) and any("," in text for text in values) and not _are_pairs(values):
        return Unpacked((Derived(name, pa.float64(), _decimals),), note=f"{name} has decimal commas")
    if all(map(ONE.fullmatch, plainly)):
        return Unpacked((Derived(name, pa.float64(), _unlisted),))
    if all(SPARSE.fullmatch(text) or NUMBERS.fullmatch(text.replace("...", " 0 ")) for text in plainly):
        make = _of_pairs if all(map(DECIMAL.fullmatch, values)) else _vectors
        return Unpacked((Derived(name, pa.list_(pa.float64()), make),), note=f"{name} holds lists as text")
    return None


def _are_pairs(values: list[str]) -> bool:
    """Return whether numbers with a comma may also be pairs: of 0 and 1, or percentages that sum to 100."""
    cells = [value.strip().split(",") for value in values]
    integers = all(len(cell) == 2 and all(part.lstrip("+").isdigit() for part in cell) for cell in cells)
    return (integers and len({sum(map(int, cell)) for cell in cells}) == 1 and len(values) > 1) or all(
        value.strip() in ("0,1", "1,0", "0,0", "1,1") for value in values
    )


def _unwrapped(text: str) -> str:
    """Return text without the words that numpy and torch print around numbers."""
    while (shorter := WRAPPED.sub(r"\1", text)) != text:
        text = shorter
    return text


def refuse_cell(row: str, text: str | None, why: str, error: Exception | None = None) -> NoReturn:
    """Raise an InputError that shows a cell."""
    raise InputError(f'{row} has "{(text or "")[:60]}"{why}') from error


def _percentages(texts: Any, row: Row) -> Any:
    unsigned = pc.match_substring_regex(texts, r"(?i)^\s*[^\s%n][^%]*$")  # nan is missing
    if (n := pc.index(unsigned, True).as_py()) >= 0:
        refuse_cell(row(n), texts[n].as_py(), " among percentages; expected a number with a percent sign")
    bare = pc.replace_substring(texts, "%", "", max_replacements=1)
    return _single(bare, row, "a number with a percent sign")


def _numbers(texts: Any, row: Row) -> Any:
    """Return the numbers in text such as "[0.1, 0.9]"; a missing value is an empty list."""
    cells = pc.fill_null(texts, "")
    if pc.any(pc.match_substring(cells, "(")).as_py():
        cells = pa.array([_unwrapped(text) for text in cells.to_pylist()], pa.string())
    if pc.any(pc.match_substring(cells, "...")).as_py():
        n = pc.index(pc.match_substring(cells, "..."), True).as_py()
        raise InputError(
            f"{row(n)} has scores of which some were left out as they were printed (...): they are not in "
            "the file; save all of them"
        )
    bare = pc.utf8_trim(cells.cast(pa.string()), "[]() \t\r\n")
    _refuse_two_separators(bare, row)
    lists = pc.split_pattern_regex(bare, BETWEEN)
    flat = lists.flatten()
    if pc.any(pc.equal(flat, "")).as_py():  # missing values
        lists = pa.array([[x for x in words if x] for words in lists.to_pylist()], pa.list_(pa.string()))
        flat = lists.flatten()
    return pa.ListArray.from_arrays(lists.offsets, _as_numbers(flat, lists, row, "numbers, as in [0.1, 0.9]"))


def _unlisted(texts: Any, row: Row) -> Any:
    """Return the one number in each list."""
    return _single(pc.utf8_trim(texts, "[](), \t\r\n"), row)


def _places(texts: Any, row: Row) -> Any:
    """Return the position of the single 1 in each list."""
    return one_of(_numbers(texts, row), row)


def _vectors(texts: Any, row: Row) -> Any:
    """Return lists of numbers, dense or sparse."""
    if pc.any(pc.match_substring_regex(texts, r"\].*\[")).as_py():
        matches = [(text, SPARSE.fullmatch(text or "")) for text in texts.to_pylist()]
        texts = pa.array([_dense(match) if match else text for text, match in matches], pa.string())
    return _numbers(texts, row)


def _dense(match: re.Match[str]) -> str:
    """Return a sparse vector as a list; with odd indices the unchanged text, which is refused later."""
    size, places, values = int(match[1]), match[2].split(","), match[3].split(",")
    entries = ["0"] * min(size, MOST)
    for place, value in zip(places, values, strict=False):
        if place.strip() and int(place) < len(entries):
            entries[int(place)] = value
    return f"[{','.join(entries)}]" if len(places) == len(values) else match[0]


def _refuse_two_separators(cells: Any, row: Row) -> None:
    kinds = [pc.match_substring_regex(cells, separator).cast(pa.int8()) for separator in SEPARATORS]
    two = pc.greater(reduce(pc.add, kinds), 1)
    if (n := pc.index(two, True).as_py()) >= 0:
        why = ", scores with two kinds of separators; expected one; if commas are decimal ones, write points"
        refuse_cell(row(n), cells[n].as_py(), why)


def _of_pairs(texts: Any, row: Row) -> Any:
    """Refuse text such as "0,1"; a missing value is an empty list."""
    for n, text in enumerate(texts.to_pylist()):
        if text and text.strip():
            why = (
                ", as others, which may be one number with a decimal comma, or two scores; write a decimal "
                "point, or brackets around the two"
            )
            refuse_cell(row(n), text.strip(), why)
    return pa.array([[]] * len(texts), pa.list_(pa.float64()))


def _decimals(texts: Any, row: Row) -> Any:
    """Return numbers with decimal commas."""
    return _single(pc.replace_substring(texts, ",", ".", max_replacements=1), row)


def _single(texts: Any, row: Row, expected: str = "a number") -> Any:
    """Return one number in each text; a missing value is null."""
    cells = pc.utf8_trim_whitespace(texts)
    cells = pc.if_else(pc.equal(cells, ""), pa.scalar(None, cells.type), cells)
    return _as_numbers(cells, cells, row, expected)


def _as_numbers(flat: Any, cells: Any, row: Row, expected: str) -> Any:
    """Return text as numbers; `cells` has the text of each row, for messages."""
    try:
        return flat.cast(pa.float64())
    except pa.ArrowInvalid as error:
        for n, cell in enumerate(cells.to_pylist()):
            for text in cell if isinstance(cell, list) else [cell or "nan"]:
                if not re.fullmatch(f"(?ai){NUMBER}", text):
                    refuse_cell(row(n), text, f" among the scores; expected {expected}", error)
        raise


def _words(texts: Any, row: Row) -> Any:
    """Return the names in text such as "['cat', 'dog']"."""
    return pa.array([[str(w) for w in _parsed(text, row, n)] for n, text in enumerate(texts.to_pylist())])


def _of_objects(field: Any, values: list[str], options: ReadOptions) -> Unpacked | None:
    """Return the columns of text that holds objects: each a {label, score}, or one of scores by class."""
    literal, classes = _literal(values[0]), None
    if isinstance(literal, dict):
        scores = _scores_in(literal)
        if scores is None or len(scores) < 2:
            return None
        if not several_orders(filter(None, (_scores_in(_literal(value)) for value in values))):
            classes = tuple(map(str, scores))

        def parse(texts: Any, row: Row) -> Any:
            read = [_scores_by_class(text, row, n) for n, text in enumerate(texts.to_pylist())]
            return pa.array([[{"label": k, "score": v} for k, v in scores.items()] for scores in read], kind)

        kind = pa.list_(pa.struct([("label", pa.string()), ("score", pa.float64())]))
    elif isinstance(literal, list) and literal and isinstance(literal[0], dict):
        try:
            kind = pa.array([literal]).type
        except UNLIKE:
            return None

        def parse(texts: Any, row: Row) -> Any:
            read = [_parsed(text, row, n) for n, text in enumerate(texts.to_pylist())]
            try:
                return pa.array(read, kind)
            except UNLIKE:
                _refuse_unlike(texts.to_pylist(), read, kind, row)
                raise

    else:
        return None
    unpacked = pairs.unpack(pa.field(field.name, kind), lambda: None, options)
    if unpacked is None:
        return None
    columns = tuple(Derived(d.name, d.type, partial(_after, parse, d.make)) for d in unpacked.made)
    return Unpacked(columns, note=f"{field.name} holds objects as text", classes=classes)


def _refuse_unlike(texts: list[str], read: list[Any], kind: Any, row: Row) -> None:
    """Refuse the first text with objects of another type."""
    for n, text in enumerate(texts):
        try:
            pa.array([read[n]], kind)
        except UNLIKE as error:
            refuse_cell(row(n), text, f", unlike the first row: {error}", error)


def _after(parse: Callable[..., Any], make: Callable[..., Any], texts: Any, row: Row) -> Any:
    return make(parse(texts, row), row)


def _literal(text: str) -> Any:
    """Return the value of JSON or a Python literal; None if text is neither, or holds half a character."""
    for parse in (json.loads, ast.literal_eval):
        try:
            value = parse(text)
            if HALVES.search(text):
                json.dumps(value, ensure_ascii=False, default=str).encode()
            return value
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
    return None


def _scores_in(literal: Any) -> dict[Any, float] | None:
    """Return an object of scores, perhaps inside another object, as Snowflake writes; None without any."""
    if not isinstance(literal, dict):
        return None
    if all(isinstance(value, int | float) for value in literal.values()):
        return literal
    inner = [value for value in literal.values() if isinstance(value, dict)]
    return _scores_in(inner[0]) if len(inner) == 1 else None


def _scores_by_class(text: str | None, row: Row, n: int) -> dict[str, float]:
    scores = _scores_in(_parsed(text, row, n))
    if scores is None:
        refuse_cell(row(n), text, ", which is not an object of scores by class")
    try:
        return {str(name): float(score) for name, score in scores.items()}
    except OverflowError as error:
        refuse_cell(row(n), text, ", with a score beyond all numbers", error)


def _parsed(text: str | None, row: Row, n: int) -> Any:
    parsed = _literal(_unwrapped(text or ""))
    if parsed is None:
        refuse_cell(row(n), text, ", which is not a list as in the first row")
    return parsed
