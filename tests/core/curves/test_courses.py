"""Series of files: p-values beside errors, runs of one model, and what another set chose."""

from __future__ import annotations

import numpy as np
import pytest

from calcli.core.curves.series import courses
from calcli.core.estimators.consistency import Null
from calcli.core.evaluating.results import Estimate
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import parse_metric


def estimates(loss, error, p):
    """Return a log-loss and an ECE with its p-value."""
    calls = parse_metric("log_loss"), parse_metric("ece")
    nulls = None, Null(0.01, 0.001, p)
    values = zip(calls, (loss, error), nulls, strict=True)
    return {str(call): Estimate(call, value, "", if_calibrated=null) for call, value, null in values}


def systems(runs):
    """Return three files of the test set of each run, the last one first."""
    numbers = (3, 1, 2)
    return {
        f"{run}/test/e_{n}.npy": estimates(n + r, n / 10, n / 100)
        for r, run in enumerate(runs)
        for n in numbers
    }


def test_p_values_follow_their_errors_and_have_no_best():
    found = courses(systems(["a"]), p_values=True).courses
    loss, error, p = (series[0] for series in found.values())
    assert list(found) == ["log_loss", str(error.call), f"p of {error.call}"]
    np.testing.assert_array_equal(loss.value, [1, 2, 3])
    np.testing.assert_allclose(p.value, [0.01, 0.02, 0.03])
    assert (loss.best, p.best, p.marked) == (0, None, None)


def test_runs_are_parted_from_sets():
    found = courses(systems(["a", "b"]), runs=True)
    assert [(one.run, one.series) for one in found.courses["log_loss"]] == [("a", ""), ("b", "")]
    both = systems(["a", "b"]) | {
        path.replace("test", "train"): one for path, one in systems(["a", "b"]).items()
    }
    names = {(one.run, one.series) for one in courses(both, runs=True).courses["log_loss"]}
    assert names == {("a", "test"), ("b", "test"), ("a", "train"), ("b", "train")}
    assert "log_loss, b, train" in courses(both, runs=True).named()


def test_what_another_set_chose_is_marked_everywhere():
    found = courses(systems(["a", "b"]), p_values=True, runs=True, chosen={"a": 2, "b": 3}).courses
    assert [[one.marked for one in several] for several in found.values()] == [[1, 2]] * 3
    (table,) = found["log_loss"][1].tables().values()
    assert table["chosen"].tolist() == [0, 0, 1]
    (only,) = courses(systems(["a"]), chosen={"": 3}).courses["log_loss"]
    assert only.marked == 2


def test_what_cannot_be_marked_or_tested_is_refused():
    with pytest.raises(UsageError, match="no files in b, for b/test; there are files in a"):
        courses(systems(["a", "b"]), chosen={"a": 2})
    with pytest.raises(UsageError, match="chose number 7"):
        courses(systems(["a"]), chosen={"": 7})
    untested = {path: {"log_loss": one["log_loss"]} for path, one in systems(["a"]).items()}
    with pytest.raises(UsageError, match="p_values are those of calibration errors"):
        courses(untested, p_values=True)
