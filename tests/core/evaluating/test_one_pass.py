"""Rows are read once, whatever is asked of them."""

from __future__ import annotations

import numpy as np
import pytest

from calcli.core.comparing.checking import Baseline, check
from calcli.core.comparing.comparison import Plan, compare
from calcli.core.comparing.policy import Bound, NoWorse, Policy, Rule
from calcli.core.data.predictions import ArrayScores
from calcli.core.estimators.evidence import Margin
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.expressions import parse_metric
from calcli.core.language.settings import Settings

METRICS = (
    "log_loss", "brier", "auroc", "ece", "cw_ece", "cw_ece:bins=5", "ace", "ks:lens=top-2", "skce",
    "binned_calibration_loss:bins=5", "binned_refinement_loss", "binned_refinement_loss:bins=5",
    "corp_miscalibration", "bayes_risk", "expected_miscalibration",
)  # fmt: skip
FEW = ("log_loss", "cw_ece", "binned_refinement_loss", "auroc")


@pytest.fixture
def readings(monkeypatch):
    """The number of rows that are read each time."""
    found, real = [], ArrayScores.blocks
    monkeypatch.setattr(
        ArrayScores, "blocks", lambda self, rows: found.append(len(self.array)) or real(self, rows)
    )
    return found


@pytest.fixture
def systems(predict):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 60)
    return [predict(rng.dirichlet(np.ones(3), 60), labels) for _ in range(2)]


@pytest.mark.parametrize("paired", [True, False])
def test_an_evaluation_a_comparison_and_a_check_are_one_pass_a_system(systems, readings, paired):
    evaluate(systems[0], Settings(metrics=METRICS, draws=9))
    assert readings == [60]
    compare(systems, Settings(metrics=FEW, draws=9), Plan(paired))
    assert readings == [60] * 3
    rules = [Rule(parse_metric(name), NoWorse(Margin(1.0))) for name in FEW if name in ("log_loss", "auroc")]
    rules.append(Rule(parse_metric("ece"), Bound(0.9, most=True)))
    policy = Policy(tuple(rules), Settings(draws=19))
    checked = check(systems[1], policy, Baseline(*systems, paired))
    assert readings == [60] * 5
    alone = check(systems[1], Policy(policy.rules[-1:], policy.settings)).outcomes[0]
    assert checked.outcomes[-1].value == alone.value


def test_rows_that_are_not_compared_are_judged_as_well(systems, readings, predict):
    """A limit is for all rows of the candidate, a comparison for those that the baseline has too."""
    rules = tuple(Rule(parse_metric("accuracy"), c) for c in (NoWorse(Margin(1.0)), Bound(0.0, most=False)))
    first, second = systems
    rng = np.random.default_rng(1)
    longer = predict(rng.dirichlet(np.ones(3), 90), rng.integers(0, 3, 90))
    checked = check(longer, Policy(rules, Settings()), Baseline(first, second, paired=True))
    assert sorted(readings) == [60, 60, 90]
    compared, judged = (outcome.value for outcome in checked.outcomes)
    assert compared == evaluate(second, Settings(metrics=("accuracy",))).estimates["accuracy"].value
    assert judged == evaluate(longer, Settings(metrics=("accuracy",))).estimates["accuracy"].value
