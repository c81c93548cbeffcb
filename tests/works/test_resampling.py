"""Standard deviations by bootstrap, and tests that resample the predictions as well."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import bootstrap

from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.settings import Settings
from calcli.works.resampling import bootstrap_sd, consistency_resampling

NAMES = ("log_loss", "auroc", "ece:bins=10", "ks", "cw_ece")


def over_confident(rng, n=600):
    truth = rng.normal(size=n)
    labels = (rng.random(n) < 1 / (1 + np.exp(-truth))).astype(int)
    return np.stack([np.zeros(n), 2 * truth], axis=1), labels


def sds(predictions, cluster=None):
    return bootstrap_sd(predictions, NAMES, cluster=cluster)


@pytest.mark.parametrize("name", ["ece:bins=10", "ks", "accuracy"])
def test_sd_is_the_standard_error_of_scipy(predict, name):
    logits, labels = over_confident(np.random.default_rng(5))
    probs = np.exp(logits - np.logaddexp(*logits.T)[:, None])
    score, outcome = probs[:, 1], labels.astype(float)

    def ks(score, outcome):
        order = np.argsort(score)  # copies of a row share their score, and count behind the last of them
        gap = np.cumsum((outcome - score)[order]) / len(score)
        return np.abs(gap[np.append(np.diff(score[order]) > 0, True)]).max()

    statistic = {"ece:bins=10": ece, "ks": ks, "accuracy": accuracy}[name]
    oracle = bootstrap(
        (score, outcome), statistic, paired=True, vectorized=False, n_resamples=1000, method="percentile",
        rng=np.random.default_rng(6),
    )  # fmt: skip
    found = bootstrap_sd(predict(logits, labels, "logits"), [name])
    assert found[name] == pytest.approx(oracle.standard_error, rel=0.2)  # its own error is 5%


def test_a_cluster_of_copies_is_one_row(predict):
    logits, labels = over_confident(np.random.default_rng(2), 200)
    copies = np.repeat(np.arange(200), 4)
    copied = replace(predict(logits[copies], labels[copies], "logits"), columns={"user": copies})
    alone = sds(predict(logits, labels, "logits"))
    clustered, apart = sds(copied, cluster="user"), sds(copied)
    for name in NAMES:
        assert clustered[name] == pytest.approx(alone[name], rel=0.25)
        assert apart[name] < 0.75 * clustered[name]


def test_an_error_alone_has_the_spread_that_it_has_among_others(predict):
    predictions = predict(*over_confident(np.random.default_rng(7), 150), "logits")
    for name in ("ks", "cw_ece", "cw_ece:weights=inverse-frequency"):
        several, alone = (
            bootstrap_sd(predictions, names, resamples=40)
            for names in ((name, "accuracy", "ece", *(f"ece:bins={bins}" for bins in range(2, 12))), (name,))
        )
        assert alone[name] == several[name] > 0


def test_infinite_losses_have_no_spread(predict):
    found = sds(predict([[1.0, 0.0], [0.2, 0.8]] * 30, [1, 1] + [0, 1] * 29))
    assert np.isnan(found["log_loss"])
    assert np.isfinite(found["ks"])


def ece(score, outcome):
    index = np.minimum((score * 10).astype(int), 9)
    return np.abs(np.bincount(index, outcome - score, 10)).sum() / len(outcome)


def accuracy(score, outcome):
    return ((score > 0.5) == outcome).mean()


def test_predictions_and_labels_are_drawn(predict):
    rng = np.random.default_rng(4)
    logits, labels = over_confident(rng, 60)
    predictions = predict(logits, labels, "logits")
    null = consistency_resampling(predictions, ["ece:bins=10"], 999)["ece:bins=10"]
    probs = np.exp(logits - np.logaddexp(*logits.T)[:, None])
    again = []
    for _ in range(2000):
        drawn = probs[rng.integers(0, 60, 60)]
        own = (rng.random(60) < drawn[:, 1]).astype(int)
        again.append(ece(drawn[:, 1], own))
    again = np.array(again)
    assert null.mean == pytest.approx(np.mean(again), abs=5 * np.std(again) / np.sqrt(999))
    assert null.sd == pytest.approx(np.std(again), rel=0.1)
    own = ece(probs[:, 1], labels)
    assert null.p_value == pytest.approx(np.mean(again >= own), abs=0.06)


def test_eta_and_its_spreads_are_those_of_the_code_of_the_paper(dataset, predict):
    # the form eta +- sd of Vaicenavicius et al. 2019, tables 3 to 5: what their code makes of these rows
    # (bootstrap and consistency resampling, 200 resamples, numpy's legacy seed 0)
    expected = {
        "expected_miscalibration:lens=top-1:binning=equal-width:bins=10": (0.184389, 0.0051, 0.0106, 0.0030),
        "expected_miscalibration": (0.348635, 0.0046, 0.0200, 0.0029),
    }
    predictions = predict(*dataset("agnews_gpt2"), "logits")
    nulls = consistency_resampling(predictions, tuple(expected), 200)
    sds = bootstrap_sd(predictions, tuple(expected), 200)
    values = evaluate(predictions, Settings(tuple(expected), intervals=False, draws=0)).estimates
    for name, (eta, sd, mean, null_sd) in expected.items():
        assert values[name].value == pytest.approx(eta, abs=1e-6)
        assert sds[name] == pytest.approx(sd, rel=0.2)  # of 200 resamples the sd has an error of 5%
        assert nulls[name].mean == pytest.approx(mean, abs=4 * null_sd / np.sqrt(100))
        assert nulls[name].sd == pytest.approx(null_sd, rel=0.25)
