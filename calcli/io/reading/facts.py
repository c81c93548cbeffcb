"""What the values of some rows say, of all columns and pairs of columns at once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import compress, product

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Doubles
from calcli.io.reading.head import FEW, Head, ScoreColumns
from calcli.io.reading.names import label_evidence
from calcli.io.words import CUSTOM, ROLES, customary, event, named, scored_event, sides, tokens

NUMBER = re.compile(r"[-+]?[0-9]*[.]?[0-9]+(e[-+]?[0-9]+)?")
HALF = 0.4995  # rounded to three decimals, one half
SURELY = 5.0  # standard errors
ROUNDED = 0.02  # of the rows may lie at a threshold
DENSE = 0.1  # of the range of the scores: what a threshold leaves between two classes at most
RELATED = 0.2  # the least correlation of a score with what follows from it
ROUNDING = 0.006  # of probabilities in two decimals


class Facts:
    """What is seen of labels of two values and of single scores.

    Attributes
    ----------
    head
        The rows.
    pairs
        The two values of each such label, the one that is positive last, and whether custom says so.
    scores
        The single columns that may be scores, by name.
    """

    def __init__(self, head: Head, scores: Sequence[ScoreColumns]) -> None:
        self.head = head
        self.pairs = {
            one: sides(head.values[one], head.ordered.get(one, ()))
            for one in head.labels
            if len(head.values[one]) == 2
        }
        self.scores: Mapping[str, ScoreColumns] = {one.columns[0]: one for one in scores}

    @cached_property
    def _codes(self) -> Doubles:
        """(L, n) 1 where each label is positive, nan where it is missing."""
        text = self.head.text
        rows = [
            np.where(text[name] == "", np.nan, text[name] == pair[1])
            for name, (pair, _) in self.pairs.items()
        ]
        return np.array(rows, np.float64).reshape(len(rows), self.head.n)

    @cached_property
    def correlations(self) -> Doubles:
        """(L, S) the rank correlation of each label of two values with each score."""
        scores = [standard(ranked(one.values[:, 0])) for one in self.scores.values()]
        labels = [standard(row) for row in self._codes]
        both = [np.reshape(rows, (len(rows), self.head.n)) for rows in (labels, scores)]
        return np.asarray(np.clip(both[0] @ both[1].T / max(1, self.head.n), -0.999, 0.999))

    def correlation(self, label: str, score: str) -> float:
        """Return the rank correlation of a label with a score; 0 of labels of one value."""
        if label not in self.pairs or score not in self.scores:
            return 0.0
        return float(self.correlations[list(self.pairs).index(label), list(self.scores).index(score)])

    @cached_property
    def follows(self) -> dict[tuple[str, str], str]:
        """Labels and scores of which the one is a threshold of the other, and what is said above it."""
        found = {}
        for row, column in zip(*np.nonzero(np.abs(self.correlations) > RELATED), strict=True):
            label, score = list(self.pairs)[row], list(self.scores)[column]
            said = cut(self.scores[score].values[:, 0], self.head.text[label])
            if said is not None:
                found[label, score] = said
        return found

    @cached_property
    def gains(self) -> dict[str, float]:
        """By how much each score betters the likelihood of a row, of the label that it ranks best."""
        gains = gain(self.correlations)
        for row, label in enumerate(self.pairs):
            if label_evidence(label) in ("prediction label", "other label", "identifier label"):
                gains[row] = 0
            gains[row, [(label, score) in self.follows for score in self.scores]] = 0
        return dict(zip(self.scores, gains.max(axis=0, initial=0).tolist(), strict=True))

    def share(self, label: str, score: str) -> float:
        """Return the logarithm of the share of a label in what a score says of the best one."""
        best = self.gains[score]
        if best <= 0.005 or label not in self.pairs:
            return 0.0
        own = float(gain(np.array(self.correlation(label, score))))
        return max(float(np.log(max(own, 1e-9) / best)), -4.0)

    @cached_property
    def predictions(self) -> list[str]:
        """Columns that are named as predictions and hold few values."""
        called = [one for one in self.head.labels if not ROLES["prediction"].isdisjoint(tokens(one))]
        return [one for one in called if not named("truth", one)]

    def said_above(self, score: str, values: frozenset[str]) -> str:
        """Return which of two values a prediction has where the score is high; "" if none follows from it."""
        for (name, other), said in self.follows.items():
            known = self.head.values[name]
            if other == score and name in self.predictions and (known <= values or customary(known | values)):
                same = (one for one in values if one == said or CUSTOM.get(one, 2) == CUSTOM.get(said, 3))
                return next(same, "")
        return ""

    def twins(self, label: str) -> list[str]:
        """Return the predictions that are named as the label is but for the word, and hold its values."""
        own, values = event(label), self.head.values[label]
        if not own and label_evidence(label) not in ("truth word", "label word"):
            return []
        alike = [one for one in self.predictions if one != label and event(one) == own]
        return [one for one in alike if 2 * len(self.head.values[one] & values) >= len(self.head.values[one])]

    @cached_property
    def truths(self) -> set[str]:
        """The labels whose name is that of the truth."""
        return {one for one in self.head.labels if label_evidence(one) == "truth word"}

    @cached_property
    def several(self) -> set[str]:
        """Scores that differ from others in a number, not complements, or sum to one with others."""
        alike: dict[tuple[str, ...], list[str]] = {}
        for name in self.scores:
            alike.setdefault(tuple("#" if one.isdigit() else one for one in tokens(name)), []).append(name)
        numbered = [group for words, group in alike.items() if "#" in words and len(group) > 1]
        both = [np.sum([self.scores[one].values[:, 0] for one in group], axis=0) for group in numbered]
        apart = [
            len(one) > 2 or not np.allclose(sums, 1, atol=ROUNDING, equal_nan=True)
            for one, sums in zip(numbered, both, strict=True)
        ]
        summed = [one.columns for one in self._families if one.share_of_sums(1) > 0.5]
        return {name for group in (*compress(numbered, apart), *summed) for name in group}

    @cached_property
    def _families(self) -> list[ScoreColumns]:
        return [one for one in self.head.sources if one.many and one.stem and one.form == "columns"]

    def larger_of(self, score: str) -> bool:
        """Tell whether a score is the larger of another column of fractions and its complement."""
        values = self.scores[score].values[:, 0]
        others = [
            one.values[:, 0]
            for name, one in self.scores.items()
            if name != score and 0 <= one.span[0] < HALF and one.span[1] <= 1
        ]
        return any(np.abs(values - np.maximum(one, 1 - one)).max() < 1e-3 for one in others)

    @cached_property
    def by_rank(self) -> set[str]:
        """The scores whose class other columns name row by row."""
        numbered = [one for one in self.head.sources if one.many and one.numbered and one.form == "columns"]
        return {name for one in numbered if self.head.ranks_beside(one) for name in one.columns}

    def is_part(self, source: ScoreColumns, label: str) -> bool:
        """Tell whether scores are some of those of more classes, which have all of a label."""
        own, columns = self.head.values[label], {*source.columns}
        whole = [one for one in self.head.sources if one.many and one.form == "columns"]
        same = (one for one in whole if one.stem == source.stem or not source.many)
        return any(columns < {*one.columns} and own <= {*one.plain} for one in same)

    def broken_beside(self, source: ScoreColumns) -> str:
        """Return what a column that is named alike holds beside numbers; "" if there is none."""
        words = () if source.form == "lists" else tokens(source.columns[0])
        for name, values in self.head.columns.items() if len(words) > 1 else ():
            if values.dtype.kind != "O" or tokens(name)[:-1] != words[:-1] or name in self.predictions:
                continue
            text = sorted(one for one in self.head.values[name] if not NUMBER.fullmatch(one))
            if 0 < len(text) < len(self.head.values[name]):
                return f'{name} beside it holds text among numbers, such as "{text[0]}"'
        return ""

    @cached_property
    def rank_names(self) -> set[str]:
        """The columns that name the class of a score row by row."""
        return {name for one in self.head.sources for name in (*one.ranks, *self.head.ranks_beside(one))}

    @cached_property
    def is_long(self) -> str:
        """Say so of rows for each system of a case; "" if there are none."""
        systems = [one for one in self.head.labels if {*tokens(one)} & ROLES["counted"] - {"v"}]
        for (name, which), one in product(self._cases.items(), systems):
            if one != name and len(self.head.values[one]) * (which.max() + 1) == self.head.n:
                return f"each {name} has a row for each {one}"
        return ""

    @cached_property
    def _cases(self) -> dict[str, NDArray[np.intp]]:
        """Which case each row is of, by the columns whose values all stand as often, and more than once."""
        distinct = {
            name: np.unique(text.astype(str), return_inverse=True, return_counts=True)[1:]
            for name, text in self.head.text.items()
        }
        return {
            name: which
            for name, (which, counts) in distinct.items()
            if len(counts) >= FEW and 1 < counts.min() == counts.max()
        }

    def sums_over_cases(self, score: str) -> str:
        """Say so of a score that sums to one over the rows of each case; "" if it does not."""
        values = self.scores[score].values[:, 0]
        summed = (
            name for name, which in self._cases.items() if np.abs(np.bincount(which, values) - 1).max() < 1e-3
        )
        return next(
            (f"{score} sums to 1 over the rows of each {name}: a row for each class" for name in summed), ""
        )

    def made_of_another(self, source: ScoreColumns, values: frozenset[str]) -> bool:
        """Tell whether a name begins with the name of another score, or is made of all of it."""
        words = tokens(source.stem)
        for theirs in (
            theirs for theirs, of_one in self._stems if of_one != source.many and len(theirs) < len(words)
        ):
            rest = words[len(theirs) :]
            a_class = (
                len(rest) == 1 and (rest[0] in CUSTOM or rest[0] in values) and source.stem[-2:-1] != "."
            )
            made = {*theirs} < {*words} and {*words} - {*theirs} <= ROLES["made"]
            if theirs and not a_class and (made or (words[: len(theirs)] == theirs and not source.many)):
                return True
        return False

    @cached_property
    def _stems(self) -> list[tuple[tuple[str, ...], bool]]:
        """The words of scores that say nothing else, and whether there is one in a row."""
        fractions = [one for one in self.head.sources if one.many or one.columns[0] in self.head.fractions]
        plain = [(tokens(one.stem), not one.many) for one in fractions if not scored_event(one.stem)]
        return list(dict.fromkeys(plain))


def standard(values: Doubles) -> Doubles:
    """Return values less their mean in units of their deviation, 0 where one is missing."""
    there = ~np.isnan(values)
    if not there.any():
        return np.zeros(len(values))
    centred = np.where(there, values - values[there].mean(), 0.0)
    deviation = np.sqrt((centred**2).mean())
    return centred / deviation if deviation > 0 else centred * 0


def ranked(values: Doubles) -> Doubles:
    """Return the ranks of values, the mean of them where several are equal, nan where one is missing."""
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    places = np.cumsum(counts) - (counts - 1) / 2
    return np.where(np.isnan(values), np.nan, places[which])


def gain(correlations: Doubles) -> Doubles:
    """Return by how much correlations better the log-likelihood of a row, as those of normal numbers."""
    return np.asarray(-0.5 * np.log1p(-np.minimum(correlations**2, 0.998)))


def deviations(correlation: float, rows: int) -> float:
    """Return how many standard errors a correlation lies from 0."""
    return correlation * float(np.sqrt(max(rows - 1, 1)))


def ranks(scores: Doubles, outcomes: NDArray[np.bool_]) -> float:
    """Return by how many standard errors the scores rank the outcomes the right way round."""
    return deviations(
        float(np.mean(standard(ranked(scores)) * standard(outcomes.astype(np.float64)))), len(scores)
    )


def cut(scores: Doubles, said: NDArray[np.object_]) -> str | None:
    """Return which of two values is said just where scores are above some threshold; None if neither is."""
    values = [one for one in np.unique(said) if one]
    if len(values) != 2 or not scores.min() < scores.max():
        return None
    first, second = (scores[said == one] for one in values)
    if _is_below(first, second):
        return str(values[1])
    return str(values[0]) if _is_below(second, first) else None


def _is_below(first: Doubles, second: Doubles) -> bool:
    """Tell whether no score is above others, and so few are equal to them as rounding makes."""
    edge = first.max()
    at = np.count_nonzero(first == edge) + np.count_nonzero(second == edge)
    few = at <= ROUNDED * (len(first) + len(second))
    return bool(edge < second.min() or (edge == second.min() and few))
