"""Every calibrator calcli knows, as data: what it learns, what it keeps, where it comes from, its settings.

This module loads without numpy, so that help and completion are quick. The methods stand in the order of
their freedom, the simplest first: of methods that are equally good, `auto` takes the first. Wrappers, which
are around any of them, come last.
"""

from __future__ import annotations

from calcli.core.language.entries import Argument, Method

ORDER = "the order of the classes"
NOTHING = "nothing"
PREDICTED = "the predicted class"
ROWS = "with two classes, the order of the rows"
ROWS_OR_TIES = f"{ROWS}, up to ties"

KEEP_TOP = {"keep_top": Argument(True)}
LENS = {"lens": Argument("class-wise"), **KEEP_TOP, "ranks": Argument(0, least=0)}
INPUT = {"input": Argument("log-probs", ("log-probs", "raw"))}
BINS = {"bins": Argument(15, least=1)}
SMOOTHING = {"smoothing": Argument(1.0, least=0)}  # in rows
SCORE = {"score": Argument("log_loss", ("log_loss", "brier"))}
ERRORS = ("ece", "ece_l2", "cw_ece", "cw_ece_l2")  # as what a fit minimizes: of one number only, on a grid
ANY_SCORE = {"score": Argument("log_loss", ("log_loss", "brier", *ERRORS))}
WRAPPED = {"calibrator": Argument(None)}


def _softmax() -> list[Method]:
    guo = "Guo et al. 2017"
    return [
        Method(
            name="temperature", title="Temperature scaling",
            where="temperature:Temperature", family="softmax", quick=True,
            learns="softmax(log q / T), T > 0",
            parameters="1", keeps=ORDER, source=guo,
            arguments=ANY_SCORE,
            misses="a calibration error as score is not proper: in bins, useless probabilities may be right "
            "on average; log_loss also sees how sharp they are",
            count=lambda k, s: 1,
        ),
        Method(
            name="ensemble-temperature", title="Ensemble temperature scaling (Mix-n-Match)",
            where="temperature:EnsembleTemperature", family="softmax", quick=True,
            learns="w1 softmax(log q / T) + w2 q + w3 / K",
            parameters="3", keeps=ORDER, source="Zhang et al. 2020",
            count=lambda k, s: 3,
        ),
        Method(
            name="bias", title="Bias only",
            where="softmax:BiasOnly", family="softmax", quick=True,
            learns="softmax(log q + beta)",
            parameters="K - 1", keeps=NOTHING, source="Saerens et al. 2002, fitted by log-loss",
            arguments=SCORE,
            count=lambda k, s: k - 1,
        ),
        Method(
            name="dp", title="DP affine",
            where="softmax:DPAffine", family="softmax", quick=True,
            learns="softmax(alpha log q + beta)",
            parameters="K", keeps=NOTHING, source="Ferrer & Ramos 2024",
            arguments=SCORE,
            count=lambda k, s: k,
        ),
        Method(
            name="vector", title="Vector scaling",
            where="softmax:VectorScaling", family="softmax", quick=True,
            learns="softmax(w * log q + b)",
            parameters="2K - 1", keeps=NOTHING, source=guo,
            arguments={**INPUT, **SCORE},
            count=lambda k, s: 2 * k - 1,
        ),
    ]  # fmt: skip


def _matrices() -> list[Method]:
    guo, kull = "Guo et al. 2017", "Kull et al. 2019"
    odir = {
        **INPUT,
        "off_diagonal_penalty": Argument(1000.0, least=0),
        "intercept_penalty": Argument(0.01, least=0),
    }
    penalties = {
        "off_diagonal_penalties": Argument((1e4, 1e3, 1e2, 10.0, 1.0, 0.1, 0.01), least=0),
        "intercept_penalties": Argument((1.0, 0.01), least=0),
    }
    return [
        Method(
            name="matrix-odir", title="Matrix scaling with ODIR",
            where="odir:MatrixODIR", family="softmax",
            learns="softmax(W log q + b), off-diagonal entries and intercepts penalized",
            parameters="K(K + 1), penalized", keeps=NOTHING, source=kull,
            arguments=odir,
        ),
        Method(
            name="dirichlet", title="Dirichlet calibration",
            where="odir:Dirichlet", family="softmax",
            learns="as matrix-odir, the penalties chosen by cross-validation",
            parameters="K(K + 1), penalized", keeps=NOTHING, source=kull,
            arguments={**INPUT, **penalties, "folds": Argument(3, least=2), "seed": Argument(0, least=0)},
        ),
        Method(
            name="matrix", title="Matrix scaling",
            where="softmax:MatrixScaling", family="softmax",
            learns="softmax(W log q + b)",
            parameters="K(K + 1)", keeps=NOTHING, source=guo,
            arguments={**INPUT, **SCORE},
            count=lambda k, s: k * (k + 1),
        ),
    ]  # fmt: skip


