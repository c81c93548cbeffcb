"""Metric expressions parse, print back, and are refused with the nearest name."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calcli.core.language.entries import Method, written
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import (
    MethodExpression,
    parse_method,
    parse_methods,
    parse_metric,
    parse_metrics,
)
from calcli.core.language.methods import METHODS
from calcli.core.language.metrics import METRICS

ODD = (1 / 3, 1e-7, 123456.789, 2.5)  # what six digits do not hold


def values(argument):
    """Return a strategy of the values that an argument may have, from its declaration."""
    numbers = argument.default or (0.0,) if isinstance(argument.default, tuple) else (argument.default,)
    least, most = (bound if math.isfinite(bound) else None for bound in (argument.least, argument.most))
    match numbers[0]:
        case None:
            return methods()
        case bool():
            return st.booleans()
        case int():
            return st.integers(least, most if most else 10**9)
        case float():
            many = [x for x in ODD if argument.holds((x,) if isinstance(argument.default, tuple) else x)]
            floats = st.sampled_from(many) | st.floats(least, most or 1e9, exclude_min=argument.above)
            return st.lists(floats, min_size=1).map(tuple) if isinstance(argument.default, tuple) else floats
    if argument.nested:
        return nested(argument)
    if argument.form:
        texts = ["all", "0..0.5", "0.125..1", "dp", "temperature+histogram/bins=15"]
        return st.sampled_from([text for text in texts if argument.holds(text)])
    return st.sampled_from(argument.choices or ("a-name", "another")).map(argument.read)


def nested(argument):
    """Return a strategy of methods and scores as they stand in an argument, and of words for neither."""
    words = [name for name in argument.choices if name not in METHODS and name not in METRICS]
    scores = {name: METRICS[name] for name in argument.choices if name in METRICS}
    found = expressions(scores) if scores else methods()
    found = found.map(lambda call: call.nested)
    return found | st.sampled_from(words) if words else found


def expressions(known):
    """Return a strategy of expressions with any values of all arguments that go together."""

    def made(entry, found):
        if isinstance(entry, Method):
            return MethodExpression(entry, found, "")
        try:
            return entry.made(**found)
        except UsageError:
            return None

    def filled(entry):
        given = {key: values(argument) for key, argument in entry.arguments.items()}
        if "binning" in given and not entry.arguments["binning"].choices:
            given["binning"] = st.sampled_from(["equal-width", "equal-mass", "recursive", "0/0.125/1"])
        return st.fixed_dictionaries(given).map(lambda found: made(entry, found)).filter(bool)

    return st.sampled_from(list(known.values())).flatmap(filled)


@st.composite
def methods(draw):
    return draw(expressions(METHODS))


@given(expressions(METRICS))
def test_a_metric_prints_back(call):
    found = parse_metric(str(call))
    assert found == call
    assert str(found) == str(call)
    assert all(type(found.arguments[key]) is type(value) for key, value in call.arguments.items())


@given(methods())
def test_a_method_prints_back_however_deep_it_is_wrapped(call):
    found = parse_method(str(call))
    assert found == call
    assert str(found) == str(call)


@pytest.mark.parametrize(
    "members",
    [
        "temperature+dp",
        "temperature+histogram/bins=9",
        "temperature/score=brier+dp/score=brier",
        "histogram/bins=9",
    ],
)
@pytest.mark.parametrize("own", ["", ":folds=2", ":score=brier:seed=3"])
def test_a_wrapped_pool_keeps_the_settings_of_its_members(members, own):
    pool = parse_method(f"pool:members={members}{own}")
    wrapped = pool.within("preserve-top1").within("reduced")
    assert parse_method(str(wrapped)) == wrapped
    assert wrapped.chain[-1] == pool
    before = str(pool.within("preserve-top1")).replace("pool", "pool/folds=3", 1) if not own else ""
    assert not before or parse_method(before).chain[-1].arguments["folds"] == 3


@pytest.mark.parametrize("entry", [*METRICS.values(), *METHODS.values()], ids=lambda entry: entry.name)
def test_every_default_is_a_value_that_the_argument_may_have(entry):
    if entry.name in METRICS:
        assert str(parse_metric(entry.name)) == str(entry.made()) == entry.name
    for argument in entry.arguments.values():
        assert argument.holds(argument.default)
        if argument.default is not None:
            assert argument.read(written(argument.default)) == argument.default


@pytest.mark.parametrize(
    ("text", "canonical", "chain"),
    [
        ("reduced:calibrator=histogram/bins=15/smoothing=0", "reduced:calibrator=histogram/smoothing=0", 2),
        (
            "preserve-top1:calibrator=per-predicted-class/min_rows=5/calibrator=reduced/calibrator=platt/"
            "target_smoothing=false",
            None,
            4,
        ),
        (
            "per-predicted-class:calibrator=dirichlet/intercept_penalties=1/0.5/folds=4:min_rows=7",
            "per-predicted-class:min_rows=7:calibrator=dirichlet/intercept_penalties=1/0.5/folds=4",
            2,
        ),
    ],
)
def test_a_wrapped_method_has_its_arguments_behind_slashes(text, canonical, chain):
    call = parse_method(text)
    assert str(call) == (canonical or text)
    assert len(call.chain) == chain
    inner = parse_method("histogram:bins=20").within("reduced").within("per-predicted-class", min_rows=9)
    assert inner == parse_method(
        "per-predicted-class:min_rows=9:calibrator=reduced/calibrator=histogram/bins=20"
    )


def test_defaults_reach_a_wrapped_method_and_give_way():
    given = {"lens": "top-1", "input": "raw"}
    first, second = parse_methods(
        ["reduced:calibrator=spline", "reduced:calibrator=beta/lens=class-wise"], given
    )
    assert (str(first), str(second)) == ("reduced:calibrator=spline/lens=top-1", "reduced:calibrator=beta")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("reduced", "reduced wraps another method; say which, as in reduced:calibrator=temperature"),
        ("reduced:calibrator=tempratur", "unknown method 'tempratur', did you mean 'temperature'"),
        ("reduced:calibrator=histogram/bin=3", "'histogram' has no argument 'bin=3'"),
        ("reduced:calibrator=preserve-top1", "preserve-top1 wraps another method"),
        ("reduced:calibrator=", "unknown method ''"),
        ("reduced:calibrator=dp:calibrator=x/y", "unknown method 'x'"),
        ("per-predicted-class:calibrator=dp:min_rows=0", "min_rows must be a whole number of at least 1"),
    ],
)
def test_faults_of_wrappers_are_named(text, said):
    with pytest.raises(UsageError, match=said):
        parse_method(text)


def test_defaults_are_left_out():
    assert str(parse_metric("ece:bins=15:binning=equal-mass")) == "ece:binning=equal-mass"
    assert str(parse_metric("ece", {"bins": 20})) == "ece:bins=20"
    assert [str(call) for call in parse_metrics(["ece", "ece:bins=15", "ks"])] == ["ece", "ks"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ec", "did you mean 'ece'"),
        ("score-brier", "did you mean 'brier'"),
        ("loglos", "did you mean 'log_loss'"),
        ("ece:bin=3", "it takes: lens, region, binning, bins, min_rows, norm"),
        ("ece:bins=0", "whole number"),
        ("ece:bins=100001", "whole number from 1 to 100000, not"),
        ("ece:bins=many", "whole number"),
        ("ece:bins=1_0", "whole number"),
        ("beta_score:a=0", "a number from 1e-06 to 1000, not '0'"),
        ("beta_score:b=nan", "a number from 1e-06"),
        ("ece:region=0.9..0.5", "two numbers in"),
        ("ece:debiased=true", "no argument"),
        ("ece_l2:debiased=yes", "debiased must be true or false, not 'yes'"),
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
    with pytest.raises(UsageError, match=r"'platts'.*'bin=3'"):
        parse_methods(["platts", "dp", "histogram:bin=3"])


def test_a_part_of_a_score_has_its_unit():
    units = {"binned_calibration_loss:score=log_loss": "nats", "binned_calibration_loss": "ratio",
             "relative_calibration_loss": "fraction", "ece": "fraction"}  # fmt: skip
    assert {text: parse_metric(text).unit for text in units} == units
