"""The values of an evaluation against independently computed reference numbers on real predictions."""

from __future__ import annotations

import pytest

from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.expressions import parse_metric
from calcli.core.language.settings import Settings
from tests.conftest import DATASETS

VECTORS = "expected_miscalibration"
EXPRESSIONS = {
    "accuracy": "accuracy",
    "mean_confidence": "mean_confidence",
    "ce_nats": "log_loss",
    "nce": "normalized_log_loss",
    "brier_sum": "brier",
    "nbs": "normalized_brier",
    "nrisk_C01": "normalized_error_rate",
    "ece_top_ew15_l1": "ece:lens=top-1",
    "ece_top_ew15_l2": "ece_l2:lens=top-1",
    "mce_top_ew15": "mce:lens=top-1",
    "ece_top_em15_l1": "ece:lens=top-1:binning=equal-mass",
    "l2_top_em15_plugin": "ece_l2:lens=top-1:binning=equal-mass",
    "eta_tv_max_ew10": "ece:lens=top-1:bins=10",
    "ece_binary_ew15_l1": "ece:lens=class-1",
    "ece_binary_ew15_l2": "ece_l2:lens=class-1",
    "cw_ece_ew15": "cw_ece",
    "cw_ece2_ew15": "cw_ece_l2",
    "eta_se_max_ew10": f"{VECTORS}:lens=top-1:binning=equal-width:bins=10:distance=squared-euclidean",
    "eta_eu_max_ew10": f"{VECTORS}:lens=top-1:binning=equal-width:bins=10:distance=euclidean",
    "l2_top_em15_debiased": "ece_l2:lens=top-1:binning=equal-mass:debiased=true",
    "ks_top1_pct": "ks:lens=top-1",
    "ks_top2_pct": "ks:lens=top-2",
    "ks_within2_pct": "ks:lens=within-top-2",
    "ks_within3_pct": "ks:lens=within-top-3",
    "ks_cw_mean_pct": "ks:lens=class-wise",
    "ks_cw_max_pct": "ks:lens=worst-class",
}
# bins that are cut at the mean of the scores: rounding of single precision moves rows between them
RECURSIVE = {
    "eta_tv_canon_dd1000": f"{VECTORS}",
    "eta_se_canon_dd1000": f"{VECTORS}:distance=squared-euclidean",
    "eta_eu_canon_dd1000": f"{VECTORS}:distance=euclidean",
    "eta_tv_max_dd1000": f"{VECTORS}:lens=top-1",
    "eta_se_max_dd1000": f"{VECTORS}:lens=top-1:distance=squared-euclidean",
}


@pytest.mark.parametrize("name", DATASETS)
@pytest.mark.parametrize(("precision", "tolerance"), [("double", 1e-9), ("single", 1e-5)])
def test_values(name, precision, tolerance, golden, dataset, predict):
    scores, labels = dataset(name)
    expected = {key: golden[name][key] for key in EXPRESSIONS if golden[name].get(key) is not None}
    assert len(expected) >= 16
    settings = Settings(
        metrics=tuple(EXPRESSIONS[key] for key in expected), precision=precision, intervals=False, draws=0
    )
    found = evaluate(predict(scores, labels, "logits"), settings)
    for key, value in expected.items():
        percent = 100 if key.endswith("_pct") else 1
        if key == "brier_sum" and scores.shape[1] == 2:
            value /= 2  # of one of two classes, as scikit-learn has it
        expression = str(parse_metric(EXPRESSIONS[key]))
        assert found.estimates[expression].value * percent == pytest.approx(
            value, rel=0, abs=tolerance * percent
        ), key


@pytest.mark.parametrize("name", DATASETS)
def test_values_over_recursive_bins(name, golden, dataset, predict):
    predictions = predict(*dataset(name), "logits")
    settings = Settings(metrics=tuple(RECURSIVE.values()), precision="double", intervals=False, draws=0)
    found = evaluate(predictions, settings).estimates
    for key, expression in RECURSIVE.items():
        canonical = str(parse_metric(expression))
        assert found[canonical].value == pytest.approx(golden[name][key], rel=0, abs=1e-9), key


@pytest.mark.parametrize("name", DATASETS)
def test_smooth_ece(name, golden, dataset, predict):
    settings = Settings(metrics=("smooth_ece:lens=top-1",), intervals=False, draws=0)
    found = evaluate(predict(*dataset(name), "logits"), settings).estimates["smooth_ece:lens=top-1"]
    assert found.value == pytest.approx(golden[name]["smece_top_own"], rel=0, abs=1e-6)


def test_toys(toys, binary, predict):
    def values(predictions, *names):
        found = evaluate(predictions, Settings(metrics=names, intervals=False, draws=0)).estimates
        return [found[name].value for name in names]

    ties = toys["ks_ties"]
    given = values(binary(ties["score"], ties["hit"]), "ks:lens=class-1")
    assert given == pytest.approx([ties["ks_tie_pct"] / 100], abs=1e-12)
    sure = predict([[1.0, 0.0]] * 100 + [[0.95, 0.05]] * 100, [1] * 20 + [0] * 180)
    exact = toys["conf_exactly_1"]["exact_l1"]
    # 100 rows at 1.0 with accuracy 0.8 and 100 at 0.95 with accuracy 1 share the last bin
    assert values(sure, "ece", "ece_l2", "mce") == pytest.approx([exact] * 3, abs=1e-12)
    never = binary([0.0] * 50 + [0.5] * 50, [0, 1] * 50)
    expected = toys["posterior_exactly_0"]["ece_binary_ew15_l1"]
    assert values(never, "ece:lens=class-1") == pytest.approx([expected], abs=1e-12)
