"""Every metric calcli knows, as data: what it is, where it comes from and what its arguments are.

This module loads without numpy, so that help and completion are quick.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

from calcli.core.language.calibrationerrors import BINS, CALIBRATION_ERRORS, LENS, TRAINING, VECTOR_REGION
from calcli.core.language.entries import (
    DECOMPOSITION,
    RANKING,
    RECALIBRATION,
    SCORE,
    SELECTIVE,
    Argument,
    Metric,
    Registry,
)
from calcli.core.language.methods import METHODS

ScoreName = Literal["log_loss", "brier"]  # what has parts, and what chooses a calibrator

AFFINE = "affine"  # as a recalibrator: the first of these maps that the rows can carry
AFFINE_MAPS = ("dp", "temperature")
PAV = "pav"  # as a recalibrator: the isotonic fit without smoothing; elsewhere a synonym
ROWS_EACH = 100  # outcomes that a validation needs, of events and others alike (Collins et al. 2016)
ERRORS_EACH = 5  # events for each number that is fitted (Vittinghoff & McCulloch 2007)
CARRIED = (
    f"affine is dp if the classes other than the most frequent have {ROWS_EACH} rows each on average and "
    f"there are {ERRORS_EACH} errors per class, else temperature"
)

L1 = "l1"  # the absolute distance, which no score has for divergence
AS_SCORE = "as the score"  # the unit of what measures a part of any score

WHOLE = "the score that is split; its own arguments follow after slashes"
BRIER = {"score": Argument("brier", get_args(ScoreName), says="the score that is split")}
FLATTEST, SHARPEST = 1e-6, 1000.0  # beyond, a density of thresholds is one at the ends, or at one threshold
UNIFORM = "uniform"  # weights of thresholds: 1 everywhere
DENSITY = dict.fromkeys(
    "ab",
    Argument(1.0, least=FLATTEST, most=SHARPEST, says="of Beta(a, b), the weight of a_1 = 1 - t"),
)
COSTS = {"costs": Argument("zero-one", says="the costs of decisions, by a name from --costs")}
WEIGHTS = {
    "weights": Argument(
        UNIFORM, says="the weight W(t) of each threshold t, from a CSV file of threshold,weight"
    )
}
CONFIDENCE = {"lens": Argument("top-1", says="the probability that orders rows, and the event that is right")}
ALMOST = 1 - 1e-9  # the largest share with odds
THRESHOLD = {
    "threshold": Argument(0.5, least=0, most=1, says="the probability from which the class is predicted"),
    "lens": Argument("auto", says="the class, such as class-2 (counted from 0); of two the second"),
}
CORP = "consistent, optimally binned, reproducible, pool adjacent violators"


def _scores() -> list[Metric]:
    ferrer = "Ferrer & Ramos 2024"
    return [
        Metric(
            name="log_loss", title="Log-loss",
            tier="to know", family=SCORE, direction="lower", range="0 to inf", unit="nats",
            where=".scores:log_loss",
            meaning="quality of the probabilities; a confident wrong answer costs without bound",
            formula="mean of -ln q[label]", source="Good 1952; " + ferrer + ", section 2.2",
            misses="one row of infinite loss hides all others; brier is bounded",
            proper=True,
        ),
        Metric(
            name="normalized_log_loss", title="Log-loss, normalized",
            family=SCORE, direction="lower", range="0 to inf", unit="ratio",
            where=".scores:normalized_log_loss",
            meaning="log-loss divided by that of the class frequencies: 1 is useless, 0 perfect",
            formula="log_loss / -sum_k P_k ln P_k", source=ferrer + ", section 3.2",
            of_answers="log-loss divided by that of always stating the accuracy: 1 is useless, 0 perfect",
        ),
        Metric(
            name="brier", title="Brier score",
            tier="to know", family=SCORE, direction="lower", range="0 to 2", unit="ratio",
            where=".scores:brier",
            meaning="squared error of the probabilities, summed over classes (two classes: twice that of "
            "scikit-learn)",
            formula="mean of sum_k (q_k - [k is label])^2", source="Brier 1950",
            misses="rare events: small probabilities hardly count; log_loss sees them",
            proper=True,
            of_answers="mean of (confidence - [right])^2, from 0 to 1",
        ),
        Metric(
            name="normalized_brier", title="Brier score, normalized",
            family=SCORE, direction="lower", range="0 to inf", unit="ratio",
            where=".scores:normalized_brier",
            meaning="Brier score divided by that of the class frequencies: 1 is useless, 0 perfect",
            formula="brier / (1 - sum_k P_k^2)", source=ferrer + ", section 3.2",
            of_answers="Brier score divided by that of always stating the accuracy: 1 is useless, 0 perfect",
        ),
        Metric(
            name="top1_brier", title="Top-1 Brier score",
            tier="works", family=SCORE, direction="lower", range="0 to 1", unit="ratio",
            where=".scores:top1_brier",
            meaning="squared error of the confidence as the probability of being right",
            formula="mean of (max_k q_k - [argmax q = label])^2", source="Gupta et al. 2021, table 7",
            misses="the probabilities of the other classes; brier sees them",
        ),
        Metric(
            name="accuracy", title="Accuracy",
            tier="to know", family=SCORE, direction="higher", range="0 to 1", unit="fraction",
            where=".scores:accuracy",
            needs_probabilities=False,
            meaning="share of rows whose most probable class is the label",
            formula="mean of [argmax q = label]",
            misses="says nothing about the probabilities; log_loss does",
            of_answers="share of answers that are right",
        ),
        Metric(
            name="error_rate", title="Error rate",
            family=SCORE, direction="lower", range="0 to 1", unit="fraction",
            where=".scores:error_rate",
            needs_probabilities=False,
            meaning="share of rows whose most probable class is not the label",
            formula="1 - accuracy",
            of_answers="share of answers that are wrong",
        ),
        Metric(
            name="normalized_error_rate", title="Error rate, normalized",
            family=SCORE, direction="lower", range="0 to inf", unit="ratio",
            where=".scores:normalized_error_rate",
            needs_probabilities=False,
            meaning="error rate divided by that of always predicting the most frequent class",
            formula="error_rate / (1 - max_k P_k)", source=ferrer + ", section 3.1",
            needs_classes="compares with always predicting the most frequent class",
        ),
        Metric(
            name="bayes_risk", title="Bayes risk",
            family=SCORE, direction="lower", range="least to greatest cost", unit="cost",
            where=".scores:bayes_risk",
            meaning="mean cost of the decisions with the least expected cost under these probabilities",
            formula="mean of C[label, argmin_d sum_k q_k C[k, d]]", source=ferrer + ", section 2.1",
            misses="other costs; log_loss and brier average over all of them",
            arguments=COSTS,
        ),
        Metric(
            name="normalized_bayes_risk", title="Bayes risk, normalized",
            family=SCORE, direction="lower", range="0 to inf, below 0 with gains", unit="ratio",
            where=".scores:normalized_bayes_risk",
            meaning="Bayes risk divided by that of the best constant decision: above 1 the constant one is "
            "better",
            formula="bayes_risk / min_d sum_k P_k C[k, d]", source=ferrer + ", section 3.1",
            arguments=COSTS,
        ),
        Metric(
            name="expected_cost", title="Expected cost",
            family=SCORE, direction="lower", range="least to greatest cost", unit="cost",
            where=".scores:expected_cost",
            needs_probabilities=False,
            meaning="mean cost of the decisions in a column, made in any way",
            formula="sum_ij C[i, j] P_i R_ij, R_ij the share of class i decided j",
            source=ferrer + ", eq. 7",
            misses="needs --decision-column; bayes_risk takes the decisions from the probabilities",
            arguments=COSTS,
        ),
        Metric(
            name="normalized_expected_cost", title="Expected cost, normalized",
            family=SCORE, direction="lower", range="0 to inf, below 0 with gains", unit="ratio",
            where=".scores:normalized_expected_cost",
            needs_probabilities=False,
            meaning="expected cost divided by that of the best constant decision: above 1 the constant one "
            "is better",
            formula="expected_cost / min_d sum_k P_k C[k, d]", source=ferrer + ", section 2.3.1",
            misses="needs --decision-column",
            arguments=COSTS,
        ),
        Metric(
            name="beta_score", title="Beta-weighted score",
            tier="works", family=SCORE, direction="lower", range="0 to inf", unit="ratio",
            where=".scores:beta_score",
            meaning=(
                "two classes: risk over all thresholds, weighted by Beta(a, b); 1, 1 gives log_loss, "
                "2, 2 gives 1.5 x brier"
            ),
            formula="integral over a_1 of bayes_risk[wrong on class 0: 1/a_1, on class 1: 1/(1-a_1)] "
            "Beta(a_1; a, b)",
            source=ferrer + ", eq. 10-12; Buja et al. 2005",
            misses="a_1 = 1 - t, t the threshold of P(class 1): a above b stresses low thresholds t, a below "
            "b high ones",
            arguments=DENSITY,
            of_answers="risk over all thresholds, weighted by Beta(a, b): 1, 1 gives log_loss, 2, 2 gives 3 "
            "x brier",
        ),
        Metric(
            name="normalized_beta_score", title="Beta-weighted score, normalized",
            tier="works", family=SCORE, direction="lower", range="0 to inf", unit="ratio",
            where=".scores:normalized_beta_score",
            meaning="beta_score divided by that of the class frequencies: 1 is useless, 0 perfect",
            formula="beta_score / beta_score of the class frequencies", source=ferrer + ", section 2.3",
            misses="a and b are as in beta_score, for a_1 = 1 - t",
            arguments=DENSITY,
        ),
        Metric(
            name="weighted_risk", title="Weighted risks",
            tier="works", family=SCORE, direction="lower", range="0 to inf", unit="ratio",
            where=".scores:weighted_risk",
            meaning="two classes: risk over all thresholds, with your own weights; uniform gives log_loss",
            formula="integral over t of bayes_risk[wrong on class 0: 1/(1-t), on class 1: 1/t] W(t)",
            source=ferrer + ", eq. 10-12",
            misses="t is a threshold of P(class 1), the paper's a_2 = 1 - a_1; W is as given, not scaled; "
            "weights=FILE.csv is a table of it",
            arguments=WEIGHTS,
        ),
        Metric(
            name="normalized_weighted_risk", title="Weighted risks, normalized",
            tier="works", family=SCORE, direction="lower", range="0 to inf", unit="ratio",
            where=".scores:normalized_weighted_risk",
            meaning="weighted_risk divided by that of the class frequencies: 1 is useless, 0 perfect",
            formula="weighted_risk / weighted_risk of the class frequencies", source=ferrer + ", section 2.3",
            arguments=WEIGHTS,
        ),
        Metric(
            name="cllr", title="Cost of log-likelihood ratios",
            family=SCORE, direction="lower", range="0 to inf", unit="bits",
            where=".scores:cllr",
            meaning="two classes: quality of the likelihood ratios, posterior over prior odds; 1 is useless",
            formula="(mean over class 1 of log2(1 + 1/LR) + mean over class 0 of log2(1 + LR)) / 2",
            source="Bruemmer & du Preez 2006",
            misses="the prior odds are those of the labels; --shift-to-priors changes both alike",
        ),
        Metric(
            name="top5_accuracy", title="Top-5 accuracy",
            family=SCORE, direction="higher", range="0 to 1", unit="fraction",
            where=".scores:top5_accuracy",
            meaning="share of rows whose label is among the five most probable classes",
            formula="mean of [label among the 5 largest q]",
            needs_classes="looks at the five most probable classes",
        ),
        Metric(
            name="auroc", title="AUROC", letters="area under the receiver operating characteristic",
            tier="to know", family=RANKING, direction="higher", range="0 to 1", unit="fraction",
            where=".ranking:RocArea",
            meaning="probability that a row of the class scores above one of another class (mean over "
            "classes if more than two)",
            formula="P(q+ > q-) + P(q+ = q-) / 2",
            source="Hanley & McNeil 1982; DeLong et al. 1988 (interval)",
            misses="increasing maps of the scores do not change it; log_loss sees calibration",
            of_answers="probability that a right answer has more confidence than a wrong one",
        ),
        Metric(
            name="average_precision", title="Average precision",
            tier="to know", family=RANKING, direction="higher", range="0 to 1", unit="fraction",
            where=".ranking:AveragePrecision",
            meaning="area under the precision-recall curve, without interpolation (mean over classes if more "
            "than two)",
            formula="mean over rows of the class of P(class | q >= that row's)",
            source="as in scikit-learn, without interpolation; Boyd et al. 2013 (interval)",
            misses="increasing maps of the scores do not change it; random scores give the class frequency",
            of_answers="area under the precision-recall curve of the right answers",
        ),
        Metric(
            name="aurc", title="AURC", letters="area under the risk-coverage curve",
            family=SELECTIVE, direction="lower", range="0 to 1", unit="fraction",
            where=".ranking:Aurc",
            meaning="error rate of the most confident rows, averaged over how many of them are answered",
            formula="mean over k of errors among the k most confident rows / k", source="Geifman et al. 2019",
            misses="mostly the error rate itself, and the first rows count most; augrc weights errors alike",
            arguments=CONFIDENCE,
        ),
        Metric(
            name="augrc", title="AUGRC", letters="area under the generalized risk-coverage curve",
            family=SELECTIVE, direction="lower", range="0 to 1", unit="fraction",
            where=".ranking:Augrc",
            meaning="wrong answers given, as a share of all rows, averaged over how many rows are answered",
            formula="mean over k of errors among the k most confident rows / n", source="Traub et al. 2024",
            misses="increasing maps of the confidence do not change it; log_loss sees calibration",
            arguments=CONFIDENCE,
        ),
        Metric(
            name="selective_accuracy", title="Selective accuracy",
            family=SELECTIVE, direction="higher", range="0 to 1", unit="fraction",
            where=".ranking:SelectiveAccuracy",
            meaning="accuracy of the most confident rows, at a given share of rows that is answered",
            formula="1 - errors among the k most confident rows / k, k = ceil(coverage n)",
            source="El-Yaniv & Wiener 2010",
            misses="any other coverage; aurc averages over all",
            arguments={
                **CONFIDENCE,
                "coverage": Argument(
                    0.8, least=0, most=1, above=True, says="the share of rows that is answered"
                ),
            },
        ),
        Metric(
            name="coverage", title="Coverage",
            family=SELECTIVE, direction="higher", range="0 to 1", unit="fraction",
            where=".ranking:Coverage",
            meaning="largest share of rows, the most confident ones, with at most a given error rate",
            formula="max k/n with errors among the k most confident rows / k <= max_error",
            source="El-Yaniv & Wiener 2010",
            misses="it is chosen on these rows, so new ones have more errors",
            arguments={
                **CONFIDENCE,
                "max_error": Argument(0.05, least=0, most=ALMOST, says="the largest error rate among them"),
            },
        ),
        Metric(
            name="precision", title="Precision",
            family=SCORE, direction="higher", range="0 to 1", unit="fraction",
            where=".scores:precision",
            needs_probabilities=False,
            meaning="share of the class among the rows with a probability of it of at least a threshold",
            formula="TP / (TP + FP)",
            misses="the rows of the class that are not found; recall sees them",
            arguments=THRESHOLD,
            of_answers="share of right answers among those with at least so much confidence",
        ),
        Metric(
            name="recall", title="Recall",
            family=SCORE, direction="higher", range="0 to 1", unit="fraction",
            where=".scores:recall",
            needs_probabilities=False,
            meaning="share of the rows of the class with a probability of it of at least a threshold",
            formula="TP / (TP + FN)",
            misses="false alarms; precision sees them",
            arguments=THRESHOLD,
            of_answers="share of the right answers that have at least so much confidence",
        ),
        Metric(
            name="f1", title="F1 score",
            family=SCORE, direction="higher", range="0 to 1", unit="fraction",
            where=".scores:f1",
            needs_probabilities=False,
            meaning="harmonic mean of precision and recall at a threshold",
            formula="2 TP / (2 TP + FP + FN)",
            misses="what errors cost; bayes_risk and net_benefit weigh them",
            arguments=THRESHOLD,
        ),
        Metric(
            name="specificity", title="Specificity",
            family=SCORE, direction="higher", range="0 to 1", unit="fraction",
            where=".scores:specificity",
            needs_probabilities=False,
            meaning="share of the rows of other classes with a probability of the class below a threshold",
            formula="TN / (TN + FP)",
            misses="the rows of the class that are not found; recall sees them",
            arguments=THRESHOLD,
            of_answers="share of the wrong answers that have less confidence than that",
        ),
        Metric(
            name="mean_score", title="Mean score",
            family=SCORE, direction="higher", range="0 to 1", unit="fraction",
            where=".scores:mean_score",
            needs_probabilities=False,
            meaning="mean of grades in [0, 1]; of right and wrong it is the accuracy",
            formula="mean of the grade of each row, or of each question",
            misses="whether many are half right or half are right; look at the grades",
        ),
        Metric(
            name="kappa", title="Cohen's kappa",
            family=SCORE, direction="higher", range="-1 to 1", unit="ratio",
            where=".scores:kappa",
            needs_probabilities=False, needs_classes="compares predicted classes with the labels",
            meaning="agreement of predicted class and label beyond that of independent ones; 0 is chance",
            formula="1 - sum_ij w_ij n_ij / sum_ij w_ij n_i. n_.j / n, w_ij = [i != j], |i - j| or (i - j)^2",
            source="Cohen 1960; Cohen 1968 (weights)",
            misses="it falls with rare classes, however good the agreement; see balanced_accuracy",
            arguments={
                "weights": Argument(
                    "none",
                    ("none", "linear", "quadratic"),
                    own=True,
                    says="what a disagreement costs by the distance of the classes, if they have an order",
                )
            },
        ),
        Metric(
            name="mcc", title="MCC", letters="Matthews correlation coefficient",
            family=SCORE, direction="higher", range="-1 to 1", unit="ratio",
            where=".scores:mcc",
            needs_probabilities=False, needs_classes="compares predicted classes with the labels",
            meaning="correlation of predicted class and label; 0 is chance",
            formula="(sum_k n_kk / n - sum_k t_k p_k) / sqrt((1 - sum_k t_k^2) (1 - sum_k p_k^2))",
            source="Matthews 1975; Gorodkin 2004 (several classes)",
            misses="not defined if one class alone is predicted, or occurs",
        ),
        Metric(
            name="balanced_accuracy", title="Balanced accuracy",
            family=SCORE, direction="higher", range="0 to 1", unit="fraction",
            where=".scores:balanced_accuracy",
            needs_probabilities=False, needs_classes="looks at the rows of each class",
            meaning="mean over the classes of the share of their rows that is predicted as them",
            formula="mean over k of n_kk / n_k.", source="Brodersen et al. 2010",
            misses="how often each class occurs; accuracy sees that",
        ),
        Metric(
            name="net_benefit", title="Net benefit",
            family=SCORE, direction="higher", range="-inf to 1", unit="fraction",
            where=".scores:net_benefit",
            meaning="true positives per row at a threshold, minus false ones at its odds; 0 predicts none",
            formula="TP/n - FP/n t/(1 - t)", source="Vickers & Elkin 2006",
            misses="other thresholds",
            arguments={"threshold": replace(THRESHOLD["threshold"], most=ALMOST), "lens": THRESHOLD["lens"]},
        ),
        Metric(
            name="rps", title="RPS", letters="ranked probability score",
            family=SCORE, direction="lower", range="0 to 1", unit="ratio",
            where=".scores:rps",
            meaning="squared error of the cumulative probabilities of classes in the order of the file",
            formula="mean of sum_(k<K) (F_k - [label <= k])^2 / (K - 1)", source="Epstein 1969",
            misses="means nothing for classes without an order; brier is for these",
            proper=True,
            needs_classes="needs classes in an order",
        ),
        Metric(
            name="mean_confidence", title="Mean confidence",
            family=SCORE, direction="none", range="1/K to 1", unit="fraction",
            where=".scores:mean_confidence",
            meaning="mean probability of the predicted class: the accuracy expected if calibrated",
            formula="mean of max_k q_k",
            of_answers="the accuracy expected if the confidence is calibrated",
        ),
        Metric(
            name="mean_gap", title="Confidence - accuracy",
            tier="to know", family=SCORE, direction="zero", range="-1 to 1", unit="fraction",
            where=".scores:mean_gap",
            meaning="mean confidence minus accuracy: above 0 over-confident, below 0 under-confident",
            formula="mean score - mean outcome", source="Panchenko et al. 2022",
            misses="gaps of opposite sign cancel; ece adds them up",
            arguments={"lens": Argument("top-1", says=LENS)},
            of_answers="mean confidence minus accuracy: above 0 over-confident, below 0 under-confident",
        ),
    ]  # fmt: skip


SCORES = _scores()
PROPER = tuple(score.name for score in SCORES if score.proper)
EXPECTED = (  # what a posterior has an expectation of
    *PROPER, "error_rate", "bayes_risk", "beta_score", "weighted_risk",
)  # fmt: skip


def _recalibrations() -> list[Metric]:
    ferrer = "Ferrer & Ramos 2024"
    recalibrated = {
        "score": Argument("log_loss", EXPECTED, nested=True, says=WHOLE),
        "recalibrator": Argument(
            AFFINE,
            (AFFINE, *METHODS, PAV),
            nested=True,
            says="the method, its arguments after slashes; affine (dp or temperature, by the number of "
            "rows); or pav (isotonic, without smoothing)",
        ),
        "training": Argument(
            "cross-validation",
            TRAINING,
            says="the rows it is fitted to; held-out: those of --calibration-data",
        ),
    }
    return [
        Metric(
            name="calibration_loss", title="Calibration loss",
            tier="to know", family=RECALIBRATION, direction="lower", range="-inf to inf", unit=AS_SCORE,
            where="..evaluating.families.recalibration:calibration_loss",
            meaning="how much a recalibration fitted to other rows lowers a score; slightly below 0 if there "
            "is nothing to gain",
            formula="score - score after recalibration; by pav on test, of costs: actual - minimum cost",
            source=ferrer + ", eq. 30",
            misses=f"what the recalibrator cannot express; try another. {CARRIED}",
            arguments=recalibrated,
        ),
        Metric(
            name="relative_calibration_loss", title="Calibration loss, relative",
            family=RECALIBRATION, direction="lower", range="-inf to 1", unit="fraction",
            where="..evaluating.families.recalibration:relative_calibration_loss",
            meaning="share of a score that a recalibration fitted to other rows removes",
            formula="calibration_loss / score", source=ferrer + ", eq. 33",
            misses=f"what the recalibrator cannot express; try another. {CARRIED}",
            arguments=recalibrated,
        ),
        Metric(
            name="expected_score", title="Semi-empirical score",
            tier="works", family=RECALIBRATION, direction="none", range="0 to inf", unit=AS_SCORE,
            where="..evaluating.families.recalibration:expected_score",
            meaning="score expected if the recalibrated posteriors were true; far from the actual score, "
            "they are not",
            formula="mean over rows of sum_k p_k score(q, k), p recalibrated",
            source=ferrer + ", eq. 25 and table 1",
            misses="wrong class priors; unexplained, the difference of the normalized scores, sees them",
            arguments=recalibrated,
        ),
        Metric(
            name="unexplained", title="Unexplained share of the score",
            tier="works", family=RECALIBRATION, direction="none", range="-inf to 1", unit="fraction",
            where="..evaluating.families.recalibration:unexplained",
            meaning="share of the normalized score that the recalibrated posteriors do not explain; far from "
            "0, do not trust them",
            formula="1 - normalized expected_score / normalized score", source=ferrer + ", table 1",
            arguments=recalibrated,
        ),
        Metric(
            name="score_divergence", title="Score divergence",
            tier="works", family=RECALIBRATION, direction="lower", range="0 to inf", unit=AS_SCORE,
            where="..evaluating.families.recalibration:score_divergence",
            meaning="divergence from the recalibrated posteriors: the part of the expected score that "
            "recalibration removes",
            formula="mean over rows of sum_k p_k (score(q, k) - score(p, k)), p recalibrated",
            source="Broecker 2009; " + ferrer + ", eq. 26",
            misses="assumes that the posteriors are right; distance=l1, the mean of sum_k |p_k - q_k|, is "
            "not a score divergence",
            arguments={
                **recalibrated,
                "distance": Argument(
                    "score", ("score", L1), says="the divergence of the score, or the sum of |p_k - q_k|"
                ),
            },
        ),
    ]  # fmt: skip


def _decompositions() -> list[Metric]:
    thesis = "van de Waterlaat 2021"
    dimitriadis = "Dimitriadis, Gneiting & Jordan 2021 (CORP)"
    kernel = {
        "estimator": Argument("bins", ("bins", "kernel"), says="frequencies from bins or from a kernel")
    }
    wise = {"lens": Argument("class-wise", says=LENS)}
    binned = {**BRIER, **BINS, **wise, "region": VECTOR_REGION, **kernel}
    isotonic = {**BRIER, **wise}
    sums = "one isotonic fit a class"
    return [
        Metric(
            name="binned_calibration_loss", title="Binned calibration loss",
            tier="works", family=DECOMPOSITION, direction="lower", range="0 to inf", unit=AS_SCORE,
            where="..evaluating.families.decomposition:Binned", fixed={"part": "calibration"},
            meaning="calibration part of a score: distance between mean probability and frequency in bins",
            formula="sum_k sum_b n_kb/N (mean prob - frequency)^2, or frequency ln(frequency / mean prob)",
            source=thesis + ", section 4.3",
            misses="biased upward near zero; relative_calibration_loss needs no bins",
            arguments=binned,
        ),
        Metric(
            name="binned_refinement_loss", title="Binned refinement loss",
            tier="works", family=DECOMPOSITION, direction="lower", range="0 to inf", unit=AS_SCORE,
            where="..evaluating.families.decomposition:Binned", fixed={"part": "refinement"},
            meaning="refinement part of a score: what remains if each bin predicts its frequencies",
            formula="sum_k sum_b n_kb/N frequency (1 - frequency), or -frequency ln frequency",
            source=thesis + ", section 4.3",
            misses="what differs within bins, the more the fewer they are",
            arguments=binned,
        ),
        Metric(
            name="binned_estimated_score", title="Estimated score",
            tier="works", family=DECOMPOSITION, direction="lower", range="0 to inf", unit=AS_SCORE,
            where="..evaluating.families.decomposition:Binned", fixed={"part": "estimated"},
            meaning="binned calibration loss plus binned refinement loss",
            formula="binned_calibration_loss + binned_refinement_loss", source=thesis + ", fig. 4.6",
            misses="what differs within bins; see binned_remainder",
            arguments=binned,
        ),
        Metric(
            name="binned_remainder", title="Remainder of the estimated score",
            tier="works", family=DECOMPOSITION, direction="none", range="-inf to inf", unit=AS_SCORE,
            where="..evaluating.families.decomposition:Binned", fixed={"part": "remainder"},
            meaning="score minus its binned estimate: what differs within bins",
            formula="score - binned_estimated_score; brier: sum_kb n_kb/N (var prob - 2 cov(prob, label))",
            source=thesis + ", fig. 4.6",
            arguments=binned,
        ),
        Metric(
            name="corp_miscalibration", title="Miscalibration (CORP)", letters=CORP,
            family=DECOMPOSITION, direction="lower", range="0 to inf", unit=AS_SCORE,
            where="..evaluating.families.decomposition:Isotonic", fixed={"part": "miscalibration"},
            meaning="part of a score that an isotonic fit to the same rows removes",
            formula=f"score - score of the isotonic fit, {sums}", source=dimitriadis,
            misses="fitted to the same rows: biased upward near zero",
            arguments=isotonic,
        ),
        Metric(
            name="corp_discrimination", title="Discrimination (CORP)", letters=CORP,
            family=DECOMPOSITION, direction="higher", range="0 to uncertainty", unit=AS_SCORE,
            where="..evaluating.families.decomposition:Isotonic", fixed={"part": "discrimination"},
            meaning="how much better the isotonic fit is than the class frequencies",
            formula=f"score of the class frequencies - score of the isotonic fit, {sums}", source=dimitriadis,
            arguments=isotonic,
            of_answers="how much better the isotonic fit is than always stating the accuracy",
        ),
        Metric(
            name="corp_uncertainty", title="Uncertainty (CORP)", letters=CORP,
            family=DECOMPOSITION, direction="none", range="0 to inf", unit=AS_SCORE,
            where="..evaluating.families.decomposition:Isotonic", fixed={"part": "uncertainty"},
            meaning="score of the class frequencies: how hard the data are without a classifier",
            formula="score of the class frequencies", source=dimitriadis,
            arguments=isotonic,
            of_answers="score of always stating the accuracy",
        ),
        Metric(
            name="min_cllr", title="Cost of log-likelihood ratios, least",
            tier="works", family=DECOMPOSITION, direction="lower", range="0 to 1", unit="bits",
            where="..evaluating.families.decomposition:Ratios", fixed={"part": "min_cllr"},
            meaning="two classes: cllr after an isotonic fit; the difference to cllr is miscalibration",
            formula="cllr of the isotonic fit, both classes alike", source="Bruemmer & du Preez 2006",
            misses="fitted to the same rows: biased downward",
        ),
    ]  # fmt: skip


def _known() -> list[Metric]:
    return [*SCORES, *_recalibrations(), *_decompositions(), *CALIBRATION_ERRORS]


METRICS = Registry("calcli.metrics", Metric, _known)
