"""Arrays that Python hands over, with what stands beside them: what is taken, and what is refused how."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import calcli
from calcli.core.language.errors import UsageError

RNG = np.random.default_rng(0)
PROBS = RNG.dirichlet(np.ones(3), 60)
LABELS = RNG.integers(0, 3, 60)
MARKED = np.where(np.arange(60) == 3, 255, LABELS)
FRAME = pd.DataFrame(PROBS, columns=["p_0", "p_1", "p_2"]).assign(label=MARKED)


def log_loss(*data, **options):
    return calcli.evaluate(*data, metrics="log_loss", draws=0, **options)["log_loss"].value


@pytest.mark.parametrize(
    "ignored", [255, [255], (-100, 255), np.int64(255), np.array([-100, 255]), {255}, "255", [-100, "255"]]
)
def test_labels_to_be_ignored_may_be_numbers(ignored):
    kept = np.arange(60) != 3
    expected = log_loss(PROBS[kept], LABELS[kept])
    assert log_loss(PROBS, MARKED, ignore_label=ignored) == pytest.approx(expected)
    assert calcli.read(FRAME, ignore_label=ignored).n_rows == 59
    assert calcli.State.of(PROBS, MARKED, ignore_label=ignored).n_rows == 59
    assert calcli.fit(PROBS, MARKED, method="dp", folds=0, ignore_label=ignored).fit.predictions.n_rows == 59


@pytest.mark.parametrize("ignored", [True, 1.5, b"255", [None], {"255": 1}])
def test_other_labels_to_be_ignored_are_refused(ignored):
    said = f'ignore_label is {ignored!r}; expected text or whole numbers, such as -100 or ["-100"]'
    with pytest.raises(UsageError, match=re.escape(said)):
        calcli.evaluate(PROBS, MARKED, ignore_label=ignored)
