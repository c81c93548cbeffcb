"""TOML to rules: everything a policy can say, and every mistake in one."""

from __future__ import annotations

import math
import tomllib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calcli.core.comparing.policy import Bound, NoWorse, Policy
from calcli.core.estimators.evidence import Margin
from calcli.core.language.errors import InputError
from calcli.io.saved.policies import GENERAL, OF_RULE, parse_policy, read_policy


def policy(text):
    return parse_policy(tomllib.loads(text), "p.toml")


def test_everything_a_policy_can_say():
    found = policy(
        """
        level = 0.9
        min_rows = 50
        draws = 99
        seed = 7

        [[rules]]
        metric = "log_loss"
        max = 0.5
        min = 0.1
        bound = "upper"
        max_increase = "5%"
        undecided = "warn"

        [[rules]]
        metric = "ece:bins=20"
        max = 1
        slice = "country=DE"
        severity = "warning"
        min_rows = 10
        name = "calibrated in Germany"

        [[rules]]
        metric = "accuracy"
        max_decrease = 0
        """
    )
    settings = found.settings
    assert (settings.level, settings.draws, settings.seed) == (0.9, 99, 7)
    assert [one.condition for one in found.rules] == [
        Bound(0.5, True, "upper", "warn"),
        Bound(0.1, False, "upper"),
        NoWorse(Margin(relative=0.05), "warn"),
        Bound(1.0, True),
        NoWorse(Margin()),
    ]
    german = found.rules[3]
    assert (str(german.metric), german.part, german.severity) == ("ece:bins=20", "country=DE", "warning")
    assert (german.min_rows, german.title) == (10, "calibrated in Germany")
    assert found.rules[0].min_rows == 50
    assert [one.title for one in found.rules[:3]] == [
        "log_loss (upper end) at most 0.5",
        "log_loss (upper end) at least 0.1",
        "log_loss at most 5% worse than baseline",
    ]
    assert found.rules[4].title == "accuracy no worse than baseline"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            'metric = "log_los"\nmax = 1',
            r"rule 1 \(log_los\): unknown metric 'log_los', did you mean 'log_loss'",
        ),
        ('metric = "log_loss"\nmax = "low"', "max is 'low'; expected a finite number"),
        ('metric = "log_loss"\nmax = true', "max is True; expected a finite number"),
        ('metric = "log_loss"\nmax = nan', "max is nan; expected a finite number"),
        ('metric = "log_loss"\nmax = inf', "max is inf; expected a finite number"),
        ('metric = "log_loss"\nmax_increase = "5"', "max_increase is '5'; expected a number of at least 0"),
        ('metric = "log_loss"\nmax_increase = -0.1', "max_increase is -0.1; expected a number of at least 0"),
        ('metric = "log_loss"\nmax_increase = "x%"', "max_increase is 'x%'"),
        ('metric = "log_loss"\nmax_decrease = 0.1', "lower is better; use max_increase"),
        ('metric = "accuracy"\nmax_increase = 0.1', "higher is better; use max_decrease"),
        ('metric = "mean_gap"\nmax_increase = 0.1', "zero is better; give it max and min"),
        ('metric = "log_loss"', "it asks for nothing"),
        ("max = 1", "metric is missing"),
        ("metric = 3\nmax = 1", "metric is 3; expected text"),
        ('metric = "log_loss"\nmaximum = 1', "unknown key 'maximum'; known are metric, max"),
        ('metric = "log_loss"\nmax = 1\nbound = "uper"', "bound is 'uper'.*did you mean 'upper'"),
        ('metric = "log_loss"\nmax_increase = 1\nbound = "upper"', "there is neither"),
        ('metric = "log_loss"\nmax_increase = 1\nprove = "not worse"', 'is now undecided = "fail"'),
        ('metric = "log_loss"\nmax = 1\nundecided = "pass"', "for rules that an interval decides"),
        ('metric = "log_loss"\nmin = 1\nbound = "upper"\nundecided = "pass"', "that an interval decides"),
        ('metric = "ece"\nmax_increase = 1\nundecided = "fail"', "no test tells whether ece differs"),
        ('metric = "log_loss"\nmax_increase = 1\nundecided = "maybe"', 'one of "fail", "pass", "warn"'),
        (
            'metric = "log_loss"\nmax = 1\nseverity = "fatal"',
            "severity is 'fatal'; expected one of \"error\"",
        ),
        ('metric = "log_loss"\nmax = 1\nslice = "=DE"', "slice is '=DE'; expected a column and a value"),
        ('metric = "log_loss"\nmax = 1\nslice = "DE"', "slice is 'DE'; expected a column and a value"),
        ('metric = "log_loss"\nmax = 1\nmin_rows = 1.5', "min_rows is 1.5; expected a whole number"),
        ('metric = "ece"\nmax = 1\nbound = "upper"', "has no interval"),
    ],
)
def test_mistakes_in_a_rule_are_named(lines, message):
    with pytest.raises(InputError, match=message):
        policy(f"[[rules]]\n{lines}\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there are no rules"),
        ("rules = 3", "there are no rules"),
        (
            'level = 95\n[[rules]]\nmetric = "brier"\nmax = 1',
            "level is 95; expected a number between 0 and 1",
        ),
        ('seed = -1\n[[rules]]\nmetric = "brier"\nmax = 1', "seed is -1"),
        ('levl = 0.9\n[[rules]]\nmetric = "brier"\nmax = 1', "unknown key 'levl', did you mean 'level'"),
    ],
)
def test_mistakes_in_the_policy_are_named(text, message):
    with pytest.raises(InputError, match=message):
        policy(text)


