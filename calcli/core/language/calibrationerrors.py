"""Every calibration error calcli knows, and the classical measures of two classes, as data."""

from __future__ import annotations

from calcli.core.language.entries import Argument, Metric
from calcli.core.language.families import CLASSICAL, ERROR


def _is_region(text: str) -> bool:
    try:
        low, high = map(float, text.split(".."))
    except ValueError:
        return text == "all"
    return 0 <= low < high <= 1


def _is_vector_region(text: str) -> bool:
    if "@" not in text:
        return _is_region(text)
    conditions = [condition.partition("@") for condition in text.split("+")]
    named = all(name and ".." in ends for name, _, ends in conditions)
    return named and all(_is_region(ends) or _is_point(ends) for _, _, ends in conditions)


def _is_point(ends: str) -> bool:
    low, _, high = ends.partition("..")
    return low == high and _is_region(f"0..{low}")


BINS = {"bins": Argument(15, least=1, most=100_000, says="how many bins of equal width or mass")}
REGION = Argument(
    "all",
    fits=_is_region,
    form="two numbers in [0, 1], as in 0.8..1",
    says="only rows whose score lies there",
)
VECTOR_REGION = Argument(
    "all",
    fits=_is_vector_region,
    form="two numbers in [0, 1] between which the largest probability lies, as in 0.8..1, or those of "
    "outcomes, as in class-0@0.5..1+class-2@0..0.1 or class-0@0.6..0.6",
    says="only rows whose probabilities lie there",
)
MIN_ROWS = {
    "min_rows": Argument(
        1000, least=1, most=100_000_000, says="recursive bins of more rows are split at their mean"
    )
}
LENS = (
    "what is looked at: top-1 (the confidence), top-2, within-top-2, class-1 (counted from 0), predicted-1, "
    "class-wise (each class, then their mean), worst-class, marginal (all classes at once) or --class-groups"
)
LENS_OF_VECTORS = (
    "what is looked at: canonical (all classes), largest-2 (the two largest, and the rest), --class-groups, "
    "or one score, as top-1 and class-1"
)
BINNING = "how scores are put into bins: equal-width, equal-mass, recursive, or a name of --edges"
SCALAR = {"lens": Argument("top-1", says=LENS), "region": REGION}
BINNED = {**SCALAR, "binning": Argument("equal-width", says=BINNING), **BINS, **MIN_ROWS}
VECTORIAL = {"lens": Argument("canonical", says=LENS_OF_VECTORS), "region": VECTOR_REGION}
DISTANCE = "how the observed and the predicted frequencies of a bin are compared"
DISTANCES = ("tv", "euclidean", "squared-euclidean", "max", "hellinger", "kl")
VECTORS = {
    **VECTORIAL,
    "binning": Argument("recursive", says="how vectors are put into bins: recursive or equal-width"),
    **BINS,
    **MIN_ROWS,
    "distance": Argument("tv", DISTANCES, says=DISTANCE),
}
TRAINING = ("cross-validation", "held-out", "test")  # what a recalibration, or bins, are trained on
TRAINED = "the rows on which bins learn their frequencies; held-out ones are those of --calibration-data"
EXPECTED = "expected calibration error"
OVER_SCORES = "mean distance, or the root of the mean square"
OF_CLASSES, OF_VECTORS = "looks at the probability of every class", "looks at vectors of probabilities"
OVER_BINS = "how bins are put together: their mean, the root of their mean square, or the largest"
NORM = {"norm": Argument("1", ("1", "2", "max"), says=OVER_BINS)}


