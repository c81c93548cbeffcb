"""Synthetic predictions of the papers, with their true posteriors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from calcli.core.data.arrays import Doubles, Positions, Rng, Stream, draw_labels, generator, log_softmax
from calcli.core.data.predictions import Kind
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import nearest_name
from calcli.works.settings import PARAMETERS

Gaussian = Literal["cal", "mcs", "mcp", "mcps"]
Population = Literal["table-1", "table-2", "thesis-2.3"]

# Three classes: each prediction, in tenths, with how many rows of a population have it and each class.
# Tables 1 (also table 2.2 of van de Waterlaat 2021) and 2 of Vaicenavicius et al. 2019; table 2.3 of the
# thesis, which tells the frequencies of the predicted class only: the others share the rest evenly; and
# the six predictions of table 1 right for the most probable class only, with frequencies of our own choice.
TABLES: dict[Population, dict[tuple[int, int, int], tuple[int, int, int]]] = {
    "table-1": {
        (1, 3, 6): (2, 2, 6),
        (1, 6, 3): (0, 7, 3),
        (3, 1, 6): (2, 2, 6),
        (3, 6, 1): (4, 5, 1),
        (6, 1, 3): (7, 0, 3),
        (6, 3, 1): (5, 4, 1),
    },
    "table-2": {
        (6, 1, 3): (7, 2, 1),
        (4, 6, 0): (3, 5, 2),
    },
    "thesis-2.3": {
        (6, 3, 1): (12, 14, 14),
        (1, 6, 3): (1, 18, 1),
        (1, 3, 6): (1, 1, 18),
    },
}


MEAN, DEVIATION = 0.7, 1.2  # of the log-odds of an answer's being right
REACH = 10  # standard deviations of a line beyond its means
STEPS = 10_000  # grid steps in a standard deviation


class Simulation(NamedTuple):
    """Predictions, labels and the truth.

    Attributes
    ----------
    scores
        (N, K) scores of the simulated classifier.
    kind
        What the scores are.
    labels
        (N,) integers in 0..K-1.
    posteriors
        (N, K) probabilities of the classes given the classifier's input.
    of_answers
        Whether the second of two classes is "right", and its score the confidence.
    """

    scores: Doubles
    kind: Kind
    labels: Positions
    posteriors: Doubles
    of_answers: bool = False

    def __repr__(self) -> str:
        rows, classes = self.scores.shape
        return f"<Simulation of {rows:,} rows, {classes:,} classes; {self.kind}>"

    def __eq__(self, other: object) -> bool:
        return self is other  # arrays are neither equal nor not

    def __ne__(self, other: object) -> bool:
        return self is not other

    def __hash__(self) -> int:
        return id(self)


class Line(NamedTuple):
    """Systems with scores and posteriors that depend on a single number, a mixture of normals of one spread.

    Attributes
    ----------
    shares, means
        Of the normals.
    deviation
        Their standard deviation.
    of
        Returns the simulation for (N,) such numbers and labels.
    """

    shares: tuple[float, ...]
    means: tuple[float, ...]
    deviation: float
    of: Callable[[Doubles, Positions], Simulation]

    def population(self) -> tuple[Simulation, Doubles]:
        """Return the system on an even grid of that number, and the probability of each step.

        The midpoint rule: for smooth functions its error is rounding, as normals fall off so fast (Trefethen
        & Weideman 2014), for functions with kinks it has the order of the squared step.
        """
        least, largest = min(self.means), max(self.means)
        steps = round(STEPS * ((largest - least) / self.deviation + 2 * REACH))
        # symmetric about the middle: mirror images are equal
        grid = (least + largest) / 2 + self.deviation / STEPS * (np.arange(steps) - (steps - 1) / 2)
        density = sum(
            share * np.exp(-np.square((grid - mean) / self.deviation) / 2)
            for share, mean in zip(self.shares, self.means, strict=True)
        )
        points = np.asarray(grid, np.float64)
        return self.of(points, np.zeros(len(grid), np.intp)), np.asarray(density / np.sum(density))


def gaussian_classes(
    system: Gaussian,
    rows: int,
    rng: Rng,
    *,
    n_classes: int = 2,
    prior: float = 0.8,
    variance: float = 0.15,
    logit_scale: float = 5.0,
    wrong_prior: float = 0.9,
) -> Simulation:
    """Simulate the four systems of Ferrer & Ramos (2024, appendix C).

    Each class is a Gaussian around its own vertex of a simplex with edges of length 1. The classifier knows
    the densities: "cal" applies the true priors; "mcp" applies wrong ones, as if trained on other data;
    "mcs" and "mcps" multiply the log-posteriors of these two by a scale, as if over-fitted.

    Parameters
    ----------
    system
        Which classifier.
    rows
        Number of rows, N; each class gets its exact share, up to rounding.
    rng
        Source of chance.
    n_classes
        Number of classes, K, at least 2.
    prior
        Prior of the first class, in (0, 1); the others share the rest evenly.
    variance
        Of each Gaussian in every direction, above 0; the larger, the harder the problem.
    logit_scale
        Above 0; over 1 makes the scaled systems over-confident, below under-confident.
    wrong_prior
        What "mcp" and "mcps" take for the prior of the last class, in (0, 1).
    """
    priors = _priors(n_classes, prior)
    labels = rng.permutation(np.repeat(np.arange(n_classes), _shares(priors * rows)))
    features = rng.normal(scale=np.sqrt(variance), size=(rows, n_classes))
    features[np.arange(rows), labels] += np.sqrt(0.5)
    return _of_features(features, labels, system, prior, variance, logit_scale, wrong_prior)


def _of_features(
    features: Doubles,
    labels: Positions,
    system: Gaussian,
    prior: float,
    variance: float,
    logit_scale: float,
    wrong_prior: float,
) -> Simulation:
    """Return the classifier's predictions for (N, K) features."""
    classes = features.shape[1]
    # terms that depend on the features alone cancel in the posteriors
    log_likelihood = np.sqrt(0.5) / variance * features
    posteriors = log_softmax(log_likelihood + np.log(_priors(classes, prior)))
    scores = posteriors
    if system in ("mcp", "mcps"):
        scores = log_softmax(log_likelihood + np.log(_priors(classes, wrong_prior))[::-1])
    if system in ("mcs", "mcps"):
        scores = log_softmax(logit_scale * scores)
    return Simulation(scores, "log-probs", labels, np.exp(posteriors))


