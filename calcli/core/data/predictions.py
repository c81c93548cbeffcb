"""Predictions: scores, labels and class names, delivered in blocks of rows."""

from __future__ import annotations

import os.path
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from calcli.core.data.arrays import Array, Floats
from calcli.core.language.errors import InputError
from calcli.core.language.expressions import AUTO_LENS, KINDS, WRONG_RIGHT, option_names

Kind = Literal["logits", "log-probs", "probs"]
Outcomes = Literal["", "outcomes", "grades", "predictions"]
Called = Kind | Literal["percent"]


def called(kind: Kind, percent: bool) -> Called:
    """Return the value of `--kind` for scores of a kind; percentages were divided by 100."""
    return "percent" if percent else kind


TIMES = "(epochs)"  # column with the number of answers to a question, if its row is their mean
ASKED = ("is", "has", "was", "did")  # prefixes of the name of an event, as in is_fraud
EVENT = re.compile(rf'"(?:{"|".join(ASKED)})_(.+)"$', re.IGNORECASE)  # label column of an event


def event_name(name: str, labels: str) -> str:
    """Return the name of a class in words: fraud, for class 1 of the label column is_fraud."""
    column = EVENT.search(labels) if name.casefold() in ("1", "true") else None
    return column[1].replace("_", " ") if column else name


class Scores(Protocol):
    """An (N, K) table of scores that can be read block by block, again and again."""

    @property
    def kind(self) -> Kind:
        """What the scores are."""

    @property
    def kind_reason(self) -> str:
        """Why they are taken for that."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and classes."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the scores as they were stored."""

    def blocks(self, rows: int) -> Iterator[Floats]:
        """Yield (n, K) floating-point blocks, n <= rows, in order; a block is not overwritten."""


@dataclass(frozen=True)
class Held:
    """An (N, K) table in memory, block by block."""

    array: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return self.array.dtype

    def blocks(self, rows: int) -> Iterator[Array]:
        """Yield views of at most `rows` rows."""
        for start in range(0, len(self.array), rows):
            yield self.array[start : start + rows]


@dataclass(frozen=True)
class ArrayScores(Held):
    """Scores in memory."""

    kind: Kind
    kind_reason: str = "given"


@dataclass(frozen=True)
class DerivedScores:
    """Scores derived from others, block by block; facts that a subclass does not define are theirs."""

    source: Scores

    @property
    def kind(self) -> Kind:
        """What the scores are."""
        return self.source.kind

    @property
    def kind_reason(self) -> str:
        """Why they are taken for that."""
        return self.source.kind_reason

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and classes."""
        return self.source.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the scores as they were stored."""
        return self.source.dtype

    def row_in_source(self, row: int) -> int:
        """Return the number of the row in the source."""
        return row


