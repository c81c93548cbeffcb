"""What a fit tells of its rows is what the calibrator does to them where it is applied."""

from __future__ import annotations

import numpy as np
import pytest

from calcli.core.calibrators.record import recalibrate
from calcli.core.data import blocks
from calcli.core.evaluating.evaluate import values
from calcli.core.language.expressions import parse_method
from calcli.core.language.settings import FitSettings
from calcli.core.recalibrating.fitting import ASKED, fit, record_of

STEPPED = (
    "isotonic:interpolation=steps",
    "histogram",
    "bbq",
    "scaling-binning",
    "spline",
    "vector-histogram:min_rows=10",
)


def tied(kind: str, classes: int) -> np.ndarray:
    """Return single-precision scores, permutations of few rows."""
    rng = np.random.default_rng(classes)
    few = rng.dirichlet(np.ones(classes), 40)
    probs = rng.permuted(few[rng.integers(0, 40, 301)], axis=1)
    return (probs if kind == "probs" else np.log(probs) + rng.integers(0, 2, (301, 1))).astype(np.float32)


@pytest.mark.parametrize("limit", [1, blocks.DOUBLE_LIMIT])
@pytest.mark.parametrize("kind", ["probs", "logits"])
@pytest.mark.parametrize("reduced", [False, True])
def test_the_metrics_after_a_fit_are_those_of_its_application(predict, monkeypatch, reduced, kind, limit):
    """Also of as many scores as are read in single precision, and of rows that are applied in parts."""
    monkeypatch.setattr(blocks, "DOUBLE_LIMIT", limit)
    for classes in (3, 10):
        scores = tied(kind, classes)
        rows = predict(scores, np.random.default_rng(0).integers(0, classes, len(scores)), kind)
        for method in STEPPED:
            found = fit(rows, [parse_method(method)], FitSettings(folds=0, reduced=reduced))
            record = record_of(found, None)
            parts = [recalibrate(record, part, kind) for part in np.split(scores, [1, 8, 130])]
            done = predict(np.concatenate(parts), rows.labels, "log-probs")
            applied = values(done, ASKED)
            for score in ("log_loss", "brier"):  # others see the last digit of single precision
                assert found.after[score] == pytest.approx(applied[score], abs=2e-6), method