def _errors() -> list[Metric]:
    thesis, vaicenavicius = "van de Waterlaat 2021", "Vaicenavicius et al. 2019"
    cw = {**BINNED, "lens": Argument("class-wise", says=LENS)}
    gap = "|mean outcome - mean score|"
    debiased = {"debiased": Argument(False, says="whether the bias of few rows is taken off")}
    significant = {"significant": Argument(False, says="whether only bins count whose sign is sure (Wilson)")}
    panchenko = "Panchenko et al. 2022, definition 1"
    given_vector = "Panchenko et al. 2022, section III"
    cells = {key: VECTORS[key] for key in (*VECTORIAL, "binning", "bins", "min_rows")}
    return [
        Metric(
            name="ece", title="ECE", letters=EXPECTED,
            family=ERROR, direction="lower", range="0 to 1", unit="fraction",
            meaning="mean distance between confidence and accuracy over bins",
            formula=f"sum_b n_b/N {gap}", source="Naeini et al. 2015; Guo et al. 2017",
            misses="biased upward on few rows; on many, fixed bins show at most the true error, as gaps of "
            "opposite sign cancel within them (Vaicenavicius et al. 2019, theorem 2); ks has no bins. "
            "training=cross-validation takes the frequencies of bins from other rows",
            arguments={**BINNED, **NORM, "training": Argument("test", TRAINING, own=True, says=TRAINED)},
        ),
        Metric(
            name="ece_l2", title="ECE, L2", letters=EXPECTED,
            family=ERROR, direction="lower", range="0 to 1", unit="fraction",
            meaning="root mean square distance between confidence and accuracy over bins",
            formula=f"sqrt(sum_b n_b/N {gap}^2)", source=f"Kumar et al. 2019; {thesis}",
            misses="biased upward like ece; debiased=true takes the bias off",
            arguments={**BINNED, **debiased}, fixed={"norm": "2"},
        ),
        Metric(
            name="mce", title="MCE", letters="maximum calibration error",
            family=ERROR, direction="lower", range="0 to 1", unit="fraction",
            meaning="largest distance between confidence and accuracy of any bin",
            formula=f"max_b {gap}", source="Naeini et al. 2015",
            misses="one thin bin decides it; look at the reliability table. Its test is conservative where "
            "predictions are skewed: it rejects 1 to 3% of calibrated ones, nominally 5%",
            arguments=BINNED, fixed={"norm": "max"},
        ),
        Metric(
            name="ks", title="KS", letters="Kolmogorov-Smirnov",
            family=ERROR, direction="lower", range="0 to 1", unit="fraction",
            meaning="largest gap between cumulative confidence and cumulative accuracy, without bins",
            formula="max_t |mean of (outcome - score) [score <= t]|", source="Gupta et al. 2021, eq. 11-12",
            misses="gaps of opposite sign cancel along the way; ece adds them up",
            arguments=SCALAR,
        ),
        Metric(
            name="over_confidence", title="Over-confident rows",
            family=ERROR, direction="lower", range="0 to 1", unit="fraction",
            meaning="share of rows in bins with less accuracy than confidence; about half if calibrated",
            formula="sum_b n_b/N [mean outcome < mean score]", source=panchenko,
            misses="how far off they are; mean_gap sees it. significant=true counts only sure bins (Wilson)",
            arguments={**BINNED, **significant}, fixed={"side": "over"},
        ),
        Metric(
            name="under_confidence", title="Under-confident rows",
            family=ERROR, direction="lower", range="0 to 1", unit="fraction",
            meaning="share of rows in bins with more accuracy than confidence; about half if calibrated",
            formula="sum_b n_b/N [mean outcome > mean score]", source=panchenko,
            misses="how far off they are; mean_gap sees it. significant=true counts only sure bins (Wilson)",
            arguments={**BINNED, **significant}, fixed={"side": "under"},
        ),
        Metric(
            name="smooth_ece", title="Smooth ECE", letters=EXPECTED,
            family=ERROR, direction="lower", range="0 to 1", unit="fraction",
            meaning="calibration error smoothed by a kernel as wide as the error itself, without bins",
            formula="the s at which the smoothed gap's integral over [0, 1] is s",
            source="Blasiok & Nakkiran 2024",
            misses="biased upward on few rows; less than ece",
            arguments=SCALAR,
        ),
        Metric(
            name="kde_ece", title="KDE-ECE", letters="kernel density estimate, " + EXPECTED,
            family=ERROR, direction="lower", range="0 to 1", unit="fraction",
            meaning="calibration error by kernel density estimates of confidence and accuracy",
            formula="integral of |z - accuracy(z)| density(z)", source="Zhang et al. 2020",
            misses="one bandwidth for all scores; smooth_ece chooses its own",
            arguments={**SCALAR, "norm": Argument("1", ("1", "2"), says=OVER_SCORES)},
        ),
        Metric(
            name="mmce", title="MMCE", letters="maximum mean calibration error",
            family=ERROR, direction="lower", range="0 to 1", unit="fraction",
            meaning="gaps of all pairs of rows, the nearer in confidence the more they count, without bins",
            formula="sqrt(mean of (score - outcome)(score' - outcome') exp(-|score - score'|/0.4))",
            source="Kumar et al. 2018",
            misses="biased upward on few rows; one width for all scores, smooth_ece chooses its own",
            arguments=SCALAR,
        ),
        Metric(
            name="cw_ece", title="Class-wise ECE", letters=EXPECTED,
            family=ERROR, direction="lower", range="0 to 1", unit="fraction",
            meaning="ece of every class's probability, mean over classes",
            formula=f"mean over k of sum_b n_kb/N {gap}", source=f"Kull et al. 2019; {thesis}",
            misses="shrinks as 1/K when most probabilities are tiny; weights=inverse-frequency (Panchenko et "
            "al. 2022) divides by the class frequencies and adds up the classes, so that it may be above 1",
            arguments={
                **cw,
                "weights": Argument(
                    "equal", ("equal", "inverse-frequency"), says="what the error of each class weighs"
                ),
            },
            fixed={"norm": "1"},
            needs_classes=OF_CLASSES,
        ),
        Metric(
            name="cw_ece_l2", title="Class-wise ECE, L2", letters=EXPECTED,
            family=ERROR, direction="lower", range="0 to 1", unit="fraction",
            meaning="root mean square over classes and bins of the gap of every class's probability",
            formula=f"sqrt(mean over k of sum_b n_kb/N {gap}^2)", source=thesis,
            arguments=cw, fixed={"norm": "2"},
            needs_classes=OF_CLASSES,
        ),
        Metric(
            name="ace", title="Adaptive ECE", letters=EXPECTED,
            family=ERROR, direction="lower", range="0 to 1", unit="fraction",
            meaning="class-wise ece over bins of equal counts",
            formula=f"mean over k of sum_b n_kb/N {gap}", source="Nixon et al. 2019",
            misses="orders every class in memory",
            arguments={**cw, "binning": Argument("equal-mass", says=BINNING)}, fixed={"norm": "1"},
            needs_classes=OF_CLASSES,
        ),
        Metric(
            name="expected_miscalibration", title="Expected miscalibration",
            family=ERROR, direction="lower", range="0 to 1 (tv)", unit="fraction",
            meaning="mean distance between predicted and observed frequencies of all outcomes, over bins of "
            "vectors",
            formula="sum_b n_b/N d(mean outcome, mean prediction)", source=f"{vaicenavicius}, eq. 6",
            misses="biased upward on few rows; on many, fixed bins show at most the true value (theorem 2). "
            "Many classes need many rows; class-wise errors see single classes",
            arguments={**VECTORS, **NORM},
        ),
        Metric(
            name="worst_miscalibration", title="Worst miscalibration",
            family=ERROR, direction="lower", range="0 to 1 (tv)", unit="fraction",
            meaning="largest distance between predicted and observed frequencies of any bin of vectors",
            formula="max_b d(mean outcome, mean prediction)", source=f"{vaicenavicius}, section 3.2",
            misses="one bin decides it; expected_miscalibration weighs all",
            arguments=VECTORS, fixed={"norm": "max"},
        ),
        Metric(
            name="ece_given_vector", title="ECE given the whole vector", letters=EXPECTED,
            family=ERROR, direction="lower", range="0 to 1", unit="fraction",
            meaning="mean distance between confidence and accuracy over bins of vectors",
            formula="sum_b n_b/N |accuracy - mean confidence|", source=given_vector,
            misses="many classes need many rows: bins of vectors are wide; ece has bins of the confidence",
            arguments=cells, fixed={"norm": "1", "distance": "tv", "of_top": True},
            needs_classes=OF_VECTORS,
        ),
        Metric(
            name="cw_ece_given_vector", title="Class-wise ECE given the whole vector", letters=EXPECTED,
            family=ERROR, direction="lower", range="0 to 1", unit="fraction",
            meaning="gap of every class's probability over bins of vectors, mean over classes",
            formula="mean over k of sum_b n_b/N |mean outcome - mean prob|", source=given_vector,
            misses="many classes need many rows: bins of vectors are wide; cw_ece has bins of each class",
            arguments=cells, fixed={"norm": "1", "distance": "class-mean"},
            needs_classes=OF_VECTORS,
        ),
        Metric(
            name="skce", title="SKCE", letters="squared kernel calibration error",
            family=ERROR, direction="lower", range="-2 to 2", unit="ratio",
            meaning="squared kernel calibration error of whole vectors, without bins and without bias",
            formula="mean over pairs of k(q, q') <e_y - q, e_y' - q'>", source="Widmann et al. 2019",
            misses="its size means little; its p-value does. All pairs of rows: estimator=block for many "
            "rows",
            arguments={
                **VECTORIAL,
                "estimator": Argument(
                    "unbiased", ("unbiased", "block"), says="all pairs of rows, or disjoint ones"
                ),
                "distance": Argument("tv", ("tv", "euclidean"), says="between vectors, in the kernel"),
            },
        ),
    ]  # fmt: skip


