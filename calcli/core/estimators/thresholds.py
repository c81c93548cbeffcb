"""The smallest threshold on the confidence above which an error rate is promised.

Sort the rows by confidence. A uniform binomial band accepts at the end m of a run of ties if the m most
confident rows have so few errors that independent rows with an error rate of exactly the promised one would
have as few anywhere with a probability of at most 1 - level (as Berk & Jones 1979, one-sided, by exact
dynamic programming). For any curve of the error rate, where the promise is false there are at least the
errors of such rows: coupled, they pass nowhere either. It needs independent rows, not their order. Above
`BAND_ROWS` rows the band comes from a martingale, by Ville's inequality.

Where the rows of one class are to be found, not answers to be right, the threshold is an order statistic of
their scores: a one-sided tolerance limit (Wilks 1941), exact for any distribution and safe with ties.
"""

from __future__ import annotations

import json
import math
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any, Literal, TypedDict, cast

import numpy as np

from calcli.core.calibrators.record import FitRows
from calcli.core.data.arrays import Array, Bools, Doubles, Positions, Rng, Stream, generator
from calcli.core.data.blocks import blocks
from calcli.core.data.derived import slice_names, slice_numbers
from calcli.core.data.predictions import Predictions, event_name
from calcli.core.data.units import Units, require_clusters
from calcli.core.estimators.intervals import Interval, beta_cdf, share_most
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.text import some

BAND_ROWS = 50_000  # rows above which the exact band is slow, and the martingale is used
HALVINGS = 20  # tolerance for the logarithm of the level of each size
NEGLIGIBLE = 1e-25  # a probability that counts as 0, which errs on the safe side
STEPS = 1_000  # steps of error rates in the search for the least
ROUNDING = 1 + 1e-9  # of a probability
EXACT = 20  # sizes whose probabilities are computed exactly, the least likely by a bound


@lru_cache(64)
def _level_of_each(rate: float, rows: int, delta: float) -> float:
    """Return the largest level for the test of each size at which all tests together keep delta."""
    if rows * math.log1p(-rate) > math.log(delta):  # even rows without an error are too few
        return delta
    low, high = math.log(delta / rows), math.log(delta)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        crosses = _crossing(rate, _sizes(rate, rows, math.exp(middle))) > delta
        low, high = (low, middle) if crosses else (middle, high)
    return math.exp(low)


def _sizes(rate: float, rows: int, level: float) -> Positions:
    """Return (j,) the fewest rows m with P(Bin(m, rate) <= j) <= level, up to `rows`."""
    sizes: list[int] = []
    size = math.ceil(math.log(level) / math.log1p(-rate))
    density = below = math.exp(size * math.log1p(-rate))
    odds, errors = rate / (1 - rate), 0
    while size <= rows:
        sizes.append(size)
        density *= (size - errors) / (errors + 1) * odds
        errors += 1
        below += density
        while below > level and size <= rows:
            below -= rate * density  # of one row more
            density *= (1 - rate) * (size + 1) / (size + 1 - errors)
            size += 1
    return np.array(sizes, np.intp)


def _crossing(rate: float, sizes: Positions) -> float:
    """Return the probability that independent rows with this error rate are accepted at any size.

    Rows can first be accepted only at these sizes.
    """
    still_open, accepted, seen = np.ones(1), 0.0, 0
    kernels: dict[int, Doubles] = {}
    for size in sizes.tolist():
        if (gap := size - seen) not in kernels:
            steps = np.log((gap - np.arange(gap)) / np.arange(1, gap + 1) * (rate / (1 - rate)))
            kernels[gap] = np.exp(np.concatenate([[0.0], np.cumsum(steps)]) + gap * math.log1p(-rate))
        still_open, seen = np.convolve(still_open, kernels[gap]), size
        accepted += still_open[0]  # the number of errors that is accepted from here on
        still_open = still_open[1:]
        last = len(still_open) - int(np.argmax(still_open[::-1] > NEGLIGIBLE))
        accepted += still_open[last:].sum()
        still_open = still_open[:last]
    return float(accepted)


def _log_density(rate: float, rows: Positions, errors: Positions) -> Doubles:
    """Return (m,) logarithms of the binomial probabilities of numbers of errors in numbers of rows."""
    factorials = np.append(0.0, np.cumsum(np.log(np.arange(1, rows.max() + 1))))
    ways = factorials[rows] - factorials[errors] - factorials[rows - errors]
    return ways + errors * math.log(rate) + (rows - errors) * math.log1p(-rate)


