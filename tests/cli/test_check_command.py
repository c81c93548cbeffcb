"""`calcli check` as a pipeline calls it."""

from __future__ import annotations

import io
import json
import tomllib

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import calcli
from calcli.io.saved.policies import read_report

POLICY = """
[[rules]]
metric = "log_loss"
max = 0.4

[[rules]]
metric = "accuracy"
max_decrease = 0.01
"""


@pytest.fixture
def policy(tmp_path):
    path = tmp_path / "calcli.toml"
    path.write_text(POLICY)
    return path


@pytest.fixture
def old(sample):
    return sample / "release_1.parquet"


@pytest.fixture
def new(sample):
    return sample / "release_2.parquet"


def words(done) -> str:
    return " ".join(done.out.split())


def test_the_last_release_passes_and_the_degraded_one_fails(run, policy, old, new):
    done = run("check", old, "--policy", policy, "--baseline", old)
    assert (done.status, done.err) == (0, "")
    assert "2 rules: 2 passed." in done.out
    done = run("check", new, "--policy", policy, "--baseline", old)
    assert done.status == 1
    out = words(done)
    assert "log_loss at most 0.4 FAILED 0.4817 0.4000 -0.0817" in out
    assert "log_loss is 0.4817, 0.0817 beyond the limit of 0.4." in out
    assert "2 rules: 1 failed, 1 undecided." in out


