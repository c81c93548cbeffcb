"""What a calibrator is saved with is checked before anything is written."""

from __future__ import annotations

import re

import numpy as np
import pytest

import calcli
from calcli.core.language.errors import UsageError


@pytest.mark.parametrize("name", ["cal.json", "cal.npz"])
@pytest.mark.parametrize(
    ("classes", "said"),
    [
        (
            ["a", "b"],
            "classes names 2 classes, but the calibrator was fitted to scores of 3 classes; give one",
        ),
        (
            ["a", "b", "c", "d"],
            "classes names 4 classes, but the calibrator was fitted to scores of 3 classes",
        ),
        ("abc", "classes names 1 classes, but the calibrator was fitted to scores of 3 classes"),
        (["a", "b", "a"], "classes names a more than once"),
        ({"a", "b", "c"}, "classes is a set, which has no order; give a list"),
        (["a", "b", None], "expected a list of text"),
        (5, "classes is 5; expected a list of text"),
        (
            ["two", "one", "three"],
            "names two, one, three, but the order of the fit is one, three, two; leave",
        ),
        (["a", "b", "\ud800"], "half a character"),
    ],
)
def test_classes_are_checked_before_a_calibrator_is_saved(classes, said, name, tmp_path):
    logits = np.random.default_rng(0).normal(size=(60, 3))
    labels = np.array(["one", "three", "two"])[np.arange(60) % 3]
    for calibrator in (calcli.Temperature(), calcli.VectorScaling()):
        calibrator.fit(logits, labels)
        with pytest.raises(UsageError, match=re.escape(said)):
            calcli.save(calibrator, tmp_path / name, classes)
    assert not list(tmp_path.iterdir())


def test_classes_of_a_calibrator_that_does_not_know_them(tmp_path):
    rng = np.random.default_rng(0)
    logits, labels = rng.normal(size=(60, 3)), np.arange(60) % 3
    fitted = calcli.VectorScaling().fit(logits, labels)
    del fitted.classes_
    with pytest.raises(UsageError, match="the classes have no names; give classes=, a name for each"):
        calcli.save(fitted, tmp_path / "cal.json")
    with pytest.raises(UsageError, match="names 2 classes, but the calibrator was fitted to scores; give"):
        calcli.save(fitted, tmp_path / "cal.json", "a,b")
    calcli.save(fitted, tmp_path / "cal.json", "a,b,c")
    assert calcli.load(tmp_path / "cal.json").classes_.tolist() == ["a", "b", "c"]
