"""A sample of the rows of a file, and the columns in it that may be scores or labels."""

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
    is_identifier,
    may_be_label,
    plain_text,
    says,
    tokens,
)

ROWS = 2_000  # to look at, spread over the file to catch rare labels
ELEMENTS = 1 << 18  # in these rows at most, if there are many columns
FEW = 20  # with fewer rows or values, a pattern may be chance
MANY = 100  # columns or families to compare with each other at most
MOST_CASES = 4  # columns that may tell which rows belong together
LARGE = 50  # columns in a family; from here on, none is considered alone
EDGES = re.compile(r"[\W_]+|(?<=\D)(?=\d)|(?<=\d)(?=\D)")  # between the parts of a name
NUMBER = re.compile(r"-?\d+")
SIGN = re.compile(r"(?<=[_.:=(\[ ])-(?=\d)")
FRACTION = re.compile(r"\d[.]\d")
SUMMED = 60  # rows to sum
EDGELESS = re.compile(r"\w(?<!_)")  # a letter or digit right next to the part that differs
LETTER = re.compile(r"[^\W_]")


def distinct_texts(values: Array, missing: Container[str] = ()) -> tuple[Array, NDArray[np.intp]]:
    """Return the canonical text of each distinct value, and the index of each value among these texts."""
    if values.dtype.kind in "OUS":
        distinct, index = np.unique(
            ["" if value is None else str(value) for value in values.tolist()], return_inverse=True
        )
        texts = [plain_text(text, missing) for text in distinct.tolist()]
    else:
        distinct, index = np.unique(values, return_inverse=True)
        boolean = values.dtype.kind == "b"
        texts = [str(x).lower() if boolean else "" if x != x else f"{x:.15g}" for x in distinct.tolist()]
        if values.dtype.kind in "iu":
            texts = list(map(str, distinct.tolist()))
    return np.array(texts, object), index


def as_text(values: Array, missing: Container[str] = ()) -> Array:
    """Return canonical text, equal for values that mean the same class, and "" for missing ones."""
    distinct, index = distinct_texts(values, missing)
    texts: Array = distinct[index]
    return texts


def descend(values: Array) -> bool:
    """Tell whether (n, K) scores never rise within a row, and fall in most rows."""
    falls = float((values[:, 0] > values[:, -1]).mean())  # equal scores have no order
    return falls > 0.5 and bool((values[:, 1:] <= values[:, :-1]).all())


@dataclass(frozen=True, eq=False)
class ScoreColumns:
    """Numbers that may be scores.

    Attributes
    ----------
    columns
        Their columns; only one if it holds lists.
    values
        (n, K) numbers.
    stem
        What the column names have in common.
    classes
        What remains of the column names, a class each; empty for a single column.
    form
        How they are stored: side by side, in lists, or sorted by rank.
    ranks
        Columns that name the class at each rank, if the scores are sorted.
    given
        Whether the user has named the classes.
    before
        The classes in the order of the file, if the user has reordered them.
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
        """The class names in the canonical form for comparison with labels."""
        return tuple(map(plain_text, self.classes))

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each class, by its name in `plain`."""
        return {name: place for place, name in enumerate(self.plain)}

    @cached_property
    def numbered(self) -> bool:
        """Whether all class names are numbers."""
        return all(NUMBER.fullmatch(name) for name in self.classes)

    @cached_property
    def are_margins(self) -> bool:
        """Whether all rows have the same sum without being distributions."""
        low, high = self.span
        if not np.isfinite(self.values).all() or len(self.values) < 2 or max(-low, high) > 1e6:
            return False
        sums, varies = self.values.sum(axis=1), np.ptp(self.values, axis=0).any()
        varied = 1e-3 * max(1, float(self.values.std(axis=0).max()))
        centred = self.values.shape[1] > 2 and abs(sums[0]) <= 1e-3
        equal = varies and np.ptp(sums) < varied
        return bool((low < 0 or high > 1) and not centred and abs(sums[0] - 100) > 1 and equal)

    @property
    def may_be_indicators(self) -> bool:
        """Whether the numbers 0 and 1 that name the classes by rank may rather be indicators."""
        called_labels = [name for name in self.ranks if name.casefold().startswith(("label", "class"))]
        return len(called_labels) == len(self.ranks) == 2 and {*self.classes} <= {"0", "1"}

    @cached_property
    def span(self) -> tuple[float, float]:
        """The smallest and the largest finite value; nan if there is none."""
        finite = self.values[np.isfinite(self.values)]
        return (float(finite.min()), float(finite.max())) if len(finite) else (np.nan, np.nan)

    def share_of_sums(self, total: float, within: float = 0.012) -> float:
        """Return the share of rows that sum to `total`, within this share of it and some rounding."""
        with np.errstate(over="ignore"):  # an infinite sum does not count
            sums = self.values.sum(axis=1)
        sums = sums[~np.isnan(sums)]
        tolerance = within * total + 0.0006 * total * self.values.shape[1]
        return float((np.abs(sums - total) <= tolerance).mean()) if len(sums) else 1.0

    @cached_property
    def of_options(self) -> bool:
        """Whether they are log-probabilities of a few among all possible answers, judging by their name."""
        if not self.many or not says("logarithm", self.stem) or not self.span[1] <= 0:
            return False
        with np.errstate(invalid="ignore"):
            sums = np.exp(self.values).sum(axis=1)
        return bool((sums[~np.isnan(sums)] <= 1 + ROUNDING).all())

    @cached_property
    def descends(self) -> bool:
        """Whether scores never rise within a row, and fall in most rows."""
        return descend(self.values)


