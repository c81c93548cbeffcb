"""A report made with other settings than a policy has is no baseline."""

from __future__ import annotations

import json

import pytest

from calcli.core.comparing.checking import unlike_setting
from calcli.core.comparing.policy import NoWorse, Policy, Rule
from calcli.core.estimators.evidence import Margin
from calcli.core.language.expressions import parse_metric
from calcli.core.language.settings import Settings

RULE = '[[rules]]\nmetric = "{}"\n{} = 0.0\n'
LOSS = RULE.format("log_loss", "max_increase")
RISK = RULE.format("bayes_risk", "max_increase")
PRIORS = ",".join(["0.19", *["0.09"] * 9])


@pytest.fixture
def checked(run, sample, tmp_path):
    """Return what `check` makes of a file against a report of itself."""
    file = sample / "release_1.parquet"

    def check(options, policy):
        report, rules = tmp_path / "base.json", tmp_path / "policy.toml"
        done = run("evaluate", file, "--format", "json", *options)
        assert done.status == 0, done.err
        report.write_text(done.out)
        rules.write_text(policy)
        return run("check", file, "--policy", rules, "--baseline", report)

    return check


@pytest.mark.parametrize(
    ("options", "policy", "words"),
    [
        (["--clip", "0.2"], LOSS, "made with another --clip than the policy has"),
        ([], f"clip = 0.2\n{LOSS}", "another --clip than"),
        ([], f'priors = "{PRIORS}"\n{LOSS}', "another --priors than"),
        (["--priors", PRIORS], LOSS, "another --priors than"),
        (["--priors", PRIORS], f'priors = "uniform"\n{LOSS}', "another --priors than"),
        (
            ["--priors", PRIORS, "--shift-to-priors", PRIORS],
            f'priors = "{PRIORS}"\n{LOSS}',
            "another --shift-to-priors than",
        ),
        ([], f'cluster = "ink"\n{LOSS}', "another --cluster than"),
        (["--cluster", "ink"], LOSS, "another --cluster than"),
        (
            ["--costs", "abstain:0.1", "--metrics", "bayes_risk"],
            f'costs = ["abstain:0.4"]\n{RISK}',
            "another --costs than",
        ),
    ],
)
def test_other_settings_are_refused_by_name(checked, options, policy, words):
    done = checked(options, policy)
    assert done.status == 2
    out = " ".join(done.out.split())
    assert words in out
    assert "Could not be judged" in out
    assert "FAILED" not in out


@pytest.mark.parametrize(
    ("options", "policy"),
    [
        (["--clip", "0.2"], f"clip = 0.2\n{LOSS}"),
        (["--clip", "0.2"], RULE.format("accuracy", "max_decrease")),
        (["--clip", "0.2"], '[[rules]]\nmetric = "log_loss"\nmax = 9\n'),
        (["--priors", PRIORS], f'priors = "{PRIORS}"\n{LOSS}'),
        (["--priors", "uniform"], f'priors = "{",".join(["0.1"] * 10)}"\n{LOSS}'),
        (["--costs", "abstain:0.1", "--metrics", "bayes_risk"], f'costs = ["abstain:0.1"]\n{RISK}'),
        (["--costs", "abstain:0.1", "--metrics", "bayes_risk,log_loss"], f'costs = ["abstain:0.4"]\n{LOSS}'),
        (["--cluster", "ink"], '[[rules]]\nmetric = "log_loss"\nmax = 9\n'),
    ],
)
def test_the_same_settings_or_those_that_no_rule_depends_on_pass(checked, options, policy):
    done = checked(options, policy)
    assert done.status == 0, done.out + done.err


@pytest.mark.parametrize("weighted", [True, False])
def test_a_report_of_weighted_rows_is_for_weighted_rows(run, tmp_path, weighted):
    file, report, policy = (tmp_path / name for name in ("new.csv", "base.json", "policy.toml"))
    right, wrong = "0.2,0.8,1,3\n", "0.7,0.3,1,1\n"
    file.write_text("prob_0,prob_1,label,w\n" + 30 * right + 30 * wrong)
    policy.write_text(RULE.format("accuracy", "max_decrease"))
    first, other = ["--weights", "w"] * weighted, ["--weights", "w"] * (not weighted)
    report.write_text(run("evaluate", file, *first, "--format", "json").out)
    call = ("check", file, "--policy", policy, "--baseline", report)
    refused = run(*call, *other)
    assert refused.status == 2
    use = ("with", "without") if weighted else ("without", "with")
    told = f"base.json is a report of rows {use[0]} weights, and {file} was read {use[1]} weights"
    assert "".join(told.split()) in "".join(refused.out.split())  # a path may be broken anywhere
    same = run(*call, *first)
    assert same.status == 0
    assert f"{0.75 if weighted else 0.5:.4f}" in same.out
    older = json.loads(report.read_text())
    for result in older["results"]:
        del result["input"]["weighted"]
    report.write_text(json.dumps(older))
    assert run(*call, *first).status == 0


def test_costs_of_a_file_that_was_edited_are_others(checked, tmp_path):
    costs, names = tmp_path / "costs.csv", list(map(str, range(10)))
    matrix = [[str(int(row != column)) for column in names] for row in names]

    def write(first):
        lines = [["", *names], [names[0], "0", *[first] * 9]]
        lines += [[name, *own] for name, own in zip(names[1:], matrix[1:], strict=True)]
        costs.write_text("\n".join(map(",".join, lines)))

    write("1")
    options = ["--costs", str(costs), "--metrics", "bayes_risk"]
    policy = f'costs = ["{costs}"]\n{RISK}'
    assert checked(options, policy).status == 0
    edited = policy.replace("costs.csv", "other/costs.csv")
    (tmp_path / "other").mkdir()
    first = costs.read_text()
    write("50")
    (tmp_path / "other" / "costs.csv").write_text(costs.read_text())
    costs.write_text(first)
    done = checked(options, edited)
    assert done.status == 2
    assert "another --costs than" in " ".join(done.out.split())


def test_damaged_settings_are_told():
    settings = {"costs": [{}], "clip": 0.1}
    policy = Policy((Rule(parse_metric("log_loss"), NoWorse(Margin())),), Settings(clip=0.1))
    assert "r.json is a damaged report" in unlike_setting(settings, ("a", "b"), policy, "r.json")


@pytest.mark.parametrize(
    ("metric", "words"), [("normalized_expected_cost", "another --decision-column than"), ("log_loss", "")]
)
def test_costs_of_other_decisions_are_others(metric, words):
    policy = Policy((Rule(parse_metric(metric), NoWorse(Margin())),), Settings(decision_column="d2"))
    told = unlike_setting({"decision_column": "d1"}, ("a", "b"), policy, "r.json")
    assert words in told
    assert bool(told) == bool(words)
    assert not unlike_setting({"decision_column": "d2"}, ("a", "b"), policy, "r.json")