def _least_probability(rate: float, sizes: Positions, errors: Positions) -> float:
    """Return the least probability, under `rate`, of at most (m,) errors in (m,) sizes; 1 for none."""
    low = errors < rate * sizes
    sizes, errors = sizes[low], errors[low]
    odds = errors / (sizes - errors + 1) * (1 / rate - 1)  # of one error less
    bound = _log_density(rate, sizes, errors) - np.log1p(-odds) if low.any() else odds
    least = np.argsort(bound, kind="stable")[:EXACT]
    pairs = zip(sizes[least].tolist(), errors[least].tolist(), strict=True)
    return min((beta_cdf(1 - rate, size - error, error + 1) for size, error in pairs), default=1.0)


def _last_by_martingale(rate: float, sizes: Positions, errors: Positions, delta: float) -> int | None:
    """Return the last position where the mixture of all lower rates is 1 / delta times as likely as `rate`.

    Of m rows with k errors that is P(Bin(m + 1, rate) > k) / ((k + 1) P(Bin(m + 1, rate) = k + 1)).
    """
    log_inverse = np.log(errors + 1) + _log_density(rate, sizes + 1, errors + 1)
    for place in np.flatnonzero((log_inverse <= math.log(delta)) & (errors < rate * sizes))[::-1].tolist():
        above = beta_cdf(rate, int(errors[place]) + 1, int(sizes[place] - errors[place]) + 1)
        if delta * above >= math.exp(log_inverse[place]):
            return place
    return None


def is_accepted(rate: float, sizes: Positions, errors: Positions, delta: float) -> bool:
    """Return whether (m,) sizes with (m,) errors are accepted anywhere, without the level of the band.

    The band accepts if a band that tests each size at the least probability is crossed with probability at
    most delta.
    """
    rows, delta = int(sizes[-1]), delta * ROUNDING
    if rows > BAND_ROWS:
        return _last_by_martingale(rate, sizes, errors, delta) is not None
    level = _least_probability(rate, sizes, errors)
    if level > delta or level * rows <= delta:
        return level <= delta
    return _crossing(rate, _sizes(rate, rows, level * ROUNDING)) <= delta


def last_accepted(rate: float, sizes: Positions, errors: Positions, level: float) -> int | None:
    """Return the last of (m,) positions at which the errors are few enough; None if there is none."""
    if sizes[-1] > BAND_ROWS:
        return _last_by_martingale(rate, sizes, errors, 1 - level)
    if not is_accepted(rate, sizes, errors, 1 - level):
        return None
    rows = int(sizes[-1])
    needed = np.append(_sizes(rate, rows, _level_of_each(rate, rows, 1 - level)), rows + 1)
    places = np.flatnonzero(sizes >= needed[np.minimum(errors, len(needed) - 1)])
    return int(places[-1]) if len(places) else None


@dataclass(frozen=True)
class Found:
    """The promise for all rows or a slice, or why there is none.

    Attributes
    ----------
    value
        Of the slice, as text; None for all rows.
    threshold
        On the confidence, in full precision; None where nothing can be promised.
    level
        Probability of the promise.
    rows
        Number of independent rows in the search; for a recall the rows of the class.
    accepted_rows, errors
        Rows at or above the threshold, and the wrong ones among them, or for a recall the rows below it; 0 if
        there is none.
    least_error
        The least error rate that these rows can promise, up to a thousandth; None if the requested one
        can be promised.
    least_rows
        Number of rows without an error that any promise needs.
    recall, precision, alerts
        For the probability of a class: shares of its rows at or above the threshold, of rows of the class
        among rows at or above it, and of rows at or above it among all rows; else None.
    """

    value: str | None
    threshold: float | None
    level: float
    rows: int
    accepted_rows: int
    errors: int
    least_error: float | None
    least_rows: int
    recall: float | None = None
    precision: float | None = None
    alerts: float | None = None

    @property
    def accepted(self) -> Interval:
        """The interval of the share of rows that is accepted, exact for a threshold fixed beforehand."""
        return Interval.of_share(self.accepted_rows, self.rows, self.level)


