"""Some rows of a file, and all that may be scores or labels in them."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Doubles
from calcli.core.data.inmemory import ROUNDING, both_sides, without_rounding
from calcli.io.tables.labels import one_hot
from calcli.io.words import MISSING_NAMES, is_identifier, named, plain_text, says, tokens

ROWS = 10_000  # looked at, spread over the file, so that rare labels are among them
ELEMENTS = 1 << 18  # that these are at most, where columns are many
FEW = 20  # rows that may be so by chance
MANY = 100  # columns or families that are compared with all others
LARGE = 50  # columns of one family, none of which is looked at alone
EDGES = re.compile(r"[\W_]+|(?<=\D)(?=\d)|(?<=\d)(?=\D)")  # between the parts of a name
NUMBER = re.compile(r"-?\d+")
SIGN = re.compile(r"(?<=[_.:=(\[ ])-(?=\d)")
FRACTION = re.compile(r"\d[.]\d")
LETTER = re.compile(r"[^\W_]")


def distinct_texts(values: Array, missing: Container[str] = ()) -> tuple[Array, NDArray[np.intp]]:
    """Return what values mean, each once, as text, and which of these each of them is."""
    if values.dtype.kind in "OUS":
        distinct, which = np.unique(
            ["" if one is None else str(one) for one in values.tolist()], return_inverse=True
        )
        known = [plain_text(one, missing) for one in distinct.tolist()]
    else:
        distinct, which = np.unique(values, return_inverse=True)
        boolean = values.dtype.kind == "b"
        known = [
            str(one).lower() if boolean else "" if one != one else f"{one:.15g}" for one in distinct.tolist()
        ]
        if values.dtype.kind in "iu":
            known = list(map(str, distinct.tolist()))
    return np.array(known, object), which


def as_text(values: Array, missing: Container[str] = ()) -> Array:
    """Return values as text that is equal where they mean the same class; "" where one is missing."""
    known, which = distinct_texts(values, missing)
    texts: Array = known[which]
    return texts


@dataclass(frozen=True, eq=False)
class ScoreColumns:
    """Numbers that may be scores.

    Attributes
    ----------
    columns
        Their columns; one, if it holds lists.
    values
        (n, K) the numbers.
    stem
        What the names of the columns have in common.
    classes
        The rest of these names, a class each; none of a single column.
    form
        How they are stored: side by side, in lists, or sorted by rank.
    ranks
        Columns that name the class of each, where they are sorted.
    given
        Whether the user has named the classes.
    before
        The classes in the order of the file, where the user has put them in another.
    """

    columns: tuple[str, ...]
    values: Doubles
    stem: str
    classes: tuple[str, ...] = ()
    form: str = "columns"  # or "lists", "ranked"
    ranks: tuple[str, ...] = ()
    given: bool = False
    before: tuple[str, ...] = ()

    @property
    def many(self) -> bool:
        """Whether there are scores of several classes."""
        return self.values.shape[1] > 1

    @cached_property
    def plain(self) -> tuple[str, ...]:
        """The names of the classes as labels are compared with them."""
        return tuple(map(plain_text, self.classes))

    @cached_property
    def places(self) -> dict[str, int]:
        """The places of the classes by these names."""
        return {one: n for n, one in enumerate(self.plain)}

    @cached_property
    def numbered(self) -> bool:
        """Whether the names of the classes are numbers."""
        return all(NUMBER.fullmatch(one) for one in self.classes)

    @cached_property
    def named(self) -> bool:
        """Whether they are named as scores are."""
        family = self.many and self.form == "columns"
        if says("score", self.stem) or (family and says("class", self.stem)):
            return True
        return family and not self.stem and (self.numbered or all(says("score", one) for one in self.columns))

    @cached_property
    def span(self) -> tuple[float, float]:
        """The smallest and the largest of those that are finite."""
        there = self.values[np.isfinite(self.values)]
        return (float(there.min()), float(there.max())) if len(there) else (np.nan, np.nan)

    @cached_property
    def top(self) -> Doubles:
        """(n,) the largest of each row."""
        return self.values.max(axis=1)

    @cached_property
    def off(self) -> str:
        """Why the rows are no distributions; "" if they are, as far as rounding explains."""
        values, (low, high) = self.values, self.span
        values = values[~np.isnan(values).any(axis=1)]
        if not len(values):
            return ""  # a score is missing in each
        if not np.isfinite(values).all() or low < 0 or high > 1 + 1e-6:
            return f"{low:.4g} to {high:.4g} is not within 0 and 1"
        sums, k = values.sum(axis=1), values.shape[1]
        scaled = (values * 10**d for d in (1, 2, 3, 4))
        unit = next(
            (10.0**-d for d, one in enumerate(scaled, 1) if np.abs(one - np.round(one)).max() < 1e-4), 0
        )
        far = np.abs(sums - 1)
        fine = far.max() <= 1e-3 + min(0.05 * k, k / 2 * unit) + 2**-8 * (far.mean() < 2**-8)
        fine = fine or both_sides(values) > 0
        if fine and abs(sums.mean() - 1) <= 2e-3 + unit / 4:
            return ""
        return f"the rows do not sum to 1: one of them to {sums[far.argmax()]:.4g}"

    @cached_property
    def of_options(self) -> bool:
        """Whether they are log-probabilities of a few answers among all others there are, by their name."""
        if not self.many or not says("logarithm", self.stem) or not self.span[1] <= 0:
            return False
        with np.errstate(invalid="ignore"):
            sums = np.exp(self.values).sum(axis=1)
        return bool((sums[~np.isnan(sums)] <= 1 + ROUNDING).all())

    @cached_property
    def mostly_one(self) -> bool:
        """Whether most rows are distributions."""
        with np.errstate(over="ignore"):  # a sum beyond all numbers is not one
            sums = self.values.sum(axis=1)
        sums = sums[~np.isnan(sums)]
        return bool(self.span[0] >= 0 and len(sums)) and float((np.abs(sums - 1) <= 0.02).mean()) > 0.5

    @cached_property
    def descends(self) -> bool:
        """Whether no row rises, and most of them fall."""
        values = self.values
        return (
            bool((values[:, 1:] <= values[:, :-1]).all())
            and float((values[:, 0] > values[:, -1]).mean()) > 0.5
        )

    def only(self, rows: Array) -> ScoreColumns:
        """Return some of the rows."""
        return replace(self, values=self.values[rows])


@dataclass(frozen=True, eq=False)
class Head:
    """Some rows, spread over the file.

    Attributes
    ----------
    name
        Of the file, for messages.
    columns
        (n,) values of each column, of text as objects.
    lists
        (n, K) numbers, or text, of each column of lists.
    percent
        Columns that were written with the sign.
    classes
        Names of the classes of a column of lists, where it says them.
    unordered
        Columns whose order says nothing.
    words
        What the user calls classes, which therefore marks nothing missing.
    objects
        Fields of what was stored as objects, each a column of its own.
    others
        Columns of types that are neither scores nor labels, and what they hold.
    of_arrays
        Whether its columns are arrays.
    ordered
        Categories of columns that have an order, in that, and names that metadata have for 0, 1, ...
    within
        Paths of numbers that stand in lists of objects.
    """

    name: str
    columns: Mapping[str, Array]
    lists: Mapping[str, Array] = field(default_factory=dict)
    percent: frozenset[str] = frozenset()
    classes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unordered: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    objects: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    others: Mapping[str, str] = field(default_factory=dict)
    of_arrays: bool = False
    ordered: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    within: tuple[str, ...] = ()

    @cached_property
    def n(self) -> int:
        """How many rows."""
        return next((len(one) for one in (*self.columns.values(), *self.lists.values())), 0)

    @cached_property
    def fractions(self) -> dict[str, Doubles]:
        """The columns of numbers that are not all whole."""
        floats = {name: one for name, one in self.columns.items() if one.dtype.kind == "f"}
        return {name: one for name, one in floats.items() if not (one[np.isfinite(one)] % 1 == 0).all()}

    @cached_property
    def text(self) -> dict[str, Array]:
        """The other columns, as text that is equal where it means the same class."""
        named = {word for name in self.columns for word in tokens(name)} | self.words
        named |= {plain_text(one) for names in self.classes.values() for one in names}
        ranked = [
            one
            for name, one in (*self.columns.items(), *self.lists.items())
            if one.dtype.kind == "O" and (name in self.lists or name[-1:].isdigit())
        ]
        named |= {
            plain_text(value)
            for one in ranked
            for value in set(MISSING_NAMES) & set(map(plain_text, one.ravel().tolist()))
        }
        gone = set(MISSING_NAMES) - (named - {""})
        return {name: as_text(one, gone) for name, one in self.columns.items() if name not in self.fractions}

    @cached_property
    def values(self) -> dict[str, frozenset[str]]:
        """The distinct values of these."""
        return {name: frozenset(one for one in np.unique(text) if one) for name, text in self.text.items()}

    @cached_property
    def labels(self) -> list[str]:
        """The columns of few values, which may be labels, or what was predicted; not one of many alike."""
        alike = {one for group in self._groups.values() if len(group) >= LARGE for one in group.values()}
        few = {
            name for name, values in self.values.items() if len(values) < max(3, self.n) or self.n < FEW
        } - alike
        called = (name for name in self.values if name in few or named("label", name) or named("truth", name))
        return [name for name in called if self.values[name]]

    @cached_property
    def predictions(self) -> list[str]:
        """Those that are named as predictions."""
        said = (name for name in self.labels if says("prediction", name) and not is_identifier(name))
        return [name for name in said if not named("truth", name)]

    @cached_property
    def sources(self) -> list[ScoreColumns]:
        """All that may be scores."""
        return list(self._sources())

    @cached_property
    def rivals(self) -> list[ScoreColumns]:
        """The first of those that are named as scores, with which others are compared."""
        return [one for one in self.sources if one.named][:MANY]

    @cached_property
    def distributions(self) -> list[ScoreColumns]:
        """Those that sum to one in most rows."""
        return [one for one in self.sources if one.many and one.mostly_one][:MANY]

    def only(self, rows: Array) -> Head:
        """Return some of the rows, of which the same columns may be scores."""
        columns, lists = ({name: one[rows] for name, one in of.items()} for of in (self.columns, self.lists))
        head = replace(self, columns=columns, lists=lists)
        head.__dict__["sources"] = [one.only(rows) for one in self.sources]
        return head

    def family(self, columns: Sequence[str], classes: Sequence[str], stem: str = "") -> ScoreColumns:
        """Return columns of numbers, each of the scores of a class."""
        values = np.stack([self.columns[one].astype(np.float64) for one in columns], axis=1)
        return ScoreColumns(tuple(columns), without_rounding(values), stem, tuple(classes))

    def single(self, name: str) -> ScoreColumns:
        """Return the scores in one column, of numbers or of lists."""
        if name in self.lists:
            values = without_rounding(self.lists[name].astype(np.float64))
            classes = self.classes.get(name) or tuple(map(str, range(values.shape[1])))
            return ScoreColumns((name,), values, name, classes, "lists")
        return ScoreColumns((name,), without_rounding(self.columns[name].astype(np.float64)[:, None]), name)

    @cached_property
    def numeric(self) -> list[str]:
        """The columns of numbers."""
        return [name for name, one in self.columns.items() if one.dtype.kind in "iuf"]

    def _sources(self) -> Iterator[ScoreColumns]:
        parts: dict[tuple[tuple[str, ...], tuple[str, ...]], str] = {}
        for (before, after), group in self._groups.items():
            for part in self._parts_of(
                {middle: name for middle, name in group.items() if name in self._numeric},
                bool(before or after),
            ):
                parts.setdefault((tuple(group[one] for one in part), part), f"{before} {after}".strip())
        yield from (self.family(columns, classes, stem) for (columns, classes), stem in parts.items())
        numbered = [
            ScoreColumns(
                tuple(group.values()),
                np.stack([self.columns[one] for one in group.values()], 1),
                " ".join(key),
                tuple(group),
            )
            for key, group in self._groups.items()
            if len(group) > 1
            and all(one.isdigit() for one in group)
            and len({self.columns[one].dtype for one in group.values()}) == 1
        ]
        yield from self._ranked(
            numbered + [ScoreColumns((name,), one, name) for name, one in self.lists.items()]
        )
        yield from (self.single(name) for name, one in self.lists.items() if one.dtype.kind != "O")
        large = {name for columns, _ in parts for name in columns if len(columns) >= LARGE}
        yield from (self.single(name) for name in self.numeric if name not in large)

    @cached_property
    def _numeric(self) -> frozenset[str]:
        return frozenset(self.numeric)

    @cached_property
    def truths(self) -> dict[str, dict[str, str]]:
        """Columns of 0 and 1, one 1 in each row, by their classes, of groups that have those of others."""
        truths = {}
        others = [
            {plain_text(middle) for middle, name in group.items() if name in self.fractions}
            for group in self._groups.values()
        ]
        for (before, after), group in self._groups.items():
            columns = {
                middle: name
                for middle, name in group.items()
                if (before or after) and np.isin(self.columns[name], (0, 1)).all()
            }
            classes = {plain_text(one) for one in columns}
            named = len(columns) > 1 and any(classes <= theirs for theirs in others)
            if named and (np.sum([self.columns[name] for name in columns.values()], axis=0) == 1).all():
                truths[f"{before}*{after}"] = columns
        return truths

    def with_truths(self) -> Head:
        """Return it with a column of classes for each group of such columns."""
        made = {
            name: np.array(list(columns_of_truth), object)[
                np.argmax([self.columns[one] for one in columns_of_truth.values()], axis=0)
            ]
            for name, columns_of_truth in self.truths.items()
            if name not in self.columns
        }
        return replace(self, columns={**self.columns, **made}) if made else self

    @cached_property
    def _groups(self) -> dict[tuple[str, str], dict[str, str]]:
        """Return columns whose names differ in one part, by what stands before and behind it."""
        groups: dict[tuple[str, str], dict[str, str]] = {("", ""): {name: name for name in self.numeric}}
        for name in self.columns:
            numeric = name in self._numeric
            marks = {0, len(name)} | {at for edge in EDGES.finditer(name) for at in edge.span()}
            marks |= {sign.start() for sign in SIGN.finditer(name)}
            for start, end in combinations(sorted(marks), 2):
                if FRACTION.match(name[end - 1 :]) or FRACTION.match(name[max(0, start - 2) :]):
                    continue  # within a number
                middle = name[start:end].strip("\"'")
                word = middle.strip()
                inside = LETTER.search(word) and (NUMBER.fullmatch(word) or word.strip("_.:-") == word)
                if (numeric or middle.isdigit()) and (start, end) != (0, len(name)) and inside:
                    groups.setdefault((name[:start], name[end:]), {}).setdefault(middle, name)
        for owner, fields in self.objects.items():
            members = {field: f"{owner}.{field}" for field in fields if f"{owner}.{field}" in self._numeric}
            groups[f"{owner}.", ""] = members | groups.get((f"{owner}.", ""), {})
        return {key: group for key, group in groups.items() if len(group) > 1}

    def _parts_of(self, group: Mapping[str, str], together: bool) -> Iterator[tuple[str, ...]]:
        """Yield the parts of a group that may be the classes: all, those numbered, or named by a column."""
        texts = {plain_text(middle): middle for middle in group}
        some = [tuple(group)] * together + [tuple(one for one in group if NUMBER.fullmatch(one))]
        plain = tuple(one for one in group if not any(says(what, one) for what in ("derived", "made")))
        if together and 1 < len(plain) < len(group):
            some.append(plain)
        owned: dict[int, list[str]] = {}
        for text, middle in texts.items():
            for label in self._labels_with.get(text, ()):
                owned.setdefault(label, []).append(middle)
        some += dict.fromkeys(map(tuple, owned.values()))
        if not together:
            inside = (one for one, v in self.fractions.items() if np.nanmin(v) >= 0 and np.nanmax(v) <= 1)
            some.append(tuple(inside))
        for part in some:
            if len(part) > 1:
                whole = all(NUMBER.fullmatch(one) for one in part)
                yield tuple(sorted(part, key=int)) if whole else part

    @cached_property
    def _labels_with(self) -> dict[str, list[int]]:
        """Numbers of the columns, or of those with the same values, that hold a text beside others."""
        by_text: dict[str, list[int]] = {}
        for number, texts in enumerate(
            dict.fromkeys(texts for texts in self.values.values() if len(texts) > 1)
        ):
            for text in texts:
                by_text.setdefault(text, []).append(number)
        return by_text

    def _ranked(self, families: Sequence[ScoreColumns]) -> Iterator[ScoreColumns]:
        """Yield scores beside the names of their classes, row by row, as scores of all classes."""
        names_of_classes = [one for one in families if one.values.shape[1] > 1 and _may_be_names(one.values)]
        numbers = [one for one in families if one.values.dtype.kind == "f"]
        for names, scores in ((a, b) for a in names_of_classes[:MANY] for b in numbers[:MANY] if a is not b):
            if names.values.shape != scores.values.shape or names.classes != scores.classes:
                continue
            if len(self.values.get(names.columns[0], "two")) < 2:
                continue
            flags = (
                names.values.dtype.kind != "O"
                and names.values.shape[1] == 2
                and np.isin(names.values, (0, 1)).all()
            )
            if flags and not (scores.values[:, 0] >= scores.values[:, 1]).all():
                continue  # which tell the right one
            known, which = distinct_texts(names.values.ravel())
            gone = np.isnan(scores.values).all(axis=1)
            if gone.any():
                known[known == ""] = max(known.tolist(), default="")
            distinct, again = np.unique(known, return_inverse=True)
            which = again[which].reshape(names.values.shape)
            which[gone] = np.arange(len(which[0]))
            if len(distinct) == len(which[0]) and (np.diff(np.sort(which, axis=1), axis=1) > 0).all():
                order = {plain_text(one): n for n, one in enumerate(self.classes.get(scores.columns[0], ()))}
                given = sorted(order) == distinct.tolist()
                if given:
                    which, distinct = (
                        np.array([order[one] for one in distinct])[which],
                        np.array(list(order), object),
                    )
                full = np.full((self.n, len(distinct)), -np.inf if scores.span[0] < 0 else 0.0)
                np.put_along_axis(full, which, scores.values, axis=1)
                yield ScoreColumns(
                    scores.columns, full, scores.stem, tuple(distinct), "ranked", names.columns, given
                )


def _may_be_names(values: Array) -> bool:
    """Tell whether values may name classes: text, or whole numbers."""
    with np.errstate(invalid="ignore"):
        return values.dtype.kind in "Oiu" or bool((values % 1 == 0).all())


def spread_rows(total: int, rows: int) -> NDArray[np.int64]:
    """Return the numbers of rows spread over so many."""
    return np.linspace(0, total - 1, min(rows, total)).astype(np.int64)


def head_of_arrays(
    name: str, arrays: Mapping[str, Array], classes: Sequence[str] | None = None, words: Iterable[str] = ()
) -> Head:
    """Return some rows of arrays that have as many; each of one or two axes.

    One-hot labels are what they say; `classes` are those of the scores, where the archive names them,
    and `words` what
    the user calls them.
    """
    rows = len(next(iter(arrays.values()), ()))
    some = spread_rows(rows, ROWS)
    columns: dict[str, Array] = {}
    lists: dict[str, Array] = {}
    for one, values in arrays.items():
        kept = np.asarray(values[some])
        if kept.dtype.kind == "f":
            kept = kept.astype(np.float64)
        if kept.dtype.kind == "S":
            kept = np.char.decode(kept, "utf-8", "backslashreplace")
        if kept.dtype.kind == "U":
            kept = kept.astype(object)
        if kept.ndim < 2 or kept.shape[1] == 1:
            columns[one] = kept.reshape(-1)
        elif (named("truth", one) or named("label", one)) and (places := one_hot(kept)) is not None:
            named_so = classes is not None and len(classes) == kept.shape[1]
            columns[one] = np.array(classes, object)[places] if named_so else places
        else:
            lists[one] = kept
    known = {
        one: tuple(classes)
        for one, values in lists.items()
        if classes and len(classes) == np.shape(values)[1]
    }
    return Head(name, columns, lists, classes=known, words=frozenset(map(plain_text, words)), of_arrays=True)
