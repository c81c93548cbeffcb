"""Intervals of the parts of scores: how often they hold the truth, and how wide resampled rows make them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calcli.core.evaluating.evaluate import evaluate
from calcli.core.evaluating.recalibrated import Companions
from calcli.core.language.settings import Settings

REFINEMENT = ("binned_refinement_loss", "binned_refinement_loss:score=log_loss")
UNCERTAINTY = (
    "corp_uncertainty",
    "corp_uncertainty:lens=top-1",
    "corp_uncertainty:score=log_loss:lens=top-1",
)
GIVEN = (
    "calibration_loss:recalibrator=given",
    "relative_calibration_loss:recalibrator=given",
    "expected_score:score=brier:recalibrator=given",
    "score_divergence:recalibrator=given",
)


def drawn(rows, seed, predict):
    """Return an over-confident system of three unequal classes, and the true posteriors of its rows."""
    rng = np.random.default_rng(seed)
    truth = rng.normal([1, 0, 0], 2, size=(rows, 3))
    labels = (truth + rng.gumbel(size=truth.shape)).argmax(1)
    return predict(1.5 * truth, labels, "logits"), Companions(posteriors=predict(truth, labels, "logits"))


def estimates(data, names, resamples=0, **settings):
    predictions, companions = data
    asked = Settings(names, resamples=resamples, draws=0, **settings)
    return evaluate(predictions, asked, companions=companions).estimates


def test_nine_intervals_in_ten_or_more_hold_the_truth(predict):
    names, cases = (*REFINEMENT, *UNCERTAINTY, *GIVEN), 100
    truth = estimates(drawn(200_000, 0, predict), names)
    held = dict.fromkeys(names, 0)
    for seed in range(1, cases + 1):
        for name, found in estimates(drawn(400, seed, predict), names, 200, seed=seed).items():
            held[name] += found.interval.low <= truth[name].value <= found.interval.high
    assert {name: count for name, count in held.items() if count < 0.88 * cases} == {}


def test_parts_that_are_biased_have_none(predict):
    names = ("binned_calibration_loss", "corp_miscalibration", "corp_discrimination", "score_divergence")
    found = estimates(drawn(300, 0, predict), names, 100)
    assert [estimate.interval for estimate in found.values()] == [None] * 4


def test_without_resamples_there_is_none(predict):
    found = estimates(drawn(100, 0, predict), (*REFINEMENT, *UNCERTAINTY, *GIVEN))
    assert not any(estimate.interval for estimate in found.values())


@pytest.mark.parametrize("name", [*REFINEMENT, *UNCERTAINTY])
def test_the_width_is_that_of_resampled_rows(name, predict):
    """Against a plain loop that computes the part again from the rows of each resample."""
    (predictions, _), rng = drawn(3000, 3, predict), np.random.default_rng(0)
    values = []
    for _ in range(150):
        rows = np.bincount(rng.integers(0, 3000, 3000), minlength=3000).astype(float)
        values.append(estimates((replace(predictions, weights=rows), None), (name,))[name].value)
    ends = estimates((predictions, None), (name,), 1000)[name].interval
    assert ends.high - ends.low == pytest.approx(2 * 1.96 * np.std(values, ddof=1), rel=0.2)


@pytest.mark.parametrize("name", [*REFINEMENT, *UNCERTAINTY, GIVEN[0]])
def test_copies_of_rows_that_are_clusters_tell_nothing_new(name, predict):
    predictions, companions = drawn(400, 4, predict)
    three_times = np.repeat(np.arange(400), 3)

    def copies(one):
        return predict(one.scores.array[three_times], one.labels[three_times], "logits")

    alone = estimates((predictions, companions), (name,), 2000)[name]
    again = Companions(posteriors=copies(companions.posteriors))
    clustered = replace(copies(predictions), columns={"row": three_times})
    found = estimates((clustered, again), (name,), 2000, cluster="row")[name]
    assert found.value == pytest.approx(alone.value, rel=1e-12)
    width = alone.interval.high - alone.interval.low
    assert found.interval.low == pytest.approx(alone.interval.low, abs=0.1 * width)
    assert found.interval.high == pytest.approx(alone.interval.high, abs=0.1 * width)


def test_the_interval_is_that_of_a_mean_under_given_posteriors(predict):
    """Against the standard error of the mean of the divergences."""
    predictions, companions = drawn(2000, 5, predict)
    p, q = (
        scores / scores.sum(1, keepdims=True)
        for scores in (np.exp(one.scores.array) for one in (companions.posteriors, predictions))
    )
    rows = (p * np.log(p / q)).sum(1)
    name = "score_divergence:recalibrator=given"
    ends = estimates((predictions, companions), (name,), 4000)[name].interval
    half = 1.96 * rows.std(ddof=1) / np.sqrt(2000)
    assert [ends.low, ends.high] == pytest.approx([rows.mean() - half, rows.mean() + half], rel=0.02)


def test_bins_too_thin_for_an_interval(predict):
    """Two hundred rows in 15 bins of 40 classes: most of the spread of the frequencies is chance."""
    rng = np.random.default_rng(0)
    thin = predict(rng.dirichlet(np.full(40, 0.3), 200), rng.integers(0, 40, 200))
    assert estimates((thin, None), REFINEMENT[:1], 200)[REFINEMENT[0]].interval is None