def _classics() -> list[Metric]:
    return [
        Metric(
            name="calibration_in_the_large", title="Calibration in the large",
            family=CLASSICAL, direction="zero", range="-1 to 1", unit="fraction",
            meaning="two classes: above 0 the probabilities of the second one are too high",
            formula="mean score - mean outcome", source="Cox 1958; Van Calster et al. 2019",
            misses="gaps of opposite sign cancel; calibration_slope sees some of them",
        ),
        Metric(
            name="calibration_intercept", title="Calibration intercept",
            family=CLASSICAL, direction="zero", range="-inf to inf", unit="log-odds",
            meaning="two classes: what must be added to the log-odds of the second one, to be right on "
            "average: above 0 it is predicted too rarely",
            formula="a of log-odds(outcome) = a + log-odds(score)",
            source="Cox 1958; Van Calster et al. 2019",
            misses="gaps of opposite sign cancel; calibration_slope sees some of them",
        ),
        Metric(
            name="calibration_slope", title="Calibration slope",
            family=CLASSICAL, direction="one", range="-inf to inf", unit="ratio",
            meaning="two classes: 1 is right, below 1 the probabilities are too extreme, above 1 too timid",
            formula="b of log-odds(outcome) = a + b log-odds(score)",
            source="Cox 1958; Van Calster et al. 2019",
            misses="what is not linear in the log-odds; ks and ece see it",
        ),
        Metric(
            name="spiegelhalter_z", title="Spiegelhalter's Z",
            family=CLASSICAL, direction="zero", range="-inf to inf", unit="standard deviations",
            meaning="two classes: above 0 the Brier score is worse than the probabilities promise",
            formula="sum (outcome - p)(1 - 2 p) / sqrt(sum (1 - 2 p)^2 p (1 - p))",
            source="Spiegelhalter 1986",
            misses="misses what leaves the Brier score as promised; its p-value is of calibration as a whole",
        ),
    ]  # fmt: skip


CALIBRATION_ERRORS = [*_errors(), *_classics()]