@dataclass(frozen=True, eq=False)
class Head:
    """Some rows, spread over the file.

    Attributes
    ----------
    name
        The name of the file, for messages.
    columns
        (n,) values of each column; text as objects.
    lists
        (n, K) numbers or texts of each column of lists.
    percent
        Columns written with a percent sign.
    classes
        Class names of a column of lists, if it holds them.
    unordered
        Columns without a meaningful order.
    words
        The class names that the user gives; they never mark missing values.
    objects
        Fields of stored objects, each a column of its own.
    others
        Columns of types that can be neither scores nor labels, and these types.
    of_arrays
        Whether the columns are arrays.
    ordered
        Categories of ordered columns, in order, and the names for 0, 1, ... in metadata.
    within
        Paths of numbers in lists of objects.
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
        """The number of rows."""
        return next((len(values) for values in (*self.columns.values(), *self.lists.values())), 0)

    @cached_property
    def fractions(self) -> dict[str, Doubles]:
        """The columns with numbers other than integers."""
        floats = {name: values for name, values in self.columns.items() if values.dtype.kind == "f"}
        finite = {name: values[np.isfinite(values)] for name, values in floats.items()}
        return {name: floats[name] for name, values in finite.items() if not (values % 1 == 0).all()}

    @cached_property
    def text(self) -> dict[str, Array]:
        """The other columns as canonical text, equal for values that mean the same class."""
        words = {word for name in self.columns for word in tokens(name)} | self.words
        words |= {plain_text(label) for labels in self.classes.values() for label in labels}
        for name, values in (*self.columns.items(), *self.lists.items()):
            if values.dtype.kind == "O" and (name in self.lists or name[-1:].isdigit()):
                words |= {*MISSING_NAMES}.intersection(map(plain_text, values.ravel().tolist()))
        missing = set(MISSING_NAMES) - (words - {""})
        plain = {name: values for name, values in self.columns.items() if name not in self.fractions}
        return {name: as_text(values, missing) for name, values in plain.items()}

    @cached_property
    def values(self) -> dict[str, frozenset[str]]:
        """The distinct values of each column in `text`."""
        return {
            name: frozenset(text for text in np.unique(texts) if text) for name, texts in self.text.items()
        }

    @cached_property
    def labels(self) -> list[str]:
        """The columns that may be labels or predictions: few values, and not one of many similar columns."""
        similar = {name for key, group in self._groups.items() for name in _similar(group.values(), any(key))}
        limit = max(3, self.n) if self.n >= FEW else np.inf
        few = {name for name, values in self.values.items() if len(values) < limit} - similar
        called_labels = {name for name in self.values if may_be_label(name)}
        likely = (few | called_labels) - self._indicators
        return [name for name, values in self.values.items() if values and name in likely]

    @cached_property
    def sources(self) -> list[ScoreColumns]:
        """All columns that may be scores."""
        return list(self._sources())

    def of_cases(self) -> set[str]:
        """Return the columns that may tell which rows belong together."""
        cases = [name for name, values in self.values.items() if len(values) >= FEW]
        cases.sort(key=lambda name: not is_identifier(name))
        return {*cases[:MOST_CASES], *(name for name in self.labels if says("system", name))}

    def family(self, columns: Sequence[str], classes: Sequence[str], stem: str = "") -> ScoreColumns:
        """Return numeric columns as scores, a class each."""
        values = np.stack([self.columns[name].astype(np.float64) for name in columns], axis=1)
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
        """The numeric columns, except indicators of the true class."""
        return [name for name in self.columns if name in self._numeric and name not in self._indicators]

    def _sources(self) -> Iterator[ScoreColumns]:
        families: dict[tuple[tuple[str, ...], tuple[str, ...]], str] = {}
        numeric = {*self.numeric}
        for (before, after), group in self._groups.items():
            numbers = {middle: name for middle, name in group.items() if name in numeric}
            for classes in self._class_subsets(numbers, bool(before or after)):
                columns = tuple(group[middle] for middle in classes)
                families.setdefault((columns, classes), f"{before} {after}".strip())
        yield from (self.family(columns, classes, stem) for (columns, classes), stem in families.items())
        numbered = []
        for key, group in self._groups.items():
            columns, values = tuple(group.values()), [self.columns[name] for name in group.values()]
            if all(map(str.isdigit, group)) and len({column.dtype for column in values}) < 2:
                numbered.append(ScoreColumns(columns, np.stack(values, 1), " ".join(key), tuple(group)))
        lists = [ScoreColumns((name,), values, name) for name, values in self.lists.items()]
        yield from self._scores_by_rank(numbered + lists)
        yield from (self.single(name) for name, values in self.lists.items() if values.dtype.kind != "O")
        large = {name for (columns, _), stem in families.items() for name in _similar(columns, bool(stem))}
        yield from self._distributions({frozenset(columns) for columns, _ in families})
        yield from (self.single(name) for name in self.numeric if name not in large)

    def _distributions(self, seen: Container[frozenset[str]]) -> Iterator[ScoreColumns]:
        """Yield adjacent columns with rows that sum to 1, or to 100, whatever their names."""
        names = [name for name in self.fractions if name not in self._indicators]
        if not self.n or not 2 <= len(names) <= MANY:
            return
        rows = spread_rows(self.n, SUMMED)
        values = np.stack([self.fractions[name][rows] for name in names])
        for total in (1.0, 100.0):
            fits = ((values >= 0) & (values <= total + ROUNDING)).all(axis=1) & (np.ptp(values, axis=1) > 0)
            for start in np.flatnonzero(fits):
                sums = np.zeros(len(rows))
                for end in range(start, len(names)):
                    if not fits[end] or (sums := sums + values[end]).max() > total * 1.02:
                        break
                    run = tuple(names[start : end + 1])
                    full = len(run) > 1 and np.abs(sums - total).max() < 0.012 * total
                    if full and frozenset(run) not in seen:
                        yield self.family(run, _middles(run), _stem(run))

    def ranks_beside(self, source: ScoreColumns) -> list[str]:
        """Return the columns that, by their names and numbers, hold the class of each score in a row."""
        if source.form == "ranked":
            return []
        for group in self.sources:
            if group.form == "ranked" and group.columns == source.columns:
                return list(group.ranks)
        same = (group for group in self.sources if group.numbered and {*group.columns} == {*source.columns})
        numbers = {number for group in same if group.form == "columns" for number in group.classes}
        hits = [hit for hit in map(RANKED.fullmatch, self.columns) if hit and hit[2] in numbers]
        sure = [hit[0] for hit in hits if not hit[1].casefold().startswith(("label", "class", "name"))]
        two_by_rank = len(source.classes) == 2 and source.descends
        return sure or ([hit[0] for hit in hits] if two_by_rank else [])

    @cached_property
    def _numeric(self) -> frozenset[str]:
        return frozenset(name for name, values in self.columns.items() if values.dtype.kind in "iuf")

    @cached_property
    def truths(self) -> dict[str, dict[str, str]]:
        """One-hot columns of labels by class, for each group with classes that columns of scores have too."""
        truths, groups = {}, self._groups
        classes = [
            {plain_text(middle) for middle, name in group.items() if name in self.fractions}
            for group in groups.values()
        ]
        for (before, after), group in groups.items():
            flags = {
                middle: name for middle, name in group.items() if np.isin(self.columns[name], (0, 1)).all()
            }
            have_scores = any({*map(plain_text, flags)} <= scored for scored in classes)
            hot = np.sum([self.columns[name] for name in flags.values()], axis=0) == 1
            if (before or after) and have_scores and len(flags) > 1 and np.size(hot) > 1 and np.all(hot):
                truths[f"{before}*{after}"] = flags
        return truths

    @cached_property
    def _indicators(self) -> frozenset[str]:
        return frozenset(name for flags in self.truths.values() for name in flags.values())

    def with_truths(self) -> Head:
        """Return the head with a column of true classes for each group in `truths`."""
        labels = {}
        for name in (name for name in self.truths if name not in self.columns):
            places = np.argmax([self.columns[flag] for flag in self.truths[name].values()], axis=0)
            labels[name] = np.array([*self.truths[name]], object)[places]
        return replace(self, columns={**self.columns, **labels}) if labels else self

    @cached_property
    def _groups(self) -> dict[tuple[str, str], dict[str, str]]:
        """Columns with names that differ in one part only, by the text before and after that part."""
        groups: dict[tuple[str, str], dict[str, str]] = {
            ("", ""): {name: name for name in self.columns if name in self._numeric}
        }
        for name in self.columns:
            numeric = name in self._numeric
            cuts = {0, len(name)} | {position for edge in EDGES.finditer(name) for position in edge.span()}
            cuts |= {sign.start() for sign in SIGN.finditer(name)}
            for start, end in combinations(sorted(cuts), 2):
                if FRACTION.match(name[end - 1 :]) or FRACTION.match(name[max(0, start - 2) :]):
                    continue  # the cut is within a number
                middle = name[start:end].strip("\"'")
                word = middle.strip()
                inside = LETTER.search(word) and (NUMBER.fullmatch(word) or word.strip("_.:-") == word)
                if (numeric or middle.isdigit()) and (start, end) != (0, len(name)) and inside:
                    groups.setdefault((name[:start], name[end:]), {}).setdefault(middle, name)
        for owner, fields in self.objects.items():
            numbers = {field: f"{owner}.{field}" for field in fields if f"{owner}.{field}" in self._numeric}
            groups[f"{owner}.", ""] = numbers | groups.get((f"{owner}.", ""), {})
        return {key: group for key, group in groups.items() if len(group) > 1}

    def _class_subsets(self, group: Mapping[str, str], shared: bool) -> Iterator[tuple[str, ...]]:
        """Yield the subsets of a group that may be the classes: all, the numbers, or values of a column."""
        subsets = [tuple(group)] * shared + [tuple(name for name in group if NUMBER.fullmatch(name))]
        subsets.append(
            tuple(name for name in group if shared and not (says("derived", name) or says("made", name)))
        )
        texts = {plain_text(middle): middle for middle in group}
        for names in {self.words, *self.values.values()}:
            subsets.append(tuple(texts[text] for text in texts if text in names))
        for subset in dict.fromkeys(subsets):
            if len(subset) > 1:
                numbered = all(NUMBER.fullmatch(name) for name in subset)
                yield tuple(sorted(subset, key=int)) if numbered else subset

    def _scores_by_rank(self, families: Sequence[ScoreColumns]) -> Iterator[ScoreColumns]:
        """Yield scores that have the names of their classes beside them, as scores of all classes."""
        several = [family for family in families if family.many]
        with np.errstate(invalid="ignore"):
            class_names = [
                it for it in several if it.values.dtype.kind in "Oiu" or (it.values % 1 == 0).all()
            ]
        numbers = [family for family in families if family.values.dtype.kind == "f"]
        pairs = product(class_names[:MANY], numbers[:MANY])
        for names, scores in ((a, b) for a, b in pairs if a is not b and a.values.shape == b.values.shape):
            numeric = names.values.dtype.kind != "O" and names.values.shape[1] == 2
            flags = numeric and np.isin(names.values, (0, 1)).all()
            # where scores do not descend, flags mark the true class
            rises = flags and not (scores.values[:, 0] >= scores.values[:, 1]).all()
            if rises or names.classes != scores.classes or len(self.values.get(names.columns[0], "two")) < 2:
                continue
            texts, index = distinct_texts(names.values.ravel())
            missing = np.isnan(scores.values).all(axis=1)
            if missing.any():
                texts[texts == ""] = max(texts.tolist(), default="")
            distinct, codes = np.unique(texts, return_inverse=True)
            index = codes[index].reshape(names.values.shape)
            index[missing] = np.arange(len(index[0]))
            if len(distinct) == len(index[0]) and (np.diff(np.sort(index, axis=1), axis=1) > 0).all():
                listed = map(plain_text, self.classes.get(scores.columns[0], ()))
                place_of = {name: place for place, name in enumerate(listed)}
                declared = sorted(place_of) == distinct.tolist()
                if declared:
                    index = np.array([place_of[text] for text in distinct])[index]
                    distinct = np.array([*place_of], object)
                full = np.full((self.n, len(distinct)), -np.inf if scores.span[0] < 0 else 0.0)
                np.put_along_axis(full, index, scores.values, axis=1)
                yield ScoreColumns(
                    scores.columns, full, scores.stem, tuple(distinct), "ranked", names.columns, declared
                )


def _middles(names: Sequence[str]) -> tuple[str, ...]:
    """Return the part of each name that differs, without the common start and end."""
    before = _common_start(names)
    after = _common_start([name[before:][::-1] for name in names])
    middles = tuple(name[before : len(name) - after].strip("_ .-") for name in names)
    edges = names[0][before - 1 : before], names[0][len(names[0]) - after :][:1]
    return middles if all(middles) and not any(map(EDGELESS.search, edges)) else tuple(names)


def _common_start(names: Sequence[str]) -> int:
    """Return how many letters all names have in common at their start."""
    return sum(1 for _ in takewhile(lambda letters: len({*letters}) == 1, zip(*names, strict=False)))


def _stem(names: Sequence[str]) -> str:
    """Return the common start and end of names that have classes in between; "" if there are none."""
    middles = _middles(names)
    return "" if middles == tuple(names) else names[0].replace(middles[0], " ", 1).strip()


def spread_rows(total: int, rows: int) -> NDArray[np.int64]:
    """Return the numbers of at most `rows` rows, spread evenly over `total`."""
    return np.linspace(0, total - 1, min(rows, total)).astype(np.int64)


def head_of_arrays(
    name: str, arrays: Mapping[str, Array], classes: Sequence[str] | None = None, words: Iterable[str] = ()
) -> Head:
    """Return some rows of arrays with one or two axes and equally many rows.

    One-hot labels become classes. `classes` are the names in the archive, if it has some, and `words` the
    names that the user gives.
    """
    total = len(next(iter(arrays.values()), ()))
    rows = spread_rows(total, ROWS)
    columns: dict[str, Array] = {}
    lists: dict[str, Array] = {}
    for key, array in arrays.items():
        values = np.asarray(array[rows])
        if values.dtype.kind == "f":
            values = values.astype(np.float64)
        if values.dtype.kind == "S":
            values = np.char.decode(values, "utf-8", "backslashreplace")
        if values.dtype.kind == "U":
            values = values.astype(object)
        if values.ndim < 2 or values.shape[1] == 1:
            columns[key] = values.reshape(-1)
        elif may_be_label(key) and (places := one_hot(values)) is not None:
            have_names = classes is not None and len(classes) == values.shape[1]
            columns[key] = np.array(classes, object)[places] if have_names else places
        else:
            lists[key] = values
    class_names = tuple(classes or ())
    names = {key: class_names for key, values in lists.items() if len(class_names) == values.shape[1]}
    return Head(name, columns, lists, classes=names, words=frozenset(map(plain_text, words)), of_arrays=True)


def _similar(names: Iterable[str], has_stem: bool) -> list[str]:
    """Return the names of many columns that are alike: by a common stem, or as they are numbers."""
    alike = [name for name in names if has_stem or name.isdigit()]
    return alike if len(alike) >= LARGE else []
