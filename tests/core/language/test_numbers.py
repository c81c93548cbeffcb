from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calcli.core.estimators.intervals import level_percent
from calcli.core.language.text import (
    apart,
    counted,
    number,
    numbers,
    p_value,
    percent,
    plus_minus,
    relative,
    some,
    span,
)

SHOWN = {
    0.0: "0.0000", 0.49861: "0.4986", -0.03: "-0.0300", 12.5: "12.5000", 0.001: "0.0010",
    0.00012345: "0.00012", 0.0000016: "1.60e-06", 3.21e-9: "3.21e-09", 0.99911: "0.99911",
    0.99994: "0.999940", 0.999951: "0.999951", 1.0000321: "1.000032", 1 - 1e-9: "1.0000", 1.0: "1.0000",
    123456789.0: "123456789.0000", -2.5e224: "-2.5000e+224", math.inf: "inf", math.nan: "undefined",
}  # fmt: skip


def test_a_number_has_four_digits_or_as_many_as_tell_it_from_0_and_1():
    assert {value: number(value) for value in SHOWN} == SHOWN
    assert number(-0.0) == "0.0000"


@given(st.floats(min_value=1e-9, max_value=1e6))
def test_a_shown_number_is_near_the_value(value):
    assert abs(float(number(value)) - value) <= min(0.5e-4, 0.05 * value) * (1 + 1e-9)


@given(st.floats(min_value=1e-5, max_value=2), st.floats(min_value=1e-5, max_value=2))
def test_numbers_that_are_read_together_show_how_far_they_lie_apart(first, second):
    shown = [float(text) for text in numbers(first, second)]
    difference = abs(first - second)
    if difference >= 1e-5:
        assert abs(shown[1] - shown[0]) == pytest.approx(difference, rel=0.1)
        assert len({text.partition(".")[2] for text in numbers(1 + first, 1 + second)}) == 2


@given(st.floats(min_value=1e-5, max_value=1), st.floats(min_value=1e-5, max_value=1))
def test_percentages_that_are_read_together_show_how_far_they_lie_apart(first, second):
    both = percent(first, second), percent(second, first)
    shown = [float(text.removesuffix("%")) / 100 for text in both]
    if abs(first - second) >= 1e-5:
        assert abs(shown[1] - shown[0]) == pytest.approx(abs(first - second), rel=0.1)


def test_rare_events_keep_their_digits():
    """The percentages of the rows of one positive in 1,700, and an accuracy beside the confidence."""
    assert (percent(0.000473, 0.000590), percent(0.000590, 0.000473)) == ("0.047%", "0.059%")
    assert (percent(0.99927, 0.9995), percent(0.9995, 0.99927)) == ("99.927%", "99.950%")
    assert numbers(0.00523, 0.00487) == ["0.00523", "0.00487"]
    assert numbers(0.99947, 0.99946) == ["0.999470", "0.999460"]
    assert numbers(0.0151, 0.0527) == ["0.0151", "0.0527"]
    assert numbers(0.4, 0.4) == ["0.4000", "0.4000"]
    assert numbers(0.1 + 0.2, 0.3) == ["0.3000", "0.3000"]
    assert numbers(0.5, math.nan, math.inf) == ["0.5000", "undefined", "inf"]


def test_an_interval_is_as_fine_as_its_width():
    assert span(0.0001, 0.5) == "0.0001 to 0.5000"
    assert span(0.00001, 0.0005) == "0.00001 to 0.00050"
    assert span(0.4, math.inf) == "0.4000 to inf"
    assert span(-1.5e-7, 0.0021) == "0.0000 to 0.0021"
    assert span(1.5e-7, 3e-7) == "1.50e-07 to 3.00e-07"
    assert span(-0.01, 0.02, sign=True) == "-0.0100 to +0.0200"
    assert span(0.0387, 0.0709, percent, unit="") == "3.9 to 7.1"
    assert span(0.99911, 0.99935, percent) == "99.911% to 99.935%"
    assert plus_minus(0.0101234, 0.0021234) == "0.0101 ± 0.0021"
    assert plus_minus(0.0101234, 0.00021234) == "0.01012 ± 0.00021"
    assert number(0.5, digits=apart(0.0)) == "0.5000"


def test_words():
    assert [p_value(p) for p in (1.0, 0.001, 0.00049, 0.0)] == ["1.000", "0.001", "<0.001", "<0.001"]
    counts = counted(1, "row"), counted(1200, "row"), counted(2, "class")
    assert counts == ("1 row", "1,200 rows", "2 classes")
    assert [percent(part) for part in (0.9117, 0.0, 1.0, 1 - 1e-9)] == ["91.2%", "0.0%", "100.0%", "100.0%"]
    assert [percent(part) for part in (0.0003, -1e-5, 0.99996)] == ["0.030%", "-0.0010%", "99.9960%"]
    assert percent(-0.0298, digits=apart(0.04), unit="") == "-3.0"
    fine = apart(0.000448)
    assert [percent(one, digits=fine, unit="") for one in (0.000014, -0.00021)] == ["0.001", "-0.021"]
    assert [relative(one) for one in (0.5216, -0.00012, math.nan)] == ["+52.2%", "-0.012%", "undefined"]
    assert some(["a", "b"]) == "a, b"
    assert some(list(range(8))) == "0, 1, 2, 3, 4 and 3 more"


@given(st.decimals(min_value="0.5", max_value="0.99999", places=5))
def test_a_level_is_never_rounded(level):
    assert Decimal(level_percent(float(level)).removesuffix("%")) == 100 * level
