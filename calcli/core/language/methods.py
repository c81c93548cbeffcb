"""Every calibrator calcli knows, as data: what it learns, what it keeps, where it comes from, its settings.

This module loads without numpy, so that help and completion are quick. The methods stand in the order of
their freedom, the simplest first: of methods that are equally good, `auto` takes the first. Wrappers, which
are around any of them, come last.
"""

from __future__ import annotations

from calcli.core.language.entries import Argument, Method, Registry

ORDER = "the order of the classes"
NOTHING = "nothing"
PREDICTED = "the predicted class"
ROWS = "with two classes, the order of the rows"
ROWS_OR_TIES = f"{ROWS}, up to ties"
RISING = "while the map is increasing"  # which is asked of the fitted one
RISING_ROWS = f"{ROWS} {RISING}"

KEEP_TOP = {"keep_top": Argument(True, says="whether every class keeps its rank")}
ACTS_ON = (
    "what the map acts on: class-wise (each class against the rest; class 1 of two), class-1 "
    "(counted from 0), top-1 (the confidence), top-2, within-top-2 (their sum), or top-wise (a map for each "
    "rank)"
)
LENS = {
    "lens": Argument("class-wise", says=ACTS_ON),
    **KEEP_TOP,
    "ranks": Argument(0, least=0, says="with lens=top-wise, the number of ranks with a map; 0 for all"),
}
INPUT = {
    "input": Argument(
        "log-probs",
        ("log-probs", "raw"),
        says="log-probabilities, or raw logits, to fit to and apply to",
    )
}
BINS = {"bins": Argument(15, least=1, says="how many bins")}
SMOOTHING = {
    "smoothing": Argument(1.0, least=0, says="number of rows added, so that no probability becomes 0 or 1")
}
MINIMIZED = "what the fit minimizes"
FOLDS = "folds of the cross-validation that selects"
SEED = {"seed": Argument(0, least=0, says="seed of these folds")}
ERRORS = ("ece", "ece_l2", "cw_ece", "cw_ece_l2")  # as what a fit minimizes: on a grid around the log-loss
SCORE = {"score": Argument("log_loss", ("log_loss", "brier"), says=MINIMIZED)}
SCORE_OR_ERROR = {"score": Argument("log_loss", ("log_loss", "brier", *ERRORS), says=MINIMIZED)}
NOT_PROPER = (
    "a calibration error is not a proper score: useless probabilities may be right on average within bins; "
    "log_loss sees sharpness as well"
)
OF_SCORES, OF_PREDICTED = "needs the score of every class", "needs a predicted class"
JOINED = "+"  # between the members of a pool
POOLED = "temperature+dp+bent-dp+structured"
STRONGEST = 1e9  # penalty; what is penalized so is 0 to all digits that show
WRAPPED = {"calibrator": Argument(None, says="the method that is wrapped, its arguments after slashes")}


def _softmax() -> list[Method]:
    guo = "Guo et al. 2017"
    return [
        Method(
            name="temperature", title="Temperature scaling",
            where=".temperature:Temperature", family="softmax", effort=1, quick=True,
            learns="softmax(log q / T), T > 0",
            parameters="1", keeps=ORDER, source=guo,
            arguments=SCORE_OR_ERROR,
            misses=NOT_PROPER,
            count=lambda k, s: 1,
        ),
        Method(
            name="temperature-mix", title="Temperature scaling mixed with the uniform distribution",
            where=".temperature:TemperatureMix", family="softmax", effort=1, quick=True,
            learns="n / (n + 1) softmax(log q / T) + 1 / (n + 1) / K",
            parameters="1", keeps=ORDER, source="Berta et al. 2025",
            count=lambda k, s: 1,
        ),
        Method(
            name="bent-temperature", title="Bent temperature scaling",
            where=".structured:BentTemperature", family="softmax", effort=6, quick=True,
            learns="softmax(a ln p + c ln(1 / (1 - p)) + e ln(p + 0.01)), p by temperature scaling",
            parameters="4", keeps=f"{ORDER} {RISING}", source="calcli",
            count=lambda k, s: 4,
        ),
        Method(
            name="ensemble-temperature", title="Ensemble temperature scaling (Mix-n-Match)",
            where=".temperature:EnsembleTemperature", family="softmax",
            learns="w1 softmax(log q / T) + w2 q + w3 / K",
            parameters="3", keeps=ORDER, source="Zhang et al. 2020",
            arguments={"joint": Argument(False, says="whether T and the weights are fitted together")},
            count=lambda k, s: 3,
        ),
        Method(
            name="bias", title="Bias only",
            where=".softmax:BiasOnly", family="softmax",
            learns="softmax(log q + beta)",
            parameters="K - 1", keeps=ROWS, source="Saerens et al. 2002, fitted by log-loss",
            arguments=SCORE,
            count=lambda k, s: k - 1,
        ),
        Method(
            name="dp", title="DP affine", letters="direction-preserving",
            where=".softmax:DPAffine", family="softmax", quick=True,
            learns="softmax(alpha log q + beta)",
            parameters="K", keeps=RISING_ROWS, source="Ferrer & Ramos 2024",
            arguments=SCORE_OR_ERROR,
            misses=NOT_PROPER,
            count=lambda k, s: k,
        ),
        Method(
            name="bent-dp", title="Bent DP affine", letters="direction-preserving",
            where=".structured:BentDP", family="softmax", effort=7, quick=True,
            learns="softmax(a ln p + c ln(1 / (1 - p)) + e ln(p + 0.01) + b), p by a DP affine map",
            parameters="K + 3", keeps=RISING_ROWS, source="calcli",
            needs_classes=OF_SCORES,
            count=lambda k, s: k + 3,
        ),
        Method(
            name="vector", title="Vector scaling",
            where=".softmax:VectorScaling", family="softmax", effort=10,
            learns="softmax(w * log q + b)",
            parameters="2K - 1", keeps=RISING_ROWS, source=guo,
            arguments={**INPUT, **SCORE},
            count=lambda k, s: 2 * k - 1,
            needs_classes=OF_SCORES,
        ),
    ]  # fmt: skip


