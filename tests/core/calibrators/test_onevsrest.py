from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from calcli.core.calibrators.bbq import BBQ
from calcli.core.calibrators.events import Ranks, class_events, event_of, ranked_classes
from calcli.core.calibrators.histogram import Histogram, ScalingBinning
from calcli.core.calibrators.isotonic import Isotonic
from calcli.core.calibrators.logistic import Beta, Platt
from calcli.core.calibrators.spline import Spline
from calcli.core.language.errors import InputError, UsageError

METHODS = {
    "platt": Platt,
    "beta": Beta,
    "histogram": Histogram,
    "histogram equal-width": lambda **s: Histogram(binning="equal-width", **s),
    "isotonic": Isotonic,
    "isotonic steps": lambda **s: Isotonic(interpolation="steps", **s),
    "scaling-binning": ScalingBinning,
    "bbq": BBQ,
    "spline": Spline,
}
every_method = pytest.mark.parametrize("make", METHODS.values(), ids=METHODS)
every_lens = pytest.mark.parametrize("lens", ["class-wise", "class-1", "top-1", "top-2", "top-wise"])
every_size = pytest.mark.parametrize("classes", [2, 4])


def sample(n, classes, seed=0):
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 2, (n, classes))
    probs = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    return 1.7 * logits, (rng.random((n, 1)) > probs.cumsum(1)).sum(1)


@every_method
@every_lens
@every_size
def test_results_are_distributions_whatever_the_batches(make, lens, classes):
    scores, labels = sample(400, classes)
    unseen, _ = sample(300, classes, seed=1)
    fitted = make(lens=lens).fit(scores, labels)
    log_probs = fitted.apply(unseen)
    assert log_probs.dtype == np.float64
    assert np.isfinite(log_probs).all()
    np.testing.assert_allclose(np.exp(log_probs).sum(1), 1, atol=1e-12)
    batches = [fitted.apply(unseen[:1]), fitted.apply(unseen[1:120]), fitted.apply(unseen[120:])]
    np.testing.assert_allclose(np.concatenate(batches), log_probs, rtol=1e-12)


@every_method
@every_lens
@every_size
def test_fit_helps_on_new_rows(make, lens, classes):
    scores, labels = sample(3000, classes)
    unseen, truth = sample(3000, classes, seed=1)
    before = logsumexp(unseen, axis=1) - unseen[np.arange(3000), truth]
    after = -make(lens=lens).fit(scores, labels).apply(unseen)[np.arange(3000), truth]
    assert after.mean() < before.mean()


@every_method
@every_lens
@every_size
def test_weights_are_repeated_rows(make, lens, classes):
    scores, labels = sample(300, classes)
    weights = np.random.default_rng(2).integers(0, 4, 300).astype(float)
    repeated = np.repeat(np.arange(300), weights.astype(int))
    got = make(lens=lens).fit(scores, labels, weights).predict_proba(scores)
    expected = make(lens=lens).fit(scores[repeated], labels[repeated]).predict_proba(scores)
    np.testing.assert_allclose(got, expected, atol=1e-7)


@every_method
@every_lens
def test_order_of_the_rows_does_not_matter(make, lens):
    scores, labels = sample(300, 3)
    order = np.random.default_rng(3).permutation(300)
    got = make(lens=lens).fit(scores[order], labels[order]).predict_proba(scores)
    np.testing.assert_allclose(got, make(lens=lens).fit(scores, labels).predict_proba(scores), atol=1e-9)


@every_method
@every_lens
@every_size
def test_parameters_restore_the_same_bits(make, lens, classes):
    scores, labels = sample(300, classes)
    fitted = make(lens=lens).fit(scores, labels)
    restored = type(fitted)(**fitted.get_params())
    restored.parameters = {key: np.array(value) for key, value in fitted.parameters.items()}
    np.testing.assert_array_equal(restored.apply(scores), fitted.apply(scores))


@every_method
@every_lens
@every_size
def test_extreme_input_has_a_finite_answer(make, lens, classes):
    scores, labels = sample(200, classes)
    labels[labels == classes - 1] = 0  # a class without rows
    scores[:, 1] = 0.3  # a column that tells nothing
    scores[:20, 0] = -np.inf
    scores[20:40, 1:] = -np.inf
    fitted = make(lens=lens).fit(scores, labels)
    assert not np.isnan(fitted.apply(scores)).any()
    np.testing.assert_allclose(fitted.predict_proba(scores).sum(1), 1, atol=1e-12)
    assert f"no row of class {classes - 1}" in fitted.notes


@every_method
def test_top_1_is_the_two_class_map_of_confidence_and_correct(make):
    scores, labels = sample(300, 4)
    probs = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))
    confidence, hit = probs.max(1), (probs.argmax(1) == labels).astype(int)
    pair = np.log(np.column_stack([1 - confidence, confidence]))
    expected = make().fit(pair, hit).predict_proba(pair)[:, 1]
    got = make(lens="top-1").fit(scores, labels).predict_proba(scores)
    top = np.arange(300), probs.argmax(1)
    np.testing.assert_allclose(got[top], np.maximum(expected, 0.25), rtol=1e-6)
    others = np.arange(4) != probs.argmax(1)[:, None]
    scaled = probs * ((1 - expected) / (1 - confidence))[:, None]
    plain = make(lens="top-1", keep_top=False).fit(scores, labels).predict_proba(scores)
    np.testing.assert_allclose(plain[top], expected, rtol=1e-6)
    np.testing.assert_allclose(plain[others], scaled[others], rtol=1e-6)
    stays = (np.where(others, scaled, 0).max(1) < expected)[:, None]
    assert 0.5 < stays.mean() < 1
    np.testing.assert_allclose(got[others & stays], scaled[others & stays], rtol=1e-6)
    assert (got.argmax(1) == probs.argmax(1)).all()


