"""Intervals of the parts of scores: how often they hold the truth, and how wide resampled rows make them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

from calcli import DPAffine
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.errors import UsageError
from calcli.core.language.settings import Settings

REFINEMENT = ("binned_refinement_loss", "binned_refinement_loss:score=log_loss")
UNCERTAINTY = (
    "corp_uncertainty",
    "corp_uncertainty:lens=top-1",
    "corp_uncertainty:score=log_loss:lens=top-1",
)
FROZEN = (
    "calibration_loss:training=held-out",
    "relative_calibration_loss:training=held-out",
    "expected_score:score=brier:training=held-out",
    "score_divergence:training=held-out",
)


def drawn(rows, seed, predict):
    """Return rows of an over-confident system of three unequal classes, and others, for fits."""
    return made(rows, seed, predict), made(3_000, 999_999, predict)


def made(rows, seed, predict):
    rng = np.random.default_rng(seed)
    truth = rng.normal([1, 0, 0], 2, size=(rows, 3))
    labels = (truth + rng.gumbel(size=truth.shape)).argmax(1)
    return predict(1.5 * truth, labels, "logits")


def estimates(data, names, intervals=True, **settings):
    predictions, calibration = data
    asked = Settings(names, intervals=intervals, draws=0, **settings)
    return evaluate(predictions, asked, calibration=calibration).estimates


def test_nine_intervals_in_ten_or_more_hold_the_truth(predict):
    names, cases = (*REFINEMENT, *UNCERTAINTY, *FROZEN), 60
    truth = estimates(drawn(200_000, 0, predict), names)
    missed, dashes = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    for seed in range(1, cases + 1):
        for name, found in estimates(drawn(400, seed, predict), names, seed=seed).items():
            shown = found.interval
            dashes[name] += shown is None
            missed[name] += shown is not None and not shown.low <= truth[name].value <= shown.high
    assert {name: count for name, count in missed.items() if count > 0.12 * cases} == {}
    assert {name: count for name, count in dashes.items() if count > 0.05 * cases} == {}


def test_parts_that_are_biased_have_none(predict):
    names = ("binned_calibration_loss", "corp_miscalibration", "corp_discrimination", "score_divergence")
    found = estimates(drawn(300, 0, predict), names)
    assert [estimate.interval for estimate in found.values()] == [None] * 4
    unasked = estimates(drawn(100, 0, predict), (*REFINEMENT, *UNCERTAINTY, *FROZEN), intervals=False)
    assert not any(estimate.interval for estimate in unasked.values())


@pytest.mark.parametrize("name", [*REFINEMENT, UNCERTAINTY[0], UNCERTAINTY[2]])
def test_the_width_is_that_of_resampled_rows(name, predict):
    """Against a plain loop that computes the part again from the rows of each resample."""
    (predictions, _), rng = drawn(1000, 3, predict), np.random.default_rng(0)
    values = []
    for _ in range(150):
        rows = np.bincount(rng.integers(0, 1000, 1000), minlength=1000).astype(float)
        values.append(estimates((replace(predictions, weights=rows), None), (name,), True)[name].value)
    ends = estimates((predictions, None), (name,))[name].interval
    assert ends.high - ends.low == pytest.approx(2 * 1.96 * np.std(values, ddof=1), rel=0.2)


@pytest.mark.parametrize("name", [*REFINEMENT, *UNCERTAINTY, FROZEN[0]])
def test_copies_of_rows_that_are_clusters_tell_nothing_new(name, predict):
    predictions, calibration = drawn(400, 4, predict)
    three_times = np.repeat(np.arange(400), 3)

    def copies(one):
        return predict(one.scores.array[three_times], one.labels[three_times], "logits")

    alone = estimates((predictions, calibration), (name,))[name]
    clustered = replace(copies(predictions), columns={"row": three_times})
    found = estimates((clustered, calibration), (name,), cluster="row")[name]
    assert found.value == pytest.approx(alone.value, rel=1e-12)
    width = alone.interval.high - alone.interval.low
    assert found.interval.low == pytest.approx(alone.interval.low, abs=0.1 * width)
    assert found.interval.high == pytest.approx(alone.interval.high, abs=0.1 * width)


def test_the_interval_is_that_of_a_mean_under_a_frozen_map(predict):
    """Against the standard error of the mean of the divergences."""
    predictions, calibration = drawn(2000, 5, predict)
    fitted = DPAffine().fit(calibration.scores.array, calibration.labels)
    p, q = np.exp(fitted.apply(predictions.scores.array)), softmax(predictions.scores.array, axis=1)
    rows = (p * np.log(p / q)).sum(1)
    name = "score_divergence:training=held-out"
    ends = estimates((predictions, calibration), (name,))[name].interval
    half = 1.96 * rows.std(ddof=1) / np.sqrt(2000)
    assert [ends.low, ends.high] == pytest.approx([rows.mean() - half, rows.mean() + half], rel=0.02)


def test_bins_too_thin_for_an_interval(predict):
    """Two hundred rows in 15 bins of 40 classes: most of the spread of the frequencies is chance."""
    rng = np.random.default_rng(0)
    thin = predict(rng.dirichlet(np.full(40, 0.3), 200), rng.integers(0, 40, 200))
    found = estimates((thin, None), REFINEMENT[:1])[REFINEMENT[0]]
    assert found.interval is None
    assert "bias" in found.no_interval


def test_the_refinement_loss_of_one_vector(predict):
    """Ten rows of a prediction, one of the first class (van de Waterlaat 2021, example 4.3.2).

    There the loss is .18, the sum over both classes.
    """
    rows = predict([[0.3, 0.7]] * 10 + [[0.6, 0.4]] * 10, [0] + [1] * 9 + [0] * 6 + [1] * 4)
    one = "lens=canonical:region=class-0@0.3..0.3"
    names = tuple(f"binned_{part}:{one}" for part in ("refinement_loss", "calibration_loss", "remainder"))
    refinement, calibration, remainder = estimates((rows, None), names).values()
    assert refinement.parts["refinement_within"] == pytest.approx(0.18 / 2)
    assert refinement.value == pytest.approx(0.5 * 0.18 / 2)
    assert refinement.parts["share"] == 0.5
    assert calibration.value == pytest.approx(0.5 * (0.3 - 0.1) ** 2)
    assert remainder.value == pytest.approx(0, abs=1e-15)
    log_loss = estimates((rows, None), (f"binned_refinement_loss:score=log_loss:{one}",))
    (entropy,) = (found.parts["refinement_within"] for found in log_loss.values())
    assert entropy == pytest.approx(-0.1 * np.log(0.1) - 0.9 * np.log(0.9))


def test_vectors_add_up_to_the_whole(predict):
    """Where every vector is a region, the score is the sum of their parts."""
    rng = np.random.default_rng(0)
    vectors = np.array([[0.5, 0.3, 0.2], [0.5, 0.2, 0.3], [0.2, 0.2, 0.6]])
    which = rng.integers(0, 3, 300)
    rows = predict(vectors[which].astype(np.float32), rng.integers(0, 3, 300))
    regions = [f"class-0@{p[0]}..{p[0]}+class-1@{p[1]}..{p[1]}" for p in vectors]
    names = tuple(f"binned_estimated_score:lens=canonical:region={region}" for region in regions)
    found = estimates((rows, None), (*names, "brier"))
    whole = found.pop("brier").value
    assert sum(one.value for one in found.values()) == pytest.approx(whole, rel=1e-6)
    assert [one.parts["share"] for one in found.values()] == pytest.approx(np.bincount(which) / 300)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("lens=canonical", "for whole vectors a region is one bin; name it"),
        ("region=class-0@0.5..1", "say lens=canonical"),
        ("lens=canonical:region=class-7@0.5..1", "there is no outcome 'class-7'"),
        ("lens=top-1", "expected class-wise, one such as class-0, or canonical"),
    ],
)
def test_regions_that_make_no_sense(predict, arguments, message):
    with pytest.raises(UsageError, match=message):
        estimates(drawn(50, 0, predict), (f"binned_refinement_loss:{arguments}",))
