"""Every metric calcli knows, as data: what it is, where it comes from and what its arguments are.

This module loads without numpy, so that help and completion are quick.
"""

from __future__ import annotations

from typing import Literal, get_args

from calcli.core.language.calibrationerrors import BINS, CALIBRATION_ERRORS, LENS, TRAINING, VECTOR_REGION
from calcli.core.language.entries import Argument, Metric
from calcli.core.language.families import DECOMPOSITION, RANKING, RECALIBRATION, SCORE
from calcli.core.language.methods import METHODS

ScoreName = Literal["log_loss", "brier"]  # what has parts, and what chooses a calibrator

AFFINE = "affine"  # as a recalibrator: the first of these maps that the rows can carry
AFFINE_MAPS = ("dp", "temperature")
PAV = "pav"  # as a recalibrator: the isotonic fit without smoothing; elsewhere a synonym
GIVEN = "given"  # as a recalibrator: posteriors that are read from a file
RECALIBRATORS = (AFFINE, *METHODS, PAV, GIVEN)
ROWS_EACH = 100  # outcomes that a validation needs, of events and others alike (Collins et al. 2016)
ERRORS_EACH = 5  # events for each number that is fitted (Vittinghoff & McCulloch 2007)
CARRIED = (
    f"affine is dp where the classes other than the most frequent have {ROWS_EACH} rows each on average, "
    f"and {ERRORS_EACH} errors are made for each class, else temperature"
)

L1 = "l1"  # the absolute distance, which no score has for divergence
AS_SCORE = "as the score"  # the unit of what measures a part of any score

WHOLE = "the score of which this is a part; its own arguments follow after slashes"
BRIER = {"score": Argument("brier", get_args(ScoreName), says="the score of which this is a part")}
FLATTEST, SHARPEST = 1e-6, 1000.0  # beyond, a density of thresholds is one at the ends, or at one threshold
UNIFORM = "uniform"  # weights of thresholds: 1 everywhere
DENSITY = dict.fromkeys(
    "ab",
    Argument(1.0, least=FLATTEST, most=SHARPEST, says="of Beta(a, b), the density that weighs a_1 = 1 - t"),
)
COSTS = {"costs": Argument("zero-one", says="what decisions cost, by a name that --costs gives")}
WEIGHTS = {
    "weights": Argument(UNIFORM, says="W(t) of each threshold t, by a name that --threshold-weights gives")
}
CORP = "consistent, optimally binned, reproducible, pool adjacent violators"