def test_where_the_top_class_is_certain_the_others_share_evenly():
    with np.errstate(divide="ignore"):
        scores = np.log([[1, 0, 0], [1, 0, 0], [1, 0, 0], [1, 0, 0], [0.4, 0.3, 0.3]])
    probs = Isotonic(lens="top-1").fit(scores, np.array([0, 0, 0, 1, 1])).predict_proba(scores)
    # one miss at 0.4, three hits of four at 1, half a hit below and half a miss above
    np.testing.assert_allclose(probs[0], [3 / 4.5, 0.75 / 4.5, 0.75 / 4.5])
    np.testing.assert_allclose(probs[4, 0], 0.5 / 1.5)


def test_one_map_for_two_classes_one_each_for_more():
    assert len(Platt().fit(*sample(100, 2)).parameters["slope"]) == 1
    assert len(Platt().fit(*sample(100, 5)).parameters["slope"]) == 5


def test_more_classes_are_one_versus_rest_divided_by_the_sum():
    scores, labels = sample(500, 3)
    probs = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))
    single = [
        Isotonic().fit(np.log(np.column_stack([1 - q, q])), (labels == k).astype(int))
        for k, q in enumerate(probs.T)
    ]
    alone = np.column_stack(
        [
            one.predict_proba(np.log(np.column_stack([1 - q, q])))[:, 1]
            for one, q in zip(single, probs.T, strict=True)
        ]
    )
    got = Isotonic().fit(scores, labels).predict_proba(scores)
    np.testing.assert_allclose(got, alone / alone.sum(1, keepdims=True), rtol=1e-9)


def test_row_of_zeros_keeps_its_probabilities():
    probs = np.array(
        [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.36, 0.34, 0.3], [0.34, 0.36, 0.3]]
    )
    labels = np.array([0, 1, 2, 2, 2])
    fitted = Histogram(bins=2, binning="equal-width", smoothing=0).fit(np.log(probs), labels)
    row = np.log([[0.45, 0.45, 0.1]])
    fitted.parameters["values"] = np.zeros(6)
    np.testing.assert_allclose(fitted.predict_proba(row), np.exp(row))


@settings(max_examples=50)
@given(st.lists(st.floats(-300, 50), min_size=3, max_size=6), st.integers(1, 2))
def test_complements_keep_their_digits(logits, size):
    scores = np.array([logits])
    log_probs = scores - logsumexp(scores)
    top = np.argsort(-log_probs[0], kind="stable")[:size]
    members = ranked_classes(log_probs, Ranks(0, size))
    event = event_of(log_probs, members)
    assert set(np.flatnonzero(members[0])) == set(top)
    rest = np.delete(log_probs[0], top)
    np.testing.assert_allclose(event.log_complement, logsumexp(rest), rtol=1e-9)
    for k, one in class_events(log_probs):
        np.testing.assert_allclose(
            one.log_complement, logsumexp(np.delete(log_probs[0], k)), rtol=1e-6, atol=1e-12
        )


def test_float32_scores_are_close_to_float64():
    scores, labels = sample(2000, 4)
    single = Isotonic().fit(scores.astype(np.float32), labels).predict_proba(scores.astype(np.float32))
    double = Isotonic().fit(scores, labels).predict_proba(scores)
    assert single.dtype == np.float64
    assert np.abs(single - double).mean() < 1e-5


@every_size
def test_smoothed_targets_are_for_one_event_unless_asked_for(classes):
    scores, labels = sample(200, classes)
    of_all = classes == 2
    for lens, smoothed in (("class-wise", of_all), ("top-wise", of_all), ("top-1", True), ("class-1", True)):
        plain = Platt(lens=lens).fit(scores, labels).parameters
        same = Platt(lens=lens, target_smoothing=smoothed).fit(scores, labels).parameters
        other = Platt(lens=lens, target_smoothing=not smoothed).fit(scores, labels).parameters
        np.testing.assert_array_equal(plain["slope"], same["slope"])
        assert not np.allclose(plain["slope"], other["slope"], rtol=1e-5)


@pytest.mark.parametrize("lens", ["top-0", "within-top-0", "class", "class-", "canonical", ""])
def test_unknown_lens_is_refused(lens):
    with pytest.raises(UsageError, match="it acts on class-wise, class-0"):
        Platt(lens=lens)


@pytest.mark.parametrize(
    "settings", [{"lens": lens} for lens in ("within-top-3", "top-4", "class-3")] + [{"ranks": 4}]
)
def test_more_classes_than_there_are_is_refused(settings):
    with pytest.raises(UsageError, match="needs more than the 3 classes"):
        Spline(**{"lens": "top-wise", **settings}).fit(*sample(50, 3))


@pytest.mark.parametrize("settings", [{"ranks": 2}, {"keep_top": False}, {"lens": "top-1", "ranks": 1}])
def test_settings_without_effect_are_refused(settings):
    with pytest.raises(UsageError, match=r"is for lens"):
        Isotonic(**settings)


@every_method
def test_other_number_of_classes_is_refused(make):
    fitted = make(lens="class-wise").fit(*sample(60, 4))
    with pytest.raises(InputError, match="fitted on 4 classes, the scores have 3"):
        fitted.apply(np.zeros((1, 3)))


@every_method
def test_unfitted_is_refused(make):
    with pytest.raises(UsageError, match="has not been fitted"):
        make().apply(np.zeros((1, 3)))