@dataclass(frozen=True)
class Provenance:
    """Where predictions came from and how they were read; shown at the head of every report.

    Attributes
    ----------
    path
        The file, folder or `-`; "arrays" for arrays passed in Python.
    labels
        Where the labels came from: a file, a column or an option.
    files
        The files read, for their hash.
    notes
        Further sentences for the reader: rows renormalized, classes reordered, a column ignored.
    read_as
        The layout in which they were read.
    taken
        Columns or arrays read as scores, and the shape of an array.
    doubts
        Other possible readings, as sentences for the reader.
    repeats
        Dependence between rows that columns show: repeated identifiers, copies.
    by_ranking
        For a single score with a class that only the ranking tells: the class taken, and the options that set
        it; else "".
    considered
        Other columns or arrays that could be scores, and why they were not chosen.
    chosen
        How the user named the scores; None if they were found.
    parts
        Number of joined files.
    percent
        Whether the scores were percentages.
    turned
        Whether the two columns of scores, or the labels of two classes, are in the opposite order of
        these.
    per_character
        Whether they were log-likelihoods, divided by the characters of the options.
    left
        Numbers of the rows where they are stored, if some were left out; else empty.
    sampled_from
        The number of all rows, if these are a sample; else 0.
    outcomes
        What stands in place of probabilities: "outcomes", right or wrong; "grades" in [0, 1]; or
        "predictions", the predicted classes; "" for probabilities.
    questions
        For repeated outcomes: how many questions, and how often each; a row is the mean of a question.
    identity
        The column that identifies the questions, if there is one.
    judge
        The column with a judge's verdict on every row, if people labelled only some rows; else "".
    without_label
        Number of further rows, without a label.
    name
        The user's name for the system, as in `rf=preds.csv`; else "".
    label
        The name of the label, if the file has several labels in a row; else "".
    """

    path: str
    labels: str
    files: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    read_as: str = "arrays"
    taken: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    repeats: tuple[str, ...] = ()
    by_ranking: str = ""
    considered: tuple[tuple[str, str], ...] = ()
    chosen: str | None = None
    parts: int = 1
    percent: bool = False
    turned: bool = False
    per_character: bool = False
    left: tuple[int, ...] = ()
    sampled_from: int = 0
    outcomes: Outcomes = ""
    questions: str = ""
    identity: str = ""
    judge: str = ""
    without_label: int = 0
    name: str = ""
    label: str = ""

    @property
    def labelled_file(self) -> str:
        """The file, if it has several labels in a row, and these rows belong to one label; else ""."""
        return self.path.removesuffix(f"/{self.label}") if self.label else ""

    @property
    def clustered(self) -> bool:
        """Whether rows of repeated questions are kept, and so are dependent, rather than averaged."""
        return bool(self.questions) and (self.outcomes in ("", "predictions") or bool(self.judge))

    @property
    def joined(self) -> str:
        """Words after the number of rows: joined files, or a sample."""
        if self.sampled_from:
            return f" sampled from {self.sampled_from:,}"
        return f" in {self.parts:,} files, parts of one data set" if self.parts > 1 else ""

    @property
    def in_series(self) -> str:
        """The path in a series; a system in a file, `val/epoch_1.csv/rf`, becomes `val/rf/epoch_1.csv`."""
        file, system = os.path.split(self.path)
        if file not in self.files:
            return self.path
        return os.path.join(os.path.dirname(file), system, os.path.basename(file))


