"""Rules: what breaks them, what can't be judged, and how often chance breaks them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from calcli.core.comparing.checking import Against, Baseline, StoredReport, StoredValue, check
from calcli.core.comparing.policy import Bound, NoWorse, Policy, Rule, exit_status, failure, parse_failure
from calcli.core.estimators.evidence import Margin
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.evaluating.results import Estimate
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.expressions import parse_metric
from calcli.core.language.settings import PairSettings, Settings


def rule(metric, condition, **more) -> Rule:
    return Rule(parse_metric(metric), condition, **more)


def judged(predictions, *rules, baseline=None, **policy):
    quick = {"draws": 99, **policy}
    return check(predictions, Policy(tuple(rules), Settings(**quick)), baseline)


def paired(first, second) -> Baseline:
    return Baseline(first, second, paired=True)


@pytest.fixture(scope="module")
def right_in(predict):
    """Return a builder: 200 rows of one confidence, of which a share is right."""

    def build(share, confidence=0.8, rows=200):
        labels = (np.arange(rows) >= share * rows).astype(int)
        return predict(np.tile([confidence, 1 - confidence], (rows, 1)), labels)

    return build


@pytest.mark.parametrize(
    ("condition", "left"),
    [
        (Bound(0.85, True), 0.05),
        (Bound(0.8, True), 0.0),
        (Bound(0.75, True), -0.05),
        (Bound(0.75, False), 0.05),
        (Bound(0.85, False), -0.05),
    ],
)
def test_limits_on_the_value(right_in, condition, left):
    (found,) = judged(right_in(0.8), rule("accuracy", condition)).outcomes
    assert found.left == pytest.approx(left)
    assert found.status == ("passed" if left > -1e-12 else "broken")
    assert found.value == pytest.approx(0.8)


def test_limits_on_an_end_of_the_interval(right_in):
    system = right_in(0.8)
    policy = {"seed": 3, "level": 0.9}
    interval = (
        evaluate(system, Settings(metrics=("accuracy",), seed=3, level=0.9)).estimates["accuracy"].interval
    )
    rules = [rule("accuracy", Bound(0.8, False, end)) for end in ("lower", "value", "upper")]
    found = judged(system, *rules, **policy).outcomes
    assert [one.value for one in found] == pytest.approx([interval.low, 0.8, interval.high])
    assert [one.status for one in found] == ["undecided", "passed", "passed"]


def test_an_error_that_calibrated_probabilities_would_show_breaks_no_rule(right_in):
    by_chance, real = right_in(0.75, rows=40), right_in(0.5, rows=40)
    strict = rule("ece", Bound(0.01, True))
    (found,) = judged(by_chance, strict).outcomes
    assert found.value == pytest.approx(0.05)
    assert found.status == "passed"
    assert "which is chance" in found.reason
    (found,) = judged(real, strict).outcomes
    assert found.status == "broken"
    assert found.p_value <= 0.05


def test_a_degraded_release_is_told_by_name_and_amount(right_in):
    old, new = right_in(0.8), right_in(0.6)
    rules = [rule("log_loss", NoWorse(Margin(0.05))), rule("accuracy", NoWorse(Margin(relative=0.05)))]
    found = judged(new, *rules, baseline=paired(old, new))
    # a fifth of the rows cost -ln 0.2 in place of -ln 0.8
    assert found.outcomes[0].left == pytest.approx(0.05 - 0.2 * math.log(4))
    assert found.outcomes[1].limit == pytest.approx(0.8 * 0.95)
    assert [one.result for one in found.outcomes] == ["failed", "failed"]
    assert exit_status([found]) == 1
    assert exit_status([judged(old, *rules, baseline=paired(new, old))]) == 0


def test_worse_within_the_margin_is_not_proven_beyond_it(right_in):
    old, new = right_in(0.8), right_in(0.7)
    found = judged(
        new,
        rule("accuracy", NoWorse(Margin(0.09))),
        rule("accuracy", NoWorse(Margin())),
        rule("accuracy", NoWorse(Margin(0.2), "fail")),
        rule("accuracy", NoWorse(Margin(0.105), "fail")),
        baseline=paired(old, new),
    )
    # 20 rows of 200 changed, all for the worse: that is proven, and so is that it is no more than 20 points
    assert [one.status for one in found.outcomes] == ["undecided", "broken", "passed", "undecided"]
    assert [one.result for one in found.outcomes] == ["passed", "failed", "passed", "failed"]


def test_holm_corrects_over_the_rules(right_in):
    old, new = right_in(0.8), right_in(0.78)
    one = rule("accuracy", NoWorse(Margin()))
    alone = judged(new, one, baseline=paired(old, new)).outcomes[0]
    others = [rule("log_loss", NoWorse(Margin(1.0 + k))) for k in range(9)]
    among = judged(new, one, *others, baseline=paired(old, new)).outcomes[0]
    assert among.p_value == pytest.approx(10 * alone.p_value)


def test_unjudged_rules_do_not_pass(right_in, predict):
    system = right_in(0.8)
    report = StoredReport("old.json", ("0", "1"), {"": {"accuracy": StoredValue(0.8, None)}})
    cases = [
        (rule("log_loss", NoWorse(Margin())), None, "give one with --baseline"),
        (rule("log_loss", Bound(1, True), min_rows=1000), None, "200 rows are fewer than the 1,000"),
        (rule("log_loss", Bound(1, True), part="site=a"), None, "no column 'site'"),
        (rule("log_loss", NoWorse(Margin())), report, "old.json has no log_loss"),
        (rule("accuracy", NoWorse(Margin())), report, "no test"),
        (rule("log_loss", NoWorse(Margin()), part="site=a"), report, "site"),
    ]
    for one, reference, message in cases:
        baseline = None if reference is None else Baseline(reference, system, paired=False)
        found = judged(system, one, baseline=baseline)
        assert found.outcomes[0].result == "not judged", message
        assert message in found.outcomes[0].reason
        assert exit_status([found]) == 2
    one_class = predict(np.full((5, 2), 0.5), [0] * 5)
    (found,) = judged(one_class, rule("auroc", Bound(0.5, False))).outcomes
    assert found.result == "not judged"
    assert "not defined" in found.reason


def test_a_metric_that_does_not_fit_leaves_the_other_rules_to_be_judged(right_in, predict):
    three = predict(np.tile([0.6, 0.3, 0.1], (50, 1)), [0] * 40 + [1] * 10)
    rules = [rule(metric, Bound(0.1, True)) for metric in ("beta_score", "log_loss", "ks:lens=class-7")]
    found = judged(three, *rules)
    assert [one.result for one in found.outcomes] == ["not judged", "failed", "not judged"]
    assert "beta_score is for two classes" in found.outcomes[0].reason
    assert "unknown lens 'class-7'" in found.outcomes[2].reason


def test_a_calibration_loss_of_the_same_rows_has_no_end_to_judge(right_in):
    system = right_in(0.6)
    value, upper = (rule("calibration_loss", Bound(0.5, True, end)) for end in ("value", "upper"))
    found = judged(system, value, upper).outcomes
    assert [one.result for one in found] == ["passed", "not judged"]
    assert "no interval on these rows: the recalibration is fitted to these rows" in found[1].reason


def test_a_warning_does_not_fail_the_check_but_must_be_judged(right_in):
    system = right_in(0.8)
    broken = rule("accuracy", Bound(0.9, False), severity="warning")
    found = judged(system, broken)
    assert [one.result for one in found.outcomes] == ["warning"]
    assert exit_status([found]) == 0
    unjudged = rule("accuracy", NoWorse(Margin()), severity="warning")
    found = judged(system, broken, unjudged)
    assert [one.result for one in found.outcomes] == ["warning", "not judged"]
    assert exit_status([found]) == 2


def test_a_slice_is_judged_by_its_rows(right_in):
    system = right_in(0.8)
    marked = replace(system, columns={"half": np.where(np.arange(200) < 100, "first", "second")})
    whole, first, second = (
        rule("accuracy", Bound(0.7, False), part=p) for p in ("", "half=first", "half=second")
    )
    found = judged(marked, whole, first, second).outcomes
    assert [one.value for one in found] == pytest.approx([0.8, 1.0, 0.6])
    assert [one.result for one in found] == ["passed", "passed", "failed"]


def test_a_report_is_compared_unpaired(right_in):
    old, new = right_in(0.8), right_in(0.78)
    estimate = evaluate(old, Settings(metrics=("accuracy",))).estimates["accuracy"]
    stored = StoredReport("old.json", old.classes, {"": {"accuracy": StoredValue(0.8, estimate.interval)}})
    worse = rule("accuracy", NoWorse(Margin()))
    found = judged(new, worse, baseline=Baseline(stored, new, paired=False))
    assert found.outcomes[0].status == "undecided"  # what pairs prove, a report does not
    assert "holds no rows to pair" in found.notes[0]
    much = judged(right_in(0.5), worse, baseline=Baseline(stored, right_in(0.5), paired=False))
    assert much.outcomes[0].status == "broken"


def test_few_rows_prove_nothing_against_a_report(right_in, predict):
    old = right_in(0.9, confidence=0.9, rows=4000)
    metrics = ("accuracy", "log_loss", "brier")
    known = evaluate(old, Settings(metrics=metrics)).estimates
    values = {name: StoredValue(one.value, one.interval) for name, one in known.items()}
    stored = StoredReport("old.json", old.classes, {"": values})
    no_worse = [rule(name, NoWorse(Margin())) for name in metrics]
    good_enough = [rule(name, NoWorse(Margin(0.02), "fail")) for name in metrics]
    wrong_once, right_thrice = predict([[0.4, 0.6]], [0]), predict([[0.9, 0.1]] * 3, [0] * 3)
    for few, rules in ((wrong_once, no_worse), (right_thrice, good_enough)):
        found = judged(few, *rules, baseline=Baseline(stored, few, paired=False))
        assert [one.result for one in found.outcomes] == ["not judged"] * 3
        assert "there is no test of their difference: " in found.outcomes[1].reason
        assert found.outcomes[1].reason.endswith("; an interval needs 5")
    many = right_in(0.5, confidence=0.9)
    found = judged(many, *no_worse, baseline=Baseline(stored, many, paired=False))
    assert [one.result for one in found.outcomes] == ["failed"] * 3


def test_rules_on_a_baseline_count_the_rows_that_are_compared(right_in):
    old, new = right_in(0.8), right_in(0.7)
    shared = np.arange(200) < 8  # all of them right in both files
    old = replace(old, columns={"id": np.arange(200)})
    new = replace(new, columns={"id": np.where(shared, np.arange(200), 1000 + np.arange(200))})
    accuracy, limit = NoWorse(Margin()), Bound(0.75, False)
    rules = [
        rule("accuracy", accuracy, min_rows=9),
        rule("accuracy", accuracy, min_rows=8),
        rule("accuracy", limit, min_rows=200),
    ]
    against = Against(old, PairSettings(key="id", allow_unmatched=True))
    found = judged(new, *rules, baseline=against.baseline(new, Policy(tuple(rules))))
    assert [one.result for one in found.outcomes] == ["not judged", "passed", "failed"]
    assert found.outcomes[0].reason.startswith("8 rows are fewer than the 9")
    assert [one.value for one in found.outcomes[1:]] == pytest.approx([1.0, 0.7])
    assert [note.partition(": ")[2] for note in found.notes] == [
        "rows without a counterpart, left out of comparisons: 192."
    ] * 2


def test_rules_that_cannot_be_are_refused():
    for metric, condition, message in (
        ("ece", Bound(0.1, True, "upper"), "has no interval"),
        ("ece", NoWorse(Margin(0.1)), "no test tells whether ece differs between two systems; give it max"),
        ("corp_miscalibration", NoWorse(Margin(0.1), "warn"), "no test tells"),
        ("log_loss", NoWorse(Margin(), "fail"), "needs a margin"),
        ("mean_gap", NoWorse(Margin()), "give it max and min"),
    ):
        with pytest.raises(UsageError, match=message):
            rule(metric, condition)


def test_a_calibration_loss_can_be_held_against_a_baseline(right_in):
    old, new = right_in(0.8), right_in(0.6)
    loss = rule("calibration_loss", NoWorse(Margin()))
    found = judged(new, loss, baseline=paired(old, new))
    assert [found.outcomes[0].result, exit_status([found])] == ["failed", 1]
    found = judged(old, loss, baseline=paired(new, old))
    assert found.outcomes[0].result == "passed"


def test_an_equal_file_passes_and_few_rows_prove_nothing(right_in):
    old = right_in(0.8)
    no_worse = rule("brier", NoWorse(Margin()))
    (found,) = judged(old, no_worse, baseline=paired(old, old)).outcomes
    assert (found.status, found.reason) == ("passed", "brier is 0.1600, equal to the baseline's 0.1600")
    (found,) = judged(right_in(0.785), no_worse, baseline=paired(old, right_in(0.785))).outcomes
    assert found.status == "undecided"
    assert "3 rows carry nearly all of it; an interval needs 5" in found.reason


def test_rows_of_one_cluster_are_one_observation(right_in):
    """Rows repeated ten times prove no more than they do once."""
    once = [replace(right_in(share), columns={"video": np.arange(200)}) for share in (0.8, 0.78)]
    often = [right_in(share, rows=2000) for share in (0.8, 0.78)]
    often = [replace(system, columns={"video": np.arange(2000) // 10}) for system in often]
    rules = rule("accuracy", NoWorse(Margin())), rule("ece", Bound(0.1, True)), rule("ece", Bound(0.2, True))
    aware_of = {"cluster": "video"}
    alone, blind, aware = (
        judged(new, *rules, baseline=paired(old, new), **settings).outcomes
        for (old, new), settings in ((once, aware_of), (often, {}), (often, aware_of))
    )
    assert aware[0].p_value == pytest.approx(alone[0].p_value)
    assert blind[0].p_value < alone[0].p_value
    assert [one.result for one in aware[1:]] == ["passed", "passed"]
    # what dependent rows would show if calibrated is not known, so that a rule which needs it is not judged
    worse = replace(right_in(0.4), columns={"video": np.arange(200)})
    (found,) = judged(worse, rules[1], **aware_of).outcomes
    assert found.result == "not judged"
    assert "depend on each other by video" in found.reason


def test_equal_models_fail_as_seldom_as_the_level_says(predict):
    """The chance that any of the rules breaks is 5% at most, as the policy's level says."""
    rng = np.random.default_rng(4)
    rules = [rule(metric, NoWorse(Margin())) for metric in ("log_loss", "accuracy", "brier")]
    broken = 0
    for _ in range(60):
        truth = rng.dirichlet([0.7, 0.7, 0.7], 150)
        labels = (rng.random((150, 1)) > truth.cumsum(1)).sum(1)
        logits = [2 * np.log(truth + 1e-3) + rng.normal(0, 0.5, (150, 3)) for _ in range(2)]
        old, new = (predict(table, labels, "logits") for table in logits)
        broken += exit_status([judged(new, *rules, baseline=paired(old, new), draws=99)])
    # 3 are expected at most; 10 or more happen once in 1,000 times
    assert broken < 10


