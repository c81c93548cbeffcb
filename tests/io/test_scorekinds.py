"""What scores are taken for, and what happens when later rows do not agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import log_softmax, softmax

from calcli.core.language.errors import InputError
from calcli.io.handed import from_arrays
from calcli.io.reading.checks import kind_of
from tests.io.samples import random_logits, random_probs, scores_of

LOGITS = arrays(np.float64, st.tuples(st.integers(1, 20), st.integers(2, 6)), elements=st.floats(-30, 30))


@given(LOGITS, st.sampled_from([np.float32, np.float64]))
def test_a_softmax_is_told_from_its_logarithm(logits, dtype):
    assert kind_of(softmax(logits, axis=1).astype(dtype)) == "probs"
    assert kind_of(log_softmax(logits, axis=1).astype(dtype)) == "log-probs"
    assert kind_of(np.concatenate([logits, logits + 40]).astype(dtype)) == "logits"


@pytest.mark.parametrize(
    ("scores", "kind"),
    [
        ([[0.2, 0.2], [0.9, 0.9]], "probs"),  # in [0, 1] is never logits
        ([[0.0, 1.0], [1.0, 0.0]], "probs"),
        ([[0.0, -np.inf], [-np.inf, 0.0]], "log-probs"),
        ([[-1e-9, 1.0 + 1e-9]], "probs"),  # an error in the probabilities, said when they are checked
        ([[-0.2, -3.0]], "logits"),
        ([[0.2, 1.5]], "logits"),
        ([[0.0], [1.0]], "probs"),
        ([[-0.5], [1.0]], "logits"),
        ([[-0.5], [-1.0]], "logits"),
    ],
)
def test_kind_by_values(scores, kind):
    assert kind_of(np.array(scores)) == kind


def test_rows_after_the_first_look_may_contradict(monkeypatch):
    """The message names the option."""
    monkeypatch.setattr("calcli.io.reading.checks.FIRST_LOOK", 10)
    scores = np.concatenate([np.full((5, 2), np.log(0.5)), [[0.5, 0.5], [3.0, -1.0]]])
    predictions = from_arrays(scores, np.zeros(7, int))
    with pytest.raises(InputError, match=r"row 5 has a value above 0, but the first rows .* --kind logits"):
        scores_of(predictions)
    told = from_arrays(scores, np.zeros(7, int), kind="logits")
    np.testing.assert_array_equal(scores_of(told), scores)


@pytest.mark.parametrize("turn", [20, 50, 100])
def test_probabilities_that_turn_into_logits_contradict(turn, monkeypatch):
    monkeypatch.setattr("calcli.io.reading.checks.FIRST_LOOK", 10)
    probs = random_probs().scores
    scores = np.concatenate([np.tile(probs, (3, 1))[:turn], np.tile(3 * np.log(probs), (2, 1))])
    predictions = from_arrays(scores, np.zeros(len(scores), int))
    with pytest.raises(InputError, match="--kind logits"):
        list(predictions.scores.blocks(1000))


@pytest.mark.parametrize("first_look", [10, 1000])
def test_a_wrong_row_among_probabilities_does_not_make_logits_of_them(first_look, monkeypatch):
    monkeypatch.setattr("calcli.io.reading.checks.FIRST_LOOK", first_look)
    scores = np.concatenate([random_probs().scores, [[1.7, 0.2, 0.1]]])
    with pytest.raises(InputError, match="row 40 has probabilities that sum to 2; expected 1"):
        scores_of(from_arrays(scores, np.zeros(41, int)))


def test_percentages_are_no_logits():
    scores = np.round(random_probs().scores * 100)
    with pytest.raises(InputError, match=r"arrays: the scores of a row sum to 100, .* --kind percent"):
        from_arrays(scores, np.zeros(40, int))
    shares = scores_of(from_arrays(scores, np.zeros(40, int), kind="probs", renormalize=True))
    np.testing.assert_array_equal(shares, scores)
    assert from_arrays(scores, np.zeros(40, int), kind="logits").kind == "logits"


def test_a_single_column_that_contradicts_is_refused(monkeypatch):
    monkeypatch.setattr("calcli.io.reading.checks.FIRST_LOOK", 2)
    with pytest.raises(InputError, match=r"row 2 has a value outside .* --kind logits or --kind probs"):
        scores_of(from_arrays([0.5, 1.0, 3.0], [0, 1, 1]))


def test_what_the_user_says_is_not_contradicted():
    with pytest.raises(InputError, match=r"row 1.* is -1, a negative probability"):
        scores_of(from_arrays([[0.5, 0.5], [2.0, -1.0]], [0, 1], kind="probs"))


@pytest.mark.parametrize("kind", ["logits", "log-probs"])
def test_probabilities_may_be_called_otherwise(kind):
    scores = random_probs().scores if kind == "logits" else log_softmax(random_logits().scores, axis=1)
    predictions = from_arrays(scores, np.zeros(len(scores), int), kind=kind)
    assert (predictions.kind, predictions.scores.kind_reason) == (kind, "as given")
    np.testing.assert_array_equal(scores_of(predictions), scores)


@pytest.mark.parametrize("total", [0.95, 1.02])
def test_probabilities_that_miss_their_sum_are_no_logits_even_above_one(total):
    scores = np.concatenate([random_probs().scores, [[1.0, 0.0, 0.0]]]) * total
    with pytest.raises(InputError, match="row 0 has probabilities that sum to"):
        scores_of(from_arrays(scores, np.zeros(41, int)))
    assert from_arrays([[1.5, 0.2], [0.3, 1.9], [2.0, 0.1]], [0, 1, 0]).kind == "logits"


@pytest.mark.parametrize("value", [1.0000001, -1e-9, -1.3e-17])
def test_what_rounding_puts_outside_of_0_and_1_is_these(value):
    scores = np.linspace(0, 1, 60)
    scores[30] = value
    found = from_arrays(scores, np.arange(60) % 2)
    assert found.kind == "probs"
    assert scores_of(found, 100)[30, 1] == (value > 0)


@pytest.mark.parametrize("first_look", [10, 1000])
@pytest.mark.parametrize(
    ("value", "rows", "refused"),
    [(1.00001, 60, True), (-1e-5, 60, True), (1.00001, 10, True), (2.5, 60, True), (2.5, 5, False)],
)
def test_one_score_a_row_that_is_nearly_always_in_the_unit_interval(
    value, rows, refused, first_look, monkeypatch
):
    monkeypatch.setattr("calcli.io.reading.checks.FIRST_LOOK", first_look)
    scores = np.linspace(0, 1, rows)
    scores[rows // 2] = value
    if refused:
        said = rf"row {rows // 2} has the score {value}, but nearly all around it lie in \[0, 1\]; .* --kind "
        with pytest.raises(InputError, match=said):
            scores_of(from_arrays(scores, np.arange(rows) % 2), 100)
    found = from_arrays(scores, np.arange(rows) % 2, kind="logits" if refused else "auto")
    np.testing.assert_array_equal(scores_of(found, 100)[:, 1], scores)
    assert found.kind == "logits"


def test_one_score_a_row_from_0_to_100_is_hardly_a_logit():
    scores = np.linspace(0, 100, 41)
    with pytest.raises(
        InputError, match=r"the scores lie between 0 and 100, .* --kind percent .* --kind logits"
    ):
        from_arrays(scores, np.arange(41) % 2)
    shares = scores_of(from_arrays(scores, np.arange(41) % 2, kind="percent"))
    np.testing.assert_allclose(shares[:, 1], scores / 100)
    for logits in (scores, scores / 10, scores - 50):  # few are so large, and none below 0
        kind = "logits" if logits is scores else "auto"
        np.testing.assert_array_equal(
            scores_of(from_arrays(logits, np.arange(41) % 2, kind=kind))[:, 1], logits
        )


MARGINS = np.linspace(-6.2, 7.2, 41)[::-1]


@pytest.mark.parametrize(
    ("scores", "reason"),
    [
        (random_probs().scores, "all values lie in [0, 1]"),
        (np.linspace(0, 1, 41), "all values lie in [0, 1]"),
        (np.stack([1 - MARGINS, MARGINS], 1), "all rows sum to one, though values lie from -6.2 to 7.2"),
        (
            np.concatenate([np.stack([1 - MARGINS, MARGINS], 1), [[1.0, 2.0]]]),
            "most rows sum to one, though values lie from -6.2 to 7.2",
        ),
        (
            np.repeat([[1.03, 0.0], [0.3, 0.66]], 20, axis=0),
            "most rows sum to one, give or take a tenth, though values lie from 0 to 1.03",
        ),
        (np.log(random_probs().scores), "no value is above 0 and the exponentials of each row sum to one"),
        (MARGINS, "not all values lie in [0, 1]"),
        (-np.abs(MARGINS), "not all values lie in [0, 1]"),  # logarithms too would not
        (random_logits().scores, "they are neither probabilities nor log-probabilities"),
    ],
)
def test_what_is_said_of_values_was_seen_in_them(scores, reason, monkeypatch):
    """Where not all rows were looked at, those that were are named."""
    labels = np.arange(len(scores)) % 2
    assert from_arrays(scores, labels).scores.kind_reason == reason
    monkeypatch.setattr(
        "calcli.io.reading.checks.FIRST_LOOK", (len(scores) - 1) * (scores.size // len(scores))
    )
    found = from_arrays(scores, labels)
    where = f"in the first {len(scores) - 1} rows "
    said = found.scores.kind_reason.removeprefix(where)
    assert (said == found.scores.kind_reason) == (found.kind == "logits")  # one value refutes the other kinds


def test_sentences_on_percentages_name_the_rows_looked_at(monkeypatch):
    high = np.linspace(51, 99, 100) / 100
    labels = np.arange(100) % 2
    monkeypatch.setattr("calcli.io.reading.checks.FIRST_LOOK", 60)
    with pytest.raises(InputError, match="in the first 60 rows the scores lie between 0 and 100"):
        from_arrays(high * 100, labels)
    with pytest.raises(InputError, match="in the first 30 rows the scores of a row sum to 100"):
        from_arrays(np.stack([100 - high * 100, high * 100], 1), labels)
