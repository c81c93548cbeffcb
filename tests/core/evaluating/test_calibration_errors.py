"""Errors of metric expressions: regions, signs, and what does not fit together."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calcli.core.evaluating.evaluate import evaluate, measure
from calcli.core.evaluating.families.error import calibration_errors
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import parse_metrics
from calcli.core.language.settings import Settings


def errors(predictions, *names, **settings):
    asked = Settings(metrics=names, intervals=False, **{"draws": 0, **settings})
    return evaluate(predictions, asked).estimates


@pytest.mark.parametrize("lens", ["top-1", "class-2"])
def test_a_region_is_the_rows_whose_score_lies_in_it(predict, lens):
    rng = np.random.default_rng(0)
    probs, labels = rng.dirichlet(np.ones(4), 500), rng.integers(0, 4, 500)
    score = probs.max(1) if lens == "top-1" else probs[:, 2]
    inside = (score >= 0.3) & (score < 0.6)
    names = [f"{metric}:lens={lens}:region={{}}" for metric in ("ece", "ks", "mce", "smooth_ece")]
    of_region = errors(predict(probs, labels), *(name.format("0.3..0.6") for name in names)).values()
    alone = errors(predict(probs[inside], labels[inside]), *(name.format("all") for name in names)).values()
    assert [e.value for e in of_region] == pytest.approx([e.value for e in alone], abs=1e-12)


def test_a_region_reaches_up_to_one(binary):
    names = ("ece:lens=class-1:region=0.9..1", "ece:lens=class-1:region=0.5..0.9")
    found = errors(binary([1.0, 1.0, 0.9, 0.5], [0, 0, 0, 0]), *names)
    assert [found[name].value for name in names] == pytest.approx([2.9 / 3, 0.5])


def test_a_region_without_rows_has_no_error(binary):
    found = errors(binary([0.4, 0.6], [0, 1]), "ks:region=0.9..1", "ks", draws=9, sd=True)
    assert math.isnan(found["ks:region=0.9..1"].value)
    assert found["ks:region=0.9..1"].if_calibrated is None
    assert found["ks"].value == pytest.approx(0.4)


def test_pairs_need_two_rows(predict):
    names = ("skce", "skce:estimator=block")
    for rows, defined in [(1, [False, False]), (2, [True, True])]:
        found = errors(predict([[0.6, 0.4]] * rows, [0] * rows), *names, draws=9)
        assert [not math.isnan(found[name].value) for name in names] == defined
        assert [found[name].if_calibrated is not None for name in names] == defined


@given(st.lists(st.floats(0.5, 1), min_size=1, max_size=30), st.data())
def test_the_sign_of_ks(binary, scores, data):
    labels = data.draw(st.lists(st.integers(0, 1), min_size=len(scores), max_size=len(scores)))
    ks = errors(binary(scores, labels), "ks:lens=class-1")["ks:lens=class-1"]
    assert abs(ks.parts["signed"]) == ks.value


def test_gaps_of_one_sign_add_up_to_the_mean_gap(binary):
    rng = np.random.default_rng(1)
    score = np.repeat([0.6, 0.7, 0.8, 0.9], 200)
    outcome = np.concatenate([rng.permutation(200) < rate * 200 for rate in (0.5, 0.65, 0.7, 0.9)])
    for hits, sign in [(outcome, 1), (np.ones(800), -1)]:
        found = errors(binary(score, hits.astype(int)), "ks", "mean_gap")
        # Gupta et al. 2021, equation 8
        assert found["ks"].value == pytest.approx(abs(found["mean_gap"].value), abs=1e-12)
        assert found["ks"].parts["signed"] == pytest.approx(found["mean_gap"].value, abs=1e-12)
        assert found["ks"].parts["signed"] * sign > 0


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("ece:lens=canonical", "several outcomes; look at them with expected_miscalibration"),
        ("cw_ece:region=0.5..1", "a region needs one score; name the class, as in lens=class-0"),
        (
            "ece:binning=equal-mas",
            "binning must be one of equal-width, equal-mass, .*, did you mean 'equal-mass'",
        ),
    ],
)
def test_what_does_not_fit_together_is_refused(predict, metric, message):
    with pytest.raises(UsageError, match=message):
        errors(predict(np.full((4, 3), 1 / 3), [0, 1, 2, 0]), metric)


def test_errors_of_one_lens_share_their_draws(predict):
    rng = np.random.default_rng(2)
    names = ("ece", "ece:norm=2", "ece_l2")
    predictions = predict(rng.dirichlet(np.ones(3), 200), rng.integers(0, 3, 200))
    settings = Settings(metrics=names, draws=99)
    found = calibration_errors(measure(predictions, settings), parse_metrics(names), settings)
    assert found["ece:norm=2"].null == found["ece_l2"].null != found["ece"].null
    alone = replace(settings, metrics=("ece_l2",))
    again = calibration_errors(measure(predictions, alone), parse_metrics(alone.metrics), alone)
    assert again["ece_l2"] == found["ece_l2"]