PROJECT = """
[tool.calcli.reading]
scores = "p_new"
label_column = "truth"
[[tool.calcli.rules]]
metric = "brier"
max = 0.1
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Return a folder with a policy for a file that needs to be told what is in it."""
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{n % 2},{n // 2 % 2},{0.1 + 0.8 * (n % 2)},0.5\n" for n in range(100))
    (tmp_path / "preds.csv").write_text(f"truth,other,p_new,p_old\n{rows}")
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    return tmp_path


def test_a_policy_in_pyproject_needs_no_option(run, project):
    done = run("check", "preds.csv")
    assert (done.status, done.err) == (0, "")
    assert "brier at most 0.1 passed 0.0100 0.1000" in words(done)
    assert calcli.check("preds.csv").exit_status == 0


def test_a_policy_of_its_own_comes_before_pyproject(run, project):
    (project / "calcli.toml").write_text(PROJECT.replace("tool.calcli.", "").replace("0.1", "0.005"))
    assert "brier at most 0.005" in words(run("check", "preds.csv"))
    assert calcli.check("preds.csv").exit_status == 1


def test_a_pyproject_without_a_policy_is_told(run, project):
    (project / "pyproject.toml").write_text("[tool.calcli-other]\n")
    done = run("check", "preds.csv")
    assert done.status == 2
    assert "pyproject.toml has no table [tool.calcli] with a policy; write a first policy with" in done.err


@pytest.mark.parametrize(
    "file",
    [
        "release_1.parquet", "cancer_bayes_test.csv", "iris_logistic_test.csv", "digits_network_test.npy",
    ],
)  # fmt: skip
def test_a_first_policy_passes_on_its_own_file(run, sample, tmp_path, file):
    policy = tmp_path / "first.toml"
    done = run("check", "--init", sample / file, "--policy", policy)
    assert (done.status, done.out) == (0, "")
    assert str(policy) in done.err
    assert policy.read_text().startswith("# Rules")
    done = run("check", sample / file, "--policy", policy)
    assert done.status == 0
    assert "FAILED" not in done.out
    assert "WARNING" not in done.out


def test_a_first_policy_names_a_file_as_text_on_one_line(run, sample, tmp_path):
    for name in ("red\x1b[31m.csv", "two\nlines.csv"):
        named, policy = tmp_path / name, tmp_path / "first.toml"
        named.write_bytes((sample / "iris_logistic_test.csv").read_bytes())
        assert run("check", "--init", named, "--policy", policy).status == 0
        assert run("check", named, "--policy", policy).status == 0
        policy.unlink()


def test_a_first_policy_holds_how_its_file_is_read(run, tmp_path):
    """Two raters and two scores: only with what the policy says is the file read, in Python too."""
    rows = "1,0,0.9,0.2\n0,1,0.2,0.6\n1,1,0.7,0.6\n0,0,0.4,0.3\n" * 50
    two, policy = tmp_path / "two.csv", tmp_path / "first.toml"
    two.write_text('rater_a,"rater ""é\\\x7f",prob_old,prob_new\n' + rows)
    options = "--label-column", 'rater "é\\\x7f', "--scores", "prob_old"
    assert run("check", "--init", two, "--policy", policy, *options).status == 0
    assert tomllib.loads(policy.read_text())["reading"] == {"label_column": options[1], "scores": "prob_old"}
    done = run("check", two, "--policy", policy)
    assert (done.status, "prob_old" in done.out) == (0, True)
    assert calcli.check(two, policy).exit_status == 0
    assert "prob_new" in run("check", two, "--policy", policy, "--scores", "prob_new").out


def test_a_first_policy_leaves_slack_where_there_is_no_interval(run, tmp_path):
    """One error in 101 rows: nothing but what the probabilities expect says how far the scores spread."""
    sure = tmp_path / "sure.csv"
    sure.write_text("label,prob_0,prob_1\n" + "0,0.9,0.1\n1,0.2,0.8\n" * 50 + "0,0.15,0.85\n")
    done = run("check", "--init", sure, "--policy", "-")
    limits = {rule["metric"]: rule.get("max", rule.get("min")) for rule in tomllib.loads(done.out)["rules"]}
    assert list(limits) == ["log_loss", "auroc", "mean_gap", "ece"]
    assert limits["auroc"] < 0.95
    assert "no interval: 1 error; an interval needs 5; sd over redraws 0.0" in done.out
    named = f"pass: log_loss max {limits['log_loss']}, auroc min {limits['auroc']}, mean_gap min "
    assert f"limits are set so that 97.5% of 1,999 resamples of this file {named}" in done.err


def test_a_first_policy_asks_nothing_of_a_class_that_may_be_missing(run, tmp_path):
    rare = tmp_path / "rare.csv"
    rows = "0,0.9,0.1\n0,0.8,0.2\n0,0.7,0.3\n" * 50 + "1,0.8,0.2\n1,0.4,0.6\n0,0.4,0.6\n"
    rare.write_text("label,prob_0,prob_1\n" + rows)
    out = run("check", "--init", rare, "--policy", "-").out
    assert "average_precision" not in [rule["metric"] for rule in tomllib.loads(out)["rules"]]
    assert "no limit for average_precision, as redraws of these rows set none" in out


def test_a_first_policy_with_a_baseline_has_rules_against_it(run, old, tmp_path):
    out = run("check", "--init", old, "--baseline", old, "--policy", "-").out
    rules = tomllib.loads(out)["rules"]
    assert rules[:2] == [
        {"metric": "log_loss", "max_increase": "2%"},
        {"metric": "accuracy", "max_decrease": 0.01},
    ]
    assert not any("severity" in rule for rule in rules)
    assert "max_decrease" not in str(tomllib.loads(run("check", "--init", old, "--policy", "-").out))
    # what is commented out is a policy too
    bare = run("check", "--init", old, "--policy", "-").out
    first, _, limits = bare.partition("# [[rules]]")[2].partition("\n[[rules]]")
    assert "catch far more" in bare
    assert len(tomllib.loads(("# [[rules]]" + first).replace("# ", ""))["rules"]) == 3
    assert "max_increase" not in limits


def test_a_first_policy_passes_a_file_that_is_worse_than_its_baseline(run, old, new, tmp_path):
    written = tmp_path / "first.toml"
    done = run("check", "--init", new, "--baseline", old, "--policy", written)
    assert done.status == 0
    lost = "these rules are left as comments: log_loss at most 2% worse than baseline"
    assert f"{new} is worse than {old}: {lost}" in done.err
    assert '# metric = "log_loss"\n# max_increase = "2%"' in written.read_text()
    assert run("check", new, "--baseline", old, "--policy", written).status == 0
    unwritten = tmp_path / "second.toml"
    done = run("check", "--init", old, "--baseline", tmp_path / "none.parquet", "--policy", unwritten)
    assert done.status == 2
    assert not unwritten.exists()


def test_a_first_policy_has_no_rule_without_a_finite_value(run, tmp_path):
    file, written = tmp_path / "sure.csv", tmp_path / "first.toml"
    rows = "0,0.8,0.2\n1,0.3,0.7\n1,0.6,0.4\n0,0.9,0.1\n" * 75
    file.write_text(f"label,prob_0,prob_1\n0,0.0,1.0\n{rows}")
    assert run("check", "--init", file, "--baseline", file, "--policy", written).status == 0
    text = written.read_text()
    assert "# today inf: no limit for log_loss, nor a rule against a baseline" in text
    assert "log_loss" not in [rule["metric"] for rule in tomllib.loads(text)["rules"]]
    assert {"metric": "auroc", "max_decrease": 0.01} in tomllib.loads(text)["rules"]
    assert run("check", file, "--baseline", file, "--policy", written).status == 0


def test_a_first_policy_without_a_rule_is_not_written(run, tmp_path):
    file, written = tmp_path / "wrong.csv", tmp_path / "first.toml"
    file.write_text("label,prob_0,prob_1\n0,0.0,1.0\n")
    done = run("check", "--init", file, "--policy", written)
    assert (done.status, done.out) == (2, "")
    assert f"{file} gives no policy a rule" in done.err
    assert len(done.err.splitlines()) == 1
    assert not written.exists()


def test_a_first_policy_has_no_limit_that_the_constant_answer_keeps(run, tmp_path):
    few = tmp_path / "few.csv"
    few.write_text("label,prob_0,prob_1\n" + "1,0.9,0.1\n1,0.3,0.7\n0,0.6,0.4\n0,0.2,0.8\n" * 2)
    out = run("check", "--init", few, "--policy", "-").out
    assert "log_loss" not in [rule["metric"] for rule in tomllib.loads(out)["rules"]]
    assert "no limit for log_loss, as the same answer for every row, 0.6931, would pass" in out


def test_a_first_policy_of_a_rare_class_stops_scores_that_are_a_third(run, tmp_path):
    rng = np.random.default_rng(0)
    prob = expit(rng.normal(-5.3, 1.1, 30_000))
    label = (rng.random(30_000) < prob).astype(int)
    for name, column in (("good", prob), ("third", prob / 3)):
        pd.DataFrame({"prob": column, "label": label}).to_csv(tmp_path / f"{name}.csv", index=False)
    policy = tmp_path / "p.toml"
    assert run("check", "--init", tmp_path / "good.csv", "--policy", policy).status == 0
    assert [rule["metric"] for rule in tomllib.loads(policy.read_text())["rules"]] == [
        "average_precision",
        "mean_gap",
        "ece",
    ]
    assert run("check", tmp_path / "good.csv", "--policy", policy).status == 0
    assert run("check", tmp_path / "third.csv", "--policy", policy).status == 1


def test_a_policy_is_not_overwritten(run, policy, old):
    done = run("check", "--init", old, "--policy", policy)
    assert done.status == 2
    assert "exists" in done.err
    assert policy.read_text() == POLICY


@pytest.mark.parametrize("options", [["--strict"], ["--details"], ["--format", "json"], ["--html", "a.html"]])
def test_a_first_policy_has_no_results_to_show(run, sample, tmp_path, options):
    policy = tmp_path / "first.toml"
    done = run("check", "--init", sample / "cancer_bayes_test.csv", "--policy", policy, *options)
    assert (done.status, done.out) == (2, "")
    assert f"--init writes a policy and judges nothing; leave out {options[0]}" in done.err
    assert not policy.exists()


def test_a_rule_without_baseline_does_not_pass(run, policy, old):
    done = run("check", old, "--policy", policy)
    assert done.status == 2
    assert "NOT JUDGED" in done.out
    assert "give one with --baseline" in words(done)


def test_a_file_that_cannot_be_read_does_not_pass(run, policy, old, tmp_path):
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 nothing PAR1")
    done = run("check", old, broken, tmp_path / "none.csv", "--policy", policy, "--baseline", old)
    assert done.status == 2
    assert done.out.count("Could not be judged") == 2
    assert "2 rules: 2 passed." in done.out


def test_a_broken_rule_outweighs_what_could_not_be_judged(run, policy, new):
    assert run("check", new, "--policy", policy).status == 1


def test_other_rows_and_classes_are_refused_unless_told(run, policy, sample, old):
    forest = sample / "digits_forest_calibration.parquet"
    done = run("check", forest, "--policy", policy, "--baseline", old)
    assert done.status == 2
    assert "650 rows" in words(done)
    done = run("check", forest, "--policy", policy, "--baseline", old, "--unpaired")
    assert "Unpaired" in done.out
    iris = sample / "iris_logistic_test.csv"
    assert "3 classes" in words(run("check", iris, "--policy", policy, "--baseline", old))


def test_a_report_is_a_baseline(run, policy, old, new, tmp_path):
    report = tmp_path / "old.json"
    report.write_text(run("evaluate", old, "--format", "json").out)
    done = run("check", old, "--policy", policy, "--baseline", report)
    assert done.status == 0
    assert "is a report" in words(done)
    assert run("check", new, "--policy", policy, "--baseline", report).status == 1
    both = tmp_path / "both.json"
    both.write_text(run("evaluate", old, new, "--format", "json").out)
    done = run("check", new, "--policy", policy, "--baseline", both)
    assert done.status == 2
    assert "reports on 2 data sets" in done.err


def test_a_baseline_comes_through_a_pipe(run, policy, new, old, sample, monkeypatch):
    def judged(content, file):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(content))))
        return words(run("check", file, "--policy", policy, "--baseline", "-"))

    report = run("evaluate", old, "--format", "json").out
    assert "The baseline standard input is a report" in judged(report.encode(), new)
    rows = sample / "cancer_bayes_test.csv"
    assert "accuracy at most 0.01 worse than baseline undecided 0.9294 0.9194 +0.0100" in judged(
        rows.read_bytes(), rows
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "is not complete and valid JSON"), ("[]", "holds list values without rows"),
     ('{"schema": "calcli.report/9"}', "has version 9 of the report format"),
     ('{"schema": "calcli.report/1", "results": [{}]}', "is a damaged report")],
)  # fmt: skip
def test_what_is_no_report_is_no_baseline(run, policy, old, tmp_path, text, message):
    report = tmp_path / "old.json"
    report.write_text(text)
    done = run("check", old, "--policy", policy, "--baseline", report)
    assert (done.status, done.out) == (2, "")
    assert message in done.err


