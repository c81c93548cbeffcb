"""Every calibrator calcli knows, as data: what it learns, what it keeps, where it comes from, its settings.

This module loads without numpy, so that help and completion are quick. The methods stand in the order of
their freedom, the simplest first: of methods that are equally good, `auto` takes the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Family = Literal["softmax", "one score", "wrapper"]
Settings = Mapping[str, Any]

ORDER = "the order of the classes"
NOTHING = "nothing"
ROWS = "with two classes, the order of the rows"
ROWS_OR_TIES = f"{ROWS}, up to ties"

LENS: dict[str, Any] = {"lens": "class-wise"}
INPUT: dict[str, Any] = {"input": "log-probs"}


@dataclass(frozen=True)
class Method:
    """What is to be known of a calibrator before it is made.

    Attributes
    ----------
    name
        As written after `-m` and in calibrator files.
    title
        In words.
    where
        Module in `calcli.core.calibrators` and class, as `module:Class`.
    family
        "softmax": a softmax of transformed log-probabilities; "one score": a map of one probability at a
        time; "wrapper": around any other calibrator.
    learns
        One line: the model.
    parameters
        How many numbers are learned, as text; K is the number of classes.
    keeps
        What the calibrator leaves as it is.
    source
        Where it is defined.
    settings
        Settings with their defaults.
    count
        Returns the number of parameters from the number of classes and the settings; None where the data
        decide it, or a penalty.
    quick
        Whether `auto` tries it unasked.
    """

    name: str
    title: str
    where: str
    family: Family
    learns: str
    parameters: str
    keeps: str
    source: str
    settings: Settings = field(default_factory=dict)
    count: Callable[[int, Settings], int] | None = None
    quick: bool = False


def _softmax() -> list[Method]:
    guo = "Guo et al. 2017"
    return [
        Method(
            "temperature", "Temperature scaling", "temperature:Temperature", "softmax",
            "softmax(log q / T), T > 0", "1", ORDER, guo, count=lambda k, s: 1, quick=True,
        ),
        Method(
            "ensemble-temperature", "Ensemble temperature scaling (Mix-n-Match)",
            "temperature:EnsembleTemperature", "softmax", "w1 softmax(log q / T) + w2 q + w3 / K", "3", ORDER,
            "Zhang et al. 2020", count=lambda k, s: 3, quick=True,
        ),
        Method(
            "bias", "Bias only", "softmax:BiasOnly", "softmax", "softmax(log q + beta)", "K - 1", NOTHING,
            "Saerens et al. 2002, fitted by log-loss", count=lambda k, s: k - 1, quick=True,
        ),
        Method(
            "dp", "DP affine", "softmax:DPAffine", "softmax", "softmax(alpha log q + beta)", "K", NOTHING,
            "Ferrer & Ramos 2024", count=lambda k, s: k, quick=True,
        ),
        Method(
            "vector", "Vector scaling", "softmax:VectorScaling", "softmax", "softmax(w * log q + b)",
            "2K - 1", NOTHING, guo, INPUT, lambda k, s: 2 * k - 1, quick=True,
        ),
    ]  # fmt: skip


def _matrices() -> list[Method]:
    guo, kull = "Guo et al. 2017", "Kull et al. 2019"
    odir = {**INPUT, "off_diagonal_penalty": 1000.0, "intercept_penalty": 0.01}
    penalties = {
        "off_diagonal_penalties": (1e4, 1e3, 1e2, 10.0, 1.0, 0.1, 0.01),
        "intercept_penalties": (1.0, 0.01),
    }
    return [
        Method(
            "matrix-odir", "Matrix scaling with ODIR", "odir:MatrixODIR", "softmax",
            "softmax(W log q + b), off-diagonal entries and intercepts penalized", "K(K + 1), penalized",
            NOTHING, kull, odir,
        ),
        Method(
            "dirichlet", "Dirichlet calibration", "odir:Dirichlet", "softmax",
            "as matrix-odir, the penalties chosen by cross-validation", "K(K + 1), penalized", NOTHING, kull,
            {**INPUT, **penalties, "folds": 3, "seed": 0},
        ),
        Method(
            "matrix", "Matrix scaling", "softmax:MatrixScaling", "softmax", "softmax(W log q + b)",
            "K(K + 1)", NOTHING, guo, INPUT, lambda k, s: k * (k + 1),
        ),
    ]  # fmt: skip


def _one_score() -> list[Method]:
    return [
        Method(
            "platt", "Platt scaling", "logistic:Platt", "one score", "sigmoid(slope * log-odds + intercept)",
            "2 a class", ROWS, "Platt 1999", {**LENS, "target_smoothing": True}, lambda k, s: 2,
        ),
        Method(
            "beta", "Beta calibration", "logistic:Beta", "one score",
            "sigmoid(a ln s - b ln(1 - s) + c), a and b not negative", "3 a class", ROWS, "Kull et al. 2017",
            {**LENS, "variant": "abm"}, lambda k, s: 3, quick=True,
        ),
        Method(
            "spline", "Spline calibration", "spline:Spline", "one score",
            "s plus the slope of a cubic spline through the cumulative outcome - s", "6 knots a class",
            NOTHING, "Gupta et al. 2021", {**LENS, "knots": 6, "runout": "natural", "smoothing": 1.0},
            lambda k, s: s["knots"], quick=True,
        ),
        Method(
            "scaling-binning", "Scaling-binning", "histogram:ScalingBinning", "one score",
            "Platt scaling, then the mean of each equal-mass bin", "2 a class, 15 values", ROWS_OR_TIES,
            "Kumar et al. 2019", {**LENS, "bins": 15}, lambda k, s: 2,
        ),
        Method(
            "histogram", "Histogram binning", "histogram:Histogram", "one score",
            "the frequency of the class in each bin of its score", "15 bins a class", NOTHING,
            "Zadrozny & Elkan 2001", {**LENS, "bins": 15, "binning": "equal-mass", "smoothing": 1.0},
            lambda k, s: s["bins"],
        ),
        Method(
            "isotonic", "Isotonic regression", "isotonic:Isotonic", "one score",
            "the nearest non-decreasing function of the score", "decided by the data", ROWS_OR_TIES,
            "Zadrozny & Elkan 2002", {**LENS, "smoothing": 1.0, "interpolation": "linear"}, quick=True,
        ),
    ]  # fmt: skip


def _wrappers() -> list[Method]:
    return [
        Method(
            "reduced", "A calibrator of the confidence", "reduced:Reduced", "wrapper",
            "a calibrator of two classes, the predicted class is wrong or right", "as many as of two classes",
            NOTHING, "Panchenko et al. 2022", {"calibrator": None},
        ),
        Method(
            "per-predicted-class", "One calibrator for each predicted class", "wrappers:PerPredictedClass",
            "wrapper", "a calibrator on the rows of each predicted class", "as many for each predicted class",
            NOTHING, "Panchenko et al. 2022", {"calibrator": None, "min_rows": 100},
        ),
        Method(
            "preserve-top1", "The predicted class preserved", "wrappers:PreserveTop1", "wrapper",
            "the nearest distribution that keeps the predicted class", "none of its own",
            "the predicted class", "", {"calibrator": None},
        ),
    ]  # fmt: skip


METHODS: dict[str, Method] = {method.name: method for method in [*_softmax(), *_one_score(), *_matrices()]}
WRAPPERS: dict[str, Method] = {method.name: method for method in _wrappers()}
