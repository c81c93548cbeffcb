"""Choices on one set and reports on another, against table 5.1 of van de Waterlaat 2021."""

from __future__ import annotations

import math

import pytest

from calcli.core.comparing.comparison import (
    best_of,
    by_folder,
    numbers_in_names,
    paired_by_number,
    relative_change,
)
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import parse_metric


def test_changes_are_relative_as_in_the_thesis():
    for first, second, percent in (
        (0.2438, 0.1747, -28.34),
        (0.0303, 0.0251, -17.16),
        (0.6512, 0.6294, -3.35),
    ):
        assert 100 * relative_change(first, second) == pytest.approx(percent, abs=0.005)
    assert math.isnan(relative_change(0, 1))
    assert relative_change(-2.0, -1.0) == 0.5


def test_the_best_is_the_first_of_equals_whatever_is_better():
    assert best_of([3, 1, 1], parse_metric("log_loss")) == 1
    assert best_of([3, math.nan, 1], parse_metric("accuracy")) == 0
    assert best_of([-3, 2, 1], parse_metric("mean_gap")) == 2
    with pytest.raises(UsageError, match="mean_confidence has no better direction"):
        best_of([1, 2], parse_metric("mean_confidence"))
    with pytest.raises(UsageError, match="log_loss has no finite value"):
        best_of([math.inf, math.inf], parse_metric("log_loss"))


def test_pairs_by_number():
    pairs = paired_by_number(["v/e_10", "v/e_2"], ["t/ep02", "t/ep10"])
    assert pairs == [(2, "v/e_2", "t/ep02"), (10, "v/e_10", "t/ep10")]
    with pytest.raises(UsageError, match="v/e_3 has no counterpart with the number 3"):
        paired_by_number(["v/e_2", "v/e_3"], ["t/e_2"])
    with pytest.raises(UsageError, match="t/e_3 has no counterpart"):
        paired_by_number(["v/e_2"], ["t/e_2", "t/e_3"])
    with pytest.raises(UsageError, match="do not all have one"):
        paired_by_number(["v/first"], ["t/e_2"])


def test_the_number_in_which_files_differ():
    assert numbers_in_names(["e_1.npy", "e_10.npy", "e_2.npy"]) == [1, 10, 2]
    assert numbers_in_names(["cifar10_e3_v2.npy", "cifar10_e12_v2.npy"]) == [3, 12]
    assert numbers_in_names(["r1_e007.csv.gz"]) == [7]
    assert numbers_in_names(["a/1/first.npy", "a/1/e_2.npy"]) is None  # folders do not count
    with pytest.raises(UsageError, match=r"e_1.npy and e_01.npy have the same number 1"):
        numbers_in_names(["e_1.npy", "e_01.npy"])
    assert by_folder(["run/train/e1", "run/test/e1", "run/train/e2"]) == {"train": [0, 2], "test": [1]}
    assert by_folder(["a/x/e1", "a/e2"]) == {"a/x": [0], "a": [1]}
