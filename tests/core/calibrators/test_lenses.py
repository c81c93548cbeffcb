"""Maps of one score: a map of each class, or of what a lens takes from the rows, and how classes share it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax, logsumexp, softmax

from calcli.core.calibrators.base import Event, Ranks, class_events, event_of, ranked_classes
from calcli.core.calibrators.histogram import Isotonic
from calcli.core.calibrators.logistic import Platt
from calcli.core.calibrators.onevsrest import recalibrated
from calcli.core.calibrators.spline import Spline
from calcli.core.language.errors import UsageError
from tests.core.samples import columns, drawn, made

SAMPLE = Path(__file__).resolve().parents[3] / "sample_data"
SETTINGS = ["histogram:binning=equal-width", "isotonic:interpolation=steps", "platt:target_smoothing=true"]
MAPS = ["beta", "histogram", "isotonic", "scaling-binning", "bbq", "spline", *SETTINGS]
rows_of_scores = st.lists(st.floats(-60, 3) | st.just(-np.inf), min_size=3, max_size=7).filter(
    lambda row: np.sum(np.isfinite(row)) > 0
)


@pytest.mark.parametrize("text", MAPS)
def test_top_1_is_the_two_class_map_of_confidence_and_correct(text):
    scores, labels = drawn(300, 4)
    probs = softmax(scores, axis=1)
    top = np.arange(300), probs.argmax(1)
    confidence, hit = probs[top], (top[1] == labels).astype(int)
    expected = made(text).fit(columns(confidence), hit).predict_proba(columns(confidence))[:, 1]
    others = np.arange(4) != top[1][:, None]
    scaled = probs * ((1 - expected) / (1 - confidence))[:, None]
    plain = made(f"{text}:lens=top-1:keep_top=false").fit(scores, labels).predict_proba(scores)
    np.testing.assert_allclose(plain[top], expected, rtol=1e-6)
    np.testing.assert_allclose(plain[others], scaled[others], rtol=1e-6)
    got = made(f"{text}:lens=top-1").fit(scores, labels).predict_proba(scores)
    np.testing.assert_allclose(got[top], np.maximum(expected, 0.25), rtol=1e-6)
    stays = (np.where(others, scaled, 0).max(1) < expected)[:, None]
    assert 0.5 < stays.mean() < 1
    np.testing.assert_allclose(got[others & stays], scaled[others & stays], rtol=1e-6)
    assert (got.argmax(1) == top[1]).all()


def test_where_the_top_class_is_certain_the_others_share_evenly():
    with np.errstate(divide="ignore"):
        scores = np.log([[1, 0, 0], [1, 0, 0], [1, 0, 0], [1, 0, 0], [0.4, 0.3, 0.3]])
    probs = Isotonic(lens="top-1").fit(scores, np.array([0, 0, 0, 1, 1])).predict_proba(scores)
    # one miss at 0.4, three hits of four at 1, half a hit below and half a miss above
    np.testing.assert_allclose(probs[0], [3 / 4.5, 0.75 / 4.5, 0.75 / 4.5])
    np.testing.assert_allclose(probs[4, 0], 0.5 / 1.5)


def test_more_classes_are_one_versus_rest_divided_by_the_sum():
    scores, labels = drawn(500, 3)
    alone = np.column_stack(
        [
            Isotonic().fit(columns(prob), (labels == k).astype(int)).predict_proba(columns(prob))[:, 1]
            for k, prob in enumerate(softmax(scores, axis=1).T)
        ]
    )
    got = Isotonic().fit(scores, labels).predict_proba(scores)
    np.testing.assert_allclose(got, alone / alone.sum(1, keepdims=True), rtol=1e-9)


@settings(max_examples=50)
@given(st.lists(st.floats(-300, 50), min_size=3, max_size=6), st.integers(1, 2))
def test_complements_keep_their_digits(logits, size):
    log_probs = log_softmax([logits], axis=1)
    top = np.argsort(-log_probs[0], kind="stable")[:size]
    members = ranked_classes(log_probs, Ranks(0, size))
    assert set(np.flatnonzero(members[0])) == set(top)
    rest = logsumexp(np.delete(log_probs[0], top))
    np.testing.assert_allclose(event_of(log_probs, members).log_complement, rest, rtol=1e-9)
    for k, one in class_events(log_probs):
        rest = logsumexp(np.delete(log_probs[0], k))
        np.testing.assert_allclose(one.log_complement, rest, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("classes", [2, 4])
def test_smoothed_targets_are_for_one_event_unless_asked_for(classes):
    scores, labels = drawn(200, classes)
    of_all = classes == 2
    for lens, smoothed in (("class-wise", of_all), ("top-wise", of_all), ("top-1", True), ("class-1", True)):
        plain, same, other = (
            Platt(lens=lens, target_smoothing=asked).fit(scores, labels).parameters["slope"]
            for asked in ("auto", smoothed, not smoothed)
        )
        np.testing.assert_array_equal(plain, same)
        assert not np.allclose(plain, other, rtol=1e-5)


@pytest.mark.parametrize("lens", ["top-0", "within-top-0", "class", "class-", "canonical", ""])
def test_unknown_lens_is_refused(lens):
    with pytest.raises(UsageError, match="it acts on class-wise, class-0"):
        Platt(lens=lens)


@pytest.mark.parametrize("asked", ["within-top-3", "top-4", "class-3", "top-wise:ranks=4"])
def test_more_classes_than_there_are_is_refused(asked):
    with pytest.raises(UsageError, match="needs more than the 3 classes"):
        made(f"spline:lens={asked}").fit(*drawn(50, 3))


@pytest.mark.parametrize("asked", [{"ranks": 2}, {"keep_top": False}, {"lens": "top-1", "ranks": 1}])
def test_settings_without_effect_are_refused(asked):
    with pytest.raises(UsageError, match=r"is for lens"):
        Isotonic(**asked)


def digits(part):
    """Return the log-probabilities and labels of the network's predictions."""
    scores = np.load(SAMPLE / f"digits_network_{part}.npy").astype(np.float64)
    return log_softmax(scores, axis=1), np.load(SAMPLE / f"digits_network_{part}_labels.npy")


