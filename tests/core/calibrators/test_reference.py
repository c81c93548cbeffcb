"""Fits to the first half of real predictions, applied to the other half, against reference numbers."""

from __future__ import annotations

import numpy as np
import pytest

from tests.conftest import DATASETS
from tests.core.samples import log_loss, made

CLIP = 52 * np.log(2)  # of the reference, where a probability is 0
PLAIN = "histogram:lens=top-1:keep_top=false:smoothing=0"
CASES = {  # what the reference calls them, and to what precision an optimum is found
    "temperature": ("temperature", 1e-8),
    "dp": ("dp_affine", 1e-6),
    "vector": ("vector", 1e-6),
    "vector:input=raw": ("vector_on_raw_scores", 1e-6),
    "matrix": ("matrix", 1e-6),
    "beta": ("beta_ovr", 1e-8),
    "isotonic:smoothing=0": ("isotonic_ovr", 1e-9),
    PLAIN: ("hist_top_em15", 1e-9),
    f"{PLAIN}:binning=equal-width": ("hist_top_ew15", 1e-9),
}


@pytest.mark.parametrize("name", DATASETS)
@pytest.mark.parametrize("text", CASES)
def test_split_of_real_predictions(golden, dataset, text, name):
    asked, precision = CASES[text]
    reference = {key.removeprefix(f"split_{asked}_"): value for key, value in golden[name].items()}
    clip = CLIP if "logloss_clip_2em52" in reference else np.inf
    expected = reference.get("logloss_clip_2em52", reference.get("logloss"))
    if expected is None:
        pytest.skip("no finite optimum or no reference of this split")
    scores, labels = dataset(name)
    half = len(labels) // 2
    rows = scores.astype(np.float64)
    fitted = made(text).fit(rows[:half], labels[:half])
    log_probs = fitted.apply(rows[half:])
    of_label = log_probs[np.arange(len(labels) - half), labels[half:]]
    assert -np.maximum(of_label, -clip).mean() == pytest.approx(expected, rel=precision)
    assert np.isneginf(of_label).sum() == reference.get("n_zero_prob_true", 0)
    assert (log_probs.argmax(1) == labels[half:]).mean() == reference["acc"]
    if "train_logloss" in reference:
        after = log_loss(fitted, rows[:half], labels[:half])
        assert after == pytest.approx(reference["train_logloss"], rel=1e-9)
    if text == "beta":
        found = np.array([fitted.parameters[key] for key in "abc"])
        assert (found[1] == 0).sum() == reference["n_b_zero"]
        if len(found.T) > 1:  # of two classes only class 1 has a map
            np.testing.assert_allclose(found[:, 0], reference["abc_class0"], rtol=1e-6)
    if ":" not in text:
        assert fitted.notes == []