def _scores() -> list[Metric]:
    ferrer = "Ferrer & Ramos 2024"
    return [
        Metric(
            name="log_loss", title="Log-loss",
            family=SCORE, direction="lower", range="0 to inf", unit="nats",
            meaning="how good the probabilities are; a sure and wrong answer costs without bound",
            formula="mean of -ln q[label]", source="Good 1952; " + ferrer + ", section 2.2",
            misses="one row of infinite loss hides all others; brier is bounded",
            statistics=("log_loss",), proper=True,
        ),
        Metric(
            name="normalized_log_loss", title="Log-loss, normalized",
            family=SCORE, direction="lower", range="0 to inf", unit="ratio",
            meaning="log-loss over that of the class frequencies: 1 is useless, 0 perfect",
            formula="log_loss / -sum_k P_k ln P_k", source=ferrer + ", section 3.2",
            statistics=("log_loss",),
            of_answers="log-loss over that of always stating the accuracy: 1 is useless, 0 perfect",
        ),
        Metric(
            name="brier", title="Brier score",
            family=SCORE, direction="lower", range="0 to 2", unit="ratio",
            meaning="how good the probabilities are, summed over classes (two classes: twice the one-sided "
            "score)",
            formula="mean of sum_k (q_k - [k is label])^2", source="Brier 1950",
            misses="rare events: small probabilities hardly count; log_loss sees them",
            statistics=("brier",), proper=True,
            of_answers="mean of (confidence - [right])^2, from 0 to 1: how good the confidence is",
        ),
        Metric(
            name="normalized_brier", title="Brier score, normalized",
            family=SCORE, direction="lower", range="0 to inf", unit="ratio",
            meaning="Brier score over that of the class frequencies: 1 is useless, 0 perfect",
            formula="brier / (1 - sum_k P_k^2)", source=ferrer + ", section 3.2",
            statistics=("brier",),
            of_answers="Brier score over that of always stating the accuracy: 1 is useless, 0 perfect",
        ),
        Metric(
            name="top1_brier", title="Top-1 Brier score",
            family=SCORE, direction="lower", range="0 to 1", unit="ratio",
            meaning="how good the confidence is as the probability of being right",
            formula="mean of (max_k q_k - [argmax q = label])^2", source="Gupta et al. 2021, table 7",
            misses="the probabilities of the other classes; brier sees them",
            statistics=("top1_brier",),
        ),
        Metric(
            name="accuracy", title="Accuracy",
            family=SCORE, direction="higher", range="0 to 1", unit="fraction",
            meaning="share of rows whose most probable class is the label",
            formula="mean of [argmax q = label]",
            misses="says nothing about the probabilities; log_loss does",
            statistics=("hit",),
            of_answers="share of answers that are right",
        ),
        Metric(
            name="error_rate", title="Error rate",
            family=SCORE, direction="lower", range="0 to 1", unit="fraction",
            meaning="share of rows whose most probable class is not the label",
            formula="1 - accuracy",
            statistics=("hit",),
            of_answers="share of answers that are wrong",
        ),
        Metric(
            name="normalized_error_rate", title="Error rate, normalized",
            family=SCORE, direction="lower", range="0 to inf", unit="ratio",
            meaning="error rate over that of always deciding for the most frequent class",
            formula="error_rate / (1 - max_k P_k)", source=ferrer + ", section 3.1",
            statistics=("hit",),
            needs_classes="is relative to the decision for the most frequent class",
        ),
        Metric(
            name="bayes_risk", title="Bayes risk",
            family=SCORE, direction="lower", range="least to greatest cost", unit="cost",
            meaning="mean cost of the decisions that these probabilities say cost least",
            formula="mean of C[label, argmin_d sum_k q_k C[k, d]]", source=ferrer + ", section 2.1",
            misses="any other costs; log_loss and brier weigh all of them",
            arguments=COSTS,
        ),
        Metric(
            name="normalized_bayes_risk", title="Bayes risk, normalized",
            family=SCORE, direction="lower", range="0 to inf, below 0 with gains", unit="ratio",
            meaning="Bayes risk over that of the best constant decision: above 1, ignore the classifier",
            formula="bayes_risk / min_d sum_k P_k C[k, d]", source=ferrer + ", section 3.1",
            arguments=COSTS,
        ),
        Metric(
            name="expected_cost", title="Expected cost",
            family=SCORE, direction="lower", range="least to greatest cost", unit="cost",
            meaning="mean cost of the decisions in a column, however they were made",
            formula="sum_ij C[i, j] P_i R_ij, R_ij the share of class i decided j",
            source=ferrer + ", eq. 7",
            misses="needs --decision-column; bayes_risk is that of the best decisions by the probabilities",
            arguments=COSTS,
        ),
        Metric(
            name="normalized_expected_cost", title="Expected cost, normalized",
            family=SCORE, direction="lower", range="0 to inf, below 0 with gains", unit="ratio",
            meaning="the same over that of the best constant decision: above 1, ignore the decisions",
            formula="expected_cost / min_d sum_k P_k C[k, d]", source=ferrer + ", section 2.3.1",
            misses="needs --decision-column",
            arguments=COSTS,
        ),
        Metric(
            name="beta_score", title="Beta-weighted score",
            family=SCORE, direction="lower", range="0 to inf", unit="ratio",
            meaning=(
                "two classes: risks at all thresholds, weighted by Beta(a, b); 1, 1 is the log-loss, "
                "2, 2 is 1.5 x brier"
            ),
            formula="integral over a_1 of bayes_risk[wrong on class 0: 1/a_1, on class 1: 1/(1-a_1)] "
            "Beta(a_1; a, b)",
            source=ferrer + ", eq. 10-12; Buja et al. 2005",
            misses="a_1 = 1 - t, t the threshold of P(class 1): a above b weighs low thresholds t, a below b "
            "high ones",
            arguments=DENSITY,
            of_answers="risks at all thresholds, weighted by Beta(a, b): 1, 1 is log_loss, 2, 2 is 3 x brier",
        ),
        Metric(
            name="normalized_beta_score", title="Beta-weighted score, normalized",
            family=SCORE, direction="lower", range="0 to inf", unit="ratio",
            meaning="the same over that of the class frequencies: 1 is useless, 0 perfect",
            formula="beta_score / beta_score of the class frequencies", source=ferrer + ", section 2.3",
            misses="a and b are those of beta_score, of a_1 = 1 - t",
            arguments=DENSITY,
        ),
        Metric(
            name="weighted_risk", title="Weighted risks",
            family=SCORE, direction="lower", range="0 to inf", unit="ratio",
            meaning="two classes: risks at all thresholds, with your own weights; uniform is log_loss",
            formula="integral over t of bayes_risk[wrong on class 0: 1/(1-t), on class 1: 1/t] W(t)",
            source=ferrer + ", eq. 10-12",
            misses="t is a threshold of P(class 1), the paper's a_2 = 1 - a_1; W is as given, not scaled; "
            "--threshold-weights names a table of it",
            arguments=WEIGHTS,
        ),
        Metric(
            name="normalized_weighted_risk", title="Weighted risks, normalized",
            family=SCORE, direction="lower", range="0 to inf", unit="ratio",
            meaning="the same over that of the class frequencies: 1 is useless, 0 perfect",
            formula="weighted_risk / weighted_risk of the class frequencies", source=ferrer + ", section 2.3",
            arguments=WEIGHTS,
        ),
        Metric(
            name="cllr", title="Cost of log-likelihood ratios",
            family=SCORE, direction="lower", range="0 to inf", unit="bits",
            meaning="two classes: how good the ratios of posterior to prior odds are; 1 is useless",
            formula="(mean over class 1 of log2(1 + 1/LR) + mean over class 0 of log2(1 + LR)) / 2",
            source="Bruemmer & du Preez 2006",
            misses="prior odds are those of the labels; --shift-to-priors moves both alike",
        ),
        Metric(
            name="top5_accuracy", title="Top-5 accuracy",
            family=SCORE, direction="higher", range="0 to 1", unit="fraction",
            meaning="share of rows whose label is among the five most probable classes",
            formula="mean of [label among the 5 largest q]",
            statistics=("top5_hit",),
            needs_classes="looks at the five most probable classes",
        ),
        Metric(
            name="auroc", title="AUROC", letters="area under the receiver operating characteristic",
            family=RANKING, direction="higher", range="0 to 1", unit="fraction",
            meaning="chance that a row of the class scores above one of another (mean over classes if more "
            "than two)",
            formula="P(q+ > q-) + P(q+ = q-) / 2",
            source="Hanley & McNeil 1982; DeLong et al. 1988 (interval)",
            misses="any increasing map of the scores leaves it as it is; log_loss sees calibration",
            of_answers="chance that a right answer has more confidence than a wrong one",
        ),
        Metric(
            name="average_precision", title="Average precision",
            family=RANKING, direction="higher", range="0 to 1", unit="fraction",
            meaning="mean over rows of the class of the share of the class among rows that score at least as "
            "high (mean over classes if more than two)",
            formula="mean over rows of the class of P(class | q >= that row's)",
            source="as in scikit-learn, without interpolation; Boyd et al. 2013 (interval)",
            misses="any increasing map of the scores leaves it as it is; at random it is the class frequency",
            of_answers="mean over right answers of the share that is right among those as confident",
        ),
        Metric(
            name="mean_confidence", title="Mean confidence",
            family=SCORE, direction="none", range="1/K to 1", unit="fraction",
            meaning="what accuracy the probabilities promise",
            formula="mean of max_k q_k",
            statistics=("confidence",),
            of_answers="what accuracy the confidence promises",
        ),
        Metric(
            name="mean_gap", title="Confidence - accuracy",
            family=SCORE, direction="zero", range="-1 to 1", unit="fraction",
            meaning="above 0 the classifier promises more than it keeps: over-confident",
            formula="mean score - mean outcome", source="Panchenko et al. 2022",
            misses="gaps of opposite sign cancel; ece adds them up",
            arguments={"lens": Argument("top-1", says=LENS)},
            of_answers="above 0 the confidence promises more than the answers keep: over-confident",
        ),
    ]  # fmt: skip


