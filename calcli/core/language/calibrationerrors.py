"""Every calibration error calcli knows, and the classical measures of two classes, as data."""

from __future__ import annotations

from calcli.core.language.entries import CLASSICAL, ERROR, Argument, Metric


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


BINS = {"bins": Argument(15, least=1, most=100_000, says="the number of equal-width or equal-mass bins")}
REGION = Argument(
    "all",
    fits=_is_region,
    form="two numbers in [0, 1], as in 0.8..1",
    says="only rows with a score in this range",
)
VECTOR_REGION = Argument(
    "all",
    fits=_is_vector_region,
    form="two numbers in [0, 1] between which the largest probability lies, as in 0.8..1, or those of "
    "outcomes, as in class-0@0.5..1+class-2@0..0.1 or class-0@0.6..0.6",
    says="only rows with probabilities in this region",
)
MIN_ROWS = {
    "min_rows": Argument(
        1000, least=1, most=100_000_000, says="recursive bins with more rows are split at their mean"
    )
}
LENS = (
    "which probability: top-1 (the confidence), top-2, within-top-2, class-1 (counted from 0), predicted-1, "
    "class-wise (each class, then their mean), worst-class or --class-groups"
)
LENS_OF_VECTORS = (
    "which probabilities: canonical (all classes), largest-2 (the two largest and the rest), --class-groups, "
    "or a single one such as top-1 or class-1"
)
BINNING = "how scores are binned: equal-width, equal-mass, recursive, or edges such as 0/0.5/0.9/1"
SCALAR = {"lens": Argument("top-1", says=LENS), "region": REGION}
BINNED = {**SCALAR, "binning": Argument("equal-width", says=BINNING), **BINS, **MIN_ROWS}
VECTORIAL = {"lens": Argument("canonical", says=LENS_OF_VECTORS), "region": VECTOR_REGION}
DISTANCE = "the distance between observed and predicted frequencies of a bin"
DISTANCES = ("tv", "euclidean", "squared-euclidean", "max", "hellinger", "kl")
VECTORS = {
    **VECTORIAL,
    "binning": Argument("recursive", says="how vectors are binned: recursive or equal-width"),
    **BINS,
    **MIN_ROWS,
    "distance": Argument("tv", DISTANCES, says=DISTANCE),
}
TRAINING = ("cross-validation", "held-out", "test")  # what a recalibration, or bins, are trained on
EXPECTED = "expected calibration error"
OVER_SCORES = "mean distance, or root mean square"
OF_CLASSES, OF_VECTORS = "needs the probability of every class", "needs vectors of probabilities"
OVER_BINS = "how bins are combined: mean, root mean square, or largest"
KUIPER_BOUNDS = (
    "what any other threshold on the score can win over t = c_FP / (c_FP + c_FN), per unit of c_FP + c_FN: "
    "a row of score s and outcome y that changes sides costs (t - y) = (t - s) + (s - y) more below t, the "
    "opposite above; the first term never wins, the second adds up to at most kuiper. Its interval is "
    'kuiper ± 2.498 sqrt(sum (y - s)^2) / n at 95%, so that max = 0.05 with bound = "upper" in a policy '
    "proves calibration: calibrated uniform scores pass with 1,000 rows in 40% of sets, with 1,500 in 90%"
)
NORM = {"norm": Argument("1", ("1", "2", "max"), says=OVER_BINS)}


