"""Costs of decisions, and the decisions of least expected cost (Ferrer & Ramos 2024, section 2.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from calcli.core.data.arrays import Doubles, Floats, Positions
from calcli.core.data.blocks import Block, RowStatistic
from calcli.core.data.predictions import Predictions
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.expressions import WRONG_RIGHT
from calcli.core.language.settings import Costs
from calcli.core.language.text import some

Word = Literal["zero-one", "balanced", "abstain", "imbalanced"]

AT_STAKE = "amount of class 1"  # what is lost if no row of the class is found
FORMS = "zero-one, balanced, abstain:COST, imbalanced:CLASS:COST"


@dataclass(frozen=True)
class CostMatrix:
    """The cost of each decision under each true class.

    Attributes
    ----------
    name
        By which metric expressions know it.
    decisions
        D names.
    cost
        (K, D) finite costs, rows true classes.
    balanced
        Whether they are divided by the class frequencies, which makes risks means over the classes.
    amounts
        (N,) factors for the costs of rows of the second of two classes (Elkan 2001); None for 1.
    """

    name: str
    decisions: tuple[str, ...]
    cost: Doubles
    balanced: bool = field(default=False, kw_only=True)
    amounts: Doubles | None = field(default=None, kw_only=True)

    @property
    def title(self) -> str:
        """What they are, for a table."""
        return self.name

    @property
    def facts(self) -> dict[str, Any]:
        """The fields, for costs of other decisions."""
        return {field.name: getattr(self, field.name) for field in fields(CostMatrix)}

    @property
    def column(self) -> str:
        """Name of the row statistic that is the cost of the decision."""
        return f"cost of {self.title}"

    @property
    def decision_column(self) -> str:
        """Name of the row statistic that is the decision."""
        return f"decision under {self.title}"

    @property
    def threshold(self) -> float | None:
        """Probability of the second class above which the second decision costs less; None if there is none.

        It needs two classes and two decisions, each the better one for its class.
        """
        if self.cost.shape != (2, 2) or self.amounts is not None:
            return None
        alarm, miss = self.cost[0, 1] - self.cost[0, 0], self.cost[1, 0] - self.cost[1, 1]
        return float(alarm / (alarm + miss)) if min(alarm, miss) >= 0 < alarm + miss else None

    @property
    def statistics(self) -> dict[str, RowStatistic]:
        """How the cost is computed from a block, by name."""
        amounts = self.amounts
        if amounts is None:
            return {self.column: lambda block: self.cost[block.labels, self.decided(block)]}

        def at_stake(block: Block) -> Doubles:
            return np.where(block.labels == 1, amounts[block.rows], 0)

        def paid(block: Block) -> Doubles:
            cost = self.cost[block.labels, self.decided(block)]
            return np.where(block.labels == 1, cost * amounts[block.rows], cost)

        return {self.column: paid, AT_STAKE: at_stake}

    @cached_property
    def _gain(self) -> Doubles:
        """(K, D) saving of each decision over the worst one; exactly the identity for zero-one costs."""
        return self.cost.max(axis=1, keepdims=True) - self.cost

    @cached_property
    def _own_gain(self) -> Doubles | None:
        """(K,) savings of the first K decisions, if each saves something for one class only."""
        k = len(self.cost)
        diagonal = np.diagonal(self._gain)
        return diagonal[:, None] if np.array_equal(self._gain[:, :k], np.diag(diagonal)) else None

    def decide(self, block: Block) -> Positions:
        """Return the (n,) decisions of least expected cost under the block's probabilities.

        Of decisions with the same expected cost, the first is taken.
        """
        exp = block.exp if block.class_axis == 0 else block.exp.T
        if self.amounts is not None:
            exp = np.stack([exp[0], exp[1] * self.amounts[block.rows]])
        return self.best(exp)

    def best(self, exp: Floats) -> Positions:
        """Return the (n,) decisions of least expected cost under multiples of (K, n) probabilities."""
        gain, diagonal = self._gain.astype(exp.dtype), self._own_gain
        layout: Literal["C", "F"] = "C" if exp.flags.c_contiguous else "F"
        expected_gain = np.empty((gain.shape[1], exp.shape[1]), exp.dtype, layout)
        start = 0
        if diagonal is not None:  # no product of matrices for costs of the usual kind
            start = len(diagonal)
            np.multiply(exp, diagonal.astype(exp.dtype), out=expected_gain[:start])
        np.matmul(gain[:, start:].T, exp, out=expected_gain[start:])
        return expected_gain.argmax(axis=0)

    def decided(self, block: Block) -> Positions:
        """Return the decisions of `decide`, computed once for each block."""
        return block.kept(self.decision_column, self.decide)


@dataclass(frozen=True)
class Decided(CostMatrix):
    """The costs of decisions that were made elsewhere.

    Attributes
    ----------
    source
        The column they are from.
    given
        (N,) decision for each row.
    """

    source: str
    given: Positions

    @property
    def title(self) -> str:
        """What they are, for a table."""
        return f"{self.name}, as in column {self.source}"

    def decide(self, block: Block) -> Positions:
        """Return the (n,) decisions."""
        return self.given[block.rows]


def decided(costs: CostMatrix, predictions: Predictions, column: str) -> Decided:
    """Return costs with the decisions of a column.

    Raises
    ------
    InputError
        If there is no such column, or a value is not a decision.
    """
    numbers_of = {name: d for d, name in enumerate(costs.decisions)}
    names, place = np.unique(predictions.column(column).astype(str), return_inverse=True)
    for n, name in enumerate(names.tolist()):
        if name not in numbers_of:
            row = predictions.stored_row(int((place == n).argmax()))
            raise InputError(
                f"{predictions.provenance.path}: row {row} of column {column!r} is "
                f"{name!r}; the decisions of the costs {costs.name} are {some(costs.decisions)}"
            )
    numbers = np.array([numbers_of[name] for name in names.tolist()], np.intp)
    decisions = numbers[place.reshape(-1)]
    return Decided(**costs.facts, source=column, given=decisions)


@dataclass(frozen=True)
class FromThreshold(CostMatrix):
    """Costs of deciding for the second of two classes if its probability reaches a threshold.

    Attributes
    ----------
    least
        The threshold.
    """

    least: float

    @property
    def title(self) -> str:
        """What they are, for a table."""
        return f"{self.name} from {self.least!r} on"

    def decide(self, block: Block) -> Positions:
        """Return the (n,) decisions."""
        return (block.column(1) >= self.least).astype(np.intp)


def by_amounts(costs: CostMatrix, predictions: Predictions, column: str) -> CostMatrix:
    """Return costs with the amounts of a column.

    Raises
    ------
    UsageError
        If these are not costs of alarms and of missed rows of two classes.
    InputError
        If there is no such column, or a value is no amount.
    """
    if costs.cost.shape != (2, 2) or costs.balanced or costs.cost[1, 1]:
        raise UsageError(
            f"--cost-column {column} multiplies the cost of a missed row, and the costs {costs.name} have no "
            "such cost; expected two classes, two decisions, and no cost of finding a row of the second class"
        )
    values = predictions.column(column)
    amounts = values.astype(np.float64) if values.dtype.kind in "iufb" else np.full(len(values), np.nan)
    wrong = ~(np.isfinite(amounts) & (amounts >= 0))
    if wrong.any():
        row = predictions.stored_row(int(wrong.argmax()))
        raise InputError(
            f"{predictions.provenance.path}: row {row} of column {column!r} is {str(values[wrong][0])!r}; "
            "expected an amount of 0 or more"
        )
    return replace(costs, amounts=amounts)


@dataclass(frozen=True)
class CostWord:
    """Costs named by a word.

    Attributes
    ----------
    name
        By which metric expressions know them.
    word
        "zero-one": an error costs 1. "balanced": an error costs 1 / (K x frequency of the true class): the
        risk is the mean over the classes of their error rates. "abstain": zero-one, and one more decision
        that costs `amount` whatever the class. "imbalanced": zero-one, but errors on `class_name` cost
        `amount`.
    amount
        A cost, 0 or more.
    class_name
        The class with the higher cost of errors.
    """

    name: str
    word: Word
    amount: float = 1.0
    class_name: str = ""

    def matrix(self, classes: Sequence[str], frequencies: Floats) -> CostMatrix:
        """Return the costs for classes of given names and (K,) frequencies.

        Raises
        ------
        UsageError
            If there is no such class, or the rows are answers, which involve no decision.
        InputError
            If balanced costs are asked for and a class has no rows.
        """
        if tuple(classes) == WRONG_RIGHT:
            raise UsageError(
                f"costs {self.name} are of decisions for a class, and these are answers, right or wrong; "
                "expected a file with rows wrong and right, and a column for each decision, such as use"
            )
        error = np.ones(len(classes))
        decisions = tuple(classes)
        if self.word == "balanced":
            absent = [name for name, share in zip(classes, frequencies, strict=True) if not share]
            if absent:
                raise InputError(f"balanced costs need rows of every class; there are none of {absent[0]!r}")
            error = 1 / (len(classes) * frequencies)
        elif self.word == "imbalanced":
            if self.class_name not in decisions:
                raise UsageError(
                    f"imbalanced costs name the class {self.class_name!r}; the classes are "
                    f"{some(decisions)}; expected one of them in --costs imbalanced:CLASS:{self.amount:g}"
                )
            error[decisions.index(self.class_name)] = self.amount
        cost = np.tile(error[:, None], len(classes))
        np.fill_diagonal(cost, 0)
        if self.word == "abstain":
            cost = np.column_stack([cost, np.full(len(classes), self.amount)])
            decisions = (*decisions, "abstain")
        return CostMatrix(self.name, decisions, cost, balanced=self.word == "balanced")


@dataclass(frozen=True)
class CostTable:
    """Costs given in a table.

    Attributes
    ----------
    name
        By which metric expressions know them.
    classes, decisions
        Names of the rows and of the columns.
    costs
        One row of costs per class.
    """

    name: str
    classes: tuple[str, ...]
    decisions: tuple[str, ...]
    costs: tuple[tuple[float, ...], ...]

    def matrix(self, classes: Sequence[str], frequencies: Floats) -> CostMatrix:
        """Return the costs with the rows in the order of the classes.

        Raises
        ------
        InputError
            If the rows have other classes.
        """
        if set(self.classes) != set(classes):
            missing = [name for name in classes if name not in self.classes]
            wrong = f"no row for {missing[0]!r}" if missing else f"rows for {some(self.classes)}"
            raise InputError(
                f"--costs: {self.name!r} has {wrong}; expected a row for each of {some(classes)}"
            )
        rows = dict(zip(self.classes, self.costs, strict=True))
        return CostMatrix(self.name, self.decisions, np.array([rows[name] for name in classes], np.float64))


Definition: TypeAlias = CostWord | CostTable

ALWAYS_KNOWN: tuple[CostWord, ...] = (CostWord("zero-one", "zero-one"), CostWord("balanced", "balanced"))


def parse_cost_word(text: str) -> CostWord | None:
    """Return the costs for a word such as `abstain:0.1` or `imbalanced:cat:10`, or None.

    Raises
    ------
    UsageError
        If the word is known but its arguments are wrong.
    """
    head, *values = text.strip().split(":")
    word: Word | None = next((get_arg for get_arg in get_args(Word) if get_arg == head), None)
    if word is None:
        return None
    if word == "abstain" and len(values) == 1:
        return CostWord(word, word, _amount(text, values[0]))
    if word == "imbalanced" and len(values) > 1:
        return CostWord(word, word, _amount(text, values[-1]), ":".join(values[:-1]))
    if word in ("zero-one", "balanced") and not values:
        return CostWord(word, word)
    raise UsageError(f"{text!r} is not a list of costs; expected one of {FORMS}, or a file")


def with_distinct_names(costs: Sequence[Definition]) -> tuple[Definition, ...]:
    """Return costs with distinct names: a word used twice gets its argument appended, as in `abstain-0.1`.

    Raises
    ------
    UsageError
        If two still have the same name.
    """
    times = Counter(cost.name for cost in costs)
    renamed = [_fully_named(cost) if times[cost.name] > 1 else cost for cost in costs]
    name, count = Counter(definition.name for definition in renamed).most_common(1)[0] if renamed else ("", 0)
    if count > 1:
        raise UsageError(f"{count} of the costs are called {name!r}; rename a file, or leave one out")
    return tuple(renamed)


def find_costs(name: str, costs: Sequence[Costs]) -> Costs:
    """Return the costs with a name: defined costs first, then words that need no number.

    Raises
    ------
    UsageError
        If there are none.
    """
    for cost in (*costs, *ALWAYS_KNOWN):
        if cost.name == name:
            return cost
    names = dict.fromkeys(cost.name for cost in (*costs, *ALWAYS_KNOWN))
    raise UsageError(f"no costs are called {name!r}; define them with --costs ({FORMS}, or a file); "
                     f"known are: {', '.join(names)}")  # fmt: skip


def matrix_of(costs: Costs, predictions: Predictions) -> CostMatrix:
    """Return the costs for the classes and frequencies of predictions.

    Raises
    ------
    UsageError
        If they name an unknown class, or decide for a class although the rows are answers.
    InputError
        If they do not fit the classes.
    """
    counts = np.bincount(predictions.labels, predictions.weights, predictions.n_classes)
    return costs.matrix(predictions.classes, counts / counts.sum())


def _fully_named(costs: Definition) -> Definition:
    if isinstance(costs, CostTable) or costs.word in ("zero-one", "balanced"):
        return costs
    words = [costs.word, *([costs.class_name] if costs.class_name else []), f"{costs.amount:g}"]
    return replace(costs, name="-".join(words))


def _amount(text: str, amount: str) -> float:
    try:
        value = float(amount)
    except ValueError:
        value = np.nan
    if not 0 <= value < np.inf:
        raise UsageError(
            f"{text!r}: the cost {amount!r} is not a number of 0 or more; expected one of {FORMS}"
        )
    return value
