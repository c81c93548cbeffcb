"""Answers that are right or wrong: one score, the confidence, which is never folded at one half."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics
from sklearn.isotonic import IsotonicRegression

from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.evaluating.usual import default_metrics
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import WRONG_RIGHT
from calcli.core.language.metrics import METRICS
from calcli.core.language.settings import Settings


def answers(confidence, right, classes=WRONG_RIGHT, weights=None):
    """Return predictions of two classes, of which only their names say that they are answers."""
    scores = np.column_stack([1 - confidence, confidence])
    return Predictions(ArrayScores(scores, "probs"), right.astype(np.int32), classes, weights)


def values(predictions, *names, **settings):
    asked = Settings(metrics=names, intervals=False, draws=0, **settings)
    return {name: one.value for name, one in evaluate(predictions, asked).summary.metrics.items()}


@pytest.fixture
def drawn():
    rng = np.random.default_rng(4)
    confidence = rng.beta(2, 1.5, 700)  # 300 of them below one half
    return confidence, rng.random(700) < 0.9 * confidence


@pytest.fixture
def trap():
    """Return answers that claim 10 points too much, be they doubtful or sure."""
    confidence = np.repeat([0.3, 0.8], 1000)
    right = np.concatenate([np.arange(1000) < 200, np.arange(1000) < 700])
    return confidence, right


def test_scores_are_those_of_the_confidence(drawn):
    confidence, right = drawn
    share = right.mean()
    brier, log_loss = metrics.brier_score_loss(right, confidence), metrics.log_loss(right, confidence)
    expected = {
        "accuracy": share,
        "error_rate": 1 - share,
        "mean_confidence": confidence.mean(),
        "mean_gap": confidence.mean() - share,
        "brier": brier,
        "log_loss": log_loss,
        "auroc": metrics.roc_auc_score(right, confidence),
        "normalized_brier": brier / (share * (1 - share)),
        "normalized_log_loss": log_loss / metrics.log_loss(right, np.full(len(right), share)),
        "top1_brier": brier,
    }
    assert values(answers(*drawn), *expected) == pytest.approx(expected, rel=1e-12)


def test_errors_are_those_of_the_confidence(drawn):
    confidence, right = drawn
    bin_of = np.minimum((confidence * 15).astype(int), 14)
    gaps = np.array([(right - confidence)[bin_of == b].sum() for b in range(15)]) / len(right)
    counts = np.bincount(bin_of, minlength=15) / len(right)
    order = np.argsort(confidence)
    found = values(
        answers(*drawn), "ece", "ece_l2", "mce", "ks", "expected_miscalibration:binning=equal-width"
    )
    assert found["ece"] == pytest.approx(np.abs(gaps).sum(), rel=1e-12)
    assert found["ece_l2"] == pytest.approx(np.sqrt((gaps**2 / counts).sum()), rel=1e-12)
    assert found["mce"] == pytest.approx(np.abs(gaps / counts).max(), rel=1e-12)
    assert found["ks"] == pytest.approx(np.abs(np.cumsum((right - confidence)[order])).max() / len(right))
    assert found["expected_miscalibration:binning=equal-width"] == pytest.approx(found["ece"], rel=1e-9)


def test_what_is_of_two_classes_is_the_same_where_it_has_one_score(drawn):
    """Errors of class 1, and measures of its log-odds, do not care what the classes are called."""
    classes = answers(*drawn, classes=("0", "1"))
    for name in ("ece", "ks", "smooth_ece", "mmce", "kde_ece"):
        assert values(answers(*drawn), name)[name] == values(classes, f"{name}:lens=class-1").popitem()[1]
    same = ("log_loss", "calibration_slope", "spiegelhalter_z", "cllr", "min_cllr", "beta_score")
    assert values(answers(*drawn), *same) == pytest.approx(values(classes, *same), rel=1e-12)


PARTS = (
    "brier", "calibration_loss:score=brier", "expected_score:score=brier", "score_divergence:score=brier",
    "binned_calibration_loss", "binned_refinement_loss", "binned_remainder", "corp_miscalibration",
    "corp_discrimination", "corp_uncertainty",
)  # fmt: skip


def test_brier_and_its_parts_are_those_of_one_outcome(drawn):
    both, found = (values(answers(*drawn, *classes), *PARTS) for classes in ((("0", "1"),), ()))
    assert found == pytest.approx(both, rel=1e-12)
    confidence, right = drawn
    assert found["brier"] == pytest.approx(metrics.brier_score_loss(right, confidence), rel=1e-12)
    best = IsotonicRegression().fit_transform(confidence, right)
    brier, least = (metrics.brier_score_loss(right, p) for p in (confidence, best))
    assert found["corp_miscalibration"] == pytest.approx(brier - least, rel=1e-9)
    assert found["corp_uncertainty"] == pytest.approx(right.mean() * (1 - right.mean()))


def test_doubtful_answers_are_not_folded_into_sure_ones(trap):
    """Folded at one half, 0.3 that is right in 20% becomes 0.7 that is right in 80%, and gaps cancel."""
    folded = values(answers(*trap, classes=("0", "1")), "mean_gap:lens=top-1", "ece:lens=top-1")
    assert list(folded.values()) == pytest.approx([0, 0.1])
    found = evaluate(answers(*trap), Settings(metrics=("mean_gap", "ece", "accuracy"), draws=0))
    gap = found.estimates["mean_gap"]
    assert (gap.value, found.estimates["ece"].value) == pytest.approx((0.1, 0.1))
    assert gap.interval.low > 0.05
    assert found.summary.accuracy == 0.45


def test_the_problem_that_figures_show_is_the_confidence(trap):
    found = evaluate(answers(*trap), Settings(metrics=("ece",), draws=0))
    assert found.problems["top-1"].score.tolist() == sorted(trap[0].tolist())
    bins = [(row.predicted, row.observed) for row in found.summary.reliability]
    assert bins == [pytest.approx((0.3, 0.2)), pytest.approx((0.8, 0.7))]
    assert found.summary.per_class == ()
    signature = found.estimates["ece"].signature.split("|")
    assert {"outcome:right", "lens:confidence"} <= set(signature)
    assert "k:2" not in signature


def test_weights_count(drawn):
    confidence, right = drawn
    weights = np.random.default_rng(1).integers(0, 4, len(right)).astype(float)
    found = values(answers(*drawn, weights=weights), "accuracy", "brier", "auroc")
    expected = [
        np.average(right, weights=weights),
        metrics.brier_score_loss(right, confidence, sample_weight=weights),
        metrics.roc_auc_score(right, confidence, sample_weight=weights),
    ]
    assert list(found.values()) == pytest.approx(expected, rel=1e-12)


def test_every_metric_is_computed_or_says_that_it_needs_classes(drawn):
    """Nothing in between: no number is of classes that are not there."""
    refused = []
    for name, entry in METRICS.items():
        if entry.needs_classes or "costs" in entry.arguments:
            refused.append(name)
            with pytest.raises(UsageError, match=r"answers.*right or wrong"):
                values(answers(*drawn), name)
        else:
            values(answers(*drawn), name)
    assert set(default_metrics(answers(*drawn))[0]).isdisjoint(refused)


@pytest.mark.parametrize(
    "name",
    ["ece:lens=class-1", "ks:lens=class-wise", "ece:lens=within-top-2", "corp_miscalibration:lens=class-0",
     "calibration_loss:recalibrator=matrix", "calibration_loss:recalibrator=isotonic/lens=top-1",
     "calibration_loss:score=error_rate"],
)  # fmt: skip
def test_there_are_no_lenses_on_classes(drawn, name):
    with pytest.raises(UsageError, match="right or wrong"):
        values(answers(*drawn), name)