def test_all_wrong_rules_are_named_at_once():
    good = 'metric = "brier"\nmax = 1'
    with pytest.raises(InputError, match=r"rule 1 .*rule 3 ") as found:
        policy(
            "".join(f"[[rules]]\n{rule}\n" for rule in ('metric = "a"\nmax = 1', good, 'metric = "brier"'))
        )
    assert "rule 2" not in str(found.value)


def test_files_that_are_no_policy(tmp_path):
    with pytest.raises(InputError, match="no such file; write a first policy with calcli check --init FILE"):
        read_policy(tmp_path / "none.toml")
    broken = tmp_path / "broken.toml"
    broken.write_text("[[rules]\n")
    with pytest.raises(InputError, match=r"broken.toml is not TOML: .*line 1"):
        read_policy(broken)
    broken.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="is not TOML"):
        read_policy(broken)


def test_costs_that_metrics_may_name():
    found = policy(
        """
        costs = ["abstain:0.1", "balanced"]

        [[rules]]
        metric = "normalized_bayes_risk:costs=abstain"
        max = 0.5
        """
    )
    assert [(one.name, one.amount) for one in found.settings.costs] == [("abstain", 0.1), ("balanced", 1.0)]
    with pytest.raises(InputError, match=r"costs is 'abstain:0.1'; expected a list of text"):
        policy('costs = "abstain:0.1"\n[[rules]]\nmetric = "log_loss"\nmax = 1')
    with pytest.raises(InputError, match="'nonsense' is not a list of costs"):
        policy('costs = ["nonsense"]\n[[rules]]\nmetric = "log_loss"\nmax = 1')


