"""What is true of every metric: whole weights are rows in any order, and nulls are draws of labels."""

from __future__ import annotations

import numpy as np
import pytest

from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.metrics import METRICS
from calcli.core.language.settings import Settings

TWO = {"cllr", "min_cllr", "prevalence", "threshold_cost"}
TWO |= {name for name in METRICS if "beta_score" in name or "weighted_risk" in name}
TWO |= {name for name, metric in METRICS.items() if metric.family.name == "classical"}
OTHERWISE = {name for name, metric in METRICS.items() if metric.family.name == "recalibration"}
OTHERWISE |= {
    "precision",
    "recall",
    "specificity",
    "alert_rate",
    "f1",
    "net_benefit",
    "expected_cost",
    "normalized_expected_cost",
}
BY_ROWS = [  # whose bins, widths or pairs go by how many rows there are
    "kde_ece", "skce", "expected_miscalibration", "worst_miscalibration", "ece_given_vector",
    "cw_ece_given_vector",
]  # fmt: skip
BY_ROWS += [f"{name}:min_rows=30" for name in [*BY_ROWS[2:], "ece:binning=recursive"]]
BY_ROWS += [f"{name}_confidence:significant=true" for name in ("over", "under")]
BY_ROWS += ["kde_ece:norm=2", "binned_calibration_loss:estimator=kernel", "ece_l2:debiased=true"]
BY_ROWS += ["skce:estimator=block", "spiegelhalter_z"]
OTHERS = [
    "ece:binning=equal-mass", "ece:binning=0/0.25/0.5/1", "ece:bins=4:norm=2", "mce:region=0.3..0.8",
    "ks:lens=class-1", "kuiper:lens=class-1", "cw_ece:weights=inverse-frequency", "aurc:lens=class-1",
    "binned_calibration_loss:score=log_loss", "corp_miscalibration:score=log_loss:lens=top-1",
    "mean_gap:lens=class-1", "expected_score:training=test:recalibrator=temperature",
    *(f"{name}:lens=class-1:threshold=0.3" for name in ("precision", "recall", "f1", "net_benefit")),
    "alert_rate:lens=class-1:threshold=0.3",
]  # fmt: skip
AS_ROWS = [*(name for name in METRICS if name not in OTHERWISE | set(BY_ROWS)), *OTHERS]


def found(predictions, names, **more):
    """Return the estimates of those metrics that are not for two classes only, where there are more."""
    names = [name for name in names if predictions.n_classes == 2 or name not in TWO]
    asked = Settings(metrics=tuple(names), **{"intervals": False, "draws": 0, **more})
    return evaluate(predictions, asked).estimates


def drawn(n, k, seed=0, sharper=1.0):
    """Return probabilities and labels that follow them where `sharper` is 1."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(k, 0.7), n)
    labels = (rng.random((n, 1)) > probs.cumsum(axis=1)[:, :-1]).sum(axis=1)
    probs = probs**sharper + 1e-9
    return probs / probs.sum(axis=1, keepdims=True), labels


def assert_same(one, other, tolerance):
    values = [{name: estimate.value for name, estimate in each.items()} for each in (one, other)]
    assert values[0] == pytest.approx(values[1], abs=tolerance, nan_ok=True)


@pytest.mark.parametrize("k", [2, 4])
def test_whole_weights_are_rows_in_any_order_and_any_unit(k, predict):
    probs, labels = drawn(150, k, sharper=2.0)
    often = np.random.default_rng(1).integers(0, 4, 150)
    kept = np.random.default_rng(2).permutation(np.repeat(np.arange(150), often))
    repeated = found(predict(probs[kept], labels[kept]), AS_ROWS)
    assert_same(found(predict(probs, labels, weights=often), AS_ROWS), repeated, 1e-7)
    in_other_unit = found(predict(probs, labels, weights=0.3 * often), AS_ROWS)
    counted = {name for name in AS_ROWS if METRICS[name.partition(":")[0]].family.name == "selective"}
    in_other_unit |= {name: repeated[name] for name in counted}  # which count rows by their weight
    assert_same(in_other_unit, repeated, 1e-7)


@pytest.mark.parametrize("k", [2, 4])
def test_rows_without_weight_are_not_there(k, predict):
    probs, labels = drawn(200, k, sharper=2.0)
    kept = np.arange(200) % 4 > 0
    weighted, alone = predict(probs, labels, weights=1.0 * kept), predict(probs[kept], labels[kept])
    assert_same(found(weighted, AS_ROWS + BY_ROWS), found(alone, AS_ROWS + BY_ROWS), 1e-9)


@pytest.mark.parametrize("k", [2, 4])
def test_single_precision_changes_the_last_digits(k, predict):
    probs, labels = drawn(200, k, sharper=2.0)
    both = (predict(probs.astype(np.float32).astype(dtype), labels) for dtype in (np.float32, np.float64))
    assert_same(*(found(each, AS_ROWS + BY_ROWS) for each in both), 1e-5)


@pytest.mark.parametrize(("k", "weighted"), [(2, False), (3, True)])
def test_nulls_are_the_values_of_labels_drawn_from_the_predictions(k, weighted, predict):
    probs, labels = drawn(300, k)
    weights = np.random.default_rng(4).uniform(0.5, 2, 300) if weighted else None
    names = [name for name in AS_ROWS + BY_ROWS if METRICS[name.partition(":")[0]].family.name == "error"]
    nulls = found(predict(probs, labels, weights=weights), names, draws=400, test=True)
    nulls = {name: one.if_calibrated for name, one in nulls.items() if one.if_calibrated is not None}
    assert len(nulls) > 25
    rng, values = np.random.default_rng(3), []
    for _ in range(100):
        own = (rng.random((300, 1)) > probs.cumsum(axis=1)[:, :-1]).sum(axis=1)
        values.append([one.value for one in found(predict(probs, own, weights=weights), nulls).values()])
    for (name, null), own in zip(nulls.items(), np.transpose(values), strict=True):
        error = own.std() * np.sqrt(1 / 100 + 1 / 400)
        limit = 0.1 * name.startswith(("ks", "kuiper", "smooth_ece"))  # a little too large of few rows
        assert null.mean == pytest.approx(own.mean(), rel=limit, abs=4 * error), name
        assert null.sd == pytest.approx(own.std(), rel=0.3), name
    sharp = found(predict(*drawn(1500, k, sharper=4.0)), nulls, draws=99, test=True)
    missed = {name for name, one in sharp.items() if one.if_calibrated.p_value > 0.05} - set(BY_ROWS[2:6])
    weak = {"mce", "under_confidence", "skce:estimator=block"}  # decided by thin bins, or by few pairs
    assert {name for name in missed if not {name, name.partition(":")[0]} & weak} == set()