def _matrices() -> list[Method]:
    guo, kull = "Guo et al. 2017", "Kull et al. 2019"
    odir = {
        **INPUT,
        "off_diagonal_penalty": Argument(1000.0, least=0, most=STRONGEST, says="lambda of the paper"),
        "intercept_penalty": Argument(0.01, least=0, most=STRONGEST, says="mu of the paper"),
    }
    free = (
        "the diagonal is not penalized, so a strong penalty leads to vector scaling, not to temperature; "
        "with two classes the off-diagonal entries, and their penalty, have no effect"
    )
    penalties = {
        "off_diagonal_penalties": Argument(
            (1e6, 1e5, 1e4, 1e3, 1e2, 10.0, 1.0, 0.1, 0.01),
            least=0,
            most=STRONGEST,
            says="values of lambda to choose from",
        ),
        "intercept_penalties": Argument(
            (1.0, 0.01), least=0, most=STRONGEST, says="values of mu to choose from"
        ),
    }
    structured = {
        "form": Argument("matrix", ("matrix", "diagonal"), says="with M, or without"),
        "base": Argument(
            "scaled",
            ("scaled", "centered", "mixed"),
            says="the first feature: ln p, ln p minus its mean in a row, or ln of p mixed with 1 / K",
        ),
        "bends": Argument(
            "both", ("none", "complement", "both"), says="the features ln(1 / (1 - p)), and ln(p + 0.01)"
        ),
        "penalties": Argument(
            (1.0, 0.1), least=1 / STRONGEST, most=STRONGEST, says="strengths to choose from"
        ),
        "off_diagonal_penalties": Argument(
            (10.0, 3.0, 1.0, 0.3), least=1 / STRONGEST, most=STRONGEST, says="those of M"
        ),
        "folds": Argument(5, least=2, says=FOLDS),
        **SEED,
    }
    return [
        Method(
            name="svs", title="Structured vector scaling",
            where=".structured:SVS", family="softmax", effort=5,
            learns="softmax(x + v * x + b), x = ln q by temperature-mix, v and b penalized",
            parameters="2K, penalized", keeps=RISING_ROWS, source="Berta et al. 2025",
            needs_classes=OF_SCORES,
        ),
        Method(
            name="sms", title="Structured matrix scaling",
            where=".structured:SMS", family="softmax", effort=9,
            learns="softmax(x + V x + b), x = ln q by temperature-mix, V and b penalized",
            parameters="K(K + 1), penalized", keeps=RISING_ROWS, source="Berta et al. 2025",
            needs_classes=OF_SCORES,
            misses="the scale stays that of temperature scaling, which is wrong under other class priors; "
            "structured fits it",
        ),
        Method(
            name="structured", title="Structured scaling",
            where=".structured:StructuredScaling", family="softmax", effort=22,
            learns="softmax(M x + sum_j (c_j + u_j) f_j + b): slopes for all, small ones for each class",
            parameters="K(K + 3), penalized", keeps=RISING_ROWS, source="calcli, after Berta et al. 2025",
            needs_classes=OF_SCORES,
            arguments=structured,
            misses="with form=diagonal there is no M, and its strength has no effect",
        ),
        Method(
            name="matrix-odir", title="Matrix scaling with ODIR",
            letters="off-diagonal and intercept regularization",
            where=".softmax:MatrixODIR", family="softmax", effort=10,
            learns="softmax(W log q + b), off-diagonal entries and intercepts penalized",
            parameters="K(K + 1), penalized", keeps=RISING_ROWS, source=kull,
            arguments=odir,
            needs_classes=OF_SCORES,
            misses=free,
        ),
        Method(
            name="dirichlet", title="Dirichlet calibration",
            where=".softmax:Dirichlet", family="softmax", effort=20,
            learns="as matrix-odir, the penalties chosen by cross-validation",
            parameters="K(K + 1), penalized", keeps=RISING_ROWS, source=kull,
            arguments={**INPUT, **penalties, "folds": Argument(3, least=2, says=FOLDS), **SEED},
            needs_classes=OF_SCORES,
            misses=free,
        ),
        Method(
            name="matrix", title="Matrix scaling",
            where=".softmax:MatrixScaling", family="softmax", effort=40,
            learns="softmax(W log q + b)",
            parameters="K(K + 1)", keeps=RISING_ROWS, source=guo,
            arguments={**INPUT, **SCORE},
            count=lambda k, s: k * (k + 1),
            needs_classes=OF_SCORES,
        ),
    ]  # fmt: skip