SCORES = _scores()
PROPER = tuple(score.name for score in SCORES if score.proper)
EXPECTED = (  # what a posterior has an expectation of
    *PROPER, "error_rate", "bayes_risk", "beta_score", "weighted_risk",
)  # fmt: skip
RECALIBRATED = {
    "score": Argument("log_loss", EXPECTED, nested=True, says=WHOLE),
    "recalibrator": Argument(
        AFFINE,
        RECALIBRATORS,
        nested=True,
        says="the method that recalibrates, its arguments after slashes; affine, dp or temperature, as the "
        "rows can carry; pav, the isotonic fit as it is; or given, --posteriors",
    ),
    "training": Argument(
        "cross-validation",
        TRAINING,
        says="the rows on which it learns; held-out ones are those of --calibration-data",
    ),
}


def _recalibrations() -> list[Metric]:
    ferrer = "Ferrer & Ramos 2024"
    return [
        Metric(
            name="calibration_loss", title="Calibration loss",
            family=RECALIBRATION, direction="lower", range="-inf to inf", unit=AS_SCORE,
            meaning="what a recalibration, trained on other rows, wins of a score; slightly below 0 if "
            "nothing",
            formula="score - score after recalibration; by pav on test, of costs: actual - minimum cost",
            source=ferrer + ", eq. 30",
            misses=f"what the recalibrator cannot express; try another; {CARRIED}",
            arguments=RECALIBRATED,
        ),
        Metric(
            name="relative_calibration_loss", title="Calibration loss, relative",
            family=RECALIBRATION, direction="lower", range="-inf to 1", unit="fraction",
            meaning="share of a score that a recalibration, trained on other rows, wins",
            formula="calibration_loss / score", source=ferrer + ", eq. 33",
            misses=f"what the recalibrator cannot express; try another; {CARRIED}",
            arguments=RECALIBRATED,
        ),
        Metric(
            name="expected_score", title="Semi-empirical score",
            family=RECALIBRATION, direction="none", range="0 to inf", unit=AS_SCORE,
            meaning="score expected if the recalibrated posteriors were the truth; far from the score, they "
            "are not",
            formula="mean over rows of sum_k p_k score(q, k), p recalibrated",
            source=ferrer + ", eq. 25 and table 1",
            misses="wrong class priors; unexplained, the difference of the normalized scores, sees them",
            arguments=RECALIBRATED,
        ),
        Metric(
            name="unexplained", title="Unexplained share of the score",
            family=RECALIBRATION, direction="none", range="-inf to 1", unit="fraction",
            meaning="share of the normalized score that the recalibrated posteriors do not expect; far from "
            "0, they are not to be trusted",
            formula="1 - normalized expected_score / normalized score", source=ferrer + ", table 1",
            arguments=RECALIBRATED,
        ),
        Metric(
            name="score_divergence", title="Score divergence",
            family=RECALIBRATION, direction="lower", range="0 to inf", unit=AS_SCORE,
            meaning="part of the expected score that recalibration removes: distance to the recalibrated "
            "posteriors",
            formula="mean over rows of sum_k p_k (score(q, k) - score(p, k)), p recalibrated",
            source="Broecker 2009; " + ferrer + ", eq. 26",
            misses="rests on posteriors that were never checked; distance=l1, the mean of sum_k |p_k - q_k|, "
            "is not a score divergence",
            arguments={
                **RECALIBRATED,
                "distance": Argument(
                    "score", ("score", L1), says="the divergence of the score, or the sum of |p_k - q_k|"
                ),
            },
        ),
    ]  # fmt: skip


