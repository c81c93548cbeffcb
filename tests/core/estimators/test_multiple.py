import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calcli.core.estimators.consistency import enough_draws, holm


def rejected_step_by_step(p_values, level):
    """Return the set of hypotheses that Holm's procedure rejects: the smallest first, until one stays."""
    rejected = set()
    for index in sorted(range(len(p_values)), key=lambda i: p_values[i]):
        if p_values[index] > level / (len(p_values) - len(rejected)):
            break
        rejected.add(index)
    return rejected


@given(st.lists(st.integers(0, 100), max_size=8), st.integers(1, 40))
def test_rejects_what_the_stepwise_procedure_rejects(hundredths, level):
    p_values = [p / 100 for p in hundredths]
    level = level / 100 + 1e-3  # between the products of hundredths, clear of rounding
    adjusted = holm(p_values)
    assert {index for index, p in enumerate(adjusted) if p <= level} == rejected_step_by_step(p_values, level)


def test_arithmetic():
    # sorted: 0.005 x 4, 0.01 x 3, 0.03 x 2, 0.04 x 1 raised to the one before it
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_one_test_is_left_alone():
    assert holm([0.2]).tolist() == [0.2]


def test_no_more_than_one():
    assert holm(np.array([0.6, 0.9])).tolist() == [1, 1]


@given(st.integers(1, 2000))
def test_the_least_p_value_of_enough_draws_stays_significant(tests):
    p_values = np.ones(tests)
    p_values[0] = 1 / (1 + enough_draws(tests))
    assert holm(p_values)[0] <= 0.025
