from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax

from calcli.core.calibrators.events import Event, Ranks, event_of, ranked_classes
from calcli.core.calibrators.isotonic import Isotonic
from calcli.core.calibrators.reduced import Reduced
from calcli.core.calibrators.sharing import recalibrated
from calcli.core.calibrators.spline import Spline
from calcli.core.data.logspace import kept_log_probs
from calcli.core.language.errors import UsageError

SAMPLE = Path(__file__).resolve().parents[3] / "sample_data"
rows_of_scores = st.lists(st.floats(-60, 3) | st.just(-np.inf), min_size=3, max_size=7).filter(
    lambda row: np.sum(np.isfinite(row)) > 0
)


def digits(part):
    """Return the log-probabilities and labels of the network's predictions."""
    scores = np.load(SAMPLE / f"digits_network_{part}.npy").astype(np.float64)
    return log_softmax(scores, axis=1), np.load(SAMPLE / f"digits_network_{part}_labels.npy")


def largest(probs, r):
    """Return what the class of rank r can have: those before it level, those behind it scaled."""
    descending = np.sort(probs)[::-1]
    behind = descending[r:].sum() / (1 - descending[r - 1])
    return (1 - behind) / (r - behind)


def ks(score, hit):
    score = np.round(score, 9)
    order = np.argsort(score, kind="stable")
    gap = np.cumsum(hit[order] - score[order]) / len(score)
    last = np.append(np.diff(score[order]) > 0, True)
    return np.abs(gap[last]).max()


def through(log_probs, labels, ranks):
    """Return the sum of the probabilities of some ranks, and whether the label is among them."""
    order = np.argsort(-log_probs, axis=1, kind="stable")[:, ranks.first : ranks.last]
    return np.exp(np.take_along_axis(log_probs, order, 1)).sum(1), (order == labels[:, None]).any(1)


@given(rows_of_scores, st.integers(1, 6), st.booleans(), st.floats(1e-9, 1 - 1e-9))
def test_every_class_keeps_its_rank_and_the_event_has_its_probability(row, r, within, target):
    log_probs = log_softmax(np.array([row]), axis=1)
    k = log_probs.shape[1]
    if r > k - within:
        return
    ranks = Ranks(0 if within else r - 1, r)
    members = ranked_classes(log_probs, ranks)
    after = Event.of_probability(np.array([target]))
    result = recalibrated(log_probs, members, event_of(log_probs, members), after, ranks)[0]
    expected = max(target, r / k) if ranks.first == 0 else min(target, largest(np.exp(log_probs[0]), r))
    assert np.exp(result[members[0]]).sum() == pytest.approx(expected, rel=1e-9)
    assert np.exp(result).sum() == pytest.approx(1, abs=1e-9)
    np.testing.assert_array_equal(ranked_classes(result[None], ranks), members)
    rank = np.argsort(-log_probs[0], kind="stable")
    assert (np.diff(np.exp(result[rank])) <= 1e-9).all()


def test_the_level_by_hand():
    log_probs = np.log([[0.5, 0.3, 0.15, 0.05]])
    members = ranked_classes(log_probs, Ranks(0, 1))
    after = Event.of_probability(np.array([0.4]))
    result = recalibrated(log_probs, members, event_of(log_probs, members), after, Ranks(0, 1))
    # 0.3 would become 0.36, below 0.4
    np.testing.assert_allclose(np.exp(result), [[0.4, 0.36, 0.18, 0.06]])
    after = Event.of_probability(np.array([0.3]))
    result = recalibrated(log_probs, members, event_of(log_probs, members), after, Ranks(0, 1))
    # 0.3 would become 0.42 and stops at 0.3; the other two share the rest, 0.4, three to one
    np.testing.assert_allclose(np.exp(result), [[0.3, 0.3, 0.3, 0.1]])
    assert result[0].argmax() == 0


@pytest.mark.parametrize("method", [Spline, Isotonic])
@pytest.mark.parametrize(
    ("lens", "ranks"),
    [
        ("top-1", Ranks(0, 1)),
        ("top-2", Ranks(1, 2)),
        ("top-3", Ranks(2, 3)),
        ("within-top-2", Ranks(0, 2)),
        ("within-top-3", Ranks(0, 3)),
    ],
)
def test_ks_of_the_recalibrated_rows_is_that_of_the_map(method, lens, ranks):
    calibration, test = digits("calibration"), digits("test")
    fitted = method(lens=lens).fit(*calibration)
    after = fitted.apply(test[0])
    before, hit = through(*test, ranks)
    event = event_of(test[0], ranked_classes(test[0], ranks))
    (parameters,) = fitted._unpacked(test[0].shape[1])
    of_map = ks(fitted.apply_map(parameters, event).prob, hit)
    score, _ = through(after, test[1], ranks)
    if ranks.first == 0:
        assert ks(score, hit) == pytest.approx(of_map, abs=1e-4)  # rounding may part equal sums
    assert ks(score, hit) < of_map + 2e-4  # some rows are at the limit of their rank
    assert of_map < 0.65 * ks(before, hit)
    kept = np.argsort(-after, axis=1, kind="stable")[:, ranks.first : ranks.last]
    old = np.argsort(-test[0], axis=1, kind="stable")[:, ranks.first : ranks.last]
    np.testing.assert_array_equal(kept, old)


def test_without_keeping_the_top_the_predicted_class_may_change():
    calibration, (scores, _) = digits("calibration"), digits("test")
    free = Spline(lens="top-1", keep_top=False).fit(*calibration).apply(scores)
    assert (free.argmax(1) != scores.argmax(1)).sum() == 39
    np.testing.assert_array_equal(
        Spline(lens="top-1").fit(*calibration).apply(scores).argmax(1), scores.argmax(1)
    )


def test_rows_beyond_what_the_classes_can_have_are_counted():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(500, 3))
    wrong = (scores.argmax(1) + 1) % 3
    for calibrator in (Spline(lens="top-1"), Reduced(calibrator=Spline())):
        fitted = calibrator.fit(scores, wrong)
        assert any(note.startswith("on 500 of 500 rows") and "less than 1/3" in note for note in fitted.notes)
        np.testing.assert_allclose(fitted.predict_proba(scores), 1 / 3, atol=1e-9)
        np.testing.assert_array_equal(fitted.apply(scores).argmax(1), scores.argmax(1))


def test_top_wise_maps_every_rank_and_divides_by_the_sum():
    (scores, labels), (unseen, _) = digits("calibration"), digits("test")
    got = Spline(lens="top-wise", ranks=2).fit(scores, labels).predict_proba(unseen)
    by_rank = np.exp(np.take_along_axis(unseen, np.argsort(-unseen, axis=1, kind="stable"), 1))
    for rank in range(2):
        alone = Spline(lens=f"top-{rank + 1}").fit(scores, labels)
        (parameters,) = alone._unpacked(10)
        event = event_of(kept_log_probs(unseen), ranked_classes(unseen, Ranks(rank, rank + 1)))
        by_rank[:, rank] = alone.apply_map(parameters, event).prob
    expected = np.empty(by_rank.shape)
    np.put_along_axis(expected, np.argsort(-unseen, axis=1, kind="stable"), by_rank, 1)
    np.testing.assert_allclose(got, expected / expected.sum(1, keepdims=True), atol=1e-9)


def test_a_lens_for_some_classes_only_is_refused_for_other_numbers_of_classes():
    with pytest.raises(UsageError, match="needs more than the 2 classes"):
        Spline(lens="class-2").fit(np.zeros((2, 2)), np.array([0, 1]))