def _gaussian_line(
    system: Gaussian,
    *,
    n_classes: int = 2,
    prior: float = 0.8,
    variance: float = 0.15,
    logit_scale: float = 5.0,
    wrong_prior: float = 0.9,
) -> Line | None:
    """Return the line of two classes: posteriors depend on the difference of the features."""
    if n_classes != 2:
        return None

    def of(difference: Doubles, labels: Positions) -> Simulation:
        features = np.stack([difference, np.zeros(len(difference))], axis=1)
        return _of_features(features, labels, system, prior, variance, logit_scale, wrong_prior)

    apart, deviation = np.sqrt(0.5), np.sqrt(2 * variance)
    return Line((prior, 1 - prior), (apart, -apart), float(deviation), of)


def _priors(classes: int, prior: float) -> Doubles:
    priors = np.full(classes, (1 - prior) / (classes - 1))
    priors[0] = prior
    return priors


def _shares(expected: Doubles) -> Positions:
    """Round to integers with the same sum: the largest remainders are rounded up."""
    counts = np.floor(expected).astype(np.intp)
    missing = round(float(expected.sum())) - int(counts.sum())
    counts[np.argsort(counts - expected, kind="stable")[:missing]] += 1
    return counts


def gaussian_mixture(rows: int, rng: Rng, *, intercept: float = 0.0, slope: float = -2.0) -> Simulation:
    """Simulate the two-class mixture of Vaicenavicius et al. (2019) and a logistic model of it.

    The feature x of the first class is normal around -1, of the second around 1, both with variance 1 and
    equally frequent. The model gives the first class the log-odds intercept + slope x; it is perfect for (0,
    -2), and constant, but calibrated, for (0, 0).

    Parameters
    ----------
    rows
        Number of rows, N.
    rng
        Source of chance.
    intercept, slope
        Of the model.
    """
    labels = rng.integers(0, 2, rows).astype(np.intp)
    feature = rng.normal(size=rows) + np.where(labels == 0, -1, 1)
    return _of_feature(feature, labels, intercept, slope)