def _one_score() -> list[Method]:
    return [
        Method(
            name="platt", title="Platt scaling",
            where=".logistic:Platt", family="one score", effort=14,
            learns="sigmoid(slope * log-odds + intercept)",
            parameters="2 a class", keeps=RISING_ROWS, source="Platt 1999",
            arguments={
                **LENS,
                "target_smoothing": Argument(
                    "auto",
                    ("auto", "true", "false"),
                    says="Platt's smoothed targets instead of 1 and 0; auto: for one event, not for three or "
                    "more classes",
                ),
                **INPUT,
                **SCORE,
            },
            count=lambda k, s: 2,
        ),
        Method(
            name="beta", title="Beta calibration",
            where=".logistic:Beta", family="one score", effort=40, quick=True,
            learns="sigmoid(a ln s - b ln(1 - s) + c), a and b not negative",
            parameters="3 a class", keeps=ROWS, source="Kull et al. 2017",
            arguments={
                **LENS,
                "variant": Argument(
                    "abm", ("abm", "ab", "am"), says="all three free; 1/2 fixed; or a = b"
                ),
                "constrained": Argument(True, says="whether a and b are not negative"),
                **SCORE,
            },
            count=lambda k, s: 3,
        ),
        Method(
            name="spline", title="Spline calibration",
            where=".spline:Spline", family="one score", effort=4,
            learns="s plus the slope of a cubic spline through the cumulative outcome - s",
            parameters="6 knots", keeps=f"{PREDICTED} of three or more", source="Gupta et al. 2021",
            arguments={
                **LENS,
                "lens": Argument("auto", says=ACTS_ON + "; auto: class-1 of two classes, else top-1"),
                "knots": Argument(6, least=4, says="the number of evenly spaced knots"),
                "positions": Argument(
                    (), least=0, most=1, says="the knots themselves, fractiles of the rows from 0 to 1"
                ),
                "runout": Argument(
                    "natural", ("natural", "quadratic", "cubic"), says="the form of the outer pieces"
                ),
                "target": Argument(
                    "difference",
                    ("difference", "cumulative"),
                    says="fitted to the cumulative outcome minus score, or to the cumulative outcome",
                ),
                "constrained": Argument(False, says="whether the fit stays within [0, 1]"),
                "monotone": Argument(False, says="whether the map is increasing"),
                **SMOOTHING,
            },
            count=lambda k, s: len(s["positions"]) or s["knots"],
        ),
        Method(
            name="scaling-binning", title="Scaling-binning",
            where=".histogram:ScalingBinning", family="one score", effort=22,
            learns="Platt scaling, then the mean of each equal-mass bin",
            parameters="2 a class, 15 values", keeps=f"{RISING_ROWS}, up to ties", source="Kumar et al. 2019",
            arguments={**LENS, **BINS},
            count=lambda k, s: 2,
        ),
        Method(
            name="histogram", title="Histogram binning",
            where=".histogram:Histogram", family="one score",
            learns="the frequency of the class in each bin of its score",
            parameters="15 bins a class", keeps=NOTHING, source="Zadrozny & Elkan 2001",
            arguments={
                **LENS,
                **BINS,
                "binning": Argument(
                    "equal-mass", ("equal-mass", "equal-width"), says="how scores are binned"
                ),
                **SMOOTHING,
            },
            count=lambda k, s: s["bins"],
        ),
        Method(
            name="bbq", title="Bayesian binning into quantiles",
            where=".histogram:BBQ", family="one score", effort=150,
            learns="the mean of histograms of many numbers of bins, weighted by their evidence",
            parameters="decided by the data", keeps=NOTHING, source="Naeini et al. 2015",
            arguments=LENS,
        ),
        Method(
            name="centered-isotonic", title="Centered isotonic regression",
            where=".histogram:CenteredIsotonic", family="one score", effort=4,
            learns="straight lines between the blocks of isotonic regression, each at its mean score",
            parameters="decided by the data", keeps=ROWS_OR_TIES, source="Oron & Flournoy 2017",
            arguments={**LENS, **SMOOTHING},
        ),
        Method(
            name="isotonic", title="Isotonic regression",
            where=".histogram:Isotonic", family="one score",
            learns="the nearest non-decreasing function of the score",
            parameters="decided by the data", keeps=ROWS_OR_TIES, source="Zadrozny & Elkan 2002",
            arguments={
                **LENS,
                **SMOOTHING,
                "interpolation": Argument(
                    "linear", ("linear", "steps"), says="straight lines between blocks, or steps"
                ),
            },
        ),
    ]  # fmt: skip