def test_rules_name_what_the_policy_defines(run, old, new, tmp_path):
    policy = tmp_path / "groups.toml"
    policy.write_text(
        """
        class_groups = ["shape=0+6+8+9,1+2+3+4+5+7"]
        costs = ["abstain:0.1"]
        priors = "uniform"
        clip = 1e-6
        draws = 9

        [[rules]]
        metric = "expected_miscalibration:lens=shape:min_rows=200"
        max = 0.05

        [[rules]]
        metric = "ece:binning=0/0.9/1:region=0.5..1"
        max = 0.04

        [[rules]]
        metric = "bayes_risk:costs=abstain"
        max = 0.5
        bound = "upper"
        """
    )
    done = run("check", old, "--policy", policy, "--baseline", old)
    assert "3 rules: 3 passed." in done.out
    done = run("check", new, "--policy", policy, "--baseline", old)
    assert "this is not tested against chance for rows weighted to other priors" in " ".join(done.out.split())
    assert "3 rules: 1 could not be judged, 2 passed." in done.out


def test_clusters_of_a_policy(run, old, tmp_path):
    policy = tmp_path / "clusters.toml"
    policy.write_text('cluster = "ink"\n[[rules]]\nmetric = "accuracy"\nmax_decrease = 0.1\n')
    done = run("check", old, "--policy", policy, "--baseline", old, "--key", "id")
    assert done.status == 0
    policy.write_text(policy.read_text().replace("ink", "writer"))
    done = run("check", old, "--policy", policy, "--baseline", old)
    assert done.status == 2
    assert "no column 'writer'" in words(done)


