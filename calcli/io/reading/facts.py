"""What the values of some rows tell about columns and pairs of columns, computed for all at once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from functools import cached_property
from itertools import compress, product

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Doubles
from calcli.io.reading.head import FEW, Head, ScoreColumns
from calcli.io.reading.names import label_evidence
from calcli.io.words import CUSTOM, ROLES, customary, event, named, scored_event, sides, tokens

NUMBER = re.compile(r"[-+]?[0-9]*[.]?[0-9]+(e[-+]?[0-9]+)?")
HALF = 0.4995  # one half, with scores rounded to three decimals
SURELY = 5.0  # standard errors
ROUNDED = 0.02  # largest share of the rows at a threshold
RELATED = 0.2  # smallest correlation of a score with a column that follows from it
ROUNDING = 0.006  # of probabilities with two decimals


class Facts:
    """Facts about labels of two values and about single scores.

    Attributes
    ----------
    head
        The rows.
    pairs
        The two values of each such label, the positive one last, and whether custom decides which it is.
    scores
        The single columns that may be scores, by name.
    """

    def __init__(self, head: Head, scores: Sequence[ScoreColumns]) -> None:
        self.head = head
        two = [label for label in head.labels if len(head.values[label]) == 2]
        self.pairs = {label: sides(head.values[label], head.ordered.get(label, ())) for label in two}
        self.scores: Mapping[str, ScoreColumns] = {source.columns[0]: source for source in scores}

    @cached_property
    def correlations(self) -> Doubles:
        """(L, S) rank correlation of each label of two values with each score."""
        scores = [standard(ranked(source.values[:, 0])) for source in self.scores.values()]
        texts = ((self.head.text[name], pair[1]) for name, (pair, _) in self.pairs.items())
        labels = [standard(np.where(text == "", np.nan, text == positive)) for text, positive in texts]
        standardized = [np.reshape(rows, (len(rows), self.head.n)) for rows in (labels, scores)]
        return np.asarray(np.clip(standardized[0] @ standardized[1].T / max(1, self.head.n), -0.999, 0.999))

    def correlation(self, label: str, score: str) -> float:
        """Return the rank correlation of a label with a score; 0 if the label does not have two values."""
        if label not in self.pairs or score not in self.scores:
            return 0.0
        return float(self.correlations[list(self.pairs).index(label), list(self.scores).index(score)])

    @cached_property
    def follows(self) -> dict[tuple[str, str], str]:
        """The label's value above the threshold, for each label that follows from a score by a threshold."""
        follows = {}
        for row, column in zip(*np.nonzero(np.abs(self.correlations) > RELATED), strict=True):
            label, score = list(self.pairs)[row], list(self.scores)[column]
            value = cut(self.scores[score].values[:, 0], self.head.text[label])
            if value is not None:
                follows[label, score] = value
        return follows

    @cached_property
    def gains(self) -> dict[str, float]:
        """The gain in log-likelihood per row of the label that each score ranks best."""
        gains = gain(self.correlations)
        for row, label in enumerate(self.pairs):
            if label_evidence(label) in ("prediction label", "other label", "identifier label"):
                gains[row] = 0
            gains[row, [(label, score) in self.follows for score in self.scores]] = 0
        return dict(zip(self.scores, gains.max(axis=0, initial=0).tolist(), strict=True))

    def share(self, label: str, score: str) -> float:
        """Return the log of a label's gain from a score, relative to the label that the score ranks best."""
        best = self.gains[score]
        if best <= 0.005 or label not in self.pairs:
            return 0.0
        label_gain = float(gain(np.array(self.correlation(label, score))))
        return max(float(np.log(max(label_gain, 1e-9) / best)), -4.0)

    @cached_property
    def predictions(self) -> list[str]:
        """The columns with few values that have a name for predictions, and none for a truth."""
        predicted = [name for name in self.head.labels if not ROLES["prediction"].isdisjoint(tokens(name))]
        return [name for name in predicted if not named("truth", name)]

    def said_above(self, score: str, values: frozenset[str]) -> str:
        """Return the value that a prediction has where the score is high; "" if no prediction follows."""
        for (name, column), high in self.follows.items():
            union = self.head.values[name] | values
            if column == score and name in self.predictions and (union == values or customary(union)):
                same = (text for text in values if text == high or CUSTOM.get(text, 2) == CUSTOM.get(high, 3))
                return next(same, "")
        return ""

    def twins(self, label: str) -> list[str]:
        """Return the predictions that share the event in their name, and most values, with a label."""
        words, values = event(label), self.head.values
        if not words and label_evidence(label) not in ("truth word", "label word"):
            return []
        twins = [name for name in self.predictions if name != label and event(name) == words]
        return [name for name in twins if 2 * len(values[name] & values[label]) >= len(values[name])]

    @cached_property
    def truths(self) -> set[str]:
        """The labels with a name for the truth."""
        return {name for name in self.head.labels if label_evidence(name) == "truth word"}

    @cached_property
    def several(self) -> set[str]:
        """Scores whose names differ only in a number, except complements, and scores that sum to one."""
        alike: dict[tuple[str, ...], list[str]] = {}
        for name in self.scores:
            alike.setdefault(tuple("#" if word.isdigit() else word for word in tokens(name)), []).append(name)
        numbered = [group for words, group in alike.items() if "#" in words and len(group) > 1]
        sums = [np.sum([self.scores[name].values[:, 0] for name in group], axis=0) for group in numbered]
        selected = [
            len(group) > 2 or not np.allclose(total, 1, atol=ROUNDING, equal_nan=True)
            for group, total in zip(numbered, sums, strict=True)
        ]
        added = [source.columns for source in self._families if source.stem and source.share_of_sums(1) > 0.5]
        return {name for group in (*compress(numbered, selected), *added) for name in group}

    @cached_property
    def _families(self) -> list[ScoreColumns]:
        """The scores of several classes in columns side by side."""
        return [source for source in self.head.sources if source.many and source.form == "columns"]

    def is_part_of_sums(self, source: ScoreColumns) -> bool:
        """Tell whether more columns sum to one together with these."""
        larger = (family for family in self._families if {*source.columns} < {*family.columns})
        return any(family.share_of_sums(1) > 0.5 for family in larger)

    def larger_of(self, score: str) -> bool:
        """Tell whether a score is the maximum of another column of fractions and its complement."""
        values = self.scores[score].values[:, 0]
        rivals = [source for name, source in self.scores.items() if name != score]
        sources = [source for source in rivals if 0 <= source.span[0] < HALF and source.span[1] <= 1]
        fractions = [source.values[:, 0] for source in sources]
        return any(np.abs(values - np.maximum(column, 1 - column)).max() < 1e-3 for column in fractions)

    @cached_property
    def by_rank(self) -> set[str]:
        """The scores with a class that other columns name row by row."""
        numbered = [source for source in self._families if source.numbered]
        return {name for source in numbered if self.head.ranks_beside(source) for name in source.columns}

    def is_part(self, source: ScoreColumns, label: str) -> bool:
        """Tell whether scores belong to a larger family, which has a score for every value of a label."""
        values, columns = self.head.values[label], {*source.columns}
        families = (family for family in self._families if family.stem == source.stem or not source.many)
        return any(columns < {*family.columns} and values <= {*family.plain} for family in families)

    def broken_beside(self, source: ScoreColumns) -> str:
        """Return which column of a similar name mixes text with numbers; "" if there is none."""
        words = () if source.form == "lists" else tokens(source.columns[0])
        for name, values in self.head.columns.items() if len(words) > 1 else ():
            if values.dtype.kind != "O" or tokens(name)[:-1] != words[:-1] or name in self.predictions:
                continue
            texts = sorted(value for value in self.head.values[name] if not NUMBER.fullmatch(value))
            if 0 < len(texts) < len(self.head.values[name]):
                return f'{name} beside it holds text among numbers, such as "{texts[0]}"'
        return ""

    @cached_property
    def rank_names(self) -> set[str]:
        """The columns that name the classes of scores row by row."""
        return {
            name for source in self.head.sources for name in (*source.ranks, *self.head.ranks_beside(source))
        }

    @cached_property
    def is_long(self) -> str:
        """A sentence if each case has a row for each system or run, else ""."""
        return self._long(ROLES["counted"] - {"v"})

    @cached_property
    def of_systems(self) -> str:
        """A sentence if each case has a row for each system, else ""; answers may be given again."""
        return self._long(ROLES["counted"] - ROLES["again"] - {"v"})

    def _long(self, words: Set[str]) -> str:
        systems = [label for label in self.head.labels if {*tokens(label)} & words]
        for (name, case), system in product(self._cases.items(), systems):
            if system != name and len(self.head.values[system]) * (case.max() + 1) == self.head.n:
                return f"each {name} has a row for each {system}"
        return ""

    @cached_property
    def _cases(self) -> dict[str, NDArray[np.intp]]:
        """The case of each row, by each column with values that all occur equally often, more than once."""
        cases = {}
        for name, text in self.head.text.items():
            _, case, counts = np.unique(text.astype(str), return_inverse=True, return_counts=True)
            if len(counts) >= FEW and 1 < counts.min() == counts.max():
                cases[name] = case
        return cases

    def sums_over_cases(self, score: str) -> str:
        """Return a sentence if a score sums to one over the rows of each case, else ""."""
        values = self.scores[score].values[:, 0]
        for name, case in self._cases.items():
            if np.abs(np.bincount(case, values) - 1).max() < 1e-3:
                return f"{score} sums to 1 over the rows of each {name}: a row for each class"
        return ""

    def made_of_another(self, source: ScoreColumns, values: frozenset[str]) -> bool:
        """Tell whether a name extends the name of another score, as in p_mean beside p."""
        words = tokens(source.stem)
        stems = [stem for stem, is_single in self._stems if is_single != source.many]
        for stem in (stem for stem in stems if len(stem) < len(words)):
            tail = words[len(stem) :]
            of_class = len(tail) == 1 and (tail[0] in CUSTOM or tail[0] in values)
            is_class = of_class and source.stem[-2:-1] != "."
            is_made = {*stem} < {*words} and {*words} - {*stem} <= ROLES["made"]
            if stem and not is_class and (is_made or (words[: len(stem)] == stem and not source.many)):
                return True
        return False

    @cached_property
    def _stems(self) -> list[tuple[tuple[str, ...], bool]]:
        """The words of the names of scores that name no event, and whether they are single scores."""
        head = self.head
        scores = [source for source in head.sources if source.many or source.columns[0] in head.fractions]
        stems = [(tokens(source.stem), not source.many) for source in scores if not scored_event(source.stem)]
        return list(dict.fromkeys(stems))