def find_threshold(
    scores: Doubles, wrong: Array, max_error: float, level: float, value: str | None = None
) -> Found:
    """Return the smallest threshold above which the error rate is at most `max_error`.

    With a probability of at least `level` over data sets of independent rows that is true.

    Parameters
    ----------
    scores
        (n,) confidences; rows with a score of at least the threshold are accepted.
    wrong
        (n,) booleans.
    max_error, level
        In (0, 1), chosen beforehand.
    value
        Of the slice, if these rows are one.
    """
    rows, delta = len(scores), 1 - level
    sizes, errors = ends_of_ties(scores, wrong)
    last = last_accepted(max_error, sizes, errors, level)
    bare = math.ceil(math.log(delta) / math.log1p(-max_error))
    if last is None:
        rates = [part / STEPS for part in range(math.floor(max_error * STEPS) + 1, STEPS)]
        place = bisect_left(rates, True, key=lambda rate: is_accepted(rate, sizes, errors, delta))
        return Found(value, None, level, rows, 0, 0, [*rates, 1.0][place], bare)
    at = float(np.partition(scores, rows - sizes[last])[rows - sizes[last]])
    return Found(value, at, level, rows, int(sizes[last]), int(errors[last]), None, bare)


def find_recall_threshold(scores: Doubles, max_error: float, level: float, value: str | None = None) -> Found:
    """Return the greatest threshold below which rows of a class score at a rate of at most `max_error`.

    With a probability of at least `level` over data sets of independent rows that is true.

    Parameters
    ----------
    scores
        (n,) probabilities of the class, of its own rows; a row below the threshold is an error.
    max_error, level, value
        As for `find_threshold`.
    """
    rows, delta = len(scores), 1 - level
    bare = math.ceil(math.log(delta) / math.log1p(-max_error))
    borne = bisect_right(range(rows), max_error, key=lambda below: share_most(below, rows, delta))
    if not borne:  # not even if no row is below
        least = math.ceil(share_most(0, rows, delta) * STEPS) / STEPS
        return Found(value, None, level, rows, 0, 0, least, bare)
    at = float(np.partition(scores, borne - 1)[borne - 1])
    errors = int(np.count_nonzero(scores < at))
    return Found(value, at, level, rows, rows - errors, errors, None, bare)


def ends_of_ties(scores: Doubles, wrong: Array) -> tuple[Positions, Positions]:
    """Return (m,) numbers of rows, and of errors among them, up to the end of each run of equal scores."""
    order = np.argsort(-scores, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)
    return ends + 1, np.cumsum(wrong[order], dtype=np.intp)[ends]


def one_of_each(units: Array, rng: Rng) -> Positions:
    """Return one row of each cluster, drawn at random: (u,) positions in (n,) names of clusters."""
    order = rng.permutation(len(units))
    return np.sort(order[np.unique(units[order], return_index=True)[1]])


class ShareObject(TypedDict):
    """The share of rows that is accepted, with an interval."""

    value: float
    low: float
    high: float
    level: float


class FoundObject(TypedDict):
    """The promise for all rows, or for a slice, or why there is none."""

    value: str | None
    threshold: float | None
    level: float
    rows: int
    accepted_rows: int
    errors: int
    accepted_share: ShareObject
    least_error: float | None
    least_rows: int
    recall: float | None
    precision: float | None
    alerts: float | None


class ThresholdRows(FitRows):
    """Facts about the rows behind a threshold."""

    path: str
    scores: str | None
    sha256: str | None
    rows: int
    per_character: bool


class ThresholdObject(TypedDict):
    """A threshold, as its file has it."""

    of: Literal["confidence"]
    kind: str
    classes: tuple[str, ...]
    target: str | None
    max_error: float
    level: float
    by: str | None
    cluster: str | None
    seed: int
    thresholds: list[FoundObject]
    made_of: ThresholdRows
    crc32: int