def test_all_forms_at_once(run, policy, old, new, tmp_path):
    forms = {"json": "c.json", "markdown": "c.md", "junit": "c.xml", "github": "c.txt", "table": "c.tab"}
    targets = [word for form, name in forms.items() for word in ("--write", f"{form}={tmp_path / name}")]
    done = run("check", new, "--policy", policy, "--baseline", old, *targets)
    assert done.status == 1
    assert (tmp_path / "c.tab").read_text() == done.out
    for form, name in forms.items():
        again = run("check", new, "--policy", policy, "--baseline", old, "--format", form)
        assert again.out == (tmp_path / name).read_text()
    report = json.loads((tmp_path / "c.json").read_text())
    assert report["exit_status"] == 1
    assert [rule["result"] for rule in report["results"][0]["rules"]] == ["failed", "passed"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--policy", "none.toml"], "none.toml: no such file; write a first policy"),
        (["--write", "xml=a.xml"], "--write xml=a.xml: expected a format and a file"),
        (["--write", "junit=-"], "choose it with --format junit"),
        (["--write", "junit"], "--write junit: expected a format and a file"),
        (["--baseline", "none.json"], "none.json: no such file"),
        (["--baseline", "none.csv"], "none.csv: no such file"),
    ],
)
def test_bad_calls_are_one_sentence(run, policy, old, arguments, message):
    chosen = [] if "--policy" in arguments else ["--policy", policy]
    done = run("check", old, *chosen, *arguments)
    assert (done.status, done.out) == (2, "")
    assert message in done.err
    assert len(done.err.splitlines()) == 1