def _of_feature(feature: Doubles, labels: Positions, intercept: float, slope: float) -> Simulation:
    """Return the logistic model's predictions for (N,) features."""
    zero = np.zeros(len(feature))
    scores = log_softmax(np.stack([intercept + slope * feature, zero], axis=1))
    posteriors = np.exp(log_softmax(np.stack([-2 * feature, zero], axis=1)))
    return Simulation(scores, "log-probs", labels, posteriors)


def _mixture_line(*, intercept: float = 0.0, slope: float = -2.0) -> Line:
    return Line((0.5, 0.5), (-1, 1), 1, partial(_of_feature, intercept=intercept, slope=slope))


def stated_confidence(rows: int, rng: Rng, *, intercept: float = 0.5, slope: float = 1.5) -> Simulation:
    """Simulate answers with the confidence that a model states.

    The log-odds z of an answer's being right are normal with mean 0.7 and standard deviation 1.2, over all
    questions 63% are right. The model states a confidence with log-odds intercept + slope z; it is calibrated
    for (0, 1).

    Parameters
    ----------
    rows
        Number of answers, N.
    rng
        Source of chance.
    intercept, slope
        Of the stated log-odds.
    """
    log_odds = rng.normal(MEAN, DEVIATION, rows)
    simulation = _of_log_odds(log_odds, np.zeros(rows, np.intp), intercept, slope)
    return simulation._replace(labels=draw_labels(simulation.posteriors, 1, rng)[:, 0])


def _of_log_odds(log_odds: Doubles, labels: Positions, intercept: float, slope: float) -> Simulation:
    """Return the stated confidences of (N,) answers with these log-odds of being right."""
    zero = np.zeros(len(log_odds))
    scores, posteriors = (
        np.exp(log_softmax(np.stack([zero, stated], axis=1)))
        for stated in (intercept + slope * log_odds, log_odds)
    )
    return Simulation(scores, "probs", labels, posteriors, of_answers=True)


def _answers_line(*, intercept: float = 0.5, slope: float = 1.5) -> Line:
    return Line((1,), (MEAN,), DEVIATION, partial(_of_log_odds, intercept=intercept, slope=slope))