def standard(values: Doubles) -> Doubles:
    """Return values standardized to mean 0 and deviation 1, with 0 where one is missing."""
    present = ~np.isnan(values)
    if not present.any():
        return np.zeros(len(values))
    centred = np.where(present, values - values[present].mean(), 0.0)
    deviation = np.sqrt((centred**2).mean())
    return centred / deviation if deviation > 0 else centred * 0


def ranked(values: Doubles) -> Doubles:
    """Return the ranks of values, with the mean rank of ties and nan where a value is missing."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    places = np.cumsum(counts) - (counts - 1) / 2
    return np.where(np.isnan(values), np.nan, places[inverse])


def gain(correlations: Doubles) -> Doubles:
    """Return the gain in log-likelihood per row from correlations, as between normal variables."""
    return np.asarray(-0.5 * np.log1p(-np.minimum(correlations**2, 0.998)))


def deviations(correlation: float, rows: int) -> float:
    """Return the distance of a correlation from 0, in standard errors."""
    return correlation * float(np.sqrt(max(rows - 1, 1)))


def ranks(scores: Doubles, outcomes: NDArray[np.bool_]) -> float:
    """Return by how many standard errors scores and outcomes are correlated in rank."""
    return deviations(
        float(np.mean(standard(ranked(scores)) * standard(outcomes.astype(np.float64)))), len(scores)
    )


def cut(scores: Doubles, texts: NDArray[np.object_]) -> str | None:
    """Return which of two values occurs exactly above some threshold of the scores; None if neither does."""
    distinct = [text for text in np.unique(texts) if text]
    if len(distinct) != 2 or not scores.min() < scores.max():
        return None
    first_scores, second_scores = (scores[texts == value] for value in distinct)
    if _is_below(first_scores, second_scores):
        return str(distinct[1])
    return str(distinct[0]) if _is_below(second_scores, first_scores) else None


def _is_below(lower: Doubles, upper: Doubles) -> bool:
    """Tell whether no lower score exceeds an upper one, with no more ties than rounding makes."""
    edge = lower.max()
    ties = np.count_nonzero(lower == edge) + np.count_nonzero(upper == edge)
    few = ties <= ROUNDED * (len(lower) + len(upper))
    return bool(edge < upper.min() or (edge == upper.min() and few))