def test_a_file_that_cannot_be_written_is_told(run, policy, old, tmp_path):
    target = tmp_path / "no" / "c.xml"
    done = run("check", old, "--policy", policy, "--baseline", old, "--write", f"junit={target}")
    assert done.status == 2
    assert str(target) in done.err


def test_a_page_is_written_with_the_other_forms_or_none(run, policy, old, tmp_path):
    target = tmp_path / "check.md"
    beside = ("--write", f"markdown={target}", "--html", tmp_path / "no" / "folder" / "page.html")
    assert run("check", old, "--policy", policy, "--baseline", old, *beside).status == 2
    assert not target.exists()


def test_a_report_is_read_as_its_settings_mean_it(run, sample, tmp_path):
    options = ("--costs", "abstain:0.1", "--bins", "10", "--metrics", "bayes_risk,ece,ece:bins=15")
    report = tmp_path / "report.json"
    report.write_text(run("evaluate", sample / "release_1.parquet", *options, "--format", "json").out)
    assert list(read_report(report).metrics[""]) == ["bayes_risk:costs=abstain", "ece:bins=10", "ece"]


def test_the_only_costs_are_those_of_a_risk_that_names_none(run, new, tmp_path):
    policy = tmp_path / "costs.toml"
    rule = '[[rules]]\nmetric = "{}"\nmax = 0.2\n'
    rules = "".join(rule.format(f"bayes_risk{costs}") for costs in ("", ":costs=abstain", ":costs=zero-one"))
    policy.write_text(f'costs = ["abstain:0.1"]\n{rules}')
    report = json.loads(run("check", new, "--policy", policy, "--format", "json").out)
    outcomes = report["results"][0]["rules"]
    assert [one["title"].partition(" ")[0] for one in outcomes] == [
        "bayes_risk", "bayes_risk:costs=abstain", "bayes_risk:costs=zero-one"
    ]  # fmt: skip
    assert outcomes[0]["value"] == outcomes[1]["value"] < outcomes[2]["value"]


@pytest.fixture
def alone(run, tmp_path, old):
    """Return a first policy made without a baseline: none of its rules compares with one."""
    path = tmp_path / "alone.toml"
    assert run("check", "--init", old, "--policy", path).status == 0
    return path


@pytest.mark.parametrize("form", ["table", "json", "junit"])
def test_a_baseline_that_no_rule_uses_is_told(run, alone, old, form):
    command = ("check", old, "--policy", alone, "--format", form)
    without, done = run(*command), run(*command, "--baseline", old)
    said = "the baseline was not used, as no rule of the policy compares with it"
    assert without.status == 0
    assert all("read as" in line for line in without.err.splitlines())
    assert said not in words(without)
    assert done.status == 0
    assert said in " ".join(done.err.split())
    assert said in words(done)
    strict = run(*command, "--baseline", old, "--strict")
    assert strict.status == 2
    assert said in words(strict)
    if form == "json":
        assert [json.loads(one.out)["exit_status"] for one in (done, strict)] == [0, 2]
        assert said in json.loads(done.out)["results"][0]["warnings"][0]


def test_strict_changes_nothing_where_the_baseline_is_used(run, tmp_path, old, new):
    policy = tmp_path / "both.toml"
    assert "--baseline" in run("check", "--init", old, "--policy", policy, "--baseline", old).err
    done = run("check", old, "--policy", policy, "--baseline", old, "--strict")
    assert (done.status, done.err) == (0, "")
    assert run("check", new, "--policy", policy, "--baseline", old, "--strict").status == 1


def test_what_keeps_several_rules_from_being_judged_is_said_once(run, old, tmp_path):
    file = tmp_path / "clusters.toml"
    rules = "".join(f'[[rules]]\nmetric = "{name}"\nmax = 9\n' for name in ("log_loss", "brier"))
    file.write_text(f'cluster = "nope"\n{rules}')
    done = run("check", old, "--policy", file)
    assert done.status == 2
    said = " ".join(done.out.split())
    assert said.count("no column 'nope'") == 1
    assert "log_loss at most 9; brier at most 9: " in said


def test_a_policy_is_found_in_a_folder_above(run, project, monkeypatch):
    below = project / "models" / "new"
    below.mkdir(parents=True)
    (below.parent / "pyproject.toml").write_text('[project]\nname = "model"\n')  # without a policy
    monkeypatch.chdir(below)
    done = run("check", "../../preds.csv", "-f", "json")
    assert (done.status, json.loads(done.out)["policy"]) == (0, "../../pyproject.toml")