def _decompositions() -> list[Metric]:
    thesis = "van de Waterlaat 2021"
    dimitriadis = "Dimitriadis, Gneiting & Jordan 2021 (CORP)"
    kernel = {"estimator": Argument("bins", ("bins", "kernel"), says="frequencies in bins, or by a kernel")}
    wise = {"lens": Argument("class-wise", says=LENS)}
    binned = {**BRIER, **BINS, **wise, "region": VECTOR_REGION, **kernel}
    isotonic = {**BRIER, **wise}
    sums = "one isotonic fit a class"
    return [
        Metric(
            name="binned_calibration_loss", title="Binned calibration loss",
            family=DECOMPOSITION, direction="lower", range="0 to inf", unit=AS_SCORE,
            meaning="part of a score that is distance between mean probability and frequency in bins",
            formula="sum_k sum_b n_kb/N (mean prob - frequency)^2, or frequency ln(frequency / mean prob)",
            source=thesis + ", section 4.3",
            misses="biased upward near zero; relative_calibration_loss needs no bins",
            arguments=binned,
        ),
        Metric(
            name="binned_refinement_loss", title="Binned refinement loss",
            family=DECOMPOSITION, direction="lower", range="0 to inf", unit=AS_SCORE,
            meaning="part of a score that even the frequencies of the bins would lose",
            formula="sum_k sum_b n_kb/N frequency (1 - frequency), or -frequency ln frequency",
            source=thesis + ", section 4.3",
            misses="with few bins it hides what they merge",
            arguments=binned,
        ),
        Metric(
            name="binned_estimated_score", title="Estimated score",
            family=DECOMPOSITION, direction="lower", range="0 to inf", unit=AS_SCORE,
            meaning="binned calibration loss plus binned refinement loss: the score as bins see it",
            formula="binned_calibration_loss + binned_refinement_loss", source=thesis + ", fig. 4.6",
            misses="what differs within bins; binned_remainder is that",
            arguments=binned,
        ),
        Metric(
            name="binned_remainder", title="Remainder of the estimated score",
            family=DECOMPOSITION, direction="none", range="-inf to inf", unit=AS_SCORE,
            meaning="what bins hide of a score",
            formula="score - binned_estimated_score; brier: sum_kb n_kb/N (var prob - 2 cov(prob, label))",
            source=thesis + ", fig. 4.6",
            arguments=binned,
        ),
        Metric(
            name="corp_miscalibration", title="Miscalibration (CORP)", letters=CORP,
            family=DECOMPOSITION, direction="lower", range="0 to inf", unit=AS_SCORE,
            meaning="part of a score that the best increasing map of the probabilities would win",
            formula=f"score - score of the isotonic fit, {sums}", source=dimitriadis,
            misses="the fit is judged on its own rows: biased upward near zero",
            arguments=isotonic,
        ),
        Metric(
            name="corp_discrimination", title="Discrimination (CORP)", letters=CORP,
            family=DECOMPOSITION, direction="higher", range="0 to uncertainty", unit=AS_SCORE,
            meaning="how much better the best increasing map is than the class frequencies",
            formula=f"score of the class frequencies - score of the isotonic fit, {sums}", source=dimitriadis,
            arguments=isotonic,
            of_answers="how much better the best increasing map is than always stating the accuracy",
        ),
        Metric(
            name="corp_uncertainty", title="Uncertainty (CORP)", letters=CORP,
            family=DECOMPOSITION, direction="none", range="0 to inf", unit=AS_SCORE,
            meaning="score of the class frequencies: how hard the data are before any classifier looks",
            formula="score of the class frequencies", source=dimitriadis,
            arguments=isotonic,
            of_answers="score of always stating the accuracy",
        ),
        Metric(
            name="min_cllr", title="Cost of log-likelihood ratios, least",
            family=DECOMPOSITION, direction="lower", range="0 to 1", unit="bits",
            meaning="two classes: what the best increasing map would leave of cllr; the rest is calibration",
            formula="cllr of the isotonic fit, both classes alike", source="Bruemmer & du Preez 2006",
            misses="the fit is judged on its own rows: biased downward",
        ),
    ]  # fmt: skip


METRICS: dict[str, Metric] = {
    metric.name: metric for metric in [*SCORES, *_recalibrations(), *_decompositions(), *CALIBRATION_ERRORS]
}
