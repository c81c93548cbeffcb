from __future__ import annotations

import math

import pytest

from calcli.core.comparing.policy import Bound, failure, parse_failure
from calcli.core.evaluating.results import Estimate
from calcli.core.language.errors import InputError, UsageError


def broken(text: str, value: float) -> bool:
    rule = parse_failure(text)
    return failure(rule, {str(rule.call): Estimate(rule.call, value, "")}, "x.csv") is not None


@pytest.mark.parametrize(
    ("text", "below", "at", "above"),
    [
        ("log_loss>0.5", False, False, True),
        ("log_loss>=0.5", False, True, True),
        ("log_loss<0.5", True, False, False),
        ("log_loss<=5e-1", True, True, False),
        (" ece:bins=20 > .5 ", False, False, True),
    ],
)
def test_a_condition_holds_or_not(text, below, at, above):
    assert [broken(text, value) for value in (0.4, 0.5, 0.6)] == [below, at, above]


def test_infinity_is_above_every_bound():
    assert broken("log_loss>1e300", math.inf)
    assert not broken("log_loss>inf", math.inf)


def test_what_is_undefined_cannot_be_judged():
    with pytest.raises(InputError, match=r"x\.csv: auroc is undefined.*so auroc<0\.5 cannot be judged"):
        broken("auroc<0.5", math.nan)


def test_it_is_told_as_it_was_given():
    rule = parse_failure("ece>0.05")
    found = failure(rule, {"ece": Estimate(rule.call, 0.0625, "")}, "x.csv")
    assert found == "x.csv: ece>0.05 holds, ece is 0.0625"


def test_it_prints_as_it_was_given():
    assert parse_failure("ece : >0.05".replace(" : ", "")).title == "ece>0.05"
    assert parse_failure("ece:bins=15>=0.05").title == "ece:bins=15>=0.05"
    assert parse_failure("ece>0.05", {"bins": 20}).title == "ece>0.05"


def test_what_must_hold_is_the_opposite():
    assert parse_failure("log_loss>0.5").condition == Bound(0.5, most=True)
    assert parse_failure("accuracy<0.5").condition == Bound(0.5, most=False)
    assert broken("log_loss>=inf", math.inf)
    assert not broken("log_loss>=0.5", math.nextafter(0.5, 0))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("log_loss", "is not a limit"),
        ("log_loss=0.5", "is not a limit"),
        ("log_loss==0.5", "is not a limit"),
        (">0.5", "is not a limit"),
        ("0.1<log_loss<0.5", "is not a limit"),
        ("log_loss>half", "compares with 'half'"),
        ("log_loss>nan", "compares with 'nan'"),
        ("log_los>0.5", "did you mean 'log_loss'"),
    ],
)
def test_what_is_no_condition_is_told(text, message):
    with pytest.raises(UsageError, match=message):
        parse_failure(text)