@dataclass(frozen=True, eq=False)
class Predictions:
    """A classifier's saved scores with the labels they are judged by.

    Answers, right or wrong, are predictions of two classes, "wrong" and "right", with the confidence as
    second score. Without probabilities it is the outcome itself, or the grade; predicted classes have the
    score 1, and all others 0.

    Attributes
    ----------
    scores
        (N, K) scores, read in blocks: logits, log-probabilities or probabilities.
    labels
        (N,) integers in 0..K-1.
    classes
        K class names, in the order of the columns.
    weights
        (N,) non-negative row weights, or None.
    columns
        Other columns of the file by name, (N,) each, read on demand.
    provenance
        Where the predictions came from.
    priors
        (K,) class priors that the weights produce, if weights come from priors.
    proxy
        (N,) the judge's verdict on each row, in [0, 1]; None where probabilities give the expectation.
    unlabelled
        The rows without a label, if any, with the judge's verdicts or the probabilities as scores.
    has_rows
        Whether scores can be read; False for a state without rows.
    """

    has_rows: ClassVar[bool] = True
    scores: Scores
    labels: Array
    classes: tuple[str, ...]
    weights: Floats | None = None
    columns: Mapping[str, Array] = field(default_factory=dict)
    provenance: Provenance = Provenance("arrays", "arrays")
    priors: Floats | None = None
    proxy: Floats | None = None
    unlabelled: Predictions | None = None

    def __repr__(self) -> str:
        size = f"{self.n_rows:,} rows" + ("" if self.of_answers else f", {self.n_classes:,} classes")
        return f"<{type(self).__name__} of {self.provenance.path}: {size}; {self.kind}>"

    @property
    def kind(self) -> Kind:
        """What the scores are."""
        return self.scores.kind

    @property
    def scores_as_read(self) -> Scores:
        """The scores before a shift of priors or a merge of classes."""
        scores = self.scores
        while isinstance(scores, DerivedScores):
            scores = scores.source
        return scores

    def reading(self, cluster: str | None = None) -> tuple[str, ...]:
        """Return one sentence on how the data were read, then doubts, then which rows repeat.

        Repeated rows are left out if a column of clusters is given.
        """
        origin, scores = self.provenance, self.scores_as_read
        columns = origin.taken if len(origin.taken) < 6 else (*origin.taken[:3], "...", origin.taken[-1])
        layout = f"{origin.read_as} ({', '.join(columns)})" if columns else origin.read_as
        labels, size = "labels from", origin.questions or f"{self.n_rows:,} row{'s' * (self.n_rows > 1)}"
        if self.of_answers:
            labels = "right by"
        else:
            size += f" of {self.n_classes:,} classes"
        size += origin.joined
        kind = f"{scores.kind}: {scores.kind_reason}" if self.has_probabilities else "no probabilities"
        return (
            f"read as {layout}, {labels} {origin.labels}; {size}; {kind}",
            *origin.doubts,
            *(origin.repeats if cluster is None else ()),
        )

    def require_named_class(self) -> None:
        """Raise an InputError if only the ranking tells the class of a single score."""
        if self.provenance.by_ranking:
            raise InputError(f"{self.provenance.path}: {self.provenance.by_ranking}")

    def require_probabilities(self) -> None:
        """Raise an InputError if there are no probabilities, or rows lack labels."""
        path, count = self.provenance.path, self.provenance.without_label
        if self.has_probabilities and count:
            raise InputError(f"{path}: {count:,} rows have no label; leave them out with --drop-missing")
        if not self.has_probabilities:
            raise InputError(
                f"{path} has {KINDS[self.provenance.outcomes]}; this needs "
                "probabilities, which evaluate, compare, check and plan do not"
            )

    @property
    def n_rows(self) -> int:
        """Number of rows, N."""
        return self.scores.shape[0]

    def stored_row(self, row: int) -> int:
        """Return the stored number of a row, from 0; it differs if other rows were left out."""
        scores = self.scores
        while isinstance(scores, DerivedScores):
            row, scores = scores.row_in_source(row), scores.source
        return self.provenance.left[row] if self.provenance.left else row

    @property
    def n_classes(self) -> int:
        """Number of classes, K."""
        return self.scores.shape[1]

    @property
    def of_answers(self) -> bool:
        """Whether these are answers, right or wrong: the score is a confidence, and no class is predicted."""
        return self.classes == WRONG_RIGHT

    def resolve_lens(self, lens: str = AUTO_LENS) -> str:
        """Return the lens of a name: auto is the second of two classes, or else the confidence."""
        if lens != AUTO_LENS:
            return lens
        return "class-1" if self.n_classes == 2 and not self.of_answers else "top-1"

    @property
    def has_probabilities(self) -> bool:
        """Whether the scores are probabilities; else outcomes, grades or predicted classes."""
        return not self.provenance.outcomes

    @property
    def of_options(self) -> bool:
        """Whether classes are positions of options, for questions with different numbers of options."""
        return self.classes == option_names(self.n_classes)

    def column_if(self, name: str | None) -> Array | None:
        """Return the (N,) values of another column; None if no name is given."""
        return None if name is None else self.column(name)

    def column(self, name: str) -> Array:
        """Return the (N,) values of another column.

        Raises
        ------
        InputError
            If there is no such column.
        """
        if name not in self.columns:
            names = ", ".join(self.columns) or "none"
            where = self.provenance.path
            raise InputError(
                f"{where}: no column {name!r}; the columns are: {names}, besides labels and scores"
            )
        return self.columns[name]


def require_classes(predictions: Predictions, classes: tuple[str, ...], owner: str) -> None:
    """Raise an InputError if the classes of predictions, or their order, differ from the expected ones.

    Parameters
    ----------
    predictions
        The predictions to check.
    classes, owner
        The expected names, and their owner.
    """
    if predictions.classes == classes:
        return
    path = predictions.provenance.path
    if set(predictions.classes) == set(classes):
        predictions.require_named_class()
        order = f"--classes {','.join(classes)} if their labels are names, else save them in one"
        if len(classes) == 2:
            order = f"--positive {shlex.quote(classes[1])}"
        raise InputError(
            f"{path} and {owner} have the same classes in different orders; give one order to all files with "
            f"{order}"
        )
    if predictions.n_classes != len(classes):
        seen, expected = f"{predictions.n_classes} classes", str(len(classes))
    else:
        n = next(n for n, name in enumerate(classes) if name != predictions.classes[n])
        seen, expected = f"class {predictions.classes[n]!r}", f"{classes[n]!r}"
    raise InputError(f"{path} has {seen} where {owner} has {expected}; expected the same classes")