def _vectors() -> list[Method]:
    return [
        Method(
            name="vector-histogram", title="Histogram regression on vectors",
            where=".histogram:VectorHistogram", family="vectors",
            learns="the class frequencies in each bin of probability vectors, split where they vary most",
            parameters="decided by the data", keeps=NOTHING, source="Vaicenavicius et al. 2019, section 4.1",
            arguments={
                "min_rows": Argument(100, least=2, says="bins of more rows are split at their mean"),
                **SMOOTHING,
            },
            misses="with many classes the bins are wide and lose what differs within them: the rows needed "
            "grow exponentially with the classes",
        ),
    ]  # fmt: skip


def _known_members(text: str) -> bool:
    names = [part.partition("/")[0] for part in text.split(JOINED)]
    return all(name in METHODS and METHODS[name].family in ("softmax", "one score") for name in names)


def _wrappers() -> list[Method]:
    return [
        Method(
            name="pool", title="Linear pool",
            where=".pool:Pool", family="pool",
            learns="w1 p1 + w2 p2 + ..., the weights by cross-validated score",
            parameters="those of its members, and their weights", keeps=NOTHING,
            source="Stone 1961, Wolpert 1992",
            arguments={
                "members": Argument(
                    POOLED,
                    fits=_known_members,
                    form=f"methods joined by {JOINED}",
                    says="what is pooled, their arguments after slashes",
                ),
                "weights": Argument((), least=0, most=1, says="the weight of each member, instead of fitting "
                "them"),
                "score": Argument("log_loss", ("log_loss", "brier"), says="what the weights minimize"),
                "folds": Argument(5, least=2, says="folds of the cross-validation behind the weights"),
                **SEED,
            },
            misses="among the candidates of auto, a plain pool is that of the other candidates",
        ),
        Method(
            name="reduced", title="A calibrator of the confidence",
            where=".wrappers:Reduced", family="wrapper", effort=1,
            learns="a calibrator of two classes, prediction wrong or right",
            parameters="as for two classes", keeps=f"{PREDICTED}, unless keep_top=false",
            source="Panchenko et al. 2022",
            arguments={**KEEP_TOP, **WRAPPED},
            count=lambda k, s: s["calibrator"].parameters(2),
            needs_classes=OF_PREDICTED,
        ),
        Method(
            name="per-predicted-class", title="One calibrator for each predicted class",
            where=".wrappers:PerPredictedClass", family="wrapper", effort=4,
            learns="a calibrator on the rows of each predicted class",
            parameters="as many for each predicted class", keeps=NOTHING, source="Panchenko et al. 2022",
            arguments={
                "min_rows": Argument(100, least=1, says="rows that a predicted class needs for its own "
                "calibrator"),
                **WRAPPED,
            },
            count=lambda k, s: s["calibrator"].parameters(k),
            needs_classes=OF_PREDICTED,
        ),
        Method(
            name="preserve-top1", title="The predicted class preserved",
            where=".wrappers:PreserveTop1", family="wrapper", effort=1,
            learns="the nearest distribution that keeps the predicted class",
            parameters="none of its own", keeps=PREDICTED,
            arguments=WRAPPED,
            count=lambda k, s: s["calibrator"].parameters(k),
            needs_classes=OF_PREDICTED,
        ),
    ]  # fmt: skip


KNOWN = [*_softmax(), *_one_score(), *_matrices(), *_vectors(), *_wrappers()]
METHODS = Registry("calcli.calibrators", Method, {method.name: method for method in KNOWN})
CHOICE = Method(
    name="auto", title="The choice among methods", where="", family="pool",
    learns="the simplest candidate within one standard error of the best single one by cross-validation, or "
    "the pool of the best of each kind if it gains more than one and 1%",
    parameters="those of its choice", keeps="what its choice keeps",
    source="Breiman et al. 1984, section 3.4.3",
    misses="what is chosen among many looks better than it is; the report estimates by how much",
)  # fmt: skip