def _errors() -> list[Metric]:
    thesis, vaicenavicius = "van de Waterlaat 2021", "Vaicenavicius et al. 2019"
    cw = {**BINNED, "lens": Argument("class-wise", says=LENS)}
    gap = "|mean outcome - mean score|"
    debiased = {"debiased": Argument(False, says="whether to subtract the bias of few rows")}
    significant = {
        "significant": Argument(False, says="whether to count only bins with a significant gap (Wilson)")
    }
    panchenko = "Panchenko et al. 2022, definition 1"
    given_vector = "Panchenko et al. 2022, section III"
    cells = {key: VECTORS[key] for key in (*VECTORIAL, "binning", "bins", "min_rows")}
    return [
        Metric(
            name="ece", title="ECE", letters=EXPECTED,
            where=".miscalibration:BinnedError",
            tier="to know", family=ERROR, direction="lower", range="0 to 1", unit="fraction",
            meaning="mean gap between confidence and accuracy over bins",
            formula=f"sum_b n_b/N {gap}", source="Naeini et al. 2015; Guo et al. 2017",
            misses="biased upward on few rows; on many rows at most the true error, as gaps of opposite sign "
            "cancel within bins (Vaicenavicius et al. 2019, theorem 2); ks has no bins",
            arguments={**BINNED, **NORM},
        ),
        Metric(
            name="ece_l2", title="ECE, L2", letters=EXPECTED,
            where=".miscalibration:BinnedError",
            tier="works", family=ERROR, direction="lower", range="0 to 1", unit="fraction",
            meaning="root mean square gap between confidence and accuracy over bins",
            formula=f"sqrt(sum_b n_b/N {gap}^2)", source=f"Kumar et al. 2019; {thesis}",
            misses="biased upward like ece; debiased=true subtracts the bias",
            arguments={**BINNED, **debiased}, fixed={"norm": "2"},
        ),
        Metric(
            name="mce", title="MCE", letters="maximum calibration error",
            where=".miscalibration:BinnedError",
            family=ERROR, direction="lower", range="0 to 1", unit="fraction",
            meaning="largest gap between confidence and accuracy in any bin",
            formula=f"max_b {gap}", source="Naeini et al. 2015",
            misses="one bin with few rows decides it; look at the reliability diagram. Its test is "
            "conservative for skewed predictions: it rejects 1 to 3% of calibrated ones, nominally 5%",
            arguments=BINNED, fixed={"norm": "max"},
        ),
        Metric(
            name="ks", title="KS", letters="Kolmogorov-Smirnov",
            where=".cumulative:KolmogorovSmirnov",
            tier="to know", family=ERROR, direction="lower", range="0 to 1", unit="fraction",
            meaning="largest gap between cumulative confidence and cumulative accuracy, without bins",
            formula="max_t |mean of (outcome - score) [score <= t]|", source="Gupta et al. 2021, eq. 11-12",
            misses="gaps of opposite sign cancel along the way; ece adds them up",
            arguments=SCALAR,
        ),
        Metric(
            name="kuiper", title="Kuiper",
            where=".cumulative:Kuiper",
            tier="to know", family=ERROR, direction="lower", range="0 to 1", unit="fraction",
            meaning="largest miscalibration over any interval of confidence, without bins; its interval can "
            "prove calibration",
            formula="max_(a<b) |mean of (outcome - score) [a < score <= b]|",
            source="Arrieta-Ibarra et al. 2022; Rossellini et al. 2025",
            misses="gaps of opposite sign cancel within an interval; ece adds them up",
            bounds=KUIPER_BOUNDS,
            arguments=SCALAR,
        ),
        Metric(
            name="over_confidence", title="Over-confident rows",
            where=".miscalibration:ConfidenceShare",
            tier="works", family=ERROR, direction="lower", range="0 to 1", unit="fraction",
            meaning="share of rows in bins with confidence above accuracy; about half if calibrated",
            formula="sum_b n_b/N [mean outcome < mean score]", source=panchenko,
            misses="how far off they are; see mean_gap. significant=true counts only significant bins "
            "(Wilson)",
            arguments={**BINNED, **significant}, fixed={"side": "over"},
        ),
        Metric(
            name="under_confidence", title="Under-confident rows",
            where=".miscalibration:ConfidenceShare",
            tier="works", family=ERROR, direction="lower", range="0 to 1", unit="fraction",
            meaning="share of rows in bins with confidence below accuracy; about half if calibrated",
            formula="sum_b n_b/N [mean outcome > mean score]", source=panchenko,
            misses="how far off they are; see mean_gap. significant=true counts only significant bins "
            "(Wilson)",
            arguments={**BINNED, **significant}, fixed={"side": "under"},
        ),
        Metric(
            name="smooth_ece", title="Smooth ECE", letters=EXPECTED,
            where=".smooth:SmoothECE",
            family=ERROR, direction="lower", range="0 to 1", unit="fraction",
            meaning="kernel-smoothed calibration error, the bandwidth being the error itself; no bins",
            formula="the s at which the smoothed gap's integral over [0, 1] is s",
            source="Blasiok & Nakkiran 2024",
            misses="biased upward on few rows, less than ece",
            arguments=SCALAR,
        ),
        Metric(
            name="kde_ece", title="KDE-ECE", letters="kernel density estimate, " + EXPECTED,
            where=".smooth:KernelDensityECE",
            tier="works", family=ERROR, direction="lower", range="0 to 1", unit="fraction",
            meaning="calibration error from kernel density estimates, without bins",
            formula="integral of |z - accuracy(z)| density(z)", source="Zhang et al. 2020",
            misses="has a fixed bandwidth; smooth_ece chooses its own",
            arguments={**SCALAR, "norm": Argument("1", ("1", "2"), says=OVER_SCORES)},
        ),
        Metric(
            name="mmce", title="MMCE", letters="maximum mean calibration error",
            where=".miscalibration:MaximumMeanError",
            tier="works", family=ERROR, direction="lower", range="0 to 1", unit="fraction",
            meaning="kernel calibration error: gaps of pairs of rows, weighted by their nearness in "
            "confidence",
            formula="sqrt(mean of (score - outcome)(score' - outcome') exp(-|score - score'|/0.4))",
            source="Kumar et al. 2018",
            misses="biased upward on few rows; has a fixed bandwidth, smooth_ece chooses its own",
            arguments=SCALAR,
        ),
        Metric(
            name="cw_ece", title="Class-wise ECE", letters=EXPECTED,
            where=".miscalibration:BinnedError",
            family=ERROR, direction="lower", range="0 to 1", unit="fraction",
            meaning="ece of the probability of each class, averaged over classes",
            formula=f"mean over k of sum_b n_kb/N {gap}", source=f"Kull et al. 2019; {thesis}",
            misses="shrinks as 1/K when most probabilities are tiny; weights=inverse-frequency (Panchenko et "
            "al. 2022) divides by the class frequencies and sums over the classes, so it can exceed 1",
            arguments={
                **cw,
                "weights": Argument(
                    "equal", ("equal", "inverse-frequency"), says="the weight of each class"
                ),
            },
            fixed={"norm": "1"},
            needs_classes=OF_CLASSES,
        ),
        Metric(
            name="cw_ece_l2", title="Class-wise ECE, L2", letters=EXPECTED,
            where=".miscalibration:BinnedError",
            tier="works", family=ERROR, direction="lower", range="0 to 1", unit="fraction",
            meaning="root mean square gap of each class's probability, over bins and classes",
            formula=f"sqrt(mean over k of sum_b n_kb/N {gap}^2)", source=thesis,
            arguments=cw, fixed={"norm": "2"},
            needs_classes=OF_CLASSES,
        ),
        Metric(
            name="ace", title="Adaptive ECE", letters=EXPECTED,
            where=".miscalibration:BinnedError",
            tier="works", family=ERROR, direction="lower", range="0 to 1", unit="fraction",
            meaning="class-wise ece with equal-mass bins",
            formula=f"mean over k of sum_b n_kb/N {gap}", source="Nixon et al. 2019",
            misses="sorts the scores of every class in memory",
            arguments={**cw, "binning": Argument("equal-mass", says=BINNING)}, fixed={"norm": "1"},
            needs_classes=OF_CLASSES,
        ),
        Metric(
            name="expected_miscalibration", title="Expected miscalibration",
            where=".partitions:VectorMiscalibration",
            family=ERROR, direction="lower", range="0 to 1 (tv)", unit="fraction",
            meaning="mean distance between predicted and observed class frequencies, over bins of "
            "probability vectors",
            formula="sum_b n_b/N d(mean outcome, mean prediction)", source=f"{vaicenavicius}, eq. 6",
            misses="biased upward on few rows; on many rows at most the true value (theorem 2). Many classes "
            "need many rows; class-wise errors look at single classes",
            arguments={**VECTORS, **NORM},
        ),
        Metric(
            name="worst_miscalibration", title="Worst miscalibration",
            where=".partitions:VectorMiscalibration",
            tier="works", family=ERROR, direction="lower", range="0 to 1 (tv)", unit="fraction",
            meaning="largest distance between predicted and observed class frequencies in any bin of vectors",
            formula="max_b d(mean outcome, mean prediction)", source=f"{vaicenavicius}, section 3.2",
            misses="one bin decides it; expected_miscalibration averages over all",
            arguments=VECTORS, fixed={"norm": "max"},
        ),
        Metric(
            name="ece_given_vector", title="ECE given the whole vector", letters=EXPECTED,
            where=".partitions:VectorMiscalibration",
            tier="works", family=ERROR, direction="lower", range="0 to 1", unit="fraction",
            meaning="mean gap between confidence and accuracy over bins of probability vectors",
            formula="sum_b n_b/N |accuracy - mean confidence|", source=given_vector,
            misses="many classes need many rows, as bins of vectors are wide; ece bins the confidence",
            arguments=cells, fixed={"norm": "1", "distance": "tv", "of_top": True},
            needs_classes=OF_VECTORS,
        ),
        Metric(
            name="cw_ece_given_vector", title="Class-wise ECE given the whole vector", letters=EXPECTED,
            where=".partitions:VectorMiscalibration",
            tier="works", family=ERROR, direction="lower", range="0 to 1", unit="fraction",
            meaning="gap of each class's probability over bins of probability vectors, averaged over classes",
            formula="mean over k of sum_b n_b/N |mean outcome - mean prob|", source=given_vector,
            misses="many classes need many rows, as bins of vectors are wide; cw_ece bins each class",
            arguments=cells, fixed={"norm": "1", "distance": "class-mean"},
            needs_classes=OF_VECTORS,
        ),
        Metric(
            name="skce", title="SKCE", letters="squared kernel calibration error",
            where=".kernels:KernelError",
            family=ERROR, direction="lower", range="-2 to 2", unit="ratio",
            meaning="squared kernel calibration error of probability vectors: no bins, unbiased",
            formula="mean over pairs of k(q, q') <e_y - q, e_y' - q'>", source="Widmann et al. 2019",
            misses="its size is hard to interpret; use its p-value. It takes all pairs of rows; "
            "estimator=block suits many rows",
            arguments={
                **VECTORIAL,
                "estimator": Argument(
                    "unbiased", ("unbiased", "block"), says="all pairs of rows, or disjoint pairs"
                ),
                "distance": Argument("tv", ("tv", "euclidean"), says="the distance of vectors in the kernel"),
            },
        ),
    ]  # fmt: skip


