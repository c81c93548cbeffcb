"""Notions of calibration, one weaker than the other, on populations in which every frequency is exact."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.settings import Settings

EXACT = "min_rows=1"  # every distinct vector is a bin of its own
METRICS = (
    "ece:lens=top-1",
    "ks:lens=top-1",
    "cw_ece",
    "ks:lens=class-wise",
    f"expected_miscalibration:{EXACT}",
)

# predictions in tenths, each of ten rows, with how many of these rows have which label
POPULATIONS = {
    "calibrated": {(6, 3, 1): (6, 3, 1), (2, 7, 1): (2, 7, 1), (0, 0, 10): (0, 0, 10)},
    "only the class frequencies": {(3, 3, 4): (3, 3, 4)},
    "confidence right, of two classes neither": {(7, 3): (9, 1), (3, 7): (5, 5)},
    "confidence right, of three classes one": {(6, 3, 1): (6, 1, 3)},
    "a rotation, right on average": {(6, 3, 1): (5, 4, 1), (3, 1, 6): (2, 2, 6), (1, 6, 3): (3, 4, 3)},
}
ERRORS = {
    "calibrated": (0, 0, 0, 0, 0),
    "only the class frequencies": (0, 0, 0, 0, 0),
    # 0.7 is right on average over both predicted classes; class 0 occurs 0.2 more often than either says
    "confidence right, of two classes neither": (0, 0, 0.2, 0.2, 0.2),
    # two of three classes are off by 0.2
    "confidence right, of three classes one": (0, 0, 0.4 / 3, 0.4 / 3, 0.2),
}


def rows_of(population):
    """Return probabilities and labels."""
    vectors = np.repeat(np.array(list(population)) / 10, 10, axis=0)
    labels = [np.repeat(np.arange(len(counts)), counts) for counts in population.values()]
    return vectors, np.concatenate(labels)


def errors(predict, population, metrics, **settings):
    asked = Settings(metrics, intervals=False, draws=0, **settings)
    found = evaluate(predict(*rows_of(population)), asked).estimates
    return [found[metric].value for metric in metrics]


@pytest.mark.parametrize("name", ERRORS)
def test_what_each_notion_sees(predict, name):
    assert errors(predict, POPULATIONS[name], METRICS) == pytest.approx(ERRORS[name], abs=1e-12)


def test_a_constant_is_calibrated_and_useless(predict):
    population = POPULATIONS["only the class frequencies"]
    assert errors(predict, population, ("normalized_log_loss", "normalized_brier")) == pytest.approx([1, 1])


def test_gaps_that_cancel_on_average_are_seen_by_bins(predict):
    population = POPULATIONS["a rotation, right on average"]
    gap, ece, canonical = errors(predict, population, ("mean_gap", "ece:bins=1", METRICS[-1]))
    assert gap == pytest.approx(0.6 - (0.5 + 0.6 + 0.4) / 3)
    assert ece == pytest.approx(abs(gap))
    assert canonical == pytest.approx((0.1 + 0.1 + 0.2) / 3)


def test_groups_can_be_right_where_classes_are_not(predict):
    population = {(4, 2, 4): (2, 4, 4), (1, 5, 4): (3, 3, 4)}
    groups = {"pair": {"0": "either", "1": "either", "2": "other"}}
    metrics = (
        f"expected_miscalibration:lens=pair:{EXACT}",
        METRICS[-1],
        "ece:lens=class-2",
        "ece:lens=class-0",
    )
    found = errors(predict, population, metrics, groups=groups)
    assert found == pytest.approx([0, 0.2, 0, 0.2], abs=1e-12)


@st.composite
def populations(draw):
    """Draw up to four predictions of four classes with the counts of their labels."""
    tenths = st.tuples(*[st.integers(0, 10)] * 3).map(lambda cuts: tuple(np.diff([0, *sorted(cuts), 10])))
    return draw(st.dictionaries(tenths, tenths, min_size=1, max_size=4))


@settings(max_examples=40)
@given(populations())
def test_who_is_right_about_vectors_is_right_about_everything_coarser(predict, population):
    groups = {"pairs": {"0": "low", "1": "low", "2": "high", "3": "high"}}
    coarser = ("top-1", "class-2", "within-top-2", "largest-2", "pairs")
    metrics = [f"expected_miscalibration:lens={lens}:{EXACT}" for lens in coarser]
    canonical, *found = errors(predict, population, (METRICS[-1], *metrics), groups=groups)
    # the distance of the mean is at most the mean of the distances (Vaicenavicius et al. 2019, section 3)
    assert max(found) <= canonical + 1e-12
    right = {vector: vector for vector in population}
    assert errors(predict, right, (METRICS[-1], *metrics), groups=groups) == pytest.approx([0] * 6, abs=1e-9)