@dataclass(frozen=True)
class Threshold:
    """A threshold on the confidence, or one for each slice, and the promise for the rows above it.

    Attributes
    ----------
    kind, classes
        Kind and classes of the scores.
    target
        ``precision:``, ``recall:`` or ``alerts:`` and its class, for rows with a probability of the class at
        or above the threshold; None where confidences and answers of any class are meant.
    max_error, level
        The promised error rate, and the probability of the promise, for all slices together.
    by, cluster
        Columns of the slices, and of clusters of dependent rows; None for none.
    seed
        Seed for the draw of one row from each cluster.
    found
        The results for all rows, or for each slice.
    made_of
        Where the rows came from: JSON values.
    """

    kind: str
    classes: tuple[str, ...]
    target: str | None
    max_error: float
    level: float
    by: str | None
    cluster: str | None
    seed: int
    found: tuple[Found, ...]
    made_of: ThresholdRows

    def content(self) -> ThresholdObject:
        """Return the threshold as JSON values, with their checksum."""
        thresholds = [
            vars(cut) | {"accepted_share": {"value": cut.accepted_rows / cut.rows, **asdict(cut.accepted)}}
            for cut in self.found
        ]
        fields = {name: value for name, value in vars(self).items() if name != "found"}
        document = {"of": "confidence", **fields, "classes": list(self.classes), "thresholds": thresholds}
        return cast(ThresholdObject, document | {"crc32": checksum(document)})

    @property
    def measure(self) -> str:
        """The promised measure of a class, precision or recall; "" for the error rate of answers."""
        return (self.target or "").partition(":")[0]

    @property
    def of_recall(self) -> bool:
        """Whether the promise is about the rows of a class, not about rows at or above the threshold."""
        return self.measure == "recall"

    def tallied(self, hit: Array, above: Array) -> tuple[Array, Array]:
        """Return (N,) which rows the promised rate is about, and which of all rows are its errors.

        Parameters
        ----------
        hit, above
            (N,) whether rows are right or of the class, and whether they are at or above the threshold.
        """
        if self.of_recall:
            return hit, ~above
        return (np.ones_like(above), above) if self.measure == "alerts" else (above, ~hit)

    @property
    def mark(self) -> Literal["answer", "above"]:
        """Name of the column that tells which rows are at or above the threshold."""
        return "answer" if self.target is None else "above"

    @property
    def promises(self) -> bool:
        """Whether there is a promise for any row."""
        return any(entry.threshold is not None for entry in self.found)

    def answers(self, predictions: Predictions) -> Bools:
        """Return (N,) whether rows are at or above their threshold; see `require_same` for the requirements.

        Parameters
        ----------
        predictions
            Any rows; their labels do not count.

        Raises
        ------
        InputError
            If a slice is unknown.
        """
        scores, _ = confidences(predictions, self.target)
        cuts = {entry.value: np.inf if entry.threshold is None else entry.threshold for entry in self.found}
        if self.by is None:
            return scores >= cuts[None]
        names, codes = np.unique(slice_names(predictions.column(self.by)), return_inverse=True)
        if unknown := [name for name in names.tolist() if name not in cuts]:
            raise InputError(
                f"{predictions.provenance.path}: no threshold was made for {self.by} = {unknown[0]!r}; those "
                f"that it was made for are {', '.join(map(repr, cuts))}"
            )
        return np.asarray(scores >= np.array([cuts[name] for name in names.tolist()])[codes])

    def require_same(self, kind: str, classes: tuple[str, ...], path: str) -> None:
        """Raise an InputError if the kind or the classes of scores differ from the threshold's."""
        if set(classes) != set(self.classes):
            raise InputError(
                f"{path} has scores of the classes {some(classes)}, but the threshold was made of "
                f"{some(self.classes)}; expected the same names"
            )
        if kind != self.kind:
            raise InputError(
                f"{path} has {kind}, but the threshold was made of {self.kind}; make one of such scores"
            )