def test_what_metrics_may_name_has_the_words_of_the_options():
    found = policy(
        """
        class_groups = ["kind=cat+dog,cow"]
        priors = "0.2,0.3,0.5"
        shift_to_priors = [0.3, 0.3, 0.4]
        trained_at = "uniform"
        clip = 1e-6
        cluster = "video"

        [[rules]]
        metric = "ece:binning=0/0.5/1"
        max = 0.5
        """
    ).settings
    assert found.groups == {"kind": {"cat": "cat+dog", "dog": "cat+dog", "cow": "cow"}}
    assert (found.priors.values, found.shift_to_priors.values) == ((0.2, 0.3, 0.5), (0.3, 0.3, 0.4))
    assert found.trained_at.values == ()
    assert (found.clip, found.cluster) == (1e-6, "video")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('class_groups = "kind=a+b"', r"class_groups is 'kind=a\+b'; expected a list of text"),
        ("priors = 0.5", "priors is 0.5; expected text, or a number for each class"),
        ("shift_to_priors = true", "expected text, or a number for each class"),
        ('trained_at = "uniform"', "give that as well"),
        ("clip = 2", "clip is 2; expected a small probability"),
        ("min_rows = -1", "min_rows is -1; expected a whole number of at least 0"),
        ("cluster = 3", "cluster is 3; expected text"),
    ],
)
def test_mistakes_in_what_metrics_may_name_are_told(line, message):
    with pytest.raises(InputError, match=message):
        policy(f'{line}\n[[rules]]\nmetric = "log_loss"\nmax = 1')


KEYS = st.sampled_from([*GENERAL, *OF_RULE, "maxx", ""])
TEXTS = st.sampled_from(
    ["log_loss", "ece:bins=20", "mean_gap", "eec", "ece:lens=class-99", "5%", "-1%", "nan%", "country=DE",
     "=", "upper", "fail", "warning", "uniform", "0.5,x", "none.csv", "abstain:0.1", "a=b+c", "mine=0,1"]
)  # fmt: skip
NUMBERS = st.integers(-2, 3) | st.floats() | st.sampled_from([10**400, -(10**400)])
JUNK = TEXTS | NUMBERS | st.booleans() | st.none() | st.dates() | st.lists(TEXTS | NUMBERS, max_size=2)
TABLES = st.dictionaries(KEYS, JUNK, max_size=5)


def tried(table) -> Policy | None:
    """Return the policy, if it is one: no other exception may come of any table."""
    with suppress(InputError):
        return parse_policy(table, "p.toml")
    return None


@given(TABLES, st.lists(TABLES | JUNK, max_size=3) | JUNK)
def test_whatever_a_policy_says_it_is_one_or_an_input_error(general, rules):
    found = tried({**general, "rules": rules})
    assert found is None or (found.rules and 0 < found.settings.level < 1)


@given(st.dictionaries(KEYS, JUNK, max_size=2))
def test_rules_that_can_be_read_have_sane_numbers(more):
    rule = {"metric": "accuracy", "min": 0.5, "max_decrease": 0.1, **more}
    found = tried({"rules": [rule]})
    for one in found.rules if found else ():
        assert one.min_rows is None or one.min_rows >= 0
        if isinstance(one.condition, Bound):
            assert math.isfinite(one.condition.limit)
        else:
            assert one.condition.margin.of(1.0) >= 0


def test_a_rule_may_be_of_the_rows_without_a_value():
    (rule,) = parse_policy({"rules": [{"metric": "log_loss", "max": 1, "slice": "city="}]}, "p").rules
    assert rule.part == "city="


def test_a_policy_says_how_files_are_read():
    rules = '[[rules]]\nmetric = "brier"\nmax = 1\n[reading]\n'
    said = 'label_column = "truth"\nclasses = ["a", "b"]\ndrop_missing = true\nkind = "percent"'
    found = policy(rules + said)
    assert found.reading == {
        "label_column": "truth", "classes": ("a", "b"), "drop_missing": True, "kind": "percent",
    }  # fmt: skip
    for wrong, said in (("labls = 1", "unknown key labls"), ('kind = "odds"', "kind is 'odds'")):
        with pytest.raises(InputError, match=said):
            policy(rules + wrong)
    with pytest.raises(InputError, match="reading is 'truth'; expected a table"):
        parse_policy({"rules": [{"metric": "brier", "max": 1}], "reading": "truth"}, "p.toml")
