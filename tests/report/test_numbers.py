from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calcli.core.estimators.interval import level_percent
from calcli.report.numbers import counted, number, p_value, percent, points, some, span, spread


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0000"),
        (0.49861, "0.4986"),
        (-0.03, "-0.0300"),
        (-0.0, "0.0000"),
        (12.5, "12.5000"),
        (0.001, "0.0010"),
        (0.00012345, "0.000123"),
        (0.0000016, "0.000002"),
        (3.21e-9, "3.21e-09"),
        (0.99994, "0.9999"),
        (0.999951, "0.999951"),
        (1.0000321, "1.000032"),
        (1 - 1e-9, "1.0000"),
        (1.0, "1.0000"),
        (123456789.0, "123456789.0000"),
        (-2.5e224, "-2.5000e+224"),
        (math.inf, "inf"),
        (math.nan, "undefined"),
    ],
)
def test_number(value, text):
    assert number(value) == text


@given(st.floats(min_value=1e-6, max_value=1e6))
def test_a_shown_number_is_near_the_value(value):
    assert abs(float(number(value)) - value) <= max(0.5e-4 if value >= 1e-3 else 0.5e-6, 0.005 * value)


def test_an_interval_is_as_fine_as_its_value():
    assert span(0.0001, 0.5, 0.25) == "0.0001 to 0.5000"
    assert span(0.00001, 0.0005, 0.00012) == "0.000010 to 0.000500"
    assert span(0.4, math.inf, math.inf) == "0.4000 to inf"
    assert span(-1.5e-7, 0.0021, -7.461e-9) == "-1.50e-07 to 0.0021"
    assert spread(0.0101234, 0.0021234, 0.05) == "0.0101 ± 0.0021"


def test_p_value():
    assert [p_value(p) for p in (1.0, 0.001, 0.00049, 0.0)] == ["1.000", "0.001", "<0.001", "<0.001"]


def test_words():
    assert counted(1, "row") == "1 row"
    assert counted(1200, "row") == "1,200 rows"
    assert counted(2, "class") == "2 classes"
    assert [percent(part) for part in (0.9117, 0.0, 1.0, 1 - 1e-9)] == ["91.2%", "0.0%", "100.0%", "100.0%"]
    assert [percent(part) for part in (0.0003, -1e-5, 0.99996)] == ["0.03%", "-0.001%", "99.996%"]
    assert points(-0.0298) == points(-0.0298, half=0.02) == "-3.0"
    assert [points(one, half=0.000224) for one in (0.000014, -0.00021)] == ["0.00", "-0.02"]
    assert points(0.5, half=0.0) == "50.0"
    assert some(["a", "b"]) == "a, b"
    assert some(list(range(8))) == "0, 1, 2, 3, 4 and 3 more"


@given(st.decimals(min_value="0.5", max_value="0.99999", places=5))
def test_a_level_is_never_rounded(level):
    assert Decimal(level_percent(float(level)).removesuffix("%")) == 100 * level
