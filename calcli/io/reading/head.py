"""Some rows of a file, and all that may be scores or labels in them."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, product, takewhile

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Doubles
from calcli.core.data.inmemory import ROUNDING, without_rounding
from calcli.io.tables.labels import one_hot
from calcli.io.words import (
    MISSING_NAMES,
    RANKED,
    differ_in_numbers,
    is_identifier,
    named,
    plain_text,
    says,
    tokens,
)

ROWS = 2_000  # looked at, spread over the file, so that rare labels are among them
ELEMENTS = 1 << 18  # that these are at most, where columns are many
FEW = 20  # rows that may be so by chance
MANY = 100  # columns or families that are compared with all others
MOST_CASES = 4  # columns that may say which rows belong together
LARGE = 50  # columns of one family, none of which is looked at alone
EDGES = re.compile(r"[\W_]+|(?<=\D)(?=\d)|(?<=\d)(?=\D)")  # between the parts of a name
NUMBER = re.compile(r"-?\d+")
SIGN = re.compile(r"(?<=[_.:=(\[ ])-(?=\d)")
FRACTION = re.compile(r"\d[.]\d")
SUMMED = 60  # rows, by which sums are known
EDGELESS = re.compile(r"\w(?<!_)")  # a letter at the edge of a word that differs
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
    def are_margins(self) -> bool:
        """Whether all rows have one sum, and are no distributions."""
        low, high = self.span
        if (
            not np.isfinite(self.values).all()
            or len(self.values) < 2
            or max(-low, high) > 1e6
            or not np.ptp(self.values, axis=0).any()
        ):
            return False
        sums = self.values.sum(axis=1)
        varied = 1e-3 * max(1, float(self.values.std(axis=0).max()))
        centred = self.values.shape[1] > 2 and abs(sums[0]) <= 1e-3
        return (
            (low < 0 or high > 1) and not centred and abs(sums[0] - 100) > 1 and bool(np.ptp(sums) < varied)
        )

    @property
    def may_be_indicators(self) -> bool:
        """Whether numbers that name two classes by rank may be indicators of them."""
        named_so = self.form == "ranked" and all(
            one.casefold().startswith(("label", "class")) for one in self.ranks
        )
        return named_so and len(self.ranks) == 2 and {*self.classes} <= {"0", "1"}

    @property
    def classes_differ_in_numbers(self) -> bool:
        """Whether the names of the classes are alike but for numbers."""
        return differ_in_numbers(self.classes)

    @cached_property
    def span(self) -> tuple[float, float]:
        """The smallest and the largest of those that are finite."""
        there = self.values[np.isfinite(self.values)]
        return (float(there.min()), float(there.max())) if len(there) else (np.nan, np.nan)

    def share_of_sums(self, total: float) -> float:
        """Return the share of the rows whose sum is as large, but for a twentieth of it."""
        with np.errstate(over="ignore"):  # a sum beyond all numbers is none of these
            sums = self.values.sum(axis=1)
        sums = sums[~np.isnan(sums)]
        near = 0.05 * total + 0.0006 * total * self.values.shape[1]
        return float((np.abs(sums - total) <= near).mean()) if len(sums) else 1.0

    @cached_property
    def of_options(self) -> bool:
        """Whether they are log-probabilities of a few answers among all others there are, by their name."""
        if not self.many or not says("logarithm", self.stem) or not self.span[1] <= 0:
            return False
        with np.errstate(invalid="ignore"):
            sums = np.exp(self.values).sum(axis=1)
        return bool((sums[~np.isnan(sums)] <= 1 + ROUNDING).all())

    @cached_property
    def descends(self) -> bool:
        """Whether no row rises, and most of them fall."""
        values = self.values
        return (
            bool((values[:, 1:] <= values[:, :-1]).all())
            and float((values[:, 0] > values[:, -1]).mean()) > 0.5
        )


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
        columns = (*self.columns.items(), *self.lists.items())
        ranked = (
            one
            for name, one in columns
            if one.dtype.kind == "O" and (name in self.lists or name[-1:].isdigit())
        )
        named |= {
            text for one in ranked for text in map(plain_text, one.ravel().tolist()) if text in MISSING_NAMES
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
            one for one, values in self.values.items() if len(values) < max(3, self.n) or self.n < FEW
        } - alike
        named_so = {one for one in self.values if named("label", one) or named("truth", one)}
        return [one for one in self.values if self.values[one] and one in (few | named_so) - self._members]

    @cached_property
    def sources(self) -> list[ScoreColumns]:
        """All that may be scores."""
        return list(self._sources())

    def of_cases(self) -> set[str]:
        """Return columns that may say which rows belong together."""
        cases = [one for one, values in self.values.items() if len(values) >= FEW]
        cases.sort(key=lambda one: not is_identifier(one))
        return {*cases[:MOST_CASES], *(one for one in self.labels if says("system", one))}

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
        """The columns of numbers, but for those that are the truth of a class each."""
        return [name for name in self.columns if name in self._numeric and name not in self._members]

    def _sources(self) -> Iterator[ScoreColumns]:
        parts: dict[tuple[tuple[str, ...], tuple[str, ...]], str] = {}
        numeric = {*self.numeric}
        for (before, after), group in self._groups.items():
            numbers = {middle: name for middle, name in group.items() if name in numeric}
            for part in self._parts_of(numbers, bool(before or after)):
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
            if all(map(str.isdigit, group)) and len({self.columns[one].dtype for one in group.values()}) == 1
        ]
        lists = [ScoreColumns((name,), one, name) for name, one in self.lists.items()]
        yield from self._ranked(numbered + lists)
        yield from (self.single(name) for name, one in self.lists.items() if one.dtype.kind != "O")
        large = {name for columns, _ in parts for name in columns if len(columns) >= LARGE}
        yield from self._runs({frozenset(columns) for columns, _ in parts})
        yield from (self.single(name) for name in self.numeric if name not in large)

    def _runs(self, known: Container[frozenset[str]]) -> Iterator[ScoreColumns]:
        """Yield columns beside each other whose rows sum to one, or to 100, however they are named."""
        names = [one for one in self.fractions if one not in self._members]
        if not self.n or not 2 <= len(names) <= MANY:
            return
        some = spread_rows(self.n, SUMMED)
        values = np.stack([self.fractions[one][some] for one in names])
        for total in (1.0, 100.0):
            fits = ((values >= 0) & (values <= total + ROUNDING)).all(axis=1) & (np.ptp(values, axis=1) > 0)
            for start in np.flatnonzero(fits):
                sums = np.zeros(len(some))
                for end in range(start, len(names)):
                    if not fits[end] or (sums := sums + values[end]).max() > total * 1.02:
                        break
                    run = tuple(names[start : end + 1])
                    if (
                        len(run) > 1
                        and np.abs(sums - total).max() < 0.012 * total
                        and frozenset(run) not in known
                    ):
                        yield self.family(run, _middles(run), _stem(run))

    def ranks_beside(self, source: ScoreColumns) -> list[str]:
        """Return the columns that name the class of each score row by row, by their names and numbers."""
        if source.form == "ranked":
            return []
        for one in self.sources:
            if one.form == "ranked" and one.columns == source.columns:
                return list(one.ranks)
        same = (one for one in self.sources if one.numbered and {*one.columns} == {*source.columns})
        numbers = {number for one in same if one.form == "columns" for number in one.classes}
        matches = [match for match in map(RANKED.fullmatch, self.columns) if match and match[2] in numbers]
        sure = [one[0] for one in matches if not one[1].casefold().startswith(("label", "class", "name"))]
        two = len(source.classes) == 2 and source.descends
        return sure or ([one[0] for one in matches] if two else [])

    @cached_property
    def _numeric(self) -> frozenset[str]:
        return frozenset(name for name, one in self.columns.items() if one.dtype.kind in "iuf")

    @cached_property
    def truths(self) -> dict[str, dict[str, str]]:
        """Columns of 0 and 1, one 1 in each row, by their classes, of groups that have those of others."""
        truths, groups = {}, self._groups
        classes = [
            {plain_text(middle) for middle, name in group.items() if name in self.fractions}
            for group in groups.values()
        ]
        for (before, after), group in groups.items():
            flags = {
                middle: name for middle, name in group.items() if np.isin(self.columns[name], (0, 1)).all()
            }
            named_so = any({*map(plain_text, flags)} <= theirs for theirs in classes)
            hot = (
                len(flags) > 1
                and named_so
                and np.sum([self.columns[name] for name in flags.values()], axis=0) == 1
            )
            if (before or after) and np.all(hot) and np.size(hot) > 1:
                truths[f"{before}*{after}"] = flags
        return truths

    @cached_property
    def _members(self) -> frozenset[str]:
        return frozenset(name for made in self.truths.values() for name in made.values())

    def with_truths(self) -> Head:
        """Return it with a column of classes for each group of such columns."""
        made = {
            name: np.array(list(flags), object)[
                np.argmax([self.columns[one] for one in flags.values()], axis=0)
            ]
            for name, flags in self.truths.items()
            if name not in self.columns
        }
        return replace(self, columns={**self.columns, **made}) if made else self

    @cached_property
    def _groups(self) -> dict[tuple[str, str], dict[str, str]]:
        """Return columns whose names differ in one part, by what stands before and behind it."""
        groups: dict[tuple[str, str], dict[str, str]] = {
            ("", ""): {name: name for name in self.columns if name in self._numeric}
        }
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
        some = [tuple(group)] * together + [tuple(one for one in group if NUMBER.fullmatch(one))]
        some.append(
            tuple(one for one in group if together and not (says("derived", one) or says("made", one)))
        )
        texts = {plain_text(middle): middle for middle in group}
        for names in {self.words, *self.values.values()}:
            some.append(tuple(texts[one] for one in texts if one in names))
        for part in dict.fromkeys(some):
            if len(part) > 1:
                whole = all(NUMBER.fullmatch(one) for one in part)
                yield tuple(sorted(part, key=int)) if whole else part

    def _ranked(self, families: Sequence[ScoreColumns]) -> Iterator[ScoreColumns]:
        """Yield scores beside the names of their classes, row by row, as scores of all classes."""
        names_of_classes = [one for one in families if one.values.shape[1] > 1 and _may_be_names(one.values)]
        numbers = [one for one in families if one.values.dtype.kind == "f"]
        pairs = product(names_of_classes[:MANY], numbers[:MANY])
        for names, scores in ((a, b) for a, b in pairs if a is not b and a.values.shape == b.values.shape):
            numeric = names.values.dtype.kind != "O" and names.values.shape[1] == 2
            flags = numeric and np.isin(names.values, (0, 1)).all()
            rises = (
                flags and not (scores.values[:, 0] >= scores.values[:, 1]).all()
            )  # which tell the right one
            if rises or names.classes != scores.classes or len(self.values.get(names.columns[0], "two")) < 2:
                continue
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
                        np.array([*order], object),
                    )
                full = np.full((self.n, len(distinct)), -np.inf if scores.span[0] < 0 else 0.0)
                np.put_along_axis(full, which, scores.values, axis=1)
                yield ScoreColumns(
                    scores.columns, full, scores.stem, tuple(distinct), "ranked", names.columns, given
                )


def _middles(names: Sequence[str]) -> tuple[str, ...]:
    """Return what differs in names, without what they begin and end with alike."""
    before = _alike(names)
    after = _alike([one[before:][::-1] for one in names])
    middles = tuple(one[before : len(one) - after].strip("_ .-") for one in names)
    edges = names[0][before - 1 : before], names[0][len(names[0]) - after :][:1]
    return middles if all(middles) and not any(map(EDGELESS.search, edges)) else tuple(names)


def _alike(names: Sequence[str]) -> int:
    """Return how many letters names begin with alike."""
    return sum(1 for _ in takewhile(lambda letters: len({*letters}) == 1, zip(*names, strict=False)))


def _stem(names: Sequence[str]) -> str:
    """Return what names begin and end with alike, where classes stand between."""
    middles = _middles(names)
    return "" if middles == tuple(names) else names[0].replace(middles[0], " ", 1).strip()


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
