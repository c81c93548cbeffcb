"""Rules on slices: too small ones are not judged, and one rule may be for every value of a column."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from calcli.core.comparing.checking import check
from calcli.core.comparing.policy import Bound, Checked, Policy, Rule, exit_status
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.language.expressions import WRONG_RIGHT, parse_metric
from calcli.core.language.settings import Settings
from calcli.io.saved.policies import parse_policy
from calcli.report.ci import junit_text

QUICK = Settings(draws=199)


@pytest.fixture(scope="module")
def predictions() -> Predictions:
    """Return calibrated predictions of four countries; few rows carry the loss of the last one."""
    rng = np.random.default_rng(0)
    score = rng.beta(0.5, 0.5, 1810).clip(0.01, 0.99)
    labels = (rng.random(1810) < score).astype(int)
    score[-10:] = 0.99
    labels[-10:] = np.arange(10) > 1  # two errors carry the loss
    country = np.repeat(["de", "fr", "is", "va"], [600, 600, 600, 10])
    scores = ArrayScores(np.stack([1 - score, score], 1), "probs")
    return Predictions(scores, labels, ("a", "b"), columns={"country": country})


def rule(metric: str, limit: float, part: str, **more) -> Rule:
    return Rule(parse_metric(metric), Bound(limit, most=True), part=part, **more)


def judged(predictions: Predictions, *rules: Rule) -> Checked:
    return check(predictions, Policy(rules, QUICK))


def test_few_rows_of_a_slice_break_no_rule(predictions):
    found = judged(predictions, rule("log_loss", 0.7, "country=va"))
    assert found.outcomes[0].result == "not judged"
    assert exit_status([found]) == 2
    found = judged(predictions, rule("ece", 0.0, "country=va"))
    assert "10 rows are fewer than the 50" in found.outcomes[0].reason
    warned = judged(predictions, rule("log_loss", 0.7, "country=va", severity="warning"))
    assert warned.outcomes[0].result == "warning"
    assert exit_status([warned]) == 0
    broken = judged(predictions, rule("log_loss", 0.7, "country=va", min_rows=10))
    assert broken.outcomes[0].result == "failed"


def test_a_rule_for_every_value_skips_small_ones(predictions):
    found = judged(predictions, rule("log_loss", 0.7, "country=*"))
    parts = [outcome.rule.part for outcome in found.outcomes]
    assert parts == ["country=de", "country=fr", "country=is"]
    assert {outcome.result for outcome in found.outcomes} == {"passed"}
    assert exit_status([found]) == 0
    (note,) = found.notes
    assert note.startswith("1 of 4 values of country have too few rows for the rule on log_loss")
    alone = [judged(predictions, rule("log_loss", 0.7, part)).outcomes[0].value for part in parts]
    assert [outcome.value for outcome in found.outcomes] == alone
    strict = judged(predictions, rule("log_loss", 0.3, "country=*"))
    assert exit_status([strict]) == 1


def test_the_name_of_a_rule_for_every_value_tells_which(predictions):
    named = rule("log_loss", 0.7, "country=*", name="good everywhere")
    found = judged(predictions, named)
    names = [f"good everywhere [country={value}]" for value in ("de", "fr", "is")]
    assert [outcome.rule.title for outcome in found.outcomes] == names
    cases = ET.fromstring(junit_text([found])).iter("testcase")
    assert [case.get("name") for case in cases] == names
    small = judged(predictions, replace(named, min_rows=5000))
    assert [outcome.rule.title for outcome in small.outcomes] == ["good everywhere"]


def test_it_cannot_be_judged_if_all_are_too_small(predictions):
    found = judged(predictions, rule("log_loss", 0.7, "country=*", min_rows=5000))
    (outcome,) = found.outcomes
    assert outcome.rule.part == "country=*"
    assert outcome.result == "not judged"
    assert exit_status([found]) == 2


def test_errors_of_many_slices_are_corrected_for_their_number():
    rng = np.random.default_rng(1)
    failed = 0
    for _ in range(6):
        score = rng.random(2000)
        labels = (rng.random(2000) < score).astype(int)
        scores = ArrayScores(np.stack([1 - score, score], 1), "probs")
        columns = {"part": np.arange(2000) % 20}
        calibrated = Predictions(scores, labels, ("a", "b"), columns=columns)
        found = judged(calibrated, rule("ece:lens=class-1", 0.0, "part=*"))
        assert len(found.outcomes) == 20
        failed += exit_status([found])
    assert failed <= 1  # of 120 slices, of which 6 would exceed an uncorrected test


def test_policies_may_say_every_value(predictions):
    table = {"rules": [{"metric": "log_loss", "max": 0.7, "slice": "country=*"}]}
    policy = parse_policy(table, "policy.toml")
    assert policy.rules[0].every == "country"
    assert policy.rules[0].min_rows is None
    assert parse_policy({**table, "min_rows": 7}, "policy.toml").rules[0].min_rows == 7


@pytest.mark.parametrize("metric", ["log_loss", "accuracy"])
def test_a_rule_may_be_for_every_predicted_class(predictions, metric):
    found = judged(predictions, rule(metric, 2.0, "predicted-class=*"))
    parts = [outcome.rule.part for outcome in found.outcomes]
    assert parts == ["predicted-class=a", "predicted-class=b"]
    alone = [judged(predictions, rule(metric, 2.0, part)).outcomes[0].value for part in parts]
    assert [outcome.value for outcome in found.outcomes] == alone


def test_answers_have_no_predicted_classes_for_every_one_of_which_a_rule_is(predictions):
    scores = ArrayScores(predictions.scores.blocks(1810).__next__(), "probs")
    answers = Predictions(scores, predictions.labels, WRONG_RIGHT)
    found = judged(answers, rule("log_loss", 2.0, "predicted-class=*"), rule("log_loss", 2.0, ""))
    assert [outcome.result for outcome in found.outcomes] == ["not judged", "passed"]
    assert "no predicted classes" in found.outcomes[0].reason


def test_a_broken_rule_tells_the_p_value_that_was_corrected(predictions):
    sure = replace(predictions, labels=np.zeros(1810, int))
    broken = judged(sure, rule("ece:lens=class-1", 0.01, "country=*")).outcomes
    raw = [judged(sure, rule("ece:lens=class-1", 0.01, one.rule.part)).outcomes[0].p_value for one in broken]
    assert [one.result for one in broken] == ["failed"] * 3
    for one, alone in zip(broken, raw, strict=True):
        assert one.p_value > alone or alone == max(raw)
        assert one.reason.endswith(f"corrected for 3 slices p {one.p_value:.3g}")
