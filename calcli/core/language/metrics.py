"""Every metric calcli knows, as data: what it is, where it comes from and what its arguments are.

This module loads without numpy, so that help and completion are quick. A score has a function of the same
name in `calcli.core.estimators.scoring`; an error is made of a lens and an estimator by its arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from calcli.core.language.methods import METHODS

Direction = Literal["lower", "higher", "zero", "none"]
Family = Literal["score", "ranking", "recalibration", "decomposition", "error", "classical"]
ScoreName = Literal["log_loss", "brier"]  # what a recalibration is judged by, and what has parts

PAV = "pav"  # as a recalibrator: the isotonic fit without smoothing
GIVEN = "given"  # as a recalibrator: posteriors that are read from a file
RECALIBRATORS = (*(m.name for m in METHODS.values() if m.family != "wrapper"), PAV, GIVEN)
RECALIBRATED = {"score": "log_loss", "recalibrator": "dp", "training": "cross-validation"}

AS_SCORE = "as the score"  # the unit of what measures a part of any score

SCALAR: dict[str, str | int] = {"lens": "top-1", "region": "all"}
BINNED: dict[str, str | int] = {**SCALAR, "binning": "equal-width", "bins": 15}
VECTORS: dict[str, str | int] = {
    "lens": "canonical", "region": "all", "binning": "recursive", "bins": 15,
    "min_rows": 1000, "distance": "tv",
}  # fmt: skip


@dataclass(frozen=True)
class Metric:
    """What is to be known of a metric before it is computed.

    Attributes
    ----------
    name
        As written in metric expressions and as key of the JSON.
    title
        For the head of a table.
    family
        "score": a smooth function of means over rows, with a bootstrap interval; "ranking": a function of
        the order of the rows, with a normal interval; "recalibration": what recalibrated posteriors say of a
        score; "decomposition": a part of a score; "error": a calibration error, biased upward near zero,
        with its value under perfect calibration instead; "classical": a measure of the second of two
        classes, with a normal interval or test.
    direction
        Whether lower, higher or nearest to zero is better; "none" where it is no matter of quality.
    range
        Least and greatest possible value, as text.
    unit
        "nats", "fraction", "ratio" or `AS_SCORE`.
    meaning
        One line: what the number says.
    formula
        One line, in plain text.
    source
        Where it is defined.
    misses
        What it does not see, and what to use then.
    arguments
        Arguments with their defaults.
    fixed
        Arguments of the estimator that make it this metric and no other.
    statistics
        Row statistics a score needs, by name.
    """

    name: str
    title: str
    family: Family
    direction: Direction
    range: str
    unit: str
    meaning: str
    formula: str
    source: str
    misses: str = ""
    arguments: Mapping[str, str | int] = field(default_factory=dict)
    fixed: Mapping[str, str | int] = field(default_factory=dict)
    statistics: tuple[str, ...] = ()


def _scores() -> list[Metric]:
    ferrer = "Ferrer & Ramos 2024"
    return [
        Metric(
            "log_loss", "Log-loss", "score", "lower", "0 to inf", "nats",
            "how good the probabilities are; a sure and wrong answer costs without bound",
            "mean of -ln q[label]", "Good 1952; " + ferrer + ", section 2.2",
            "one row of infinite loss hides all others; brier is bounded", statistics=("log_loss",),
        ),
        Metric(
            "normalized_log_loss", "Log-loss, normalized", "score", "lower", "0 to inf", "ratio",
            "log-loss over that of the class frequencies: 1 is useless, 0 perfect",
            "log_loss / -sum_k P_k ln P_k", ferrer + ", section 3.2", statistics=("log_loss",),
        ),
        Metric(
            "brier", "Brier score", "score", "lower", "0 to 2", "ratio",
            "how good the probabilities are, summed over classes (two classes: twice the one-sided score)",
            "mean of sum_k (q_k - [k is label])^2", "Brier 1950",
            "rare events: small probabilities hardly count; log_loss sees them", statistics=("brier",),
        ),
        Metric(
            "normalized_brier", "Brier score, normalized", "score", "lower", "0 to inf", "ratio",
            "Brier score over that of the class frequencies: 1 is useless, 0 perfect",
            "brier / (1 - sum_k P_k^2)", ferrer + ", section 3.2", statistics=("brier",),
        ),
        Metric(
            "top1_brier", "Top-1 Brier score", "score", "lower", "0 to 1", "ratio",
            "how good the confidence is as the probability of being right",
            "mean of (max_k q_k - [argmax q = label])^2", "Gupta et al. 2021, table 7",
            "the probabilities of the other classes; brier sees them", statistics=("top1_brier",),
        ),
        Metric(
            "accuracy", "Accuracy", "score", "higher", "0 to 1", "fraction",
            "share of rows whose most probable class is the label", "mean of [argmax q = label]",
            "", "says nothing of the probabilities; log_loss does", statistics=("hit",),
        ),
        Metric(
            "error_rate", "Error rate", "score", "lower", "0 to 1", "fraction",
            "share of rows whose most probable class is not the label", "1 - accuracy", "",
            statistics=("hit",),
        ),
        Metric(
            "normalized_error_rate", "Error rate, normalized", "score", "lower", "0 to inf", "ratio",
            "error rate over that of always deciding for the most frequent class",
            "error_rate / (1 - max_k P_k)", ferrer + ", section 3.1", statistics=("hit",),
        ),
        Metric(
            "bayes_risk", "Bayes risk", "score", "lower", "least to greatest cost", "cost",
            "mean cost of the decisions that these probabilities say cost least",
            "mean of C[label, argmin_d sum_k q_k C[k, d]]", ferrer + ", section 2.1",
            "any other costs; log_loss and brier weigh all of them", {"costs": "zero-one"},
        ),
        Metric(
            "normalized_bayes_risk", "Bayes risk, normalized", "score", "lower", "0 to inf", "ratio",
            "Bayes risk over that of the best constant decision: above 1, ignore the classifier",
            "bayes_risk / min_d sum_k P_k C[k, d]", ferrer + ", section 3.1", "", {"costs": "zero-one"},
        ),
        Metric(
            "beta_score", "Beta-weighted score", "score", "lower", "0 to inf", "ratio",
            "two classes: risks at all thresholds, weighted by Beta(a, b); 1, 1 is the log-loss, "
            "2, 2 is 1.5 x brier",
            "integral over t of bayes_risk[false alarm 1/(1-t), miss 1/t] Beta(t; a, b)",
            ferrer + ", eq. 10-12; Buja et al. 2005", "", {"a": "1", "b": "1"},
        ),
        Metric(
            "top5_accuracy", "Top-5 accuracy", "score", "higher", "0 to 1", "fraction",
            "share of rows whose label is among the five most probable classes",
            "mean of [label among the 5 largest q]", "", statistics=("top5_hit",),
        ),
        Metric(
            "auroc", "AUROC", "ranking", "higher", "0 to 1", "fraction",
            "chance that a row of the class scores above one of another (mean over classes if more than two)",
            "P(q+ > q-) + P(q+ = q-) / 2", "Hanley & McNeil 1982; DeLong et al. 1988 (interval)",
            "any increasing map of the scores leaves it as it is; log_loss sees calibration",
        ),
        Metric(
            "mean_confidence", "Mean confidence", "score", "none", "1/K to 1", "fraction",
            "what accuracy the probabilities promise", "mean of max_k q_k", "", statistics=("confidence",),
        ),
        Metric(
            "mean_gap", "Confidence - accuracy", "score", "zero", "-1 to 1", "fraction",
            "above 0 the classifier promises more than it keeps: over-confident",
            "mean_confidence - accuracy", "Panchenko et al. 2022",
            "gaps of opposite sign cancel; ece adds them up", statistics=("confidence", "hit"),
        ),
    ]  # fmt: skip


def _recalibrations() -> list[Metric]:
    ferrer = "Ferrer & Ramos 2024"
    return [
        Metric(
            "calibration_loss", "Calibration loss", "recalibration", "lower", "-inf to inf", AS_SCORE,
            "what a recalibration, trained on other rows, wins of a score; slightly below 0 if nothing",
            "score - score after recalibration", ferrer + ", section 3.3",
            "what the recalibrator cannot express; try another", RECALIBRATED,
        ),
        Metric(
            "relative_calibration_loss", "Calibration loss, relative", "recalibration", "lower", "-inf to 1",
            "fraction", "share of a score that a recalibration, trained on other rows, wins",
            "calibration_loss / score", ferrer + ", section 3.3",
            "what the recalibrator cannot express; try another", RECALIBRATED,
        ),
        Metric(
            "expected_score", "Semi-empirical score", "recalibration", "none", "0 to inf", AS_SCORE,
            "score expected if the recalibrated posteriors were the truth; far from the score, they are not",
            "mean over rows of sum_k p_k score(q, k), p recalibrated", ferrer + ", section 3.4",
            "wrong class priors; unexplained, the difference of the normalized scores, sees them",
            RECALIBRATED,
        ),
        Metric(
            "score_divergence", "Score divergence", "recalibration", "lower", "0 to inf", AS_SCORE,
            "part of the expected score that recalibration removes: distance to the recalibrated posteriors",
            "mean over rows of sum_k p_k (score(q, k) - score(p, k)), p recalibrated",
            "Broecker 2009; " + ferrer + ", eq. 25", "rests on posteriors that nobody has checked",
            RECALIBRATED,
        ),
    ]  # fmt: skip


def _decompositions() -> list[Metric]:
    thesis = "van de Waterlaat 2021"
    dimitriadis = "Dimitriadis, Gneiting & Jordan 2021 (CORP)"
    binned: dict[str, str | int] = {"score": "brier", "bins": 15}
    isotonic = {"score": "brier", "lens": "class-wise"}
    sums = "one isotonic fit a class"
    return [
        Metric(
            "binned_calibration_loss", "Binned calibration loss", "decomposition", "lower", "0 to 2",
            AS_SCORE, "part of a score that is distance between mean probability and frequency in bins",
            "sum_k sum_b n_kb/N (mean prob - frequency)^2, or frequency ln(frequency / mean prob)",
            thesis + ", section 4.3", "biased upward near zero; relative_calibration_loss needs no bins",
            binned,
        ),
        Metric(
            "binned_refinement_loss", "Binned refinement loss", "decomposition", "lower", "0 to 1",
            AS_SCORE, "part of a score that even the frequencies of the bins would lose",
            "sum_k sum_b n_kb/N frequency (1 - frequency), or -frequency ln frequency",
            thesis + ", section 4.3", "with few bins it hides what they merge", binned,
        ),
        Metric(
            "corp_miscalibration", "Miscalibration (CORP)", "decomposition", "lower", "0 to inf",
            AS_SCORE, "part of a score that the best increasing map of the probabilities would win",
            f"score - score of the isotonic fit, {sums}", dimitriadis,
            "the fit is judged on its own rows: biased upward near zero", isotonic,
        ),
        Metric(
            "corp_discrimination", "Discrimination (CORP)", "decomposition", "higher", "0 to uncertainty",
            AS_SCORE, "how much better the best increasing map is than the class frequencies",
            f"score of the class frequencies - score of the isotonic fit, {sums}", dimitriadis, "", isotonic,
        ),
        Metric(
            "corp_uncertainty", "Uncertainty (CORP)", "decomposition", "none", "0 to inf", AS_SCORE,
            "score of the class frequencies: how hard the data are before any classifier looks",
            "score of the class frequencies", dimitriadis, "", isotonic,
        ),
    ]  # fmt: skip


def _errors() -> list[Metric]:
    thesis, vaicenavicius = "van de Waterlaat 2021", "Vaicenavicius et al. 2019"
    cw = {**BINNED, "lens": "class-wise"}
    gap = "|mean outcome - mean score|"
    debiased, significant = {"debiased": "false"}, {"significant": "false"}
    panchenko = "Panchenko et al. 2022, definition 1"
    return [
        Metric(
            "ece", "ECE", "error", "lower", "0 to 1", "fraction",
            "mean distance between confidence and accuracy over bins",
            f"sum_b n_b/N {gap}", "Naeini et al. 2015; Guo et al. 2017",
            "depends on the bins, biased upward on few rows, says nothing of sharpness; ks has no bins",
            {**BINNED, "norm": "1"},
        ),
        Metric(
            "ece_l2", "ECE, L2", "error", "lower", "0 to 1", "fraction",
            "root mean square distance between confidence and accuracy over bins",
            f"sqrt(sum_b n_b/N {gap}^2)", f"Kumar et al. 2019; {thesis}",
            "biased upward like ece; debiased=true takes the bias off", {**BINNED, **debiased}, {"norm": "2"},
        ),
        Metric(
            "mce", "MCE", "error", "lower", "0 to 1", "fraction",
            "largest distance between confidence and accuracy of any bin", f"max_b {gap}",
            "Naeini et al. 2015", "one thin bin decides it; look at the reliability table", BINNED,
            {"norm": "max"},
        ),
        Metric(
            "ks", "KS", "error", "lower", "0 to 1", "fraction",
            "largest gap between cumulative confidence and cumulative accuracy, without bins",
            "max_t |mean of (outcome - score) [score <= t]|", "Gupta et al. 2021, eq. 11-12",
            "gaps of opposite sign cancel along the way; ece adds them up", SCALAR,
        ),
        Metric(
            "over_confidence", "Over-confident rows", "error", "lower", "0 to 1", "fraction",
            "share of rows in bins with less accuracy than confidence; about half if calibrated",
            "sum_b n_b/N [mean outcome < mean score]", panchenko,
            "how far off they are; mean_gap sees it. significant=true counts only sure bins (Wilson)",
            {**BINNED, **significant}, {"side": "over"},
        ),
        Metric(
            "under_confidence", "Under-confident rows", "error", "lower", "0 to 1", "fraction",
            "share of rows in bins with more accuracy than confidence; about half if calibrated",
            "sum_b n_b/N [mean outcome > mean score]", panchenko,
            "how far off they are; mean_gap sees it. significant=true counts only sure bins (Wilson)",
            {**BINNED, **significant}, {"side": "under"},
        ),
        Metric(
            "smooth_ece", "Smooth ECE", "error", "lower", "0 to 1", "fraction",
            "calibration error smoothed by a kernel as wide as the error itself, without bins",
            "the s at which the smoothed gap's integral over [0, 1] is s", "Blasiok & Nakkiran 2024",
            "biased upward on few rows; less than ece", SCALAR,
        ),
        Metric(
            "kde_ece", "KDE-ECE", "error", "lower", "0 to 1", "fraction",
            "calibration error by kernel density estimates of confidence and accuracy",
            "integral of |z - accuracy(z)| density(z)", "Zhang et al. 2020",
            "one bandwidth for all scores; smooth_ece chooses its own", SCALAR,
        ),
        Metric(
            "cw_ece", "Class-wise ECE", "error", "lower", "0 to 1", "fraction",
            "ece of every class's probability, mean over classes", f"mean over k of sum_b n_kb/N {gap}",
            f"Kull et al. 2019; {thesis}", "shrinks as 1/K when most probabilities are tiny", cw,
            {"norm": "1"},
        ),
        Metric(
            "cw_ece_l2", "Class-wise ECE, L2", "error", "lower", "0 to 1", "fraction",
            "root mean square over classes and bins of the gap of every class's probability",
            f"sqrt(mean over k of sum_b n_kb/N {gap}^2)", thesis, "", cw, {"norm": "2"},
        ),
        Metric(
            "ace", "Adaptive ECE", "error", "lower", "0 to 1", "fraction",
            "class-wise ece over bins of equal counts", f"mean over k of sum_b n_kb/N {gap}",
            "Nixon et al. 2019", "orders every class in memory",
            {**cw, "binning": "equal-mass"}, {"norm": "1"},
        ),
        Metric(
            "expected_miscalibration", "Expected miscalibration", "error", "lower", "0 to 1 (tv)", "fraction",
            "mean distance between predicted and observed frequencies of all outcomes, over bins of vectors",
            "sum_b n_b/N d(mean outcome, mean prediction)", f"{vaicenavicius}, eq. 3",
            "many classes need many rows: bins of vectors are wide; class-wise errors see single classes",
            {**VECTORS, "norm": "1"},
        ),
        Metric(
            "worst_miscalibration", "Worst miscalibration", "error", "lower", "0 to 1 (tv)", "fraction",
            "largest distance between predicted and observed frequencies of any bin of vectors",
            "max_b d(mean outcome, mean prediction)", f"{vaicenavicius}, section 3.2",
            "one bin decides it; expected_miscalibration weighs all", VECTORS, {"norm": "max"},
        ),
        Metric(
            "skce", "SKCE", "error", "zero", "-2 to 2", "ratio",
            "squared kernel calibration error of whole vectors, without bins and without bias",
            "mean over pairs of k(q, q') <e_y - q, e_y' - q'>", "Widmann et al. 2019",
            "its size means little; its p-value does. All pairs of rows: estimator=block for many rows",
            {"lens": "canonical", "region": "all", "estimator": "unbiased", "distance": "tv"},
        ),
    ]  # fmt: skip


def _classics() -> list[Metric]:
    return [
        Metric(
            "calibration_in_the_large", "Calibration in the large", "classical", "zero", "-1 to 1",
            "fraction",
            "two classes: above 0 the second one occurs more often than its probability says",
            "mean outcome - mean score", "Cox 1958; Van Calster et al. 2019",
            "gaps of opposite sign cancel; calibration_slope sees some of them",
        ),
        Metric(
            "calibration_intercept", "Calibration intercept", "classical", "zero", "-inf to inf", "log-odds",
            "two classes: what must be added to the log-odds of the second one, to be right on average",
            "a of log-odds(outcome) = a + log-odds(score)", "Cox 1958; Van Calster et al. 2019",
            "gaps of opposite sign cancel; calibration_slope sees some of them",
        ),
        Metric(
            "calibration_slope", "Calibration slope", "classical", "none", "-inf to inf", "ratio",
            "two classes: 1 is right, below 1 the probabilities are too extreme, above 1 too timid",
            "b of log-odds(outcome) = a + b log-odds(score)", "Cox 1958; Van Calster et al. 2019",
            "what is not linear in the log-odds; ks and ece see it",
        ),
        Metric(
            "spiegelhalter_z", "Spiegelhalter's Z", "classical", "zero", "-inf to inf", "standard deviations",
            "two classes: above 0 the Brier score is worse than the probabilities promise",
            "sum (outcome - p)(1 - 2 p) / sqrt(sum (1 - 2 p)^2 p (1 - p))", "Spiegelhalter 1986",
            "misses what leaves the Brier score as promised; its p-value is of calibration as a whole",
        ),
    ]  # fmt: skip


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in [*_scores(), *_recalibrations(), *_decompositions(), *_errors(), *_classics()]
}