def holds(text: str, value: float) -> str | None:
    found = parse_failure(text)
    return failure(found, {str(found.metric): Estimate(found.metric, value, "")}, "x.csv")


@pytest.mark.parametrize(
    ("text", "below", "at", "above"),
    [
        ("log_loss>0.5", False, False, True),
        ("log_loss>=0.5", False, True, True),
        ("log_loss<0.5", True, False, False),
        ("log_loss<=5e-1", True, True, False),
        (" ece:bins=20 > .5 ", False, False, True),
    ],
)
def test_a_condition_holds_or_not(text, below, at, above):
    assert [holds(text, value) is not None for value in (0.4, 0.5, 0.6)] == [below, at, above]


def test_conditions_at_their_ends_and_as_they_are_told():
    assert holds("log_loss>1e300", math.inf)
    assert holds("log_loss>=inf", math.inf)
    assert not holds("log_loss>inf", math.inf)
    assert not holds("log_loss>=0.5", math.nextafter(0.5, 0))
    with pytest.raises(InputError, match=r"x\.csv: auroc is undefined.*so auroc<0\.5 cannot be judged"):
        holds("auroc<0.5", math.nan)
    assert holds("ece>0.05", 0.0625) == "x.csv: ece>0.05 holds, ece is 0.0625"
    assert parse_failure("ece:bins=15>=0.05").title == "ece:bins=15>=0.05"
    assert parse_failure("ece>0.05", {"bins": 20}).title == "ece>0.05"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("log_loss", "is not a limit"),
        ("log_loss==0.5", "is not a limit"),
        (">0.5", "is not a limit"),
        ("0.1<log_loss<0.5", "is not a limit"),
        ("log_loss>half", "compares with 'half'"),
        ("log_loss>nan", "compares with 'nan'"),
        ("log_los>0.5", "did you mean 'log_loss'"),
    ],
)
def test_what_is_no_condition_is_told(text, message):
    with pytest.raises(UsageError, match=message):
        parse_failure(text)
