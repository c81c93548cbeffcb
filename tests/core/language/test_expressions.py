"""Metric expressions parse, print back, and are refused with the nearest name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calcli.core.estimators import scoring
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import CHOICES, parse_metric, parse_metrics
from calcli.core.language.metrics import METRICS


@given(st.sampled_from(list(METRICS.values())), st.data())
def test_an_expression_prints_back(metric, data):
    text = metric.name
    for key in metric.arguments:
        if key in ("bins", "min_rows"):
            text += f":{key}={data.draw(st.integers(1, 99))}"
        elif key == "region":
            text += data.draw(st.sampled_from(["", ":region=0.5..1"]))
        elif key in CHOICES:
            choices = CHOICES.get(f"{metric.name} {key}", CHOICES[key])
            text += f":{key}={data.draw(st.sampled_from(choices))}"
    call = parse_metric(text)
    assert parse_metric(str(call)) == call


def test_defaults_are_left_out():
    assert str(parse_metric("ece:bins=15:binning=equal-mass")) == "ece:binning=equal-mass"
    assert str(parse_metric("ece", {"bins": 20})) == "ece:bins=20"
    assert [str(call) for call in parse_metrics(["ece", "ece:bins=15", "ks"])] == ["ece", "ks"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ec", "did you mean 'ece'"),
        ("ECE", "did you mean 'ece'"),
        ("score-brier", "did you mean 'brier'"),
        ("logloss", "did you mean 'log_loss'"),
        ("ece:bin=3", "it takes: lens, region, binning, bins, norm"),
        ("ece:bins=0", "whole number"),
        ("ece:bins=100001", "whole number from 1 to 100000, not"),
        ("ece:bins=many", "whole number"),
        ("ece:region=0.9..0.5", "two numbers in"),
        ("ece:debiased=true", "no argument"),
        ("ece_l2:debiased=yes", "one of true, false"),
        ("skce:distance=squared-euclidean", "one of tv, euclidean"),
        ("ece:norm=3", "one of 1, 2, max"),
        ("log_loss:bins=3", "it takes: none"),
    ],
)
def test_faults_are_named(text, said):
    with pytest.raises(UsageError, match=said):
        parse_metric(text)


def test_all_faults_are_named_at_once():
    with pytest.raises(UsageError, match=r"'ec'.*'brie'"):
        parse_metrics(["ec", "ece", "brie"])


def test_every_score_has_its_function():
    scores = [metric for metric in METRICS.values() if metric.family == "score"]
    assert scores
    assert all(callable(getattr(scoring, metric.name)) for metric in scores)


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("binned_calibration_loss:score=log_loss", "nats"),
        ("binned_calibration_loss", "ratio"),
        ("relative_calibration_loss", "fraction"),
        ("ece", "fraction"),
    ],
)
def test_a_part_of_a_score_has_its_unit(text, unit):
    assert parse_metric(text).unit == unit