def largest(probs, r):
    """Return what the class of rank r can have: those before it level, those behind it scaled."""
    descending = np.sort(probs)[::-1]
    behind = descending[r:].sum() / (1 - descending[r - 1])
    return (1 - behind) / (r - behind)


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


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (0.4, [0.4, 0.36, 0.18, 0.06]),
        # 0.3 would become 0.42 and stops at 0.3; the other two share the rest, 0.4, three to one
        (0.3, [0.3, 0.3, 0.3, 0.1]),
    ],
)
def test_the_level_by_hand(target, expected):
    log_probs = np.log([[0.5, 0.3, 0.15, 0.05]])
    members = ranked_classes(log_probs, Ranks(0, 1))
    after = Event.of_probability(np.array([target]))
    result = recalibrated(log_probs, members, event_of(log_probs, members), after, Ranks(0, 1))
    np.testing.assert_allclose(np.exp(result), [expected])
    assert result[0].argmax() == 0


def ranked(log_probs, ranks):
    return np.argsort(-log_probs, axis=1, kind="stable")[:, ranks]


@pytest.mark.parametrize("method", [Spline, Isotonic])
@pytest.mark.parametrize(
    ("lens", "ranks"),
    [
        *(("top-1", slice(0, 1)), ("top-2", slice(1, 2)), ("top-3", slice(2, 3))),
        *(("within-top-2", slice(0, 2)), ("within-top-3", slice(0, 3))),
    ],
)
def test_ks_of_rows_of_a_network_falls_by_a_third_and_ranks_stay(method, lens, ranks):
    test, labels = digits("test")
    after = method(lens=lens).fit(*digits("calibration")).apply(test)
    np.testing.assert_array_equal(ranked(after, ranks), ranked(test, ranks))
    hit = (ranked(test, ranks) == labels[:, None]).any(1)

    def ks(log_probs):
        score = np.round(np.exp(np.take_along_axis(log_probs, ranked(test, ranks), 1)).sum(1), 9)
        order = np.argsort(score, kind="stable")
        gap = np.cumsum(hit[order] - score[order]) / len(score)
        return np.abs(gap[np.append(np.diff(score[order]) > 0, True)]).max()

    assert ks(after) < 0.66 * ks(test)


def test_rows_beyond_what_the_classes_can_have_are_counted():
    scores = np.random.default_rng(0).normal(size=(500, 3))
    wrong = (scores.argmax(1) + 1) % 3
    for text in ("spline:lens=top-1", "reduced:calibrator=spline"):
        fitted = made(text).fit(scores, wrong)
        assert any(note.startswith("on 500 of 500 rows") and "less than 1/3" in note for note in fitted.notes)
        np.testing.assert_allclose(fitted.predict_proba(scores), 1 / 3, atol=1e-9)
        np.testing.assert_array_equal(fitted.apply(scores).argmax(1), scores.argmax(1))


@pytest.mark.parametrize("text", ["platt:target_smoothing=true", "isotonic", "spline"])
def test_top_wise_maps_every_rank_and_divides_by_the_sum(text):
    (scores, labels), (unseen, _) = digits("calibration"), digits("test")
    by_rank = np.take_along_axis(np.exp(unseen), ranked(unseen, slice(None)), 1)
    for rank in range(2):
        prob = np.take_along_axis(np.exp(scores), ranked(scores, slice(rank, rank + 1)), 1)[:, 0]
        hit = (ranked(scores, rank) == labels).astype(int)
        alone = made(text).fit(columns(prob), hit)
        by_rank[:, rank] = alone.predict_proba(columns(by_rank[:, rank]))[:, 1]
    expected = np.empty(by_rank.shape)
    np.put_along_axis(expected, ranked(unseen, slice(None)), by_rank, 1)
    got = made(f"{text}:lens=top-wise:ranks=2").fit(scores, labels).predict_proba(unseen)
    np.testing.assert_allclose(got, expected / expected.sum(1, keepdims=True), atol=1e-6)
