"""Values of metrics from a lean pass: those of an evaluation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calcli.core.evaluating.evaluate import evaluate, values
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import parse_metric
from calcli.core.language.metrics import METRICS
from calcli.core.language.settings import Settings


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_metric_has_the_value_that_an_evaluation_gives(predict, classes, weighted):
    rng = np.random.default_rng(classes)
    scores = 2 * rng.normal(size=(80, classes))
    weights = rng.random(80) + 0.1 if weighted else None
    rows = predict(scores, rng.integers(0, classes, 80), kind="logits", weights=weights)
    compared = 0
    for name in METRICS:
        settings = Settings(metrics=(name,), intervals=False, draws=0)
        try:
            whole = evaluate(rows, settings).estimates
        except UsageError:  # it needs something else
            with pytest.raises(UsageError):
                values(rows, settings)
            continue
        found = values(rows, settings)
        assert found.keys() == whole.keys()
        for key, value in found.items():
            np.testing.assert_allclose(value, whole[key].value, rtol=1e-12, err_msg=key)
        compared += 1
    assert compared > 25


@pytest.mark.parametrize("classes", [2, 3])
def test_metrics_that_depend_on_the_clip_say_so(predict, classes):
    rng = np.random.default_rng(classes)
    probs = rng.dirichlet(np.full(classes, 0.5), 300)
    labels = (rng.random((300, 1)) > np.cumsum(0.8 * probs + 0.2 / classes, axis=1)).sum(axis=1)
    rows, clipped = predict(probs, np.minimum(labels, classes - 1)), set()
    for name in METRICS:
        try:
            asked = Settings((name,), draws=0, intervals=False)
            plain, other = (values(rows, replace(asked, clip=clip))[name] for clip in (0.0, 0.3))
        except UsageError:  # it needs something else
            continue
        assert parse_metric(name).is_clipped == (plain != other), name
        clipped |= {name} if plain != other else set()
        signed = evaluate(rows, replace(asked, clip=0.3)).estimates[str(parse_metric(name))]
        assert ("clip:0.3" in signed.signature) == (plain != other), name
    assert clipped >= {"log_loss", "normalized_log_loss", "calibration_loss"}