def _classics() -> list[Metric]:
    return [
        Metric(
            name="calibration_in_the_large", title="Calibration in the large",
            where=".classical:in_the_large",
            family=CLASSICAL, direction="zero", range="-1 to 1", unit="fraction",
            meaning="two classes: mean probability of the second class minus its frequency; above 0 too high",
            formula="mean score - mean outcome", source="Cox 1958; Van Calster et al. 2019",
            misses="gaps of opposite sign cancel; calibration_slope shows some of them",
        ),
        Metric(
            name="calibration_intercept", title="Calibration intercept",
            where=".classical:calibration_intercept",
            family=CLASSICAL, direction="zero", range="-inf to inf", unit="log-odds",
            meaning="two classes: what must be added to the log-odds of the second class to be right on "
            "average; above 0 it is under-predicted",
            formula="a of log-odds(outcome) = a + log-odds(score)",
            source="Cox 1958; Van Calster et al. 2019",
            misses="gaps of opposite sign cancel; calibration_slope shows some of them",
        ),
        Metric(
            name="calibration_slope", title="Calibration slope",
            where=".classical:calibration_slope",
            family=CLASSICAL, direction="one", range="-inf to inf", unit="ratio",
            meaning="two classes: 1 is right, below 1 the probabilities are too extreme, above 1 too "
            "moderate",
            formula="b of log-odds(outcome) = a + b log-odds(score)",
            source="Cox 1958; Van Calster et al. 2019",
            misses="errors that are not linear in the log-odds; ks and ece see them",
        ),
        Metric(
            name="spiegelhalter_z", title="Spiegelhalter's Z",
            where=".classical:spiegelhalter_test",
            family=CLASSICAL, direction="zero", range="-inf to inf", unit="standard deviations",
            meaning="two classes: above 0 the Brier score is worse than the probabilities predict",
            formula="sum (outcome - p)(1 - 2 p) / sqrt(sum (1 - 2 p)^2 p (1 - p))",
            source="Spiegelhalter 1986",
            misses="errors that leave the Brier score as predicted; its p-value tests calibration as a whole",
        ),
    ]  # fmt: skip


CALIBRATION_ERRORS = [*_errors(), *_classics()]