def test_a_misspelled_key_is_answered_with_the_right_one(run, project):
    (project / "calcli.toml").write_text('[[rules]]\nmetric = "accuracy"\nmax_decraese = 0.01\n')
    assert "unknown key 'max_decraese', did you mean 'max_decrease'" in run("check", "preds.csv").err


@pytest.fixture
def inverted(tmp_path, monkeypatch):
    """Return a folder with one column of scores beside labels as text, and a file of one minus them."""
    rng = np.random.default_rng(11)
    p = rng.beta(1, 4, 900)
    label = np.where(rng.random(900) < p, "quasar", "star")
    for name, scores in (("right", p), ("inverted", 1 - p)):
        table = "".join(f"{one},{score!r}\n" for one, score in zip(label, scores.tolist(), strict=True))
        (tmp_path / f"{name}.csv").write_text(f"label,proba\n{table}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_one_minus_the_probabilities_does_not_pass(run, inverted):
    assert run("check", "--init", "right.csv", "--positive", "quasar").status == 0
    policy = tomllib.loads((inverted / "calcli.toml").read_text())
    assert policy["reading"] == {"positive": "quasar"}
    assert run("check", "right.csv").status == 0
    assert run("check", "inverted.csv").status == 1


@pytest.mark.parametrize(
    "command",
    [
        ("check", "--init", "right.csv"),
        ("compare", "right.csv", "right.csv"),
        ("compare", "right.csv", "inverted.csv"),
        ("fit", "right.csv", "-o", "cal.json"),
        ("threshold", "right.csv", "--max-error", "0.2"),
        ("plan", "right.csv", "--metric", "brier", "--half-width", "0.1"),
        ("benchmark", "--cal", "right.csv", "--folds", "3"),
        ("evaluate", "right.csv", "--save-state", "right.state"),
    ],
    ids=" ".join,
)
def test_what_only_the_ranking_says_decides_nothing(run, inverted, command):
    done = run(*command)
    assert done.status == 2
    assert "nothing says which class proba is the score of" in done.err
    assert "--positive quasar" in done.err
    assert "--positive star" in done.err


def test_evaluate_says_first_what_only_the_ranking_says(run, inverted):
    head = run("evaluate", "right.csv").out.split("\n\n")[0]
    assert "Doubt: nothing says which class proba is the score of; quasar is taken" in " ".join(head.split())


def test_an_identifier_that_repeats_is_told_unless_it_is_the_cluster(run, tmp_path):
    rng = np.random.default_rng(0)
    prob = rng.random(100)
    label = (rng.random(100) < prob).astype(int)
    rows = [f"{n},{label[n]},{prob[n]}\n" for n in range(100)]
    (tmp_path / "t.csv").write_text("id,label,prob\n" + "".join(rows * 3))
    for command in (("evaluate",), ("compare", tmp_path / "t.csv"), ("threshold", "--max-error", "0.9")):
        shown = " ".join(run(*command, tmp_path / "t.csv").out.split())
        assert "id repeats: 300 rows share 100 values" in shown
        assert "id repeats" not in run(*command, tmp_path / "t.csv", "--cluster", "id").out


def test_a_gap_may_fall_and_not_grow_on_either_side(run, tmp_path):
    """A first policy from a file that is off by 20 points passes a calibrated one."""
    rng = np.random.default_rng(7)
    prob = rng.beta(2, 3, 3_000)
    label = (rng.random(3_000) < prob).astype(int)
    for name, score in {"old": prob + 0.2 * (1 - prob), "new": prob, "far": prob * 0.3}.items():
        pd.DataFrame({"prob": score, "label": label}).to_csv(tmp_path / f"{name}.csv", index=False)
    run("check", "--init", tmp_path / "old.csv", "-p", tmp_path / "p.toml")
    text = (tmp_path / "p.toml").read_text().partition('metric = "mean_gap"\n')[2]
    high, low = (float(line.partition(" = ")[2]) for line in text.splitlines()[:2])
    assert low == -high
    assert "mean_gap at least" in run("check", tmp_path / "far.csv", "-p", tmp_path / "p.toml").out
    for name, word in (("new", "passed"), ("far", "FAILED")):
        lines = run("check", tmp_path / f"{name}.csv", "-p", tmp_path / "p.toml").out.splitlines()
        assert any("mean_gap at least" in line and word in line for line in lines), name
