from __future__ import annotations

import math

import pytest

from calcli.core.comparing.limits import parse_limit
from calcli.core.evaluating.results import Estimate
from calcli.core.language.errors import InputError, UsageError


def broken(text: str, value: float) -> bool:
    limit = parse_limit(text)
    return limit.broken_by({str(limit.call): Estimate(limit.call, value, "")}, "x.csv")


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
def test_a_limit_holds_or_not(text, below, at, above):
    assert [broken(text, value) for value in (0.4, 0.5, 0.6)] == [below, at, above]


def test_infinity_is_above_every_bound():
    assert broken("log_loss>1e300", math.inf)
    assert not broken("log_loss>inf", math.inf)


def test_what_is_undefined_cannot_be_judged():
    with pytest.raises(InputError, match=r"x\.csv: auroc is undefined"):
        broken("auroc<0.5", math.nan)


def test_it_prints_as_it_was_given():
    assert str(parse_limit("ece : >0.05".replace(" : ", ""))) == "ece>0.05"
    assert str(parse_limit("ece:bins=15>=0.05")) == "ece:bins=15>=0.05"
    assert str(parse_limit("ece>0.05", {"bins": 20})) == "ece>0.05"


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
def test_what_is_no_limit_is_told(text, message):
    with pytest.raises(UsageError, match=message):
        parse_limit(text)