def make_threshold(
    predictions: Predictions,
    max_error: float,
    level: float = 0.95,
    *,
    by: str | None = None,
    target: str | None = None,
    cluster: str | None = None,
    seed: int = 0,
    sha256: str | None = None,
) -> Threshold:
    """Return the smallest threshold on the confidence above which an error rate is promised.

    Parameters
    ----------
    predictions
        Rows to which no calibrator was fitted.
    max_error
        The greatest error rate, in (0, 1); for a target one minus its precision or recall.
    level
        Probability that all promises hold, in (0, 1); slices share it.
    by
        A column; each of its values gets its own threshold.
    target
        ``precision:`` and a class, by its name or as reports call it: the threshold is one on its
        probability, whichever class is the most probable. ``recall:`` and a class: the greatest at or above
        which its rows are found. ``alerts:`` and a class: the smallest at or above which few rows are.
    cluster
        A column; one row is drawn from the rows of each value.
    seed
        Of these draws.
    sha256
        Hash of the files that hold the rows.

    Raises
    ------
    InputError
        If there is no such column, or no row to base a promise on.
    UsageError
        If rows have weights, or the target is no class.
    """
    path, of_class = predictions.provenance.path, None
    measure, _, name = (target or "").partition(":")
    if target is not None:
        of_class = _named_class(predictions, name, f"--{'max' if measure == 'alerts' else 'min'}-{measure}")
        target = f"{measure}:{of_class}"
    predictions.require_named_class()
    predictions.require_probabilities()
    scores, hit = confidences(predictions, target)
    slices: list[str | None] = [None]
    numbers = np.zeros(len(scores), np.intp)
    if by is not None:
        groups, numbers = slice_numbers(predictions, by)
        slices = [part.value for part in groups]
    rows = sampled = independent_rows(predictions, cluster, seed)
    if recalled := measure == "recall":
        rows = rows[hit[rows]]
    thresholds = []
    for number, value in enumerate(slices):
        of_slice = rows[numbers[rows] == number]
        if not len(of_slice):
            wanted = [f"is {of_class}"] * recalled + [f"has {by} = {value!r}"] * (value is not None)
            raise InputError(f"{path}: no row drawn {' and '.join(wanted)}; expected some")
        share = 1 - (1 - level) / len(slices)
        if recalled:
            entry = find_recall_threshold(scores[of_slice], max_error, share, value)
        elif measure == "alerts":  # as many rows below, in the other direction
            entry = find_recall_threshold(-scores[of_slice], max_error, share, value)
            above = -np.inf if entry.threshold is None else np.nextafter(-entry.threshold, np.inf)
            entry = replace(entry, threshold=None if entry.threshold is None else float(above))
        else:
            entry = find_threshold(scores[of_slice], ~hit[of_slice], max_error, share, value)
        if target is not None and entry.threshold is not None:
            of_slice = sampled[numbers[sampled] == number]
            above, hits = scores[of_slice] >= entry.threshold, hit[of_slice]
            recall, precision = (
                (above & hits).sum() / among.sum() if among.any() else np.nan for among in (hits, above)
            )
            entry = replace(entry, recall=recall, precision=precision, alerts=above.mean())
        thresholds.append(entry)
    return Threshold(
        predictions.kind, predictions.classes, target, max_error, level, by, cluster, seed,
        tuple(thresholds), _origin(predictions, sha256),
    )  # fmt: skip


def _origin(predictions: Predictions, sha256: str | None) -> ThresholdRows:
    origin = predictions.provenance
    return {
        "path": origin.path,
        "scores": origin.chosen,
        "columns": list(origin.taken),
        "sha256": sha256,
        "rows": predictions.n_rows,
        "kind": predictions.kind,
        "percent": origin.percent,
        "turned": origin.turned,
        "per_character": origin.per_character,
    }


def checksum(document: Mapping[str, Any]) -> int:
    """Return the checksum of the content of a threshold file."""
    return zlib.crc32(json.dumps(document, sort_keys=True).encode())


def independent_rows(predictions: Predictions, cluster: str | None, seed: int) -> Positions:
    """Return the rows of a promise: one from each cluster."""
    if cluster is None:
        return np.arange(predictions.n_rows)
    require_clusters(predictions, cluster)
    units = Units.of(predictions.n_rows, predictions.column(cluster)).of_row
    return one_of_each(units, generator(seed, Stream.SUBSETS))


def confidences(predictions: Predictions, target: str | None) -> tuple[Doubles, Array]:
    """Return (N,) confidences, or probabilities of the target, and whether rows are right, or belong to it.

    Raises
    ------
    UsageError
        If rows have weights, or there are none.
    """
    path = predictions.provenance.path
    if predictions.weights is not None:
        raise UsageError(
            f"{path} has row weights, and the promise is about rows that count alike; leave out the weights"
        )
    rows, start = predictions.n_rows, 0
    scores = np.empty(rows)
    hit: Array = np.empty(rows, np.bool_ if predictions.has_probabilities else np.float64)  # of grades
    k = None if target is None else predictions.classes.index(target.partition(":")[2])
    for block in blocks(predictions, "double"):
        of_block = slice(start, start := start + len(block.labels))
        if k is None:
            scores[of_block], hit[of_block] = block.confidence, block.hit
        else:
            scores[of_block], hit[of_block] = block.column(k), block.labels == k
    return scores, hit


def _named_class(predictions: Predictions, name: str, option: str) -> str:
    """Return the class with a name, which may be its name in reports."""
    origin, classes = predictions.provenance, () if predictions.of_answers else predictions.classes
    names = {event_name(c, origin.labels): c for c in classes} | {c: c for c in classes}
    names |= {"": classes[1]} if len(classes) == 2 else {}
    if name not in names:
        seen = some(list(names)) or "answers, right or wrong"
        fault = f" {name}: {origin.path} has no such class; it" if name else f": name a class; {origin.path}"
        raise UsageError(f"{option}{fault} has {seen}")
    return names[name]