def three_classes(table: Population, rows: int, rng: Rng) -> Simulation:
    """Draw predictions and labels from one of `TABLES`.

    Parameters
    ----------
    table
        Its name.
    rows
        Number of rows, N.
    rng
        Source of chance.
    """
    predictions, counts = _table(table)
    totals = counts.sum(axis=1)
    places = np.repeat(np.arange(len(totals)), totals // np.gcd.reduce(totals))
    rows_drawn = places[rng.integers(0, len(places), rows)]
    posteriors = (counts / totals[:, None])[rows_drawn]
    return Simulation(predictions[rows_drawn], "probs", draw_labels(posteriors, 1, rng)[:, 0], posteriors)


def three_class_population(table: Population) -> Simulation:
    """Return the rows in which every prediction of a table occurs with its exact class frequencies."""
    predictions, counts = _table(table)
    labels = np.repeat(np.tile(np.arange(3), len(predictions)), counts.ravel())
    rows = np.repeat(np.arange(len(predictions)), counts.sum(axis=1))
    return Simulation(predictions[rows], "probs", labels, (counts / counts.sum(axis=1, keepdims=True))[rows])


def _table(table: Population) -> tuple[Doubles, Positions]:
    """Return the predictions of a table, (m, 3), and how many rows there are of each class, (m, 3)."""
    return np.array(list(TABLES[table])) / 10, np.array(list(TABLES[table].values()), np.intp)


SYSTEMS: dict[str, Callable[..., Simulation]] = {
    "cal": partial(gaussian_classes, "cal"),
    "mcs": partial(gaussian_classes, "mcs"),
    "mcp": partial(gaussian_classes, "mcp"),
    "mcps": partial(gaussian_classes, "mcps"),
    "mixture": gaussian_mixture,
    "answers": stated_confidence,
    **{table: partial(three_classes, table) for table in TABLES},
}
LINES: dict[str, Callable[..., Line | None]] = {
    **{system: partial(_gaussian_line, system) for system in get_args(Gaussian)},
    "mixture": _mixture_line,
    "answers": _answers_line,
}
ROWS = 10_000


def population(
    system: str, parameters: Mapping[str, Any], spelled: Callable[[str], str] = str
) -> tuple[Simulation, Doubles | None] | None:
    """Return weighted rows, without labels, that represent the whole population of a system.

    Parameters
    ----------
    system, parameters, spelled
        As for `simulate`.

    Returns
    -------
    The rows of a table, which weigh the same, or a fine grid; None for systems of more dimensions than one.

    Raises
    ------
    UsageError
        If there is no such system, or it has no such parameter.
    """
    _check(system, parameters, spelled)
    if system in TABLES:
        return three_class_population(system), None
    line = LINES[system](**parameters)
    return None if line is None else line.population()


def mislabeled(simulation: Simulation, share: float, seed: int) -> Simulation:
    """Return a simulation with a share of labels moved to other classes, each equally often.

    Scores calibrated on true labels are not calibrated on these (van de Waterlaat 2021, section 4.7);
    posteriors belong to the new labels.
    """
    rng = generator(seed, Stream.SIMULATION, 1)
    rows, classes = simulation.posteriors.shape
    wrong = rng.random(rows) < share
    wrong_label = (simulation.labels + rng.integers(1, classes, rows)) % classes
    unchanged = (1 - share) * simulation.posteriors
    posteriors = unchanged + share * (1 - simulation.posteriors) / (classes - 1)
    return simulation._replace(labels=np.where(wrong, wrong_label, simulation.labels), posteriors=posteriors)


def simulate(
    system: str,
    parameters: Mapping[str, Any],
    rows: int | None = None,
    seed: int = 0,
    *,
    exact: bool = False,
    part: tuple[int, ...] = (),
    spelled: Callable[[str], str] = str,
) -> Simulation:
    """Simulate one of `SYSTEMS`.

    Parameters
    ----------
    system
        Its name.
    parameters
        Of the system, in place of their defaults.
    rows
        Number of rows, N; 10,000 if None.
    seed
        Of the source of chance.
    exact
        Whether to return rows with the exact frequencies of a table, in place of random ones.
    part
        Numbers of one of many data sets of a seed.
    spelled
        Returns the name of an argument as its user wrote it.

    Raises
    ------
    UsageError
        If there is no such system, or it has no such parameter.
    """
    _check(system, parameters, spelled)
    if not exact:
        rng = generator(seed, Stream.SIMULATION, *part)
        return SYSTEMS[system](ROWS if rows is None else rows, rng=rng, **parameters)
    if system not in TABLES:
        raise UsageError(f"{spelled('exact')} is for {', '.join(TABLES)}, not for {system}; leave it out")
    population = three_class_population(system)
    if rows is not None:
        raise UsageError(f"{spelled('exact')} has {len(population.labels)} rows; leave out {spelled('rows')}")
    return population


def _check(system: str, parameters: Mapping[str, Any], spelled: Callable[[str], str]) -> None:
    """Raise a UsageError if there is no such system, or it has no such parameter."""
    if system not in SYSTEMS:
        nearest = nearest_name(system, SYSTEMS)
        raise UsageError(f"unknown system {system!r}{nearest}; there are: {', '.join(SYSTEMS)}")
    for name in parameters:
        called, allowed = spelled(name), PARAMETERS.get(system, ())
        if name not in allowed:
            takes = (
                f"which takes {', '.join(map(spelled, allowed))}" if allowed else "which has no parameters"
            )
            raise UsageError(f"{called} is not for {system}, {takes}; leave it out")