def _one_score() -> list[Method]:
    return [
        Method(
            name="platt", title="Platt scaling",
            where="logistic:Platt", family="one score",
            learns="sigmoid(slope * log-odds + intercept)",
            parameters="2 a class", keeps=ROWS, source="Platt 1999",
            arguments={**LENS, "target_smoothing": Argument(True), **INPUT, **SCORE},
            count=lambda k, s: 2,
        ),
        Method(
            name="beta", title="Beta calibration",
            where="logistic:Beta", family="one score", quick=True,
            learns="sigmoid(a ln s - b ln(1 - s) + c), a and b not negative",
            parameters="3 a class", keeps=ROWS, source="Kull et al. 2017",
            arguments={
                **LENS,
                "variant": Argument("abm", ("abm", "ab", "am")),
                "constrained": Argument(True),
                **SCORE,
            },
            count=lambda k, s: 3,
        ),
        Method(
            name="spline", title="Spline calibration",
            where="spline:Spline", family="one score", quick=True,
            learns="s plus the slope of a cubic spline through the cumulative outcome - s",
            parameters="6 knots a class", keeps=NOTHING, source="Gupta et al. 2021",
            arguments={
                **LENS,
                "knots": Argument(6, least=4),
                "positions": Argument((), least=0, most=1),
                "runout": Argument("natural", ("natural", "quadratic", "cubic")),
                "target": Argument("difference", ("difference", "cumulative")),
                "constrained": Argument(False),
                "monotone": Argument(False),
                **SMOOTHING,
            },
            count=lambda k, s: len(s["positions"]) or s["knots"],
        ),
        Method(
            name="scaling-binning", title="Scaling-binning",
            where="histogram:ScalingBinning", family="one score",
            learns="Platt scaling, then the mean of each equal-mass bin",
            parameters="2 a class, 15 values", keeps=ROWS_OR_TIES, source="Kumar et al. 2019",
            arguments={**LENS, **BINS},
            count=lambda k, s: 2,
        ),
        Method(
            name="histogram", title="Histogram binning",
            where="histogram:Histogram", family="one score",
            learns="the frequency of the class in each bin of its score",
            parameters="15 bins a class", keeps=NOTHING, source="Zadrozny & Elkan 2001",
            arguments={
                **LENS,
                **BINS,
                "binning": Argument("equal-mass", ("equal-mass", "equal-width")),
                **SMOOTHING,
            },
            count=lambda k, s: s["bins"],
        ),
        Method(
            name="bbq", title="Bayesian binning into quantiles",
            where="bbq:BBQ", family="one score",
            learns="the mean of histograms of many numbers of bins, weighted by their evidence",
            parameters="decided by the data", keeps=NOTHING, source="Naeini et al. 2015",
            arguments=LENS,
        ),
        Method(
            name="isotonic", title="Isotonic regression",
            where="isotonic:Isotonic", family="one score", quick=True,
            learns="the nearest non-decreasing function of the score",
            parameters="decided by the data", keeps=ROWS_OR_TIES, source="Zadrozny & Elkan 2002",
            arguments={**LENS, **SMOOTHING, "interpolation": Argument("linear", ("linear", "steps"))},
        ),
    ]  # fmt: skip


def _wrappers() -> list[Method]:
    return [
        Method(
            name="reduced", title="A calibrator of the confidence",
            where="reduced:Reduced", family="wrapper",
            learns="a calibrator of two classes, the predicted class is wrong or right",
            parameters="as many as of two classes", keeps=PREDICTED, source="Panchenko et al. 2022",
            arguments={**KEEP_TOP, **WRAPPED},
            count=lambda k, s: s["calibrator"].parameters(2),
        ),
        Method(
            name="per-predicted-class", title="One calibrator for each predicted class",
            where="wrappers:PerPredictedClass", family="wrapper",
            learns="a calibrator on the rows of each predicted class",
            parameters="as many for each predicted class", keeps=NOTHING, source="Panchenko et al. 2022",
            arguments={"min_rows": Argument(100, least=1), **WRAPPED},
            count=lambda k, s: s["calibrator"].parameters(k),
        ),
        Method(
            name="preserve-top1", title="The predicted class preserved",
            where="wrappers:PreserveTop1", family="wrapper",
            learns="the nearest distribution that keeps the predicted class",
            parameters="none of its own", keeps=PREDICTED,
            arguments=WRAPPED,
            count=lambda k, s: s["calibrator"].parameters(k),
        ),
    ]  # fmt: skip


# sets of methods by the works that compare them; 15 bins, no smoothing, steps, every class against the rest
SETS: dict[str, tuple[str, ...]] = {
    "van-de-waterlaat-2021": (
        "temperature",
        "platt:target_smoothing=false:input=raw",
        "isotonic:smoothing=0:interpolation=steps",
        "histogram:binning=equal-width:smoothing=0",
        "beta:constrained=false",
        "vector:input=raw",
        "matrix:input=raw",
    ),
}
METHODS: dict[str, Method] = {
    method.name: method for method in [*_softmax(), *_one_score(), *_matrices(), *_wrappers()]
}
